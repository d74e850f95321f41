// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SipHash-2-4 with 128-bit output: the keyed hash of hellos and connection keys.
//
// Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012), in its 128-bit variant. Pure; tested against the authors' vectors.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <span>

namespace linnet {

using SipKey = std::array<std::uint8_t, 16>;
using SipTag = std::array<std::uint8_t, 16>;

namespace detail {
struct SipState {
    std::uint64_t v0, v1, v2, v3;
    static constexpr std::uint64_t rotl(std::uint64_t x, int b) noexcept { return (x << b) | (x >> (64 - b)); }
    constexpr void round() noexcept
    {
        v0 += v1; v1 = rotl(v1, 13); v1 ^= v0; v0 = rotl(v0, 32);
        v2 += v3; v3 = rotl(v3, 16); v3 ^= v2;
        v0 += v3; v3 = rotl(v3, 21); v3 ^= v0;
        v2 += v1; v1 = rotl(v1, 17); v1 ^= v2; v2 = rotl(v2, 32);
    }
};
inline std::uint64_t load_le64(const std::uint8_t* p) noexcept
{
    std::uint64_t v = 0;
    for (int i = 7; i >= 0; --i) {
        v = (v << 8) | p[i];
    }
    return v;
}
inline void store_le64(std::uint8_t* p, std::uint64_t v) noexcept
{
    for (int i = 0; i < 8; ++i) {
        p[i] = static_cast<std::uint8_t>(v >> (8 * i));
    }
}
}   // namespace detail

[[nodiscard]] inline SipTag siphash128(const SipKey& key, std::span<const std::byte> data) noexcept
{
    const std::uint64_t k0 = detail::load_le64(key.data());
    const std::uint64_t k1 = detail::load_le64(key.data() + 8);
    detail::SipState s{k0 ^ 0x736f6d6570736575u, k1 ^ 0x646f72616e646f6du ^ 0xee, k0 ^ 0x6c7967656e657261u, k1 ^ 0x7465646279746573u};
    const auto* p = reinterpret_cast<const std::uint8_t*>(data.data());
    const std::size_t full = data.size() & ~std::size_t{7};
    for (std::size_t i = 0; i < full; i += 8) {
        const std::uint64_t m = detail::load_le64(p + i);
        s.v3 ^= m;
        s.round();
        s.round();
        s.v0 ^= m;
    }
    std::uint8_t last[8] = {};
    if (data.size() > full) {
        std::memcpy(last, p + full, data.size() - full);
    }
    last[7] = static_cast<std::uint8_t>(data.size());
    const std::uint64_t m = detail::load_le64(last);
    s.v3 ^= m;
    s.round();
    s.round();
    s.v0 ^= m;
    SipTag tag;
    s.v2 ^= 0xee;
    for (int i = 0; i < 4; ++i) {
        s.round();
    }
    detail::store_le64(tag.data(), s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
    s.v1 ^= 0xdd;
    for (int i = 0; i < 4; ++i) {
        s.round();
    }
    detail::store_le64(tag.data() + 8, s.v0 ^ s.v1 ^ s.v2 ^ s.v3);
    return tag;
}

// Compares without an early exit, so that timing tells an off-path attacker nothing.
[[nodiscard]] inline bool tags_equal(const SipTag& a, const SipTag& b) noexcept
{
    unsigned diff = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        diff |= static_cast<unsigned>(a[i] ^ b[i]);
    }
    return diff == 0;
}

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Integers with a fixed byte order, for wire structs only.
//
// Backed by bytes: alignment 1, no padding, no packed attribute. get() compiles to one load. Linnet's own headers are
// little-endian; Ethernet and IP fields are big-endian.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

namespace linnet {

template <std::unsigned_integral T>
[[nodiscard]] constexpr T byte_swap(T v) noexcept
{
    if constexpr (sizeof(T) == 1) {
        return v;
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bswap16(v);
    } else if constexpr (sizeof(T) == 4) {
        return __builtin_bswap32(v);
    } else {
        static_assert(sizeof(T) == 8);
        return __builtin_bswap64(v);
    }
}

template <std::unsigned_integral T, std::endian Order>
class WireInt {
public:
    constexpr WireInt() noexcept = default;
    constexpr explicit WireInt(T host) noexcept : raw_{std::bit_cast<Raw>(flip(host))} {}
    [[nodiscard]] constexpr T get() const noexcept { return flip(std::bit_cast<T>(raw_)); }
    constexpr void set(T host) noexcept { raw_ = std::bit_cast<Raw>(flip(host)); }

private:
    using Raw = std::array<std::uint8_t, sizeof(T)>;
    static constexpr T flip(T v) noexcept { return Order == std::endian::native ? v : byte_swap(v); }
    Raw raw_{};
};

using le16 = WireInt<std::uint16_t, std::endian::little>;
using le32 = WireInt<std::uint32_t, std::endian::little>;
using le64 = WireInt<std::uint64_t, std::endian::little>;
using be16 = WireInt<std::uint16_t, std::endian::big>;
using be32 = WireInt<std::uint32_t, std::endian::big>;
using be64 = WireInt<std::uint64_t, std::endian::big>;
static_assert(sizeof(le64) == 8 && alignof(le64) == 1);

}   // namespace linnet

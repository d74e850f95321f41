// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Payload patterns: see pattern.h.
#include "support/pattern.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace linnet::testing {
namespace {

// A prime: no power of two, at which data likes to be cut, is a period.
constexpr std::size_t kPeriod = 65521;

const std::array<std::byte, kPeriod>& table()
{
    static const std::array<std::byte, kPeriod> bytes = [] {
        std::array<std::byte, kPeriod> out;
        std::uint32_t x = 12345;
        for (std::byte& b : out) {
            x = x * 1664525u + 1013904223u;
            b = static_cast<std::byte>(x >> 24);
        }
        return out;
    }();
    return bytes;
}

// Calls `run(offset, bytes)` for each stretch of the message that is one stretch of the table, until it says no.
template <typename Run>
void stretches(std::size_t size, std::uint64_t id, Run run)
{
    std::size_t at = static_cast<std::size_t>((id % kPeriod) * 7919 % kPeriod);
    for (std::size_t offset = 0; offset < size; at = 0) {
        const std::size_t bytes = std::min(size - offset, kPeriod - at);
        if (!run(offset, std::span{table()}.subspan(at, bytes))) {
            return;
        }
        offset += bytes;
    }
}

}   // namespace

void fill_pattern(std::span<std::byte> out, std::uint64_t id)
{
    stretches(out.size(), id, [&](std::size_t offset, std::span<const std::byte> bytes) {
        std::memcpy(out.data() + offset, bytes.data(), bytes.size());
        return true;
    });
}

std::size_t pattern_mismatch(std::span<const std::byte> data, std::uint64_t id)
{
    std::size_t wrong = data.size();
    stretches(data.size(), id, [&](std::size_t offset, std::span<const std::byte> bytes) {
        const auto part = data.subspan(offset, bytes.size());
        if (std::memcmp(part.data(), bytes.data(), bytes.size()) == 0) {
            return true;
        }
        wrong = offset + static_cast<std::size_t>(std::mismatch(part.begin(), part.end(), bytes.begin()).first - part.begin());
        return false;
    });
    return wrong;
}

}   // namespace linnet::testing

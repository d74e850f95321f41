// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Bytes as text, to compare with golden ones.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace linnet::testing {

[[nodiscard]] inline std::string hex(std::span<const std::byte> bytes)
{
    std::string s;
    for (const std::byte b : bytes) {
        constexpr const char* kDigits = "0123456789abcdef";
        s += kDigits[std::to_integer<unsigned>(b) >> 4];
        s += kDigits[std::to_integer<unsigned>(b) & 15];
    }
    return s;
}

// Of one object, or of several, one behind the other.
template <class... Parts>
[[nodiscard]] std::string hex_of(const Parts&... parts)
{
    return (hex(std::as_bytes(std::span{&parts, 1})) + ...);
}

}   // namespace linnet::testing

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Message numbers and epochs: 32 bits that wrap, compared within half their range.
#pragma once

#include <cstdint>

namespace linnet::session {

// `a` comes after `b`.
[[nodiscard]] constexpr bool after(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) > 0; }

// The number after `n`; 0 is left out, since it marks packets without a number.
[[nodiscard]] constexpr std::uint32_t next_number(std::uint32_t n) noexcept { return n == UINT32_MAX ? 1 : n + 1; }

}   // namespace linnet::session

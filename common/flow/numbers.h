// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Numbers and stamps of 32 bits that wrap, compared within half their range.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace linnet::flow {

[[nodiscard]] constexpr bool before(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) < 0; }
[[nodiscard]] constexpr std::uint32_t later(std::uint32_t a, std::uint32_t b) noexcept { return before(a, b) ? b : a; }

// A time as frames carry it: 64 ns units, wrapping after 274 s, so that half of that can be told apart.
using Stamp = std::uint32_t;
inline constexpr std::int64_t kStampNanos = 64;

[[nodiscard]] constexpr Stamp stamp_of(TimePoint t) noexcept { return static_cast<Stamp>(t.time_since_epoch().count() / kStampNanos); }
// From `a` to `b`; negative when b is earlier.
[[nodiscard]] constexpr Nanos stamp_gap(Stamp a, Stamp b) noexcept { return Nanos{static_cast<std::int64_t>(static_cast<std::int32_t>(b - a)) * kStampNanos}; }

}   // namespace linnet::flow

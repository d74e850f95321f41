// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The clock of the machine, and durations as system calls want them.
#pragma once

#include <ctime>

#include "base/clock.h"

namespace linnet {

// CLOCK_MONOTONIC through the vdso: some 20 ns, no system call. Any thread; never blocks; cannot fail.
[[nodiscard]] inline TimePoint monotonic_now() noexcept
{
    timespec t;
    ::clock_gettime(CLOCK_MONOTONIC, &t);
    return TimePoint{std::chrono::seconds{t.tv_sec} + Nanos{t.tv_nsec}};
}

class SystemClock final : public Clock {
public:
    [[nodiscard]] TimePoint now() const noexcept override { return monotonic_now(); }
};

// Nanoseconds since 1970, for people and for other machines; it may jump.
[[nodiscard]] inline Nanos wall_clock_now() noexcept
{
    timespec t;
    ::clock_gettime(CLOCK_REALTIME, &t);
    return std::chrono::seconds{t.tv_sec} + Nanos{t.tv_nsec};
}

// Negative durations become 0.
[[nodiscard]] inline timespec to_timespec(Nanos d) noexcept
{
    if (d < Nanos::zero()) {
        d = Nanos::zero();
    }
    const auto s = std::chrono::floor<std::chrono::seconds>(d);
    return {static_cast<time_t>(s.count()), static_cast<long>((d - s).count())};
}

}   // namespace linnet

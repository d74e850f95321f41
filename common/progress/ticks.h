// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Ticks: the processor's own counter, for gaps between calls where a clock call would cost more than what it measures.
#pragma once

#include <cstdint>
#include <ctime>

#include "base/clock.h"

#if defined(__x86_64__) || defined(__i386__)
#include <x86intrin.h>
#endif

namespace linnet {

using Ticks = std::uint64_t;

// Some 8 ns on x86 and aarch64, a clock_gettime() elsewhere. Never used for deadlines: only to tell a gap of 2 us from one of 20 us,
// so that a counter that differs between sockets, or stops in deep sleep, costs a wrong guess and no more.
[[nodiscard]] inline Ticks read_ticks() noexcept
{
#if defined(__x86_64__) || defined(__i386__)
    return __rdtsc();
#elif defined(__aarch64__)
    Ticks t;
    asm volatile("mrs %0, cntvct_el0" : "=r"(t));
    return t;
#else
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<Ticks>(t.tv_sec) * 1'000'000'000u + static_cast<Ticks>(t.tv_nsec);
#endif
}

// How many ticks a duration has, to about a percent, which is plenty here: the counter of one processor makes some GHz, that of another 24 MHz.
//
// Threads: one until measured, then any.
class TickScale {
public:
    // `ticks` and `nanos` passed between the same two moments; at least some 50 us.
    void measured(Ticks ticks, Nanos nanos) noexcept
    {
        if (ticks != 0 && nanos > Nanos::zero()) {
            per_nano_ = static_cast<double>(ticks) / static_cast<double>(nanos.count());
        }
    }
    [[nodiscard]] Ticks ticks(Nanos d) const noexcept { return static_cast<Ticks>(static_cast<double>(d.count()) * per_nano_); }
    [[nodiscard]] Nanos nanos(Ticks t) const noexcept { return Nanos{static_cast<Nanos::rep>(static_cast<double>(t) / per_nano_)}; }

private:
    double per_nano_{1.0};
};

// Of this machine's counter. The first call takes some 50 us where the counter does not say its frequency; any thread.
[[nodiscard]] const TickScale& machine_ticks() noexcept;

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TickScale: of this machine.
#include "progress/ticks.h"

#include "sync/backoff.h"
#include "sys/system_clock.h"

namespace linnet {

namespace {

constexpr Nanos kLongEnough{50'000};

// What the counter says of itself; 0: nothing.
Ticks told_frequency() noexcept
{
#if defined(__aarch64__)
    Ticks hertz;
    asm volatile("mrs %0, cntfrq_el0" : "=r"(hertz));
    return hertz;
#elif defined(__x86_64__) || defined(__i386__)
    return 0;   // it does not, in most virtual machines
#else
    return 1'000'000'000;
#endif
}

TickScale find_out() noexcept
{
    TickScale scale;
    if (const Ticks hertz = told_frequency(); hertz != 0) {
        scale.measured(hertz, std::chrono::seconds{1});
        return scale;
    }
    const TimePoint t0 = monotonic_now();
    const Ticks c0 = read_ticks();
    while (monotonic_now() - t0 < kLongEnough) {
        cpu_pause();
    }
    scale.measured(read_ticks() - c0, monotonic_now() - t0);
    return scale;
}

}   // namespace

const TickScale& machine_ticks() noexcept
{
    static const TickScale scale = find_out();
    return scale;
}

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TickScale: of this machine.
#include "progress/ticks.h"

#include <limits>

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

struct Moment {
    Ticks ticks{0};
    TimePoint time;
};

// Both at a time: who loses its core between the two readings takes them again.
Moment now() noexcept
{
    constexpr unsigned kTries = 4;
    Moment best;
    Ticks least = std::numeric_limits<Ticks>::max();
    for (unsigned n = 0; n < kTries; ++n) {
        const Ticks before = read_ticks();
        const TimePoint time = monotonic_now();
        const Ticks took = read_ticks() - before;
        if (took < least) {
            least = took;
            best = {before, time};
        }
    }
    return best;
}

TickScale find_out() noexcept
{
    TickScale scale;
    if (const Ticks hertz = told_frequency(); hertz != 0) {
        scale.measured(hertz, std::chrono::seconds{1});
        return scale;
    }
    const Moment begin = now();
    while (monotonic_now() - begin.time < kLongEnough) {
        cpu_pause();
    }
    const Moment end = now();
    scale.measured(end.ticks - begin.ticks, end.time - begin.time);
    return scale;
}

}   // namespace

const TickScale& machine_ticks() noexcept
{
    static const TickScale scale = find_out();
    return scale;
}

}   // namespace linnet

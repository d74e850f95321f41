// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Ticks: the processor's own counter, for gaps between calls where a clock call would cost more than what it measures.
#pragma once

#include <cstdint>
#include <ctime>

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

}   // namespace linnet

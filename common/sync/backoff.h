// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Backoff: how a thread passes the time while another one finishes something short.
#pragma once

#include <thread>

namespace linnet {

// Tells the core that this is a spin loop: saves power and lets a sibling hyperthread run. Some ten cycles to ~140.
inline void cpu_pause() noexcept
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#else
    asm volatile("" ::: "memory");
#endif
}

// The line at `p` will be written soon: have it here, and nowhere else, by then. Any address, also none.
inline void fetch_to_write(const void* p) noexcept
{
#if defined(__x86_64__)
    asm volatile("prefetchw (%0)" : : "r"(p));   // the built-in function takes it for reading, unless told of the processor
#else
    __builtin_prefetch(p, 1);
#endif
}

// One per wait, on the stack of the waiting thread. Blocking: wait() pauses for the first kSpins calls and yields the processor
// in every later one, because what we wait for may itself wait for our core. Cannot fail.
//
// A hundred pauses are 1 to 4 us: longer than any critical section here when its owner runs, shorter than a scheduler tick when
// it does not. Much smaller: system calls under ordinary contention. Much bigger: oversubscribed ranks burn each other's time.
class Backoff {
public:
    static constexpr unsigned kSpins = 100;

    void wait() noexcept
    {
        if (spins_ < kSpins) {
            ++spins_;
            cpu_pause();
        } else {
            std::this_thread::yield();
        }
    }
    // True once wait() yields: a caller with a better way to sleep uses it now.
    [[nodiscard]] bool yielding() const noexcept { return spins_ >= kSpins; }
    void reset() noexcept { spins_ = 0; }

private:
    unsigned spins_{0};
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EventThreadState: a word of the engine's, and of the statistics page. Who changes it when: docs/threading.md.
#pragma once

#include <atomic>
#include <cstdint>

#include "sys/cpu_set.h"

namespace linnet {

// What the event thread does now.
enum class EventThreadState : std::uint32_t {
    kNone = 0,     // not started, failed to start, or stopped
    kAwake = 1,    // between two sleeps
    kParked = 2,   // in epoll on its bell alone, with the look-in timer: arrivals wake nobody
    kArmed = 3,    // in epoll on all sources
};

// The event thread sleeps, and shall wake up elsewhere than on one core; up, it may go anywhere again. keep(): any thread; give_back(): the event thread
// itself. Some system calls, which may sleep shortly.
// A mask that somebody else set meanwhile stays as it is.
// Proof. `had_` and `kept_` are written by whoever moved the state from kFree to kSetting, and read by the thread that is kept off after it saw kKept, which
// was stored (release) afterwards; only this thread moves it on to kFree, after it has read. So nobody writes while it reads. Should it wake up amid kSetting,
// it stays where it is allowed until it wakes up again.
class KeptOff {
public:
    void keep(std::uint32_t thread, unsigned cpu) noexcept
    {
        State free = State::kFree;
        if (thread == 0 || !state_.compare_exchange_strong(free, State::kSetting, std::memory_order_acquire, std::memory_order_relaxed)) {
            return;
        }
        had_ = thread_affinity(thread);   // not the process's: whoever pinned this thread meant it
        kept_ = had_;
        kept_.remove(cpu);
        const bool kept = !kept_.empty() && set_thread_affinity(kept_, thread);
        state_.store(kept ? State::kKept : State::kFree, std::memory_order_release);
    }
    void give_back() noexcept
    {
        if (state_.load(std::memory_order_acquire) == State::kKept) {
            const CpuSet mine = thread_affinity();
            if (mine == kept_ || mine == (kept_ & process_affinity())) {   // the second: the whole process was confined meanwhile
                static_cast<void>(set_thread_affinity(had_));
            }
            state_.store(State::kFree, std::memory_order_release);
        }
    }

private:
    enum class State : std::uint8_t { kFree, kSetting, kKept };
    std::atomic<State> state_{State::kFree};
    CpuSet had_, kept_;
};

}   // namespace linnet

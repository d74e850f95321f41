// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Futex: sleeping on a word of our own process until another thread changes it.
//
// Threads: any. futex_wait blocks; futex_wake is one system call, so callers skip it when they know that nobody sleeps.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace linnet {

enum class FutexResult : std::uint8_t {
    kWoken,      // by futex_wake, a signal or nothing at all: look at the word again
    kChanged,    // the word was not `expected` when the kernel looked
    kTimedOut,
};
inline constexpr Nanos kFutexForever = Nanos::max();

// Sleeps while `word` is `expected`, at most `timeout` (relative; plus the thread's timer slack). The check and the falling asleep are one
// step with respect to futex_wake: a waker that changes the word and then wakes is never missed.
FutexResult futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Nanos timeout = kFutexForever) noexcept;

// Wakes at most `count` sleepers; returns how many.
unsigned futex_wake(const std::atomic<std::uint32_t>& word, unsigned count = 1) noexcept;

}   // namespace linnet

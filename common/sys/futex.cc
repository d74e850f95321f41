// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Futex: futex(2), private to the process.
#include "sys/futex.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

#include "sys/system_clock.h"

namespace linnet {

static_assert(sizeof(std::atomic<std::uint32_t>) == 4 && std::atomic<std::uint32_t>::is_always_lock_free);

FutexResult futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected, Nanos timeout) noexcept
{
    const timespec limit = timeout == kFutexForever ? timespec{} : to_timespec(timeout);
    const long rc = ::syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, expected, timeout == kFutexForever ? nullptr : &limit, nullptr, 0);
    if (rc == 0) {
        return FutexResult::kWoken;
    }
    switch (errno) {
        case EAGAIN: return FutexResult::kChanged;
        case ETIMEDOUT: return FutexResult::kTimedOut;
        default: return FutexResult::kWoken;   // EINTR
    }
}

unsigned futex_wake(const std::atomic<std::uint32_t>& word, unsigned count) noexcept
{
    const long n = ::syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, std::min<unsigned>(count, INT_MAX), nullptr, nullptr, 0);
    return n > 0 ? static_cast<unsigned>(n) : 0;
}

}   // namespace linnet

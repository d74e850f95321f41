// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TimerFd: timerfd_create(2), absolute and non-blocking.
#include "sys/timer_fd.h"

#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>

#include "sys/error.h"
#include "sys/system_clock.h"

namespace linnet {

Result<TimerFd> TimerFd::open(const Log& log) noexcept
{
    Fd fd{::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
    if (!fd) {
        return log_errno(log, "timerfd_create", errno);
    }
    return TimerFd{std::move(fd)};
}

void TimerFd::set(TimePoint when) const noexcept
{
    itimerspec spec{};   // all zero: never
    if (when != TimePoint::max()) {
        spec.it_value = to_timespec(std::max(when.time_since_epoch(), Nanos{1}));
    }
    ::timerfd_settime(fd_.get(), TFD_TIMER_ABSTIME, &spec, nullptr);
}

bool TimerFd::drain() const noexcept
{
    std::uint64_t count = 0;
    return ::read(fd_.get(), &count, sizeof count) == static_cast<ssize_t>(sizeof count);
}

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TimerFd: a point in time that epoll can wait for.
#pragma once

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "sys/fd.h"

namespace linnet {

// Threads: any. Blocking: never. Readable from the set time until it is set again or drained.
class TimerFd {
public:
    TimerFd() noexcept = default;
    [[nodiscard]] static Result<TimerFd> open(const Log& log) noexcept;

    // On CLOCK_MONOTONIC, as SystemClock; a time in the past is readable at once. TimePoint::max(): never.
    void set(TimePoint when) const noexcept;
    // True when the time had come since it was set.
    bool drain() const noexcept;
    [[nodiscard]] int get() const noexcept { return fd_.get(); }
    [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }

private:
    explicit TimerFd(Fd fd) noexcept : fd_{std::move(fd)} {}

    Fd fd_;
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EventFd: a doorbell that epoll can wait for.
#pragma once

#include "base/log.h"
#include "base/status.h"
#include "sys/fd.h"

namespace linnet {

// Threads: any. Blocking: never. Readable from the first signal() until drain().
class EventFd {
public:
    EventFd() noexcept = default;
    [[nodiscard]] static Result<EventFd> open(const Log& log) noexcept;
    // For a doorbell that another process passed to us.
    explicit EventFd(Fd fd) noexcept : fd_{std::move(fd)} {}

    // Cannot fail: a counter at its maximum is readable already.
    void signal() const noexcept;
    // Takes all signals so far; false when there was none.
    bool drain() const noexcept;
    [[nodiscard]] int get() const noexcept { return fd_.get(); }
    [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }

private:
    Fd fd_;
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EventFd: eventfd(2), non-blocking.
#include "sys/event_fd.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

#include "sys/error.h"

namespace linnet {

Result<EventFd> EventFd::open(const Log& log) noexcept
{
    Fd fd{::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)};
    if (!fd) {
        return log_errno(log, "eventfd", errno);
    }
    return EventFd{std::move(fd)};
}

void EventFd::signal() const noexcept
{
    const std::uint64_t one = 1;
    while (::write(fd_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
}

bool EventFd::drain() const noexcept
{
    std::uint64_t count = 0;
    ssize_t n = 0;
    do {
        n = ::read(fd_.get(), &count, sizeof count);
    } while (n < 0 && errno == EINTR);
    return n == static_cast<ssize_t>(sizeof count);
}

}   // namespace linnet

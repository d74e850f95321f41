// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EpollSet: waiting for many descriptors, with timeouts in nanoseconds.
#pragma once

#include <sys/epoll.h>

#include <cstdint>
#include <span>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "sys/fd.h"

namespace linnet {

// What a wait answers per descriptor: the EPOLL* bits, and the data.u64 it was added with.
using EpollEvent = ::epoll_event;

// Threads: any, also while another one waits. Descriptors are borrowed; closing one takes it out of the set only when no duplicate
// of it is open, so remove() first.
class EpollSet {
public:
    static constexpr Nanos kForever = Nanos::max();

    EpollSet() noexcept = default;
    [[nodiscard]] static Result<EpollSet> open(const Log& log) noexcept;

    // Never block. A failure is logged once, here.
    Status add(int fd, std::uint32_t events, std::uint64_t data, const Log& log) const noexcept;
    Status modify(int fd, std::uint32_t events, std::uint64_t data, const Log& log) const noexcept;
    // A descriptor that is not in the set is no error.
    void remove(int fd) const noexcept;

    // Blocks at most `timeout` (0: not at all; never shorter than asked, longer by the thread's timer slack). Returns how many of
    // `events`, which has at least one place, were filled: 0 after the timeout or a signal.
    [[nodiscard]] unsigned wait(std::span<EpollEvent> events, Nanos timeout) const noexcept;

    // Readable when any member is: epoll sets nest.
    [[nodiscard]] int get() const noexcept { return fd_.get(); }
    [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }

private:
    Fd fd_;
    bool fine_{false};   // epoll_pwait2 exists (Linux 5.11): nanoseconds; else milliseconds, rounded up
};

}   // namespace linnet

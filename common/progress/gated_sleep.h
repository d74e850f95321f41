// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// GatedSleep: the sleep of the event thread, in which others decide whether arrivals wake it.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "sync/lock.h"
#include "sys/epoll_set.h"
#include "sys/event_fd.h"
#include "sys/timer_fd.h"

namespace linnet {

// One thread sleeps, until a time, a ring, or, while the gate is open, an arrival at one of the sources. Who opens the gate does not wake it, nor does an
// earlier time. One that opens it too late, when the sleeper has closed it again, costs one sleep that an arrival ends in vain.
//
// Owner: the engine. Threads: sleeps_until(), sleep() and close() the sleeper's; ring() and open() any; wake_at() one at a time. Blocking: sleep().
class GatedSleep {
public:
    enum class Woken : std::uint8_t { kByTimer, kByRing, kByArrival };

    // `sources`: descriptors, readable when something has arrived. Once; the gate is closed.
    [[nodiscard]] Status prepare(const std::vector<int>& sources, const Log& log);

    void ring() const noexcept { bell_.signal(); }
    void open() noexcept;
    void close() noexcept;
    [[nodiscard]] bool is_open() const noexcept { return open_.load(std::memory_order_relaxed); }
    // What the sleeper will sleep for; told before anybody can know that it sleeps, so that wake_at() can tell whether its time comes earlier.
    void sleeps_until(TimePoint when) noexcept { until_.store(when.time_since_epoch().count(), std::memory_order_relaxed); }
    void wake_at(TimePoint when) noexcept;
    [[nodiscard]] Woken sleep(Nanos time) noexcept;

private:
    void listen(std::uint32_t events) noexcept;

    EpollSet set_;
    EventFd bell_;
    TimerFd timer_;
    std::vector<int> sources_;
    const Log* log_{nullptr};
    Mutex gate_;                           // a leaf: who opens and who closes at a time leave all sources as the flag says
    std::atomic<bool> open_{false};
    std::atomic<bool> timer_set_{false};
    std::atomic<TimePoint::rep> until_{0};
};

}   // namespace linnet

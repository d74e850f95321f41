// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// GatedSleep: an epoll set that listens to its sources, or does not.
#include "progress/gated_sleep.h"

#include <array>
#include <span>
#include <utility>

namespace linnet {
namespace {

constexpr std::uint64_t kSourceTag = 0, kBellTag = 1, kTimerTag = 2;
// What is wanted of a source behind the closed gate: nothing, and of errors, which epoll always tells, one.
constexpr std::uint32_t kClosed = EPOLLONESHOT;
constexpr std::size_t kEventsPerSleep = 8;

}   // namespace

Status GatedSleep::prepare(const std::vector<int>& sources, const Log& log)
{
    Result<EpollSet> set = EpollSet::open(log);
    Result<EventFd> bell = EventFd::open(log);
    Result<TimerFd> timer = TimerFd::open(log);
    for (const Status s : {set.status(), bell.status(), timer.status()}) {
        if (failed(s)) {
            return s;
        }
    }
    set_ = std::move(*set);
    bell_ = std::move(*bell);
    timer_ = std::move(*timer);
    sources_ = sources;
    log_ = &log;
    Status s = set_.add(bell_.get(), EPOLLIN, kBellTag, log);
    s = failed(s) ? s : set_.add(timer_.get(), EPOLLIN, kTimerTag, log);
    for (const int fd : sources_) {
        s = failed(s) ? s : set_.add(fd, kClosed, kSourceTag, log);
    }
    return s;
}

void GatedSleep::listen(std::uint32_t events) noexcept
{
    for (const int fd : sources_) {
        static_cast<void>(set_.modify(fd, events, kSourceTag, *log_));
    }
}

void GatedSleep::open() noexcept
{
    MutexLock guard{gate_};
    open_.store(true, std::memory_order_relaxed);
    listen(EPOLLIN);
}

void GatedSleep::close() noexcept
{
    if (timer_set_.exchange(false, std::memory_order_relaxed)) {
        timer_.set(TimePoint::max());
    }
    MutexLock guard{gate_};
    if (open_.load(std::memory_order_relaxed)) {
        open_.store(false, std::memory_order_relaxed);
        listen(kClosed);
    }
}

void GatedSleep::wake_at(TimePoint when) noexcept
{
    const TimePoint::rep at = when.time_since_epoch().count();
    if (at < until_.load(std::memory_order_relaxed)) {
        until_.store(at, std::memory_order_relaxed);
        timer_set_.store(true, std::memory_order_relaxed);
        timer_.set(when);
    }
}

GatedSleep::Woken GatedSleep::sleep(Nanos time) noexcept
{
    std::array<EpollEvent, kEventsPerSleep> events;
    const unsigned n = set_.wait(events, time);
    Woken woken = Woken::kByTimer;
    for (const EpollEvent& e : std::span{events}.first(n)) {
        if (e.data.u64 == kTimerTag) {
            timer_.drain();
        } else if (e.data.u64 == kBellTag) {
            bell_.drain();
            woken = woken == Woken::kByTimer ? Woken::kByRing : woken;
        } else {
            woken = Woken::kByArrival;
        }
    }
    return woken;
}

}   // namespace linnet

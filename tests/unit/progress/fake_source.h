// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FakeSource: messages that a test delivers, through a descriptor or, as a shared-memory ring, only when prepared.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "progress/event_source.h"
#include "support/test_log.h"
#include "sys/event_fd.h"
#include "sys/system_clock.h"

namespace linnet::testing {

// Threads: deliver() any; the rest as EventSource says.
class FakeSource : public EventSource {
public:
    enum class Bell : std::uint8_t { kAlways, kWhenPrepared };

    explicit FakeSource(Bell bell = Bell::kAlways) : bell_{bell}
    {
        Result<EventFd> fd = EventFd::open(test_log());
        fd_ = std::move(*fd);
    }

    void deliver(std::uint64_t n = 1)
    {
        waiting_.fetch_add(n, std::memory_order_seq_cst);
        if (bell_ == Bell::kAlways || armed_.load(std::memory_order_seq_cst)) {
            fd_.signal();
        }
    }

    unsigned poll(unsigned budget) noexcept override
    {
        const int in = inside_.fetch_add(1, std::memory_order_seq_cst);
        overlaps_ += in != 0 ? 1 : 0;
        std::uint64_t n = 0;
        if (waiting_.load(std::memory_order_seq_cst) != 0) {
            if (bell_ == Bell::kAlways) {
                fd_.drain();
            }
            n = std::min<std::uint64_t>(waiting_.load(std::memory_order_seq_cst), budget);
            waiting_.fetch_sub(n, std::memory_order_seq_cst);
            handled_.fetch_add(n, std::memory_order_seq_cst);
            if (waiting_.load(std::memory_order_seq_cst) != 0) {
                fd_.signal();
            }
            if (on_handled) {
                on_handled(n);
            }
        }
        ++polls_;
        inside_.fetch_sub(1, std::memory_order_seq_cst);
        return static_cast<unsigned>(n);
    }
    int wait_descriptor() const noexcept override { return fd_.get(); }
    bool prepare_sleep() noexcept override
    {
        armed_.store(true, std::memory_order_seq_cst);
        if (settles_to_prepare_ && owes_.load()) {
            settle();
        }
        const Nanos takes = to_prepare_.load();
        for (const TimePoint end = monotonic_now() + takes; takes > Nanos::zero() && monotonic_now() < end;) {
        }
        return waiting_.load(std::memory_order_seq_cst) == 0;
    }
    void finish_sleep() noexcept override
    {
        armed_.store(false, std::memory_order_seq_cst);
        if (bell_ == Bell::kWhenPrepared) {
            fd_.drain();
        }
    }
    void settle() noexcept override
    {
        owes_.store(false);
        ++settled_;
    }
    void will_poll(Polling how) noexcept override { how_polled_.store(how, std::memory_order_seq_cst); }
    TimePoint next_timer() const noexcept override { return TimePoint{Nanos{timer_.load(std::memory_order_seq_cst)}}; }

    void set_timer(TimePoint when) { timer_.store(when.time_since_epoch().count(), std::memory_order_seq_cst); }
    [[nodiscard]] std::uint64_t handled() const { return handled_.load(std::memory_order_seq_cst); }
    [[nodiscard]] std::uint64_t overlaps() const { return overlaps_.load(); }   // polls that met another poll
    [[nodiscard]] std::uint64_t polls() const { return polls_.load(); }
    // As the session layer: debts are run up by the holder of the token, and settled by whoever prepares to sleep.
    void settle_to_prepare() { settles_to_prepare_ = true; }   // before the engine starts
    void owe() { owes_.store(true); }
    [[nodiscard]] unsigned settled() const { return settled_; }
    void take_to_prepare(Nanos time) { to_prepare_ = time; }
    [[nodiscard]] Polling how_polled() const { return how_polled_.load(std::memory_order_seq_cst); }
    [[nodiscard]] bool prepared() const { return armed_.load(std::memory_order_seq_cst); }   // somebody sleeps on it, or is about to

    std::function<void(std::uint64_t)> on_handled;   // on the poller's thread

private:
    Bell bell_;
    bool settles_to_prepare_{false};
    EventFd fd_;
    std::atomic<std::uint64_t> waiting_{0}, handled_{0}, overlaps_{0}, polls_{0};
    std::atomic<Nanos::rep> timer_{TimePoint::max().time_since_epoch().count()};
    std::atomic<unsigned> settled_{0};
    std::atomic<Nanos> to_prepare_{Nanos{0}};
    std::atomic<int> inside_{0};
    std::atomic<bool> armed_{false};
    std::atomic<Polling> how_polled_{Polling::kSteadily};
};

}   // namespace linnet::testing

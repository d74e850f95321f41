// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EventSource: what the progress engine polls and sleeps on.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/clock.h"

namespace linnet {

// A transport's pollable face. Owner: core/. All calls: the holder of the progress token, except wait_descriptor(), which is constant.
// Blocking: never. Cannot fail: a source that breaks reports through its own sink.
class EventSource {
public:
    virtual ~EventSource() = default;

    // One non-blocking pass; handle at most about `budget` packets. Returns the true number of events handled (0: nothing was there).
    virtual unsigned poll(unsigned budget) noexcept = 0;

    // The last poll() took so little time that nobody needs to know when it ended: well under a microsecond.
    [[nodiscard]] bool was_brief() const noexcept { return brief_; }

    // It had nothing for long, and a pass leaves it out: its poll() is a task, for when somebody has time (progress/poll_task.h).
    [[nodiscard]] bool rests() const noexcept { return rests_; }
    // The pass found something here.
    void note_events() noexcept { had_events_ = true; }

    // poll() left something for the next pass, to do it together with what comes meanwhile, and a peer waits for it. Any thread; exact for the holder of the
    // token.
    [[nodiscard]] bool owes() const noexcept { return owes_.load(std::memory_order_relaxed); }
    // Does it now: the host goes, and the next pass may be far away.
    virtual void settle() noexcept {}

    // Something that its sender believes gone is still here: it waits for room, or for a link. Only a poll() moves it on. Any thread.
    [[nodiscard]] bool keeps() const noexcept { return kept_.load(std::memory_order_relaxed) != 0; }

    // Looks for some 100 ns whether an arrival shows, if that takes no more than reading memory, or one read of the socket that delivers; else does nothing.
    // For a caller that waits.
    enum class Linger : std::uint8_t {
        kNever,     // it cannot, or has nowhere to look
        kNothing,   // nothing came
        kArrival,   // poll() will find it
        kTaken,     // it was handled, as by poll()
    };
    [[nodiscard]] virtual Linger linger() noexcept { return Linger::kNever; }

    // A descriptor that is readable (level-triggered) whenever poll() would do something, or -1 when the source never needs one. Polled by
    // epoll only while somebody sleeps; costs nothing otherwise.
    [[nodiscard]] virtual int wait_descriptor() const noexcept = 0;

    // Before the token holder sleeps: false when there is work already (a shared-memory ring that has no descriptor of its own arms its doorbell here).
    [[nodiscard]] virtual bool prepare_sleep() noexcept { return true; }
    virtual void finish_sleep() noexcept {}

    // Who sleeps next, once prepare_sleep() is done. The event thread sleeps while the host computes, and each wake-up takes of the host's core: what
    // is of no use before more of it has come may then wait for that, and wait_descriptor() be readable only then. Holds until it is said otherwise.
    enum class Sleeper : std::uint8_t { kHost, kEventThread };
    virtual void will_sleep(Sleeper) noexcept {}
    // How whoever polls does so from now on, when that is new. kSteadily, as at first: until what it waits for is here. kInTurns: others want its cores, and
    // it gives them away in between. kForAMoment: it is the event thread, and sleeps again.
    enum class Polling : std::uint8_t { kSteadily, kInTurns, kForAMoment };
    virtual void will_poll(Polling) noexcept {}

    // When poll() must run at the latest (a connect timeout, a delayed acknowledgement); TimePoint::max() for never.
    [[nodiscard]] virtual TimePoint next_timer() const noexcept { return TimePoint::max(); }

protected:
    bool brief_{false};   // poll() may set it
    std::atomic<bool> owes_{false};
    std::atomic<std::uint32_t> kept_{0};   // as many; any thread changes it

private:
    friend class PollTask;
    bool rests_{false};        // as the rest: the holder of the token
    bool had_events_{true};    // since PollTask looked last
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// StatsPublisher: keeps the statistics page of a context up to date.
#pragma once

#include <array>

#include "base/clock.h"
#include "base/log.h"
#include "conf/settings.h"
#include "progress/event_source.h"
#include "progress/progress_engine.h"
#include "session/session_layer.h"
#include "stats/stats_page.h"
#include "sys/memfd.h"

namespace linnet::core {

class Context;

// Polled like a transport, by whoever polls: mostly the event thread, since the application polls only while it waits. Owner: Context.
// Failure: without memory for the page there is none, and a debug line says so.
class StatsPublisher final : public EventSource {
public:
    StatsPublisher(const Context& context, const Clock& clock) noexcept : context_{context}, clock_{clock} {}
    void open(const Settings& settings, const Log& log) noexcept;
    // Without waiting for the period, before the context goes.
    void publish(TimePoint now);

    unsigned poll(unsigned budget) noexcept override;
    [[nodiscard]] int wait_descriptor() const noexcept override { return -1; }
    [[nodiscard]] bool prepare_sleep() noexcept override
    {
        polls_ = 0;   // the first pass after a sleep looks at the clock: it may be our timer that ended it
        return true;
    }
    [[nodiscard]] TimePoint next_timer() const noexcept override { return writer_.attached() ? due_ : TimePoint::max(); }

private:
    static constexpr unsigned kPollsPerClock = 256;

    struct Heard {
        std::uint64_t packets{0};
        TimePoint at{};   // of the first page that showed so many
    };

    const Context& context_;
    const Clock& clock_;
    Fd memfd_;
    Mapping mapping_;
    StatsPageWriter writer_;
    std::array<Heard, std::tuple_size_v<decltype(StatsPage::peers)>> heard_{};   // of the peers shown, which keep their places
    TimePoint due_{};
    unsigned polls_{0};   // until the next look at the clock
};

}   // namespace linnet::core

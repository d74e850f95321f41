// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// An engine with a source that the test feeds, and the host's calls as the waist makes them.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>

#include "progress/progress_engine.h"
#include "support/eventually.h"
#include "support/test_log.h"
#include "support/thread_state.h"
#include "sys/system_clock.h"
#include "unit/progress/fake_source.h"

namespace linnet::testing {

constexpr Nanos kSoon = std::chrono::seconds{2};   // for what takes microseconds: a loaded machine may take its time

template <class Condition>
bool soon(Condition condition)
{
    return eventually(condition, kSoon);
}

class ProgressEngineTest : public ::testing::Test {
protected:
    enum class Debts : std::uint8_t { kNoMatter, kSettled };   // of the source
    ProgressEngine& make(ProgressEngine::Config config = {}, FakeSource::Bell bell = FakeSource::Bell::kAlways, Debts debts = Debts::kNoMatter)
    {
        source_.emplace(bell);
        config.has_completions = ReadyRef::to(has_completions_);
        ProgressEngine& engine = engine_.emplace(config, clock_, stats_, test_log());
        // What the source handles completes at once. Not by way of engine_, which is empty before the event thread has ended.
        source_->on_handled = [this, &engine](std::uint64_t n) {
            completions_.fetch_add(n);
            engine.completed();
        };
        EXPECT_EQ(engine.add_source(*source_), Status::kOk);
        if (debts == Debts::kSettled) {
            engine.set_debtor(*source_);
            source_->settle_to_prepare();
        }
        EXPECT_EQ(engine.start(), Status::kOk);
        return engine;
    }
    void TearDown() override
    {
        if (engine_) {
            engine_->stop();
            EXPECT_EQ(source_->overlaps(), 0u);
        }
        engine_.reset();
    }
    std::uint64_t count(Counter id) const { return stats_.total(id); }
    // One call of a host's progress loop, as the waist makes it.
    unsigned host_call(WhenIdle when = WhenIdle::kSleep)
    {
        engine_->enter();
        const unsigned n = engine_->host_progress(64, when);
        const std::uint64_t drained = completions_.exchange(0);
        drained_ += drained;
        engine_->leave(drained != 0 ? CallKind::kCompleted : CallKind::kEmpty);
        return n;
    }
    // The host polls until it sleeps and the host alone has taken an arrival: one that both looked at may leave the descriptor readable, which ends the next
    // sleep.
    bool event_thread_parks()
    {
        const auto parked = [this] { return engine_->event_thread_state() == EventThreadState::kParked; };
        bool slept = false;
        for (const TimePoint end = monotonic_now() + kSoon; !(slept && parked()) && monotonic_now() < end;) {
            slept = parked() && thread_sleeps("linnet-event");
            source_->deliver();
            host_call(WhenIdle::kReturn);
        }
        return slept && parked();
    }
    void owe()
    {
        engine_->take_token();
        source_->owe();
        engine_->release_token();
    }
    void post()
    {
        engine_->enter();
        engine_->work_opened();
        engine_->leave(CallKind::kPost);
    }

    SystemClock clock_;
    Stats stats_;
    std::atomic<std::uint64_t> completions_{0};
    std::uint64_t drained_{0};
    struct HasCompletions {
        const std::atomic<std::uint64_t>* n;
        bool operator()() const noexcept { return n->load() != 0; }
    } has_completions_{&completions_};
    std::optional<FakeSource> source_;
    std::optional<ProgressEngine> engine_;
};

}   // namespace linnet::testing

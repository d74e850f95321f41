// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ProgressEngine: with real threads, real sleeps and sources that the test feeds.
//
// Times are only ever bounded from above, generously, except where sleeping too little is the failure.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "sys/cpu_set.h"
#include "unit/progress/engine_fixture.h"

namespace linnet {
namespace {

using namespace std::chrono_literals;
using testing::FakeSource;
using testing::kSoon;
using testing::ProgressEngineTest;
using testing::soon;
using testing::test_log;
using testing::thread_sleeps;

// ---- the pass ----

TEST(ProgressPass, AsksTheSourceThatHadEventsFirstButTheOthersInTheirTurn)
{
    SystemClock clock;
    Stats stats;
    FakeSource busy;
    FakeSource other;
    ProgressEngine engine{{.event_thread = false}, clock, stats, test_log()};
    busy.on_handled = other.on_handled = [&](std::uint64_t) { engine.completed(); };
    for (FakeSource* const source : {&other, &busy}) {
        ASSERT_EQ(engine.add_source(*source), Status::kOk);
    }
    ASSERT_EQ(engine.start(), Status::kOk);
    busy.deliver();
    while (busy.handled() == 0) {
        engine.poll(1);
    }
    engine.poll(1);   // over all
    const std::uint64_t asked = other.polls();
    constexpr std::uint64_t kPasses = 64;
    for (std::uint64_t i = 0; i < kPasses; ++i) {
        busy.deliver();
        EXPECT_EQ(engine.poll(1), 1u);
    }
    EXPECT_GE(other.polls() - asked, 3u);
    EXPECT_LE(other.polls() - asked, kPasses / 8);
    other.deliver();
    busy.deliver(100);
    unsigned passes = 0;
    while (other.handled() == 0 && passes < 100) {
        engine.poll(1);
        ++passes;
    }
    EXPECT_LE(passes, 34u);
    busy.deliver();
    const std::uint64_t before = other.polls();
    engine.kick();   // who kicks waits for a pass over all
    engine.poll(1);
    engine.poll(1);
    EXPECT_GT(other.polls(), before);
}

// ---- start and stop ----

TEST_F(ProgressEngineTest, StartMeasuresWakeCostAndDerivesSpinTime)
{
    ProgressEngine& engine = make();
    EXPECT_GT(engine.wake_cost(), 500ns);
    EXPECT_GE(engine.spin_time(), 10us);
    EXPECT_LE(engine.spin_time(), 200us);
    RecordProperty("wake_cost_ns", static_cast<int>(engine.wake_cost().count()));
}

TEST_F(ProgressEngineTest, StartTwiceIsRefused)
{
    ProgressEngine& engine = make();
    EXPECT_EQ(engine.start(), Status::kInvalid);
    FakeSource late;
    EXPECT_EQ(engine.add_source(late), Status::kInvalid);
}

TEST_F(ProgressEngineTest, StopEndsTheEventThreadInEveryState)
{
    for (int round = 0; round < 20; ++round) {
        ProgressEngine& engine = make();
        engine.peers_changed(1);
        std::this_thread::sleep_for(std::chrono::microseconds{37 * round});
        engine.stop();
        EXPECT_EQ(engine.event_thread_state(), EventThreadState::kNone);
        engine.stop();
        engine_.reset();
    }
}

TEST_F(ProgressEngineTest, WithoutEventThreadTheHostMovesEverything)
{
    ProgressEngine& engine = make({.event_thread = false});
    EXPECT_EQ(engine.event_thread_state(), EventThreadState::kNone);
    engine.work_opened();
    std::thread peer{[&] {
        std::this_thread::sleep_for(5ms);
        source_->deliver();
    }};
    while (drained_ == 0) {
        host_call();
    }
    peer.join();
    EXPECT_EQ(count(Counter::kEventThreadWakeups), 0u);
}

// ---- the token ----

TEST_F(ProgressEngineTest, TokenIsExclusiveBetweenThreads)
{
    ProgressEngine& engine = make({.event_thread = false});
    engine.take_token();
    std::thread other{[&] {
        if (engine.try_take_token()) {
            engine.release_token();
            ADD_FAILURE() << "two holders";
        }
        EXPECT_EQ(engine.poll(1), 0u);
    }};
    other.join();
    engine.release_token();
}

TEST_F(ProgressEngineTest, TakeTokenWakesASleepingHolder)
{
    ProgressEngine& engine = make({.policy = ProgressPolicy::kBlock, .event_thread = false});
    engine.work_opened();
    std::atomic<bool> done{false};
    const auto ready = [&]() noexcept { return done.load(); };
    std::thread waiter{[&] { EXPECT_EQ(engine.wait(ReadyRef::to(ready), TimePoint::max()), Status::kOk); }};
    for (int round = 0; round < 50; ++round) {
        ASSERT_TRUE(soon([&] { return engine.token().held(); }));
        const TimePoint before = monotonic_now();
        {
            TokenGuard guard{engine};
            EXPECT_TRUE(engine.token().held_by_me());
        }
        EXPECT_LT(monotonic_now() - before, kSoon);
    }
    done = true;
    engine.completed();
    waiter.join();
}

TEST_F(ProgressEngineTest, TakeTokenIsServedAgainstSpinningWaiters)
{
    ProgressEngine& engine = make({.policy = ProgressPolicy::kSpin});
    std::atomic<bool> done{false};
    const auto ready = [&]() noexcept { return done.load(); };
    std::thread a{[&] { EXPECT_EQ(engine.wait(ReadyRef::to(ready), TimePoint::max()), Status::kOk); }};
    std::thread b{[&] { EXPECT_EQ(engine.wait(ReadyRef::to(ready), TimePoint::max()), Status::kOk); }};
    for (int round = 0; round < 200; ++round) {
        const std::uint64_t before = source_->polls();
        ASSERT_TRUE(soon([&] { return source_->polls() > before; }));   // they go on after each time
        TokenGuard guard{engine};
    }
    done = true;
    engine.completed();
    a.join();
    b.join();
}

// ---- the event thread works while the host computes ----

TEST_F(ProgressEngineTest, ArrivalWhileNobodyPollsIsHandled)
{
    for (const auto bell : {FakeSource::Bell::kAlways, FakeSource::Bell::kWhenPrepared}) {
        ProgressEngine& engine = make({}, bell);
        engine.peers_changed(1);
        ASSERT_TRUE(soon([&] { return engine.event_thread_state() == EventThreadState::kArmed; }));
        for (std::uint64_t i = 1; i <= 100; ++i) {
            source_->deliver();
            ASSERT_TRUE(soon([&] { return source_->handled() == i; })) << "message " << i;
        }
        engine_.reset();
    }
}

TEST_F(ProgressEngineTest, PostThenComputeIsServedWithoutWaitingForTheLookIn)
{
    // The look-in is set out of reach: only arming can help.
    ProgressEngine& engine = make({.look_in = 100s}, FakeSource::Bell::kWhenPrepared);
    engine.peers_changed(1);
    for (std::uint64_t i = 1; i <= 30; ++i) {
        for (int call = 0; call < 5; ++call) {
            host_call(WhenIdle::kReturn);   // the host polls: whatever was prepared is so no more
        }
        post();
        std::this_thread::sleep_for(i % 2 == 0 ? 0us : 300us);
        source_->deliver();
        ASSERT_TRUE(soon([&] { return source_->handled() == i; })) << "round " << i;
        std::this_thread::sleep_for(1500us);   // it computes on: the time of the event thread does not count as absence
        engine.work_closed();
    }
}

TEST_F(ProgressEngineTest, MispredictedAbsenceIsFoundByTheLookIn)
{
    ProgressEngine& engine = make({.look_in = 5ms}, FakeSource::Bell::kWhenPrepared);
    engine.peers_changed(1);
    for (int call = 0; call < 20'000; ++call) {
        host_call(WhenIdle::kReturn);   // learned: it always comes back at once
    }
    source_->deliver();     // and now it does not
    EXPECT_TRUE(soon([&] { return source_->handled() == 1; }));
}

TEST_F(ProgressEngineTest, TimersRunWhileTheHostComputes)
{
    ProgressEngine& engine = make();
    engine.peers_changed(1);
    ASSERT_TRUE(soon([&] { return engine.event_thread_state() == EventThreadState::kArmed; }));
    const std::uint64_t before = source_->polls();
    source_->set_timer(monotonic_now() + 3ms);
    engine.kick();
    EXPECT_TRUE(soon([&] { return source_->polls() >= before + 2; }));
    source_->set_timer(TimePoint::max());
}

TEST_F(ProgressEngineTest, KickReachesTheArmedEventThread)
{
    ProgressEngine& engine = make({.look_in = 100s});
    std::this_thread::sleep_for(1ms);   // start() looked like a visit of the host: be away
    engine.peers_changed(1);
    ASSERT_TRUE(soon([&] { return engine.event_thread_state() == EventThreadState::kArmed; }));
    for (int i = 0; i < 200; ++i) {
        const std::uint64_t before = source_->polls();
        engine.kick();
        ASSERT_TRUE(soon([&] { return source_->polls() > before; })) << "kick " << i;
    }
}

// Behind its pass the event thread does what the host would (Config::attend). That may post, and what was posted has a timer: it sleeps until then, not until
// it would have looked in.
TEST_F(ProgressEngineTest, EventThreadWakesForTheTimerOfWhatItHasPostedForTheHost)
{
    struct Host {
        std::atomic<FakeSource*> source{nullptr};
        std::atomic<unsigned> calls{0};
        static bool attend(void* arg) noexcept
        {
            auto& self = *static_cast<Host*>(arg);
            FakeSource* const source = self.source.load();
            if (source == nullptr) {
                return false;
            }
            const unsigned call = self.calls.fetch_add(1);
            if (call == 0 || call == 2) {   // it posts, and that is over
                source->set_timer(call == 0 ? monotonic_now() + 20ms : TimePoint::max());
            }
            return call == 0;
        }
    } host;
    ProgressEngine& engine = make({.look_in = 100s, .attend = Host::attend, .attend_arg = &host});
    std::this_thread::sleep_for(1ms);   // start() looked like a visit of the host: be away
    engine.peers_changed(1);
    ASSERT_TRUE(soon([&] { return engine.event_thread_state() == EventThreadState::kArmed && thread_sleeps("linnet-event"); }));
    host.source = &*source_;
    engine.kick();
    EXPECT_TRUE(soon([&] { return host.calls.load() >= 3; })) << "behind what it posted, and when that was due: " << host.calls.load();
}

// ---- the event thread stays away while the host polls ----

TEST_F(ProgressEngineTest, PingPongNeitherWakesNorArmsTheEventThread)
{
    ProgressEngine& engine = make({.arm_gap = 1ms});   // a busy machine makes many gaps of less
    engine.peers_changed(1);
    // Without sleeps, which are not the subject here. First it learns.
    const auto exchange = [&] {
        post();
        for (int empty = 0; empty < 10; ++empty) {
            host_call(WhenIdle::kReturn);
        }
        const std::uint64_t before = drained_;
        source_->deliver();
        while (drained_ == before) {
            host_call(WhenIdle::kReturn);
        }
        engine.work_closed();
    };
    for (int i = 0; i < 200; ++i) {
        exchange();
    }
    const std::uint64_t arms = count(Counter::kEventThreadArms);
    const std::uint64_t wakeups = count(Counter::kEventThreadWakeups);
    const std::uint64_t looks = count(Counter::kEventThreadLookIns);
    const std::uint64_t preempted = thread_context_switches().involuntary;
    const TimePoint begin = monotonic_now();
    std::uint64_t held_up = 0;
    TimePoint last = begin;
    for (int i = 0; i < 10'000; ++i) {
        exchange();
        const TimePoint now = monotonic_now();
        held_up += now - last > 200us ? 1 : 0;
        last = now;
    }
    const auto periods = static_cast<std::uint64_t>((last - begin) / 20ms) + 2;
    const std::uint64_t look_ins = count(Counter::kEventThreadLookIns) - looks;
    EXPECT_LE(look_ins, periods);
    // A thread that lost its core looks absent. It is believed to be back after one spurious wake-up, and its gap forgotten after three
    // more; on a quiet machine that leaves 10 in 10 000.
    // A virtual machine that loses its core sees no switch: hence the time, of which an exchange takes some 2 us.
    const std::uint64_t lost = thread_context_switches().involuntary - preempted + held_up;
    EXPECT_LE(count(Counter::kEventThreadWakeups) - wakeups - look_ins, 10u + 5 * lost);
    EXPECT_LE(count(Counter::kEventThreadArms) - arms, 10u + 5 * lost);
    RecordProperty("wakeups", static_cast<int>(count(Counter::kEventThreadWakeups) - wakeups));
    RecordProperty("preempted", static_cast<int>(lost));
}

TEST_F(ProgressEngineTest, ReturningHostCostsOneSpuriousWakeUpThenTheThreadParks)
{
    ProgressEngine& engine = make({.look_in = 1s});
    engine.peers_changed(1);
    ASSERT_TRUE(soon([&] { return engine.event_thread_state() == EventThreadState::kArmed; }));
    const std::uint64_t before = count(Counter::kEventThreadWakeups);
    const std::uint64_t preempted = thread_context_switches().involuntary;
    for (int i = 0; i < 20'000 && engine.event_thread_state() != EventThreadState::kParked; ++i) {
        source_->deliver();
        for (int call = 0; call < 10; ++call) {
            host_call(WhenIdle::kReturn);
        }
    }
    EXPECT_EQ(engine.event_thread_state(), EventThreadState::kParked);
    const std::uint64_t lost = thread_context_switches().involuntary - preempted;   // each looks like another absence
    EXPECT_LE(count(Counter::kEventThreadWakeups) - before, 3u + 3 * lost);
}

TEST_F(ProgressEngineTest, SourcesAreToldHowTheyArePolled)
{
    using Polling = EventSource::Polling;
    ProgressEngine& engine = make();
    engine.peers_changed(1);
    for (int round = 0; round < 3; ++round) {
        engine.enter();
        engine.work_opened();
        engine.leave(CallKind::kLongPost);
        const std::uint64_t handled = source_->handled();
        source_->deliver();
        ASSERT_TRUE(soon([&] { return source_->handled() != handled; })) << round;
        EXPECT_EQ(source_->how_polled(), Polling::kForAMoment) << round;
        engine.work_closed();
        ASSERT_TRUE(soon([&] {   // the event thread may have the token
            host_call(WhenIdle::kReturn);
            return source_->how_polled() == (engine.contended() ? Polling::kInTurns : Polling::kSteadily);
        })) << round;
    }
}

// A wake-up would cost the host's core, and the scheduler would let the first arrival wait for what the event thread ran.
TEST_F(ProgressEngineTest, HostThatLeavesForLongArmsTheEventThreadInItsSleep)
{
    ProgressEngine& engine = make({.look_in = 100s});
    engine.peers_changed(1);
    for (int round = 0; round < 20; ++round) {
        ASSERT_TRUE(event_thread_parks()) << round;
        const std::uint64_t wakeups = count(Counter::kEventThreadWakeups);
        engine.enter();
        engine.work_opened();
        engine.leave(CallKind::kLongPost);
        ASSERT_EQ(engine.event_thread_state(), EventThreadState::kArmed) << round;
        std::this_thread::sleep_for(1ms);
        EXPECT_EQ(count(Counter::kEventThreadWakeups), wakeups) << round;
        const std::uint64_t handled = source_->handled();
        source_->deliver();
        EXPECT_TRUE(soon([&] { return source_->handled() != handled; })) << "nobody was woken, " << round;
        engine.work_closed();
    }
}

// The gap behind a leave begins when the thread was armed. Else one that was armed in vain would take part in what follows, look long, and be armed again.
TEST_F(ProgressEngineTest, ArmingTakesNoPartInTheGap)
{
    ProgressEngine& engine = make({.look_in = 100s, .arm_gap = 200us});
    engine.peers_changed(1);
    ASSERT_TRUE(event_thread_parks());
    source_->take_to_prepare(2ms);
    const std::uint64_t preempted = thread_context_switches().involuntary;
    const TimePoint begin = monotonic_now();
    constexpr int kTimes = 200;
    for (int i = 0; i < kTimes; ++i) {
        post();
        engine.work_closed();
        host_call(WhenIdle::kReturn);
    }
    // The first one is long, as all that is new; each lost core looks like an absence, and is remembered four times. Else all of them would prepare.
    const std::uint64_t lost = thread_context_switches().involuntary - preempted;
    EXPECT_LT(monotonic_now() - begin, kTimes * 1ms + 4 * lost * 10ms);
    EXPECT_GE(monotonic_now() - begin, 2ms) << "the first one armed";
}

// If the event thread has the token in that moment it does so, before it parks.
TEST_F(ProgressEngineTest, WhatIsOwedIsSettledBeforeAHostGoesThatHasNothingOpen)
{
    make({.look_in = 100s});
    owe();
    host_call(WhenIdle::kReturn);
    EXPECT_EQ(source_->settled(), 0u) << "nobody said that it is the debtor";
    engine_.reset();
    ProgressEngine& engine = make({.look_in = 100s}, FakeSource::Bell::kAlways, Debts::kSettled);
    const auto settles = [&](std::uint64_t times) { return soon([&] { return source_->settled() >= times; }) && source_->settled() == times; };
    owe();
    host_call(WhenIdle::kReturn);
    EXPECT_TRUE(settles(1));
    host_call(WhenIdle::kReturn);
    EXPECT_TRUE(settles(1));
    owe();
    engine.passed_by(CallKind::kPost);   // a receive whose message was there
    EXPECT_TRUE(settles(2));
    owe();
    post();
    EXPECT_TRUE(settles(3)) << "something is open, but what is new is taken for long";
    engine.work_closed();
}

// It rings for nobody. A host that leaves finds it, and is back before the event thread, woken for it, has looked; then it leaves again without a poll.
TEST_F(ProgressEngineTest, WorkThatWasThereWhenTheSourcesWerePreparedIsSeenThoughTheHostCameBackMeanwhile)
{
    for (int pause = 0; pause < 80; ++pause) {   // us, in which the event thread wakes up, or parks again
        ProgressEngine& engine = make({.look_in = 100s}, FakeSource::Bell::kWhenPrepared);   // anew: it has learned nothing, and expects each gap to be long
        engine.peers_changed(1);
        for (const TimePoint end = monotonic_now() + kSoon; engine.event_thread_state() != EventThreadState::kParked && monotonic_now() < end;) {
            host_call(WhenIdle::kReturn);
            engine.kick();   // it wakes up, sees the host, and parks
        }
        ASSERT_TRUE(soon([&] {   // a ring that it had no need of may wake it once more
            std::this_thread::sleep_for(200us);
            return engine.event_thread_state() == EventThreadState::kParked;
        }));
        source_->deliver();
        engine.enter();
        engine.work_opened();
        engine.leave(CallKind::kLongPost);
        engine.enter();
        std::this_thread::sleep_for(std::chrono::microseconds{pause});
        engine.leave(CallKind::kLongPost);
        EXPECT_TRUE(soon([&] { return source_->handled() != 0; })) << "nobody looked, " << pause;
        engine.work_closed();
        engine.stop();
        engine_.reset();
    }
}

// ---- packets held back ----

TEST_F(ProgressEngineTest, HeldPacketWaitsForAHostThatGoesOnAndForTheEventThreadOtherwise)
{
    ProgressEngine& engine = make({.look_in = 100s});
    engine.peers_changed(1);
    for (int round = 0; round < 20; ++round) {
        bool held = false;
        std::uint64_t polls = 0;   // before: the event thread may be quicker than this one comes to look
        for (const TimePoint end = monotonic_now() + kSoon; !held && monotonic_now() < end;) {
            for (int post = 0; !held && post < 1000; ++post) {   // back to back; a thread that loses its core breaks its row
                polls = count(Counter::kEventThreadPolls);
                engine.enter();
                held = engine.may_hold() && engine.held();
                engine.leave(CallKind::kPost);
            }
        }
        ASSERT_TRUE(held) << round;
        EXPECT_TRUE(soon([&] { return count(Counter::kEventThreadPolls) != polls; })) << round;   // the host has gone
    }
}

// Each look takes the host's core: a program that holds one packet in a thousand messages would pay for all of them.
TEST_F(ProgressEngineTest, RowOfItsOwnIsWorthFewLooks)
{
    ProgressEngine& engine = make({.look_in = 100s});
    engine.peers_changed(1);
    std::uint64_t fewest = 1000;   // of ten rows: this thread may lose its core in one
    for (int row = 0; row < 10; ++row) {
        const std::uint64_t polls = count(Counter::kEventThreadPolls);
        const std::uint64_t wakeups = count(Counter::kEventThreadWakeups) + 1;   // the one by held() is no look
        engine.take_token();
        EXPECT_FALSE(engine.held());
        engine.release_token();
        ASSERT_TRUE(soon([&] { return count(Counter::kEventThreadPolls) != polls; }));
        std::this_thread::sleep_for(30ms);   // 300 times hold_time
        fewest = std::min(fewest, count(Counter::kEventThreadWakeups) - wakeups);
    }
    EXPECT_LE(fewest, 4u);
    EXPECT_LE(count(Counter::kEventThreadLookIns), 1u) << "a look for held packets is no look-in, but the first, which is due";
}

TEST_F(ProgressEngineTest, NothingIsHeldWhileSomebodyPollsOrWithoutAnEventThread)
{
    ProgressEngine& engine = make({.look_in = 100s});
    engine.take_token();
    EXPECT_FALSE(engine.may_hold());
    EXPECT_FALSE(engine.held());
    engine.release_token();
    engine.stop();
    engine_.reset();
    ProgressEngine& alone = make({.event_thread = false});
    for (int i = 0; i < 100; ++i) {
        alone.enter();
        EXPECT_FALSE(alone.may_hold());
        alone.leave(CallKind::kPost);
    }
}

// A host that sleeps on the descriptor, and is busy elsewhere when something arrives, is found out by a look-in, not when all looks for held packets are over.
TEST_F(ProgressEngineTest, LooksForHeldPacketsDoNotPutOffTheLookIn)
{
    ProgressEngine& engine = make({.local_ranks = usable_cpus() + 1, .hold_time = 10ms}, FakeSource::Bell::kWhenPrepared);
    engine.peers_changed(1);
    for (int row = 0; row < 8; ++row) {   // as many looks as rows can be worth; contended, one of them may take 1.6 s
        engine.take_token();
        EXPECT_FALSE(engine.held());
        engine.release_token();
        std::this_thread::sleep_for(30ms);
    }
    ASSERT_TRUE(soon([&] {
        engine.enter();
        static_cast<void>(engine.poll(64));
        engine.leave(CallKind::kEmpty);
        return engine.arm_wait_fd();
    }));
    const TimePoint begin = monotonic_now();
    source_->deliver();
    ASSERT_TRUE(soon([&] { return source_->handled() != 0; }));
    EXPECT_LT(monotonic_now() - begin, 1s) << "look_in is 20 ms";
}

// Whoever polls may have looked at the held packets already, and the next one of the row is not the first any more.
TEST_F(ProgressEngineTest, RowThatBeganWhileSomebodyPolledIsLookedAfterToo)
{
    ProgressEngine& engine = make({.look_in = 100s});
    engine.peers_changed(1);
    engine.take_token();
    const std::uint64_t polls = count(Counter::kEventThreadPolls);
    EXPECT_FALSE(engine.held());
    engine.release_token();
    EXPECT_TRUE(soon([&] { return count(Counter::kEventThreadPolls) != polls; }));
}

}   // namespace
}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ProgressEngine: with real threads, real sleeps and sources that the test feeds.
//
// Times are only ever bounded from above, generously, except where sleeping too little is the failure.
#include "progress/progress_engine.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <chrono>
#include <optional>
#include <thread>

#include "support/test_log.h"
#include "sys/system_clock.h"
#include "unit/progress/fake_source.h"

namespace linnet {
namespace {

using namespace std::chrono_literals;
using testing::FakeSource;
using testing::test_log;

constexpr Nanos kSoon = 2s;   // for what takes microseconds: a loaded machine may take its time

// Until `condition` or the bound; tests check the condition again.
template <class Condition>
bool eventually(Condition condition, Nanos bound = kSoon)
{
    const TimePoint end = monotonic_now() + bound;
    while (!condition()) {
        if (monotonic_now() >= end) {
            return condition();
        }
        std::this_thread::sleep_for(100us);
    }
    return true;
}

class ProgressEngineTest : public ::testing::Test {
protected:
    ProgressEngine& make(ProgressEngine::Config config = {}, FakeSource::Bell bell = FakeSource::Bell::kAlways)
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
        ASSERT_TRUE(eventually([&] { return engine.token().held(); }));
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
        ASSERT_TRUE(eventually([&] { return source_->polls() > before; }));   // they go on after each time
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
        ASSERT_TRUE(eventually([&] { return engine.event_thread_state() == EventThreadState::kArmed; }));
        for (std::uint64_t i = 1; i <= 100; ++i) {
            source_->deliver();
            ASSERT_TRUE(eventually([&] { return source_->handled() == i; })) << "message " << i;
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
        ASSERT_TRUE(eventually([&] { return source_->handled() == i; })) << "round " << i;
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
    EXPECT_TRUE(eventually([&] { return source_->handled() == 1; }));
}

TEST_F(ProgressEngineTest, TimersRunWhileTheHostComputes)
{
    ProgressEngine& engine = make();
    engine.peers_changed(1);
    ASSERT_TRUE(eventually([&] { return engine.event_thread_state() == EventThreadState::kArmed; }));
    const std::uint64_t before = source_->polls();
    source_->set_timer(monotonic_now() + 3ms);
    engine.kick();
    EXPECT_TRUE(eventually([&] { return source_->polls() >= before + 2; }));
    source_->set_timer(TimePoint::max());
}

TEST_F(ProgressEngineTest, KickReachesTheArmedEventThread)
{
    ProgressEngine& engine = make({.look_in = 100s});
    std::this_thread::sleep_for(1ms);   // start() looked like a visit of the host: be away
    engine.peers_changed(1);
    ASSERT_TRUE(eventually([&] { return engine.event_thread_state() == EventThreadState::kArmed; }));
    for (int i = 0; i < 200; ++i) {
        const std::uint64_t before = source_->polls();
        engine.kick();
        ASSERT_TRUE(eventually([&] { return source_->polls() > before; })) << "kick " << i;
    }
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
    ASSERT_TRUE(eventually([&] { return engine.event_thread_state() == EventThreadState::kArmed; }));
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
        EXPECT_TRUE(eventually([&] { return count(Counter::kEventThreadPolls) != polls; })) << round;   // the host has gone
    }
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

// Whoever polls may have looked at the held packets already, and the next one of the row is not the first any more.
TEST_F(ProgressEngineTest, RowThatBeganWhileSomebodyPolledIsLookedAfterToo)
{
    ProgressEngine& engine = make({.look_in = 100s});
    engine.peers_changed(1);
    engine.take_token();
    const std::uint64_t polls = count(Counter::kEventThreadPolls);
    EXPECT_FALSE(engine.held());
    engine.release_token();
    EXPECT_TRUE(eventually([&] { return count(Counter::kEventThreadPolls) != polls; }));
}

// ---- host_progress sleeps when it may ----

TEST_F(ProgressEngineTest, HostPollsForWhatIsExpectedSoonAndSleepsAfterwards)
{
    ProgressEngine& engine = make();
    post();
    engine.expect_after_others(10s, 20s);
    bool crowded = false;   // then it gives way, and sleeps
    for (const TimePoint end = monotonic_now() + 20ms; monotonic_now() < end;) {
        for (int call = 0; call < 100; ++call) {
            crowded = crowded || engine.contended();
            host_call();
        }
    }
    EXPECT_TRUE(crowded || count(Counter::kAppSleeps) == 0);
    engine.expect_after_others(10s, Nanos::zero());   // behind the other, but not for longer than that
    for (const TimePoint end = monotonic_now() + kSoon; count(Counter::kAppSleeps) == 0 && monotonic_now() < end;) {
        for (int call = 0; call < 100; ++call) {
            host_call();
        }
    }
    EXPECT_GT(count(Counter::kAppSleeps), 0u);
}

TEST_F(ProgressEngineTest, BlockedHostUsesLittleProcessorTime)
{
    ProgressEngine& engine = make();
    engine.peers_changed(1);
    engine.work_opened();
    const Nanos cpu = thread_cpu_time();
    const TimePoint begin = monotonic_now();
    while (count(Counter::kAppSleepsEmpty) < 200 && monotonic_now() - begin < 20s) {
        for (int call = 0; call < 100; ++call) {   // back to back: a look at the clock is a break to a slow machine
            host_call();
        }
    }
    const auto share = static_cast<double>((thread_cpu_time() - cpu).count()) / static_cast<double>((monotonic_now() - begin).count());
    // Some 0.02 without sanitizers and neighbours, 1.0 for a host that spins.
    EXPECT_LT(share, 0.2) << count(Counter::kAppSleeps) << " sleeps, " << count(Counter::kAppPolls) << " polls";
    EXPECT_GE(count(Counter::kAppSleepsEmpty), 200u);
    RecordProperty("permille", static_cast<int>(share * 1000));
    engine.work_closed();
}

TEST_F(ProgressEngineTest, WithoutOpenWorkTheHostNeverSleeps)
{
    make();
    for (int call = 0; call < 100'000; ++call) {
        host_call();
    }
    EXPECT_EQ(count(Counter::kAppSleeps), 0u);
}

TEST_F(ProgressEngineTest, HostThatComputesBetweenTestsIsNotPutToSleep)
{
    make();
    engine_->work_opened();
    std::uint64_t long_calls = 0;
    const std::uint64_t preempted = thread_context_switches().involuntary;
    for (int call = 0; call < 3'000; ++call) {
        const TimePoint before = monotonic_now();
        host_call();
        long_calls += monotonic_now() - before > 200us ? 1 : 0;
        const TimePoint until = monotonic_now() + 5us;
        while (monotonic_now() < until) {
        }
    }
    EXPECT_EQ(count(Counter::kAppSleeps), 0u);
    EXPECT_LT(long_calls, 100 + 2 * (thread_context_switches().involuntary - preempted));
    engine_->work_closed();
}

TEST_F(ProgressEngineTest, HostThatTestsIsNeverPutToSleep)
{
    make({.policy = ProgressPolicy::kBlock});
    engine_->work_opened();
    const TimePoint begin = monotonic_now();
    while (monotonic_now() - begin < 20ms) {
        for (int call = 0; call < 100; ++call) {   // back to back, which puts a host that waits to sleep
            host_call(WhenIdle::kYield);
        }
    }
    EXPECT_EQ(count(Counter::kAppSleeps), 0u);
    engine_->work_closed();
}

TEST_F(ProgressEngineTest, SleepingHostWakesForArrivalKickAndCompletion)
{
    ProgressEngine& engine = make({.event_thread = false, .sleep_max = 10s});
    engine.work_opened();
    for (int kind = 0; kind < 30; ++kind) {
        std::atomic<bool> called{false};
        std::thread other{[&] {
            EXPECT_TRUE(eventually([&] { return source_->prepared(); }, 20s));
            std::this_thread::sleep_for(2ms);
            called = true;
            if (kind % 3 == 0) {
                source_->deliver();
            } else if (kind % 3 == 1) {
                engine.kick();
            } else {
                completions_.fetch_add(1);
                engine.completed();
            }
        }};
        const TimePoint begin = monotonic_now();
        while (!called.load()) {
            host_call();
        }
        other.join();
        EXPECT_LT(monotonic_now() - begin, 5s) << "kind " << kind % 3;
        while (host_call(WhenIdle::kReturn) != 0) {
        }
        source_->deliver();    // a real event, so that the next row spins first
        host_call(WhenIdle::kReturn);
    }
    EXPECT_GE(count(Counter::kAppSleeps), 15u);   // of 30; a slow machine may ring before the sleep has begun
}

TEST_F(ProgressEngineTest, SleepIsBoundedByTimers)
{
    ProgressEngine& engine = make({.policy = ProgressPolicy::kBlock, .event_thread = false, .sleep_max = 10s});
    engine.work_opened();
    source_->set_timer(monotonic_now() + 5ms);
    const TimePoint begin = monotonic_now();
    while (count(Counter::kAppSleeps) == 0) {
        host_call();
    }
    EXPECT_LT(monotonic_now() - begin, kSoon);
}

TEST_F(ProgressEngineTest, PolicySpinNeverSleeps)
{
    ProgressEngine& engine = make({.policy = ProgressPolicy::kSpin});
    engine.work_opened();
    const TimePoint begin = monotonic_now();
    while (monotonic_now() - begin < 20ms) {
        host_call();
    }
    EXPECT_EQ(count(Counter::kAppSleeps), 0u);
}

// ---- wait ----

TEST_F(ProgressEngineTest, WaitEndsAtTheDeadline)
{
    ProgressEngine& engine = make();
    const TimePoint begin = monotonic_now();
    EXPECT_EQ(engine.wait({}, begin + 5ms), Status::kTimedOut);
    EXPECT_GE(monotonic_now() - begin, 5ms);
    EXPECT_LT(monotonic_now() - begin, kSoon);
}

TEST_F(ProgressEngineTest, WaitEndsWithClosedWhenStopped)
{
    ProgressEngine& engine = make();
    std::vector<std::thread> waiters;
    for (int i = 0; i < 4; ++i) {
        waiters.emplace_back([&] { EXPECT_EQ(engine.wait({}, TimePoint::max()), Status::kClosed); });
    }
    std::this_thread::sleep_for(5ms);
    engine.stop();
    for (std::thread& t : waiters) {
        t.join();
    }
}

// Each thread waits for every fourth message; whoever leads handles those of the others and must wake them.
TEST_F(ProgressEngineTest, EveryWaiterIsWokenForItsOwnRequest)
{
    for (const auto policy : {ProgressPolicy::kAdaptive, ProgressPolicy::kBlock, ProgressPolicy::kSpin}) {
        for (const auto bell : {FakeSource::Bell::kAlways, FakeSource::Bell::kWhenPrepared}) {
            constexpr std::uint64_t kThreads = 4;
            constexpr std::uint64_t kRounds = 300;
            ProgressEngine& engine = make({.policy = policy, .look_in = 100s}, bell);
            std::array<std::atomic<std::uint64_t>, kThreads> mine{};
            std::uint64_t next = 0;
            source_->on_handled = [&](std::uint64_t n) {
                for (; n != 0; --n) {
                    mine[next++ % kThreads].fetch_add(1);
                    engine.completed();
                }
            };
            std::vector<std::thread> waiters;
            std::atomic<std::uint64_t> served{0};
            for (std::uint64_t t = 0; t < kThreads; ++t) {
                waiters.emplace_back([&, t] {
                    for (std::uint64_t round = 1; round <= kRounds; ++round) {
                        const auto ready = [&, round]() noexcept { return mine[t].load() >= round; };
                        ASSERT_EQ(engine.wait(ReadyRef::to(ready), monotonic_now() + 20s), Status::kOk) << "thread " << t << " round " << round;
                        served.fetch_add(1);
                    }
                });
            }
            for (std::uint64_t round = 0; round < kRounds; ++round) {
                for (std::uint64_t t = 0; t < kThreads; ++t) {
                    source_->deliver();
                }
                ASSERT_TRUE(eventually([&] { return served.load() >= (round + 1) * kThreads; }, 20s)) << "round " << round;
            }
            for (std::thread& t : waiters) {
                t.join();
            }
            engine.stop();
            EXPECT_EQ(source_->overlaps(), 0u);
            engine_.reset();
        }
    }
}

TEST_F(ProgressEngineTest, CompletionByAnotherThreadEndsAWaitThatSleeps)
{
    ProgressEngine& engine = make({.policy = ProgressPolicy::kBlock, .look_in = 100s});
    for (int round = 0; round < 200; ++round) {
        std::atomic<bool> done{false};
        const auto ready = [&]() noexcept { return done.load(); };
        std::thread other{[&] {
            done = true;
            engine.completed();
        }};
        EXPECT_EQ(engine.wait(ReadyRef::to(ready), monotonic_now() + 20s), Status::kOk);
        other.join();
    }
}

// ---- descriptor mode ----

TEST_F(ProgressEngineTest, WaitFdTurnsReadableForArrivalTimerAndCompletion)
{
    for (const bool event_thread : {false, true}) {
        ProgressEngine& engine = make({.event_thread = event_thread, .look_in = 100s}, FakeSource::Bell::kWhenPrepared);
        const auto readable = [&](int ms) {
            pollfd p{engine.wait_fd(), POLLIN, 0};
            return ::poll(&p, 1, ms) == 1;
        };
        for (int kind = 0; kind < 9; ++kind) {
            ASSERT_TRUE(eventually([&] {
                host_call(WhenIdle::kReturn);
                return engine.arm_wait_fd();
            }));
            ASSERT_FALSE(readable(0)) << "kind " << kind;
            if (kind % 3 == 0) {
                source_->deliver();
            } else if (kind % 3 == 1) {
                completions_.fetch_add(1);
                engine.completed();
            } else {
                source_->set_timer(monotonic_now() + 2ms);
                engine.kick();
                ASSERT_TRUE(readable(2000));
                EXPECT_FALSE(engine.arm_wait_fd());
                host_call(WhenIdle::kReturn);
                ASSERT_TRUE(engine.arm_wait_fd());
            }
            EXPECT_TRUE(readable(2000)) << "kind " << kind;
            source_->set_timer(TimePoint::max());
        }
        engine_.reset();
    }
}

TEST_F(ProgressEngineTest, WaitFdIsNotArmedWhileCompletionsWait)
{
    ProgressEngine& engine = make({.event_thread = false});
    completions_ = 1;
    EXPECT_FALSE(engine.arm_wait_fd());
    completions_ = 0;
    EXPECT_TRUE(engine.arm_wait_fd());
}

}   // namespace
}   // namespace linnet

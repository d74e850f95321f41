// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ProgressEngine: the host's side of it, which polls, sleeps and waits; with real threads, real sleeps and sources that the test feeds.
//
// Times are only ever bounded from above, generously, except where sleeping too little is the failure.
#include <gtest/gtest.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>

#include "sys/cpu_set.h"
#include "sys/thread.h"
#include "unit/progress/engine_fixture.h"

namespace linnet {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::FakeSource;
using testing::kSoon;
using testing::ProgressEngineTest;
using testing::soon;

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

// ---- counters ----

TEST_F(ProgressEngineTest, OnlyCallersThatLeaveArmTheEventThread)
{
    ProgressEngine& engine = make({.look_in = 100s});
    if (!event_thread_parks()) {
        GTEST_SKIP() << "the event thread found no time to park";
    }
    const std::uint64_t arms = count(Counter::kEventThreadArms), wakeups = count(Counter::kEventThreadWakeups);
    engine.peers_changed(1);
    ASSERT_TRUE(soon([&] { return count(Counter::kEventThreadWakeups) != wakeups; }));
    static_cast<void>(engine.held());
    std::this_thread::sleep_for(5ms);
    EXPECT_EQ(count(Counter::kEventThreadArms), arms);
}

TEST_F(ProgressEngineTest, SleepThatASignalEndsIsNoEmptyOne)
{
    struct sigaction action{}, before{};
    action.sa_handler = [](int) {};
    ASSERT_EQ(::sigaction(SIGUSR2, &action, &before), 0);
    ProgressEngine& engine = make({.policy = ProgressPolicy::kBlock, .event_thread = false});
    std::atomic<bool> over{false}, asleep{false};
    const auto ready = [&over]() noexcept { return over.load(); };
    std::thread waiter{[&] {
        asleep = true;
        EXPECT_EQ(engine.wait(ReadyRef::to(ready), monotonic_now() + 60s), Status::kOk);
    }};
    EXPECT_TRUE(soon([&] { return asleep && (::pthread_kill(waiter.native_handle(), SIGUSR2), count(Counter::kAppSleeps) >= 10); }));
    over = true;
    engine.completed();
    waiter.join();
    EXPECT_EQ(count(Counter::kAppSleepsEmpty), 0u) << "of " << count(Counter::kAppSleeps);
    ASSERT_EQ(::sigaction(SIGUSR2, &before, nullptr), 0);
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

// A program that tests at each turn of its loop has other work to do: of tests in which nothing comes, few look.
TEST_F(ProgressEngineTest, TestsInARowMostlyReturnAtOnceAndSeeWhatComesAllTheSame)
{
    make({.event_thread = false});
    post();
    EXPECT_TRUE(soon([&] {
        const std::uint64_t polls = source_->polls();
        const TimePoint begin = monotonic_now();
        for (int call = 0; call < 20'000; ++call) {
            host_call(WhenIdle::kYield);
        }
        return source_->polls() - polls <= static_cast<std::uint64_t>((monotonic_now() - begin) / 1us) + 1000;   // of those that begin the row
    })) << "a pass for each of them";
    for (std::uint64_t n = 1; n <= 100; ++n) {
        source_->deliver();
        EXPECT_TRUE(soon([&] {
            for (int call = 0; call < 1000 && source_->handled() < n; ++call) {
                host_call(WhenIdle::kYield);
            }
            return source_->handled() == n;
        }));
    }
}

TEST_F(ProgressEngineTest, TestAfterAPostOrAKickOrForAHeldPacketLooks)
{
    ProgressEngine& engine = make({.event_thread = false});
    post();
    for (int i = 0; i < 50; ++i) {
        for (int call = 0; call < 2'000; ++call) {
            host_call(WhenIdle::kYield);
        }
        const std::uint64_t polls = source_->polls();
        if (i % 3 == 0) {
            engine.kick();
        } else if (i % 3 == 1) {
            static_cast<void>(engine.held());
        } else {
            post();
        }
        host_call(WhenIdle::kYield);
        EXPECT_EQ(source_->polls(), polls + 1);
    }
}

// A rank that probes for messages has nothing open, and keeps the core from the neighbour that is to send them.
TEST_F(ProgressEngineTest, HostThatProbesGivesWayInACrowdThoughNothingIsOpen)
{
    make({.local_ranks = 4096});
    EXPECT_TRUE(soon([&] {
        for (int call = 0; call < 100; ++call) {
            host_call(WhenIdle::kYield);
        }
        return count(Counter::kAppYields) != 0;
    }));
    const std::uint64_t yields = count(Counter::kAppYields);
    for (int call = 0; call < 1000; ++call) {
        host_call(WhenIdle::kSleep);
    }
    EXPECT_EQ(count(Counter::kAppYields), yields) << "who waits for what is not ours is left alone";
    EXPECT_EQ(count(Counter::kAppSleeps), 0u);
}

// Looks for others cost a rank that naps no sleep while there are none.
TEST_F(ProgressEngineTest, HostThatDoesNotYieldNapsOnlyInACrowd)
{
    if (!thread_core_wait()) {
        GTEST_SKIP() << "no /proc/thread-self/schedstat: this kernel does not tell how long a thread waited for a core";
    }
    make({.policy = ProgressPolicy::kSpin, .give_way = GiveWay::kNap});
    engine_->work_opened();
    EXPECT_TRUE(soon([&] {
        const TimePoint begin = monotonic_now();
        const Nanos waited = *thread_core_wait();
        const std::uint64_t before = count(Counter::kAppYields);
        for (int call = 0; call < 10'000; ++call) {
            host_call(WhenIdle::kYield);
        }
        return count(Counter::kAppYields) - before < 10 || 8 * (*thread_core_wait() - waited) > monotonic_now() - begin;   // a machine that is busy itself
    }));
    engine_->work_closed();
}

TEST_F(ProgressEngineTest, HostThatDoesNotYieldFindsOutThatAnotherWantsItsCore)
{
    if (!thread_core_wait()) {
        GTEST_SKIP() << "no /proc/thread-self/schedstat: this kernel does not tell how long a thread waited for a core";
    }
    make({.policy = ProgressPolicy::kSpin, .event_thread = false, .give_way = GiveWay::kNap});
    engine_->work_opened();
    const CpuSet all = thread_affinity(thread_id());
    CpuSet one;
    one.add(current_cpu());
    ASSERT_TRUE(set_thread_affinity(one, thread_id()));
    std::atomic<bool> over{false};
    std::thread other{[&over] {   // born with this thread's mask
        while (!over.load(std::memory_order_relaxed)) {
        }
    }};
    for (const TimePoint end = monotonic_now() + 20s; count(Counter::kAppYields) < 20 && monotonic_now() < end;) {
        for (int call = 0; call < 1'000; ++call) {   // without a sleep, which would give the core away
            host_call(WhenIdle::kYield);
        }
    }
    EXPECT_GE(count(Counter::kAppYields), 20u);
    over = true;
    other.join();
    EXPECT_TRUE(set_thread_affinity(all, thread_id()));
    engine_->work_closed();
}

TEST_F(ProgressEngineTest, HostThatDoesNotYieldNapsInACrowd)
{
    if (usable_cpus() == 1) {
        GTEST_SKIP() << "bound to one core: more ranks than cores are no suspicion there";
    }
    make({.policy = ProgressPolicy::kSpin, .local_ranks = 4096, .give_way = GiveWay::kNap});
    engine_->work_opened();
    const std::uint64_t left = thread_context_switches().voluntary;
    EXPECT_TRUE(soon([&] {
        for (int call = 0; call < 100; ++call) {
            host_call(WhenIdle::kYield);
        }
        return count(Counter::kAppYields) >= 5;
    }));
    EXPECT_GE(thread_context_switches().voluntary - left, 5u);
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

// Two threads on one core: what the other one takes before it yields, too, is what a yield of the host costs.
TEST_F(ProgressEngineTest, HostKnowsHowLongItWaitsForACoreThatItShares)
{
    ProgressEngine& engine = make({.policy = ProgressPolicy::kSpin, .event_thread = false});
    engine.work_opened();
    EXPECT_EQ(engine.core_wait(), Nanos::zero());
    const CpuSet before = thread_affinity();
    const CpuSet one = CpuSet::range(static_cast<unsigned>(sched_getcpu()), 1);
    ASSERT_TRUE(set_thread_affinity(one));
    std::atomic<bool> over{false};
    std::thread neighbour{[&over] {   // on the same core
        while (!over.load()) {
            for (const TimePoint end = monotonic_now() + 100us; monotonic_now() < end;) {
            }
            std::this_thread::yield();
        }
    }};
    Nanos longest{0};
    bool in_turns = false;   // so the sources are told: a peer need not hear from us at once
    for (const TimePoint end = monotonic_now() + 20s; (longest < 20us || !in_turns) && monotonic_now() < end;) {
        host_call();
        longest = std::max(longest, engine.core_wait());
        in_turns = in_turns || source_->how_polled() == EventSource::Polling::kInTurns;
    }
    EXPECT_TRUE(in_turns);
    over.store(true);
    neighbour.join();
    EXPECT_TRUE(set_thread_affinity(before));
    bool steadily = false, crowded = false;   // crowded: by others, when a call began, to the end
    for (const TimePoint end = monotonic_now() + 5s; !steadily && monotonic_now() < end;) {
        crowded = engine.contended();
        host_call();
        steadily = source_->how_polled() == EventSource::Polling::kSteadily;
    }
    EXPECT_TRUE(steadily || crowded);
    EXPECT_GE(longest, 20us);
    EXPECT_LE(longest, 510us) << "a longer wait than that is no turn of others that wait";
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
            ASSERT_TRUE(soon([&] {
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

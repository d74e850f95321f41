// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ProgressEngine: threads of one host that poll in turn, more of them than there are cores.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "progress/progress_engine.h"
#include "support/test_log.h"
#include "sys/cpu_set.h"
#include "sys/system_clock.h"
#include "sys/thread.h"
#include "unit/progress/fake_source.h"

namespace linnet {
namespace {

using namespace std::chrono_literals;
using testing::FakeSource;
using testing::test_log;

// Without a reason to sleep but the number of threads.
class PollersInTurn : public ::testing::Test {
protected:
    PollersInTurn() : engine_{{.event_thread = false, .spin_time = 100s, .sleep_max = 10us}, clock_, stats_, test_log()} {}
    void SetUp() override
    {
        ASSERT_EQ(engine_.add_source(source_), Status::kOk);
        ASSERT_EQ(engine_.start(), Status::kOk);
        engine_.work_opened();
    }
    void TearDown() override { engine_.stop(); }
    // A turn of a thread of its own, which it lives through until the next ones had theirs, as numbers of threads are used again.
    void turn()
    {
        for (int call = 0; call < 200; ++call) {
            const bool calm = !engine_.contended();   // else it sleeps for that reason
            const std::uint64_t sleeps = stats_.total(Counter::kAppSleeps);
            engine_.enter();
            engine_.host_progress(64, WhenIdle::kSleep);
            slept_ = slept_ || (calm && stats_.total(Counter::kAppSleeps) != sleeps);
            contended_ = contended_ || !calm;
            engine_.leave(CallKind::kEmpty);
        }
    }
    void turns(unsigned threads)
    {
        std::atomic<unsigned> turns{0};
        std::atomic<bool> over{false};
        std::vector<std::jthread> alive;
        for (unsigned t = 0; t < threads; ++t) {
            alive.emplace_back([this, &turns, &over] {
                turn();
                ++turns;
                turns.notify_one();
                over.wait(false);
            });
            turns.wait(t);
        }
        over.store(true);
        over.notify_all();
    }

    SystemClock clock_;
    Stats stats_;
    FakeSource source_;
    ProgressEngine engine_;
    bool slept_{false};       // although nobody else wanted the core
    bool contended_{false};
};

TEST_F(PollersInTurn, SleepWhenTheyOutnumberTheCores)
{
    const TimePoint begin = monotonic_now();
    while (!slept_ && monotonic_now() - begin < 5s) {
        turns(usable_cpus() + 4);   // some may look like one
    }
    EXPECT_TRUE(slept_ || contended_);
}

// Who only tests, in a crowd and while others of the process do so in turn, naps now and then in the place of a yield. Returns how often a thread left its core
// by itself; a yield that another thread used counts as involuntary.
unsigned naps_of_testers(unsigned threads, GiveWay way)
{
    constexpr unsigned kTurns = 20;
    SystemClock clock;
    Stats stats;
    FakeSource source;
    ProgressEngine engine{{.policy = ProgressPolicy::kSpin, .event_thread = false, .local_ranks = 4096, .give_way = way}, clock, stats, test_log()};
    EXPECT_EQ(engine.add_source(source), Status::kOk);
    EXPECT_EQ(engine.start(), Status::kOk);
    engine.work_opened();
    std::atomic<unsigned> turn{0};
    std::atomic<unsigned> naps{0};
    const auto run = [&](unsigned self) {
        for (unsigned now = turn.load(); now < kTurns; now = turn.load()) {
            if (now % threads != self) {
                std::this_thread::yield();
                continue;
            }
            const std::uint64_t before = thread_context_switches().voluntary;
            for (int call = 0; call < 10; ++call) {   // a suspicion of a crowd lasts for ten quick yields
                engine.enter();
                engine.host_progress(64, WhenIdle::kYield);
                engine.leave(CallKind::kEmpty);
            }
            naps += static_cast<unsigned>(thread_context_switches().voluntary - before);
            ++turn;
        }
    };
    {
        std::vector<std::jthread> all;
        for (unsigned self = 0; self < threads; ++self) {
            all.emplace_back(run, self);
        }
    }
    engine.work_closed();
    engine.stop();
    return naps;
}

class TestersInTurn : public ::testing::Test {
protected:
    void SetUp() override
    {
        if (usable_cpus() == 1) {
            GTEST_SKIP() << "bound to one core: more ranks than cores are no suspicion there";
        }
    }
    // A thread whose yields were slow, as another program computes, naps as well: then once more.
    static bool some_attempt_without_naps(unsigned threads, GiveWay way)
    {
        for (int attempt = 0; attempt < 50; ++attempt) {
            if (naps_of_testers(threads, way) == 0) {
                return true;
            }
        }
        return false;
    }
};

TEST_F(TestersInTurn, NapNowAndThenInACrowd) { EXPECT_GE(naps_of_testers(2, GiveWay::kAuto), 1u); }

TEST_F(TestersInTurn, YieldWhereTheyAreToldTo) { EXPECT_TRUE(some_attempt_without_naps(2, GiveWay::kYield)); }

TEST_F(TestersInTurn, OneAloneYields) { EXPECT_TRUE(some_attempt_without_naps(1, GiveWay::kAuto)); }

TEST_F(PollersInTurn, OneGoesOnPolling)
{
    turns(1);
    EXPECT_FALSE(slept_);
}

}   // namespace
}   // namespace linnet

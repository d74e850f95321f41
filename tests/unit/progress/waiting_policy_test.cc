// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Spin, Pollers and SleepLength: one row of empty polls, who else polls, how long to sleep.
#include "progress/waiting_policy.h"

#include <gtest/gtest.h>

namespace linnet {
namespace {

using Step = Spin::Step;
using namespace std::chrono_literals;

const Crowd quiet;
struct Crowded : Crowd {
    Crowded() noexcept { suspect(); }
};
const Crowded crowded;

Spin::Budget budget(ProgressPolicy policy) { return {policy, 1000, 300, 200}; }

TEST(Spin, AdaptivePollsForItsBudgetThenSleeps)
{
    Spin spin{budget(ProgressPolicy::kAdaptive)};
    Ticks spent = 0;
    unsigned yields = 0;
    Step step = Step::kPoll;
    while (step != Step::kSleep) {
        ASSERT_LT(spent, 2000u);
        spent += 100;
        step = spin.next(0, 100, quiet);
        yields += step == Step::kYield ? 1 : 0;
    }
    EXPECT_EQ(spent, 1000u);
    EXPECT_EQ(yields, 3u);   // every 300
}

TEST(Crowd, YieldsThatNobodyUsesMakeTheNextRarerAndOneThatSomebodyUsesEndsThat)
{
    Crowd crowd;
    Spin spin{budget(ProgressPolicy::kSpin)};
    const auto next_yield = [&] {
        Ticks t = 1;
        while (spin.next(0, 1, crowd) != Step::kYield) {
            ++t;
        }
        return t;
    };
    EXPECT_EQ(next_yield(), 300u);
    crowd.alone();
    EXPECT_EQ(next_yield(), 600u);
    for (int i = 0; i < 100; ++i) {
        crowd.alone();
    }
    EXPECT_EQ(next_yield(), 300u << Crowd::kCalmest);
    crowd.disturbed();
    EXPECT_EQ(next_yield(), 300u);
}

struct Robbed : Crowd {
    Robbed() noexcept
    {
        robbed(1, 1'000'000, {1'000'000, 1'000'000});
        robbed(2, 1'000'000, {1'000'000, 1'000'000});
    }
};

TEST(Spin, WhereYieldsAreDearItPollsForAMomentThenSleeps)
{
    const Robbed robbed;
    Spin spin{budget(ProgressPolicy::kAdaptive)};
    EXPECT_EQ(spin.next(100, 299, robbed), Step::kPoll);
    EXPECT_EQ(spin.next(200, 1, robbed), Step::kSleep);
    EXPECT_EQ(spin.next(300, 1, robbed), Step::kSleep);
    spin.restart();
    EXPECT_EQ(spin.next(400, 100, robbed), Step::kPoll);
    EXPECT_EQ(spin.next(1'000'002, 100, robbed), Step::kYield);   // forgotten: it tries again
}

TEST(Spin, WhereYieldsAreDearWhoMayNotSleepGivesWaySeldom)
{
    const Robbed robbed;
    for (const ProgressPolicy policy : {ProgressPolicy::kAdaptive, ProgressPolicy::kSpin, ProgressPolicy::kBlock}) {
        Spin spin{budget(policy)};
        for (int i = 0; i < 100; ++i) {
            EXPECT_EQ(spin.next(100, 299, robbed, false), Step::kPoll);
            EXPECT_EQ(spin.next(100, 1, robbed, false), Step::kYield);
            EXPECT_EQ(spin.next(100, 60'000, robbed, false), Step::kPoll) << "the nap itself is no time of its own";
        }
    }
}

TEST(Spin, AnEventDoesNotDelayTheNextYield)
{
    Spin spin{budget(ProgressPolicy::kAdaptive)};
    EXPECT_EQ(spin.next(0, 200, quiet), Step::kPoll);
    spin.restart();
    EXPECT_EQ(spin.next(0, 100, quiet), Step::kYield);
}

TEST(Spin, EmptySleepDoesNotRenewTheBudgetButAnEventDoes)
{
    Spin spin{budget(ProgressPolicy::kAdaptive)};
    EXPECT_EQ(spin.next(0, 1000, quiet), Step::kSleep);
    EXPECT_EQ(spin.next(0, 100, quiet), Step::kSleep);
    EXPECT_EQ(spin.next(0, 100, quiet), Step::kSleep);
    spin.restart();
    EXPECT_EQ(spin.next(0, 100, quiet), Step::kPoll);
}

TEST(Spin, ContendedYieldsAFewTimesThenSleeps)
{
    Spin spin{budget(ProgressPolicy::kAdaptive)};
    for (unsigned i = 0; i < Spin::kYieldsWhenContended; ++i) {
        EXPECT_EQ(spin.next(0, 1, crowded), Step::kYield);
    }
    EXPECT_EQ(spin.next(0, 1, crowded), Step::kSleep);
}

TEST(Spin, PolicySpinYieldsWhenContendedAndNeverSleeps)
{
    Spin spin{budget(ProgressPolicy::kSpin)};
    for (int i = 0; i < 10'000; ++i) {
        EXPECT_NE(spin.next(0, 100, quiet), Step::kSleep);
        EXPECT_EQ(spin.next(0, 100, crowded), Step::kYield);
    }
}

TEST(Spin, PolicyBlockSleepsAtOnce)
{
    Spin spin{budget(ProgressPolicy::kBlock)};
    EXPECT_EQ(spin.next(0, 1, quiet), Step::kSleep);
}

TEST(Spin, WhoMayNotSleepYieldsUnderAnyPolicy)
{
    for (const ProgressPolicy policy : {ProgressPolicy::kAdaptive, ProgressPolicy::kSpin, ProgressPolicy::kBlock}) {
        Spin spin{budget(policy)};
        for (int i = 0; i < 10'000; ++i) {
            EXPECT_NE(spin.next(0, 100, quiet, false), Step::kSleep);
            EXPECT_EQ(spin.next(0, 300, crowded, false), Step::kYield);
        }
    }
}

TEST(Spin, WhoMayNotSleepHasTheCoreForAWhileBetweenTwoYields)
{
    Spin spin{budget(ProgressPolicy::kAdaptive)};
    EXPECT_EQ(spin.next(0, 300, crowded, false), Step::kYield);
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(spin.next(0, 50'000, crowded, false), Step::kPoll) << "what the others had in a yield is none of it";
        EXPECT_EQ(spin.next(0, 200, crowded, false), Step::kPoll);
        EXPECT_EQ(spin.next(0, 100, crowded, false), Step::kYield);
    }
}

TEST(Spin, OneInterruptionLeavesTheRowTwoRunningEndIt)
{
    Spin spin{budget(ProgressPolicy::kAdaptive)};
    EXPECT_EQ(spin.next(0, 900, quiet), Step::kYield);
    spin.interrupted();
    EXPECT_EQ(spin.next(0, 100, quiet), Step::kSleep);
    spin.interrupted();
    spin.interrupted();
    EXPECT_EQ(spin.next(0, 100, quiet), Step::kPoll);
}

TEST(WaitingPolicy, SpinTimeIsTwiceTheWakeUpWithinBounds)
{
    EXPECT_EQ(spin_time_for(70us), 140us);
    EXPECT_EQ(spin_time_for(1us), 100us);
    EXPECT_EQ(spin_time_for(10ms), 200us);
}

TEST(WaitingPolicy, MoreRanksThanCoresIsSuspectUnlessBoundToOne)
{
    EXPECT_FALSE(suspect_crowd(0, 4));
    EXPECT_FALSE(suspect_crowd(4, 4));
    EXPECT_TRUE(suspect_crowd(5, 4));
    EXPECT_FALSE(suspect_crowd(5, 1));
}

// ---- how long to sleep ----

constexpr std::uintptr_t mark_of(unsigned thread) { return 0x7f0000000700 + std::uintptr_t{thread} * 0x801000; }

// A thread that may run on the first `n` processors, or on one of its own.
auto cores(unsigned n)
{
    return [n]() noexcept { return CpuSet::range(0, n); };
}
auto core(unsigned cpu)
{
    return [cpu]() noexcept { return CpuSet::range(cpu, 1); };
}

TEST(Pollers, AsManyAsCoresDoNotOutnumberThemAndOneMoreDoes)
{
    Pollers pollers;
    for (int i = 0; i < 10; ++i) {
        pollers.polled(mark_of(0), 1, 100, cores(2));
        pollers.polled(mark_of(1), 1, 100, cores(2));
    }
    EXPECT_FALSE(pollers.outnumber_cores());
    pollers.polled(mark_of(2), 1, 100, cores(2));
    EXPECT_TRUE(pollers.outnumber_cores());
}

TEST(Pollers, OneThreadHasItsCoreForItself)
{
    Pollers pollers;
    for (Ticks now = 0; now < 1000; ++now) {
        pollers.polled(mark_of(7), now, 100, cores(1));
    }
    EXPECT_FALSE(pollers.outnumber_cores());
}

TEST(Pollers, ThoseThatStayAwayAreForgottenAfterTwoWindows)
{
    Pollers pollers;
    pollers.polled(mark_of(0), 1000, 100, cores(1));
    pollers.polled(mark_of(1), 1000, 100, cores(1));
    pollers.polled(mark_of(0), 1101, 100, cores(1));   // they were two until now
    EXPECT_TRUE(pollers.outnumber_cores());
    pollers.polled(mark_of(0), 1202, 100, cores(1));
    EXPECT_FALSE(pollers.outnumber_cores());
}

TEST(Pollers, OneThatComesBackAfterLongDoesNotFindTheOthersStillThere)
{
    Pollers pollers;
    pollers.polled(mark_of(0), 1000, 100, cores(1));
    pollers.polled(mark_of(1), 1000, 100, cores(1));
    pollers.polled(mark_of(0), 50'000, 100, cores(1));
    EXPECT_FALSE(pollers.outnumber_cores());
}

TEST(Testers, AreSeveralUntilOneHasTestedAloneForAWindow)
{
    Testers testers;
    EXPECT_FALSE(testers.several(mark_of(0), 1000, 100));
    EXPECT_FALSE(testers.several(mark_of(0), 1001, 100));
    EXPECT_TRUE(testers.several(mark_of(1), 1002, 100));
    EXPECT_TRUE(testers.several(mark_of(1), 1102, 100));
    EXPECT_FALSE(testers.several(mark_of(1), 1103, 100));
    EXPECT_TRUE(testers.several(mark_of(0), 1104, 100));
}

TEST(Testers, NapOnceInAWhile)
{
    Testers testers{100};
    EXPECT_TRUE(testers.nap_is_due(1000));
    EXPECT_FALSE(testers.nap_is_due(1099));
    EXPECT_TRUE(testers.nap_is_due(1100));
    EXPECT_FALSE(testers.nap_is_due(1101));
}

TEST(Pollers, ThirtyTwoThreadsOutnumberManyCores)
{
    Pollers pollers;
    for (unsigned t = 0; t < 32; ++t) {
        pollers.polled(mark_of(t), 1, 100, cores(16));
    }
    EXPECT_TRUE(pollers.outnumber_cores());
}

// OMP_PROC_BIND and the like: each says one core, and means another one.
TEST(Pollers, ThatArePinnedToACoreEachDoNotOutnumberThem)
{
    Pollers pollers;
    for (Ticks now = 1000; now < 2000; now += 10) {
        for (unsigned t = 0; t < 4; ++t) {
            pollers.polled(mark_of(t), now, 100, core(t));
            EXPECT_FALSE(pollers.outnumber_cores()) << now;
        }
    }
    for (unsigned t = 4; t < 8; ++t) {   // more of them on four; some may look like one
        pollers.polled(mark_of(t), 1999, 100, core(3));
    }
    EXPECT_TRUE(pollers.outnumber_cores());
}

TEST(Pollers, ThatArePinnedToTheSameCoreOutnumberItWhereverOthersMayRun)
{
    Pollers pollers;
    pollers.polled(mark_of(0), 1000, 100, core(5));
    pollers.polled(mark_of(1), 1000, 100, core(5));
    EXPECT_TRUE(pollers.outnumber_cores());
}

TEST(Pollers, MasksThatChangeAreNoticedInTheNextWindowAndAskedForOnceInEach)
{
    Pollers pollers;
    unsigned n = 8, asked = 0;
    const auto affinity = [&]() noexcept { return ++asked, CpuSet::range(0, n); };
    const auto window = [&](Ticks from) {
        for (Ticks now = from; now < from + 100; ++now) {
            pollers.polled(mark_of(0), now, 100, affinity);
            pollers.polled(mark_of(1), now, 100, affinity);
        }
    };
    window(1000);
    EXPECT_FALSE(pollers.outnumber_cores());
    n = 1;
    window(1101);
    EXPECT_TRUE(pollers.outnumber_cores());
    n = 8;
    window(1202);
    window(1303);
    EXPECT_FALSE(pollers.outnumber_cores());
    EXPECT_EQ(asked, 8u);
}

TEST(SleepLength, DoublesInACrowdWhileSleepsAreInVain)
{
    constexpr Nanos kShortest{500};
    SleepLength length;
    for (const unsigned factor : {1u, 2u, 4u, 8u, 16u, 16u}) {
        EXPECT_EQ(length.next(kShortest, true), factor * kShortest);
        EXPECT_EQ(length.next(kShortest, false), kShortest) << "with cores to spare it costs nobody anything";
        length.in_vain();
    }
}

TEST(SleepLength, IsShortAgainBehindOneThatWasWorthIt)
{
    SleepLength length;
    length.in_vain();
    length.in_vain();
    EXPECT_EQ(length.next(10us, true), 40us);
    length.worth_it();
    EXPECT_EQ(length.next(10us, true), 10us);
}

TEST(SleepLength, IsShortAgainWhenTheHostLeavesForSomethingElse)
{
    constexpr Nanos kShortest{500};
    SleepLength length;
    length.in_vain();
    length.polled(true);
    length.interrupted();
    EXPECT_EQ(length.next(kShortest, true), 2 * kShortest) << "it computes with what it received";
    length.polled(false);
    length.interrupted();
    EXPECT_EQ(length.next(kShortest, true), kShortest);
}

// ---- how long a row polls before it sleeps ----

// A row that polls for its whole budget, sleeps, and has its event `late` after that.
void wait_and_sleep(Spin& spin, SpinTime& time, Ticks begin, Ticks late)
{
    const Crowd alone;
    Ticks now = begin;
    while (spin.next(now += 100, 100, alone) != Step::kSleep) {
    }
    spin.sleeps();
    spin.restart(now + late, time);
}

constexpr Ticks kMemory = 100'000'000;

class SpinTimeTest : public ::testing::Test {
protected:
    SpinTimeTest() { time.set(1000, kMemory); }
    SpinTime time;
    Spin spin{budget(ProgressPolicy::kAdaptive)};
};

TEST_F(SpinTimeTest, RowThatSleptTooEarlyMakesTheNextOnesLonger)
{
    Ticks now = 1'000'000;
    for (const Ticks expected : {2000u, 4000u, 8000u}) {
        wait_and_sleep(spin, time, now, 50);
        EXPECT_EQ(time.get(now), expected);
        EXPECT_EQ(spin.budget().spin, expected);
    }
    for (int i = 0; i < 20; ++i) {
        wait_and_sleep(spin, time, now, 50);
    }
    EXPECT_EQ(time.get(now), SpinTime::kGrowth * 1000);
}

TEST_F(SpinTimeTest, SleepThatWasWorthItsPriceChangesNothing)
{
    wait_and_sleep(spin, time, 1'000'000, 50);
    ASSERT_EQ(time.get(1'010'000), 2000u);
    wait_and_sleep(spin, time, 2'000'000, 10'000);
    EXPECT_EQ(time.get(2'020'000), 2000u);
}

TEST_F(SpinTimeTest, EventThatCameMuchLaterSetsItBack)
{
    wait_and_sleep(spin, time, 1'000'000, 50);
    ASSERT_EQ(time.get(1'010'000), 2000u);
    wait_and_sleep(spin, time, 2'000'000, SpinTime::kGrowth * 1000);
    EXPECT_EQ(time.get(2'100'000), 1000u);
}

TEST_F(SpinTimeTest, ItIsForgotten)
{
    wait_and_sleep(spin, time, 1'000'000, 50);
    EXPECT_EQ(time.get(kMemory), 2000u);
    EXPECT_EQ(time.get(kMemory + 2'000'000), 1000u);
    spin.restart(kMemory + 2'000'001, time);
    EXPECT_EQ(spin.budget().spin, 1000u);
}

TEST_F(SpinTimeTest, RowThatDidNotSleepSaysNothing)
{
    const Crowd alone;
    for (Ticks now = 100; now < 1900; now += 100) {   // due to sleep, but whoever asked did not
        static_cast<void>(spin.next(now, 100, alone));
    }
    spin.restart(1900, time);
    EXPECT_EQ(time.get(1900), 1000u);
}

TEST_F(SpinTimeTest, SleepOfAContendedThreadSaysNothing)
{
    Crowd crowd;
    crowd.suspect();
    Ticks now = 0;
    while (spin.next(now += 10, 10, crowd) != Step::kSleep) {
    }
    spin.sleeps();
    spin.restart(now + 10, time);
    EXPECT_EQ(time.get(now), 1000u) << "it makes room for others";
}

TEST_F(SpinTimeTest, TimeThatTheUserSetStays)
{
    time.set(1000, 0);
    wait_and_sleep(spin, time, 1'000'000, 50);
    EXPECT_EQ(time.get(1'010'000), 1000u);
}

// ---- the passes of a row of tests ----

TEST(TestPaceTest, EachTestMakesAPassWhileSomethingMayComeSoon)
{
    TestPace pace{1000, 100};
    pace.restart(5000);
    for (Ticks now = 5000; now < 6000; now += 10) {
        EXPECT_FALSE(pace.quiet(now));
        EXPECT_TRUE(pace.pass_is_due(now));
    }
}

TEST(TestPaceTest, LaterPassesAreApart)
{
    TestPace pace{1000, 100};
    pace.restart(5000);
    unsigned passes = 0;
    for (Ticks now = 6000; now < 7000; now += 10) {
        EXPECT_TRUE(pace.quiet(now));
        passes += pace.pass_is_due(now) ? 1 : 0;
    }
    EXPECT_EQ(passes, 10u);
    EXPECT_TRUE(pace.pass_is_due(7500)) << "tests that are apart by themselves all make one";
    EXPECT_TRUE(pace.pass_is_due(7600));
    EXPECT_FALSE(pace.pass_is_due(7699));
}

TEST(TestPaceTest, AnEventBeginsANewRow)
{
    TestPace pace{1000, 100};
    EXPECT_TRUE(pace.pass_is_due(9000));
    EXPECT_FALSE(pace.pass_is_due(9010));
    pace.restart(9010);
    EXPECT_TRUE(pace.pass_is_due(9011));
    EXPECT_TRUE(pace.pass_is_due(9012));
}

}   // namespace
}   // namespace linnet

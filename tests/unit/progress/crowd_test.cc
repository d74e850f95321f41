// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Crowd, YieldWatch, LostTime, WaitShare: the signs that others want the core, and how they are seen.
#include "progress/crowd.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace linnet {
namespace {

TEST(Crowd, OneSignIsNotEnoughAndTwoAre)
{
    Crowd crowd;
    crowd.disturbed();
    EXPECT_FALSE(crowd.contended());
    crowd.disturbed();
    EXPECT_TRUE(crowd.contended());
}

TEST(Crowd, QuietYieldsClearASuspicion)
{
    Crowd crowd;
    crowd.suspect();
    unsigned yields = 0;
    for (; crowd.contended(); ++yields) {
        crowd.alone();
    }
    EXPECT_EQ(yields, Crowd::kFull - Crowd::kLimit + 1);
    for (int i = 0; i < 100; ++i) {
        crowd.alone();
    }
    crowd.disturbed();
    EXPECT_FALSE(crowd.contended());
}

TEST(Crowd, KnowsHowLongACoreIsWaitedFor)
{
    Crowd crowd;
    EXPECT_EQ(crowd.core_wait(), 0u);
    crowd.yielded(1600);
    EXPECT_EQ(crowd.core_wait(), 100u) << "a sixteenth of the way";
    for (int i = 0; i < 200; ++i) {
        crowd.yielded(1600);
    }
    EXPECT_NEAR(static_cast<double>(crowd.core_wait()), 1600, 32);
    for (int i = 0; i < 400; ++i) {
        crowd.yielded(i % 2 == 0 ? 1600 : 0);
    }
    EXPECT_NEAR(static_cast<double>(crowd.core_wait()), 800, 100);
    for (int i = 0; i < 200; ++i) {
        crowd.yielded(0);
    }
    EXPECT_LT(crowd.core_wait(), 16u) << "nobody else wants it any more";
}

constexpr Crowd::Memory kGrowing{100, 1600};
constexpr Crowd::Memory kShort{100, 100};

TEST(Crowd, TwoLostSlicesInARowMakeYieldsDearForAWhile)
{
    Crowd crowd;
    crowd.robbed(5000, 40, kGrowing);
    EXPECT_FALSE(crowd.yields_are_dear(5001));
    crowd.robbed(5400, 60, kGrowing);   // long after the first: may have been a daemon both times
    EXPECT_FALSE(crowd.yields_are_dear(5401));
    crowd.robbed(5460, 60, kGrowing);
    EXPECT_TRUE(crowd.contended());
    EXPECT_TRUE(crowd.yields_are_dear(5461));
    EXPECT_TRUE(crowd.yields_are_dear(5559));
    EXPECT_FALSE(crowd.yields_are_dear(5560));
    crowd.robbed(5620, 60, kGrowing);   // the first yield afterwards may have been as slow because the neighbours slept,
    EXPECT_FALSE(crowd.yields_are_dear(5621));
    crowd.robbed(5680, 60, kGrowing);   // but not the next one too: still there
    EXPECT_TRUE(crowd.yields_are_dear(5879));
    EXPECT_FALSE(crowd.yields_are_dear(5880));
    crowd.robbed(6500, 60, kGrowing);   // much later: forgotten
    EXPECT_FALSE(crowd.yields_are_dear(6501));
}

// For how long yields are dear after two more of them were.
Ticks dear_for(Crowd& crowd, const Crowd::Memory& memory, Ticks& now)
{
    for (int i = 0; i < 2; ++i) {
        now += memory.shortest;
        crowd.robbed(now, memory.shortest, memory);
    }
    Ticks end = now + 1;
    while (crowd.yields_are_dear(end)) {
        ++end;
    }
    const Ticks time = end - now - 1;
    now = end;
    return time;
}

TEST(Crowd, AProgramThatStaysIsAskedForLessAndLessOften)
{
    Crowd crowd;
    Ticks now = 10'000'000;
    EXPECT_EQ(dear_for(crowd, kGrowing, now), 99u);
    EXPECT_EQ(dear_for(crowd, kGrowing, now), 199u);
    EXPECT_EQ(dear_for(crowd, kGrowing, now), 399u);
    EXPECT_EQ(dear_for(crowd, kGrowing, now), 799u);
    EXPECT_EQ(dear_for(crowd, kGrowing, now), 1599u);
    EXPECT_EQ(dear_for(crowd, kGrowing, now), 1599u);
}

TEST(Crowd, WhereRanksOutnumberCoresItIsAskedForAllTheTime)
{
    Crowd crowd;
    Ticks now = 10'000'000;
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(dear_for(crowd, kShort, now), 99u);
    }
}

TEST(Crowd, ANeighbourThatWasSlowIsAskedAgainSoon)
{
    Crowd crowd;
    Ticks now = 10'000'000;
    for (int i = 0; i < 6; ++i) {
        static_cast<void>(dear_for(crowd, kGrowing, now));
    }
    for (Ticks time = 1599; time > 200; time /= 2) {   // the first yield of each time is a short one, the next is not
        crowd.spared();
        crowd.spared();
        const Ticks dear = dear_for(crowd, kGrowing, now);
        EXPECT_LE(dear, time / 2 + 1);
        EXPECT_GE(dear, 99u);
    }
    crowd.spared();
    crowd.spared();
    EXPECT_EQ(dear_for(crowd, kGrowing, now), 99u);
}

TEST(Crowd, OneYieldHoweverLongIsNoSign)
{
    Crowd crowd;
    crowd.robbed(1'000'000, 900'000, kGrowing);
    EXPECT_FALSE(crowd.yields_are_dear(1'000'001));
    EXPECT_FALSE(crowd.contended());
}

TEST(Crowd, SlowNeighboursAreBorneWhileTheyTakeLessThanAQuarterOfTheTime)
{
    Crowd crowd;
    Ticks now = 10'000;
    for (int i = 0; i < 1000; ++i) {
        now += 45;
        crowd.robbed(now, 10, kGrowing);
        ASSERT_FALSE(crowd.yields_are_dear(now + 1));
    }
    int more = 0;
    for (; more < 1000 && !crowd.yields_are_dear(now + 1); ++more) {
        now += 20;
        crowd.robbed(now, 10, kGrowing);
    }
    EXPECT_LT(more, 30);
}

TEST(YieldWatch, AsksEachTimeUntilManyAnswersInARowWereYes)
{
    YieldWatch watch;
    EXPECT_FALSE(watch.on(1));
    watch.watch_until(0, 100);
    EXPECT_TRUE(watch.on(99));
    EXPECT_FALSE(watch.on(100));
    for (unsigned i = 0; i < YieldWatch::kTrust; ++i) {
        EXPECT_TRUE(watch.asks()) << i;
        watch.answered(true);
    }
    unsigned asked = 0;
    for (unsigned i = 0; i < 10 * YieldWatch::kOneIn; ++i) {
        asked += watch.asks() ? 1u : 0u;
    }
    EXPECT_EQ(asked, 10u);
}

TEST(YieldWatch, TrustLastsAsLongAsItWatches)
{
    YieldWatch watch;
    watch.watch_until(0, 100);
    for (unsigned i = 0; i < YieldWatch::kTrust; ++i) {
        watch.answered(true);
    }
    watch.watch_until(99, 200);
    EXPECT_TRUE(watch.asks());
    EXPECT_FALSE(watch.asks());
    watch.watch_until(200, 300);
    for (unsigned i = 0; i < YieldWatch::kTrust; ++i) {
        EXPECT_TRUE(watch.asks()) << i;
        watch.answered(true);
    }
}

TEST(YieldWatch, OneYieldThatNobodyUsedEndsTheTrust)
{
    YieldWatch watch;
    for (unsigned i = 0; i < 2 * YieldWatch::kTrust; ++i) {
        watch.answered(true);
    }
    watch.answered(false);
    for (unsigned i = 0; i < YieldWatch::kTrust; ++i) {
        EXPECT_TRUE(watch.asks()) << i;
        watch.answered(true);
    }
    EXPECT_TRUE(watch.asks());    // the first of the next kOneIn
    EXPECT_FALSE(watch.asks());
}

TEST(Crowd, NapsAsLongAsItIsToldToWhateverIsSeenOfOthers)
{
    Crowd crowd;
    crowd.nap_until(~Ticks{0});
    EXPECT_TRUE(crowd.yields_are_dear(1));
    EXPECT_TRUE(crowd.yields_are_dear(~Ticks{0} - 1));
    EXPECT_FALSE(crowd.contended());
    crowd.disturbed();
    crowd.disturbed();
    EXPECT_TRUE(crowd.contended());
    for (int i = 0; i < 100; ++i) {
        crowd.alone();
    }
    EXPECT_FALSE(crowd.contended());
    EXPECT_TRUE(crowd.yields_are_dear(1));
    crowd.nap_until(1000);
    EXPECT_TRUE(crowd.naps(999));
    EXPECT_TRUE(crowd.yields_are_dear(999));
    EXPECT_FALSE(crowd.naps(1000));
    EXPECT_FALSE(crowd.yields_are_dear(1000));
}

TEST(LostTime, IsWhatTheSameThreadLostAndTheEventThreadDidNotTake)
{
    LostTime lost;
    EXPECT_FALSE(lost.since_last_look(1, 50, 3)) << "nothing is known of before";
    EXPECT_FALSE(lost.since_last_look(1, 50, 3));
    EXPECT_TRUE(lost.since_last_look(1, 51, 3));
    EXPECT_FALSE(lost.since_last_look(1, 52, 4)) << "our own event thread";
    EXPECT_TRUE(lost.since_last_look(1, 54, 5)) << "and another one";
    EXPECT_FALSE(lost.since_last_look(2, 90, 5)) << "another thread";
    EXPECT_TRUE(lost.since_last_look(2, 91, 5));
}

// Times in units of 1 us.
constexpr WaitShare::Pace kPace{1000, 50'000, 10, 100'000};
using Others = WaitShare::Others;

// A thread on a clock of its own: so long in its turns and waits, each turn with one switch, asked as often as the pace says.
struct Waiter {
    WaitShare share;
    Ticks now{1'000'000};
    Ticks waited{777};
    std::uint64_t switches{33};
    Ticks mean{0};

    void ask()
    {
        if (share.due(now, kPace)) {
            mean = share.answered(now, switches, waited, kPace);
        }
    }
    void run(Ticks time)
    {
        for (; time > 100; time -= 100) {
            now += 100;
            ask();
        }
        now += time;
        ask();
    }
    void wait(Ticks time)
    {
        now += time;
        waited += time;
        ++switches;
        ask();
    }
};

TEST(WaitShare, IsOfAStarvedThreadThatWaitedLongAndMostOfTheTime)
{
    WaitShare share;
    share.answered(1'000'000, 1, 900'000, kPace);
    EXPECT_FALSE(share.starved()) << "what it waited before is not known";
    share.answered(1'199'000, 2, 999'999, kPace);
    EXPECT_FALSE(share.starved()) << "not long enough";
    share.answered(1'399'000, 3, 1'099'999, kPace);
    EXPECT_TRUE(share.starved());
    share.answered(1'600'000, 4, 1'199'999, kPace);
    EXPECT_FALSE(share.starved()) << "less than half of the time";
}

TEST(WaitShare, KeepsWhatItWasToldWhereTheKernelDoesNotTell)
{
    WaitShare share;
    share.answered(1'000'000, 1, 900'000, kPace);
    share.answered(1'100'000, 2, 1'000'000, kPace);
    ASSERT_TRUE(share.starved());
    ASSERT_EQ(share.others(), Others::kSome);
    EXPECT_TRUE(share.due(1'101'000, kPace));
    share.refused(1'101'000);
    EXPECT_FALSE(share.due(1'101'999, kPace));
    EXPECT_TRUE(share.due(1'102'000, kPace));
    EXPECT_TRUE(share.starved());
    EXPECT_EQ(share.others(), Others::kSome);
    share.answered(1'400'000, 3, 1'149'999, kPace);
    EXPECT_FALSE(share.starved()) << "of the time since the last answer, not since the last question";
}

TEST(WaitShare, IsAskedForOnceInAWhile)
{
    WaitShare share;
    EXPECT_TRUE(share.due(5000, kPace));
    EXPECT_EQ(share.answered(5000, 3, 70, kPace), 0u) << "nothing is known of before";
    EXPECT_FALSE(share.due(5999, kPace));
    EXPECT_TRUE(share.due(6000, kPace));
    EXPECT_EQ(share.others(), Others::kUnknown);
    EXPECT_EQ(share.answered(6000, 7, 470, kPace), 100u);
    EXPECT_EQ(share.switches(), 7u);
    EXPECT_EQ(share.waited(), 470u);
}

TEST(WaitShare, OneThatHasItsCoreForItselfKnowsItAfterAWindow)
{
    Waiter waiter;
    waiter.run(49'000);
    EXPECT_EQ(waiter.share.others(), Others::kUnknown);
    waiter.run(3'000);
    EXPECT_EQ(waiter.share.others(), Others::kNone);
}

// Whatever a slice is: of 1 to 12 ms with the kernels that there are.
TEST(WaitShare, OneThatSharesItsCoreKnowsItAndGoesOnToKnowIt)
{
    for (const Ticks slice : {1'000u, 3'000u, 6'000u, 12'000u}) {
        Waiter waiter;
        waiter.run(100'000);
        for (Ticks passed = 0; passed < 60'000; passed += 2 * slice) {
            waiter.run(slice);
            waiter.wait(slice);
        }
        for (int i = 0; i < 100; ++i) {
            ASSERT_EQ(waiter.share.others(), Others::kSome) << slice << " " << i;
            waiter.run(slice);
            waiter.wait(slice);
        }
        waiter.run(110'000);
        EXPECT_EQ(waiter.share.others(), Others::kNone) << slice;
    }
}

TEST(WaitShare, SmallNeighboursAreNone)
{
    Waiter waiter;
    for (int i = 0; i < 100; ++i) {
        waiter.run(4'500);
        waiter.wait(140);
        ASSERT_NE(waiter.share.others(), Others::kSome) << i;
    }
}

// A thread that sleeps for each message waits for each wake-up, for a good part of its time; that is no wait for others.
TEST(WaitShare, WakeUpsAreNoneHoweverManyTheyAre)
{
    Waiter waiter;
    for (int i = 0; i < 10'000; ++i) {
        waiter.run(8);
        waiter.wait(9);
        ASSERT_NE(waiter.share.others(), Others::kSome) << i;
    }
    EXPECT_EQ(waiter.share.others(), Others::kNone);
    EXPECT_EQ(waiter.mean, 9u);
}

TEST(WaitShare, AnAnswerThatCameLateIsMeasuredByTheTimeItTook)
{
    Waiter waiter;
    waiter.run(60'000);
    waiter.now += 1'000'000;   // asleep or computing
    waiter.wait(100'000);
    EXPECT_EQ(waiter.share.others(), Others::kNone);
    waiter.now += 1'000'000;
    waiter.wait(200'000);
    EXPECT_EQ(waiter.share.others(), Others::kSome);
}

}   // namespace
}   // namespace linnet

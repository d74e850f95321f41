// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The choice of the lane's path: one that is quick and narrow, and one that is slow and wide.
#include "model/lane_choice.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

#include "support/seed.h"

namespace linnet::model {
namespace {

using namespace std::chrono_literals;

constexpr Line kWide{4500, 0.33};
constexpr Line kQuick{1500, 1.07};

class LaneChoiceTest : public ::testing::Test {
protected:
    LaneChoiceTest()
    {
        EXPECT_EQ(choice.add(kWide), 0u);
        EXPECT_EQ(choice.add(kQuick), 1u);
        choice.bulk_goes(1, 0);
    }
    // Messages on the lane as it is; moved where it is wanted. Returns how many of them came before the last move, or 0.
    unsigned messages(std::uint64_t bytes, unsigned count, bool alone = true)
    {
        unsigned last = 0;
        for (unsigned i = 0; i < count; ++i) {
            spent += choice.cost_ns(choice.at(), bytes, alone);
            now += Nanos{10us};
            if (!choice.message(bytes, alone)) {
                continue;
            }
            if (const unsigned to = choice.wanted(now); to != choice.at()) {
                choice.moved(to, now);
                ++moves;
                last = i + 1;
            }
        }
        return last;
    }

    LaneChoice choice{LaneChoice::Config{}};
    TimePoint now{std::chrono::hours{1}};
    double spent{0};
    unsigned moves{0};
};

TEST_F(LaneChoiceTest, WhatComesLongAfterIsNoRow)
{
    EXPECT_TRUE(choice.in_row(8, Nanos{500}));
    EXPECT_TRUE(choice.in_row(8, Nanos{9000}));
    EXPECT_FALSE(choice.in_row(8, Nanos{9100})) << "twice what one takes";
    EXPECT_TRUE(choice.in_row(1'000'000, Nanos{600'000})) << "they follow each other as fast as the wire carries them";
    EXPECT_FALSE(choice.in_row(1'000'000, Nanos{1'000'000}));
    choice.moved(1, now);
    EXPECT_FALSE(choice.in_row(8, Nanos{9000})) << "it takes 1.5 us there";
}

TEST_F(LaneChoiceTest, WhatIsExpectedMayChange)
{
    messages(1000, 1000);
    EXPECT_EQ(choice.at(), 1u) << "4.8 us are expected on the wide one, 2.6 here";
    choice.expect(1, {1500, 10});
    messages(1000, 1000);
    EXPECT_EQ(choice.at(), 0u) << "it is 11.5 us";
    messages(8, 1000);
    EXPECT_EQ(choice.at(), 1u);
}

TEST_F(LaneChoiceTest, ShortMessagesGoAndComeByTheQuickPath)
{
    EXPECT_EQ(choice.at(), 0u);
    const unsigned after = messages(8, 1000);
    EXPECT_EQ(choice.at(), 1u);
    EXPECT_NEAR(after, 4e5 / 3000, 2) << "when what was lost is worth the move, 0.4 ms";
    messages(8, 100'000);
    EXPECT_EQ(moves, 1u);
}

TEST_F(LaneChoiceTest, LongerMessagesBringTheLaneBack)
{
    messages(8, 1000);
    ASSERT_EQ(choice.at(), 1u);
    now += 1s;
    messages(8192, 1000);
    EXPECT_EQ(choice.at(), 0u);
}

TEST_F(LaneChoiceTest, RowsOfMessagesAreAMatterOfBytesAlone)
{
    messages(8, 10'000, false);
    EXPECT_EQ(choice.at(), 0u);
    messages(8, 1000);
    ASSERT_EQ(choice.at(), 1u);
    messages(1024, 100'000, false);
    EXPECT_EQ(choice.at(), 0u);
}

TEST_F(LaneChoiceTest, WhatIsBestForMostOfTheTimeOfAMixtureStays)
{
    for (unsigned i = 0; i < 1000; ++i) {
        messages(8, 10);
        messages(6000, 2);   // loses 1.5 us each on the quick path; ten short ones gain 30
    }
    EXPECT_EQ(choice.at(), 1u);
    EXPECT_EQ(moves, 1u);
}

TEST_F(LaneChoiceTest, LongMessagesLeaveTheQuickPathForTheWideOne)
{
    const double direct = kQuick.at(65536);
    const double by_the_other = 2 * kQuick.fixed_ns + kWide.at(65536);
    EXPECT_LT(by_the_other, direct);
    EXPECT_DOUBLE_EQ(choice.cost_ns(1, 65536, true), by_the_other);
    EXPECT_DOUBLE_EQ(choice.cost_ns(0, 65536, true), kWide.at(65536));
    EXPECT_DOUBLE_EQ(choice.cost_ns(1, 65536, false), 2 * kQuick.fixed_ns + kWide.per_byte_ns * 65536);
}

TEST_F(LaneChoiceTest, MessageAloneThatOneFrameDoesNotHoldTakesLonger)
{
    choice.frame_holds(0, 1448, 3500);
    EXPECT_DOUBLE_EQ(choice.cost_ns(0, 1448, true), kWide.at(1448));
    EXPECT_DOUBLE_EQ(choice.cost_ns(0, 1449, true), kWide.at(1449) + 3500);
    EXPECT_DOUBLE_EQ(choice.cost_ns(0, 1449, false), kWide.per_byte_ns * 1449) << "in a row the answers are on their way beside it";
    EXPECT_DOUBLE_EQ(choice.cost_ns(1, 65536, true), 2 * kQuick.fixed_ns + kWide.at(65536) + 3500) << "as bulk data likewise";
    EXPECT_DOUBLE_EQ(choice.cost_ns(1, 8000, true), kQuick.at(8000)) << "which so is worth a question from more bytes on";
}

TEST_F(LaneChoiceTest, LongMessagesStayWhereBulkDataDoes)
{
    choice.bulk_goes(1, 1);
    EXPECT_DOUBLE_EQ(choice.cost_ns(1, 65536, true), kQuick.at(65536));
    EXPECT_DOUBLE_EQ(choice.cost_ns(1, 65536, false), kQuick.per_byte_ns * 65536);
    choice.bulk_goes(1, LaneChoice::kNone);
    EXPECT_DOUBLE_EQ(choice.cost_ns(1, 65536, true), kQuick.at(65536));
}

TEST_F(LaneChoiceTest, QuestionThatWaitsForACoreIsDear)
{
    messages(8, 2000);
    ASSERT_EQ(choice.at(), 1u);
    const double asked = choice.cost_ns(1, 16384, true);
    choice.asking_waits(5000);
    EXPECT_DOUBLE_EQ(choice.cost_ns(1, 16384, true), asked + 5000);
    choice.asking_waits(60'000);
    EXPECT_DOUBLE_EQ(choice.cost_ns(1, 16384, true), kQuick.at(16384)) << "it is not asked";
    const unsigned moved_after = messages(16384, 1000);
    EXPECT_GE(moved_after, 55u) << "9 us of each are lost there; the move is worth 0.4 ms and 2 questions";
    EXPECT_LE(moved_after, 60u);
    EXPECT_EQ(choice.at(), 0u);
}

TEST_F(LaneChoiceTest, MessagesThatAreAskedForAnywhereWaitForCoresAnywhere)
{
    LaneChoice::Config config;
    config.asked_beyond = 65536;
    LaneChoice limited{config};
    limited.add(kWide);
    limited.add(kQuick);
    limited.bulk_goes(1, 0);
    for (const double wait : {0.0, 60'000.0, 600'000.0}) {
        limited.asking_waits(wait);
        for (const std::uint64_t bytes : {65537u, 1u << 18, 1u << 20}) {
            EXPECT_DOUBLE_EQ(limited.cost_ns(1, bytes, true), 2 * kQuick.fixed_ns + kWide.at(static_cast<double>(bytes))) << wait;
            EXPECT_DOUBLE_EQ(limited.cost_ns(0, bytes, true), kWide.at(static_cast<double>(bytes))) << wait;
        }
    }
    EXPECT_DOUBLE_EQ(limited.cost_ns(1, 65536, true), kQuick.at(65536)) << "this one may go whole, and need not be asked for";
}

TEST_F(LaneChoiceTest, RowsOfLongMessagesBringTheLaneBackWhereverTheirBytesGo)
{
    for (const unsigned bulk : {0u, 1u}) {
        now += 1s;
        messages(8, 2000);
        ASSERT_EQ(choice.at(), 1u);
        choice.bulk_goes(1, bulk);
        now += 1s;
        messages(65536, 1000, false);
        EXPECT_EQ(choice.at(), 0u) << "bulk data goes over path " << bulk;
    }
}

TEST_F(LaneChoiceTest, AlternatingPhasesSoonMoveItNoMore)
{
    for (unsigned i = 0; i < 200; ++i) {
        messages(8, 400);
        messages(65536, 200);
    }
    EXPECT_GE(moves, 1u);
    EXPECT_LE(moves, 4u) << "of 400 phases";
}

TEST_F(LaneChoiceTest, PathThatFailsIsLeftAloneForLongerAndLonger)
{
    const auto tried_within = [this](unsigned count) {
        unsigned tries = 0;
        for (unsigned i = 0; i < count; ++i) {
            now += Nanos{10us};
            if (choice.message(8, true) && choice.wanted(now) != choice.at()) {
                choice.failed(1, now);
                ++tries;
            }
        }
        return tries;
    };
    EXPECT_EQ(tried_within(900'000), 1u) << "9 s";
    EXPECT_EQ(tried_within(2'000'000), 1u) << "from 10 s on";
    EXPECT_EQ(tried_within(4'000'000), 1u) << "from 30 s on";
    EXPECT_EQ(choice.at(), 0u);
}

// Until a path that failed so often is due again.
Nanos pause_after(std::uint64_t seed, unsigned failures)
{
    LaneChoice choice{LaneChoice::Config{}, seed};
    EXPECT_EQ(choice.add(kWide), 0u);
    EXPECT_EQ(choice.add(kQuick), 1u);
    TimePoint now{std::chrono::hours{1}};
    for (unsigned i = 0; i < failures; ++i) {
        choice.failed(1, now);
    }
    const auto wanted = [&choice](TimePoint at) {
        for (unsigned i = 0; i < 1000; ++i) {
            static_cast<void>(choice.message(8, true));
        }
        return choice.wanted(at) == 1;
    };
    Nanos after{0};
    while (!wanted(now + after)) {
        after += 10ms;
    }
    return after;
}

TEST_F(LaneChoiceTest, ThoseWhoFailTogetherDoNotTryAgainTogether)
{
    constexpr unsigned kPairs = 40;
    std::set<Nanos> first;
    for (std::uint64_t seed = 0; seed < kPairs; ++seed) {
        const Nanos pause = pause_after(seed, 1);
        EXPECT_GE(pause, 10s);
        EXPECT_LE(pause, 12510ms);
        first.insert(pause);
    }
    EXPECT_GE(first.size(), kPairs / 2) << "of 250 steps of 10 ms";
    EXPECT_EQ(pause_after(7, 1), pause_after(7, 1)) << "the seed says all";
}

TEST_F(LaneChoiceTest, PauseHasAnEnd)
{
    for (const unsigned failures : {6u, 12u, 100u}) {
        const Nanos pause = pause_after(3, failures);
        EXPECT_GE(pause, 320s) << failures;
        EXPECT_LE(pause, 401s) << failures;
    }
}

TEST_F(LaneChoiceTest, MoveOfThePeersIsLetBeForAWhile)
{
    messages(8, 1000);
    ASSERT_EQ(choice.at(), 1u);
    choice.moved_by_peer(0, now);
    messages(8, 900'000);
    EXPECT_EQ(choice.at(), 0u) << "9 s";
    messages(8, 200'000);
    EXPECT_EQ(choice.at(), 1u);
}

TEST_F(LaneChoiceTest, ElsewhereItKeepsStill)
{
    choice.moved(LaneChoice::kNone, now);
    EXPECT_FALSE(choice.message(8, true));
}

// Whatever the traffic, the lane takes little more time than the better of the two would have, moves included.
TEST_F(LaneChoiceTest, LosesLittleToTheBetterPath)
{
    std::mt19937_64 random{testing::test_seed(7)};
    double best[2] = {0, 0};
    for (unsigned phase = 0; phase < 300; ++phase) {
        const std::uint64_t bytes = std::uint64_t{1} << (random() % 17);
        const auto count = static_cast<unsigned>(random() % 3000);
        const bool alone = random() % 3 != 0;
        for (unsigned i = 0; i < 2; ++i) {
            best[i] += choice.cost_ns(i, bytes, alone) * count;
        }
        messages(bytes, count, alone);
    }
    constexpr double kMove = 300'000;
    EXPECT_LT(spent + moves * kMove, 1.1 * std::min(best[0], best[1]));
}

}   // namespace
}   // namespace linnet::model

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
#include "model/loss_rate.h"

#include <gtest/gtest.h>

namespace linnet::model {
namespace {

using namespace std::chrono_literals;

class LossRateTest : public ::testing::Test {
protected:
    void sends(std::uint64_t frames, std::uint64_t again)
    {
        sent += frames;
        repeated += again;
        now += 20ms;
        rate.look(link, sent, repeated, 1448, now);
    }
    LossRate rate;
    TimePoint now{1000s};
    std::uint64_t link{7};
    std::uint64_t sent{0};
    std::uint64_t repeated{0};
};

TEST_F(LossRateTest, IsTheShareThatWentOutAgain)
{
    sends(1000, 10);
    sends(1000, 30);
    EXPECT_DOUBLE_EQ(rate.share(now), 0.02);
    const Line cost = rate.cost(2e6, now);
    EXPECT_DOUBLE_EQ(cost.fixed_ns, 40'000);
    EXPECT_DOUBLE_EQ(cost.per_byte_ns, 40'000 / 1448.0);
}

TEST_F(LossRateTest, OneBurstIsNoProof)
{
    for (int i = 0; i < 5; ++i) {
        sends(50'000, 45);
        EXPECT_EQ(rate.share(now), 0) << i;
        sends(50'000, 0);
        EXPECT_EQ(rate.share(now), 0) << i;
    }
    sends(50'000, 45);
    now += LossRate::kHolds;
    sends(50'000, 45);
    EXPECT_EQ(rate.share(now), 0) << "the other one was long ago";
    sends(50'000, 45);
    EXPECT_GT(rate.share(now), 0);
}

TEST_F(LossRateTest, SaysNothingOfFewFrames)
{
    sends(1000, 100);
    sends(500, 100);
    EXPECT_EQ(rate.share(now), 0);
    sends(500, 0);
    EXPECT_DOUBLE_EQ(rate.share(now), 0.1) << "both together";
}

TEST_F(LossRateTest, WhatWasNotLostAfterAllIsNoLoss)
{
    sends(1000, 100);
    sends(1000, 100);
    repeated -= 90;
    sends(1000, 0);
    EXPECT_DOUBLE_EQ(rate.share(now), 0.05) << "the first as it was thought then, the last thousand without";
    sends(1000, 10);
    EXPECT_GT(rate.share(now), 0.01);
}

TEST_F(LossRateTest, FewAreNone)
{
    sends(600, 2);
    EXPECT_EQ(rate.share(now), 0);
    EXPECT_EQ(rate.cost(2e6, now), Line{});
}

TEST_F(LossRateTest, FollowsWhatIsSeen)
{
    sends(1000, 20);
    sends(1000, 20);
    for (int i = 0; i < 8; ++i) {
        sends(1000, 0);
    }
    EXPECT_EQ(rate.share(now), 0) << "less than what counts";
    sends(50'000, 45);
    EXPECT_EQ(rate.share(now), 0) << "nothing is known any more, and one burst is no proof";
}

TEST_F(LossRateTest, IsForgottenWhereNobodyLooksAgain)
{
    sends(1000, 20);
    sends(1000, 20);
    EXPECT_GT(rate.share(now + LossRate::kHolds - 1ns), 0);
    EXPECT_EQ(rate.share(now + LossRate::kHolds), 0);
    now += LossRate::kHolds;
    sends(1000, 10);
    sends(1000, 10);
    EXPECT_DOUBLE_EQ(rate.share(now), 0.01) << "what was before does not count";
}

TEST_F(LossRateTest, CountsOfAnotherLinkBeginAnew)
{
    sends(100'000, 0);
    link = 8;
    sent = repeated = 0;
    sends(1000, 10);
    sends(1000, 10);
    EXPECT_DOUBLE_EQ(rate.share(now), 0.01) << "none of it was known";
    sent = 10;
    sends(0, 0);
    EXPECT_GT(rate.share(now), 0) << "counts that go back are another link's, too";
}

}   // namespace
}   // namespace linnet::model

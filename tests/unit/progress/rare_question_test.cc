// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RareQuestion: what asking costs says how often it is asked.
#include "progress/rare_question.h"

#include <gtest/gtest.h>

namespace linnet {
namespace {

constexpr Ticks kShortest = 1000;
constexpr Ticks kStart = 1'000'000;

// A row of questions in vain, each of `cost`. Returns when the last was asked.
Ticks ask_row(RareQuestion& question, Ticks now, Ticks cost, Ticks last_cost)
{
    for (unsigned i = 0; i < RareQuestion::kRow; ++i) {
        now += 100'000;
        question.was_in_vain(now, now + (i + 1 == RareQuestion::kRow ? last_cost : cost));
    }
    return now;
}

TEST(RareQuestion, IsAskedAtOnceAndThenAfterTheShortestTime)
{
    RareQuestion question{kShortest};
    EXPECT_TRUE(question.due(kStart));
    question.was_in_vain(kStart, kStart + 10);
    EXPECT_FALSE(question.due(kStart + kShortest - 1));
    EXPECT_TRUE(question.due(kStart + kShortest));
}

TEST(RareQuestion, TakesOnePartInEightOfThePollersTime)
{
    RareQuestion question{kShortest};
    const Ticks asked = ask_row(question, kStart, 500, 500);
    EXPECT_FALSE(question.due(asked + 500 * RareQuestion::kShare - 1));
    EXPECT_TRUE(question.due(asked + 500 * RareQuestion::kShare));
}

TEST(RareQuestion, BelievesTheLeastOfARow)
{
    RareQuestion question{kShortest};
    const Ticks asked = ask_row(question, kStart, 1'000'000, 20);
    EXPECT_TRUE(question.due(asked + kShortest));
}

TEST(RareQuestion, IsCheapAgainWhenItBecomesCheap)
{
    RareQuestion question{kShortest};
    const Ticks dear = ask_row(question, kStart, 2000, 2000);
    EXPECT_FALSE(question.due(dear + kShortest));
    const Ticks cheap = ask_row(question, dear, 50, 50);
    EXPECT_TRUE(question.due(cheap + kShortest));
}

TEST(RareQuestion, IsNeverLeftForLong)
{
    RareQuestion question{kShortest};
    const Ticks asked = ask_row(question, kStart, 90'000, 90'000);
    EXPECT_FALSE(question.due(asked + RareQuestion::kMost * kShortest - 1));
    EXPECT_TRUE(question.due(asked + RareQuestion::kMost * kShortest));
}

TEST(RareQuestion, IsAskedAgainSoonBehindAnAnswerHoweverDear)
{
    RareQuestion question{kShortest};
    const Ticks asked = ask_row(question, kStart, 2000, 2000);
    question.had_answer(asked + 50'000);
    EXPECT_TRUE(question.due(asked + 50'000 + kShortest));
    question.was_in_vain(asked + 60'000, asked + 62'000);
    EXPECT_FALSE(question.due(asked + 60'000 + kShortest));
}

TEST(RareQuestion, AnAnswerSaysNothingOfTheCost)
{
    RareQuestion question{kShortest};
    for (unsigned i = 0; i < 4 * RareQuestion::kRow; ++i) {
        question.had_answer(kStart + i);
    }
    EXPECT_FALSE(question.due(kStart + kShortest));
    question.ask_at_once();
    EXPECT_TRUE(question.due(kStart + kShortest));
}

}   // namespace
}   // namespace linnet

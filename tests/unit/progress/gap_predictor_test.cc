// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// GapPredictor: which leave is followed by a long absence.
#include "progress/gap_predictor.h"

#include <gtest/gtest.h>

#include <random>
#include <string_view>

#include "support/seed.h"

namespace linnet {
namespace {

// Leaves, comes back after a gap of that length; returns what was predicted.
bool leave(GapPredictor& gaps, CallKind kind, bool long_gap)
{
    const bool predicted = gaps.leaving(kind);
    gaps.returned(long_gap);
    return predicted;
}

TEST(GapPredictor, NewPlacesAreLong)
{
    GapPredictor gaps;
    EXPECT_TRUE(leave(gaps, CallKind::kPost, false));
    EXPECT_TRUE(leave(gaps, CallKind::kPost, false));   // the second of a row is another place
    EXPECT_TRUE(leave(gaps, CallKind::kEmpty, false));
    EXPECT_TRUE(leave(gaps, CallKind::kCompleted, false));
}

TEST(GapPredictor, LeavesWithNothingOpenTeachPlacesOfTheirOwnInTheSameRow)
{
    GapPredictor gaps;
    for (int i = 0; i < 50; ++i) {
        // Receive, send, and the two completions: behind the last of them the host computes, and nobody needs to stand in for it.
        EXPECT_TRUE(!leave(gaps, CallKind::kPost, false) || i == 0) << i;
        EXPECT_TRUE(!leave(gaps, CallKind::kPost, false) || i == 0) << i;
        EXPECT_TRUE(!leave(gaps, CallKind::kCompleted, false) || i == 0) << i;
        gaps.left(CallKind::kCompleted);
        gaps.returned(true);
        // All was there already: the same row of posts, with nothing open behind it.
        gaps.left(CallKind::kPost);
        gaps.returned(false);
        gaps.left(CallKind::kPost);
        gaps.returned(true);
        leave(gaps, CallKind::kEmpty, false);
    }
    for (const bool open : {false, true}) {
        static_cast<void>(gaps.leaving(CallKind::kEmpty));
        gaps.returned(false);
        gaps.left(CallKind::kPost);   // wherever the row began, its second place is the next
        gaps.returned(false);
        EXPECT_EQ(gaps.within_row(CallKind::kPost, open), open) << "the host goes behind the second of such rows only with nothing open";
    }
}

TEST(GapPredictor, PlaceThatWasShortForLongLearnsOneLongGapAsAnyOther)
{
    for (const int shorts : {6, 7, 20, 1000}) {
        GapPredictor gaps;
        for (int i = 0; i < shorts; ++i) {
            leave(gaps, CallKind::kEmpty, false);
            leave(gaps, CallKind::kCompleted, false);
        }
        EXPECT_FALSE(gaps.will_leave(CallKind::kEmpty));
        leave(gaps, CallKind::kEmpty, true);
        leave(gaps, CallKind::kCompleted, false);
        EXPECT_TRUE(gaps.will_leave(CallKind::kEmpty)) << shorts;
        for (unsigned i = 0; i < GapPredictor::kForget; ++i) {
            leave(gaps, CallKind::kEmpty, false);
            leave(gaps, CallKind::kCompleted, false);
        }
        EXPECT_FALSE(gaps.will_leave(CallKind::kEmpty)) << shorts;
    }
}

// Posts of which some may pass unseen, then a call that is seen. The gap behind post `at`, counted from 1, is long; 0: none. How many passed unseen.
int row_of_posts(GapPredictor& gaps, int posts, int at)
{
    int unseen = 0;
    bool long_gap = false;
    for (int i = 1; i <= posts; ++i) {
        if (gaps.passes_unseen(CallKind::kPost)) {
            ++unseen;
        } else {
            gaps.returned(long_gap);
            static_cast<void>(gaps.leaving(CallKind::kPost));
            long_gap = false;
        }
        long_gap = long_gap || i == at;
    }
    gaps.returned(long_gap);
    leave(gaps, CallKind::kCompleted, false);
    static_cast<void>(gaps.leaving(CallKind::kCompleted));
    return unseen;
}

TEST(GapPredictor, PostsPassUnseenOnceAllGapsAreShort)
{
    GapPredictor gaps;
    EXPECT_EQ(row_of_posts(gaps, 8, 0), 0) << "nothing is known yet";
    int unseen = 0;
    for (int i = 0; i < 20; ++i) {
        unseen = row_of_posts(gaps, 8, 0);
    }
    EXPECT_EQ(unseen, 8);
    EXPECT_EQ(row_of_posts(gaps, 30, 0), 8) << "later places are new";
    for (int i = 0; i < 20; ++i) {
        unseen = row_of_posts(gaps, 64, 0);
    }
    EXPECT_EQ(unseen, 60) << "one in sixteen is looked at";
}

TEST(GapPredictor, LongGapAmongPostsUnseenIsFoundAndLearnedWhereItIs)
{
    GapPredictor gaps;
    for (int i = 0; i < 20; ++i) {
        row_of_posts(gaps, 8, 0);
    }
    EXPECT_EQ(row_of_posts(gaps, 8, 3), 8) << "it could not be foreseen";
    EXPECT_EQ(row_of_posts(gaps, 8, 3), 0) << "the gaps are looked at again";
    row_of_posts(gaps, 8, 3);
    for (int i = 0; i < 100; ++i) {
        for (int post = 1; post <= 8; ++post) {
            ASSERT_FALSE(post == 3 && gaps.passes_unseen(CallKind::kPost)) << "no more while it comes again and again";
            ASSERT_EQ(gaps.leaving(CallKind::kPost), post == 3) << i << ' ' << post;
            gaps.returned(post == 3);
        }
        leave(gaps, CallKind::kCompleted, false);
    }
}

TEST(GapPredictor, WhatWillBeSaidAtTheEndOfACallIsKnownInsideOfIt)
{
    GapPredictor gaps;
    for (unsigned i = 0; i < 2000; ++i) {
        const auto kind = static_cast<CallKind>(i * i % 31 % kCallKinds);
        const bool expected = gaps.will_leave(kind);
        EXPECT_EQ(gaps.leaving(kind), expected) << i;
        gaps.returned(i % 5 == 0 || i % 64 > 40);
    }
}

TEST(GapPredictor, PingPongIsShortAfterOneRound)
{
    GapPredictor gaps;
    for (int round = 0; round < 100; ++round) {
        unsigned arms = leave(gaps, CallKind::kPost, false) ? 1 : 0;
        for (int i = 0; i < 5 + round % 40; ++i) {
            arms += leave(gaps, CallKind::kEmpty, false) ? 1 : 0;
        }
        arms += leave(gaps, CallKind::kCompleted, false) ? 1 : 0;
        if (round > 30) {
            EXPECT_EQ(arms, 0u) << "round " << round;
        }
    }
}

TEST(GapPredictor, OnlyTheLastPostBeforeTheComputationIsLong)
{
    GapPredictor gaps;
    for (int round = 0; round < 20; ++round) {
        for (int post = 1; post <= 8; ++post) {
            const bool predicted = leave(gaps, CallKind::kPost, post == 8);
            if (round > 0) {
                EXPECT_EQ(predicted, post == 8) << "round " << round << " post " << post;
            }
        }
        leave(gaps, CallKind::kEmpty, false);
        leave(gaps, CallKind::kCompleted, false);
    }
}

// A phase that waits at once and one that computes, in turn; and others that repeat.
TEST(GapPredictor, PlaceThatRepeatsItselfIsLearned)
{
    for (const std::string_view pattern : {"LS", "LSS", "LLS", "LSSS", "LSSSS", "LLLSSS", "LLLLS", "LSLLS"}) {
        GapPredictor gaps;
        for (std::size_t i = 0; i < 30 * pattern.size(); ++i) {
            const bool is_long = pattern[i % pattern.size()] == 'L';
            const bool predicted = leave(gaps, CallKind::kPost, is_long);
            if (i >= 10 * pattern.size()) {
                EXPECT_EQ(predicted, is_long) << pattern << " " << i;
            }
            leave(gaps, CallKind::kCompleted, false);
        }
    }
}

// What one chance in two costs: a row of three short ones makes a long gap come unexpected, one in eight, and histories that were short five times some more.
TEST(GapPredictor, PlaceThatIsLongAtRandomMostlyStaysLong)
{
    GapPredictor gaps;
    std::mt19937_64 random{testing::test_seed(7)};
    unsigned missed = 0;
    for (int i = 0; i < 2000; ++i) {
        const bool is_long = random() % 2 == 0;
        const bool predicted = leave(gaps, CallKind::kPost, is_long);
        missed += is_long && !predicted ? 1 : 0;
        leave(gaps, CallKind::kCompleted, false);
    }
    EXPECT_LT(missed, 220u) << "of some 1000";
}

// The pattern ends, and a history that meant "short" is followed by a long gap: once.
TEST(GapPredictor, PatternThatEndsIsForgottenAtOnce)
{
    GapPredictor gaps;
    for (int i = 0; i < 40; ++i) {
        leave(gaps, CallKind::kPost, i % 2 == 0);
        leave(gaps, CallKind::kCompleted, false);
    }
    unsigned missed = 0;
    for (int i = 0; i < 40; ++i) {
        missed += leave(gaps, CallKind::kPost, true) ? 0 : 1;
        leave(gaps, CallKind::kCompleted, false);
    }
    EXPECT_LE(missed, 1u);
}

// Computing alone, a transfer alone, both, with short receives around: of all posts only one in nine is followed by a computation.
TEST(GapPredictor, LongPostIsNotForgottenAmongShortOnes)
{
    GapPredictor gaps;
    const auto exchange = [&gaps] {
        leave(gaps, CallKind::kPost, false);
        leave(gaps, CallKind::kEmpty, false);
        leave(gaps, CallKind::kCompleted, false);
    };
    for (int round = 0; round < 20; ++round) {
        exchange();
        exchange();
        exchange();
        leave(gaps, CallKind::kLongPost, false);
        leave(gaps, CallKind::kCompleted, false);
        exchange();
        exchange();
        const bool predicted = leave(gaps, CallKind::kLongPost, true);
        EXPECT_TRUE(predicted || round == 0) << round;
        leave(gaps, CallKind::kCompleted, false);
        exchange();
    }
}

TEST(GapPredictor, RowWithALongPostHasPlacesOfItsOwn)
{
    GapPredictor gaps;
    for (int round = 0; round < 20; ++round) {
        for (int post = 0; post < 3; ++post) {   // short rows, never followed by a long gap
            const bool predicted = leave(gaps, CallKind::kPost, false);
            EXPECT_TRUE(!predicted || round == 0) << post;
        }
        leave(gaps, CallKind::kCompleted, false);
        leave(gaps, CallKind::kPost, false);
        if (round > 0) {
            EXPECT_TRUE(gaps.within_row(CallKind::kLongPost, true));
        }
        const bool long_one = leave(gaps, CallKind::kLongPost, false);   // the second of its row
        if (round > 0) {
            EXPECT_FALSE(gaps.within_row(CallKind::kPost, true));
        }
        EXPECT_TRUE(leave(gaps, CallKind::kPost, true)) << round;        // the third, and short: in the row of the long one
        EXPECT_TRUE(!long_one || round == 0);
        leave(gaps, CallKind::kCompleted, false);
    }
}

TEST(GapPredictor, LearnsTheChangeFromShortToLongAfterOneMistake)
{
    GapPredictor gaps;
    for (int round = 0; round < 100; ++round) {
        leave(gaps, CallKind::kPost, false);
        leave(gaps, CallKind::kCompleted, false);
    }
    EXPECT_FALSE(leave(gaps, CallKind::kPost, true));
    leave(gaps, CallKind::kCompleted, false);
    EXPECT_TRUE(leave(gaps, CallKind::kPost, true));
}

TEST(GapPredictor, ForgetsALongGapAfterThreeShortOnes)
{
    GapPredictor gaps;
    leave(gaps, CallKind::kCompleted, false);
    leave(gaps, CallKind::kPost, true);
    for (unsigned i = 0; i < GapPredictor::kForget; ++i) {
        leave(gaps, CallKind::kCompleted, false);
        EXPECT_TRUE(leave(gaps, CallKind::kPost, false));
    }
    leave(gaps, CallKind::kCompleted, false);
    EXPECT_FALSE(leave(gaps, CallKind::kPost, false));
}

TEST(GapPredictor, IsWithinARowOnlyBetweenItsLearnedEnds)
{
    GapPredictor gaps;
    EXPECT_FALSE(gaps.within_row(CallKind::kPost, true));
    for (int round = 0; round < 5; ++round) {   // rows of three posts, the last followed by a long gap
        for (int post = 0; post < 3; ++post) {
            if (round >= 2) {
                EXPECT_EQ(gaps.within_row(CallKind::kPost, true), post == 1) << post;
            }
            leave(gaps, CallKind::kPost, post == 2);
        }
        leave(gaps, CallKind::kCompleted, false);
    }
}

TEST(GapPredictor, RowsOfAnyLengthStayInTheTable)
{
    GapPredictor gaps;
    for (int i = 0; i < 100'000; ++i) {
        leave(gaps, CallKind::kEmpty, false);
    }
    EXPECT_FALSE(leave(gaps, CallKind::kEmpty, false));
    EXPECT_TRUE(leave(gaps, CallKind::kPost, false));
}

}   // namespace
}   // namespace linnet

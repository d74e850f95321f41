// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Trials: one peer after the other tries another path for its bulk data.
#include <gtest/gtest.h>

#include "session/paths.h"

namespace linnet::session {
namespace {

using namespace std::chrono_literals;

TEST(TrialsTest, OnePeerAfterTheOther)
{
    Trials trials;
    const TimePoint now{5s};
    EXPECT_TRUE(trials.may_begin(PeerId{3}, now));
    EXPECT_FALSE(trials.may_begin(PeerId{4}, now + 1ms));
    EXPECT_FALSE(trials.may_begin(PeerId{5}, now + 999ms));
    EXPECT_TRUE(trials.may_begin(PeerId{5}, now + 1s));
    EXPECT_FALSE(trials.may_begin(PeerId{4}, now + 1500ms));
    EXPECT_TRUE(trials.may_begin(PeerId{4}, now + 2s));
}

TEST(TrialsTest, PeerThatBeganComesAgainWhenItLikes)
{
    Trials trials;
    const TimePoint now{5s};
    EXPECT_TRUE(trials.may_begin(PeerId{3}, now));
    EXPECT_TRUE(trials.may_begin(PeerId{3}, now + 500ms)) << "its hello came twice, or its attempt failed";
    EXPECT_FALSE(trials.may_begin(PeerId{4}, now + 1s));
    EXPECT_TRUE(trials.may_begin(PeerId{4}, now + 1500ms));
}

TEST(TrialsTest, TheFirstNeedNotWaitAlsoWhenTheClockIsYoung) { EXPECT_TRUE(Trials{}.may_begin(PeerId{0}, TimePoint{})); }

}   // namespace
}   // namespace linnet::session

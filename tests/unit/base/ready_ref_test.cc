// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ReadyRef: asks what it borrowed, each time.
#include "base/ready_ref.h"

#include <gtest/gtest.h>

namespace linnet {
namespace {

TEST(ReadyRef, WithoutAQuestionTheAnswerIsNo) { EXPECT_FALSE(ReadyRef{}()); }

TEST(AskRef, AnswersWithWhatItIsAskedFor)
{
    EXPECT_EQ(AskRef<int>{}(), 0);
    int number = 7;
    const AskRef<int> ref{[](const void* about) noexcept { return *static_cast<const int*>(about); }, &number};
    EXPECT_EQ(ref(), 7);
    number = 8;
    EXPECT_EQ(ref(), 8);
}

TEST(ReadyRef, AsksAnewEachTime)
{
    int count = 0;
    const auto twice = [&count]() noexcept { return ++count >= 2; };
    const ReadyRef ref = ReadyRef::to(twice);
    EXPECT_FALSE(ref());
    EXPECT_TRUE(ref());
    EXPECT_EQ(count, 2);
}

TEST(ReadyRef, HandsOverWhatItIsAbout)
{
    const bool so = true;
    const ReadyRef ref{[](const void* about) noexcept { return *static_cast<const bool*>(about); }, &so};
    EXPECT_TRUE(ref());
}

}   // namespace
}   // namespace linnet

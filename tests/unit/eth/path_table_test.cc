// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PathTable: how long the frames to a host may be.
#include "transport/frames/path_table.h"

#include <gtest/gtest.h>

#include <vector>

namespace linnet::frames {
namespace {

constexpr std::size_t kHoped = 8996;
constexpr std::size_t kSafe = 1496;

std::vector<std::size_t> openings(PathTable& t, std::uint64_t key, unsigned count)
{
    std::vector<std::size_t> sizes;
    for (unsigned i = 0; i < count; ++i) {
        sizes.push_back(t.next_opening(key, kHoped, kSafe));
    }
    return sizes;
}

TEST(PathTable, HopesUntilSomethingArrived)
{
    PathTable t;
    EXPECT_EQ(t.longest(1, kHoped), kHoped);
    t.arrived(1, 4000, kSafe);
    EXPECT_EQ(t.longest(1, kHoped), 4000u);
    EXPECT_EQ(t.longest(2, kHoped), kHoped);
    t.arrived(1, 0, kSafe);
    EXPECT_EQ(t.longest(1, kHoped), 4000u) << "that was of no length that says anything";
    t.arrived(1, 100, kSafe);
    EXPECT_EQ(t.longest(1, kHoped), kSafe) << "every network takes that";
    t.arrived(1, 20'000, kSafe);
    EXPECT_EQ(t.longest(1, kHoped), kHoped) << "our own interface takes no more";
}

TEST(PathTable, AnUnansweredOpeningIsTriedShortEveryOtherTime)
{
    PathTable t;
    EXPECT_EQ(openings(t, 1, 6), (std::vector<std::size_t>{kHoped, kHoped, kSafe, kHoped, kSafe, kHoped}));
}

TEST(PathTable, AnAnswerMakesOpeningsAsLongAsItWas)
{
    PathTable t;
    static_cast<void>(openings(t, 1, 5));
    t.arrived(1, 3000, kSafe);
    EXPECT_EQ(openings(t, 1, 4), (std::vector<std::size_t>{3000, 3000, kSafe, 3000}));
    t.arrived(1, 0, kSafe);
    EXPECT_EQ(openings(t, 1, 3), (std::vector<std::size_t>{3000, 3000, kSafe})) << "that was an answer, too";
}

TEST(PathTable, BeyondItsBoundTheOldestIsForgotten)
{
    PathTable t;
    for (std::uint64_t key = 0; key < PathTable::kMostPaths; ++key) {
        t.arrived(key, 4000, kSafe);
    }
    EXPECT_EQ(t.longest(0, kHoped), 4000u);
    const std::uint64_t another = PathTable::kMostPaths;
    EXPECT_EQ(t.next_opening(another, kHoped, kSafe), kHoped);
    t.arrived(another, 3000, kSafe);
    EXPECT_EQ(t.longest(another, kHoped), 3000u);
    EXPECT_EQ(t.longest(0, kHoped), kHoped) << "it was forgotten";
    EXPECT_EQ(t.longest(1, kHoped), 4000u);
}

}   // namespace
}   // namespace linnet::frames

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Credit: places of one ring, lent to several.
#include "flow/credit.h"

#include <gtest/gtest.h>

#include <array>

namespace linnet::flow {
namespace {

TEST(Credit, SendersShareThePoolBeyondTheirFirstFrames)
{
    CreditPool pool{60};
    CreditLine one;
    CreditLine two;
    one.start(0, 2);
    two.start(100, 2);
    EXPECT_TRUE(one.extend(pool, 1000));
    EXPECT_EQ(one.open(), 62u);
    EXPECT_EQ(pool.available(), 0u);
    EXPECT_FALSE(two.extend(pool, 1000));
    EXPECT_EQ(two.open(), 2u);   // its first frames are not taken from the pool
    one.arrived(pool, 30);       // what the first has used is not lent to it again: its share is half now
    EXPECT_TRUE(two.extend(pool, 1000));
    EXPECT_EQ(two.open(), 32u);
    EXPECT_TRUE(one.extend(pool, 1000));
    EXPECT_EQ(one.open(), 32u);
    EXPECT_EQ(pool.lent(), 60u);
    EXPECT_TRUE(one.give_back(pool, 32));
    EXPECT_EQ(pool.lent(), 30u);
    EXPECT_FALSE(one.give_back(pool, 33));   // more than it has
    EXPECT_FALSE(one.give_back(pool, 29));   // less than it has sent
    two.end(pool);
    EXPECT_EQ(pool.lent(), 0u);
    EXPECT_EQ(pool.borrowers(), 0u);
}

TEST(Credit, LostFramesGiveTheirPlacesBackToBeAskedForAgain)
{
    CreditPool pool{60};
    CreditLine one;
    CreditLine two;
    one.start(0, 2);
    two.start(0, 2);
    EXPECT_TRUE(one.extend(pool, 1000));
    one.arrived(pool, 10, 20);
    EXPECT_EQ(pool.lent(), 30u);
    EXPECT_EQ(pool.owed(), 20u);
    EXPECT_EQ(pool.vacant(), 30u);
    EXPECT_EQ(pool.available(), 10u);   // for new frames, of whomever
    EXPECT_FALSE(two.extend(pool, 1000));
    EXPECT_EQ(two.open(), 12u);
    one.arrived(pool, 10, 0);           // they are asked for again
    EXPECT_EQ(pool.lent(), 60u);
    EXPECT_EQ(pool.vacant(), 0u);
    one.arrived(pool, 10, 1000);        // a peer that says so is wrong
    EXPECT_EQ(pool.owed(), 52u);
    EXPECT_EQ(one.spare(), 2u);
    EXPECT_EQ(pool.borrowers(), 2u);
    one.end(pool);
    two.end(pool);
    EXPECT_EQ(pool.lent() + pool.owed() + pool.borrowers(), 0u);
}

TEST(Credit, EachBorrowerHasPlacesSetAside)
{
    CreditPool pool{60, 1000, 8};
    std::array<CreditLine, 5> lines;
    for (CreditLine& line : lines) {
        line.start(0, 2);
    }
    EXPECT_TRUE(lines[0].extend(pool, 12));
    EXPECT_EQ(pool.lent(), 10u);
    EXPECT_EQ(pool.available(), 60u - 8 - 10);
    for (CreditLine& line : lines) {
        static_cast<void>(line.extend(pool, 12));
    }
    EXPECT_EQ(pool.allowed(5), 30u);   // no more than half is
    EXPECT_EQ(pool.lent(), 30u);
    EXPECT_EQ(lines[4].open(), 2u);
}

TEST(Credit, CountsWrap)
{
    CreditPool pool{10};
    CreditLine line;
    line.start(0xfffffffe, 2);
    EXPECT_EQ(line.limit(), 0u);
    EXPECT_TRUE(line.extend(pool, 8));
    EXPECT_EQ(line.limit(), 6u);
    line.arrived(pool, 3);
    EXPECT_EQ(line.open(), 3u);
    EXPECT_EQ(pool.lent(), 1u);
}

}   // namespace
}   // namespace linnet::flow

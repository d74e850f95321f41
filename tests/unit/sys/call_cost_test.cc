// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// system_call_cost(): a time, and the same one each time.
#include "sys/call_cost.h"

#include <gtest/gtest.h>

namespace linnet {
namespace {

TEST(CallCost, IsMeasuredOnceAndIsNoMoreThanAnySystemTakes)
{
    const Nanos cost = system_call_cost();
    EXPECT_GT(cost, Nanos{0});
    EXPECT_LT(cost, std::chrono::milliseconds{1});
    EXPECT_EQ(system_call_cost(), cost);
}

}   // namespace
}   // namespace linnet

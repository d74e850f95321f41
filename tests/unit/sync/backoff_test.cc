// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Backoff: pauses first, yields later.
#include "sync/backoff.h"

#include <gtest/gtest.h>

namespace linnet {
namespace {

TEST(Backoff, YieldsOnlyAfterItsSpins)
{
    Backoff backoff;
    for (unsigned i = 0; i < Backoff::kSpins; ++i) {
        ASSERT_FALSE(backoff.yielding()) << "after " << i << " waits";
        backoff.wait();
    }
    EXPECT_TRUE(backoff.yielding());
    backoff.wait();
    EXPECT_TRUE(backoff.yielding());
}

TEST(Backoff, ResetStartsOver)
{
    Backoff backoff;
    for (unsigned i = 0; i < Backoff::kSpins; ++i) {
        backoff.wait();
    }
    backoff.reset();
    EXPECT_FALSE(backoff.yielding());
}

}   // namespace
}   // namespace linnet

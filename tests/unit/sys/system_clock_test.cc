// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The clock and the conversion to timespec.
#include "sys/system_clock.h"

#include <gtest/gtest.h>

namespace linnet {
namespace {

TEST(SystemClock, IsMonotonicAndMoves)
{
    const SystemClock clock;
    const TimePoint start = clock.now();
    TimePoint last = start;
    int backwards = 0;
    while (last - start < Nanos{100'000}) {
        const TimePoint now = clock.now();
        backwards += now < last ? 1 : 0;
        last = now;
    }
    EXPECT_EQ(backwards, 0);
    EXPECT_GE(monotonic_now(), last);   // the same clock
}

TEST(WallClock, CountsFrom1970) { EXPECT_GT(wall_clock_now(), std::chrono::hours{24 * 365 * 50}); }

TEST(ToTimespec, SplitsSecondsAndRefusesNegatives)
{
    const timespec t = to_timespec(Nanos{3'000'000'007});
    EXPECT_EQ(t.tv_sec, 3);
    EXPECT_EQ(t.tv_nsec, 7);
    EXPECT_EQ(to_timespec(Nanos{-1}).tv_sec, 0);
    EXPECT_EQ(to_timespec(Nanos{-1}).tv_nsec, 0);
    EXPECT_EQ(to_timespec(Nanos{999'999'999}).tv_nsec, 999'999'999);
}

}   // namespace
}   // namespace linnet

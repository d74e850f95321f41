// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What a duration is on this machine's counter.
#include "progress/ticks.h"

#include <gtest/gtest.h>

#include <cmath>

#include "sys/system_clock.h"

namespace linnet {
namespace {

using namespace std::chrono_literals;

TEST(TicksTest, ScaleOfThisMachineIsThatOfItsClock)
{
    const TickScale& scale = machine_ticks();
    EXPECT_EQ(&scale, &machine_ticks());
    double error = 1;
    for (unsigned i = 0; i < 5 && error > 0.05; ++i) {   // whoever was off the core between the two readings has another try
        const TimePoint t0 = monotonic_now();
        const Ticks c0 = read_ticks();
        while (monotonic_now() - t0 < 5ms) {
        }
        const Nanos told = scale.nanos(read_ticks() - c0);
        const Nanos took = monotonic_now() - t0;
        error = std::abs(static_cast<double>(told.count()) / static_cast<double>(took.count()) - 1);
    }
    EXPECT_LT(error, 0.05);
}

TEST(TicksTest, SlowCounterHasFewTicksInAPause)
{
    TickScale slow;
    slow.measured(24'000'000, 1s);
    EXPECT_EQ(slow.ticks(2us), 48u);
    EXPECT_EQ(slow.nanos(24'000), Nanos{1ms});
}

}   // namespace
}   // namespace linnet

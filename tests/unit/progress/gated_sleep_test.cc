// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
#include "progress/gated_sleep.h"

#include <gtest/gtest.h>

#include <chrono>

#include "support/test_log.h"
#include "sys/system_clock.h"

namespace linnet::testing {
namespace {

using namespace std::chrono_literals;
using Woken = GatedSleep::Woken;

class GatedSleepTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        Result<EventFd> fd = EventFd::open(test_log());
        ASSERT_TRUE(fd.ok());
        source_ = std::move(*fd);
        ASSERT_EQ(sleep_.prepare({source_.get()}, test_log()), Status::kOk);
    }
    EventFd source_;
    GatedSleep sleep_;
};

TEST_F(GatedSleepTest, ArrivalsWakeNobodyBehindTheClosedGate)
{
    source_.signal();
    EXPECT_EQ(sleep_.sleep(1ms), Woken::kByTimer);
    sleep_.open();
    EXPECT_EQ(sleep_.sleep(10s), Woken::kByArrival);   // it is still there
    sleep_.close();
    EXPECT_EQ(sleep_.sleep(1ms), Woken::kByTimer);
}

TEST_F(GatedSleepTest, RingsWakeOnceWhetherItIsOpenOrNot)
{
    for (const bool open : {false, true}) {
        open ? sleep_.open() : sleep_.close();
        sleep_.ring();
        EXPECT_EQ(sleep_.sleep(10s), Woken::kByRing) << open;
        EXPECT_EQ(sleep_.sleep(1ms), Woken::kByTimer) << open;
    }
}

TEST_F(GatedSleepTest, EarlierTimeEndsTheSleepAndGoesWithTheGate)
{
    const TimePoint begin = monotonic_now();
    sleep_.sleeps_until(begin + 10s);
    sleep_.wake_at(begin + 20s);   // later: nothing to do
    sleep_.wake_at(begin + 2ms);
    EXPECT_EQ(sleep_.sleep(10s), Woken::kByTimer);
    EXPECT_GE(monotonic_now() - begin, 2ms);
    EXPECT_LT(monotonic_now() - begin, 9s);

    sleep_.sleeps_until(monotonic_now() + 10s);
    sleep_.wake_at(monotonic_now() + 1ms);
    sleep_.close();
    const TimePoint closed = monotonic_now();
    EXPECT_EQ(sleep_.sleep(20ms), Woken::kByTimer);
    EXPECT_GE(monotonic_now() - closed, 20ms);
}

}   // namespace
}   // namespace linnet::testing

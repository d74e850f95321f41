// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What is kept of measurements.
#include "model/samples.h"

#include <gtest/gtest.h>

namespace linnet::model {
namespace {

using namespace std::chrono_literals;

constexpr Line kExpected{1000, 1};
constexpr TimePoint kStart{100s};

TEST(Samples, SayNothingWhenThereAreNone)
{
    const Samples s;
    EXPECT_TRUE(s.empty());
    EXPECT_FALSE(s.line(kExpected));
}

TEST(Samples, KeepTheLeastOfEachSize)
{
    Samples s;
    for (const int us : {900, 500, 700}) {
        s.add(1 << 20, std::chrono::microseconds{us}, kStart);
        s.add(1 << 18, std::chrono::microseconds{us / 2}, kStart);
    }
    const auto line = s.line(kExpected);
    ASSERT_TRUE(line);
    EXPECT_NEAR(line->at(1 << 20), 500'000, 1);
    EXPECT_NEAR(line->at(1 << 18), 250'000, 1);
}

TEST(Samples, OfOneSizeKeepTheExpectedFixedPart)
{
    Samples s;
    s.add(1'000'000, 2ms, kStart);
    const auto line = s.line(kExpected);
    ASSERT_TRUE(line);
    EXPECT_DOUBLE_EQ(line->fixed_ns, 1000);
    EXPECT_NEAR(line->per_byte_ns, 1.999, 1e-6);
}

TEST(Samples, AreForgottenAfterTwoWindows)
{
    Samples s;
    s.add(1 << 20, 1ms, kStart);
    s.add(1 << 20, 4ms, kStart + Samples::kWindow);
    EXPECT_NEAR(s.line(kExpected)->at(1 << 20), 1e6, 1) << "one window ago";
    s.add(1 << 20, 4ms, kStart + 2 * Samples::kWindow);
    EXPECT_NEAR(s.line(kExpected)->at(1 << 20), 4e6, 1) << "two windows ago";
    s.add(1 << 20, 9ms, kStart + 10 * Samples::kWindow);
    EXPECT_NEAR(s.line(kExpected)->at(1 << 20), 9e6, 1) << "long ago, and silence since";
}

TEST(Samples, TakeEverySizeAndEveryTime)
{
    Samples s;
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1}, UINT64_MAX}) {
        for (const Nanos took : {Nanos{-5}, Nanos{0}, Nanos::max()}) {
            s.add(bytes, took, kStart);
        }
    }
    const auto line = s.line(kExpected);
    ASSERT_TRUE(line);
    EXPECT_GE(line->fixed_ns, 0);
    EXPECT_GE(line->per_byte_ns, 0);
}

TEST(Samples, ForgetWhenTold)
{
    Samples s;
    s.add(1000, 1ms, kStart);
    s.forget();
    EXPECT_TRUE(s.empty());
}

}   // namespace
}   // namespace linnet::model

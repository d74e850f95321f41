// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Prediction by the cost model of Directed Point, and the linear fit.
#include "model/cost.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>
#include <vector>

#include "support/seed.h"

namespace linnet::model {
namespace {

PathCost path()
{
    PathCost c;
    c.send = {1000, 0.1};
    c.gap = {5000, 1};
    c.latency = {9000, 1};
    c.receive = {500, 0.2};
    c.pick_up = {100, 0};
    return c;
}

TEST(OneWay, OfOnePacketIsTheSumOfItsParts)
{
    EXPECT_DOUBLE_EQ(one_way_ns(path(), 0, 1000), 1000 + 9000 + 500 + 100);
    EXPECT_DOUBLE_EQ(one_way_ns(path(), 1000, 1000), 1100 + 10000 + 700 + 100);
}

TEST(OneWay, OfManyPacketsGrowsByTheGapOfThePath)
{
    const double one = one_way_ns(path(), 1000, 1000);
    EXPECT_DOUBLE_EQ(one_way_ns(path(), 10'000, 1000), one + 9 * 6000);
}

TEST(OneWay, GrowsByTheReceiversCostWhereThatIsTheBottleneck)
{
    PathCost c = path();
    c.gap = {100, 0};
    EXPECT_DOUBLE_EQ(one_way_ns(c, 10'000, 1000), 1100 + 10000 + 10 * (700 + 100));
}

TEST(OneWay, CutsIntoPacketsOfAboutTheSameSize)
{
    // 1001 bytes are two packets of 500.5.
    EXPECT_DOUBLE_EQ(one_way_ns(path(), 1001, 1000), 1050.05 + 5500.5 + 9500.5 + 600.1 + 100);
}

TEST(Fit, FindsTheLineThatThePointsAreOn)
{
    std::vector<Point> points;
    for (double bytes = 8; bytes < 5e6; bytes *= 4) {
        points.push_back({bytes, 7000 + 0.25 * bytes});
    }
    const auto line = fit_line(points);
    ASSERT_TRUE(line);
    EXPECT_NEAR(line->fixed_ns, 7000, 0.01);
    EXPECT_NEAR(line->per_byte_ns, 0.25, 1e-9);
    EXPECT_NEAR(worst_error(*line, points), 0, 1e-6);
}

// Within 15 % from 8 B to 4 MB, though each point is off by up to a tenth.
TEST(Fit, IsRightAtEverySizeAndNotOnlyAtTheLongest)
{
    std::mt19937_64 random{testing::test_seed(0x5eed)};
    std::uniform_real_distribution<double> noise{0.9, 1.1};
    for (unsigned run = 0; run < 200; ++run) {
        std::vector<Point> points;
        std::vector<Point> truth;
        for (double bytes = 8; bytes <= 4 * 1048576; bytes *= 2) {
            truth.push_back({bytes, 12'000 + 0.3 * bytes});
            points.push_back({bytes, truth.back().ns * noise(random)});
        }
        const auto line = fit_line(points);
        ASSERT_TRUE(line);
        ASSERT_LT(worst_error(*line, truth), 0.15) << "run " << run;
    }
}

TEST(Fit, NeedsTwoSizes)
{
    EXPECT_FALSE(fit_line({}));
    const std::array<Point, 2> same{{{100, 5}, {100, 7}}};
    EXPECT_FALSE(fit_line(same));
}

TEST(Fit, NeverGivesNegativeTerms)
{
    const std::array<Point, 2> falling{{{100, 50}, {1000, 40}}};
    const auto flat = fit_line(falling);
    ASSERT_TRUE(flat);
    EXPECT_EQ(flat->per_byte_ns, 0);
    EXPECT_GE(flat->fixed_ns, 40);
    EXPECT_LE(flat->fixed_ns, 50);
    const std::array<Point, 2> steep{{{100, 50}, {1000, 900}}};
    const auto through_zero = fit_line(steep);
    ASSERT_TRUE(through_zero);
    EXPECT_EQ(through_zero->fixed_ns, 0);
    EXPECT_GT(through_zero->per_byte_ns, 0.5);
    EXPECT_LT(through_zero->per_byte_ns, 0.9);
}

TEST(LineThrough, KeepsTheExpectedFixedPart)
{
    EXPECT_EQ(line_through({1000, 5000}, {1000, 9}), (Line{1000, 4}));
    EXPECT_EQ(line_through({1000, 500}, {1000, 9}), (Line{500, 0}));   // as far as it can
    EXPECT_EQ(line_through({0, 500}, {1000, 9}), (Line{500, 9}));
}

}   // namespace
}   // namespace linnet::model

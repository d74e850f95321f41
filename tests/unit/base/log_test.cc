// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Log: which lines are written, to whom, and how long; the throttle.
#include "base/log.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace linnet {
namespace {

using Lines = std::vector<std::pair<LogLevel, std::string>>;

void keep(void* arg, LogLevel level, const char* line) noexcept { static_cast<Lines*>(arg)->emplace_back(level, line); }

TEST(Log, WritesErrorsAndWarningsUnlessToldOtherwise)
{
    const Log log;
    EXPECT_TRUE(log.on(LogLevel::kError));
    EXPECT_TRUE(log.on(LogLevel::kWarn));
    EXPECT_FALSE(log.on(LogLevel::kInfo));
}

TEST(Log, LevelLetsThroughWhatIsAsImportant)
{
    for (int level = 0; level <= static_cast<int>(LogLevel::kTrace); ++level) {
        const Log log{static_cast<LogLevel>(level), nullptr, nullptr};
        for (int line = 1; line <= static_cast<int>(LogLevel::kTrace); ++line) {
            EXPECT_EQ(log.on(static_cast<LogLevel>(line)), line <= level) << line << " at " << level;
        }
    }
}

TEST(Log, SinkGetsTheFormattedLineWithItsLevelAndNoNewline)
{
    Lines lines;
    const Log log{LogLevel::kInfo, keep, &lines};
    LINNET_LOG(log, kInfo, "peer %d state %s", 12, "streaming");
    LINNET_LOG(log, kError, "%s", "100 % of it");
    EXPECT_EQ(lines, (Lines{{LogLevel::kInfo, "peer 12 state streaming"}, {LogLevel::kError, "100 % of it"}}));
}

TEST(Log, ArgumentsOfALineThatIsOffAreNotEvaluated)
{
    Lines lines;
    const Log log{LogLevel::kInfo, keep, &lines};
    int evaluated = 0;
    LINNET_LOG(log, kDebug, "%d", ++evaluated);
    EXPECT_EQ(evaluated, 0);
    LINNET_LOG(log, kInfo, "%d", ++evaluated);
    EXPECT_EQ(evaluated, 1);
    EXPECT_EQ(lines.size(), 1u);
}

TEST(Log, ComplaintsAreErrorsAndWarnings)
{
    Lines lines;
    const Log log{LogLevel::kTrace, keep, &lines};
    LINNET_LOG(log, kError, "1");
    LINNET_LOG(log, kWarn, "2");
    LINNET_LOG(log, kInfo, "no");
    LINNET_LOG(log, kTrace, "no");
    EXPECT_EQ(log.complaints(), 2u);
}

TEST(Log, LongLinesAreCutAt2KiB)
{
    Lines lines;
    const Log log{LogLevel::kInfo, keep, &lines};
    const std::string fits(2047, 'a');
    LINNET_LOG(log, kInfo, "%s", fits.c_str());
    LINNET_LOG(log, kInfo, "%s%s", fits.c_str(), "bcd");
    ASSERT_EQ(lines.size(), 2u);
    EXPECT_EQ(lines[0].second, fits);
    EXPECT_EQ(lines[1].second, fits);
}

TEST(Log, ConfigureReplacesLevelAndSink)
{
    Lines first;
    Lines second;
    Log log{LogLevel::kError, keep, &first};
    LINNET_LOG(log, kWarn, "too quiet");
    log.configure(LogLevel::kWarn, keep, &second);
    LINNET_LOG(log, kWarn, "heard");
    EXPECT_TRUE(first.empty());
    EXPECT_EQ(second, (Lines{{LogLevel::kWarn, "heard"}}));
}

TEST(Log, WithoutASinkLinesGoToStandardErrorUnderOurName)
{
    const Log log;
    ::testing::internal::CaptureStderr();
    LINNET_LOG(log, kWarn, "peer %d", 3);
    EXPECT_EQ(::testing::internal::GetCapturedStderr(), "linnet: peer 3\n");
}

TEST(LogThrottle, LetsThePowersOfTwoThrough)
{
    LogThrottle throttle;
    std::vector<std::uint64_t> written;
    for (std::uint64_t i = 1; i <= 1000; ++i) {
        if (const std::uint64_t n = throttle.hit(); n != 0) {
            EXPECT_EQ(n, i);
            written.push_back(n);
        }
    }
    EXPECT_EQ(written, (std::vector<std::uint64_t>{1, 2, 4, 8, 16, 32, 64, 128, 256, 512}));
}

}   // namespace
}   // namespace linnet

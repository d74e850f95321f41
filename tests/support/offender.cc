// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A program that breaks every rule the guards watch, one per case; run by support/selftest, which expects the failures.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <thread>

#include "support/seed.h"
#include "support/test_log.h"

namespace linnet::testing {

TEST(Offender, LeaksADescriptor)
{
    ASSERT_GE(open("/dev/null", O_RDONLY | O_CLOEXEC), 0);
}

TEST(Offender, LogsAWarning)
{
    LINNET_LOG(test_log(), kWarn, "peer %d frowned", 7);
}

TEST(Offender, NeverLogsWhatItAnnounced)
{
    expect_complaint("peer 8");
}

TEST(Offender, FailsWithASeed)
{
    EXPECT_EQ(test_seed(0x5eed), 0u);
}

TEST(Offender, HangsWithASecondThread)
{
    std::jthread second{[](const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            usleep(1000);
        }
    }};
    pause();
}

TEST(Innocent, Passes)
{
    expect_complaint("frowned");
    LINNET_LOG(test_log(), kWarn, "peer %d frowned", 7);
    LINNET_LOG(test_log(), kInfo, "peer %d smiled", 7);
    EXPECT_EQ(logged_lines().size(), 2u);
    const int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    close(fd);
}

TEST(Innocent, Skips)
{
    GTEST_SKIP() << "to see that a skip is reported with its reason";
}

}   // namespace linnet::testing

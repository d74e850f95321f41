// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// errno as a Status.
#include "sys/error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

#include "support/test_log.h"

namespace linnet {
namespace {

TEST(StatusFromErrno, TellsCallersWhatTheyCanDo)
{
    EXPECT_EQ(status_from_errno(0), Status::kOk);
    EXPECT_EQ(status_from_errno(EAGAIN), Status::kAgain);
    EXPECT_EQ(status_from_errno(EMFILE), Status::kNoDescriptors);
    EXPECT_EQ(status_from_errno(ENOMEM), Status::kNoMemory);
    EXPECT_EQ(status_from_errno(EACCES), Status::kPermission);
    EXPECT_EQ(status_from_errno(ECONNRESET), Status::kPeerDown);
    EXPECT_EQ(status_from_errno(ECONNREFUSED), Status::kUnreachable);
    EXPECT_EQ(status_from_errno(ENOSYS), Status::kUnsupported);
    EXPECT_EQ(status_from_errno(EIO), Status::kIo);
    EXPECT_EQ(status_from_errno(123456), Status::kIo);
}

TEST(ErrnoText, IsNeverNull)
{
    EXPECT_STREQ(errno_text(ECONNREFUSED), "Connection refused");
    EXPECT_STREQ(errno_text(123456), "unknown error");
}

TEST(LogErrno, LogsCallAndCauseOnce)
{
    testing::expect_complaint("connect 10.0.0.1: Connection refused");
    EXPECT_EQ(log_errno(testing::test_log(), "connect 10.0.0.1", ECONNREFUSED), Status::kUnreachable);
    EXPECT_EQ(testing::logged_lines().size(), 1u);
}

TEST(LogErrno, SaysWhatToDoAboutTooFewDescriptors)
{
    testing::expect_complaint("eventfd: Too many open files; raise the limit of open files (ulimit -n, RLIMIT_NOFILE)");
    EXPECT_EQ(log_errno(testing::test_log(), "eventfd", EMFILE), Status::kNoDescriptors);
}

}   // namespace
}   // namespace linnet

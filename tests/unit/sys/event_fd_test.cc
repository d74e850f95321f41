// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EventFd: a doorbell.
#include "sys/event_fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>

#include "support/test_log.h"

namespace linnet {
namespace {

bool readable(int fd)
{
    pollfd p{fd, POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
}

TEST(EventFd, IsReadableFromSignalToDrain)
{
    auto bell = EventFd::open(testing::test_log());
    ASSERT_TRUE(bell.ok());
    EXPECT_FALSE(readable(bell->get()));
    EXPECT_FALSE(bell->drain());
    bell->signal();
    bell->signal();
    EXPECT_TRUE(readable(bell->get()));
    EXPECT_TRUE(bell->drain());
    EXPECT_FALSE(readable(bell->get()));
    EXPECT_FALSE(bell->drain());
}

TEST(EventFd, IsNotInherited)
{
    auto bell = EventFd::open(testing::test_log());
    ASSERT_TRUE(bell.ok());
    EXPECT_NE(::fcntl(bell->get(), F_GETFD) & FD_CLOEXEC, 0);
}

}   // namespace
}   // namespace linnet

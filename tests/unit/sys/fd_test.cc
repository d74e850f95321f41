// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fd: closes exactly once.
#include "sys/fd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <utility>

namespace linnet {
namespace {

int open_null() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }
bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

TEST(Fd, ClosesAtTheEndOfItsLife)
{
    int number = -1;
    {
        const Fd fd{open_null()};
        number = fd.get();
        ASSERT_TRUE(is_open(number));
        EXPECT_TRUE(fd.valid());
    }
    EXPECT_FALSE(is_open(number));
}

TEST(Fd, MoveLeavesNothingBehind)
{
    Fd a{open_null()};
    const int number = a.get();
    Fd b{std::move(a)};
    EXPECT_FALSE(a.valid());   // NOLINT: what a moved-from Fd is, is the point
    EXPECT_EQ(b.get(), number);
    Fd c{open_null()};
    const int other = c.get();
    c = std::move(b);
    EXPECT_FALSE(is_open(other));
    EXPECT_EQ(c.get(), number);
    EXPECT_TRUE(is_open(number));
}

TEST(Fd, ReleaseGivesItAwayOpen)
{
    Fd fd{open_null()};
    const int number = fd.release();
    EXPECT_FALSE(fd.valid());
    EXPECT_TRUE(is_open(number));
    ::close(number);
}

TEST(Fd, ResetToItselfKeepsItOpen)
{
    Fd fd{open_null()};
    fd.reset(fd.get());
    EXPECT_TRUE(is_open(fd.get()));
}

TEST(Fd, DefaultIsInvalidAndHarmless)
{
    Fd fd;
    EXPECT_FALSE(fd);
    fd.reset();
    EXPECT_EQ(fd.release(), -1);
}

}   // namespace
}   // namespace linnet

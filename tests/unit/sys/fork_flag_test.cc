// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ForkFlag: a child of fork() knows that it is one.
#include "sys/fork_flag.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/test_log.h"

namespace linnet {
namespace {

TEST(ForkFlag, IsDownUntilRaised)
{
    ForkFlag flag;
    EXPECT_FALSE(flag.is_original());
    ASSERT_EQ(flag.raise(testing::test_log()), Status::kOk);
    EXPECT_TRUE(flag.is_original());
}

TEST(ForkFlag, IsDownInAChildAndStaysUpInTheParent)
{
    ForkFlag flag;
    ASSERT_EQ(flag.raise(testing::test_log()), Status::kOk);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        ::_exit(flag.is_original() ? 1 : 0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TRUE(flag.is_original());
}

}   // namespace
}   // namespace linnet

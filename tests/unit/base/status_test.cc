// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Status and Result: texts, and a value or the reason for none.
#include "base/status.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>

namespace linnet {
namespace {

// All numbers of the C interface; a new one belongs into this list and into its text.
constexpr int kKnown[] = {0, 1, -1, -2, -3, -4, -5, -6, -7, -10, -11, -12, -13, -14, -20, -21, -22, -23, -30, -31, -32, -33, -34};

TEST(Status, EachHasATextOfItsOwn)
{
    std::set<std::string> texts;
    for (const int n : kKnown) {
        const std::string text = status_text(static_cast<Status>(n));
        EXPECT_NE(text, "unknown status") << n;
        EXPECT_TRUE(texts.insert(text).second) << n << ' ' << text;
    }
    std::size_t with_text = 0;
    for (int n = -1000; n <= 1000; ++n) {
        with_text += status_text(static_cast<Status>(n)) != std::string{"unknown status"} ? 1 : 0;
    }
    EXPECT_EQ(with_text, std::size(kKnown)) << "a status that this test does not know";
}

TEST(Status, OnlyNegativeOnesAreFailures)
{
    EXPECT_FALSE(failed(Status::kOk));
    EXPECT_FALSE(failed(Status::kInProgress));
    for (const int n : kKnown) {
        EXPECT_EQ(failed(static_cast<Status>(n)), n < 0) << n;
    }
}

TEST(Result, HoldsAValueOrTheReasonForNone)
{
    const Result<int> good{7};
    EXPECT_TRUE(good.ok());
    EXPECT_TRUE(static_cast<bool>(good));
    EXPECT_EQ(good.status(), Status::kOk);
    EXPECT_EQ(*good, 7);
    const Result<int> bad{Status::kNotFound};
    EXPECT_FALSE(bad.ok());
    EXPECT_EQ(bad.status(), Status::kNotFound);
}

TEST(Result, SuccessWithoutAValueIsAnErrorOfOurs)
{
    const Result<int> r{Status::kOk};
    EXPECT_FALSE(r.ok());
    EXPECT_EQ(r.status(), Status::kInternal);
}

TEST(Result, ValueThatOnlyMovesIsMovedOut)
{
    Result<std::unique_ptr<int>> r{std::make_unique<int>(3)};
    ASSERT_TRUE(r.ok());
    EXPECT_EQ(**r, 3);
    const std::unique_ptr<int> out = std::move(r).value();
    EXPECT_EQ(*out, 3);
    EXPECT_EQ(r.value(), nullptr);
}

}   // namespace
}   // namespace linnet

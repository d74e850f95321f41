// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// main() of every C++ test program. Exit status 77, which Automake shows as SKIP, when every case was skipped.
#include <gtest/gtest.h>

#include "support/guards.h"
#include "support/pace.h"
#include "support/watchdog.h"

namespace {

constexpr std::chrono::seconds kCaseLimit{linnet::testing::kSanitized ? 300 : 60};

}   // namespace

int main(int argc, char** argv)
{
    ::testing::InitGoogleTest(&argc, argv);
    linnet::testing::Watchdog watchdog{kCaseLimit};
    ::testing::UnitTest& unit_test = *::testing::UnitTest::GetInstance();
    linnet::testing::install_guards(unit_test, argv[0], watchdog);
    const int status = RUN_ALL_TESTS();
    const bool only_skips = unit_test.successful_test_count() == 0 && unit_test.skipped_test_count() > 0;
    return status == 0 && only_skips ? 77 : status;
}

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Guards: listeners around every test case: descriptor leaks, log complaints, the watchdog, one result line per case.
#pragma once

#include <gtest/gtest.h>

#include "support/watchdog.h"

namespace linnet::testing {

// Adds the guards to GoogleTest's listeners, which own them. `watchdog` is borrowed and outlives the run.
void install_guards(::testing::UnitTest& unit_test, const char* program, Watchdog& watchdog);

}   // namespace linnet::testing

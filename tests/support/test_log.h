// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TestLog: the log that tests hand to the code; a case that logs an error or a warning it did not announce fails.
#pragma once

#include <string>
#include <vector>

#include "base/log.h"

namespace linnet::testing {

// One per program, for every object under test that wants a Log. Threads: any.
[[nodiscard]] Log& test_log();

// From here to the end of the case, error and warn lines that contain `fragment` are expected. When none comes, the case fails.
void expect_complaint(const std::string& fragment);
// The same, but none need come: where threads decide.
void allow_complaint(const std::string& fragment);

// All lines of the case so far, error to trace, in order.
[[nodiscard]] std::vector<std::string> logged_lines();

// For main(): starts a case; ends one and returns what was wrong with its log, one sentence each.
void begin_log_case();
[[nodiscard]] std::vector<std::string> end_log_case();

}   // namespace linnet::testing

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// errno as a Status, and the one log line that says what failed.
#pragma once

#include "base/log.h"
#include "base/status.h"

namespace linnet {

// The Status whose meaning is nearest to `error` (an errno value): what a caller can act upon, not what happened in detail.
[[nodiscard]] Status status_from_errno(int error) noexcept;

// "Connection refused"; never null. Any thread.
[[nodiscard]] const char* errno_text(int error) noexcept;

// Logs "<what>: <errno text>" as an error and returns status_from_errno(error). For the function that made the system call.
Status log_errno(const Log& log, const char* what, int error) noexcept;

}   // namespace linnet

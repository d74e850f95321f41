// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What a system call costs.
#pragma once

#include "base/clock.h"

namespace linnet {

// The way into the kernel and back, without what the kernel does: 0.1 to 0.3 us on most machines, above 1 us in some virtual machines and sandboxes. Measured
// by the first call, in some 5 to 50 us; the least of several, so a processor that was taken away adds nothing. Any thread.
[[nodiscard]] Nanos system_call_cost() noexcept;

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Seeds: every random choice of a test comes from one number that a failure prints.
#pragma once

#include <cstdint>

namespace linnet::testing {

// LINNET_TEST_SEED when set (decimal or 0x...), else `fallback`. When the case fails, the seed is printed with it.
[[nodiscard]] std::uint64_t test_seed(std::uint64_t fallback);

// For main(): forgets the seed at the start of a case, prints it when the case has used one and failed.
void forget_seed() noexcept;
void print_seed() noexcept;

}   // namespace linnet::testing

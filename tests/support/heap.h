// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// heap.cc gives a program operators new and delete of its own, which count and can fail. ThreadSanitizer has some too: programs with these have no build
// with it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace linnet::testing {

inline constexpr std::size_t kNever = SIZE_MAX;

// Allocations of this thread before one fails; that one sets it to kNever, so that no further does.
extern thread_local std::size_t t_allocations_left;

// Allocations of all threads since the program began, those that failed too.
[[nodiscard]] std::uint64_t allocations() noexcept;

}   // namespace linnet::testing

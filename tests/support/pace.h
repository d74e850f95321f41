// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// How often a seeded test repeats itself in this build: sanitizers make rounds slow, and find in one round what they would find in ten.
#pragma once

#include <algorithm>
#include <cstdint>

namespace linnet::testing {

#if defined(__has_feature)
#define LINNET_TEST_HAS_FEATURE(name) __has_feature(name)
#else
#define LINNET_TEST_HAS_FEATURE(name) 0
#endif

// A round under the sanitizer, in rounds without.
#if defined(__SANITIZE_THREAD__) || LINNET_TEST_HAS_FEATURE(thread_sanitizer)
inline constexpr std::uint64_t kSlowdown = 40;
#elif defined(__SANITIZE_ADDRESS__) || LINNET_TEST_HAS_FEATURE(address_sanitizer)
inline constexpr std::uint64_t kSlowdown = 5;
#else
inline constexpr std::uint64_t kSlowdown = 1;
#endif
inline constexpr bool kSanitized = kSlowdown != 1;

#undef LINNET_TEST_HAS_FEATURE

// For the default number of rounds of one thread, never for those that two threads need to meet: at least one.
[[nodiscard]] constexpr std::uint64_t paced(std::uint64_t rounds) { return std::max<std::uint64_t>(rounds / kSlowdown, 1); }

}   // namespace linnet::testing

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Seeds: see seed.h.
#include "support/seed.h"

#include <atomic>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>

namespace linnet::testing {
namespace {

std::atomic<bool> seed_used{false};
std::atomic<std::uint64_t> seed_value{0};

}   // namespace

std::uint64_t test_seed(std::uint64_t fallback)
{
    const char* text = std::getenv("LINNET_TEST_SEED");
    const std::uint64_t seed = text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 0);
    seed_value = seed;
    seed_used = true;
    return seed;
}

void forget_seed() noexcept
{
    seed_used = false;
}

void print_seed() noexcept
{
    if (seed_used) {
        std::printf("to repeat: LINNET_TEST_SEED=0x%" PRIx64 "\n", seed_value.load());
    }
}

}   // namespace linnet::testing

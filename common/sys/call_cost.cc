// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// system_call_cost(): getppid(2), which does next to nothing and is not kept by the C library.
#include "sys/call_cost.h"

#include <unistd.h>

#include <algorithm>

#include "sys/system_clock.h"

namespace linnet {
namespace {

constexpr int kRounds = 8;
constexpr int kCalls = 4;   // of a round: looking at the clock counts less

Nanos measure() noexcept
{
    Nanos least = Nanos::max();
    for (int round = 0; round < kRounds; ++round) {
        const TimePoint begun = monotonic_now();
        for (int call = 0; call < kCalls; ++call) {
            static_cast<void>(::getppid());
        }
        least = std::min(least, (monotonic_now() - begun) / kCalls);
    }
    return least;
}

}   // namespace

Nanos system_call_cost() noexcept
{
    static const Nanos cost = measure();
    return cost;
}

}   // namespace linnet

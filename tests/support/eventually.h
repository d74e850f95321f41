// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// eventually(): waits for what another thread will do. The bound is generous: it is only there so that a failure ends.
#pragma once

#include <chrono>
#include <thread>

#include "base/clock.h"
#include "sys/system_clock.h"

namespace linnet::testing {

template <class Condition>
bool eventually(Condition condition, Nanos bound = std::chrono::seconds{20})
{
    const TimePoint end = monotonic_now() + bound;
    while (!condition() && monotonic_now() < end) {
        std::this_thread::sleep_for(std::chrono::microseconds{100});
    }
    return condition();
}

}   // namespace linnet::testing

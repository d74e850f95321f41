// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Clock: time is injected, so that protocol code is tested without waiting.
#pragma once

#include <chrono>
#include <cstdint>

namespace linnet {

using Nanos = std::chrono::nanoseconds;
// Time since an arbitrary start that is the same for all threads of a process; never goes back.
using TimePoint = std::chrono::time_point<std::chrono::steady_clock, Nanos>;

// Owner: whoever made it; outlives all users. Threads: any. Blocking: never. Cannot fail.
class Clock {
public:
    virtual ~Clock() = default;
    [[nodiscard]] virtual TimePoint now() const noexcept = 0;
};

// A clock that moves only when told. Threads: one.
class ManualClock final : public Clock {
public:
    [[nodiscard]] TimePoint now() const noexcept override { return now_; }
    void advance(Nanos by) noexcept { now_ += by; }

private:
    TimePoint now_{};
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Samples: the least time of each size class over a sliding window, in a fixed amount of memory.
//
// Owner: whoever measures a path. Threads: one at a time. Blocking: never; allocates nothing. What it keeps is at least kWindow old before it is
// forgotten, and at most twice that.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "model/cost.h"

namespace linnet::model {

class Samples {
public:
    static constexpr Nanos kWindow = std::chrono::seconds{10};
    static constexpr unsigned kClasses = 24;   // octaves: up to 511 bytes, 1023, ... the last one has no end

    // A time of 0 is the clock's grain: taken as 1 ns.
    void add(std::uint64_t bytes, Nanos took, TimePoint now) noexcept;
    void forget() noexcept { window_ = {}; }
    [[nodiscard]] bool empty() const noexcept;

    // What they say, with `expected` for what they do not say; nothing while there are none.
    [[nodiscard]] std::optional<Line> line(const Line& expected) const noexcept;

private:
    struct Least {
        float bytes{0};   // 0 with ns 0: none
        float ns{0};
    };
    using Window = std::array<Least, kClasses>;

    void slide(TimePoint now) noexcept;

    std::array<Window, 2> window_{};   // the present one, the one before
    TimePoint began_{};                // of the present one
};

}   // namespace linnet::model

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Chance: by which those who stood in each other's way do not meet again at the same moment.
//
// What it is     SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the seed says all.
// Threads        One at a time.
// Blocking       Never; allocates nothing; cannot fail.
#pragma once

#include <cstdint>

#include "base/clock.h"

namespace linnet::model {

class Chance {
public:
    explicit Chance(std::uint64_t seed) noexcept : state_{seed} {}

    // At least 0, at most `most`.
    [[nodiscard]] Nanos up_to(Nanos most) noexcept { return Nanos{static_cast<std::int64_t>(next() % (static_cast<std::uint64_t>(most.count()) + 1))}; }

private:
    [[nodiscard]] std::uint64_t next() noexcept
    {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    std::uint64_t state_;
};

}   // namespace linnet::model

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Reading: whether a long message had better be read out of its sender's memory, by one copy that the kernel makes, or be copied through shared memory by
// both sides. It depends on the processor and the kernel, by factors, so it is measured.
#pragma once

#include <cstddef>

#include "base/clock.h"

namespace linnet::shm {

// What the two ways take for so many bytes that are in the cache, at their best. read: zero when memory cannot be read so here.
inline constexpr std::size_t kReadingSample = 64 * 1024;
struct ReadingCost {
    Nanos read{0};
    Nanos copy{0};   // one of the two copies
};

// Both sides copy at a time, so a copied message takes about as long as one copy; but it takes two processors that long. Reading pays unless even both together
// take less.
[[nodiscard]] constexpr bool reading_pays(const ReadingCost& cost) noexcept { return cost.read > Nanos{0} && cost.read <= 2 * cost.copy; }

// Some 50 to 100 us of the calling thread, with memory of this process. Throws std::bad_alloc.
[[nodiscard]] ReadingCost measure_reading();

}   // namespace linnet::shm

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Reading: whether a long message had better be read out of its sender's memory, by one copy that the kernel makes, or be copied through shared memory by
// both sides. It depends on the processor and the kernel, by factors, so it is measured.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

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

// Which it is, in use. What measure_reading() says of a copy is its best, with both ends in one processor's cache; between two processors the lines of a
// ring have to cross, which some do as fast and others in four times that. So who writes long messages into rings tells what it took, and that is believed
// instead. What they copy is fetched into their cache first, as it was for the read that is compared: the ring is asked for, not the user's memory.
//
// Threads: any. The words are relaxed: they are hints of which each is right by itself; what two threads lose to each other, or decide on too few samples, is
// decided again.
class ReadingChoice {
public:
    // Copies of at least so much say what copying takes.
    static constexpr std::size_t kSampleMin = 8 * 1024;

    // Before anybody uses it. Where reading pays already there is nothing to learn: a ring is never faster than the cache.
    void begin(const ReadingCost& cost) noexcept;
    [[nodiscard]] bool pays() const noexcept { return pays_.load(std::memory_order_relaxed); }
    // Shall this copy be a sample? A row of them is, then many are not.
    [[nodiscard]] bool wants_sample() noexcept;
    // So many bytes were written into a ring. A few of these decide together, by the best: what a processor that was taken away adds says nothing.
    void wrote(std::size_t bytes, Nanos took) noexcept;
    // A message will be read, because that pays. Nobody writes then, so after many the question is asked again.
    void chosen() noexcept;

private:
    static constexpr std::uint32_t kSamples = 32;   // more than the pages of a ring that is new
    static constexpr std::uint32_t kAskAgain = 4096;
    static constexpr std::uint32_t kPause = 1024;    // copies between two rows

    ReadingCost cost_;   // constant after begin(), as is
    bool learns_{false};
    std::atomic<bool> pays_{true};
    std::atomic<std::uint32_t> pause_{0};
    std::atomic<std::uint32_t> samples_{0};
    std::atomic<std::uint32_t> read_{0};
    std::atomic<Nanos::rep> least_{Nanos::max().count()};   // of these samples, for kReadingSample bytes
};

}   // namespace linnet::shm

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Reading: the measurement.
#include "transport/shm/reading.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sys/process.h"
#include "sys/remote_process.h"
#include "sys/system_clock.h"

namespace linnet::shm {

// The least of a few rounds: an interrupt, a page that is not there yet and a processor that is taken away only ever add time.
ReadingCost measure_reading()
{
    constexpr unsigned kRounds = 6;
    std::vector<std::byte> from(kReadingSample);
    std::vector<std::byte> to(kReadingSample);
    const RemoteProcess self{process_id()};
    ReadingCost least{Nanos::max(), Nanos::max()};
    for (unsigned round = 0; round < kRounds; ++round) {
        const TimePoint begun = monotonic_now();
        std::memcpy(to.data(), from.data(), kReadingSample);
        const TimePoint copied = monotonic_now();
        if (self.read(to.data(), reinterpret_cast<std::uintptr_t>(from.data()), kReadingSample).error != 0) {
            return {};
        }
        least.read = std::min(least.read, monotonic_now() - copied);
        least.copy = std::min(least.copy, copied - begun);
        from[round] = to[kReadingSample - 1 - round];   // both copies are of use, as far as a compiler can tell
    }
    return least;
}

void ReadingChoice::begin(const ReadingCost& cost) noexcept
{
    const bool pays = reading_pays(cost);
    cost_ = cost;
    learns_ = !pays && cost.read > Nanos{0};
    pays_.store(pays, std::memory_order_relaxed);
}

bool ReadingChoice::wants_sample() noexcept
{
    if (!learns_) {
        return false;
    }
    const std::uint32_t pause = pause_.load(std::memory_order_relaxed);
    if (pause != 0) {
        pause_.store(pause - 1, std::memory_order_relaxed);
    }
    return pause == 0;
}

void ReadingChoice::wrote(std::size_t bytes, Nanos took) noexcept
{
    const Nanos::rep sample = took.count() * static_cast<Nanos::rep>(kReadingSample) / static_cast<Nanos::rep>(bytes);
    const Nanos::rep least = std::min(least_.load(std::memory_order_relaxed), sample);
    const std::uint32_t samples = samples_.load(std::memory_order_relaxed) + 1;
    if (samples < kSamples) {
        least_.store(least, std::memory_order_relaxed);
        samples_.store(samples, std::memory_order_relaxed);
        return;
    }
    least_.store(Nanos::max().count(), std::memory_order_relaxed);
    samples_.store(0, std::memory_order_relaxed);
    pause_.store(kPause, std::memory_order_relaxed);
    pays_.store(reading_pays({cost_.read, Nanos{least}}), std::memory_order_relaxed);
}

void ReadingChoice::chosen() noexcept
{
    if (!learns_) {
        return;
    }
    const std::uint32_t read = read_.load(std::memory_order_relaxed) + 1;
    read_.store(read < kAskAgain ? read : 0, std::memory_order_relaxed);
    if (read == kAskAgain) {
        pause_.store(0, std::memory_order_relaxed);
        pays_.store(false, std::memory_order_relaxed);
    }
}

}   // namespace linnet::shm

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Counters: a block that one thread at a time writes and any thread reads; Stats: the blocks of a context.
//
// Owner: the context. Blocking: never. Cannot fail. A counter is never reset: readers take differences. Values of different counters
// are not of one instant.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "stats/counter_table.h"
#include "stats/histogram.h"

namespace linnet {

// Plain numbers, one per counter.
class CounterTotals {
public:
    [[nodiscard]] std::uint64_t& operator[](Counter id) noexcept { return values_[static_cast<std::size_t>(id)]; }
    [[nodiscard]] std::uint64_t operator[](Counter id) const noexcept { return values_[static_cast<std::size_t>(id)]; }

private:
    std::array<std::uint64_t, kCounterCount> values_{};
};

// Relaxed atomics: a reader sees each value whole and at most as old as the cache; nothing else is ordered by them.
class alignas(kCacheLine) Counters {
public:
    // For a block with a single writer at a time, whose writers hand it over by a lock, a role or a token: load, add, store, without a
    // locked instruction (about 1 ns against 5 to 20). Two writers at once would lose counts.
    void add(Counter id, std::uint64_t n = 1) noexcept
    {
        std::atomic<std::uint64_t>& v = values_[static_cast<std::size_t>(id)];
        v.store(v.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
    }
    // For a block that several threads write at once. Not to be mixed with add() on the same block.
    void add_shared(Counter id, std::uint64_t n = 1) noexcept
    {
        values_[static_cast<std::size_t>(id)].fetch_add(n, std::memory_order_relaxed);
    }
    // Any thread.
    [[nodiscard]] std::uint64_t get(Counter id) const noexcept
    {
        return values_[static_cast<std::size_t>(id)].load(std::memory_order_relaxed);
    }

private:
    std::array<std::atomic<std::uint64_t>, kCounterCount> values_{};
};

// Who writes a block.
enum class StatsRole : std::uint8_t {
    kPoller,        // the holder of the progress token: add()
    kEventThread,   // the event thread, outside the token: add()
    kAnyThread,     // everybody else, concurrently: add_shared()
    kCount
};

enum class HistogramId : std::uint8_t {
    kTxSize,          // bytes of each message sent
    kRxSize,          // bytes of each message received
    kUnexpectedWait,  // nanoseconds from the arrival of an unexpected message to its receive
    kCount
};

class Stats {
public:
    [[nodiscard]] Counters& block(StatsRole role) noexcept { return blocks_[static_cast<std::size_t>(role)]; }
    [[nodiscard]] Log2Histogram& histogram(HistogramId id) noexcept { return histograms_[static_cast<std::size_t>(id)]; }

    // Any thread: the sum over all blocks.
    [[nodiscard]] std::uint64_t total(Counter id) const noexcept
    {
        std::uint64_t sum = 0;
        for (const Counters& block : blocks_) {
            sum += block.get(id);
        }
        return sum;
    }
    [[nodiscard]] CounterTotals totals() const noexcept
    {
        CounterTotals totals;
        for (const CounterInfo& row : kCounterTable) {
            totals[row.id] = total(row.id);
        }
        return totals;
    }

private:
    std::array<Counters, static_cast<std::size_t>(StatsRole::kCount)> blocks_;
    std::array<Log2Histogram, static_cast<std::size_t>(HistogramId::kCount)> histograms_;
};

}   // namespace linnet

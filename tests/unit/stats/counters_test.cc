// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Counters and Stats: sums, one writer, many writers.
#include "stats/counters.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace linnet {
namespace {

TEST(CounterTable, NamesAreUniqueAndTextsAreSentences)
{
    std::set<std::string> names;
    for (const CounterInfo& row : kCounterTable) {
        EXPECT_TRUE(names.insert(row.name).second) << row.name << " twice";
        EXPECT_EQ(std::string{row.text}.back(), '.') << row.name;
        const bool bytes = std::string{row.name}.ends_with("_bytes");
        EXPECT_EQ(row.unit == CounterUnit::kBytes, bytes) << row.name;
    }
}

TEST(Counters, AddCountsOnlyItsOwnCounter)
{
    Counters block;
    block.add(Counter::kTxBytes, 100);
    block.add(Counter::kTxBytes, 23);
    block.add(Counter::kTxMessages);
    EXPECT_EQ(block.get(Counter::kTxBytes), 123u);
    EXPECT_EQ(block.get(Counter::kTxMessages), 1u);
    EXPECT_EQ(block.get(Counter::kRxBytes), 0u);
}

TEST(Counters, SharedAddLosesNothingBetweenThreads)
{
    Counters block;
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&block] {
            for (int i = 0; i < 20000; ++i) {
                block.add_shared(Counter::kCompletions);
            }
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    EXPECT_EQ(block.get(Counter::kCompletions), 80000u);
}

// One thread writes with add(), another reads meanwhile: every value it sees is one that was, and they only grow.
TEST(Counters, ReaderSeesAGrowingCount)
{
    constexpr std::uint64_t kSteps = 100000;
    Counters block;
    std::thread writer{[&block] {
        for (std::uint64_t i = 0; i < kSteps; ++i) {
            block.add(Counter::kRxMessages);
        }
    }};
    std::uint64_t last = 0, backwards = 0;
    while (last < kSteps) {
        const std::uint64_t now = block.get(Counter::kRxMessages);
        backwards += now < last ? 1 : 0;
        last = now;
    }
    writer.join();
    EXPECT_EQ(backwards, 0u);
    EXPECT_EQ(last, kSteps);
}

TEST(Stats, TotalsSumTheBlocksOfAllRoles)
{
    Stats stats;
    stats.block(StatsRole::kPoller).add(Counter::kRxBytes, 1000);
    stats.block(StatsRole::kEventThread).add(Counter::kRxBytes, 200);
    stats.block(StatsRole::kAnyThread).add_shared(Counter::kRxBytes, 30);
    stats.block(StatsRole::kAnyThread).add_shared(Counter::kEagerSent, 4);
    EXPECT_EQ(stats.total(Counter::kRxBytes), 1230u);
    const CounterTotals totals = stats.totals();
    EXPECT_EQ(totals[Counter::kRxBytes], 1230u);
    EXPECT_EQ(totals[Counter::kEagerSent], 4u);
    EXPECT_EQ(totals[Counter::kTxBytes], 0u);
}

TEST(Stats, BlocksDoNotShareCacheLines)
{
    Stats stats;
    const auto a = reinterpret_cast<std::uintptr_t>(&stats.block(StatsRole::kPoller));
    const auto b = reinterpret_cast<std::uintptr_t>(&stats.block(StatsRole::kEventThread));
    EXPECT_EQ(a % kCacheLine, 0u);
    EXPECT_EQ(b % kCacheLine, 0u);
    EXPECT_EQ(sizeof(Counters) % kCacheLine, 0u);
}

}   // namespace
}   // namespace linnet

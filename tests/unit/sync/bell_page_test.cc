// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// BellPage: bits arrive once, and no wake-up is lost.
#include "sync/bell_page.h"

#include <gtest/gtest.h>

#include <memory>
#include <semaphore>
#include <thread>
#include <vector>

namespace linnet {
namespace {

TEST(BellPage, EveryBellThatWasSetIsTakenOnce)
{
    const auto page = std::make_unique<BellPage>();
    for (const std::uint32_t bell : {0u, 63u, 64u, 4095u, 63u}) {
        page->set(bell);
    }
    std::vector<std::uint32_t> seen;
    EXPECT_EQ(page->take(BellPage::kBells, [&](std::uint32_t b) { seen.push_back(b); }), 4u);
    EXPECT_EQ(seen, (std::vector<std::uint32_t>{0, 63, 64, 4095}));
    EXPECT_EQ(page->take(BellPage::kBells, [](std::uint32_t) { FAIL(); }), 0u);
}

TEST(BellPage, OnlyASleeperMustBeWokenAndOnlyOnce)
{
    const auto page = std::make_unique<BellPage>();
    page->set(3);
    EXPECT_FALSE(page->must_wake());
    page->set_asleep(true);
    EXPECT_TRUE(page->any(64));
    EXPECT_TRUE(page->must_wake());
    EXPECT_FALSE(page->must_wake());
}

// The protocol of the header comment, between two threads: work is a counter, the doorbell a semaphore. A lost wake-up would hang here.
TEST(BellPage, NoWakeUpIsLost)
{
    const auto page = std::make_unique<BellPage>();
    std::counting_semaphore<> doorbell{0};
    std::atomic<unsigned> work{0};
    constexpr unsigned kCount = 20000;
    std::thread worker{[&] {
        for (unsigned i = 0; i < kCount; ++i) {
            work.fetch_add(1);
            page->set(7);
            if (page->must_wake()) {
                doorbell.release();
            }
        }
    }};
    unsigned seen = 0;
    while (seen < kCount) {
        page->take(64, [&](std::uint32_t) { seen = work.load(); });
        page->set_asleep(true);
        if (seen < kCount && !page->any(64)) {
            doorbell.acquire();
        }
        page->set_asleep(false);
    }
    worker.join();
    EXPECT_EQ(seen, kCount);
}

}   // namespace
}   // namespace linnet

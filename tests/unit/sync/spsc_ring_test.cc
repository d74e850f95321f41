// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SpscRing: bounds, order, wrapping indices, and two threads.
#include "sync/spsc_ring.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <thread>

namespace linnet {
namespace {

TEST(SpscRing, EmptyPopChangesNothing)
{
    SpscRing<int, 4> ring;
    int item = 42;
    EXPECT_FALSE(ring.try_pop(item));
    EXPECT_EQ(item, 42);
    EXPECT_TRUE(ring.empty());
}

TEST(SpscRing, TakesExactlyItsCapacity)
{
    SpscRing<int, 4> ring;
    for (int i = 0; i < 4; ++i) {
        ASSERT_TRUE(ring.try_push(i));
        ASSERT_EQ(ring.size(), static_cast<std::size_t>(i + 1));
    }
    EXPECT_FALSE(ring.try_push(99));
    int item = -1;
    ASSERT_TRUE(ring.try_pop(item));
    EXPECT_EQ(item, 0);
    EXPECT_TRUE(ring.try_push(4));
    for (int i = 1; i <= 4; ++i) {
        ASSERT_TRUE(ring.try_pop(item));
        EXPECT_EQ(item, i);
    }
    EXPECT_FALSE(ring.try_pop(item));
}

TEST(SpscRing, CapacityOneAlternates)
{
    SpscRing<int, 1> ring;
    int item = 0;
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(ring.try_push(i));
        ASSERT_FALSE(ring.try_push(i));
        ASSERT_TRUE(ring.try_pop(item));
        ASSERT_EQ(item, i);
    }
}

// The 32-bit indices wrap between the second and the third element; full and empty must still be told apart.
TEST(SpscRing, IndicesWrapWithoutLosingCount)
{
    SpscRing<std::uint32_t, 8> ring{UINT32_MAX - 1};
    for (std::uint32_t lap = 0; lap < 3; ++lap) {
        for (std::uint32_t i = 0; i < 8; ++i) {
            ASSERT_TRUE(ring.try_push(lap * 8 + i));
        }
        ASSERT_EQ(ring.size(), 8u);
        ASSERT_FALSE(ring.try_push(0));
        for (std::uint32_t i = 0; i < 8; ++i) {
            std::uint32_t item = 0;
            ASSERT_TRUE(ring.try_pop(item));
            ASSERT_EQ(item, lap * 8 + i);
        }
        ASSERT_TRUE(ring.empty());
    }
}

// An element of two words, so that a slot read too early or overwritten too soon shows; the indices wrap on the way.
TEST(SpscRing, TwoThreadsPassEveryElementWhole)
{
    struct Pair {
        std::uint64_t a, b;
    };
    constexpr std::uint64_t kItems = 200000;
    SpscRing<Pair, 16> ring{UINT32_MAX - 1000};
    std::thread producer{[&ring] {
        for (std::uint64_t i = 0; i < kItems; ++i) {
            while (!ring.try_push({i, ~i})) {
                std::this_thread::yield();
            }
        }
    }};
    std::uint64_t wrong = 0;
    for (std::uint64_t i = 0; i < kItems; ++i) {
        Pair item{};
        while (!ring.try_pop(item)) {
            std::this_thread::yield();
        }
        wrong += item.a == i && item.b == ~i ? 0 : 1;
    }
    producer.join();
    EXPECT_EQ(wrong, 0u);
    EXPECT_TRUE(ring.empty());
}

TEST(SpscRing, EndsLiveOnDifferentCacheLines) { EXPECT_GE(sizeof(SpscRing<int, 1>), 3 * kCacheLine); }

}   // namespace
}   // namespace linnet

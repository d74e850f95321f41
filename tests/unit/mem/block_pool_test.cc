// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// BlockPool: classes, alignment, reuse, budget.
#include "mem/block_pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>
#include <set>
#include <vector>

#include "support/seed.h"

namespace linnet {
namespace {

TEST(BlockPool, SizesRoundUpToPowersOfTwoAndRoomForHeads)
{
    constexpr std::size_t kHeadroom = BlockPool::kHeadroom;
    EXPECT_EQ(BlockPool::block_size(0), 64u);
    EXPECT_EQ(BlockPool::block_size(1), 64u);
    EXPECT_EQ(BlockPool::block_size(64), 64u);
    EXPECT_EQ(BlockPool::block_size(65), 128u);
    EXPECT_EQ(BlockPool::block_size(1024), 1024u);
    EXPECT_EQ(BlockPool::block_size(1025), 2048 + kHeadroom);
    EXPECT_EQ(BlockPool::block_size(2048 + kHeadroom), 2048 + kHeadroom);
    EXPECT_EQ(BlockPool::block_size(2049 + kHeadroom), 4096 + kHeadroom);
    EXPECT_EQ(BlockPool::block_size(4096 + kHeadroom), 4096 + kHeadroom);
    EXPECT_EQ(BlockPool::block_size(4097 + kHeadroom), 8192 + kHeadroom);
    EXPECT_EQ(BlockPool::block_size(65536), 65536 + kHeadroom);
    EXPECT_EQ(BlockPool::block_size(65537), 65537u);   // the allocator's, exactly as asked
}

TEST(BlockPool, BlocksAreAlignedAndApart)
{
    BlockPool pool;
    struct Held {
        std::byte* at;
        std::size_t bytes;
        int fill;
    };
    std::vector<Held> held;
    for (const std::size_t bytes : {1u, 64u, 65u, 1000u, 1000u, 2304u, 2304u, 4352u, 4352u, 4352u, 16384u, 40000u, 65536u, 70000u}) {
        std::byte* const at = pool.acquire(bytes);
        ASSERT_NE(at, nullptr);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(at) % 64, 0u) << bytes;
        const int fill = static_cast<int>(held.size()) + 1;
        std::memset(at, fill, bytes);
        held.push_back({at, bytes, fill});
    }
    for (const Held& h : held) {
        for (std::size_t i = 0; i < h.bytes; ++i) {
            ASSERT_EQ(std::to_integer<int>(h.at[i]), h.fill) << "block of " << h.bytes << " at " << i;
        }
        pool.release(h.at, h.bytes);
    }
    EXPECT_EQ(pool.in_use_bytes(), 0u);
}

TEST(BlockPool, SteadyTrafficDoesNotGrow)
{
    BlockPool pool;
    pool.release(pool.acquire(2000), 2000);
    const std::uint64_t growths = pool.growths();
    const std::size_t held = pool.held_bytes();
    EXPECT_EQ(growths, 1u);
    for (int i = 0; i < 1000; ++i) {
        std::byte* const a = pool.acquire(2000);
        std::byte* const b = pool.acquire(1100);   // the same class
        pool.release(a, 2000);
        pool.release(b, 1100);
    }
    EXPECT_EQ(pool.growths(), growths);
    EXPECT_EQ(pool.held_bytes(), held);
}

TEST(BlockPool, LargeBlocksGoBackToTheAllocator)
{
    BlockPool pool;
    std::byte* const block = pool.acquire(1 << 20);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(pool.held_bytes(), std::size_t{1} << 20);
    EXPECT_EQ(pool.in_use_bytes(), std::size_t{1} << 20);
    pool.release(block, 1 << 20);
    EXPECT_EQ(pool.held_bytes(), 0u);
}

TEST(BlockPool, BudgetIsNeverExceeded)
{
    BlockPool pool{10000};
    std::vector<std::byte*> blocks;
    while (std::byte* const block = pool.acquire(1024)) {
        blocks.push_back(block);
    }
    EXPECT_EQ(blocks.size(), 9u);   // nine whole blocks fit
    EXPECT_EQ(pool.refusals(), 1u);
    EXPECT_LE(pool.held_bytes(), 10000u);
    EXPECT_EQ(pool.acquire(100000), nullptr);
    EXPECT_EQ(pool.refusals(), 2u);
    pool.release(blocks.back(), 1024);
    EXPECT_EQ(pool.acquire(1024), blocks.back());   // what came back serves again
    for (std::byte* block : blocks) {
        pool.release(block, 1024);
    }
}

TEST(BlockPool, ZeroBudgetRefusesEverything)
{
    BlockPool pool{0};
    EXPECT_EQ(pool.acquire(1), nullptr);
    EXPECT_EQ(pool.acquire(1 << 20), nullptr);
    EXPECT_EQ(pool.held_bytes(), 0u);
}

TEST(BlockPool, ReleaseOfNullIsIgnored)
{
    BlockPool pool;
    pool.release(nullptr, 100);
    EXPECT_EQ(pool.in_use_bytes(), 0u);
}

TEST(BlockPool, RandomTrafficKeepsItsAccounts)
{
    std::mt19937_64 random{testing::test_seed(0x1b10c)};
    BlockPool pool{1 << 20};
    std::vector<std::pair<std::byte*, std::size_t>> held;
    std::set<std::byte*> out;
    std::size_t in_use = 0;
    for (int step = 0; step < 20000; ++step) {
        if (held.empty() || random() % 2 == 0) {
            const std::size_t bytes = 1 + random() % 100000;
            std::byte* const block = pool.acquire(bytes);
            if (block != nullptr) {
                ASSERT_TRUE(out.insert(block).second) << "handed out twice";
                block[0] = block[bytes - 1] = std::byte{1};
                held.emplace_back(block, bytes);
                in_use += BlockPool::block_size(bytes);
            }
        } else {
            std::swap(held[random() % held.size()], held.back());
            pool.release(held.back().first, held.back().second);
            in_use -= BlockPool::block_size(held.back().second);
            out.erase(held.back().first);
            held.pop_back();
        }
        ASSERT_EQ(pool.in_use_bytes(), in_use);
        ASSERT_LE(pool.held_bytes(), pool.budget_bytes());
        ASSERT_GE(pool.held_bytes(), in_use);
    }
    for (const auto& [block, bytes] : held) {
        pool.release(block, bytes);
    }
    EXPECT_EQ(pool.in_use_bytes(), 0u);
}

}   // namespace
}   // namespace linnet

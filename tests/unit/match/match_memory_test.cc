// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What a match space allocates, and that it stays correct when it cannot.
//
// This binary replaces the nothrow operator new[], the only one the tables use, to count allocations and to refuse them.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <new>

#include "match/match_space.h"

namespace {
struct Heap {
    std::size_t allocations{0};
    std::size_t live_bytes{0};
    bool refuse{false};
};
Heap heap;   // NOLINT: operator new has no other way to reach it
constexpr std::size_t kHeader = alignof(std::max_align_t);
}   // namespace

void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept
{
    if (heap.refuse) {
        return nullptr;
    }
    auto* p = static_cast<std::byte*>(std::malloc(bytes + kHeader));
    if (p == nullptr) {
        return nullptr;
    }
    *reinterpret_cast<std::size_t*>(p) = bytes;
    ++heap.allocations;
    heap.live_bytes += bytes;
    return p + kHeader;
}
void operator delete[](void* p) noexcept
{
    if (p != nullptr) {
        std::byte* block = static_cast<std::byte*>(p) - kHeader;
        heap.live_bytes -= *reinterpret_cast<std::size_t*>(block);
        std::free(block);
    }
}
void operator delete[](void* p, std::size_t) noexcept { operator delete[](p); }
void* operator new[](std::size_t bytes)
{
    void* p = operator new[](bytes, std::nothrow);
    return p != nullptr ? p : throw std::bad_alloc{};
}

namespace linnet {
namespace {

constexpr std::uint64_t kAnyTag = 0x7fffffff;

struct Receive : PostedReceive {
    explicit Receive(MatchSpec s) { spec = s; }
};
struct Message : UnexpectedMessage {
    Message(PeerId from, std::uint64_t b) { source = from, bits = b; }
};

class MatchMemory : public ::testing::Test {
protected:
    MatchMemory() { heap = {}; }
    ~MatchMemory() override { heap.refuse = false; }

    // Queues `n` receives and `n` messages that match none of them.
    void fill(std::uint32_t n)
    {
        for (std::uint32_t i = 0; i < n; ++i) {
            const PeerId peer{i % 100};
            const MatchSpec kinds[] = {{peer, i, 0}, {kAnySource, i, 0}, {peer, i, kAnyTag}, {kAnySource, i, 0x3}};
            ASSERT_EQ(space_.post(receives_.emplace_back(kinds[i % 4])), nullptr);
        }
        for (std::uint32_t i = 0; i < n; ++i) {
            space_.add_unexpected(messages_.emplace_back(PeerId{i % 100}, 1ULL << 40 | i));
        }
    }

    std::deque<Receive> receives_;
    std::deque<Message> messages_;
    MatchSpace space_{kAnyTag};
};

TEST_F(MatchMemory, ShortQueuesAllocateNothing)
{
    fill(8);
    for (Message& m : messages_) {
        Receive any{{kAnySource, 1ULL << 40, kAnyTag}};
        EXPECT_EQ(space_.post(any), &m);
    }
    EXPECT_EQ(heap.allocations, 0U);
}

TEST_F(MatchMemory, SteadyLongQueuesAllocateNothing)
{
    fill(1000);
    Receive any{{kAnySource, 1ULL << 40, kAnyTag}};
    const auto cycle = [&](std::size_t i) {
        PostedReceive* r = space_.arrive(PeerId{static_cast<std::uint32_t>(i % 100)}, i % 1000);
        ASSERT_NE(r, nullptr);
        ASSERT_EQ(space_.post(*r), nullptr);
        UnexpectedMessage* m = space_.post(any);
        ASSERT_NE(m, nullptr);
        space_.add_unexpected(*m);
    };
    for (std::size_t i = 0; i < 4; ++i) {   // the first receive of each kind builds the table that it needs
        cycle(i);
    }
    const std::size_t before = heap.allocations;
    for (std::size_t i = 0; i < 10000; ++i) {
        cycle(i);
    }
    EXPECT_EQ(heap.allocations, before);
}

TEST_F(MatchMemory, TablesShrinkAsABurstDrainsAndEndWithIt)
{
    fill(20000);
    const std::size_t at_peak = heap.live_bytes;
    for (std::size_t i = 0; i < 19900; ++i) {
        ASSERT_TRUE(space_.cancel(receives_[i]));
        space_.claim(messages_[i]);
    }
    EXPECT_LT(heap.live_bytes, at_peak / 50);
    for (std::size_t i = 19900; i < 20000; ++i) {
        ASSERT_TRUE(space_.cancel(receives_[i]));
        space_.claim(messages_[i]);
    }
    EXPECT_EQ(heap.live_bytes, 0U);
}

TEST_F(MatchMemory, DetachingEverythingReturnsTheTables)
{
    fill(1000);
    EXPECT_GT(heap.live_bytes, 0U);
    while (space_.detach_posted().pop() != nullptr || space_.detach_unexpected().pop() != nullptr) {
    }
    EXPECT_EQ(heap.live_bytes, 0U);
}

TEST_F(MatchMemory, WithoutMemoryEverythingStillMatchesInOrder)
{
    heap.refuse = true;
    fill(200);
    EXPECT_EQ(heap.allocations, 0U);
    for (std::size_t i = 0; i < 200; i += 2) {   // odd ones stay: leaving works everywhere in the queue
        ASSERT_TRUE(space_.cancel(receives_[i]));
        Receive exact{{messages_[i].source, messages_[i].bits, 0}};
        ASSERT_EQ(space_.post(exact), &messages_[i]);
    }
    Receive any{{kAnySource, 1ULL << 40, kAnyTag}};
    for (std::size_t i = 1; i < 200; i += 2) {
        ASSERT_EQ(space_.post(any), &messages_[i]);
        ASSERT_TRUE(space_.cancel(receives_[i]));
    }
    EXPECT_EQ(space_.posted() + space_.unexpected(), 0U);
}

TEST_F(MatchMemory, ReceivesFromBeforeDuringAndAfterAShortageMatchInPostingOrder)
{
    std::deque<Receive> others;   // that make it a long queue: of few specs it would be a short one
    for (std::uint64_t bits = 1000; bits < 1009; ++bits) {
        ASSERT_EQ(space_.post(others.emplace_back(MatchSpec{PeerId{2}, bits, 0})), nullptr);
    }
    for (int i = 0; i < 300; ++i) {
        heap.refuse = i >= 100 && i < 200;
        const MatchSpec kinds[] = {{PeerId{1}, 7, 0}, {kAnySource, 7, 0}, {PeerId{1}, 0, kAnyTag}, {kAnySource, 0, kAnyTag}};
        ASSERT_EQ(space_.post(receives_.emplace_back(kinds[static_cast<std::size_t>(i) / 60 % 4])), nullptr);
    }
    for (std::size_t i = 5; i < 300; i += 10) {
        ASSERT_TRUE(space_.cancel(receives_[i]));
    }
    for (std::size_t i = 0; i < 300; ++i) {
        if (i % 10 != 5) {
            ASSERT_EQ(space_.arrive(PeerId{1}, 7), &receives_[i]) << i;
        }
    }
}

TEST_F(MatchMemory, TableStoppedForWantOfMemoryGrowsOnWhenThereIsSome)
{
    heap.refuse = true;
    fill(500);
    Receive last{{kAnySource, messages_.back().bits, 0}};
    EXPECT_EQ(space_.post(last), &messages_.back());
    heap.refuse = false;
    Receive second_last{{kAnySource, messages_[498].bits, 0}};
    EXPECT_EQ(space_.post(second_last), &messages_[498]);   // a walk over all, which makes the table
    const std::uint64_t before = space_.stats().examined;
    Receive third_last{{kAnySource, messages_[497].bits, 0}};
    EXPECT_EQ(space_.post(third_last), &messages_[497]);
    EXPECT_LT(space_.stats().examined - before, 10U) << "still searched linearly";
}

}   // namespace
}   // namespace linnet

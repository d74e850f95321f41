// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ClaimQueue: order, several claims, tickets, wrap-around, and many threads on few slots.
#include "sync/claim_queue.h"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

namespace linnet {
namespace {

struct Item {
    int value{0};
    std::uint32_t claims{1};
    ClaimTicket ticket;
    std::array<std::atomic<std::uint32_t>, 8> taken{};
    std::atomic<std::uint32_t> done{0};
};
using Queue = ClaimQueue<Item>;

bool push(Queue& queue, Item& item, std::uint8_t flags = 0) { return queue.push(item, item.claims, flags, item.ticket); }

TEST(ClaimQueue, EmptyQueueGivesNothing)
{
    Queue queue;
    Queue::Claim claim;
    EXPECT_TRUE(queue.empty());
    EXPECT_FALSE(queue.claim(0, claim));
    EXPECT_FALSE(queue.claim_from({}, claim));
    EXPECT_EQ(queue.withdraw({}), 0u);
}

TEST(ClaimQueue, OneThreadGetsItsOffersInOrder)
{
    Queue queue;
    std::array<Item, 10> items;
    for (int lap = 0; lap < 30; ++lap) {   // several times round the slots
        for (Item& item : items) {
            ASSERT_TRUE(push(queue, item));
        }
        for (Item& item : items) {
            Queue::Claim claim;
            ASSERT_TRUE(queue.claim(0, claim));
            ASSERT_EQ(claim.element, &item);
            ASSERT_EQ(claim.left, 0u);
        }
        ASSERT_TRUE(queue.empty());
    }
}

TEST(ClaimQueue, EachClaimOfAnOfferHasItsNumberAndTheNextOfferWaits)
{
    Queue queue;
    Item first, second;
    first.claims = 3;
    ASSERT_TRUE(push(queue, first) && push(queue, second));
    Queue::Claim claim;
    for (std::uint32_t left : {2u, 1u, 0u}) {
        ASSERT_TRUE(queue.claim(0, claim));
        EXPECT_EQ(claim.element, &first);
        EXPECT_EQ(claim.left, left);
    }
    ASSERT_TRUE(queue.claim(0, claim));
    EXPECT_EQ(claim.element, &second);
    EXPECT_TRUE(queue.empty());
}

TEST(ClaimQueue, SearchForFlagsPassesOverOtherOffers)
{
    Queue queue;
    Item plain, flagged;
    ASSERT_TRUE(push(queue, plain, 0) && push(queue, flagged, 1));
    Queue::Claim claim;
    ASSERT_TRUE(queue.claim(1, claim));
    EXPECT_EQ(claim.element, &flagged);
    EXPECT_FALSE(queue.claim(1, claim));
    EXPECT_FALSE(queue.empty());
    ASSERT_TRUE(queue.claim(0, claim));
    EXPECT_EQ(claim.element, &plain);
}

TEST(ClaimQueue, FullQueueRefusesAndHasRoomAgainAfterOneClaim)
{
    Queue queue;
    std::array<Item, Queue::kSlots> items;
    for (Item& item : items) {
        ASSERT_TRUE(push(queue, item));
    }
    Item late;
    EXPECT_FALSE(push(queue, late));
    Queue::Claim claim;
    ASSERT_TRUE(queue.claim(0, claim));
    EXPECT_TRUE(push(queue, late));
}

TEST(ClaimQueue, OffererClaimsAndWithdrawsByTicket)
{
    Queue queue;
    Item other, mine;
    mine.claims = 5;
    ASSERT_TRUE(push(queue, other) && push(queue, mine));
    Queue::Claim claim;
    ASSERT_TRUE(queue.claim_from(mine.ticket, claim));
    EXPECT_EQ(claim.element, &mine);
    EXPECT_EQ(claim.left, 4u);
    EXPECT_EQ(queue.withdraw(mine.ticket), 4u);
    EXPECT_FALSE(queue.claim_from(mine.ticket, claim));
    EXPECT_EQ(queue.withdraw(mine.ticket), 0u);
    ASSERT_TRUE(queue.claim(0, claim));
    EXPECT_EQ(claim.element, &other);
    EXPECT_TRUE(queue.empty());
}

TEST(ClaimQueue, OldTicketDoesNotReachALaterOfferInItsSlot)
{
    Queue queue;
    Item old, young;
    ASSERT_TRUE(push(queue, old));
    const ClaimTicket ticket = old.ticket;
    EXPECT_EQ(queue.withdraw(ticket), 1u);
    for (unsigned i = 0; i < Queue::kSlots; ++i) {   // once round
        ASSERT_TRUE(push(queue, young));
        ASSERT_EQ(queue.withdraw(young.ticket), 1u);
    }
    ASSERT_EQ(young.ticket.slot, ticket.slot);
    ASSERT_TRUE(push(queue, young));
    EXPECT_EQ(queue.withdraw(ticket), 0u);
    EXPECT_EQ(queue.withdraw(young.ticket), 1u);
}

TEST(ClaimQueue, GenerationsWrapAndNoneIsZero)
{
    Queue queue{UINT32_MAX - 1};
    Item item;
    for (unsigned i = 0; i < 4 * Queue::kSlots; ++i) {
        item.claims = 2;
        ASSERT_TRUE(push(queue, item));
        EXPECT_NE(item.ticket.generation, 0u);
        Queue::Claim claim;
        ASSERT_TRUE(queue.claim(0, claim));
        ASSERT_TRUE(queue.claim_from(item.ticket, claim));
        ASSERT_FALSE(queue.claim_from(item.ticket, claim));
    }
    EXPECT_TRUE(queue.empty());
}

// Every thread offers, claims from anybody, claims its own by ticket, and withdraws; items are freed and made anew, so that a claimer who were to
// touch one that is not his would be seen. Generations wrap on the way.
TEST(ClaimQueue, ManyThreadsGetEachClaimExactlyOnce)
{
    constexpr unsigned kThreads = 4, kOffers = 20000;
    Queue queue{UINT32_MAX - 100};
    std::atomic<std::uint64_t> offered{0}, given{0}, twice{0};
    // Reads what the offerer wrote without further ado: a data race if a claim were not ordered after its push. The last touch is in `done`.
    const auto take = [&](const Queue::Claim& claim) {
        EXPECT_LT(claim.left, claim.element->claims);
        twice += claim.element->taken[claim.left].exchange(1, std::memory_order_relaxed);
        ++given;
        claim.element->done.fetch_add(1, std::memory_order_release);
    };
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            Queue::Claim claim;
            for (unsigned i = 0; i < kOffers; ++i) {
                const auto item = std::make_unique<Item>();
                item->claims = 1 + (i + t) % 4;
                const std::uint32_t claims = item->claims;
                while (!push(queue, *item)) {
                    std::this_thread::yield();
                }
                offered += claims;
                if (i % 3 == 0 && queue.claim(0, claim)) {
                    take(claim);
                }
                while (queue.claim_from(item->ticket, claim)) {
                    take(claim);
                }
                while (item->done.load(std::memory_order_acquire) != claims) {   // others are not done with it
                    std::this_thread::yield();
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(given.load(), offered.load());
    EXPECT_EQ(twice.load(), 0u);
    EXPECT_TRUE(queue.empty());
}

TEST(ClaimQueue, PushersAndClaimersLiveOnDifferentCacheLines) { EXPECT_GE(sizeof(Queue), 2 * kCacheLine + Queue::kSlots * 16); }

}   // namespace
}   // namespace linnet

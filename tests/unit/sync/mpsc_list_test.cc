// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// MpscList: order, the "was empty" answer, and that nothing is lost when several threads push.
#include "sync/mpsc_list.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace linnet {
namespace {

struct Item : MpscLink {
    int producer{0};
    int number{0};
};

std::vector<int> numbers(Item* first)
{
    std::vector<int> out;
    for (Item* i = first; i != nullptr; i = MpscList<Item>::next(*i)) {
        out.push_back(i->number);
    }
    return out;
}

TEST(MpscList, EmptyGivesNothing)
{
    MpscList<Item> list;
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.take_all(), nullptr);
}

TEST(MpscList, PushTellsWhetherItWasTheFirst)
{
    MpscList<Item> list;
    Item a, b, c;
    EXPECT_TRUE(list.push(a));
    EXPECT_FALSE(list.push(b));
    EXPECT_FALSE(list.empty());
    ASSERT_EQ(list.take_all(), &a);
    EXPECT_TRUE(list.empty());
    EXPECT_TRUE(list.push(c));
    EXPECT_EQ(list.take_all(), &c);
}

TEST(MpscList, TakesInOrderOfPushes)
{
    MpscList<Item> list;
    Item items[4];
    for (int i = 0; i < 4; ++i) {
        items[i].number = i;
        list.push(items[i]);
    }
    EXPECT_EQ(numbers(list.take_all()), (std::vector<int>{0, 1, 2, 3}));
    EXPECT_EQ(list.take_all(), nullptr);
}

TEST(MpscList, ElementMayBePushedAgainOnceTaken)
{
    MpscList<Item> list;
    Item a, b;
    a.number = 1;
    b.number = 2;
    list.push(a);
    list.push(b);
    Item* taken = list.take_all();
    Item* second = MpscList<Item>::next(*taken);
    EXPECT_TRUE(list.push(*second));
    EXPECT_FALSE(list.push(*taken));
    EXPECT_EQ(numbers(list.take_all()), (std::vector<int>{2, 1}));
}

// Producers push heap elements, the consumer frees each as soon as it has it: a touch after the push would be a use after free
// (AddressSanitizer) or a race (ThreadSanitizer). Each producer's elements must come in its own order, and none twice or never.
TEST(MpscList, ManyProducersLoseNothingAndKeepTheirOrder)
{
    constexpr int kProducers = 3, kEach = 20000;
    MpscList<Item> list;
    std::atomic<int> became_nonempty{0};
    std::vector<std::thread> producers;
    for (int p = 0; p < kProducers; ++p) {
        producers.emplace_back([&list, &became_nonempty, p] {
            for (int n = 0; n < kEach; ++n) {
                auto* item = new Item;
                item->producer = p;
                item->number = n;
                if (list.push(*item)) {
                    became_nonempty.fetch_add(1, std::memory_order_relaxed);
                }
            }
        });
    }
    std::vector<int> expected(kProducers, 0);
    int taken = 0, chains = 0, out_of_order = 0;
    while (taken < kProducers * kEach) {
        Item* item = list.take_all();
        chains += item != nullptr ? 1 : 0;
        if (item == nullptr) {
            std::this_thread::yield();
        }
        while (item != nullptr) {
            const std::unique_ptr<Item> owned{item};
            item = MpscList<Item>::next(*owned);
            int& next = expected[static_cast<std::size_t>(owned->producer)];
            out_of_order += owned->number == next ? 0 : 1;
            ++next;
            ++taken;
        }
    }
    for (std::thread& t : producers) {
        t.join();
    }
    EXPECT_EQ(out_of_order, 0);
    EXPECT_EQ(expected, std::vector<int>(kProducers, kEach));
    EXPECT_EQ(became_nonempty.load(), chains);   // exactly one "was empty" for each chain taken: one wake-up per burst
    EXPECT_TRUE(list.empty());
}

}   // namespace
}   // namespace linnet

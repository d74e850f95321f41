// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Intrusive containers: order, and removal from any place.
#include "base/intrusive_list.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

namespace linnet {
namespace {

// In two lists at once, and in a queue.
struct Item : ListLinkOf<0>, ListLinkOf<1>, QueueLink {
    explicit Item(char n) : name{n} {}
    char name;
};
using List = IntrusiveList<Item, ListLinkOf<0>>;
using OtherList = IntrusiveList<Item, ListLinkOf<1>>;
using Queue = IntrusiveQueue<Item>;

template <class Container>
std::string names(Container& c)
{
    std::string all;
    for (Item* i = c.front(); i != nullptr; i = c.next(*i)) {
        all += i->name;
    }
    return all;
}

bool linked(const Item& i) { return static_cast<const ListLinkOf<0>&>(i).linked(); }

struct Items {
    Item a{'a'}, b{'b'}, c{'c'}, d{'d'};
};

TEST(IntrusiveList, IsEmptyAtFirst)
{
    List list;
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(list.front(), nullptr);
    EXPECT_EQ(list.back(), nullptr);
    EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(IntrusiveList, KeepsTheOrderOfBothEnds)
{
    Items i;
    List list;
    list.push_back(i.b);
    list.push_back(i.c);
    list.push_front(i.a);
    list.push_back(i.d);
    EXPECT_EQ(names(list), "abcd");
    EXPECT_EQ(list.front(), &i.a);
    EXPECT_EQ(list.back(), &i.d);
    EXPECT_EQ(list.next(i.d), nullptr);
}

TEST(IntrusiveList, ElementLeavesFromAnyPlace)
{
    Items i;
    List list;
    for (Item* e : {&i.a, &i.b, &i.c, &i.d}) {
        EXPECT_FALSE(linked(*e));
        list.push_back(*e);
        EXPECT_TRUE(linked(*e));
    }
    List::remove(i.c);
    EXPECT_EQ(names(list), "abd");
    EXPECT_FALSE(linked(i.c));
    List::remove(i.a);
    EXPECT_EQ(names(list), "bd");
    List::remove(i.d);
    EXPECT_EQ(list.back(), &i.b);
    List::remove(i.b);
    EXPECT_TRUE(list.empty());
    list.push_back(i.c);
    EXPECT_EQ(names(list), "c") << "who left may come back";
}

TEST(IntrusiveList, PopFrontTakesTheOldest)
{
    Items i;
    List list;
    list.push_back(i.a);
    list.push_back(i.b);
    EXPECT_EQ(list.pop_front(), &i.a);
    EXPECT_FALSE(linked(i.a));
    EXPECT_EQ(list.pop_front(), &i.b);
    EXPECT_EQ(list.pop_front(), nullptr);
}

TEST(IntrusiveList, LinksOfTwoListsAreApart)
{
    Items i;
    List list;
    OtherList other;
    list.push_back(i.a);
    list.push_back(i.b);
    other.push_back(i.b);
    other.push_back(i.a);
    EXPECT_EQ(names(other), "ba");
    OtherList::remove(i.b);
    EXPECT_EQ(names(list), "ab");
    EXPECT_EQ(names(other), "a");
}

TEST(IntrusiveQueue, IsFirstInFirstOut)
{
    Items i;
    Queue queue;
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.pop_front(), nullptr);
    for (Item* e : {&i.a, &i.b, &i.c}) {
        queue.push_back(*e);
    }
    EXPECT_EQ(names(queue), "abc");
    EXPECT_EQ(queue.pop_front(), &i.a);
    queue.push_back(i.a);
    EXPECT_EQ(names(queue), "bca");
}

TEST(IntrusiveQueue, BeginsAgainAfterItWasEmptied)
{
    Items i;
    Queue queue;
    for (int round = 0; round < 2; ++round) {
        queue.push_back(i.a);
        queue.push_back(i.b);
        EXPECT_EQ(queue.pop_front(), &i.a);
        EXPECT_EQ(queue.pop_front(), &i.b);
        EXPECT_TRUE(queue.empty());
        EXPECT_EQ(queue.front(), nullptr);
    }
}

TEST(IntrusiveQueue, ElementThatLeftDoesNotNameItsSuccessor)
{
    Items i;
    Queue queue;
    queue.push_back(i.a);
    queue.push_back(i.b);
    EXPECT_EQ(queue.pop_front(), &i.a);
    EXPECT_EQ(static_cast<QueueLink&>(i.a).next, nullptr);
    Queue second;
    second.push_back(i.a);
    EXPECT_EQ(names(second), "a");
    EXPECT_EQ(names(queue), "b");
}

}   // namespace
}   // namespace linnet

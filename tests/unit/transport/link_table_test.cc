// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// LinkTable, HotLinks, OpeningLinks: ids that outlive no link, links that end while they are looked at, deadlines.
#include "transport/link_table.h"

#include <gtest/gtest.h>

#include <set>
#include <thread>

namespace linnet {
namespace {

struct Thing : LinkBase {
    int looks{0};
};
using Table = LinkTable<Thing, int>;

constexpr PeerId kPeer{3};

TEST(LinkTable, RequestBecomesALinkWhenItIsStarted)
{
    Table table;
    const auto id = table.request(kPeer, LinkRole::kBulk, 42);
    ASSERT_TRUE(id.ok());
    EXPECT_EQ(table.find(*id), nullptr);
    EXPECT_NE(table.slot_of(*id), nullptr);
    int occupied = 0;
    int started = 0;
    EXPECT_EQ(table.start([&](Thing& t, Table::Request& r) { occupied += t.id == r.id ? r.wish : 0; },
                          [&](Thing& t, Table::Request& r) { started += t.peer == kPeer && t.role == LinkRole::kBulk ? r.wish : 0; }),
              1u);
    EXPECT_EQ(occupied, 42);
    EXPECT_EQ(started, 42);
    ASSERT_NE(table.find(*id), nullptr);
    EXPECT_EQ(table.find(*id)->number, static_cast<std::uint32_t>(id->value));
    EXPECT_EQ(table.start([](Thing&, Table::Request&) {}, [](Thing&, Table::Request&) {}), 0u);
}

TEST(LinkTable, WithdrawnRequestIsNotStarted)
{
    Table table;
    const auto id = table.request(kPeer, LinkRole::kLane, 1);
    ASSERT_TRUE(id.ok());
    table.withdraw(*id);
    table.withdraw(*id);
    EXPECT_EQ(table.start([](Thing&, Table::Request&) { FAIL(); }, [](Thing&, Table::Request&) { FAIL(); }), 0u);
}

TEST(LinkTable, LinkThatEndsAnotherOneInItsStartKeepsItFromStarting)
{
    Table table;
    ASSERT_TRUE(table.request(kPeer, LinkRole::kLane, 1).ok());
    const auto second = table.request(kPeer, LinkRole::kLane, 2);
    ASSERT_TRUE(second.ok());
    int started = 0;
    table.start([](Thing&, Table::Request&) {},
                [&](Thing&, Table::Request& r) {
                    ++started;
                    EXPECT_EQ(r.wish, 1);
                    table.retire(*table.find(*second));
                });
    EXPECT_EQ(started, 1);
}

TEST(LinkTable, IdOfAnEndedLinkFindsNothingEvenWhenItsSlotIsUsedAgain)
{
    Table table;
    std::set<std::uint64_t> seen;
    Thing* slot = nullptr;
    for (int life = 0; life < 1000; ++life) {
        Thing* const t = table.adopt();
        ASSERT_NE(t, nullptr);
        slot = slot == nullptr ? t : slot;
        EXPECT_EQ(t, slot) << "the slot is free and shall be used again";
        EXPECT_TRUE(seen.insert(t->id.value).second);
        const LinkId id = t->id;
        table.retire(*t);
        EXPECT_EQ(table.find(id), nullptr);
        table.recycle();
    }
    for (const std::uint64_t id : seen) {
        EXPECT_EQ(table.find(LinkId{id}), nullptr);
    }
}

TEST(LinkTable, SlotIsNotUsedAgainBeforeRecycle)
{
    Table table;
    Thing* const first = table.adopt();
    table.retire(*first);
    EXPECT_NE(table.adopt(), first);
}

TEST(LinkTable, NoIdMeansAFreeSlotOrOneThatWasNeverMade)
{
    Table table;
    ASSERT_NE(table.adopt(), nullptr);
    EXPECT_EQ(table.find(LinkId{0}), nullptr);
    EXPECT_EQ(table.find(LinkId{7}), nullptr);
    EXPECT_EQ(table.find(LinkId{UINT64_MAX}), nullptr);
    EXPECT_EQ(table.slot_of(LinkId{UINT64_MAX}), nullptr);
}

TEST(LinkTable, NumbersRunOutInOrderlyManner)
{
    LinkTable<Thing, int, 1> table;
    for (int i = 0; i < 64; ++i) {
        ASSERT_NE(table.adopt(), nullptr);
    }
    EXPECT_EQ(table.limit(), 64u);
    EXPECT_EQ(table.adopt(), nullptr);
    EXPECT_EQ(table.request(kPeer, LinkRole::kLane, 1).status(), Status::kNoMemory);
    Thing* const t = table.at(10);
    table.retire(*t);
    table.recycle();
    EXPECT_EQ(table.adopt(), t);
}

TEST(LinkTable, ClosedTableTakesNothingAndForgetsRequests)
{
    Table table;
    ASSERT_TRUE(table.request(kPeer, LinkRole::kLane, 1).ok());
    table.close();
    EXPECT_TRUE(table.closed());
    EXPECT_EQ(table.request(kPeer, LinkRole::kLane, 1).status(), Status::kClosed);
    EXPECT_EQ(table.adopt(), nullptr);
    EXPECT_EQ(table.start([](Thing&, Table::Request&) {}, [](Thing&, Table::Request&) {}), 0u);
}

TEST(LinkTable, RequestsOfManyThreadsAreAllStartedOnce)
{
    Table table;
    constexpr int kEach = 500;
    std::vector<std::thread> threads;
    for (int n = 0; n < 3; ++n) {
        threads.emplace_back([&table, n] {
            for (int i = 0; i < kEach; ++i) {
                EXPECT_TRUE(table.request(kPeer, LinkRole::kLane, n * kEach + i).ok());
            }
        });
    }
    std::set<int> started;
    while (started.size() < 3 * kEach) {
        table.start([](Thing&, Table::Request&) {}, [&](Thing&, Table::Request& r) { EXPECT_TRUE(started.insert(r.wish).second); });
        std::this_thread::yield();
    }
    for (std::thread& t : threads) {
        t.join();
    }
}

TEST(HotLinks, LinksThatLeaveDuringAPassAreNotLookedAtAndOthersAreOnce)
{
    for (unsigned leaver = 0; leaver < 4; ++leaver) {
        for (unsigned looker = 0; looker < 4; ++looker) {
            std::array<Thing, 4> things;
            HotLinks<Thing, 4> hot;
            for (Thing& t : things) {
                hot.add(t);
            }
            const unsigned sum = hot.each([&](Thing& t) {
                EXPECT_TRUE(t.hot);
                ++t.looks;
                if (&t == &things[looker]) {
                    hot.remove(things[leaver]);
                }
                return 1u;
            });
            EXPECT_EQ(hot.count(), 3u);
            EXPECT_FALSE(things[leaver].hot);
            unsigned looks = 0;
            for (unsigned i = 0; i < 4; ++i) {
                EXPECT_LE(things[i].looks, 1);
                looks += static_cast<unsigned>(things[i].looks);
            }
            EXPECT_EQ(sum, looks);
            EXPECT_GE(looks, 2u);
        }
    }
}

TEST(OpeningLinks, DueIsTheFirstDeadlineAndNeverLate)
{
    OpeningLinks<Thing> opening;
    const TimePoint t0{};
    std::array<Thing, 3> things;
    EXPECT_EQ(opening.due(), TimePoint::max());
    for (Thing& t : things) {
        opening.add(t);
    }
    opening.set_deadline(things[0], t0 + Nanos{30});
    opening.set_deadline(things[1], t0 + Nanos{10});
    opening.set_deadline(things[2], t0 + Nanos{20});
    EXPECT_EQ(opening.due(), t0 + Nanos{10});
    std::vector<Thing*> gone;
    const auto give_up = [&](Thing& t) {
        gone.push_back(&t);
        opening.remove(t);
    };
    EXPECT_EQ(opening.expire(t0 + Nanos{9}, give_up), 0u);
    EXPECT_EQ(opening.expire(t0 + Nanos{20}, give_up), 2u);
    EXPECT_EQ(gone, (std::vector<Thing*>{&things[1], &things[2]}));
    EXPECT_EQ(opening.due(), t0 + Nanos{30});
    opening.remove(things[0]);
    EXPECT_TRUE(opening.empty());
    EXPECT_EQ(opening.due(), TimePoint::max());
    EXPECT_EQ(opening.expire(t0 + Nanos{99}, give_up), 0u);
}

TEST(OpeningLinks, GivingOneUpMayEndOthers)
{
    OpeningLinks<Thing> opening;
    std::array<Thing, 3> things;
    for (Thing& t : things) {
        opening.add(t);
        opening.set_deadline(t, TimePoint{});
    }
    unsigned calls = 0;
    opening.expire(TimePoint{} + Nanos{1}, [&](Thing& t) {
        ++calls;
        opening.remove(things[1]);
        opening.remove(t);
    });
    EXPECT_EQ(calls, 2u);
    EXPECT_TRUE(opening.empty());
}

// As many repetitions that are due at a time, each of which waits anew.
TEST(OpeningLinks, EachIsAskedOnceInAPassAndTheOldestStaysTheFirst)
{
    OpeningLinks<Thing> opening;
    std::array<Thing, 4> things;
    const TimePoint now = TimePoint{} + Nanos{10};
    for (Thing& t : things) {
        opening.add(t);
        opening.set_deadline(t, TimePoint{});
    }
    opening.set_deadline(things[2], now + Nanos{5});
    for (unsigned pass = 1; pass < 4; ++pass) {
        EXPECT_EQ(opening.expire(now, [&](Thing& t) {
            ++t.looks;
            opening.set_deadline(t, now);   // due again already
        }), 3u);
        EXPECT_EQ(things[0].looks + things[1].looks + things[3].looks, static_cast<int>(3 * pass));
        EXPECT_EQ(things[2].looks, 0);
        EXPECT_EQ(opening.front(), &things[0]);
        EXPECT_EQ(opening.due(), now);
    }
    EXPECT_EQ(opening.expire(now + Nanos{5}, [&](Thing& t) { opening.remove(t); }), 4u);
    EXPECT_TRUE(opening.empty());
}

}   // namespace
}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The statistics page: what the writer shows is what the reader gets, and no bytes at all upset the reader.
#include "stats/stats_page.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support/seed.h"

namespace linnet {
namespace {

struct alignas(4096) Memory {
    std::array<std::byte, kStatsPageBytes> bytes{};
};

// A page in ordinary memory, and its writer.
struct Fixture {
    std::unique_ptr<Memory> memory = std::make_unique<Memory>();
    StatsPageWriter writer;

    Fixture() { writer.attach(memory->bytes, {1234, "job 7 rank 3", Nanos{1000}}); }
    StatsPage& page() { return *reinterpret_cast<StatsPage*>(memory->bytes.data()); }
    Result<StatsPageView> read() const { return read_stats_page(memory->bytes); }
};

PageUpdate update(std::uint64_t n)
{
    PageUpdate u;
    for (const CounterInfo& row : kCounterTable) {
        u.counters[row.id] = n;
    }
    u.wall_now = Nanos{static_cast<Nanos::rep>(n)};
    u.token_owner = static_cast<std::uint32_t>(n);
    return u;
}

TEST(StatsPage, AttachedPageShowsWhoItIsBeforeAnyUpdate)
{
    Fixture f;
    const auto view = f.read();
    ASSERT_TRUE(view.ok());
    EXPECT_TRUE(view->whole);
    EXPECT_EQ(view->pid, 1234u);
    EXPECT_EQ(view->label, "job 7 rank 3");
    EXPECT_EQ(view->started, Nanos{1000});
    ASSERT_EQ(view->counters.size(), kCounterCount);
    EXPECT_EQ(view->counters[0].name, "tx_messages");
    EXPECT_EQ(view->counter("retransmitted_messages"), 0u);
    EXPECT_TRUE(view->peers.empty());
}

TEST(StatsPage, UpdateArrivesFieldByField)
{
    Fixture f;
    const PagePeerUpdate peers[] = {
        {PeerId{0}, "10.0.0.1:4000", "connected", "tcp", 1, 2, 3, 4, Nanos{5}},
        {PeerId{9}, "a name that is longer than the forty-eight bytes of its place", "down", "", 6, 7, 8, 9, Nanos{-10}},
    };
    PageUpdate u = update(0);
    u.counters[Counter::kTxBytes] = 1 << 20;
    u.event_thread_state = 2;
    u.peers_total = 17;
    u.peers = peers;
    f.writer.publish(u, TimePoint{});
    const auto view = f.read();
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->counter("tx_bytes"), 1u << 20);
    EXPECT_STREQ(event_thread_state_text(view->event_thread_state), "parked");
    EXPECT_EQ(view->peers_total, 17u);
    ASSERT_EQ(view->peers.size(), 2u);
    EXPECT_EQ(view->peers[0].name, "10.0.0.1:4000");
    EXPECT_EQ(view->peers[0].state, "connected");
    EXPECT_EQ(view->peers[0].via, "tcp");
    EXPECT_EQ(view->peers[0].tx_messages, 1u);
    EXPECT_EQ(view->peers[0].tx_bytes, 2u);
    EXPECT_EQ(view->peers[0].rx_messages, 3u);
    EXPECT_EQ(view->peers[0].rx_bytes, 4u);
    EXPECT_EQ(view->peers[0].silent, Nanos{5});
    EXPECT_EQ(view->peers[1].peer, 9u);
    EXPECT_EQ(view->peers[1].name, "a name that is longer than the forty-eight bytes");
    EXPECT_EQ(view->peers[1].silent, Nanos{0});
}

TEST(StatsPage, MorePeersThanRowsAreCutNotOverrun)
{
    Fixture f;
    const std::vector<PagePeerUpdate> peers(100, {PeerId{1}, "p", "s", "v", 0, 0, 0, 0, Nanos{0}});
    PageUpdate u = update(0);
    u.peers = peers;
    u.peers_total = 100;
    f.writer.publish(u, TimePoint{});
    const auto view = f.read();
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->peers.size(), 64u);
    EXPECT_EQ(view->peers_total, 100u);
    for (std::size_t i = sizeof(StatsPage); i < kStatsPageBytes; ++i) {
        ASSERT_EQ(f.memory->bytes[i], std::byte{0}) << i;
    }
}

TEST(StatsPage, DueOnceAPeriod)
{
    Fixture f;
    const TimePoint start{};
    EXPECT_TRUE(f.writer.due(start));
    f.writer.publish(update(1), start);
    EXPECT_FALSE(f.writer.due(start));
    EXPECT_FALSE(f.writer.due(start + kStatsPagePeriod - Nanos{1}));
    EXPECT_TRUE(f.writer.due(start + kStatsPagePeriod));
}

TEST(StatsPage, WriterWithoutMemoryDoesNothing)
{
    StatsPageWriter writer;
    EXPECT_FALSE(writer.due(TimePoint{}));
    writer.publish(update(1), TimePoint{});
    EXPECT_FALSE(writer.attached());
}

TEST(ReadStatsPage, RefusesWhatIsNoPage)
{
    const auto zeroes = std::make_unique<Memory>();
    EXPECT_EQ(read_stats_page(zeroes->bytes).status(), Status::kInvalid);
    EXPECT_EQ(read_stats_page({}).status(), Status::kInvalid);
    Fixture f;
    EXPECT_EQ(read_stats_page(std::span{f.memory->bytes}.first(kStatsPageBytes - 1)).status(), Status::kInvalid);
    std::vector<std::byte> room(kStatsPageBytes + 16);
    EXPECT_EQ(read_stats_page(std::span{room}.subspan(1, kStatsPageBytes)).status(), Status::kInvalid);   // misaligned
    f.page().magic.store(1);
    EXPECT_EQ(f.read().status(), Status::kInvalid);
}

TEST(ReadStatsPage, RefusesOtherVersionsAndSizes)
{
    Fixture f;
    f.page().version.store(kStatsPageVersion + 1);
    EXPECT_EQ(f.read().status(), Status::kUnsupported);
    f.page().version.store(kStatsPageVersion);
    f.page().page_bytes.store(kStatsPageBytes * 2);
    EXPECT_EQ(f.read().status(), Status::kUnsupported);
}

TEST(ReadStatsPage, WriterThatDiedInAnUpdateIsReportedNotWaitedFor)
{
    Fixture f;
    f.writer.publish(update(5), TimePoint{});
    f.page().turn.fetch_add(1);
    const auto view = f.read();
    ASSERT_TRUE(view.ok());
    EXPECT_FALSE(view->whole);
    EXPECT_EQ(view->counter("tx_bytes"), 5u);
}

TEST(ReadStatsPage, HostileCountsAndTextsAreTamed)
{
    Fixture f;
    f.page().counters_used.store(UINT32_MAX);
    f.page().peers_used.store(UINT32_MAX);
    f.page().updated_ns.store(UINT64_MAX);
    for (PageWord& w : f.page().label.words) {
        w.store(0x6d305b1b6d305b1b);   // "\033[0m": no terminator, and an escape sequence
    }
    const auto view = f.read();
    ASSERT_TRUE(view.ok());
    EXPECT_EQ(view->counters.size(), std::tuple_size_v<decltype(StatsPage::counters)>);
    EXPECT_EQ(view->peers.size(), 64u);
    EXPECT_EQ(view->updated, Nanos::max());
    EXPECT_EQ(view->label.size(), 64u);
    EXPECT_EQ(view->label.substr(0, 8), "?[0m?[0m");
    EXPECT_STREQ(event_thread_state_text(99), "unknown");
}

TEST(ReadStatsPage, RandomBytesAreHarmless)
{
    std::mt19937_64 random{testing::test_seed(0x57a75)};
    Fixture f;
    f.writer.publish(update(1), TimePoint{});
    for (int round = 0; round < 300; ++round) {
        auto copy = std::make_unique<Memory>(*f.memory);
        for (int i = 0; i < 200; ++i) {
            copy->bytes[random() % kStatsPageBytes] = static_cast<std::byte>(random());
        }
        const auto view = read_stats_page(copy->bytes);
        if (view.ok()) {
            for (const PagePeerView& p : view->peers) {
                ASSERT_LE(p.name.size(), 48u);
            }
            for (const PageCounterView& c : view->counters) {
                ASSERT_EQ(c.name.find_first_of("\033\n\r"), std::string::npos);
            }
        }
    }
}

// Every field of update n is n. A reader that mixes two updates sees two numbers.
TEST(StatsPage, ReaderNeverMixesTwoUpdates)
{
    constexpr std::uint64_t kUpdates = 300;
    Fixture f;
    f.writer.publish(update(0), TimePoint{});
    std::thread writer{[&f] {
        for (std::uint64_t n = 1; n <= kUpdates; ++n) {
            f.writer.publish(update(n), TimePoint{});
            std::this_thread::yield();
        }
    }};
    std::uint64_t mixed = 0, whole = 0, last = 0;
    while (last < kUpdates) {
        const auto view = f.read();
        if (!view.ok() || !view->whole) {
            std::this_thread::yield();
            continue;
        }
        ++whole;
        last = view->counters[0].value;
        for (const PageCounterView& c : view->counters) {
            mixed += c.value == last ? 0 : 1;
        }
        mixed += view->token_owner == last ? 0 : 1;
    }
    writer.join();
    EXPECT_EQ(mixed, 0u);
    EXPECT_GT(whole, 0u);
}

}   // namespace
}   // namespace linnet

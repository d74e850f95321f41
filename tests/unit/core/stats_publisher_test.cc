// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// StatsPublisher: when the page is written, and what of the context is on it.
#include "core/stats_publisher.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "core/context.h"
#include "support/stats_page_of.h"

namespace linnet::core {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::StatsPages;
using testing::test_log;

constexpr unsigned kPollsBetweenLooks = 256;   // at the clock

// A context that has no page of its own, and a publisher for it on a clock of ours.
class Publisher : public ::testing::Test {
protected:
    void SetUp() override
    {
        OpenArgs args;
        args.settings = {{"transports", "tcp"}, {"net_include", "127.0.0.1"}, {"event_thread", "off"}, {"tasks", "off"}, {"stats_page", "off"}};
        auto opened = Context::open(args);
        ASSERT_TRUE(opened.ok());
        context_ = std::move(*opened);
        publisher_ = std::make_unique<StatsPublisher>(*context_, clock_);
        clock_.advance(seconds{100});
    }
    void open(const char* on = "on")
    {
        std::string error;
        ASSERT_EQ(settings_.set(SettingId::kStatsPage, on, error), Status::kOk);
        ASSERT_EQ(settings_.set(SettingId::kLabel, "job 7 rank 3", error), Status::kOk);
        publisher_->open(settings_, test_log());
    }
    // What comes as soon as somebody polls again after a sleep.
    void poll_after_sleep()
    {
        EXPECT_TRUE(publisher_->prepare_sleep());
        EXPECT_EQ(publisher_->poll(64), 0u) << "a page is no event that anybody waits for";
    }
    // A message to ourselves.
    void send_to_self(std::size_t bytes)
    {
        proto::SendRequest s;
        proto::RecvRequest r;
        bool sent = false;
        bool received = false;
        s.done = r.done = [](proto::Request& ended) noexcept { *static_cast<bool*>(ended.done_arg) = true; };
        s.done_arg = &sent;
        r.done_arg = &received;
        std::vector<std::byte> from(bytes);
        std::vector<std::byte> to(bytes);
        s.data.base = from.data();
        r.data.base = to.data();
        s.data.length = r.data.length = bytes;
        ASSERT_EQ(context_->proto().recv(nullptr, 0, 1, 0, r), Status::kInProgress);
        proto::SendArgs args;
        args.bits = 1;
        sent = context_->proto().send(*context_->peer(PeerId{0}), args, s) == Status::kOk;
        for (int i = 0; i < 1000 && !(sent && received); ++i) {
            context_->progress(0, WhenIdle::kReturn);
        }
        ASSERT_TRUE(sent && received);
        EXPECT_EQ(r.result.length, bytes);
    }

    Settings settings_;
    ManualClock clock_;
    std::unique_ptr<Context> context_;
    std::unique_ptr<StatsPublisher> publisher_;
};

TEST_F(Publisher, SwitchedOffThereIsNoPageAndNoTimer)
{
    open("off");
    EXPECT_EQ(StatsPages{}.size(), 0u);
    EXPECT_EQ(publisher_->next_timer(), TimePoint::max());
    poll_after_sleep();
    publisher_->publish(clock_.now());
    EXPECT_EQ(StatsPages{}.size(), 0u);
}

TEST_F(Publisher, PageSaysWhoseItIsBeforeTheFirstUpdate)
{
    open();
    const StatsPages pages;
    ASSERT_EQ(pages.size(), 1u);
    EXPECT_EQ(pages.read().pid, static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(pages.read().label, "job 7 rank 3");
    EXPECT_EQ(publisher_->next_timer(), clock_.now()) << "the first update is due";
}

TEST_F(Publisher, PageIsWrittenWhenItsPeriodIsOverAndNotBefore)
{
    open();
    const StatsPages pages;
    const std::uint64_t turn = pages.turn();
    poll_after_sleep();
    EXPECT_EQ(pages.turn(), turn + 2);
    EXPECT_EQ(publisher_->next_timer(), clock_.now() + kStatsPagePeriod);
    clock_.advance(kStatsPagePeriod - Nanos{1});
    poll_after_sleep();
    EXPECT_EQ(pages.turn(), turn + 2);
    clock_.advance(Nanos{1});
    poll_after_sleep();
    EXPECT_EQ(pages.turn(), turn + 4);
}

// A clock costs more than an empty pass.
TEST_F(Publisher, InARowOfPassesTheClockIsReadNowAndThen)
{
    open();
    const StatsPages pages;
    poll_after_sleep();
    const std::uint64_t turn = pages.turn();
    clock_.advance(kStatsPagePeriod);
    for (unsigned i = 0; i < kPollsBetweenLooks; ++i) {
        static_cast<void>(publisher_->poll(64));
        ASSERT_EQ(pages.turn(), turn) << i;
    }
    static_cast<void>(publisher_->poll(64));
    EXPECT_EQ(pages.turn(), turn + 2);
}

TEST_F(Publisher, PublishDoesNotWaitForThePeriod)
{
    open();
    const StatsPages pages;
    const Nanos wall = pages.read().updated;
    for (std::uint64_t i = 1; i <= 3; ++i) {
        const std::uint64_t turn = pages.turn();
        publisher_->publish(clock_.now());
        EXPECT_EQ(pages.turn(), turn + 2);
    }
    EXPECT_GE(pages.read().updated, wall);
    EXPECT_EQ(publisher_->next_timer(), clock_.now() + kStatsPagePeriod);
}

TEST_F(Publisher, PageOutlivesNobody)
{
    open();
    ASSERT_EQ(StatsPages{}.size(), 1u);
    publisher_.reset();
    EXPECT_EQ(StatsPages{}.size(), 0u);
}

TEST_F(Publisher, ShowsPeersCountersAndHowLongAPeerWasNotHeard)
{
    open();
    const StatsPages pages;
    publisher_->publish(clock_.now());
    EXPECT_TRUE(pages.read().peers.empty());
    EXPECT_EQ(pages.read().peers_total, 0u);
    ASSERT_TRUE(context_->add_peer(context_->name()).ok());
    context_->peer(PeerId{0})->set_label("rank 3");
    publisher_->publish(clock_.now());
    ASSERT_EQ(pages.read().peers.size(), 1u);
    EXPECT_EQ(pages.read().peers_total, 1u);
    EXPECT_EQ(pages.read().peers[0].name.rfind("rank 3", 0), 0u) << pages.read().peers[0].name;
    EXPECT_EQ(pages.read().peers[0].silent, Nanos{0});
    EXPECT_EQ(pages.read().peers[0].tx_messages, 0u);

    send_to_self(1000);
    publisher_->publish(clock_.now());
    StatsPageView view = pages.read();
    EXPECT_EQ(view.peers[0].via, "loopback");
    EXPECT_EQ(view.peers[0].tx_messages, 1u);
    EXPECT_EQ(view.peers[0].tx_bytes, 1000u);
    EXPECT_EQ(view.peers[0].rx_messages, 1u);
    EXPECT_EQ(view.peers[0].rx_bytes, 1000u);
    EXPECT_EQ(view.counter("tx_messages"), 1u);
    EXPECT_EQ(view.counter("rx_bytes"), 1000u);
    EXPECT_EQ(view.counters.size(), kCounterCount);
    EXPECT_STREQ(event_thread_state_text(view.event_thread_state), "none");

    clock_.advance(seconds{1});
    publisher_->publish(clock_.now());
    EXPECT_EQ(pages.read().peers[0].silent, seconds{1});
    clock_.advance(milliseconds{500});
    publisher_->publish(clock_.now());
    EXPECT_EQ(pages.read().peers[0].silent, milliseconds{1500});
    send_to_self(10);
    clock_.advance(milliseconds{500});
    publisher_->publish(clock_.now());
    EXPECT_EQ(pages.read().peers[0].silent, Nanos{0}) << "the first page that shows what it said";
    EXPECT_EQ(pages.read().peers[0].rx_messages, 2u);
}

// Many more peers than a page has rows: none is forgotten in the total.
TEST_F(Publisher, PeersBeyondTheRowsOfAPageAreCounted)
{
    open();
    constexpr std::uint32_t kPeers = 100;
    wire::EndpointName name = context_->name();
    for (std::uint32_t i = 0; i < kPeers; ++i) {
        ASSERT_TRUE(context_->add_peer(name).ok());
        name.endpoint_id.set(1000 + i);
    }
    publisher_->publish(clock_.now());
    const StatsPages pages;
    EXPECT_EQ(pages.read().peers.size(), std::tuple_size_v<decltype(StatsPage::peers)>);
    EXPECT_EQ(pages.read().peers_total, kPeers);
}

// It is for people who look on: the program goes on without it, and no error is reported.
TEST_F(Publisher, WithoutMemoryForThePageADebugLineSaysSo)
{
    open("off");   // where UBSan meets a type for the first time it needs descriptors itself
    rlimit before{};
    ::getrlimit(RLIMIT_NOFILE, &before);
    const int lowest = ::dup(0);
    const rlimit none{static_cast<rlim_t>(lowest), before.rlim_max};
    ::close(lowest);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
    open();
    ::setrlimit(RLIMIT_NOFILE, &before);
    EXPECT_EQ(StatsPages{}.size(), 0u);
    EXPECT_EQ(publisher_->next_timer(), TimePoint::max());
    const auto lines = testing::logged_lines();
    EXPECT_NE(std::find(lines.begin(), lines.end(), "no statistics page: out of file descriptors"), lines.end());
}

}   // namespace
}   // namespace linnet::core

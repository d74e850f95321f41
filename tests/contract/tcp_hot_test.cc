// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Which sockets of links over TCP are read without asking epoll.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "contract/endpoint.h"
#include "transport/tcp/tcp_transport.h"

namespace linnet::contract {
namespace {

class TcpHotSockets : public ::testing::TestWithParam<Kind> {
protected:
    void SetUp() override
    {
        pair = std::make_unique<Pair>(GetParam());
        if (!pair->ready()) {
            GTEST_SKIP() << "no such address on this machine";
        }
    }
    Sink& b() { return pair->b().sink; }
    std::unique_ptr<Pair> pair;
};

// Sockets that delivered lately are read without asking epoll, and epoll only now and then. But it is what ended the sleep.
TEST_P(TcpHotSockets, WhatEndedASleepIsFoundByTheNextPoll)
{
    constexpr unsigned kLinks = 6;
    std::vector<Pair::Ends> ends;
    for (unsigned i = 0; i < kLinks; ++i) {
        ends.push_back(pair->open(LinkRole::kLane));
    }
    std::uint32_t sent = 0;
    const auto send = [&](unsigned link) {
        const Packet p = eager(++sent, 50);
        const LanePacket one = p.lane();
        ASSERT_TRUE(pair->a().transport->send_lane(ends[link].at_a, {&one, 1}).all_written);
    };
    for (unsigned i = 0; i < 20; ++i) {
        send(i % 2);
        ASSERT_TRUE(pair->run_until([&] { return b().packets.size() == sent; }));
    }
    for (unsigned i = 2; i < kLinks; ++i) {
        pair->settle();
        send(i);
        Transport& receiver = *pair->b().transport;
        static_cast<void>(receiver.prepare_sleep());
        ASSERT_TRUE(becomes_readable(receiver)) << i;
        receiver.finish_sleep();
        EXPECT_NE(receiver.poll(64), 0u) << i;
        EXPECT_EQ(b().packets.size(), sent) << i;
    }
}

// However many they are: several that epoll is asked about in place of their reads would cost that question in each pass for ever.
TEST_P(TcpHotSockets, SocketsThatDeliverNoMoreAreReadNoMore)
{
    for (const unsigned links : {1u, 2u, 3u, 8u}) {
        SetUp();
        std::vector<Pair::Ends> ends;
        std::uint32_t sent = 0;
        for (unsigned i = 0; i < links; ++i) {
            ends.push_back(pair->open(LinkRole::kLane));
        }
        for (const Pair::Ends& e : ends) {
            const Packet p = eager(++sent, 50);
            const LanePacket one = p.lane();
            ASSERT_TRUE(pair->a().transport->send_lane(e.at_a, {&one, 1}).all_written);
            ASSERT_TRUE(pair->run_until([&] { return b().packets.size() == sent; }));
        }
        auto& receiver = dynamic_cast<tcp::TcpTransport&>(*pair->b().transport);
        EXPECT_EQ(receiver.hot_sockets(), links);
        for (unsigned i = 0; i < 5000; ++i) {
            ASSERT_EQ(receiver.poll(64), 0u);
        }
        EXPECT_EQ(receiver.hot_sockets(), 0u) << links;
    }
}

INSTANTIATE_TEST_SUITE_P(All, TcpHotSockets, ::testing::ValuesIn(plain_kinds().begin() + 1, plain_kinds().begin() + 3),
                         [](const auto& p) { return std::string{p.param.name}; });

}   // namespace
}   // namespace linnet::contract

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// When a sleeper on links over TCP is woken in the middle of a long packet.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "contract/endpoint.h"
#include "contract/raw_peer.h"

namespace linnet::contract {
namespace {

class TcpSleep : public RawBulkLink {};

// While the host computes, a wake-up for each segment would take of its core. Who waits himself wants each at once.
TEST_P(TcpSleep, EventThreadIsWokenWhenTheRestOfAPacketIsHere)
{
    using Sleeper = EventSource::Sleeper;
    Transport& receiver = this->receiver();
    const auto sleeps = [&](Sleeper who) {
        ASSERT_TRUE(receiver.prepare_sleep());
        receiver.will_sleep(who);
    };
    const auto stays_quiet = [&] {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});
        return !readable(receiver);
    };
    const Bytes payload = pattern(1, 600'000);
    const wire::BulkHead head = bulk_head(1, payload.size());
    raw.send(std::as_bytes(std::span{&head, 1}));
    std::size_t sent = 0;
    const auto send_more = [&](std::size_t bytes) {
        raw.send(std::span{payload}.subspan(sent, bytes));
        sent += bytes;
    };
    for (unsigned i = 0; i < 3; ++i) {   // until the link counts as one that delivers
        send_more(100'000);
        ASSERT_TRUE(becomes_readable(receiver)) << i;
        pair->settle();
    }
    sleeps(Sleeper::kEventThread);
    send_more(100'000);
    EXPECT_TRUE(stays_quiet()) << "woken for a part";
    receiver.finish_sleep();
    pair->settle();
    sleeps(Sleeper::kEventThread);
    send_more(100'000);
    EXPECT_TRUE(stays_quiet()) << "woken for another part";
    sleeps(Sleeper::kHost);
    EXPECT_TRUE(readable(receiver)) << "the host waits for the pieces, and one is here";
    sleeps(Sleeper::kEventThread);
    send_more(100'000);
    ASSERT_TRUE(becomes_readable(receiver)) << "not woken for the rest";
    ASSERT_TRUE(pair->run_until([&] { return b().bulk.size() == 1; }));
    receiver.finish_sleep();

    pair->settle();   // what was asked for is awaited as a whole, before the packet has begun
    const std::size_t less = 100'000;
    const wire::BulkHead second = bulk_head(2, less);
    b().awaited = sizeof second + less;
    sleeps(Sleeper::kEventThread);
    raw.send(std::as_bytes(std::span{&second, 1}));
    sent = 0;
    send_more(less - 1);
    EXPECT_TRUE(stays_quiet()) << "woken for all but a byte";
    send_more(1);
    ASSERT_TRUE(becomes_readable(receiver)) << "not woken for what was asked for";
    ASSERT_TRUE(pair->run_until([&] { return b().bulk.size() == 2; }));
    receiver.finish_sleep();
    b().awaited = 0;

    pair->settle();   // the next packet is news from its first byte on
    sleeps(Sleeper::kEventThread);
    raw.send(std::as_bytes(std::span{&head, 1}));
    EXPECT_TRUE(becomes_readable(receiver));
}

INSTANTIATE_TEST_SUITE_P(All, TcpSleep, ::testing::ValuesIn(plain_kinds().begin() + 1, plain_kinds().begin() + 3),
                         [](const auto& p) { return std::string{p.param.name}; });

}   // namespace
}   // namespace linnet::contract

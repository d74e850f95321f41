// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Machine: peers that fell silent do not hold all frames and trains against the others; whoever was refused is told when there is room for it, and only then.
#include <gtest/gtest.h>

#include <vector>

#include "flow/machine.h"

namespace linnet::flow {
namespace {

constexpr std::size_t kFrameBytes = 512;
constexpr std::size_t kFrames = 64;

// One host, whose peers say only what a case lets them say.
class SharedPools : public ::testing::Test {
protected:
    static Machine::Config config()
    {
        Machine::Config c;
        c.frame_bytes = kFrameBytes;
        c.first_credit = 64;
        c.trains = 16;
        c.trains_open = 8;
        return c;
    }
    ConnectionId peer(Role role)
    {
        Machine::Opening o;
        o.role = role;
        o.own_secret = std::uint64_t{77} << 32;
        const Result<ConnectionId> c = machine.add(o, now);
        EXPECT_TRUE(c.ok());
        machine.connect(*c, 1, 0, now);
        return *c;
    }
    bool write(ConnectionId c)
    {
        const std::vector<std::byte> packet(machine.lane_payload());
        return machine.write_lane(c, packet, {});
    }
    unsigned write_all(ConnectionId c)
    {
        unsigned n = 0;
        while (write(c)) {
            ++n;
        }
        return n;
    }
    bool give(ConnectionId c)
    {
        wire::BulkHead head;
        head.body_bytes.set(10);
        return machine.give_bulk(c, head, payload, nullptr) == Status::kInProgress;
    }
    unsigned give_all(ConnectionId c)
    {
        unsigned n = 0;
        while (give(c)) {
            ++n;
        }
        return n;
    }
    void flush()
    {
        std::array<TxFrame, 64> out;
        while (machine.produce(now, out) != 0) {
        }
    }
    void acknowledge(ConnectionId c, std::uint32_t ack)
    {
        wire::FrameHead h;
        h.kind = wire::FrameKind::kAck;
        h.connection.set(machine.wire_id(c));
        h.ack.set(ack);
        h.credit.set(64);
        EXPECT_EQ(machine.receive(std::as_bytes(std::span{&h, 1}), now).drop, Drop::kNone);
    }
    // Who may try again; zero: nobody.
    ConnectionId told()
    {
        const Event e = machine.next_event();
        EXPECT_TRUE(e.kind == Event::Kind::kWritable || e.kind == Event::Kind::kNone);
        EXPECT_EQ(machine.has_events(), e.kind == Event::Kind::kWritable);
        return e.connection;
    }

    TimePoint now{Nanos{1'000'000}};
    const std::array<std::byte, 10> payload{};
    std::vector<std::byte> tx_memory = std::vector<std::byte>(kFrames * kFrameBytes);
    std::vector<std::byte> rx_memory = std::vector<std::byte>(kFrames * kFrameBytes);
    FramePool tx{tx_memory, kFrameBytes};
    FramePool rx{rx_memory, kFrameBytes};
    Machine machine{config(), tx, rx};
};

TEST_F(SharedPools, LastFramesAreForAFewOfEach)
{
    EXPECT_EQ(write_all(peer(Role::kLane)), 48u) << "one that takes what it gets";
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(write_all(peer(Role::kLane)), 4u);
    }
    EXPECT_FALSE(write(peer(Role::kLane)));
}

TEST_F(SharedPools, LastTrainsAreForOneOfEach)
{
    EXPECT_EQ(give_all(peer(Role::kBulk)), 8u);
    EXPECT_EQ(give_all(peer(Role::kBulk)), 4u);
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_EQ(give_all(peer(Role::kBulk)), 1u);
    }
    EXPECT_FALSE(give(peer(Role::kBulk)));
}

TEST_F(SharedPools, OnlyWhoFindsRoomIsToldOneAfterTheOther)
{
    const ConnectionId greedy = peer(Role::kLane);
    EXPECT_EQ(write_all(greedy), 48u);
    std::vector<ConnectionId> c;
    for (unsigned i = 0; i < 4; ++i) {
        c.push_back(peer(Role::kLane));
        EXPECT_EQ(write_all(c.back()), 4u);
    }
    const ConnectionId last = peer(Role::kLane);
    const ConnectionId after = peer(Role::kLane);
    EXPECT_FALSE(write(last));
    EXPECT_FALSE(write(after));
    flush();
    EXPECT_EQ(told(), ConnectionId{});
    acknowledge(c[2], 1);
    EXPECT_TRUE(machine.has_events());
    EXPECT_EQ(told(), c[2]) << "it waits longest of those that may have one";
    EXPECT_TRUE(write(c[2]));
    EXPECT_EQ(told(), ConnectionId{});
    flush();
    acknowledge(c[2], 3);
    EXPECT_EQ(told(), last);
    EXPECT_EQ(told(), after) << "one that does not come leaves its place to the next";
    EXPECT_EQ(told(), ConnectionId{});
    EXPECT_TRUE(write(after));
    EXPECT_EQ(write_all(c[2]), 1u);
    EXPECT_EQ(told(), ConnectionId{});
}

TEST_F(SharedPools, EveryoneWhoWasRefusedIsToldInTheEnd)
{
    std::vector<ConnectionId> c;
    std::vector<std::uint32_t> written(20);
    std::vector<std::uint32_t> acked(20);
    for (std::uint32_t& n : written) {
        c.push_back(peer(Role::kLane));
        n = write_all(c.back());
    }
    const auto open = [&] { return written != acked; };
    std::vector<unsigned> tellings(20);
    for (unsigned round = 0; round < 1000 && open(); ++round) {
        flush();
        for (std::size_t i = 0; i < c.size(); ++i) {
            if (acked[i] != written[i]) {
                acknowledge(c[i], ++acked[i]);
                break;
            }
        }
        for (ConnectionId who = told(); who != ConnectionId{}; who = told()) {
            const auto i = static_cast<std::size_t>(std::find(c.begin(), c.end(), who) - c.begin());
            ++tellings[i];
            written[i] += tellings[i] < 3 && write(who) ? 1 : 0;
        }
    }
    EXPECT_FALSE(open());
    EXPECT_EQ(std::count(tellings.begin(), tellings.end(), 0u), 0);
    EXPECT_EQ(tx.available(), kFrames);
}

TEST_F(SharedPools, TrainOfAPeerThatLeftIsTheNextOnes)
{
    const ConnectionId gone = peer(Role::kBulk);
    EXPECT_EQ(give_all(gone), 8u);
    EXPECT_EQ(give_all(peer(Role::kBulk)), 4u);
    for (unsigned i = 0; i < 4; ++i) {
        EXPECT_TRUE(give(peer(Role::kBulk)));
    }
    const ConnectionId waits = peer(Role::kBulk);
    EXPECT_FALSE(give(waits));
    EXPECT_EQ(told(), ConnectionId{});
    machine.close(gone);
    ASSERT_EQ(machine.take_back(gone).kind, Event::Kind::kBulkSent);
    EXPECT_EQ(told(), waits);
    EXPECT_TRUE(give(waits));
    EXPECT_EQ(told(), ConnectionId{});
    while (machine.take_back(gone).kind != Event::Kind::kNone) {
    }
    EXPECT_NE(told(), ConnectionId{});
}

}   // namespace
}   // namespace linnet::flow

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Machine: one behaviour per case. Schedules of faults are in flow_sim_test.cc.
#include "flow/machine.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "unit/flow/two_hosts.h"
#include "wire/crc32c.h"

namespace linnet::flow {
namespace {

using namespace std::chrono_literals;
using sim::Host;

class MachineTest : public TwoHosts {
protected:
    std::uint64_t drops(const Host& h, Drop why) const { return h.machine.stats().drops[static_cast<std::size_t>(why)]; }
};

TEST_F(MachineTest, SmallPacketsThatWaitTogetherShareAFrame)
{
    join();
    for (int i = 0; i < 10; ++i) {
        ASSERT_TRUE(write(*a, 100));
    }
    const auto frame = frame_of(*a);
    EXPECT_EQ(frame.size(), sizeof(wire::FrameHead) + 1000);
    EXPECT_TRUE(frame_of(*a).empty());
    const Received r = b->machine.receive(frame, sim.now);
    EXPECT_EQ(r.drop, Drop::kNone);
    EXPECT_EQ(r.lane.size(), 1000u);
}

TEST_F(MachineTest, PacketThatFitsInOneFrameIsNeverCut)
{
    join();
    ASSERT_TRUE(write(*a, 1000));
    ASSERT_TRUE(write(*a, 1000));
    EXPECT_EQ(frame_of(*a).size(), sizeof(wire::FrameHead) + 1000);
    EXPECT_EQ(frame_of(*a).size(), sizeof(wire::FrameHead) + 1000);
}

TEST_F(MachineTest, NewPeerMaySendTwoFramesAndNoMore)
{
    join();
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(write(*a, 1000));
    }
    EXPECT_FALSE(frame_of(*a).empty());
    const auto second = frame_of(*a);
    EXPECT_NE(head_of(second).flags.get() & wire::frame_flag::kWantAck, 0);   // it stalls: the answer is wanted now
    EXPECT_TRUE(frame_of(*a).empty());
    EXPECT_EQ(a->machine.stats().credit_stalls, 1u);
}

TEST_F(MachineTest, AnswerGrantsAFairShareAtOnce)
{
    join();
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(write(*a, 1000));
    }
    static_cast<void>(b->machine.receive(frame_of(*a), sim.now));
    static_cast<void>(b->machine.receive(frame_of(*a), sim.now));
    const auto answer = frame_of(*b);
    EXPECT_EQ(head_of(answer).kind, wire::FrameKind::kAck);
    EXPECT_EQ(head_of(answer).credit.get(), 2 + kLaneWindow);
    static_cast<void>(a->machine.receive(answer, sim.now));
    EXPECT_FALSE(frame_of(*a).empty());
}

TEST_F(MachineTest, IdlePeerGivesItsCreditBack)
{
    Machine::Config config;
    config.ring_frames = 96;
    config.control_reserve = 36;
    join(config);
    a->send_lane(50);
    ASSERT_TRUE(sim.run([&] { return b->lane_received == 1; }, 10ms));
    EXPECT_EQ(b->machine.credit().borrowers(), 1u);
    EXPECT_EQ(b->machine.credit().lent(), 60u - config.aside);
    ASSERT_TRUE(sim.run([&] { return b->machine.credit().lent() == 0; }, 100ms));
    EXPECT_EQ(a->machine.stats().credit_returns, 1u);
    EXPECT_EQ(b->machine.credit().borrowers(), 0u);
}

TEST_F(MachineTest, CreditThatTheIdlePeerNeverHeardOfComesBackToo)
{
    join();
    sim.filter = [&](const Host& from, const TxFrame& f) { return &from == b && f.kind == wire::FrameKind::kAck; };
    a->send_lane(50);
    ASSERT_TRUE(sim.run([&] { return b->lane_received == 1; }, 10ms));
    sim.run([] { return false; }, 1ms);
    EXPECT_NE(b->machine.credit().lent(), 0u);
    sim.filter = nullptr;
    EXPECT_TRUE(sim.run([&] { return b->machine.credit().lent() == 0; }, 200ms));
}

TEST_F(MachineTest, ControlGoesBeforeDataThatWaits)
{
    join();
    a->machine.set_ring_frames(1000);
    const std::vector<std::byte> bulk(100'000);
    wire::BulkHead head;
    head.body_bytes.set(100'000);
    ASSERT_EQ(a->machine.give_bulk(a->bulk, head, bulk, nullptr), Status::kInProgress);
    ASSERT_TRUE(write(*b, 10));
    const auto lane = frame_of(*b);
    auto probe = changed(lane, [](wire::FrameHead& h) {
        h.kind = wire::FrameKind::kProbe;
        h.bytes.set(0);
    });
    static_cast<void>(a->machine.receive(probe, sim.now));
    EXPECT_EQ(head_of(frame_of(*a)).kind, wire::FrameKind::kAck);
    EXPECT_EQ(head_of(frame_of(*a)).kind, wire::FrameKind::kBlock);
}

TEST_F(MachineTest, AnswerRidesOnDataWhenThereIsSome)
{
    join();
    ASSERT_TRUE(write(*a, 10));
    ASSERT_TRUE(write(*b, 10));
    static_cast<void>(b->machine.receive(frame_of(*a), sim.now));
    const auto answer = frame_of(*b);
    EXPECT_EQ(head_of(answer).kind, wire::FrameKind::kLane);
    EXPECT_EQ(head_of(answer).ack.get(), 1u);
    EXPECT_TRUE(frame_of(*b).empty());
    EXPECT_EQ(b->machine.stats().acks_out, 0u);
}

TEST_F(MachineTest, DropsAndCountsWhatNoCorrectPeerSends)
{
    join();
    ASSERT_TRUE(write(*a, 10));
    const auto good = frame_of(*a);
    const auto try_it = [&](auto change, Drop why) {
        const std::uint64_t before = drops(*b, why);
        EXPECT_EQ(b->machine.receive(changed(good, change), sim.now).drop, why);
        EXPECT_EQ(drops(*b, why), before + 1);
    };
    try_it([](wire::FrameHead& h) { h.version = 9; }, Drop::kBadHead);
    try_it([](wire::FrameHead& h) { h.kind = static_cast<wire::FrameKind>(200); }, Drop::kBadHead);
    try_it([](wire::FrameHead& h) { h.bytes.set(11); }, Drop::kBadHead);
    try_it([](wire::FrameHead& h) { h.connection.set(h.connection.get() ^ (std::uint64_t{1} << 40)); }, Drop::kUnknown);
    try_it([](wire::FrameHead& h) { h.incarnation.set(77); }, Drop::kIncarnation);
    try_it([](wire::FrameHead& h) { h.epoch.set(6); }, Drop::kEpoch);
    try_it([](wire::FrameHead& h) { h.flags.set(wire::frame_flag::kMac); h.bytes.set(2); }, Drop::kCheck);
    try_it([](wire::FrameHead& h) { h.flags.set(wire::frame_flag::kCrc); }, Drop::kCheck);
    try_it([](wire::FrameHead& h) { h.ack.set(1); }, Drop::kImplausible);
    try_it([](wire::FrameHead& h) { h.sack.set(1); }, Drop::kImplausible);
    try_it([](wire::FrameHead& h) { h.credit.set(1u << 20); }, Drop::kImplausible);
    try_it([](wire::FrameHead& h) { h.returns = 1; h.held.set(1000); }, Drop::kImplausible);
    try_it([](wire::FrameHead& h) { h.kind = wire::FrameKind::kBlock; }, Drop::kImplausible);
    try_it([](wire::FrameHead& h) { h.number.set(2); }, Drop::kBeyondCredit);
    try_it([](wire::FrameHead& h) { h.number.set(0xffffffffu); }, Drop::kDuplicate);
    EXPECT_EQ(b->machine.receive(std::span{good}.first(20), sim.now).drop, Drop::kBadHead);
    EXPECT_EQ(b->machine.receive(good, sim.now).drop, Drop::kNone);
    EXPECT_EQ(b->machine.receive(good, sim.now).drop, Drop::kDuplicate);
}

TEST_F(MachineTest, BlocksThatContradictTheirTrainAreDropped)
{
    join();
    const std::vector<std::byte> bulk(2000);
    wire::BulkHead head;
    head.body_bytes.set(2000);
    ASSERT_EQ(a->machine.give_bulk(a->bulk, head, bulk, nullptr), Status::kInProgress);
    const auto good = frame_of(*a);
    const auto with = [&](auto change) {
        auto frame = good;
        wire::BlockHead block;
        std::memcpy(&block, frame.data() + sizeof(wire::FrameHead), sizeof block);
        change(block);
        std::memcpy(frame.data() + sizeof(wire::FrameHead), &block, sizeof block);
        return b->machine.receive(frame, sim.now).drop;
    };
    EXPECT_EQ(with([](wire::BlockHead& h) { h.index.set(2); }), Drop::kMismatch);
    EXPECT_EQ(with([](wire::BlockHead& h) { h.index.set(1); }), Drop::kMismatch);   // the last one is shorter
    EXPECT_EQ(with([](wire::BlockHead& h) { h.block_bytes.set(0); }), Drop::kMismatch);
    EXPECT_EQ(with([](wire::BlockHead& h) { h.block_bytes.set(1); }), Drop::kMismatch);
    EXPECT_EQ(with([](wire::BlockHead& h) { h.bulk.body_bytes.set(0x7fffffff); }), Drop::kMismatch);
    EXPECT_EQ(with([](wire::BlockHead& h) { h.bulk.version = 3; }), Drop::kMismatch);
    const Received r = b->machine.receive(good, sim.now);
    ASSERT_NE(r.landing, nullptr);
    std::vector<std::byte> place(2000);
    b->machine.land(r, place.data(), place.size(), nullptr, sim.now);
    EXPECT_EQ(with([](wire::BlockHead& h) { h.bulk.offset.set(8); }), Drop::kMismatch);
}

TEST_F(MachineTest, BlocksUnderOneHeadAreTakenInARowAndCountLikeOthers)
{
    Machine::Config config;
    config.first_credit = 40;
    join(config);
    const std::size_t block = a->machine.block_payload();
    a->send_bulk(20 * block + 5, 20 * block + 5);
    a->give();
    std::array<TxFrame, 32> out;
    const std::size_t n = a->machine.produce(sim.now, out);
    ASSERT_EQ(n, 21u);
    std::vector<std::vector<std::byte>> frames;
    for (const TxFrame& f : std::span{out}.first(n)) {
        EXPECT_EQ(f.index, frames.size());
        frames.emplace_back(f.head.begin(), f.head.begin() + f.head_bytes);
        frames.back().insert(frames.back().end(), f.payload.begin(), f.payload.end());
    }
    EXPECT_FALSE(b->machine.receive_next(frames[0]));   // nothing was before it
    b->take(b->machine.receive(frames[0], sim.now));
    EXPECT_FALSE(b->machine.receive_next(frames[1]));   // nor known where it goes
    EXPECT_EQ(b->machine.receive(frames[1], sim.now).drop, Drop::kNone);
    EXPECT_FALSE(b->machine.receive_next(frames[1]));   // a copy
    EXPECT_FALSE(b->machine.receive_next(frames[3]));   // one is missing
    EXPECT_FALSE(b->machine.receive_next(changed(frames[2], [](wire::FrameHead& h) { h.stamp.set(h.stamp.get() + 1); })));
    EXPECT_FALSE(b->machine.receive_next(changed(frames[2], [](wire::FrameHead& h) { h.connection.set(h.connection.get() + 1); })));
    auto other = frames[2];
    other[sizeof(wire::FrameHead) + offsetof(wire::BlockHead, bulk) + offsetof(wire::BulkHead, recv_slot)] ^= std::byte{1};
    EXPECT_FALSE(b->machine.receive_next(other));       // a block of another packet
    other = frames[2];
    other.pop_back();
    EXPECT_FALSE(b->machine.receive_next(other));       // it was cut short
    for (std::size_t i = 2; i < 19; ++i) {
        EXPECT_TRUE(b->machine.receive_next(frames[i])) << i;
    }
    b->machine.end_row(sim.now);
    EXPECT_FALSE(b->machine.receive_next(frames[19]));   // the row is over
    EXPECT_EQ(b->machine.receive(frames[19], sim.now).drop, Drop::kNone);
    EXPECT_FALSE(b->machine.receive_next(frames[20]));   // the last one ends the train
    b->take(b->machine.receive(frames[20], sim.now));
    EXPECT_EQ(b->bulk_received, 1u);
    EXPECT_EQ(b->machine.stats().frames_in, 21u);
    const auto answer = head_of(frame_of(*b));
    EXPECT_EQ(answer.ack.get(), 1u);
    EXPECT_GE(answer.credit.get(), 21u + 40u);
}

TEST_F(MachineTest, RowEndsWithTheCredit)
{
    Machine::Config config;
    config.first_credit = 6;
    config.ring_frames = config.control_reserve;   // and no more
    join(config);
    const std::size_t block = a->machine.block_payload();
    a->send_bulk(20 * block, 20 * block);
    a->give();
    std::vector<std::vector<std::byte>> frames;
    for (auto f = frame_of(*a); !f.empty(); f = frame_of(*a)) {
        frames.push_back(f);
    }
    ASSERT_EQ(frames.size(), 6u);
    EXPECT_NE(head_of(frames[5]).flags.get() & wire::frame_flag::kWantAck, 0);
    b->take(b->machine.receive(frames[0], sim.now));
    EXPECT_EQ(b->machine.receive(frames[1], sim.now).drop, Drop::kNone);
    std::size_t taken = 0;   // a peer that goes on beyond its credit
    for (std::uint16_t i = 2; i < 20; ++i) {
        auto frame = frames[2];
        const le16 index{i};
        std::memcpy(frame.data() + sizeof(wire::FrameHead), &index, sizeof index);
        if (!b->machine.receive_next(frame)) {
            break;
        }
        ++taken;
    }
    EXPECT_EQ(taken, 6u);   // what is lent anew for the first two included
    b->machine.end_row(sim.now);
}

// Nobody has a place for what a guess brings: it is one block, and that says how many were sent. What is lost of these is then asked for.
TEST_F(MachineTest, QuestionAfterSilenceIsForOneBlock)
{
    ten_of_thirty_blocks();
    const auto asked = [&](bool again) {
        for (auto frame = frame_of(*b); !frame.empty(); frame = frame_of(*b)) {
            if (head_of(frame).kind == wire::FrameKind::kPull) {
                EXPECT_EQ((head_of(frame).flags.get() & wire::frame_flag::kAgain) != 0, again);
                EXPECT_EQ(a->machine.receive(frame, sim.now).drop, Drop::kNone);
                int bits = 0;
                for (std::size_t at = sizeof(wire::FrameHead) + sizeof(wire::PullHead); at < frame.size(); at += sizeof(le64)) {
                    le64 word;
                    std::memcpy(&word, frame.data() + at, sizeof word);
                    bits += std::popcount(word.get());
                }
                return bits;
            }
        }
        return 0;
    };
    EXPECT_EQ(asked(true), 0);
    sim.now += 1ms;
    b->machine.run(sim.now);
    EXPECT_EQ(asked(true), 1);
    const auto answer = frame_of(*a);
    EXPECT_EQ(head_of(answer).kind, wire::FrameKind::kBlock);
    EXPECT_EQ(a->machine.stats().blocks_again, 1u);
    EXPECT_EQ(b->machine.credit().owed(), 0u);
    b->take(b->machine.receive(answer, sim.now));
    sim.now += 50us;
    b->machine.run(sim.now);
    EXPECT_EQ(b->machine.credit().owed(), 19u);
    EXPECT_EQ(asked(false), 19);
    EXPECT_EQ(b->machine.credit().owed(), 0u);
}

TEST_F(MachineTest, ProbeOfManyTrainsIsTwoFrames)
{
    Machine::Config config;
    config.first_credit = 40;
    config.trains_open = 8;
    join(config);
    for (int i = 0; i < 8; ++i) {
        a->send_bulk(100, 100);
    }
    a->give();
    std::array<TxFrame, 16> out;
    ASSERT_EQ(a->machine.produce(sim.now, out), 8u);   // and all are lost
    sim.now += 10ms;
    a->machine.run(sim.now);
    ASSERT_EQ(a->machine.produce(sim.now, out), 2u);
    EXPECT_EQ(out[0].number, 0u);
    EXPECT_EQ(out[1].number, 7u);
}

// The ring turned out to hold less: what was lost waits for a place, and whoever waits longest asks first.
TEST_F(MachineTest, LostBlocksWaitForPlaces)
{
    Machine::Config config;
    config.ring_frames = 96;
    join(config);
    const std::size_t bytes = 200 * a->machine.block_payload();
    a->send_bulk(bytes, bytes);
    ASSERT_TRUE(sim.run([&] { return a->done(); }, 50ms));   // it has credit for 60 frames now
    ASSERT_EQ(b->machine.credit().lent(), 64u - config.aside);
    unsigned sent = 0;
    sim.filter = [&](const Host& from, const TxFrame& f) { return &from == a && f.kind == wire::FrameKind::kBlock && ++sent > 20 && sent <= 40; };
    a->send_bulk(bytes, bytes);
    ASSERT_TRUE(sim.run([&] { return sent >= 20; }, 50ms));
    b->machine.set_ring_frames(40);   // 8 to lend
    ASSERT_TRUE(sim.run([&] { return a->done(); }, 50ms)) << a->describe() << "\n" << b->describe();
    EXPECT_GE(b->machine.stats().pulls_out, 2u);
    EXPECT_EQ(a->machine.stats().blocks_again, 20u);
    EXPECT_LE(b->machine.credit().lent(), 8u);
    b->faults.clear();   // for a while more was lent than the ring turned out to hold
}

TEST_F(MachineTest, RingThatShrankToWhatIsKeptForControlLendsSomeAllTheSame)
{
    Machine::Config config;
    config.ring_frames = 512;
    config.control_reserve = 64;
    join(config);
    b->machine.set_ring_frames(48);
    const std::size_t bytes = 200 * a->machine.block_payload();
    a->send_bulk(bytes, bytes);
    ASSERT_TRUE(sim.run([&] { return b->machine.credit().lent() > 2; }, 50ms)) << b->describe();
    ASSERT_TRUE(sim.run([&] { return a->done(); }, 200ms));
}

TEST_F(MachineTest, WhatTheNetworkRefusedGoesOutNext)
{
    join();
    ASSERT_TRUE(write(*a, 10));
    TxFrame f;
    ASSERT_EQ(a->machine.produce(sim.now, {&f, 1}), 1u);
    a->machine.not_sent({&f, 1}, sim.now);
    const auto again = frame_of(*a);
    ASSERT_FALSE(again.empty());
    EXPECT_EQ(head_of(again).kind, wire::FrameKind::kLane);
    EXPECT_EQ(head_of(again).number.get(), 0u);
}

// A full queue of our own loses nothing: nobody is told of what never left, and nothing is repeated.
TEST_F(MachineTest, BlocksThatTheNetworkRefusedWereNeverSent)
{
    thirty_blocks();
    std::array<TxFrame, 32> out;
    for (const unsigned from : {0u, 10u, 15u}) {
        const std::size_t n = a->machine.produce(sim.now, out);
        ASSERT_EQ(n, 30u - from);
        for (std::size_t i = 0; i < n; ++i) {
            EXPECT_EQ(out[i].index, from + i);
        }
        const std::size_t taken = from == 0 ? 10 : from == 10 ? 5 : n;
        for (const TxFrame& f : std::span{out}.first(taken)) {
            std::vector<std::byte> bytes(f.head.begin(), f.head.begin() + f.head_bytes);
            bytes.insert(bytes.end(), f.payload.begin(), f.payload.end());
            b->take(b->machine.receive(bytes, sim.now));
        }
        a->machine.not_sent(std::span{out}.subspan(taken, n - taken), sim.now);
        EXPECT_EQ(b->machine.credit().owed(), 0u);
    }
    EXPECT_EQ(b->bulk_received, 1u);
    EXPECT_EQ(b->machine.stats().pulls_out, 0u);
    EXPECT_EQ(a->machine.stats().blocks_again, 0u);
    EXPECT_EQ(a->machine.stats().frames_out, 30u);
}

TEST_F(MachineTest, LaneFramesAreSentAgainOnlyWhereTheyHadLeft)
{
    Machine::Config config;
    config.first_credit = 8;
    join(config);
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(write(*a, 1000));
    }
    std::array<TxFrame, 8> out;
    ASSERT_EQ(a->machine.produce(sim.now, out), 5u);
    a->machine.not_sent(std::span{out}.subspan(2, 3), sim.now);
    ASSERT_EQ(a->machine.produce(sim.now, out), 3u);
    EXPECT_EQ(out[0].number, 2u);
    EXPECT_EQ(out[2].number, 4u);
    EXPECT_EQ(a->machine.stats().lane_again, 0u);
    sim.now += 10ms;
    a->machine.run(sim.now);   // nothing was heard
    for (int i = 0; i < 3; ++i) {
        ASSERT_EQ(a->machine.produce(sim.now, out), 2u);
        EXPECT_EQ(out[0].number, 0u);
        EXPECT_EQ(out[1].number, 4u);
        EXPECT_EQ(a->machine.stats().lane_again, 2u);
        a->machine.not_sent(std::span{out}.first(2), sim.now);
        EXPECT_EQ(a->machine.stats().lane_again, 0u);
    }
}

TEST_F(MachineTest, FullWindowRefusesAndTellsWhenThereIsRoom)
{
    join();
    unsigned written = 0;
    while (write(*a, 1300)) {
        ++written;
    }
    EXPECT_EQ(written, kLaneWindow);
    EXPECT_EQ(a->machine.next_event().kind, Event::Kind::kNone);
    static_cast<void>(b->machine.receive(frame_of(*a), sim.now));
    static_cast<void>(b->machine.receive(frame_of(*a), sim.now));
    static_cast<void>(a->machine.receive(frame_of(*b), sim.now));
    const Event e = a->machine.next_event();
    EXPECT_EQ(e.kind, Event::Kind::kWritable);
    EXPECT_EQ(e.connection, a->lane);
    EXPECT_TRUE(write(*a, 1300));
}

TEST_F(MachineTest, ZeroCreditIsAskedForUntilItComes)
{
    Machine::Config config;
    config.ring_frames = 8;
    config.control_reserve = 8;
    config.first_credit = 0;
    join(config);
    a->send_lane(100);
    sim.run([] { return false; }, 20ms);
    EXPECT_EQ(b->lane_received, 0u);
    EXPECT_GE(a->machine.stats().probes_out, 4u);
    EXPECT_LE(a->machine.stats().probes_out, 12u);   // it backs off
    b->machine.set_ring_frames(100);
    EXPECT_TRUE(sim.run([&] { return b->lane_received == 1; }, 200ms));
}

TEST_F(MachineTest, RestartedPeerAnswersWithAReset)
{
    join();
    ASSERT_TRUE(write(*a, 10));
    const auto frame = frame_of(*a);
    Host& c = sim.add({});   // in the place of b, knows nothing
    ASSERT_EQ(c.machine.receive(frame, sim.now).drop, Drop::kUnknown);
    const wire::FrameHead reset = Machine::reset(head_of(frame));
    auto forged = reset;
    forged.connection.set(reset.connection.get() + 1);
    EXPECT_EQ(a->machine.receive(std::as_bytes(std::span{&forged, 1}), sim.now).drop, Drop::kStale);
    EXPECT_EQ(a->machine.next_event().kind, Event::Kind::kNone);
    EXPECT_EQ(a->machine.receive(std::as_bytes(std::span{&reset, 1}), sim.now).drop, Drop::kNone);
    const Event e = a->machine.next_event();
    EXPECT_EQ(e.kind, Event::Kind::kReset);
    EXPECT_EQ(e.connection, a->lane);
    EXPECT_EQ(a->machine.next_event().kind, Event::Kind::kNone);
}

TEST_F(MachineTest, BulkDataThatTheReceiverHasIsNotWaitedFor)
{
    join();
    const std::vector<std::byte> bulk(2000, std::byte{1});
    wire::BulkHead head;
    head.body_bytes.set(2000);
    int cookie = 0;
    std::vector<std::byte> place(2000);
    for (unsigned round = 0; round < 3 * kTrains; ++round) {
        ASSERT_EQ(a->machine.give_bulk(a->bulk, head, bulk, &cookie), Status::kInProgress);
        const auto first = frame_of(*a);
        EXPECT_EQ(a->machine.end_bulk(a->bulk, &cookie, sim.now), 0u) << "who says so is wrong: the second block was never sent";
        const auto second = frame_of(*a);
        EXPECT_EQ(a->machine.end_bulk(a->bulk, &head, sim.now), 0u) << "that is no packet of ours";
        b->machine.land(b->machine.receive(first, sim.now), place.data(), place.size(), nullptr, sim.now);
        EXPECT_EQ(b->machine.receive(second, sim.now).drop, Drop::kNone);
        EXPECT_EQ(b->machine.next_event().kind, Event::Kind::kTrainDone);
        EXPECT_EQ(a->machine.end_bulk(a->bulk, &cookie, sim.now), 1u);
        EXPECT_EQ(a->machine.end_bulk(a->bulk, &cookie, sim.now), 0u);
        EXPECT_EQ(a->machine.next_event().kind, Event::Kind::kNone);
        sim.now += std::chrono::milliseconds{1};
        b->machine.flush_acks();
        const auto late = frame_of(*b);   // the acknowledgement, and credit
        EXPECT_EQ(a->machine.receive(late, sim.now).drop, Drop::kNone);
        EXPECT_EQ(a->machine.next_event().kind, Event::Kind::kNone) << "it is over already";
    }
}

TEST_F(MachineTest, ClosingReturnsWhatWasBorrowedAndFencesTheRest)
{
    join();
    std::vector<std::byte> bulk(5000, std::byte{1});
    wire::BulkHead head;
    head.body_bytes.set(5000);
    int cookie = 0;
    ASSERT_EQ(a->machine.give_bulk(a->bulk, head, bulk, &cookie), Status::kInProgress);
    const auto early = frame_of(*a);
    const Received r = b->machine.receive(early, sim.now);
    ASSERT_NE(r.landing, nullptr);
    std::vector<std::byte> place(5000);
    int landing = 0;
    b->machine.land(r, place.data(), place.size(), &landing, sim.now);
    const auto late = frame_of(*a);
    a->machine.close(a->bulk);
    b->machine.close(b->bulk);
    EXPECT_EQ(b->machine.receive(late, sim.now).drop, Drop::kStale);
    EXPECT_EQ(place[b->machine.block_payload()], std::byte{0});
    const Event back = a->machine.take_back(a->bulk);
    EXPECT_EQ(back.kind, Event::Kind::kBulkSent);
    EXPECT_EQ(back.cookie, &cookie);
    EXPECT_FALSE(back.ok);
    EXPECT_EQ(a->machine.take_back(a->bulk).kind, Event::Kind::kNone);
    const Event end = b->machine.take_back(b->bulk);
    EXPECT_EQ(end.kind, Event::Kind::kTrainDone);
    EXPECT_EQ(end.cookie, &landing);
    EXPECT_EQ(end.landed, b->machine.block_payload());
    EXPECT_FALSE(end.ok);
    EXPECT_EQ(b->machine.take_back(b->bulk).kind, Event::Kind::kNone);
    EXPECT_EQ(b->machine.receive(late, sim.now).drop, Drop::kUnknown);
    EXPECT_EQ(b->machine.credit().lent(), 0u);
}

TEST_F(MachineTest, PollOfAThousandIdlePeersLooksAtNone)
{
    a = &sim.add({});
    for (int i = 0; i < 1000; ++i) {
        Machine::Opening o;
        o.own_secret = static_cast<std::uint64_t>(i) << 32;
        const auto id = a->machine.add(o, sim.now);
        ASSERT_TRUE(id.ok());
        a->machine.connect(*id, 1, 1, sim.now);
    }
    std::array<TxFrame, 4> frames;
    ASSERT_EQ(a->machine.produce(sim.now, frames), 0u);
    EXPECT_EQ(a->machine.next_timer(), sim.now + 10s);   // the keep-alive, and nothing before
    a->machine.run(sim.now + 9s);
    EXPECT_EQ(a->machine.produce(sim.now + 9s, frames), 0u);
}

TEST_F(MachineTest, SilentPeerIsAskedWhetherItIsThere)
{
    join();
    sim.run([] { return false; }, 25s);
    EXPECT_GE(a->machine.stats().probes_out, 2u);
    EXPECT_LE(a->machine.stats().probes_out, 6u);
    EXPECT_GE(b->machine.last_heard(b->lane), sim.now - 15s);
}

TEST_F(MachineTest, TellsForHowLongAQuestionHasBeenOpen)
{
    join();
    sim.run([] { return false; }, 25s);
    EXPECT_EQ(a->machine.unanswered(a->lane, sim.now), Nanos{0}) << "all was answered";
    const auto alone = a->machine.add({}, sim.now);   // with nobody on the other side
    ASSERT_TRUE(alone.ok());
    a->machine.connect(*alone, 1, 1, sim.now);
    EXPECT_EQ(a->machine.unanswered(*alone, sim.now + 9s), Nanos{0});
    const TimePoint asked = sim.now + 10s;
    a->machine.run(asked);
    EXPECT_EQ(a->machine.unanswered(*alone, asked + 2s), 2s);
    EXPECT_LE(a->machine.next_timer(), asked + 500ms) << "the question may have been lost";
    a->machine.run(asked + 500ms);
    EXPECT_EQ(a->machine.unanswered(*alone, asked + 2s), 2s);
}

TEST_F(MachineTest, WhatIsNotAcknowledgedIsAQuestion)
{
    join();
    EXPECT_TRUE(a->machine.write_lane(a->lane, {}, std::array<std::byte, 8>{}));
    std::array<TxFrame, 4> frames;
    ASSERT_EQ(a->machine.produce(sim.now, frames), 1u);   // and lost
    EXPECT_EQ(a->machine.unanswered(a->lane, sim.now), Nanos{0});
    a->machine.run(sim.now + 100ms);
    EXPECT_EQ(a->machine.unanswered(a->lane, sim.now + 1100ms), 1s);
    a->machine.run(sim.now + 500ms);
    EXPECT_EQ(a->machine.unanswered(a->lane, sim.now + 1100ms), 1s) << "since it was asked first";
}

// The peer's questions about its credit arrive here, and look like answers: then they are what nobody answers.
TEST_F(MachineTest, WhoIsHeardByNobodyIsFoundOutByOneSide)
{
    join();
    a->send_lane(50);
    ASSERT_TRUE(sim.run([&] { return b->lane_received == 1; }, 10ms));
    sim.filter = [&](const Host& from, const TxFrame&) { return &from == a; };
    a->send_lane(50);
    EXPECT_TRUE(sim.run([&] { return a->machine.unanswered(a->lane, sim.now) > 2s || b->machine.unanswered(b->lane, sim.now) > 2s; }, 3s));
}

TEST_F(MachineTest, WhatTheNetworkRefusesForeverIsAQuestion)
{
    join();
    a->send_lane(50);
    a->give();
    const TimePoint first = sim.now;
    for (; sim.now < first + 1s; sim.now += 1ms) {
        TxFrame f;
        a->machine.run(sim.now);
        ASSERT_EQ(a->machine.produce(sim.now, {&f, 1}), 1u);
        a->machine.not_sent({&f, 1}, sim.now);
    }
    EXPECT_EQ(a->machine.unanswered(a->lane, sim.now), 1s);
    sim.run([] { return false; }, 100ms);
    EXPECT_EQ(b->lane_received, 1u);
    EXPECT_EQ(a->machine.unanswered(a->lane, sim.now), 0s);
}

TEST(MachineSizes, IdlePeerCostsLittle)
{
    EXPECT_LE(sizeof(Connection) + sizeof(Lane), 2048u);
    EXPECT_LE(sizeof(Connection) + sizeof(Bulk), 1024u);
    EXPECT_LE(sizeof(TrainTx), 512u);
    EXPECT_LE(sizeof(TrainRx), 512u);
}

// ---- what stands on the wire ----

TEST(FrameWire, HeadHasTheseBytes)
{
    wire::FrameHead h;
    h.kind = wire::FrameKind::kLane;
    h.flags.set(0x0102);
    h.bytes.set(0x0304);
    h.epoch.set(0x0506);
    h.connection.set(0x0708090a0b0c0d0eu);
    h.incarnation.set(0x0f101112);
    h.source.set(0x13141516);
    h.number.set(0x1718191a);
    h.ack.set(0x1b1c1d1e);
    h.sack.set(0x1f20212223242526u);
    h.credit.set(0x2728292a);
    h.held.set(0x2b2c2d2e);
    h.stamp.set(0x2f303132);
    h.echo.set(0x33343536);
    h.echo_delay.set(0x3738);
    h.returns = 0x39;
    h.returns_seen = 0x3a;
    h.crc.set(0x3b3c3d3e);
    const std::array<std::uint8_t, 64> golden{
        0x01, 0x01, 0x02, 0x01, 0x04, 0x03, 0x06, 0x05, 0x0e, 0x0d, 0x0c, 0x0b, 0x0a, 0x09, 0x08, 0x07, 0x12, 0x11, 0x10, 0x0f, 0x16, 0x15,
        0x14, 0x13, 0x1a, 0x19, 0x18, 0x17, 0x1e, 0x1d, 0x1c, 0x1b, 0x26, 0x25, 0x24, 0x23, 0x22, 0x21, 0x20, 0x1f, 0x2a, 0x29, 0x28, 0x27,
        0x2e, 0x2d, 0x2c, 0x2b, 0x32, 0x31, 0x30, 0x2f, 0x36, 0x35, 0x34, 0x33, 0x38, 0x37, 0x39, 0x3a, 0x3e, 0x3d, 0x3c, 0x3b};
    EXPECT_EQ(std::memcmp(&h, golden.data(), golden.size()), 0);
}

TEST(FrameWire, ChecksumIsThatOfRfc3720)
{
    const std::array<std::byte, 32> zeros{};
    EXPECT_EQ(wire::crc32c(zeros), 0x8a9136aau);
    std::array<std::byte, 32> ramp{};
    for (unsigned i = 0; i < ramp.size(); ++i) {
        ramp[i] = static_cast<std::byte>(i);
    }
    EXPECT_EQ(wire::crc32c(ramp), 0x46dd794eu);
    EXPECT_EQ(wire::crc32c(std::span{ramp}.subspan(5), wire::crc32c(std::span{ramp}.first(5))), 0x46dd794eu);
}

TEST(FrameWire, TrainsHaveABoundedNumberOfBlocks)
{
    EXPECT_EQ(wire::train_blocks(0, 100), 1u);
    EXPECT_EQ(wire::train_blocks(100, 100), 1u);
    EXPECT_EQ(wire::train_blocks(101, 100), 2u);
    EXPECT_EQ(wire::train_blocks(102'400, 100), 1024u);
    EXPECT_EQ(wire::train_blocks(102'401, 100), 0u);
    EXPECT_EQ(wire::train_blocks(1, 0), 0u);
}

}   // namespace
}   // namespace linnet::flow

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Machine: rows of lane frames, made and taken under one head. Those of blocks are in machine_test.cc, both under faults in flow_sim_test.cc.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "flow/machine.h"
#include "unit/flow/two_hosts.h"

namespace linnet::flow {
namespace {

class LaneRowTest : public TwoHosts {
protected:
    static constexpr std::size_t kFrames = 12;

    // A packet of kFrames frames, the last of them short, as one call makes them.
    void make()
    {
        Machine::Config config;
        config.first_credit = 40;
        join(config);
        const std::size_t bytes = (kFrames - 1) * a->machine.lane_payload(a->lane) + 5;
        packet_.resize(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
            packet_[i] = static_cast<std::byte>(i * 7);
        }
        ASSERT_TRUE(a->machine.write_lane(a->lane, {}, packet_));
        produce(kFrames);
    }
    // All that there is to send, in one call.
    void produce(std::size_t expected)
    {
        std::array<TxFrame, 32> out;
        const std::size_t n = a->machine.produce(sim.now, out);
        ASSERT_EQ(n, expected);
        for (const TxFrame& f : std::span{out}.first(n)) {
            EXPECT_EQ(f.kind, wire::FrameKind::kLane);
            EXPECT_EQ(f.number, out[0].number + frames_.size());
            frames_.emplace_back(f.head.begin(), f.head.begin() + f.head_bytes);
            frames_.back().insert(frames_.back().end(), f.payload.begin(), f.payload.end());
        }
    }
    Received receive(std::size_t i) { return b->machine.receive(frames_[i], sim.now); }
    bool next(const std::vector<std::byte>& frame) { return b->machine.receive_next(frame); }

    std::vector<std::byte> packet_;
    std::vector<std::vector<std::byte>> frames_;
};

TEST_F(LaneRowTest, SaysInEachHeadWhatOneMadeAloneWould)
{
    make();
    const wire::FrameHead first = head_of(frames_[0]);
    std::vector<std::byte> joined;
    for (std::size_t i = 0; i < kFrames; ++i) {
        const wire::FrameHead h = head_of(frames_[i]);
        EXPECT_EQ(h.number.get(), first.number.get() + i);
        EXPECT_EQ(h.bytes.get(), frames_[i].size() - sizeof h);
        const auto alike = changed(frames_[i], [&first](wire::FrameHead& other) {
            other.number = first.number;
            other.bytes = first.bytes;
        });
        EXPECT_EQ(std::memcmp(alike.data(), frames_[0].data(), sizeof h), 0) << i;
        const auto bytes = Machine::lane_bytes(frames_[i]);
        joined.insert(joined.end(), bytes.begin(), bytes.end());
    }
    EXPECT_EQ(joined, packet_);
    EXPECT_EQ(a->machine.stats().frames_out, kFrames);
}

TEST_F(LaneRowTest, IsTakenInOrderUnderOneHeadAndCountsLikeOthers)
{
    make();
    EXPECT_FALSE(next(frames_[0])) << "nothing was before it";
    EXPECT_EQ(receive(0).lane.size(), frames_[0].size() - sizeof(wire::FrameHead));
    EXPECT_FALSE(next(frames_[0])) << "a copy";
    EXPECT_FALSE(next(frames_[2])) << "one is missing";
    EXPECT_FALSE(next(changed(frames_[1], [](wire::FrameHead& h) { h.stamp.set(h.stamp.get() + 1); })));
    EXPECT_FALSE(next(changed(frames_[1], [](wire::FrameHead& h) { h.sack.set(1); })));
    EXPECT_FALSE(next(changed(frames_[1], [](wire::FrameHead& h) { h.connection.set(h.connection.get() + 1); })));
    EXPECT_FALSE(next(changed(frames_[1], [](wire::FrameHead& h) { h.flags.set(h.flags.get() | wire::frame_flag::kWantAck); })));
    EXPECT_FALSE(next(changed(frames_[1], [](wire::FrameHead& h) { h.bytes.set(static_cast<std::uint16_t>(h.bytes.get() + 1)); }))) << "longer than it is";
    EXPECT_FALSE(next({frames_[1].begin(), frames_[1].begin() + 20}));
    for (std::size_t i = 1; i + 1 < kFrames; ++i) {
        EXPECT_TRUE(next(frames_[i])) << i;
    }
    b->machine.end_row(sim.now);
    EXPECT_FALSE(next(frames_[kFrames - 1])) << "the row is over";
    EXPECT_EQ(receive(kFrames - 1).lane.size(), 5u);
    EXPECT_EQ(b->machine.stats().frames_in, kFrames);
    const wire::FrameHead answer = head_of(frame_of(*b));
    EXPECT_EQ(answer.kind, wire::FrameKind::kAck) << "more than ack_every";
    EXPECT_EQ(answer.ack.get(), head_of(frames_[0]).number.get() + kFrames);
    EXPECT_EQ(answer.sack.get(), 0u);
    EXPECT_GE(answer.credit.get(), kFrames + 40u);
    static_cast<void>(a->machine.receive(frame_of(*b), sim.now));
}

// What lies behind it has to be handed on first.
TEST_F(LaneRowTest, DoesNotBeginAtAGapNorBehindAFrameThatFillsOne)
{
    make();
    EXPECT_EQ(receive(0).drop, Drop::kNone);
    EXPECT_TRUE(receive(2).lane.empty());
    EXPECT_FALSE(next(frames_[3])) << "it is kept itself";
    const Received filled = receive(1);
    EXPECT_FALSE(filled.lane.empty());
    EXPECT_TRUE(filled.more);
    EXPECT_FALSE(next(frames_[3]));
    std::span<const std::byte> more;
    EXPECT_TRUE(b->machine.more_lane(filled.connection, more));
    EXPECT_FALSE(receive(3).lane.empty());
    EXPECT_TRUE(next(frames_[4]));
    b->machine.end_row(sim.now);
    EXPECT_EQ(receive(4).drop, Drop::kDuplicate);
    EXPECT_FALSE(next(frames_[5])) << "a copy begins none";
}

// In a gap it would be delivered as nothing, and what is kept behind it never.
TEST_F(LaneRowTest, FrameOfNothingIsRefused)
{
    make();
    const auto nothing = [&](std::size_t i) {
        auto frame = changed(frames_[i], [](wire::FrameHead& h) { h.bytes.set(0); });
        frame.resize(sizeof(wire::FrameHead));
        return b->machine.receive(frame, sim.now);
    };
    EXPECT_EQ(nothing(0).drop, Drop::kMismatch);
    EXPECT_EQ(receive(1).drop, Drop::kNone);
    EXPECT_EQ(nothing(0).drop, Drop::kMismatch);
    EXPECT_FALSE(receive(0).lane.empty()) << "its number is not used up";
}

TEST_F(LaneRowTest, LastFrameBeforeTheCreditEndsIsMadeAloneAndAsksForMore)
{
    Machine::Config config;
    config.first_credit = 6;
    config.ring_frames = config.control_reserve;   // and no more
    join(config);
    packet_.resize(20 * a->machine.lane_payload(a->lane));
    ASSERT_TRUE(a->machine.write_lane(a->lane, {}, packet_));
    produce(6);
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_EQ((head_of(frames_[i]).flags.get() & wire::frame_flag::kWantAck) != 0, i == 5) << i;
    }
    EXPECT_EQ(a->machine.stats().credit_stalls, 1u);
    EXPECT_EQ(receive(0).drop, Drop::kNone);
    std::size_t taken = 0;   // a peer that goes on beyond its credit
    for (std::uint32_t i = 1; i < 20; ++i) {
        const auto frame = changed(frames_[1], [&](wire::FrameHead& h) { h.number.set(head_of(frames_[0]).number.get() + i); });
        taken += next(frame) ? 1 : 0;
    }
    EXPECT_LT(taken, 12u);
    EXPECT_GE(taken, 5u);
    b->machine.end_row(sim.now);
}

TEST_F(LaneRowTest, LostFramesAreMadeAloneAndTheRowFollows)
{
    make();
    sim.now += std::chrono::milliseconds{50};
    a->machine.run(sim.now);   // nobody answered: the first and the last one again
    const std::vector<std::byte> more(3 * a->machine.lane_payload(a->lane));
    ASSERT_TRUE(a->machine.write_lane(a->lane, {}, more));
    std::array<TxFrame, 32> out;
    const std::size_t n = a->machine.produce(sim.now, out);
    ASSERT_EQ(n, 5u);
    const std::uint32_t first = head_of(frames_[0]).number.get();
    EXPECT_EQ(out[0].number, first);
    EXPECT_EQ(out[1].number, first + kFrames - 1);
    for (std::size_t i = 0; i < n; ++i) {
        wire::FrameHead h;
        std::memcpy(&h, out[i].head.data(), sizeof h);
        EXPECT_EQ((h.flags.get() & wire::frame_flag::kWantAck) != 0, i < 2) << i;
        EXPECT_EQ(out[i].number, i < 2 ? out[i].number : first + kFrames + i - 2);
    }
}

}   // namespace
}   // namespace linnet::flow

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Machine: what goes between hosts that sleep, each of whose frames wakes the other up.
#include <gtest/gtest.h>

#include "unit/flow/two_hosts.h"

namespace linnet::flow {
namespace {

using namespace std::chrono_literals;

class FlowSleepers : public TwoHosts {};

// To wake somebody up for an acknowledgement takes more than the acknowledgement is worth.
TEST_F(FlowSleepers, WhoSleepsIsAcknowledgedWithTheNextFrameOrLate)
{
    join();
    const auto arrives = [&](std::size_t bytes) {
        ASSERT_TRUE(write(*a, bytes));
        EXPECT_EQ(b->machine.receive(frame_of(*a), sim.now).drop, Drop::kNone);
    };
    arrives(100);   // the first credit, of either side
    ASSERT_TRUE(write(*b, 100));
    EXPECT_EQ(a->machine.receive(frame_of(*b), sim.now).drop, Drop::kNone);
    arrives(100);
    b->machine.flush_acks();
    EXPECT_EQ(head_of(frame_of(*b)).kind, wire::FrameKind::kAck) << "a peer that polls asks soon";
    a->machine.set_polling(false);
    b->machine.set_polling(false);
    arrives(100);
    const TimePoint began = sim.now;
    b->machine.flush_acks();
    EXPECT_TRUE(frame_of(*b).empty());
    b->machine.be_patient(sim.now);
    EXPECT_GE(b->machine.next_timer(), began + 3ms);
    ASSERT_TRUE(write(*b, 50));
    const auto answer = frame_of(*b);
    EXPECT_EQ(head_of(answer).kind, wire::FrameKind::kLane);
    EXPECT_EQ(a->machine.receive(answer, sim.now).drop, Drop::kNone);
    EXPECT_TRUE(a->machine.all_acked(a->lane));
    a->machine.flush_acks();
    EXPECT_TRUE(frame_of(*a).empty());
    sim.now += 4ms;
    a->machine.run(sim.now);
    EXPECT_EQ(head_of(frame_of(*a)).kind, wire::FrameKind::kAck) << "before the question";
    EXPECT_LT(sim.now, began + Timing{}.probe_floor_sleeping);
    // One that polls, of one that told it that it sleeps.
    a->machine.set_polling(true);
    arrives(100);
    b->machine.flush_acks();
    EXPECT_TRUE(frame_of(*b).empty());
    a->machine.be_patient(sim.now);
    EXPECT_GE(a->machine.next_timer(), sim.now + Timing{}.ack_delay_sleeping);
    // Two that do not sleep any more wait for no longer than any others, even behind frames of their sleep.
    b->machine.set_polling(true);
    ASSERT_TRUE(write(*b, 50));
    EXPECT_EQ(a->machine.receive(frame_of(*b), sim.now).drop, Drop::kNone);
    a->machine.set_polling(false);
    arrives(100);
    a->machine.set_polling(true);
    arrives(100);
    sim.now += Timing{}.ack_delay;
    b->machine.run(sim.now);
    EXPECT_EQ(head_of(frame_of(*b)).kind, wire::FrameKind::kAck);
}

// Ranks that share a core: of what they say of themselves only lanes are later, whose frames others ride on; trains are asked for as soon as ever.
TEST_F(FlowSleepers, WhoPollsInTurnsIsASleeperToLanesAlone)
{
    const auto polls = [](const std::vector<std::byte>& frame) { return (head_of(frame).flags.get() & wire::frame_flag::kPolling) != 0; };
    join();
    a->machine.set_polling(true, true);
    for (unsigned i = 0; i < 2; ++i) {   // the first credit, of either side
        ASSERT_TRUE(write(*a, 100));
        EXPECT_EQ(b->machine.receive(frame_of(*a), sim.now).drop, Drop::kNone);
        ASSERT_TRUE(write(*b, 100));
        EXPECT_EQ(a->machine.receive(frame_of(*b), sim.now).drop, Drop::kNone);
    }
    ASSERT_TRUE(write(*a, 100));
    const auto lane = frame_of(*a);
    EXPECT_EQ(head_of(lane).kind, wire::FrameKind::kLane);
    EXPECT_FALSE(polls(lane));
    a->send_bulk(100, 100);
    a->give();
    const auto block = frame_of(*a);
    EXPECT_EQ(head_of(block).kind, wire::FrameKind::kBlock);
    EXPECT_TRUE(polls(block));
    EXPECT_EQ(b->machine.receive(lane, sim.now).drop, Drop::kNone);
    b->machine.flush_acks();
    EXPECT_TRUE(frame_of(*b).empty()) << "with the next frame, or late";
    a->machine.set_polling(true);
    ASSERT_TRUE(write(*a, 100));
    EXPECT_TRUE(polls(frame_of(*a)));
}

TEST_F(FlowSleepers, ManyFramesOfASleeperAreAcknowledgedAtOnce)
{
    Machine::Config config;
    config.ack_every = 4;
    join(config);
    a->machine.set_polling(false);
    unsigned acks = 0;
    for (unsigned i = 0; i < 16; ++i) {
        ASSERT_TRUE(write(*a, 1000));
        EXPECT_EQ(b->machine.receive(frame_of(*a), sim.now).drop, Drop::kNone);
        b->machine.flush_acks();
        if (const auto ack = frame_of(*b); !ack.empty()) {
            ++acks;
            EXPECT_EQ(a->machine.receive(ack, sim.now).drop, Drop::kNone);
        }
    }
    EXPECT_GE(acks, 4u);
    EXPECT_LE(acks, 6u);
}

// Else a timer wakes up who computes, for a question that the peer's wake-up answers anyhow.
TEST_F(FlowSleepers, WhoSleepsAsksAsLateAsForAPeerThatSleepsButNotLater)
{
    const Timing timing;
    join();
    ASSERT_TRUE(write(*a, 100));
    const TimePoint sent = sim.now;
    const auto lost = frame_of(*a);
    EXPECT_EQ(a->machine.next_timer(), sent + timing.probe_floor_polling);
    for (unsigned i = 0; i < 8; ++i, sim.now += 500us) {
        a->machine.set_polling(false);
        a->machine.be_patient(sim.now);
        EXPECT_EQ(a->machine.next_timer(), sent + timing.probe_floor_sleeping) << i;
        a->machine.set_polling(true);
    }
    sim.now = sent + timing.probe_floor_sleeping;
    a->machine.run(sim.now);
    EXPECT_EQ(head_of(frame_of(*a)).number.get(), head_of(lost).number.get());
    a->machine.set_polling(false);   // sent in its sleep
    ASSERT_TRUE(write(*b, 100));
    EXPECT_EQ(a->machine.receive(frame_of(*b), sim.now).drop, Drop::kNone);
    ASSERT_TRUE(write(*a, 100));
    EXPECT_FALSE(frame_of(*a).empty());
    a->machine.be_patient(sim.now);
    EXPECT_GE(a->machine.next_timer(), sim.now + timing.ack_delay_sleeping);
}

}   // namespace
}   // namespace linnet::flow

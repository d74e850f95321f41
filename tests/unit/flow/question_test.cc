// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// When a sender asks what became of its blocks, and a receiver for those that it misses: not in vain, not too late, and once.
#include <chrono>

#include "unit/flow/two_hosts.h"

namespace linnet::flow {
namespace {

using namespace std::chrono_literals;

class QuestionTest : public TwoHosts {};

TEST_F(QuestionTest, NoneIsAskedAboutWhatWasAnswered)
{
    join();
    for (unsigned i = 1; i <= 5; ++i) {
        a->send_bulk(100000, 100000);
        ASSERT_TRUE(sim.run([&] { return b->bulk_received == i && a->done(); }, 100ms));
        sim.run([] { return false; }, 8ms);
    }
    EXPECT_EQ(a->machine.stats().timeouts, 0u);
    EXPECT_EQ(a->machine.stats().probes_out, 0u);
}

// Nothing of the train arrives, so only its sender can ask; frames of the other direction, which say nothing new about it, do not put that off.
TEST_F(QuestionTest, LostTrainIsAskedAboutWhileThePeerStreams)
{
    Machine::Config config;
    config.trains_open = 8;
    config.bulk_share = 1024;
    config.trains = 128;
    join(config);
    a->send_bulk(100000, 100000);
    ASSERT_TRUE(sim.run([&] { return b->bulk_received == 1 && a->done(); }, 100ms));
    bool lose = true;
    sim.filter = [&](const sim::Host& from, const TxFrame& f) { return &from == a && f.kind == wire::FrameKind::kBlock && std::exchange(lose, false); };
    std::uint64_t streamed = 0;
    const auto stream = [&] {
        for (; streamed < a->bulk_received + 4; ++streamed) {
            b->send_bulk(1000000, 1000000);
        }
    };
    stream();
    sim.run([] { return false; }, 1ms);
    const TimePoint end = sim.now + 20ms;
    a->send_bulk(1000, 1000);
    while (sim.now < end && b->bulk_received < 2) {
        stream();
        sim.run([&] { return b->bulk_received == 2 || streamed < a->bulk_received + 4; }, 1ms);
    }
    EXPECT_FALSE(lose);
    EXPECT_EQ(b->bulk_received, 2u);
    EXPECT_GT(streamed, a->bulk_received) << "the peer streams still";
}

// A receiver that lent all its places waits for one to ask for what it lost. Its own timer brings some back, it asks, its frame is the last of a batch, and it
// has more to ask for: places are given to those that wait, of which it is the first, amid its own turn.
class WaitingForPlaces : public TwoHosts {
protected:
    // Nine others, so that nearly all places are lent; then three messages of the tenth, whose blocks the test carries by hand.
    void SetUp() override
    {
        Machine::Config config;
        config.ring_frames = 512;
        config.control_reserve = 64;
        config.trains_open = 8;
        config.bulk_share = 1024;
        config.trains = 128;
        a = &sim.add(config);
        b = &sim.add(config);
        for (unsigned i = 0; i < 9; ++i) {
            others_.push_back(&sim.add(config));
            others_.back()->join(*b);
            others_.back()->next_message = 100 * (i + 1);
        }
        a->join(*b);
        for (unsigned round = 0; round < 3; ++round) {
            for (sim::Host* const o : others_) {
                o->send_bulk(30000, 30000);
            }
            a->send_bulk(30000, 30000);
            ASSERT_TRUE(sim.run([&] { return a->done() && std::ranges::all_of(others_, [](const sim::Host* o) { return o->done(); }); }, 100ms));
        }
        const std::size_t block = a->machine.block_payload();
        for (const std::size_t blocks : {20u, 40u, 5u}) {
            a->send_bulk(blocks * block, blocks * block);
        }
        a->give();
        for (auto frame = frame_of(*a); !frame.empty(); frame = frame_of(*a)) {
            frames_.push_back(std::move(frame));
        }
        ASSERT_EQ(frames_.size(), 65u);
    }
    // A block of the first, second or third message.
    void arrives(unsigned message, unsigned block)
    {
        constexpr unsigned kFirst[] = {0, 20, 60};
        b->take(b->machine.receive(frames_[kFirst[message] + block], sim.now));
    }
    // All that the receiver says, a frame at a time; how many of it are questions.
    unsigned questions()
    {
        unsigned n = 0;
        for (auto frame = frame_of(*b); !frame.empty(); frame = frame_of(*b)) {
            n += head_of(frame).kind == wire::FrameKind::kPull ? 1 : 0;
        }
        return n;
    }

    std::vector<sim::Host*> others_;
    std::vector<std::vector<std::byte>> frames_;
};

TEST_F(WaitingForPlaces, OneThatIsServedAmidItsOwnTurnHasOneMore)
{
    for (unsigned i = 0; i < 10; ++i) {
        arrives(0, i);
    }
    EXPECT_EQ(questions(), 0u);
    for (unsigned i = 13; i < 20; ++i) {   // 10 to 12 are lost
        arrives(0, i);
    }
    for (unsigned i = 0; i < 5; ++i) {
        arrives(1, i);
    }
    b->machine.set_ring_frames(64 + b->machine.credit().lent());   // it overflowed: no place is left
    EXPECT_EQ(questions(), 0u);
    arrives(2, 0);
    EXPECT_EQ(questions(), 1u) << "for the one place that came back";
    sim.now += 100us;
    b->machine.run(sim.now);   // what is missing of the second message counts as lost now
    EXPECT_GE(questions(), 1u);
    EXPECT_FALSE(b->machine.has_output());
}

}   // namespace
}   // namespace linnet::flow

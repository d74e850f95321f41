// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// When a lane frame that is missing among others goes out again: at once, or only when it can no longer be on its way.
#include <chrono>

#include "unit/flow/two_hosts.h"

namespace linnet::flow {
namespace {

using namespace std::chrono_literals;

// Lost frames among others, carried by hand.
class LossTest : public TwoHosts {
protected:
    void SetUp() override
    {
        join();
        ASSERT_TRUE(write(*a, 10));
        arrives(frame_of(*a));
        answer();
    }
    void arrives(const std::vector<std::byte>& frame)
    {
        std::span<const std::byte> kept;
        for (const Received r = b->machine.receive(frame, sim.now); b->machine.more_lane(r.connection, kept);) {
        }
    }
    // What b has to say now, and with it what it has heard.
    void answer()
    {
        ASSERT_TRUE(write(*b, 10));
        static_cast<void>(a->machine.receive(frame_of(*b), sim.now));
    }
    // The next lane frame of a's; what else goes before it arrives. Nothing: there is none.
    std::vector<std::byte> lane_frame()
    {
        for (;;) {
            auto frame = frame_of(*a);
            if (frame.empty() || head_of(frame).kind == wire::FrameKind::kLane) {
                return frame;
            }
            arrives(frame);
        }
    }
    std::vector<std::vector<std::byte>> five()
    {
        std::vector<std::vector<std::byte>> frames;
        for (int i = 0; i < 5; ++i) {
            EXPECT_TRUE(write(*a, 1000));
            frames.push_back(lane_frame());
        }
        return frames;
    }
    // Of five frames the second is lost, and goes out again. Did it as soon as three behind it had arrived?
    bool lost_one_goes_again_at_once()
    {
        const auto frames = five();
        for (const std::size_t i : {0u, 2u, 3u, 4u}) {
            arrives(frames[i]);
        }
        answer();
        auto again = lane_frame();
        const bool at_once = !again.empty();
        if (!at_once) {
            sim.now += 2ms;
            a->machine.run(sim.now);
            again = lane_frame();
        }
        EXPECT_EQ(head_of(again).number.get(), head_of(frames[1]).number.get());
        sim.now += 1us;
        arrives(again);
        while (!lane_frame().empty()) {   // a probe as well, which is lost
        }
        answer();
        sim.now += 20us;
        return at_once;
    }
};

TEST_F(LossTest, QuestionInVainDoesNotSayThatFramesOvertakeEachOther)
{
    ASSERT_TRUE(write(*a, 10));
    arrives(frame_of(*a));
    ASSERT_TRUE(write(*b, 10));
    const auto late = frame_of(*b);
    sim.now += 100ms;
    a->machine.run(sim.now);
    EXPECT_FALSE(lane_frame().empty());
    static_cast<void>(a->machine.receive(late, sim.now));
    EXPECT_EQ(a->machine.stats().spurious, 1u);
    EXPECT_TRUE(lost_one_goes_again_at_once());
}

TEST_F(LossTest, AfterManyRealLossesOneThatOvertookOthersIsForgotten)
{
    const auto frames = five();
    for (const std::size_t i : {1u, 2u, 3u, 4u}) {
        arrives(frames[i]);
    }
    sim.now += 10us;
    answer();
    EXPECT_FALSE(lane_frame().empty());
    arrives(frames[0]);   // not lost after all
    answer();
    EXPECT_EQ(a->machine.stats().spurious, 1u);
    sim.now += 1ms;
    for (int i = 0; i < 16; ++i) {
        EXPECT_FALSE(lost_one_goes_again_at_once()) << i;
    }
    EXPECT_TRUE(lost_one_goes_again_at_once());
    EXPECT_EQ(a->machine.stats().spurious, 1u);
}

}   // namespace
}   // namespace linnet::flow

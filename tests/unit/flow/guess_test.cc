// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A guess over an open question: the question, or its answer, was lost, or the sender has no core and hears both late.
#include <chrono>

#include "unit/flow/two_hosts.h"

namespace linnet::flow {
namespace {

using namespace std::chrono_literals;

// Of a train of 30 blocks the first ten arrive. A guess brings one more, after which a question for the other 19 is on its way; then a guess over that.
class GuessTest : public TwoHosts {
protected:
    void SetUp() override
    {
        ten_of_thirty_blocks();
        EXPECT_TRUE(question().empty());
        wait(1ms);
        hears(question());
        b->take(b->machine.receive(frame_of(*a), sim.now));
        wait(50us);
        question_ = question();
        ASSERT_FALSE(question_.empty());
        wait(10ms);
        guess_ = question();
        ASSERT_FALSE(guess_.empty());
        EXPECT_NE(head_of(guess_).flags.get() & wire::frame_flag::kAgain, 0);
        EXPECT_TRUE(question().empty());
    }
    void wait(Nanos time)
    {
        sim.now += time;
        b->machine.run(sim.now);
    }
    // The next pull of the receiver; empty: it has none.
    std::vector<std::byte> question()
    {
        auto frame = frame_of(*b);
        while (!frame.empty() && head_of(frame).kind != wire::FrameKind::kPull) {
            frame = frame_of(*b);
        }
        return frame;
    }
    void hears(const std::vector<std::byte>& frame) { EXPECT_EQ(a->machine.receive(frame, sim.now).drop, Drop::kNone); }

    std::vector<std::byte> question_;
    std::vector<std::byte> guess_;
};

TEST_F(GuessTest, NothingIsAskedForTwiceWhenTheAnswerToBothBegins)
{
    hears(question_);
    hears(guess_);
    unsigned answers = 0;
    for (auto frame = frame_of(*a); !frame.empty() && b->bulk_received == 0; frame = frame_of(*a)) {
        ++answers;
        b->take(b->machine.receive(frame, sim.now));
        wait(2us);
        EXPECT_TRUE(question().empty()) << "after answer " << answers;
    }
    EXPECT_EQ(answers, 19u);
    EXPECT_EQ(b->bulk_received, 1u);
    EXPECT_EQ(a->machine.stats().blocks_again, 20u);
}

TEST_F(GuessTest, TheRestOfAQuestionThatWasLostIsAskedForSoon)
{
    hears(guess_);
    b->take(b->machine.receive(frame_of(*a), sim.now));
    wait(50us);
    const auto rest = question();
    ASSERT_FALSE(rest.empty());
    hears(rest);
    for (auto frame = frame_of(*a); !frame.empty() && b->bulk_received == 0; frame = frame_of(*a)) {
        b->take(b->machine.receive(frame, sim.now));
    }
    EXPECT_EQ(b->bulk_received, 1u);
}

}   // namespace
}   // namespace linnet::flow

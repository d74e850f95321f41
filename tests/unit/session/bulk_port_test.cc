// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Where the bulk link opens while the lane is on a transport that is for lanes alone: where the lane came from, or with the lane.
#include "support/pace.h"
#include "unit/session/two_networks.h"

namespace linnet::session {
namespace {

// The second network is for lanes alone, and short messages have moved the lane there.
void lanes_alone(TwoNetworks& n)
{
    n.a->layer.lane_only(*n.second[0]);
    n.b->layer.lane_only(*n.second[1]);
    n.pingpong(8, 2000);
    EXPECT_TRUE(n.lane_on_second());
}

class LanesAloneTest : public LanesTest {
protected:
    LanesAloneTest()
    {
        lanes_alone(*this);
        EXPECT_EQ(bulk_links(), 0u);
    }
    // What a asks of the lane: the least bytes that leave it, and what of them goes with the announcement.
    auto asked()
    {
        MutexLock guard{to_b->lock};
        return std::pair{a->layer.lane_worth(*to_b), a->layer.first_fragment(*to_b)};
    }
};

TEST_F(LanesAloneTest, BulkLinkOpensWhereTheLaneCameFrom)
{
    EXPECT_TRUE(push(*a));
    EXPECT_FALSE(on_second());
    EXPECT_TRUE(push(*b));
    EXPECT_EQ(bulk_links(), 1u);
    EXPECT_TRUE(lane_on_second());
}

// ---- frames ----

// Between 1000 and 2000 bytes the first network, which is quicker up to there, needs a second frame.
TEST_F(LanesTest, MessagesThatOneFrameDoesNotHoldGoWhereThatCostsLess)
{
    for (auto& t : second) {
        t->expect(2500ns, 0.5);   // the first: 2 us, 1 byte per ns
    }
    pingpong(2000, 1000);
    EXPECT_FALSE(lane_on_second());
    a->transport.more_frames_take(4us);
    b->transport.more_frames_take(4us);
    pingpong(1000, 1000);
    EXPECT_FALSE(lane_on_second());
    pingpong(2000, 1000);
    EXPECT_TRUE(lane_on_second());
    pingpong(1000, 2000);
    EXPECT_FALSE(lane_on_second()) << "what a frame holds is known while the lane is elsewhere";
}

// ---- losses ----

// On the first network frames are lost, as its transport tells who sends. The second one is slower in all but that.
class LossesTest : public LanesTest {
protected:
    LossesTest()
    {
        a->layer.lane_only(*second[0]);
        b->layer.lane_only(*second[1]);
        for (auto& t : second) {
            t->expect(1900ns, 0.2);
        }
    }
    void loses(unsigned of_a_thousand)
    {
        a->transport.loses(of_a_thousand);
        b->transport.loses(of_a_thousand);
    }
    // Messages of 8000 bytes in a row, some of them real.
    void stream(SessionNode& from, unsigned count)
    {
        NodePeer& out = &from == a ? *to_b : *to_a;
        NodePeer& in = &from == a ? *to_a : *to_b;
        for (unsigned i = 0; i < count; ++i) {
            {
                MutexLock guard{out.lock};
                from.layer.message_sent(out, 8000);
            }
            if (i % 16 == 0) {
                from.send(out, 8000);
            }
            (&from == a ? b : a)->layer.message_came(in, 8000);
            step();
            world.clock.advance(50us);
        }
    }
};

TEST_F(LossesTest, LaneLeavesThemWhoeverSendsAndComesBackWhenTheyEnd)
{
    for (SessionNode* const from : {a, b}) {
        stream(*from, 2000);
        EXPECT_FALSE(lane_on_second());
        loses(10);
        stream(*from, 4000);
        EXPECT_TRUE(lane_on_second());
        stream(*from, 4000);
        EXPECT_TRUE(lane_on_second()) << "the other side, which sees no loss, lets it be";
        loses(0);
        run_for(11s);
        stream(*from, 4000);
        EXPECT_FALSE(lane_on_second());
        EXPECT_EQ(lanes(), 1u);
    }
}

// The side that always chooses leads the lane back when it may; the one that loses frames need not wait before it leaves again.
TEST_F(LossesTest, WhoeverSendsIsOffThemForMostOfTheTimeTheyGoOn)
{
    constexpr unsigned kLooks = 120;   // 24 s
    for (SessionNode* const from : {a, b}) {
        loses(10);
        stream(*from, 4000);
        unsigned off = 0;
        for (unsigned i = 0; i < kLooks; ++i) {
            stream(*from, 4000);
            off += lane_on_second() ? 1 : 0;
        }
        EXPECT_GE(off, kLooks * 9 / 10);
        loses(0);
        run_for(11s);
        stream(*from, 4000);
        EXPECT_FALSE(lane_on_second());
    }
}

TEST_F(LossesTest, OfOneInTenThousandAreBorne)
{
    loses(0);
    stream(*a, 500);
    for (unsigned i = 0; i < 20; ++i) {
        loses(i % 10 == 0 ? 1 : 0);
        stream(*a, 400);
    }
    EXPECT_FALSE(lane_on_second());
    EXPECT_EQ(moves(*a), 0u);
}

TEST_F(LossesTest, BulkDataLeavesThemToo)
{
    ASSERT_TRUE(connect(*a));
    first_takes = 8ms;
    second_takes = 5ms;
    transfers(*a, 200);
    EXPECT_FALSE(on_second()) << "it is for lanes alone";
    loses(10);
    first_takes = 60ms;
    second_takes = 12ms;
    transfers(*a, 60);
    EXPECT_TRUE(on_second());
    loses(0);
    first_takes = 8ms;
    run_for(11s);
    transfers(*a, 120);
    EXPECT_FALSE(on_second());
    EXPECT_EQ(bulk_links(), 1u);
    EXPECT_TRUE(push(*a));
}

// The port before which they meet may be what loses their frames.
TEST_F(LossesTest, BulkDataOfSeveralSendersLeavesThemOneAfterTheOther)
{
    world.config.path_choice.trial_pause = 300ms;
    SessionNode& c = add_third();
    c.layer.lane_only(*second.back());
    second.back()->expect(1900ns, 0.2);
    ASSERT_TRUE(connect(*a));
    ASSERT_TRUE(connect(c));
    loses(10);
    c.transport.loses(10);
    first_takes = 60ms;
    second_takes = 12ms;
    TimePoint first{};
    for (int i = 0; i < 400 && other.links_up(LinkRole::kBulk) < 2; ++i) {   // both see their losses at the same time
        transfer(*a);
        transfer(c);
        first = first == TimePoint{} && on_second() ? world.clock.now() : first;
    }
    EXPECT_EQ(other.links_up(LinkRole::kBulk), 2u);
    EXPECT_GE(world.clock.now() - first, 800ms);   // both transfers of a round take time
    EXPECT_LE(world.clock.now() - first, 13s);   // 3 s, but where the refusal was lost with its connection, which looks like any failure
    EXPECT_GE(b->counters.get(Counter::kRefusedHellos), 1u);
    EXPECT_LE(b->counters.get(Counter::kRefusedHellos), 4u);
}

// Only a trial waits. A link that is opened again, or goes back where it was, may have nowhere else to go.
TEST_F(LossesTest, LinksThatComeBackNeedNoTurn)
{
    SessionNode& c = add_third();
    c.layer.lane_only(*second.back());
    second.back()->expect(1900ns, 0.2);
    for (SessionNode* const n : {a, &c}) {
        ASSERT_TRUE(connect(*n));
        n->transport.loses(10);
    }
    first_takes = 60ms;
    second_takes = 12ms;
    for (int i = 0; i < 400 && other.links_up(LinkRole::kBulk) < 2; ++i) {
        transfer(*a);
        transfer(c);
    }
    ASSERT_EQ(other.links_up(LinkRole::kBulk), 2u);
    const std::uint64_t refused = b->counters.get(Counter::kRefusedHellos);
    run_for(11s);
    std::size_t least = 2;
    for (int i = 0; i < 2000; ++i) {   // trials of home, which are lost, and the ways back from them
        transfer(*a);
        transfer(c);
        least = std::min(least, other.links_up(LinkRole::kBulk));
    }
    EXPECT_EQ(other.links_up(LinkRole::kBulk), 2u);
    EXPECT_LT(least, 2u);
    EXPECT_EQ(b->counters.get(Counter::kRefusedHellos), refused);
}

TEST_F(LossesTest, BulkDataStaysWhereTheOtherWayIsNoBetter)
{
    ASSERT_TRUE(connect(*a));
    loses(10);
    first_takes = 40ms;
    second_takes = 60ms;
    transfers(*a, 200);
    EXPECT_FALSE(on_second());
    EXPECT_LE(moves(*a), 4u) << "trials";
}

TEST_F(LanesAloneTest, LongerMessagesLeaveTheLaneBeforeThereIsABulkLink)
{
    for (auto& t : second) {
        t->expect(1200ns, 0.5);
    }
    const auto before = asked();
    EXPECT_NEAR(static_cast<double>(before.first), 3200, 1) << "2 us and 1.2 us, for 1 ns a byte";
    EXPECT_EQ(before.second, 0u);
    EXPECT_TRUE(push(*a));
    EXPECT_EQ(asked(), before);
}

TEST_F(LanesAloneTest, MessagesStayOnTheLaneLongerWhereTheirQuestionsWaitForACore)
{
    for (auto& t : second) {
        t->expect(1200ns, 0.5);
    }
    core_wait = 10us;
    EXPECT_NEAR(static_cast<double>(asked().first), 23200, 1) << "2 us, 1.2 us and twice 10 us, for 1 ns a byte";
    core_wait = 0us;
    EXPECT_NEAR(static_cast<double>(asked().first), 3200, 1);
}

TEST_F(LanesAloneTest, LaneThatAsksLeavesSoonerWhereQuestionsWaitForACore)
{
    for (auto& t : second) {
        t->expect(1200ns, 0.5);
    }
    EXPECT_TRUE(push(*a));
    run_for(1s);   // so that no move follows another soon
    pingpong(16384, 100);
    EXPECT_TRUE(lane_on_second()) << "asked for in 20.8 us, where 18.4 were due";
    core_wait = 30us;
    pingpong(16384, 100);
    EXPECT_FALSE(lane_on_second()) << "34 us, since asking takes longer";
}

TEST_F(LanesAloneTest, WayBackThatFailsIsLeftForTheLane)
{
    world.net.faults.timed_out = 1;
    EXPECT_TRUE(push(*a));
    EXPECT_TRUE(on_second());
    EXPECT_EQ(bulk_links(), 1u);
    EXPECT_EQ(asked(), (std::pair{SIZE_MAX, SIZE_MAX}));
    EXPECT_TRUE(push(*b));
    world.net.faults.timed_out = 0;
}

// It would have cost the peer after connect_timeout, which is 2 s here and 30 s in life.
TEST_F(LanesAloneTest, WayBackThatHangsIsLeftForTheLane)
{
    world.net.faults.hang = 1;
    static_cast<void>(push(*a));
    run_for(2100ms);
    EXPECT_TRUE(push(*a));
    EXPECT_TRUE(on_second());
    EXPECT_EQ(bulk_links(), 1u);
    EXPECT_TRUE(push(*b));
    world.net.faults.hang = 0;
}

TEST_F(LanesAloneTest, RowsOfLongMessagesBringTheLaneBack)
{
    run_for(1s);
    for (unsigned i = 0; i < 2000 && lane_on_second(); ++i) {
        {
            MutexLock guard{to_b->lock};
            a->layer.message_sent(*to_b, 65536);
        }
        step();
    }
    EXPECT_TRUE(run_until([this] { return !lane_on_second(); }));
}

// ---- after the way back failed ----

TEST_F(LanesAloneTest, BulkDataThatWentWithTheLaneIsMovedWhereItIsFaster)
{
    is_asked(*a);
    world.net.faults.timed_out = 1;
    ASSERT_TRUE(push(*a));
    world.net.faults.timed_out = 0;
    ASSERT_TRUE(on_second());
    first_takes = 2ms;
    second_takes = 20ms;
    transfers(*a, 400);
    EXPECT_FALSE(on_second());
}

TEST_F(LanesAloneTest, SoItIsAfterAPeerThatWasStopped)
{
    is_asked(*a);
    world.net.faults.hang = 1;
    static_cast<void>(wants_bulk(*a));
    run_for(2100ms);
    world.net.faults.hang = 0;
    ASSERT_TRUE(push(*a));
    first_takes = 2ms;
    second_takes = 20ms;
    transfers(*a, 400);
    EXPECT_FALSE(on_second());
}

TEST_F(LanesAloneTest, WayBackIsTriedAgainWhereTheLaneTakesNoBulkLink)
{
    world.net.faults.timed_out = other.faults.timed_out = 1;
    static_cast<void>(wants_bulk(*a));
    ASSERT_TRUE(run_until([&] { return world.net.next_event() > world.clock.now() + 500ms; }));
    world.net.faults.timed_out = 0;   // that one attempt fails, and no other there
    run_for(6s);
    EXPECT_EQ(to_b->downs, 0);
    EXPECT_TRUE(push(*a));
}

// As a firewall may answer, or one that let only the other side open.
TEST_F(LanesAloneTest, WayBackThatRefusesSaysNothingOfAPeerWhoseLaneIsUp)
{
    b->transport.kill();
    static_cast<void>(wants_bulk(*a));
    run_for(100ms);
    EXPECT_EQ(to_b->downs, 0);
    b->send(*to_a, 10);
    EXPECT_TRUE(push(*a));
}

TEST_F(LanesAloneTest, BulkLinkThatHangsWhereTheLaneWasOpensWithIt)
{
    run_for(1s);
    pingpong(8000, 3000);
    ASSERT_FALSE(lane_on_second());
    run_for(1s);
    world.net.faults.hang = 1;
    static_cast<void>(wants_bulk(*a));
    pingpong(8, 4000);
    EXPECT_TRUE(lane_on_second());
    run_for(6s);
    EXPECT_EQ(to_b->downs, 0);
    EXPECT_TRUE(push(*a));
    world.net.faults.hang = 0;
}

TEST_F(LanesTest, WhatTheLaneLostIsNoWayBack)
{
    a->layer.lane_only(*second[0]);
    b->layer.lane_only(*second[1]);
    world.net.faults.timed_out = 1;
    world.net.break_all(a->transport, LinkRole::kLane);
    run_for(1500ms);
    a->send(*to_b, 10);
    ASSERT_TRUE(drained());
    ASSERT_TRUE(lane_on_second());
    const TimePoint began = world.clock.now();
    EXPECT_TRUE(push(*a));
    EXPECT_TRUE(on_second());
    EXPECT_LT(world.clock.now() - began, 900ms) << "not by way of a transport that has just failed";
    world.net.faults.timed_out = 0;
}

class ShortTimeoutTest : public ::testing::Test, public TwoNetworks {
protected:
    ShortTimeoutTest() : TwoNetworks{testing::test_seed(1), true, 900ms}
    {
        for (auto& t : second) {
            t->expect(1200ns, 0.5);
        }
        a->send(*to_b, 10);
        EXPECT_TRUE(drained());
        lanes_alone(*this);
    }
    void TearDown() override
    {
        static_cast<void>(push(*a));
        run_for(4s);
        EXPECT_EQ(to_b->downs + to_a->downs, 0);
        EXPECT_TRUE(push(*a));
        EXPECT_EQ(world.complaints(), "");
    }
};

TEST_F(ShortTimeoutTest, WayBackThatHangsDoesNotCostThePeer) { world.net.faults.hang = 1; }
TEST_F(ShortTimeoutTest, WayBackThatFailsDoesNotCostThePeer) { world.net.faults.timed_out = 1; }

TEST_F(LanesAloneTest, TransportsThatAreAlmostEqualAreWorthNoQuestion)
{
    for (auto& t : second) {
        t->expect(1200ns, 1.0);
    }
    a->transport.expect(20us, 1.0000000000000002);
    EXPECT_EQ(asked().first, SIZE_MAX);
}

// ---- both sides ----

// Without a fault, and with delays as of hosts that share a core.
TEST(BothWantBulk, EndWithOneLinkWhereTheLaneCameFrom)
{
    const auto runs = static_cast<std::uint64_t>(testing::paced(150));
    const std::uint64_t seed = testing::test_seed(1);
    for (const Nanos delay : {Nanos{200us}, Nanos{2ms}, Nanos{8ms}, Nanos{40ms}}) {
        for (std::uint64_t run = 0; run < runs; ++run) {
            TwoNetworks n{seed + run};
            for (auto& t : n.second) {
                t->expect(1200ns, 0.5);
            }
            n.a->send(*n.to_b, 10);
            ASSERT_TRUE(n.drained());
            lanes_alone(n);
            n.world.net.faults.delay_max = n.other.faults.delay_max = delay;
            for (SessionNode* const x : {n.a, n.b}) {
                n.is_asked(*x);
                static_cast<void>(n.wants_bulk(*x));
            }
            n.run_for(500ms);
            ASSERT_TRUE(n.push(*n.a)) << "seed " << seed + run;
            ASSERT_TRUE(n.push(*n.b)) << "seed " << seed + run;
            ASSERT_EQ(n.bulk_links(), 1u) << "seed " << seed + run;
            ASSERT_EQ(n.to_a->downs + n.to_b->downs, 0) << "seed " << seed + run;
            if (n.on_second()) {   // an attempt that gave way may count as one that failed
                n.first_takes = 2ms;
                n.second_takes = 20ms;
                n.transfers(*n.a, 200);
                ASSERT_FALSE(n.on_second()) << "seed " << seed + run;
            }
            ASSERT_EQ(n.world.complaints(), "") << "seed " << seed + run;
        }
    }
}

// Everything but a broken lane.
TEST(BulkUnderFaults, EndsWithOneLinkAndLosesNobody)
{
    const auto runs = static_cast<std::uint64_t>(testing::paced(300));
    const std::uint64_t seed = testing::test_seed(1);
    for (std::uint64_t run = 0; run < runs; ++run) {
        std::mt19937_64 random{seed + run};
        TwoNetworks n{random()};
        for (auto& t : n.second) {
            t->expect(1200ns, 0.5);
        }
        n.a->send(*n.to_b, 10);
        ASSERT_TRUE(n.drained());
        lanes_alone(n);
        for (SimNet* const net : {&n.world.net, &n.other}) {
            net->faults.delay_max = Nanos{static_cast<std::int64_t>(random() % 3 == 0 ? 20'000'000 : random() % 2 == 0 ? 3'000'000 : 20'000)};
        }
        for (unsigned i = 0; i < 25; ++i) {
            for (SimNet* const net : {&n.world.net, &n.other}) {
                net->faults.hang = net == &n.world.net && random() % 2 == 0 ? 0.4 : 0;   // the other one's transport bounds its attempts itself
                net->faults.no_resource = random() % 4 == 0 ? 0.3 : 0;
                net->faults.timed_out = random() % 4 == 0 ? 0.3 : 0;
            }
            for (SessionNode* const x : {n.a, n.b}) {
                if (random() % 2 == 0) {
                    n.is_asked(*x);
                }
                if (random() % 2 == 0) {
                    static_cast<void>(n.wants_bulk(*x));
                }
            }
            n.run_for(Nanos{static_cast<std::int64_t>(random() % (random() % 3 == 0 ? 4'000'000'000u : 60'000'000u))});
            if (random() % 4 == 0) {
                n.pingpong(8, static_cast<unsigned>(random() % 2000));
            }
            if (random() % 3 == 0) {
                n.world.net.break_all(random() % 2 == 0 ? n.a->transport : n.b->transport, LinkRole::kBulk);
            }
            if (random() % 3 == 0) {
                n.other.break_all(*n.second[random() % 2], LinkRole::kBulk);
            }
        }
        for (SimNet* const net : {&n.world.net, &n.other}) {
            net->faults.hang = net->faults.no_resource = net->faults.timed_out = 0;
        }
        n.run_for(34s);
        ASSERT_EQ(n.to_a->downs + n.to_b->downs, 0) << "seed " << seed + run;
        ASSERT_TRUE(n.push(*n.a)) << "seed " << seed + run;
        ASSERT_TRUE(n.push(*n.b)) << "seed " << seed + run;
        ASSERT_EQ(n.bulk_links(), 1u) << "seed " << seed + run;
        ASSERT_TRUE(n.drained()) << "seed " << seed + run;
        ASSERT_EQ(n.lanes(), 1u) << "seed " << seed + run;
        ASSERT_EQ(n.world.complaints(), "") << "seed " << seed + run;
    }
}

}   // namespace
}   // namespace linnet::session

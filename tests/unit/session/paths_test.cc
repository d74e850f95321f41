// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Bulk links that go where transfers take the least time: two nodes on two networks, each a transport of its own.
#include <gtest/gtest.h>

#include "support/pace.h"
#include "unit/session/two_networks.h"

namespace linnet::session {
namespace {

TEST_F(PathsTest, BulkLinkGoesWhereTransfersTakeLessAndTheLaneStays)
{
    ASSERT_TRUE(connect(*a));
    second_takes = 2ms;
    transfers(*a, 120);
    EXPECT_TRUE(on_second());
    EXPECT_EQ(bulk_links(), 1u);
    EXPECT_EQ(world.net.links_up(LinkRole::kLane), 1u);
    EXPECT_EQ(other.links_up(LinkRole::kLane), 0u);
    EXPECT_EQ(moves(*a), 1u);
    EXPECT_TRUE(push(*a));
    EXPECT_TRUE(push(*b)) << "in the other direction, too";
}

TEST_F(PathsTest, BothSidesAreToldThatWhatWasUnderWayIsToBeAskedForAgain)
{
    ASSERT_TRUE(connect(*a));
    const int before[] = {to_b->bulk_downs, to_a->bulk_downs};
    second_takes = 2ms;
    transfers(*a, 120);
    EXPECT_EQ(to_b->bulk_downs, before[0] + 1);
    EXPECT_EQ(to_a->bulk_downs, before[1] + 1);
}

TEST_F(PathsTest, BulkLinkComesBackFromATrialThatIsLost)
{
    ASSERT_TRUE(connect(*a));
    second_takes = 7ms;
    transfers(*a, 120);
    EXPECT_FALSE(on_second());
    EXPECT_EQ(bulk_links(), 1u);
    EXPECT_EQ(moves(*a), 2u);
    EXPECT_TRUE(push(*a));
}

TEST_F(PathsTest, FollowsALinkThatBecomesSlow)
{
    ASSERT_TRUE(connect(*a));
    transfers(*a, 120);
    ASSERT_FALSE(on_second());
    first_takes = 80ms;
    transfers(*a, 30);
    EXPECT_TRUE(on_second());
    first_takes = 8ms;
    second_takes = 90ms;
    transfers(*a, 30);
    EXPECT_FALSE(on_second());
    EXPECT_TRUE(push(*a));
}

TEST_F(PathsTest, LinkThatCannotBeOpenedElsewhereStaysUnharmed)
{
    ASSERT_TRUE(connect(*a));
    other.faults.timed_out = 1;
    second_takes = 1ms;
    transfers(*a, 200);
    EXPECT_EQ(world.net.links_up(LinkRole::kBulk), 1u);
    EXPECT_EQ(moves(*a), 0u);
    EXPECT_EQ(to_b->bulk_downs, 0);
    EXPECT_TRUE(push(*a));
}

TEST_F(PathsTest, LongerMessagesLeaveALaneThatIsSlowerThanTheBulkLinkElsewhere)
{
    for (auto& t : second) {
        t->expect(8us, 2.0);   // the first: 2 us, 1 byte per ns
    }
    ASSERT_TRUE(connect(*a));
    const auto asked = [this] {
        MutexLock guard{to_b->lock};
        return std::pair{a->layer.first_fragment(*to_b), a->layer.lane_worth(*to_b)};
    };
    EXPECT_EQ(asked(), (std::pair{SIZE_MAX, SIZE_MAX}));
    second_takes = 2ms;
    transfers(*a, 20);   // it is expected to take half the time
    ASSERT_TRUE(on_second());
    EXPECT_EQ(asked(), (std::pair<std::size_t, std::size_t>{0, 20'000}));
}

TEST_F(PathsTest, LaneThatIsAsFastKeepsItsMessages)
{
    ASSERT_TRUE(connect(*a));
    second_takes = 2ms;
    transfers(*a, 120);
    ASSERT_TRUE(on_second());
    MutexLock guard{to_b->lock};
    EXPECT_EQ(a->layer.lane_worth(*to_b), SIZE_MAX);
}

// Nothing ever answers: the attempt is given up by the session itself.
TEST_F(PathsTest, MoveThatHangsEndsWithConnectTimeout)
{
    ASSERT_TRUE(connect(*a));
    other.faults.hang = 1;
    transfers(*a, 70);
    run_for(5s);
    EXPECT_EQ(bulk_links(), 1u);
    other.faults.hang = 0;
    second_takes = 1ms;
    transfers(*a, 20);
    run_for(10s);   // until it is due again
    transfers(*a, 80);
    EXPECT_TRUE(on_second());
}

TEST_F(PathsTest, OfTwoSendersTheOneWithTheLowerIdChooses)
{
    ASSERT_TRUE(connect(*a));
    second_takes = 2ms;
    for (unsigned i = 0; i < 30; ++i) {   // b alone would have chosen after these
        ASSERT_TRUE(push(*a));
        transfers(*b, 4);
    }
    EXPECT_FALSE(on_second());
    for (unsigned i = 0; i < 30; ++i) {
        ASSERT_TRUE(push(*b));
        transfers(*a, 4);
    }
    EXPECT_TRUE(on_second());
}

TEST_F(PathsTest, WhoAloneSendsChoosesWhateverItsId)
{
    ASSERT_TRUE(connect(*b));
    second_takes = 2ms;
    transfers(*b, 120);
    EXPECT_TRUE(on_second());
    EXPECT_EQ(moves(*a), 0u) << "it sends nothing, and so knows of no paths";
    EXPECT_EQ(moves(*b), 1u);
}

TEST_F(PathsTest, PeerThatDiesWhileTheLinkMovesIsLostOnce)
{
    ASSERT_TRUE(connect(*a));
    other.faults.hang = 1;
    transfers(*a, 70);
    a->layer.declare_down(*to_b, Status::kPeerDown, "the test says so");
    EXPECT_EQ(to_b->downs, 1);
    run_for(100ms);
    EXPECT_EQ(other.links_up(LinkRole::kBulk), 0u);
    EXPECT_EQ(to_b->downs, 1);
}

// ---- the lane ----

TEST_F(LanesTest, ShortMessagesTakeTheQuickTransportAndLongerOnesBringTheLaneBack)
{
    pingpong(8, 2000);
    EXPECT_TRUE(lane_on_second());
    EXPECT_EQ(lanes(), 1u);
    EXPECT_EQ(moves(*a), 1u);
    EXPECT_EQ(moves(*b), 1u) << "both have a lane that moved";
    run_for(1s);
    pingpong(8000, 2000);
    EXPECT_FALSE(lane_on_second());
    EXPECT_EQ(lanes(), 1u);
    EXPECT_EQ(a->counters.get(Counter::kReconnects) + b->counters.get(Counter::kReconnects), 0u);
}

// As above, but a system call takes 1 us more than elsewhere, and the second transport needs four.
class DearCallsTest : public ::testing::Test, public TwoNetworks {
protected:
    DearCallsTest() : TwoNetworks{testing::test_seed(1), true, 2s, kUsualCall + 1us}
    {
        for (auto& t : second) {
            t->expect(1200ns, 0.5);
        }
        a->send(*to_b, 10);
        EXPECT_TRUE(drained());
    }
    void TearDown() override { EXPECT_EQ(world.complaints(), ""); }
};

TEST_F(DearCallsTest, LaneStaysWhereAMessageNeedsNone)
{
    for (auto& t : second) {
        t->needs_calls(4);
    }
    pingpong(8, 2000);
    EXPECT_FALSE(lane_on_second());
}

TEST_F(DearCallsTest, LaneLeavesWhereBothNeedAsMany)
{
    pingpong(8, 2000);
    EXPECT_TRUE(lane_on_second());
}

TEST_F(DearCallsTest, LaneGoesWhereItsMessagesAreLessWorkWhenRanksShareCores)
{
    for (auto& t : second) {
        t->expect(2400ns, 1);   // of the first, 2000
        t->works_for(0.5);
    }
    pingpong(8, 8000);
    EXPECT_FALSE(lane_on_second());
    core_wait = 400us;
    pingpong(8, 400);
    EXPECT_FALSE(lane_on_second()) << "a move waits for cores, too";
    pingpong(8, 7600);
    EXPECT_TRUE(lane_on_second());
}

TEST_F(LanesTest, NothingIsLostOrDoubledInTheMidstOfAStream)
{
    world.net.faults.delay_max = 300us;
    for (unsigned round = 0; round < 6; ++round) {
        for (unsigned i = 0; i < 700; ++i) {
            if (i % 3 == 0) {
                a->send(*to_b, 1 + i * 7 % 9000);
                b->send(*to_a, 1 + i * 5 % 3000);
            }
            pingpong(round % 2 == 0 ? 8 : 8000, 1);
        }
        run_for(1s);
    }
    EXPECT_TRUE(drained());
    EXPECT_GE(moves(*a), 5u);
}

TEST_F(LanesTest, LaneThatCannotBeOpenedElsewhereStaysUnharmed)
{
    other.faults.timed_out = 1;
    pingpong(8, 5000);
    EXPECT_EQ(world.net.links_up(LinkRole::kLane), 1u);
    EXPECT_EQ(moves(*a), 0u);
}

// The two ends of a pair, who refused each other at one moment.
TEST(LaneRetries, BothEndsOfAPairHaveTheirOwnChance)
{
    constexpr std::uint64_t kOne = 0x1234567812345678;
    constexpr std::uint64_t kOther = 0x9abcdef09abcdef1;
    EXPECT_NE(retry_seed(kOne, kOther), retry_seed(kOther, kOne));
    EXPECT_NE(retry_seed(kOne, kOther), retry_seed(kOne, kOther + 1));
}

TEST_F(LanesTest, MoveThatHangsEndsWithConnectTimeoutAndIsTriedLater)
{
    other.faults.hang = 1;
    pingpong(8, 2000);
    run_for(5s);
    EXPECT_EQ(lanes(), 1u);
    EXPECT_FALSE(lane_on_second());
    other.faults.hang = 0;
    run_for(10s);
    pingpong(8, 2000);
    EXPECT_TRUE(lane_on_second());
}

TEST_F(LanesTest, LaneWhoseQuickTransportBreaksComesBackAndGoesThereAgain)
{
    pingpong(8, 2000);
    ASSERT_TRUE(lane_on_second());
    const std::array<std::uint64_t, 2> moved{moves(*a), moves(*b)};
    a->send(*to_b, 5000);
    other.break_all(*second[0], LinkRole::kLane);
    EXPECT_TRUE(drained());
    EXPECT_FALSE(lane_on_second()) << "the first transport is where links are opened";
    run_for(1s);
    EXPECT_EQ(moves(*a), moved[0] + 1) << "it left, if not by a move of ours";
    EXPECT_EQ(moves(*b), moved[1] + 1);
    EXPECT_EQ(a->counters.get(Counter::kReconnects) + b->counters.get(Counter::kReconnects), 0u);
    pingpong(8, 6000);
    EXPECT_TRUE(lane_on_second());
}

// ---- a lane that is not told when the process of the other side is gone ----

class SilentLanesTest : public LanesTest {
protected:
    SilentLanesTest()
    {
        for (auto& t : second) {
            t->told_of_death(false);
        }
        pingpong(8, 2000);
        EXPECT_TRUE(lane_on_second());
    }
    void b_dies()
    {
        other.fall_silent();
        second[1]->kill();
        b->transport.kill();
        departed = true;
    }
};

TEST_F(SilentLanesTest, DeathIsFoundOutWhereOneIsTold)
{
    b_dies();
    const TimePoint died = world.clock.now();
    ASSERT_TRUE(run_until([this] { return to_b->downs == 1; }));
    EXPECT_LT(world.clock.now() - died, 4s);
    EXPECT_EQ(to_b->down_why, Status::kPeerDown);
    ASSERT_EQ(a->lines().size(), 1u);
    EXPECT_NE(a->lines()[0].find("is lost"), std::string::npos) << a->lines()[0];
}

TEST_F(SilentLanesTest, LaneOfAPeerThatIsThereGoesOnWhereItIsHeard)
{
    other.fall_silent();
    a->send(*to_b, 100);
    b->send(*to_a, 100);
    EXPECT_TRUE(drained());
    EXPECT_FALSE(lane_on_second());
    EXPECT_EQ(lanes(), 1u);
}

TEST_F(SilentLanesTest, StoppedPeerIsNotLost)
{
    other.fall_silent();
    world.net.faults.hang = 1;   // the system lets us in, and nobody comes
    a->send(*to_b, 100);
    run_for(60s);
    EXPECT_EQ(to_b->downs, 0);
    for (const SessionNode* const n : {a, b}) {
        ASSERT_EQ(n->lines().size(), 1u);
        EXPECT_NE(n->lines()[0].find("peer_timeout"), std::string::npos) << n->lines()[0];
    }
    world.net.faults.hang = 0;
    other.fall_silent(false);
    EXPECT_TRUE(drained());
}

// ---- a bulk link whose path dies ----

// What it has taken never comes, and the lane is fine elsewhere.
class SilentBulkTest : public ::testing::TestWithParam<bool>, public TwoNetworks {
protected:
    SilentBulkTest() : TwoNetworks{testing::test_seed(1), GetParam(), 2s}
    {
        for (auto& t : second) {
            t->told_of_death(false);
            t->expect(1200ns, 0.5);
        }
        a->send(*to_b, 10);
        EXPECT_TRUE(drained());
    }
    void TearDown() override
    {
        EXPECT_EQ(to_a->downs + to_b->downs, 0);
        EXPECT_EQ(world.complaints(), "");
    }
    // Both links are on the second network.
    void all_on_second()
    {
        world.net.faults.timed_out = 1;
        world.net.break_all(a->transport, LinkRole::kLane);
        run_for(1500ms);
        a->send(*to_b, 10);
        EXPECT_TRUE(drained());
        world.net.faults.timed_out = 0;
        EXPECT_TRUE(lane_on_second());
        EXPECT_TRUE(push(*a));
        EXPECT_TRUE(on_second());
    }
};

TEST_P(SilentBulkTest, BulkDataIsAskedForAgainWhereTheLaneIsHeard)
{
    all_on_second();
    const int before[] = {to_b->bulk_downs, to_a->bulk_downs};
    EXPECT_NE(wants_bulk(*a), Status::kAgain);
    other.fall_silent();
    run_for(5s);
    EXPECT_FALSE(on_second());
    EXPECT_FALSE(lane_on_second());
    EXPECT_GT(to_b->bulk_downs, before[0]) << "what was under way is granted again";
    EXPECT_GT(to_a->bulk_downs, before[1]);
    EXPECT_TRUE(push(*a));
    EXPECT_TRUE(push(*b));
    EXPECT_TRUE(drained());
}

TEST_P(SilentBulkTest, StoppedPeerKeepsItsLinks)
{
    all_on_second();
    other.fall_silent();
    world.net.faults.hang = 1;
    run_for(60s);
    EXPECT_EQ(world.net.links_up(LinkRole::kBulk), 0u);
    world.net.faults.hang = 0;
    other.fall_silent(false);
    EXPECT_TRUE(push(*a));
    EXPECT_TRUE(push(*b));
    EXPECT_TRUE(drained());
}

INSTANTIATE_TEST_SUITE_P(, SilentBulkTest, ::testing::Bool());

class BulkLinkTest : public PathsTest {
protected:
    void go_to_second_that_tells_of_no_death()
    {
        for (auto& t : second) {
            t->told_of_death(false);
        }
        ASSERT_TRUE(connect(*a));
        second_takes = 2ms;
        transfers(*a, 120);
        ASSERT_TRUE(on_second());
    }
};

TEST_F(BulkLinkTest, ThatAloneFallsSilentGoesToTheLane)
{
    ASSERT_NO_FATAL_FAILURE(go_to_second_that_tells_of_no_death());
    const int before[] = {to_b->bulk_downs, to_a->bulk_downs};
    other.fall_silent();
    run_for(5s);
    EXPECT_EQ(world.net.links_up(LinkRole::kBulk), 1u);
    EXPECT_GT(to_b->bulk_downs, before[0]);
    EXPECT_GT(to_a->bulk_downs, before[1]);
    EXPECT_TRUE(push(*a));
    EXPECT_EQ(world.net.links_up(LinkRole::kLane), 1u);
}

TEST_F(BulkLinkTest, ThatIsSilentAndCannotMoveIsTheSilenceOfThePeerOnlyForWhoNeedsIt)
{
    ASSERT_NO_FATAL_FAILURE(go_to_second_that_tells_of_no_death());
    const auto said = [&] {
        const auto& lines = a->lines();
        return std::any_of(lines.begin(), lines.end(), [](const std::string& l) { return l.find("has not answered for") != std::string::npos; });
    };
    world.net.faults.timed_out = 1;   // the lane stays, nothing new is opened
    other.fall_silent();
    a->needs = b->needs = false;
    run_for(60s);
    EXPECT_FALSE(said()) << "its lane is heard";
    a->needs = true;
    run_for(60s);
    EXPECT_TRUE(said());
    world.net.faults.timed_out = 0;
    EXPECT_TRUE(push(*a));
}

TEST(QueueOfConnections, ThatIsFullForAMomentIsNoReasonToGoElsewhere)
{
    TwoNetworks n{testing::test_seed(1), false};
    n.world.net.faults.queue_full = 3;
    n.a->send(*n.to_b, 100);
    ASSERT_TRUE(n.drained());
    EXPECT_FALSE(n.lane_on_second());
    EXPECT_EQ(n.world.net.faults.queue_full, 0u);
    EXPECT_EQ(n.world.complaints(), "");
}

TEST(QueueOfConnections, ThatStaysFullLeavesTimeForAnotherTransport)
{
    TwoNetworks n{testing::test_seed(1), false};
    n.world.net.faults.queue_full = UINT32_MAX;
    n.a->send(*n.to_b, 100);
    ASSERT_TRUE(n.run_until([&] { return n.a->outstanding() == 0; }, 1'000'000));
    EXPECT_TRUE(n.lane_on_second());
    EXPECT_EQ(n.to_a->downs + n.to_b->downs, 0);
    EXPECT_EQ(n.world.complaints(), "");
}

// What answers for it may be a firewall.
TEST(Refusals, SayNothingWhereNoLinkEverWasWhileAnotherTransportCarriesOne)
{
    TwoNetworks n{testing::test_seed(1)};
    for (auto& t : n.second) {
        t->told_of_death(false);
    }
    n.b->transport.kill();   // nobody listens there
    n.a->send(*n.to_b, 100);
    ASSERT_TRUE(n.run_until([&] { return n.a->outstanding() == 0; }));
    EXPECT_TRUE(n.lane_on_second());
    n.other.break_all(*n.second[0], LinkRole::kLane);
    n.run_for(10ms);
    n.a->send(*n.to_b, 100);
    EXPECT_TRUE(n.run_until([&] { return n.a->outstanding() == 0; }));
    n.other.fall_silent();
    n.a->send(*n.to_b, 100);
    n.run_for(9s);
    n.other.fall_silent(false);
    EXPECT_TRUE(n.run_until([&] { return n.a->outstanding() == 0; }));
    EXPECT_EQ(n.to_b->downs + n.to_a->downs, 0);
    EXPECT_EQ(n.world.complaints(), "");
}

TEST(Refusals, LeaveTheOtherTransportsLittleTimeToProveThemWrong)
{
    TwoNetworks n{testing::test_seed(1)};
    n.b->transport.kill();
    n.other.fall_silent();
    n.second[1]->kill();
    n.a->send(*n.to_b, 100);
    const TimePoint began = n.world.clock.now();
    ASSERT_TRUE(n.run_until([&] { return n.to_b->downs == 1; }));
    EXPECT_LT(n.world.clock.now() - began, 4s) << "connect_timeout is 30 s";
    EXPECT_EQ(n.to_b->down_why, Status::kUnreachable);
    EXPECT_EQ(n.world.complaints(), "");
}

TEST(Refusals, AreProofWhereALinkWas)
{
    TwoNetworks n{testing::test_seed(1)};
    ASSERT_TRUE(n.connect(*n.a));
    n.other.fall_silent();
    n.second[1]->kill();
    n.b->transport.kill();
    n.a->send(*n.to_b, 100);
    const TimePoint began = n.world.clock.now();
    ASSERT_TRUE(n.run_until([&] { return n.to_b->downs == 1; }));
    EXPECT_LT(n.world.clock.now() - began, 100ms);
    EXPECT_EQ(n.to_b->down_why, Status::kPeerDown);
    EXPECT_EQ(n.world.complaints(), "");
}

TEST_F(LanesTest, PeerThatDepartsWhileItsLaneMovesIsNoError)
{
    pingpong(8, 2000);
    other.faults.delay_max = 5ms;
    pingpong(8000, 400);
    b->goodbye(*to_a);
    EXPECT_TRUE(run_until([this] { return to_b->downs == 1; }));
    EXPECT_EQ(a->counters.get(Counter::kPeersLost), 0u);
    departed = true;
}

TEST(PathsWithoutChoice, NothingIsTimedAndNothingMoves)
{
    TwoNetworks n{testing::test_seed(1), false};
    ASSERT_TRUE(n.connect(*n.a));
    n.second_takes = 1ms;
    n.transfers(*n.a, 200);
    EXPECT_FALSE(n.on_second());
    EXPECT_EQ(n.world.complaints(), "");
}

// Whatever breaks, and whoever moves the link at the same time: in the end there is one bulk link, known to both, and data passes.
TEST(PathsUnderFaults, EndWithOneLink)
{
    const auto runs = static_cast<std::uint64_t>(testing::paced(300));
    const std::uint64_t seed = testing::test_seed(4711);
    std::uint64_t moves = 0;
    for (std::uint64_t run = 0; run < runs; ++run) {
        std::mt19937_64 random{seed + run};
        TwoNetworks n{random()};
        for (auto& t : n.second) {
            t->expect(random() % 2 == 0 ? 1200ns : 3000ns, random() % 2 == 0 ? 0.5 : 1.0);
        }
        if (random() % 2 == 0) {
            n.a->layer.lane_only(*n.second[0]);
            n.b->layer.lane_only(*n.second[1]);
        }
        const bool silences = random() % 2 == 0;   // of a network that tells nobody of a death
        for (auto& t : n.second) {
            t->told_of_death(!silences);
        }
        for (SimNet* const net : {&n.world.net, &n.other}) {
            net->faults.delay_max = Nanos{static_cast<std::int64_t>(random() % 2 == 0 ? 20'000 : 3'000'000)};
            net->faults.no_resource = random() % 4 == 0 ? 0.2 : 0;
            net->faults.timed_out = random() % 4 == 0 ? 0.2 : 0;
        }
        ASSERT_TRUE(n.connect(*n.a)) << "seed " << seed + run;
        for (unsigned i = 0; i < 150; ++i) {
            n.first_takes = random() % 20 == 0 ? Nanos{2ms} : random() % 20 == 0 ? Nanos{80ms} : n.first_takes;
            n.second_takes = random() % 20 == 0 ? Nanos{2ms} : random() % 20 == 0 ? Nanos{80ms} : n.second_takes;
            n.transfer(random() % 2 == 0 ? *n.a : *n.b);
            if (random() % 15 == 0) {
                n.world.net.break_all(random() % 2 == 0 ? n.a->transport : n.b->transport, LinkRole::kBulk);
            }
            if (random() % 15 == 0) {
                n.other.break_all(*n.second[random() % 2], LinkRole::kBulk);
            }
            if (random() % 40 == 0) {
                n.world.net.break_all(n.a->transport, LinkRole::kLane);
            }
            if (random() % 40 == 0) {
                n.other.break_all(*n.second[0], LinkRole::kLane);
            }
            if (random() % 3 == 0) {
                n.pingpong(random() % 2 == 0 ? 8 : 9000, static_cast<unsigned>(random() % 400));
            }
            if (silences && random() % 30 == 0) {
                n.other.fall_silent();
                n.a->send(*n.to_b, 100);
                n.run_for(Nanos{static_cast<std::int64_t>(random() % 4'000'000'000)});
                n.other.fall_silent(random() % 4 == 0);
            }
        }
        n.world.net.faults.no_resource = n.world.net.faults.timed_out = n.other.faults.no_resource = n.other.faults.timed_out = 0;
        n.other.fall_silent(false);
        n.run_for(2s);   // longer than attempts wait for each other
        ASSERT_TRUE(n.push(*n.a)) << "seed " << seed + run;
        ASSERT_TRUE(n.push(*n.b)) << "seed " << seed + run;
        ASSERT_EQ(n.bulk_links(), 1u) << "seed " << seed + run;
        ASSERT_TRUE(n.drained()) << "seed " << seed + run;
        ASSERT_EQ(n.lanes(), 1u) << "seed " << seed + run;
        ASSERT_EQ(n.to_a->downs + n.to_b->downs, 0) << "seed " << seed + run;
        ASSERT_EQ(n.world.complaints(), "") << "seed " << seed + run;
        moves += TwoNetworks::moves(*n.a) + TwoNetworks::moves(*n.b);
    }
    EXPECT_GT(moves, 2 * runs);
}

}   // namespace
}   // namespace linnet::session

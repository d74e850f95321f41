// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Bulk links that go where transfers take the least time: two nodes on two networks, each a transport of its own.
#include <gtest/gtest.h>

#include <array>
#include <memory>

#include "session/session_layer.h"
#include "support/pace.h"
#include "support/seed.h"
#include "support/sim_world.h"

namespace linnet::session {
namespace {

using namespace std::chrono_literals;
using testing::NodePeer;
using testing::SessionNode;
using testing::SimNet;
using testing::SimTransport;
using testing::SimWorld;

constexpr std::uint64_t kMega = 1 << 20;

class TwoNetworks {
public:
    explicit TwoNetworks(std::uint64_t seed, bool choose = true, Nanos connect_timeout = 30s) : world{seed}, other{world.clock, seed + 1}
    {
        world.config.choose_paths = choose;
        world.config.path_choice.trial_pause = 10ms;
        world.config.connect_timeout = connect_timeout;
        a = &world.node(1001, 1);
        b = &world.node(1002, 2);
        for (SessionNode* const n : {a, b}) {
            wire::EndpointName name = n->name();
            const auto port = static_cast<std::uint16_t>(n == a ? 1001 : 1002);
            second[n == a ? 0 : 1] = std::make_unique<SimTransport>(other, port);
            SimTransport& t = *second[n == a ? 0 : 1];
            EXPECT_EQ(t.open(n->layer.add_port(t), name), Status::kOk);
        }
        to_b = &a->add(b->name());
        to_a = &b->add(a->name());
    }
    ~TwoNetworks()
    {
        for (auto& t : second) {
            t->shutdown();
        }
    }
    bool run_until(const std::function<bool()>& done, unsigned steps = 50'000)
    {
        for (; !done(); --steps) {
            if (steps == 0) {
                return false;
            }
            step();
        }
        return true;
    }
    // One pass of everybody. When nothing happened, time goes on to the next event, but not by more than `most`.
    void step(Nanos most = 100us)
    {
        unsigned events = 0;
        for (auto& t : second) {
            events += t->poll(64);
        }
        for (auto& n : world.nodes) {
            events += n->poll();
        }
        TimePoint next = std::min(world.net.next_event(), other.next_event());
        for (auto& n : world.nodes) {
            next = n->layer.prepare_sleep() ? std::min(next, n->layer.next_timer()) : TimePoint{};
        }
        const TimePoint now = world.clock.now();
        world.clock.advance(events != 0 ? Nanos{5us} : std::clamp<Nanos>(next - now, 1us, most));
    }
    void run_for(Nanos time)
    {
        for (const TimePoint end = world.clock.now() + time; world.clock.now() < end;) {
            step(100ms);
        }
    }
    // The lane and a bulk link are up; `n` has data to send.
    bool connect(SessionNode& n)
    {
        NodePeer& peer = &n == a ? *to_b : *to_a;
        n.send(peer, 10);
        return run_until([&] { return n.outstanding() == 0; }) && push(n);
    }
    // One bulk packet gets through.
    bool push(SessionNode& from)
    {
        NodePeer& peer = &from == a ? *to_b : *to_a;
        NodePeer& at = &from == a ? *to_a : *to_b;
        const std::size_t had = at.bulk_ok;
        int& ready = from.bulk_ready;
        for (unsigned tries = 0; tries < 50; ++tries) {
            ready = 0;
            Status s{};
            {
                MutexLock guard{peer.lock};
                s = from.layer.send_bulk(peer, head_, data_, &cookie_);
            }
            if (s != Status::kAgain && run_until([&] { return at.bulk_ok > had; }, 2000)) {
                return true;
            }
            static_cast<void>(run_until([&] { return ready != 0; }, 2000));
        }
        return false;
    }
    // A transfer that takes as long as where the link is now takes.
    void transfer(SessionNode& from)
    {
        NodePeer& peer = &from == a ? *to_b : *to_a;
        {
            MutexLock guard{peer.lock};
            from.layer.transfer_begins(peer, 7, kMega);
        }
        world.clock.advance(on_second() ? second_takes : first_takes);
        {
            MutexLock guard{peer.lock};
            from.layer.transfer_ends(peer, 7);
        }
        for (int i = 0; i < 20; ++i) {
            step();
        }
    }
    void transfers(SessionNode& from, unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            transfer(from);
        }
    }
    // Messages of the proto layer, as the session is told of them: `count` each way in turn, `bytes` long, and one real one each way at times.
    void pingpong(std::uint64_t bytes, unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            for (SessionNode* const n : {a, b}) {
                NodePeer& out = n == a ? *to_b : *to_a;
                NodePeer& in = n == a ? *to_a : *to_b;
                {
                    MutexLock guard{out.lock};
                    n->layer.message_sent(out, bytes);
                }
                if (i % 16 == 0) {
                    n->send(out, 100);
                }
                (n == a ? b : a)->layer.message_came(in, bytes);
            }
            step();
        }
    }
    [[nodiscard]] bool lane_on_second() { return other.links_up(LinkRole::kLane) != 0; }
    [[nodiscard]] std::size_t lanes() { return other.links_up(LinkRole::kLane) + world.net.links_up(LinkRole::kLane); }
    // All that was sent has come, once, in order, and every message was handed back.
    bool drained()
    {
        return run_until([this] { return a->outstanding() == 0 && b->outstanding() == 0 && to_a->received == to_b->sent && to_b->received == to_a->sent; });
    }

    [[nodiscard]] bool on_second() { return other.links_up(LinkRole::kBulk) != 0; }
    [[nodiscard]] std::size_t bulk_links() { return other.links_up(LinkRole::kBulk) + world.net.links_up(LinkRole::kBulk); }
    [[nodiscard]] static std::uint64_t moves(const SessionNode& n) { return n.counters.get(Counter::kPathMoves); }

    SimWorld world;
    SimNet other;
    std::array<std::unique_ptr<SimTransport>, 2> second;
    SessionNode* a{nullptr};
    SessionNode* b{nullptr};
    NodePeer* to_b{nullptr};
    NodePeer* to_a{nullptr};
    Nanos first_takes{8ms};
    Nanos second_takes{8ms};

private:
    wire::BulkHead head_ = [] {
        wire::BulkHead h;
        h.body_bytes.set(100);
        return h;
    }();
    std::array<std::byte, 100> data_{};
    int cookie_{0};
};

class PathsTest : public ::testing::Test, public TwoNetworks {
protected:
    PathsTest() : TwoNetworks{testing::test_seed(1), true, 2s} {}
    void TearDown() override { EXPECT_EQ(world.complaints(), ""); }
};

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

class LanesTest : public PathsTest {
protected:
    LanesTest()
    {
        for (auto& t : second) {
            t->expect(1200ns, 0.5);   // the first: 2 us, 1 byte per ns
        }
        a->send(*to_b, 10);
        EXPECT_TRUE(drained());
    }
    void TearDown() override
    {
        EXPECT_TRUE(departed || drained());
        EXPECT_EQ(to_a->downs + to_b->downs, departed ? 1 : 0);
        PathsTest::TearDown();
    }
    bool departed{false};
};

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
    a->send(*to_b, 5000);
    other.break_all(*second[0], LinkRole::kLane);
    EXPECT_TRUE(drained());
    EXPECT_FALSE(lane_on_second()) << "the first transport is where links are opened";
    run_for(1s);
    pingpong(8, 6000);
    EXPECT_TRUE(lane_on_second());
}

// ---- a lane on a transport that is for lanes alone ----

class LanesAloneTest : public LanesTest {
protected:
    LanesAloneTest()
    {
        for (unsigned i = 0; i < 2; ++i) {
            (i == 0 ? a : b)->layer.lane_only(*second[i]);
        }
        pingpong(8, 2000);
        EXPECT_TRUE(lane_on_second());
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

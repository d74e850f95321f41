// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: one behaviour per case. Schedules of faults are in tests/fault.
#include "session/session_layer.h"

#include <gtest/gtest.h>

#include <cstring>

#include "support/seed.h"
#include "support/sim_world.h"
#include "transport/name_inet.h"

namespace linnet::session {
namespace {

using testing::NodePeer;
using testing::SessionNode;
using testing::SimWorld;

class SessionLayerTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        a = &world.node(1001, 1);
        b = &world.node(1002, 2);
    }
    void TearDown() override { EXPECT_EQ(world.complaints(), ""); }
    // Both know each other, and the lane is up.
    void connect()
    {
        to_b = &a->add(b->name());
        to_a = &b->add(a->name());
        a->send(*to_b, 10);
        ASSERT_TRUE(world.run_until([&] { return to_a->received == 1 && a->outstanding() == 0; }));
    }
    std::uint64_t acks(const SessionNode& n) const { return n.shared_counters.get(Counter::kAcksSent); }

    SimWorld world{testing::test_seed(1)};
    SessionNode* a{nullptr};
    SessionNode* b{nullptr};
    NodePeer* to_b{nullptr};
    NodePeer* to_a{nullptr};
};

TEST_F(SessionLayerTest, LabelOfThePeerComesBeforeItsAddress)
{
    Session& peer = a->add(b->name());
    const std::string address = peer.describe();
    peer.set_label("rank 3");
    EXPECT_EQ(peer.describe(), "rank 3 (" + address + ")");
    EXPECT_EQ(peer.view().name, "rank 3 (" + address + ")");
    peer.set_label(std::string(100, 'x'));
    const std::string cut(Session::kLabelBytes - 1, 'x');   // (in one expression g++ 12 sees an overflow under ThreadSanitizer)
    EXPECT_EQ(peer.describe(), cut + " (" + address + ")");
    peer.set_label("");
    EXPECT_EQ(peer.describe(), address);
}

TEST_F(SessionLayerTest, RankThatThePeerToldNamesIt)
{
    world.config.told_rank = 4;
    SessionNode& c = world.node(1003, 3);
    world.config.told_rank = 1;
    SessionNode& d = world.node(1004, 4);
    NodePeer& to_d = c.add(d.name());
    NodePeer& to_c = d.add(c.name());
    const std::string address_of_c = to_c.describe(), address_of_d = to_d.describe();
    c.send(to_d, 10);
    ASSERT_TRUE(world.run_until([&] { return to_c.received == 1 && c.outstanding() == 0; }));
    EXPECT_EQ(to_c.describe(), "rank 3 (" + address_of_c + ")");
    EXPECT_EQ(to_d.describe(), "rank 0 (" + address_of_d + ")");
}

TEST_F(SessionLayerTest, RefusesAnotherNameForAKnownEndpoint)
{
    static_cast<void>(a->add(b->name()));
    wire::EndpointName other = b->name();
    other.secret[0] ^= 1;
    EXPECT_EQ(a->layer.add(other).status(), Status::kInvalid);
    EXPECT_EQ(*a->layer.add(b->name()), a->peer_of(2));
    EXPECT_EQ(a->layer.peers(), 1u);
}

TEST_F(SessionLayerTest, GivesWhoComesFirstTheSessionThatIsAddedLater)
{
    to_b = &a->add(b->name());
    a->send(*to_b, 10);
    ASSERT_TRUE(world.run_until([&] { return b->peer_of(1) != nullptr && b->peer_of(1)->received == 1; }));
    EXPECT_EQ(&b->add(a->name()), b->peer_of(1));
}

TEST_F(SessionLayerTest, KeepsWhatWaitsForALinkAndNothingAfterwards)
{
    to_b = &a->add(b->name());
    EXPECT_FALSE(a->layer.keeps());
    a->send(*to_b, 10);
    EXPECT_TRUE(a->layer.keeps());
    ASSERT_TRUE(world.run_until([&] { return a->outstanding() == 0; }));
    EXPECT_FALSE(a->layer.keeps());
    EXPECT_FALSE(b->layer.keeps());
}

TEST_F(SessionLayerTest, KeepsNothingOnceASessionHasEnded)
{
    to_b = &a->add(b->name());
    a->send(*to_b, 10);
    ASSERT_TRUE(a->layer.keeps());
    a->layer.shutdown();
    EXPECT_FALSE(a->layer.keeps());
}

TEST_F(SessionLayerTest, HeldMessagesGoOutWithTheNextPollAndTheFirstAtOnce)
{
    connect();
    a->hold = true;
    for (int i = 0; i < 5; ++i) {
        a->send(*to_b, 100);
    }
    EXPECT_EQ(a->held, 4u);
    EXPECT_FALSE(a->layer.prepare_sleep());   // nobody sleeps on them
    ASSERT_TRUE(world.run_until([&] { return to_a->received == 6 && a->outstanding() == 0; }));
    EXPECT_TRUE(a->layer.prepare_sleep());
}

// The holder of the token may have looked at the transport alone.
TEST_F(SessionLayerTest, WhatMayAnswerAnArrivalGoesAtOnce)
{
    connect();
    a->hold = true;
    a->send(*to_b, 100);
    b->send(*to_a, 100);
    const std::uint32_t before = to_b->received;
    for (int i = 0; i < 1000 && to_b->received == before; ++i) {
        world.clock.advance(std::chrono::microseconds{10});
        a->transport.poll(64);
    }
    ASSERT_EQ(to_b->received, before + 1);
    a->send(*to_b, 100);
    EXPECT_EQ(a->held, 0u);
    a->send(*to_b, 100);
    EXPECT_EQ(a->held, 1u);
    a->layer.next_turn();
    a->send(*to_b, 100);
    EXPECT_EQ(a->held, 1u);
    ASSERT_TRUE(world.run_until([&] { return a->outstanding() == 0 && b->outstanding() == 0; }));
}

TEST_F(SessionLayerTest, WhatIsHeldIsBoundedByNumber)
{
    connect();
    a->hold = true;
    for (int i = 0; i < 33; ++i) {   // one at once, 31, and the one that sends them along
        a->send(*to_b, 10);
    }
    EXPECT_EQ(a->held, 31u);
    ASSERT_TRUE(world.run_until([&] { return to_a->received == 34 && a->outstanding() == 0; }));
}

TEST_F(SessionLayerTest, WhatIsHeldIsBoundedByBytes)
{
    connect();
    a->hold = true;
    for (int i = 0; i < 6; ++i) {   // one at once, four, and the one for which there is no room in 64 KiB
        a->send(*to_b, 15'000);
    }
    EXPECT_EQ(a->held, 4u);
    ASSERT_TRUE(world.run_until([&] { return to_a->received == 7 && a->outstanding() == 0; }));
}

TEST_F(SessionLayerTest, HeldMessagesSurviveTheirLink)
{
    connect();
    a->hold = true;
    for (int i = 0; i < 5; ++i) {
        a->send(*to_b, 100);
    }
    world.net.break_all(a->transport, LinkRole::kLane);
    ASSERT_TRUE(world.run_until([&] { return to_a->received == 6 && a->outstanding() == 0; }));
}

TEST_F(SessionLayerTest, AnswerCarriesTheAcknowledgement)
{
    connect();
    const std::uint64_t before = acks(*b);
    b->answer_every = 1;
    for (int i = 0; i < 50; ++i) {
        const std::uint32_t received = to_b->received;
        a->send(*to_b, 100, wire::flag::kWantAck);
        ASSERT_TRUE(world.run_until([&] { return to_b->received > received && a->outstanding() == 0; }));
    }
    EXPECT_EQ(acks(*b) - before, 0u);
}

TEST_F(SessionLayerTest, LateAnswerStillCarriesTheAcknowledgement)
{
    connect();
    world.net.faults.delay_max = Nanos{0};
    const std::uint64_t before = acks(*b);
    a->send(*to_b, 100, wire::flag::kWantAck);
    a->poll();
    ASSERT_NE(b->poll(), 0u);      // it arrives
    b->send(*to_a, 10);            // the application answers before the next pass
    b->poll();
    b->poll();
    EXPECT_EQ(acks(*b) - before, 0u);
}

TEST_F(SessionLayerTest, WantedAcknowledgementGoesOutInThePassWithoutArrivals)
{
    connect();
    world.net.faults.delay_max = Nanos{0};
    const std::uint64_t before = acks(*b);
    a->send(*to_b, 100, wire::flag::kWantAck);
    a->poll();
    b->poll();
    EXPECT_EQ(acks(*b) - before, 0u);
    EXPECT_TRUE(b->layer.owes());
    b->poll();
    EXPECT_EQ(acks(*b) - before, 1u);
    EXPECT_FALSE(b->layer.owes());
}

TEST_F(SessionLayerTest, WantedAcknowledgementDoesNotWaitForAPassWhenNobodyPollsFromNowOn)
{
    connect();
    world.net.faults.delay_max = Nanos{0};
    for (const bool sleeps : {false, true}) {   // the host goes away, or a thread sleeps
        const std::uint64_t before = acks(*b);
        a->send(*to_b, 100, wire::flag::kWantAck);
        a->poll();
        b->poll();
        ASSERT_TRUE(b->layer.owes());
        if (sleeps) {
            EXPECT_TRUE(b->layer.prepare_sleep());
        } else {
            b->layer.settle();
        }
        EXPECT_EQ(acks(*b) - before, 1u);
        EXPECT_FALSE(b->layer.owes());
        b->poll();
        EXPECT_EQ(acks(*b) - before, 1u);
    }
}

TEST_F(SessionLayerTest, OneWayStreamIsAcknowledgedEverySixtyFourMessages)
{
    connect();
    world.net.faults.delay_max = Nanos{0};
    const std::uint64_t before = acks(*b);
    for (int i = 0; i < 6400; ++i) {
        a->send(*to_b, 8);
        world.step();
        EXPECT_LT(a->outstanding(), 64u * 3);
    }
    ASSERT_TRUE(world.run_until([&] { return a->outstanding() == 0; }));
    EXPECT_GE(acks(*b) - before, 95u);
    EXPECT_LE(acks(*b) - before, 110u);
}

TEST_F(SessionLayerTest, OneWayStreamOfLargeMessagesIsAcknowledgedByBytes)
{
    connect();
    world.net.faults.delay_max = Nanos{0};
    const std::uint64_t before = acks(*b);
    std::size_t most = 0;
    for (int i = 0; i < 320; ++i) {   // 16 messages are 256 KiB
        a->send(*to_b, 16'384);
        world.step();
        most = std::max(most, a->outstanding());
    }
    ASSERT_TRUE(world.run_until([&] { return a->outstanding() == 0; }));
    EXPECT_LE(most, 24u);
    EXPECT_GE(acks(*b) - before, 19u);
    EXPECT_LE(acks(*b) - before, 24u);
}

TEST_F(SessionLayerTest, StreamWhoseSenderTakesItsMessagesBackIsHandedTheRestWithinASecond)
{
    connect();
    world.net.faults.delay_max = Nanos{0};
    a->takes_back = true;
    for (int i = 0; i < 6400; ++i) {
        a->send(*to_b, 8);
        world.step();
        ASSERT_LT(a->outstanding(), 64u * 3);
    }
    EXPECT_GT(a->taken_back, 6000u);
    EXPECT_TRUE(world.run_until([&] { return a->outstanding() == 0; }, std::chrono::milliseconds{1500}));
}

TEST_F(SessionLayerTest, WhatWasTakenBackIsAcknowledgedWhenTheLinkOpensAgain)
{
    connect();
    a->takes_back = true;
    for (std::uint32_t round = 1; round <= 5; ++round) {
        const unsigned before = a->taken_back;
        for (std::uint32_t i = 0; i < 40; ++i) {
            const std::uint32_t received = to_a->received;
            a->send(*to_b, 100);
            ASSERT_TRUE(world.run_until([&] { return to_a->received > received && a->all_acked(*to_b); }));
        }
        EXPECT_GT(a->taken_back, before + 20);
        world.net.break_all(a->transport, LinkRole::kLane);
        a->send(*to_b, 100);
        ASSERT_TRUE(world.run_until([&] { return to_a->received == 1 + 41 * round; }));
        EXPECT_EQ(to_b->downs + to_a->downs, 0);
    }
    EXPECT_TRUE(world.run_until([&] { return a->outstanding() == 0; }, std::chrono::milliseconds{1500}));
}

TEST_F(SessionLayerTest, NewLinkTellsTheCreditThatTheOldOneLost)
{
    connect();
    world.net.break_all(b->transport, LinkRole::kLane);   // what b says now is lost
    to_a->credit_grant.store(4711);
    b->layer.credit_given(*to_a, 1);
    ASSERT_TRUE(world.run_until([&] { return to_b->ups == 2 && to_a->ups == 2; }));
    EXPECT_TRUE(world.run_until([&] { return to_b->credit_limit() == 4711; }, std::chrono::seconds{1}));
}

TEST_F(SessionLayerTest, BothOpenAtOnceAndOneLaneRemains)
{
    to_b = &a->add(b->name());
    to_a = &b->add(a->name());
    a->send(*to_b, 10);
    b->send(*to_a, 10);
    ASSERT_TRUE(world.run_until([&] { return to_a->received == 1 && to_b->received == 1; }));
    world.run_for(std::chrono::seconds{2});
    EXPECT_EQ(world.net.links_up(LinkRole::kLane), 1u);
    EXPECT_EQ(to_a->ups, 1);
    EXPECT_EQ(to_b->ups, 1);
}

// Whichever end notices first: the hello of one may come while the link still looks whole to the other.
TEST_F(SessionLayerTest, EachBreakCountsAsOneReconnectionAtBothEnds)
{
    connect();
    constexpr std::uint64_t kBreaks = 50;
    for (std::uint64_t i = 1; i <= kBreaks; ++i) {
        world.net.break_all(a->transport, LinkRole::kLane);   // b notices up to 1 ms later
        a->send(*to_b, 100);
        EXPECT_TRUE(world.run_until([&] { return a->counters.get(Counter::kReconnects) == i && b->counters.get(Counter::kReconnects) == i; }))
            << i << ", counted " << a->counters.get(Counter::kReconnects) << " and " << b->counters.get(Counter::kReconnects);
        ASSERT_TRUE(world.run_until([&] { return to_a->received == 1 + i && a->outstanding() == 0; }));
    }
    EXPECT_EQ(a->counters.get(Counter::kConnects) + b->counters.get(Counter::kConnects), 2u);
}

TEST_F(SessionLayerTest, DeadProcessIsDeclaredOnceAndEverythingComesBack)
{
    connect();
    b->transport.kill();
    for (int i = 0; i < 10; ++i) {
        a->send(*to_b, 100);
    }
    const TimePoint start = world.clock.now();
    ASSERT_TRUE(world.run_until([&] { return to_b->downs != 0; }));
    EXPECT_LT(world.clock.now() - start, std::chrono::seconds{5});
    EXPECT_EQ(to_b->down_why, Status::kPeerDown);
    EXPECT_EQ(a->outstanding(), 0u);
    a->send(*to_b, 100);
    world.run_for(std::chrono::seconds{5});
    EXPECT_EQ(to_b->downs, 1);
    EXPECT_EQ(a->outstanding(), 0u);
}

TEST_F(SessionLayerTest, AnotherProcessAtTheSameAddressIsNotThePeer)
{
    connect();
    b->transport.kill();
    SessionNode& c = world.node(1002, 3);
    a->send(*to_b, 10);
    ASSERT_TRUE(world.run_until([&] { return to_b->downs != 0; }));
    EXPECT_EQ(to_b->down_why, Status::kPeerDown);
    EXPECT_GE(c.counters.get(Counter::kRefusedHellos), 1u);
    EXPECT_EQ(c.layer.peers(), 0u);
}

TEST_F(SessionLayerTest, AnotherProcessAtAnAddressIsNotThePeerThatWasThere)
{
    wire::EndpointName address = b->name();
    address.endpoint_id.set(0);
    to_b = &a->add(address);
    a->send(*to_b, 10);
    ASSERT_TRUE(world.run_until([&] { return a->outstanding() == 0; }));
    EXPECT_EQ(to_b->endpoint_id(), 2u);
    EXPECT_EQ(&a->add(address), to_b);
    b->transport.kill();
    SessionNode& c = world.node(1002, 3);
    a->send(*to_b, 10);
    ASSERT_TRUE(world.run_until([&] { return to_b->downs != 0; }));
    EXPECT_EQ(to_b->down_why, Status::kPeerDown);
    EXPECT_EQ(c.peer_of(1) == nullptr ? 0 : c.peer_of(1)->received, 0u);
}

// A name tells loopback and link-local addresses seldom: whom such a one means is known by whence the peer calls.
TEST_F(SessionLayerTest, WhoCallsFromTheHostThatWasMeantIsThePeer)
{
    struct Case {
        const char* told;
        std::uint32_t scope;   // of what the host told, if it said so
        const char* from;
        std::uint32_t from_scope;
        bool meant;
        std::uint64_t unnamed{~std::uint64_t{0}};   // where it says that it listens
        bool named{false};                          // its name tells it
    };
    const Case cases[]{
        {"127.0.0.1", 0, "127.0.0.1", 0, true},  {"127.0.0.1", 0, "127.0.0.7", 0, true}, {"::1", 0, "::1", 0, true},
        {"127.0.0.1", 0, "10.7.0.1", 0, true},   {"127.0.0.1", 0, "10.7.0.9", 0, false}, {"127.0.0.1", 0, "", 0, false},
        {"fe80::5", 31, "fe80::5", 31, true},    {"fe80::5", 0, "fe80::5", 31, true},    {"fe80::5", 31, "fe80::5", 32, false},
        {"fe80::5", 31, "fe80::6", 31, false},
        {"127.0.0.2", 0, "127.0.0.2", 0, false},   // which its name would tell
        {"127.0.0.1", 0, "127.0.0.1", 0, false, ~wire::kAtLocalhostV4},
        {"::1", 0, "::1", 0, false, ~wire::kAtLocalhostV6},
        {"fe80::5", 31, "fe80::5", 31, false, ~wire::kAtLinkLocal},
        {"127.0.0.3", 0, "127.0.0.1", 0, true, 0, true},
        {"127.0.0.3", 0, "10.7.0.1", 0, true, 0, true},
        {"127.0.0.3", 0, "", 0, true, 0, true},
        {"127.0.0.3", 0, "10.7.0.2", 0, false, 0, true},   // of its own host that is another process
    };
    const auto address = [](const char* text) { return name_address(*InetAddress::parse(text)); };
    wire::EndpointName self = a->name();
    self.addresses = {};
    self.kinds = 0;
    ASSERT_TRUE(wire::add_address(self, address("10.7.0.1")));   // of the same host as 127.0.0.1
    a->layer.set_self(self);
    std::uint16_t next = 3000;
    for (const Case& c : cases) {
        ++next;
        SessionNode& other = world.node(next, next);
        wire::EndpointName name = other.name();
        name.addresses = {};
        name.kinds = 0;
        ASSERT_TRUE(wire::add_address(name, address("10.7.0.2")));
        if (c.named) {
            ASSERT_TRUE(wire::add_address(name, address(c.told)));
        }
        other.layer.set_self(name);
        other.transport.calls_from = InetAddress::parse(c.from).value_or(InetAddress{});
        other.transport.calls_from.set_scope(c.from_scope);
        other.transport.unnamed = c.unnamed;
        wire::EndpointName given;
        given.port.set(next);
        ASSERT_TRUE(wire::add_address(given, address(c.told)));
        wire::set_contact_scope(given, c.scope);
        NodePeer& told = a->add(given);
        NodePeer& to_a_too = other.add(a->name());
        other.send(to_a_too, 10);
        ASSERT_TRUE(world.run_until([&] { return other.outstanding() == 0; }));
        EXPECT_EQ(a->peer_of(next) == &told, c.meant) << c.told << " called from " << c.from;
    }
}

TEST_F(SessionLayerTest, OneEndpointByNameAndByAddressIsRefused)
{
    connect();
    wire::EndpointName address = b->name();
    address.endpoint_id.set(0);
    address.addresses = {};
    wire::add_address(address, {wire::AddressFamily::kIpv4, {127, 0, 0, 2}});   // the simulated net looks at the port only
    NodePeer& again = a->add(address);
    ASSERT_NE(&again, to_b);
    a->send(again, 10);
    ASSERT_TRUE(world.run_until([&] { return again.downs != 0; }));
    EXPECT_EQ(again.down_why, Status::kRefused);
    EXPECT_EQ(to_b->downs, 0);
    EXPECT_EQ(to_a->received, 1u);
}

TEST_F(SessionLayerTest, SilentPeerAtConnectTimeEndsWithinTheTimeout)
{
    world.net.faults.hang = 1;
    to_b = &a->add(b->name());
    a->send(*to_b, 10);
    const TimePoint start = world.clock.now();
    ASSERT_TRUE(world.run_until([&] { return to_b->downs != 0; }));
    EXPECT_EQ(to_b->down_why, Status::kUnreachable);
    EXPECT_GE(world.clock.now() - start, std::chrono::seconds{29});
    EXPECT_LE(world.clock.now() - start, std::chrono::seconds{33});
}

TEST_F(SessionLayerTest, UnreachablePeerIsTriedUntilTheTimeout)
{
    world.net.faults.unreachable = 1;
    to_b = &a->add(b->name());
    a->send(*to_b, 10);
    const TimePoint start = world.clock.now();
    ASSERT_TRUE(world.run_until([&] { return to_b->downs != 0; }));
    EXPECT_EQ(to_b->down_why, Status::kUnreachable);
    EXPECT_LE(world.clock.now() - start, std::chrono::seconds{33});
    EXPECT_EQ(a->outstanding(), 0u);
}

TEST_F(SessionLayerTest, WrongSecretIsRefusedAndCounted)
{
    wire::EndpointName wrong = b->name();
    wrong.secret[0] ^= 1;
    to_b = &a->add(wrong);
    a->send(*to_b, 10);
    ASSERT_TRUE(world.run_until([&] { return to_b->downs != 0; }));
    EXPECT_EQ(to_b->down_why, Status::kRefused);
    EXPECT_GE(b->counters.get(Counter::kRefusedHellos), 1u);   // a reset may swallow the first reject
    EXPECT_EQ(b->layer.peers(), 0u);
}

TEST_F(SessionLayerTest, ReplayedHelloIsRefusedCountedAndHarmless)
{
    // What a sends when it opens: a stranger heard it, and says it again.
    wire::EndpointName ghost = a->name();
    Attempt attempt;
    attempt.opener_nonce.fill(3);
    attempt.epoch = {1, 1};
    std::array<std::byte, kMaxHelloBytes> hello;
    const std::size_t n = write_hello(attempt, b->name(), ghost, 0, 0, hello);
    connect();   // the link of epoch 1
    testing::SimTransport stranger{world.net, 1099};
    unsigned said = 0;
    while (stranger.stranger_reply().empty() && ++said < 100) {   // every other connection ends by a reset, which may overtake the answer
        stranger.stranger(1002, std::span{hello}.first(n));
        world.run_until(
            [&] {
                stranger.poll(1);
                return !stranger.stranger_reply().empty();
            },
            std::chrono::milliseconds{100});
    }
    wire::RejectPacket reject;
    ASSERT_EQ(stranger.stranger_reply().size(), sizeof reject);
    std::memcpy(&reject, stranger.stranger_reply().data(), sizeof reject);
    EXPECT_EQ(reject.reason, wire::RejectReason::kStale);
    EXPECT_EQ(b->counters.get(Counter::kRefusedHellos), said);
    a->send(*to_b, 10);
    ASSERT_TRUE(world.run_until([&] { return to_a->received == 2; }));
    EXPECT_EQ(to_a->ups, 1);
}

TEST_F(SessionLayerTest, HelloWithoutConfirmBlocksNobodyForLong)
{
    to_a = &b->add(a->name());
    Attempt attempt;
    attempt.opener_nonce.fill(3);
    attempt.epoch = {1000, 1};
    std::array<std::byte, kMaxHelloBytes> hello;
    const std::size_t n = write_hello(attempt, b->name(), a->name(), 0, 0, hello);
    testing::SimTransport stranger{world.net, 1099};
    stranger.stranger(1002, std::span{hello}.first(n));
    ASSERT_TRUE(world.run_until([&] {
        stranger.poll(1);
        return !stranger.stranger_reply().empty();
    }));
    b->send(*to_a, 10);
    EXPECT_TRUE(world.run_until([&] { return b->outstanding() == 0; }, std::chrono::seconds{10}));
}

TEST_F(SessionLayerTest, GoodbyeEndsThePeerOnceAndIsAcknowledged)
{
    connect();
    a->layer.set_closing();
    a->goodbye(*to_b);
    ASSERT_TRUE(world.run_until([&] { return to_a->downs != 0 && a->outstanding() == 0; }));
    EXPECT_EQ(to_b->downs, 0);
    EXPECT_TRUE(b->lines().empty());
    a->layer.shutdown();
    world.run_for(std::chrono::seconds{2});
    EXPECT_EQ(to_a->downs, 1);
    EXPECT_EQ(to_b->downs, 1);
    EXPECT_TRUE(a->lines().empty());
    EXPECT_TRUE(b->lines().empty());
}

TEST_F(SessionLayerTest, LostAcknowledgementOfAGoodbyeIsNoError)
{
    connect();
    a->layer.set_closing();
    world.net.faults.window = 30;   // b's last acknowledgement is stuck, and b's own messages with it
    b->send(*to_a, 2000);
    a->goodbye(*to_b);
    ASSERT_TRUE(world.run_until([&] { return to_a->downs != 0; }));
    world.net.break_all(a->transport, LinkRole::kLane);
    ASSERT_TRUE(world.run_until([&] { return a->outstanding() == 0 && b->outstanding() == 0; }));
    EXPECT_TRUE(a->lines().empty());
    EXPECT_TRUE(b->lines().empty());
}

// A transport over datagrams tells that the peer left. The host that it left may say nothing, or late, to whoever calls there again.
TEST_F(SessionLayerTest, LostAcknowledgementOfAGoodbyeIsNotWaitedForWhenThePeerHasLeft)
{
    connect();
    a->takes_back = true;
    a->send(*to_b, 10);   // acknowledged, but handed back late
    world.run_for(std::chrono::milliseconds{200});
    world.net.faults.tells_close = true;
    world.net.faults.window = 30;   // b's last acknowledgement is stuck
    a->layer.set_closing();
    b->send(*to_a, 2000);
    a->goodbye(*to_b);
    ASSERT_TRUE(world.run_until([&] { return to_a->downs != 0; }));
    world.net.faults.hang = 1;
    b->layer.shutdown();
    ASSERT_TRUE(world.run_until([&] { return a->outstanding() == 0; }, std::chrono::milliseconds{100}));
    EXPECT_EQ(to_b->downs, 1);
    EXPECT_TRUE(a->lines().empty());
    EXPECT_TRUE(b->lines().empty());
}

// What is more than a goodbye is told again, also to a peer that ended the link.
TEST_F(SessionLayerTest, ClosingOpensAgainForMessagesThatAreNotAcknowledged)
{
    connect();
    world.net.faults.tells_close = true;
    world.net.faults.window = 30;
    a->send(*to_b, 2000);
    a->layer.set_closing();
    a->goodbye(*to_b);
    world.net.faults.timed_out = 1;
    b->transport.shutdown();
    world.run_for(std::chrono::seconds{1});
    EXPECT_EQ(to_b->downs, 0);
    EXPECT_EQ(a->outstanding(), 2u);
}

TEST_F(SessionLayerTest, PeerGivenUpWhileItsMessageArrivesIsLeftAtOnce)
{
    for (const double split : {0.0, 1.0}) {
        world.net.faults.split = split;
        SessionNode& c = world.node(static_cast<std::uint16_t>(2000 + split), 100 + static_cast<std::uint64_t>(split));
        NodePeer& to_c = a->add(c.name());
        c.give_up_at = 3;
        for (int i = 0; i < 10; ++i) {
            a->send(to_c, 500);
        }
        ASSERT_TRUE(world.run_until([&] { return c.peer_of(1) != nullptr && c.peer_of(1)->downs == 1; }));
        EXPECT_EQ(c.peer_of(1)->received, 2u);
        ASSERT_TRUE(world.run_until([&] { return to_c.downs == 1; }));
        EXPECT_EQ(to_c.down_why, Status::kRefused);   // it is asked again, and says that it is over
        EXPECT_EQ(a->outstanding(), 0u);
    }
}

TEST_F(SessionLayerTest, BulkOpensItsOwnLinkAndBreaksApart)
{
    connect();
    wire::BulkHead head;
    std::array<std::byte, 256> data{};
    head.body_bytes.set(data.size());
    int cookie = 0;
    const auto send = [&] {
        MutexLock guard{to_b->lock};
        return a->layer.send_bulk(*to_b, head, data, &cookie);
    };
    EXPECT_EQ(send(), Status::kAgain);
    ASSERT_TRUE(world.run_until([&] { return a->bulk_ready != 0; }));
    EXPECT_EQ(send(), Status::kOk);
    ASSERT_TRUE(world.run_until([&] { return to_a->bulk_ok == 1; }));
    world.net.break_all(a->transport, LinkRole::kBulk);
    ASSERT_TRUE(world.run_until([&] { return to_a->bulk_downs == 1 && to_b->bulk_downs == 1 && world.net.links_up(LinkRole::kBulk) == 1; }));
    EXPECT_EQ(to_b->ups, 1);
    EXPECT_EQ(send(), Status::kOk);
    ASSERT_TRUE(world.run_until([&] { return to_a->bulk_ok == 2; }));
}

TEST_F(SessionLayerTest, SilenceIsWarnedOfAndKillsOnlyAfterItsTimeout)
{
    connect();
    a->send(*to_b, 10);
    const TimePoint start = world.clock.now();
    while (to_b->downs == 0 && world.clock.now() - start < std::chrono::minutes{20}) {
        a->poll();   // b is stopped
        static_cast<void>(a->layer.prepare_sleep());
        world.clock.advance(std::chrono::milliseconds{500});
        if (world.clock.now() - start < std::chrono::seconds{9}) {
            EXPECT_TRUE(a->lines().empty());
        }
    }
    EXPECT_GE(world.clock.now() - start, std::chrono::minutes{10});
    EXPECT_LE(world.clock.now() - start, std::chrono::minutes{11});
    ASSERT_EQ(a->lines().size(), 2u);
    EXPECT_NE(a->lines()[0].find("peer_timeout"), std::string::npos);
}

// Who only receives has sent nothing that wants an acknowledgement; the link asks by itself.
TEST_F(SessionLayerTest, SilenceOfALinkThatAsksByItselfCountsAlike)
{
    a->transport.told_of_death(false);
    connect();
    ASSERT_TRUE(world.run_until([&] { return a->outstanding() == 0 && a->all_acked(*to_b); }));
    world.net.fall_silent();
    const TimePoint start = world.clock.now();
    world.run_for(std::chrono::minutes{1});
    ASSERT_EQ(a->lines().size(), 1u);
    EXPECT_NE(a->lines()[0].find("peer_timeout"), std::string::npos);
    ASSERT_TRUE(world.run_until([&] { return to_b->downs != 0; }, std::chrono::minutes{20}));
    EXPECT_GE(world.clock.now() - start, std::chrono::minutes{10});
    EXPECT_LE(world.clock.now() - start, std::chrono::minutes{11});
}

}   // namespace
}   // namespace linnet::session

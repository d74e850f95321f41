// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What is special about links over frames: an opening exchange that loses frames, copies, strangers, and how a link ends. A network in memory, a clock that
// moves when told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "contract/endpoint.h"
#include "support/sim_port.h"
#include "support/test_log.h"
#include "transport/frames/frame_transport.h"
#include "wire/crc32c.h"

namespace linnet::contract {
namespace {

using Action = HelloVerdict::Action;
using frames::FrameTransport;
using testing::SimFrames;
using testing::SimPort;
using wire::OpenStep;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::uint32_t kA = 1;
constexpr std::uint32_t kB = 2;

struct Host {
    Host(SimFrames& net, std::uint32_t number, unsigned channels, std::size_t frame_bytes, const Settings& settings, const Clock& clock)
    {
        auto p = std::make_unique<SimPort>(net, number, channels, frame_bytes, testing::test_log());
        port = p.get();
        const TransportCaps caps{"sim", 0, true, false, Nanos{1000}, 1.0};
        transport = std::make_unique<FrameTransport>(std::move(p), caps, settings, clock, testing::test_log(), stats);
        name.endpoint_id.set(number);
        name.port.set(1);
        EXPECT_EQ(transport->open(sink, name), Status::kOk);
    }
    Stats stats;
    Sink sink;
    SimPort* port;
    std::unique_ptr<FrameTransport> transport;
    wire::EndpointName name;
};

class FrameLink : public ::testing::TestWithParam<unsigned> {
protected:
    Host& host(std::uint32_t number, std::size_t frame_bytes = 1472)
    {
        hosts.push_back(std::make_unique<Host>(net, number, GetParam(), frame_bytes, settings, clock));
        return *hosts.back();
    }
    void SetUp() override
    {
        a = &host(kA);
        b = &host(kB);
    }
    // Time passes in steps that a frame needs.
    void pass(Nanos time, Nanos step = milliseconds{1})
    {
        for (Nanos t{0}; t <= time; t += step) {
            for (const auto& h : hosts) {
                h->transport->poll(64);
            }
            clock.advance(step);
        }
    }
    LinkId connect(LinkRole role = LinkRole::kLane)
    {
        const auto link = a->transport->connect(PeerId{2}, role, b->name);
        EXPECT_TRUE(link.ok());
        return *link;
    }
    bool both_up() { return a->sink.ups.size() == 1 && b->sink.ups.size() == 1; }
    LinkId open(LinkRole role = LinkRole::kLane)
    {
        const LinkId link = connect(role);
        pass(milliseconds{5});
        EXPECT_TRUE(both_up());
        return link;
    }
    void send(LinkId link, const Packet& p)
    {
        const LanePacket one = p.lane();
        ASSERT_EQ(a->transport->send_lane(link, {&one, 1}).taken, 1u);
    }
    [[nodiscard]] SimFrames::Frame first(std::uint32_t from, OpenStep step) const
    {
        return *std::find_if(net.sent.begin(), net.sent.end(), [&](const auto& f) { return f.from == from && f.step() == step; });
    }

    ManualClock clock;
    SimFrames net;
    Settings settings;
    std::vector<std::unique_ptr<Host>> hosts;
    Host* a{nullptr};
    Host* b{nullptr};
};

// ---- opening ----

TEST_P(FrameLink, HelloIsRepeatedEverMoreSeldomUntilItIsAnswered)
{
    net.lose = [](const auto& f) { return f.from == kA; };
    connect();
    pass(seconds{1});
    EXPECT_EQ(net.count(kA, OpenStep::kHello), 1u + 7u);   // after 5, 15, 35, 75, 155, 315, 635 ms
    net.lose = nullptr;
    pass(seconds{1});
    EXPECT_TRUE(both_up());
    EXPECT_EQ(b->sink.hellos, 1u);
}

TEST_P(FrameLink, NobodyAnswersInTimeIsTimedOutWithTheSetting)
{
    net.lose = [](const auto&) { return true; };
    connect();
    pass(seconds{29}, milliseconds{50});
    EXPECT_TRUE(a->sink.downs.empty());
    pass(seconds{2}, milliseconds{50});
    ASSERT_EQ(a->sink.downs.size(), 1u);
    EXPECT_EQ(a->sink.downs[0].why, Status::kTimedOut);
    EXPECT_FALSE(a->sink.downs[0].up);
    EXPECT_NE(a->sink.downs[0].text.find("connect_timeout"), std::string::npos) << a->sink.downs[0].text;
    EXPECT_NE(a->sink.downs[0].text.find("port 2"), std::string::npos) << a->sink.downs[0].text;
}

TEST_P(FrameLink, LostWelcomeIsSentAgainAndTheSinkIsAskedOnce)
{
    unsigned lost = 0;
    net.lose = [&](const auto& f) { return f.step() == OpenStep::kWelcome && lost++ < 3; };
    connect();
    pass(milliseconds{100});
    EXPECT_TRUE(both_up());
    EXPECT_EQ(b->sink.hellos, 1u);
    EXPECT_EQ(net.count(kB, OpenStep::kWelcome), 4u);
}

TEST_P(FrameLink, LostConfirmIsSentAgainAndWhatWasSentMeanwhileArrives)
{
    unsigned lost = 0;
    net.lose = [&](const auto& f) { return f.step() == OpenStep::kConfirm && lost++ < 2; };
    const LinkId link = connect();
    pass(milliseconds{2});
    ASSERT_EQ(a->sink.ups.size(), 1u);
    EXPECT_TRUE(b->sink.ups.empty());
    const Packet p = eager(1, 100);
    send(link, p);
    pass(milliseconds{400});
    EXPECT_TRUE(both_up());
    ASSERT_EQ(b->sink.packets.size(), 1u);
    EXPECT_EQ(b->sink.packets[0].bytes, p.bytes);
}

TEST_P(FrameLink, ConfirmIsRepeatedUntilThePeerSaysUpAndNoLonger)
{
    unsigned lost = 0;
    net.lose = [&](const auto& f) { return f.step() == OpenStep::kUp && lost++ < 2; };
    connect();
    pass(seconds{3});
    EXPECT_TRUE(both_up());
    EXPECT_EQ(net.count(kA, OpenStep::kConfirm), 3u);
    EXPECT_EQ(net.count(kB, OpenStep::kUp), 3u);
}

TEST_P(FrameLink, CopiesOfEveryOpeningFrameChangeNothing)
{
    open();
    const std::vector<SimFrames::Frame> all = net.sent;
    for (const SimFrames::Frame& f : all) {
        net.ports[f.to]->arrive(0, f);
    }
    pass(milliseconds{100});
    EXPECT_TRUE(both_up());
    EXPECT_EQ(b->sink.hellos, 1u);
    EXPECT_TRUE(a->sink.downs.empty() && b->sink.downs.empty());
}

TEST_P(FrameLink, LateCopyOfAHelloOpensNothingWhenItsLinkIsOver)
{
    const LinkId link = open();
    a->transport->drop(link);
    pass(milliseconds{10});
    ASSERT_EQ(b->sink.downs.size(), 1u);
    net.ports[kB]->arrive(0, first(kA, OpenStep::kHello));
    pass(milliseconds{10});
    EXPECT_EQ(b->sink.hellos, 1u);
}

TEST_P(FrameLink, RejectedHelloEndsTheAttempt)
{
    b->sink.hello_answer = Action::kReject;
    connect();
    pass(milliseconds{5});
    ASSERT_EQ(a->sink.downs.size(), 1u);
    EXPECT_EQ(a->sink.downs[0].why, Status::kRefused);
    EXPECT_TRUE(b->sink.downs.empty());
}

TEST_P(FrameLink, RejectedConfirmEndsBothSides)
{
    b->sink.confirm_answer = Action::kReject;
    connect();
    pass(milliseconds{20});
    ASSERT_EQ(b->sink.downs.size(), 1u);
    EXPECT_FALSE(b->sink.downs[0].up);
    ASSERT_EQ(a->sink.downs.size(), 1u);
    EXPECT_TRUE(a->sink.downs[0].up);
    EXPECT_EQ(a->sink.downs[0].why, Status::kClosed);
}

TEST_P(FrameLink, AttemptGivenUpAfterItsHelloEndsTheAcceptorsSideToo)
{
    const LinkId link = connect();
    net.lose = [](const auto& f) { return f.step() == OpenStep::kWelcome; };
    pass(milliseconds{2});
    a->transport->drop(link);
    net.lose = nullptr;
    net.ports[kA]->arrive(0, first(kB, OpenStep::kWelcome));   // it was only late
    pass(milliseconds{10});
    ASSERT_EQ(b->sink.downs.size(), 1u);
    EXPECT_FALSE(b->sink.downs[0].up);
}

TEST_P(FrameLink, NextAddressIsCalledWhenNobodyIsAtTheFirst)
{
    wire::EndpointName name;
    name.port.set(1);
    for (const std::uint8_t number : {std::uint8_t{9}, std::uint8_t{kB}}) {
        wire::NameAddress at;
        at.bytes[3] = number;
        ASSERT_TRUE(wire::add_address(name, at));
    }
    ASSERT_TRUE(a->transport->connect(PeerId{2}, LinkRole::kLane, name).ok());
    pass(milliseconds{2});
    a->port->evidence.emplace_back(9, ECONNREFUSED);
    pass(milliseconds{10});
    EXPECT_TRUE(both_up());
    const LinkId link = a->sink.ups[0].link;   // what was good is called first from now on
    a->transport->drop(link);
    const std::size_t before = net.sent.size();
    ASSERT_TRUE(a->transport->connect(PeerId{2}, LinkRole::kLane, name).ok());
    pass(milliseconds{10});
    EXPECT_TRUE(std::none_of(net.sent.begin() + static_cast<std::ptrdiff_t>(before), net.sent.end(), [](const auto& f) { return f.to == 9; }));
}

TEST_P(FrameLink, AnotherProcessAtTheAddressLeadsToTheNextOne)
{
    Host& stranger = host(3);
    stranger.sink.hello_answer = Action::kReject;
    a->sink.elsewhere = true;
    wire::EndpointName name;
    name.port.set(1);
    for (const std::uint8_t number : {std::uint8_t{3}, std::uint8_t{kB}}) {
        wire::NameAddress at;
        at.bytes[3] = number;
        ASSERT_TRUE(wire::add_address(name, at));
    }
    ASSERT_TRUE(a->transport->connect(PeerId{2}, LinkRole::kLane, name).ok());
    pass(milliseconds{10});
    EXPECT_TRUE(both_up());
    EXPECT_EQ(stranger.sink.hellos, 1u);
}

TEST_P(FrameLink, FramesAreNoLongerThanThePeerWants)
{
    Host& narrow = host(3, 500);
    ASSERT_TRUE(a->transport->connect(PeerId{2}, LinkRole::kLane, narrow.name).ok());
    pass(milliseconds{5});
    ASSERT_EQ(a->sink.ups.size(), 1u);
    const Packet p = eager(1, 20000);
    send(a->sink.ups[0].link, p);
    pass(milliseconds{50});
    ASSERT_EQ(narrow.sink.packets.size(), 1u);
    EXPECT_EQ(narrow.sink.packets[0].bytes, p.bytes);
    EXPECT_TRUE(std::all_of(net.sent.begin(), net.sent.end(), [](const auto& f) { return f.bytes.size() <= 500; }));
}

TEST_P(FrameLink, FramesCarryChecksumsWhereEitherSideWantsThem)
{
    Settings strict;
    std::string error;
    ASSERT_EQ(strict.set("frame_crc", "on", error), Status::kOk);
    hosts.push_back(std::make_unique<Host>(net, 3, GetParam(), 1472, strict, clock));
    Host& wants = *hosts.back();
    for (const bool calls : {true, false}) {
        Host& opener = calls ? wants : *a;
        Host& other = calls ? *b : wants;
        ASSERT_TRUE(opener.transport->connect(PeerId{2}, LinkRole::kLane, other.name).ok());
        pass(milliseconds{5});
        const Packet p = eager(1, 100);
        for (Host* const h : {&opener, &other}) {
            ASSERT_FALSE(h->sink.ups.empty());
            h->sink.packets.clear();
            const LanePacket one = p.lane();
            ASSERT_EQ(h->transport->send_lane(h->sink.ups.back().link, {&one, 1}).taken, 1u);
        }
        pass(milliseconds{50});
        for (const Host* const h : {&opener, &other}) {
            ASSERT_EQ(h->sink.packets.size(), 1u) << "calls " << calls;
            EXPECT_EQ(h->sink.packets[0].bytes, p.bytes);
        }
    }
    EXPECT_TRUE(std::all_of(net.sent.begin(), net.sent.end(), [](const auto& f) {
        wire::FrameHead h;
        std::memcpy(&h, f.bytes.data(), sizeof h);
        return (h.flags.get() & wire::frame_flag::kCrc) != 0;
    }));
}

TEST_P(FrameLink, DamagedOpeningFramesAreCountedAndOpenNothing)
{
    net.lose = [](const auto&) { return true; };
    connect();
    pass(milliseconds{2});
    net.lose = nullptr;
    const SimFrames::Frame hello = first(kA, OpenStep::kHello);
    for (std::size_t bit = 16; bit < hello.bytes.size() * 8; bit += 7) {   // version and kind make it another frame
        SimFrames::Frame bad = hello;
        bad.bytes[bit / 8] ^= std::byte{1} << (bit % 8);
        net.ports[kB]->arrive(0, bad);
    }
    SimFrames::Frame cut = hello;
    cut.bytes.resize(70);
    net.ports[kB]->arrive(0, cut);
    for (int i = 0; i < 50; ++i) {
        b->transport->poll(64);
    }
    EXPECT_EQ(b->sink.hellos, 0u);
    EXPECT_GT(b->transport->rubbish(), 100u);
}

// ---- ending ----

// Else whoever says one from a false address would have another one answered by more than it said.
TEST_P(FrameLink, HelloThatIsShorterThanTheyAreMadeIsNotAnswered)
{
    net.hello_bytes = 1232;
    Host& c = host(3);
    ASSERT_TRUE(a->transport->connect(PeerId{3}, LinkRole::kLane, c.name).ok());
    pass(milliseconds{20});
    EXPECT_EQ(c.transport->rubbish(), net.count(kA, OpenStep::kHello));
    EXPECT_EQ(c.sink.hellos, 0u);
    EXPECT_TRUE(std::none_of(net.sent.begin(), net.sent.end(), [](const auto& f) { return f.from == 3; }));
    EXPECT_TRUE(c.port->came.empty());
}

TEST_P(FrameLink, OnlyWhatPassedItsChecksSaysHowLongFramesMayBe)
{
    b->sink.hello_answer = Action::kReject;
    connect();
    pass(milliseconds{5});
    EXPECT_TRUE(b->port->came.empty());
    EXPECT_EQ(a->port->came, (decltype(a->port->came){{kB, 0}})) << "it was answered";
    b->sink.hello_answer = Action::kAccept;
    connect();
    pass(milliseconds{5});
    EXPECT_TRUE(both_up());
    EXPECT_EQ(b->port->came.size(), 2u) << "hello and confirm";
    EXPECT_EQ(a->port->came.size(), 3u) << "welcome and up";
    EXPECT_EQ(a->port->came.back(), std::make_pair(kB, first(kB, OpenStep::kUp).bytes.size()));
    a->port->evidence.emplace_back(kB, EMSGSIZE);   // an MTU was lowered
    pass(milliseconds{1});
    EXPECT_EQ(a->sink.downs.size(), 2u);
}

TEST_P(FrameLink, GoodbyeThatWasLostIsTheAnswerToTheNextFrame)
{
    const LinkId link = open();
    net.lose = [](const auto& f) { return f.from == kB; };
    b->transport->drop(b->sink.ups[0].link);
    pass(seconds{1});
    EXPECT_TRUE(a->sink.downs.empty());
    net.lose = nullptr;
    send(link, eager(1, 10));
    pass(milliseconds{10});
    ASSERT_EQ(a->sink.downs.size(), 1u);
    EXPECT_EQ(a->sink.downs[0].why, Status::kClosed);
    EXPECT_TRUE(a->sink.downs[0].up);
}

TEST_P(FrameLink, OneLostGoodbyeIsRepeated)
{
    open();
    unsigned lost = 0;
    net.lose = [&](const auto& f) { return f.head().kind == wire::FrameKind::kReset && lost++ < 2; };
    b->transport->drop(b->sink.ups[0].link);
    pass(milliseconds{50});
    EXPECT_EQ(a->sink.downs.size(), 1u);
}

TEST_P(FrameLink, ResetThatDoesNotNameBothEndsIsIgnored)
{
    open();
    const wire::FrameHead welcome = first(kB, OpenStep::kWelcome).head();
    for (std::uint32_t place = 0; place < 16; ++place) {
        wire::FrameHead h;
        h.kind = wire::FrameKind::kReset;
        h.number.set(place);
        h.connection.set(welcome.connection.get() ^ 0x100000);
        const auto bytes = std::as_bytes(std::span{&h, 1});
        for (const unsigned channel : {0u, 1u}) {
            net.ports[kA]->arrive(channel % GetParam(), {kB, kA, {bytes.begin(), bytes.end()}});
        }
    }
    pass(milliseconds{5});
    EXPECT_TRUE(a->sink.downs.empty());
}

TEST_P(FrameLink, RefusedPortEndsALinkAndAnUnreachableHostDoesNot)
{
    open();
    a->port->evidence.emplace_back(kB, EHOSTUNREACH);
    pass(milliseconds{5});
    EXPECT_TRUE(a->sink.downs.empty());
    a->port->evidence.emplace_back(kB, ECONNREFUSED);
    pass(milliseconds{5});
    ASSERT_EQ(a->sink.downs.size(), 1u);
    EXPECT_EQ(a->sink.downs[0].why, Status::kClosed);
}

TEST_P(FrameLink, UnknownFramesAreAnsweredOnlySoOften)
{
    wire::FrameHead h;
    h.kind = wire::FrameKind::kAck;
    h.connection.set(0x1234567890);
    const auto bytes = std::as_bytes(std::span{&h, 1});
    for (int i = 0; i < 5000; ++i) {
        net.ports[kB]->arrive(0, {9, kB, {bytes.begin(), bytes.end()}});
    }
    for (int i = 0; i < 200; ++i) {
        b->transport->poll(64);
    }
    EXPECT_EQ(net.sent.size(), 256u);
}

TEST_P(FrameLink, ThousandsOfHelloesWithoutConfirmDoNotPileUp)
{
    net.lose = [](const auto&) { return true; };
    connect();
    pass(milliseconds{2});
    const SimFrames::Frame hello = first(kA, OpenStep::kHello);
    for (std::uint64_t i = 1; i <= 5000; ++i) {
        SimFrames::Frame copy = hello;
        wire::OpenHead open;
        std::memcpy(&open, copy.bytes.data() + sizeof(wire::FrameHead), sizeof open);
        open.own.set(i << 20);
        std::memcpy(copy.bytes.data() + sizeof(wire::FrameHead), &open, sizeof open);
        wire::FrameHead head = copy.head();
        head.crc.set(0);
        std::memcpy(copy.bytes.data(), &head, sizeof head);
        head.crc.set(wire::crc32c(copy.bytes));
        std::memcpy(copy.bytes.data(), &head, sizeof head);
        net.ports[kB]->arrive(0, copy);
    }
    for (int i = 0; i < 200; ++i) {
        b->transport->poll(64);
    }
    EXPECT_EQ(b->sink.hellos, 4096u);
    pass(seconds{40}, milliseconds{100});
    EXPECT_EQ(b->sink.downs.size(), 4096u) << "they end when nothing follows";
}

// ---- data ----

TEST_P(FrameLink, BulkPacketLongerThanATrainArrivesInParts)
{
    const LinkId link = open(LinkRole::kBulk);
    const Bytes payload = pattern(1, 5 << 20);
    ASSERT_EQ(a->transport->send_bulk(link, bulk_head(1, payload.size()), payload, &net), Status::kInProgress);
    pass(milliseconds{200}, std::chrono::microseconds{20});
    ASSERT_EQ(b->sink.bulk.size(), 1u);
    EXPECT_EQ(b->sink.bulk[0].landed, payload.size());
    EXPECT_TRUE(std::equal(payload.begin(), payload.end(), b->sink.bulk[0].bytes.begin() + sizeof(wire::BulkHead)));
    ASSERT_EQ(a->sink.sent.size(), 1u);
    EXPECT_TRUE(a->sink.sent[0].ok);
}

// Some of many parts, one packet of nothing, and frames that get lost: packets overtake each other, and each arrives whole, once.
TEST_P(FrameLink, SeveralBulkPacketsAreOnTheWayAtATimeAndEachArrivesOnce)
{
    const LinkId link = open(LinkRole::kBulk);
    net.lose = [n = 0u](const auto& f) mutable { return f.head().kind == wire::FrameKind::kBlock && ++n % 97 == 5; };
    const std::array<std::size_t, 12> sizes{100, 3u << 20, 1, 200'000, 0, 1'400'832, 1'400'833, 77, 2u << 20, 5000, 4u << 20, 64};
    std::vector<Bytes> payloads;
    unsigned refused = 0;
    unsigned most = 0;   // in landing at a time
    b->sink.on_call = [&](const char*, LinkId) { most = std::max(most, b->sink.begun); };
    for (const std::size_t bytes : sizes) {
        const auto slot = static_cast<std::uint32_t>(payloads.size());
        payloads.push_back(pattern(slot, bytes));
        while (a->transport->send_bulk(link, bulk_head(slot, bytes), payloads.back(), &payloads.back()) == Status::kAgain) {
            ++refused;
            const unsigned writable = a->sink.writable;
            for (unsigned i = 0; i < 100'000 && a->sink.writable == writable; ++i) {
                pass(Nanos{0}, std::chrono::microseconds{20});
            }
            ASSERT_GT(a->sink.writable, writable);
        }
    }
    EXPECT_GE(refused, 1u);   // there is a bound
    pass(seconds{1}, std::chrono::microseconds{20});
    ASSERT_EQ(b->sink.bulk.size(), sizes.size());
    EXPECT_EQ(b->sink.begun, 0u);
    EXPECT_GT(most, 1u);
    std::vector<bool> seen(sizes.size());
    for (const Sink::Arrival& arrived : b->sink.bulk) {
        wire::BulkHead head;
        std::memcpy(&head, arrived.bytes.data(), sizeof head);
        const std::uint32_t slot = head.recv_slot.get();
        ASSERT_LT(slot, sizes.size());
        EXPECT_FALSE(seen[slot]) << slot;
        seen[slot] = true;
        EXPECT_TRUE(arrived.ok);
        EXPECT_EQ(arrived.landed, sizes[slot]);
        EXPECT_TRUE(std::equal(payloads[slot].begin(), payloads[slot].end(), arrived.bytes.begin() + sizeof head)) << slot;
    }
    EXPECT_EQ(a->sink.sent.size(), sizes.size());
    EXPECT_GT(b->port->aimed, 100u);   // frames were read to where they were expected, and some were other frames
    EXPECT_GT(b->port->gathered, 3u);
}

TEST_P(FrameLink, EveryPacketOnTheWayEndsWithItsLink)
{
    const LinkId link = open(LinkRole::kBulk);
    net.lose = [n = 0u](const auto& f) mutable { return f.head().kind == wire::FrameKind::kBlock && ++n % 5 == 0; };
    const Bytes payload = pattern(1, 3u << 20);
    unsigned given = 0;
    for (; given < 3 && a->transport->send_bulk(link, bulk_head(given, payload.size()), payload, &net) == Status::kInProgress; ++given) {
    }
    ASSERT_GE(given, 2u);
    for (unsigned i = 0; i < 10'000 && b->sink.begun < 2; ++i) {
        pass(Nanos{0}, std::chrono::microseconds{20});
    }
    ASSERT_GE(b->sink.begun, 2u);
    a->transport->drop(link);
    EXPECT_EQ(a->sink.sent.size(), given);
    for (const Sink::Sent& s : a->sink.sent) {
        EXPECT_FALSE(s.ok);
    }
    pass(milliseconds{20});
    EXPECT_EQ(b->sink.begun, 0u);
    for (const Sink::Arrival& arrived : b->sink.bulk) {
        EXPECT_FALSE(arrived.ok);
        EXPECT_TRUE(std::equal(payload.begin(), payload.begin() + static_cast<std::ptrdiff_t>(arrived.landed), arrived.bytes.begin() + sizeof(wire::BulkHead)));
    }
    ASSERT_EQ(b->sink.downs.size(), 1u);
}

// What was without a core for a while finds the answer behind many other frames, and does not ask again before it has read that far.
TEST_P(FrameLink, WhatLiesInTheRingIsNotLate)
{
    const LinkId link = open();
    Host& c = host(3);
    const auto bulk = c.transport->connect(PeerId{1}, LinkRole::kBulk, a->name);
    ASSERT_TRUE(bulk.ok());
    pass(milliseconds{5});
    const Bytes payload = pattern(1, 200'000);
    ASSERT_EQ(c.transport->send_bulk(*bulk, bulk_head(1, payload.size()), payload, &net), Status::kInProgress);
    pass(milliseconds{2}, std::chrono::microseconds{20});   // it has credit now
    ASSERT_EQ(a->sink.bulk.size(), 1u);
    ASSERT_EQ(c.transport->send_bulk(*bulk, bulk_head(2, payload.size()), payload, &net), Status::kInProgress);
    send(link, eager(1, 8));
    for (int i = 0; i < 3; ++i) {   // the answer
        b->transport->poll(64);
        clock.advance(std::chrono::microseconds{60});
    }
    clock.advance(milliseconds{30});
    const auto sent = [this] {
        return std::count_if(net.sent.begin(), net.sent.end(), [](const auto& f) { return f.from == kA && f.head().kind == wire::FrameKind::kLane; });
    };
    const auto before = sent();
    for (int i = 0; i < 8; ++i) {
        a->transport->poll(64);
    }
    EXPECT_EQ(a->sink.bulk.size(), 2u);
    EXPECT_EQ(sent(), before) << "it was sent again";
}

TEST_P(FrameLink, IdleLinksOweNoTimerButTheKeepAlive)
{
    open();
    pass(seconds{1});
    EXPECT_GE(a->transport->next_timer() - clock.now(), seconds{1});
    EXPECT_GE(b->transport->next_timer() - clock.now(), seconds{1});
}

// Both hosts compute: a question and its answer cost each event thread one wake-up, and nobody is woken up for an acknowledgement of them.
TEST_P(FrameLink, EventThreadsSendNoFrameButWhatTheyHaveToSay)
{
    using Polling = EventSource::Polling;
    const LinkId link = open();
    const auto frames_of = [&](std::uint32_t from, std::size_t since) {
        return std::count_if(net.sent.begin() + static_cast<std::ptrdiff_t>(since), net.sent.end(), [&](const auto& f) { return f.from == from; });
    };
    const auto sleeps = [&](Host& h) {
        EXPECT_TRUE(h.transport->prepare_sleep());
        h.transport->will_sleep(EventSource::Sleeper::kEventThread);
    };
    const auto wakes = [&](Host& h, Polling how) {
        h.transport->will_poll(how);
        h.transport->finish_sleep();
        h.transport->poll(64);
    };
    const auto answer = [&] {
        const Packet grant = eager(2, 40);
        const LanePacket one = grant.lane();
        EXPECT_EQ(b->transport->send_lane(b->sink.ups[0].link, {&one, 1}).taken, 1u);
    };
    for (std::uint32_t round = 0; round < 3; ++round) {   // the first ones bring the credit, and what each knows of the other
        const std::size_t before = net.sent.size();
        send(link, eager(1, 100));
        sleeps(*a);
        wakes(*b, Polling::kForAMoment);
        ASSERT_EQ(b->sink.packets.size(), round + 1);
        answer();
        sleeps(*b);
        wakes(*a, Polling::kForAMoment);
        ASSERT_EQ(a->sink.packets.size(), round + 1);
        sleeps(*a);
        for (int ms = 0; ms < 3; ++ms) {
            EXPECT_GT(a->transport->next_timer(), clock.now());
            EXPECT_GT(b->transport->next_timer(), clock.now());
            clock.advance(milliseconds{1});
        }
        if (round == 2) {
            EXPECT_EQ(frames_of(kA, before), 1) << "the question";
            EXPECT_EQ(frames_of(kB, before), 1) << "the answer";
        }
        wakes(*a, Polling::kSteadily);
        wakes(*b, Polling::kForAMoment);
        sleeps(*b);
    }
    const std::size_t before = net.sent.size();   // a host that waits itself, and was told that its peer sleeps
    send(link, eager(1, 100));
    wakes(*b, Polling::kForAMoment);
    sleeps(*b);
    EXPECT_EQ(frames_of(kB, before), 0);
    wakes(*b, Polling::kSteadily);
    answer();
    wakes(*a, Polling::kSteadily);
    EXPECT_EQ(frames_of(kB, before), 1);
    send(link, eager(1, 100));   // and one that its peer polls like itself
    wakes(*b, Polling::kForAMoment);
    sleeps(*b);
    EXPECT_EQ(frames_of(kB, before), 2);
}

TEST_P(FrameLink, DropsOfTheKernelAreCountedOnce)
{
    open();
    b->port->drops = 10;   // of each channel
    pass(milliseconds{5});
    EXPECT_EQ(b->stats.total(Counter::kFlowKernelDrops), 10u * GetParam());
}

TEST_P(FrameLink, RingThatOverflowedIsLentLessUntilItHasNotForLong)
{
    const LinkId link = open(LinkRole::kBulk);
    const Bytes payload = pattern(1, 100'000);
    std::uint32_t packets = 0;
    const auto lent = [&] {   // as the acknowledgement of a packet says
        EXPECT_EQ(a->transport->send_bulk(link, bulk_head(++packets, payload.size()), payload, &net), Status::kInProgress);
        for (unsigned tries = 0; tries < 1000 && b->sink.bulk.size() < packets; ++tries) {
            pass(Nanos{0});
        }
        const auto blocks = std::count_if(net.sent.begin(), net.sent.end(), [](const auto& f) { return f.head().kind == wire::FrameKind::kBlock; });
        const auto last = std::find_if(net.sent.rbegin(), net.sent.rend(), [](const auto& f) { return f.from == kB; });
        return last->head().credit.get() - static_cast<std::uint32_t>(blocks);
    };
    const auto overflow = [&] {
        ++b->port->drops;
        pass(milliseconds{1});
    };
    const std::uint32_t at_first = lent();
    overflow();
    overflow();
    overflow();
    EXPECT_EQ(lent(), at_first - 256 / 8) << "that was one";
    pass(milliseconds{50});
    overflow();
    pass(seconds{1}, milliseconds{10});
    overflow();   // nothing was lent
    EXPECT_EQ(lent(), at_first - 256 / 8);
    pass(milliseconds{1});
    overflow();
    const std::uint32_t after = lent();
    EXPECT_LT(after, at_first - 256 / 8) << "that was another";
    pass(seconds{1}, milliseconds{10});
    EXPECT_EQ(lent(), after);
    pass(seconds{10}, milliseconds{10});
    EXPECT_EQ(lent(), at_first);
}

INSTANTIATE_TEST_SUITE_P(Channels, FrameLink, ::testing::Values(1u, 2u));

}   // namespace
}   // namespace linnet::contract

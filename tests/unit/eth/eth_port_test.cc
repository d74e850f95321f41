// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EthPort: names, routes, and frames between two hosts.
#include "transport/eth/eth_port.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

#include "support/net_namespace.h"
#include "support/test_log.h"

namespace linnet::eth {
namespace {

using frames::Candidate;
using frames::Route;
using frames::RxFrame;

class EthPortTest : public ::testing::Test {
protected:
    void SetUp() override { make(1500); }
    void make(unsigned mtu)
    {
        std::string why;
        for (unsigned h : {0u, 1u}) {
            ports[h].reset();
            names[h] = {};
        }
        hosts = testing::NamespacePair::make(why, mtu);
        if (hosts == nullptr) {
            GTEST_SKIP() << why;
        }
        for (unsigned h : {0u, 1u}) {
            open(h);
        }
    }
    void open(unsigned h)
    {
        const testing::NamespacePair::Scope there{*hosts, h};
        std::string error;
        ASSERT_EQ(settings.set("eth_listeners", "0", error), Status::kOk) << error;   // all listen from the start: see listening_test.cc
        ports[h] = std::make_unique<EthPort>(settings, testing::test_log(), stats);
        ASSERT_EQ(ports[h]->open(names[h]), Status::kOk);
    }
    Candidate route(unsigned from, const wire::EndpointName& name)
    {
        std::array<Candidate, wire::kNameAddressesMax> out;
        EXPECT_EQ(ports[from]->routes(name, out), 1u);
        return out[0];
    }
    Route to(unsigned from) { return route(from, names[1 - from]).route; }
    static std::vector<std::byte> frame(wire::FrameKind kind, std::size_t bytes, unsigned seed = 0)
    {
        std::vector<std::byte> f(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
            f[i] = static_cast<std::byte>(seed + i * 13);
        }
        wire::FrameHead h;
        h.kind = kind;
        h.bytes.set(static_cast<std::uint16_t>(bytes - sizeof h));
        std::memcpy(f.data(), &h, sizeof h);
        return f;
    }
    std::vector<RxFrame> receive(unsigned at)
    {
        std::vector<RxFrame> got(64);
        got.resize(ports[at]->receive(frames::kLaneChannel, got));
        return got;
    }
    static bool same(const RxFrame& got, std::span<const std::byte> sent)
    {
        return got.bytes.size() >= sent.size() && std::memcmp(got.bytes.data(), sent.data(), sent.size()) == 0;
    }
    std::uint64_t counted(Counter c) { return stats.block(StatsRole::kPoller).get(c) + stats.block(StatsRole::kAnyThread).get(c); }

    Settings settings;
    Stats stats;
    std::unique_ptr<testing::NamespacePair> hosts;
    std::unique_ptr<EthPort> ports[2];
    wire::EndpointName names[2];
};

TEST_F(EthPortTest, ANameTellsTheContactOfTheInterface)
{
    for (unsigned h : {0u, 1u}) {
        const wire::NameAddresses at{names[h]};
        ASSERT_EQ(at.size(), 1u);
        EXPECT_EQ(at[0].bytes[3], h + 1);
        EXPECT_TRUE(at.contact(0).present());
    }
    EXPECT_TRUE(route(0, names[1]).refusal.empty());
    EXPECT_EQ(ports[0]->limits(0).frame_bytes, 1496u);
    EXPECT_GE(ports[0]->limits(0).ring_frames, 512u);
    EXPECT_NE(ports[0]->local_text(to(0)).find("interface eth0"), std::string::npos);
}

TEST_F(EthPortTest, WhoIsNotOnTheSegmentIsRefusedWithAReason)
{
    wire::EndpointName far;
    wire::EtherContact contact = wire::NameAddresses{names[1]}.contact(0);
    ASSERT_TRUE(wire::add_address(far, {wire::AddressFamily::kIpv4, {10, 98, 0, 2}}, contact));
    EXPECT_NE(route(0, far).refusal.find("segments"), std::string::npos);
    EXPECT_NE(route(0, names[0]).refusal.find("on this host"), std::string::npos);
    wire::EndpointName bare;
    ASSERT_TRUE(wire::add_address(bare, {wire::AddressFamily::kIpv4, {10, 99, 0, 2}}));
    EXPECT_NE(route(0, bare).refusal.find("no Ethernet interface"), std::string::npos);
    EXPECT_FALSE(route(0, wire::EndpointName{}).refusal.empty());
}

TEST_F(EthPortTest, TheEtherTypeOfAnotherProtocolIsRefusedByName)
{
    const testing::NamespacePair::Scope there{*hosts, 0};
    std::string error;
    const auto refusal = [&](const char* ether_type) {
        EXPECT_EQ(settings.set("eth_type", ether_type, error), Status::kOk) << error;
        EthPort port{settings, testing::test_log(), stats};
        wire::EndpointName name;
        EXPECT_EQ(port.open(name), Status::kOk);
        std::array<Candidate, wire::kNameAddressesMax> out;
        const std::size_t n = port.routes(names[1], out);
        return n == 1 && out[0].refusal.empty() ? std::string{} : out[0].refusal;
    };
    EXPECT_NE(refusal("0x0800").find("eth_type 2048 is that of IPv4"), std::string::npos) << refusal("0x0800");
    EXPECT_NE(refusal("0x86dd").find("is that of IPv6"), std::string::npos);
    EXPECT_EQ(refusal("0x88B6"), "");
}

TEST_F(EthPortTest, AnIpv6NetworkTellsTheSegmentToo)
{
    wire::EndpointName six;
    ASSERT_TRUE(wire::add_address(six, {wire::AddressFamily::kIpv6, InetAddress::parse("fd99::2")->bytes()}, wire::NameAddresses{names[1]}.contact(0)));
    EXPECT_FALSE(route(0, six).refusal.empty()) << "our interface has no IPv6 address";
    ASSERT_TRUE(hosts->ip(0, "addr add fd99::1/64 dev eth0 nodad") && hosts->ip(0, "addr del 10.99.0.1/24 dev eth0"));
    names[0] = {};
    open(0);
    EXPECT_TRUE(route(0, six).refusal.empty());
}

TEST_F(EthPortTest, ShortFramesArrivePaddedAndTellTheirSource)
{
    const auto sent = frame(wire::FrameKind::kAck, sizeof(wire::FrameHead));
    ports[0]->send_single(0, to(0), sent);
    const auto got = receive(1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_TRUE(same(got[0], sent));
    EXPECT_EQ(ports[1]->source(0, got[0]), to(1)) << "the answer goes to where the name leads";
    EXPECT_TRUE(receive(1).empty());
    EXPECT_TRUE(receive(0).empty());
}

TEST_F(EthPortTest, ABatchIsOneSystemCallAndArrivesInOrder)
{
    Route there = to(0);
    std::vector<std::vector<std::byte>> payload;
    std::vector<flow::TxFrame> batch(40);
    for (unsigned i = 0; i < batch.size(); ++i) {
        const auto whole = frame(wire::FrameKind::kLane, sizeof(wire::FrameHead) + i * 30, i);
        payload.emplace_back(whole.begin() + sizeof(wire::FrameHead), whole.end());
        batch[i].route = &there;
        batch[i].head_bytes = sizeof(wire::FrameHead);
        std::memcpy(batch[i].head.data(), whole.data(), sizeof(wire::FrameHead));
    }
    for (unsigned i = 0; i < batch.size(); ++i) {
        batch[i].payload = payload[i];
    }
    const std::uint64_t calls = counted(Counter::kEthTxCalls);
    EXPECT_EQ(ports[0]->send(0, batch), batch.size());
    EXPECT_EQ(counted(Counter::kEthTxCalls), calls + 1);
    const auto got = receive(1);
    ASSERT_EQ(got.size(), batch.size());
    for (unsigned i = 0; i < batch.size(); ++i) {
        EXPECT_EQ(std::memcmp(got[i].bytes.data(), batch[i].head.data(), sizeof(wire::FrameHead)), 0) << i;
        EXPECT_TRUE(payload[i].empty() || std::memcmp(got[i].bytes.data() + sizeof(wire::FrameHead), payload[i].data(), payload[i].size()) == 0) << i;
    }
    EXPECT_EQ(counted(Counter::kEthTxBytes), counted(Counter::kEthRxBytes));
}

TEST_F(EthPortTest, RuntsAndForeignFramesAreDroppedAndCounted)
{
    PacketRing::Config c;
    {
        const testing::NamespacePair::Scope there{*hosts, 0};
        c.interface_index = ether_interface("eth0").index;
    }
    const testing::NamespacePair::Scope there{*hosts, 0};
    PacketRing::Opened raw = PacketRing::open(c);
    ASSERT_EQ(raw.error, 0);
    const auto inject = [&](const MacAddress& mac, std::size_t bytes) {
        std::vector<std::byte> f(bytes);
        EtherHead head;
        head.to = mac;
        head.ether_type = {0x88, 0xb5};
        head.to_endpoint = to(0).as<EthRoute>().endpoint;
        std::memcpy(f.data(), &head, sizeof head);
        ASSERT_EQ(::send(raw.ring.descriptor(), f.data(), f.size(), 0), static_cast<ssize_t>(bytes));
    };
    const MacAddress peer = to(0).as<EthRoute>().mac;
    inject(peer, sizeof(EtherHead) + sizeof(wire::FrameHead) - 1);
    EXPECT_TRUE(receive(1).empty());
    EXPECT_EQ(counted(Counter::kEthBroken), 1u);
    inject({0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, 200);
    EXPECT_TRUE(receive(1).empty());
    EXPECT_EQ(counted(Counter::kEthForeign), 1u);
    inject(peer, 200);
    EXPECT_EQ(receive(1).size(), 1u);
}

TEST_F(EthPortTest, LostToAFullRingIsCounted)
{
    const auto sent = frame(wire::FrameKind::kAck, 100);
    const std::uint32_t places = ports[1]->limits(0).ring_frames;
    for (std::uint32_t i = 0; i < places + 9; ++i) {
        ports[0]->send_single(0, to(0), sent);
    }
    std::size_t got = 0;
    for (std::size_t n = receive(1).size(); n != 0; n = receive(1).size()) {
        got += n;
    }
    EXPECT_EQ(got, places);
    ports[0]->send_single(0, to(0), sent);   // the next one tells
    ASSERT_EQ(receive(1).size(), 1u);
    EXPECT_EQ(ports[1]->kernel_drops(0), 9u);
}

TEST_F(EthPortTest, TheDescriptorIsReadableWhileFramesWaitAndAfterTheInterfaceWasDownOnlyThen)
{
    const auto readable = [&](unsigned at) {
        pollfd p{ports[at]->wait_descriptor(), POLLIN, 0};
        return ::poll(&p, 1, 0) == 1;
    };
    const auto soon_readable = [&](unsigned at) {
        pollfd p{ports[at]->wait_descriptor(), POLLIN, 0};
        return ::poll(&p, 1, 2000) == 1;
    };
    EXPECT_FALSE(readable(1));
    EXPECT_TRUE(ports[1]->prepare_sleep());
    ports[0]->send_single(0, to(0), frame(wire::FrameKind::kAck, 100));
    ASSERT_TRUE(soon_readable(1));
    EXPECT_FALSE(ports[1]->prepare_sleep());
    EXPECT_EQ(receive(1).size(), 1u);
    EXPECT_TRUE(receive(1).empty());
    EXPECT_FALSE(readable(1));
    ASSERT_TRUE(hosts->ip(1, "link set eth0 down"));
    EXPECT_TRUE(ports[1]->prepare_sleep());
    EXPECT_FALSE(readable(1)) << "a sleeper would wake for nothing, again and again";
    ASSERT_TRUE(hosts->ip(1, "link set eth0 up"));
    // The link comes up a moment after the command; what is sent before is lost.
    bool came = false;
    for (int attempt = 0; attempt < 50 && !came; ++attempt) {
        ports[0]->send_single(0, to(0), frame(wire::FrameKind::kAck, 100));
        pollfd p{ports[1]->wait_descriptor(), POLLIN, 0};
        came = ::poll(&p, 1, 100) == 1 && receive(1).size() == 1;
    }
    EXPECT_TRUE(came);
}

TEST_F(EthPortTest, RingThatIsPolledForLongTellsNobodyUntilSomebodySleeps)
{
    const auto readable = [&] {
        pollfd p{ports[1]->wait_descriptor(), POLLIN, 0};
        return ::poll(&p, 1, 0) == 1;
    };
    const auto sent = frame(wire::FrameKind::kAck, 100);
    for (unsigned i = 0; i < frames::kMuteAfter; ++i) {
        ports[0]->send_single(0, to(0), sent);
        EXPECT_TRUE(readable()) << i;
        ASSERT_EQ(receive(1).size(), 1u);
    }
    EXPECT_EQ(ports[1]->linger(), EventSource::Linger::kNothing);
    ports[0]->send_single(0, to(0), sent);
    EXPECT_FALSE(readable());
    EXPECT_EQ(ports[1]->linger(), EventSource::Linger::kArrival) << "who polls sees it";
    EXPECT_FALSE(ports[1]->prepare_sleep());
    EXPECT_TRUE(readable());
    EXPECT_EQ(receive(1).size(), 1u);
    EXPECT_TRUE(receive(1).empty());
    EXPECT_TRUE(ports[1]->prepare_sleep());
    EXPECT_FALSE(readable());
    ports[0]->send_single(0, to(0), sent);
    EXPECT_TRUE(readable()) << "a sleeper is woken";
}

TEST_F(EthPortTest, JumboFramesAreUsedWhereOneCameThrough)
{
    make(9000);
    const Route there = to(0);
    EXPECT_EQ(ports[0]->frame_bytes(there), 8996u);
    const auto hello = frame(wire::FrameKind::kOpen, 300);
    ports[0]->send_single(0, there, hello);
    auto got = receive(1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(got[0].bytes.size(), 8996u);
    EXPECT_TRUE(same(got[0], hello));
    EXPECT_EQ(ports[1]->frame_bytes(to(1)), 8996u);
    ports[0]->send_single(0, there, frame(wire::FrameKind::kReset, 64));
    got = receive(1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_LT(got[0].bytes.size(), 100u) << "only what opens a link is padded";
}

TEST_F(EthPortTest, APathThatTakesLessIsFoundByItsSilence)
{
    make(9000);
    ASSERT_TRUE(hosts->ip(1, "link set eth0 mtu 3000")) << "after the port has seen 9000: as a switch would";
    const auto hello = frame(wire::FrameKind::kOpen, 300);
    unsigned tries = 0;
    std::vector<RxFrame> got;
    while (got.empty() && tries < 10) {
        ++tries;
        ports[0]->send_single(0, to(0), hello);
        got = receive(1);
    }
    EXPECT_EQ(tries, frames::PathTable::kHopeful + 1);
    ASSERT_EQ(got.size(), 1u);
    EXPECT_EQ(ports[1]->frame_bytes(to(1)), 8996u) << "anybody may have said it";
    ports[1]->came_through(ports[1]->source(frames::kLaneChannel, got[0]), got[0].bytes.size());
    EXPECT_EQ(ports[1]->frame_bytes(to(1)), 1496u);
    ports[1]->send_single(0, to(1), hello);
    got = receive(0);
    ASSERT_EQ(got.size(), 1u);
    ports[0]->came_through(ports[0]->source(frames::kLaneChannel, got[0]), got[0].bytes.size());
    EXPECT_EQ(ports[0]->frame_bytes(to(0)), 1496u);
}

// As by an administrator, in the midst of a job.
TEST_F(EthPortTest, LowerMtuIsEvidenceForTheLinksWhoseFramesAreTooLongNow)
{
    const testing::NamespacePair::Scope there{*hosts, 0};
    const Route peer = to(0);
    const std::vector<std::byte> payload(1496 - sizeof(wire::FrameHead));
    const auto send = [&](std::size_t bytes) {
        wire::FrameHead h;
        h.kind = wire::FrameKind::kLane;
        h.bytes.set(static_cast<std::uint16_t>(bytes));
        flow::TxFrame f;
        f.route = const_cast<Route*>(&peer);
        f.head_bytes = sizeof h;
        f.payload = std::span{payload}.first(bytes);
        std::memcpy(f.head.data(), &h, sizeof h);
        return ports[0]->send(0, {&f, 1});
    };
    frames::Evidence e;
    EXPECT_EQ(send(payload.size()), 1u);
    EXPECT_EQ(receive(1).size(), 1u);
    ASSERT_TRUE(hosts->ip(0, "link set eth0 mtu 1400"));
    EXPECT_EQ(send(1000), 1u);
    EXPECT_EQ(receive(1).size(), 1u);
    EXPECT_FALSE(ports[0]->next_evidence(e));
    EXPECT_EQ(send(payload.size()), 1u) << "it is lost";
    EXPECT_EQ(send(payload.size()), 1u);
    EXPECT_TRUE(receive(1).empty());
    ASSERT_TRUE(ports[0]->next_evidence(e));
    EXPECT_EQ(e.route, peer);
    EXPECT_EQ(e.error, EMSGSIZE);
    EXPECT_FALSE(ports[0]->next_evidence(e)) << "once is enough";
    EXPECT_EQ(ports[0]->frame_bytes(peer), 1396u) << "what the next link will use";
    EXPECT_EQ(ports[0]->limits(0).frame_bytes, 1496u) << "what buffers were made for";
}

TEST_F(EthPortTest, NothingGoesOutOrComesInAfterClose)
{
    ports[0]->send_single(0, to(0), frame(wire::FrameKind::kAck, 100));
    const Route back = to(1);
    ports[1]->close();
    EXPECT_TRUE(receive(1).empty());
    ports[1]->send_single(0, back, frame(wire::FrameKind::kAck, 100));
    EXPECT_TRUE(receive(0).empty());
}

// As it is without CAP_NET_RAW too: open, with one line that says why, and reaching nobody.
TEST(EthPortWithoutEthernet, IsSkippedWithOneLine)
{
    Settings settings;
    std::string error;
    ASSERT_EQ(settings.set(SettingId::kNetInclude, "lo", error), Status::kOk);
    ASSERT_EQ(settings.set(SettingId::kTransports, "eth,tcp", error), Status::kOk);
    Stats stats;
    testing::expect_complaint("eth: skipped, no interface can be used");
    EthPort port{settings, testing::test_log(), stats};
    wire::EndpointName name;
    ASSERT_EQ(port.open(name), Status::kOk);
    std::array<Candidate, wire::kNameAddressesMax> out;
    EXPECT_EQ(port.routes(name, out), 1u);
    EXPECT_FALSE(out[0].refusal.empty());
    std::vector<RxFrame> none(4);
    EXPECT_EQ(port.receive(0, none), 0u);
    EXPECT_TRUE(port.prepare_sleep());
    EXPECT_GT(port.limits(0).ring_frames, 0u);
    EXPECT_FALSE(port.usable());
}

TEST(EthPortWithoutEthernet, IsSkippedWithoutAWordIfNobodyAskedForIt)
{
    Settings settings;
    std::string error;
    ASSERT_EQ(settings.set(SettingId::kNetInclude, "lo", error), Status::kOk);
    Stats stats;
    EthPort port{settings, testing::test_log(), stats};
    wire::EndpointName name;
    ASSERT_EQ(port.open(name), Status::kOk);
    EXPECT_FALSE(port.usable());
}

}   // namespace
}   // namespace linnet::eth

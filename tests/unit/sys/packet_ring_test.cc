// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PacketRing: the filter as the kernel runs it, and frames between two interfaces.
#include "sys/packet_ring.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cstring>
#include <vector>

#include "support/net_namespace.h"

namespace linnet {

using Bytes = std::vector<std::uint8_t>;
constexpr std::uint16_t kType = 0x88b5;

static Bytes frame(std::uint16_t type, std::uint16_t endpoint, std::size_t payload = 60)
{
    Bytes f(12, 0xee);
    for (const std::uint16_t word : {type, endpoint, std::uint16_t{7}}) {
        f.push_back(static_cast<std::uint8_t>(word >> 8));
        f.push_back(static_cast<std::uint8_t>(word));
    }
    for (std::size_t i = 0; i < payload; ++i) {
        f.push_back(static_cast<std::uint8_t>(i * 7));
    }
    return f;
}

namespace {

// The kernel's own interpreter needs no privilege: a filter also works on a pair of Unix sockets, whose datagrams begin where a frame does.
class PacketFilter : public ::testing::Test {
protected:
    PacketFilter()
    {
        int fds[2];
        EXPECT_EQ(::socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds), 0);
        in.reset(fds[0]);
        out.reset(fds[1]);
        auto steps = packet_filter(kType, 0xa1b2);
        const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
        EXPECT_EQ(::setsockopt(out.get(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), 0);
    }
    // Bytes that came through; -1: dropped.
    ssize_t pass(const Bytes& f)
    {
        static_cast<void>(::send(in.get(), f.data(), f.size(), 0));
        Bytes to(4096);
        return ::recv(out.get(), to.data(), to.size(), 0);
    }
    Fd in;
    Fd out;
};

TEST_F(PacketFilter, PassesOurFramesWhole)
{
    EXPECT_EQ(pass(frame(kType, 0xa1b2)), 78);
    EXPECT_EQ(pass(frame(kType, 0xa1b2, 3000)), 3018);
    EXPECT_EQ(pass(frame(kType, 0xa1b2, 0)), 18);
}

TEST_F(PacketFilter, DropsOtherTypesAndEndpoints)
{
    EXPECT_EQ(pass(frame(0x0800, 0xa1b2)), -1);
    EXPECT_EQ(pass(frame(0x88b6, 0xa1b2)), -1);
    EXPECT_EQ(pass(frame(0xb588, 0xa1b2)), -1);
    EXPECT_EQ(pass(frame(kType, 0xa1b3)), -1);
    EXPECT_EQ(pass(frame(kType, 0xb2a1)), -1);
    EXPECT_EQ(pass(frame(kType, 0)), -1);
}

TEST_F(PacketFilter, DropsWhatIsTooShortToSay)
{
    for (std::size_t bytes = 1; bytes < 16; ++bytes) {
        Bytes runt = frame(kType, 0xa1b2);
        runt.resize(bytes);
        EXPECT_EQ(pass(runt), -1) << bytes;
    }
}

class PacketRingTest : public ::testing::Test {
protected:
    void SetUp() override
    {
        std::string why;
        hosts = testing::NamespacePair::make(why);
        if (hosts == nullptr) {
            GTEST_SKIP() << why;
        }
        ASSERT_TRUE(open(0, receiver, 0xa1b2, kPlaces));
        ASSERT_TRUE(open(1, sender, 0x0001, 1));
        const testing::NamespacePair::Scope there{*hosts, 0};
        receiver_mac = ether_interface("eth0").mac;
    }
    [[nodiscard]] bool open(unsigned host, PacketRing& into, std::uint16_t endpoint, unsigned frames)
    {
        const testing::NamespacePair::Scope there{*hosts, host};
        PacketRing::Config c;
        c.interface_index = ::if_nametoindex("eth0");
        c.endpoint = endpoint;
        c.frames = frames;
        PacketRing::Opened o = PacketRing::open(c);
        EXPECT_EQ(o.error, 0) << o.what;
        into = std::move(o.ring);
        return o.error == 0;
    }
    static Bytes to(const MacAddress& mac, Bytes f)
    {
        std::copy(mac.begin(), mac.end(), f.begin());
        return f;
    }
    // The frame of frame(), to the receiver.
    Bytes frame(std::uint16_t type, std::uint16_t endpoint, std::size_t payload = 60) const { return to(receiver_mac, linnet::frame(type, endpoint, payload)); }
    // A frame may be anything, also one that Linnet would not send.
    void inject(const Bytes& f) { ASSERT_EQ(::send(sender.descriptor(), f.data(), f.size(), 0), static_cast<ssize_t>(f.size())); }
    // The cable delivers before send() returns.
    std::vector<Bytes> take()
    {
        std::vector<Bytes> all;
        PacketRing::Frame f;
        while (receiver.next(f)) {
            const auto* const at = reinterpret_cast<const std::uint8_t*>(f.bytes.data());
            all.emplace_back(at, at + f.bytes.size());
            last = f;
        }
        receiver.release();
        return all;
    }
    static constexpr unsigned kPlaces = 70;   // more than one block, and the last one not full

    std::unique_ptr<testing::NamespacePair> hosts;
    MacAddress receiver_mac{};
    PacketRing receiver;
    PacketRing sender;
    PacketRing::Frame last;
};

TEST_F(PacketRingTest, FramesArriveInOrderThroughManyRoundsOfTheRing)
{
    ASSERT_GE(receiver.places(), kPlaces);
    for (std::size_t round = 0; round < 3 * receiver.places(); round += 7) {
        for (std::size_t i = 0; i < 7; ++i) {
            inject(frame(kType, 0xa1b2, 1 + round + i));
        }
        EXPECT_TRUE(receiver.ready());
        const std::vector<Bytes> got = take();
        ASSERT_EQ(got.size(), 7u);
        for (std::size_t i = 0; i < 7; ++i) {
            ASSERT_EQ(got[i], frame(kType, 0xa1b2, 1 + round + i));
        }
        EXPECT_FALSE(receiver.ready());
    }
}

TEST_F(PacketRingTest, AFullRingDropsAndCountsAndGoesOn)
{
    const unsigned places = receiver.places();
    for (unsigned i = 0; i < places + 5; ++i) {
        inject(frame(kType, 0xa1b2, i));
    }
    EXPECT_EQ(take().size(), places);
    EXPECT_EQ(receiver.drops(), 5u);
    for (unsigned i = 0; i < places + 2; ++i) {
        inject(frame(kType, 0xa1b2, i));
    }
    EXPECT_EQ(take().size(), places);
    EXPECT_EQ(receiver.drops(), 7u);
    inject(frame(kType, 0xa1b2));
    EXPECT_EQ(take().size(), 1u);
}

TEST_F(PacketRingTest, PlacesAreFreeOnlyAfterTheirRelease)
{
    PacketRing::Frame f;
    for (unsigned i = 0; i < receiver.places(); ++i) {
        inject(frame(kType, 0xa1b2, 5));
        ASSERT_TRUE(receiver.next(f));
    }
    EXPECT_FALSE(receiver.ready());
    EXPECT_FALSE(receiver.next(f));
    inject(frame(kType, 0xa1b2, 6));
    EXPECT_EQ(receiver.drops(), 1u);
    receiver.release();
    inject(frame(kType, 0xa1b2, 8));
    ASSERT_TRUE(receiver.next(f));
    EXPECT_EQ(f.bytes.size(), 26u);
    EXPECT_TRUE(f.losing || receiver.drops() == 1u);
}

TEST_F(PacketRingTest, ForeignFramesNeverComeIn)
{
    inject(frame(kType, 0xa1b3));
    inject(frame(0x88b6, 0xa1b2));
    inject(Bytes(14, 0xee));
    EXPECT_FALSE(receiver.ready());
    EXPECT_EQ(receiver.drops(), 0u);
}

TEST_F(PacketRingTest, WhatIsSentElsewhereIsShownAsSuch)
{
    inject(frame(kType, 0xa1b2));
    ASSERT_EQ(take().size(), 1u);
    EXPECT_FALSE(last.elsewhere);
    inject(to(MacAddress{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, frame(kType, 0xa1b2)));
    ASSERT_EQ(take().size(), 1u);
    EXPECT_TRUE(last.elsewhere);
    ASSERT_TRUE(hosts->ip(0, "link set eth0 promisc on"));
    inject(to(MacAddress{2, 2, 2, 2, 2, 2}, frame(kType, 0xa1b2)));
    ASSERT_EQ(take().size(), 1u);
    EXPECT_TRUE(last.elsewhere);
}

TEST_F(PacketRingTest, AVlanTagIsTakenOffAndTold)
{
    const auto tagged = [this](std::uint16_t tci) {
        Bytes f = frame(kType, 0xa1b2, 10);
        const std::uint8_t tag[] = {0x81, 0x00, static_cast<std::uint8_t>(tci >> 8), static_cast<std::uint8_t>(tci)};
        f.insert(f.begin() + 12, std::begin(tag), std::end(tag));
        return f;
    };
    inject(tagged(42));
    ASSERT_EQ(take(), std::vector<Bytes>{frame(kType, 0xa1b2, 10)});
    EXPECT_TRUE(last.elsewhere);
    inject(tagged(3 << 13));   // VLAN 0: a priority, and otherwise ours
    ASSERT_EQ(take(), std::vector<Bytes>{frame(kType, 0xa1b2, 10)});
    EXPECT_FALSE(last.elsewhere);
}

TEST_F(PacketRingTest, ALongerFrameThanAPlaceIsShownAsCut)
{
    ASSERT_TRUE(hosts->ip(0, "link set eth0 mtu 4000") && hosts->ip(1, "link set eth0 mtu 4000"));
    inject(frame(kType, 0xa1b2, 3500));
    ASSERT_EQ(take().size(), 1u);
    EXPECT_TRUE(last.cut);
    inject(frame(kType, 0xa1b2, 1400));
    ASSERT_EQ(take().size(), 1u);
    EXPECT_FALSE(last.cut);
}

TEST_F(PacketRingTest, ABatchGoesOutInOneCallAndNothingComesBack)
{
    std::vector<Bytes> frames;
    std::vector<std::array<iovec, 2>> pieces(100);
    std::vector<PacketRing::Outgoing> batch;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        frames.push_back(frame(kType, 0x0001, i));
    }
    for (std::size_t i = 0; i < pieces.size(); ++i) {
        pieces[i] = {{{frames[i].data(), 10}, {frames[i].data() + 10, frames[i].size() - 10}}};
        batch.push_back({pieces[i]});
    }
    // To the sender's ring, which is short: what does not fit there is lost, and has been sent all the same.
    const PacketRing::Sent sent = receiver.send(batch);
    EXPECT_EQ(sent.frames, 100u);
    EXPECT_EQ(sent.error, 0);
    EXPECT_FALSE(receiver.ready()) << "our own frames came back";
    PacketRing::Frame f;
    for (std::size_t i = 0; i < std::min<std::size_t>(sender.places(), 100); ++i) {
        ASSERT_TRUE(sender.next(f));
        ASSERT_EQ(f.bytes.size(), frames[i].size());
        EXPECT_EQ(std::memcmp(f.bytes.data(), frames[i].data(), f.bytes.size()), 0);
    }
}

TEST_F(PacketRingTest, TheFilterCannotBeChangedAnyMore)
{
    auto steps = packet_filter(0x0800, 1);
    const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
    EXPECT_EQ(::setsockopt(receiver.descriptor(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program), -1);
    EXPECT_EQ(errno, EPERM);
    EXPECT_NE(::fcntl(receiver.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(PacketRingTest, AnInterfaceThatIsDownSaysSo)
{
    Bytes f = frame(kType, 0x0001);
    std::array<iovec, 1> piece{{{f.data(), f.size()}}};
    const PacketRing::Outgoing one{piece};
    ASSERT_TRUE(hosts->ip(0, "link set eth0 down"));
    PacketRing::Sent sent = receiver.send({&one, 1});
    EXPECT_EQ(sent.frames, 0u);
    EXPECT_EQ(sent.error, ENETDOWN);
    ASSERT_TRUE(hosts->ip(0, "link set eth0 up"));
    static_cast<void>(receiver.send({&one, 1}));   // the socket may first report what happened meanwhile
    sent = receiver.send({&one, 1});
    EXPECT_EQ(sent.frames, 1u) << sent.error;
}

TEST_F(PacketRingTest, AnInterfaceTellsItsAddressAndMtu)
{
    const testing::NamespacePair::Scope there{*hosts, 0};
    const EtherInterface eth0 = ether_interface("eth0");
    EXPECT_EQ(eth0.error, 0);
    EXPECT_TRUE(eth0.ethernet);
    EXPECT_EQ(eth0.mtu, 1500u);
    EXPECT_NE(eth0.mac, MacAddress{});
    EXPECT_FALSE(ether_interface("lo").ethernet);
    EXPECT_EQ(ether_interface("none").error, ENODEV);
}

TEST(ReservedPort, IsNobodyElsesWhileHeld)
{
    const InetAddress lo = *InetAddress::parse("127.0.0.1");
    const ReservedPort a = reserve_udp_port(lo);
    const ReservedPort b = reserve_udp_port(lo);
    ASSERT_NE(a.port, 0);
    ASSERT_NE(b.port, 0);
    EXPECT_NE(a.port, b.port);
    EXPECT_NE(reserve_udp_port(*InetAddress::parse("203.0.113.9")).error, 0);
}

}   // namespace
}   // namespace linnet

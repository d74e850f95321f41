// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// UDP sockets on loopback: runs cut apart and joined, errors that name the datagram.
#include "sys/udp_socket.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <array>
#include <cerrno>
#include <vector>

namespace linnet {
namespace {

struct Node {
    explicit Node(const InetAddress& at)
    {
        SocketOrError s = udp_bind(at);
        EXPECT_EQ(s.error, 0);
        fd = std::move(s.fd);
        granted = udp_configure(fd.get(), 1 << 20);
        address = local_address(fd.get());
    }
    [[nodiscard]] UdpReceived receive(std::span<UdpRunIn> runs) const
    {
        ::pollfd p{fd.get(), POLLIN, 0};
        EXPECT_EQ(::poll(&p, 1, 5000), 1);
        return udp_receive(fd.get(), runs);
    }
    Fd fd;
    UdpGranted granted;
    InetAddress address;
};

class UdpSocket : public ::testing::TestWithParam<const char*> {
protected:
    void SetUp() override
    {
        if (udp_bind(here()).error == EADDRNOTAVAIL) {
            GTEST_SKIP() << "no such address on this machine";
        }
    }
    static InetAddress here() { return *InetAddress::parse(GetParam()); }
    static std::vector<std::byte> bytes(std::size_t n)
    {
        std::vector<std::byte> out(n);
        for (std::size_t i = 0; i < n; ++i) {
            out[i] = static_cast<std::byte>(i * 7 + i / 251);
        }
        return out;
    }
    std::vector<std::byte> room = std::vector<std::byte>(4 * 65536);
};

TEST_P(UdpSocket, ConnectedSocketBesideAnotherGetsTheDatagramsOfItsPeerAlone)
{
    const Node main{here()};
    const Node peer{here()};
    const Node stranger{here()};
    SocketOrError made = udp_bind_beside(main.fd.get());
    ASSERT_EQ(made.error, 0);
    const Fd beside = std::move(made.fd);
    EXPECT_EQ(RawAddress::of(local_address(beside.get())), RawAddress::of(main.address));
    EXPECT_EQ(udp_bind(main.address).error, EADDRINUSE);
    const auto arrives = [&](const Node& from, int at) {
        const RawAddress to = RawAddress::of(main.address);
        std::vector<std::byte> data = bytes(100);
        const iovec piece{data.data(), data.size()};
        const UdpRunOut run{&to, &piece, 1, 0};
        EXPECT_EQ(udp_send(from.fd.get(), {&run, 1}).runs, 1u);
        ::pollfd p{at, POLLIN, 0};
        EXPECT_EQ(::poll(&p, 1, 5000), 1);
        UdpRunIn in{.buffer = room.data(), .room = 65536};
        EXPECT_EQ(udp_receive(at, {&in, 1}).runs, 1u);
        EXPECT_EQ(in.from, RawAddress::of(from.address));
    };
    ASSERT_EQ(udp_connect(beside.get(), RawAddress::of(peer.address)), 0);
    arrives(peer, beside.get());
    arrives(stranger, main.fd.get());
    ASSERT_EQ(udp_connect(beside.get(), RawAddress::of(stranger.address)), 0);
    arrives(peer, main.fd.get());
    arrives(stranger, beside.get());

    std::vector<std::byte> data = bytes(50);
    const iovec piece{data.data(), data.size()};
    const UdpRunOut run{nullptr, &piece, 1, 0};
    EXPECT_EQ(udp_send(beside.get(), {&run, 1}).runs, 1u);
    UdpRunIn in{.buffer = room.data(), .room = 65536};
    EXPECT_EQ(stranger.receive({&in, 1}).runs, 1u);
    EXPECT_EQ(in.from, RawAddress::of(main.address));
}

// A port that the system gives is never one that is shared in this way.
TEST_P(UdpSocket, PortIsNotSharedWithOthersOfTheSameUser)
{
    const Node main{here()};
    SocketOrError made = udp_bind_beside(main.fd.get());
    ASSERT_EQ(made.error, 0);
    const Fd other{::socket(here().family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    const int on = 1;
    ASSERT_EQ(::setsockopt(other.get(), SOL_SOCKET, SO_REUSEPORT, &on, sizeof on), 0);
    sockaddr_storage storage;
    const socklen_t length = main.address.to_sockaddr(storage);
    EXPECT_NE(::bind(other.get(), reinterpret_cast<const sockaddr*>(&storage), length), 0);
    EXPECT_EQ(errno, EADDRINUSE);
}

TEST_P(UdpSocket, RunIsCutIntoDatagramsForOneThatDoesNotJoin)
{
    const Node from{here()};
    SocketOrError plain = udp_bind(here());   // not configured: nothing is joined
    ASSERT_EQ(plain.error, 0);
    const RawAddress to = RawAddress::of(local_address(plain.fd.get()));
    std::vector<std::byte> data = bytes(3500);
    const iovec piece{data.data(), data.size()};
    const UdpRunOut run{&to, &piece, 1, 1000};
    const UdpSent sent = udp_send(from.fd.get(), {&run, 1});
    ASSERT_EQ(sent.runs, 1u) << sent.error;
    for (const std::size_t expected : {1000u, 1000u, 1000u, 500u}) {
        UdpRunIn in{.buffer = room.data(), .room = 65536};
        ::pollfd p{plain.fd.get(), POLLIN, 0};
        ASSERT_EQ(::poll(&p, 1, 5000), 1);
        ASSERT_EQ(udp_receive(plain.fd.get(), {&in, 1}).runs, 1u);
        EXPECT_EQ(in.bytes, expected);
        EXPECT_EQ(in.segment, expected);
    }
}

TEST_P(UdpSocket, RunsAndSingleDatagramsArriveWithSenderAndContent)
{
    const Node from{here()};
    const Node to{here()};
    const RawAddress address = RawAddress::of(to.address);
    std::vector<std::byte> data = bytes(3500);
    const std::array<iovec, 2> pieces{{{data.data(), 1200}, {data.data() + 1200, 2300}}};
    const std::array<UdpRunOut, 3> runs{{{&address, pieces.data(), 2, 1000}, {&address, pieces.data(), 1, 0}, {&address, nullptr, 0, 0}}};
    ASSERT_EQ(udp_send(from.fd.get(), runs).runs, 3u);
    std::size_t got = 0;
    std::vector<std::size_t> sizes;
    while (got < 3500 + 1200) {
        std::array<UdpRunIn, 4> in;
        for (std::size_t i = 0; i < in.size(); ++i) {
            in[i] = {.buffer = room.data() + i * 65536, .room = 65536};
        }
        const UdpReceived r = to.receive(in);
        ASSERT_GT(r.runs, 0u);
        for (unsigned i = 0; i < r.runs; ++i) {
            EXPECT_EQ(in[i].from, RawAddress::of(from.address));
            for (std::size_t at = 0; at < in[i].bytes; at += in[i].segment) {
                sizes.push_back(std::min(in[i].segment, in[i].bytes - at));
            }
            for (std::size_t k = 0; k < in[i].bytes; ++k) {
                ASSERT_EQ(in[i].buffer[k], data[got < 3500 ? got + k : got - 3500 + k]) << got << " " << k;
            }
            got += in[i].bytes;
        }
    }
    EXPECT_EQ(sizes, (std::vector<std::size_t>{1000, 1000, 1000, 500, 1200}));
}

TEST_P(UdpSocket, ClosedPortComesBackAsAnErrorThatNamesIt)
{
    const Node from{here()};
    InetAddress nobody;
    {
        const Node gone{here()};
        nobody = gone.address;
    }
    const RawAddress to = RawAddress::of(nobody);
    std::byte one{};
    const iovec piece{&one, 1};
    const UdpRunOut run{&to, &piece, 1, 0};
    ASSERT_EQ(udp_send(from.fd.get(), {&run, 1}).runs, 1u);
    ::pollfd p{from.fd.get(), 0, 0};
    ASSERT_EQ(::poll(&p, 1, 5000), 1) << "no ICMP came";
    InetAddress who;
    int error = 0;
    ASSERT_TRUE(udp_error(from.fd.get(), who, error));
    EXPECT_EQ(error, ECONNREFUSED);
    EXPECT_TRUE(who.same_host(nobody));
    EXPECT_EQ(who.port(), nobody.port());
    EXPECT_FALSE(udp_error(from.fd.get(), who, error));
}

TEST_P(UdpSocket, EmptySocketSaysSoAndGrantsAQueue)
{
    const Node node{here()};
    EXPECT_GE(node.granted.receive_bytes, 64u * 1024);
    UdpRunIn in{.buffer = room.data(), .room = 65536};
    const UdpReceived r = udp_receive(node.fd.get(), {&in, 1});
    EXPECT_EQ(r.runs, 0u);
    EXPECT_EQ(r.error, EAGAIN);
    EXPECT_GE(path_mtu(node.address), 1280u);
}

INSTANTIATE_TEST_SUITE_P(Families, UdpSocket, ::testing::Values("127.0.0.1", "::1"),
                         [](const auto& p) { return std::string{p.index == 0 ? "V4" : "V6"}; });

}   // namespace
}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TCP sockets on loopback: what the kernel is told of them.
#include "sys/tcp_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>
#include <thread>

namespace linnet {
namespace {

constexpr int kRtoMinUs = 45;   // TCP_RTO_MIN_US
constexpr int kDelackMaxUs = 46;

// -1: this kernel does not tell.
int microseconds(int fd, int option)
{
    int value = 0;
    socklen_t bytes = sizeof value;
    return ::getsockopt(fd, IPPROTO_TCP, option, &value, &bytes) == 0 ? value : -1;
}

struct Connection {
    // `ours`: the side that accepts is one of ours, too.
    explicit Connection(bool ours)
    {
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t bytes = sizeof at;
        EXPECT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
        EXPECT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &bytes), 0);
        EXPECT_TRUE(!ours || tcp_configure(listener.get(), {}) == 0);
        EXPECT_EQ(::listen(listener.get(), 1), 0);
        EXPECT_EQ(tcp_configure(caller.get(), {}), 0);
        EXPECT_EQ(::connect(caller.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
        called = Fd{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
    }
    Fd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    Fd caller{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    Fd called;
};

TEST(TcpSocket, LoneSegmentsAreSentAgainSoonAndAcknowledgedSooner)
{
    const Connection both{true};
    const Fd &caller = both.caller, &called = both.called;
    if (microseconds(caller.get(), kRtoMinUs) < 0) {
        GTEST_SKIP() << "Linux before 6.15";
    }
    if (const Fd plain{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)}; microseconds(caller.get(), kDelackMaxUs) == microseconds(plain.get(), kDelackMaxUs)) {
        GTEST_SKIP() << "the ticks of this kernel's timer are too long";
    }
    for (const int fd : {caller.get(), called.get()}) {
        EXPECT_LE(microseconds(fd, kRtoMinUs), 20'000);
        EXPECT_LE(2 * microseconds(fd, kDelackMaxUs), microseconds(fd, kRtoMinUs) + 4000);   // told in ticks
    }
}

// A peer whose kernel cannot be told delays its acknowledgement by 40 ms, and has had each segment that goes out again after 16: not a network that loses.
TEST(TcpSocket, SegmentThatWasSentAgainInVainWasNotLost)
{
    const Connection one{false};
    if (microseconds(one.caller.get(), kRtoMinUs) < 0) {
        GTEST_SKIP() << "Linux before 6.15";
    }
    constexpr int kSegments = 10, kDelayed = 0;
    for (int i = 0; i < kSegments; ++i) {
        char byte = 'x';
        ASSERT_EQ(::setsockopt(one.called.get(), IPPROTO_TCP, TCP_QUICKACK, &kDelayed, sizeof kDelayed), 0);
        ASSERT_EQ(::send(one.caller.get(), &byte, 1, 0), 1);
        std::this_thread::sleep_for(std::chrono::milliseconds{60});
        ASSERT_EQ(::recv(one.called.get(), &byte, 1, 0), 1);
    }
    const TcpSent sent = tcp_sent(one.caller.get());
    EXPECT_GT(sent.segments, static_cast<std::uint64_t>(kSegments)) << "some went out again";
    EXPECT_EQ(sent.again, 0u);
}

}   // namespace
}   // namespace linnet

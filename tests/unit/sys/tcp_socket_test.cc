// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TCP sockets on loopback: what the kernel is told of them.
#include "sys/tcp_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include <cerrno>

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

TEST(TcpSocket, LoneSegmentsAreSentAgainSoonAndAcknowledgedSooner)
{
    const Fd listener{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t bytes = sizeof at;
    ASSERT_EQ(::bind(listener.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    ASSERT_EQ(::getsockname(listener.get(), reinterpret_cast<sockaddr*>(&at), &bytes), 0);
    ASSERT_EQ(tcp_configure(listener.get(), {}), 0);
    ASSERT_EQ(::listen(listener.get(), 1), 0);
    const Fd caller{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    ASSERT_EQ(tcp_configure(caller.get(), {}), 0);
    ASSERT_EQ(::connect(caller.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    const Fd called{::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC)};
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

}   // namespace
}   // namespace linnet

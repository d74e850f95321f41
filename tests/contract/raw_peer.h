// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RawPeer: a plain socket that talks to a TcpTransport, rightly or wrongly.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <cstring>
#include <memory>

#include "contract/endpoint.h"
#include "sys/tcp_socket.h"

namespace linnet::contract {

[[nodiscard]] inline InetAddress address_of(const wire::EndpointName& name)
{
    const wire::NameAddress at = wire::NameAddresses{name}.front();
    return at.family == wire::AddressFamily::kIpv6 ? InetAddress::v6(at.bytes, name.port.get()) : InetAddress::v4(at.bytes, name.port.get());
}

class RawPeer {
public:
    void start(const wire::EndpointName& to)
    {
        SocketOrError s = tcp_socket(address_of(to).family());
        ASSERT_EQ(s.error, 0);
        fd_ = std::move(s.fd);
        const int error = tcp_connect(fd_.get(), address_of(to));
        ASSERT_TRUE(error == 0 || error == EINPROGRESS) << std::strerror(error);
    }
    void send(std::span<const std::byte> bytes)
    {
        while (!bytes.empty()) {
            ::pollfd room{fd_.get(), POLLOUT, 0};
            ASSERT_EQ(::poll(&room, 1, 5000), 1);
            const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
            const IoResult r = socket_send(fd_.get(), {&piece, 1});
            ASSERT_TRUE(r.error == 0 || r.would_block()) << std::strerror(r.error);
            bytes = bytes.subspan(r.bytes);
        }
    }
    [[nodiscard]] static Bytes hello(wire::HelloKind kind, LinkRole role)
    {
        wire::HelloHead head;
        head.magic = le32{wire::kHelloMagic};
        head.kind = kind;
        head.role = static_cast<std::uint8_t>(role);
        head.bytes = le16{static_cast<std::uint16_t>(sizeof head + 20)};
        Bytes out(sizeof head + 20, std::byte{0x5a});
        std::memcpy(out.data(), &head, sizeof head);
        return out;
    }
    // Reads until the end; false when it does not come within seconds.
    [[nodiscard]] bool closed_by_peer()
    {
        std::array<std::byte, 4096> sink;
        for (;;) {
            ::pollfd data{fd_.get(), POLLIN, 0};
            if (::poll(&data, 1, 5000) != 1) {
                return false;
            }
            const IoResult r = socket_receive(fd_.get(), sink.data(), sink.size());
            if (r.bytes == 0 && !r.would_block()) {
                return true;
            }
        }
    }
    // An orderly end: closing with unread data would be a reset.
    void close()
    {
        std::array<std::byte, 4096> unread;
        while (socket_receive(fd_.get(), unread.data(), unread.size()).bytes != 0) {
        }
        fd_.reset();
    }
    [[nodiscard]] std::uint16_t port() const { return local_address(fd_.get()).port(); }
    void reset()
    {
        socket_reset_on_close(fd_.get());
        fd_.reset();
    }

private:
    Fd fd_;
};

// A RawPeer with a bulk link to the second endpoint of a pair of TcpTransports.
class RawBulkLink : public ::testing::TestWithParam<Kind> {
protected:
    void SetUp() override
    {
        pair = std::make_unique<Pair>(GetParam());
        if (!pair->ready()) {
            GTEST_SKIP() << "no such address on this machine";
        }
        raw.start(pair->b().name);
        raw.send(raw.hello(wire::HelloKind::kHello, LinkRole::kBulk));
        ASSERT_TRUE(pair->run_until([&] { return b().hellos == 1; }));
        raw.send(raw.hello(wire::HelloKind::kConfirm, LinkRole::kBulk));
        ASSERT_TRUE(pair->run_until([&] { return b().ups.size() == 1; }));
    }
    Sink& b() { return pair->b().sink; }
    Transport& receiver() { return *pair->b().transport; }

    std::unique_ptr<Pair> pair;
    RawPeer raw;
};

// Listens at the address of `like`, on a port of its own, and never accepts.
class RawListener {
public:
    RawListener(const wire::EndpointName& like, int backlog) : name_{like}
    {
        InetAddress at = address_of(like);
        at.set_port(0);
        SocketOrError s = tcp_listen(at, backlog);
        EXPECT_EQ(s.error, 0);
        fd_ = std::move(s.fd);
        name_.port = be16{local_address(fd_.get()).port()};
    }
    [[nodiscard]] const wire::EndpointName& name() const { return name_; }

private:
    Fd fd_;
    wire::EndpointName name_;
};

}   // namespace linnet::contract

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
#include "raw_socket.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

namespace raw {

namespace {

constexpr std::uint16_t kPort = 28517;   // in a host of its own nobody else uses it

int accept_one(const sockaddr_in& address)
{
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
        bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener, 1) != 0)
        fail_errno("listen");
    const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0)
        fail_errno("accept");
    close(listener);
    return fd;
}

// The listener may not be up yet; --limit bounds the attempts.
int connect_to(const sockaddr_in& address)
{
    for (;;) {
        const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (fd < 0)
            fail_errno("socket");
        if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
            return fd;
        if (errno != ECONNREFUSED)
            fail_errno("connect");
        close(fd);
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
    }
}

}   // namespace

Socket::Socket(const Options& options, bool listens)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(kPort);
    if (inet_pton(AF_INET, options.address.c_str(), &address.sin_addr) != 1)
        fail("not an address: " + options.address);
    fd_ = listens ? accept_one(address) : connect_to(address);
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (fcntl(fd_, F_SETFL, O_NONBLOCK) != 0)
        fail_errno("fcntl");
    if (options.zero_copy)
        lending_.begin(fd_);
}

Socket::~Socket() { close(fd_); }

void Socket::send_all(std::span<const std::byte> bytes)
{
    while (!bytes.empty()) {
        const int flags = MSG_NOSIGNAL | lending_.flags(bytes.size());
        const ssize_t sent = send(fd_, bytes.data(), bytes.size(), flags);
        const int error = errno;
        lending_.sent(flags, sent);
        errno = error;
        if (sent < 0 && errno != EAGAIN && errno != EINTR && errno != ENOBUFS)
            fail_errno("send");
        bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
    }
}

void Socket::recv_all(std::span<std::byte> bytes)
{
    while (!bytes.empty()) {
        const ssize_t got = recv(fd_, bytes.data(), bytes.size(), 0);
        if (got == 0)
            fail("the other end closed the connection");
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            fail_errno("recv");
        bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
    }
}

}   // namespace raw

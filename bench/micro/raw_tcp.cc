// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The floor below every stack on TCP: one socket, both ends spinning, no MPI. Rank 0 listens at --address, rank 1 connects. See raw.h.

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "raw.h"

namespace {

constexpr std::uint16_t kPort = 28517;   // in a host of its own nobody else uses it

// A connected socket that never blocks.
class Socket final : public raw::Connection {
public:
    Socket(const raw::Options& options, bool listens)
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(kPort);
        if (inet_pton(AF_INET, options.address.c_str(), &address.sin_addr) != 1)
            raw::fail("not an address: " + options.address);
        fd_ = listens ? accept_one(address) : connect_to(address);
        const int on = 1;
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (fcntl(fd_, F_SETFL, O_NONBLOCK) != 0)
            raw::fail_errno("fcntl");
    }
    ~Socket() override { close(fd_); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    void send_all(std::span<const std::byte> bytes) override
    {
        while (!bytes.empty()) {
            const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN && errno != EINTR)
                raw::fail_errno("send");
            bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
        }
    }

    void recv_all(std::span<std::byte> bytes) override
    {
        while (!bytes.empty()) {
            const ssize_t got = recv(fd_, bytes.data(), bytes.size(), 0);
            if (got == 0)
                raw::fail("the other end closed the connection");
            if (got < 0 && errno != EAGAIN && errno != EINTR)
                raw::fail_errno("recv");
            bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        }
    }

private:
    static int accept_one(const sockaddr_in& address)
    {
        const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int on = 1;
        if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
            bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener, 1) != 0)
            raw::fail_errno("listen");
        const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0)
            raw::fail_errno("accept");
        close(listener);
        return fd;
    }

    // The listener may not be up yet; --limit bounds the attempts.
    static int connect_to(const sockaddr_in& address)
    {
        for (;;) {
            const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (fd < 0)
                raw::fail_errno("socket");
            if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
                return fd;
            if (errno != ECONNREFUSED)
                raw::fail_errno("connect");
            close(fd);
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
    }

    int fd_ = -1;
};

}   // namespace

int main(int argc, char** argv)
{
    return raw::run("raw_tcp", argc, argv,
                    [](const raw::Options& options, bool leads) -> std::unique_ptr<raw::Connection> { return std::make_unique<Socket>(options, leads); });
}

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The floor below Linnet over UDP: one connected socket each, runs of datagrams cut and joined by the kernel, both ends spinning, no MPI. See raw.h.
//
// A byte stream in the hope that nothing is lost: there is no number, no acknowledgement and no credit, only a queue that holds a whole window. A lost datagram
// shows as wrong payload or as the time limit. Rank 0 binds --address; rank 1 calls it.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "raw.h"
#include "raw_lending.h"

namespace {

constexpr std::uint16_t kPort = 28518;        // in a host of its own nobody else uses it
constexpr int kQueueBytes = 32 << 20;         // more than a window
constexpr std::size_t kMostSegments = 64;     // of one call
constexpr std::size_t kMostBytes = 65'000;    // likewise
constexpr std::size_t kHeads = 20 + 8;        // IPv4 and UDP

class Socket final : public raw::Connection {
public:
    Socket(const raw::Options& options, bool leads) : rest_(65'536)
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(kPort);
        if (inet_pton(AF_INET, options.address.c_str(), &address.sin_addr) != 1)
            raw::fail("not an address: " + options.address);
        fd_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd_ < 0)
            raw::fail_errno("socket");
        for (const int option : {SO_RCVBUFFORCE, SO_SNDBUFFORCE})
            (void)setsockopt(fd_, SOL_SOCKET, option, &kQueueBytes, sizeof kQueueBytes);
        const int on = 1;
        if (setsockopt(fd_, IPPROTO_UDP, UDP_GRO, &on, sizeof on) != 0)
            raw::fail_errno("UDP_GRO");
        leads ? answer(address) : call(address);
        if (options.zero_copy)
            lending_.begin(fd_);
        int mtu = 0;
        socklen_t length = sizeof mtu;
        if (getsockopt(fd_, IPPROTO_IP, IP_MTU, &mtu, &length) != 0)
            raw::fail_errno("MTU of the path");
        datagram_ = static_cast<std::size_t>(mtu) - kHeads;
        run_ = std::min(kMostBytes / datagram_, kMostSegments) * datagram_;
    }
    ~Socket() override { close(fd_); }
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    void send_all(std::span<const std::byte> bytes) override
    {
        while (!bytes.empty()) {
            const auto now = bytes.first(std::min(run_, bytes.size()));
            const int flags = MSG_DONTWAIT | lending_.flags(now.size());
            const ssize_t sent = now.size() <= datagram_ ? send(fd_, now.data(), now.size(), flags) : send_run(now, flags);
            const int error = errno;
            lending_.sent(flags, sent);
            errno = error;
            if (sent < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
                raw::fail_errno("send");
            bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
        }
    }

    [[nodiscard]] std::string note() const override { return lending_.note(); }

    void recv_all(std::span<std::byte> bytes) override
    {
        while (!bytes.empty()) {
            if (begin_ == end_ && bytes.size() >= rest_.size()) {   // no run is longer
                const ssize_t got = recv(fd_, bytes.data(), bytes.size(), MSG_DONTWAIT);
                bytes = bytes.subspan(came(got));
                continue;
            }
            if (begin_ == end_) {
                begin_ = 0;
                end_ = came(recv(fd_, rest_.data(), rest_.size(), MSG_DONTWAIT));
            }
            const std::size_t n = std::min(end_ - begin_, bytes.size());
            std::memcpy(bytes.data(), rest_.data() + begin_, n);
            begin_ += n;
            bytes = bytes.subspan(n);
        }
    }

private:
    static std::size_t came(ssize_t got)
    {
        if (got < 0 && errno != EAGAIN && errno != EINTR)
            raw::fail_errno("recv");
        return static_cast<std::size_t>(std::max<ssize_t>(got, 0));
    }

    ssize_t send_run(std::span<const std::byte> bytes, int flags) const
    {
        iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
        alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(std::uint16_t))> control{};
        msghdr message{};
        message.msg_iov = &piece;
        message.msg_iovlen = 1;
        message.msg_control = control.data();
        message.msg_controllen = control.size();
        cmsghdr* const c = CMSG_FIRSTHDR(&message);
        c->cmsg_level = IPPROTO_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof(std::uint16_t));
        const auto segment = static_cast<std::uint16_t>(datagram_);
        std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
        return sendmsg(fd_, &message, flags);
    }

    void answer(const sockaddr_in& own) const
    {
        sockaddr_in other{};
        socklen_t length = sizeof other;
        std::byte hello{};
        if (bind(fd_, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
            raw::fail_errno("bind");
        if (recvfrom(fd_, &hello, sizeof hello, 0, reinterpret_cast<sockaddr*>(&other), &length) != 1 ||
            connect(fd_, reinterpret_cast<const sockaddr*>(&other), length) != 0 || send(fd_, &hello, sizeof hello, 0) != 1)
            raw::fail_errno("answer");
    }

    // Rank 0 may not be there yet, which the network says: nothing is repeated that could have come.
    void call(const sockaddr_in& other) const
    {
        if (connect(fd_, reinterpret_cast<const sockaddr*>(&other), sizeof other) != 0)
            raw::fail_errno("connect");
        for (;;) {
            std::byte hello{};
            if (send(fd_, &hello, sizeof hello, 0) == 1 && recv(fd_, &hello, sizeof hello, 0) == 1)
                return;
            if (errno != ECONNREFUSED)
                raw::fail_errno("call");
            (void)poll(nullptr, 0, 2);
        }
    }

    int fd_ = -1;
    raw::Lending lending_;
    std::size_t datagram_ = 0;   // payload of each
    std::size_t run_ = 0;        // of one call
    std::vector<std::byte> rest_;
    std::size_t begin_ = 0;      // in rest_: what was read and not asked for yet
    std::size_t end_ = 0;
};

}   // namespace

int main(int argc, char** argv)
{
    return raw::run("raw_udp", argc, argv,
                    [](const raw::Options& options, bool leads) -> std::unique_ptr<raw::Connection> { return std::make_unique<Socket>(options, leads); });
}

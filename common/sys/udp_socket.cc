// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// UDP sockets: see udp_socket.h.
#include "sys/udp_socket.h"

#include <linux/errqueue.h>
#include <netinet/udp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "sys/flat_pieces.h"
#include "sys/plain_call.h"

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace linnet {

namespace {

bool set_int(int fd, int level, int option, int value) noexcept { return ::setsockopt(fd, level, option, &value, sizeof value) == 0; }

[[nodiscard]] int get_int(int fd, int level, int option) noexcept
{
    int value = 0;
    socklen_t bytes = sizeof value;
    return ::getsockopt(fd, level, option, &value, &bytes) == 0 ? value : 0;
}

// With privilege beyond the limit of the system, else up to it.
void set_queue(int fd, int force, int option, std::size_t bytes) noexcept
{
    const int value = static_cast<int>(std::min<std::size_t>(bytes, INT_MAX / 2));
    if (!set_int(fd, SOL_SOCKET, force, value)) {
        static_cast<void>(set_int(fd, SOL_SOCKET, option, value));
    }
}

[[nodiscard]] int family_of(int fd) noexcept { return get_int(fd, SOL_SOCKET, SO_DOMAIN); }

struct alignas(cmsghdr) SegmentControl {
    std::array<std::byte, CMSG_SPACE(sizeof(std::uint16_t))> bytes;
};
struct alignas(cmsghdr) ReceiveControl {
    std::array<std::byte, CMSG_SPACE(sizeof(int)) + CMSG_SPACE(sizeof(std::uint32_t))> bytes;
};

void fill(::msghdr& m, const UdpRunOut& run, SegmentControl& control) noexcept
{
    m = {};
    m.msg_name = run.to != nullptr ? const_cast<std::uint32_t*>(run.to->sockaddr.data()) : nullptr;
    m.msg_namelen = run.to != nullptr ? run.to->bytes : 0;
    m.msg_iov = const_cast<iovec*>(run.pieces);
    m.msg_iovlen = run.piece_count;
    if (run.segment != 0) {
        const auto segment = static_cast<std::uint16_t>(run.segment);
        m.msg_control = control.bytes.data();
        m.msg_controllen = control.bytes.size();
        ::cmsghdr* const c = CMSG_FIRSTHDR(&m);
        c->cmsg_level = IPPROTO_UDP;
        c->cmsg_type = UDP_SEGMENT;
        c->cmsg_len = CMSG_LEN(sizeof segment);
        std::memcpy(CMSG_DATA(c), &segment, sizeof segment);
    }
}

void prepare(::msghdr& m, UdpRunIn& run, iovec& piece, ReceiveControl& control) noexcept
{
    piece = {run.buffer, run.room};
    m = {};
    m.msg_name = run.from.sockaddr.data();
    m.msg_namelen = sizeof run.from.sockaddr;
    m.msg_iov = run.pieces.empty() ? &piece : const_cast<iovec*>(run.pieces.data());
    m.msg_iovlen = run.pieces.empty() ? 1 : run.pieces.size();
    m.msg_control = control.bytes.data();
    m.msg_controllen = control.bytes.size();
}

// Of an address that the kernel wrote.
void set_length(RawAddress& address, std::size_t bytes) noexcept
{
    address.bytes = static_cast<std::uint32_t>(std::min(bytes, sizeof address.sockaddr));
    std::memset(reinterpret_cast<std::byte*>(address.sockaddr.data()) + address.bytes, 0, sizeof address.sockaddr - address.bytes);
}

void finish(const ::msghdr& m, std::size_t bytes, UdpRunIn& run, UdpReceived& all) noexcept
{
    run.bytes = bytes;
    run.segment = bytes;
    set_length(run.from, m.msg_namelen);
    for (::cmsghdr* c = m.msg_controllen != 0 ? CMSG_FIRSTHDR(&m) : nullptr; c != nullptr; c = CMSG_NXTHDR(const_cast<::msghdr*>(&m), c)) {
        if (c->cmsg_level == IPPROTO_UDP && c->cmsg_type == UDP_GRO) {
            int segment = 0;
            std::memcpy(&segment, CMSG_DATA(c), sizeof segment);
            run.segment = segment > 0 ? static_cast<std::size_t>(segment) : bytes;
        } else if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_RXQ_OVFL) {
            std::memcpy(&all.drops, CMSG_DATA(c), sizeof all.drops);
        }
    }
}

// What is sent at once, in one piece: the kernel has nothing to fetch but the bytes.
constexpr std::size_t kFlat = 1024;
[[nodiscard]] UdpSent send_flat(int fd, const RawAddress* to, const std::byte* from, std::size_t bytes) noexcept
{
    const auto* const name = to != nullptr ? reinterpret_cast<const sockaddr*>(to->sockaddr.data()) : nullptr;
    ssize_t n = 0;
    do {
        n = plain_sendto(fd, from, bytes, MSG_DONTWAIT | MSG_NOSIGNAL, name, to != nullptr ? to->bytes : 0);
    } while (n < 0 && errno == EINTR);
    return {n >= 0 ? 1u : 0u, n >= 0 ? 0 : errno};
}

}   // namespace

RawAddress RawAddress::of(const InetAddress& address) noexcept
{
    sockaddr_storage storage{};
    RawAddress r{};
    r.bytes = static_cast<std::uint32_t>(address.to_sockaddr(storage));
    std::memcpy(r.sockaddr.data(), &storage, std::min<std::size_t>(r.bytes, sizeof r.sockaddr));
    return r;
}

InetAddress RawAddress::address() const noexcept
{
    sockaddr_storage storage{};
    std::memcpy(&storage, sockaddr.data(), sizeof sockaddr);
    return InetAddress::from_sockaddr(reinterpret_cast<const ::sockaddr*>(&storage)).value_or(InetAddress{});
}

SocketOrError udp_bind(const InetAddress& address) noexcept
{
    Fd fd{::socket(address.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP)};
    if (!fd.valid()) {
        return {Fd{}, errno};
    }
    if (!address.is_v4()) {
        static_cast<void>(set_int(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1));   // IPv4 has a socket of its own
    }
    sockaddr_storage storage;
    const socklen_t length = address.to_sockaddr(storage);
    if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) {
        return {Fd{}, errno};
    }
    return {std::move(fd), 0};
}

SocketOrError udp_bind_beside(int fd) noexcept
{
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    const int family = family_of(fd);
    Fd beside{::socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_UDP)};
    if (!beside.valid() || ::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
        return {Fd{}, errno};
    }
    if (family == AF_INET6) {
        static_cast<void>(set_int(beside.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1));
    }
    // Both must allow it while the second one is bound, and no longer: the system may give a port that its owner shares to another process of the same user.
    const bool allowed = set_int(fd, SOL_SOCKET, SO_REUSEPORT, 1) && set_int(beside.get(), SOL_SOCKET, SO_REUSEPORT, 1);
    const int error = allowed && ::bind(beside.get(), reinterpret_cast<const sockaddr*>(&storage), length) == 0 ? 0 : errno;
    static_cast<void>(set_int(fd, SOL_SOCKET, SO_REUSEPORT, 0));
    static_cast<void>(set_int(beside.get(), SOL_SOCKET, SO_REUSEPORT, 0));
    return {error == 0 ? std::move(beside) : Fd{}, error};
}

int udp_connect(int fd, const RawAddress& peer) noexcept
{
    // Another thread may be receiving from it, which the kernel allows; ThreadSanitizer takes the library's connect() for a change of the descriptor itself.
    return ::syscall(SYS_connect, fd, peer.sockaddr.data(), peer.bytes) == 0 ? 0 : errno;
}

UdpGranted udp_configure(int fd, std::size_t queue_bytes) noexcept
{
    set_queue(fd, SO_RCVBUFFORCE, SO_RCVBUF, queue_bytes);
    set_queue(fd, SO_SNDBUFFORCE, SO_SNDBUF, queue_bytes);
    static_cast<void>(set_int(fd, SOL_SOCKET, SO_RXQ_OVFL, 1));
    if (family_of(fd) == AF_INET6) {
        static_cast<void>(set_int(fd, IPPROTO_IPV6, IPV6_RECVERR, 1));
        static_cast<void>(set_int(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_WANT));   // a path that narrows gets fragments, not silence
    } else {
        static_cast<void>(set_int(fd, IPPROTO_IP, IP_RECVERR, 1));
        static_cast<void>(set_int(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_WANT));
    }
    return {static_cast<std::size_t>(std::max(get_int(fd, SOL_SOCKET, SO_RCVBUF), 0)), set_int(fd, IPPROTO_UDP, UDP_GRO, 1)};
}

std::size_t path_mtu(const InetAddress& to) noexcept
{
    const Fd fd{::socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    InetAddress target = to;
    target.set_port(to.port() != 0 ? to.port() : 9);
    sockaddr_storage storage;
    const socklen_t length = target.to_sockaddr(storage);
    if (!fd.valid() || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) {
        return 0;
    }
    const int mtu = to.is_v4() ? get_int(fd.get(), IPPROTO_IP, IP_MTU) : get_int(fd.get(), IPPROTO_IPV6, IPV6_MTU);
    return static_cast<std::size_t>(std::max(mtu, 0));
}

// ---- data ----

UdpSent udp_send(int fd, std::span<const UdpRunOut> runs) noexcept
{
    runs = runs.first(std::min<std::size_t>(runs.size(), kUdpRunsAtOnce));
    UdpSent result;
    if (runs.size() == 1 && runs[0].segment == 0) {
        FlatPieces<kFlat> flat;
        if (const std::size_t bytes = flat.gather({runs[0].pieces, runs[0].piece_count}); bytes != 0) {
            return send_flat(fd, runs[0].to, flat.data(), bytes);
        }
    }
    if (runs.size() == 1) {
        ::msghdr m;
        SegmentControl control;
        fill(m, runs[0], control);
        ssize_t n = 0;
        do {
            n = plain_sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL);
        } while (n < 0 && errno == EINTR);
        result.runs = n >= 0 ? 1 : 0;
        result.error = n >= 0 ? 0 : errno;
        return result;
    }
    std::array<::mmsghdr, kUdpRunsAtOnce> messages;
    std::array<SegmentControl, kUdpRunsAtOnce> controls;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        fill(messages[i].msg_hdr, runs[i], controls[i]);
    }
    while (result.runs < runs.size()) {
        const int n = ::sendmmsg(fd, messages.data() + result.runs, static_cast<unsigned>(runs.size() - result.runs), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            result.error = errno;   // of the first one: when a later one fails the call returns the number before it
            return result;
        }
        result.runs += static_cast<unsigned>(n);
    }
    return result;
}

UdpReceived udp_receive(int fd, std::span<UdpRunIn> runs) noexcept
{
    runs = runs.first(std::min<std::size_t>(runs.size(), kUdpRunsAtOnce));
    UdpReceived result;
    if (runs.size() == 1) {
        ::msghdr m;
        iovec piece;
        ReceiveControl control;
        prepare(m, runs[0], piece, control);
        const ssize_t n = plain_recvmsg(fd, &m, MSG_DONTWAIT);
        if (n < 0) {
            result.error = errno;
            return result;
        }
        finish(m, static_cast<std::size_t>(n), runs[0], result);
        result.runs = 1;
        return result;
    }
    std::array<::mmsghdr, kUdpRunsAtOnce> messages;
    std::array<iovec, kUdpRunsAtOnce> pieces;
    std::array<ReceiveControl, kUdpRunsAtOnce> controls;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        prepare(messages[i].msg_hdr, runs[i], pieces[i], controls[i]);
    }
    const int n = ::recvmmsg(fd, messages.data(), static_cast<unsigned>(runs.size()), MSG_DONTWAIT, nullptr);
    if (n < 0) {
        result.error = errno;
        return result;
    }
    for (; result.runs < static_cast<unsigned>(n); ++result.runs) {
        finish(messages[result.runs].msg_hdr, messages[result.runs].msg_len, runs[result.runs], result);
    }
    result.error = result.runs < runs.size() ? EAGAIN : 0;
    return result;
}

UdpReceived udp_receive_uncut(int fd, UdpRunIn& run) noexcept
{
    UdpReceived result;
    socklen_t length = sizeof run.from.sockaddr;
    const ssize_t n = plain_recvfrom(fd, run.buffer, run.room, MSG_DONTWAIT, reinterpret_cast<sockaddr*>(run.from.sockaddr.data()), &length);
    if (n < 0) {
        result.error = errno;
        return result;
    }
    set_length(run.from, length);
    run.bytes = static_cast<std::size_t>(n);
    run.segment = 0;
    result.runs = 1;
    return result;
}

bool udp_error(int fd, InetAddress& to, int& error) noexcept
{
    sockaddr_storage name{};
    struct alignas(cmsghdr) {
        std::array<std::byte, 512> bytes;
    } control;
    std::byte text{};   // of the datagram itself nothing is wanted
    iovec piece{&text, sizeof text};
    ::msghdr m{};
    m.msg_name = &name;
    m.msg_namelen = sizeof name;
    m.msg_iov = &piece;
    m.msg_iovlen = 1;
    m.msg_control = control.bytes.data();
    m.msg_controllen = control.bytes.size();
    if (::recvmsg(fd, &m, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) {
        return false;
    }
    to = InetAddress::from_sockaddr(reinterpret_cast<const ::sockaddr*>(&name)).value_or(InetAddress{});
    error = 0;
    for (::cmsghdr* c = CMSG_FIRSTHDR(&m); c != nullptr; c = CMSG_NXTHDR(&m, c)) {
        const bool v4 = c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR;
        const bool v6 = c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR;
        if (v4 || v6) {
            ::sock_extended_err e;
            std::memcpy(&e, CMSG_DATA(c), sizeof e);
            error = static_cast<int>(e.ee_errno);
        }
    }
    return true;
}

}   // namespace linnet

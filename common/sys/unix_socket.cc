// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Unix sockets: the system calls.
#include "sys/unix_socket.h"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace linnet {

namespace {

constexpr int kType = SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK;

// Abstract: the first byte of the path is zero, and the length says where it ends.
::socklen_t abstract_address(std::string_view name, ::sockaddr_un& out) noexcept
{
    out = {};
    out.sun_family = AF_UNIX;
    const std::size_t bytes = std::min(name.size(), sizeof out.sun_path - 1);
    std::memcpy(out.sun_path + 1, name.data(), bytes);
    return static_cast<::socklen_t>(offsetof(::sockaddr_un, sun_path) + 1 + bytes);
}

}   // namespace

SocketOrError unix_listen(std::string_view name, int backlog) noexcept
{
    Fd fd{::socket(AF_UNIX, kType, 0)};
    ::sockaddr_un address;
    const ::socklen_t bytes = abstract_address(name, address);
    if (!fd || ::bind(fd.get(), reinterpret_cast<const ::sockaddr*>(&address), bytes) != 0 || ::listen(fd.get(), backlog) != 0) {
        return {Fd{}, errno};
    }
    return {std::move(fd), 0};
}

SocketOrError unix_connect(std::string_view name) noexcept
{
    Fd fd{::socket(AF_UNIX, kType, 0)};
    ::sockaddr_un address;
    const ::socklen_t bytes = abstract_address(name, address);
    if (!fd || ::connect(fd.get(), reinterpret_cast<const ::sockaddr*>(&address), bytes) != 0) {
        return {Fd{}, errno};
    }
    return {std::move(fd), 0};
}

SocketOrError unix_accept(int listener) noexcept
{
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
    return fd >= 0 ? SocketOrError{Fd{fd}, 0} : SocketOrError{Fd{}, errno};
}

UnixPeer unix_peer(int fd) noexcept
{
    ::ucred who{};
    ::socklen_t bytes = sizeof who;
    if (::getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &bytes) != 0) {
        return {};
    }
    return {static_cast<std::uint32_t>(who.pid), who.uid};
}

IoResult unix_send(int fd, std::span<const std::byte> packet, std::span<const int> passed) noexcept
{
    ::iovec piece{const_cast<std::byte*>(packet.data()), packet.size()};
    alignas(::cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxPassed * sizeof(int))> control{};
    ::msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    if (!passed.empty()) {
        const std::size_t bytes = std::min(passed.size(), kMaxPassed) * sizeof(int);
        message.msg_control = control.data();
        message.msg_controllen = CMSG_SPACE(bytes);
        ::cmsghdr* const head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(bytes);
        std::memcpy(CMSG_DATA(head), passed.data(), bytes);
    }
    return detail::io_result(::sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

UnixPacket unix_receive(int fd, std::span<std::byte> buffer) noexcept
{
    UnixPacket packet;
    ::iovec piece{buffer.data(), buffer.size()};
    alignas(::cmsghdr) std::array<std::byte, CMSG_SPACE(kMaxPassed * sizeof(int))> control{};
    ::msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control.data();
    message.msg_controllen = control.size();
    packet.io = detail::io_result(::recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
    if (packet.io.error != 0) {
        return packet;
    }
    packet.whole = (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0;
    for (::cmsghdr* head = CMSG_FIRSTHDR(&message); head != nullptr; head = CMSG_NXTHDR(&message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const std::size_t count = (head->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (std::size_t i = 0; i < count; ++i) {   // all are ours now: what is not kept must be closed
            int passed = -1;
            std::memcpy(&passed, CMSG_DATA(head) + i * sizeof(int), sizeof passed);
            Fd owned{passed};
            if (packet.passed_count < kMaxPassed) {
                packet.passed[packet.passed_count++] = std::move(owned);
            }
        }
    }
    return packet;
}

}   // namespace linnet

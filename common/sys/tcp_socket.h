// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TCP sockets: the system calls that transport/tcp makes, with errno as a value.
//
// Threads: any. Blocking: never; every socket made here is non-blocking. Ownership: descriptors are borrowed unless an Fd is returned.
// Nothing here logs: only the caller knows which peer it was about, and words it.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/clock.h"
#include "sys/fd.h"
#include "sys/inet_address.h"
#include "sys/plain_call.h"

namespace linnet {

// What a call moved, or the errno that it ended with. End of stream is 0 bytes and no error.
struct IoResult {
    std::size_t bytes{0};
    int error{0};
    [[nodiscard]] bool would_block() const noexcept { return error == EAGAIN || error == EWOULDBLOCK; }
};

namespace detail {
[[nodiscard]] inline IoResult io_result(ssize_t n) noexcept
{
    return n >= 0 ? IoResult{static_cast<std::size_t>(n), 0} : IoResult{0, errno};
}
}   // namespace detail

// ---- data ----
[[nodiscard]] inline IoResult socket_receive(int fd, std::byte* to, std::size_t bytes) noexcept
{
    return detail::io_result(plain_recvfrom(fd, to, bytes, MSG_DONTWAIT, nullptr, nullptr));
}
[[nodiscard]] inline IoResult socket_receive(int fd, std::span<iovec> pieces) noexcept
{
    return detail::io_result(plain_readv(fd, pieces.data(), static_cast<int>(pieces.size())));
}
[[nodiscard]] inline IoResult socket_send(int fd, std::span<const iovec> pieces) noexcept
{
    if (pieces.size() == 1) {
        return detail::io_result(plain_sendto(fd, pieces[0].iov_base, pieces[0].iov_len, MSG_DONTWAIT | MSG_NOSIGNAL, nullptr, 0));
    }
    ::msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());
    message.msg_iovlen = pieces.size();
    return detail::io_result(plain_sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

// ---- opening ----
// What every connection gets. Zero durations and an empty name leave the system's choice.
struct TcpSocketOptions {
    std::string congestion;         // as in net.ipv4.tcp_available_congestion_control
    Nanos silence{};                // unanswered data or probes for so long end the connection
    std::size_t unsent_limit{0};    // TCP_NOTSENT_LOWAT
};
// Sets no-delay, and `options` where the system lets it. Returns the first errno of a refusal other than of the congestion control.
int tcp_configure(int fd, const TcpSocketOptions& options) noexcept;
// The congestion control in force; "?" when it cannot be read.
[[nodiscard]] std::string tcp_congestion_in_force(int fd);

struct SocketOrError {
    Fd fd;
    int error{0};
};
[[nodiscard]] SocketOrError tcp_socket(int family) noexcept;
// Bound and listening; address.port() 0 lets the system choose. At an IPv6 address for IPv6 alone.
[[nodiscard]] SocketOrError tcp_listen(const InetAddress& address, int backlog) noexcept;
// 0: connected already. EINPROGRESS: writable when done, then socket_error() tells how it ended. Else it failed.
[[nodiscard]] int tcp_connect(int fd, const InetAddress& to) noexcept;
[[nodiscard]] SocketOrError tcp_accept(int listener) noexcept;
// What the connection has sent so far. All zero: the system does not tell.
struct TcpSent {
    std::uint64_t segments{0};       // with payload
    std::uint64_t again{0};          // of these, sent once more, and not in vain: may become less when the receiver says so
    std::size_t segment_bytes{0};    // payload of a full one
};
[[nodiscard]] TcpSent tcp_sent(int fd) noexcept;
// SO_RCVLOWAT: epoll tells of data when so much has come, or no more can. The kernel enlarges the socket's buffer to hold it.
void socket_low_water(int fd, std::size_t bytes) noexcept;
// Takes and clears SO_ERROR.
[[nodiscard]] int socket_error(int fd) noexcept;
[[nodiscard]] InetAddress local_address(int fd) noexcept;
[[nodiscard]] InetAddress peer_address(int fd) noexcept;
// Ends both directions now: pending polls see it. The descriptor stays.
void socket_shutdown(int fd) noexcept;
// Closing will send a reset instead of what is queued.
void socket_reset_on_close(int fd) noexcept;

// A descriptor kept so that one more can be opened when all are in use; invalid when even this one could not be had.
[[nodiscard]] Fd spare_descriptor() noexcept;

// The local address that packets to `to` would carry, by the routing table; family AF_UNSPEC and errno in `error` when there is no way.
// Sends nothing.
[[nodiscard]] InetAddress route_source(const InetAddress& to, int& error) noexcept;

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// UDP sockets: the system calls that transport/udp makes, many datagrams for each, with errno as a value.
//
// A *run* is what one call to the kernel carries to one address: one datagram, or several of equal size (the last may be shorter) that the kernel cuts apart
// (UDP_SEGMENT, Linux 4.18) and joins again on the way in (UDP_GRO, Linux 5.0).
// Threads: any. Blocking: never; every socket made here is non-blocking. Ownership: descriptors and memory are borrowed unless an Fd is returned.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sys/inet_address.h"
#include "sys/tcp_socket.h"

namespace linnet {

// An address as the kernel writes it: converted once, used for each datagram. Equal addresses have equal bytes. No initialisers: many are made, few used.
struct RawAddress {
    std::array<std::uint32_t, 7> sockaddr;
    std::uint32_t bytes;   // 0: none
    [[nodiscard]] static RawAddress of(const InetAddress& address) noexcept;
    [[nodiscard]] InetAddress address() const noexcept;
    friend bool operator==(const RawAddress&, const RawAddress&) = default;
};
static_assert(sizeof(RawAddress) == 32);

// Bound; address.port() 0 lets the system choose.
[[nodiscard]] SocketOrError udp_bind(const InetAddress& address) noexcept;
// Another socket at the address and port of `fd`, to be connected: then it gets the datagrams of one peer and `fd` those of all others, and neither a route nor
// a socket is looked up for each (udp(7), connect(2)). Until then either gets any. Nobody else can bind there because of it.
[[nodiscard]] SocketOrError udp_bind_beside(int fd) noexcept;
// Again, to another peer: what has arrived stays. Returns errno, or 0.
[[nodiscard]] int udp_connect(int fd, const RawAddress& peer) noexcept;

struct UdpGranted {
    std::size_t receive_bytes{0};   // what the kernel queues for us, in its own account: a datagram of 1472 bytes takes about 2304
    bool joins{false};              // UDP_GRO
};
// Asks for queues of `queue_bytes`, as large as the system allows; for errors of single datagrams (udp_error()), counts of drops and joined datagrams.
[[nodiscard]] UdpGranted udp_configure(int fd, std::size_t queue_bytes) noexcept;

// The path MTU to `to` as the kernel knows it, headers included; 0: no route. Sends nothing.
[[nodiscard]] std::size_t path_mtu(const InetAddress& to) noexcept;

// ---- data ----
inline constexpr unsigned kUdpRunsAtOnce = 32;
inline constexpr std::size_t kUdpRunBytes = 65'000;   // a little less than what a datagram holds: the kernel's limit is 65 507, less for IPv6
inline constexpr unsigned kUdpRunSegments = 64;       // UDP_MAX_SEGMENTS before Linux 6.9; iovecs are twice as many

struct UdpRunOut {
    const RawAddress* to;    // null: of a connected socket
    const iovec* pieces;
    std::uint32_t piece_count;
    std::uint32_t segment;   // size of each datagram but the last; 0: it is a single one
};
struct UdpSent {
    unsigned runs{0};   // from the front
    int error{0};       // why the next one was not sent
};
[[nodiscard]] UdpSent udp_send(int fd, std::span<const UdpRunOut> runs) noexcept;

struct UdpRunIn {
    std::byte* buffer{nullptr};
    std::size_t room{0};
    std::span<const iovec> pieces{};   // if any: where it goes instead of to `buffer`, at most UIO_MAXIOV
    // ---- filled ----
    std::size_t bytes{0};
    std::size_t segment{0};   // of each datagram but the last; `bytes` when it is a single one
    RawAddress from{};
};
struct UdpReceived {
    unsigned runs{0};
    int error{0};             // EAGAIN: there was no more
    std::uint32_t drops{0};   // of the socket since it was made, modulo 2^32, if told now; 0: not told
};
// At most kUdpRunsAtOnce.
[[nodiscard]] UdpReceived udp_receive(int fd, std::span<UdpRunIn> runs) noexcept;
// One run, to its buffer, for less: the kernel tells neither where it is to be cut (`segment` is 0) nor drops.
[[nodiscard]] UdpReceived udp_receive_uncut(int fd, UdpRunIn& run) noexcept;

// The next error that the network reported for a datagram of ours; false: none.
[[nodiscard]] bool udp_error(int fd, InetAddress& to, int& error) noexcept;

}   // namespace linnet

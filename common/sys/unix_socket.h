// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Unix sockets with abstract names: who is on the other end, and descriptors passed along. See unix(7).
//
// An abstract name is visible in its network namespace only and vanishes with the socket: nothing is left behind by a crash.
// Threads: any. Blocking: never; every socket made here is non-blocking. Ownership: descriptors are borrowed unless an Fd is returned.
// Nothing here logs: only the caller knows which peer it was about.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sys/fd.h"
#include "sys/tcp_socket.h"

namespace linnet {

// Sockets that keep packets apart (SOCK_SEQPACKET). `name` is at most 100 bytes.
[[nodiscard]] SocketOrError unix_listen(std::string_view name, int backlog) noexcept;
// Connects at once or not at all: ECONNREFUSED when nobody has that name here, EAGAIN when its queue is full.
[[nodiscard]] SocketOrError unix_connect(std::string_view name) noexcept;
[[nodiscard]] SocketOrError unix_accept(int listener) noexcept;

// Who connected, or listened, as the kernel recorded it then. pid 0: not to be seen from this pid namespace.
struct UnixPeer {
    std::uint32_t pid{0};
    std::uint32_t uid{UINT32_MAX};
};
[[nodiscard]] UnixPeer unix_peer(int fd) noexcept;

inline constexpr std::size_t kMaxPassed = 4;
// One packet, and at most kMaxPassed descriptors with it.
[[nodiscard]] IoResult unix_send(int fd, std::span<const std::byte> packet, std::span<const int> passed = {}) noexcept;

struct UnixPacket {
    IoResult io;       // bytes 0 without an error: the other end is closed
    bool whole{true};  // false: it was longer than the buffer, or carried more descriptors
    std::array<Fd, kMaxPassed> passed;
    std::size_t passed_count{0};
};
[[nodiscard]] UnixPacket unix_receive(int fd, std::span<std::byte> buffer) noexcept;

}   // namespace linnet

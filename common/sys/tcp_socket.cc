// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TCP sockets: see tcp_socket.h.
#include "sys/tcp_socket.h"

#include <fcntl.h>
#include <netinet/tcp.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>

namespace linnet {

namespace {

int set_int(int fd, int level, int option, int value) noexcept
{
    return ::setsockopt(fd, level, option, &value, sizeof value) == 0 ? 0 : errno;
}

// Probes go out after half of `silence`; with TCP_USER_TIMEOUT set the kernel ends the connection when the whole of it passed unanswered.
// A stopped process does not count as silent: its kernel answers.
int set_silence(int fd, Nanos silence) noexcept
{
    using std::chrono::milliseconds;
    using std::chrono::seconds;
    const auto ms = std::clamp<std::int64_t>(std::chrono::ceil<milliseconds>(silence).count(), 1000, INT_MAX);
    const auto half = static_cast<int>(std::clamp<std::int64_t>(ms / 2000, 1, 32767));
    const int probe_gap = std::max(1, half / 4);
    int error = set_int(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    for (const auto& [option, value] : {std::pair{TCP_KEEPIDLE, half}, {TCP_KEEPINTVL, probe_gap}, {TCP_KEEPCNT, 4},
                                       {TCP_USER_TIMEOUT, static_cast<int>(ms)}}) {
        const int e = set_int(fd, IPPROTO_TCP, option, value);
        error = error != 0 ? error : e;
    }
    return error;
}

// A segment that is lost with none behind it is sent again after 200 ms, in case the other side delays its acknowledgement; half of the small messages that a
// lossy network loses are such. Both sides of our connections are ours: where the kernel lets us (since Linux 6.15), none delays it for so long. At 100 timer
// ticks a second it does not.
void hurry_lone_segments(int fd) noexcept
{
    constexpr int kRtoMinUs = 45;   // TCP_RTO_MIN_US and TCP_DELACK_MAX_US, that older headers lack
    constexpr int kDelackMaxUs = 46;
    constexpr int kDelayedAck = 8000;   // two ticks, the least that is allowed, at 250 a second
    constexpr int kLeastTimeout = 16000;
    if (set_int(fd, IPPROTO_TCP, kDelackMaxUs, kDelayedAck) == 0) {
        static_cast<void>(set_int(fd, IPPROTO_TCP, kRtoMinUs, kLeastTimeout));
    }
}

}   // namespace

int tcp_configure(int fd, const TcpSocketOptions& options) noexcept
{
    int error = set_int(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    hurry_lone_segments(fd);
    if (options.silence > Nanos::zero()) {
        const int e = set_silence(fd, options.silence);
        error = error != 0 ? error : e;
    }
    if (options.unsent_limit != 0) {
        const int e = set_int(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, static_cast<int>(std::min<std::size_t>(options.unsent_limit, INT_MAX)));
        error = error != 0 ? error : e;
    }
    if (!options.congestion.empty()) {
        // Refused where the module is not loaded or not allowed; the caller reports what is in force.
        static_cast<void>(::setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, options.congestion.data(), static_cast<socklen_t>(options.congestion.size())));
    }
    return error;
}

std::string tcp_congestion_in_force(int fd)
{
    std::array<char, 32> name{};
    socklen_t bytes = name.size() - 1;
    return ::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name.data(), &bytes) == 0 ? std::string{name.data()} : "?";
}

SocketOrError tcp_socket(int family) noexcept
{
    const int fd = ::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
    return fd >= 0 ? SocketOrError{Fd{fd}, 0} : SocketOrError{Fd{}, errno};
}

SocketOrError tcp_listen(const InetAddress& address, int backlog) noexcept
{
    SocketOrError s = tcp_socket(address.family());
    if (s.error != 0) {
        return s;
    }
    sockaddr_storage storage;
    const socklen_t length = address.to_sockaddr(storage);
    // A fixed port must be free again at once after an earlier run; with a port of the system's choice this changes nothing.
    static_cast<void>(set_int(s.fd.get(), SOL_SOCKET, SO_REUSEADDR, 1));
    if (address.family() == AF_INET6) {
        static_cast<void>(set_int(s.fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1));   // IPv4 has a socket of its own
    }
    if (::bind(s.fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0 || ::listen(s.fd.get(), backlog) != 0) {
        return {Fd{}, errno};
    }
    return s;
}

int tcp_connect(int fd, const InetAddress& to) noexcept
{
    sockaddr_storage storage;
    const socklen_t length = to.to_sockaddr(storage);
    return ::connect(fd, reinterpret_cast<const sockaddr*>(&storage), length) == 0 ? 0 : errno;
}

SocketOrError tcp_accept(int listener) noexcept
{
    const int fd = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    return fd >= 0 ? SocketOrError{Fd{fd}, 0} : SocketOrError{Fd{}, errno};
}

void socket_low_water(int fd, std::size_t bytes) noexcept
{
    static_cast<void>(set_int(fd, SOL_SOCKET, SO_RCVLOWAT, static_cast<int>(std::min<std::size_t>(bytes, INT_MAX))));
}

int socket_error(int fd) noexcept
{
    int error = 0;
    socklen_t bytes = sizeof error;
    return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &bytes) == 0 ? error : errno;
}

InetAddress local_address(int fd) noexcept
{
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    if (::getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
        return {};
    }
    return InetAddress::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage)).value_or(InetAddress{});
}

InetAddress peer_address(int fd) noexcept
{
    sockaddr_storage storage{};
    socklen_t length = sizeof storage;
    if (::getpeername(fd, reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
        return {};
    }
    return InetAddress::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage)).value_or(InetAddress{});
}

void socket_shutdown(int fd) noexcept { ::shutdown(fd, SHUT_RDWR); }

void socket_reset_on_close(int fd) noexcept
{
    const linger now{1, 0};
    ::setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

Fd spare_descriptor() noexcept { return Fd{::open("/dev/null", O_RDONLY | O_CLOEXEC)}; }

InetAddress route_source(const InetAddress& to, int& error) noexcept
{
    const Fd fd{::socket(to.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    InetAddress target = to;
    target.set_port(to.port() != 0 ? to.port() : 9);   // any port will do: connecting a datagram socket only looks up the route
    sockaddr_storage storage;
    const socklen_t length = target.to_sockaddr(storage);
    if (!fd.valid() || ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) {
        error = errno;
        return {};
    }
    error = 0;
    return local_address(fd.get());
}

}   // namespace linnet

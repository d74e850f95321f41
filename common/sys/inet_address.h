// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// InetAddress: an IPv4 or IPv6 address with a port.
//
// An IPv6 address that is valid on one link only (fe80::/10) may say which, by the interface that leads there. That is this host's affair: no name and no
// packet tells it, and who is told such an address looks at its own interfaces.
// A value. Threads: any. Blocking: never.
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace linnet {

class InetAddress {
public:
    using Bytes = std::array<std::uint8_t, 16>;

    InetAddress() noexcept = default;   // none
    // IPv4 in the first four bytes; network order.
    [[nodiscard]] static InetAddress v4(const Bytes& bytes, std::uint16_t port = 0) noexcept { return InetAddress{AF_INET, bytes, port}; }
    [[nodiscard]] static InetAddress v6(const Bytes& bytes, std::uint16_t port = 0) noexcept { return InetAddress{AF_INET6, bytes, port}; }
    // "10.1.0.2", "fd00::2", "fe80::2%eth0", "fe80::2%7": numbers only; nothing is looked up but an interface's name, which must be there.
    [[nodiscard]] static std::optional<InetAddress> parse(std::string_view text, std::uint16_t port = 0) noexcept;
    // Nothing for other families. An IPv4 address mapped into IPv6 becomes IPv4.
    [[nodiscard]] static std::optional<InetAddress> from_sockaddr(const ::sockaddr* address) noexcept;

    [[nodiscard]] int family() const noexcept { return family_; }   // AF_INET, AF_INET6, AF_UNSPEC
    [[nodiscard]] bool is_v4() const noexcept { return family_ == AF_INET; }
    [[nodiscard]] const Bytes& bytes() const noexcept { return bytes_; }
    [[nodiscard]] unsigned bits() const noexcept { return is_v4() ? 32 : 128; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    void set_port(std::uint16_t port) noexcept { port_ = port; }
    // The index of the interface that it is valid on; 0: not said, or valid everywhere.
    [[nodiscard]] std::uint32_t scope() const noexcept { return scope_; }
    void set_scope(std::uint32_t interface) noexcept { scope_ = scoped() ? interface : 0; }
    // This host has the interface, or none is said.
    [[nodiscard]] bool interface_is_here() const noexcept;
    [[nodiscard]] bool scoped() const noexcept { return family_ == AF_INET6 && link_local(); }

    [[nodiscard]] bool loopback() const noexcept;     // 127.0.0.0/8, ::1
    [[nodiscard]] bool link_local() const noexcept;   // 169.254.0.0/16, fe80::/10
    [[nodiscard]] bool unicast() const noexcept;      // not 0.0.0.0/8, 224.0.0.0/4, 255.255.255.255, ::, ff00::/8
    // An address that does not say its interface is the same as one that does.
    [[nodiscard]] bool same_host(const InetAddress& other) const noexcept
    {
        return family_ == other.family_ && bytes_ == other.bytes_ && same_link(other);
    }
    // The first `prefix` bits agree, and the interface, if both say it.
    [[nodiscard]] bool in_network(const InetAddress& network, unsigned prefix) const noexcept;

    [[nodiscard]] std::string host_text() const;   // "10.1.0.2", "fe80::2%eth0"
    [[nodiscard]] std::string text() const;        // "10.1.0.2 port 41873"

    // For system calls. Returns the length.
    ::socklen_t to_sockaddr(::sockaddr_storage& out) const noexcept;

private:
    InetAddress(int family, const Bytes& bytes, std::uint16_t port) noexcept : family_{family}, port_{port}, bytes_{bytes} {}

    [[nodiscard]] bool same_link(const InetAddress& other) const noexcept { return scope_ == 0 || other.scope_ == 0 || scope_ == other.scope_; }

    int family_{AF_UNSPEC};
    std::uint16_t port_{0};
    std::uint32_t scope_{0};
    Bytes bytes_{};
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// InetAddress: see inet_address.h.
#include "sys/inet_address.h"

#include <arpa/inet.h>
#include <net/if.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>

namespace linnet {

namespace {

// An index, or the name of an interface; 0: there is none, or it is none: the kernel has an int for them.
std::uint32_t interface_index(std::string_view text) noexcept
{
    std::uint32_t index = 0;
    if (const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), index); code == std::errc{} && end == text.data() + text.size()) {
        return index <= INT32_MAX ? index : 0;
    }
    std::array<char, IF_NAMESIZE> name{};
    if (text.empty() || text.size() >= name.size()) {
        return 0;
    }
    std::copy(text.begin(), text.end(), name.begin());
    return ::if_nametoindex(name.data());
}

}   // namespace

std::optional<InetAddress> InetAddress::parse(std::string_view text, std::uint16_t port) noexcept
{
    if (const std::size_t percent = text.find('%'); percent != std::string_view::npos) {
        auto address = parse(text.substr(0, percent), port);
        const std::uint32_t interface = interface_index(text.substr(percent + 1));
        if (!address || !address->scoped() || interface == 0) {
            return std::nullopt;
        }
        address->scope_ = interface;
        return address;
    }
    std::array<char, INET6_ADDRSTRLEN> copy{};
    if (text.size() >= copy.size()) {
        return std::nullopt;
    }
    std::copy(text.begin(), text.end(), copy.begin());
    Bytes bytes{};
    if (::inet_pton(AF_INET, copy.data(), bytes.data()) == 1) {
        return v4(bytes, port);
    }
    if (::inet_pton(AF_INET6, copy.data(), bytes.data()) == 1) {
        return v6(bytes, port);
    }
    return std::nullopt;
}

std::optional<InetAddress> InetAddress::from_sockaddr(const ::sockaddr* address) noexcept
{
    Bytes bytes{};
    if (address == nullptr) {
        return std::nullopt;
    }
    if (address->sa_family == AF_INET) {
        ::sockaddr_in in;
        std::memcpy(&in, address, sizeof in);
        std::memcpy(bytes.data(), &in.sin_addr, sizeof in.sin_addr);
        return v4(bytes, ntohs(in.sin_port));
    }
    if (address->sa_family == AF_INET6) {
        ::sockaddr_in6 in;
        std::memcpy(&in, address, sizeof in);
        if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) {
            std::memcpy(bytes.data(), &in.sin6_addr.s6_addr[12], 4);
            return v4(bytes, ntohs(in.sin6_port));
        }
        std::memcpy(bytes.data(), &in.sin6_addr, sizeof in.sin6_addr);
        InetAddress six = v6(bytes, ntohs(in.sin6_port));
        six.set_scope(in.sin6_scope_id);
        return six;
    }
    return std::nullopt;
}

bool InetAddress::interface_is_here() const noexcept
{
    std::array<char, IF_NAMESIZE> name{};
    return scope_ == 0 || ::if_indextoname(scope_, name.data()) != nullptr || errno != ENXIO;   // who has no descriptor left to ask by does not know
}

bool InetAddress::loopback() const noexcept
{
    static constexpr Bytes kOne{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
    return is_v4() ? bytes_[0] == 127 : family_ == AF_INET6 && bytes_ == kOne;
}

bool InetAddress::link_local() const noexcept
{
    return is_v4() ? bytes_[0] == 169 && bytes_[1] == 254 : family_ == AF_INET6 && bytes_[0] == 0xfe && (bytes_[1] & 0xc0) == 0x80;
}

bool InetAddress::unicast() const noexcept
{
    const bool none = std::all_of(bytes_.begin(), bytes_.end(), [](auto byte) { return byte == 0; });
    const bool everybody = std::all_of(bytes_.begin(), bytes_.begin() + 4, [](auto byte) { return byte == 0xff; });
    return is_v4() ? bytes_[0] != 0 && (bytes_[0] & 0xf0) != 0xe0 && !everybody : family_ == AF_INET6 && !none && bytes_[0] != 0xff;
}

bool InetAddress::in_network(const InetAddress& network, unsigned prefix) const noexcept
{
    if (family_ != network.family_ || prefix > bits() || !same_link(network)) {
        return false;
    }
    const std::size_t whole = prefix / 8;
    if (!std::equal(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(whole), network.bytes_.begin())) {
        return false;
    }
    const unsigned rest = prefix % 8;
    return rest == 0 || ((bytes_[whole] ^ network.bytes_[whole]) >> (8 - rest)) == 0;
}

std::string InetAddress::host_text() const
{
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (family_ == AF_UNSPEC || ::inet_ntop(family_, bytes_.data(), text.data(), text.size()) == nullptr) {
        return "no address";
    }
    std::string host = text.data();
    if (scope_ != 0) {
        std::array<char, IF_NAMESIZE> name{};
        host += '%';
        host += ::if_indextoname(scope_, name.data()) != nullptr ? std::string{name.data()} : std::to_string(scope_);
    }
    return host;
}

std::string InetAddress::text() const { return host_text() + " port " + std::to_string(port_); }

::socklen_t InetAddress::to_sockaddr(::sockaddr_storage& out) const noexcept
{
    out = {};
    if (is_v4()) {
        ::sockaddr_in in{};
        in.sin_family = AF_INET;
        in.sin_port = htons(port_);
        std::memcpy(&in.sin_addr, bytes_.data(), sizeof in.sin_addr);
        std::memcpy(&out, &in, sizeof in);
        return sizeof in;
    }
    ::sockaddr_in6 in{};
    in.sin6_family = AF_INET6;
    in.sin6_port = htons(port_);
    std::memcpy(&in.sin6_addr, bytes_.data(), sizeof in.sin6_addr);
    in.sin6_scope_id = scope_;
    std::memcpy(&out, &in, sizeof in);
    return sizeof in;
}

}   // namespace linnet

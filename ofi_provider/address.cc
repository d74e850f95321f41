// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Addresses: translation between names, sockaddrs, text.
#include "address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace linnet::ofi {

namespace {
// The first byte of a name is its version, which is small.
constexpr unsigned char kInetMark = 0xff;
struct InetLayout {   // of the 64 bytes when they are no name
    unsigned char mark;
    unsigned char family;   // 4 or 6
    unsigned char port[2];
    unsigned char address[16];
    unsigned char scope[4];   // of a link-local address: the index of our interface, or 0
};

InetLayout layout_of(const linnet_name_t& bytes) noexcept
{
    InetLayout l{};
    std::memcpy(&l, bytes.bytes, sizeof l);
    return l;
}

std::uint32_t scope_of(const InetLayout& l) noexcept
{
    std::uint32_t scope = 0;
    std::memcpy(&scope, l.scope, sizeof scope);
    return scope;
}

linnet_name_t inet_bytes(unsigned char family, const void* address, std::uint16_t port, std::uint32_t scope = 0) noexcept
{
    InetLayout l{};
    l.mark = kInetMark;
    l.family = family;
    l.port[0] = static_cast<unsigned char>(port >> 8);
    l.port[1] = static_cast<unsigned char>(port & 0xff);
    std::memcpy(l.address, address, family == 6 ? 16 : 4);
    std::memcpy(l.scope, &scope, sizeof scope);
    linnet_name_t n{};
    std::memcpy(n.bytes, &l, sizeof l);
    return n;
}

std::optional<Address> from_sockaddr(const void* from, std::size_t bytes) noexcept
{
    sa_family_t family = 0;
    if (bytes < sizeof(sockaddr_in)) {
        return std::nullopt;
    }
    std::memcpy(&family, static_cast<const char*>(from) + offsetof(sockaddr, sa_family), sizeof family);
    if (family == AF_INET) {
        sockaddr_in in{};
        std::memcpy(&in, from, sizeof in);
        return Address{inet_bytes(4, &in.sin_addr, ntohs(in.sin_port))};
    }
    if (family == AF_INET6 && bytes >= sizeof(sockaddr_in6)) {
        sockaddr_in6 in{};
        std::memcpy(&in, from, sizeof in);
        if (IN6_IS_ADDR_V4MAPPED(&in.sin6_addr)) {
            return Address{inet_bytes(4, in.sin6_addr.s6_addr + 12, ntohs(in.sin6_port))};
        }
        return Address{inet_bytes(6, &in.sin6_addr, ntohs(in.sin6_port), IN6_IS_ADDR_LINKLOCAL(&in.sin6_addr) ? in.sin6_scope_id : 0)};
    }
    return std::nullopt;
}

// "10.1.0.2 port 41873", of a name.
std::pair<std::string, std::uint16_t> name_parts(const linnet_name_t& name)
{
    char text[128] = "";
    if (linnet_name_text(&name, text, sizeof text) != LINNET_OK) {
        return {};
    }
    const std::string s{text};
    const auto at = s.find(" port ");
    if (at == std::string::npos) {
        return {};
    }
    return {s.substr(0, at), static_cast<std::uint16_t>(std::strtoul(s.c_str() + at + 6, nullptr, 10))};
}

// Of the FI_ADDR_STR form of fi_getinfo(3), "fi_sockaddr_in6://[fe80::6:12]:7471?qos=3", of which all behind the format may be missing.
struct Parts {
    int family;
    std::string node;
    std::string service;
};
std::optional<Parts> split_uri(const std::string& uri)
{
    const auto colon = uri.find("://");
    const std::string scheme = uri.substr(0, colon);
    Parts p{AF_UNSPEC, {}, {}};
    if (scheme == "fi_sockaddr_in" || scheme == "fi_sockaddr_in6") {
        p.family = scheme == "fi_sockaddr_in" ? AF_INET : AF_INET6;
    } else if (scheme != "fi_sockaddr" && scheme != "fi_linnet") {
        return std::nullopt;
    }
    std::string rest = uri.substr(colon + 3);
    rest.resize(std::min(rest.size(), rest.find_first_of("/?")));
    const auto bracket = rest.find(']');
    const bool bracketed = !rest.empty() && rest.front() == '[' && bracket != std::string::npos;
    const auto port = bracketed ? rest.find(':', bracket) : rest.rfind(':');
    p.node = bracketed ? rest.substr(1, bracket - 1) : rest.substr(0, port);
    p.service = port == std::string::npos ? "" : rest.substr(port + 1);
    return p;
}
}   // namespace

bool format_known(std::uint32_t format) noexcept
{
    return format == kAddressFormat || format == FI_SOCKADDR || format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;
}

std::size_t format_bytes(std::uint32_t format) noexcept
{
    switch (format) {
        case kAddressFormat: return LINNET_NAME_BYTES;
        case FI_SOCKADDR_IN: return sizeof(sockaddr_in);
        case FI_SOCKADDR_IN6: return sizeof(sockaddr_in6);
        default: return 0;
    }
}

std::optional<Address> Address::inet(const std::string& node, std::uint16_t port) noexcept
{
    unsigned char raw[16];
    if (::inet_pton(AF_INET, node.c_str(), raw) == 1) {
        return Address{inet_bytes(4, raw, port)};
    }
    if (::inet_pton(AF_INET6, node.c_str(), raw) == 1) {
        return Address{inet_bytes(6, raw, port)};
    }
    return std::nullopt;
}

std::optional<Address> Address::decode(const void* from, std::size_t bytes, std::uint32_t format) noexcept
{
    if (from == nullptr) {
        return std::nullopt;
    }
    if (format != kAddressFormat) {
        const auto a = from_sockaddr(from, bytes);
        return a && format == FI_SOCKADDR_IN && a->ipv6() ? std::nullopt : a;
    }
    linnet_name_t n{};
    if (bytes < sizeof n) {
        return std::nullopt;
    }
    std::memcpy(&n, from, sizeof n);
    const InetLayout l = layout_of(n);
    char text[128];
    const bool good = l.mark == kInetMark ? l.family == 4 || l.family == 6 : linnet_name_text(&n, text, sizeof text) == LINNET_OK;
    return good ? std::optional<Address>{Address{n}} : std::nullopt;
}

bool Address::is_uri(const std::string& node) noexcept { return node.rfind("fi_", 0) == 0 && node.find("://") != std::string::npos; }

namespace {
// The system would take the last 16 bits of such a number.
bool is_above_all_ports(const char* service) noexcept
{
    char* end = nullptr;
    return std::strtoul(service, &end, 10) > 65535 && *end == '\0';
}
}   // namespace

std::optional<Address> Address::resolve(const char* node, const char* service, bool numeric, bool passive, std::uint32_t format)
{
    std::optional<Parts> parts;
    if (node != nullptr && is_uri(node)) {
        parts = split_uri(node);
        const bool other_family = parts && parts->family == AF_INET6 && format == FI_SOCKADDR_IN;
        if (!parts || other_family || service != nullptr) {   // which fi_getinfo(3) wants to be null with it
            LINNET_FI_INFO(FI_LOG_FABRIC, "cannot resolve node %s, service %s: another format, or the service twice\n", node,
                           service == nullptr ? "(none)" : service);
            return std::nullopt;
        }
        node = parts->node.empty() ? nullptr : parts->node.c_str();
        service = parts->service.empty() ? nullptr : parts->service.c_str();
    }
    if (service != nullptr && is_above_all_ports(service)) {
        LINNET_FI_INFO(FI_LOG_FABRIC, "cannot resolve service %s: the last port is 65535\n", service);
        return std::nullopt;
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = (numeric ? AI_NUMERICHOST : 0) | (passive ? AI_PASSIVE : 0);
    if (parts && parts->family != AF_UNSPEC) {
        hints.ai_family = parts->family;
    } else if (format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6) {   // a host may have addresses of both families
        hints.ai_family = format == FI_SOCKADDR_IN ? AF_INET : AF_INET6;
        hints.ai_flags |= format == FI_SOCKADDR_IN6 ? AI_V4MAPPED : 0;
    } else {
        hints.ai_family = node == nullptr ? AF_INET : AF_UNSPEC;
    }
    addrinfo* found = nullptr;
    const int why = ::getaddrinfo(node, service == nullptr ? "0" : service, &hints, &found);
    if (why != 0) {
        LINNET_FI_INFO(FI_LOG_FABRIC, "cannot resolve node %s, service %s: %s\n", node == nullptr ? "(none)" : node,
                       service == nullptr ? "(none)" : service, ::gai_strerror(why));
        return std::nullopt;
    }
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner{found, ::freeaddrinfo};
    return decode(found->ai_addr, found->ai_addrlen, format == kAddressFormat ? std::uint32_t{FI_SOCKADDR} : format);
}

bool Address::is_name() const noexcept { return layout_of(bytes_).mark != kInetMark; }

std::string Address::node() const
{
    if (is_name()) {
        return name_parts(bytes_).first;
    }
    const InetLayout l = layout_of(bytes_);
    char text[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(l.family == 6 ? AF_INET6 : AF_INET, l.address, text, sizeof text);
    char name[IF_NAMESIZE];
    const std::uint32_t scope = scope_of(l);
    return scope == 0 ? text : std::string{text} + "%" + (::if_indextoname(scope, name) != nullptr ? std::string{name} : std::to_string(scope));
}

std::uint16_t Address::port() const noexcept
{
    if (is_name()) {
        return name_parts(bytes_).second;
    }
    const InetLayout l = layout_of(bytes_);
    return static_cast<std::uint16_t>(l.port[0] << 8 | l.port[1]);
}

std::string Address::interface_node() const
{
    const std::string own = node();
    in_addr wanted{};
    if (!loopback() || ::inet_pton(AF_INET, own.c_str(), &wanted) != 1) {
        return own;
    }
    ifaddrs* all = nullptr;
    if (::getifaddrs(&all) != 0) {
        return own;
    }
    bool here = false;
    for (const ifaddrs* i = all; i != nullptr && !here; i = i->ifa_next) {
        sockaddr_in in{};
        if (i->ifa_addr != nullptr && i->ifa_addr->sa_family == AF_INET) {
            std::memcpy(&in, i->ifa_addr, sizeof in);
            here = in.sin_addr.s_addr == wanted.s_addr;
        }
    }
    ::freeifaddrs(all);
    return here ? own : "127.0.0.1";
}

bool Address::any_node() const
{
    const std::string n = node();
    return n == "0.0.0.0" || n == "::";
}

bool Address::loopback() const
{
    const std::string n = node();
    return n.rfind("127.", 0) == 0 || n == "::1";
}

bool Address::ipv6() const { return node().find(':') != std::string::npos; }

std::string Address::encode(std::uint32_t format) const
{
    if (format == kAddressFormat) {
        return {reinterpret_cast<const char*>(bytes_.bytes), sizeof bytes_.bytes};
    }
    const std::string at = node();
    if (ipv6() || format == FI_SOCKADDR_IN6) {
        sockaddr_in6 in{};
        in.sin6_family = AF_INET6;
        in.sin6_port = htons(port());
        in.sin6_scope_id = is_name() ? 0 : scope_of(layout_of(bytes_));
        ::inet_pton(AF_INET6, (ipv6() ? at.substr(0, at.find('%')) : "::ffff:" + at).c_str(), &in.sin6_addr);
        return {reinterpret_cast<const char*>(&in), sizeof in};
    }
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(port());
    ::inet_pton(AF_INET, at.c_str(), &in.sin_addr);
    return {reinterpret_cast<const char*>(&in), sizeof in};
}

std::string Address::text(std::uint32_t format) const
{
    const std::string at = node();
    const bool six = at.find(':') != std::string::npos;
    const char* const scheme = format == kAddressFormat ? "fi_linnet" : six ? "fi_sockaddr_in6" : "fi_sockaddr_in";
    return std::string{scheme} + "://" + (six ? "[" + at + "]" : at) + ":" + std::to_string(port());
}

}   // namespace linnet::ofi

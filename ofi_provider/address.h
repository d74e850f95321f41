// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Addresses of endpoints, in the formats that an application may choose.
//
// A Linnet endpoint has a name (linnet.h): a capability with a secret, 64 bytes. It is the address format of this provider unless the
// application asks for sockaddrs. Node and service give an IP address and a port; in the provider's own format they are 64 bytes too, marked
// so that they are no name. Values; any thread; nothing blocks but resolve(), which asks the resolver.
#pragma once

#include <netinet/in.h>

#include <array>
#include <optional>
#include <string>

#include "provider.h"

namespace linnet::ofi {

// Provider specific; "LN" in hexadecimal.
inline constexpr std::uint32_t kAddressFormat = FI_PROV_SPECIFIC | 0x4c4eu;

class Address {
public:
    Address() = default;
    explicit Address(const linnet_name_t& name) noexcept : bytes_{name} {}
    // An IP address with port, in the text forms of linnet_peer_add_address().
    static std::optional<Address> inet(const std::string& node, std::uint16_t port) noexcept;
    // As the application gave it. nullopt: not an address of that format.
    static std::optional<Address> decode(const void* from, std::size_t bytes, std::uint32_t format) noexcept;
    // Node and service of fi_getinfo(3), either may be null; `passive`: one to listen at, so that no node means any. The answer is one that `format`
    // can say. nullopt: logged.
    static std::optional<Address> resolve(const char* node, const char* service, bool numeric, bool passive, std::uint32_t format);
    // A node that is of the form FI_ADDR_STR, with its service.
    [[nodiscard]] static bool is_uri(const std::string& node) noexcept;

    [[nodiscard]] bool is_name() const noexcept;
    [[nodiscard]] const linnet_name_t& name() const noexcept { return bytes_; }
    // Of an IP address: "10.1.0.2", 41873. A name's first one.
    [[nodiscard]] std::string node() const;
    [[nodiscard]] std::uint16_t port() const noexcept;
    // The same, but 127.0.0.1 for loopback addresses that no interface has: 127.0.1.1, which /etc/hosts may give as that of the host's name.
    [[nodiscard]] std::string interface_node() const;
    // 0.0.0.0 or ::
    [[nodiscard]] bool any_node() const;
    // 127.0.0.0/8 or ::1
    [[nodiscard]] bool loopback() const;
    [[nodiscard]] bool ipv6() const;

    // The bytes of this address in `format`; at most 64. FI_SOCKADDR_IN6 says IPv4 addresses as mapped ones.
    [[nodiscard]] std::string encode(std::uint32_t format) const;
    // "fi_linnet://10.1.0.2:41873", "fi_sockaddr_in://..."
    [[nodiscard]] std::string text(std::uint32_t format) const;

private:
    linnet_name_t bytes_{};
};

// Formats that hints may name, or 0.
[[nodiscard]] bool format_known(std::uint32_t format) noexcept;
// Bytes of an encoded address; 0 for FI_SOCKADDR, where they depend on the family.
[[nodiscard]] std::size_t format_bytes(std::uint32_t format) noexcept;

}   // namespace linnet::ofi

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoint name: the 64 bytes that identify a process and let others open a session to it.
//
// A name is a capability: whoever holds it can prove so in a hello (wire/hello.h). 64 bytes because libfabric bounds a name by FI_NAME_MAX,
// which MPICH asserts. Half of it are addresses, packed without gaps: two IPv6, or one IPv6 and up to four IPv4, or up to eight IPv4 addresses, all with
// the same port. That is what most hosts have, so a peer that reaches only one of several networks needs nobody else to tell it the way.
// Layout: docs/wire-protocol.md section 2.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/status.h"
#include "base/wire_int.h"

namespace linnet::wire {

inline constexpr std::uint8_t kNameVersion = 1;
inline constexpr std::size_t kNameBytes = 64;
inline constexpr std::size_t kNameAddressBytes = 32;
inline constexpr std::size_t kNameAddressesMax = kNameAddressBytes / 4;

enum class AddressFamily : std::uint8_t { kIpv4 = 4, kIpv6 = 6 };
[[nodiscard]] constexpr std::size_t address_bytes(AddressFamily f) noexcept { return f == AddressFamily::kIpv6 ? 16 : 4; }

using Secret = std::array<std::uint8_t, 16>;

struct EndpointName {
    std::uint8_t version{kNameVersion};
    std::uint8_t ipv6{0};                     // bit i: the i-th address is IPv6
    be16 port;                                // TCP listener at every address, and the UDP port when there is one
    le32 incarnation;                         // seconds of its start: tells a restarted process at the same address from its predecessor
    le64 endpoint_id;                         // random, never 0: the identity that queues and tables key on
    Secret secret{};
    std::array<std::uint8_t, kNameAddressBytes> addresses{};   // the best first, network order; they end before one that is all zeros
};
static_assert(sizeof(EndpointName) == kNameBytes && alignof(EndpointName) == 1);
static_assert(std::is_trivially_copyable_v<EndpointName> && std::is_standard_layout_v<EndpointName>);

struct NameAddress {
    AddressFamily family{AddressFamily::kIpv4};
    std::array<std::uint8_t, 16> bytes{};     // IPv4 in the first four
    friend bool operator==(const NameAddress&, const NameAddress&) = default;
};

// The addresses of a name, in its order. A value.
class NameAddresses {
public:
    explicit NameAddresses(const EndpointName& name) noexcept
    {
        std::size_t at = 0;
        while (count_ < kNameAddressesMax) {
            NameAddress a;
            a.family = (name.ipv6 >> count_ & 1) != 0 ? AddressFamily::kIpv6 : AddressFamily::kIpv4;
            const std::size_t bytes = address_bytes(a.family);
            if (at + bytes > kNameAddressBytes) {
                break;
            }
            std::memcpy(a.bytes.data(), name.addresses.data() + at, bytes);
            if (a.bytes == std::array<std::uint8_t, 16>{}) {
                break;
            }
            list_[count_++] = a;
            at += bytes;
        }
        used_ = at;
    }
    [[nodiscard]] const NameAddress* begin() const noexcept { return list_.data(); }
    [[nodiscard]] const NameAddress* end() const noexcept { return list_.data() + count_; }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] const NameAddress& front() const noexcept { return list_[0]; }
    [[nodiscard]] bool contains(const NameAddress& a) const noexcept { return std::find(begin(), end(), a) != end(); }
    [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }

private:
    std::array<NameAddress, kNameAddressesMax> list_{};
    std::size_t count_{0};
    std::size_t used_{0};
};

// Appends one; false: it is all zeros, or there is no room for it.
inline bool add_address(EndpointName& name, const NameAddress& a) noexcept
{
    const NameAddresses have{name};
    const std::size_t bytes = address_bytes(a.family);
    if (a.bytes == std::array<std::uint8_t, 16>{} || have.size() == kNameAddressesMax || have.used_bytes() + bytes > kNameAddressBytes) {
        return false;
    }
    std::memcpy(name.addresses.data() + have.used_bytes(), a.bytes.data(), bytes);
    const unsigned bit = a.family == AddressFamily::kIpv6 ? 1u << have.size() : 0u;
    name.ipv6 = static_cast<std::uint8_t>((name.ipv6 & ((1u << have.size()) - 1)) | bit);
    return true;
}

// Checks what can be checked without knowing the endpoint. Fails with kInvalid.
[[nodiscard]] inline Result<EndpointName> decode_name(std::span<const std::byte> bytes) noexcept
{
    EndpointName n;
    if (bytes.size() < sizeof n) {
        return Status::kInvalid;
    }
    std::memcpy(&n, bytes.data(), sizeof n);
    return n.version == kNameVersion && n.endpoint_id.get() != 0 ? Result<EndpointName>{n} : Status::kInvalid;
}

}   // namespace linnet::wire

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoint name: the 64 bytes that identify a process and let others open a session to it.
//
// A name is a capability: whoever holds it can prove so in a hello (wire/hello.h). 64 bytes because libfabric bounds a name by FI_NAME_MAX,
// which MPICH asserts. Half of it are addresses, packed without gaps: two IPv6, or one IPv6 and up to four IPv4, or up to eight IPv4 addresses, all with
// the same port. That is what most hosts have, so a peer that reaches only one of several networks needs nobody else to tell it the way. The first three
// may each be followed by the Ethernet contact of their interface, eight bytes.
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
    std::uint8_t kinds{0};                    // bits 0 to 4: the i-th address is IPv6; bits 5 to 7: an EtherContact follows the 1st, 2nd, 3rd
    be16 port;                                // TCP listener at every address, and the UDP port when there is one
    le32 incarnation;                         // seconds of its start: tells a restarted process at the same address from its predecessor
    le64 endpoint_id;                         // random, never 0: the identity that queues and tables key on
    Secret secret{};
    std::array<std::uint8_t, kNameAddressBytes> addresses{};   // the best first, network order; they end before one that is all zeros
};
static_assert(sizeof(EndpointName) == kNameBytes && alignof(EndpointName) == 1);
static_assert(std::is_trivially_copyable_v<EndpointName> && std::is_standard_layout_v<EndpointName>);

// A contact is a name of nobody in particular (endpoint_id 0): an address and a port where the host has us call somebody. It stays here, so it may say by which
// of our interfaces a link-local address is meant; a name that has come from elsewhere never does.
inline void set_contact_scope(EndpointName& contact, std::uint32_t interface) noexcept { contact.incarnation.set(interface); }
[[nodiscard]] inline std::uint32_t contact_scope(const EndpointName& n) noexcept { return n.endpoint_id.get() == 0 ? n.incarnation.get() : 0; }

// Where frames of raw Ethernet find a process: the interface, and the process on it. All zeros: nowhere.
struct EtherContact {
    be16 endpoint;                            // a UDP port that the process holds at this interface's address, so that no two have the same
    std::array<std::uint8_t, 6> mac{};
    [[nodiscard]] bool present() const noexcept { return endpoint.get() != 0; }
};
static_assert(sizeof(EtherContact) == 8 && alignof(EtherContact) == 1);
inline constexpr std::size_t kNameContactsMax = 3;
inline constexpr std::size_t kNameIpv6Last = 4;   // the last place at which 16 bytes fit; the bits above tell of contacts

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
            a.family = count_ <= kNameIpv6Last && (name.kinds >> count_ & 1) != 0 ? AddressFamily::kIpv6 : AddressFamily::kIpv4;
            const std::size_t bytes = address_bytes(a.family);
            const bool contact = count_ < kNameContactsMax && (name.kinds >> (kNameIpv6Last + 1 + count_) & 1) != 0;
            if (at + bytes + (contact ? sizeof(EtherContact) : 0) > kNameAddressBytes) {
                break;
            }
            std::memcpy(a.bytes.data(), name.addresses.data() + at, bytes);
            if (a.bytes == std::array<std::uint8_t, 16>{}) {
                break;
            }
            at += bytes;
            if (contact) {
                std::memcpy(&contacts_[count_], name.addresses.data() + at, sizeof(EtherContact));
                at += sizeof(EtherContact);
            }
            list_[count_++] = a;
        }
        used_ = at;
    }
    [[nodiscard]] const NameAddress* begin() const noexcept { return list_.data(); }
    [[nodiscard]] const NameAddress* end() const noexcept { return list_.data() + count_; }
    [[nodiscard]] std::size_t size() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] const NameAddress& front() const noexcept { return list_[0]; }
    [[nodiscard]] const NameAddress& operator[](std::size_t i) const noexcept { return list_[i]; }
    [[nodiscard]] bool contains(const NameAddress& a) const noexcept { return std::find(begin(), end(), a) != end(); }
    [[nodiscard]] std::size_t used_bytes() const noexcept { return used_; }
    // Of the interface that has the i-th address.
    [[nodiscard]] EtherContact contact(std::size_t i) const noexcept { return i < kNameContactsMax ? contacts_[i] : EtherContact{}; }

private:
    std::array<NameAddress, kNameAddressesMax> list_{};
    std::array<EtherContact, kNameContactsMax> contacts_{};
    std::size_t count_{0};
    std::size_t used_{0};
};

// Appends one, and the Ethernet contact of its interface if it has one. False: it is all zeros, or there is no room for it; the name is as before.
inline bool add_address(EndpointName& name, const NameAddress& a, const EtherContact& contact = {}) noexcept
{
    const NameAddresses have{name};
    const std::size_t i = have.size();
    const std::size_t bytes = address_bytes(a.family);
    const std::size_t more = contact.present() ? sizeof contact : 0;
    if (a.bytes == std::array<std::uint8_t, 16>{} || i == kNameAddressesMax || have.used_bytes() + bytes + more > kNameAddressBytes ||
        (more != 0 && i >= kNameContactsMax)) {
        return false;
    }
    std::memcpy(name.addresses.data() + have.used_bytes(), a.bytes.data(), bytes);
    std::memcpy(name.addresses.data() + have.used_bytes() + bytes, &contact, more);
    const auto below = [](std::size_t n) { return (1u << n) - 1; };
    const unsigned kept = below(std::min(i, kNameIpv6Last + 1)) | below(std::min(i, kNameContactsMax)) << (kNameIpv6Last + 1);
    const unsigned added = (a.family == AddressFamily::kIpv6 ? 1u << i : 0u) | (more != 0 ? 1u << (kNameIpv6Last + 1 + i) : 0u);
    name.kinds = static_cast<std::uint8_t>((name.kinds & kept) | added);
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

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoint name: the 64 bytes that identify a process and let others open a session to it.
//
// A name is a capability: whoever holds it can prove so in a hello (wire/hello.h). 64 bytes because libfabric bounds a name by FI_NAME_MAX,
// which MPICH asserts. Layout: docs/wire-protocol.md section 2.
#pragma once

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

enum class AddressFamily : std::uint8_t { kNone = 0, kIpv4 = 4, kIpv6 = 6 };

using Secret = std::array<std::uint8_t, 16>;

struct EndpointName {
    std::uint8_t version{kNameVersion};
    AddressFamily family{AddressFamily::kNone};
    be16 port;                                // TCP listener, and the UDP port when there is one
    le32 flags;                               // unknown bits: zero when sent, ignored when received
    le64 endpoint_id;                         // random, never 0: the identity that queues and tables key on
    le64 incarnation;                         // tells a restarted process at the same address from its predecessor
    std::array<std::uint8_t, 16> address{};   // IPv4 in the first four bytes, network order
    Secret secret{};
    le64 reserved;                            // zero
};
static_assert(sizeof(EndpointName) == kNameBytes && alignof(EndpointName) == 1);
static_assert(std::is_trivially_copyable_v<EndpointName> && std::is_standard_layout_v<EndpointName>);

// Checks what can be checked without knowing the endpoint. Fails with kInvalid.
[[nodiscard]] inline Result<EndpointName> decode_name(std::span<const std::byte> bytes) noexcept
{
    EndpointName n;
    if (bytes.size() < sizeof n) {
        return Status::kInvalid;
    }
    std::memcpy(&n, bytes.data(), sizeof n);
    const bool family_known = n.family == AddressFamily::kIpv4 || n.family == AddressFamily::kIpv6 || n.family == AddressFamily::kNone;
    return n.version == kNameVersion && family_known && n.endpoint_id.get() != 0 ? Result<EndpointName>{n} : Status::kInvalid;
}

}   // namespace linnet::wire

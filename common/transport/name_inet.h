// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// An address as names tell it, and as system calls want it.
//
// Values. Threads: any. Blocking: never. Cannot fail.
#pragma once

#include <cstdint>

#include "sys/inet_address.h"
#include "wire/name.h"

namespace linnet {

[[nodiscard]] inline InetAddress inet_address(const wire::NameAddress& a, std::uint16_t port = 0) noexcept
{
    return a.family == wire::AddressFamily::kIpv6 ? InetAddress::v6(a.bytes, port) : InetAddress::v4(a.bytes, port);
}

// Without its port, and without the interface of a link-local address: that is this host's affair.
[[nodiscard]] inline wire::NameAddress name_address(const InetAddress& a) noexcept
{
    return {a.is_v4() ? wire::AddressFamily::kIpv4 : wire::AddressFamily::kIpv6, a.bytes()};
}

}   // namespace linnet

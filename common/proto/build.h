// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Building a packet: its head, then its header, one behind the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "wire/packet.h"

namespace linnet::proto {

// Returns how many bytes it wrote.
template <class T>
inline std::size_t put(std::byte* at, const T& header) noexcept
{
    std::memcpy(at, &header, sizeof header);
    return sizeof header;
}

// `body_bytes`: all behind the head, payload included. Numbers and credit come when it is sent.
inline wire::PacketHead packet_head(wire::PacketKind kind, std::size_t body_bytes, std::uint16_t flags = 0) noexcept
{
    wire::PacketHead h;
    h.kind = kind;
    h.flags.set(flags);
    h.body_bytes.set(static_cast<std::uint32_t>(body_bytes));
    return h;
}

}   // namespace linnet::proto

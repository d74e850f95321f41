// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The shared segment of one link, and the packets by which two processes agree on it. docs/shm.md has the picture.
//
// What is in a segment was written by another process: only the classes of sync/ read it, and they check.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/wire_int.h"
#include "sync/record_ring.h"
#include "sys/remote_process.h"
#include "transport/transport.h"

namespace linnet::shm {

enum class Side : std::uint8_t { kOpener = 0, kAcceptor = 1 };
[[nodiscard]] constexpr Side other(Side side) noexcept { return side == Side::kOpener ? Side::kAcceptor : Side::kOpener; }

inline constexpr std::size_t kLanePacketMax = 128 * 1024;

// Kinds of records.
inline constexpr std::uint32_t kStart = 1;   // a packet begins: its head, or all of it, in place; then payload
inline constexpr std::uint32_t kMore = 2;    // more of it, beside
inline constexpr std::uint32_t kPull = 3;    // bulk: BulkHead and the address of the payload in the sender's memory, to be read from there

struct SegmentHead {
    struct alignas(kCacheLine) Flag {
        std::atomic<std::uint32_t> value{0};
    };
    std::array<Flag, 2> closed;                 // by side: it gave its link up; memory that it offered is not its peer's any more
    std::array<RingControl, 2> rings;           // by the side that writes
};
// The head has a page of its own: it is all that an idle link keeps in memory. Behind it, for either side that writes, slots and data.
inline constexpr std::size_t kHeadBytes = 4096;
inline constexpr std::size_t kSlotsBytes = kRingSlots * sizeof(RingSlot);
static_assert(sizeof(SegmentHead) <= kHeadBytes && kSlotsBytes % kHeadBytes == 0);

// A quarter of a ring is the largest piece that is copied at a time, so a long packet is on its way in four places at once, all in the cache.
[[nodiscard]] constexpr std::size_t ring_bytes(LinkRole role) noexcept { return role == LinkRole::kLane ? 128 * 1024 : 256 * 1024; }
[[nodiscard]] constexpr std::size_t segment_bytes(LinkRole role) noexcept { return kHeadBytes + 2 * (kSlotsBytes + ring_bytes(role)); }

// What `writer` writes: slots, then data.
[[nodiscard]] inline std::span<std::byte> ring_memory(std::span<std::byte> segment, LinkRole role, Side writer) noexcept
{
    const std::size_t bytes = kSlotsBytes + ring_bytes(role);
    return segment.subspan(kHeadBytes + static_cast<std::size_t>(writer) * bytes, bytes);
}

[[nodiscard]] inline RingView ring_of(std::span<std::byte> segment, LinkRole role, Side writer) noexcept
{
    auto& head = *reinterpret_cast<SegmentHead*>(segment.data());
    const std::span<std::byte> memory = ring_memory(segment, role, writer);
    return {&head.rings[static_cast<std::size_t>(writer)], reinterpret_cast<RingSlot*>(memory.data()), memory.subspan(kSlotsBytes)};
}

// ---- on the socket ----

enum class SocketKind : std::uint8_t {
    kDoorbell = 1,   // one byte: wake up
    kOffer = 2,      // Setup with the opener's segment and bell page
    kAnswer = 3,     // Setup with the acceptor's bell page
    kHello = 4,      // HelloPrefix, then what the sinks say to each other
};

inline constexpr std::uint32_t kMagic = 0x4d48534cu;   // "LSHM"
inline constexpr std::uint8_t kVersion = 1;
inline constexpr std::uint8_t kFlagPulls = 1;          // the sender of this can read its peer's memory

using Probe = RemoteProcess::Key;

struct Setup {
    SocketKind kind{SocketKind::kOffer};
    std::uint8_t version{kVersion};
    std::uint8_t role{0};
    std::uint8_t flags{0};
    le32 magic;
    le32 bell;             // which one to ring on the sender's page
    le32 reserved;
    le64 probe_address;    // in the sender's memory, where `probe` can be read as long as it lives
    Probe probe{};
};
static_assert(sizeof(Setup) == 40 && alignof(Setup) == 1);

struct HelloPrefix {
    SocketKind kind{SocketKind::kHello};
    std::uint8_t flags{0};
};
static_assert(sizeof(HelloPrefix) == 2);

// What follows the BulkHead of a kPull record.
struct PullTail {
    le64 address;
};

}   // namespace linnet::shm

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Packets of the lane and of the bulk link.
//
// Every lane packet is a PacketHead, then the kind's own header, then payload. Numbered packets (number != 0) are messages of the session:
// acknowledged, retained, delivered once and in order. Version and kind are the first two bytes for ever. All integers are little-endian.
// Specification: docs/wire-protocol.md sections 4 and 5.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>

#include "base/wire_int.h"
#include "base/words.h"

namespace linnet::wire {

inline constexpr std::uint8_t kWireVersion = 1;

enum class PacketKind : std::uint8_t {
    kNone = 0,
    kAck = 1,           // un-numbered: only the head's ack and credit fields
    kEager = 2,         // TagHeader, payload = the whole message
    kRts = 3,           // RtsHeader, payload = the first fragment, perhaps empty
    kGrant = 4,         // GrantHeader: receiver asks for bytes of a rendezvous message
    kFin = 5,           // FinHeader: receiver needs no more of it
    kMatched = 6,       // FinHeader: receiver matched a synchronous eager message
    kCancel = 7,        // FinHeader: sender asks to take a message back
    kCancelReply = 8,   // FinHeader: status kCanceled or kOk (too late)
    kActive = 9,        // ActiveHeader, then header bytes, then payload
    kGoodbye = 10,      // no header: the sender will send nothing more
    kWrite = 11,        // WriteHeader, payload = the first fragment: into a memory region of the receiver
    kRead = 12,         // ReadHeader: wants bytes of a memory region
    kReadReply = 13,    // ReadReplyHeader, payload = all that was wanted, or nothing
    kAtomic = 14,       // AtomicHeader, payload = operands, then values to compare to
    kBulkData = 16,     // on the bulk link: BulkHead, then payload
};

namespace flag {
inline constexpr std::uint16_t kWantAck = 1;   // the sender's completion waits for the acknowledgement: answer soon
inline constexpr std::uint16_t kSync = 2;      // eager: answer with kMatched when matched
inline constexpr std::uint16_t kPolling = 4;   // the sender of this packet polls right now
inline constexpr std::uint16_t kImmediate = 8; // eager, RTS, write: the immediate was given, and is not 0 for want of one
inline constexpr std::uint16_t kDelivered = 32; // eager, with kSync: also when it waits there, and its receiver's host has no receive that it is meant for
inline constexpr std::uint16_t kUnasked = 16;  // write: all of it comes as bulk packets without a grant; bulk: it is of such a write
}   // namespace flag

struct PacketHead {
    std::uint8_t version{kWireVersion};
    PacketKind kind{PacketKind::kNone};
    le16 flags;
    le32 body_bytes;   // what follows this head: kind header and payload
    le32 number;       // of this message in the lane, from 1, wrapping past 0; 0: un-numbered
    le32 ack;          // all messages up to this number have been received
    le32 credit;       // cumulative eager bytes, modulo 2^32, that the peer may have sent
    le32 reserved;     // zero
};
static_assert(sizeof(PacketHead) == 24 && alignof(PacketHead) == 1);

struct TagHeader {
    le32 space;
    le32 send_slot;    // handle of the sender's request, when it may be named later (kSync, kRts); else 0
    le64 match_bits;
    le64 immediate;
};
static_assert(sizeof(TagHeader) == 24);

struct RtsHeader {
    TagHeader tag;
    le64 length;            // of the whole message
    le64 address;           // in the sender's memory, where a receiver on its host may read it until its kFin; 0: not offered
};
static_assert(sizeof(RtsHeader) == 40);

// Asks for bytes [offset, offset + length), to come in ascending order. Another grant of the same transfer has another recv_generation and
// voids everything asked for before: that path was fenced.
struct GrantHeader {
    le32 send_slot;
    le32 max_packet;         // largest bulk payload that the receiver takes at a time; 0: no limit of its own
    le32 recv_slot;
    le32 recv_generation;
    le64 offset;
    le64 length;
};
static_assert(sizeof(GrantHeader) == 32);

struct FinHeader {
    le32 send_slot;
    std::int8_t status{0};   // a Status: 0, or why
    std::uint8_t reserved[11]{};
};
static_assert(sizeof(FinHeader) == 16);

struct ActiveHeader {
    le32 id;
    le32 header_bytes;
    le64 immediate;
};
static_assert(sizeof(ActiveHeader) == 16);

// Bytes for a memory region of the receiver: as an RTS that matches by key and address. Answered by kFin, at the end or when it is refused.
struct WriteHeader {
    le64 key;
    le64 address;      // of the first byte, as peers count in this region
    le64 length;       // of all
    le64 immediate;
    le64 offered;      // as RtsHeader::address
    le32 send_slot;
    le32 reserved;     // zero
};
static_assert(sizeof(WriteHeader) == 48);

// Is also the first grant for what its reply does not carry: of all bytes, for `recv_slot`, in generation 1.
struct ReadHeader {
    le64 key;
    le64 address;
    le64 length;
    le32 recv_slot;
    le32 max_packet;   // as GrantHeader
};
static_assert(sizeof(ReadHeader) == 32);

struct ReadReplyHeader {
    le64 offered;      // the bytes may be read there, and only a grant makes them come; 0: not offered, they come by themselves
    le32 recv_slot;
    le32 send_slot;    // names the transfer in grants and the fin; 0: the payload is all
    std::int8_t status{0};
    std::uint8_t reserved[7]{};
};
static_assert(sizeof(ReadReplyHeader) == 24);

// Done by the receiver, element by element. Form 0 is answered by kFin, the others by kReadReply with the values of before.
struct AtomicHeader {
    le64 key;
    le64 address;
    le32 slot;         // send_slot of form 0, else recv_slot
    le32 count;        // elements
    std::uint8_t form{0};   // these three as in docs/wire-protocol.md section 4
    std::uint8_t op{0};
    std::uint8_t type{0};
    std::uint8_t reserved[5]{};
};
static_assert(sizeof(AtomicHeader) == 32);

// The elements of one atomic operation take at most so much.
inline constexpr std::size_t kMaxAtomicBytes = 4096;
// Writes up to this length travel in one packet, and reads in one reply: these follow each other in the order of the calls.
inline constexpr std::size_t kOrderedBytes = 16 * 1024;
// Writes and reads of a peer that are not over, at most.
inline constexpr std::uint32_t kMaxOneSided = 1024;
// What a write with an immediate takes of the eager credit, until its receiver has seen the immediate.
inline constexpr std::uint32_t kEventCredit = 64;

// With kUnasked recv_slot is the number of its write among the unasked ones of its sender, from 1, wrapping; and the generation is 1.
struct BulkHead {
    std::uint8_t version{kWireVersion};
    PacketKind kind{PacketKind::kBulkData};
    le16 flags;
    le32 body_bytes;
    le32 recv_slot;
    le32 recv_generation;
    le64 offset;
};
static_assert(sizeof(BulkHead) == 24 && alignof(BulkHead) == 1);
static_assert(std::is_trivially_copyable_v<PacketHead> && std::is_trivially_copyable_v<BulkHead>);

// PacketHead plus the largest kind header: what a transport hands up whole.
inline constexpr std::size_t kMaxHeadBytes = sizeof(PacketHead) + sizeof(WriteHeader);
// The largest body that any packet may announce; beyond it the peer is broken or hostile.
inline constexpr std::uint32_t kMaxBodyBytes = 64u << 20;

// Bytes of the kind header of `kind`, or -1 for a kind that does not travel on the lane.
[[nodiscard]] constexpr int kind_header_bytes(PacketKind kind) noexcept
{
    switch (kind) {
        case PacketKind::kAck:
        case PacketKind::kGoodbye: return 0;
        case PacketKind::kEager: return sizeof(TagHeader);
        case PacketKind::kRts: return sizeof(RtsHeader);
        case PacketKind::kGrant: return sizeof(GrantHeader);
        case PacketKind::kFin:
        case PacketKind::kMatched:
        case PacketKind::kCancel:
        case PacketKind::kCancelReply: return sizeof(FinHeader);
        case PacketKind::kActive: return sizeof(ActiveHeader);
        case PacketKind::kWrite: return sizeof(WriteHeader);
        case PacketKind::kRead: return sizeof(ReadHeader);
        case PacketKind::kReadReply: return sizeof(ReadReplyHeader);
        case PacketKind::kAtomic: return sizeof(AtomicHeader);
        case PacketKind::kNone:
        case PacketKind::kBulkData: return -1;
    }
    return -1;
}

inline void store_le64(std::byte* at, std::uint64_t value) noexcept { store_word(at, std::bit_cast<std::uint64_t>(le64{value})); }

// The way of the many: heads written in whole words, which a copy in words can read again at once (base/words.h).
inline void write_head(std::byte* at, PacketKind kind, std::uint16_t flags, std::size_t body_bytes) noexcept
{
    store_le64(at, kWireVersion | static_cast<std::uint64_t>(kind) << 8 | static_cast<std::uint64_t>(flags) << 16 |
                       static_cast<std::uint64_t>(body_bytes) << 32);
}
inline void stamp_head(std::byte* at, std::uint32_t number, std::uint32_t ack, std::uint32_t credit) noexcept
{
    static_assert(offsetof(PacketHead, number) == 8 && offsetof(PacketHead, credit) == 16);
    store_le64(at + 8, number | static_cast<std::uint64_t>(ack) << 32);
    store_le64(at + 16, credit);
}
inline void write_tag(std::byte* at, std::uint32_t space, std::uint64_t match_bits, std::uint64_t immediate) noexcept
{
    static_assert(offsetof(TagHeader, match_bits) == 8 && offsetof(TagHeader, immediate) == 16);
    store_le64(at, space);
    store_le64(at + 8, match_bits);
    store_le64(at + 16, immediate);
}
// Of a packet that is whole, without copying it.
[[nodiscard]] inline const PacketHead& head_of(std::span<const std::byte> packet) noexcept { return *reinterpret_cast<const PacketHead*>(packet.data()); }
[[nodiscard]] inline const TagHeader& tag_of(std::span<const std::byte> packet) noexcept
{
    return *reinterpret_cast<const TagHeader*>(packet.data() + sizeof(PacketHead));
}

// What a receiver checks before it believes a head: version, kind, room for the kind header, bounded body.
[[nodiscard]] constexpr bool lane_head_ok(const PacketHead& h) noexcept
{
    const int need = kind_header_bytes(h.kind);
    return h.version == kWireVersion && need >= 0 && h.body_bytes.get() >= static_cast<std::uint32_t>(need) && h.body_bytes.get() <= kMaxBodyBytes;
}
[[nodiscard]] constexpr bool bulk_head_ok(const BulkHead& h) noexcept
{
    return h.version == kWireVersion && h.kind == PacketKind::kBulkData && h.body_bytes.get() <= kMaxBodyBytes;
}

}   // namespace linnet::wire

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Frames of datagram links: what eth and udp put on the network, one head per frame.
//
// A connection joins two processes in one role (lane or bulk) over a network that loses, doubles, reorders and corrupts. Every frame starts with a
// FrameHead, which acknowledges, grants and measures in passing, whatever else the frame is for. With kMac eight bytes of SipHash follow the head.
// Version and kind are the first two bytes for ever. All integers are little-endian. Specification: docs/flow.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "base/wire_int.h"
#include "wire/packet.h"

namespace linnet::wire {

inline constexpr std::uint8_t kFrameVersion = 1;

enum class FrameKind : std::uint8_t {
    kNone = 0,
    kLane = 1,    // a piece of the lane's byte stream
    kAck = 2,     // nothing but the head
    kProbe = 3,   // nothing but the head: answer at once (also the keep-alive)
    kBlock = 4,   // BlockHead, then one block of a train
    kPull = 5,    // PullHead, then a bitmap of the blocks that the receiver still misses
    kReset = 6,   // the connection is not known here: `connection` and `number` repeat `connection` and `source` of the frame that is answered
    kOpen = 7,    // OpenHead, then a hello, welcome, confirm or reject packet (wire/hello.h)
};

namespace frame_flag {
inline constexpr std::uint16_t kPolling = 1;   // the sender polls right now: it will answer within microseconds
inline constexpr std::uint16_t kWantAck = 2;   // answer at once
inline constexpr std::uint16_t kEcho = 4;      // echo and echo_delay are valid
inline constexpr std::uint16_t kCrc = 8;       // crc is valid
inline constexpr std::uint16_t kMac = 16;      // eight bytes of SipHash follow the head; reserved, no transport sends it
inline constexpr std::uint16_t kAgain = 32;    // pull: asked before, and the time for an answer is over
}   // namespace frame_flag

struct FrameHead {
    std::uint8_t version{kFrameVersion};
    FrameKind kind{FrameKind::kNone};
    le16 flags;
    le16 bytes;          // after the head, said because Ethernet pads short frames
    le16 epoch;          // of the link, its low half: a frame of an older link is dropped
    le64 connection;     // the receiver's secret name of this connection; its low bits are the receiver's own affair
    le32 incarnation;    // of the sender, its low half
    le32 source;         // where the sender keeps the connection; only ever repeated by a reset
    le32 number;         // lane: of this frame; block, pull: of the train
    le32 ack;            // lane frames, or trains, before this number have been received
    le64 sack;           // bit i: so has number ack + 1 + i
    le32 credit;         // the peer may send data frames below this count
    le32 held;           // the credit that the sender of this frame still holds itself to
    le32 stamp;          // sender's clock, units of 64 ns
    le32 echo;           // newest stamp that came from the peer
    le16 echo_delay;     // between its arrival and this frame, units of 256 ns; 65535: long ago
    std::uint8_t returns{0};        // how often the sender has given credit back, modulo 256
    std::uint8_t returns_seen{0};   // the peer's count, as known here
    le32 crc;            // CRC-32C of head (with this field zero) and the rest
};
static_assert(sizeof(FrameHead) == 64 && alignof(FrameHead) == 1);
static_assert(offsetof(FrameHead, connection) == 8 && offsetof(FrameHead, sack) == 32 && offsetof(FrameHead, crc) == 60);
static_assert(std::is_trivially_copyable_v<FrameHead> && std::is_standard_layout_v<FrameHead>);

inline constexpr std::size_t kMacBytes = 8;

// A train is the payload of one bulk packet, cut into blocks of equal size but the last; a packet that has more than kMaxTrainBlocks of them is several
// trains, its parts, each but the last of full length. Each frame can begin the landing: it carries the bulk head.
struct BlockHead {
    le16 index;          // of this block
    le16 block_bytes;    // of every block but the last
    le16 part;           // which part of the bulk packet this train is
    le16 sent;           // with a block that goes out again: so many blocks of the train have been sent at least once; 0: not told
    BulkHead bulk;       // body_bytes: of the whole packet
};
static_assert(sizeof(BlockHead) == 32 && alignof(BlockHead) == 1);

struct PullHead {
    le16 first;          // block of the first bit; a multiple of 64
    le16 words;          // le64 that follow
    le32 reserved;       // zero
};
static_assert(sizeof(PullHead) == 8 && alignof(PullHead) == 1);

// How a connection is opened. The opener repeats hello until it hears welcome or a rejection, and confirm until it hears the last step or anything else on
// the connection; the acceptor only answers.
enum class OpenStep : std::uint8_t {
    kNone = 0,
    kHello = 1,     // to no connection yet
    kWelcome = 2,   // also carries a rejection; then `own` is zero
    kConfirm = 3,
    kUp = 4,        // the confirm was taken; no packet
};
namespace open_wish {
inline constexpr std::uint16_t kCrc = 1;   // the sender's frames carry a CRC, and it drops those that do not
}   // namespace open_wish
struct OpenHead {
    OpenStep step{OpenStep::kNone};
    std::uint8_t role{0};      // LinkRole
    le16 frame_bytes;          // the largest frame, head and payload, that the sender wants to get
    le16 bytes;                // of the packet that follows
    le16 wants;                // open_wish
    le64 own;                  // the sender's name of the connection: goes into FrameHead::connection of all that is sent to it
};
static_assert(sizeof(OpenHead) == 16 && alignof(OpenHead) == 1);

inline constexpr std::size_t kMaxTrainBlocks = 1024;
inline constexpr std::size_t kTrainWords = kMaxTrainBlocks / 64;
// The longest head of a frame with everything optional: what precedes payload.
inline constexpr std::size_t kMaxFrameHead = sizeof(FrameHead) + kMacBytes + sizeof(PullHead) + kTrainWords * sizeof(le64);

// Where a part begins in its packet, and how long it is; 0 also for a part that is not there.
[[nodiscard]] constexpr std::size_t train_offset(std::size_t block_bytes, std::size_t part) noexcept { return part * block_bytes * kMaxTrainBlocks; }
[[nodiscard]] constexpr std::size_t train_bytes(std::size_t packet_bytes, std::size_t block_bytes, std::size_t part) noexcept
{
    const std::size_t from = train_offset(block_bytes, part);
    const std::size_t rest = from < packet_bytes ? packet_bytes - from : 0;
    return rest < block_bytes * kMaxTrainBlocks ? rest : block_bytes * kMaxTrainBlocks;
}

// Blocks of a train; 0: no such train can be. An empty train is one empty block.
[[nodiscard]] constexpr std::size_t train_blocks(std::size_t bytes, std::size_t block_bytes) noexcept
{
    if (block_bytes == 0 || bytes > block_bytes * kMaxTrainBlocks) {
        return 0;
    }
    return bytes == 0 ? 1 : (bytes + block_bytes - 1) / block_bytes;
}

// What can be believed of a head before its connection is known: version, kind, a length that the frame really has.
[[nodiscard]] constexpr bool frame_head_ok(const FrameHead& h, std::size_t frame_bytes) noexcept
{
    const std::size_t mac = (h.flags.get() & frame_flag::kMac) != 0 ? kMacBytes : 0;
    return h.version == kFrameVersion && h.kind >= FrameKind::kLane && h.kind <= FrameKind::kOpen &&
           frame_bytes >= sizeof h + mac + h.bytes.get();
}

}   // namespace linnet::wire

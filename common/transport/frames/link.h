// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Link: one connection of a flow::Machine, or the attempt to open one.
//
// Owner    FrameTransport's table. Slots are reused: `id` tells whom a slot stands for, and is zero while it is free.
// Threads  Link: the holder of the progress token; `route` is written under the lock of the link's channel too, since frames point to it. Tx: any thread,
//          under that lock.
// Life     kFree -> kRequested (connect(), any thread) -> kAwaitWelcome -> kUp -> kFree       opener
//          kFree -> kAwaitConfirm -> kUp -> kFree                                             acceptor
//          From every state to kFree when it fails, is refused, times out or is dropped; an opener first goes back to kRequested for each further
//          address of its peer.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "flow/machine.h"
#include "transport/calls.h"
#include "transport/frames/port.h"
#include "transport/link_table.h"
#include "transport/transport.h"
#include "wire/frame.h"

namespace linnet::frames {

enum class LinkState : std::uint8_t { kFree, kRequested, kAwaitWelcome, kAwaitConfirm, kUp };
[[nodiscard]] constexpr const char* state_text(LinkState s) noexcept
{
    switch (s) {
        case LinkState::kFree: return "free";
        case LinkState::kRequested: return "requested";
        case LinkState::kAwaitWelcome: return "waiting for an answer to our hello";
        case LinkState::kAwaitConfirm: return "waiting for the confirmation of a hello";
        case LinkState::kUp: return "up";
    }
    return "?";
}

inline constexpr std::size_t kMaxOpenFrame = sizeof(wire::FrameHead) + sizeof(wire::OpenHead) + kMaxHelloBytes;

// What is repeated until it is answered. Of an acceptor: what a repeated hello is answered with.
struct Opening {
    std::array<std::byte, kMaxOpenFrame> frame;
    std::size_t bytes{0};
    Nanos gap{};                              // to the next repetition
    TimePoint again{TimePoint::max()};        // then; never of an acceptor
    TimePoint give_up{TimePoint::max()};
};

using Calls = linnet::Calls<Candidate>;

// The bulk packet that is arriving, next to what RxBody knows.
struct BulkIn {
    wire::BulkHead head;
    unsigned next_part{0};
};

struct alignas(kCacheLine) Link : LinkBase {
    LinkState state{LinkState::kFree};
    std::uint8_t channel{0};
    std::uint8_t head_bytes{0};          // of `head` that have come
    flow::ConnectionId connection{};     // zero: none
    std::uint64_t peer_wire_id{0};       // the peer's name of the connection; 0: not known yet
    std::uint64_t hello{0};              // of an acceptor: by which a repeated hello is known
    Route route;
    RxBody body;
    BulkIn bulk;
    std::array<std::byte, wire::kMaxHeadBytes> head;   // of a lane packet, when it came in pieces
    std::unique_ptr<Opening> opening;
    std::unique_ptr<Calls> calls;

    [[nodiscard]] bool up() const noexcept { return state == LinkState::kUp; }
};
// Two links to each of thousands of peers, next to the machine's 3 KiB for them: within the 8 KiB that an idle peer may cost.
static_assert(sizeof(Link) <= 448);

// What is being sent: of a lane at most one packet that did not fit whole, of a bulk link at most one packet.
struct Tx {
    LinkId id{};                                     // zero: the link is not up
    flow::ConnectionId connection{};
    std::array<std::span<const std::byte>, 2> rest;  // lane, borrowed: not yet written to the machine
    bool notify{false};                              // on_writable() is owed
    bool bulk_open{false};                           // a bulk packet is borrowed
    bool part_waits{false};                          // its next part found no room
    unsigned part{0};                                // of it, that is with the machine
    wire::BulkHead head;
    std::span<const std::byte> payload;
    void* cookie{nullptr};

    [[nodiscard]] bool cut() const noexcept { return !rest[0].empty() || !rest[1].empty(); }
};

}   // namespace linnet::frames

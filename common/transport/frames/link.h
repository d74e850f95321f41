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
#include <bit>
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

// Bulk packets of a link that are on the way at a time, each way. Every one that is has a train that is not complete, so more cannot be begun.
inline constexpr unsigned kBulkPackets = flow::kTrains;

// A bulk packet that is arriving. Its parts are, too, several at a time.
struct BulkIn {
    bool open{false};
    wire::BulkHead head;
    Landing landing;
    std::size_t begun{0};         // bytes of the parts that have begun
    std::size_t left{0};          // bytes that have not come
    unsigned whole{0};            // parts from the first on that are there
    std::uint64_t others{0};      // bit i: so is part whole + 1 + i
    std::size_t part_bytes{0};    // of every part but the last
    std::size_t broken{0};        // bytes in place of the part after those, when the link broke

    // What is in place without a gap, from the start.
    [[nodiscard]] std::size_t in_place() const noexcept { return std::min<std::size_t>({whole * part_bytes + broken, landing.room, head.body_bytes.get()}); }
    // At the end of the link: whole parts come first.
    void part_ended(const flow::Event& e) noexcept
    {
        if (e.ok) {
            part_done(e.part);
        } else if (e.part == whole) {
            broken = e.landed;
        }
    }
    void part_done(unsigned part) noexcept
    {
        if (part == whole) {
            const auto more = static_cast<unsigned>(std::countr_one(others));
            whole += 1 + more;
            others = more < 63 ? others >> (more + 1) : 0;
        } else if (part > whole && part - whole <= 64) {
            others |= std::uint64_t{1} << (part - whole - 1);
        }
    }
};
using BulkArrivals = std::array<BulkIn, kBulkPackets>;

struct alignas(kCacheLine) Link : LinkBase {
    LinkState state{LinkState::kFree};
    std::uint8_t channel{0};
    std::uint8_t head_bytes{0};          // of `head` that have come
    flow::ConnectionId connection{};     // zero: none
    std::uint64_t peer_wire_id{0};       // the peer's name of the connection; 0: not known yet
    std::uint64_t hello{0};              // of an acceptor: by which a repeated hello is known
    Route route;
    RxBody body;                         // of a lane
    std::unique_ptr<BulkArrivals> bulk;   // of a bulk link that is up
    std::array<std::byte, wire::kMaxHeadBytes> head;   // of a lane packet, when it came in pieces
    std::unique_ptr<Opening> opening;
    std::unique_ptr<Calls> calls;

    [[nodiscard]] bool up() const noexcept { return state == LinkState::kUp; }
};
// Two links to each of thousands of peers, next to the machine's 3 KiB for them: within the 8 KiB that an idle peer may cost.
static_assert(sizeof(Link) <= 448);

// A bulk packet that is leaving, borrowed.
struct BulkOut {
    wire::BulkHead head;
    std::span<const std::byte> payload;
    void* cookie{nullptr};
    unsigned part{0};        // the next one for the machine
    unsigned on_the_way{0};  // parts that it has
    bool given{false};       // it has or had them all
    bool over{false};        // the caller has it back
};
// Oldest first; they may come to an end in another order.
struct BulkQueue {
    std::array<BulkOut, kBulkPackets> packets;
    unsigned first{0};
    unsigned count{0};

    [[nodiscard]] bool full() const noexcept { return count == kBulkPackets; }
    [[nodiscard]] BulkOut& at(unsigned i) noexcept { return packets[(first + i) % kBulkPackets]; }
    [[nodiscard]] BulkOut& add() noexcept { return at(count++) = BulkOut{}; }
    void drop_last() noexcept { --count; }
    void drop_over() noexcept
    {
        for (; count != 0 && at(0).over; --count) {
            first = (first + 1) % kBulkPackets;
        }
    }
};

// What is being sent: of a lane at most one packet that did not fit whole; bulk packets.
struct Tx {
    LinkId id{};                                     // zero: the link is not up
    flow::ConnectionId connection{};
    std::array<std::span<const std::byte>, 2> rest;  // lane, borrowed: not yet written to the machine
    bool notify{false};                              // on_writable() is owed
    bool part_waits{false};                          // the next part of a bulk packet found no room
    std::unique_ptr<BulkQueue> bulk;                 // of a bulk link

    [[nodiscard]] bool cut() const noexcept { return !rest[0].empty() || !rest[1].empty(); }
    [[nodiscard]] bool takes_bulk() const noexcept { return bulk != nullptr && !part_waits && !bulk->full(); }
};

}   // namespace linnet::frames

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Connection: what the machine knows of one lane or bulk connection.
//
//   phase     event              to
//   opening   connect()          up          what the peer sends before is dropped in silence: its confirm may have been overtaken
//   opening   close()            closing
//   up        close()            closing     fenced: no frame of it is taken, none is produced
//   closing   take_back() kNone  (gone)
//
// Owner: Machine. Size: an idle lane connection is below 2 KiB, an idle bulk connection below 1 KiB.
#pragma once

#include <memory>

#include "base/clock.h"
#include "base/ids.h"
#include "base/intrusive_list.h"
#include "base/siphash.h"
#include "flow/bulk.h"
#include "flow/credit.h"
#include "flow/lane.h"
#include "flow/timing.h"

namespace linnet::flow {

enum class Role : std::uint8_t { kLane = 0, kBulk = 1 };
using ConnectionId = StrongId<struct ConnectionIdTag, std::uint64_t>;   // low half: place in the table; high half: generation

struct Lane {
    LaneTx tx;
    LaneRx rx;
    explicit Lane(std::uint32_t first) noexcept : tx{first}, rx{first} {}
};
struct Bulk {
    BulkTx tx;
    BulkRx rx;
    std::uint32_t acked;                // the newest that the peer acknowledged: trains to give back by the next events
    std::uint64_t sacked{0};
    IntrusiveQueue<TrainRx> finished;   // complete, not yet told
    explicit Bulk(std::uint32_t first) noexcept : tx{first}, rx{first}, acked{first} {}
};

struct Connection : ListLinkOf<0>, ListLinkOf<1>, ListLinkOf<2>, ListLinkOf<3>, ListLinkOf<4>, ListLinkOf<5>, ListLinkOf<6> {
    enum class Phase : std::uint8_t { kOpening, kUp, kClosing };

    ConnectionId id{};
    Phase phase{Phase::kOpening};
    std::uint64_t own_wire_id{0};
    std::uint64_t peer_wire_id{0};
    std::uint32_t own_incarnation{0};
    std::uint32_t peer_incarnation{0};
    std::uint16_t epoch{0};
    bool mac{false};
    bool crc{false};              // this side wants it, or the peer does
    SipKey mac_key{};
    void* route{nullptr};
    std::size_t frame_bytes{0};   // what this path and the peer take
    std::unique_ptr<Lane> lane;   // one of these two
    std::unique_ptr<Bulk> bulk;

    // ---- what the peer lends us ----
    std::uint32_t limit{0};            // data frames below it may be sent
    std::uint8_t returns{0};           // how often we gave credit back
    bool returns_known{true};          // and the peer has heard of the last time
    std::uint8_t return_tries{0};
    // ---- what we lend ----
    CreditLine line;
    std::uint32_t told_limit{0};       // in the last frame we sent
    std::uint8_t peer_returns{0};
    std::uint8_t lent_tries{0};
    TimePoint data_heard{};            // the last data frame

    // ---- time ----
    RttEstimate rtt;
    std::uint8_t backoff{0};           // probes in a row without news
    std::uint8_t widened{0};           // of the reordering window
    unsigned mended{0};                // losses since then, each with what was sent for it
    bool peer_polls{true};
    bool told_polling{true};           // what our last frame said of us
    bool echo_fresh{false};            // a stamp came that we have not echoed
    bool stamp_known{false};
    bool echoed_known{false};
    Stamp peer_stamp{0};               // newest that came
    TimePoint peer_stamp_at{};
    Stamp echoed{0};                   // newest of ours that came back
    TimePoint heard{};
    TimePoint asked{TimePoint::max()};         // the first question that no frame has come after
    TimePoint ack_due{TimePoint::max()};
    TimePoint probe_at{TimePoint::max()};
    TimePoint probe_from{};                    // what probe_at counts from: the last frame sent, or the last news
    TimePoint reorder_at{TimePoint::max()};
    TimePoint idle_at{TimePoint::max()};       // our unused credit goes back
    TimePoint pull_at{TimePoint::max()};
    TimePoint lent_at{TimePoint::max()};       // what we lend was not used: does the peer know of it?
    TimePoint keep_at{TimePoint::max()};
    TimePoint scheduled{TimePoint::max()};     // in the heap for this
    std::size_t heap_place{SIZE_MAX};          // SIZE_MAX: not in it

    // ---- owed ----
    bool ack_owed{false};
    bool probe_owed{false};
    std::uint8_t needs{1};             // frames of a lane for which a writer was refused: kWritable is owed when there is room for them
    bool was_reset{false};             // an event that waits
    std::uint32_t since_ack{0};        // data frames that no frame of ours has acknowledged

    [[nodiscard]] bool up() const noexcept { return phase == Phase::kUp; }
    [[nodiscard]] std::uint32_t used() const noexcept { return lane != nullptr ? lane->tx.used() : bulk->tx.used(); }
    [[nodiscard]] bool tx_idle() const noexcept { return lane != nullptr ? lane->tx.idle() : bulk->tx.idle(); }
    // Frames overtook each other on this path: three later ones prove nothing then.
    [[nodiscard]] bool in_order_path() const noexcept { return widened == 0; }
};

}   // namespace linnet::flow

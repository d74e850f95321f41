// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Machine: reliability over an unreliable datagram link; what transport/udp and transport/eth are made of.
//
// What it is   A state machine without I/O. It is told of time, of frames that arrived and of what to send; it answers what to put on the network and what to
//              hand up. One Machine per socket or ring; it holds any number of connections (a link of the transport is one connection: lane or bulk).
// Owner        A transport. The memory of the frame pools is lent by it, and so is bulk payload, until the machine gives it back.
// Threads      One at a time, by the owner's lock. No call goes out of the machine, so that lock is never held during a sink call.
// Blocking     Never. After add(), which makes room, nothing is allocated except train records, bounded and made in advance.
// Failure      Whatever arrives is checked; what no correct peer sends is dropped and counted (Drop). A connection never fails by itself: silence is the
//              session's affair, and evidence (a reset) comes as an event.
//
// How a transport uses it, under its lock except where it says otherwise:
//   sending     write_lane() copies a packet into retained frames; that copy is the only one, repetitions go out of it, so the caller has its memory back
//               at once (all_written). Refused: answer a short count; Event::kWritable follows. give_bulk() keeps a pointer instead: blocks leave
//               straight from the user's memory, first time and again, until Event::kBulkSent.
//   flushing    produce() fills TxFrames: a head in the caller's memory and one payload span (retained frame or user's memory). Frames of one connection stand
//               next to each other and, but the last, are of equal size: one GSO send, or one slot each of a ring or sendmmsg. What the
//               network refuses goes back by not_sent() at once, before any other call.
//   arriving    receive() per frame. Received::lane is the next piece of the lane's byte stream, inside the frame itself: parse it like a TCP stream, a
//               long packet's payload copied once, to where the sink wants it. Then more_lane() until false. Received::landing asks where a
//               train goes: ask the sink without the lock, then land(). Blocks after that are copied to their place by receive(); a reader that scatters may
//               aim at ahead() beforehand: a block that already lies there is not copied.
//               Then take events by next_event().
//   time        run() when next_timer() has come; before sleeping, flush_acks() and produce().
//   ending      close(), then take_back() until it says kNone: borrowed bulk payload and unfinished landings return. After close() nothing is written anywhere.
// Trains of one connection may begin and end out of order when more than one is open (Config::trains_open); a sink that cannot have that sets it to 1.
// See          docs/flow.md
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/clock.h"
#include "base/siphash.h"
#include "base/status.h"
#include "flow/arrival_window.h"
#include "flow/connection.h"
#include "flow/credit.h"
#include "flow/frame_pool.h"
#include "flow/timing.h"
#include "mem/pool.h"
#include "wire/frame.h"

namespace linnet::flow {

// Why a frame was dropped.
enum class Drop : std::uint8_t {
    kNone,
    kBadHead,        // too short, another version or kind, a length that is not there
    kUnknown,        // no such connection: reset() may answer it
    kIncarnation,    // another process at the same place
    kEpoch,          // an older link
    kCheck,          // CRC or MAC
    kImplausible,    // acknowledges or returns what cannot be, or is of the wrong kind for the role
    kDuplicate,
    kBeyondCredit,
    kNoBuffer,
    kMismatch,       // a block that contradicts its train, a pull that makes no sense, a lane frame of nothing
    kStale,          // about a train that is over
    kCount
};

struct MachineStats {
    std::array<std::uint64_t, static_cast<std::size_t>(Drop::kCount)> drops{};
    std::uint64_t frames_in{0}, frames_out{0}, acks_out{0}, pulls_out{0}, probes_out{0};
    std::uint64_t lane_again{0}, blocks_again{0};   // sent again
    std::uint64_t timeouts{0}, spurious{0}, credit_stalls{0}, credit_returns{0};
};

// One frame to put on the network, for the connection's `route`.
struct TxFrame {
    ConnectionId connection;
    void* route{nullptr};
    std::uint16_t head_bytes{0};
    std::uint16_t index{0};       // block
    wire::FrameKind kind{wire::FrameKind::kNone};
    bool stalled{false};          // data that used the last of the credit
    std::uint32_t number{0};
    std::span<const std::byte> payload;   // valid until the next call of the machine
    std::array<std::byte, wire::kMaxFrameHead> head;
};

struct Event {
    enum class Kind : std::uint8_t { kNone, kWritable, kBulkSent, kTrainDone, kReset } kind{Kind::kNone};
    ConnectionId connection{};
    void* cookie{nullptr};      // kBulkSent: of give_bulk(); kTrainDone: of land()
    std::size_t landed{0};      // kTrainDone: bytes in place, counted from the start
    std::size_t bytes{0};       // kTrainDone: of the train
    std::uint16_t part{0};      // kTrainDone: of its packet
    bool ok{true};              // false only from take_back()
};

struct Received {
    Drop drop{Drop::kNone};
    ConnectionId connection{};
    std::span<const std::byte> lane;          // in order: hand it on now
    bool more{false};                         // and then what more_lane() has
    const wire::BulkHead* landing{nullptr};   // where does this train go? Valid until land()
    std::uint32_t train{0};
    std::uint16_t part{0};                    // of the bulk packet
    std::uint32_t part_bytes{0};
    std::uint32_t part_offset{0};
};

class Machine {
public:
    struct Config {
        std::size_t frame_bytes{1472};         // head and payload: the most that one datagram or Ethernet frame takes on any path
        std::uint32_t ring_frames{256};        // places of the receive ring, measured; a veth holds 256
        std::uint32_t control_reserve{32};     // of them never lent, so that acknowledgements and pulls find room
        std::uint32_t first_credit{2};         // what a peer may send before it was granted anything
        std::uint32_t aside{6};                // and not of the others, for each connection that is lent some: what its peer sends unasked
        std::uint32_t bulk_share{256};         // most blocks lent to one peer (a lane's most is its window)
        unsigned trains_open{4};               // per connection and direction
        std::uint32_t trains{64};              // records in all, each direction
        std::uint32_t ack_every{8};            // lane frames
        std::uint32_t ack_every_block{96};     // nothing waits for those but the sender's probe
        unsigned quantum{32};                  // data frames of one connection in a row: one GSO send
        bool crc{false};
        Timing timing;
    };
    struct Opening {
        Role role{Role::kLane};
        void* route{nullptr};                  // the owner's: the address
        std::uint64_t own_secret{0};           // random; the low bits are replaced by the place in the table
        std::uint32_t own_incarnation{0};
        std::uint16_t epoch{0};
        std::uint32_t first_number{0};         // of lane frames and credit counts, the same on both sides; tests start near the wrap
        SipKey mac_key{};
        bool mac{false};
    };

    // The pools are borrowed. `tx` buffers hold lane frames until acknowledged, `rx` those that came too early; each at least frame_bytes.
    Machine(const Config& config, FramePool& tx, FramePool& rx);
    ~Machine();
    Machine(const Machine&) = delete;
    Machine& operator=(const Machine&) = delete;

    // ---- connections ----
    // A connection that can receive nothing yet. Its number on the wire, which the peer must put into its frames, is wire_id(). kNoMemory.
    [[nodiscard]] Result<ConnectionId> add(const Opening& opening, TimePoint now);
    [[nodiscard]] std::uint64_t wire_id(ConnectionId id) const noexcept;
    // What the peer said when the connection was opened. `frame_bytes`: what the path and the peer take, at most and by default the configured size. `crc`: the
    // peer wants frames to carry one, as Config::crc says of this side; either is enough.
    void connect(ConnectionId id, std::uint64_t peer_id, std::uint32_t peer_incarnation, TimePoint now, std::size_t frame_bytes = SIZE_MAX,
                 bool crc = false) noexcept;
    void close(ConnectionId id) noexcept;
    [[nodiscard]] Event take_back(ConnectionId id) noexcept;   // kNone: the connection is gone
    [[nodiscard]] TimePoint last_heard(ConnectionId id) const noexcept;
    // How long ago the first question was asked, or refused by the network, after which nothing came from the peer; zero: none was.
    [[nodiscard]] Nanos unanswered(ConnectionId id, TimePoint now) const noexcept;
    [[nodiscard]] std::size_t connections() const noexcept { return live_; }

    // ---- sending ----
    // Of the configured frame size; a connection may have a smaller one.
    static constexpr std::size_t kLeastFrameBytes = 256;
    [[nodiscard]] std::size_t lane_payload() const noexcept { return lane_payload_of(config_.frame_bytes); }
    [[nodiscard]] std::size_t block_payload() const noexcept { return lane_payload() - sizeof(wire::BlockHead); }
    [[nodiscard]] std::size_t lane_packet_max() const noexcept { return lane_payload() * (kLaneWindow / 2); }
    [[nodiscard]] std::size_t train_max() const noexcept { return block_payload() * wire::kMaxTrainBlocks; }
    [[nodiscard]] std::size_t lane_payload(ConnectionId id) const noexcept;   // 0: no such connection
    [[nodiscard]] std::size_t block_payload(ConnectionId id) const noexcept;
    // A lane packet, or a piece of one, of at most half a window of frames. False: no room, kWritable comes.
    [[nodiscard]] bool write_lane(ConnectionId id, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept;
    // A bulk packet, or a part of one (wire::train_bytes() with block_payload(id) says which bytes), borrowed until kBulkSent. kAgain: too many open,
    // kWritable comes.
    [[nodiscard]] Status give_bulk(ConnectionId id, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie, unsigned part = 0) noexcept;
    // Somebody else said that the receiver has all of it: as if it had been acknowledged, without an event. Returns how many trains of `cookie` that were; 0 if
    // blocks of them were never sent, and nothing is changed then.
    unsigned end_bulk(ConnectionId id, const void* cookie, TimePoint now) noexcept;
    // Returns how many of `out` were filled; 0: nothing to send.
    [[nodiscard]] std::size_t produce(TimePoint now, std::span<TxFrame> out) noexcept;
    void not_sent(std::span<const TxFrame> frames, TimePoint now) noexcept;
    // produce() may fill something.
    [[nodiscard]] bool has_output() const noexcept { return !control_.empty() || !data_.empty(); }
    // Everything that was written has been acknowledged.
    [[nodiscard]] bool all_acked(ConnectionId id) const noexcept;

    // ---- receiving ----
    // `payload`: where that of a block lies, as_expected(), if not in the frame.
    [[nodiscard]] Received receive(std::span<const std::byte> frame, TimePoint now, const std::byte* payload = nullptr) noexcept;
    // Right after a receive() of a block that was put in its place, or of a lane frame with nothing kept behind it: is `frame`, which arrived with it, its
    // successor, with a head that says nothing new? Then it is taken, at a fraction of the price; of a lane lane_bytes() are to be handed on. False: ask
    // receive(). All frames of the row must still be in memory; end_row() follows the last.
    [[nodiscard]] bool receive_next(std::span<const std::byte> frame, const std::byte* payload = nullptr) noexcept;
    [[nodiscard]] static std::span<const std::byte> lane_bytes(std::span<const std::byte> frame) noexcept;
    void end_row(TimePoint now) noexcept;
    // More of the lane, kept since it came too early. Valid until the next receive() or more_lane().
    [[nodiscard]] bool more_lane(ConnectionId id, std::span<const std::byte>& bytes) noexcept;
    // The answer to Received::landing; places the block that asked. `to` null or room short: the rest is discarded.
    void land(const Received& asked, std::byte* to, std::size_t room, void* cookie, TimePoint now) noexcept;
    // Where the next blocks are expected: of the train whose blocks came last, full ones, for which there is room. None: `blocks` is 0.
    struct Ahead {
        std::byte* to{nullptr};
        std::size_t block_bytes{0};
        unsigned blocks{0};
        unsigned index{0};            // of the first
        std::uint32_t train{0};
        std::uint64_t wire_id{0};
    };
    [[nodiscard]] Ahead ahead() const noexcept;
    // Whether `frame` is the block that belongs at `payload`, by what was expected. Anything may be in the frame.
    [[nodiscard]] static bool as_expected(const Ahead& ahead, std::span<const std::byte> frame, const std::byte* payload) noexcept;
    [[nodiscard]] Event next_event() noexcept;
    [[nodiscard]] bool has_events() const noexcept { return !events_.empty() || room_; }
    // The answer to a frame that was dropped as kUnknown. The owner limits its rate.
    [[nodiscard]] static wire::FrameHead reset(const wire::FrameHead& frame) noexcept;

    // ---- time ----
    void run(TimePoint now) noexcept;
    [[nodiscard]] TimePoint next_timer() const noexcept { return heap_.empty() ? TimePoint::max() : heap_.front()->scheduled; }
    // The owner begins or stops to poll: peers wait longer for one that sleeps. `in_turns`: it shares its core, and lanes are as those of one that sleeps.
    void set_polling(bool polling, bool in_turns = false) noexcept { polling_ = polling, lanes_polled_ = polling && !in_turns; }
    // What peers wait for that poll and think that we do; others hear it with the next frame, or later.
    void flush_acks() noexcept;
    // The owner's host computes, and nobody waits for an answer: the questions that are due soon are due as for a peer that sleeps.
    void be_patient(TimePoint now) noexcept;

    [[nodiscard]] const MachineStats& stats() const noexcept { return stats_; }
    [[nodiscard]] const CreditPool& credit() const noexcept { return pool_; }
    void set_ring_frames(std::uint32_t frames) noexcept;

private:
    static constexpr std::uint32_t kMaxConnections = 1u << 20;
    // ---- table (machine.cc) ----
    [[nodiscard]] static constexpr std::size_t lane_payload_of(std::size_t frame_bytes) noexcept
    {
        return frame_bytes - sizeof(wire::FrameHead) - wire::kMacBytes;
    }
    [[nodiscard]] Connection* get(ConnectionId id) const noexcept;
    [[nodiscard]] Connection* by_wire(std::uint64_t wire_id) const noexcept;
    void queue_event(Connection& c) noexcept;
    void frames_released() noexcept { room_ = !unbuffered_.empty(); }
    [[nodiscard]] Event bulk_event(Connection& c) noexcept;

    // ---- timers (timers.cc) ----
    void arm(Connection& c) noexcept;
    // One of its deadlines is earlier than it was, or new.
    void wake_by(Connection& c, TimePoint at) noexcept
    {
        if (at < c.scheduled) {
            schedule(c, at);
        }
    }
    void schedule(Connection& c, TimePoint at) noexcept;
    void sift_up(std::size_t i) noexcept;
    void sift_down(std::size_t i) noexcept;
    void unschedule(Connection& c) noexcept;
    [[nodiscard]] TimePoint deadline(const Connection& c) const noexcept;
    void run_connection(Connection& c, TimePoint now) noexcept;
    void probe_due(Connection& c, TimePoint now) noexcept;
    void restart_probe(Connection& c, TimePoint now) noexcept;
    void return_credit(Connection& c, TimePoint now) noexcept;
    void ask_for_credit(Connection& c, TimePoint now) noexcept;
    void detect_losses(Connection& c, TimePoint now) noexcept;

    // ---- sending (produce.cc) ----
    // Each side knows of the other by the flag in its frames: where one of them sleeps, one asks late for what the other one acknowledges late.
    [[nodiscard]] static bool ack_can_wait(const Connection& c) noexcept { return c.lane != nullptr && !(c.peer_polls && c.told_polling); }
    [[nodiscard]] bool answers_soon(const Connection& c) const noexcept { return c.peer_polls && (c.lane == nullptr || (lanes_polled_ && c.told_polling)); }
    void want_send(Connection& c) noexcept;
    void want_control(Connection& c) noexcept;
    void want_ack(Connection& c) noexcept;
    [[nodiscard]] static bool can_send_data(const Connection& c) noexcept
    {
        return c.lane != nullptr ? c.lane->tx.can_send(c.limit) : c.bulk->tx.can_send(c.limit);
    }
    std::size_t produce_control(Connection& c, TimePoint now, std::span<TxFrame> out) noexcept;
    std::size_t produce_data(Connection& c, TimePoint now, std::span<TxFrame> out) noexcept;
    void seal(Connection& c, TxFrame& f, wire::FrameHead& h, std::span<const std::byte> extra, TimePoint now) noexcept;
    [[nodiscard]] static std::uint64_t frame_mac(const SipKey& key, const wire::FrameHead& h, std::span<const std::byte> extra,
                                                 std::span<const std::byte> payload) noexcept;
    void data_frame(Connection& c, TimePoint now, TxFrame& f) noexcept;
    [[nodiscard]] std::size_t next_blocks(Connection& c, const TxFrame& first, std::span<TxFrame> out) noexcept;
    [[nodiscard]] std::size_t next_lane_frames(Connection& c, const TxFrame& first, std::span<TxFrame> out) noexcept;
    void pull_frame(Connection& c, TrainRx& t, unsigned places, TimePoint now, TxFrame& f) noexcept;

    // ---- receiving (receive.cc) ----
    [[nodiscard]] Drop admit(std::span<const std::byte> frame, wire::FrameHead& h, std::span<const std::byte>& body, Connection*& c) noexcept;
    [[nodiscard]] static bool plausible(const Connection& c, const wire::FrameHead& h) noexcept;
    void take_head(Connection& c, const wire::FrameHead& h, TimePoint now) noexcept;
    [[nodiscard]] bool take_ack(Connection& c, const wire::FrameHead& h, const Stamp* echo, TimePoint now) noexcept;
    void receive_lane(Connection& c, const wire::FrameHead& h, std::span<const std::byte> body, TimePoint now, Received& r) noexcept;
    void receive_block(Connection& c, const wire::FrameHead& h, std::span<const std::byte> body, const std::byte* elsewhere, TimePoint now,
                       Received& r) noexcept;
    [[nodiscard]] Drop receive_pull(Connection& c, const wire::FrameHead& h, std::span<const std::byte> body, TimePoint now) noexcept;
    [[nodiscard]] Drop receive_reset(const wire::FrameHead& h) noexcept;
    struct Block {
        unsigned index{0};
        unsigned sent{0};   // blocks of the train that had been sent then; 0: not told
        std::span<const std::byte> payload;
    };
    void place(Connection& c, TrainRx& t, const Block& block, TimePoint now) noexcept;
    void begin_row(Connection& c, const wire::FrameHead& h, std::span<const std::byte> frame) noexcept;
    void begin_lane_row(Connection& c, const wire::FrameHead& h, std::span<const std::byte> frame) noexcept;
    [[nodiscard]] bool receive_next_of_lane(std::span<const std::byte> frame) noexcept;
    void data_arrived(Connection& c, bool at_once, TimePoint now) noexcept;
    void watch_arrivals(std::uint32_t count, std::uint32_t missing) noexcept;
    void count_arrived(Connection& c) noexcept { c.line.arrived(pool_, c.bulk->rx.seen(), c.bulk->rx.lost()); }
    [[nodiscard]] unsigned places_for(const Connection& c) const noexcept;
    void wait_for_places(Connection& c) noexcept;
    void feed_waiting() noexcept;
    void release_shown() noexcept;
    void lend(Connection& c) noexcept;
    void feed_starved() noexcept;
    [[nodiscard]] std::uint32_t most_of(const Connection& c) const noexcept { return c.lane != nullptr ? kLaneWindow : config_.bulk_share; }
    [[nodiscard]] bool check(const Connection& c, wire::FrameHead h, std::span<const std::byte> frame, std::span<const std::byte> body) const noexcept;
    void drop(Received& r, Drop why) noexcept;

    const Config config_;
    FramePool& tx_pool_;
    FramePool& rx_pool_;
    CreditPool pool_;
    ArrivalWindow window_;
    Pool<TrainTx> trains_tx_;
    Pool<TrainRx> trains_rx_;
    MachineStats stats_;
    bool polling_{true}, lanes_polled_{true}, room_{false};   // room_: it came about, and who waits for it was not looked for
    FramePool::Index lent_out_{FramePool::kNone};   // what the last more_lane() showed
    Block pending_;                                 // waits for land()
    struct Row {
        Connection* connection{nullptr};      // null: there is none
        TrainRx* train{nullptr};              // null: it is a lane's
        std::span<const std::byte> heads;     // of the frame that began it
        std::size_t payload_bytes{0};
        std::uint32_t left{0};                // that may still join it
        std::uint32_t joined{0};
    };
    Row row_;
    ConnectionId row_of_{};                         // the last connection that had one

    std::vector<std::unique_ptr<Connection>> table_;
    std::vector<std::uint32_t> free_;
    std::size_t live_{0};
    std::uint64_t generations_{0};
    std::vector<Connection*> heap_;                 // by `scheduled`, earliest first
    IntrusiveList<Connection, ListLinkOf<0>> control_;
    IntrusiveList<Connection, ListLinkOf<1>> data_;
    IntrusiveList<Connection, ListLinkOf<2>> events_;
    IntrusiveList<Connection, ListLinkOf<3>> starved_;      // would be lent more if there were more
    IntrusiveList<Connection, ListLinkOf<4>> delayed_;      // acknowledgements that wait for a frame to ride on
    IntrusiveList<Connection, ListLinkOf<6>> waiting_;      // blocks of theirs were lost, and there are no places to ask for them
    IntrusiveList<Connection, ListLinkOf<5>> unbuffered_;   // writers that were refused, as the window or a pool had too little left
};

}   // namespace linnet::flow

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Machine: connections, what is given to them, and events.
#include "flow/machine.h"

#include <algorithm>
#include <new>

namespace linnet::flow {

namespace {

// The pools are for all. Who hears nothing gives nothing back, so the last quarter is for a few frames, or a train, of each: peers that fell silent do not hold
// it against those that answer.
constexpr std::size_t kLastPart = FramePool::kLastPart;
constexpr std::size_t kFewFrames = 4;

// That a connection may take of the pool now. One that holds none can have all that it gives.
[[nodiscard]] std::size_t frames_left(const LaneTx& tx, const FramePool& pool) noexcept
{
    const std::size_t free = pool.available();
    const std::size_t kept = pool.count() / kLastPart;
    const std::size_t held = tx.held();
    const std::size_t few = held < kFewFrames ? kFewFrames - held : 0;
    return held == 0 ? free : std::max(free - std::min(free, kept), std::min(free, few));
}

[[nodiscard]] bool may_begin(const BulkTx& tx, std::size_t free, std::size_t of, unsigned most_open) noexcept
{
    return free != 0 && !tx.full(free > of / kLastPart ? most_open : 1);
}

}   // namespace

Machine::Machine(const Config& config, FramePool& tx, FramePool& rx)
    : config_{config},
      tx_pool_{tx},
      rx_pool_{rx},
      pool_{config.ring_frames > config.control_reserve ? config.ring_frames - config.control_reserve : 0, ArrivalWindow::kFirst, config.aside},
      trains_tx_{config.trains},
      trains_rx_{config.trains}
{
    LINNET_ASSERT(config.trains_open >= 1 && config.trains_open <= kTrains);
    // Made in advance, so that the data path finds them.
    std::vector<TrainTx*> tx_made;
    std::vector<TrainRx*> rx_made;
    for (std::uint32_t i = 0; i < config.trains; ++i) {
        tx_made.push_back(trains_tx_.create());
        rx_made.push_back(trains_rx_.create());
    }
    for (std::uint32_t i = 0; i < config.trains; ++i) {
        if (tx_made[i] != nullptr) {
            trains_tx_.destroy(*tx_made[i]);
        }
        if (rx_made[i] != nullptr) {
            trains_rx_.destroy(*rx_made[i]);
        }
    }
}

Machine::~Machine()
{
    for (const auto& c : table_) {
        if (c != nullptr) {
            const ConnectionId id = c->id;
            close(id);
            while (take_back(id).kind != Event::Kind::kNone) {
            }
        }
    }
    if (lent_out_ != FramePool::kNone) {
        rx_pool_.release(lent_out_);
    }
}

// ---- table ----

Connection* Machine::get(ConnectionId id) const noexcept
{
    const auto place = static_cast<std::uint32_t>(id.value);
    Connection* const c = place < table_.size() ? table_[place].get() : nullptr;
    return c != nullptr && c->id == id ? c : nullptr;
}

Connection* Machine::by_wire(std::uint64_t wire_id) const noexcept
{
    const std::uint64_t place = wire_id % kMaxConnections;
    Connection* const c = place < table_.size() ? table_[place].get() : nullptr;
    return c != nullptr && c->own_wire_id == wire_id ? c : nullptr;
}

Result<ConnectionId> Machine::add(const Opening& opening, TimePoint now)
{
    try {
        if (free_.empty()) {
            if (table_.size() == kMaxConnections) {
                return Status::kNoMemory;
            }
            free_.reserve(table_.size() + 1);
            heap_.reserve(table_.size() + 1);
            table_.emplace_back();
            free_.push_back(static_cast<std::uint32_t>(table_.size() - 1));
        }
        auto c = std::make_unique<Connection>();
        if (opening.role == Role::kLane) {
            c->lane = std::make_unique<Lane>(opening.first_number);
        } else {
            c->bulk = std::make_unique<Bulk>(opening.first_number);
        }
        const std::uint32_t place = free_.back();
        free_.pop_back();
        c->id = ConnectionId{++generations_ << 32 | place};
        c->own_wire_id = (opening.own_secret & ~std::uint64_t{kMaxConnections - 1}) | place;
        c->own_incarnation = opening.own_incarnation;
        c->epoch = opening.epoch;
        c->mac = opening.mac;
        c->crc = config_.crc;
        c->mac_key = opening.mac_key;
        c->route = opening.route;
        c->frame_bytes = config_.frame_bytes;
        c->limit = opening.first_number + config_.first_credit;
        c->line.start(opening.first_number, config_.first_credit);
        c->told_limit = c->line.limit();
        c->heard = now;
        table_[place] = std::move(c);
        ++live_;
        return table_[place]->id;
    } catch (const std::bad_alloc&) {
        return Status::kNoMemory;
    }
}

std::uint64_t Machine::wire_id(ConnectionId id) const noexcept
{
    const Connection* const c = get(id);
    return c != nullptr ? c->own_wire_id : 0;
}

void Machine::connect(ConnectionId id, std::uint64_t peer_id, std::uint32_t peer_incarnation, TimePoint now, std::size_t frame_bytes, bool crc) noexcept
{
    Connection* const c = get(id);
    if (c == nullptr || c->phase != Connection::Phase::kOpening) {
        return;
    }
    c->phase = Connection::Phase::kUp;
    c->crc = c->crc || crc;
    c->frame_bytes = std::clamp(frame_bytes, std::min(kLeastFrameBytes, config_.frame_bytes), config_.frame_bytes);
    c->peer_wire_id = peer_id;
    c->peer_incarnation = peer_incarnation;
    c->heard = now;
    if (config_.timing.keep_alive != Nanos{0}) {
        c->keep_at = now + config_.timing.keep_alive;
    }
    want_send(*c);   // what was written before
    arm(*c);
}

void Machine::close(ConnectionId id) noexcept
{
    Connection* const c = get(id);
    if (c == nullptr || c->phase == Connection::Phase::kClosing) {
        return;
    }
    c->phase = Connection::Phase::kClosing;
    row_ = {};
    const auto unlink = [c]<int N>(std::integral_constant<int, N>) {
        if (static_cast<ListLinkOf<N>&>(*c).linked()) {
            IntrusiveList<Connection, ListLinkOf<N>>::remove(*c);
        }
    };
    unlink(std::integral_constant<int, 0>{});
    unlink(std::integral_constant<int, 1>{});
    unlink(std::integral_constant<int, 2>{});
    unlink(std::integral_constant<int, 3>{});
    unlink(std::integral_constant<int, 4>{});
    unlink(std::integral_constant<int, 5>{});
    unlink(std::integral_constant<int, 6>{});
    unschedule(*c);
    c->line.end(pool_);
    if (c->lane != nullptr) {
        c->lane->tx.clear(tx_pool_);
        c->lane->rx.clear(rx_pool_);
        frames_released();
    }
    feed_waiting();
    feed_starved();
}

Event Machine::take_back(ConnectionId id) noexcept
{
    Connection* const c = get(id);
    if (c == nullptr || c->phase != Connection::Phase::kClosing) {
        return {};
    }
    if (c->bulk != nullptr) {
        Event e = bulk_event(*c);
        if (e.kind != Event::Kind::kNone) {
            return e;
        }
        if (TrainTx* const t = c->bulk->tx.take_any(); t != nullptr) {
            e = {.kind = Event::Kind::kBulkSent, .connection = id, .cookie = t->cookie, .ok = false};
            trains_tx_.destroy(*t);
            frames_released();   // who waits for a record may have no train of its own that would wake it
            return e;
        }
        while (TrainRx* const t = c->bulk->rx.take_any()) {
            const bool landing = t->landing_known;
            const std::size_t whole = std::size_t{t->got.count_leading(t->blocks)} * t->block_bytes;
            e = {.kind = Event::Kind::kTrainDone, .connection = id, .cookie = t->cookie, .landed = std::min(whole, t->landed()), .bytes = t->bytes,
                 .part = t->part, .ok = false};
            trains_rx_.destroy(*t);
            if (landing) {
                return e;
            }
        }
    }
    const auto place = static_cast<std::uint32_t>(id.value);
    table_[place].reset();
    free_.push_back(place);   // reserved by add()
    --live_;
    return {};
}

std::size_t Machine::lane_payload(ConnectionId id) const noexcept
{
    const Connection* const c = get(id);
    return c != nullptr ? lane_payload_of(c->frame_bytes) : 0;
}

std::size_t Machine::block_payload(ConnectionId id) const noexcept
{
    const Connection* const c = get(id);
    return c != nullptr ? lane_payload_of(c->frame_bytes) - sizeof(wire::BlockHead) : 0;
}

TimePoint Machine::last_heard(ConnectionId id) const noexcept
{
    const Connection* const c = get(id);
    return c != nullptr ? c->heard : TimePoint{};
}

Nanos Machine::unanswered(ConnectionId id, TimePoint now) const noexcept
{
    const Connection* const c = get(id);
    return c != nullptr && c->asked < now ? now - c->asked : Nanos{0};
}

bool Machine::all_acked(ConnectionId id) const noexcept
{
    const Connection* const c = get(id);
    return c == nullptr || c->tx_idle();
}

void Machine::set_ring_frames(std::uint32_t frames) noexcept
{
    const std::uint32_t least = frames / 5;   // a ring that has become short lends some all the same
    pool_.set_capacity(std::max(frames - std::min(frames, config_.control_reserve), least));
    feed_waiting();
    feed_starved();
}

// ---- what the owner gives ----

bool Machine::write_lane(ConnectionId id, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept
{
    Connection* const c = get(id);
    if (c == nullptr || c->lane == nullptr || c->phase == Connection::Phase::kClosing) {
        return false;
    }
    const std::size_t frame_payload = lane_payload_of(c->frame_bytes);
    LINNET_ASSERT(head.size() + payload.size() <= frame_payload * (kLaneWindow / 2));
    if (!c->lane->tx.write(head, payload, frame_payload, tx_pool_, frames_left(c->lane->tx, tx_pool_))) {
        c->needs = static_cast<std::uint8_t>(c->lane->tx.frames_for(head.size() + payload.size(), frame_payload));
        if (!static_cast<ListLinkOf<5>&>(*c).linked()) {
            unbuffered_.push_back(*c);
        }
        return false;
    }
    want_send(*c);
    return true;
}

Status Machine::give_bulk(ConnectionId id, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie, unsigned part) noexcept
{
    Connection* const c = get(id);
    if (c == nullptr || c->bulk == nullptr || c->phase == Connection::Phase::kClosing) {
        return Status::kPeerDown;
    }
    const std::size_t block_bytes = lane_payload_of(c->frame_bytes) - sizeof(wire::BlockHead);
    LINNET_ASSERT(payload.size() == wire::train_bytes(head.body_bytes.get(), block_bytes, part));
    const bool may = may_begin(c->bulk->tx, config_.trains - trains_tx_.in_use(), config_.trains, config_.trains_open);
    TrainTx* const t = may ? trains_tx_.create() : nullptr;
    if (t == nullptr) {
        room_ = room_ && !may;   // no memory: later
        if (!static_cast<ListLinkOf<5>&>(*c).linked()) {
            unbuffered_.push_back(*c);
        }
        return Status::kAgain;
    }
    t->head = head;
    t->payload = payload;
    t->cookie = cookie;
    t->part = static_cast<std::uint16_t>(part);
    t->block_bytes = static_cast<std::uint16_t>(block_bytes);
    t->blocks = static_cast<std::uint16_t>(wire::train_blocks(payload.size(), block_bytes));
    c->bulk->tx.add(*t);
    want_send(*c);
    return Status::kInProgress;
}

unsigned Machine::end_bulk(ConnectionId id, const void* cookie, TimePoint now) noexcept
{
    Connection* const c = get(id);
    if (c == nullptr || c->bulk == nullptr) {
        return 0;
    }
    unsigned ended = 0;
    while (TrainTx* const t = c->bulk->tx.take_sent(cookie)) {
        trains_tx_.destroy(*t);
        ++ended;
    }
    if (ended != 0) {
        frames_released();
        restart_probe(*c, now);
    }
    return ended;
}

// ---- events ----

void Machine::queue_event(Connection& c) noexcept
{
    if (!static_cast<ListLinkOf<2>&>(c).linked()) {
        events_.push_back(c);
    }
}

Event Machine::bulk_event(Connection& c) noexcept
{
    Bulk& b = *c.bulk;
    if (TrainRx* const t = b.finished.pop_front(); t != nullptr) {
        const Event e{.kind = Event::Kind::kTrainDone, .connection = c.id, .cookie = t->cookie, .landed = t->landed(), .bytes = t->bytes, .part = t->part};
        trains_rx_.destroy(*t);
        return e;
    }
    if (TrainTx* const t = b.tx.take_done(b.acked, b.sacked); t != nullptr) {
        const Event e{.kind = Event::Kind::kBulkSent, .connection = c.id, .cookie = t->cookie};
        trains_tx_.destroy(*t);
        frames_released();
        return e;
    }
    return {};
}

Event Machine::next_event() noexcept
{
    while (Connection* const c = events_.front()) {
        if (c->bulk != nullptr) {
            if (const Event e = bulk_event(*c); e.kind != Event::Kind::kNone) {
                return e;
            }
        }
        events_.remove(*c);
        if (c->was_reset) {
            c->was_reset = false;
            return {.kind = Event::Kind::kReset, .connection = c->id};
        }
    }
    // Whoever was refused tries again when there is room for it: the one that waits longest first, the next when that one has taken what it wants.
    const auto has_room = [this](const Connection& c) {
        return c.lane != nullptr ? c.needs <= std::min<std::size_t>(c.lane->tx.window_left(), frames_left(c.lane->tx, tx_pool_))
                                 : may_begin(c.bulk->tx, config_.trains - trains_tx_.in_use(), config_.trains, config_.trains_open);
    };
    for (Connection* c = room_ ? unbuffered_.front() : nullptr; c != nullptr; c = unbuffered_.next(*c)) {
        if (has_room(*c)) {
            unbuffered_.remove(*c);
            return {.kind = Event::Kind::kWritable, .connection = c->id};
        }
    }
    room_ = false;
    return {};
}

}   // namespace linnet::flow

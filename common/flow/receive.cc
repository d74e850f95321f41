// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Machine: what came from the network. Everything is checked before anything changes.
#include <algorithm>
#include <cstring>

#include "flow/machine.h"
#include "wire/crc32c.h"

namespace linnet::flow {

namespace {

// So many losses mended in a row with nothing sent in vain: what overtook others was an exception (RFC 8985, section 6.2, step 4).
constexpr unsigned kWidenedFor = 16;
// More than any ring holds: credit beyond it is not credit.
constexpr std::uint32_t kMaxCredit = 1u << 16;

[[nodiscard]] std::size_t extra_bytes(wire::FrameKind kind, std::size_t body) noexcept
{
    switch (kind) {
        case wire::FrameKind::kBlock: return std::min(body, sizeof(wire::BlockHead));
        case wire::FrameKind::kPull: return body;
        default: return 0;
    }
}

}   // namespace

// ---- admission ----

void Machine::drop(Received& r, Drop why) noexcept
{
    r.drop = why;
    ++stats_.drops[static_cast<std::size_t>(why)];
}

bool Machine::check(const Connection& c, wire::FrameHead h, std::span<const std::byte> frame, std::span<const std::byte> body) const noexcept
{
    const bool has_mac = (h.flags.get() & wire::frame_flag::kMac) != 0;
    if (c.mac != has_mac) {
        return false;
    }
    const std::size_t extra = extra_bytes(h.kind, body.size());
    if (has_mac) {
        if (extra > wire::kMaxFrameHead - sizeof h) {
            return false;
        }
        std::uint64_t tag = 0;
        std::memcpy(&tag, frame.data() + sizeof h, sizeof tag);
        return tag == frame_mac(c.mac_key, h, body.first(extra), body.subspan(extra));
    }
    if ((h.flags.get() & wire::frame_flag::kCrc) == 0) {
        return !c.crc;
    }
    const std::uint32_t said = h.crc.get();
    h.crc.set(0);
    return said == wire::crc32c(body, wire::crc32c(std::as_bytes(std::span{&h, 1})));
}

bool Machine::plausible(const Connection& c, const wire::FrameHead& h) noexcept
{
    const bool kind_fits = c.lane != nullptr ? h.kind != wire::FrameKind::kBlock && h.kind != wire::FrameKind::kPull : h.kind != wire::FrameKind::kLane;
    const bool acks_fit = c.lane != nullptr ? c.lane->tx.plausible(h.ack.get(), h.sack.get()) : c.bulk->tx.plausible(h.ack.get(), h.sack.get());
    const bool credit_fits = h.credit.get() - c.used() + 0x40000000u <= 0x40000000u + kMaxCredit;
    const bool gives_back = static_cast<std::int8_t>(h.returns - c.peer_returns) > 0;
    const bool held_fits = !gives_back || (!before(c.line.limit(), h.held.get()) && !before(h.held.get(), c.line.seen()));
    return kind_fits && acks_fit && credit_fits && held_fits;
}

Drop Machine::admit(std::span<const std::byte> frame, wire::FrameHead& h, std::span<const std::byte>& body, Connection*& c) noexcept
{
    if (frame.size() < sizeof h) {
        return Drop::kBadHead;
    }
    std::memcpy(&h, frame.data(), sizeof h);
    if (!wire::frame_head_ok(h, frame.size()) || h.kind == wire::FrameKind::kOpen) {
        return Drop::kBadHead;
    }
    const std::size_t at = sizeof h + ((h.flags.get() & wire::frame_flag::kMac) != 0 ? wire::kMacBytes : 0);
    body = frame.subspan(at, h.bytes.get());
    if (h.kind == wire::FrameKind::kReset) {
        return Drop::kNone;
    }
    c = by_wire(h.connection.get());
    if (c == nullptr) {
        return Drop::kUnknown;
    }
    if (!c->up()) {
        return Drop::kStale;
    }
    if (h.incarnation.get() != c->peer_incarnation) {
        return Drop::kIncarnation;
    }
    if (h.epoch.get() != c->epoch) {
        return Drop::kEpoch;
    }
    if (!check(*c, h, frame, body)) {
        return Drop::kCheck;
    }
    return plausible(*c, h) ? Drop::kNone : Drop::kImplausible;
}

void Machine::release_shown() noexcept
{
    if (lent_out_ != FramePool::kNone) {
        rx_pool_.release(lent_out_);
        lent_out_ = FramePool::kNone;
    }
}

Received Machine::receive(std::span<const std::byte> frame, TimePoint now, const std::byte* payload) noexcept
{
    release_shown();
    end_row(now);
    ++stats_.frames_in;
    Received r;
    wire::FrameHead h;
    std::span<const std::byte> body;
    Connection* c = nullptr;
    Drop why = admit(frame, h, body, c);
    if (why == Drop::kNone && h.kind == wire::FrameKind::kReset) {
        why = receive_reset(h);
        c = nullptr;
    }
    if (why != Drop::kNone) {
        drop(r, why);
        return r;
    }
    if (c == nullptr) {
        return r;
    }
    r.connection = c->id;
    take_head(*c, h, now);
    switch (h.kind) {
        case wire::FrameKind::kLane:
            receive_lane(*c, h, body, now, r);
            if (!r.lane.empty()) {
                begin_lane_row(*c, h, frame);
            }
            break;
        case wire::FrameKind::kBlock:
            receive_block(*c, h, body, payload, now, r);
            if (r.drop == Drop::kNone) {
                begin_row(*c, h, frame);
            }
            break;
        case wire::FrameKind::kPull:
            if (const Drop pull = receive_pull(*c, h, body, now); pull != Drop::kNone) {
                drop(r, pull);
            }
            break;
        case wire::FrameKind::kProbe:
            if (c->line.open() == 0) {
                lend(*c);   // it asks since it may send nothing at all
            }
            want_ack(*c);
            break;
        default: break;
    }
    return r;
}

Drop Machine::receive_reset(const wire::FrameHead& h) noexcept
{
    const std::uint32_t place = h.number.get();
    Connection* const c = place < table_.size() ? table_[place].get() : nullptr;
    if (c == nullptr || !c->up() || c->peer_wire_id != h.connection.get()) {
        return Drop::kStale;
    }
    c->was_reset = true;
    queue_event(*c);
    return Drop::kNone;
}

wire::FrameHead Machine::reset(const wire::FrameHead& frame) noexcept
{
    wire::FrameHead h;
    h.kind = wire::FrameKind::kReset;
    h.connection = frame.connection;
    h.number = frame.source;
    return h;
}

// ---- what every head says ----

void Machine::take_head(Connection& c, const wire::FrameHead& h, TimePoint now) noexcept
{
    c.heard = now;
    c.asked = TimePoint::max();
    c.peer_polls = (h.flags.get() & wire::frame_flag::kPolling) != 0;
    const Stamp stamp = h.stamp.get();
    if (!c.stamp_known || before(c.peer_stamp, stamp) || now - c.peer_stamp_at > std::chrono::seconds{60}) {
        c.stamp_known = true;
        c.peer_stamp = stamp;
        c.peer_stamp_at = now;
    }
    const Stamp echo = h.echo.get();
    const Nanos age = stamp_gap(echo, stamp_of(now));
    const bool echoes = (h.flags.get() & wire::frame_flag::kEcho) != 0 && age >= Nanos{0} && age < std::chrono::seconds{60};
    if (echoes && (!c.echoed_known || before(c.echoed, echo) || stamp_gap(c.echoed, stamp_of(now)) < Nanos{0} ||
                   stamp_gap(c.echoed, stamp_of(now)) > std::chrono::seconds{60})) {
        const Nanos delay{static_cast<std::int64_t>(h.echo_delay.get()) * 256};
        if (h.echo_delay.get() != UINT16_MAX && delay <= age) {
            c.rtt.sample(age - delay);
        }
        c.echoed = echo;
        c.echoed_known = true;
    }
    if (static_cast<std::int8_t>(h.returns - c.peer_returns) > 0) {
        static_cast<void>(c.line.give_back(pool_, h.held.get()));   // plausible() saw to it
        c.peer_returns = h.returns;
        c.told_limit = c.line.limit();
        want_ack(c);
        feed_waiting();
        feed_starved();
    }
    bool news = false;
    if (h.returns_seen == c.returns) {
        c.returns_known = true;
        if (before(c.limit, h.credit.get())) {
            c.limit = h.credit.get();
            news = true;
        }
    }
    const bool acked = take_ack(c, h, echoes ? &echo : nullptr, now);
    if (news) {
        c.backoff = 0;
        if (can_send_data(c)) {
            want_send(c);
        }
    }
    if (news || acked) {
        restart_probe(c, now);
    }
    if ((h.flags.get() & wire::frame_flag::kWantAck) != 0) {
        want_ack(c);
    }
}

// True: the probe is to be set anew.
bool Machine::take_ack(Connection& c, const wire::FrameHead& h, const Stamp* echo, TimePoint now) noexcept
{
    const std::uint32_t ack = h.ack.get();
    const std::uint64_t sack = h.sack.get();
    if (c.lane != nullptr) {
        LaneTx& tx = c.lane->tx;
        if (!tx.outstanding()) {
            return c.probe_at != TimePoint::max();
        }
        const LaneTx::Acked a = tx.on_ack(ack, sack, echo, tx_pool_);
        if (a.spurious) {
            ++stats_.spurious;
        }
        if (a.overtaken) {
            c.widened = static_cast<std::uint8_t>(std::min(c.widened + 1, 4));
            c.mended = 0;
        } else if (c.widened != 0 && (c.mended += a.mended) >= kWidenedFor) {
            c.widened = 0;
            c.mended = 0;
        }
        if (a.news) {
            c.backoff = 0;
            frames_released();
        }
        if (tx.outstanding() || c.reorder_at != TimePoint::max()) {
            detect_losses(c, now);
        }
        return a.news;
    }
    Bulk& b = *c.bulk;
    bool told = false;
    if (before(b.acked, ack)) {
        b.acked = ack;
        b.sacked = sack;
        told = true;
    } else if (b.acked == ack) {
        told = (sack & ~b.sacked) != 0;
        b.sacked |= sack;
    }
    if (told) {
        c.backoff = 0;
        if (!b.tx.idle()) {
            queue_event(c);
        }
    }
    return told;
}

// ---- data ----

void Machine::receive_lane(Connection& c, const wire::FrameHead& h, std::span<const std::byte> body, TimePoint now, Received& r) noexcept
{
    if (body.empty()) {   // nobody makes one; and in a gap it would hide what is kept behind it
        drop(r, Drop::kMismatch);
        return;
    }
    LaneRx& rx = c.lane->rx;
    const bool gap_before = rx.sack() != 0;
    const std::uint32_t top = rx.top();
    switch (rx.arrive(h.number.get(), body, c.line.limit(), rx_pool_)) {
        case LaneRx::Verdict::kDeliver:
            r.lane = body;
            r.more = rx.ready();
            break;
        case LaneRx::Verdict::kKept: break;
        case LaneRx::Verdict::kDuplicate:
            drop(r, Drop::kDuplicate);
            want_ack(c);
            return;
        case LaneRx::Verdict::kBeyond:
            drop(r, Drop::kBeyondCredit);
            want_ack(c);
            return;
        case LaneRx::Verdict::kNoBuffer: drop(r, Drop::kNoBuffer); return;
    }
    c.line.arrived(pool_, rx.ack());
    watch_arrivals(1, before(top, h.number.get()) ? h.number.get() - top : 0);
    data_arrived(c, gap_before || rx.sack() != 0, now);
}

bool Machine::more_lane(ConnectionId id, std::span<const std::byte>& bytes) noexcept
{
    release_shown();
    Connection* const c = get(id);
    return c != nullptr && c->up() && c->lane != nullptr && c->lane->rx.pop(rx_pool_, bytes, lent_out_);
}

// A data frame was taken: lend on, and answer in time.
void Machine::data_arrived(Connection& c, bool at_once, TimePoint now) noexcept
{
    c.data_heard = now;
    c.lent_tries = 0;
    feed_waiting();
    lend(c);
    feed_starved();
    ++c.since_ack;
    const std::uint32_t open = c.line.open();
    const std::uint32_t known = c.told_limit - c.line.seen();
    const bool short_of_credit = known < open / 2 || known > open;
    const std::uint32_t every = c.lane != nullptr ? config_.ack_every : config_.ack_every_block;
    if (at_once || c.since_ack >= every || short_of_credit) {
        want_ack(c);
    } else if (!c.ack_owed) {
        const TimePoint due = now + (ack_can_wait(c) ? config_.timing.ack_delay_sleeping : config_.timing.ack_delay);
        if (due < c.ack_due) {
            c.ack_due = due;
            wake_by(c, due);
        }
        if (!static_cast<ListLinkOf<4>&>(c).linked()) {
            delayed_.push_back(c);
        }
    }
}

// What was lost on the way says what the way holds.
void Machine::watch_arrivals(std::uint32_t count, std::uint32_t missing) noexcept
{
    if (window_.arrived(count, missing, pool_.lent())) {
        pool_.set_bound(window_.size());
        feed_waiting();
    }
}

// How many lost blocks it may ask for: as many as there are places in the ring, of what the way holds its share; first frames that it does not use are extra.
// 0: it waits until there are more, as there will be; a few at a time would be a question for each.
unsigned Machine::places_for(const Connection& c) const noexcept
{
    constexpr std::uint32_t kLeastShare = 8;
    const BulkRx& rx = c.bulk->rx;
    const std::uint32_t share = std::max(pool_.allowed() / std::max(pool_.borrowers(), 1u), kLeastShare);
    const std::uint32_t asked = rx.asked();
    const std::uint32_t places = std::min(pool_.vacant() + c.line.spare(), share - std::min(asked, share));
    const bool few = places < std::min(rx.lost(), share / 2);
    return few && asked != 0 ? 0 : places;
}

// Who has its share on the way asks when that comes.
void Machine::wait_for_places(Connection& c) noexcept
{
    if (pool_.vacant() + c.line.spare() == 0 && c.bulk->rx.asking(true) != nullptr && !static_cast<ListLinkOf<6>&>(c).linked()) {
        waiting_.push_back(c);
    }
}

// Places came back: the one that waits longest asks first.
void Machine::feed_waiting() noexcept
{
    if (Connection* const c = waiting_.front(); c != nullptr && pool_.vacant() + c->line.spare() != 0) {
        waiting_.remove(*c);
        want_control(*c);
    }
}

void Machine::lend(Connection& c) noexcept
{
    if (!c.line.extend(pool_, most_of(c)) && !static_cast<ListLinkOf<3>&>(c).linked()) {
        starved_.push_back(c);
    }
    if (c.line.lent() != 0 && c.lent_at == TimePoint::max()) {
        c.lent_at = c.data_heard + 4 * config_.timing.idle_return;
        wake_by(c, c.lent_at);
    }
}

void Machine::feed_starved() noexcept
{
    while (pool_.available() != 0) {
        Connection* const c = starved_.pop_front();
        if (c == nullptr) {
            return;
        }
        const std::uint32_t before_it = c->line.limit();
        lend(*c);
        if (c->line.limit() == before_it && static_cast<ListLinkOf<3>&>(*c).linked()) {
            return;   // with one borrower more there is nothing left
        }
        if (c->line.limit() != c->told_limit) {
            want_ack(*c);
        }
    }
}

void Machine::receive_block(Connection& c, const wire::FrameHead& h, std::span<const std::byte> body, const std::byte* elsewhere, TimePoint now,
                            Received& r) noexcept
{
    wire::BlockHead head;
    if (body.size() < sizeof head) {
        drop(r, Drop::kMismatch);
        return;
    }
    std::memcpy(&head, body.data(), sizeof head);
    const std::span<const std::byte> behind = body.subspan(sizeof head);
    const std::span<const std::byte> payload = elsewhere != nullptr ? std::span{elsewhere, behind.size()} : behind;
    if (c.line.open() == 0) {
        drop(r, Drop::kBeyondCredit);
        want_ack(c);
        return;
    }
    const BulkRx::Arrived a = c.bulk->rx.arrive(h.number.get(), head, payload.size(), trains_rx_);
    switch (a.verdict) {
        case BulkRx::Verdict::kNew: break;
        case BulkRx::Verdict::kDuplicate:
            drop(r, Drop::kDuplicate);
            want_ack(c);
            return;
        case BulkRx::Verdict::kBeyond: drop(r, Drop::kBeyondCredit); return;
        case BulkRx::Verdict::kMismatch: drop(r, Drop::kMismatch); return;
        case BulkRx::Verdict::kNoTrain: drop(r, Drop::kNoBuffer); return;
    }
    const Block block{head.index.get(), head.sent.get(), payload};
    if (!a.train->landing_known) {
        r.landing = &a.train->head;
        r.train = a.train->number;
        r.part = a.train->part;
        r.part_bytes = static_cast<std::uint32_t>(a.train->bytes);
        r.part_offset = static_cast<std::uint32_t>(wire::train_offset(a.train->block_bytes, a.train->part));
        pending_ = block;
        return;
    }
    place(c, *a.train, block, now);
}

void Machine::land(const Received& asked, std::byte* to, std::size_t room, void* cookie, TimePoint now) noexcept
{
    Connection* const c = get(asked.connection);
    TrainRx* const t = c != nullptr && c->up() && c->bulk != nullptr ? c->bulk->rx.find(asked.train) : nullptr;
    if (t == nullptr || t->landing_known || asked.landing == nullptr) {
        return;
    }
    t->to = to;
    t->room = to != nullptr ? room : 0;
    t->cookie = cookie;
    t->landing_known = true;
    place(*c, *t, pending_, now);
}

void Machine::place(Connection& c, TrainRx& t, const Block& block, TimePoint now) noexcept
{
    const std::size_t at = std::size_t{block.index} * t.block_bytes;
    if (at < t.room) {
        const std::size_t n = std::min(block.payload.size(), t.room - at);
        if (n != 0 && t.to + at != block.payload.data()) {
            std::memmove(t.to + at, block.payload.data(), n);   // it may lie where another block of the same buffer was expected
        }
    }
    BulkRx& rx = c.bulk->rx;
    const BulkRx::Path path{reorder_window(config_.timing, c.rtt, c.widened), c.echoed_known ? &c.echoed : nullptr, c.in_order_path()};
    const BulkRx::Placed placed = rx.placed(t, block.index, block.sent, now, path);
    watch_arrivals(1, placed.missing);
    if (placed.complete) {
        rx.finish(t);
        c.bulk->finished.push_back(t);
        queue_event(c);
    } else if (c.pull_at == TimePoint::max()) {
        c.pull_at = now + probe_timeout(config_.timing, c.rtt, c.peer_polls);   // a later one is found out when it comes
    }
    count_arrived(c);
    if (rx.lost() != 0 || placed.missing != 0) {   // of this train, or of one before it
        c.pull_at = std::min(c.pull_at, rx.gap_due());
        if (rx.asking(places_for(c) != 0) != nullptr) {
            want_control(c);
        }
    } else {
        c.pull_at = std::min(c.pull_at, t.gap_due);
    }
    wake_by(c, c.pull_at);
    data_arrived(c, placed.complete, now);
}

Drop Machine::receive_pull(Connection& c, const wire::FrameHead& h, std::span<const std::byte> body, TimePoint now) noexcept
{
    wire::PullHead p;
    if (body.size() < sizeof p) {
        return Drop::kMismatch;
    }
    std::memcpy(&p, body.data(), sizeof p);
    const std::size_t first = p.first.get();
    const std::size_t count = p.words.get();
    if (first % 64 != 0 || count == 0 || first / 64 + count > wire::kTrainWords || body.size() != sizeof p + count * sizeof(le64)) {
        return Drop::kMismatch;
    }
    std::array<std::uint64_t, wire::kTrainWords> words{};
    for (std::size_t i = 0; i < count; ++i) {
        le64 w;
        std::memcpy(&w, body.data() + sizeof p + i * sizeof w, sizeof w);
        words[i] = w.get();
    }
    const bool again = (h.flags.get() & wire::frame_flag::kAgain) != 0;
    const Stamp echo = h.echo.get();
    const bool echoes = (h.flags.get() & wire::frame_flag::kEcho) != 0;
    if (!c.bulk->tx.on_pull(h.number.get(), static_cast<unsigned>(first), std::span{words}.first(count), echoes ? &echo : nullptr, again)) {
        return Drop::kStale;
    }
    c.backoff = 0;
    if (can_send_data(c)) {
        want_send(c);
    }
    restart_probe(c, now);
    return Drop::kNone;
}

}   // namespace linnet::flow

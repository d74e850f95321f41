// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Machine: what goes to the network. Control first, it has places of its own in every ring; then data, a run of frames per connection.
#include <algorithm>
#include <cstring>

#include "flow/machine.h"
#include "wire/crc32c.h"

namespace linnet::flow {

// ---- who has something to send ----

void Machine::want_send(Connection& c) noexcept
{
    if (c.up() && !static_cast<ListLinkOf<1>&>(c).linked()) {
        data_.push_back(c);
    }
}

void Machine::want_control(Connection& c) noexcept
{
    if (c.up() && !static_cast<ListLinkOf<0>&>(c).linked()) {
        control_.push_back(c);
    }
}

void Machine::want_ack(Connection& c) noexcept
{
    c.ack_owed = true;
    c.ack_due = TimePoint::max();
    want_control(c);
}

std::size_t Machine::produce(TimePoint now, std::span<TxFrame> out) noexcept
{
    std::size_t n = 0;
    while (n < out.size()) {
        if (Connection* const c = control_.front(); c != nullptr) {
            control_.remove(*c);
            n += produce_control(*c, now, out.subspan(n));
            continue;
        }
        Connection* const c = data_.pop_front();
        if (c == nullptr) {
            break;
        }
        n += produce_data(*c, now, out.subspan(n));
    }
    return n;
}

std::size_t Machine::produce_control(Connection& c, TimePoint now, std::span<TxFrame> out) noexcept
{
    std::size_t n = 0;
    bool asking = false;
    if (c.bulk != nullptr) {
        while (n < out.size()) {
            const unsigned places = places_for(c);
            TrainRx* const t = c.bulk->rx.asking(places != 0);
            if (t == nullptr) {
                break;
            }
            pull_frame(c, *t, places, now, out[n++]);
        }
        asking = c.bulk->rx.asking(places_for(c) != 0) != nullptr;
        if (!asking) {
            wait_for_places(c);
        }
        if (n != 0) {
            feed_waiting();
        }
    }
    if (c.ack_owed && !c.probe_owed && can_send_data(c)) {
        // A frame of data will tell it, and goes next.
        if (static_cast<ListLinkOf<1>&>(c).linked()) {
            data_.remove(c);
        }
        data_.push_front(c);
    } else if ((c.ack_owed || c.probe_owed) && n < out.size()) {
        wire::FrameHead h;
        h.kind = c.probe_owed ? wire::FrameKind::kProbe : wire::FrameKind::kAck;
        stats_.probes_out += c.probe_owed ? 1 : 0;
        stats_.acks_out += c.probe_owed ? 0 : 1;
        c.probe_owed = false;
        seal(c, out[n++], h, {}, now);
    }
    if (asking || c.probe_owed || (c.ack_owed && !can_send_data(c))) {
        if (static_cast<ListLinkOf<0>&>(c).linked()) {
            control_.remove(c);   // places came back for it
        }
        control_.push_front(c);   // `out` is full
    }
    return n;
}

std::size_t Machine::produce_data(Connection& c, TimePoint now, std::span<TxFrame> out) noexcept
{
    std::size_t n = 0;
    const std::size_t most = std::min<std::size_t>(out.size(), config_.quantum);
    while (n < most && can_send_data(c)) {
        data_frame(c, now, out[n++]);
        const TxFrame& first = out[n - 1];
        const std::span<TxFrame> rest = out.subspan(n, most - n);
        n += c.bulk != nullptr ? next_blocks(c, first, rest) : next_lane_frames(c, first, rest);
    }
    if (can_send_data(c)) {
        data_.push_back(c);
    } else if (c.ack_owed) {
        want_control(c);
    }
    if (n != 0 || c.probe_at == TimePoint::max()) {
        restart_probe(c, now);
    }
    return n;
}

// ---- frames ----

void Machine::data_frame(Connection& c, TimePoint now, TxFrame& f) noexcept
{
    const Stamp stamp = stamp_of(now);
    wire::FrameHead h;
    wire::BlockHead block;
    std::span<const std::byte> extra;
    bool again = false;
    if (c.lane != nullptr) {
        const LaneTx::Picked p = c.lane->tx.pick(stamp);
        h.kind = wire::FrameKind::kLane;
        h.number.set(p.number);
        f.payload = p.payload;
        again = p.again;
        stats_.lane_again += again ? 1 : 0;
    } else {
        const BulkTx::Picked p = c.bulk->tx.pick(stamp);
        h.kind = wire::FrameKind::kBlock;
        h.number.set(p.train->number);
        f.payload = p.train->block(p.index);
        f.index = p.index;
        block.index.set(p.index);
        block.block_bytes.set(p.train->block_bytes);
        block.part.set(p.train->part);
        block.sent.set(p.again ? p.train->next : std::uint16_t{0});
        block.bulk = p.train->head;
        extra = std::as_bytes(std::span{&block, 1});
        again = p.again;
        stats_.blocks_again += again ? 1 : 0;
    }
    f.stalled = !can_send_data(c) && c.used() == c.limit;
    stats_.credit_stalls += f.stalled ? 1 : 0;
    if (again || f.stalled || (c.lane != nullptr && tx_pool_.scarce())) {
        h.flags.set(wire::frame_flag::kWantAck);
    }
    seal(c, f, h, extra, now);
}

void Machine::pull_frame(Connection& c, TrainRx& t, unsigned places, TimePoint now, TxFrame& f) noexcept
{
    std::array<std::uint64_t, wire::kTrainWords> words;
    const bool again = t.guess;
    unsigned first = 0;
    const unsigned count = c.bulk->rx.ask(t, stamp_of(now), places, first, words);
    count_arrived(c);   // the places are taken
    std::array<std::byte, sizeof(wire::PullHead) + wire::kTrainWords * sizeof(le64)> body;
    wire::PullHead p;
    p.first.set(static_cast<std::uint16_t>(first));
    p.words.set(static_cast<std::uint16_t>(count));
    std::memcpy(body.data(), &p, sizeof p);
    for (unsigned i = 0; i < count; ++i) {
        const le64 w{words[i]};
        std::memcpy(body.data() + sizeof p + i * sizeof w, &w, sizeof w);
    }
    wire::FrameHead h;
    h.kind = wire::FrameKind::kPull;
    h.number.set(t.number);
    h.flags.set(again ? wire::frame_flag::kAgain : 0);
    ++stats_.pulls_out;
    f.payload = {};
    seal(c, f, h, std::span{body}.first(sizeof p + count * sizeof(le64)), now);
}

// Everything that every head says. `h` has kind, number and flags of its own; `f.payload` is set for data.
void Machine::seal(Connection& c, TxFrame& f, wire::FrameHead& h, std::span<const std::byte> extra, TimePoint now) noexcept
{
    const bool data = h.kind == wire::FrameKind::kLane || h.kind == wire::FrameKind::kBlock;
    if (!data) {
        f.payload = {};
    }
    std::uint32_t flags = h.flags.get();
    const bool polls = c.lane != nullptr ? lanes_polled_ : polling_;
    flags |= polls ? wire::frame_flag::kPolling : 0u;
    flags |= c.mac ? wire::frame_flag::kMac : c.crc ? wire::frame_flag::kCrc : 0u;
    h.connection.set(c.peer_wire_id);
    h.incarnation.set(c.own_incarnation);
    h.source.set(static_cast<std::uint32_t>(c.id.value));
    h.epoch.set(c.epoch);
    h.ack.set(c.lane != nullptr ? c.lane->rx.ack() : c.bulk->rx.ack());
    h.sack.set(c.lane != nullptr ? c.lane->rx.sack() : c.bulk->rx.sack());
    h.credit.set(c.line.limit());
    h.held.set(c.limit);
    h.returns = c.returns;
    h.returns_seen = c.peer_returns;
    h.stamp.set(stamp_of(now));
    if (c.stamp_known) {
        const std::int64_t delay = (now - c.peer_stamp_at).count() / 256;
        flags |= wire::frame_flag::kEcho;
        h.echo.set(c.peer_stamp);
        h.echo_delay.set(static_cast<std::uint16_t>(std::min<std::int64_t>(delay, UINT16_MAX)));
    }
    h.flags.set(static_cast<std::uint16_t>(flags));
    h.bytes.set(static_cast<std::uint16_t>(extra.size() + f.payload.size()));

    const std::size_t at = sizeof h + (c.mac ? wire::kMacBytes : 0);
    if (!extra.empty()) {
        std::memcpy(f.head.data() + at, extra.data(), extra.size());
    }
    if (c.crc && !c.mac) {
        std::uint32_t sum = wire::crc32c(std::as_bytes(std::span{&h, 1}));
        sum = wire::crc32c(extra, sum);
        h.crc.set(wire::crc32c(f.payload, sum));
    }
    std::memcpy(f.head.data(), &h, sizeof h);
    if (c.mac) {
        const std::uint64_t tag = frame_mac(c.mac_key, h, extra, f.payload);
        std::memcpy(f.head.data() + sizeof h, &tag, sizeof tag);
    }
    f.connection = c.id;
    f.route = c.route;
    f.kind = h.kind;
    f.number = h.number.get();
    f.head_bytes = static_cast<std::uint16_t>(at + extra.size());
    ++stats_.frames_out;

    c.told_limit = c.line.limit();
    c.told_polling = polls;
    c.since_ack = 0;
    c.ack_owed = false;
    c.ack_due = TimePoint::max();
    if (static_cast<ListLinkOf<4>&>(c).linked()) {
        delayed_.remove(c);
    }
}

// What precedes the payload is one piece of the hash, the payload another: they need not lie together.
std::uint64_t Machine::frame_mac(const SipKey& key, const wire::FrameHead& h, std::span<const std::byte> extra, std::span<const std::byte> payload) noexcept
{
    std::array<std::byte, wire::kMaxFrameHead + sizeof(SipTag)> text;
    const SipTag inner = siphash128(key, payload);
    std::memcpy(text.data(), &h, sizeof h);
    std::size_t n = sizeof h;
    if (!extra.empty()) {
        std::memcpy(text.data() + n, extra.data(), extra.size());
        n += extra.size();
    }
    std::memcpy(text.data() + n, inner.data(), inner.size());
    const SipTag tag = siphash128(key, std::span{text}.first(n + inner.size()));
    std::uint64_t low = 0;
    std::memcpy(&low, tag.data(), sizeof low);
    return low;
}

// Each try to send moves the probe on, so that what the network never takes would never be a question: it is one from the first try.
void Machine::not_sent(std::span<const TxFrame> frames, TimePoint now) noexcept
{
    std::for_each(frames.rbegin(), frames.rend(), [this](const TxFrame& f) {   // the newest first: then each is the last that was made
        Connection* const c = get(f.connection);
        if (c == nullptr || !c->up()) {
            return;
        }
        if (f.kind == wire::FrameKind::kLane) {
            stats_.lane_again -= c->lane->tx.not_sent(f.number) ? 0 : 1;
        } else if (f.kind == wire::FrameKind::kBlock) {
            stats_.blocks_again -= c->bulk->tx.not_sent(f.number, f.index) ? 0 : 1;
        }
    });
    for (const TxFrame& f : frames) {
        Connection* const c = get(f.connection);
        if (c == nullptr || !c->up()) {
            continue;
        }
        --stats_.frames_out;
        if (f.kind != wire::FrameKind::kAck) {
            c->asked = std::min(c->asked, now);
        }
        switch (f.kind) {
            case wire::FrameKind::kLane:
            case wire::FrameKind::kBlock:
                stats_.credit_stalls -= f.stalled ? 1 : 0;
                want_send(*c);
                break;
            case wire::FrameKind::kPull:
                --stats_.pulls_out;
                if (TrainRx* const t = c->bulk->rx.find(f.number); t != nullptr) {
                    t->guess = true;
                    want_control(*c);
                }
                break;
            case wire::FrameKind::kProbe:
                --stats_.probes_out;
                c->probe_owed = true;
                want_control(*c);
                break;
            case wire::FrameKind::kAck: --stats_.acks_out; break;
            default: break;
        }
        want_ack(*c);   // what it told in passing was not told
    }
}

}   // namespace linnet::flow

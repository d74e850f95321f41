// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ShmTransport: sending. A packet that fits into a slot is one record; a longer one follows its head in pieces of a quarter of the ring.
#include <algorithm>
#include <utility>

#include "sys/system_clock.h"
#include "transport/shm/shm_transport.h"

namespace linnet::shm {

namespace {

using Put = RingWriter::Put;

// A packet of more than a page goes in a few equal pieces, so that the peer copies one while we copy the next; a shorter one is not worth a second record.
constexpr std::size_t kPieceBytes = 4096;
constexpr std::size_t kPieces = 4;
constexpr std::size_t piece_of(std::size_t bytes) noexcept
{
    const std::size_t pieces = std::clamp((bytes + kPieceBytes - 1) / kPieceBytes, std::size_t{1}, kPieces);
    return ((bytes + pieces - 1) / pieces + kCacheLine - 1) & ~std::size_t{kCacheLine - 1};
}

// From here on the receiver reads the payload out of our memory: below, two copies through a ring that stays in the cache cost less than the system call
// and the way back.
constexpr std::size_t kPullMin = 16 * 1024;

// Into this core's cache.
void fetch(std::span<const std::byte> data) noexcept
{
    for (std::size_t at = 0; at < data.size(); at += kCacheLine) {
        static_cast<void>(*static_cast<const volatile std::byte*>(&data[at]));
    }
}

}   // namespace

// The peer is told after the record is in its ring; see the proofs of RecordRing and BellPage.
inline void ShmTransport::announce(Tx& tx) noexcept
{
    if (!sent_.load(std::memory_order_relaxed)) {
        sent_.store(true, std::memory_order_relaxed);
    }
    if (!tx.ring.reader_polls() || tx.bells->asleep()) [[unlikely]] {
        ring_bell(tx);
    }
}

void ShmTransport::ring_bell(Tx& tx) noexcept
{
    if (!tx.ring.reader_polls()) {
        tx.bells->set(tx.bell);
    }
    if (tx.bells->must_wake()) {
        const std::array<std::byte, 1> bell{static_cast<std::byte>(SocketKind::kDoorbell)};
        static_cast<void>(unix_send(tx.fd, bell));   // full: it is readable already. Broken: the poller sees the end of stream
        tx_counters_.add_shared(Counter::kShmDoorbells);
    }
}

// The poller ends the link when it sees the bell.
void ShmTransport::broke(Tx& tx) noexcept
{
    tx.broken = true;
    bells_->set(static_cast<std::uint32_t>(tx.id.value));
    doorbell_.signal();
}

// kFull: the peer was asked for a bell, which comes when it frees something.
RingWriter::Put ShmTransport::put_or_wait(Tx& tx, std::uint32_t kind, std::span<const std::byte> head, std::span<const std::byte> tail,
                                          std::span<const std::byte> data) noexcept
{
    const bool sample = data.size() >= ReadingChoice::kSampleMin && tx.ring.has_room(data.size()) && choice_.wants_sample();
    if (sample) {
        fetch(data);
    }
    const TimePoint begun = sample ? monotonic_now() : TimePoint{};
    Put put = tx.ring.put(kind, head, tail, data);
    if (sample && put == Put::kDone) {
        choice_.wrote(data.size(), monotonic_now() - begun);
    }
    if (put == Put::kFull) {
        if (!tx.waiting) {
            tx.waiting = true;
            tx_counters_.add_shared(Counter::kShmRoomStalls);
        }
        tx.ring.want_room(true);
        put = tx.ring.put(kind, head, tail, data);
    }
    if (put == Put::kDone) {
        tx.count(head.size() + tail.size() + data.size());
    }
    return put;
}

// What is left of the packet that was begun, as far as there is room.
RingWriter::Put ShmTransport::write_rest(Tx& tx) noexcept
{
    for (std::span<const std::byte>& piece : tx.rest) {
        while (!piece.empty()) {
            const std::size_t n = std::min({piece.size(), tx.ring.data_max(), tx.piece});
            const Put put = put_or_wait(tx, kMore, {}, {}, piece.first(n));
            if (put != Put::kDone) {
                return put;
            }
            piece = piece.subspan(n);
            if (!piece.empty()) {
                announce(tx);   // the peer copies this piece while we copy the next
            }
        }
    }
    return Put::kDone;
}

ShmTransport::Written ShmTransport::write_packet(Tx& tx, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept
{
    const std::size_t total = head.size() + payload.size();
    Put put = Put::kDone;
    if (total <= kInlineBytes) {
        put = put_or_wait(tx, kStart, head, payload, {});
    } else {
        const std::span<const std::byte> in_place = head.first(std::min(head.size(), kInlineBytes));
        tx.rest = {head.subspan(in_place.size()), payload};
        std::span<const std::byte>& first = tx.rest[0].empty() ? tx.rest[1] : tx.rest[0];
        tx.piece = piece_of(total - in_place.size());
        const std::span<const std::byte> data = first.first(std::min({first.size(), tx.ring.data_max(), tx.piece}));
        put = put_or_wait(tx, kStart, in_place, {}, data);
        if (put == Put::kDone) {
            first = first.subspan(data.size());
            if (tx.busy()) {
                announce(tx);
                put = write_rest(tx);
                return put == Put::kDone ? Written::kAll : put == Put::kFull ? Written::kPart : Written::kBroken;
            }
        } else {
            tx.rest = {};
        }
    }
    return put == Put::kDone ? Written::kAll : put == Put::kFull ? Written::kNone : Written::kBroken;
}

// All of a packet that is no longer than kAtOnceMax. If not, the peer was asked for a bell.
bool ShmTransport::fits(Tx& tx, const LanePacket& p) noexcept
{
    const std::size_t total = p.head.size() + p.payload.size();
    if (total <= kInlineBytes || tx.ring.has_room(total)) {
        return true;
    }
    if (!tx.waiting) {
        tx.waiting = true;
        tx_counters_.add_shared(Counter::kShmRoomStalls);
    }
    tx.ring.want_room(true);
    return tx.ring.has_room(total);
}

SendResult ShmTransport::send_lane(LinkId id, std::span<const LanePacket> batch) noexcept
{
    SendResult result;
    Link* const link = links_.slot_of(id);
    if (link == nullptr) {
        result.down = true;
        return result;
    }
    TxScope tx_scope{*link, TxScope::Who::kSender};
    Tx& tx = link->tx;
    if (tx.id != id || tx.broken) {
        result.down = true;
        return result;
    }
    if (tx.busy()) {
        tx.notify = true;
        return result;
    }
    result.all_written = true;
    Written written = Written::kAll;
    while (written == Written::kAll && result.taken < batch.size()) {
        const LanePacket& p = batch[result.taken];
        written = !p.at_once || fits(tx, p) ? write_packet(tx, p.head, p.payload) : Written::kNone;
        if (written == Written::kBroken) {
            broke(tx);
            return {0, false, true};
        }
        result.taken += written != Written::kNone ? 1 : 0;
    }
    if (result.taken != 0) {
        announce(tx);
    }
    result.next = {tx.ring.next(), tx.ring.next_data()};
    result.all_written = written != Written::kPart;
    tx.notify = tx.notify || written != Written::kAll;
    return result;
}

// One record that needs no waiting for room.
NextWrite ShmTransport::send_now(LinkId id, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept
{
    Link* const link = links_.slot_of(id);
    if (link == nullptr) [[unlikely]] {
        return {};
    }
    TxScope tx_scope{*link, TxScope::Who::kSender};
    Tx& tx = link->tx;
    if (tx.id != id || tx.broken || tx.busy() || head.size() > kInlineBytes || payload.size() > kAtOnceMax) [[unlikely]] {
        return {};
    }
    Put put = Put::kFull;
    if (payload.empty()) [[likely]] {
        put = tx.ring.put_inline(kStart, head.data(), head.size());
    } else if (payload.size() <= tx.ring.data_max()) {
        put = tx.ring.put(kStart, head, {}, payload);
    }
    if (put != Put::kDone) [[unlikely]] {
        return {};
    }
    tx.count(head.size() + payload.size());
    announce(tx);
    return {tx.ring.next(), tx.ring.next_data()};
}

// Only a description travels; the payload stays where it is until the peer has read it.
Status ShmTransport::offer_pull(Tx& tx, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    PullTail tail;
    tail.address.set(reinterpret_cast<std::uintptr_t>(payload.data()));
    tx.ring.want_room(true);   // before the record is there: the peer may be done with it before we go on
    switch (put_or_wait(tx, kPull, std::as_bytes(std::span{&head, 1}), std::as_bytes(std::span{&tail, 1}), {})) {
        case Put::kBroken: broke(tx); return Status::kPeerDown;
        case Put::kFull: tx.notify = true; return Status::kAgain;
        case Put::kDone: break;
    }
    tx.pulled = true;
    tx.pull_end = tx.ring.written();
    tx.cookie = cookie;
    tx.cookie_held = true;
    tx.waiting = true;
    tx.count(payload.size());
    announce(tx);
    return Status::kInProgress;
}

bool ShmTransport::offer(LinkId id, std::size_t bytes, bool alone) noexcept
{
    if (!alone && !choice_.pays()) {
        return false;
    }
    Link* const link = links_.slot_of(id);
    if (link == nullptr) {
        return false;
    }
    TxScope tx_scope{*link, TxScope::Who::kSender};
    const bool can = link->tx.id == id && !link->tx.broken && link->tx.peer_pulls;
    if (can) {
        link->tx.count(bytes);
        choice_.chosen();
    }
    return can;
}

Status ShmTransport::send_bulk(LinkId id, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    Link* const link = links_.slot_of(id);
    if (link == nullptr) {
        return Status::kPeerDown;
    }
    TxScope tx_scope{*link, TxScope::Who::kSender};
    Tx& tx = link->tx;
    if (tx.id != id || tx.broken) {
        return Status::kPeerDown;
    }
    if (tx.busy() || tx.cookie_held) {
        tx.notify = true;
        return Status::kAgain;
    }
    if (tx.peer_pulls && choice_.pays() && payload.size() >= kPullMin) {
        choice_.chosen();
        return offer_pull(tx, head, payload, cookie);
    }
    const Written written = write_packet(tx, std::as_bytes(std::span{&head, 1}), payload);
    switch (written) {
        case Written::kBroken: broke(tx); return Status::kPeerDown;
        case Written::kNone: tx.notify = true; return Status::kAgain;
        case Written::kAll: announce(tx); return Status::kOk;
        case Written::kPart: break;
    }
    tx.cookie = cookie;   // the head is in the ring, in place: only the payload is still borrowed
    tx.cookie_held = true;
    announce(tx);
    return Status::kInProgress;
}

// The peer freed something: go on with what was begun, then let the sink go on.
unsigned ShmTransport::flush(Link& link) noexcept
{
    const LinkId id = link.id;
    void* cookie = nullptr;
    bool sent = false;
    bool notify = false;
    {
        TxScope tx_scope{link, TxScope::Who::kPoller};
        Tx& tx = link.tx;
        if (!tx.waiting) {
            return 0;
        }
        if (tx.busy()) {
            const Put put = write_rest(tx);
            announce(tx);
            if (put == Put::kBroken) {
                broke(tx);
            }
            if (put != Put::kDone) {
                return 1;
            }
        }
        if (tx.pulled) {
            const std::uint32_t freed = tx.ring.freed();
            if (!tx.ring.sane()) {
                broke(tx);
                return 1;
            }
            if (static_cast<std::int32_t>(freed - tx.pull_end) < 0) {
                return 0;
            }
            tx.pulled = false;
        }
        tx.waiting = false;
        tx.ring.want_room(false);
        sent = std::exchange(tx.cookie_held, false);
        cookie = tx.cookie;
        notify = std::exchange(tx.notify, false);
    }
    const PeerId peer = link.peer;
    const LinkRole role = link.role;
    if (sent) {
        sink_->on_bulk_sent(peer, cookie, true);
    }
    if (notify && link.id == id) {
        sink_->on_writable(peer, role);
    }
    return 1;
}

}   // namespace linnet::shm

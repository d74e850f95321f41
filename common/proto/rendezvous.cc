// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: rendezvous: grants, bulk data, and what happens when the bulk link breaks.
#include <algorithm>
#include <cstring>

#include "proto/proto.h"

namespace linnet::proto {

namespace {
// Largest piece of a message that is not contiguous: it goes through a staging block of this size on either side.
constexpr std::size_t kStaging = BlockPool::kLargest;
// Whoever polls does nothing else while it reads: some milliseconds.
constexpr std::size_t kReadAtOnce = 32u << 20;
// So much is read in one go for a receive while no more is open than an exchange: some 0.3 ms, and a quarter less than pass by pass, where the memory is in
// the cache.
constexpr std::size_t kReadInOneGo = 4u << 20;
constexpr std::int64_t kAnExchange = 2;   // this receive, and the send back or the next receive
}   // namespace

// ---- receiver ----

// The sender lent its memory: take the message, or its beginning, out of it. When that is not possible, or another thread polls, the rest is asked for.
void Proto::read_offered(Peer& peer, RecvRequest& r) noexcept
{
    const std::size_t bytes = std::min<std::uint64_t>(r.end - r.next, kReadAtOnce);
    const auto read = [&] {
        if (layer_->read(peer, r.data.base + r.next, r.address + r.next, bytes) == Status::kOk) {
            r.next += bytes;
        }
    };
    if (engine_.token().held_by_me()) {
        read();
    } else if (engine_.try_take_token()) {
        read();
        engine_.release_token();
    }
}

// A long one is read while the passes go on, by whoever has time: on_read_end() goes on with it.
bool Proto::begin_reading(Peer& peer, RecvRequest& r) noexcept
{
    bool alone = false;
    const auto begin = [&] {
        r.being_read = std::min<std::uint64_t>(r.end - r.next, kReadAtOnce);
        return layer_->begin_read(peer, r.data.base + r.next, r.address + r.next, r.being_read, &r, alone) == Status::kInProgress;
    };
    if (engine_.token().held_by_me()) {
        // A receive that finds its message there, without the token, is not kept by it: the program may have more to post.
        alone = r.kind == Request::Kind::kRecv && r.end - r.next <= kReadInOneGo && engine_.open_work() <= kAnExchange;
        return begin();
    }
    if (!engine_.try_take_token()) {
        return false;
    }
    const std::uint64_t bytes = r.data.length;   // it may be complete as soon as another thread polls
    const bool begun = begin();
    engine_.release_token();
    const bool leaves = begun && engine_.leaves_work(bytes);
    if (leaves) {
        engine_.work_left();
    } else if (begun) {
        engine_.kick();
    }
    return begun;
}

void Proto::on_read_end(session::Session& s, void* cookie, Status status) noexcept
{
    auto& r = *static_cast<RecvRequest*>(cookie);
    Peer& peer = peer_of(s);
    r.next += status == Status::kOk ? r.being_read : 0;
    const Status now = status == Status::kOk ? start_pull(peer, r) : ask_for_rest(peer, r);
    if (now != Status::kInProgress) {
        complete(r, now);
    }
}

Status Proto::start_pull(Peer& peer, RecvRequest& r) noexcept
{
    if (r.address != 0 && r.next < r.end && r.data.contiguous()) {
        if (begin_reading(peer, r)) {
            return Status::kInProgress;
        }
        read_offered(peer, r);
    }
    return ask_for_rest(peer, r);
}

Status Proto::ask_for_rest(Peer& peer, RecvRequest& r) noexcept
{
    const Status whole = r.result.length > r.data.length ? Status::kTruncated : Status::kOk;
    if (r.next >= r.end) {
        return finish_pull(peer, r, whole);
    }
    r.slot = recv_slots_.acquire(r);
    if (r.slot == 0) {
        return finish_pull(peer, r, Status::kNoMemory);
    }
    if (!r.data.contiguous()) {
        r.staging = acquire(kStaging);
        if (r.staging == nullptr) {
            return finish_pull(peer, r, Status::kNoMemory);
        }
    }
    MutexLock guard{peer.lock};
    if (const Status down = peer.down_reason(); down != Status::kOk) {
        release(r.staging, kStaging);
        r.staging = nullptr;
        recv_slots_.release(r.slot);
        return down;
    }
    peer.active_recvs.push_back(r);
    if (r.kind == Request::Kind::kServedWrite && static_cast<ServedWrite&>(r).unasked) {
        r.generation = 1;   // as if it had been asked for
    } else {
        send_grant(peer, r);
    }
    return Status::kInProgress;
}

// The head of the envelope is here, its payload is on its way: the sender gets the grant before it has written the first fragment, and goes on
// without a break. What cannot be asked for now is asked for by start_pull(), when the fragment is in place.
void Proto::start_pull_early(Peer& peer, RecvRequest& r, const Arrival& a) noexcept
{
    plan_pull(r, a);
    if (r.next >= r.end || !r.data.contiguous()) {
        return;
    }
    MutexLock guard{peer.lock};
    if (peer.down_reason() != Status::kOk) {
        return;
    }
    r.slot = recv_slots_.acquire(r);
    if (r.slot == 0) {
        return;
    }
    r.first_on_its_way = true;
    peer.active_recvs.push_back(r);
    send_grant(peer, r);
}

void Proto::send_grant(Peer& peer, RecvRequest& r) noexcept
{
    wire::GrantHeader g;
    g.send_slot.set(r.send_slot);
    g.max_packet.set(r.staging != nullptr ? static_cast<std::uint32_t>(kStaging) : 0);
    g.recv_slot.set(r.slot);
    g.recv_generation.set(++r.generation);
    g.offset.set(r.next);
    g.length.set(r.end - r.next);
    tell(peer, wire::PacketKind::kGrant, std::as_bytes(std::span{&g, 1}));
}

// The transfer is over on this side: tell the sender, forget the slot. Returns the status to complete with; the caller completes.
Status Proto::finish_pull(Peer& peer, RecvRequest& r, Status status) noexcept
{
    if (!r.one_sided) {
        note(config_.trace, TraceKind::kRndvEnd, peer.id, r.result.length, static_cast<std::uint64_t>(status));
    }
    if (r.staging != nullptr) {
        release(r.staging, kStaging);
        r.staging = nullptr;
    }
    MutexLock guard{peer.lock};
    if (static_cast<ListLink&>(r).linked()) {
        IntrusiveList<RecvRequest>::remove(r);
    }
    if (r.slot != 0) {
        recv_slots_.release(r.slot);
        r.slot = 0;
    }
    if (r.kind == Request::Kind::kServedWrite) {
        --peer.served;
        if (status == Status::kOk) {
            note_write(static_cast<const ServedWrite&>(r));
        }
        layer_->message_sent(peer, 0);
    } else if (r.one_sided) {
        --peer.open_one_sided;
    }
    if (peer.down_reason() == Status::kOk && r.send_slot != 0) {   // 0: a read that its reply ended
        wire::FinHeader h;
        h.send_slot.set(r.send_slot);
        h.status = static_cast<std::int8_t>(status == Status::kTruncated ? Status::kOk : status);
        tell(peer, wire::PacketKind::kFin, std::as_bytes(std::span{&h, 1}));
    }
    return status;
}

// Of a write that comes unasked: its lane has brought the announcement. Lanes keep the order, so the announced ones are all up to a number.
bool Proto::announced(Peer& peer, std::uint32_t number) noexcept
{
    const std::uint32_t ahead = number - peer.unasked_came;
    if (ahead != 0 && ahead < UINT32_MAX / 2 && ahead > wire::kMaxOneSided) {
        protocol_error(peer, "it sends a write that it cannot have announced");
    }
    return ahead == 0 || ahead >= UINT32_MAX / 2;
}

// Null: it was refused, or is over.
RecvRequest* Proto::find_unasked(Peer& peer, std::uint32_t number) noexcept
{
    MutexLock guard{peer.lock};
    for (RecvRequest* r = peer.active_recvs.front(); r != nullptr; r = peer.active_recvs.next(*r)) {
        if (r->kind == Request::Kind::kServedWrite && static_cast<ServedWrite*>(r)->unasked && static_cast<ServedWrite*>(r)->number == number) {
            return r;
        }
    }
    return nullptr;
}

// Only what was asked for, by the latest grant, and in order may touch the user's buffer; all else is read and thrown away. After a broken link the
// sender begins again, so a packet may repeat bytes that are in place.
Landing Proto::on_bulk_begin(session::Session& s, const wire::BulkHead& head) noexcept
{
    Peer& peer = peer_of(s);
    const bool unasked = (head.flags.get() & wire::flag::kUnasked) != 0;
    if (unasked && !announced(peer, head.recv_slot.get())) {
        return {.later = peer.down_reason() == Status::kOk};
    }
    RecvRequest* const r = unasked ? find_unasked(peer, head.recv_slot.get()) : recv_slots_.find(head.recv_slot.get());
    const std::size_t bytes = head.body_bytes.get();
    if (r == nullptr || r->peer != &peer || r->generation != head.recv_generation.get() || r->in_landing ||
        head.offset.get() > r->next || bytes > r->end - head.offset.get() || head.offset.get() + bytes <= r->next ||
        (r->staging != nullptr ? bytes > kStaging : !r->data.contiguous()) ||
        (r->one_sided && (r->end <= wire::kOrderedBytes || (r->answered && r->send_slot == 0)))) {   // its reply is, or was, all
        counters_.add(Counter::kStaleBulkDropped, 1);
        return {};
    }
    r->in_landing = true;
    r->landing_at = head.offset.get();
    return {r->staging != nullptr ? r->staging : r->data.base + r->landing_at, bytes, r};
}

bool Proto::needs_bulk(session::Session& s) noexcept
{
    const Peer& peer = peer_of(s);
    peer.lock.assert_held();
    return !peer.open_sends.empty() || !peer.active_recvs.empty();
}

std::size_t Proto::bulk_awaited(session::Session& s) noexcept
{
    Peer& peer = peer_of(s);
    MutexLock guard{peer.lock};
    std::size_t bytes = 0;
    for (RecvRequest* r = peer.active_recvs.front(); r != nullptr; r = peer.active_recvs.next(*r)) {
        if (r->next < r->end && !r->one_sided) {   // the answer to a read may bring some of it along
            bytes += sizeof(wire::BulkHead) + static_cast<std::size_t>(r->end - r->next);
        }
    }
    return bytes;
}

void Proto::on_bulk_end(session::Session& s, void* cookie, std::size_t landed, bool ok) noexcept
{
    auto* const r = static_cast<RecvRequest*>(cookie);
    if (r == nullptr) {
        return;
    }
    r->in_landing = false;
    if (r->staging != nullptr) {
        r->data.scatter(r->landing_at, {r->staging, landed});
    }
    // A packet may repeat bytes that are in place, and one that failed may have overwritten them with others: they are asked for again.
    const std::size_t landed_to = r->landing_at + landed;
    r->next = ok ? std::max(r->next, landed_to) : landed_to;
    if (r->next == r->end && !r->first_on_its_way) {
        const Status whole = r->result.length > r->data.length ? Status::kTruncated : Status::kOk;
        complete(*r, finish_pull(peer_of(s), *r, whole));
    }
}

// The link may have lost what it had taken, and either side may notice first. The sender begins its grants again on the next link; the receiver
// asks for what has not come under a new generation, which spares most of that.
void Proto::on_bulk_down(session::Session& s) noexcept
{
    Peer& peer = peer_of(s);
    MutexLock guard{peer.lock};
    SendRequest* next = nullptr;
    for (SendRequest* r = peer.open_sends.front(); r != nullptr; r = next) {
        next = peer.open_sends.next(*r);
        r->in_flight = false;
        if (r->ended) {
            unqueue_bulk(peer, *r);
            finish_send(peer, *r, r->end_status);
            continue;
        }
        r->staged = 0;
        r->grant.next = r->grant.begin;
        r->grant.again = true;
        if (r->grant.unasked && r->tx_out) {   // the next link may have no way to tell that they are to come later: on_acked() goes on
            unqueue_bulk(peer, *r);
        }
        queue_bulk(peer, *r);
    }
    for (RecvRequest* r = peer.active_recvs.front(); r != nullptr; r = peer.active_recvs.next(*r)) {
        if (r->next < r->end && r->send_slot != 0) {   // a read without its reply was granted by its request: the sender begins again
            send_grant(peer, *r);
        }
    }
}

// ---- sender ----

void Proto::arrive_grant(Peer& peer, const wire::GrantHeader& h) noexcept
{
    SendRequest* const r = send_slots_.find(h.send_slot.get());
    const std::uint64_t offset = h.offset.get();
    const std::uint64_t length = h.length.get();
    bool wrong = r == nullptr;
    if (r != nullptr) {
        MutexLock guard{peer.lock};
        const bool over = r->ended || r->ends_with_tx;   // its receiver said so, and only our own link still knows it
        wrong = r->peer != &peer || over || offset > r->data.length || length > r->data.length - offset || length == 0;
        if (!wrong) {
            r->grant = {h.recv_slot.get(), h.recv_generation.get(), offset, offset, offset + length, h.max_packet.get(), false, r->grant.generation != 0};
            r->staged = 0;
            layer_->transfer_begins(peer, h.send_slot.get(), length);
            queue_bulk(peer, *r);
            push_bulk(peer, TaskKind::kAnswer);
        }
    }
    if (wrong) {
        protocol_error(peer, "it asked for bytes of a message that does not exist");
    }
}

// It has something to send and nothing on the way: of each message one packet at a time, of several messages as many as the link takes.
void Proto::queue_bulk(Peer& peer, SendRequest& r) noexcept
{
    const bool unannounced = r.grant.unasked && r.grant.again && r.tx_out;
    if (!r.in_bulk_queue && !r.in_flight && r.grant.next < r.grant.end && !unannounced) {
        r.in_bulk_queue = true;
        peer.bulk_queue.push_back(r);
    }
}

void Proto::pump_bulk(Peer& peer) noexcept
{
    while (SendRequest* const r = peer.bulk_queue.front()) {
        if (!send_chunk(peer, *r)) {
            return;
        }
        SendRequest* const front = peer.bulk_queue.pop_front();   // it is `r`; others get their turn
        front->in_bulk_queue = false;
        queue_bulk(peer, *front);
    }
}

// One bulk packet. False: the link takes no more now.
bool Proto::send_chunk(Peer& peer, SendRequest& r) noexcept
{
    GrantState& g = r.grant;
    std::size_t bytes = std::min<std::uint64_t>(std::max(config_.bulk_chunk, layer_->bulk_packet(peer)), g.end - g.next);
    if (g.max_packet != 0) {
        bytes = std::min<std::size_t>(bytes, g.max_packet);
    }
    if (bytes == 0) {
        return true;
    }
    std::span<const std::byte> payload;
    if (r.data.contiguous()) {
        payload = r.data.view(g.next, bytes);
    } else {
        if (r.staging == nullptr) {
            r.staging = acquire(kStaging);
        }
        if (r.staging == nullptr) {
            layer_->lost_for_memory(peer);
            engine_.kick();
            return false;
        }
        if (r.staged == 0 || r.staged_at != g.next) {
            r.staged = std::min(bytes, kStaging);
            r.staged_at = g.next;
            r.data.gather(g.next, {r.staging, r.staged});
        }
        bytes = r.staged;
        payload = {r.staging, bytes};
    }
    r.bulk_head = {};
    r.bulk_head.body_bytes.set(static_cast<std::uint32_t>(bytes));
    r.bulk_head.recv_slot.set(g.recv_slot);
    r.bulk_head.recv_generation.set(g.generation);
    r.bulk_head.offset.set(g.next);
    r.bulk_head.flags.set(g.unasked ? wire::flag::kUnasked : 0);
    const Status sent = layer_->send_bulk(peer, r.bulk_head, payload, &r);
    if (sent != Status::kOk && sent != Status::kInProgress) {
        return false;
    }
    g.next += bytes;
    r.in_flight = sent == Status::kInProgress;
    return true;
}

// Take it out of the queue, wherever it stands.
void Proto::unqueue_bulk(Peer& peer, SendRequest& r) noexcept
{
    if (!r.in_bulk_queue) {
        return;
    }
    IntrusiveQueue<SendRequest> rest;
    while (SendRequest* q = peer.bulk_queue.pop_front()) {
        if (q != &r) {
            rest.push_back(*q);
        }
    }
    r.in_bulk_queue = false;
    peer.bulk_queue = rest;
}

// Its receiver wants no more of it. `arrived`: because it has every byte. A link that carries its packets for the first time has delivered them then, so the
// transport need not wait for the acknowledgement; one that repeats them has not: that packet goes on, and still reads the user's buffer.
void Proto::end_bulk(Peer& peer, SendRequest& r, Status status, bool arrived) noexcept
{
    r.grant.begin = r.grant.next = r.grant.end = 0;
    const bool was_in_flight = r.in_flight;
    if (was_in_flight && (!arrived || r.grant.again || !layer_->bulk_over(peer, &r))) {
        r.ended = true;
        r.end_status = status;
        return;
    }
    r.in_flight = false;
    unqueue_bulk(peer, r);
    finish_send(peer, r, status);
    if (was_in_flight) {
        pump_bulk(peer);
    }
}

void Proto::on_bulk_sent(session::Session& s, void* cookie, bool ok) noexcept
{
    Peer& peer = peer_of(s);
    auto& r = *static_cast<SendRequest*>(cookie);
    MutexLock guard{peer.lock};
    r.in_flight = false;
    if (!ok) {
        if (r.ended) {
            finish_send(peer, r, r.end_status);
        }
        return;   // on_bulk_down() or on_peer_down() follows
    }
    if (r.ended) {
        finish_send(peer, r, r.end_status);
    } else {
        queue_bulk(peer, r);
    }
    push_bulk(peer, TaskKind::kSend);
}

void Proto::on_bulk_ready(session::Session& s) noexcept
{
    Peer& peer = peer_of(s);
    MutexLock guard{peer.lock};
    push_bulk(peer, TaskKind::kSend);
}

}   // namespace linnet::proto

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: what a packet of the lane does when it arrives. Token held.
#include <algorithm>
#include <cstring>
#include <utility>

#include "proto/lean.h"

namespace linnet::proto {

namespace {
template <class T>
T load(std::span<const std::byte> from) noexcept
{
    T t;
    std::memcpy(&t, from.data(), sizeof t);
    return t;
}
}   // namespace

void Proto::other_message(Peer& peer, std::span<const std::byte> packet) noexcept
{
    const wire::PacketHead& head = wire::head_of(packet);
    const std::span<const std::byte> body = packet.subspan(sizeof head);
    const auto& header = *reinterpret_cast<const wire::RtsHeader*>(body.data());
    switch (head.kind) {
        case wire::PacketKind::kEager: {
            const std::span<const std::byte> payload = body.subspan(sizeof(wire::TagHeader));
            arrive_tagged(peer, {head, header, payload.size()}, payload);
            return;
        }
        case wire::PacketKind::kRts: {
            const Arrival a{head, header, body.size() - sizeof(wire::RtsHeader)};
            if (a.payload_bytes > a.rts.length.get()) {
                protocol_error(peer, "a first fragment is longer than its message");
                return;
            }
            arrive_tagged(peer, a, body.subspan(sizeof(wire::RtsHeader)));
            return;
        }
        case wire::PacketKind::kGrant: arrive_grant(peer, load<wire::GrantHeader>(body)); return;
        case wire::PacketKind::kFin:
        case wire::PacketKind::kMatched:
        case wire::PacketKind::kCancelReply: arrive_fin(peer, head.kind, load<wire::FinHeader>(body)); return;
        case wire::PacketKind::kCancel: arrive_cancel(peer, load<wire::FinHeader>(body)); return;
        case wire::PacketKind::kActive: {
            const auto h = load<wire::ActiveHeader>(body);
            const std::span<const std::byte> rest = body.subspan(sizeof h);
            ActiveEvent* const e = make_active(peer, h, rest.size());
            if (e != nullptr) {
                std::memcpy(e->body, rest.data(), rest.size());
                active_arrived(*e);
            }
            return;
        }
        case wire::PacketKind::kWrite: {
            const auto h = load<wire::WriteHeader>(body);
            const std::span<const std::byte> payload = body.subspan(sizeof h);
            if (RecvRequest* const r = arrive_write(peer, head, h, payload.size()); r != nullptr) {
                r->data.scatter(0, payload);
                matched_payload_done(peer, *r, {head, envelope_of(h), payload.size()});
            }
            return;
        }
        case wire::PacketKind::kAtomic: arrive_atomic(peer, load<wire::AtomicHeader>(body), body.subspan(sizeof(wire::AtomicHeader))); return;
        case wire::PacketKind::kRead: arrive_read(peer, load<wire::ReadHeader>(body)); return;
        case wire::PacketKind::kReadReply: {
            const auto h = load<wire::ReadReplyHeader>(body);
            const std::span<const std::byte> payload = body.subspan(sizeof h);
            if (RecvRequest* const r = arrive_read_reply(peer, h, payload.size()); r != nullptr) {
                r->data.scatter(0, payload);
                read_reply_done(peer, *r);
            }
            return;
        }
        case wire::PacketKind::kNone:
        case wire::PacketKind::kAck:
        case wire::PacketKind::kGoodbye:
        case wire::PacketKind::kBulkData: return;
    }
}

// The receive that takes this message, or null: then `u` is its record, queued. With `here`, its payload, the record is complete and any thread may have
// taken and freed it already; without, it is marked as arriving. Both null: no memory, and the peer has been given up.
RecvRequest* Proto::match_arrival(Peer& peer, const Arrival& a, const std::byte* here, Unexpected*& u) noexcept
{
    const bool rendezvous = a.head.kind == wire::PacketKind::kRts;
    const std::uint64_t length = rendezvous ? a.rts.length.get() : a.payload_bytes;
    Space* const space = admit(peer, a, length);
    if (space == nullptr) {
        return nullptr;
    }
    if (rendezvous) {
        counters_.add(Counter::kRndvReceived);
    }
    Queued queued;
    {
        SpinLockGuard guard{space->lock};
        PostedReceive* const p = space->match.arrive(peer.id, a.rts.tag.match_bits.get());
        if (p != nullptr) {
            auto& r = static_cast<RecvRequest&>(*p);
            note_match(peer, length, a.rts.tag.match_bits.get(), rendezvous);
            r.peer = &peer;
            fill_result(r.result, peer, a, length);
            return &r;
        }
        queued = queue_unexpected(peer, *space, a, here);
    }
    tell_queued(peer, *space, a, queued);
    u = queued.u;
    return nullptr;
}

void Proto::tell_queued(Peer& peer, Space& space, const Arrival& a, Queued queued) noexcept
{
    if (queued.owes) {
        tell_matched(peer, a.rts.tag.send_slot.get());
    }
    tell_watcher(space, SpaceNews::kMessages);
}

Proto::Queued Proto::queue_unexpected(Peer& peer, Space& space, const Arrival& a, const std::byte* here) noexcept
{
    counters_.add(Counter::kUnexpected, 1);
    note(config_.trace, TraceKind::kUnexpected, peer.id, a.head.kind == wire::PacketKind::kRts ? a.rts.length.get() : a.payload_bytes,
         a.rts.tag.match_bits.get());
    Unexpected* const u = make_unexpected(peer, a.head, a.rts, a.payload_bytes);
    if (u == nullptr) {
        return {};
    }
    u->space = &space;
    u->arriving = here == nullptr;
    if (here != nullptr && a.payload_bytes > 0) {
        std::memcpy(u->buffer, here, a.payload_bytes);
    }
    space.match.add_unexpected(*u);
    if (u->rendezvous || u->sync) {
        SpinLockGuard named{peer.named_lock};
        peer.named.push_back(*u);
    }
    return {u, owes(space, *u)};
}

void Proto::arrive_tagged(Peer& peer, const Arrival& a, std::span<const std::byte> payload) noexcept
{
    Unexpected* u = nullptr;
    const bool small = payload.size() <= kCopyUnderLock;
    RecvRequest* const r = match_arrival(peer, a, small ? payload.data() : nullptr, u);
    if (r != nullptr) {
        const std::size_t here = std::min<std::uint64_t>(payload.size(), r->data.length);
        r->data.scatter(0, payload.first(here));
        matched_payload_done(peer, *r, a);
        return;
    }
    if (u == nullptr) {
        layer_->declare_down(peer, Status::kNoMemory, "no memory for a message that has no receive yet");
        return;
    }
    if (!small) {   // a small one is no longer ours
        std::memcpy(u->buffer, payload.data(), payload.size());
        unexpected_payload_done(*u);
    }
}

void Proto::plan_pull(RecvRequest& r, const Arrival& a) noexcept
{
    r.send_slot = a.rts.tag.send_slot.get();
    r.address = a.rts.address.get();
    r.next = std::min<std::uint64_t>(a.payload_bytes, r.data.length);
    r.end = std::min<std::uint64_t>(a.rts.length.get(), r.data.length);
}

// Its sender waits for that.
void Proto::tell_matched(Peer& peer, std::uint32_t send_slot) noexcept
{
    wire::FinHeader h;
    h.send_slot.set(send_slot);
    MutexLock guard{peer.lock};
    tell(peer, wire::PacketKind::kMatched, std::as_bytes(std::span{&h, 1}));
}

// The payload that came with the envelope is in the user's buffer.
void Proto::matched_payload_done(Peer& peer, RecvRequest& r, const Arrival& a) noexcept
{
    if (a.head.kind != wire::PacketKind::kWrite) {
        give_credit_here(peer, a.payload_bytes);
    }
    if (a.head.kind == wire::PacketKind::kRts && a.payload_bytes == 0 && a.rts.address.get() == 0 && a.rts.length.get() <= config_.eager_limit) {
        give_more_credit(peer);
    }
    if (r.slot != 0) {   // the rest was asked for when the head came, and may be here
        r.first_on_its_way = false;
        if (r.next == r.end) {
            complete(r, finish_pull(peer, r, r.result.length > r.data.length ? Status::kTruncated : Status::kOk));
        }
        return;
    }
    if (a.head.kind != wire::PacketKind::kEager) {
        plan_pull(r, a);
        const Status status = start_pull(peer, r);
        if (status != Status::kInProgress) {
            complete(r, status);
        }
        return;
    }
    if ((a.head.flags.get() & wire::flag::kSync) != 0) {
        tell_matched(peer, a.rts.tag.send_slot.get());
    }
    complete(r, a.payload_bytes > r.data.length ? Status::kTruncated : Status::kOk);
}

void Proto::unexpected_payload_done(Unexpected& u) noexcept
{
    RecvRequest* claimant = nullptr;
    bool dropped = false;
    bool owes_now = false;
    Peer& peer = *u.peer;
    Space& space = *u.space;
    const std::uint32_t send_slot = u.send_slot;
    {
        SpinLockGuard guard{space.lock};
        u.arriving = false;
        claimant = u.claimant;
        dropped = u.dropped;
        owes_now = claimant == nullptr && !dropped && owes(space, u);
    }
    if (owes_now) {   // anybody may have taken and freed it already
        tell_matched(peer, send_slot);
    } else if (dropped) {
        discard(u);
    } else if (claimant != nullptr) {
        const Status status = deliver(u, *claimant);
        if (status != Status::kInProgress) {
            complete(*claimant, status);
        } else {
            engine_.work_closed();   // deliver() opened it a second time
        }
    }
}

// ---- a packet whose payload is still on its way ----

Landing Proto::on_message_begin(session::Session& s, std::span<const std::byte> packet, std::size_t payload_bytes) noexcept
{
    Peer& peer = peer_of(s);
    const auto head = load<wire::PacketHead>(packet);
    const std::span<const std::byte> body = packet.subspan(sizeof head);
    peer.landing_unexpected = nullptr;
    peer.landing_recv = nullptr;
    peer.landing_active = nullptr;
    peer.landing_staging = nullptr;
    peer.landing_bytes = payload_bytes;
    peer.landing_head = head;
    if (head.kind == wire::PacketKind::kActive) {
        peer.landing_active = make_active(peer, load<wire::ActiveHeader>(body), payload_bytes);
        return landing_place(peer);
    }
    if (head.kind == wire::PacketKind::kAtomic) {
        return atomic_begins(peer, load<wire::AtomicHeader>(body), payload_bytes);
    }
    if (head.kind == wire::PacketKind::kWrite || head.kind == wire::PacketKind::kReadReply) {
        return one_sided_begins(peer, head, body, payload_bytes);
    }
    if (head.kind == wire::PacketKind::kRts) {
        peer.landing_header = load<wire::RtsHeader>(body);
        if (payload_bytes > peer.landing_header.length.get()) {
            protocol_error(s, "a first fragment is longer than its message");
            return {};
        }
    } else if (head.kind == wire::PacketKind::kEager) {
        peer.landing_header.tag = load<wire::TagHeader>(body);
    } else {
        protocol_error(s, "a control message has a payload");
        return {};
    }
    const Arrival a{peer.landing_head, peer.landing_header, payload_bytes};
    Unexpected* u = nullptr;
    peer.landing_recv = match_arrival(peer, a, nullptr, u);
    if (peer.landing_recv != nullptr) {
        if (!peer.landing_recv->data.contiguous()) {
            peer.landing_staging = acquire(payload_bytes);
            if (peer.landing_staging == nullptr && payload_bytes != 0) {
                complete(*std::exchange(peer.landing_recv, nullptr), Status::kNoMemory);
                layer_->declare_down(peer, Status::kNoMemory, "no memory for a message in pieces");
                return {};
            }
        }
        if (head.kind == wire::PacketKind::kRts) {
            start_pull_early(peer, *peer.landing_recv, a);
        }
        return landing_place(peer);
    }
    if (u == nullptr) {
        layer_->declare_down(peer, Status::kNoMemory, "no memory for a message that has no receive yet");
        return {};
    }
    peer.landing_unexpected = u;
    return landing_place(peer);
}

// What is refused lands nowhere.
Landing Proto::one_sided_begins(Peer& peer, const wire::PacketHead& head, std::span<const std::byte> body, std::size_t payload_bytes) noexcept
{
    if (head.kind == wire::PacketKind::kWrite) {
        const auto h = load<wire::WriteHeader>(body);
        peer.landing_header = envelope_of(h);
        peer.landing_recv = arrive_write(peer, head, h, payload_bytes);
        if (peer.landing_recv != nullptr) {
            start_pull_early(peer, *peer.landing_recv, {peer.landing_head, peer.landing_header, payload_bytes});
        }
    } else {
        peer.landing_recv = arrive_read_reply(peer, load<wire::ReadReplyHeader>(body), payload_bytes);
        if (peer.landing_recv != nullptr && !peer.landing_recv->data.contiguous()) {
            peer.landing_staging = acquire(payload_bytes);
            if (peer.landing_staging == nullptr) {
                peer.landing_recv = nullptr;   // on_peer_down() ends it
                layer_->declare_down(peer, Status::kNoMemory, "no memory for the reply to a read");
                return {};
            }
        }
    }
    return landing_place(peer);
}

Landing Proto::landing_place(Peer& peer) noexcept
{
    if (peer.landing_recv != nullptr) {
        const Data& d = peer.landing_recv->data;
        if (d.contiguous()) {
            return {d.base, std::min<std::uint64_t>(peer.landing_bytes, d.length), nullptr};
        }
        return {peer.landing_staging, peer.landing_staging == nullptr ? 0 : peer.landing_bytes, nullptr};
    }
    if (peer.landing_unexpected != nullptr) {
        return {peer.landing_unexpected->buffer, peer.landing_bytes, nullptr};
    }
    if (peer.landing_active != nullptr) {
        return {peer.landing_active->body, peer.landing_bytes, nullptr};
    }
    if (peer.landing_staging != nullptr) {   // an atomic operation
        return {peer.landing_staging, peer.landing_bytes, nullptr};
    }
    return {};
}

// The link broke in mid-payload; the message comes again from its start and lands in the same place.
Landing Proto::on_message_resume(session::Session& s, void*) noexcept { return landing_place(peer_of(s)); }

void Proto::on_message_end(session::Session& s, void*) noexcept
{
    Peer& peer = peer_of(s);
    if (peer.landing_recv != nullptr) {
        RecvRequest& r = *peer.landing_recv;
        peer.landing_recv = nullptr;
        if (peer.landing_staging != nullptr) {
            r.data.scatter(0, {peer.landing_staging, static_cast<std::size_t>(std::min<std::uint64_t>(peer.landing_bytes, r.data.length))});
            release(peer.landing_staging, peer.landing_bytes);
            peer.landing_staging = nullptr;
        }
        if (peer.landing_head.kind == wire::PacketKind::kReadReply) {
            read_reply_done(peer, r);
        } else {
            matched_payload_done(peer, r, Arrival{peer.landing_head, peer.landing_header, peer.landing_bytes});
        }
    } else if (peer.landing_unexpected != nullptr) {
        Unexpected& u = *peer.landing_unexpected;
        peer.landing_unexpected = nullptr;
        unexpected_payload_done(u);
    } else if (peer.landing_active != nullptr) {
        ActiveEvent& e = *peer.landing_active;
        peer.landing_active = nullptr;
        active_arrived(e);
    } else if (peer.landing_staging != nullptr) {
        std::byte* const operands = std::exchange(peer.landing_staging, nullptr);
        arrive_atomic(peer, peer.landing_atomic, {operands, peer.landing_bytes});
        release(operands, peer.landing_bytes);
    }
}

void Proto::on_message_lost(session::Session& s, void*) noexcept
{
    Peer& peer = peer_of(s);
    const Status why = s.down_reason();
    if (peer.landing_recv != nullptr) {
        RecvRequest& r = *peer.landing_recv;
        peer.landing_recv = nullptr;
        release(peer.landing_staging, peer.landing_bytes);
        peer.landing_staging = nullptr;
        if (r.slot != 0) {
            r.first_on_its_way = false;   // on_peer_down() follows, and ends it: its bulk link may be writing into it until then
        } else {
            complete(r, why);
        }
    } else if (peer.landing_unexpected != nullptr) {
        Unexpected& u = *peer.landing_unexpected;
        peer.landing_unexpected = nullptr;
        RecvRequest* claimant = nullptr;
        bool host_has_it = false;   // by a matched probe: it frees the record when it receives
        Space& space = *u.space;
        {
            SpinLockGuard guard{space.lock};
            claimant = u.claimant;
            if (claimant == nullptr && !u.claimed && !u.dropped) {
                space.match.claim(u);
            }
            u.arriving = false;
            u.lost = true;
            host_has_it = u.claimed && claimant == nullptr;
            if (!host_has_it) {
                unlist(space, u);
            }
        }
        if (claimant != nullptr) {
            fill_result(claimant->result, u);
            complete(*claimant, why);
        }
        if (!host_has_it) {
            free_unexpected(u);
        }
    } else if (peer.landing_active != nullptr) {
        ActiveEvent& e = *peer.landing_active;
        peer.landing_active = nullptr;
        release_active(e);
    } else if (peer.landing_staging != nullptr) {
        release(std::exchange(peer.landing_staging, nullptr), peer.landing_bytes);
    }
}

// ---- control ----

// The sender wants a message back. It can have it while nobody has matched it.
void Proto::arrive_cancel(Peer& peer, const wire::FinHeader& h) noexcept
{
    Unexpected* found = nullptr;
    Space* space = nullptr;
    const auto look = [&]() LINNET_REQUIRES(peer.named_lock) -> Unexpected* {
        for (Unexpected* u = peer.named.front(); u != nullptr; u = peer.named.next(*u)) {
            if (u->send_slot == h.send_slot.get()) {
                return u;
            }
        }
        return nullptr;
    };
    {
        SpinLockGuard guard{peer.named_lock};
        found = look();
        space = found != nullptr ? found->space : nullptr;
    }
    bool taken = false;
    if (found != nullptr) {
        // It may have been matched, and freed, since. Matching takes the space's lock first, so what is still listed under both locks is unmatched.
        SpinLockGuard guard{space->lock};
        SpinLockGuard named{peer.named_lock};
        found = look();
        if (found != nullptr && found->space == space && !found->arriving) {
            IntrusiveList<Unexpected, NamedLink>::remove(*found);
            if (static_cast<OwedLink&>(*found).linked()) {
                IntrusiveList<Unexpected, OwedLink>::remove(*found);
            }
            space->match.claim(*found);
            taken = true;
        }
    }
    wire::FinHeader reply;
    reply.send_slot = h.send_slot;
    reply.status = static_cast<std::int8_t>(taken ? Status::kCanceled : Status::kOk);
    if (taken) {
        give_credit(peer, found->buffered);
        free_unexpected(*found);
    }
    MutexLock guard{peer.lock};
    if (taken) {
        tell(peer, wire::PacketKind::kCancelReply, std::as_bytes(std::span{&reply, 1}));
    } else {   // what matched it tells the sender
        static_cast<void>(send_control(peer, wire::PacketKind::kCancelReply, std::as_bytes(std::span{&reply, 1})));
    }
}

void Proto::arrive_fin(Peer& peer, wire::PacketKind kind, const wire::FinHeader& h) noexcept
{
    SendRequest* const r = send_slots_.find(h.send_slot.get());
    if (r == nullptr) {
        if (kind != wire::PacketKind::kCancelReply) {   // a cancel and the end of its message may cross
            protocol_error(peer, "it ended a transfer that does not exist");
        }
        return;
    }
    bool broken = false;
    bool answer = false;   // to a write: a message as the lane sees it, as it is waited for
    {
        MutexLock guard{peer.lock};
        if (r->peer != &peer) {
            broken = true;
        } else if (kind != wire::PacketKind::kCancelReply) {
            answer = r->one_sided;
            layer_->transfer_ends(peer, h.send_slot.get(), h.status == static_cast<std::int8_t>(Status::kOk));
            end_bulk(peer, *r, r->one_sided ? refusal_of(h.status) : Status::kOk, h.status == static_cast<std::int8_t>(Status::kOk));
        } else if (h.status == static_cast<std::int8_t>(Status::kCanceled)) {
            end_bulk(peer, *r, Status::kCanceled, false);
        }
    }
    if (answer) {
        layer_->message_came(peer, 0);
    }
    if (broken) {
        protocol_error(peer, "it ended a transfer of another peer");
    }
}

}   // namespace linnet::proto

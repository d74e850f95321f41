// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: one-sided operations: writes into, and reads out of, the memory regions of a peer; its poller serves them.
//
// A write is a message whose receive is a memory region: the same packets, grants, bulk data and fin. A read is the same seen from the
// other side: the request is the receive and its first grant, and the peer's answer the envelope.
#include <algorithm>
#include <cstring>
#include <new>

#include "proto/build.h"
#include "proto/lean.h"

namespace linnet::proto {

namespace {
constexpr std::size_t kStaging = BlockPool::kLargest;
}   // namespace

// ---- the side that asks ----

// Nothing is changed unless kOk. A fence waits for all that was started before (kAgain): the caller comes again when it has made progress that
// told it of the end of one.
Status Proto::may_start(Peer& peer, const RemoteArgs& args) noexcept
{
    if (const Status down = peer.down_reason(); down != Status::kOk) {
        return down;
    }
    if (args.fence && peer.open_operations.load(std::memory_order_seq_cst) != 0) {
        return Status::kAgain;
    }
    return peer.open_one_sided >= wire::kMaxOneSided ? Status::kNoResource : Status::kOk;
}

// What of a write travels with its announcement: all, while that is what keeps the order or the lane is the better way, as for a message.
std::uint64_t Proto::first_of_write(Peer& peer, std::uint64_t length) const noexcept
{
    const std::uint64_t most = std::max(config_.rndv_first, wire::kOrderedBytes);
    const bool unasked = peer.takes_unasked();
    if (length <= wire::kOrderedBytes || (length <= most && length <= layer_->lane_worth(peer, !unasked))) {
        return length;
    }
    return unasked ? 0 : std::min<std::uint64_t>({length, config_.rndv_first, layer_->first_fragment(peer)});
}

Status Proto::write(Peer& peer, const RemoteArgs& args, SendRequest& r) noexcept
{
    MutexLock guard{peer.lock};
    if (const Status s = may_start(peer, args); s != Status::kOk) {
        return s;
    }
    const std::uint64_t length = r.data.length;
    layer_->message_sent(peer, length);
    const bool offered = length > config_.offer_min && r.data.contiguous() && offers(peer, length, true);
    std::uint64_t first = offered ? 0 : first_of_write(peer, length);
    if (!r.data.contiguous() && length > kStaging) {
        first = 0;
    } else if (!r.data.contiguous() && length > 0) {
        r.staging = acquire(kStaging);
        if (r.staging == nullptr) {
            return Status::kNoMemory;
        }
        r.data.gather(0, {r.staging, static_cast<std::size_t>(length)});
        first = length;
    }
    const bool unasked = !offered && first < length && peer.takes_unasked() && layer_->lane_ready(peer);
    r.slot = send_slots_.acquire(r);
    if (r.slot == 0 || (args.has_immediate && !charge(peer, wire::kEventCredit))) {
        release(r.staging, kStaging);
        if (r.slot != 0) {
            send_slots_.release(r.slot);
        }
        return Status::kNoResource;
    }
    wire::WriteHeader h;
    h.key.set(args.key);
    h.address.set(args.address);
    h.length.set(length);
    h.immediate.set(args.immediate);
    h.offered.set(offered ? reinterpret_cast<std::uintptr_t>(r.data.base) : 0);
    h.send_slot.set(r.slot);
    const std::uint32_t flags = (args.has_immediate ? wire::flag::kImmediate : 0u) | (unasked ? wire::flag::kUnasked : 0u);
    std::size_t at = put(r.head.data(), packet_head(wire::PacketKind::kWrite, sizeof h + first, static_cast<std::uint16_t>(flags)));
    at += put(r.head.data() + at, h);
    r.one_sided = true;
    r.result.length = length;
    r.tx.kind = kTxEmbedded;
    r.tx.owner = &r;
    r.tx_out = true;
    r.tx.head = r.head.data();
    r.tx.head_bytes = static_cast<std::uint32_t>(at);
    r.tx.payload = r.staging != nullptr ? std::span<const std::byte>{r.staging, first} : r.data.view(0, first);
    open(r, peer);
    ++peer.open_one_sided;
    SendTally::add(peer.sent.one_sided);
    SendTally::add(peer.sent.bytes, length);
    const auto ignored = layer_->send(peer, r.tx);
    static_cast<void>(ignored);
    if (unasked) {   // the receiver knows where it goes from what was just sent, so nothing is gained by asking first
        shared_counters_.add_shared(Counter::kRmaUnasked);
        r.grant = {++peer.unasked_sent, 1, 0, 0, length, 0, true};
        layer_->transfer_begins(peer, r.slot, length);
        queue_bulk(peer, r);
        push_bulk(peer, TaskKind::kSend);
    }
    return Status::kInProgress;
}

Status Proto::read(Peer& peer, const RemoteArgs& args, RecvRequest& r) noexcept
{
    MutexLock guard{peer.lock};
    if (const Status s = may_start(peer, args); s != Status::kOk) {
        return s;
    }
    if (!r.data.contiguous() && r.data.length > wire::kOrderedBytes) {
        r.staging = acquire(kStaging);
        if (r.staging == nullptr) {
            return Status::kNoMemory;
        }
    }
    if (expect_reply(peer, r) == 0) {
        release(r.staging, kStaging);
        return Status::kNoResource;
    }
    layer_->message_sent(peer, 0);
    wire::ReadHeader h;
    h.key.set(args.key);
    h.address.set(args.address);
    h.length.set(r.data.length);
    h.recv_slot.set(r.slot);
    h.max_packet.set(r.staging != nullptr ? static_cast<std::uint32_t>(kStaging) : 0);
    const Status sent = send_control(peer, wire::PacketKind::kRead, std::as_bytes(std::span{&h, 1}));
    if (failed(sent)) {
        release(r.staging, kStaging);
        recv_slots_.release(r.slot);
        return sent;
    }
    await_reply(peer, r);
    return Status::kInProgress;
}

// A handle for the answer; 0: none is left. Whoever polls may find the request by it from now on.
std::uint32_t Proto::expect_reply(Peer& peer, RecvRequest& r) noexcept
{
    r.peer = &peer;
    r.one_sided = true;
    r.first_on_its_way = true;   // the reply, whatever it brings
    r.generation = 1;
    r.end = r.data.length;
    r.result.length = r.data.length;
    r.result.peer = peer.id;
    r.result.peer_added = true;
    r.slot = recv_slots_.acquire(r);
    return r.slot;
}

// The peer was asked. Whatever it answered already, the lock is held until the request is counted.
void Proto::await_reply(Peer& peer, RecvRequest& r) noexcept
{
    peer.active_recvs.push_back(r);
    engine_.work_opened();
    peer.open_operations.fetch_add(1, std::memory_order_relaxed);
    ++peer.open_one_sided;
    SendTally::add(peer.sent.one_sided);
}

// The read that this reply is for, if its payload is to go there; null: nothing is left to do, or the peer was given up.
RecvRequest* Proto::arrive_read_reply(Peer& peer, const wire::ReadReplyHeader& h, std::size_t payload_bytes) noexcept
{
    RecvRequest* const r = recv_slots_.find(h.recv_slot.get());
    const Status status = refusal_of(h.status);
    const bool whole = h.send_slot.get() == 0;
    if (r == nullptr || r->peer != &peer || !r->one_sided || r->answered ||
        ((whole || h.offered.get() != 0) && (r->in_landing || r->next != 0)) ||   // bulk data for it came before
        payload_bytes != (whole && status == Status::kOk ? r->end : 0) || (!whole && status != Status::kOk)) {
        protocol_error(peer, "it answered a read that nobody asked for, or not as asked");
        return nullptr;
    }
    r->answered = true;
    count_arrival(peer, status == Status::kOk ? r->end : 0);
    if (whole && payload_bytes != 0) {
        return r;
    }
    r->first_on_its_way = false;
    if (whole) {
        complete(*r, finish_pull(peer, *r, status));
        return nullptr;
    }
    r->send_slot = h.send_slot.get();
    r->address = h.offered.get();
    if (r->address != 0 && r->data.contiguous()) {
        read_offered(peer, *r);
        if (r->next < r->end) {
            MutexLock guard{peer.lock};
            send_grant(peer, *r);
        }
    }
    if (r->next == r->end) {
        complete(*r, finish_pull(peer, *r, Status::kOk));
    }
    return nullptr;
}

// The payload of its reply, all that it wanted, is in place.
void Proto::read_reply_done(Peer& peer, RecvRequest& r) noexcept
{
    r.first_on_its_way = false;
    r.next = r.end;
    complete(r, finish_pull(peer, r, Status::kOk));
}

// ---- the side that serves; token held ----

Status Proto::open_region(const RegionSpec& spec, Region*& region) noexcept
{
    const auto opened = regions_.open(spec);
    if (opened.ok()) {
        region = opened.value();
        engine_.work_opened();   // peers may come at any time
        engine_.peers_changed(+1);
    }
    return opened.status();
}

// Whoever polls now may be between its look at the table and its copy. Packets whose payload is on its way into the region are the host's to wait for.
void Proto::close_region(Region& region) noexcept
{
    regions_.close(region);
    engine_.work_closed();
    engine_.peers_changed(-1);
    if (!engine_.token().held_by_me()) {
        engine_.take_token();
        engine_.release_token();
    }
}

void Proto::answer(Peer& peer, std::uint32_t send_slot, Status status) noexcept
{
    wire::FinHeader fin;
    fin.send_slot.set(send_slot);
    fin.status = static_cast<std::int8_t>(status);
    Status sent = Status::kOk;
    {
        MutexLock guard{peer.lock};
        layer_->message_sent(peer, 0);
        sent = send_control(peer, wire::PacketKind::kFin, std::as_bytes(std::span{&fin, 1}));
    }
    if (sent == Status::kNoMemory) {   // it would wait for ever
        layer_->declare_down(peer, sent, "no memory for the answer to a one-sided operation");
    }
}

// What a peer may say why it did not do what it was asked for.
Status Proto::refusal_of(std::int8_t status) noexcept
{
    const auto s = static_cast<Status>(status);
    switch (s) {
        case Status::kOk:
        case Status::kKey:
        case Status::kBounds:
        case Status::kNotAllowed:
        case Status::kNoMemory: return s;
        default: return Status::kInternal;
    }
}

// The write as the envelope of a message.
wire::RtsHeader Proto::envelope_of(const wire::WriteHeader& h) noexcept
{
    wire::RtsHeader rts;
    rts.tag.send_slot = h.send_slot;
    rts.tag.immediate = h.immediate;
    rts.length = h.length;
    rts.address = h.offered;
    return rts;
}

// One more operation of the peer's that this side must remember; a write stands in line. False: more than any peer may have.
bool Proto::serve_one_more(Peer& peer, ServedWrite* write) noexcept
{
    bool within = false;
    {
        MutexLock guard{peer.lock};
        // Those whose end the peer has been told of, but whose last bulk packet the transport has not given back yet, count here still.
        within = peer.served < 2 * wire::kMaxOneSided;
        peer.served += within ? 1 : 0;
        if (within && write != nullptr) {
            write->before = std::exchange(peer.last_served_write, write);
            if (write->before != nullptr) {
                write->before->behind = write;
            }
        }
    }
    if (!within) {
        protocol_error(peer, "it has more one-sided operations open than allowed");
    }
    return within;
}

// The write into its region, as a matched receive; null: refused, or the peer was given up.
RecvRequest* Proto::arrive_write(Peer& peer, const wire::PacketHead& head, const wire::WriteHeader& h, std::size_t payload_bytes) noexcept
{
    const bool immediate = (head.flags.get() & wire::flag::kImmediate) != 0;
    const bool unasked = (head.flags.get() & wire::flag::kUnasked) != 0;
    if (unasked && (payload_bytes != 0 || h.length.get() == 0 || h.offered.get() != 0)) {
        protocol_error(peer, "a write comes unasked, and in another way too");
        return nullptr;
    }
    if (unasked) {   // whatever becomes of it: its bytes may be waiting
        ++peer.unasked_came;
        MutexLock guard{peer.lock};
        peer.resume_bulk();
    }
    if (payload_bytes > h.length.get()) {
        protocol_error(peer, "a first fragment is longer than its write");
        return nullptr;
    }
    if (immediate && !take_credit(peer, wire::kEventCredit)) {
        return nullptr;
    }
    count_arrival(peer, h.length.get());
    const RegionTable::Place place = regions_.find(h.key.get(), h.address.get(), h.length.get(), Access::kWrite);
    std::byte* const memory = place.status == Status::kOk ? acquire(sizeof(ServedWrite)) : nullptr;
    if (memory == nullptr) {
        answer(peer, h.send_slot.get(), place.status != Status::kOk ? place.status : Status::kNoMemory);
        if (immediate) {
            give_credit_here(peer, wire::kEventCredit);
        }
        return nullptr;
    }
    auto* const w = new (memory) ServedWrite;
    if (!serve_one_more(peer, w)) {
        w->~ServedWrite();
        release(memory, sizeof(ServedWrite));
        return nullptr;
    }
    w->peer = &peer;
    w->key = h.key.get();
    w->region = place.number;
    w->unasked = unasked;
    w->number = peer.unasked_came;
    w->data.base = place.at;
    w->data.length = h.length.get();
    w->result.length = h.length.get();
    w->result.immediate = h.immediate.get();
    w->result.has_immediate = immediate;
    return w;
}

void Proto::arrive_read(Peer& peer, const wire::ReadHeader& h) noexcept
{
    const std::uint64_t length = h.length.get();
    layer_->message_came(peer, 0);
    const RegionTable::Place place = regions_.find(h.key.get(), h.address.get(), length, Access::kRead);
    wire::ReadReplyHeader reply;
    reply.recv_slot = h.recv_slot;
    Status status = place.status;
    if (status == Status::kOk && length > wire::kOrderedBytes) {
        status = serve_read(peer, h, place, reply);
        if (status == Status::kProtocol) {
            return;
        }
    } else {
        if (status == Status::kOk) {
            note_access(h.key.get(), place.number, Access::kRead);   // its reply has all; a longer one is over when the peer says so
        }
        reply.status = static_cast<std::int8_t>(status);
        status = send_read_reply(peer, reply, {place.at, status == Status::kOk ? static_cast<std::size_t>(length) : 0});
    }
    if (failed(status)) {   // there was no memory for more than to say so
        reply.status = static_cast<std::int8_t>(status);
        reply.send_slot.set(0);
        if (failed(send_read_reply(peer, reply, {}))) {
            layer_->declare_down(peer, Status::kNoMemory, "no memory for the answer to a read");
        }
    }
}

// The bytes go behind the header: the region may change before the peer has them.
Status Proto::send_read_reply(Peer& peer, const wire::ReadReplyHeader& reply, std::span<const std::byte> bytes) noexcept
{
    MutexLock guard{peer.lock};
    if (peer.said_goodbye) {
        return Status::kOk;   // as in send_control()
    }
    layer_->message_sent(peer, bytes.size());
    TxBlock* const b = acquire_tx(peer, sizeof(wire::PacketHead) + sizeof reply + bytes.size());
    if (b == nullptr) {
        return Status::kNoMemory;
    }
    std::size_t at = put(b->tx.head, packet_head(wire::PacketKind::kReadReply, sizeof reply + bytes.size()));
    at += put(b->tx.head + at, reply);
    if (!bytes.empty()) {
        std::memcpy(b->tx.head + at, bytes.data(), bytes.size());
    }
    if (failed(layer_->send(peer, b->tx).status)) {
        release_tx(peer, *b);   // the peer is lost, and wants no answer
    }
    return Status::kOk;
}

// A read too long for one packet: offered where the peer can take it by itself, else sent as if it had been granted. kProtocol: the peer was given up.
Status Proto::serve_read(Peer& peer, const wire::ReadHeader& h, const RegionTable::Place& from, wire::ReadReplyHeader& reply) noexcept
{
    const std::uint64_t length = h.length.get();
    std::byte* const memory = acquire(sizeof(ServedRead));
    if (memory == nullptr) {
        return Status::kNoMemory;
    }
    if (!serve_one_more(peer)) {
        release(memory, sizeof(ServedRead));
        return Status::kProtocol;
    }
    auto* const r = new (memory) ServedRead;
    r->peer = &peer;
    r->key = h.key.get();
    r->region = from.number;
    r->data.base = from.at;
    r->data.length = length;
    MutexLock guard{peer.lock};
    r->slot = send_slots_.acquire(*r);
    if (r->slot == 0 || peer.down_reason() != Status::kOk) {
        if (r->slot != 0) {
            send_slots_.release(r->slot);
        }
        --peer.served;
        r->~ServedRead();
        release(memory, sizeof(ServedRead));
        return Status::kNoMemory;
    }
    peer.open_sends.push_back(*r);
    layer_->message_sent(peer, length);
    const bool offered = h.max_packet.get() == 0 && offers(peer, length, false);
    reply.send_slot.set(r->slot);
    reply.offered.set(offered ? reinterpret_cast<std::uintptr_t>(from.at) : 0);
    const Status sent = send_control(peer, wire::PacketKind::kReadReply, std::as_bytes(std::span{&reply, 1}));
    if (failed(sent)) {
        finish_send(peer, *r, sent);
        return sent;
    }
    if (!offered) {
        r->grant = {h.recv_slot.get(), 1, 0, 0, length, h.max_packet.get()};
        queue_bulk(peer, *r);
        pump_bulk(peer);
    }
    return Status::kOk;
}

void Proto::note_access(std::uint64_t key, std::uint64_t number, Access access) noexcept
{
    if (Region* const region = regions_.note(key, number, access); region != nullptr) {
        completions_.push(*region);
        engine_.completed();
    }
}

void Proto::note_write(const ServedWrite& w) noexcept
{
    if (w.region != 0 || !w.result.has_immediate) {   // an immediate without bytes tells of itself
        note_access(w.key, w.region, Access::kWrite);
    }
}

// The end of a request of ours. Its last touch.
//
// Who sees the immediate of a write sees the bytes of all writes before it (fi_cq(3), target completion semantics). A longer one before it may be under way
// still: then the immediate waits in line, for no longer than that write, whatever becomes of it. What waits so is bounded by the credit for immediates.
void Proto::served(Request& request, Status status) noexcept
{
    if (request.kind == Request::Kind::kServedRead) {
        auto& r = static_cast<ServedRead&>(request);
        if (status == Status::kOk) {
            note_access(r.key, r.region, Access::kRead);
        }
        r.~ServedRead();
        release(reinterpret_cast<std::byte*>(&r), sizeof(ServedRead));
        return;
    }
    auto& w = static_cast<ServedWrite&>(request);
    Peer& peer = *w.peer;
    std::size_t untold = 0;
    bool no_memory = false;
    w.result.status = status;
    {
        MutexLock guard{peer.lock};
        w.over = true;
        ServedWrite* first = &w;
        if (!w.result.has_immediate && w.before != nullptr) {
            forget(peer, w);   // nobody waits for it alone
            first = nullptr;
        }
        while (first != nullptr && first->over && first->before == nullptr) {
            if (first->result.has_immediate && !tell_immediate(peer, *first)) {
                ++untold;
                no_memory = no_memory || first->result.status == Status::kOk;
            }
            first = forget(peer, *first);
        }
    }
    give_credit(peer, untold * wire::kEventCredit);
    if (no_memory) {
        layer_->declare_down(peer, Status::kNoMemory, "no memory for the immediate of a write");
    }
}

// Out of the line. Returns the one behind it.
ServedWrite* Proto::forget(Peer& peer, ServedWrite& w) noexcept
{
    ServedWrite* const behind = w.behind;
    if (w.before != nullptr) {
        w.before->behind = behind;
    }
    (behind != nullptr ? behind->before : peer.last_served_write) = w.before;
    w.~ServedWrite();
    release(reinterpret_cast<std::byte*>(&w), sizeof(ServedWrite));
    return behind;
}

// False: there is nothing to tell, as the write failed, or no memory for it.
bool Proto::tell_immediate(Peer& peer, const ServedWrite& w) noexcept
{
    std::byte* const memory = w.result.status == Status::kOk ? acquire(sizeof(RemoteEvent)) : nullptr;
    if (memory == nullptr) {
        return false;
    }
    auto* const e = new (memory) RemoteEvent;
    e->peer = &peer;
    e->immediate = w.result.immediate;
    e->length = w.data.length;
    completions_.push(*e);
    engine_.completed();
    return true;
}

// The host has seen it: the peer may send another one.
void Proto::release_remote(RemoteEvent& e) noexcept
{
    Peer& peer = *e.peer;
    e.~RemoteEvent();
    release(reinterpret_cast<std::byte*>(&e), sizeof(RemoteEvent));
    give_credit(peer, wire::kEventCredit);
}

}   // namespace linnet::proto

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: sending tagged messages.
#include <algorithm>
#include <cstring>

#include "proto/build.h"
#include "proto/lean.h"
#include "proto/proto.h"

namespace linnet::proto {

namespace {
// Up to here payload is copied behind its head before sending: one contiguous piece for the system call, and cheaper than bookkeeping.
constexpr std::size_t kCopyFirst = 2048;
// The question whether a message is for the lane costs something too.
constexpr std::size_t kAlwaysEager = 4096;
// Longer copies are worth a sleep of the sender.
constexpr Nanos kPatience = std::chrono::milliseconds{2};
// Where ranks take turns on a core an acknowledgement comes when the peer has had its turn, which is longer than a copy of so much takes.
constexpr std::size_t kRetainedWhenContended = 4;
}   // namespace

Status Proto::send(Peer& peer, const SendArgs& args, SendRequest& r) noexcept
{
    MutexLock guard{peer.lock};
    if (const Status down = peer.down_reason(); down != Status::kOk) {
        return down;
    }
    if (args.fence && peer.open_operations.load(std::memory_order_seq_cst) != 0) {
        return Status::kAgain;
    }
    layer_->message_sent(peer, r.data.length);
    note(config_.trace, TraceKind::kSend, peer.id, r.data.length, args.bits);
    r.peer = &peer;
    r.sync = args.sync;
    r.result.length = r.data.length;
    // Who asks whether the process has it shall not wait for its receive, as long as a lane can carry it.
    const bool lands_early = args.acked || args.delivered;
    const bool announces = !lands_early || r.data.length > config_.eager_limit;
    if (r.data.length > config_.offer_min && announces && r.data.contiguous() && offers(peer, r.data.length, !args.copy)) {
        return send_rts(peer, args, r, true);
    }
    const bool too_long_to_stage = lands_early && !r.data.contiguous() && r.data.length > BlockPool::kLargest;
    const bool for_the_lane = r.data.length <= kAlwaysEager || !announces || r.data.length <= layer_->lane_worth(peer);
    if (r.data.length <= config_.eager_limit && for_the_lane && !too_long_to_stage) {
        if (charge(peer, r.data.length)) {
            const Status sent = send_eager(peer, args, r);
            peer.eager_used -= failed(sent) ? static_cast<std::uint32_t>(r.data.length) : 0;   // nothing went
            return sent;
        }
        SendTally::add(peer.sent.stalls);
    }
    return send_rts(peer, args, r, false);
}

// Shall the peer read it out of our memory? Where copying by both sides is the faster way, it takes both: so not of a host that goes away to compute behind
// this post (`may_leave`), nor where ranks share cores and the peer would wait for ours again and again.
bool Proto::offers(Peer& peer, std::uint64_t length, bool may_leave) noexcept
{
    constexpr std::uint64_t kSeveralTurns = 256 * 1024;   // about what is on its way at a time
    const bool alone = (may_leave && engine_.will_leave(length)) || engine_.in_event_thread() || (length > kSeveralTurns && engine_.contended());
    return layer_->offer(peer, length, alone);
}

// Whether a send of so much is copied and complete, and does not wait for the peer's acknowledgement.
bool Proto::retains(const Peer& peer, std::size_t length) const noexcept
{
    return length <= config_.retain_limit * (engine_.contended() ? kRetainedWhenContended : 1) && !layer_->is_near(peer);
}

Status Proto::send_eager(Peer& peer, const SendArgs& args, SendRequest& r) noexcept
{
    const std::size_t length = r.data.length;
    std::uint16_t flags = args.has_immediate ? wire::flag::kImmediate : std::uint16_t{0};
    wire::TagHeader tag;
    tag.space.set(args.space);
    tag.match_bits.set(args.bits);
    tag.immediate.set(args.immediate);
    if (args.sync) {
        r.slot = send_slots_.acquire(r);
        if (r.slot == 0) {
            return Status::kNoMemory;
        }
        tag.send_slot.set(r.slot);
        flags |= args.delivered ? wire::flag::kSync | wire::flag::kDelivered : wire::flag::kSync;
    }
    const wire::PacketHead head = packet_head(wire::PacketKind::kEager, sizeof tag + length, flags);
    if ((args.acked && !args.sync) || (args.delivered && length > kCopyFirst)) {
        return send_eager_acked(peer, args, r, head, tag);
    }
    if (length > kCopyFirst && r.data.contiguous() && !args.sync) {
        return send_eager_in_place(peer, args, r, head, tag, args.copy || retains(peer, length));
    }
    TxBlock* const b = acquire_tx(peer, sizeof head + sizeof tag + length);
    if (b == nullptr) {
        if (r.slot != 0) {
            send_slots_.release(r.slot);
        }
        return Status::kNoMemory;
    }
    std::size_t at = put(b->tx.head, head);
    at += put(b->tx.head + at, tag);
    r.data.gather(0, {b->tx.head + at, length});
    if (args.sync) {
        open(r, peer);
    }
    SendTally::add(peer.sent.eager);
    SendTally::add(peer.sent.bytes, length);
    if (!args.sync && may_hold(peer, length)) {
        hold(peer, *b);
        return Status::kOk;
    }
    const auto sent = layer_->send(peer, b->tx);
    if (failed(sent.status)) {
        release_tx(peer, *b);
        return sent.status;   // not reached with the peer up: the lock is held
    }
    return args.sync ? Status::kInProgress : Status::kOk;
}

// The send completes when the peer has acknowledged, or when it says so; until then the payload stays where it is, strided data in the request's staging.
Status Proto::send_eager_acked(Peer& peer, const SendArgs& args, SendRequest& r, wire::PacketHead head, const wire::TagHeader& tag) noexcept
{
    const std::size_t length = r.data.length;
    if (length > 0 && !r.data.contiguous()) {
        r.staging = acquire(BlockPool::kLargest);
        if (r.staging == nullptr) {
            if (r.slot != 0) {
                send_slots_.release(r.slot);
            }
            return Status::kNoMemory;
        }
        r.data.gather(0, {r.staging, length});
    }
    SendTally::add(peer.sent.eager);
    SendTally::add(peer.sent.bytes, length);
    head.flags.set(head.flags.get() | wire::flag::kWantAck);
    std::size_t at = put(r.head.data(), head);
    at += put(r.head.data() + at, tag);
    r.tx.kind = args.sync ? kTxEmbedded : kTxRequest;
    r.tx.owner = &r;
    r.tx_out = true;
    r.tx.head = r.head.data();
    r.tx.head_bytes = static_cast<std::uint32_t>(at);
    r.tx.payload = r.staging != nullptr ? std::span<const std::byte>{r.staging, length} : r.data.view(0, length);
    open(r, peer);
    submit(peer, args, r);
    return Status::kInProgress;
}

// In a row of sends to one peer all but the first wait a moment for the next ones: one system call for many. What ends the wait: the next call
// of the host that is not one of the row, a bound on their number and bytes, or the event thread.
bool Proto::may_hold(const Peer& peer, std::size_t bytes) const noexcept { return layer_->may_hold(peer, bytes) && engine_.may_hold(); }

void Proto::hold(Peer& peer, TxBlock& block) noexcept
{
    SendTally::add(peer.sent.held);
    if (layer_->hold(peer, block.tx) && !engine_.held()) {
        layer_->send_held(peer);
    }
}

// The payload goes out of the user's buffer, and is copied for retention afterwards, while the packet is on its way: in a ping-pong the copy
// costs nothing. Without `copy` the send completes when the peer has acknowledged.
Status Proto::send_eager_in_place(Peer& peer, const SendArgs& args, SendRequest& r, const wire::PacketHead& head, const wire::TagHeader& tag,
                                   bool copy) noexcept
{
    const std::size_t length = r.data.length;
    if (!copy) {
        return send_eager_acked(peer, args, r, head, tag);
    }
    TxBlock* const b = acquire_tx(peer, sizeof head + sizeof tag);
    std::byte* const to = b == nullptr ? nullptr : acquire(length);
    if (to == nullptr) {
        if (b != nullptr) {
            release_tx(peer, *b);
        }
        return Status::kNoMemory;
    }
    SendTally::add(peer.sent.eager);
    SendTally::add(peer.sent.bytes, length);
    b->tx.lazy = false;   // it holds more memory
    b->copy = to;
    b->copy_bytes = static_cast<std::uint32_t>(length);
    std::size_t at = put(b->tx.head, head);
    at += put(b->tx.head + at, tag);
    b->tx.payload = r.data.view(0, length);
    const bool holds = may_hold(peer, length);
    const bool waits = !holds && !layer_->lane_ready(peer);
    if (holds || waits) {
        copy_retained(*b);   // it would be referenced for long
    }
    if (holds) {
        hold(peer, *b);
        return Status::kOk;
    }
    const auto sent = layer_->send(peer, b->tx);
    if (waits) {
        return Status::kOk;
    }
    if (sent.written) {
        copy_retained(*b);
        return Status::kOk;
    }
    // The socket is full: it still reads from the user's buffer. on_lane_written() completes the request.
    open(r, peer);
    peer.uncopied = b;
    peer.uncopied_request = &r;
    return Status::kInProgress;
}

void Proto::copy_retained(TxBlock& block) noexcept
{
    std::memcpy(block.copy, block.tx.payload.data(), block.copy_bytes);
    session::SessionLayer::move_payload(block.tx, {block.copy, block.copy_bytes});
}

void Proto::on_lane_written(session::Session& s) noexcept
{
    Peer& peer = peer_of(s);
    MutexLock guard{peer.lock};
    if (peer.uncopied != nullptr) {
        copy_retained(*peer.uncopied);
        SendRequest& r = *peer.uncopied_request;
        peer.uncopied = nullptr;
        peer.uncopied_request = nullptr;
        finish_send(peer, r, Status::kOk);
    }
}

// `offered`: the receiver reads the message out of our memory, and nothing of it travels.
Status Proto::send_rts(Peer& peer, const SendArgs& args, SendRequest& r, bool offered) noexcept
{
    r.slot = send_slots_.acquire(r);
    if (r.slot == 0) {
        return Status::kNoMemory;
    }
    std::size_t first = r.data.contiguous() && !offered ? std::min({std::size_t{r.data.length}, config_.rndv_first, layer_->first_fragment(peer)}) : 0;
    if (first > 0 && !charge(peer, first)) {
        first = 0;
        SendTally::add(peer.sent.stalls, r.data.length > config_.eager_limit ? 1 : 0);   // a shorter one was counted before it came here
    }
    wire::RtsHeader rts;
    rts.tag.space.set(args.space);
    rts.tag.match_bits.set(args.bits);
    rts.tag.immediate.set(args.immediate);
    rts.tag.send_slot.set(r.slot);
    rts.length.set(r.data.length);
    rts.address.set(offered ? reinterpret_cast<std::uintptr_t>(r.data.view(0, r.data.length).data()) : 0);
    const std::uint16_t flags = args.has_immediate ? wire::flag::kImmediate : std::uint16_t{0};
    std::size_t at = put(r.head.data(), packet_head(wire::PacketKind::kRts, sizeof rts + first, flags));
    at += put(r.head.data() + at, rts);
    r.tx.kind = kTxEmbedded;
    r.tx.owner = &r;
    r.tx_out = true;
    r.tx.head = r.head.data();
    r.tx.head_bytes = static_cast<std::uint32_t>(at);
    r.tx.payload = first > 0 ? r.data.view(0, first) : std::span<const std::byte>{};
    const bool others = !peer.open_sends.empty();
    open(r, peer);
    if (offered) {
        constexpr std::uint64_t kBytesPerNano = 3;   // at least, when the receiver is there: half of what copying reaches
        const Nanos time{r.data.length / kBytesPerNano};
        if (others) {   // a window of messages: it reads one after the other
            engine_.expect_after_others(time, kPatience);
        } else {
            engine_.expect_within(std::min(time, kPatience));
        }
    }
    SendTally::add(peer.sent.rndv);
    SendTally::add(peer.sent.bytes, r.data.length);
    submit(peer, args, r);
    return Status::kInProgress;
}

// A small message of the protocol's own. kNoMemory: nothing was sent; what the peer waits for goes by tell().
Status Proto::send_control(Peer& peer, wire::PacketKind kind, std::span<const std::byte> header) noexcept
{
    if (peer.said_goodbye) [[unlikely]] {
        return Status::kClosed;   // the peer acknowledges nothing more, and wants no answer
    }
    TxBlock* const b = acquire_tx(peer, sizeof(wire::PacketHead) + header.size());
    if (b == nullptr) {
        return Status::kNoMemory;
    }
    b->tx.lazy = kind != wire::PacketKind::kGoodbye;
    const std::size_t at = put(b->tx.head, packet_head(kind, header.size(), kind == wire::PacketKind::kGoodbye ? wire::flag::kWantAck : std::uint16_t{0}));
    if (!header.empty()) {
        std::memcpy(b->tx.head + at, header.data(), header.size());
    }
    const auto sent = layer_->send(peer, b->tx);
    if (failed(sent.status)) {
        release_tx(peer, *b);
    }
    return sent.status;
}

// What the peer waits for, for ever if there is no memory for it: then the peer is lost, at the next poll.
void Proto::tell(Peer& peer, wire::PacketKind kind, std::span<const std::byte> header) noexcept
{
    if (send_control(peer, kind, header) == Status::kNoMemory) [[unlikely]] {
        layer_->lost_for_memory(peer);
        engine_.kick();
    }
}

// To whom we were ever connected. A lane that is down just now opens again for it: the peer would take our silence for our death.
void Proto::say_goodbye(Peer& peer) noexcept
{
    MutexLock guard{peer.lock};
    if (peer.down_reason() == Status::kOk && peer.was_up()) {
        const Status ignored = send_control(peer, wire::PacketKind::kGoodbye, {});
        static_cast<void>(ignored);
        peer.said_goodbye = true;
    }
}

void Proto::on_acked(session::Session& s, IntrusiveQueue<session::TxMessage>& messages) noexcept
{
    Peer& peer = peer_of(s);
    MutexLock guard{peer.lock};
    while (session::TxMessage* m = messages.pop_front()) {
        if (m->kind == kTxBlock) {
            release_tx(peer, *TxBlock::of(*m));
            continue;
        }
        auto& r = *static_cast<SendRequest*>(m->owner);
        r.tx_out = false;
        if (m->kind == kTxRequest) {
            finish_send(peer, r, Status::kOk);
        } else if (r.ends_with_tx) {
            finish_send(peer, r, r.end_status);
        } else if (r.grant.unasked && r.grant.again) {
            queue_bulk(peer, r);
            push_bulk(peer, TaskKind::kSend);
        }
    }
}

// ---- cancel ----

Status Proto::cancel_send(SendRequest& r) noexcept
{
    Peer& peer = *r.peer;
    MutexLock guard{peer.lock};
    if (r.slot == 0 || r.one_sided || r.cancel_sent || peer.down_reason() != Status::kOk) {
        return r.cancel_sent ? Status::kInProgress : Status::kNotFound;
    }
    wire::FinHeader h;
    h.send_slot.set(r.slot);
    const Status sent = send_control(peer, wire::PacketKind::kCancel, std::as_bytes(std::span{&h, 1}));
    r.cancel_sent = !failed(sent);
    return failed(sent) ? sent : Status::kInProgress;
}

}   // namespace linnet::proto

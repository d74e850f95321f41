// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: active messages.
#include <cstring>
#include <new>

#include "proto/build.h"
#include "proto/lean.h"

namespace linnet::proto {

namespace {
constexpr std::size_t kAlign = 16;
constexpr std::size_t round_up(std::size_t n) noexcept { return (n + kAlign - 1) & ~(kAlign - 1); }
}   // namespace

// An active message is built whole in one block, so that its header and data are the caller's again at once, and then goes out when there is credit
// for it. What waits for credit keeps its request open: that is the back-pressure.
Status Proto::send_active(Peer& peer, const ActiveArgs& args, SendRequest& r) noexcept
{
    const std::size_t pad = round_up(args.header.size()) - args.header.size();   // the payload lands aligned
    const std::size_t body = args.header.size() + pad + r.data.length;
    wire::ActiveHeader h;
    const wire::PacketHead head = packet_head(wire::PacketKind::kActive, sizeof h + body);
    h.id.set(args.id);
    h.header_bytes.set(static_cast<std::uint32_t>(args.header.size()));
    h.immediate.set(args.immediate);
    MutexLock guard{peer.lock};
    TxBlock* const b = acquire_tx(peer, sizeof head + sizeof h + body);
    if (b == nullptr) {
        return Status::kNoMemory;
    }
    std::byte* at = b->tx.head;
    at += put(at, head);
    at += put(at, h);
    if (!args.header.empty()) {
        std::memcpy(at, args.header.data(), args.header.size());
    }
    std::memset(at + args.header.size(), 0, pad);
    r.data.gather(0, {at + args.header.size() + pad, r.data.length});

    if (const Status down = peer.down_reason(); down != Status::kOk) {
        release_tx(peer, *b);
        return down;
    }
    layer_->message_sent(peer, args.header.size() + r.data.length);
    SendTally::add(peer.sent.active);
    SendTally::add(peer.sent.bytes, args.header.size() + r.data.length);
    r.peer = &peer;
    bool charged = peer.stalled.empty() && charge(peer, body);
    if (!charged && peer.stalled.empty()) {
        peer.wants_credit.store(true, std::memory_order_seq_cst);
        charged = charge(peer, body);   // credit that came before the flag was seen is not told by on_credit()
    }
    if (charged) {
        const auto sent = layer_->send(peer, b->tx);
        static_cast<void>(sent);   // the peer is up: the lock is held
        return Status::kOk;
    }
    SendTally::add(peer.sent.stalls);
    r.am_block = b;
    r.am_charge = body;
    open(r, peer);
    peer.stalled.push_back(r);
    return Status::kInProgress;
}

void Proto::on_credit(session::Session& s) noexcept
{
    Peer& peer = peer_of(s);
    MutexLock guard{peer.lock};
    while (SendRequest* r = peer.stalled.front()) {
        if (!charge(peer, r->am_charge)) {
            return;
        }
        TxBlock* const b = r->am_block;
        r->am_block = nullptr;
        static_cast<void>(peer.stalled.pop_front());
        const auto sent = layer_->send(peer, b->tx);
        static_cast<void>(sent);
        finish_send(peer, *r, Status::kOk);
    }
    peer.wants_credit.store(false, std::memory_order_relaxed);
}

// Null: refused, and the peer was given up.
ActiveEvent* Proto::make_active(Peer& peer, const wire::ActiveHeader& h, std::size_t body_bytes) noexcept
{
    const std::size_t header = h.header_bytes.get();
    if (header > kActiveHeaderMax || round_up(header) > body_bytes) {
        protocol_error(peer, "an active message is shorter than its header");
        return nullptr;
    }
    if (!take_credit(peer, body_bytes)) {
        return nullptr;
    }
    const std::size_t total = round_up(sizeof(ActiveEvent)) + body_bytes;
    std::byte* const memory = acquire(total);
    if (memory == nullptr) {
        layer_->declare_down(peer, Status::kNoMemory, "no memory for an active message");
        return nullptr;
    }
    auto* e = new (memory) ActiveEvent;
    e->peer = &peer;
    e->id = h.id.get();
    e->immediate = h.immediate.get();
    e->header_bytes = header;
    e->payload_bytes = body_bytes - round_up(header);
    e->body = memory + round_up(sizeof(ActiveEvent));
    e->body_bytes = body_bytes;
    return e;
}

void Proto::active_arrived(ActiveEvent& e) noexcept
{
    count_arrival(*e.peer, e.header_bytes + e.payload_bytes);
    counters_.add(Counter::kActiveReceived);
    completions_.push(e);
    engine_.completed();
}

// The host's handler has run: the sender may send as much again.
void Proto::release_active(ActiveEvent& e) noexcept
{
    Peer& peer = *e.peer;
    const std::size_t body = e.body_bytes;
    const std::size_t total = round_up(sizeof(ActiveEvent)) + body;
    e.~ActiveEvent();
    release(reinterpret_cast<std::byte*>(&e), total);
    give_credit(peer, body);
}

}   // namespace linnet::proto

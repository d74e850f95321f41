// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: atomic operations on the memory regions of a peer. Always done by its poller: a copy from outside is not atomic.
#include <array>
#include <cstring>

#include "proto/build.h"
#include "proto/lean.h"

namespace linnet::proto {

namespace {
// Of all contexts of the process: the same bytes may be reached through several, each with a poller of its own. For what the processor does not change in one
// instruction (proto/atomic_ops.h).
SpinLock one_at_a_time;

std::size_t bytes_of(const AtomicKind& kind, std::size_t count) noexcept { return count * atomic_size(kind.type); }
std::size_t payload_of(const AtomicKind& kind, std::size_t bytes) noexcept
{
    return (has_operand(kind) ? bytes : 0) + (kind.form == AtomicForm::kCompare ? bytes : 0);
}
Access access_of(const AtomicKind& kind) noexcept
{
    return kind.form == AtomicForm::kApply ? Access::kWrite : kind.op == AtomicOp::kRead ? Access::kRead : Access::kBoth;
}
}   // namespace

// ---- the side that asks ----

// Operands travel at once, in a copy: they are the caller's again.
Status Proto::send_atomic(Peer& peer, const AtomicArgs& args, std::uint32_t slot) noexcept
{
    const std::size_t bytes = bytes_of(args.kind, args.count);
    const std::size_t payload = payload_of(args.kind, bytes);
    wire::AtomicHeader h;
    const wire::PacketHead head = packet_head(wire::PacketKind::kAtomic, sizeof h + payload);
    h.key.set(args.remote.key);
    h.address.set(args.remote.address);
    h.slot.set(slot);
    h.count.set(static_cast<std::uint32_t>(args.count));
    h.form = static_cast<std::uint8_t>(args.kind.form);
    h.op = static_cast<std::uint8_t>(args.kind.op);
    h.type = static_cast<std::uint8_t>(args.kind.type);
    TxBlock* const b = acquire_tx(peer, sizeof head + sizeof h + payload);
    if (b == nullptr) {
        return Status::kNoMemory;
    }
    std::byte* at = b->tx.head;
    at += put(at, head);
    at += put(at, h);
    if (has_operand(args.kind)) {
        args.operand.gather(0, {at, bytes});
        at += bytes;
    }
    if (args.kind.form == AtomicForm::kCompare) {
        args.compare.gather(0, {at, bytes});
    }
    layer_->message_sent(peer, bytes);
    const auto sent = layer_->send(peer, b->tx);
    if (failed(sent.status)) {
        release_tx(peer, *b);
    }
    return sent.status;
}

Status Proto::atomic(Peer& peer, const AtomicArgs& args, SendRequest& r) noexcept
{
    MutexLock guard{peer.lock};
    if (const Status s = may_start(peer, args.remote); s != Status::kOk) {
        return s;
    }
    r.slot = send_slots_.acquire(r);
    if (r.slot == 0) {
        return Status::kNoResource;
    }
    if (const Status s = send_atomic(peer, args, r.slot); failed(s)) {
        send_slots_.release(r.slot);
        return s;
    }
    r.one_sided = true;
    open(r, peer);
    ++peer.open_one_sided;
    SendTally::add(peer.sent.one_sided);
    SendTally::add(peer.sent.bytes, bytes_of(args.kind, args.count));
    return Status::kInProgress;
}

Status Proto::atomic_fetch(Peer& peer, const AtomicArgs& args, RecvRequest& r) noexcept
{
    MutexLock guard{peer.lock};
    if (const Status s = may_start(peer, args.remote); s != Status::kOk) {
        return s;
    }
    if (expect_reply(peer, r) == 0) {
        return Status::kNoResource;
    }
    if (const Status s = send_atomic(peer, args, r.slot); failed(s)) {
        recv_slots_.release(r.slot);
        return s;
    }
    await_reply(peer, r);
    return Status::kInProgress;
}

// ---- the side that serves; token held ----

void Proto::arrive_atomic(Peer& peer, const wire::AtomicHeader& h, std::span<const std::byte> payload) noexcept
{
    const AtomicKind kind{static_cast<AtomicForm>(h.form), static_cast<AtomicOp>(h.op), static_cast<AtomicType>(h.type)};
    const std::size_t count = h.count.get();
    const std::size_t bytes = count <= wire::kMaxAtomicBytes ? bytes_of(kind, count) : wire::kMaxAtomicBytes + 1;
    if (!atomic_valid(kind) || bytes == 0 || bytes > wire::kMaxAtomicBytes || payload.size() != payload_of(kind, bytes)) {
        protocol_error(peer, "it asked for an atomic operation that does not exist");
        return;
    }
    count_arrival(peer, bytes);
    const bool replies = kind.form != AtomicForm::kApply;
    const RegionTable::Place place = regions_.find(h.key.get(), h.address.get(), bytes, access_of(kind));
    std::array<std::byte, wire::kMaxAtomicBytes> before;
    if (place.status == Status::kOk) {
        const std::byte* const operand = payload.data();
        const std::byte* const compare = kind.form == AtomicForm::kCompare ? operand + bytes : nullptr;
        SpinLockGuard guard{one_at_a_time};
        apply_atomic(kind, place.at, operand, compare, before.data(), count);
    }
    if (place.status == Status::kOk) {
        note_access(h.key.get(), place.number, access_of(kind));
    }
    if (!replies) {
        answer(peer, h.slot.get(), place.status);
    } else {
        wire::ReadReplyHeader reply;
        reply.recv_slot = h.slot;
        reply.status = static_cast<std::int8_t>(place.status);
        if (failed(send_read_reply(peer, reply, {before.data(), place.status == Status::kOk ? bytes : 0}))) {
            layer_->declare_down(peer, Status::kNoMemory, "no memory for the result of an atomic operation");
        }
    }
}

// The operands are still on their way. They wait for each other outside of the region.
Landing Proto::atomic_begins(Peer& peer, const wire::AtomicHeader& h, std::size_t payload_bytes) noexcept
{
    if (payload_bytes > 2 * wire::kMaxAtomicBytes) {
        protocol_error(peer, "an atomic operation is longer than allowed");
        return {};
    }
    peer.landing_atomic = h;
    peer.landing_staging = acquire(payload_bytes);
    if (peer.landing_staging == nullptr) {
        layer_->declare_down(peer, Status::kNoMemory, "no memory for an atomic operation");
        return {};
    }
    return landing_place(peer);
}

}   // namespace linnet::proto

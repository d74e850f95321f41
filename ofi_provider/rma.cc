// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints: fi_rma(3), as the one who reads and writes, and as the one whose memory it is.
//
// Every write completes when its bytes are in the memory of the peer, or when that refused them: whatever completion level was asked for, no
// success is told that is none.
#include "cntr.h"
#include "cq.h"
#include "endpoint.h"
#include "fabric.h"
#include "mr.h"

namespace linnet::ofi {

namespace {
linnet_rma_t to_core(const RmaCall& call, linnet_peer_t peer, linnet_done_fn done, SendOperation& op) noexcept
{
    linnet_rma_t r{};
    r.peer = peer;
    r.flags = ((call.flags & FI_REMOTE_CQ_DATA) != 0 ? std::uint32_t{LINNET_RMA_IMMEDIATE} : 0) |
              ((call.flags & FI_FENCE) != 0 ? std::uint32_t{LINNET_RMA_FENCE} : 0);
    r.key = call.key;
    r.address = call.address;
    r.immediate = call.data;
    r.done = done;
    r.done_arg = &op;
    return r;
}
}   // namespace

// Null as new_send().
SendOperation* Endpoint::begin(void* user, std::uint64_t flags, bool silent, std::uint64_t kind, CounterSlot counted) noexcept
{
    SendOperation* const op = new_send();
    if (op != nullptr) {
        op->endpoint = this;
        op->context = user;
        op->kind = kind;
        op->counted = counted;
        op->reports_success = !silent && (!tx_selective_ || (flags & FI_COMPLETION) != 0);
    }
    return op;
}

ssize_t Endpoint::write(const RmaCall& call) noexcept
{
    const Settles after{source_};
    const linnet_peer_t peer = peers_.get(call.to);
    if (!enabled_ || !may(FI_WRITE)) {
        return enabled_ ? -FI_EOPNOTSUPP : -FI_EOPBADSTATE;
    }
    if (const int error = peer == LINNET_PEER_UNKNOWN ? no_peer(call.to) : call.bytes.error(most_sent_); error != FI_SUCCESS) {
        return error;
    }
    const bool copied = (call.flags & FI_INJECT) != 0;
    if (copied && call.bytes.total() > kInjectMax) {
        return -FI_EMSGSIZE;
    }
    SendOperation* const op = begin(call.context, call.flags, call.silent, FI_RMA | FI_WRITE, kCountWrite);
    if (op == nullptr) {
        return -FI_EAGAIN;
    }
    linnet_rma_t r = to_core(call, peer, on_sent, *op);
    r.data = copied ? Operation::copied(call.bytes, op->injected.data()) : op->data(call.bytes);
    return post(*op, Write{r}, (call.flags & FI_FENCE) != 0);
}

ssize_t Endpoint::read(const RmaCall& call) noexcept
{
    const Settles after{source_};
    const linnet_peer_t peer = peers_.get(call.to);
    if (!enabled_ || !may(FI_READ)) {
        return enabled_ ? -FI_EOPNOTSUPP : -FI_EOPBADSTATE;
    }
    if (const int error = peer == LINNET_PEER_UNKNOWN ? no_peer(call.to) : call.bytes.error(most_sent_); error != FI_SUCCESS) {
        return error;
    }
    SendOperation* const op = begin(call.context, call.flags, call.silent, FI_RMA | FI_READ, kCountRead);
    if (op == nullptr) {
        return -FI_EAGAIN;
    }
    linnet_rma_t r = to_core(call, peer, on_sent, *op);
    r.data = op->data(call.bytes);
    return post(*op, Read{r}, (call.flags & FI_FENCE) != 0);
}

// ---- the one whose memory it is ----

int Endpoint::expose(Region& region)
{
    const Settles after{source_};
    const std::uint64_t access = (may(FI_REMOTE_READ) ? FI_REMOTE_READ : 0) | (may(FI_REMOTE_WRITE) ? FI_REMOTE_WRITE : 0);
    return region.expose(source_, access, (caps_ & FI_RMA_EVENT) != 0);
}

void Endpoint::on_remote(void* arg, const linnet_remote_t* what) noexcept { static_cast<Endpoint*>(arg)->remote(*what); }

// A write with remote data is in its region's notices, too, unless it had no bytes.
void Endpoint::remote(const linnet_remote_t& what) noexcept
{
    if ((what.flags & LINNET_SEND_IMMEDIATE) == 0) {
        count(kCountRemoteRead, true, what.reads);
        count(kCountRemoteWrite, true, what.writes);
        if (what.changes != 0) {
            domain_.note_changes(reinterpret_cast<std::uintptr_t>(what.region_arg), what.changes);
        }
        return;
    }
    if (rx_cq_ != nullptr) {
        CqEntry e;
        e.told.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA;
        e.told.len = what.length;
        e.told.data = what.immediate;
        e.source = (caps_ & FI_SOURCE) != 0 ? address_of(what.peer) : FI_ADDR_NOTAVAIL;
        rx_cq_->push([&](CqEntry& to) { to = e; });
    }
    if (what.length == 0) {
        count(kCountRemoteWrite, true);
    }
}

}   // namespace linnet::ofi

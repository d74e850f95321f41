// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints: messages that pass by multi-receive buffers for single sources (FI_MULTI_RECV with FI_DIRECTED_RECV).
//
// A receive from any source that is held behind such buffers is not posted to the core, which would give it their messages while they take another. What comes
// from other sources is its all the same: it is claimed here when it has come. Only for the first of the receives from any source: those behind it have to
// wait for it. All under posted_lock_.
#include "capi/linnet_watch.h"
#include "endpoint.h"

namespace linnet::ofi {

// Null: none is held, or a buffer for any source is before it.
RecvOperation* Endpoint::first_from_any() const noexcept
{
    for (const RecvOperation* multi = multis_; multi != nullptr; multi = multi->next_multi) {
        if (multi->peer == LINNET_PEER_ANY) {
            return nullptr;
        }
    }
    RecvOperation* op = held_;
    while (op != nullptr && op->peer != LINNET_PEER_ANY) {
        op = next_in(held_, *op);
    }
    return op;
}

// Something before `op`, which is held, takes what comes from there.
bool Endpoint::taken_before(const RecvOperation& op, linnet_peer_t source) const noexcept
{
    for (const RecvOperation* multi = multis_; multi != nullptr; multi = multi->next_multi) {
        if (multi->peer == source) {
            return true;
        }
    }
    for (const RecvOperation* other = held_; other != &op; other = next_in(held_, *other)) {
        if (other->peer == source) {
            return true;
        }
    }
    return false;
}

// The oldest message if it may have that, else one of another source: between sources there is no order.
linnet_message_t* Endpoint::claim_for(const RecvOperation& op) noexcept
{
    linnet_match_t match{LINNET_PEER_ANY, kMessageSpace, 0, ~std::uint64_t{0}};
    linnet_result_t seen{};
    linnet_message_t* message = nullptr;
    if (linnet_probe(source_.context(), &match, &seen) != LINNET_OK) {
        return nullptr;
    }
    const auto claims = [&](linnet_peer_t source) {
        match.peer = source;
        return linnet_probe_claim(source_.context(), &match, &message, &seen) == LINNET_OK;
    };
    // By its source: it may have been withdrawn meanwhile, and the next be another's.
    if (!taken_before(op, seen.peer) && claims(seen.peer == LINNET_PEER_UNKNOWN ? LINNET_PEER_ANY : seen.peer)) {
        return message;
    }
    const bool found = peers_.any_of([&](linnet_peer_t source) { return !taken_before(op, source) && claims(source); });
    return found ? message : nullptr;
}

// As often as something is held or is held no more, and a message has come or been taken. The space is watched from the first time on, to the end: its messages
// have to wake who sleeps.
void Endpoint::look_past() noexcept
{
    for (RecvOperation* op = first_from_any(); op != nullptr && !op->busy; op = first_from_any()) {
        watches_ = watches_ || linnet_space_watch(source_.context(), kMessageSpace, on_news, this) == LINNET_OK;
        linnet_message_t* const message = claim_for(*op);
        if (message == nullptr) {
            return;
        }
        take(*op, message);
        start_free();
    }
}

void Endpoint::on_news(void* arg, std::uint32_t, std::uint32_t) noexcept
{
    auto& e = *static_cast<Endpoint*>(arg);
    const std::lock_guard guard{e.posted_lock_};
    e.look_past();
}

// A buffer stays where it is, and goes on when it has the message.
void Endpoint::take(RecvOperation& op, linnet_message_t* message) noexcept
{
    const std::array<iovec, kIovMax> iov = op.iov;
    const iovec rest{static_cast<char*>(iov[0].iov_base) + op.used, op.room - op.used};
    const auto pieces = static_cast<std::size_t>(op.request.result.length);
    op.busy = op.multi;
    if (!op.multi) {
        unlink(held_, op);
        link(posted_, op);
    }
    linnet_recv_t r{};
    r.data = op.data(op.multi ? Bytes{&rest, 1} : Bytes{iov.data(), pieces});
    r.done = on_received;
    r.done_arg = &op;
    const linnet_status_t status = linnet_message_recv(source_.context(), message, &r, &op.request);
    if (!op.multi) {
        unreserve(op);   // when it has the message: that may arrive still
    }
    if (status == LINNET_IN_PROGRESS) {
        return;
    }
    if (op.multi) {
        passed(op, status);
        return;
    }
    unlink(posted_, op);
    op.request.result.status = status;
    end_receive(op);
    receives_.release(op);
}

// The message that a held buffer took is whole.
void Endpoint::passed(RecvOperation& op, linnet_status_t status) noexcept
{
    op.busy = false;
    if (tell_multi(op, status)) {
        unlink(held_, op);
        unreserve(op);
        receives_.release(op);
    }
}

}   // namespace linnet::ofi

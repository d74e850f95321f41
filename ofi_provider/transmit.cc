// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints: sending messages; the end of all that an endpoint starts.
#include "cntr.h"
#include "cq.h"
#include "endpoint.h"

namespace linnet::ofi {

namespace {
constexpr std::size_t kCopiedMost = 64 * 1024;
constexpr std::uint64_t kDelivered = FI_DELIVERY_COMPLETE | FI_COMMIT_COMPLETE;

std::uint32_t send_flags(const SendCall& call, bool may_copy) noexcept
{
    std::uint32_t f = ((call.flags & FI_REMOTE_CQ_DATA) != 0 ? std::uint32_t{LINNET_SEND_IMMEDIATE} : 0) |
                      ((call.flags & FI_FENCE) != 0 ? std::uint32_t{LINNET_SEND_FENCE} : 0);
    if ((call.flags & FI_MATCH_COMPLETE) != 0) {
        return f | LINNET_SEND_SYNC;
    }
    if (!call.silent && (call.flags & (kDelivered | FI_TRANSMIT_COMPLETE)) != 0) {
        return f | ((call.flags & kDelivered) != 0 ? LINNET_SEND_DELIVERED : LINNET_SEND_ACKED);
    }
    return may_copy ? f | LINNET_SEND_COPY : f;
}

// Not accepted now, but perhaps later.
bool retry(linnet_status_t s) noexcept { return s == LINNET_ERR_NO_RESOURCE || s == LINNET_ERR_NO_MEMORY || s == LINNET_ERR_AGAIN; }
}   // namespace

// Null: without memory, or when too many are under way. Who only tries again makes no progress.
SendOperation* Endpoint::new_send() noexcept
{
    SendOperation* const op = sends_.in_use() < kQueueSize ? sends_.acquire() : nullptr;
    if (op == nullptr) {
        source_.progress();
    }
    return op;
}

// A short message to a process so near that it is complete now: it needs no operation.
bool Endpoint::sent_at_once(const SendCall& call, const linnet_send_t& send) noexcept
{
    if (fence_.holds() || linnet_tag_send(source_.context(), &send, nullptr) != LINNET_OK) {
        return false;
    }
    if (!call.silent && (!tx_selective_ || (call.flags & FI_COMPLETION) != 0)) {
        report_send(call.context, call.kind | FI_SEND, LINNET_OK);
    }
    count(kCountSend, true);
    return true;
}

ssize_t Endpoint::send(const SendCall& call) noexcept
{
    const Settles after{source_};
    if (!enabled_ || !sends_messages_) {
        return enabled_ ? -FI_EOPNOTSUPP : -FI_EOPBADSTATE;
    }
    const linnet_peer_t peer = peers_.get(call.to);
    if (const int error = peer == LINNET_PEER_UNKNOWN ? no_peer(call.to) : call.bytes.error(most_sent_); error != FI_SUCCESS) {
        return error;
    }
    const bool copied = call.silent || (call.flags & FI_INJECT) != 0;
    const std::size_t length = call.bytes.total();
    if (copied && length > kInjectMax) {
        return -FI_EMSGSIZE;
    }
    linnet_send_t s{};
    s.peer = peer;
    s.space = call.kind == FI_TAGGED ? kTaggedSpace : kMessageSpace;
    s.match_bits = call.tag;
    s.immediate = call.data;
    s.flags = send_flags(call, copied);
    if (call.bytes.count == 1) {
        s.data.base = call.bytes.iov[0].iov_base;
        s.data.length = length;
        if (sent_at_once(call, s)) {
            return FI_SUCCESS;
        }
    }
    // Who has read the completions of all sends before this one will read this one's before the next, that is, wait for it: a copy is sooner than the peer's
    // acknowledgement. Who starts several and then waits for all of them is not kept by copying. Of a long one nothing is copied, and it may well have been
    // sent to compute meanwhile.
    const bool is_waited_for = length <= kCopiedMost && sends_.in_use() == 0 && !tx_cq_->has_events();
    SendOperation* const op = new_send();
    if (op == nullptr) {
        return -FI_EAGAIN;
    }
    op->endpoint = this;
    op->context = call.context;
    op->kind = call.kind | FI_SEND;
    op->counted = kCountSend;
    op->reports_success = !call.silent && (!tx_selective_ || (call.flags & FI_COMPLETION) != 0);
    s.flags = send_flags(call, copied || (is_waited_for && op->reports_success));
    s.done = on_sent;
    s.done_arg = op;
    s.data = copied ? Operation::copied(call.bytes, op->injected.data()) : op->data(call.bytes);
    return post(*op, s, (call.flags & FI_FENCE) != 0);
}

namespace {
linnet_status_t start_on(linnet_context_t* c, const linnet_send_t& s, linnet_request_t* r) noexcept { return linnet_tag_send(c, &s, r); }
linnet_status_t start_on(linnet_context_t* c, const Write& w, linnet_request_t* r) noexcept { return linnet_rma_write(c, &w.rma, r); }
linnet_status_t start_on(linnet_context_t* c, const Read& o, linnet_request_t* r) noexcept { return linnet_rma_read(c, &o.rma, r); }
linnet_status_t start_on(linnet_context_t* c, const linnet_atomic_t& a, linnet_request_t* r) noexcept { return linnet_rma_atomic(c, &a, r); }
}   // namespace

// Behind a fence that is closed it waits for its turn; one that is fenced itself waits for all that is open.
template <class What>
ssize_t Endpoint::post(SendOperation& op, const What& what, bool fenced) noexcept
{
    if (fence_.holds()) {
        if (const auto joined = fence_.join(op, what); joined) {
            return *joined == FI_SUCCESS ? *joined : refuse(op);
        }
    }
    const linnet_status_t status = start_on(source_.context(), what, &op.request);
    if (fenced && status == LINNET_ERR_AGAIN) {
        return fence_.hold(op, what) == FI_SUCCESS ? FI_SUCCESS : refuse(op);
    }
    return started(op, status);
}
template ssize_t Endpoint::post(SendOperation&, const linnet_send_t&, bool) noexcept;
template ssize_t Endpoint::post(SendOperation&, const Write&, bool) noexcept;
template ssize_t Endpoint::post(SendOperation&, const Read&, bool) noexcept;
template ssize_t Endpoint::post(SendOperation&, const linnet_atomic_t&, bool) noexcept;

linnet_status_t Endpoint::start(SendOperation& op, const Posting& what) noexcept
{
    return std::visit([&](const auto& w) { return start_on(source_.context(), w, &op.request); }, what);
}

// Not now. What it waits for may need progress, and who only tries again makes none.
ssize_t Endpoint::refuse(SendOperation& op) noexcept
{
    sends_.release(op);
    source_.progress();
    return -FI_EAGAIN;
}

// What the core said to an operation that the endpoint starts.
ssize_t Endpoint::started(SendOperation& op, linnet_status_t status) noexcept
{
    if (status == LINNET_IN_PROGRESS) {
        return FI_SUCCESS;
    }
    if (retry(status)) {
        return refuse(op);
    }
    if (status == LINNET_ERR_INVALID) {
        sends_.release(op);
        return -FI_EINVAL;
    }
    end_send(op, status);
    return FI_SUCCESS;
}

void Endpoint::on_sent(linnet_request_t*, void* arg) noexcept
{
    auto& op = *static_cast<SendOperation*>(arg);
    op.endpoint->end_send(op, op.request.result.status);
}

void Endpoint::report_send(void* context, std::uint64_t kind, linnet_status_t status) noexcept
{
    if (tx_cq_ != nullptr) {
        tx_cq_->push([&](CqEntry& e) {
            e.told.op_context = context;
            e.told.flags = kind;
            e.error = status == LINNET_OK ? 0 : fi_errno_of(status);
            e.provider_error = status == LINNET_OK ? 0 : static_cast<int>(status);
        });
    }
}

// An operation that failed is reported, whether or not its success would have been.
void Endpoint::end_send(SendOperation& op, linnet_status_t status) noexcept
{
    const bool success = status == LINNET_OK;
    if (op.reports_success || !success) {
        report_send(op.context, op.kind, status);
    }
    const CounterSlot counted = op.counted;
    sends_.release(op);
    count(counted, success);
}

}   // namespace linnet::ofi

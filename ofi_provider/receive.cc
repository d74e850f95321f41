// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints: receiving, cancelling.
#include <algorithm>

#include "cntr.h"
#include "cq.h"
#include "endpoint.h"

namespace linnet::ofi {

ssize_t Endpoint::receive(const RecvCall& call) noexcept
{
    const Settles after{source_};
    if (!enabled_ || !receives_messages_) {
        return enabled_ ? -FI_EOPNOTSUPP : -FI_EOPBADSTATE;
    }
    if (shares_rx_) {   // receives are posted there
        return -FI_EOPNOTSUPP;
    }
    linnet_peer_t peer = LINNET_PEER_ANY;
    if (directed() && call.from != FI_ADDR_UNSPEC) {
        peer = peers_.get(call.from);
        if (peer == LINNET_PEER_UNKNOWN) {
            return no_peer(call.from);
        }
    }
    if (call.kind == FI_TAGGED && (call.flags & FI_PEEK) != 0) {
        return peek(call, peer);
    }
    const bool discards = (call.flags & FI_DISCARD) != 0;   // then no buffer is looked at
    if (!discards && !call.bytes.valid(most_received_)) {
        return -FI_EINVAL;
    }
    if (call.kind == FI_TAGGED && (call.flags & FI_CLAIM) != 0) {
        return receive_claimed(call);
    }
    if (discards) {   // of what?
        return -FI_EINVAL;
    }
    const bool multi = call.kind == FI_MSG && (call.flags & FI_MULTI_RECV) != 0;
    if (multi && call.bytes.count != 1) {
        return -FI_EINVAL;
    }
    RecvOperation* op = nullptr;
    linnet_status_t status = LINNET_IN_PROGRESS;
    {   // until the request is known to be posted: fi_cancel() before that would find half of it
        const std::lock_guard guard{posted_lock_};
        op = receives_.acquire();
        if (op == nullptr) {
            return -FI_EAGAIN;
        }
        op->endpoint = this;
        op->context = call.context;
        op->kind = call.kind;
        op->reports_success = !rx_selective_ || (call.flags & FI_COMPLETION) != 0;
        op->peer = peer;
        op->tag = call.tag;
        op->ignore = call.ignore;
        op->room = call.bytes.total();
        op->discards = false;
        op->multi = multi;
        op->canceled = false;
        op->busy = false;
        op->reserved = false;
        op->used = 0;
        op->least = least_multi_recv_.load(std::memory_order_relaxed);
        status = post(*op, call.bytes);
    }
    return started(*op, status);
}

RecvOperation* Endpoint::new_receive() noexcept
{
    const std::lock_guard guard{posted_lock_};
    return receives_.acquire();
}

void Endpoint::give_back(RecvOperation& op) noexcept
{
    const std::lock_guard guard{posted_lock_};
    receives_.release(op);
}

// ---- the ring of posted receives, by which fi_cancel() finds them; under posted_lock_ ----

// In progress: it is not the caller's any more.
linnet_status_t Endpoint::post(RecvOperation& op, const Bytes& bytes) noexcept
{
    if (op.multi || multis_ != nullptr || held_ != nullptr) {
        if (must_wait(op)) {
            hold(op, bytes);
            return LINNET_IN_PROGRESS;
        }
        if (op.multi) {
            op.iov[0] = bytes.iov[0];
            post_multi(op);
            return LINNET_IN_PROGRESS;
        }
    }
    return start(op, bytes);
}

linnet_status_t Endpoint::start(RecvOperation& op, const Bytes& bytes) noexcept
{
    linnet_recv_t r{};
    r.peer = op.peer;
    r.space = op.kind == FI_TAGGED ? kTaggedSpace : kMessageSpace;
    r.match_bits = op.tag;
    r.ignore = op.ignore;
    r.data = op.data(bytes);
    r.done = on_received;
    r.done_arg = &op;
    link(posted_, op);
    const linnet_status_t status = linnet_tag_recv(source_.context(), &r, &op.request);
    if (status != LINNET_IN_PROGRESS) {
        unlink(posted_, op);
    }
    return status;
}

ssize_t Endpoint::started(RecvOperation& op, linnet_status_t status) noexcept
{
    if (status == LINNET_IN_PROGRESS) {
        return FI_SUCCESS;
    }
    if (status == LINNET_ERR_INVALID) {
        give_back(op);
        return -FI_EINVAL;
    }
    // Want of memory too: it may have taken its message, and who tried again would wait for that.
    op.request.result.status = status;
    end_receive(op);
    give_back(op);
    return FI_SUCCESS;
}

void Endpoint::on_received(linnet_request_t*, void* arg) noexcept
{
    auto& op = *static_cast<RecvOperation*>(arg);
    Endpoint& e = *op.endpoint;
    if (op.multi) {
        e.end_multi(op);
        return;
    }
    e.end_receive(op);   // fi_cancel() finds it until it is out of the ring, but then the core says that it is too late
    const std::lock_guard guard{e.posted_lock_};
    unlink(e.posted_, op);
    e.receives_.release(op);
}

void Endpoint::end_receive(RecvOperation& op) noexcept
{
    linnet_result_t result = op.request.result;
    if (op.discards && result.status == LINNET_ERR_TRUNCATED) {
        result.status = LINNET_OK;
        result.length = 0;
    }
    report_receive(op, result, 0);
}

void Endpoint::report_receive(const RecvOperation& op, const linnet_result_t& result, std::uint64_t more_flags) noexcept
{
    const bool success = result.status == LINNET_OK;
    if (rx_cq_ != nullptr && (op.reports_success || !success || more_flags != 0)) {
        const bool truncated = result.status == LINNET_ERR_TRUNCATED;
        const std::size_t room = op.room - op.used;
        rx_cq_->push([&](CqEntry& e) {
            e.told.op_context = op.context;
            e.told.flags = op.kind | FI_RECV | more_flags;
            if (success || truncated) {
                e.told.flags |= (result.flags & LINNET_SEND_IMMEDIATE) != 0 ? FI_REMOTE_CQ_DATA : 0;
                e.told.len = std::min<std::size_t>(result.length, room);
                e.told.data = result.immediate;
                e.told.tag = result.match_bits;
                e.source = (caps_ & FI_SOURCE) != 0 ? address_of(result.peer) : FI_ADDR_NOTAVAIL;
                e.overflow = truncated ? result.length - room : 0;
            } else {
                e.told.tag = op.tag;
            }
            e.told.buf = op.multi ? static_cast<char*>(op.iov[0].iov_base) + op.used : nullptr;
            e.error = success ? 0 : fi_errno_of(result.status);
            e.provider_error = success ? 0 : static_cast<int>(result.status);
        });
    }
    count(kCountRecv, success);
}

// ---- cancel ----

ssize_t Endpoint::cancel(void* context) noexcept
{
    const Settles after{source_};
    if (context == nullptr) {   // it names no operation: several may have it
        return -FI_ENOENT;
    }
    RecvOperation* found = nullptr;
    {
        const std::lock_guard guard{posted_lock_};
        RecvOperation* at = posted_;
        while (at != nullptr && found == nullptr) {
            // Too late for one whose completion is on its way; another may have the same context. A buffer that has a message goes when that is in it.
            if (at->context == context && !at->canceled) {
                if (linnet_cancel(source_.context(), &at->request) == LINNET_OK) {
                    found = at;
                } else if (at->multi) {
                    at->canceled = true;
                    return FI_SUCCESS;
                }
            }
            at = next_in(posted_, *at);
        }
        if (found != nullptr) {
            unlink(posted_, *found);
            leave_multis(*found);
        } else {
            RecvOperation* held = held_;
            while (held != nullptr && (held->context != context || held->canceled)) {
                held = next_in(held_, *held);
            }
            if (held != nullptr && held->busy) {
                held->canceled = true;
                return FI_SUCCESS;
            }
            if (held != nullptr) {
                found = held;
                unlink(held_, *held);
            }
        }
        if (found != nullptr) {
            unreserve(*found);
            start_held();
        }
    }
    if (found == nullptr) {   // what has begun to be sent cannot be taken back
        SendOperation* const send = fence_.take(context);
        if (send != nullptr) {
            end_send(*send, LINNET_ERR_CANCELED);
        }
        return send != nullptr ? FI_SUCCESS : -FI_ENOENT;
    }
    linnet_result_t canceled{};
    canceled.status = LINNET_ERR_CANCELED;
    report_receive(*found, canceled, found->multi ? FI_MULTI_RECV : 0);
    give_back(*found);
    return FI_SUCCESS;
}

}   // namespace linnet::ofi

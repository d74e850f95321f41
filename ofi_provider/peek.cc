// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints: FI_PEEK, FI_CLAIM, FI_DISCARD of fi_tagged(3).
#include "cntr.h"
#include "cq.h"
#include "endpoint.h"

namespace linnet::ofi {

// A message that nobody wants, out of matching already.
void Endpoint::drop(linnet_message_t* message) noexcept
{
    if (RecvOperation* const op = new_receive(); op != nullptr) {
        drop(message, *op);
    } else {   // it stays until the context closes
        linnet_message_settle(source_.context(), message);
    }
}

void Endpoint::drop(linnet_message_t* message, RecvOperation& storage) noexcept
{
    RecvOperation* const op = &storage;
    op->endpoint = this;
    linnet_recv_t r{};
    r.done = [](linnet_request_t*, void* arg) noexcept {
        auto& gone = *static_cast<RecvOperation*>(arg);
        gone.endpoint->give_back(gone);
    };
    r.done_arg = op;
    if (linnet_message_recv(source_.context(), message, &r, &op->request) != LINNET_IN_PROGRESS) {
        give_back(*op);
    }
}

void Endpoint::report_peek(const RecvCall& call, linnet_status_t status, const linnet_result_t& result) noexcept
{
    if (rx_cq_ == nullptr) {
        return;
    }
    CqEntry e;
    e.told.op_context = call.context;
    e.told.flags = FI_TAGGED | FI_RECV;
    if (status == LINNET_OK) {
        e.told.flags |= (result.flags & LINNET_SEND_IMMEDIATE) != 0 ? FI_REMOTE_CQ_DATA : 0;
        e.told.len = result.length;
        e.told.data = result.immediate;
        e.told.tag = result.match_bits;
        e.source = (caps_ & FI_SOURCE) != 0 ? address_of(result.peer) : FI_ADDR_NOTAVAIL;
    } else {
        e.told.tag = call.tag;
        e.error = status == LINNET_ERR_NOT_FOUND ? FI_ENOMSG : fi_errno_of(status);
        e.provider_error = static_cast<int>(status);
    }
    rx_cq_->push([&](CqEntry& to) { to = e; });
}

ssize_t Endpoint::peek(const RecvCall& call, linnet_peer_t peer) noexcept
{
    if ((call.flags & FI_CLAIM) != 0 && (call.flags & FI_DISCARD) != 0) {
        return -FI_EINVAL;
    }
    source_.progress();   // what has come by now counts
    const linnet_match_t match{peer, kTaggedSpace, call.tag, call.ignore};
    linnet_result_t result{};
    if ((call.flags & (FI_CLAIM | FI_DISCARD)) == 0) {
        const linnet_status_t status = linnet_probe(source_.context(), &match, &result);
        report_peek(call, status, result);
        return FI_SUCCESS;
    }
    linnet_message_t* message = nullptr;
    linnet_status_t status = LINNET_OK;
    if ((call.flags & FI_DISCARD) != 0) {
        RecvOperation* const op = new_receive();   // before a message is claimed, which cannot be given back
        if (op == nullptr) {
            return -FI_EAGAIN;
        }
        status = linnet_probe_claim(source_.context(), &match, &message, &result);
        if (status == LINNET_OK) {
            drop(message, *op);
        } else {
            give_back(*op);
        }
    } else if (const int error = guarded([&] { return claim(call.context, match, status, result); }); error != FI_SUCCESS) {
        return error;
    }
    report_peek(call, status, result);
    return FI_SUCCESS;
}

// A context names one message at a time; one that is refused has taken none.
int Endpoint::claim(void* context, const linnet_match_t& match, linnet_status_t& status, linnet_result_t& result)
{
    const std::lock_guard guard{claims_lock_};
    const auto [at, is_new] = claims_.try_emplace(context);
    if (!is_new) {
        return -FI_EINVAL;
    }
    status = linnet_probe_claim(source_.context(), &match, &at->second.message, &result);
    at->second.result = result;
    if (status != LINNET_OK) {
        claims_.erase(at);
    }
    return FI_SUCCESS;
}

ssize_t Endpoint::receive_claimed(const RecvCall& call) noexcept
{
    RecvOperation* const op = new_receive();   // before the claim is given up: to keep it again may take memory
    if (op == nullptr) {
        return -FI_EAGAIN;
    }
    Claim claim{};
    {
        const std::lock_guard guard{claims_lock_};
        const auto at = claims_.find(call.context);
        if (at == claims_.end()) {
            give_back(*op);
            return -FI_EINVAL;
        }
        claim = at->second;
        claims_.erase(at);
    }
    op->endpoint = this;
    op->context = call.context;
    op->kind = FI_TAGGED;
    op->reports_success = !rx_selective_ || (call.flags & FI_COMPLETION) != 0;
    op->peer = LINNET_PEER_ANY;
    op->tag = claim.result.match_bits;
    op->ignore = 0;
    op->discards = (call.flags & FI_DISCARD) != 0;
    op->room = op->discards ? 0 : call.bytes.total();
    op->multi = false;
    op->canceled = false;
    op->used = 0;
    linnet_recv_t r{};
    if (!op->discards) {
        r.data = op->data(call.bytes);
    }
    r.done = on_received;
    r.done_arg = op;
    linnet_status_t status = LINNET_IN_PROGRESS;
    {
        const std::lock_guard guard{posted_lock_};
        link(posted_, *op);
        status = linnet_message_recv(source_.context(), claim.message, &r, &op->request);
        if (status != LINNET_IN_PROGRESS) {
            unlink(posted_, *op);
        }
    }
    return started(*op, status);
}

}   // namespace linnet::ofi

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared receive contexts: what the application calls. Matching is in shared_match.cc.
#include "shared_rx.h"

#include <algorithm>
#include <utility>

#include "av.h"
#include "cq.h"
#include "endpoint.h"
#include "fabric.h"
#include "info.h"
#include "transfer_ops.h"

namespace linnet::ofi {

SharedRx::SharedRx(Domain& domain, const fi_rx_attr& attr)
    : fid_ep{}, domain_{domain}, caps_{attr.caps}, most_pieces_{attr.iov_limit}, op_flags_{attr.op_flags}
{
    static fi_ops base = {sizeof base, close_fid, no_bind, control, no_ops_open, nullptr, nullptr};
    static fi_ops_ep own = {sizeof own, [](fid_t f, void* context) noexcept { return of(f).cancel(context); }, get_option, set_option, unsupported,
                            unsupported, unsupported, unsupported};
    static fi_ops_cm names = {sizeof names, unsupported, unsupported, unsupported, unsupported, unsupported,
                              unsupported,  unsupported, unsupported, unsupported};
    fid.fclass = FI_CLASS_SRX_CTX;
    fid.ops = &base;
    ops = &own;
    cm = &names;
    msg = (caps_ & FI_MSG) != 0 ? message_ops() : no_message_ops();
    tagged = (caps_ & FI_TAGGED) != 0 ? tagged_ops() : no_tagged_ops();
    rma = no_rma_ops();
    atomic = no_atomic_ops();
    collective = no_collective_ops();
    ++domain_.users;
}

int SharedRx::open(fid_domain* domain, fi_rx_attr* attr, fid_ep** out, void* context) noexcept
{
    return guarded([&] {
        fi_rx_attr any{};
        fi_rx_attr& wanted = attr != nullptr ? *attr : any;
        if (!take_shared_rx(wanted)) {
            return -FI_EINVAL;
        }
        auto* const s = new SharedRx{Domain::of(domain), wanted};
        s->fid.context = context;
        *out = s;
        return FI_SUCCESS;
    });
}

// What was posted is dropped without a completion.
int SharedRx::close_fid(struct fid* f) noexcept
{
    SharedRx& s = of(f);
    if (s.users.load() != 0) {
        return -FI_EBUSY;
    }
    --s.domain_.users;
    delete &s;
    return FI_SUCCESS;
}

int SharedRx::control(struct fid* f, int command, void* arg) noexcept
{
    SharedRx& s = of(f);
    if (command == FI_ENABLE) {   // it is
        return FI_SUCCESS;
    }
    if ((command != FI_GETOPSFLAG && command != FI_SETOPSFLAG) || arg == nullptr) {
        return arg == nullptr ? -FI_EINVAL : -FI_ENOSYS;
    }
    auto& flags = *static_cast<std::uint64_t*>(arg);
    if ((flags & (FI_TRANSMIT | FI_RECV)) != FI_RECV) {
        return -FI_EINVAL;
    }
    if (command == FI_GETOPSFLAG) {
        flags = s.op_flags_;
        return FI_SUCCESS;
    }
    if ((flags & ~(FI_RECV | kRxOpFlags)) != 0) {
        return -FI_EBADFLAGS;
    }
    s.op_flags_ = flags & ~FI_RECV;
    return FI_SUCCESS;
}

int SharedRx::get_option(fid_t f, int level, int name, void* value, std::size_t* bytes) noexcept
{
    return get_least_multi_recv(of(f).least_multi_recv_, level, name, value, bytes);
}
int SharedRx::set_option(fid_t f, int level, int name, const void* value, std::size_t bytes) noexcept
{
    return set_least_multi_recv(of(f).least_multi_recv_, level, name, value, bytes);
}

// ---- endpoints ----

bool SharedRx::admits(std::uint64_t caps) const noexcept
{
    constexpr std::uint64_t kOfMessages = FI_MSG | FI_TAGGED | FI_RECV | FI_MULTI_RECV | FI_DIRECTED_RECV;
    return (caps & kOfMessages & ~caps_) == 0;
}

int SharedRx::attach(Endpoint& e, const Av& av)
{
    const std::unique_lock alone{endpoints_lock_};
    const std::lock_guard guard{lock_};
    if (av_ != nullptr && av_ != &av) {
        LINNET_FI_INFO(FI_LOG_EP_CTRL, "endpoint: the endpoints of a shared receive context must have the same address vector\n");
        return -FI_EINVAL;
    }
    if (spare_.empty()) {
        spare_.emplace_back();
    }
    // Made now: a space that is watched and given up cannot be watched again. The two small records of the watches are all that may still fail.
    for (const std::uint32_t space : {kTaggedSpace, kMessageSpace}) {
        const linnet_match_t any{LINNET_PEER_ANY, space, 0, ~std::uint64_t{0}};
        linnet_result_t ignored{};
        if (linnet_probe(e.source().context(), &any, &ignored) == LINNET_ERR_NO_MEMORY) {
            return -FI_ENOMEM;
        }
    }
    endpoints_.push_back(&e);
    av_ = &av;
    for (const std::uint32_t space : {kTaggedSpace, kMessageSpace}) {
        if (const linnet_status_t s = linnet_space_watch(e.source().context(), space, on_news, &e); s != LINNET_OK) {
            return -fi_errno_of(s);   // the caller detaches it
        }
    }
    return FI_SUCCESS;
}

// ---- receiving ----

ssize_t SharedRx::receive(const RecvCall& call) noexcept
{
    const bool directed = (caps_ & FI_DIRECTED_RECV) != 0 && call.from != FI_ADDR_UNSPEC;
    const bool of_one_message = call.kind == FI_TAGGED && (call.flags & (FI_PEEK | FI_CLAIM)) != 0;
    const bool discards = (call.flags & FI_DISCARD) != 0;   // then no buffer is looked at
    if (call.kind == FI_TAGGED && (call.flags & FI_PEEK) != 0) {
        return guarded([&] { return peek(call, directed); });
    }
    if ((!discards && !call.bytes.valid(most_pieces_)) || (discards && !of_one_message)) {
        return -FI_EINVAL;
    }
    return of_one_message ? receive_claimed(call) : post(call, directed);
}

// fi_getinfo(3): without FI_DIRECTED_RECV, which is each endpoint's own, the source that a receive names is not looked at.
bool SharedRx::may_name(fi_addr_t from) const noexcept
{
    return std::all_of(endpoints_.begin(), endpoints_.end(), [&](const Endpoint* e) { return !e->directed() || e->knows(from); });
}

RecvOperation* SharedRx::make(const RecvCall& call, bool directed) noexcept
{
    RecvOperation* const op = receives_.acquire();
    if (op != nullptr) {
        op->endpoint = nullptr;
        op->context = call.context;
        op->kind = call.kind;
        op->wants_completion = (call.flags & FI_COMPLETION) != 0;
        op->reports_success = true;
        op->from = directed ? call.from : FI_ADDR_UNSPEC;
        op->peer = LINNET_PEER_ANY;
        op->tag = call.tag;
        op->ignore = call.ignore;
        op->discards = (call.flags & FI_DISCARD) != 0;
        op->pieces = op->discards ? 0 : call.bytes.count;
        op->room = op->discards ? 0 : call.bytes.total();
        std::copy_n(call.bytes.iov, op->pieces, op->iov.begin());
        op->multi = call.kind == FI_MSG && (call.flags & FI_MULTI_RECV) != 0;
        op->canceled = false;
        op->used = 0;
        op->least = least_multi_recv_.load(std::memory_order_relaxed);
        op->busy = false;
        op->queued = false;
    }
    return op;
}

ssize_t SharedRx::post(const RecvCall& call, bool directed)
{
    if ((call.flags & FI_MULTI_RECV) != 0 && call.kind == FI_MSG && call.bytes.count != 1) {
        return -FI_EINVAL;
    }
    const std::lock_guard guard{lock_};
    if (directed && !may_name(call.from)) {
        return -FI_EINVAL;
    }
    RecvOperation* const op = make(call, directed);
    if (op == nullptr) {
        return -FI_EAGAIN;
    }
    Queue& q = queue_of(call.kind);
    if (std::exchange(q.starved, false)) {
        for (Endpoint* e : endpoints_) {
            collect(*e, call.kind);
        }
    }
    link(q.posted, *op);
    op->queued = true;
    if (match(q, op) && directed && !op->busy) {
        if (Endpoint* const at = who_lost(*op); at != nullptr) {
            end(*op, at, at->why_lost(op->from));
        }
    }
    return FI_SUCCESS;
}

ssize_t SharedRx::cancel(void* context) noexcept
{
    if (context == nullptr) {   // as Endpoint::cancel()
        return -FI_ENOENT;
    }
    const std::lock_guard guard{lock_};
    if (endpoints_.empty()) {   // whom would it be told?
        return -FI_EOPBADSTATE;
    }
    for (Queue& q : queues_) {
        for (RecvOperation* op = q.posted; op != nullptr; op = next_in(q.posted, *op)) {
            if (op->context != context || op->canceled) {   // another may have the same context
                continue;
            }
            if (op->busy) {   // it goes when its message is in it
                op->canceled = true;
            } else {
                end(*op, endpoints_.front(), LINNET_ERR_CANCELED);
            }
            return FI_SUCCESS;
        }
    }
    return -FI_ENOENT;
}

// ---- FI_PEEK, FI_CLAIM, FI_DISCARD of fi_tagged(3) ----

ssize_t SharedRx::peek(const RecvCall& call, bool directed)
{
    if ((call.flags & FI_CLAIM) != 0 && (call.flags & FI_DISCARD) != 0) {
        return -FI_EINVAL;
    }
    const std::shared_lock stay{endpoints_lock_};
    if (endpoints_.empty()) {   // nowhere to tell it
        return -FI_EOPBADSTATE;
    }
    for (Endpoint* e : endpoints_) {   // what has come by now counts
        e->source().progress();
    }
    const std::lock_guard guard{lock_};
    if (directed && !may_name(call.from)) {
        return -FI_EINVAL;
    }
    for (Endpoint* e : endpoints_) {
        collect(*e, FI_TAGGED);
    }
    RecvOperation wanted;   // as a pattern
    wanted.tag = call.tag;
    wanted.ignore = call.ignore;
    wanted.from = directed ? call.from : FI_ADDR_UNSPEC;
    auto& waiting = queue_of(FI_TAGGED).waiting;
    const auto at = std::find_if(waiting.begin(), waiting.end(), [&](Arrival& a) { return accepts(wanted, a); });
    if (at == waiting.end()) {
        endpoints_.front()->report_peek(call, LINNET_ERR_NOT_FOUND, linnet_result_t{});
        return FI_SUCCESS;
    }
    const Arrival found = *at;
    RecvOperation* const gone = (call.flags & FI_DISCARD) != 0 ? found.endpoint->new_receive() : nullptr;
    if ((call.flags & FI_DISCARD) != 0 && gone == nullptr) {   // it stays
        return -FI_EAGAIN;
    }
    if ((call.flags & FI_CLAIM) != 0 && !claims_.try_emplace(call.context, found).second) {   // a context names one message at a time
        return -FI_EINVAL;
    }
    if ((call.flags & (FI_CLAIM | FI_DISCARD)) != 0) {
        waiting.erase(at);
    }
    if (gone != nullptr) {
        found.endpoint->drop(found.message, *gone);
    }
    found.endpoint->report_peek(call, LINNET_OK, found.result);
    return FI_SUCCESS;
}

ssize_t SharedRx::receive_claimed(const RecvCall& call) noexcept
{
    const std::lock_guard guard{lock_};
    const auto at = claims_.find(call.context);
    if (at == claims_.end()) {
        return -FI_EINVAL;
    }
    RecvOperation* const op = make(call, false);
    if (op == nullptr) {
        return -FI_EAGAIN;
    }
    const Arrival a = at->second;
    claims_.erase(at);
    static_cast<void>(start(queue_of(FI_TAGGED), *op, a));
    return FI_SUCCESS;
}

// ---- fi_msg(3), fi_tagged(3): what there is of them without a sender ----

namespace {
SharedRx& shared(fid_ep* f) noexcept { return static_cast<SharedRx&>(*f); }
}   // namespace

fi_ops_msg* SharedRx::message_ops() noexcept
{
    static const auto recv = [](fid_ep* f, void* buffer, std::size_t bytes, void*, fi_addr_t from, void* context) noexcept {
        const iovec iov{buffer, bytes};
        return shared(f).receive({{&iov, 1}, from, FI_MSG, 0, 0, context, shared(f).op_flags_});
    };
    static const auto recvv = [](fid_ep* f, const iovec* iov, void**, std::size_t count, fi_addr_t from, void* context) noexcept {
        return shared(f).receive({{iov, count}, from, FI_MSG, 0, 0, context, shared(f).op_flags_});
    };
    static const auto recvmsg = [](fid_ep* f, const fi_msg* m, std::uint64_t flags) noexcept {
        return (flags & ~kRecvMsgFlags) != 0 ? -FI_EBADFLAGS
                                             : shared(f).receive({{m->msg_iov, m->iov_count}, m->addr, FI_MSG, 0, 0, m->context, flags});
    };
    static fi_ops_msg ops = {sizeof ops, recv, recvv, recvmsg, unsupported, unsupported, unsupported, unsupported, unsupported, unsupported};
    return &ops;
}

fi_ops_tagged* SharedRx::tagged_ops() noexcept
{
    static const auto recv = [](fid_ep* f, void* buffer, std::size_t bytes, void*, fi_addr_t from, std::uint64_t tag, std::uint64_t ignore,
                                void* context) noexcept {
        const iovec iov{buffer, bytes};
        return shared(f).receive({{&iov, 1}, from, FI_TAGGED, tag, ignore, context, shared(f).op_flags_});
    };
    static const auto recvv = [](fid_ep* f, const iovec* iov, void**, std::size_t count, fi_addr_t from, std::uint64_t tag, std::uint64_t ignore,
                                 void* context) noexcept {
        return shared(f).receive({{iov, count}, from, FI_TAGGED, tag, ignore, context, shared(f).op_flags_});
    };
    static const auto recvmsg = [](fid_ep* f, const fi_msg_tagged* m, std::uint64_t flags) noexcept {
        return (flags & ~kRecvTaggedFlags) != 0 ? -FI_EBADFLAGS
                                                : shared(f).receive({{m->msg_iov, m->iov_count}, m->addr, FI_TAGGED, m->tag, m->ignore, m->context, flags});
    };
    static fi_ops_tagged ops = {sizeof ops, recv, recvv, recvmsg, unsupported, unsupported, unsupported, unsupported, unsupported, unsupported};
    return &ops;
}

}   // namespace linnet::ofi

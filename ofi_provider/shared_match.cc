// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared receive contexts: matching. All under SharedRx::lock_.
//
// Whatever waits in `waiting` is accepted by no posted receive, or the first that accepts it is a buffer that is busy. So a new message looks among the
// receives alone, and a new receive among the messages alone, unless a buffer is busy.
#include <algorithm>

#include "endpoint.h"
#include "shared_rx.h"

namespace linnet::ofi {

namespace {
constexpr std::uint32_t space_of(std::uint64_t kind) noexcept { return kind == FI_TAGGED ? kTaggedSpace : kMessageSpace; }
bool ended_well(linnet_status_t s) noexcept { return s == LINNET_OK || s == LINNET_ERR_TRUNCATED; }
}   // namespace

// ---- messages come ----

void SharedRx::on_news(void* arg, std::uint32_t space, std::uint32_t news) noexcept
{
    auto& e = *static_cast<Endpoint*>(arg);
    SharedRx& s = *e.shared_rx_;
    const std::lock_guard guard{s.lock_};
    s.collect(e, space == kTaggedSpace ? FI_TAGGED : FI_MSG);
    if ((news & LINNET_NEWS_PEER) != 0) {
        s.end_lost(e);
    }
}

// A record that is needed no more is the spare one from now on, if that was used.
void SharedRx::keep_spare(std::list<Arrival>& of, std::list<Arrival>::iterator record) noexcept
{
    if (spare_.empty()) {
        spare_.splice(spare_.begin(), of, record);
    } else {
        of.erase(record);
    }
}

// All that has come to the endpoint is claimed, oldest first. Without memory for more it stays where it is until there is news again, or a receive is posted.
void SharedRx::collect(Endpoint& e, std::uint64_t kind) noexcept
{
    Queue& q = queue_of(kind);
    const linnet_match_t all{LINNET_PEER_ANY, space_of(kind), 0, ~std::uint64_t{0}};
    for (;;) {
        std::list<Arrival> one;
        if (guarded([&] { one.emplace_back(); return FI_SUCCESS; }) != FI_SUCCESS) {
            one.splice(one.begin(), spare_);   // enough for one that need not wait
        }
        if (one.empty()) {
            q.starved = true;
            LINNET_FI_WARN(FI_LOG_EP_DATA, "no memory for a message to a shared receive context\n");
            return;
        }
        Arrival& a = one.front();
        a.endpoint = &e;
        if (linnet_probe_claim(e.source_.context(), &all, &a.message, &a.result) != LINNET_OK) {
            keep_spare(one, one.begin());
            return;
        }
        RecvOperation* const op = taker(q, a);
        if (op == nullptr || op->busy) {
            settle(op, a);
            q.waiting.splice(q.waiting.end(), one);
        } else {
            static_cast<void>(start(q, *op, a));
            keep_spare(one, one.begin());
        }
    }
}

bool SharedRx::accepts(const RecvOperation& op, Arrival& a) noexcept
{
    if (((op.tag ^ a.result.match_bits) & ~op.ignore) != 0) {
        return false;
    }
    if (op.from == FI_ADDR_UNSPEC || !a.endpoint->directed()) {
        return true;
    }
    if (a.result.peer == LINNET_PEER_UNKNOWN) {   // it may have been added since
        static_cast<void>(linnet_message_peer(a.endpoint->source_.context(), a.message, &a.result.peer));
    }
    return a.result.peer != LINNET_PEER_UNKNOWN && a.endpoint->peers_.get(op.from) == a.result.peer;
}

RecvOperation* SharedRx::taker(const Queue& q, Arrival& a) noexcept
{
    for (RecvOperation* op = q.posted; op != nullptr; op = next_in(q.posted, *op)) {
        if (accepts(*op, a)) {
            return op;
        }
    }
    return nullptr;
}

// One that waits goes to `op` when that is not busy any more. If there is none, its sender may know (FI_DELIVERY_COMPLETE).
void SharedRx::settle(const RecvOperation* op, Arrival& a) noexcept
{
    if (op == nullptr && !a.settled) {
        a.settled = true;
        linnet_message_settle(a.endpoint->source_.context(), a.message);
    }
}

// Messages that wait go to receives. With `only`, this one has been posted just now, and no other accepts any of them but the busy ones;
// false: it has left the queue.
bool SharedRx::match(Queue& q, RecvOperation* only) noexcept
{
    for (auto at = q.waiting.begin(); at != q.waiting.end();) {
        RecvOperation* op = nullptr;
        if (only == nullptr || q.busy != 0) {
            op = taker(q, *at);
        } else if (accepts(*only, *at)) {
            op = only;
        }
        if (op == nullptr || op->busy) {
            settle(op, *at);
            ++at;
            continue;
        }
        const Arrival a = *at;
        const auto gone = at++;
        keep_spare(q.waiting, gone);
        if (!start(q, *op, a) && op == only) {
            return false;
        }
    }
    return true;
}

// ---- a receive has its message ----

// False: the receive has left its queue.
bool SharedRx::start(Queue& q, RecvOperation& op, const Arrival& a) noexcept
{
    const bool stays = op.multi;
    if (stays) {
        op.busy = true;
        ++q.busy;
    } else {
        if (op.queued) {
            unlink(q.posted, op);
            op.queued = false;
        }
        link(running_, op);
    }
    op.endpoint = a.endpoint;
    op.reports_success = !a.endpoint->rx_selective_ || op.wants_completion;
    linnet_recv_t r{};
    const std::array<iovec, kIovMax> iov = op.iov;
    const iovec rest{static_cast<char*>(iov[0].iov_base) + op.used, op.room - op.used};
    r.data = op.data(stays ? Bytes{&rest, 1} : Bytes{iov.data(), op.pieces});
    r.done = on_received;
    r.done_arg = &op;
    const linnet_status_t status = linnet_message_recv(a.endpoint->source_.context(), a.message, &r, &op.request);
    a.endpoint->source_.settle();
    if (status == LINNET_IN_PROGRESS) {
        return stays;
    }
    op.request.result.status = status;
    return finish(q, op);
}

void SharedRx::on_received(linnet_request_t*, void* arg) noexcept
{
    auto& op = *static_cast<RecvOperation*>(arg);
    SharedRx& s = *op.endpoint->shared_rx_;
    const std::lock_guard guard{s.lock_};
    Queue& q = s.queue_of(op.kind);
    const bool was_busy = op.multi;
    static_cast<void>(s.finish(q, op));
    if (was_busy) {
        static_cast<void>(s.match(q, nullptr));
    }
}

// The message is whole. False: the receive is over.
bool SharedRx::finish(Queue& q, RecvOperation& op) noexcept
{
    linnet_result_t result = op.request.result;
    if (!op.multi) {
        unlink(running_, op);
        if (op.discards && result.status == LINNET_ERR_TRUNCATED) {
            result.status = LINNET_OK;
            result.length = 0;
        }
        op.endpoint->report_receive(op, result, 0);
        receives_.release(op);
        return false;
    }
    op.busy = false;
    --q.busy;
    const std::size_t room = op.room - op.used;
    const std::size_t taken = ended_well(result.status) ? std::min<std::size_t>(result.length, room) : 0;
    const bool released = op.canceled || room - taken < op.least || !ended_well(result.status) || room == taken;
    const bool last_but_end = op.canceled && ended_well(result.status);   // an error is the end
    op.endpoint->report_receive(op, result, released && !last_but_end ? FI_MULTI_RECV : 0);
    op.used += taken;
    if (last_but_end) {
        end(op, op.endpoint, LINNET_ERR_CANCELED);
    } else if (released) {
        unlink(q.posted, op);
        receives_.release(op);
    }
    return !released;
}

// It leaves its queue without a message.
void SharedRx::end(RecvOperation& op, Endpoint* at, linnet_status_t status) noexcept
{
    unlink(queue_of(op.kind).posted, op);
    if (at != nullptr) {
        linnet_result_t result{};
        result.status = status;
        at->report_receive(op, result, op.multi ? FI_MULTI_RECV : 0);
    }
    receives_.release(op);
}

// ---- peers are lost, endpoints close ----

Endpoint* SharedRx::who_lost(const RecvOperation& op) noexcept
{
    const auto lost = [&](Endpoint* e) { return e->directed() && e->why_lost(op.from) != LINNET_OK; };
    const auto at = op.from == FI_ADDR_UNSPEC ? endpoints_.end() : std::find_if(endpoints_.begin(), endpoints_.end(), lost);
    return at == endpoints_.end() ? nullptr : *at;
}

// After what came from a lost peer has been matched, receives that name it wait for nothing.
void SharedRx::end_lost(Endpoint& e) noexcept
{
    for (Queue& q : queues_) {
        collect(e, &q == &queues_[0] ? FI_TAGGED : FI_MSG);
        bool again = e.directed();
        while (again) {
            again = false;
            for (RecvOperation* op = q.posted; op != nullptr && !again; op = next_in(q.posted, *op)) {
                const linnet_status_t why = op->from == FI_ADDR_UNSPEC || op->busy ? LINNET_OK : e.why_lost(op->from);
                if (why != LINNET_OK) {
                    end(*op, &e, why);
                    again = true;
                }
            }
        }
    }
}

// Nobody wants it. It needs storage of its own until it is gone.
void SharedRx::drop(const Arrival& a) noexcept { a.endpoint->drop(a.message); }

void SharedRx::detach(Endpoint& e) noexcept
{
    const std::unique_lock alone{endpoints_lock_};
    const std::lock_guard guard{lock_};
    for (const std::uint32_t space : {kTaggedSpace, kMessageSpace}) {
        linnet_space_watch(e.source_.context(), space, nullptr, nullptr);
    }
    endpoints_.erase(std::remove(endpoints_.begin(), endpoints_.end(), &e), endpoints_.end());
    av_ = endpoints_.empty() ? nullptr : av_;
    for (Queue& q : queues_) {
        q.waiting.remove_if([&](const Arrival& a) {
            if (a.endpoint == &e) {
                drop(a);
            }
            return a.endpoint == &e;
        });
    }
    for (auto at = claims_.begin(); at != claims_.end();) {
        if (at->second.endpoint == &e) {
            drop(at->second);
            at = claims_.erase(at);
        } else {
            ++at;
        }
    }
}

// Its context is closed: what was under way there is over, and nobody is told.
void SharedRx::ended(const Endpoint& e) noexcept
{
    const std::lock_guard guard{lock_};
    std::vector<RecvOperation*>::size_type left = 0;
    for (RecvOperation* op = running_; op != nullptr; op = next_in(running_, *op)) {
        ++left;
    }
    for (RecvOperation* op = running_; left != 0; --left) {
        RecvOperation* const next = op->next;
        if (op->endpoint == &e) {
            unlink(running_, *op);
            receives_.release(*op);
        }
        op = next;
    }
    for (Queue& q : queues_) {
        for (bool again = true; again;) {
            again = false;
            for (RecvOperation* op = q.posted; op != nullptr && !again; op = next_in(q.posted, *op)) {
                if (op->busy && op->endpoint == &e) {
                    op->busy = false;
                    --q.busy;
                    if (op->canceled) {
                        end(*op, endpoints_.empty() ? nullptr : endpoints_.front(), LINNET_ERR_CANCELED);
                        again = true;
                    }
                }
            }
        }
        static_cast<void>(match(q, nullptr));
    }
}

}   // namespace linnet::ofi

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: receives, probes, unexpected messages.
#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include "proto/lean.h"

namespace linnet::proto {

namespace {
constexpr Status final_status(std::uint64_t length, std::uint64_t room) noexcept { return length > room ? Status::kTruncated : Status::kOk; }
}   // namespace

void Proto::fill_result(ResultRecord& to, const Unexpected& u) noexcept
{
    to.status = Status::kOk;
    to.peer = u.peer->id;
    to.peer_added = u.peer->added.load(std::memory_order_relaxed);
    to.bits = u.bits;
    to.immediate = u.immediate;
    to.has_immediate = u.has_immediate;
    to.length = u.length;
}

// Eager bytes were consumed: the sender may send as many more. Half of the whole is worth a packet of its own.
void Proto::give_credit(Peer& peer, std::size_t bytes) noexcept
{
    if (bytes == 0) {
        return;
    }
    peer.credit_grant.fetch_add(static_cast<std::uint32_t>(bytes), std::memory_order_relaxed);
    layer_->credit_given(peer, static_cast<std::uint32_t>(config_.eager_credit / 2));
}

// A peer that finds no credit for a message whose receive is posted sends faster than its credit travels back: a window of messages fills it. Nothing of them
// is held here, so it may use more. What it may send for which there is no receive grows as well, hence the two limits.
void Proto::give_more_credit(Peer& peer) noexcept
{
    constexpr std::uint32_t kMost = 3;        // for one peer
    constexpr std::uint32_t kMostOfAll = 48;
    constexpr std::size_t kEnough = 4u << 20;
    const std::uint32_t more = peer.credit_more.load(std::memory_order_relaxed);
    if (more >= kMost || (more + 1) * config_.eager_credit >= kEnough || credit_more_.load(std::memory_order_relaxed) >= kMostOfAll) {
        return;
    }
    peer.credit_more.store(more + 1, std::memory_order_relaxed);
    credit_more_.fetch_add(1, std::memory_order_relaxed);
    give_credit(peer, config_.eager_credit);
}

Status Proto::recv(Peer* from, std::uint32_t space_id, std::uint64_t bits, std::uint64_t ignore, RecvRequest& r) noexcept
{
    Space* const space = spaces_.get(space_id);
    if (space == nullptr) {
        return Status::kNoMemory;
    }
    layer_->next_turn();
    r.space = space;
    r.spec = MatchSpec{from == nullptr ? kAnySource : from->id, bits, ignore};
    Unexpected* u = nullptr;
    {
        SpinLockGuard guard{space->lock};
        UnexpectedMessage* const m = space->match.post(r);
        if (m == nullptr) {
            // Under the lock, so that on_peer_down() finds either the receive or nothing to find.
            if (from != nullptr && from->down_reason() != Status::kOk) {
                const bool removed = space->match.cancel(r);
                static_cast<void>(removed);
                return from->down_reason();
            }
            engine_.work_opened();
            return Status::kInProgress;
        }
        u = static_cast<Unexpected*>(m);
        unlist(*space, *u);
        if (claim_arriving(*u, r)) {
            return Status::kInProgress;
        }
    }
    return delivered(r, deliver(*u, r));
}

// True while its payload is still coming: whoever reads it delivers it to `r`. Under its space's lock.
bool Proto::claim_arriving(Unexpected& u, RecvRequest& r) noexcept
{
    if (u.arriving) {
        u.claimant = &r;
        engine_.work_opened();
    }
    return u.arriving;
}

// The end of a receive that found its message waiting: complete() never sees it.
Status Proto::delivered(const RecvRequest& r, Status status) noexcept
{
    if (status != Status::kInProgress) {   // then it may be the host's already
        note_complete(r, status);
    }
    if (status == Status::kTruncated) {
        shared_counters_.add_shared(Counter::kTruncated);
    }
    return status;
}

// Hand a whole unexpected message, or the first part of a rendezvous message, to its receive. The record is freed. Any thread; no lock held.
// kInProgress: the rest is being pulled, and work was opened for it.
Status Proto::deliver(Unexpected& u, RecvRequest& r) noexcept
{
    Peer& peer = *u.peer;
    fill_result(r.result, u);
    note_match(peer, u.length, u.bits, u.rendezvous);
    const std::size_t here = std::min<std::uint64_t>(u.buffered, r.data.length);
    r.data.scatter(0, {u.buffer, here});
    give_credit(peer, u.buffered);
    Status status = final_status(u.length, r.data.length);
    if (u.rendezvous) {
        r.peer = &peer;
        r.send_slot = u.send_slot;
        r.address = u.address;
        r.next = here;
        r.end = std::min(u.length, r.data.length);
        engine_.work_opened();
        status = start_pull(peer, r);
        if (status == Status::kInProgress) {
            free_unexpected(u);
            return status;   // `r` may be complete already, and the host's
        }
        engine_.work_closed();
    } else if (u.sync) {
        tell_matched(peer, u.send_slot);   // a lost peer's sends end by themselves
    }
    free_unexpected(u);
    r.result.status = status;
    return status;
}

Unexpected* Proto::make_unexpected(Peer& peer, const wire::PacketHead& head, const wire::RtsHeader& rts, std::size_t payload_bytes) noexcept
{
    std::byte* const memory = acquire(sizeof(Unexpected));
    if (memory == nullptr) {
        return nullptr;
    }
    auto* u = new (memory) Unexpected;
    u->record_bytes = sizeof(Unexpected);
    u->source = peer.id;
    u->bits = rts.tag.match_bits.get();
    u->peer = &peer;
    u->immediate = rts.tag.immediate.get();
    u->has_immediate = (head.flags.get() & wire::flag::kImmediate) != 0;
    u->rendezvous = head.kind == wire::PacketKind::kRts;
    u->sync = !u->rendezvous && (head.flags.get() & wire::flag::kSync) != 0;
    u->delivery = u->sync && (head.flags.get() & wire::flag::kDelivered) != 0;
    u->length = u->rendezvous ? rts.length.get() : payload_bytes;
    u->send_slot = rts.tag.send_slot.get();
    u->address = u->rendezvous ? rts.address.get() : 0;
    u->buffered = payload_bytes;
    if (payload_bytes > 0) {
        u->buffer = acquire(payload_bytes);
        if (u->buffer == nullptr) {
            release(memory, sizeof(Unexpected));
            return nullptr;
        }
    }
    return u;
}

void Proto::free_unexpected(Unexpected& u) noexcept
{
    release(u.buffer, u.buffered);
    const std::size_t bytes = u.record_bytes;
    u.~Unexpected();
    release(reinterpret_cast<std::byte*>(&u), bytes);
}

// It has left matching: its sender can cancel it no more.
void Proto::unlist(Space&, Unexpected& u) noexcept
{
    if (u.delivery && static_cast<OwedLink&>(u).linked()) {
        IntrusiveList<Unexpected, OwedLink>::remove(u);
    }
    if (u.rendezvous || u.sync) {
        SpinLockGuard guard{u.peer->named_lock};
        if (static_cast<NamedLink&>(u).linked()) {
            IntrusiveList<Unexpected, NamedLink>::remove(u);
        }
    }
}

// ---- probes ----

Status Proto::probe(const MatchSpec& spec, std::uint32_t space_id, ResultRecord& result) noexcept
{
    Space* const space = spaces_.get(space_id);
    if (space == nullptr) {
        return Status::kNoMemory;
    }
    SpinLockGuard guard{space->lock};
    UnexpectedMessage* const m = space->match.probe(spec);
    if (m == nullptr) {
        return Status::kNotFound;
    }
    fill_result(result, static_cast<Unexpected&>(*m));
    return Status::kOk;
}

Status Proto::probe_claim(const MatchSpec& spec, std::uint32_t space_id, Unexpected*& message, ResultRecord& result) noexcept
{
    Space* const space = spaces_.get(space_id);
    if (space == nullptr) {
        return Status::kNoMemory;
    }
    SpinLockGuard guard{space->lock};
    UnexpectedMessage* const m = space->match.probe(spec);
    if (m == nullptr) {
        return Status::kNotFound;
    }
    space->match.claim(*m);
    auto& u = static_cast<Unexpected&>(*m);
    unlist(*space, u);
    u.claimed = true;
    fill_result(result, u);
    message = &u;
    return Status::kOk;
}

Status Proto::recv_claimed(Unexpected& u, RecvRequest& r) noexcept
{
    layer_->next_turn();
    r.space = u.space;
    r.spec = MatchSpec{u.source, u.bits, 0};
    {
        SpinLockGuard guard{u.space->lock};
        if (claim_arriving(u, r)) {
            return Status::kInProgress;
        }
    }
    if (u.lost) {
        fill_result(r.result, u);
        r.result.status = u.peer->down_reason();
        free_unexpected(u);
        return r.result.status;
    }
    return delivered(r, deliver(u, r));
}

// ---- cancel, close ----

Status Proto::cancel(Request& request) noexcept
{
    if (request.kind == Request::Kind::kSend) {
        return cancel_send(static_cast<SendRequest&>(request));
    }
    auto& r = static_cast<RecvRequest&>(request);
    if (r.one_sided) {
        return Status::kNotFound;
    }
    {
        SpinLockGuard guard{r.space->lock};
        if (!r.space->match.cancel(r)) {
            return Status::kNotFound;
        }
    }
    engine_.work_closed();
    shared_counters_.add_shared(Counter::kCanceled);
    r.result = {};
    r.result.status = Status::kCanceled;
    return Status::kOk;
}

void Proto::close_space(std::uint32_t space_id) noexcept
{
    Space* const space = spaces_.get(space_id);
    if (space == nullptr) {
        return;
    }
    DetachedList<UnexpectedMessage> left;
    {
        // What leaves the queue leaves the lists of its peer in the same breath: a cancel, or the death of its sender, takes what it finds listed for queued.
        SpinLockGuard guard{space->lock};
        DetachedList<UnexpectedMessage> all = space->match.detach_unexpected();
        while (UnexpectedMessage* const m = all.pop()) {
            auto& u = static_cast<Unexpected&>(*m);
            shared_counters_.add_shared(Counter::kUnexpectedDropped, 1);
            unlist(*space, u);
            u.dropped = u.arriving;   // its reader frees it
            if (!u.arriving) {
                left.push_back(*m);
            }
        }
    }
    while (UnexpectedMessage* const m = left.pop()) {
        discard(static_cast<Unexpected&>(*m));
    }
}

// ---- watching ----

// Watched spaces are open work: messages are to be taken in while the host computes.
Status Proto::watch(std::uint32_t space_id, SpaceWatch::Fn fn, void* arg) noexcept
{
    Space* const space = spaces_.get(space_id);
    auto* const w = space != nullptr ? new (std::nothrow) SpaceWatch{space_id, fn, arg} : nullptr;
    if (w == nullptr) {
        return Status::kNoMemory;
    }
    SpaceWatch* before = nullptr;
    if (!space->watch.compare_exchange_strong(before, w, std::memory_order_acq_rel)) {
        delete w;
        return Status::kInvalid;
    }
    engine_.work_opened();
    bool waiting = false;
    {
        SpinLockGuard guard{space->lock};
        waiting = space->match.unexpected() != 0;
    }
    if (waiting) {
        tell_watcher(*w, SpaceNews::kMessages);
    }
    return Status::kOk;
}

void Proto::unwatch(std::uint32_t space_id) noexcept
{
    Space* const space = spaces_.get(space_id);
    SpaceWatch* const w = space != nullptr ? space->watch.load(std::memory_order_acquire) : nullptr;
    if (w != nullptr && !w->ended.exchange(true)) {
        engine_.work_closed();
    }
}

// After the news is there to be found: who runs the watch takes `news` first, then looks.
void Proto::tell_watcher(SpaceWatch& w, std::uint32_t news) noexcept
{
    if (w.news.fetch_or(news, std::memory_order_acq_rel) == 0) {
        completions_.push(w);
        engine_.completed();
    }
}

// Nobody will receive it: its sender gets its credit back, and the end of a rendezvous.
void Proto::discard(Unexpected& u) noexcept
{
    Peer& peer = *u.peer;
    give_credit(peer, u.buffered);
    if (u.rendezvous) {
        wire::FinHeader h;
        h.send_slot.set(u.send_slot);
        MutexLock guard{peer.lock};
        tell(peer, wire::PacketKind::kFin, std::as_bytes(std::span{&h, 1}));
    } else if (u.sync) {
        tell_matched(peer, u.send_slot);
    }
    free_unexpected(u);
}

}   // namespace linnet::proto

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: memory, completions, the end of a peer.
#include "proto/proto.h"

#include <algorithm>
#include <new>
#include <utility>

#include "proto/lean.h"

namespace linnet::proto {

constinit thread_local Proto::Collector* Proto::collected_by_ = nullptr;

Proto::Proto(const Config& config, ProgressEngine& engine, Log& log, Counters& counters, Counters& shared_counters) noexcept
    : config_{config},
      short_max_{std::min(kShortMax, config.eager_limit)},
      engine_{engine},
      log_{log},
      counters_{counters},
      shared_counters_{shared_counters},
      spaces_{config.wild_mask, config.seed}
{
}

void Proto::clear() noexcept
{
    for (std::uint32_t i = 0; i < layer_->peers(); ++i) {
        Peer& peer = peer_of(*layer_->find(PeerId{i}));
        MutexLock guard{peer.lock};
        release_spares(peer);
        release_tasks(peer);
    }
    spaces_.for_each([this](Space& space) {
        DetachedList<UnexpectedMessage> left;
        {
            SpinLockGuard guard{space.lock};
            left = space.match.detach_unexpected();
            DetachedList<PostedReceive> posted = space.match.detach_posted();
            while (posted.pop() != nullptr) {
            }
        }
        while (UnexpectedMessage* m = left.pop()) {
            auto& u = static_cast<Unexpected&>(*m);
            {
                SpinLockGuard guard{space.lock};
                unlist(space, u);
            }
            free_unexpected(u);
        }
    });
    while (Completion* c = next_completion()) {
        switch (c->completion_kind) {
            case Completion::Kind::kActive: release_active(static_cast<ActiveEvent&>(*c)); break;
            case Completion::Kind::kRemote: release_remote(static_cast<RemoteEvent&>(*c)); break;
            case Completion::Kind::kRegion: static_cast<void>(regions_.take(static_cast<Region&>(*c))); break;
            case Completion::Kind::kSpace:
            case Completion::Kind::kRequest: break;
        }
    }
}

// ---- memory ----

std::byte* Proto::acquire(std::size_t bytes) noexcept
{
    SpinLockGuard guard{pool_lock_};
    return pool_.acquire(bytes);
}

void Proto::release(std::byte* block, std::size_t bytes) noexcept
{
    SpinLockGuard guard{pool_lock_};
    pool_.release(block, bytes);
}

TxBlock* Proto::acquire_tx(Peer& peer, std::size_t head_bytes) noexcept
{
    const std::size_t bytes = sizeof(TxBlock) + head_bytes;
    TxBlock* b = nullptr;
    if (bytes <= TxBlock::kSmall) {
        b = acquire_short(peer, TxBlock::kSmall);
    } else if (std::byte* const memory = acquire(bytes); memory != nullptr) {
        b = &make_tx(memory, bytes);
        b->tx.lazy = false;   // it holds more memory
    }
    if (b != nullptr) {
        b->tx.head_bytes = static_cast<std::uint32_t>(head_bytes);
    }
    return b;
}

// The same when the oldest acknowledged message, if any, is not of that size: a spare one, or a new one.
TxBlock* Proto::acquire_another(Peer& peer, std::uint32_t block_bytes, session::TxMessage* acked) noexcept
{
    constexpr unsigned kTries = 3;
    for (unsigned tries = 0; acked != nullptr && tries < kTries; ++tries) {
        TxBlock& b = *TxBlock::of(*acked);
        if (b.block_bytes == block_bytes) {
            return &b;
        }
        release_tx(peer, b);
        acked = session::SessionLayer::take_acked(peer);
    }
    if (acked != nullptr) {
        release_tx(peer, *TxBlock::of(*acked));
    }
    TxBlock* b = nullptr;
    if (block_bytes == TxBlock::kSmall && peer.spare_count != 0) {
        b = TxBlock::of(*peer.spares.pop_front());
        --peer.spare_count;
    } else if (block_bytes == TxBlock::kShort) {
        b = std::exchange(peer.short_spare, nullptr);
    }
    if (b != nullptr) {
        b->tx.lazy = true;
        return b;
    }
    std::byte* const memory = acquire(block_bytes);
    return memory != nullptr ? &make_tx(memory, block_bytes) : nullptr;
}

TxBlock& Proto::make_tx(std::byte* memory, std::size_t bytes) noexcept
{
    auto* b = new (memory) TxBlock;
    b->block_bytes = static_cast<std::uint32_t>(bytes);
    b->tx.kind = kTxBlock;
    b->tx.owner = b;
    b->tx.head = b->head();
    b->tx.lazy = true;
    return *b;
}

void Proto::release_tx(Peer& peer, TxBlock& block) noexcept
{
    if (block.block_bytes == TxBlock::kShort && block.copy == nullptr && peer.short_spare == nullptr) {
        peer.short_spare = &block;
        return;
    }
    if (block.block_bytes == TxBlock::kSmall && block.copy == nullptr && peer.spare_count < Peer::kSparesMax) {
        peer.spares.push_back(block.tx);
        ++peer.spare_count;
        return;
    }
    SpinLockGuard guard{pool_lock_};
    pool_.release(block.copy, block.copy_bytes);
    pool_.release(reinterpret_cast<std::byte*>(&block), block.block_bytes);
}

void Proto::release_spares(Peer& peer) noexcept
{
    while (session::TxMessage* const m = peer.spares.pop_front()) {
        release(reinterpret_cast<std::byte*>(TxBlock::of(*m)), TxBlock::kSmall);
    }
    peer.spare_count = 0;
    if (peer.short_spare != nullptr) {
        release(reinterpret_cast<std::byte*>(std::exchange(peer.short_spare, nullptr)), TxBlock::kShort);
    }
}

// ---- completions ----

// The last touch of `r`.
void Proto::trace_end(const Request& r, Status status) noexcept
{
    const Peer* const peer = r.opened_to();
    config_.trace->note(TraceKind::kComplete, peer != nullptr ? peer->id : r.result.peer, r.result.length, static_cast<std::uint64_t>(status));
}

void Proto::complete(Request& r, Status status) noexcept
{
    if (r.kind >= Request::Kind::kServedRead) {
        served(r, status);
        return;
    }
    if (engine_.token().held_by_me()) {
        complete_here(r, status);
        return;
    }
    note_complete(r, status);
    r.result.status = status;
    if (status != Status::kOk) {
        count_failure(status);
    }
    engine_.work_closed();
    completions_.push(r);
    engine_.completed();
}

void Proto::count_failure(Status status) noexcept
{
    if (status == Status::kTruncated || status == Status::kCanceled) {
        shared_counters_.add_shared(status == Status::kTruncated ? Counter::kTruncated : Counter::kCanceled);
    }
}

Proto::Collector::Collector(Proto& proto) noexcept
    : proto_{proto}, outer_{collected_by_}, used_{outer_ != nullptr && &outer_->proto_ == &proto ? outer_ : this}
{
    collected_by_ = used_;
}

// What the host did not take goes to whoever comes next.
Proto::Collector::~Collector()
{
    if (used_ == this) {
        collected_by_ = outer_;
        while (Completion* const c = next()) {
            proto_.completions_.push(*c);
            proto_.engine_.completed();
        }
    }
}

void Proto::open(SendRequest& r, Peer& peer) noexcept
{
    r.peer = &peer;
    peer.open_sends.push_back(r);
    peer.open_operations.fetch_add(1, std::memory_order_relaxed);
    engine_.work_opened();
}

void Proto::finish_send(Peer& peer, SendRequest& r, Status status) noexcept
{
    LINNET_ASSERT(r.peer == &peer);
    if (r.tx_out) {   // its storage would go to the host while the session still links it
        r.ends_with_tx = true;
        r.end_status = status;
        return;
    }
    IntrusiveList<SendRequest>::remove(r);
    if (r.kind == Request::Kind::kServedRead) {
        --peer.served;
    } else {
        peer.open_one_sided -= r.one_sided ? 1 : 0;
    }
    if (r.slot != 0) {
        send_slots_.release(r.slot);
        r.slot = 0;
    }
    if (r.staging != nullptr) {
        release(r.staging, BlockPool::kLargest);
        r.staging = nullptr;
    }
    complete(r, status);
}

Completion* Proto::next_completion() noexcept
{
    if (!has_completions()) {
        return nullptr;
    }
    SpinLockGuard guard{drain_lock_};
    Completion* c = pending_.load(std::memory_order_relaxed);
    if (c == nullptr) {
        c = completions_.take_all();
    }
    if (c != nullptr) {
        pending_.store(MpscList<Completion>::next(*c), std::memory_order_relaxed);
        SendTally::add(handed_out_);
    }
    return c;
}

// ---- counters ----

std::uint64_t Proto::counted(Counter id) const noexcept
{
    if (id == Counter::kCompletions) {
        return handed_out_.load(std::memory_order_relaxed);
    }
    const auto pick = [id](const Peer& peer) noexcept -> std::array<const SendTally::Count*, 4> {
        const SendTally& t = peer.sent;
        switch (id) {
            case Counter::kRxMessages: return {&peer.rx_messages};
            case Counter::kRxBytes: return {&peer.rx_bytes};
            case Counter::kTxMessages: return {&t.eager, &t.rndv, &t.active, &t.one_sided};
            case Counter::kTxBytes: return {&t.bytes};
            case Counter::kEagerSent: return {&t.eager};
            case Counter::kRndvSent: return {&t.rndv};
            case Counter::kActiveSent: return {&t.active};
            case Counter::kRmaOperations: return {&t.one_sided};
            case Counter::kCreditStalls: return {&t.stalls};
            case Counter::kHeldBack: return {&t.held};
            default: return {};
        }
    };
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < layer_->peers(); ++i) {
        const auto counts = pick(*static_cast<const Peer*>(layer_->find(PeerId{i})));
        if (counts[0] == nullptr) {
            break;   // not one of ours
        }
        for (const SendTally::Count* const c : counts) {
            sum += c != nullptr ? c->load(std::memory_order_relaxed) : 0;
        }
    }
    return sum;
}

// ---- peers ----

std::unique_ptr<session::Session> Proto::make_session(PeerId id)
{
    auto p = std::make_unique<Peer>(id);
    p->credit_grant.store(static_cast<std::uint32_t>(config_.eager_credit), std::memory_order_relaxed);
    return p;
}

void Proto::on_peer_up(session::Session& s) noexcept
{
    Peer& peer = peer_of(s);
    MutexLock guard{peer.lock};
    if (!peer.connected) {
        peer.connected = true;
        engine_.peers_changed(+1);
    }
    pump_bulk(peer);
}

void Proto::forget_peer(Peer& peer) noexcept
{
    peer.added.store(false, std::memory_order_relaxed);
    forget_posted(peer, Status::kPeerDown);
}

void Proto::on_peer_down(session::Session& s, Status why, IntrusiveQueue<session::TxMessage>& unacked) noexcept
{
    Peer& peer = peer_of(s);
    credit_more_.fetch_sub(peer.credit_more.exchange(0, std::memory_order_relaxed), std::memory_order_relaxed);
    {
        MutexLock guard{peer.lock};
        if (peer.connected) {
            peer.connected = false;
            engine_.peers_changed(-1);
        }
        while (session::TxMessage* m = unacked.pop_front()) {
            if (m->kind == kTxBlock) {
                release_tx(peer, *TxBlock::of(*m));   // requests embed the others and end below
            }
        }
        peer.uncopied = nullptr;
        peer.uncopied_request = nullptr;
        while (peer.bulk_queue.pop_front() != nullptr) {
        }
        while (peer.stalled.pop_front() != nullptr) {
        }
        while (SendRequest* r = peer.open_sends.front()) {
            if (r->am_block != nullptr) {
                release_tx(peer, *r->am_block);
                r->am_block = nullptr;
            }
            r->tx_out = false;   // `unacked` held it
            finish_send(peer, *r, r->ended || r->ends_with_tx ? r->end_status : why);   // the peer may have said before it died how this ended
        }
        release_spares(peer);
    }
    while (true) {
        RecvRequest* r = nullptr;
        {
            MutexLock guard{peer.lock};
            r = peer.active_recvs.front();
        }
        if (r == nullptr) {
            break;
        }
        complete(*r, finish_pull(peer, *r, why));
    }
    forget_posted(peer, why);
}

// Receives that name exactly this peer will never match.
void Proto::forget_posted(Peer& peer, Status why) noexcept
{
    spaces_.for_each([&](Space& space) {
        DetachedList<PostedReceive> list;
        {
            SpinLockGuard guard{space.lock};
            list = space.match.detach_posted(peer.id);
        }
        while (PostedReceive* p = list.pop()) {
            auto& r = static_cast<RecvRequest&>(*p);
            r.result.peer = peer.id;
            r.result.peer_added = peer.added.load(std::memory_order_relaxed);
            complete(r, why);
        }
        tell_watcher(space, SpaceNews::kPeer);
    });
}

void Proto::protocol_error(session::Session& s, const char* what) noexcept
{
    counters_.add(Counter::kProtocolErrors, 1);
    layer_->declare_down(s, Status::kProtocol, what);
}

}   // namespace linnet::proto

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: what every short message needs, inline in the files that send and receive it.
//
// Members of Proto; as declared there.
#pragma once

#include <cstring>

#include "base/words.h"
#include "proto/proto.h"

namespace linnet::proto {

// A few bytes are most of what travels.
inline void copy_short(std::byte* to, std::span<const std::byte> from) noexcept
{
    if (from.size() <= kFewBytes) [[likely]] {
        copy_few(to, from.data(), from.size());
    } else {
        std::memcpy(to, from.data(), from.size());
    }
}

// Payload of an unexpected message up to this size is copied under its space's lock; beyond it the lock is let go meanwhile.
inline constexpr std::size_t kCopyUnderLock = 1024;
inline constexpr std::uint32_t kFirstCredit = 64 * 1024;   // the least of the setting eager_credit

// Credit bounds what the receiver must hold for messages that it has not matched.
inline bool Proto::charge(Peer& peer, std::size_t bytes) noexcept
{
    // Before the first packet of the peer its credit is unknown, but for the least that anybody may set.
    const std::uint32_t limit = peer.credit_known() ? peer.credit_limit() : kFirstCredit;
    if (static_cast<std::int32_t>(limit - peer.eager_used) < static_cast<std::int32_t>(bytes)) {
        return false;
    }
    peer.eager_used += static_cast<std::uint32_t>(bytes);
    return true;
}

// A block of one of the sizes of short messages: the oldest that the peer has acknowledged, as a rule.
inline TxBlock* Proto::acquire_short(Peer& peer, std::uint32_t block_bytes) noexcept
{
    session::TxMessage* const acked = session::SessionLayer::take_acked(peer);
    TxBlock* b = acked != nullptr ? TxBlock::of(*acked) : nullptr;
    if (b == nullptr || b->block_bytes != block_bytes) [[unlikely]] {
        b = acquire_another(peer, block_bytes, acked);
    }
    if (b != nullptr) {
        b->tx.payload = {};
    }
    return b;
}

// What a peer may make us hold is bounded by what we granted; one that sends more is given up. Once for each message, when it begins.
inline bool Proto::take_credit(Peer& peer, std::size_t bytes) noexcept
{
    peer.eager_received += static_cast<std::uint32_t>(bytes);
    if (static_cast<std::int32_t>(peer.credit_grant.load(std::memory_order_relaxed) - peer.eager_received) < 0) [[unlikely]] {
        protocol_error(peer, "it sent more than its credit");
        return false;
    }
    return true;
}

// A message of the peer's has come, or is announced: `bytes` of its user.
inline void Proto::count_arrival(Peer& peer, std::uint64_t bytes) noexcept
{
    SendTally::add(peer.rx_messages);
    SendTally::add(peer.rx_bytes, bytes);
    layer_->message_came(peer, bytes);
}

// A tagged message, `length` bytes in all, is counted, and goes to its space. Null: the peer has been given up.
inline Space* Proto::admit(Peer& peer, const Arrival& a, std::uint64_t length) noexcept
{
    if (!take_credit(peer, a.payload_bytes)) [[unlikely]] {
        return nullptr;
    }
    count_arrival(peer, length);
    Space* const space = spaces_.get(a.rts.tag.space.get());
    if (space == nullptr) [[unlikely]] {
        layer_->declare_down(peer, Status::kNoMemory, "no memory for one more match space");
    }
    return space;
}

inline void Proto::fill_result(ResultRecord& to, const Peer& peer, const Arrival& a, std::uint64_t length) noexcept
{
    to.peer = peer.id;
    to.peer_added = peer.added.load(std::memory_order_relaxed);
    to.bits = a.rts.tag.match_bits.get();
    to.immediate = a.rts.tag.immediate.get();
    to.has_immediate = (a.head.flags.get() & wire::flag::kImmediate) != 0;
    to.length = length;
}

// Eager bytes were consumed by the token holder: the small ones are put together, since an exchange with other threads' for each message would cost as
// much as matching it.
inline void Proto::give_credit_here(Peer& peer, std::size_t bytes) noexcept
{
    constexpr std::uint32_t kCreditStep = 1024;   // far below the least credit
    peer.credit_held += static_cast<std::uint32_t>(bytes);
    if (peer.credit_held >= kCreditStep) [[unlikely]] {
        const std::uint32_t held = peer.credit_held;
        peer.credit_held = 0;
        give_credit(peer, held);
    }
}

// The end of a request of the host's, by the token holder. What a thread completes that is itself inside progress goes straight to it.
inline void Proto::note_match(const Peer& peer, std::uint64_t bytes, std::uint64_t bits, bool rendezvous) noexcept
{
    note(config_.trace, TraceKind::kMatch, peer.id, bytes, bits);
    if (rendezvous) {
        note(config_.trace, TraceKind::kRndvStart, peer.id, bytes, bits);
    }
}

inline void Proto::note_complete(const Request& r, Status status) noexcept
{
    if (config_.trace != nullptr) [[unlikely]] {
        trace_end(r, status);
    }
}

inline void Proto::complete_here(Request& r, Status status) noexcept
{
    engine_.token().assert_held();
    note_complete(r, status);
    r.result.status = status;
    if (status != Status::kOk) [[unlikely]] {
        count_failure(status);
    }
    engine_.work_closed_here();
    Collector* const c = collected_by_;
    if (c != nullptr && &c->proto_ == this && engine_.completed_here()) [[likely]] {
        c->add(r);
        counters_.add(Counter::kCompletions);
    } else {
        completions_.push(r);
        engine_.completed();
    }
}

}   // namespace linnet::proto

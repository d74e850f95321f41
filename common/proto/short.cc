// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: the way of short messages, sent to processes of this host, and received from anybody.
#include <algorithm>
#include <cstring>

#include "proto/lean.h"
#include "session/lean.h"

namespace linnet::proto {

// No request: nobody will ask for it again. What does not fit beside its head goes out of the user's buffer, and is copied for retention while the peer
// reads it already.
bool Proto::send_short(Peer& peer, const Envelope& envelope, std::span<const std::byte> payload) noexcept
{
    constexpr std::size_t kHead = sizeof(wire::PacketHead) + sizeof(wire::TagHeader);
    static_assert(kShortMax <= kAtOnceMax && sizeof(TxBlock) + kHead + kShortMax <= TxBlock::kLong);
    static_assert(sizeof(TxBlock) + NextWrite::kPlaceBytes <= TxBlock::kSmall);   // as send_now() wants it
    const bool beside_head = kHead + payload.size() <= NextWrite::kPlaceBytes;
    session::SessionLayer::about_to_send(peer, kHead + payload.size(), payload.size());
    MutexLock guard{peer.lock};
    if (!session::SessionLayer::goes_at_once(peer) || !charge(peer, payload.size())) [[unlikely]] {
        return false;
    }
    TxBlock* const b = acquire_short(peer, TxBlock::size_for(kHead + payload.size()));
    if (b == nullptr) [[unlikely]] {
        peer.eager_used -= static_cast<std::uint32_t>(payload.size());
        return false;
    }
    std::byte* const head = b->head();
    const std::uint16_t flags = envelope.has_immediate ? wire::flag::kImmediate : std::uint16_t{0};
    wire::write_head(head, wire::PacketKind::kEager, flags, sizeof(wire::TagHeader) + payload.size());
    wire::write_tag(head + sizeof(wire::PacketHead), envelope.space, envelope.bits, envelope.immediate);
    note(config_.trace, TraceKind::kSend, peer.id, payload.size(), envelope.bits);
    SendTally::add(peer.sent.eager);
    SendTally::add(peer.sent.bytes, payload.size());
    if (beside_head) {
        copy_short(head + kHead, payload);
        b->tx.head_bytes = static_cast<std::uint32_t>(kHead + payload.size());
        layer_->send_at_once(peer, b->tx);
    } else {
        b->tx.head_bytes = kHead;
        b->tx.payload = payload;
        layer_->send_at_once(peer, b->tx);
        std::memcpy(head + kHead, payload.data(), payload.size());
        session::SessionLayer::move_payload(b->tx, {head + kHead, payload.size()});
    }
    return true;
}

void Proto::on_message(session::Session& s, std::span<const std::byte> packet) noexcept
{
    constexpr std::size_t kHead = sizeof(wire::PacketHead) + sizeof(wire::TagHeader);
    const wire::PacketHead& head = wire::head_of(packet);
    if (head.kind == wire::PacketKind::kEager && packet.size() - kHead <= kCopyUnderLock) [[likely]] {
        const auto& header = *reinterpret_cast<const wire::RtsHeader*>(packet.data() + sizeof head);
        arrive_short(peer_of(s), {head, header, packet.size() - kHead}, packet.data() + kHead);
    } else {
        other_message(peer_of(s), packet);
    }
}

// While the lines of its payload are on their way here, it is matched.
void Proto::on_message_in_two(session::Session& s, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept
{
    const Arrival a{wire::head_of(head), *reinterpret_cast<const wire::RtsHeader*>(head.data() + sizeof(wire::PacketHead)), payload.size()};
    if (payload.size() <= kCopyUnderLock) [[likely]] {
        arrive_short(peer_of(s), a, payload.data());
    } else {
        arrive_tagged(peer_of(s), a, payload);
    }
}

// An eager message that is here whole. Its payload is copied under the lock of its space only if it must wait for its receive.
inline void Proto::arrive_short(Peer& peer, const Arrival& a, const std::byte* payload) noexcept
{
    Space* const space = admit(peer, a, a.payload_bytes);
    if (space == nullptr) [[unlikely]] {
        return;
    }
    PostedReceive* p = nullptr;
    Queued queued;
    {
        SpinLockGuard guard{space->lock};
        p = space->match.arrive(peer.id, a.rts.tag.match_bits.get());
        if (p == nullptr) [[unlikely]] {
            queued = queue_unexpected(peer, *space, a, payload);
        }
    }
    if (p == nullptr) [[unlikely]] {
        tell_queued(peer, *space, a, queued);
        if (queued.u == nullptr) {
            layer_->declare_down(peer, Status::kNoMemory, "no memory for a message that has no receive yet");
        }
        return;
    }
    auto& r = static_cast<RecvRequest&>(*p);
    note_match(peer, a.payload_bytes, a.rts.tag.match_bits.get(), false);
    fill_result(r.result, peer, a, a.payload_bytes);
    const std::span<const std::byte> here{payload, std::min<std::size_t>(a.payload_bytes, r.data.length)};
    if (r.data.contiguous()) [[likely]] {
        copy_short(r.data.base, here);
    } else {
        r.data.scatter(0, here);
    }
    give_credit_here(peer, a.payload_bytes);
    if ((a.head.flags.get() & wire::flag::kSync) != 0) [[unlikely]] {
        tell_matched(peer, a.rts.tag.send_slot.get());
    }
    complete_here(r, a.payload_bytes > r.data.length ? Status::kTruncated : Status::kOk);
}

}   // namespace linnet::proto

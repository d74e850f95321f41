// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: sending short messages to processes of this host.
#include <cstring>

#include "proto/proto.h"

namespace linnet::proto {

// No request: nobody will ask for it again. What does not fit beside its head goes out of the user's buffer, and is copied for retention while the peer
// reads it already.
bool Proto::send_short(Peer& peer, const SendArgs& args, std::span<const std::byte> payload) noexcept
{
    constexpr std::size_t kHead = sizeof(wire::PacketHead) + sizeof(wire::TagHeader);
    static_assert(kShortMax <= kAtOnceMax && sizeof(TxBlock) + kHead + kShortMax <= TxBlock::kShort);
    const bool beside_head = sizeof(TxBlock) + kHead + payload.size() <= TxBlock::kSmall;
    MutexLock guard{peer.lock};
    session::SessionLayer::about_to_send(peer);
    if (!session::SessionLayer::goes_at_once(peer) || !charge(peer, payload.size())) {
        return false;
    }
    TxBlock* const b = acquire_short(peer, beside_head ? TxBlock::kSmall : TxBlock::kShort);
    if (b == nullptr) {
        peer.eager_used -= static_cast<std::uint32_t>(payload.size());
        return false;
    }
    const std::uint16_t flags = args.has_immediate ? wire::flag::kImmediate : std::uint16_t{0};
    wire::write_head(b->tx.head, wire::PacketKind::kEager, flags, sizeof(wire::TagHeader) + payload.size());
    wire::write_tag(b->tx.head + sizeof(wire::PacketHead), args.space, args.bits, args.immediate);
    std::byte* const copy = b->tx.head + kHead;
    b->tx.head_bytes = kHead;
    if (!beside_head) {
        b->tx.payload = payload;
    } else if (!payload.empty()) {
        std::memcpy(copy, payload.data(), payload.size());
        b->tx.head_bytes += static_cast<std::uint32_t>(payload.size());
    }
    SendTally::add(peer.sent.eager);
    SendTally::add(peer.sent.bytes, payload.size());
    layer_->send_at_once(peer, b->tx);
    if (!beside_head) {
        std::memcpy(copy, payload.data(), payload.size());
        session::SessionLayer::move_payload(b->tx, {copy, payload.size()});
    }
    return true;
}

}   // namespace linnet::proto

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: what every short message needs, inline in the files that send one.
//
// Members of SessionLayer; as declared there.
#pragma once

#include "session/session_layer.h"

namespace linnet::session {

inline void SessionLayer::about_to_send(const Session& s, std::size_t packet_bytes, std::size_t payload_bytes) noexcept
{
    const NextWrite next{s.next_place_.load(std::memory_order_relaxed), s.next_beside_.load(std::memory_order_relaxed)};
    if (next.place != nullptr) {   // no lane whose packets go at once: nowhere
        next.fetch(packet_bytes, payload_bytes);
    }
}

inline void SessionLayer::stamp(Session& s, TxMessage& m) noexcept
{
    const std::uint32_t ack = s.received_.load(std::memory_order_relaxed);
    const std::uint32_t credit = s.credit_grant.load(std::memory_order_relaxed);
    wire::stamp_head(m.head, m.number, ack, credit);
    s.ack_sent_.store(ack, std::memory_order_relaxed);
    s.credit_sent_.store(credit, std::memory_order_relaxed);
}

inline void SessionLayer::retain(Session& s, TxMessage& m) noexcept
{
    s.last_number_ = m.number;
    if (!m.lazy) {
        s.prompt_.store(m.number, std::memory_order_relaxed);
    }
    s.retained_.push_back(m);
    s.sent_in_turn_ = turns_.load(std::memory_order_relaxed);
}

inline void SessionLayer::gone_at_once(Session& s, const TxMessage& m, const NextWrite& next) noexcept
{
    s.next_place_.store(next.place, std::memory_order_relaxed);
    s.next_beside_.store(next.beside, std::memory_order_relaxed);
    s.link_taken_ = s.written_ = m.number;
    s.taken_.store(m.number, std::memory_order_relaxed);   // it is the newest
    s.ack_due_ = false;
}

}   // namespace linnet::session

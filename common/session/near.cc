// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: what only lanes to processes of this host can do.
#include "session/session_layer.h"

namespace linnet::session {

bool SessionLayer::is_near(const Session& s) const noexcept { return s.lane_up() && s.links_[0].port->transport().caps().latency <= kNear; }

bool SessionLayer::offer(Session& s, std::size_t bytes) noexcept { return s.lane_up() && s.links_[0].port->transport().offer(s.links_[0].id, bytes); }

Status SessionLayer::read(Session& s, std::byte* to, std::uint64_t address, std::size_t bytes) noexcept
{
    Port* port = nullptr;
    LinkId id{};
    {
        MutexLock guard{s.lock};
        if (s.down_reason() == Status::kOk && s.lane_up()) {
            port = s.links_[0].port;
            id = s.links_[0].id;
        }
    }
    return port != nullptr ? port->transport().read(id, to, address, bytes) : Status::kUnsupported;
}

void SessionLayer::send_at_once(Session& s, TxMessage& m) noexcept
{
    m.number = next_number(s.last_number_);
    stamp(s, m);
    const LanePacket packet{{m.head, m.head_bytes}, m.payload, true};
    const SendResult r = s.links_[0].port->transport().send_lane(s.links_[0].id, {&packet, 1});
    append(s, m);   // now that the peer may read it; what it answers waits for the lock
    if (r.down || r.taken == 0) {
        s.blocked_ = true;
        return;
    }
    s.next_line_ = r.next;
    s.unsent_ = nullptr;
    s.link_taken_ = s.written_ = m.number;
    if (after(m.number, s.taken_.load(std::memory_order_relaxed))) {
        s.taken_.store(m.number, std::memory_order_relaxed);
    }
    s.ack_due_ = false;
}

}   // namespace linnet::session

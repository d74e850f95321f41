// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: what only lanes to processes of this host can do.
#include "session/lean.h"

namespace linnet::session {

bool SessionLayer::is_near(const Session& s) const noexcept { return s.lane_up() && s.links_[0].port->transport().caps().latency <= kNear; }

bool SessionLayer::offer(Session& s, std::size_t bytes, bool alone) noexcept
{
    return s.lane_up() && s.links_[0].port->transport().offer(s.links_[0].id, bytes, alone);
}

void SessionLayer::transfer_begins(Session& s, std::uint32_t slot, std::uint64_t bytes) noexcept
{
    if (config_.choose_paths) {
        time_transfer(s, slot, bytes);
    }
}

void SessionLayer::transfer_ends(Session& s, std::uint32_t slot, bool arrived) noexcept
{
    if (s.paths_ != nullptr) {
        end_transfer(s, slot, arrived);
    }
}

std::pair<Port*, LinkId> SessionLayer::lane_of(Session& s) noexcept
{
    MutexLock guard{s.lock};
    const bool up = s.down_reason() == Status::kOk && s.lane_up();
    return up ? std::pair{s.links_[0].port, s.links_[0].id} : std::pair<Port*, LinkId>{};
}

Status SessionLayer::read(Session& s, std::byte* to, std::uint64_t address, std::size_t bytes) noexcept
{
    const auto [port, id] = lane_of(s);
    return port != nullptr ? port->transport().read(id, to, address, bytes) : Status::kUnsupported;
}

Status SessionLayer::begin_read(Session& s, std::byte* to, std::uint64_t at, std::size_t bytes, void* cookie, bool alone) noexcept
{
    const auto [port, id] = lane_of(s);
    return port != nullptr ? port->transport().begin_read(id, to, at, bytes, cookie, alone) : Status::kUnsupported;
}

void SessionLayer::send_at_once(Session& s, TxMessage& m) noexcept
{
    m.number = next_number(s.last_number_);
    stamp(s, m);
    LinkState& lane = s.links_[0];
    const NextWrite next = lane.port->transport().send_now(lane.id, {m.head, m.head_bytes}, m.payload);
    if (next.place != nullptr) [[likely]] {
        retain(s, m);   // now that the peer may read it; what it answers waits for the lock
        gone_at_once(s, m, next);
    } else {
        send_at_once_or_wait(s, m);
    }
}

// What send_now() did not take: the link is full, it breaks, or the packet needs more than one piece.
void SessionLayer::send_at_once_or_wait(Session& s, TxMessage& m) noexcept
{
    const LanePacket packet{{m.head, m.head_bytes}, m.payload, true};
    const SendResult r = s.links_[0].port->transport().send_lane(s.links_[0].id, {&packet, 1});
    append(s, m);   // as above
    if (r.down || r.taken == 0) {
        s.blocked_ = true;
        count_kept(s);
        return;
    }
    s.unsent_ = nullptr;
    gone_at_once(s, m, r.next);
}

}   // namespace linnet::session

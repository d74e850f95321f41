// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: links that broke and attempts that failed; what is tried again, and what that says about the peer.
#include <algorithm>
#include <utility>

#include "session/session_layer.h"

namespace linnet::session {

namespace {
// A link that lived shorter and brought nothing counts as a failed attempt: a peer that accepts and dies must not be called in a tight loop.
constexpr Nanos kShortLife = std::chrono::milliseconds{100};
// For the other transports, once one said that nobody listens where the peer's process did: a firewall may say that too, so they are asked.
constexpr Nanos kLastChance = std::chrono::seconds{2};
}   // namespace

// A timer that any thread may set earlier; only its handler clears it.
void SessionLayer::retry_by(TimePoint at) noexcept
{
    const std::int64_t mine = at.time_since_epoch().count();
    std::int64_t seen = retry_due_.load(std::memory_order_relaxed);
    while (mine < seen && !retry_due_.compare_exchange_weak(seen, mine, std::memory_order_relaxed)) {
    }
}

void SessionLayer::lost_for_memory(Session& s) noexcept
{
    s.starved_ = true;
    retry_by(TimePoint{});
}

void SessionLayer::retry_later(LinkState& link, TimePoint at) noexcept
{
    link.phase = LinkState::Phase::kWaiting;
    link.retry_at = at;
    retry_by(at);
}

std::uint32_t SessionLayer::bit_of(const Port& port) const noexcept
{
    const auto at = std::find_if(ports_.begin(), ports_.end(), [&port](const auto& p) { return p.get() == &port; });
    return 1u << (at - ports_.begin());
}

bool SessionLayer::is_good(const Session& s, const LinkState& link) const noexcept
{
    return s.heard_ != link.heard_at_up || clock_.now() - link.up_since >= kShortLife;
}

// A link that was up is gone, and holds no pointers to memory any more.
void SessionLayer::link_lost(Session& s, Port& port, LinkRole role) noexcept
{
    if (s.down_reason() != Status::kOk) {
        return;
    }
    const bool carried_bulk = role == LinkRole::kBulk || !port.transport().caps().separate_bulk;
    if (role == LinkRole::kLane) {
        sink_.on_lane_written(s);
    }
    if (carried_bulk) {
        sink_.on_bulk_down(s);
    }
}

// An accepted hello came to nothing.
void SessionLayer::incoming_failed(Session& s, LinkState& link, LinkRole role, TimePoint now) noexcept
{
    link.incoming_port = nullptr;
    if (link.phase == LinkState::Phase::kIdle && s.down_reason() == Status::kOk && link_wanted(s, role)) {
        if (link.give_up_at == TimePoint::max()) {
            link.give_up_at = now + config_.connect_timeout;
        }
        ++link.failures;
        retry_later(link, now + kRetryFirst);
    }
}

void SessionLayer::on_link_down(Port& port, LinkId id, PeerId peer, LinkRole role, bool, Status why, std::string_view text) noexcept
{
    Session* s = peer == kNoPeer ? nullptr : find(peer);
    note(config_.trace, TraceKind::kLinkDown, peer, id.value, static_cast<std::uint64_t>(why));
    if (s == nullptr || move_ended(*s, port, id, role, why, text)) {
        return;
    }
    bool was_up = false;
    {
        MutexLock guard{s->lock};
        LinkState& link = s->links_[static_cast<int>(role)];
        if (link.incoming_port == &port && link.incoming == id) {
            incoming_failed(*s, link, role, clock_.now());
            return;
        }
        const bool live = link.phase == LinkState::Phase::kOpening || link.phase == LinkState::Phase::kUp;
        if (!live || link.port != &port || link.id != id) {
            return;
        }
        was_up = link.phase == LinkState::Phase::kUp;
        if (was_up && is_good(*s, link)) {   // also when the peer is opening the next already: its attempt may fail
            link.failures = 0;
            link.give_up_at = TimePoint::max();
        }
        link.phase = LinkState::Phase::kIdle;
        link.changing = true;   // others wait for what is decided below
    }
    if (was_up) {
        link_lost(*s, port, role);
    }
    // The peer has heard our goodbye and left, or left by itself; only the acknowledgement is lost. Nobody is there to be called for it, and whether the
    // network would say so is its affair (ICMP is filtered and limited).
    if (was_up && role == LinkRole::kLane && why == Status::kClosed && s->only_goodbye_left()) {
        end_session(*s, Status::kPeerDown, text, Ending::kQuiet);
        return;
    }
    link_failed(*s, port, role, was_up, why, text);
}

void SessionLayer::link_failed(Session& s, const Port& port, LinkRole role, bool up, Status why, std::string_view text) noexcept
{
    const std::string who = s.describe();
    std::string refused;
    {
        MutexLock guard{s.lock};
        LinkState& link = s.links_[static_cast<int>(role)];
        link.changing = false;
        if (s.down_reason() != Status::kOk || link.incoming_port != nullptr || link.phase != LinkState::Phase::kIdle) {
            return;   // over, or the other side is opening it already
        }
        const TimePoint now = clock_.now();
        if (up) {
            LINNET_LOG(log_, kInfo, "connection to %s broke: %.*s", who.c_str(), static_cast<int>(text.size()), text.data());
            const bool good = is_good(s, link);
            if (!link_wanted(s, role)) {
                return;
            }
            if (good) {
                open_link(s, role);
                return;
            }
        }
        // Nobody listens where a process did: it is dead. One known by its address only may still be starting.
        const bool elsewhere = role == LinkRole::kBulk && s.lane_up() && &port != s.links_[0].port;   // where what answers may be a firewall
        const bool nobody = !up && why == Status::kRefused && !link.rejected && !(s.by_address_ && !s.was_up_) && !elsewhere;
        const bool dead_for_sure = nobody && was_up_over(s, port);
        std::size_t other = link.first_port + 1;
        if (!up && !dead_for_sure && !link.rejected && role == LinkRole::kLane && port_for(s.contact_, other) != nullptr) {
            if (nobody) {
                keep_text(link.refused, text);
                link.give_up_at = std::min(link.give_up_at, now + kLastChance);
            }
            LINNET_LOG(log_, kInfo, "%.*s; trying another transport", static_cast<int>(text.size()), text.data());
            link.first_port = other;
            open_link(s, role);
            return;
        }
        link.first_port = 0;
        using enum wire::RejectReason;
        const bool soft = link.reason == kYield || link.reason == kBusy || link.reason == kStale || link.reason == kInTurn;
        const bool for_good = !up && link.rejected && why == Status::kRefused && !soft;
        link.failures += role == LinkRole::kBulk && link.rejected && soft ? 0 : 1;   // the peer's own attempt comes through, wherever that is
        const Nanos pause = std::min(kRetryFirst * (1u << std::min(std::max(link.failures, 1u) - 1, 6u)), kRetryMax);
        if (!for_good && !nobody && now + pause < link.give_up_at) {
            if (elsewhere) {
                LINNET_LOG(log_, kInfo, "%.*s; bulk data goes with the messages", static_cast<int>(text.size()), text.data());
            }
            keep_text(link.last_failure, text);
            retry_later(link, now + pause);
            return;
        }
        if (for_good) {
            why = link.reason == wire::RejectReason::kTarget && s.was_up_ ? Status::kPeerDown : Status::kRefused;
            text = reject_text(link.reason);
        } else {
            why = (nobody || !link.refused.empty()) && s.was_up_ ? Status::kPeerDown : Status::kUnreachable;
            keep_text(refused, link.refused);
            text = refused.empty() ? text : refused;
        }
    }
    give_up(s, why, text);
}

namespace {
// Why nothing more is tried.
std::string end_of_attempts(const LinkState& link) noexcept
{
    constexpr const char* kTimeout = "no connection came up within connect_timeout";
    std::string text;
    if (link.nobody || !link.refused.empty()) {
        keep_text(text, link.nobody ? "no such process is on this host any more" : std::string_view{link.refused});
        return text;
    }
    try {
        text = kTimeout + (link.last_failure.empty() ? "" : "; the last attempt: " + link.last_failure);
    } catch (const std::bad_alloc&) {
        keep_text(text, kTimeout);
    }
    return text;
}
}   // namespace

// Timers of one link. Returns when to look again.
TimePoint SessionLayer::check_link(Session& s, LinkRole role, TimePoint now, unsigned& events) noexcept
{
    Port* drop_port = nullptr;
    LinkId drop_id{};
    bool over = false;
    bool nobody = false;
    bool was_up = false;
    std::string text;
    TimePoint next = TimePoint::max();
    {
        MutexLock guard{s.lock};
        LinkState& link = s.links_[static_cast<int>(role)];
        if (s.down_reason() != Status::kOk) {
            return next;
        }
        if (link.incoming_port != nullptr) {
            if (now < link.incoming_until) {
                return link.incoming_until;
            }
            drop_port = link.incoming_port;
            drop_id = link.incoming;
            incoming_failed(s, link, role, now);
        }
        if (link.phase == LinkState::Phase::kWaiting && now >= link.retry_at) {
            ++events;
            over = link.nobody || now >= link.give_up_at;
            if (!over) {
                open_link(s, role);
            }
        } else if (link.phase == LinkState::Phase::kOpening && now >= link.give_up_at + kGrace) {
            over = true;
        } else if (role == LinkRole::kBulk && s.bulk_opens_elsewhere() && now >= link.with_lane_until && drop_port == nullptr) {
            LINNET_LOG(log_, kInfo, "bulk link to %s: no answer over %s; bulk data goes with the messages", s.labelled(s.contact_).c_str(),
                       link.port->caps().name);
            drop_port = link.port;
            drop_id = link.id;
            link.failures |= 1;   // bulk_port()
            link.phase = LinkState::Phase::kIdle;
            open_link(s, role);
        }
        if (over) {
            nobody = link.nobody || !link.refused.empty();
            was_up = s.was_up_;
            text = end_of_attempts(link);
        }
        if (link.phase == LinkState::Phase::kWaiting) {
            next = link.retry_at;
        } else if (link.phase == LinkState::Phase::kOpening) {
            next = role == LinkRole::kBulk && s.bulk_opens_elsewhere() ? std::min(link.with_lane_until, link.give_up_at + kGrace) : link.give_up_at + kGrace;
        }
    }
    if (drop_port != nullptr) {
        ++events;
        drop_port->transport().drop(drop_id);
    }
    if (over) {
        give_up(s, nobody && was_up ? Status::kPeerDown : Status::kUnreachable, text);
        return TimePoint::max();
    }
    return next;
}

unsigned SessionLayer::retry_links(TimePoint now) noexcept
{
    if (now.time_since_epoch().count() < retry_due_.load(std::memory_order_relaxed)) {
        return 0;
    }
    retry_due_.store(INT64_MAX, std::memory_order_relaxed);
    unsigned events = 0;
    TimePoint next = TimePoint::max();
    for (std::uint32_t i = 0; i < peers(); ++i) {
        Session& s = *find(PeerId{i});
        bool starved = false;
        {
            MutexLock guard{s.lock};
            starved = std::exchange(s.starved_, false);
        }
        if (starved) {
            ++events;
            give_up(s, Status::kNoMemory, "no memory to answer it");
        }
        next = std::min({next, check_link(s, LinkRole::kLane, now, events), check_link(s, LinkRole::kBulk, now, events),
                         check_move(s, LinkRole::kLane, now), check_move(s, LinkRole::kBulk, now)});
    }
    retry_by(next);
    return events;
}

}   // namespace linnet::session

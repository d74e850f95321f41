// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: which transport the bulk link of a session takes.
#include "session/paths.h"

#include <algorithm>
#include <new>

#include "session/session_layer.h"

namespace linnet::session {

namespace {
// Shorter transfers are over before the link could have shown what it can.
constexpr std::uint64_t kWorthTiming = 64u << 10;
// A peer that sent bulk data so recently is a sender too, and with two senders one of them chooses.
constexpr Nanos kSendsToo = std::chrono::seconds{1};
}   // namespace

// ---- which ways there are ----

// The first is where the link is. A peer to whom memory is shared has no better way, and one that only one transport reaches no other.
void SessionLayer::find_paths(Session& s) noexcept
{
    s.paths_sought_ = true;
    Port* const lane = s.links_[0].port;
    if (lane == nullptr || !lane->transport().caps().separate_bulk || is_near(s)) {
        return;
    }
    const auto expected = [this](Port* port) {
        const TransportCaps& caps = port->transport().caps();
        const auto it = std::find_if(config_.expected.begin(), config_.expected.end(), [&caps](const auto& e) { return e.first == caps.name; });
        return it != config_.expected.end() ? it->second : model::Line{static_cast<double>(caps.latency.count()), 1 / caps.bytes_per_ns};
    };
    const LinkState& bulk = s.links_[1];
    Port* const here = bulk.phase == LinkState::Phase::kUp ? bulk.port : lane;
    std::array<Port*, model::PathChoice::kMost> found{here};
    unsigned count = 1;
    for (const auto& port : ports_) {
        const TransportCaps& caps = port->transport().caps();
        if (port.get() != here && count < found.size() && caps.separate_bulk && !caps.direct_links && port->transport().reaches(s.contact_) &&
            caps.latency > kNear) {
            found[count++] = port.get();
        }
    }
    if (count < 2) {
        return;
    }
    s.paths_.reset(new (std::nothrow) Paths{config_.path_choice});
    for (unsigned i = 0; s.paths_ != nullptr && i < count; ++i) {
        s.paths_->ports[s.paths_->choice.add(expected(found[i]))] = found[i];
    }
}

// ---- what it means for the lane ----

bool SessionLayer::bulk_elsewhere(const Session& s) const noexcept
{
    return s.lane_up() && s.links_[1].phase == LinkState::Phase::kUp && s.links_[1].port != s.links_[0].port;
}

// A lane that carries less per time than the bulk link does is left when that pays for the question and the answer, one way of each link more.
std::size_t SessionLayer::lane_worth(const Session& s) const noexcept
{
    if (!bulk_elsewhere(s)) {
        return SIZE_MAX;
    }
    const TransportCaps& lane = s.links_[0].port->transport().caps();
    const TransportCaps& bulk = s.links_[1].port->transport().caps();
    const double gain = 1 / lane.bytes_per_ns - 1 / bulk.bytes_per_ns;
    return gain > 0 ? static_cast<std::size_t>(static_cast<double>((lane.latency + bulk.latency).count()) / gain) : SIZE_MAX;
}

std::size_t SessionLayer::first_fragment(const Session& s) const noexcept
{
    if (bulk_elsewhere(s)) {
        return 0;   // since it is faster there
    }
    return s.lane_up() ? s.links_[0].port->transport().caps().first_fragment : SIZE_MAX;
}

// ---- measuring ----

void SessionLayer::time_transfer(Session& s, std::uint32_t slot, std::uint64_t bytes) noexcept
{
    if (bytes < kWorthTiming) {
        return;
    }
    if (!s.paths_sought_) {
        find_paths(s);
    }
    if (s.paths_ == nullptr) {
        return;
    }
    Paths& p = *s.paths_;
    auto place = std::find_if(p.transfers.begin(), p.transfers.end(), [slot](const auto& t) { return t.slot == slot; });   // asked for once more
    if (place == p.transfers.end()) {
        place = std::find_if(p.transfers.begin(), p.transfers.end(), [](const auto& t) { return t.slot == 0; });
    }
    if (place != p.transfers.end()) {
        *place = {slot, p.moves, bytes, p.done_bytes, clock_.now()};
    }
}

void SessionLayer::end_transfer(Session& s, std::uint32_t slot) noexcept
{
    Paths& p = *s.paths_;
    const auto t = std::find_if(p.transfers.begin(), p.transfers.end(), [slot](const auto& x) { return x.slot == slot; });
    if (t == p.transfers.end()) {
        return;
    }
    const TimePoint now = clock_.now();
    p.done_bytes += t->bytes;
    t->slot = 0;
    if (p.bulk_heard != s.bulk_heard_) {
        p.bulk_heard = s.bulk_heard_;
        p.peer_sends_until = now + kSendsToo;
    }
    const bool peer_chooses = now < p.peer_sends_until && self_.endpoint_id.get() > s.endpoint_id();
    if (peer_chooses || t->moves != p.moves || s.links_[1].phase != LinkState::Phase::kUp) {
        return;
    }
    p.choice.sample(p.choice.at(), p.done_bytes - t->done_before, now - t->began, now);
    if (p.choice.wanted() != p.choice.at() && p.move.port == nullptr) {
        begin_move(s, now);
    }
}

// ---- moving ----

void SessionLayer::begin_move(Session& s, TimePoint now) noexcept
{
    Paths& p = *s.paths_;
    LinkState& link = s.links_[1];
    if (link.incoming_port != nullptr || link.changing) {
        return;   // the peer is opening one; asked again after the next transfer
    }
    const unsigned to = p.choice.wanted();
    p.move = {};
    p.move.attempt.role = LinkRole::kBulk;
    p.move.attempt.opener_nonce = fresh_nonce();
    p.move.attempt.epoch = next_epoch(link);
    const Result<LinkId> id = p.ports[to]->transport().connect(s.id, LinkRole::kBulk, s.contact_);
    if (!id) {
        p.choice.failed(to, now);
        return;
    }
    p.move.port = p.ports[to];
    p.move.id = *id;
    p.move.until = now + config_.connect_timeout;
    retry_by(p.move.until);
}

void SessionLayer::move_failed(Session& s, std::string_view why) noexcept
{
    Paths& p = *s.paths_;
    const unsigned to = p.index_of(p.move.port);
    LINNET_LOG(log_, kInfo, "bulk data to %s stays with %s: no way over %s: %.*s", s.labelled(s.contact_).c_str(),
               p.ports[p.choice.at()]->transport().caps().name, p.move.port->transport().caps().name, static_cast<int>(why.size()), why.data());
    p.move.port = nullptr;
    p.choice.failed(to, clock_.now());
}

// The bulk link is up, wherever, and whoever opened it.
void SessionLayer::bulk_is_up(Session& s, Port& port, TimePoint now) noexcept
{
    if (s.paths_ == nullptr) {
        return;
    }
    Paths& p = *s.paths_;
    ++p.moves;
    const unsigned at = p.index_of(&port);
    if (at != model::PathChoice::kNone && at != p.choice.at()) {
        counters_.add(Counter::kPathMoves, 1);
        LINNET_LOG(log_, kInfo, "bulk data to %s goes over %s now, not over %s", s.labelled(s.contact_).c_str(), port.transport().caps().name,
                   p.ports[p.choice.at()]->transport().caps().name);
    }
    p.choice.moved(at, now);
}

// Returns when to look again.
TimePoint SessionLayer::check_move(Session& s, TimePoint now) noexcept
{
    Port* port = nullptr;
    LinkId id{};
    {
        MutexLock guard{s.lock};
        if (s.paths_ == nullptr || s.paths_->move.port == nullptr) {
            return TimePoint::max();
        }
        if (now < s.paths_->move.until) {
            return s.paths_->move.until;
        }
        port = s.paths_->move.port;
        id = s.paths_->move.id;
        move_failed(s, "it took longer than connect_timeout");
    }
    port->transport().drop(id);
    return TimePoint::max();
}

SessionLayer::OwnAttempt SessionLayer::find_attempt(Session& s, const Port& port, LinkId id, LinkRole role) noexcept
{
    LinkState& link = s.links_[static_cast<int>(role)];
    if (link.phase == LinkState::Phase::kOpening && link.port == &port && link.id == id) {
        return {&link.attempt, &link.said_hello, false};
    }
    if (role == LinkRole::kBulk && s.paths_ != nullptr && s.paths_->move.port == &port && s.paths_->move.id == id) {
        return {&s.paths_->move.attempt, &s.paths_->move.said_hello, true};
    }
    return {};
}

}   // namespace linnet::session

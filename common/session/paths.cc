// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: which transports the links of a session take.
#include "session/paths.h"

#include <algorithm>
#include <new>
#include <utility>

#include "session/session_layer.h"

namespace linnet::session {

namespace {
// Shorter transfers are over before the link could have shown what it can.
constexpr std::uint64_t kWorthTiming = 64u << 10;
// A peer that sent bulk data so recently is a sender too, and with two senders one of them chooses.
constexpr Nanos kSendsToo = std::chrono::seconds{1};
// Of a message: none has so many bytes.
constexpr double kNoLength = 1e15;
// After so many messages it is asked again what the transports expect.
constexpr unsigned kExpectAgain = 64;
// Of the wait for a core that was given away: more than a switch to nobody and back.
constexpr Nanos kCoresAreShared = std::chrono::microseconds{10};

// Of a question: the peer must have a core to answer, and we need ours again to hear it. As many ranks to a core as here are presumed there.
double waits_for_cores_ns(const SessionLayer::Config& config) noexcept
{
    return 2 * static_cast<double>(config.core_wait().count());
}

const model::Line* profile_of(const SessionLayer::Config& config, const Port& port) noexcept
{
    const auto it = std::find_if(config.expected.begin(), config.expected.end(), [&port](const auto& e) { return e.first == port.caps().name; });
    return it != config.expected.end() ? &it->second : nullptr;
}

// Who waits for a core that it gave away gave it to another rank, which uses it meanwhile: of a latency only the work counts then.
bool cores_are_shared(const SessionLayer::Config& config) noexcept
{
    return config.core_wait() >= kCoresAreShared;
}

// The line of a profile was laid through what longer messages take, too.
double more_frames_ns(const SessionLayer::Config& config, const Port& port) noexcept
{
    return profile_of(config, port) != nullptr || cores_are_shared(config) ? 0 : static_cast<double>(port.caps().more_frames.count());
}
}   // namespace

// ---- which ways there are ----

model::Line SessionLayer::expected_of(const Port& port) const noexcept
{
    const bool shared = cores_are_shared(config_);
    const double share = shared ? port.caps().busy : 1;
    const double byte_share = shared ? port.caps().busy_byte : 1;
    const model::Line* const known = profile_of(config_, port);
    if (known != nullptr) {
        return model::Line{share * known->fixed_ns, byte_share * known->per_byte_ns};
    }
    const auto dearer = static_cast<double>(std::max(config_.call_cost - kUsualCall, Nanos{0}).count());
    const double latency = static_cast<double>(port.caps().latency.count()) + port.caps().calls * dearer;
    return model::Line{share * latency, byte_share * port.transport().ns_per_byte()};
}

model::Line SessionLayer::expected_of(const Session& s, const Port& port) const noexcept
{
    const unsigned at = s.lane_paths_ != nullptr ? s.lane_paths_->index_of(&port) : model::LaneChoice::kNone;
    return at != model::LaneChoice::kNone ? expected_of(port) + s.lane_paths_->losses_cost[at] : expected_of(port);
}

void SessionLayer::forget_paths(Session& s) noexcept
{
    s.paths_.reset();
    s.paths_sought_ = true;
    s.lane_paths_.reset();
    s.lane_choice_.store(false, std::memory_order_relaxed);
}

// Fills `found` up behind the first, where the link is, and says how many there are.
template <std::size_t N>
std::size_t SessionLayer::add_others(const Session& s, std::array<Port*, N>& found) const noexcept
{
    std::size_t count = 1;
    for (const auto& port : ports_) {
        const TransportCaps& caps = port->transport().caps();
        if (port.get() != found[0] && count < N && caps.separate_bulk && !caps.direct_links && port->transport().reaches(s.contact_) && caps.latency > kNear) {
            found[count++] = port.get();
        }
    }
    return count;
}

// The first is where the link is. A peer to whom memory is shared has no better way, and one that only one transport reaches no other.
void SessionLayer::find_paths(Session& s) noexcept
{
    s.paths_sought_ = true;
    Port* const lane = s.links_[0].port;
    if (lane == nullptr || !lane->transport().caps().separate_bulk || is_near(s)) {
        return;
    }
    std::array<Port*, model::PathChoice::kMost> found{bulk_port(s, lane)};
    const std::size_t count = add_others(s, found);
    if (count < 2) {
        return;
    }
    s.paths_.reset(new (std::nothrow) Paths{config_.path_choice, retry_seed(self_.endpoint_id.get(), s.endpoint_id())});
    for (unsigned i = 0; s.paths_ != nullptr && i < count; ++i) {
        s.paths_->ports[s.paths_->choice.add(expected_of(*found[i]), found[i]->lane_only())] = found[i];
    }
}

// The one with the lower id moves the lane: it sees what both send. The other one does so while it alone sees that what it sends is lost.
void SessionLayer::find_lane_paths(Session& s) noexcept
{
    Port* const lane = s.links_[0].port;
    if (!lane->transport().caps().separate_bulk || is_near(s)) {
        return;
    }
    std::array<Port*, model::LaneChoice::kMost> found{lane};
    const std::size_t count = add_others(s, found);
    if (count < 2) {
        return;
    }
    s.lane_paths_.reset(new (std::nothrow) LanePaths{config_.lane_choice, retry_seed(self_.endpoint_id.get(), s.endpoint_id())});
    for (unsigned i = 0; s.lane_paths_ != nullptr && i < count; ++i) {
        s.lane_paths_->ports[s.lane_paths_->choice.add(expected_of(*found[i]))] = found[i];
    }
    if (s.lane_paths_ != nullptr) {
        s.lane_paths_->ours = config_.choose_paths && self_.endpoint_id.get() < s.endpoint_id();
        s.lane_choice_.store(s.lane_paths_->ours, std::memory_order_relaxed);
    }
}

// ---- what it means for the lane ----

// With the lane. But a lane on a transport that is for lanes alone left another one for it, whose way to the peer has been proven: it opens there. After an
// attempt that failed each way has its turn.
Port* SessionLayer::bulk_port(const Session& s, Port* lane) noexcept
{
    const LinkState& bulk = s.links_[1];
    if (bulk.phase == LinkState::Phase::kUp || bulk.phase == LinkState::Phase::kOpening) {
        return bulk.port;
    }
    const bool away = lane != nullptr && lane->lane_only() && s.lane_paths_ != nullptr && s.lane_paths_->home != nullptr && bulk.failures % 2 == 0;
    return away ? s.lane_paths_->home : lane;
}

// A lane that carries less per time than the bulk link does is left when that pays for question and answer: one way of each link more, and waits for cores.
std::size_t SessionLayer::lane_worth(const Session& s, bool asked) const noexcept
{
    Port* const lane = s.links_[0].port;
    Port* const bulk = bulk_port(s, lane);
    if (!s.lane_up() || bulk == lane) {
        return SIZE_MAX;
    }
    const model::Line here = expected_of(s, *lane);
    const model::Line there = expected_of(s, *bulk);
    const double gain = here.per_byte_ns - there.per_byte_ns;
    const double question = asked ? 2 * here.fixed_ns + waits_for_cores_ns(config_) : 0;
    const double longer = there.fixed_ns - here.fixed_ns + more_frames_ns(config_, *bulk) + question;
    const double worth = gain > 0 ? std::max(longer, 0.0) / gain : kNoLength;
    return worth < kNoLength ? static_cast<std::size_t>(worth) : SIZE_MAX;
}

std::size_t SessionLayer::first_fragment(const Session& s) const noexcept
{
    Port* const lane = s.links_[0].port;
    if (!s.lane_up()) {
        return SIZE_MAX;
    }
    return bulk_port(s, lane) == lane ? lane->transport().caps().first_fragment : 0;   // since it is faster there
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

void SessionLayer::end_transfer(Session& s, std::uint32_t slot, bool arrived) noexcept
{
    Paths& p = *s.paths_;
    const auto t = std::find_if(p.transfers.begin(), p.transfers.end(), [slot](const auto& x) { return x.slot == slot; });
    if (t == p.transfers.end()) {
        return;
    }
    t->slot = 0;
    if (!arrived) {
        return;
    }
    const TimePoint now = clock_.now();
    p.done_bytes += t->bytes;
    if (p.bulk_heard != s.bulk_heard_) {
        p.bulk_heard = s.bulk_heard_;
        p.peer_sends_until = now + kSendsToo;
    }
    const bool peer_chooses = now < p.peer_sends_until && self_.endpoint_id.get() > s.endpoint_id();
    if (peer_chooses || t->moves != p.moves || s.links_[1].phase != LinkState::Phase::kUp) {
        return;
    }
    look_for_losses(s.links_[1], p.losses, now);
    p.choice.loses(s.links_[1].port->caps().lost_frame != Nanos{0} && p.losses.rate.share(now) > 0);
    p.choice.sample(p.choice.at(), p.done_bytes - t->done_before, now - t->began, now);
    if (const unsigned to = p.choice.wanted(); to != p.choice.at() && p.move.port == nullptr && !begin_move(s, LinkRole::kBulk, p.move, *p.ports[to], now)) {
        p.choice.failed(to, now);
    }
}

// Returns what a frame of this link holds, as far as it was asked and knows; else 0.
std::size_t SessionLayer::look_for_losses(const LinkState& link, Losses& losses, TimePoint now) noexcept
{
    if (now < losses.next || link.phase != LinkState::Phase::kUp || link.port->caps().lost_frame == Nanos{0}) {
        return 0;
    }
    losses.next = now + Losses::kApart;
    const Transport::Losses seen = link.port->transport().losses(link.id);
    losses.rate.look(link.id.value, seen.frames, seen.again, seen.frame_bytes, now);
    return seen.frame_bytes;
}

void SessionLayer::watch_lane(Session& s) noexcept
{
    if (s.lane_paths_->messages++ % kExpectAgain == 0 && config_.choose_paths) {
        expect_lanes(s);
    }
}

void SessionLayer::expect_lanes(Session& s) noexcept
{
    LanePaths& p = *s.lane_paths_;
    const TimePoint now = clock_.now();
    const std::size_t frame = look_for_losses(s.links_[0], p.losses, now);
    if (const unsigned at = p.index_of(s.links_[0].port); frame != 0 && at != model::LaneChoice::kNone) {
        p.frame_bytes[at] = frame;
    }
    const model::LossRate* rate = &p.losses.rate;   // where long messages are sent, a lane with little to say learns it from them
    if (s.paths_ != nullptr && s.paths_->losses.rate.share(now) > rate->share(now)) {
        rate = &s.paths_->losses.rate;
    }
    s.lane_choice_.store(p.ours || p.led_away || rate->share(now) > 0, std::memory_order_relaxed);
    p.choice.asking_waits(waits_for_cores_ns(config_));
    for (unsigned i = 0; i < p.choice.paths(); ++i) {
        const auto lost_ns = static_cast<double>(p.ports[i]->caps().lost_frame.count());
        p.losses_cost[i] = rate->cost(lost_ns, now);
        p.choice.expect(i, expected_of(s, *p.ports[i]));
        p.choice.bulk_goes(i, p.index_of(bulk_port(s, p.ports[i])));
        if (p.frame_bytes[i] != 0) {
            p.choice.frame_holds(i, static_cast<double>(p.frame_bytes[i]), more_frames_ns(config_, *p.ports[i]));
        }
    }
}

void SessionLayer::weigh_lane(Session& s, std::uint64_t bytes, bool ours) noexcept
{
    LanePaths& p = *s.lane_paths_;
    const Ticks at = read_ticks();
    const bool alone = p.last_was_ours != ours || !p.choice.in_row(bytes, machine_ticks().nanos(at - p.last_at));
    p.last_was_ours = ours;
    p.last_at = at;
    if (p.messages++ % kExpectAgain == 0) {
        expect_lanes(s);
    }
    if (!p.choice.message(bytes, alone) || p.move.port != nullptr || !s.lane_up() || closing_.load(std::memory_order_relaxed)) {
        return;
    }
    const TimePoint now = clock_.now();
    if (const unsigned to = p.choice.wanted(now); to != p.choice.at() && !begin_move(s, LinkRole::kLane, p.move, *p.ports[to], now)) {
        p.choice.failed(to, now);
    }
}

// ---- moving ----

Move* SessionLayer::move_of(Session& s, LinkRole role) noexcept
{
    Move* move = nullptr;
    if (role == LinkRole::kLane && s.lane_paths_ != nullptr) {
        move = &s.lane_paths_->move;
    } else if (role == LinkRole::kBulk && s.paths_ != nullptr) {
        move = &s.paths_->move;
    }
    return move != nullptr && move->port != nullptr ? move : nullptr;
}

bool SessionLayer::begin_move(Session& s, LinkRole role, Move& move, Port& to, TimePoint now) noexcept
{
    LinkState& link = s.links_[static_cast<int>(role)];
    if (link.incoming_port != nullptr || link.changing) {
        return true;   // the peer is opening one; asked again later
    }
    move = {};
    move.attempt.role = role;
    move.attempt.opener_nonce = fresh_nonce();
    move.attempt.epoch = next_epoch(link);
    move.attempt.beside = true;
    const Result<LinkId> id = to.transport().connect(s.id, role, s.contact_);
    if (!id) {
        return false;
    }
    move.port = &to;
    move.id = *id;
    move.until = now + config_.connect_timeout;
    retry_by(move.until);
    return true;
}

void SessionLayer::move_failed(Session& s, LinkRole role, std::string_view why) noexcept
{
    Move& move = *move_of(s, role);
    const bool lane = role == LinkRole::kLane;
    const Port* const stays = s.links_[static_cast<int>(role)].port;
    const TimePoint now = clock_.now();
    if (move.put_off && !lane) {
        LINNET_LOG(log_, kDebug, "%s lets another peer try %s first", s.labelled(s.contact_).c_str(), move.port->caps().name);
        s.paths_->choice.put_off(s.paths_->index_of(move.port), now);
        move.port = nullptr;
        return;
    }
    LINNET_LOG(log_, kInfo, "%s to %s stay with %s: no way over %s: %.*s", lane ? "messages" : "bulk data", s.labelled(s.contact_).c_str(),
               stays != nullptr ? stays->caps().name : "nothing", move.port->caps().name, static_cast<int>(why.size()), why.data());
    if (lane) {
        s.lane_paths_->choice.failed(s.lane_paths_->index_of(move.port), now);
    } else {
        s.paths_->choice.failed(s.paths_->index_of(move.port), now);
    }
    move.port = nullptr;
}

// An attempt of ours to move a link. Nobody listens where the link was once: it moved away from there meanwhile, and the process is dead.
bool SessionLayer::move_ended(Session& s, Port& port, LinkId id, LinkRole role, Status why, std::string_view text) noexcept
{
    {
        MutexLock guard{s.lock};
        const OwnAttempt own = find_attempt(s, port, id, role);
        if (!own.moves) {
            return false;
        }
        const bool dead = why == Status::kRefused && !*own.said_hello && was_up_over(s, port);
        move_failed(s, role, text);
        if (!dead) {
            return true;
        }
    }
    give_up(s, Status::kPeerDown, text);
    return true;
}

// The link goes where nobody is told when the peer's process ends, and the peer owes an answer: a transport that would be told is asked for it, for bulk data
// the lane's if that is another one. It finds the process gone, or it carries the link from now on, or it hears nothing either: then the link stays.
void SessionLayer::ask_elsewhere(Session& s, LinkRole role, Nanos unanswered, TimePoint now) noexcept
{
    if (unanswered < kAskElsewhere || closing_.load(std::memory_order_relaxed)) {
        return;
    }
    if (role == LinkRole::kBulk && !s.paths_sought_) {
        find_paths(s);
    }
    const auto ask = [&](auto& p) LINNET_REQUIRES(s.lock) {
        if (p.move.port != nullptr) {
            return;
        }
        const Port* const here = s.links_[static_cast<int>(role)].port;
        const LinkState& lane = s.links_[0];
        const bool lane_is_heard = lane.port != here && s.lane_up() && lane.port->transport().unanswered(lane.id) < kAskElsewhere;
        unsigned to = lane_is_heard ? p.index_of(lane.port) : p.choice.paths();
        for (unsigned i = 0; to >= p.choice.paths() && i < p.choice.paths(); ++i) {
            to = p.ports[i] != here && p.ports[i]->caps().told_of_death ? i : to;
        }
        if (to < p.choice.paths() && !begin_move(s, role, p.move, *p.ports[to], now)) {
            p.choice.failed(to, now);
        }
    };
    if (role == LinkRole::kLane && s.lane_paths_ != nullptr) {
        ask(*s.lane_paths_);
    } else if (role == LinkRole::kBulk && s.paths_ != nullptr) {
        ask(*s.paths_);
    }
}

// The lane is up, wherever, and whoever opened it.
void SessionLayer::lane_is_up(Session& s, LinkState& link, TimePoint now) noexcept
{
    if (s.lane_paths_ == nullptr) {
        find_lane_paths(s);
    } else {
        LanePaths& p = *s.lane_paths_;
        const unsigned at = p.index_of(link.port);
        if (p.ours && link.beside && !link.moved_here) {   // a side that chooses only while it sees losses sees why it does
            p.choice.moved_by_peer(at, now);
        } else {
            p.choice.moved(at, now);
        }
        p.led_away = link.moved_here && link.port->lane_only();
    }
    if (s.lane_paths_ == nullptr) {
        return;
    }
    if (!link.port->lane_only()) {
        s.lane_paths_->home = link.port;
    } else if (!link.beside) {
        s.lane_paths_->home = nullptr;   // it did not leave: the link broke there
    }
    if (s.links_[1].phase == LinkState::Phase::kOpening) {
        retry_by(s.links_[1].with_lane_until);   // it may be elsewhere now
    }
}

// The bulk link is up, wherever, and whoever opened it. Where none of the paths is, there were others to choose from than were thought of before it was up.
void SessionLayer::bulk_is_up(Session& s, Port& port, TimePoint now) noexcept
{
    const unsigned at = s.paths_ != nullptr ? s.paths_->index_of(&port) : model::PathChoice::kNone;
    if (at == model::PathChoice::kNone && move_of(s, LinkRole::kBulk) == nullptr) {
        s.paths_.reset();
        s.paths_sought_ = false;
    }
    if (s.paths_ == nullptr) {
        return;
    }
    Paths& p = *s.paths_;
    ++p.moves;
    if (at != model::PathChoice::kNone && at != p.choice.at()) {
        counters_.add(Counter::kPathMoves, 1);
        LINNET_LOG(log_, kInfo, "bulk data to %s goes over %s now, not over %s", s.labelled(s.contact_).c_str(), port.transport().caps().name,
                   p.ports[p.choice.at()]->transport().caps().name);
    }
    p.choice.moved(at, now);
}

void SessionLayer::tell_lane(Session& s, const Port& port, const LaneNews& news) noexcept
{
    if (!news.twin) {   // else nothing broke
        const Counter first_or_next = news.again ? Counter::kReconnects : Counter::kConnects;
        counters_.add(news.moved ? Counter::kPathMoves : first_or_next, 1);
    }
    if (news.again) {
        counters_.add(Counter::kRetransmittedMessages, news.resent);
    }
    if (news.again && !news.twin) {
        LINNET_LOG(log_, kInfo, news.moved ? "messages to %s go over %s now" : "connection to %s is open again, over %s", s.describe().c_str(),
                   port.caps().name);
    }
}

// Returns when to look again.
TimePoint SessionLayer::check_move(Session& s, LinkRole role, TimePoint now) noexcept
{
    Port* port = nullptr;
    LinkId id{};
    {
        MutexLock guard{s.lock};
        const Move* const move = move_of(s, role);
        if (move == nullptr) {
            return TimePoint::max();
        }
        if (now < move->until) {
            return move->until;
        }
        port = move->port;
        id = move->id;
        move_failed(s, role, "it took longer than connect_timeout");
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
    if (Move* const move = move_of(s, role); move != nullptr && move->port == &port && move->id == id) {
        return {&move->attempt, &move->said_hello, true};
    }
    return {};
}

}   // namespace linnet::session

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: hellos, opening and re-opening of links.
#include <algorithm>
#include <new>

#include "session/session_layer.h"
#include "sys/process.h"

namespace linnet::session {

namespace {
// An opener whose hello was accepted confirms within this, or makes room for our own attempt.
constexpr Nanos kConfirmTime = std::chrono::seconds{5};

HelloVerdict reject(LinkRole role, wire::RejectReason reason, std::uint32_t epoch, std::span<std::byte> reply) noexcept
{
    HelloVerdict v;
    v.action = reason == wire::RejectReason::kYield ? HelloVerdict::Action::kYield : HelloVerdict::Action::kReject;
    v.role = role;
    v.reply_bytes = write_reject(role, reason, epoch, reply);
    v.why = Status::kRefused;
    return v;
}
}   // namespace

// Without entropy (the failure is logged) the nonce is zeros: the hello is then only as fresh as the peer's own nonce.
wire::Nonce SessionLayer::fresh_nonce() const noexcept
{
    wire::Nonce n{};
    const Status ignored = random_bytes(std::as_writable_bytes(std::span{n}), log_);
    static_cast<void>(ignored);
    return n;
}

// Above all that was agreed on or proposed.
LinkEpoch SessionLayer::next_epoch(LinkState& link) const noexcept
{
    link.proposed = (after(link.epoch.number, link.proposed) ? link.epoch.number : link.proposed) + 1;
    return {link.proposed, self_.endpoint_id.get()};
}

// ---- opening ----

bool SessionLayer::link_wanted(const Session& s, LinkRole role) const noexcept
{
    const bool closing = closing_.load(std::memory_order_relaxed);
    if (role == LinkRole::kBulk) {
        return s.links_[1].wanted && !closing;
    }
    return !s.all_acked() || (s.was_up_ && !closing);
}

void SessionLayer::open_when_idle(Session& s, LinkRole role) noexcept
{
    const LinkState& link = s.links_[static_cast<int>(role)];
    if (link.phase == LinkState::Phase::kIdle && !link.changing && link.incoming_port == nullptr) {
        open_link(s, role);
    }
}

void SessionLayer::open_link(Session& s, LinkRole role) noexcept
{
    LinkState& link = s.links_[static_cast<int>(role)];
    const TimePoint now = clock_.now();
    if (link.give_up_at == TimePoint::max()) {
        link.give_up_at = now + config_.connect_timeout;
    }
    link.rejected = link.nobody = false;
    const bool bulk = role == LinkRole::kBulk;
    for (std::size_t at = link.first_port;; ++at) {
        Port* const port = bulk ? bulk_port(s, s.links_[0].port) : port_for(s.contact_, at);
        if (port == nullptr) {
            break;
        }
        link.attempt = {};
        link.said_hello = false;
        link.attempt.role = role;
        link.attempt.opener_nonce = fresh_nonce();
        link.attempt.epoch = next_epoch(link);
        const Result<LinkId> id = port->transport().connect(s.id, role, s.contact_);
        if (id) {
            link.phase = LinkState::Phase::kOpening;
            link.port = port;
            link.id = *id;
            link.first_port = bulk ? 0 : at;
            link.nobody = false;
            link.with_lane_until = bulk ? now + std::min(kAskElsewhere, config_.connect_timeout / 3) : TimePoint::max();
            retry_by(port != s.links_[0].port ? link.with_lane_until : link.give_up_at + kGrace);
            return;
        }
        link.nobody = !bulk && id.status() == Status::kUnreachable;
        if (id.status() == Status::kAgain && now < link.give_up_at - config_.connect_timeout * 2 / 3) {   // which leaves time to try another transport
            keep_text(link.last_failure, "too many connections to it were waiting");
            link.first_port = at;
            retry_later(link, now + kRetryFirst);
            return;
        }
        if (bulk) {
            break;
        }
    }
    // No resources, which the transport said in the log, or no transport that reaches a peer who reached us: until connect_timeout. Or nobody is there.
    keep_text(link.last_failure, "no transport has a way to it now; see the settings transports, net_include and net_exclude");
    ++link.failures;
    link.first_port = 0;
    retry_later(link, link.nobody ? now : now + kRetryMax);
}

std::size_t SessionLayer::make_hello(Port& port, LinkId id, PeerId peer, LinkRole role, std::span<std::byte> out) noexcept
{
    Session* s = find(peer);
    if (s == nullptr) {
        return 0;
    }
    MutexLock guard{s->lock};
    LinkState& link = s->links_[static_cast<int>(role)];
    const OwnAttempt own = find_attempt(*s, port, id, role);
    if (own.attempt == nullptr) {
        return 0;
    }
    if (*own.said_hello) {   // to another address before: what it heard, and whoever it was, must be of no use for this one
        own.attempt->opener_nonce = fresh_nonce();
        own.attempt->epoch = next_epoch(link);
    }
    *own.said_hello = true;
    link.rejected = link.rejected && own.moves;
    own.attempt->rank = config_.told_rank;
    wire::EndpointName target = s->name_;
    if (!s->name_known_) {
        target.endpoint_id.set(0);   // without the secret there is nothing to prove
        target.secret = {};
    }
    const bool trial = own.moves && role == LinkRole::kBulk && s->paths_->choice.tries(s->paths_->index_of(&port));
    const std::uint64_t features = listens_unnamed() | wire::kTakesUnasked | (trial ? wire::kTrial : 0);
    return write_hello(*own.attempt, target, self_, s->received_.load(std::memory_order_relaxed), features, out);
}

HelloVerdict SessionLayer::on_hello(Port& port, LinkId id, std::span<const std::byte> hello, const Caller& from, std::span<std::byte> reply) noexcept
{
    Attempt attempt;
    wire::RejectReason reason = wire::RejectReason::kProof;
    const Result<HelloSeen> seen = read_hello(attempt, self_, config_.allow_by_address, hello, reason);
    HelloVerdict v;
    v.why = Status::kProtocol;
    if (seen || seen.status() != Status::kProtocol) {   // rubbish gets no answer
        Result<Session*> found = seen.status();
        if (seen) {
            try {
                found = session_of_opener(*seen, from.address, reason);
            } catch (const std::bad_alloc&) {
                reason = wire::RejectReason::kBusy;
            }
        }
        v = found ? accept_hello(**found, port, id, attempt, reply) : reject(attempt.role, reason, 0, reply);
    }
    if (v.action == HelloVerdict::Action::kReject) {
        counters_.add(Counter::kRefusedHellos, 1);
        if (const std::uint64_t n = refused_throttle_.hit(); n != 0) {
            LINNET_LOG(log_, kInfo, "refused a connection from %s (refusal %llu)", from.text().c_str(), static_cast<unsigned long long>(n));
        }
    }
    return v;
}

// The opener proved what it had to. Whether its link is wanted is decided by epochs: newer than all that was agreed on, and than our own attempt.
HelloVerdict SessionLayer::accept_hello(Session& s, Port& port, LinkId id, Attempt& attempt, std::span<std::byte> reply) noexcept
{
    struct Old {
        Port* port;
        LinkId id;
    };
    Old old[3];
    std::size_t n = 0;
    HelloVerdict v;
    {
        MutexLock guard{s.lock};
        LinkState& link = s.links_[static_cast<int>(attempt.role)];
        Move* const move = move_of(s, attempt.role);
        if (s.down_reason() != Status::kOk) {
            return reject(attempt.role, wire::RejectReason::kClosing, 0, reply);
        }
        if (!newer(attempt.epoch, link.epoch)) {
            return reject(attempt.role, wire::RejectReason::kStale, link.epoch.number, reply);
        }
        const bool opening = link.phase == LinkState::Phase::kOpening;
        if (opening && !newer(attempt.epoch, link.attempt.epoch)) {
            return reject(attempt.role, wire::RejectReason::kYield, link.attempt.epoch.number, reply);
        }
        if (move != nullptr && !newer(attempt.epoch, move->attempt.epoch)) {
            return reject(attempt.role, wire::RejectReason::kYield, move->attempt.epoch.number, reply);
        }
        if (attempt.trial && port.lane_only() && link.phase == LinkState::Phase::kUp && !trials_.may_begin(s.id, clock_.now())) {
            return reject(attempt.role, wire::RejectReason::kInTurn, 0, reply);
        }
        attempt.acceptor_nonce = fresh_nonce();
        attempt.rank = config_.told_rank;
        attempt.beside = link.phase == LinkState::Phase::kUp;
        v.action = HelloVerdict::Action::kAccept;
        v.peer = s.id;
        v.role = attempt.role;
        v.reply_bytes = write_welcome(attempt, self_, s.received_.load(std::memory_order_relaxed), wire::kTakesUnasked, reply);
        if (opening) {
            old[n++] = {link.port, link.id};
        }
        if (move != nullptr) {
            old[n++] = {move->port, move->id};
            move->port = nullptr;
        }
        if (link.incoming_port != nullptr) {
            old[n++] = {link.incoming_port, link.incoming};
        }
        if (link.phase != LinkState::Phase::kUp) {
            link.phase = LinkState::Phase::kIdle;
        }
        link.epoch = attempt.epoch;
        link.incoming_port = &port;
        link.incoming = id;
        link.incoming_attempt = attempt;
        link.incoming_until = clock_.now() + kConfirmTime;
        retry_by(link.incoming_until);
    }
    for (std::size_t i = 0; i < n; ++i) {
        old[i].port->transport().drop(old[i].id);
    }
    return v;
}

// Checks the answer to our hello. On kOk link.attempt is complete; otherwise the attempt ends.
Status SessionLayer::check_welcome(Session& s, Port& port, LinkId id, LinkRole role, std::span<const std::byte> welcome, WelcomeSeen& out) noexcept
{
    MutexLock guard{s.lock};
    LinkState& link = s.links_[static_cast<int>(role)];
    const OwnAttempt own = find_attempt(s, port, id, role);
    if (own.attempt == nullptr || !newer(own.attempt->epoch, link.epoch)) {
        return Status::kCanceled;
    }
    const Result<WelcomeSeen> seen = read_welcome(*own.attempt, s.name_known_ ? s.name_.endpoint_id.get() : 0, welcome);
    if (own.moves && seen && seen->rejected && after(seen->epoch, link.proposed)) {
        link.proposed = seen->epoch;
    }
    if (own.moves && seen && seen->rejected) {
        move_of(s, role)->put_off = seen->reason == wire::RejectReason::kInTurn;
    }
    if (own.moves && (!seen || seen->rejected)) {   // which says nothing about the link that is up
        return seen ? Status::kRefused : seen.status();
    }
    if (!seen) {
        link.rejected = seen.status() == Status::kRefused;
        link.reason = wire::RejectReason::kProof;
        return seen.status();
    }
    out = *seen;
    if (seen->rejected) {
        link.rejected = true;
        link.reason = seen->reason;
        if (after(seen->epoch, link.proposed)) {
            link.proposed = seen->epoch;
        }
        return Status::kRefused;
    }
    if (s.name_.endpoint_id.get() != 0 && !s.name_known_ && !same_public(s.name_, seen->acceptor)) {
        link.rejected = true;   // we asked by address, and the address changed hands
        link.reason = wire::RejectReason::kTarget;
        return Status::kRefused;
    }
    return Status::kOk;
}

HelloVerdict SessionLayer::on_welcome(Port& port, LinkId id, PeerId peer, LinkRole role, std::span<const std::byte> welcome,
                                      std::span<std::byte> confirm) noexcept
{
    HelloVerdict v;
    v.peer = peer;
    v.role = role;
    Session* s = find(peer);
    if (s == nullptr) {
        return v;
    }
    WelcomeSeen seen;
    v.why = check_welcome(*s, port, id, role, welcome, seen);
    if (v.why != Status::kOk) {
        const bool yield = seen.rejected && seen.reason == wire::RejectReason::kYield;
        v.action = yield ? HelloVerdict::Action::kYield : HelloVerdict::Action::kReject;
        v.elsewhere = v.why == Status::kProtocol || (seen.rejected && seen.reason == wire::RejectReason::kTarget);
        return v;
    }
    if (!identify(*s, seen.acceptor)) {
        v.why = Status::kRefused;
        return v;
    }
    Attempt attempt;
    {
        MutexLock guard{s->lock};
        LinkState& link = s->links_[static_cast<int>(role)];
        const OwnAttempt own = find_attempt(*s, port, id, role);
        if (own.attempt == nullptr) {
            v.why = Status::kCanceled;
            return v;
        }
        attempt = *own.attempt;
        s->proved_ = s->proved_ || attempt.secret != SipKey{};
        link.epoch = attempt.epoch;
        v.reply_bytes = write_confirm(attempt, confirm);
        if (own.moves) {
            move_of(*s, role)->port = nullptr;   // it is the link now
        }
        link.moved_here = own.moves;
    }
    install_link(*s, port, id, role, attempt);
    v.action = HelloVerdict::Action::kAccept;
    return v;
}

// An endpoint reached by address takes its place in the table. False when the endpoint is known already as another peer: one endpoint
// must not have two sessions, or its messages would have two orders.
bool SessionLayer::identify(Session& s, const wire::EndpointName& who) noexcept
{
    if (s.endpoint_id() != 0) {
        return true;
    }
    const std::uint64_t id = who.endpoint_id.get();
    bool mine = false;
    try {
        MutexLock table{table_lock_};
        const auto [it, fresh] = by_endpoint_.try_emplace(id, &s);
        mine = fresh || it->second == &s;
        MutexLock guard{s.lock};
        if (mine) {
            s.name_ = who;
            s.endpoint_id_.store(id, std::memory_order_relaxed);
        } else {
            for (LinkState& link : s.links_) {
                link.rejected = true;
                link.reason = wire::RejectReason::kName;
            }
        }
    } catch (const std::bad_alloc&) {
        return false;   // tried again later
    }
    if (!mine) {
        LINNET_LOG(log_, kError, "peer %s is known already under another address; add it by one address only", s.describe().c_str());
    }
    return mine;
}

HelloVerdict SessionLayer::on_confirm(Port& port, LinkId id, PeerId peer, LinkRole role, std::span<const std::byte> confirm) noexcept
{
    HelloVerdict v;
    v.peer = peer;
    v.role = role;
    v.why = Status::kCanceled;
    Session* s = find(peer);
    if (s == nullptr) {
        return v;
    }
    Attempt attempt;
    {
        MutexLock guard{s->lock};
        LinkState& link = s->links_[static_cast<int>(role)];
        if (link.incoming_port != &port || link.incoming != id) {
            return v;   // a newer one took its place
        }
        v.why = check_confirm(link.incoming_attempt, confirm);
        if (v.why != Status::kOk) {
            counters_.add(Counter::kRefusedHellos, 1);
            return v;
        }
        attempt = link.incoming_attempt;
        link.incoming_port = nullptr;
        link.moved_here = false;
        link.changing = true;   // until it is installed nobody else opens one
    }
    install_link(*s, port, id, role, attempt);
    v.action = HelloVerdict::Action::kAccept;
    return v;
}

// `id` becomes the link of this role. What was there before is fenced first: nothing of it is delivered after this.
void SessionLayer::install_link(Session& s, Port& port, LinkId id, LinkRole role, const Attempt& attempt) noexcept
{
    Port* old_port = nullptr;
    LinkId old{};
    {
        MutexLock guard{s.lock};
        LinkState& link = s.links_[static_cast<int>(role)];
        if (link.phase == LinkState::Phase::kUp) {
            old_port = link.port;
            old = link.id;
            link.phase = LinkState::Phase::kIdle;
            if (is_good(s, link)) {
                link.failures = 0;
                link.give_up_at = TimePoint::max();
            }
        }
        link.changing = true;
    }
    if (old_port != nullptr) {
        old_port->transport().drop(old);
        link_lost(s, *old_port, role);
    }
    MutexLock guard{s.lock};
    LinkState& link = s.links_[static_cast<int>(role)];
    link.changing = false;
    s.told_rank_ = attempt.peer_rank;
    if (s.down_reason() != Status::kOk) {
        return;
    }
    const TimePoint now = clock_.now();
    link.twin = attempt.beside && link.moved && link.up_over == &port && now - link.up_since < kConfirmTime;
    link.up_since = now;
    link.port = &port;
    link.id = id;
    link.phase = LinkState::Phase::kUp;
    link.peer_received = attempt.peer_received;
    link.beside = attempt.beside;
    link.takes_unasked = attempt.peer_takes_unasked && port.transport().caps().unasked;
    if (role == LinkRole::kLane) {
        s.blocked_ = true;   // until on_link_up()
        s.at_once_ = port.transport().caps().at_once;
    }
}

void SessionLayer::on_link_up(Port& port, LinkId id, PeerId peer, LinkRole role) noexcept
{
    Session* s = find(peer);
    if (s == nullptr) {
        return;
    }
    note(config_.trace, TraceKind::kLinkUp, peer, id.value, static_cast<std::uint64_t>(role));
    if (port.transport().caps().direct_links && s->down_reason() == Status::kOk) {   // no hello: both ends are this process
        Attempt attempt;
        attempt.peer_received = s->received_.load(std::memory_order_relaxed);
        attempt.peer_rank = config_.told_rank;
        attempt.peer_takes_unasked = true;
        install_link(*s, port, id, role, attempt);
    }
    LaneNews news;
    std::uint32_t peer_received = 0;
    {
        MutexLock guard{s->lock};
        LinkState& link = s->links_[static_cast<int>(role)];
        if (link.phase != LinkState::Phase::kUp || link.port != &port || link.id != id) {
            return;   // the session ended meanwhile
        }
        link.first_port = 0;
        link.refused.clear();
        s->was_up_over_ |= bit_of(port);
        link.up_since = clock_.now();
        link.heard_at_up = s->heard_;
        const Port* const was_up_over = std::exchange(link.up_over, &port);
        link.moved = was_up_over != nullptr && was_up_over != &port;
        if (role == LinkRole::kBulk) {
            bulk_is_up(*s, port, link.up_since);
        }
        if (role == LinkRole::kLane) {
            // The new link has taken nothing yet. What the peer has is acknowledged by its hello; the rest goes out again, in order.
            const std::uint32_t heard = s->ack_heard_.load(std::memory_order_relaxed);
            // It was written when that link was begun, which may be long ago: what was heard over another one since counts.
            peer_received = after(heard, link.peer_received) ? heard : link.peer_received;
            s->link_taken_ = s->written_ = s->acked_ = s->taken_back_.load(std::memory_order_relaxed);
            s->unsent_ = s->retained_.front();
            s->ack_due_ = true;
            news = {.again = std::exchange(s->was_up_, true), .moved = link.moved, .twin = link.twin};
            lane_is_up(*s, link, link.up_since);
            const std::uint32_t taken = s->taken_.load(std::memory_order_relaxed);
            news.resent = after(taken, peer_received) ? taken - peer_received : 0;
        }
    }
    if (role == LinkRole::kBulk) {
        sink_.on_bulk_ready(*s);
        return;
    }
    if (silence_due_ == TimePoint::max()) {
        silence_due_ = clock_.now();
    }
    tell_lane(*s, port, news);
    take_ack(*s, peer_received);
    if (s->down_reason() != Status::kOk) {
        return;
    }
    {
        MutexLock guard{s->lock};
        s->blocked_ = false;
        pump(*s);
    }
    send_ack(*s);   // unless a message went first: the peer may send nothing before it has credit
    sink_.on_peer_up(*s);
}

}   // namespace linnet::session

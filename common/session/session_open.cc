// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: peers, hellos, opening and re-opening of links.
#include <arpa/inet.h>

#include <algorithm>
#include <cstring>

#include "session/session_layer.h"
#include "sys/process.h"

namespace linnet::session {

namespace {
constexpr Nanos kRetryFirst = std::chrono::milliseconds{10};
constexpr Nanos kRetryMax = std::chrono::milliseconds{500};

// A timer that any thread may set earlier; only its handler clears it.
void move_earlier(std::atomic<std::int64_t>& due, TimePoint at) noexcept
{
    const std::int64_t mine = at.time_since_epoch().count();
    std::int64_t seen = due.load(std::memory_order_relaxed);
    while (mine < seen && !due.compare_exchange_weak(seen, mine, std::memory_order_relaxed)) {
    }
}

// Without entropy (the failure is logged) the nonce is zeros: the hello is then only as fresh as the peer's own nonce.
wire::Nonce fresh_nonce(const Log& log) noexcept
{
    wire::Nonce n{};
    const Status ignored = random_bytes(std::as_writable_bytes(std::span{n}), log);
    static_cast<void>(ignored);
    return n;
}

bool same(const wire::EndpointName& a, const wire::EndpointName& b) noexcept { return std::memcmp(&a, &b, sizeof a) == 0; }

// The same process by all that is public: everything but the secret.
bool same_public(wire::EndpointName a, wire::EndpointName b) noexcept
{
    a.secret = b.secret = {};
    return same(a, b);
}

HelloVerdict reject(LinkRole role, wire::RejectReason reason, std::span<std::byte> reply, HelloVerdict::Action action) noexcept
{
    HelloVerdict v;
    v.action = action;
    v.role = role;
    v.reply_bytes = write_reject(role, reason, reply);
    v.why = Status::kRefused;
    return v;
}
}   // namespace

std::string name_text(const wire::EndpointName& name)
{
    char text[INET6_ADDRSTRLEN] = "?";
    if (name.family == wire::AddressFamily::kIpv4) {
        inet_ntop(AF_INET, name.address.data(), text, sizeof text);
    } else if (name.family == wire::AddressFamily::kIpv6) {
        inet_ntop(AF_INET6, name.address.data(), text, sizeof text);
    }
    return std::string{text} + " port " + std::to_string(name.port.get());
}

// ---- peers ----

Port* SessionLayer::port_for(const wire::EndpointName& name) noexcept
{
    for (auto& p : ports_) {
        if (p->transport().reaches(name)) {
            return p.get();
        }
    }
    return nullptr;
}

Result<Session*> SessionLayer::make(const wire::EndpointName& name, bool known, bool by_address)
{
    const std::uint32_t index = count_.load(std::memory_order_relaxed);
    if (index == kMaxPeers) {
        return Status::kNoMemory;
    }
    auto& chunk = chunks_[index / kChunk];
    if (chunk.load(std::memory_order_relaxed) == nullptr) {
        chunk.store(new Chunk{}, std::memory_order_release);
    }
    std::unique_ptr<Session> made = sink_.make_session(PeerId{index});
    Session* const s = made.get();
    {
        MutexLock guard{s->lock};
        s->name_ = name;
        s->name_known_ = known;
        s->by_address_ = by_address;
    }
    s->endpoint_id_.store(name.endpoint_id.get(), std::memory_order_relaxed);
    (*chunk.load(std::memory_order_relaxed))[index % kChunk].store(made.release(), std::memory_order_release);
    count_.store(index + 1, std::memory_order_release);
    if (name.endpoint_id.get() != 0) {
        by_endpoint_[name.endpoint_id.get()] = s;
    }
    return s;
}

// Take over the full name that the host gave; false when it contradicts what we have.
bool SessionLayer::adopt_name(Session& s, const wire::EndpointName& name)
{
    if (s.name_known_) {
        return same(s.name_, name);
    }
    if (!same_public(s.name_, name)) {
        return false;
    }
    s.name_ = name;
    s.name_known_ = true;
    return true;
}

Result<Session*> SessionLayer::add(const wire::EndpointName& name)
{
    MutexLock table{table_lock_};
    const auto it = by_endpoint_.find(name.endpoint_id.get());
    if (it != by_endpoint_.end()) {
        MutexLock guard{it->second->lock};
        return adopt_name(*it->second, name) ? Result<Session*>{it->second} : Status::kInvalid;
    }
    if (port_for(name) == nullptr) {
        LINNET_LOG(log_, kError, "no transport reaches %s (setting transports)", name_text(name).c_str());
        return Status::kUnreachable;
    }
    return make(name, true, false);
}

Result<Session*> SessionLayer::add_address(const wire::EndpointName& address)
{
    MutexLock table{table_lock_};
    for (std::uint32_t i = 0; i < peers(); ++i) {   // rare, and by far cheaper than the connection that follows
        Session* s = find(PeerId{i});
        MutexLock guard{s->lock};
        if (s->name_.family == address.family && s->name_.port.get() == address.port.get() && s->name_.address == address.address &&
            s->down_reason() == Status::kOk) {
            return s;
        }
    }
    if (port_for(address) == nullptr) {
        LINNET_LOG(log_, kError, "no transport reaches %s (setting transports)", name_text(address).c_str());
        return Status::kUnreachable;
    }
    return make(address, false, true);
}

Result<Session*> SessionLayer::session_of_opener(const HelloSeen& seen, wire::RejectReason& reason)
{
    MutexLock table{table_lock_};
    const std::uint64_t id = seen.opener.endpoint_id.get();
    const auto it = by_endpoint_.find(id);
    if (it != by_endpoint_.end()) {
        MutexLock guard{it->second->lock};
        const bool agrees = seen.by_address ? same_public(it->second->name_, seen.opener) : adopt_name(*it->second, seen.opener);
        if (!agrees) {
            reason = wire::RejectReason::kName;
            return Status::kRefused;
        }
        return it->second;
    }
    // Somebody whom the host added by address, and who came first.
    for (std::uint32_t i = 0; i < peers(); ++i) {
        Session* s = find(PeerId{i});
        MutexLock guard{s->lock};
        if (s->name_.endpoint_id.get() == 0 && s->name_.family == seen.opener.family && s->name_.port.get() == seen.opener.port.get() &&
            s->name_.address == seen.opener.address) {
            s->name_ = seen.opener;
            s->name_known_ = !seen.by_address;
            s->endpoint_id_.store(id, std::memory_order_relaxed);
            by_endpoint_[id] = s;
            return s;
        }
    }
    return make(seen.opener, !seen.by_address, seen.by_address);
}

// ---- opening ----

void SessionLayer::open_link(Session& s, LinkRole role) noexcept
{
    LinkState& link = s.links_[static_cast<int>(role)];
    link.waiting = false;
    link.rejected = false;
    Port* const port = role == LinkRole::kBulk ? s.links_[0].port : port_for(s.name_);
    if (port == nullptr) {
        return;
    }
    if (link.failures == 0) {
        link.give_up_at = clock_.now() + config_.connect_timeout;
    }
    link.attempt = {};
    link.attempt.role = role;
    link.attempt.opener_nonce = fresh_nonce(log_);
    const Result<LinkId> id = port->transport().connect(s.id, role, s.name_);
    link.port = port;
    if (id) {
        link.phase = LinkState::Phase::kOpening;
        link.id = *id;
        return;
    }
    // For lack of resources (it said so in the log): try again until connect_timeout.
    ++link.failures;
    retry_later(link, clock_.now() + kRetryMax);
}

void SessionLayer::retry_later(LinkState& link, TimePoint at) noexcept
{
    link.waiting = true;
    link.retry_at = at;
    move_earlier(retry_due_, at);
}

std::size_t SessionLayer::make_hello(Port& port, LinkId id, PeerId peer, LinkRole role, std::span<std::byte> out) noexcept
{
    Session* s = find(peer);
    if (s == nullptr) {
        return 0;
    }
    MutexLock guard{s->lock};
    LinkState& link = s->links_[static_cast<int>(role)];
    if (link.phase != LinkState::Phase::kOpening || link.port != &port || link.id != id) {
        return 0;
    }
    wire::EndpointName target = s->name_;
    if (!s->name_known_) {
        target.endpoint_id.set(0);   // without the secret there is nothing to prove
        target.secret = {};
    }
    return write_hello(link.attempt, target, self_, s->received_.load(std::memory_order_relaxed) + 1, out);
}

HelloVerdict SessionLayer::on_hello(Port& port, LinkId id, std::span<const std::byte> hello, std::string_view from,
                                    std::span<std::byte> reply) noexcept
{
    using Action = HelloVerdict::Action;
    Attempt attempt;
    wire::RejectReason reason = wire::RejectReason::kProof;
    const Result<HelloSeen> seen = read_hello(attempt, self_, config_.allow_by_address, hello, reason);
    if (!seen && seen.status() == Status::kProtocol) {
        counters_.add(Counter::kRefusedHellos, 1);
        return {};   // rubbish gets no answer
    }
    Result<Session*> found = seen ? session_of_opener(*seen, reason) : Result<Session*>{seen.status()};
    if (found && (*found)->down_reason() != Status::kOk) {
        found = Status::kRefused;
        reason = wire::RejectReason::kClosing;
    }
    if (!found) {
        counters_.add(Counter::kRefusedHellos, 1);
        if (const std::uint64_t n = refused_throttle_.hit(); n != 0) {
            LINNET_LOG(log_, kInfo, "refused a connection from %.*s (refusal %llu)", static_cast<int>(from.size()), from.data(),
                       static_cast<unsigned long long>(n));
        }
        return reject(attempt.role, reason, reply, Action::kReject);
    }
    Session& s = **found;
    MutexLock guard{s.lock};
    LinkState& link = s.links_[static_cast<int>(attempt.role)];
    // Both opened at once: the one with the smaller endpoint id goes first.
    if (link.phase == LinkState::Phase::kOpening && self_.endpoint_id.get() < s.name_.endpoint_id.get()) {
        return reject(attempt.role, wire::RejectReason::kYield, reply, Action::kYield);
    }
    attempt.acceptor_nonce = fresh_nonce(log_);
    HelloVerdict v;
    v.action = Action::kAccept;
    v.peer = s.id;
    v.role = attempt.role;
    v.reply_bytes = write_welcome(attempt, self_, s.received_.load(std::memory_order_relaxed) + 1, reply);
    link.incoming_port = &port;
    link.incoming = id;
    link.incoming_attempt = attempt;
    return v;
}

HelloVerdict SessionLayer::on_welcome(Port& port, LinkId id, PeerId peer, LinkRole role, std::span<const std::byte> welcome,
                                      std::span<std::byte> confirm) noexcept
{
    using Action = HelloVerdict::Action;
    HelloVerdict v;
    v.peer = peer;
    v.role = role;
    Session* s = find(peer);
    if (s == nullptr) {
        return v;
    }
    std::uint32_t peer_expects = 0;
    {
        MutexLock guard{s->lock};
        LinkState& link = s->links_[static_cast<int>(role)];
        if (link.phase != LinkState::Phase::kOpening || link.port != &port || link.id != id) {
            return v;
        }
        const std::uint64_t target = s->name_known_ ? s->name_.endpoint_id.get() : 0;
        const Result<WelcomeSeen> seen = read_welcome(link.attempt, target, welcome);
        if (!seen) {
            v.why = seen.status();
            return v;
        }
        if (seen->rejected) {
            link.rejected = true;
            link.reason = seen->reason;
            v.action = seen->reason == wire::RejectReason::kYield ? Action::kYield : Action::kReject;
            v.why = Status::kRefused;
            return v;
        }
        if (s->name_.endpoint_id.get() == 0) {   // opened by address: now we know who it is
            const wire::EndpointName& who = seen->acceptor;
            s->name_ = who;
            s->endpoint_id_.store(who.endpoint_id.get(), std::memory_order_relaxed);
        }
        v.reply_bytes = write_confirm(link.attempt, confirm);
        peer_expects = link.attempt.peer_expects;
    }
    if (!register_identity(*s)) {
        v.reply_bytes = 0;
        return v;
    }
    install_link(*s, port, id, role, peer_expects);
    v.action = Action::kAccept;
    return v;
}

// An endpoint reached by address takes its place in the table. False when the endpoint is known already as another peer: one endpoint
// must not have two sessions, or its messages would have two orders.
bool SessionLayer::register_identity(Session& s)
{
    MutexLock table{table_lock_};
    const auto [it, fresh] = by_endpoint_.try_emplace(s.endpoint_id(), &s);
    if (!fresh && it->second != &s) {
        LINNET_LOG(log_, kError, "peer %s is known already under another address; add it by one address only", s.describe().c_str());
        return false;
    }
    return true;
}

HelloVerdict SessionLayer::on_confirm(Port& port, LinkId id, PeerId peer, LinkRole role, std::span<const std::byte> confirm) noexcept
{
    HelloVerdict v;
    v.peer = peer;
    v.role = role;
    Session* s = find(peer);
    if (s == nullptr) {
        return v;
    }
    std::uint32_t peer_expects = 0;
    {
        MutexLock guard{s->lock};
        LinkState& link = s->links_[static_cast<int>(role)];
        if (link.incoming_port != &port || link.incoming != id || s->down_reason() != Status::kOk) {
            return v;
        }
        v.why = check_confirm(link.incoming_attempt, confirm);
        if (v.why != Status::kOk) {
            return v;
        }
        peer_expects = link.incoming_attempt.peer_expects;
        link.incoming_port = nullptr;
    }
    install_link(*s, port, id, role, peer_expects);
    v.action = HelloVerdict::Action::kAccept;
    return v;
}

// `id` becomes the link of this role. What was there before is fenced first: nothing of it is delivered after this.
void SessionLayer::install_link(Session& s, Port& port, LinkId id, LinkRole role, std::uint32_t peer_expects) noexcept
{
    Port* old_port = nullptr;
    LinkId old{};
    {
        MutexLock guard{s.lock};
        LinkState& link = s.links_[static_cast<int>(role)];
        if (link.phase != LinkState::Phase::kNone && !(link.port == &port && link.id == id)) {
            old_port = link.port;
            old = link.id;
        }
        link.phase = LinkState::Phase::kNone;
    }
    if (old_port != nullptr) {
        old_port->transport().drop(old);
        if (role == LinkRole::kBulk) {
            sink_.on_bulk_down(s);
        } else {
            sink_.on_lane_written(s);
        }
    }
    MutexLock guard{s.lock};
    LinkState& link = s.links_[static_cast<int>(role)];
    if (s.down_reason() != Status::kOk) {
        return;
    }
    link.port = &port;
    link.id = id;
    link.phase = LinkState::Phase::kUp;
    link.waiting = false;
    link.failures = 0;
    link.peer_expects = peer_expects;
    if (role == LinkRole::kLane) {
        s.blocked_ = true;   // until on_link_up()
        s.ack_packet_busy_ = false;
    }
}

void SessionLayer::on_link_up(Port& port, LinkId id, PeerId peer, LinkRole role) noexcept
{
    Session* s = find(peer);
    if (s == nullptr) {
        return;
    }
    if (port.transport().caps().direct_links) {   // no hello: both ends are this process
        install_link(*s, port, id, role, s->received_.load(std::memory_order_relaxed) + 1);
    }
    if (role == LinkRole::kBulk) {
        sink_.on_bulk_ready(*s);
        return;
    }
    std::uint32_t peer_expects = 0;
    bool again = false;
    {
        MutexLock guard{s->lock};
        peer_expects = s->links_[0].peer_expects;
        again = s->was_up_;
        s->was_up_ = true;
    }
    if (silence_due_ == TimePoint::max()) {
        silence_due_ = clock_.now();
    }
    counters_.add(again ? Counter::kReconnects : Counter::kConnects, 1);
    if (again) {
        // What the peer has is acknowledged by its hello; the rest goes out again, in order.
        LINNET_LOG(log_, kInfo, "connection to %s is open again", s->describe().c_str());
    }
    take_ack(*s, peer_expects - 1, true);
    {
        MutexLock guard{s->lock};
        s->unsent_ = s->retained_.front();
        s->blocked_ = false;
        pump(*s);
    }
    acknowledge_soon(*s);   // the credit of a new link
    sink_.on_peer_up(*s);
}

// ---- failing ----

void SessionLayer::on_link_down(Port& port, LinkId id, PeerId peer, LinkRole role, bool up, Status why, std::string_view text) noexcept
{
    Session* s = peer == kNoPeer ? nullptr : find(peer);
    if (s == nullptr) {
        return;
    }
    {
        MutexLock guard{s->lock};
        LinkState& link = s->links_[static_cast<int>(role)];
        if (link.incoming_port == &port && link.incoming == id) {
            link.incoming_port = nullptr;   // it never confirmed
            return;
        }
        if (link.phase == LinkState::Phase::kNone || link.port != &port || link.id != id) {
            return;
        }
        link.phase = LinkState::Phase::kNone;
    }
    link_failed(*s, role, up, why, text);
}

void SessionLayer::link_failed(Session& s, LinkRole role, bool up, Status why, std::string_view text) noexcept
{
    if (up && role == LinkRole::kBulk) {
        sink_.on_bulk_down(s);
    } else if (up) {
        sink_.on_lane_written(s);
    }
    const std::string who = s.describe();
    bool give_up = false;
    {
        MutexLock guard{s.lock};
        if (s.down_reason() != Status::kOk) {
            return;
        }
        LinkState& link = s.links_[static_cast<int>(role)];
        if (link.incoming_port != nullptr) {
            return;   // the other side is opening it already
        }
        const TimePoint now = clock_.now();
        if (up) {
            LINNET_LOG(log_, kInfo, "connection to %s broke: %.*s; opening it again", who.c_str(), static_cast<int>(text.size()), text.data());
            link.failures = 0;
            if (!closing_.load(std::memory_order_relaxed) || !s.retained_.empty()) {
                open_link(s, role);
            }
            return;
        }
        ++link.failures;
        const bool for_good = link.rejected && link.reason != wire::RejectReason::kYield && link.reason != wire::RejectReason::kBusy;
        // Nobody listens where a process did: it is dead. One known by its address only may still be starting.
        const bool dead = why == Status::kRefused && !link.rejected && !(s.by_address_ && !s.was_up_);
        give_up = for_good || dead || now >= link.give_up_at;
        if (!give_up) {
            const bool yield = link.rejected && link.reason == wire::RejectReason::kYield;
            const unsigned shift = std::min(link.failures - 1, 6u);
            retry_later(link, now + (yield ? 2 * kRetryFirst : std::min(kRetryFirst * (1u << shift), kRetryMax)));
            return;
        }
        if (for_good) {
            why = Status::kRefused;
            text = reject_text(link.reason);
        } else if (dead) {
            why = s.was_up_ ? Status::kPeerDown : Status::kUnreachable;
        } else {
            why = Status::kUnreachable;
        }
    }
    declare_down(s, why, text);
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
        Session* s = find(PeerId{i});
        MutexLock guard{s->lock};
        for (int role = 0; role < 2; ++role) {
            LinkState& link = s->links_[role];
            if (!link.waiting || s->down_reason() != Status::kOk) {
                continue;
            }
            if (link.retry_at > now) {
                next = std::min(next, link.retry_at);
                continue;
            }
            ++events;
            open_link(*s, static_cast<LinkRole>(role));
        }
    }
    move_earlier(retry_due_, next);
    return events;
}

}   // namespace linnet::session

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: the ports, and the table of peers.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "session/session_layer.h"
#include "transport/name_inet.h"
#include "wire/hello.h"

namespace linnet::session {

namespace {
bool same(const wire::EndpointName& a, const wire::EndpointName& b) noexcept { return std::memcmp(&a, &b, sizeof a) == 0; }

// A process with the name `who` listens at the address that the host gave: its name says so.
bool listens_at(const wire::EndpointName& who, const wire::EndpointName& given) noexcept
{
    const wire::NameAddresses at{given};
    const std::uint32_t one = wire::contact_scope(who);
    const std::uint32_t other = wire::contact_scope(given);
    const bool on_one_link = one == 0 || other == 0 || one == other;
    return who.port.get() == given.port.get() && !at.empty() && wire::NameAddresses{who}.contains(at.front()) && on_one_link;
}

// The bit of a hello's features by which the caller says that it listens at this address though its name does not tell it. 0: there is none.
std::uint64_t unnamed_bit(const InetAddress& a) noexcept
{
    static constexpr InetAddress::Bytes kOne{127, 0, 0, 1};
    if (a.loopback()) {
        return !a.is_v4() ? wire::kAtLocalhostV6 : a.bytes() == kOne ? wire::kAtLocalhostV4 : 0;
    }
    return a.scoped() ? wire::kAtLinkLocal : 0;
}
}   // namespace

bool same_public(wire::EndpointName a, wire::EndpointName b) noexcept
{
    a.secret = b.secret = {};
    return same(a, b);
}

std::string name_text(const wire::EndpointName& name)
{
    const wire::NameAddresses at{name};
    if (at.empty()) {   // it uses no network
        char id[17];
        std::snprintf(id, sizeof id, "%016llx", static_cast<unsigned long long>(name.endpoint_id.get()));
        return std::string{"endpoint "} + id;
    }
    InetAddress first = inet_address(at.front(), name.port.get());
    first.set_scope(wire::contact_scope(name));
    return first.text();
}

// ---- ports ----

Port& SessionLayer::add_port(Transport& transport)
{
    ports_.push_back(std::make_unique<Port>(*this, transport));
    return *ports_.back();
}

void SessionLayer::lane_only(const Transport& transport) noexcept
{
    const auto it = std::find_if(ports_.begin(), ports_.end(), [&transport](const auto& p) { return &p->transport() == &transport; });
    (*it)->keep_to_lanes();
    std::rotate(it, it + 1, ports_.end());
}

// ---- peers ----

Port* SessionLayer::port_for(const wire::EndpointName& name, std::size_t& at) noexcept
{
    for (; at < ports_.size(); ++at) {
        if (ports_[at]->transport().reaches(name)) {
            return ports_[at].get();
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
        s->contact_ = name;
        s->name_known_ = known;
        s->by_address_ = by_address;
        s->last_number_ = s->link_taken_ = s->written_ = config_.first_number - 1;
        s->taken_.store(config_.first_number - 1, std::memory_order_relaxed);
        s->acked_ = s->ack_seen_ = config_.first_number - 1;
        s->ack_heard_.store(config_.first_number - 1, std::memory_order_relaxed);
        s->taken_back_.store(config_.first_number - 1, std::memory_order_relaxed);
        s->prompt_.store(config_.first_number - 1, std::memory_order_relaxed);
        s->received_.store(config_.first_number - 1, std::memory_order_relaxed);
        s->ack_sent_.store(config_.first_number - 1, std::memory_order_relaxed);
    }
    s->endpoint_id_.store(name.endpoint_id.get(), std::memory_order_relaxed);
    if (name.endpoint_id.get() != 0) {   // the last that can fail: a session that is not in the table would not be found the next time
        by_endpoint_[name.endpoint_id.get()] = s;
    }
    (*chunk.load(std::memory_order_relaxed))[index % kChunk].store(made.release(), std::memory_order_release);
    count_.store(index + 1, std::memory_order_release);
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
    if (s.id.value < by_address_.filled()) {
        by_address_.add(s, name);   // the first that can fail
    }
    s.name_ = name;
    s.contact_ = name;
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
    if (!reachable(name)) {
        LINNET_LOG(log_, kError, "no transport reaches %s; see the settings transports and net_include, its own too", name_text(name).c_str());
        return Status::kUnreachable;
    }
    return make(name, true, false);
}

Result<Session*> SessionLayer::add_address(const wire::EndpointName& address)
{
    const auto ours = [&address](const auto& port) { return port->transport().listens_at(address); };
    const bool named = wire::contact_scope(address) == 0 && listens_at(self_, address);   // no name tells the interface: another link may have the address, too
    if (named || std::any_of(ports_.begin(), ports_.end(), ours)) {   // the name reaches it without a wire
        return add(self_);
    }
    MutexLock table{table_lock_};
    while (by_address_.filled() < peers()) {
        Session* const s = find(PeerId{by_address_.filled()});
        MutexLock guard{s->lock};
        by_address_.add(*s, s->contact_);
    }
    const auto lives = [this](const Session& s) { return s.down_reason() == Status::kOk && s.endpoint_id() != self_.endpoint_id.get(); };
    // What somebody's name tells comes before what others may be taken for.
    const wire::NameAddress at = wire::NameAddresses{address}.front();
    Session* const named_so = by_address_.find(at, address.port.get(), [&](Session& s) {
        MutexLock guard{s.lock};
        return listens_at(s.contact_, address) && may_be_at(address, s.called_from_) && lives(s);
    });
    if (named_so != nullptr) {
        return named_so;
    }
    for (std::uint32_t i = 0; i < peers() && unnamed_bit(inet_address(at)) != 0; ++i) {
        Session* const s = find(PeerId{i});
        MutexLock guard{s->lock};
        if (is_meant_by(address, s->name_, s->called_from_, s->listens_unnamed_) && lives(*s)) {
            return s;
        }
    }
    if (!reachable(address)) {
        LINNET_LOG(log_, kError, "no transport reaches %s; see the settings transports and net_include, its own too", name_text(address).c_str());
        return Status::kUnreachable;
    }
    const Result<Session*> made = make(address, false, true);
    if (made) {
        by_address_.add(**made, address);
    }
    return made;
}

std::uint64_t SessionLayer::listens_unnamed() const noexcept
{
    std::uint64_t bits = 0;
    for (const auto& port : ports_) {
        bits |= port->transport().listens_unnamed();
    }
    return bits;
}

// A process may listen at 127.0.0.1, ::1 and link-local IPv6 addresses without a word of them in its name, which says what they are elsewhere, too. Who calls
// from the host that such an address means, has the port, and says that it listens there, is the one it means: nobody else can have that port there.
bool SessionLayer::is_meant_by(const wire::EndpointName& given, const wire::EndpointName& who, const InetAddress& calls_from,
                               std::uint64_t listens_unnamed) const noexcept
{
    if (calls_from.family() == AF_UNSPEC || who.port.get() != given.port.get()) {   // most of them
        return false;
    }
    const wire::NameAddresses at{given};
    if (at.empty()) {
        return false;
    }
    InetAddress host = inet_address(at.front());
    host.set_scope(wire::contact_scope(given));
    if ((listens_unnamed & unnamed_bit(host)) == 0) {
        return false;
    }
    return host.loopback() ? of_this_host(calls_from) : host.same_host(calls_from);
}

// Who calls within a host does so from the address at which it calls.
bool SessionLayer::of_this_host(const InetAddress& calls_from) const noexcept
{
    return calls_from.loopback() || wire::NameAddresses{self_}.contains(name_address(calls_from));
}

// A name that tells a loopback address, beside others, tells it to other hosts, too, where it means another process.
bool SessionLayer::may_be_at(const wire::EndpointName& given, const InetAddress& calls_from) const noexcept
{
    return calls_from.family() == AF_UNSPEC || !inet_address(wire::NameAddresses{given}.front()).loopback() || of_this_host(calls_from);
}

Result<Session*> SessionLayer::session_of_opener(const HelloSeen& seen, const InetAddress& from, wire::RejectReason& reason)
{
    MutexLock table{table_lock_};
    const std::uint64_t id = seen.opener.endpoint_id.get();
    const auto it = by_endpoint_.find(id);
    if (it != by_endpoint_.end()) {
        Session& known = *it->second;
        MutexLock guard{known.lock};
        const bool agrees = seen.by_address ? !known.proved_ && same_public(known.name_, seen.opener) : adopt_name(known, seen.opener);
        if (!agrees) {   // one that proved itself has our name, and calls by it
            reason = wire::RejectReason::kName;
            return Status::kRefused;
        }
        known.proved_ = known.proved_ || !seen.by_address;
        known.called(from, seen.features);
        return &known;
    }
    // Somebody whom the host added by address, and who came first.
    const auto by_name = [&](Session& s) {
        MutexLock guard{s.lock};
        return s.unknown_yet() && listens_at(seen.opener, s.contact_) && may_be_at(s.contact_, from);
    };
    const auto unnamed = [&](Session& s) {
        MutexLock guard{s.lock};
        return s.unknown_yet() && is_meant_by(s.contact_, seen.opener, from, seen.features);
    };
    const auto first_from = [this](std::uint32_t i, const auto& is_it) {
        Session* s = nullptr;
        for (; i < peers() && s == nullptr; ++i) {
            s = find(PeerId{i});
            s = is_it(*s) ? s : nullptr;
        }
        return s;
    };
    Session* meant = nullptr;
    for (const wire::NameAddress& a : wire::NameAddresses{seen.opener}) {
        Session* const s = by_address_.find(a, seen.opener.port.get(), by_name);
        meant = meant == nullptr || (s != nullptr && s->id.value < meant->id.value) ? s : meant;
    }
    meant = meant != nullptr ? meant : first_from(by_address_.filled(), by_name);
    meant = meant != nullptr ? meant : first_from(0, unnamed);
    if (meant != nullptr) {
        MutexLock guard{meant->lock};
        if (meant->unknown_yet()) {
            by_endpoint_[id] = meant;
            meant->called(from, seen.features);
            meant->name_ = seen.opener;
            meant->name_known_ = !seen.by_address;
            meant->proved_ = !seen.by_address;
            meant->endpoint_id_.store(id, std::memory_order_relaxed);
            return meant;
        }
    }
    const Result<Session*> made = make(seen.opener, !seen.by_address, seen.by_address);
    if (made) {
        MutexLock guard{(*made)->lock};
        (*made)->called(from, seen.features);
        (*made)->proved_ = !seen.by_address;
    }
    return made;
}

// ---- for people ----

std::string Session::describe() noexcept
{
    MutexLock guard{lock};
    return labelled(contact_);
}

std::string Session::labelled(const wire::EndpointName& name) const noexcept
{
    try {
        const std::string address = name_text(name);
        if (label_[0] != '\0') {
            return std::string{label_.data()} + " (" + address + ")";
        }
        return told_rank_ != 0 ? "rank " + std::to_string(told_rank_ - 1) + " (" + address + ")" : address;
    } catch (const std::bad_alloc&) {
        char rank[16] = "(unnamed)";   // so much a string holds by itself
        if (told_rank_ != 0) {
            std::snprintf(rank, sizeof rank, "rank %u", told_rank_ - 1);
        }
        return rank;
    }
}

void keep_text(std::string& to, std::string_view text) noexcept
{
    try {
        to = text;
    } catch (const std::bad_alloc&) {
        to = "(no memory)";
    }
}

void Session::set_label(std::string_view label)
{
    MutexLock guard{lock};
    label_ = {};
    std::copy_n(label.begin(), std::min(label.size(), label_.size() - 1), label_.begin());
}

SessionView Session::view()
{
    MutexLock guard{lock};
    const LinkState& lane = links_[0];
    const char* state = "idle";
    if (down_reason() != Status::kOk) {
        state = status_text(down_reason());
    } else if (lane.phase == LinkState::Phase::kUp) {
        state = "connected";
    } else if (lane.phase == LinkState::Phase::kOpening || lane.phase == LinkState::Phase::kWaiting) {
        state = "connecting";
    }
    const char* const via = lane.port != nullptr ? lane.port->transport().caps().name : "";
    return {labelled(name_), state, via};
}

}   // namespace linnet::session

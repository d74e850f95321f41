// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TcpTransport: which address of a peer is called, in which order, and what follows when one does not answer.
//
// A name tells every address at which its process listens. Which of them this host can reach is known here only: by the routing table, which also
// chooses the local address, and in the end by trying. Addresses are called one after the other, never two at once, so that a peer sees one connection.
#include <algorithm>
#include <chrono>

#include "sys/error.h"
#include "transport/tcp/tcp_transport.h"

namespace linnet::tcp {

namespace {

// How long an address may leave the first call unanswered while others wait: the first packet and two repetitions of it (after 1 and 3 s) get their chance.
// More would make a filter that drops packets cost that much for each peer, less would give up a busy host. A second round gives all the time that is left.
constexpr Nanos kFirstPatience = std::chrono::milliseconds{3500};

// What is known when every call failed. Silence leaves hope, and so does anything but a plain "nobody is here"; only when all who could be asked said
// that, it is believed.
Status verdict_on(const Calls& calls) noexcept
{
    Status worst = Status::kUnreachable;
    bool soft = false;
    for (unsigned i = 0; i < calls.count; ++i) {
        const Calls::Call& c = calls.call[i];
        if (!c.made) {
            continue;
        }
        if (c.why == Status::kTimedOut) {
            return c.why;
        }
        worst = soft ? worst : c.why;
        soft = soft || c.why != Status::kRefused;
    }
    return worst;
}

std::string text_of(const Calls& calls)
{
    if (calls.count == 1) {
        return calls.call[0].text;
    }
    std::string text = "none of its " + std::to_string(calls.count) + " addresses could be reached:";
    for (unsigned i = 0; i < calls.count; ++i) {
        text += (i == 0 ? " (" : "; (") + std::to_string(i + 1) + ") " + calls.call[i].text;
    }
    return text;
}

}   // namespace

AddressList address_list(const wire::EndpointName& name) noexcept
{
    AddressList list;
    for (const wire::NameAddress& a : wire::NameAddresses{name}) {
        list.at[list.count++] = a.family == wire::AddressFamily::kIpv6 ? InetAddress::v6(a.bytes, name.port.get()) : InetAddress::v4(a.bytes, name.port.get());
    }
    return list;
}

// ---- reachability ----

// Why no link to `to` shall be tried: no route, or one that leaves through an interface that is not to be used. Sends nothing. The second stops the
// classic mistake of taking 172.17.0.1, which every host with containers has, for the peer's address. Empty: go ahead.
std::string TcpTransport::refusal_of_route(const InetAddress& to) const
{
    if (to.family() == AF_UNSPEC || to.port() == 0) {
        return "the name holds no address";
    }
    if (to.loopback()) {
        return {};   // this host, whatever the rules for networks
    }
    int error = 0;
    const InetAddress source = route_source(to, error);
    if (error != 0) {
        return error == EMFILE || error == ENFILE ? std::string{} : std::string{"no route: "} + errno_text(error) + " (errno " + std::to_string(error) + ")";
    }
    for (const AddressVerdict& v : addresses_) {
        if (!v.used && v.address.same_host(source) && !source.loopback()) {
            return "the route leaves by " + v.line();
        }
    }
    return {};
}

bool TcpTransport::reaches(const wire::EndpointName& name) const noexcept
{
    const AddressList list = address_list(name);
    return std::any_of(list.at.begin(), list.at.begin() + list.count, [this](const InetAddress& to) { return refusal_of_route(to).empty(); });
}

// On a network that one of our usable interfaces is on.
bool TcpTransport::near(const InetAddress& to) const noexcept
{
    return std::any_of(addresses_.begin(), addresses_.end(),
                       [&to](const AddressVerdict& v) { return v.used && v.prefix != 0 && to.in_network(v.address, v.prefix); });
}

bool TcpTransport::own(const InetAddress& to) const noexcept
{
    return std::any_of(addresses_.begin(), addresses_.end(), [&to](const AddressVerdict& v) { return v.address.same_host(to); });
}

// ---- calling ----

// First where it was reached before, then what is near, then what is behind routers. Within these the peer's own order counts. An address that this host has
// too comes last, unless all are so: a peer on this host has none but ours, another one shares an address of some inner network with us by chance.
void TcpTransport::order_calls(const Link& link, const AddressList& list, Calls& calls) const
{
    const InetAddress good = link.peer.value < known_.size() ? known_[link.peer.value].good : InetAddress{};
    const auto rank = [&](const InetAddress& to) { return to.same_host(good) ? 0 : own(to) ? 3 : near(to) ? 1 : 2; };
    AddressList order = list;
    std::stable_sort(order.at.begin(), order.at.begin() + order.count, [&](const InetAddress& a, const InetAddress& b) { return rank(a) < rank(b); });
    calls.count = std::max(1u, order.count);   // a name without addresses is one call that is refused
    for (unsigned i = 0; i < calls.count; ++i) {
        calls.call[i].to = order.at[i];
    }
}

// Each address left in this round gets an equal part of the time that is left.
void TcpTransport::set_call_deadline(Link& link, Nanos longest) noexcept
{
    const Calls& calls = *link.calls;
    const TimePoint now = clock_.now();
    const Nanos part = std::max(Nanos::zero(), calls.limit - now) / (calls.count - calls.next + 1);
    opening_.set_deadline(link, now + std::min(part, longest));
}

// The link's current call is calls->call[calls->next - 1].
void TcpTransport::call_next(Link& link) noexcept
{
    Calls& calls = *link.calls;
    for (;;) {
        while (calls.next < calls.count && calls.again && !calls.call[calls.next].unanswered) {
            ++calls.next;
        }
        if (calls.next == calls.count) {
            const auto end = calls.call.begin() + calls.count;
            const bool hope = !calls.again && clock_.now() < calls.limit && std::any_of(calls.call.begin(), end, [](const auto& c) { return c.unanswered; });
            if (!hope) {
                const Status why = verdict_on(calls);
                end_link(link, true, why, text_of(calls));
                return;
            }
            calls.again = true;
            calls.next = 0;
            continue;
        }
        Calls::Call& call = calls.call[calls.next++];
        link.remote = call.to;
        const std::string refusal = refusal_of_route(call.to);
        if (!refusal.empty()) {
            call.text = describe(link, refusal.c_str(), 0, "; see the settings net_include and net_exclude");
            continue;
        }
        call.made = true;
        call.unanswered = false;
        if (make_call(link)) {
            return;
        }
    }
}

// False: it failed at once, which is noted, and the next one is to be called. True also when the link ended.
bool TcpTransport::make_call(Link& link) noexcept
{
    Calls& calls = *link.calls;
    Calls::Call& call = calls.call[calls.next - 1];
    SocketOrError s = tcp_socket(link.remote.family());
    if (s.error != 0) {
        const Status why = status_from_errno(s.error);
        if (const std::uint64_t n = descriptor_throttle_.hit(); n != 0 && why == Status::kNoDescriptors) {
            LINNET_LOG(log_, kError, "cannot open a connection: %s (%llu times); raise the limit of open files (ulimit -n, RLIMIT_NOFILE)",
                       errno_text(s.error), static_cast<unsigned long long>(n));
        }
        link.calls.reset();   // no other address can help
        fail_link(link, s.error, "cannot make a socket");
        return true;
    }
    link.fd = std::move(s.fd);
    link.state = LinkState::kConnecting;
    set_call_deadline(link, calls.count > 1 && !calls.again ? kFirstPatience : Nanos::max());
    TcpSocketOptions options = socket_options_;
    options.unsent_limit = link.role == LinkRole::kBulk ? options.unsent_limit : 0;
    if (const int error = tcp_configure(link.fd.get(), options); error != 0) {
        LINNET_LOG(log_, kDebug, "tcp: a socket option was refused: %s", errno_text(error));
    }
    rx_counters_.add(Counter::kTcpConnects);
    const int error = tcp_connect(link.fd.get(), link.remote);
    if (error == 0 || error == EINPROGRESS) {
        if (failed(epoll_.add(link.fd.get(), EPOLLOUT, link.id.value, log_))) {
            link.calls.reset();
            fail_link(link, ENOMEM, "cannot watch the socket");
        }
        return true;
    }
    call.why = status_of_failure(link.state, error);
    call.text = describe(link, "cannot connect", error, advice_for(link.state, error));
    link.fd.reset();
    link.state = LinkState::kRequested;
    return false;
}

// Nothing came of the call under way: the next one, or the end.
void TcpTransport::call_failed(Link& link, Status why, std::string text) noexcept
{
    if (link.calls == nullptr) {
        end_link(link, true, why, text);
        return;
    }
    Calls::Call& call = link.calls->call[link.calls->next - 1];
    call.unanswered = why == Status::kTimedOut && link.state == LinkState::kConnecting;
    call.why = why;
    call.text = std::move(text);
    LINNET_LOG(log_, kDebug, "%s", call.text.c_str());
    epoll_.remove(link.fd.get());
    socket_shutdown(link.fd.get());
    link.fd.reset();
    link.hello_bytes = 0;
    link.state = LinkState::kRequested;
    call_next(link);
}

// The link is up: the next one to this peer begins where this one arrived.
void TcpTransport::remember(const Link& link) noexcept
{
    if (link.peer == kNoPeer) {
        return;
    }
    try {
        if (link.peer.value >= known_.size()) {
            known_.resize(link.peer.value + 1);
        }
    } catch (const std::bad_alloc&) {
        return;   // it is a convenience
    }
    Known& known = known_[link.peer.value];
    known.good = link.remote;
    bool& was_up = known.was_up[static_cast<std::size_t>(link.role)];
    if (was_up) {
        rx_counters_.add(Counter::kTcpReconnects);
    }
    was_up = true;
}

}   // namespace linnet::tcp

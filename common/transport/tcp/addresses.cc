// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TcpTransport: which address of a peer is called, in which order, and what follows when one does not answer.
//
// A name tells every address at which its process listens. Which of them this host can reach is known here only: by the routing table, which also
// chooses the local address, and in the end by trying. Addresses are called one after the other, never two at once, so that a peer sees one connection.
#include <algorithm>

#include "sys/error.h"
#include "transport/tcp/tcp_transport.h"

namespace linnet::tcp {

// ---- reachability ----

AddressList TcpTransport::addresses_of(const wire::EndpointName& name) const noexcept
{
    AddressList list;
    list.count = own_.order(name, list.at);
    return list;
}

bool TcpTransport::reaches(const wire::EndpointName& name) const noexcept
{
    const AddressList list = addresses_of(name);
    return std::any_of(list.at.begin(), list.at.begin() + list.count, [this](const InetAddress& to) { return own_.refusal_of_route(to).empty(); });
}

bool TcpTransport::listens_at(const wire::EndpointName& contact) const noexcept
{
    const AddressList list = addresses_of(contact);
    const auto here = [this](const InetAddress& to) {
        return std::any_of(listens_at_.begin(), listens_at_.begin() + listener_count_,
                           [&to](const InetAddress& own) { return own.same_host(to) && own.port() == to.port(); });
    };
    return std::any_of(list.at.begin(), list.at.begin() + list.count, here);
}

// ---- calling ----

// First where it was reached before.
void TcpTransport::order_calls(const Link& link, const AddressList& list, Calls& calls) const
{
    const InetAddress good = link.peer.value < known_.size() ? known_[link.peer.value].good : InetAddress{};
    AddressList order = list;
    std::stable_partition(order.at.begin(), order.at.begin() + order.count, [&good](const InetAddress& to) { return to.same_host(good); });
    calls.count = std::max(1u, order.count);   // a name without addresses is one call that is refused
    for (unsigned i = 0; i < calls.count; ++i) {
        calls.call[i].to = order.at[i];
    }
}

void TcpTransport::call_next(Link& link) noexcept
{
    while (Calls::Call* const call = link.calls->advance(clock_.now())) {
        link.remote = call->to;
        const std::string refusal = own_.refusal_of_route(call->to);
        if (!refusal.empty()) {
            call->text = describe(link, refusal.c_str(), 0, "; see the settings net_include and net_exclude");
            continue;
        }
        call->made = true;
        call->unanswered = false;
        if (make_call(link)) {
            return;
        }
    }
    const Status why = link.calls->verdict();
    end_link(link, true, why, link.calls->text());
}

// False: it failed at once, which is noted, and the next one is to be called. True also when the link ended.
bool TcpTransport::make_call(Link& link) noexcept
{
    Calls::Call& call = link.calls->current();
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
    const TimePoint now = clock_.now();
    opening_.set_deadline(link, now + link.calls->patience(now));
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
    Calls::Call& call = link.calls->current();
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

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TcpTransport: what is decided before the first link: descriptors, interfaces, port, congestion control.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sys/error.h"
#include "sys/process.h"
#include "transport/name_inet.h"
#include "transport/tcp/tcp_transport.h"
#include "wire/hello.h"

namespace linnet::tcp {

namespace {
constexpr std::size_t kScratchBytes = 64 * 1024;
// Unsent bytes that a bulk socket takes: enough for the kernel never to run dry between two passes, little enough that a link which is
// dropped has not buffered megabytes nobody wants.
constexpr std::size_t kBulkUnsent = 1024 * 1024;
}   // namespace

// Two connections to each peer must be possible, or the job would fail in the middle of its work.
Status TcpTransport::check_descriptors()
{
    const auto peers = static_cast<std::uint64_t>(settings_.integer(SettingId::kExpectedPeers));
    const auto reserve = static_cast<std::uint64_t>(settings_.integer(SettingId::kDescriptorReserve));
    const std::uint64_t in_use = open_descriptors();
    const std::uint64_t needed = in_use + 2 * peers + reserve;
    const std::uint64_t limit = raise_descriptor_limit(needed);
    if (limit >= needed) {
        return Status::kOk;
    }
    LINNET_LOG(log_, kError,
               "tcp: %llu file descriptors are needed (2 for each of %llu peers, %llu in use, %llu in reserve), but only %llu may be opened: "
               "raise the limit of open files (ulimit -n, RLIMIT_NOFILE), or lower the settings expected_peers or descriptor_reserve",
               static_cast<unsigned long long>(needed), static_cast<unsigned long long>(peers), static_cast<unsigned long long>(in_use),
               static_cast<unsigned long long>(reserve), static_cast<unsigned long long>(limit));
    return Status::kNoDescriptors;
}

// Listeners at all these addresses, with one port. Returns 0 when there is one at least, or the errno of what stood in the way. An address at which nobody
// can listen (a duplicate of another host's, say) is refused and left out; a port that is taken at one of them is of no use at the others.
int TcpTransport::listen_at_port(std::span<AddressVerdict* const> where, unsigned port)
{
    const int backlog = static_cast<int>(settings_.integer(SettingId::kTcpBacklog));
    int first_error = 0;
    listener_count_ = 0;
    for (AddressVerdict* const v : where) {
        InetAddress at = v->address;
        at.set_port(static_cast<std::uint16_t>(port));
        SocketOrError s = tcp_listen(at, backlog);
        if (s.error == EADDRINUSE || s.error == EACCES) {
            return s.error;
        }
        if (s.error != 0) {
            first_error = first_error != 0 ? first_error : s.error;
            v->used = false;
            v->why = std::string{"cannot listen: "} + errno_text(s.error) + " (errno " + std::to_string(s.error) + ")";
            LINNET_LOG(log_, kInfo, "interface %s", v->line().c_str());
            continue;
        }
        listens_at_[listener_count_] = local_address(s.fd.get());
        port = listens_at_[listener_count_].port();   // when the system chose it: the others take the same
        listeners_[listener_count_++] = std::move(s.fd);
    }
    return listener_count_ != 0 ? 0 : first_error;
}

// Who was told a port listens for callers that know the port and this host, and nothing else of it: "localhost" is a name of this host, and so is a link-local
// address of an interface that is used. No name tells these addresses, which mean another process elsewhere; and who chose the interfaces chose without them.
void TcpTransport::listen_unnamed(std::uint16_t port)
{
    const auto listen = [this, port](InetAddress at) {
        at.set_port(port);
        SocketOrError s = listener_count_ < listeners_.size() ? tcp_listen(at, static_cast<int>(settings_.integer(SettingId::kTcpBacklog))) : SocketOrError{};
        if (s.fd.valid()) {   // else somebody is there already, or the family is not
            listens_at_[listener_count_] = at;
            listeners_[listener_count_++] = std::move(s.fd);
            return 0;
        }
        return s.error != 0 ? s.error : EMFILE;
    };
    unnamed_ = listen(InetAddress::parse("127.0.0.1").value()) == 0 ? wire::kAtLocalhostV4 : 0;
    unnamed_ |= listen(InetAddress::parse("::1").value()) == 0 ? wire::kAtLocalhostV6 : 0;
    bool others = false;
    for (const AddressVerdict& v : own_.verdicts()) {
        if (!v.used && !v.excluded && v.address.scoped() && own_.uses(v.index)) {
            const int error = listen(v.address);
            others = others || (error != 0 && error != EADDRNOTAVAIL);   // one that is just coming up cannot be had by anybody
        }
    }
    unnamed_ |= others ? 0 : wire::kAtLinkLocal;
}

Status TcpTransport::listen_everywhere()
{
    constexpr unsigned kDraws = 64;   // of a port by the system, before one is free at all addresses
    const std::vector<AddressVerdict*> where = own_.pick_for_name();
    if (where.empty()) {
        LINNET_LOG(log_, kError, "tcp: no network interface can be used (%s); see the settings net_include and net_exclude", own_.all_lines().c_str());
        return Status::kUnreachable;
    }
    const Result<PortRange> ports = port_range(settings_, SettingId::kTcpPortMin, SettingId::kTcpPortMax, given_port_, log_, "tcp");
    if (!ports.ok()) {
        return ports.status();
    }
    const auto [low, high] = *ports;
    int error = EADDRINUSE;
    unsigned draws = 0;
    for (unsigned port = low; port <= high && (error == EADDRINUSE || error == EACCES);) {
        error = listen_at_port(where, port);
        port += port != 0 || ++draws == kDraws ? 1 : 0;
    }
    if (error != 0) {
        LINNET_LOG(log_, kError,
                   "tcp: cannot listen on interface %s, address %s, ports %u to %u: %s (errno %d); see the settings tcp_port_min and tcp_port_max",
                   where.front()->interface.c_str(), where.front()->address.host_text().c_str(), low, high, errno_text(error), error);
        return status_from_errno(error);
    }
    named_count_ = listener_count_;
    if (settings_.integer(SettingId::kTcpPortMin) != 0 && settings_.text(SettingId::kNetInclude).empty()) {
        listen_unnamed(listens_at_[0].port());
    }
    return Status::kOk;
}

// What accepted sockets inherit, and who wakes the poller.
Status TcpTransport::watch_listeners()
{
    TcpSocketOptions inherited = socket_options_;
    inherited.unsent_limit = 0;
    for (unsigned i = 0; i < listener_count_; ++i) {
        static_cast<void>(tcp_configure(listeners_[i].get(), inherited));
        LINNET_LOG(log_, kInfo, "tcp: listening on %s, interface %s", listens_at_[i].text().c_str(), own_.interface_of(listens_at_[i]).c_str());
        if (failed(epoll_.add(listeners_[i].get(), EPOLLIN, i, log_))) {
            return Status::kNoMemory;
        }
    }
    const std::string in_force = tcp_congestion_in_force(listeners_[0].get());
    const bool as_asked = in_force == socket_options_.congestion;
    LINNET_LOG(log_, kInfo, "tcp: congestion control %s%s%s", in_force.c_str(), as_asked || socket_options_.congestion.empty() ? "" : ", the system refused ",
               as_asked ? "" : socket_options_.congestion.c_str());
    if (!as_asked && !socket_options_.congestion.empty() && settings_.origin(SettingId::kTcpCongestion) != SettingOrigin::kDefault) {
        LINNET_LOG(log_, kWarn, "tcp: tcp_congestion=%s is not to be had, %s is used; net.ipv4.tcp_allowed_congestion_control lists what everybody may choose",
                   socket_options_.congestion.c_str(), in_force.c_str());
    }
    if (!as_asked) {
        socket_options_.congestion.clear();   // do not ask again for each connection
    }
    return Status::kOk;
}

Status TcpTransport::open(TransportSink& sink, wire::EndpointName& name) noexcept
try {
    sink_ = &sink;
    connect_timeout_ = settings_.duration(SettingId::kConnectTimeout);
    hot_limit_ = std::min(static_cast<unsigned>(settings_.integer(SettingId::kTcpHotSockets)), kMaxHot);
    given_port_ = name.port.get();
    socket_options_ = {settings_.text(SettingId::kTcpCongestion), settings_.duration(SettingId::kSilenceTimeout), kBulkUnsent};
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(kScratchBytes);
    Status s = check_descriptors();
    if (!failed(s)) {
        s = own_.choose(settings_, log_);
    }
    if (!failed(s)) {
        s = listen_everywhere();
    }
    if (failed(s)) {
        return s;
    }
    auto epoll = EpollSet::open(log_);
    auto doorbell = EventFd::open(log_);
    if (!epoll.ok() || !doorbell.ok()) {
        return epoll.ok() ? doorbell.status() : epoll.status();
    }
    epoll_ = std::move(epoll).value();
    doorbell_ = std::move(doorbell).value();
    {
        RoleScope token{token_};   // nobody else knows us yet
        spare_ = spare_descriptor();
    }
    if (failed(watch_listeners()) || failed(epoll_.add(doorbell_.get(), EPOLLIN, kDoorbellTag, log_))) {
        return Status::kNoMemory;
    }
    name.port = be16{listens_at_[0].port()};
    for (unsigned i = 0; i < named_count_; ++i) {
        const InetAddress& at = listens_at_[i];
        const wire::NameAddress a = name_address(at);
        if (!wire::NameAddresses{name}.contains(a)) {   // another transport may have put it there
            static_cast<void>(wire::add_address(name, a));
        }
    }
    return Status::kOk;
} catch (const std::bad_alloc&) {
    return Status::kNoMemory;
}

}   // namespace linnet::tcp

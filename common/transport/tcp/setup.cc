// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TcpTransport: what is decided before the first link: descriptors, interface, port, congestion control, reachability.
#include <algorithm>
#include <cstring>

#include "sys/error.h"
#include "sys/process.h"
#include "transport/tcp/tcp_transport.h"

namespace linnet::tcp {

namespace {
constexpr std::size_t kScratchBytes = 64 * 1024;
// Unsent bytes that a bulk socket takes: enough for the kernel never to run dry between two passes, little enough that a link which is
// dropped has not buffered megabytes nobody wants.
constexpr std::size_t kBulkUnsent = 1024 * 1024;
}   // namespace

// Two connections to each peer must be possible, or the job would fail in the middle of its work.
Status TcpTransport::check_descriptors() noexcept
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

Status TcpTransport::choose_contact(InetAddress& contact)
{
    InterfaceRules include;
    InterfaceRules exclude;
    std::string error;
    const bool include_ok = include.parse(settings_.text(SettingId::kNetInclude), error);
    if (!include_ok || !exclude.parse(settings_.text(SettingId::kNetExclude), error)) {
        LINNET_LOG(log_, kError, "setting %s: %s", include_ok ? "net_exclude" : "net_include", error.c_str());
        return Status::kInvalid;
    }
    const auto interfaces = list_interfaces(log_);
    if (!interfaces.ok()) {
        return interfaces.status();
    }
    addresses_ = choose_addresses(*interfaces, include, exclude);
    for (const AddressVerdict& v : addresses_) {
        LINNET_LOG(log_, kInfo, "interface %s", v.line().c_str());
    }
    if (addresses_.empty() || !addresses_.front().used) {
        std::string all;
        for (const AddressVerdict& v : addresses_) {
            all += (all.empty() ? "" : "; ") + v.line();
        }
        LINNET_LOG(log_, kError, "tcp: no network interface can be used (%s); see the settings net_include and net_exclude",
                   all.empty() ? "there is none" : all.c_str());
        return Status::kUnreachable;
    }
    contact = addresses_.front().address;
    return Status::kOk;
}

Status TcpTransport::listen_on(InetAddress contact)
{
    const auto low = static_cast<unsigned>(settings_.integer(SettingId::kTcpPortMin));
    const auto high = std::max(low, static_cast<unsigned>(settings_.integer(SettingId::kTcpPortMax)));
    const int backlog = static_cast<int>(settings_.integer(SettingId::kTcpBacklog));
    int error = EADDRINUSE;
    for (unsigned port = low; port <= high && (error == EADDRINUSE || error == EACCES); ++port) {
        contact.set_port(static_cast<std::uint16_t>(port));
        SocketOrError s = tcp_listen(contact, backlog);
        error = s.error;
        listener_ = std::move(s.fd);
    }
    if (error != 0) {
        LINNET_LOG(log_, kError,
                   "tcp: cannot listen on interface %s, address %s, ports %u to %u: %s (errno %d); see the settings tcp_port_min and tcp_port_max",
                   interface_of(contact).c_str(), contact.host_text().c_str(), low, high, errno_text(error), error);
        return status_from_errno(error);
    }
    contact_ = local_address(listener_.get());
    return Status::kOk;
}

Status TcpTransport::open(TransportSink& sink, wire::EndpointName& name) noexcept
try {
    sink_ = &sink;
    connect_timeout_ = settings_.duration(SettingId::kConnectTimeout);
    hot_limit_ = std::min(static_cast<unsigned>(settings_.integer(SettingId::kTcpHotSockets)), kMaxHot);
    socket_options_ = {settings_.text(SettingId::kTcpCongestion), settings_.duration(SettingId::kSilenceTimeout), kBulkUnsent};
    scratch_ = std::make_unique_for_overwrite<std::byte[]>(kScratchBytes);
    InetAddress contact;
    if (const Status s = check_descriptors(); failed(s)) {
        return s;
    }
    if (const Status s = choose_contact(contact); failed(s)) {
        return s;
    }
    if (const Status s = listen_on(contact); failed(s)) {
        return s;
    }
    // Accepted sockets inherit these.
    TcpSocketOptions inherited = socket_options_;
    inherited.unsent_limit = 0;
    static_cast<void>(tcp_configure(listener_.get(), inherited));
    const std::string in_force = tcp_congestion_in_force(listener_.get());
    LINNET_LOG(log_, kInfo, "tcp: listening on %s, interface %s; congestion control %s%s%s", contact_.text().c_str(), interface_of(contact_).c_str(),
               in_force.c_str(), in_force == socket_options_.congestion || socket_options_.congestion.empty() ? "" : ", the system refused ",
               in_force == socket_options_.congestion ? "" : socket_options_.congestion.c_str());
    if (in_force != socket_options_.congestion) {
        socket_options_.congestion.clear();   // do not ask again for each connection
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
    if (failed(epoll_.add(listener_.get(), EPOLLIN, kListenerTag, log_)) || failed(epoll_.add(doorbell_.get(), EPOLLIN, kDoorbellTag, log_))) {
        return Status::kNoMemory;
    }
    name.family = contact_.is_v4() ? wire::AddressFamily::kIpv4 : wire::AddressFamily::kIpv6;
    name.address = contact_.bytes();
    name.port = be16{contact_.port()};
    return Status::kOk;
} catch (const std::bad_alloc&) {
    return Status::kNoMemory;
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
    if (name.family == wire::AddressFamily::kNone) {
        return false;
    }
    const InetAddress to = name.family == wire::AddressFamily::kIpv6 ? InetAddress::v6(name.address, name.port.get())
                                                                    : InetAddress::v4(name.address, name.port.get());
    return refusal_of_route(to).empty();
}

}   // namespace linnet::tcp

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Opening each transport and listening to what it says.
#include "transport_check.h"

#include <netdb.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <utility>

#include "core/transport_table.h"
#include "copy/cpu_copy_engine.h"
#include "sys/error.h"
#include "sys/process.h"
#include "sys/system_clock.h"
#include "sys/tcp_socket.h"
#include "sys/udp_socket.h"
#include "transport/own_addresses.h"

namespace linnet::tools {
namespace {

struct Said {
    LogLevel level;
    std::string line;
};

void remember(void* to, LogLevel level, const char* line) noexcept { static_cast<std::vector<Said>*>(to)->push_back({level, line}); }

// Nobody calls a transport that is closed again at once; who tries all the same is not let in.
class NobodyHome final : public TransportSink {
public:
    std::size_t make_hello(LinkId, PeerId, LinkRole, std::span<std::byte>) noexcept override { return 0; }
    HelloVerdict on_hello(LinkId, std::span<const std::byte>, const Caller&, std::span<std::byte>) noexcept override { return {}; }
    HelloVerdict on_welcome(LinkId, PeerId, LinkRole, std::span<const std::byte>, std::span<std::byte>) noexcept override { return {}; }
    HelloVerdict on_confirm(LinkId, PeerId, LinkRole, std::span<const std::byte>) noexcept override { return {}; }
    void on_link_up(LinkId, PeerId, LinkRole) noexcept override {}
    void on_link_down(LinkId, PeerId, LinkRole, bool, Status, std::string_view) noexcept override {}
    void on_writable(PeerId, LinkRole) noexcept override {}
    void on_packet(LinkId, PeerId, std::span<const std::byte>) noexcept override {}
    Landing on_packet_begin(LinkId, PeerId, std::span<const std::byte>, std::size_t) noexcept override { return {}; }
    void on_packet_end(LinkId, PeerId, void*, std::size_t, bool) noexcept override {}
    Landing on_bulk_begin(LinkId, PeerId, const wire::BulkHead&) noexcept override { return {}; }
    void on_bulk_end(LinkId, PeerId, void*, std::size_t, bool) noexcept override {}
    void on_bulk_sent(PeerId, void*, bool) noexcept override {}
};

// "eth: skipped, ..." without the name that stands beside it anyway.
std::string without_name(const std::string& line, const std::string& name)
{
    return line.rfind(name + ": ", 0) == 0 ? line.substr(name.size() + 2) : line;
}

TransportFinding check(const core::TransportRow& row, const Settings& settings)
{
    TransportFinding finding;
    finding.name = row.name;
    finding.chosen = core::transport_chosen(settings.text(SettingId::kTransports), row);
    std::vector<Said> said;
    Log log{LogLevel::kInfo, remember, &said};
    const SystemClock clock;
    Stats stats;
    NobodyHome nobody;
    wire::EndpointName name;   // its own: no transport shall take another one's port
    name.endpoint_id.set(1);
    name.incarnation.set(process_id());
    static_cast<void>(random_bytes(std::as_writable_bytes(std::span{&name.endpoint_id, 1}), log));
    CpuCopyEngine copy{SIZE_MAX};
    const auto transport = row.make({settings, clock, log, stats, copy});
    const Status opened = transport->open(nobody, name);
    transport->shutdown();
    finding.prior_latency = transport->caps().latency;
    finding.prior_bytes_per_ns = transport->caps().bytes_per_ns;
    finding.usable = !failed(opened) && transport->usable();
    finding.stops_job = failed(opened) && finding.chosen && (!settings.automatic_transports() || row.automatic == core::TransportRow::Automatic::kYes);
    for (const Said& s : said) {
        const std::string line = without_name(s.line, finding.name);
        if (s.level <= LogLevel::kWarn || line.rfind("skipped", 0) == 0) {   // that is no warning if nobody asked for this transport
            finding.lacks.push_back(line);
        } else if (s.line.rfind("interface ", 0) != 0) {   // those have a table of their own
            finding.notes.push_back(line);
        }
    }
    if (!finding.usable) {
        finding.notes.clear();   // the steps before it failed
    }
    if (failed(opened) && finding.lacks.empty()) {
        finding.lacks.emplace_back(status_text(opened));
    }
    return finding;
}

// What came of a TCP connection within kConnectPatience.
std::string call_port(const InetAddress& peer)
{
    SocketOrError s = tcp_socket(peer.family());
    int error = s.error != 0 ? s.error : tcp_connect(s.fd.get(), peer);
    if (error == EINPROGRESS) {
        ::pollfd wait{s.fd.get(), POLLOUT, 0};
        const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(kConnectPatience).count();
        error = ::poll(&wait, 1, static_cast<int>(ms)) > 0 ? socket_error(s.fd.get()) : ETIMEDOUT;
    }
    switch (error) {
        case 0: return "somebody listens there";
        case ECONNREFUSED: return "the host answers, nobody listens there";
        case ETIMEDOUT: return "no answer within " + std::to_string(kConnectPatience / std::chrono::seconds{1}) + " s: a firewall, or nobody has this address";
        default: return errno_text(error);
    }
}

bool is_own(const InetAddress& peer, const std::vector<AddressVerdict>& own)
{
    return peer.loopback() || std::any_of(own.begin(), own.end(), [&](const AddressVerdict& v) { return v.address.same_host(peer); });
}

WayToPeer ether_way(const InetAddress& peer, const std::vector<AddressVerdict>& own)
{
    for (const AddressVerdict& v : own) {
        if (v.used && !v.address.loopback() && v.prefix != 0 && peer.in_network(v.address, v.prefix)) {
            return {"eth", true, "it is in the network of " + v.interface + ", so most likely on its segment; opening a link tells"};
        }
    }
    const char* const why = peer.link_local() ? "" : ": there are routers between, which frames do not pass";
    return {"eth", false, std::string{"it is in the network of no interface that is used"} + why};
}

WayToPeer way(const TransportFinding& t, const InetAddress& peer, bool own_host, const std::string& no_route, const std::vector<AddressVerdict>& own)
{
    if (!t.usable) {
        return {t.name, false, "not usable here (above)"};
    }
    if (t.name == "shm") {
        return {t.name, own_host, own_host ? "an address of this host: processes of the same user share memory" : "not an address of this host"};
    }
    if (t.name == "eth") {
        return own_host ? WayToPeer{t.name, false, "an address of this host, and Ethernet does not lead back"} : ether_way(peer, own);
    }
    return no_route.empty() ? WayToPeer{t.name, true, "there is a route"} : WayToPeer{t.name, false, no_route};
}

}   // namespace

std::vector<TransportFinding> check_transports(const Settings& settings)
{
    std::vector<TransportFinding> found;
    for (const core::TransportRow& row : core::transport_table()) {
        if (std::string_view{row.name} != "loopback") {
            found.push_back(check(row, settings));
        }
    }
    return found;
}

std::vector<AddressVerdict> check_addresses(const Settings& settings, std::string& error)
{
    std::vector<Said> said;
    const Log log{LogLevel::kError, remember, &said};
    OwnAddresses own;
    if (failed(own.choose(settings, log))) {
        error = said.empty() ? "the interfaces of this host cannot be listed" : said.front().line;
        return {};
    }
    return own.verdicts();
}

PeerFinding check_peer(const InetAddress& peer, const Settings& settings, const std::vector<TransportFinding>& transports)
{
    PeerFinding finding;
    finding.address = peer;
    const Log quiet{LogLevel::kNone, nullptr, nullptr};
    OwnAddresses own;
    static_cast<void>(own.choose(settings, quiet));   // its failure was told when the interfaces were listed
    int error = 0;
    const InetAddress source = route_source(peer, error);
    if (error == 0) {
        finding.source = source.host_text();
        finding.interface = own.interface_of(source);
        finding.path_mtu = path_mtu(peer);
    }
    InetAddress any_port = peer;
    any_port.set_port(peer.port() != 0 ? peer.port() : 1);   // a route does not depend on it, but must have one
    const std::string no_route = own.refusal_of_route(any_port);
    const bool own_host = is_own(peer, own.verdicts());
    for (const TransportFinding& t : transports) {
        finding.ways.push_back(way(t, peer, own_host, no_route, own.verdicts()));
    }
    if (peer.port() != 0) {
        finding.port_answer = call_port(peer);
    }
    return finding;
}

std::optional<InetAddress> look_up(const std::string& host, std::uint16_t port, std::string& error)
{
    if (auto plain = InetAddress::parse(host, port)) {
        if (!plain->unicast()) {
            error = "not the address of a host";
            return std::nullopt;
        }
        return plain;
    }
    ::addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    ::addrinfo* raw = nullptr;
    if (const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &raw); code != 0) {
        error = ::gai_strerror(code);
        return std::nullopt;
    }
    const std::unique_ptr<::addrinfo, void (*)(::addrinfo*)> list{raw, [](::addrinfo* p) { ::freeaddrinfo(p); }};
    for (const ::addrinfo* a = list.get(); a != nullptr; a = a->ai_next) {
        if (auto address = InetAddress::from_sockaddr(a->ai_addr)) {
            address->set_port(port);
            return address;
        }
    }
    error = "it has no address";
    return std::nullopt;
}

}   // namespace linnet::tools

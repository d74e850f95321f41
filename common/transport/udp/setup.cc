// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// UdpPort: what is decided before the first link, and what the routing table says about a peer.
#include <algorithm>
#include <bit>

#include "sys/error.h"
#include "transport/name_inet.h"
#include "transport/udp/udp_port.h"
#include "wire/hello.h"

namespace linnet::udp {

namespace {

constexpr TransportCaps kPrior{
    .name = "udp",
    .lane_packet_max = 0,   // filled in by FrameTransport
    .separate_bulk = true,
    .direct_links = false,
    .latency = Nanos{5700},
    .bytes_per_ns = 2.2,
    // One sends, one and a half ask and receive; the rest is that where calls are slow so are the kernel's other ways in and out, for its interrupts.
    .calls = 4,
    .busy = 0.55,
    .busy_byte = 0.82,
};

constexpr std::size_t kIpv4Heads = 20 + 8;

// What the kernel charges a queue for one datagram that was not joined with others: its buffer, from a power of two, and its bookkeeping.
[[nodiscard]] std::size_t charged_for(std::size_t frame_bytes) noexcept
{
    constexpr std::size_t kHeadroomAndInfo = 420;
    constexpr std::size_t kBuffer = 256;
    return std::bit_ceil(frame_bytes + kHeadroomAndInfo) + kBuffer;
}

// Datagrams for which there is room however long nobody read. What is read out of a queue that is not empty stays charged to it until it adds up to a quarter
// of the queue (Linux net/ipv4/udp.c, udp_rmem_release()): so much is missing where a receiver begins to lag.
[[nodiscard]] std::size_t places_of(std::size_t queue_bytes, std::size_t frame_bytes) noexcept
{
    return (queue_bytes - queue_bytes / 4) / charged_for(frame_bytes);
}

}   // namespace

UdpPort::UdpPort(const Settings& settings, Log& log, Stats& stats) noexcept
    : settings_{settings}, log_{log}, rx_counters_{stats.block(StatsRole::kPoller)}, tx_counters_{stats.block(StatsRole::kAnyThread)}
{
}

UdpTransport::UdpTransport(const Settings& settings, const Clock& clock, Log& log, Stats& stats) noexcept
    : FrameTransport{std::make_unique<UdpPort>(settings, log, stats), kPrior, settings, clock, log, stats}
{
}

// ---- sockets ----

// At the one address of the family that is used, or at all of them.
int UdpPort::bind_family(std::span<AddressVerdict* const> where, bool v4, unsigned port)
{
    InetAddress at = v4 ? InetAddress::v4({}) : InetAddress::v6({});
    unsigned count = 0;
    for (const AddressVerdict* v : where) {
        if (v->address.is_v4() == v4) {
            at = ++count == 1 ? v->address : v4 ? InetAddress::v4({}) : InetAddress::v6({});
        }
    }
    const std::uint64_t bits = v4 ? wire::kAtLocalhostV4 : wire::kAtLocalhostV6 | wire::kAtLinkLocal;
    unnamed_ &= ~bits;
    if (count == 0) {
        return 0;
    }
    for (unsigned i = 0; i < frames::kChannels; ++i) {
        at.set_port(i == frames::kLaneChannel ? static_cast<std::uint16_t>(port) : std::uint16_t{0});   // peers learn the other one from our frames
        SocketOrError s = udp_bind(at);
        if (s.error != 0) {
            return s.error;
        }
        if (i == frames::kLaneChannel) {
            port_ = local_address(s.fd.get()).port();
        }
        channels_[i].sockets[v4 ? 0 : 1].fd = std::move(s.fd);
    }
    unnamed_ |= count > 1 ? bits : 0;
    return 0;
}

int UdpPort::bind_at_port(std::span<AddressVerdict* const> where, unsigned port)
{
    const int error = bind_family(where, true, port);
    const bool have_v4 = channels_[0].sockets[0].fd.valid();
    const int error_v6 = error == EADDRINUSE ? error : bind_family(where, false, have_v4 ? port_ : port);
    return error_v6 == EADDRINUSE || (error != 0 && !channels_[0].sockets[1].fd.valid()) ? (error != 0 ? error : error_v6) : have_v4 ? 0 : error_v6;
}

void UdpPort::configure(Socket& socket, const char* what)
{
    const auto wanted = settings_.size(SettingId::kUdpQueue);
    const UdpGranted granted = udp_configure(socket.fd.get(), wanted);
    socket.queue_bytes = granted.receive_bytes;
    socket.cuts.store(settings_.boolean(SettingId::kUdpSegment), std::memory_order_relaxed);
    LINNET_LOG(log_, kInfo, "udp: %s socket at %s, queue of %zu bytes%s, datagrams %s", what, local_address(socket.fd.get()).text().c_str(),
               granted.receive_bytes, granted.receive_bytes < wanted ? " (more needs net.core.rmem_max)" : "",
               granted.joins ? "come joined" : "come one by one");
}

namespace {
// A name has one port for UDP and TCP, and TCP comes later.
bool tcp_has_it_too(std::span<AddressVerdict* const> where, std::uint16_t port)
{
    return std::all_of(where.begin(), where.end(), [port](const AddressVerdict* v) {
        InetAddress at = v->address;
        at.set_port(port);
        return tcp_listen(at, 1).error != EADDRINUSE;
    });
}
}   // namespace

Status UdpPort::bind_all(wire::EndpointName& name)
{
    constexpr unsigned kDraws = 64;   // of a port by the system, before one is free for both families
    const std::vector<AddressVerdict*> where = addresses_.pick_for_name();
    if (where.empty()) {
        LINNET_LOG(log_, kError, "udp: no network interface can be used (%s); see the settings net_include and net_exclude", addresses_.all_lines().c_str());
        return Status::kUnreachable;
    }
    const unsigned given = name.port.get();   // by another transport, which listens there: a name has room for one
    const Result<PortRange> ports = port_range(settings_, SettingId::kUdpPortMin, SettingId::kUdpPortMax, given, log_, "udp");
    if (!ports.ok()) {
        return ports.status();
    }
    const auto [low, high] = *ports;
    int error = EADDRINUSE;
    unsigned draws = 0;
    for (unsigned port = low; port <= high && (error == EADDRINUSE || error == EACCES);) {
        error = bind_at_port(where, port);
        error = error == 0 && port == 0 && !tcp_has_it_too(where, port_) ? EADDRINUSE : error;
        port += port != 0 || ++draws == kDraws ? 1 : 0;
    }
    if (error != 0 && given != 0) {
        LINNET_LOG(log_, kInfo, "udp: port %u, at which this process is called over another transport, cannot be had: %s (errno %d)", given,
                   errno_text(error), error);
        return status_from_errno(error);
    }
    if (error != 0) {
        LINNET_LOG(log_, kError, "udp: cannot bind on interface %s, address %s, ports %u to %u: %s (errno %d); see the settings udp_port_min and udp_port_max",
                   where.front()->interface.c_str(), where.front()->address.host_text().c_str(), low, high, errno_text(error), error);
        return status_from_errno(error);
    }
    name.port.set(port_);
    if (given != 0) {   // TCP has told the addresses at which the port could be had, and if it was told the port, where else it listens: it is called first
        unnamed_ = settings_.integer(SettingId::kTcpPortMin) != 0 ? 0 : unnamed_;
        return Status::kOk;
    }
    for (const AddressVerdict* v : where) {
        const wire::NameAddress a = name_address(v->address);
        if (channels_[0].sockets[v->address.is_v4() ? 0 : 1].fd.valid() && !wire::NameAddresses{name}.contains(a)) {
            static_cast<void>(wire::add_address(name, a));
        }
    }
    return Status::kOk;
}

Status UdpPort::open(wire::EndpointName& name)
{
    if (const Status s = addresses_.choose(settings_, log_); failed(s)) {
        return s;
    }
    const std::size_t mtu = addresses_.largest_mtu();
    frame_bytes_ = std::clamp(mtu == 0 ? 1500 : mtu, kLeastMtu, kMostMtu) - kIpv4Heads;
    if (const Status s = bind_all(name); failed(s)) {
        return s;
    }
    auto epoll = EpollSet::open(log_);
    if (!epoll.ok()) {
        return epoll.status();
    }
    epoll_ = std::move(epoll).value();
    for (unsigned c = 0; c < frames::kChannels; ++c) {
        Channel& ch = channels_[c];
        ch.memory = std::make_unique_for_overwrite<std::byte[]>(kRuns * kRunRoom);
        for (unsigned i = 0; i < kRuns; ++i) {
            ch.runs[i].buffer = ch.memory.get() + i * kRunRoom;
            ch.runs[i].room = kRunRoom;
        }
        for (unsigned f = 0; f < kFamilies; ++f) {
            Socket& s = ch.sockets[f];
            if (!s.fd.valid()) {
                continue;
            }
            configure(s, c == frames::kLaneChannel ? "lane" : "bulk");
            if (failed(epoll_.add(s.fd.get(), EPOLLIN, c * kSockets + f, log_))) {
                return Status::kNoMemory;
            }
        }
    }
    return Status::kOk;
}

// The buffers stay: somebody up the stack may be looking at a frame.
void UdpPort::close() noexcept
{
    unnamed_ = 0;
    for (Channel& ch : channels_) {
        for (Socket& s : ch.sockets) {
            if (s.fd.valid()) {
                epoll_.remove(s.fd.get());
                s.fd.reset();
                s.watched = true;
            }
        }
        ch.hot = ch.ready = 0;
        ch.run_count = 0;
    }
}

frames::PortLimits UdpPort::limits(unsigned channel) const noexcept
{
    std::size_t queue = SIZE_MAX;
    for (const Socket& s : channels_[channel].sockets) {
        queue = s.fd.valid() ? std::min(queue, s.queue_bytes) : queue;
    }
    frames::PortLimits l;
    l.frame_bytes = frame_bytes_;
    l.hello_bytes = kSafeFrame;
    l.ring_frames = static_cast<std::uint32_t>(std::clamp<std::size_t>(places_of(queue, frame_bytes_), 8, 8192));
    l.burst = static_cast<unsigned>(std::min<std::size_t>(kUdpRunBytes / frame_bytes_, kUdpRunSegments));
    return l;
}

// ---- peers ----

unsigned UdpPort::routes(const wire::EndpointName& name, std::span<frames::Candidate> out) const
{
    std::array<InetAddress, wire::kNameAddressesMax> to;
    const unsigned count = std::max(1u, addresses_.order(name, to));   // a name without addresses is one call that is refused
    for (unsigned i = 0; i < count; ++i) {
        out[i].route = frames::Route::of(RawAddress::of(to[i]));
        out[i].refusal = addresses_.refusal_of_route(to[i]);
        if (out[i].refusal.empty() && !channels_[0].sockets[to[i].is_v4() ? 0 : 1].fd.valid()) {
            out[i].refusal = to[i].is_v4() ? "no interface with an IPv4 address is used" : "no interface with an IPv6 address is used";
        }
    }
    return count;
}

std::size_t UdpPort::frame_bytes(const frames::Route& to) const noexcept
{
    const auto address = to.as<RawAddress>();
    return paths_.longest(path_key(address), hoped_frame_bytes(address));
}

std::uint64_t UdpPort::path_key(const RawAddress& to) noexcept
{
    constexpr std::uint64_t kSpread = 0x9E3779B97F4A7C15;
    std::uint64_t key = 0;
    for (unsigned i = 1; i < to.sockaddr.size(); ++i) {   // behind family and port: two processes of a host are reached alike
        key = (key ^ to.sockaddr[i]) * kSpread;
    }
    return key;
}

// What the kernel knows of the way.
std::size_t UdpPort::hoped_frame_bytes(const RawAddress& to) const noexcept
{
    const InetAddress peer = to.address();
    const std::size_t heads = peer.is_v4() ? kIpv4Heads : kIpv6Heads;
    const std::size_t mtu = path_mtu(peer);
    return std::min(frame_bytes_, std::clamp(mtu == 0 ? 1500 : mtu, kLeastMtu, kMostMtu) - heads);
}

// The kernel has learnt since the link was opened that the way takes less than a datagram of so many bytes: it sends that in fragments.
bool UdpPort::too_narrow(const RawAddress& to, std::size_t bytes) noexcept
{
    const InetAddress peer = to.address();
    const std::size_t mtu = path_mtu(peer);
    return mtu != 0 && bytes + (peer.is_v4() ? kIpv4Heads : kIpv6Heads) > mtu;
}

std::string UdpPort::local_text(const frames::Route& peer) const
{
    int error = 0;
    InetAddress local = route_source(peer.as<RawAddress>().address(), error);
    if (error != 0) {
        return "port " + std::to_string(port_);
    }
    local.set_port(port_);
    return "interface " + addresses_.interface_of(local) + ", local " + local.text();
}

}   // namespace linnet::udp

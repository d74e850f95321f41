// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EthPort: which interfaces are used, and which peers can be reached through them.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "sys/error.h"
#include "sys/unix_socket.h"
#include "transport/eth/eth_port.h"
#include "transport/name_inet.h"

namespace linnet::eth {

namespace {

constexpr TransportCaps kPrior{
    .name = "eth",
    .lane_packet_max = 0,   // filled in by FrameTransport
    .separate_bulk = true,
    .direct_links = false,
    .latency = Nanos{4400},
    .bytes_per_ns = 0.9,   // with frames of 1500 bytes, until rows of them were timed
    .calls = 1,            // the ring is read without any
    .busy = 0.43,
    .busy_byte = 0.85,
};

// Being in one network does not prove being on one segment. Long enough for a peer that computes, short enough for connect_timeout to leave room for others.
constexpr Nanos kPatience = std::chrono::milliseconds{3500};
// Who calls more peers than this has long been heard by the first of them, and is told their addresses again where it calls again.
constexpr std::size_t kMostCalled = 1u << 16;
constexpr std::uint64_t kKnocks = UINT64_MAX;   // events of the endpoints' ports; who looks for knocks asks all
constexpr unsigned kMostInterfaces = wire::kNameContactsMax;

std::string mac_text(const MacAddress& m)
{
    char text[18];
    std::snprintf(text, sizeof text, "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2], m[3], m[4], m[5]);
    return text;
}

std::array<std::uint8_t, 2> big_endian(std::uint16_t value) noexcept
{
    return {static_cast<std::uint8_t>(value >> 8), static_cast<std::uint8_t>(value)};
}

// Whose frames these are (IEEE 802 Numbers of the IANA), where taking them, or sending others among them, would disturb the host; null: nobody's it knows.
const char* owner_of(std::uint16_t ether_type) noexcept
{
    struct Owned {
        std::uint16_t ether_type;
        const char* protocol;
    };
    constexpr Owned kOwned[] = {{0x0800, "IPv4"}, {0x0806, "ARP"}, {0x8100, "VLAN tags"}, {0x8808, "flow control"}, {0x8809, "LACP"},
                                {0x86dd, "IPv6"}, {0x88a8, "VLAN tags"}, {0x88cc, "LLDP"}, {0x88e5, "MACsec"}};
    const auto* const at = std::ranges::find(kOwned, ether_type, &Owned::ether_type);
    return at != std::end(kOwned) ? at->protocol : nullptr;
}

unsigned number_of(const std::array<std::uint8_t, 2>& big_endian) noexcept { return big_endian[0] * 256u + big_endian[1]; }

}   // namespace

EthPort::EthPort(const Settings& settings, Log& log, Stats& stats) noexcept
    : settings_{settings}, log_{log}, rx_counters_{stats.block(StatsRole::kPoller)}, tx_counters_{stats.block(StatsRole::kAnyThread)}
{
}

EthTransport::EthTransport(const Settings& settings, const Clock& clock, Log& log, Stats& stats) noexcept
    : FrameTransport{std::make_unique<EthPort>(settings, log, stats), kPrior, settings, clock, log, stats}
{
}

// ---- interfaces ----

bool EthPort::open_interface(const AddressVerdict& v, std::string& why_not)
{
    const EtherInterface ether = ether_interface(v.interface.c_str());
    if (ether.error != 0 || !ether.ethernet) {
        why_not = ether.error != 0 ? errno_text(ether.error) : "not an Ethernet";
        return false;
    }
    const auto ether_type = static_cast<std::uint16_t>(settings_.integer(SettingId::kEthType));
    if (const char* const owner = owner_of(ether_type); owner != nullptr) {
        why_not = "eth_type " + std::to_string(ether_type) + " is that of " + owner + "; 0x88B5 and 0x88B6 are for local use";
        return false;
    }
    auto i = std::make_unique<Interface>();
    i->name = v.interface;
    i->address = v.address;
    i->prefix = v.prefix;
    i->endpoint = reserve_udp_port(v.address);
    if (i->endpoint.error != 0) {
        why_not = std::string{"cannot reserve a UDP port for its endpoint: "} + errno_text(i->endpoint.error);
        return false;
    }
    PacketRing::Config& c = i->config;
    c.interface_index = ether.index;
    c.ether_type = ether_type;
    c.endpoint = i->endpoint.port;
    i->frame_bytes = payload_of(ether.mtu);
    i->takes.store(i->frame_bytes, std::memory_order_relaxed);
    c.frame_bytes = i->frame_bytes + sizeof(EtherHead);
    c.frames = static_cast<unsigned>(settings_.integer(SettingId::kEthRing));
    c.bypass_qdisc = settings_.boolean(SettingId::kEthBypass);
    PacketRing::Opened o = PacketRing::make(c);
    if (const PacketRing::Failure f = o.error == 0 && few_here() ? o.ring.prepare(c) : PacketRing::Failure{}; f.error != 0) {
        o.error = f.error;
        o.what = f.what;
    }
    if (o.error != 0) {
        why_not = std::string{o.what} + ": " + errno_text(o.error) + " (errno " + std::to_string(o.error) + ")";
        if (o.error == EPERM || o.error == EACCES) {
            why_not += "; it takes the capability CAP_NET_RAW: setcap cap_net_raw+ep PROGRAM, or docker run --cap-add NET_RAW, "
                       "or ambient capabilities from the launcher";
        }
        return false;
    }
    i->ring = std::move(o.ring);
    i->head.from = ether.mac;
    i->head.ether_type = big_endian(c.ether_type);
    i->head.from_endpoint = big_endian(c.endpoint);
    if (failed(epoll_.add(i->endpoint.fd.get(), EPOLLIN, kKnocks, log_)) || failed(epoll_.add(i->ring.descriptor(), EPOLLIN, interfaces_.size(), log_))) {
        why_not = "cannot watch its sockets";
        return false;
    }
    LINNET_LOG(log_, kInfo, "eth: %s, %s endpoint %u, frames up to %zu bytes", i->name.c_str(), mac_text(ether.mac).c_str(), i->endpoint.port,
               i->frame_bytes);
    interfaces_.push_back(std::move(i));
    return true;
}

// One address of each interface goes into the name, in the order of preference, and with those that are Ethernet the contact. Other transports add the rest.
Status EthPort::open(wire::EndpointName& name)
{
    own_id_ = name.endpoint_id.get();
    if (const Status s = addresses_.choose(settings_, log_); failed(s)) {
        return s;
    }
    auto epoll = EpollSet::open(log_);
    if (!epoll.ok()) {
        return epoll.status();
    }
    epoll_ = std::move(epoll).value();
    std::vector<std::string> seen;
    for (const AddressVerdict& v : addresses_.verdicts()) {
        if (!v.used || v.address.loopback() || std::find(seen.begin(), seen.end(), v.interface) != seen.end()) {
            continue;
        }
        seen.push_back(v.interface);
        std::string why_not = "there is no room for more contacts in a name";
        const bool opened = interfaces_.size() < kMostInterfaces && open_interface(v, why_not);
        wire::EtherContact contact;
        if (opened) {
            contact.endpoint.set(interfaces_.back()->endpoint.port);
            contact.mac = interfaces_.back()->head.from;
        } else {
            LINNET_LOG(log_, kInfo, "eth: %s is not used: %s", v.interface.c_str(), why_not.c_str());
            none_ += (none_.empty() ? "" : "; ") + v.interface + ": " + why_not;
        }
        static_cast<void>(wire::add_address(name, name_address(v.address), contact) || wire::add_address(name, name_address(v.address)));
    }
    std::size_t longest = 0;
    for (const auto& i : interfaces_) {
        longest = std::max(longest, i->frame_bytes);
    }
    jumbo_ = longest > kSafeFrame;
    padding_.resize(longest);
    if (interfaces_.empty()) {
        none_ = none_.empty() ? "no Ethernet interface with an address; " + addresses_.all_lines() : none_;
        const bool asked_for = settings_.text(SettingId::kTransports).find("eth") != std::string::npos;
        if (const LogLevel level = asked_for ? LogLevel::kWarn : LogLevel::kInfo; log_.on(level)) {
            log_.write(level, "eth: skipped, no interface can be used: %s", none_.c_str());
        }
    }
    open_.store(true, std::memory_order_relaxed);
    std::string why_not;
    if (!interfaces_.empty() && settings_.integer(SettingId::kEthListeners) == 0 && !listen_now(why_not)) {
        LINNET_LOG(log_, kWarn, "eth: nobody can call: %s", why_not.c_str());
    }
    return Status::kOk;
}

// ---- listening ----

// It takes no more than a place now. Frames have to come when the callee has said that it can hear us.
bool EthPort::prepare_call(const wire::EndpointName& callee, std::span<const frames::Candidate> ways, std::string& why_not)
{
    bool any = false;
    for (const frames::Candidate& way : ways) {
        if (way.refusal.empty()) {
            remember(way.route.as<EthRoute>(), callee);
            any = true;
        }
    }
    return !any || may_listen(why_not);
}

bool EthPort::may_listen(std::string& why_not)
{
    if (listening_.load(std::memory_order_relaxed) || interfaces_.empty() || !open_.load(std::memory_order_relaxed)) {
        return true;   // routes() has the reason, if any
    }
    const bool all = settings_.integer(SettingId::kEthListeners) == 0;   // then they tried when they opened, and hellos wait for no answer
    return take_place(why_not) && (!all || bind_rings(why_not));
}

bool EthPort::listen_now(std::string& why_not)
{
    if (!may_listen(why_not)) {
        return false;
    }
    if (!listening_.load(std::memory_order_relaxed) && !bind_rings(why_not)) {
        place_ = {};
        return false;
    }
    return true;
}

// Does it take one of the places of its host to listen?
bool EthPort::counted() const noexcept { return settings_.automatic_transports() && settings_.integer(SettingId::kEthListeners) != 0; }

// Their rings are made when they open, as what is made later is made while they communicate. Of many processes most talk over something else.
bool EthPort::few_here() const noexcept
{
    const std::int64_t here = settings_.integer(SettingId::kLocalRanks);   // 0: not known
    return !counted() || (here != 0 && here <= settings_.integer(SettingId::kEthListeners));
}

// Those who share a host, without knowing of each other, hold names that its network namespace has once.
bool EthPort::take_place(std::string& why_not)
{
    if (!counted() || place_.fd.valid()) {
        return true;
    }
    const auto places = settings_.integer(SettingId::kEthListeners);
    for (std::int64_t n = 0; n < places; ++n) {
        char name[64];
        std::snprintf(name, sizeof name, "linnet-eth-%llx-%lld", static_cast<unsigned long long>(settings_.integer(SettingId::kEthType)),
                      static_cast<long long>(n));
        place_ = unix_listen(name, 1);
        if (place_.error != EADDRINUSE) {
            return true;   // where such names cannot be had, nobody counts
        }
    }
    why_not = std::to_string(places) + " processes of this host listen to raw Ethernet (setting eth_listeners)";
    return false;
}

// One interface that fails, for it is gone by now or has no memory left, is no reason to leave the others.
bool EthPort::bind_rings(std::string& why_not)
{
    bool any = false;
    for (const auto& i : interfaces_) {
        const PacketRing::Failure f = i->ring.listen(i->config);
        if (f.error != 0) {
            why_not = i->name + ": " + f.what + ": " + errno_text(f.error) + " (errno " + std::to_string(f.error) + ")";
            LINNET_LOG(log_, kInfo, "eth: nothing comes over %s", why_not.c_str());
            continue;
        }
        LINNET_LOG(log_, kInfo, "eth: listening on %s, endpoint %u, a ring of %u", i->name.c_str(), i->endpoint.port, i->ring.places());
        any = true;
    }
    listening_.store(any, std::memory_order_relaxed);
    return any;
}

frames::PortLimits EthPort::limits(unsigned) const noexcept
{
    frames::PortLimits l{kSafeFrame, 64, PacketRing::kSendBatch, kPatience};
    for (const auto& i : interfaces_) {
        l.frame_bytes = std::max(l.frame_bytes, i->frame_bytes);
        const std::uint32_t places = PacketRing::places_of(i->config);
        l.ring_frames = i == interfaces_.front() ? places : std::min(l.ring_frames, places);
    }
    return l;
}

// ---- peers ----

// A link-local address may be on any.
bool EthPort::on_segment_of(const InetAddress& address, const Interface& i) noexcept
{
    return address.scoped() ? !i.address.is_v4() : (i.prefix != 0 && address.in_network(i.address, i.prefix));
}

// Who has an address in the network of one of our interfaces is most likely on its segment; whether frames arrive, the opening tells.
unsigned EthPort::routes(const wire::EndpointName& name, std::span<frames::Candidate> out) const
{
    const wire::NameAddresses at{name};
    unsigned count = 0;
    std::string refusal = interfaces_.empty() ? none_ : "the peer uses no Ethernet interface";
    for (std::size_t n = 0; n < at.size() && count < out.size(); ++n) {
        const wire::EtherContact contact = at.contact(n);
        if (!contact.present() || interfaces_.empty()) {
            continue;
        }
        const InetAddress address = inet_address(at[n]);
        bool found = false;
        for (std::size_t i = 0; i < interfaces_.size() && count < out.size() && (!found || address.scoped()); ++i) {
            if (!on_segment_of(address, *interfaces_[i])) {
                continue;
            }
            found = true;
            if (contact.mac == interfaces_[i]->head.from) {
                refusal = "it is on this host, and Ethernet does not lead back";
                continue;
            }
            EthRoute to;
            to.mac = contact.mac;
            to.endpoint = big_endian(contact.endpoint.get());
            to.interface = static_cast<std::uint8_t>(i);
            out[count].route = frames::Route::of(to);
            out[count++].refusal.clear();
        }
        refusal = found ? refusal : address.host_text() + " is on none of our segments";
    }
    if (count == 0) {
        out[count].route = frames::Route::of(EthRoute{});
        out[count++].refusal = refusal;
    }
    return count;
}

// Where to knock: the address in its name that this contact stands behind.
void EthPort::remember(const EthRoute& to, const wire::EndpointName& callee)
{
    const wire::NameAddresses names{callee};
    for (std::size_t n = 0; n < names.size(); ++n) {
        const wire::EtherContact contact = names.contact(n);
        if (!contact.present() || contact.mac != to.mac || big_endian(contact.endpoint.get()) != to.endpoint) {
            continue;
        }
        Called now{inet_address(names[n]), callee.endpoint_id.get()};
        now.at.set_port(contact.endpoint.get());
        if (called_.size() >= kMostCalled) {
            called_.clear();
        }
        Called& known = called_.try_emplace(contact_key(to), now).first->second;
        if (known.id != now.id || !known.at.same_host(now.at)) {   // a later process at that endpoint
            known = now;
        }
        return;
    }
}

std::string EthPort::text(const frames::Route& peer) const
{
    const auto to = peer.as<EthRoute>();
    return mac_text(to.mac) + " endpoint " + std::to_string(number_of(to.endpoint));
}

std::string EthPort::local_text(const frames::Route& peer) const
{
    const auto to = peer.as<EthRoute>();
    if (to.interface >= interfaces_.size()) {
        return "no interface";
    }
    const Interface& i = *interfaces_[to.interface];
    return "interface " + i.name + ", local " + mac_text(i.head.from) + " endpoint " + std::to_string(i.endpoint.port);
}

}   // namespace linnet::eth

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// OwnAddresses: see own_addresses.h.
#include "transport/own_addresses.h"

#include <algorithm>
#include <cerrno>

#include "sys/error.h"
#include "sys/tcp_socket.h"
#include "transport/name_inet.h"

namespace linnet {

Status OwnAddresses::choose(const Settings& settings, const Log& log)
{
    InterfaceRules include;
    InterfaceRules exclude;
    std::string error;
    const bool include_ok = include.parse(settings.text(SettingId::kNetInclude), error);
    if (!include_ok || !exclude.parse(settings.text(SettingId::kNetExclude), error)) {
        LINNET_LOG(log, kError, "setting %s: %s", include_ok ? "net_exclude" : "net_include", error.c_str());
        return Status::kInvalid;
    }
    const auto interfaces = list_interfaces(log);
    if (!interfaces.ok()) {
        return interfaces.status();
    }
    verdicts_ = choose_addresses(*interfaces, include, exclude);
    for (const AddressVerdict& v : verdicts_) {
        LINNET_LOG(log, kInfo, "interface %s", v.line().c_str());
        const auto it = std::find_if(interfaces->begin(), interfaces->end(), [&v](const NetInterface& i) { return i.name == v.interface; });
        if (v.used && it != interfaces->end()) {
            largest_mtu_ = std::max(largest_mtu_, it->mtu);
        }
    }
    return Status::kOk;
}

std::vector<AddressVerdict*> OwnAddresses::pick_for_name()
{
    std::vector<AddressVerdict*> picked;
    wire::EndpointName trial;
    const auto covered = [&](const AddressVerdict& v, bool by_family) {
        return std::any_of(picked.begin(), picked.end(), [&](const AddressVerdict* p) {
            return p == &v || (p->interface == v.interface && (!by_family || p->address.family() == v.address.family()));
        });
    };
    const auto pick = [&](AddressVerdict& v) {
        if (wire::add_address(trial, name_address(v.address))) {
            picked.push_back(&v);
        }
    };
    for (const bool by_family : {false, true}) {
        for (AddressVerdict& v : verdicts_) {
            if (v.used && !covered(v, by_family)) {
                pick(v);
            }
        }
    }
    for (AddressVerdict& v : verdicts_) {
        if (v.used && std::find(picked.begin(), picked.end(), &v) == picked.end()) {
            pick(v);
        }
    }
    return picked;
}

std::string OwnAddresses::all_lines() const
{
    std::string all;
    for (const AddressVerdict& v : verdicts_) {
        all += (all.empty() ? "" : "; ") + v.line();
    }
    return all.empty() ? "there is none" : all;
}

// The second refusal stops the classic mistake of taking 172.17.0.1, which every host with containers has, for the peer's address. Who uses no address that
// another host has a way to means no other host.
std::string OwnAddresses::refusal_of_route(const InetAddress& to) const
{
    if (to.family() == AF_UNSPEC || to.port() == 0) {
        return "the name holds no address";
    }
    if (to.scoped() && !uses(to.scope())) {
        return to.scope() == 0 ? "it is link-local, and nobody says by which interface" : "it is link-local, on an interface that is not used";
    }
    if (to.loopback() || (own(to) && !leaves_host())) {
        return {};   // this host, whatever the rules for networks
    }
    int error = 0;
    const InetAddress source = route_source(to, error);
    if (error != 0) {
        return error == EMFILE || error == ENFILE ? std::string{} : std::string{"no route: "} + errno_text(error) + " (errno " + std::to_string(error) + ")";
    }
    for (const AddressVerdict& v : verdicts_) {
        if (!v.used && v.address.same_host(source) && !source.loopback() && !to.scoped()) {
            return "the route leaves by " + v.line();
        }
    }
    return {};
}

bool OwnAddresses::leaves_host() const noexcept
{
    return std::any_of(verdicts_.begin(), verdicts_.end(), [](const AddressVerdict& v) { return v.used && !v.address.loopback(); });
}

// Its link-local address need not be.
bool OwnAddresses::uses(unsigned interface) const noexcept
{
    return interface != 0 && std::any_of(verdicts_.begin(), verdicts_.end(), [interface](const AddressVerdict& v) { return v.used && v.index == interface; });
}

// On a network that one of our usable interfaces is on.
bool OwnAddresses::near(const InetAddress& to) const noexcept
{
    return std::any_of(verdicts_.begin(), verdicts_.end(),
                       [&to](const AddressVerdict& v) { return v.used && v.prefix != 0 && to.in_network(v.address, v.prefix); });
}

bool OwnAddresses::own(const InetAddress& to) const noexcept
{
    return std::any_of(verdicts_.begin(), verdicts_.end(), [&to](const AddressVerdict& v) { return v.address.same_host(to); });
}

// Returns how many there are, one at least.
unsigned OwnAddresses::by_each_interface(const InetAddress& to, std::span<InetAddress> out) const noexcept
{
    unsigned count = 0;
    for (const AddressVerdict& v : verdicts_) {
        const auto has_it = [&v](const InetAddress& a) { return a.scope() == v.index; };
        if (v.used && v.index != 0 && !v.address.loopback() && count < out.size() && std::none_of(out.begin(), out.begin() + count, has_it)) {
            out[count] = to;
            out[count++].set_scope(v.index);
        }
    }
    out[0] = count == 0 ? to : out[0];
    return std::max(count, 1u);
}

// A peer on this host has no addresses but ours; another one shares an address of some inner network with us by chance.
unsigned OwnAddresses::order(const wire::EndpointName& name, std::span<InetAddress, wire::kNameAddressesMax> out) const
{
    unsigned count = 0;
    const wire::NameAddresses names{name};
    for (const bool link_local : {false, true}) {   // the last have what room there is
        for (const wire::NameAddress& a : names) {
            InetAddress to = inet_address(a, name.port.get());
            to.set_scope(wire::contact_scope(name));
            if (to.scoped() == link_local && count < out.size()) {
                count += link_local && to.scope() == 0 ? by_each_interface(to, out.subspan(count)) : (out[count] = to, 1u);
            }
        }
    }
    const auto rank = [this](const InetAddress& to) { return own(to) ? 2 : near(to) && !to.scoped() ? 0 : 1; };   // every link has fe80::
    std::stable_sort(out.begin(), out.begin() + count, [&](const InetAddress& a, const InetAddress& b) { return rank(a) < rank(b); });
    return count;
}

std::string OwnAddresses::interface_of(const InetAddress& local) const
{
    for (const AddressVerdict& v : verdicts_) {
        if (v.address.same_host(local)) {
            return v.interface;
        }
    }
    return local.loopback() ? "lo" : "?";
}

}   // namespace linnet

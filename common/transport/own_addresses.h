// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// OwnAddresses: the addresses of this host that a transport over IP uses, and what they say about those of a peer.
//
// Owner: a transport. Threads: choose() before all else; the rest any. Blocking: choose() and refusal_of_route() ask the system, over netlink and the routing
// table; nothing is sent.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/log.h"
#include "conf/settings.h"
#include "sys/net_interfaces.h"
#include "wire/name.h"

namespace linnet {

class OwnAddresses {
public:
    // By the settings net_include and net_exclude. kInvalid, kIo, kNoDescriptors: logged.
    [[nodiscard]] Status choose(const Settings& settings, const Log& log);
    [[nodiscard]] const std::vector<AddressVerdict>& verdicts() const noexcept { return verdicts_; }
    [[nodiscard]] std::vector<AddressVerdict>& verdicts() noexcept { return verdicts_; }

    // The addresses that a name has room for, the contact address first: one of each interface, so that a peer on any of its networks finds one; then one
    // of each family, for a peer that has only that; then the others. Point into verdicts().
    [[nodiscard]] std::vector<AddressVerdict*> pick_for_name();
    // "eth0 10.1.0.2: refused: ...; ...", for the message that says that there is none.
    [[nodiscard]] std::string all_lines() const;
    // The largest MTU of the used interfaces; 0: unknown.
    [[nodiscard]] unsigned largest_mtu() const noexcept { return largest_mtu_; }

    [[nodiscard]] bool uses(unsigned interface) const noexcept;   // by an address at least; by the kernel's index
    // Why nothing shall be sent to `to`: no route, or one that leaves through an interface that is not to be used. Empty: go ahead.
    [[nodiscard]] std::string refusal_of_route(const InetAddress& to) const;
    // The addresses of a name, in the order in which to try them: first those on a network that a usable interface is on, then those behind routers, last
    // those that this host has too. Within these the peer's own order counts. A link-local IPv6 address, of which a name does not say where it is valid, is
    // tried by each interface that is used, after those behind routers.
    [[nodiscard]] unsigned order(const wire::EndpointName& name, std::span<InetAddress, wire::kNameAddressesMax> out) const;
    [[nodiscard]] std::string interface_of(const InetAddress& local) const;

private:
    unsigned by_each_interface(const InetAddress& to, std::span<InetAddress> out) const noexcept;
    [[nodiscard]] bool near(const InetAddress& to) const noexcept;
    [[nodiscard]] bool own(const InetAddress& to) const noexcept;
    [[nodiscard]] bool leaves_host() const noexcept;

    std::vector<AddressVerdict> verdicts_;
    unsigned largest_mtu_{0};
};

}   // namespace linnet

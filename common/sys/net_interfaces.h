// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Network interfaces: what this host has, and which of it Linnet uses, with a reason for each.
//
// list_interfaces() asks the system; choose_addresses() is a pure function over its answer. Threads: any. Blocking: netlink and /sys only.
// Not for the data path. See the setting net_exclude (conf/setting_table.h) for why its default is what it is.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "sys/inet_address.h"

namespace linnet {

struct InterfaceAddress {
    InetAddress address;
    unsigned prefix{0};   // length of its network's part in bits
};

struct NetInterface {
    std::string name;
    unsigned index{0};            // the kernel's
    bool up{false};               // an administrator switched it on
    bool carrier{false};          // ... and it has a link
    bool loopback{false};
    bool point_to_point{false};   // tunnels
    bool inner_bridge{false};     // a bridge without a physical port: it joins containers and virtual machines of this host
    unsigned mbit_per_s{0};       // 0: unknown
    unsigned mtu{0};              // 0: unknown
    std::string driver;           // of the device behind it; empty: there is none, or nobody tells
    std::vector<InterfaceAddress> addresses;   // as the system orders them
};

// In the order of the kernel's index. Fails with kIo or kNoDescriptors, logged.
[[nodiscard]] Result<std::vector<NetInterface>> list_interfaces(const Log& log);

// A user's list: interface names with * and ? as wildcards, and networks (10.1.0.0/16, fd00::/8) or addresses.
class InterfaceRules {
public:
    // False: `error` says which entry is wrong and why.
    [[nodiscard]] bool parse(std::string_view list, std::string& error);
    [[nodiscard]] bool empty() const noexcept { return rules_.empty(); }
    // The first entry that covers this address of this interface, as it was written; null when none does.
    [[nodiscard]] const std::string* covering(std::string_view name, const InetAddress& address) const noexcept;
    // The first that is a link-local network or address, which covers this one.
    [[nodiscard]] const std::string* naming_link_local(const InetAddress& address) const noexcept;

private:
    struct Rule {
        std::string text;
        std::optional<InetAddress> network;   // none: a name
        unsigned prefix{0};
    };
    std::vector<Rule> rules_;
};

// The decision about one address (or about an interface that has none).
struct AddressVerdict {
    std::string interface;
    InetAddress address;   // family AF_UNSPEC: the interface has none
    bool used{false};
    std::string why;
    unsigned prefix{0};    // of the address's network, in bits
    unsigned index{0};     // the kernel's, of the interface
    bool excluded{false};  // net_exclude covers it, as it may a link-local address that is not used anyway
    [[nodiscard]] std::string line() const;   // "eth0 10.1.0.2: used: contact address"
};

// One verdict per address: first the used ones, the best (the contact address) at the front, then the refused ones. With `include` not empty
// only what it covers is used and `exclude` is ignored. Loopback is used only when included, or when nothing else is left; link-local addresses only when an
// entry of `include` is one or a network of such. A link-local IPv6 address leads everywhere by any interface that is used, whether or not its own is.
// Better is: not an inner bridge, not point-to-point, faster when both speeds are known, not link-local, IPv4, then the order of `interfaces`.
[[nodiscard]] std::vector<AddressVerdict> choose_addresses(std::span<const NetInterface> interfaces, const InterfaceRules& include,
                                                           const InterfaceRules& exclude);

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Which transports a process on this host could use now, found out by opening each the way a job does, and closing it again.
//
// Threads: one. Blocking: as opening a transport; towards a port, at most kConnectPatience. Sends nothing but that one connection attempt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "conf/settings.h"
#include "sys/inet_address.h"
#include "sys/net_interfaces.h"

namespace linnet::tools {

// What one transport said about itself.
struct TransportFinding {
    std::string name;
    bool usable{false};
    bool chosen{false};                 // by the setting transports
    bool stops_job{false};              // cannot be opened, and a job with these settings does not start without it
    std::vector<std::string> lacks;     // why it is not usable, or what keeps it from being as good as it could be
    std::vector<std::string> notes;     // what it chose: addresses, queue sizes
    Nanos prior_latency{};              // half round trip of an empty packet, before anything was measured
    double prior_bytes_per_ns{0};
};
// In the order of preference; without loopback.
[[nodiscard]] std::vector<TransportFinding> check_transports(const Settings& settings);

// The addresses of this host by the settings net_include and net_exclude. Empty with `error` when these are wrong.
[[nodiscard]] std::vector<AddressVerdict> check_addresses(const Settings& settings, std::string& error);

// ---- towards a peer ----
struct WayToPeer {
    std::string transport;
    bool usable{false};
    std::string why;   // of either
};
struct PeerFinding {
    InetAddress address;
    std::string source;       // our address towards it; empty: no route
    std::string interface;
    std::size_t path_mtu{0};  // 0: not known
    std::string port_answer;  // when a port was given: what came of a TCP connection to it
    std::vector<WayToPeer> ways;
};
inline constexpr Nanos kConnectPatience = std::chrono::seconds{2};
[[nodiscard]] PeerFinding check_peer(const InetAddress& peer, const Settings& settings, const std::vector<TransportFinding>& transports);

// An address, or the first one of a host name. Nothing: `error` says why.
[[nodiscard]] std::optional<InetAddress> look_up(const std::string& host, std::uint16_t port, std::string& error);

}   // namespace linnet::tools

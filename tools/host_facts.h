// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// HostFacts: what of this host matters to Linnet: interfaces and their drivers' settings, kernel settings, limits, rights.
//
// A value. read_host_facts() asks the system (netlink, ioctl, /proc, /sys), needs no privilege and leaves out what it is not told. Threads: one. Fails only
// when the interfaces cannot be listed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "sys/net_interfaces.h"

namespace linnet::tools {

struct Nic {
    NetInterface interface;
    std::string driver;       // "virtio_net"; empty: not told
    bool device{false};       // there is a device behind it: not a bridge, a tunnel, a virtual cable
    std::optional<unsigned> rx_usecs;   // an interrupt waits so long for more frames
    bool adaptive_rx{false};            // ... or as long as the driver sees fit
    std::optional<unsigned> rx_ring;    // frames that the card may have in hand
    std::optional<unsigned> rx_ring_max;
};

struct HostFacts {
    std::string host;
    std::string kernel;       // "6.1.0-18-amd64"
    unsigned cores{0};        // that this process may use
    std::uint32_t user{0};
    bool raw_sockets{false};  // CAP_NET_RAW is effective
    std::vector<Nic> nics;
    std::map<std::string, std::string> sysctls;   // "net.core.rmem_max" -> "212992"; missing: not told
    std::uint64_t descriptors_soft{0};
    std::uint64_t descriptors_hard{0};
};

// The kernel settings that are looked at.
inline constexpr const char* kSysctls[] = {
    "net.core.rmem_max",    "net.core.wmem_max",  "net.core.busy_read",
    "net.core.busy_poll",   "net.core.somaxconn", "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",    "net.ipv4.tcp_wmem",  "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_allowed_congestion_control",    "net.ipv4.tcp_slow_start_after_idle",
    "kernel.yama.ptrace_scope",                   "kernel.sched_autogroup_enabled",
};

[[nodiscard]] Result<HostFacts> read_host_facts(const Log& log);

}   // namespace linnet::tools

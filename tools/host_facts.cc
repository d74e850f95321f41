// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// HostFacts: asking the system. The requests of ethtool(8) that only read need no privilege.
#include "host_facts.h"

#include <linux/capability.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "sys/cpu_set.h"
#include "sys/fd.h"
#include "sys/process.h"

namespace linnet::tools {
namespace {

// False: the driver does not tell.
template <class Request>
bool ask_driver(const Fd& socket, const std::string& interface, Request& request)
{
    ::ifreq r{};
    interface.copy(r.ifr_name, sizeof r.ifr_name - 1);
    r.ifr_data = reinterpret_cast<char*>(&request);
    return ::ioctl(socket.get(), SIOCETHTOOL, &r) == 0;
}

Nic read_nic(const Fd& socket, NetInterface interface)
{
    Nic nic;
    nic.interface = std::move(interface);
    const std::string& name = nic.interface.name;
    ::ethtool_drvinfo info{};
    info.cmd = ETHTOOL_GDRVINFO;
    if (ask_driver(socket, name, info)) {
        info.driver[sizeof info.driver - 1] = '\0';
        nic.driver = info.driver;
    }
    ::ethtool_coalesce coalesce{};
    coalesce.cmd = ETHTOOL_GCOALESCE;
    if (ask_driver(socket, name, coalesce)) {
        nic.rx_usecs = coalesce.rx_coalesce_usecs;
        nic.adaptive_rx = coalesce.use_adaptive_rx_coalesce != 0;
    }
    ::ethtool_ringparam ring{};
    ring.cmd = ETHTOOL_GRINGPARAM;
    if (ask_driver(socket, name, ring) && ring.rx_max_pending != 0) {
        nic.rx_ring = ring.rx_pending;
        nic.rx_ring_max = ring.rx_max_pending;
    }
    std::error_code none;
    nic.device = std::filesystem::exists("/sys/class/net/" + name + "/device", none);
    return nic;
}

std::optional<std::string> first_line(const std::string& path)
{
    std::ifstream file{path};
    std::string line;
    if (!std::getline(file, line)) {
        return std::nullopt;
    }
    return line;
}

bool may_open_raw_sockets()
{
    std::ifstream file{"/proc/self/status"};
    for (std::string line; std::getline(file, line);) {
        if (line.rfind("CapEff:", 0) == 0) {
            return (std::stoull(line.substr(7), nullptr, 16) >> CAP_NET_RAW & 1) != 0;
        }
    }
    return false;
}

}   // namespace

Result<HostFacts> read_host_facts(const Log& log)
{
    auto interfaces = list_interfaces(log);
    if (!interfaces.ok()) {
        return interfaces.status();
    }
    HostFacts facts;
    facts.host = host_name();
    facts.kernel = kernel_release();
    facts.cores = usable_cpus();
    facts.user = user_id();
    facts.raw_sockets = may_open_raw_sockets();
    const DescriptorLimit limit = descriptor_limit();
    facts.descriptors_soft = limit.soft;
    facts.descriptors_hard = limit.hard;
    const Fd any_socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    for (NetInterface& i : *interfaces) {
        facts.nics.push_back(read_nic(any_socket, std::move(i)));
    }
    for (const char* const name : kSysctls) {
        std::string path = name;
        std::replace(path.begin(), path.end(), '.', '/');
        if (const auto value = first_line("/proc/sys/" + path)) {
            facts.sysctls[name] = *value;
        }
    }
    return facts;
}

}   // namespace linnet::tools

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Asking the system for its interfaces.
#include "sys/net_interfaces.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <memory>

#include "sys/error.h"
#include "sys/fd.h"

namespace linnet {

namespace {

unsigned prefix_of(const ::sockaddr* mask) noexcept
{
    // Not from_sockaddr(): a mask like ffff:... of an IPv6 network must not be taken for a mapped address.
    unsigned ones = 0;
    if (mask == nullptr) {
        return 0;
    }
    if (mask->sa_family == AF_INET) {
        ones = static_cast<unsigned>(std::popcount(reinterpret_cast<const ::sockaddr_in*>(mask)->sin_addr.s_addr));
    } else if (mask->sa_family == AF_INET6) {
        for (const std::uint8_t byte : reinterpret_cast<const ::sockaddr_in6*>(mask)->sin6_addr.s6_addr) {
            ones += static_cast<unsigned>(std::popcount(byte));
        }
    }
    return ones;
}

// /sys shows the interfaces of the namespace in which it was mounted, so what it says is a hint, never a reason to refuse.
void ask_sysfs(NetInterface& i)
{
    namespace fs = std::filesystem;
    std::error_code ignored;
    const fs::path dir = fs::path{"/sys/class/net"} / i.name;
    long speed = -1;
    if (std::ifstream{dir / "speed"} >> speed && speed > 0 && speed < 100'000'000) {
        i.mbit_per_s = static_cast<unsigned>(speed);
    }
    i.driver = fs::read_symlink(dir / "device" / "driver", ignored).filename().string();
    if (!fs::is_directory(dir / "bridge", ignored)) {
        return;
    }
    i.inner_bridge = true;
    for (const auto& port : fs::directory_iterator{dir / "brif", ignored}) {
        if (fs::exists(fs::path{"/sys/class/net"} / port.path().filename() / "device", ignored)) {
            i.inner_bridge = false;
        }
    }
}

unsigned mtu_of(const Fd& any_socket, const std::string& name) noexcept
{
    ::ifreq request{};
    name.copy(request.ifr_name, sizeof request.ifr_name - 1);
    return ::ioctl(any_socket.get(), SIOCGIFMTU, &request) == 0 && request.ifr_mtu > 0 ? static_cast<unsigned>(request.ifr_mtu) : 0;
}

}   // namespace

Result<std::vector<NetInterface>> list_interfaces(const Log& log)
{
    ::ifaddrs* raw = nullptr;
    if (::getifaddrs(&raw) != 0) {
        return log_errno(log, "cannot list network interfaces (getifaddrs)", errno);
    }
    const std::unique_ptr<::ifaddrs, void (*)(::ifaddrs*)> list{raw, [](::ifaddrs* p) { ::freeifaddrs(p); }};
    const Fd any_socket{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    std::vector<NetInterface> found;
    for (const ::ifaddrs* a = list.get(); a != nullptr; a = a->ifa_next) {
        // "eth0:1" is an old way to write a second address of eth0.
        const std::string_view label{a->ifa_name};
        const std::string name{label.substr(0, label.find(':'))};
        auto it = std::find_if(found.begin(), found.end(), [&name](const NetInterface& i) { return i.name == name; });
        if (it == found.end()) {
            NetInterface i;
            i.name = name;
            i.index = ::if_nametoindex(name.c_str());
            i.up = (a->ifa_flags & IFF_UP) != 0;
            i.carrier = (a->ifa_flags & IFF_RUNNING) != 0;
            i.loopback = (a->ifa_flags & IFF_LOOPBACK) != 0;
            i.point_to_point = (a->ifa_flags & IFF_POINTOPOINT) != 0;
            i.mtu = mtu_of(any_socket, name);
            ask_sysfs(i);
            it = found.insert(found.end(), std::move(i));
        }
        if (const auto address = InetAddress::from_sockaddr(a->ifa_addr)) {
            it->addresses.push_back({*address, prefix_of(a->ifa_netmask)});
        }
    }
    std::stable_sort(found.begin(), found.end(), [](const NetInterface& a, const NetInterface& b) { return a.index < b.index; });
    return found;
}

}   // namespace linnet

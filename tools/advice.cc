// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Advice: one small rule per function.
#include "advice.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

namespace linnet::tools {
namespace {

using List = std::vector<Advice>;

// A frame of 1500 bytes takes 1.2 us at this rate, about what the kernel takes for it: from here on fewer, longer frames help.
constexpr unsigned kFastMbit = 10'000;
constexpr unsigned kPlainMtu = 1500;
// An interrupt that waits longer shows in the half round trip of a short message, some 10 us over a real network.
constexpr unsigned kLateInterruptUs = 8;
constexpr unsigned kSmallRing = 1024;
// What a window must hold at 10 Gbit/s and a millisecond, which a busy receiver easily takes.
constexpr std::int64_t kTcpWindow = 1 << 20;

std::optional<std::int64_t> number(std::string_view text)
{
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() ? std::optional{value} : std::nullopt;
}

const std::string* find(const HostFacts& facts, const char* name)
{
    const auto it = facts.sysctls.find(name);
    return it == facts.sysctls.end() ? nullptr : &it->second;
}

std::vector<std::string> words(const std::string& text)
{
    std::istringstream in{text};
    std::vector<std::string> out;
    for (std::string word; in >> word;) {
        out.push_back(word);
    }
    return out;
}

void at_least(List& list, const HostFacts& facts, const char* name, std::int64_t wanted, const char* why)
{
    const std::string* const text = find(facts, name);
    const auto value = text != nullptr ? number(*text) : std::nullopt;
    if (value && *value < wanted) {
        list.push_back({name, *text, std::string{"sysctl -w "} + name + "=" + std::to_string(wanted), why});
    }
}

// The third number of a triple: the most that the kernel gives a socket by itself.
void at_least_third(List& list, const HostFacts& facts, const char* name, const char* why)
{
    const std::string* const text = find(facts, name);
    const auto triple = text != nullptr ? words(*text) : std::vector<std::string>{};
    const auto value = triple.size() == 3 ? number(triple[2]) : std::nullopt;
    if (value && *value < kTcpWindow) {
        list.push_back({name, triple[2] + " at most",
                        std::string{"sysctl -w "} + name + "=\"" + triple[0] + " " + triple[1] + " " + std::to_string(4 * kTcpWindow) + "\"", why});
    }
}

void congestion_control(List& list, const HostFacts& facts, const Settings& settings)
{
    const std::string& wanted = settings.text(SettingId::kTcpCongestion);
    const std::string* const available = find(facts, "net.ipv4.tcp_available_congestion_control");
    if (wanted.empty() || available == nullptr) {
        return;
    }
    const auto has = [&wanted](const std::string* text) {
        const auto all = text != nullptr ? words(*text) : std::vector<std::string>{};
        return text == nullptr || std::find(all.begin(), all.end(), wanted) != all.end();
    };
    const std::string* const in_force = find(facts, "net.ipv4.tcp_congestion_control");
    const std::string now = in_force != nullptr ? *in_force : "?";
    const std::string why = "the setting tcp_congestion asks for " + wanted + "; where it cannot be had, the system's is used";
    if (!has(available)) {
        list.push_back({"net.ipv4.tcp_congestion_control", now, "modprobe tcp_" + wanted + ", or another tcp_congestion", why});
    } else if (facts.user != 0 && now != wanted && !has(find(facts, "net.ipv4.tcp_allowed_congestion_control"))) {
        list.push_back({"net.ipv4.tcp_congestion_control", now, "sysctl -w net.ipv4.tcp_allowed_congestion_control=\"... " + wanted + "\"", why});
    }
}

void kernel(List& list, const HostFacts& facts, const Settings& settings)
{
    at_least(list, facts, "net.core.rmem_max", static_cast<std::int64_t>(settings.size(SettingId::kUdpQueue)),
             "udp: a longer queue loses fewer datagrams of a burst (setting udp_queue)");
    at_least(list, facts, "net.core.wmem_max", static_cast<std::int64_t>(settings.size(SettingId::kUdpQueue)),
             "udp: a longer queue lets more be sent at a time (setting udp_queue)");
    at_least(list, facts, "net.core.somaxconn", settings.integer(SettingId::kTcpBacklog),
             "tcp: at the start of a job of many ranks connections wait to be accepted (setting tcp_backlog)");
    at_least_third(list, facts, "net.ipv4.tcp_rmem", "tcp: the window bounds the rate of long messages");
    at_least_third(list, facts, "net.ipv4.tcp_wmem", "tcp: what is on its way bounds the rate of long messages");
    congestion_control(list, facts, settings);
    if (const std::string* const idle = find(facts, "net.ipv4.tcp_slow_start_after_idle"); idle != nullptr && *idle == "1") {
        list.push_back({"net.ipv4.tcp_slow_start_after_idle", "1", "sysctl -w net.ipv4.tcp_slow_start_after_idle=0",
                        "tcp: after each phase of computing a connection begins slowly again"});
    }
    if (const std::string* const scope = find(facts, "kernel.yama.ptrace_scope"); scope != nullptr && *scope != "0") {
        list.push_back({"kernel.yama.ptrace_scope", *scope, "sysctl -w kernel.yama.ptrace_scope=0",
                        "shm: ranks may not read each other's memory, so long messages within the host are copied twice"});
    }
    if (const std::string* const groups = find(facts, "kernel.sched_autogroup_enabled"); groups != nullptr && *groups == "1") {
        list.push_back({"kernel.sched_autogroup_enabled", "1",
                        "if many more ranks run here than cores: sysctl -w kernel.sched_autogroup_enabled=0",
                        "with each rank in a session of its own, as MPICH starts them, one of many whose threads call in by turns may wait for a core "
                        "for a second or two (seen with Linux 6.18)"});
    }
    if (!facts.raw_sockets) {
        list.push_back({"CAP_NET_RAW", "missing", "setcap cap_net_raw+ep PROGRAM; docker run --cap-add NET_RAW; ambient capabilities from the launcher",
                        "eth: raw Ethernet frames need it"});
    }
}

void interface(List& list, const Nic& nic, bool polled_by_kernel)
{
    const NetInterface& i = nic.interface;
    const std::string& name = i.name;
    if (i.mbit_per_s >= kFastMbit && i.mtu != 0 && i.mtu <= kPlainMtu) {
        list.push_back({name, "MTU " + std::to_string(i.mtu), "ip link set " + name + " mtu 9000, on all hosts, if the switch passes such frames",
                        "at this rate the cost of each frame counts more than its bytes"});
    }
    if (nic.adaptive_rx || nic.rx_usecs.value_or(0) > kLateInterruptUs) {
        const std::string now = nic.adaptive_rx ? "adaptive" : std::to_string(*nic.rx_usecs) + " us";
        list.push_back({name, "receive interrupts wait: " + now, "ethtool -C " + name + " adaptive-rx off rx-usecs 0",
                        "short messages wait for the interrupt; more interrupts per second are the price"});
    }
    if (nic.rx_ring && nic.rx_ring_max && *nic.rx_ring < std::min(*nic.rx_ring_max, kSmallRing)) {
        const std::string longer = std::to_string(std::min(*nic.rx_ring_max, kSmallRing));
        list.push_back({name, "receive ring of " + std::to_string(*nic.rx_ring), "ethtool -G " + name + " rx " + longer,
                        "a burst from several senders finds no place and is lost"});
    }
    if (nic.device && !polled_by_kernel) {
        list.push_back({name, "net.core.busy_read 0", "worth a try: sysctl -w net.core.busy_read=50",
                        "tcp, udp: a rank that polls then asks the card itself instead of waiting for its interrupt, if the driver can"});
    }
}

}   // namespace

std::vector<Advice> advise(const HostFacts& facts, const std::vector<AddressVerdict>& addresses, const Settings& settings)
{
    List list;
    kernel(list, facts, settings);
    const std::string* const busy = find(facts, "net.core.busy_read");
    for (const Nic& nic : facts.nics) {
        const bool used = std::any_of(addresses.begin(), addresses.end(), [&](const AddressVerdict& v) { return v.used && v.interface == nic.interface.name; });
        if (used && !nic.interface.loopback) {
            interface(list, nic, busy == nullptr || *busy != "0");
        }
    }
    return list;
}

}   // namespace linnet::tools

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What linnet-info advises, and when it has nothing to say.
#include "advice.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace linnet::tools {
namespace {

// A host on which nothing needs to be changed: a fast card with long frames, immediate interrupts and a full ring.
HostFacts good_host()
{
    HostFacts f;
    f.raw_sockets = true;
    f.user = 1000;
    Nic nic;
    nic.interface.name = "eth0";
    nic.interface.mbit_per_s = 25'000;
    nic.interface.mtu = 9000;
    nic.device = true;
    nic.rx_usecs = 0;
    nic.rx_ring = 1024;
    nic.rx_ring_max = 8192;
    f.nics = {nic};
    f.sysctls = {{"net.core.rmem_max", "4194304"},
                 {"net.core.wmem_max", "4194304"},
                 {"net.core.busy_read", "50"},
                 {"net.core.somaxconn", "4096"},
                 {"net.ipv4.tcp_rmem", "4096\t131072\t33554432"},
                 {"net.ipv4.tcp_wmem", "4096\t16384\t4194304"},
                 {"net.ipv4.tcp_congestion_control", "cubic"},
                 {"net.ipv4.tcp_available_congestion_control", "reno cubic"},
                 {"net.ipv4.tcp_allowed_congestion_control", "reno cubic"},
                 {"net.ipv4.tcp_slow_start_after_idle", "0"},
                 {"kernel.yama.ptrace_scope", "0"},
                 {"kernel.sched_autogroup_enabled", "0"}};
    return f;
}

std::vector<AddressVerdict> addresses(bool used = true)
{
    AddressVerdict v;
    v.interface = "eth0";
    v.used = used;
    return {v};
}

std::vector<Advice> advice(const HostFacts& facts, bool used = true)
{
    const Settings settings;
    return advise(facts, addresses(used), settings);
}

// The single piece of advice that one change to the good host brings.
Advice only(const HostFacts& facts)
{
    const auto list = advice(facts);
    EXPECT_EQ(list.size(), 1u);
    return list.empty() ? Advice{} : list.front();
}

TEST(AdviceList, IsEmptyOnAHostThatIsSetUpWell) { EXPECT_TRUE(advice(good_host()).empty()); }

TEST(AdviceList, SaysNothingAboutWhatTheSystemDoesNotTell)
{
    HostFacts f = good_host();
    f.sysctls.clear();
    f.nics.front().rx_usecs.reset();
    f.nics.front().rx_ring.reset();
    f.nics.front().interface.mbit_per_s = 0;
    EXPECT_TRUE(advice(f).empty());
}

TEST(AdviceOnTheKernel, ShortQueuesAreNamedWithTheCommandThatLengthensThem)
{
    HostFacts f = good_host();
    f.sysctls["net.core.rmem_max"] = "212992";
    const Advice a = only(f);
    EXPECT_EQ(a.about, "net.core.rmem_max");
    EXPECT_EQ(a.now, "212992");
    EXPECT_EQ(a.change, "sysctl -w net.core.rmem_max=4194304");
}

TEST(AdviceOnTheKernel, NonsenseValuesAreIgnored)
{
    HostFacts f = good_host();
    f.sysctls["net.core.rmem_max"] = "many";
    f.sysctls["net.ipv4.tcp_rmem"] = "1 2";
    EXPECT_TRUE(advice(f).empty());
}

TEST(AdviceOnTheKernel, SmallTcpWindowKeepsItsFirstTwoNumbers)
{
    HostFacts f = good_host();
    f.sysctls["net.ipv4.tcp_wmem"] = "4096\t16384\t262144";
    EXPECT_EQ(only(f).change, "sysctl -w net.ipv4.tcp_wmem=\"4096 16384 4194304\"");
}

TEST(AdviceOnTheKernel, CongestionControlThatIsNotThereOrNotAllowed)
{
    HostFacts f = good_host();
    f.sysctls["net.ipv4.tcp_available_congestion_control"] = "reno bbr";
    f.sysctls["net.ipv4.tcp_congestion_control"] = "bbr";
    EXPECT_EQ(only(f).change, "modprobe tcp_cubic, or another tcp_congestion");
    f.sysctls["net.ipv4.tcp_available_congestion_control"] = "reno bbr cubic";
    f.sysctls["net.ipv4.tcp_allowed_congestion_control"] = "reno bbr";
    EXPECT_NE(only(f).change.find("tcp_allowed_congestion_control"), std::string::npos);
    f.user = 0;   // who may use any
    EXPECT_TRUE(advice(f).empty());
}

TEST(AdviceOnTheKernel, MemoryThatMayNotBeReadAndMissingCapability)
{
    HostFacts f = good_host();
    f.sysctls["kernel.yama.ptrace_scope"] = "1";
    EXPECT_EQ(only(f).about, "kernel.yama.ptrace_scope");
    f = good_host();
    f.raw_sockets = false;
    EXPECT_EQ(only(f).about, "CAP_NET_RAW");
}

TEST(AdviceOnTheKernel, GroupsOfTheSchedulerMatterWhereRanksOutnumberCores)
{
    HostFacts f = good_host();
    f.sysctls["kernel.sched_autogroup_enabled"] = "1";
    EXPECT_EQ(only(f).about, "kernel.sched_autogroup_enabled");
    EXPECT_EQ(only(f).change, "if many more ranks run here than cores: sysctl -w kernel.sched_autogroup_enabled=0");
}

TEST(AdviceOnAnInterface, ShortFramesOnAFastCard)
{
    HostFacts f = good_host();
    f.nics.front().interface.mtu = 1500;
    EXPECT_EQ(only(f).now, "MTU 1500");
    f.nics.front().interface.mbit_per_s = 1000;
    EXPECT_TRUE(advice(f).empty());
}

TEST(AdviceOnAnInterface, InterruptsThatWait)
{
    HostFacts f = good_host();
    f.nics.front().rx_usecs = 50;
    EXPECT_EQ(only(f).now, "receive interrupts wait: 50 us");
    f.nics.front().rx_usecs = 0;
    f.nics.front().adaptive_rx = true;
    EXPECT_EQ(only(f).now, "receive interrupts wait: adaptive");
}

TEST(AdviceOnAnInterface, RingThatCouldBeLonger)
{
    HostFacts f = good_host();
    f.nics.front().rx_ring = 256;
    f.nics.front().rx_ring_max = 512;
    EXPECT_EQ(only(f).change, "ethtool -G eth0 rx 512");
    f.nics.front().rx_ring_max = 256;   // it is as long as can be
    EXPECT_TRUE(advice(f).empty());
}

TEST(AdviceOnAnInterface, BusyReadOnlyWhereThereIsACard)
{
    HostFacts f = good_host();
    f.sysctls["net.core.busy_read"] = "0";
    EXPECT_EQ(only(f).about, "eth0");
    f.nics.front().device = false;
    EXPECT_TRUE(advice(f).empty());
}

TEST(AdviceOnAnInterface, NothingAboutOneThatIsNotUsed)
{
    HostFacts f = good_host();
    f.nics.front().rx_usecs = 50;
    EXPECT_TRUE(advice(f, false).empty());
}

}   // namespace
}   // namespace linnet::tools

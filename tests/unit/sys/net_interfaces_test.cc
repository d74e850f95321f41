// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Choice of interfaces on made-up hosts, and what the system says about this one.
#include "sys/net_interfaces.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "support/test_log.h"
#include "sys/tcp_socket.h"

namespace linnet {
namespace {

// As conf/setting_table.h has it by default.
constexpr const char* kDefaultExclude = "lo,docker*,podman*,br-????????????,lxcbr*,lxdbr*,virbr*,cni*,flannel*,cali*,kube-*,tun*,wg*";

struct Made {
    NetInterface i;
    Made(const char* name, std::initializer_list<const char*> addresses)
    {
        i.name = name;
        i.up = i.carrier = true;
        for (const char* a : addresses) {
            i.addresses.push_back({*InetAddress::parse(a), 24});
        }
    }
    Made& down() { i.up = i.carrier = false; return *this; }
    Made& no_carrier() { i.carrier = false; return *this; }
    Made& loopback() { i.loopback = true; return *this; }
    Made& tunnel() { i.point_to_point = true; return *this; }
    Made& bridge() { i.inner_bridge = true; return *this; }
    Made& speed(unsigned mbit) { i.mbit_per_s = mbit; return *this; }
};

std::vector<AddressVerdict> choose(const std::vector<Made>& host, const char* include = "", const char* exclude = kDefaultExclude)
{
    std::vector<NetInterface> interfaces;
    for (const Made& m : host) {
        interfaces.push_back(m.i);
    }
    InterfaceRules in;
    InterfaceRules ex;
    std::string error;
    EXPECT_TRUE(in.parse(include, error)) << error;
    EXPECT_TRUE(ex.parse(exclude, error)) << error;
    return choose_addresses(interfaces, in, ex);
}

std::vector<std::string> lines(const std::vector<AddressVerdict>& verdicts)
{
    std::vector<std::string> out;
    for (const AddressVerdict& v : verdicts) {
        out.push_back(v.line());
    }
    return out;
}

using Lines = std::vector<std::string>;

const Made kLo = Made{"lo", {"127.0.0.1", "::1"}}.loopback();

// ---- rules ----

TEST(InterfaceRules, NamesMayHaveWildcards)
{
    InterfaceRules rules;
    std::string error;
    ASSERT_TRUE(rules.parse(" eth? , br-*-x,ib0", error));
    const InetAddress none;
    for (const char* yes : {"eth0", "eth9", "br--x", "br-a-b-x", "ib0"}) {
        EXPECT_NE(rules.covering(yes, none), nullptr) << yes;
    }
    for (const char* no : {"eth", "eth10", "br-x", "br-a-xy", "ib01", ""}) {
        EXPECT_EQ(rules.covering(no, none), nullptr) << no;
    }
}

TEST(InterfaceRules, NetworksCoverTheirAddresses)
{
    InterfaceRules rules;
    std::string error;
    ASSERT_TRUE(rules.parse("10.1.0.0/16,192.168.4.7,fd00:1::/33,0.0.0.0/0", error)) << error;
    EXPECT_EQ(*rules.covering("x", *InetAddress::parse("10.1.255.255")), "10.1.0.0/16");
    EXPECT_EQ(*rules.covering("x", *InetAddress::parse("192.168.4.7")), "192.168.4.7");
    EXPECT_EQ(*rules.covering("x", *InetAddress::parse("10.2.0.1")), "0.0.0.0/0");
    EXPECT_EQ(*rules.covering("x", *InetAddress::parse("fd00:1:7fff::1")), "fd00:1::/33");
    EXPECT_EQ(rules.covering("x", *InetAddress::parse("fd00:1:8000::1")), nullptr);
}

TEST(InterfaceRules, AddressOfAnInterfaceThatCannotBeIsNoNameOfOne)
{
    InterfaceRules rules;
    std::string error;
    EXPECT_TRUE(rules.parse("fe80::1%1", error)) << error;
    for (const std::string wrong : {"fe80::1%4000000000", "fe80::1%nosuch", "fd00::1%1", "10.1.0.2%1", "eth0%1"}) {
        error.clear();
        EXPECT_FALSE(rules.parse(wrong, error)) << wrong;
        EXPECT_EQ(error, "'" + wrong + "' is not a link-local IPv6 address and an interface of this host");
    }
    EXPECT_FALSE(rules.parse("fe80::1%4000000000/64", error));
}

TEST(InterfaceRules, WrongEntriesAreNamedAndChangeNothing)
{
    InterfaceRules rules;
    std::string error;
    ASSERT_TRUE(rules.parse("eth0", error));
    for (const char* wrong : {"eth0,10.0.0.0/33", "10.0.0.0/", "10.0.0.0/x", "10.0.0.0/8x", "eth0/24", "fd00::/129", "10.0.0/8", "/8", "10.0.0.0/-1"}) {
        error.clear();
        EXPECT_FALSE(rules.parse(wrong, error)) << wrong;
        EXPECT_NE(error.find("is not a network"), std::string::npos) << error;
    }
    EXPECT_NE(rules.covering("eth0", {}), nullptr);
    EXPECT_TRUE(rules.parse(",, ,", error));
    EXPECT_TRUE(rules.empty());
}

// ---- choice ----

// Both hosts of a pair have 172.17.0.1: a peer that is given it would talk to itself.
TEST(ChooseAddresses, ContainerAndVirtualMachineBridgesAreRefused)
{
    const auto v = choose({kLo, Made{"docker0", {"172.17.0.1"}}.bridge(), Made{"virbr0", {"192.168.122.1"}}.bridge(), Made{"eth0", {"10.1.0.2"}},
                           Made{"br-0123456789ab", {"172.18.0.1"}}.bridge()});
    EXPECT_EQ(lines(v), (Lines{
                            "eth0 10.1.0.2: used: usable, contact address",
                            "lo 127.0.0.1: refused: net_exclude lo",
                            "lo ::1: refused: net_exclude lo",
                            "docker0 172.17.0.1: refused: net_exclude docker*",
                            "virbr0 192.168.122.1: refused: net_exclude virbr*",
                            "br-0123456789ab 172.18.0.1: refused: net_exclude br-????????????",
                        }));
}

TEST(ChooseAddresses, DownWithoutCarrierAndWithoutAddressAreRefusedEvenWhenIncluded)
{
    const auto v = choose({Made{"eth0", {"10.1.0.2"}}.down(), Made{"eth1", {"10.2.0.2"}}.no_carrier(), Made{"eth2", {}}, Made{"eth3", {"10.4.0.2"}}}, "eth*");
    EXPECT_EQ(lines(v), (Lines{
                            "eth3 10.4.0.2: used: net_include eth*, contact address",
                            "eth0 10.1.0.2: refused: interface is down",
                            "eth1 10.2.0.2: refused: no carrier",
                            "eth2: refused: no address",
                        }));
}

TEST(ChooseAddresses, TunnelsAreRefusedByNameAndLastByKind)
{
    EXPECT_FALSE(choose({Made{"tun0", {"10.8.0.1"}}.tunnel()})[0].used);
    const auto v = choose({Made{"ppp0", {"10.9.0.1"}}.tunnel(), Made{"eth0", {"10.1.0.2"}}});
    EXPECT_EQ(v[0].interface, "eth0");
    EXPECT_TRUE(v[1].used);
}

TEST(ChooseAddresses, UnknownInnerBridgeComesAfterRealNetworks)
{
    const auto v = choose({Made{"br1", {"192.168.5.1"}}.bridge(), Made{"ppp0", {"10.9.0.1"}}.tunnel(), Made{"br0", {"10.1.0.2"}}});
    EXPECT_EQ(v[0].interface, "br0") << "a bridge with a physical port is a network like any other";
    EXPECT_EQ(v[1].interface, "ppp0");
    EXPECT_EQ(v[2].interface, "br1");
}

TEST(ChooseAddresses, FasterInterfaceWinsOnlyWhenBothSpeedsAreKnown)
{
    const auto fast = choose({Made{"eth0", {"10.1.0.2"}}.speed(1000), Made{"eth1", {"10.2.0.2"}}.speed(25000), Made{"eth2", {"10.3.0.2"}}.speed(10000)});
    EXPECT_EQ(fast[0].interface, "eth1");
    EXPECT_EQ(fast[1].interface, "eth2");
    EXPECT_EQ(fast[2].interface, "eth0");
    const auto unknown = choose({Made{"eth0", {"10.1.0.2"}}, Made{"eth1", {"10.2.0.2"}}.speed(25000)});
    EXPECT_EQ(unknown[0].interface, "eth0");
}

// "Faster when both are known" is no order: a sort that trusts it could do anything. Every rotation must name some contact address and lose nobody.
TEST(ChooseAddresses, CyclicPreferencesLoseNobody)
{
    std::vector<Made> host{Made{"a", {"fd00::1"}}.speed(1000), Made{"b", {"10.2.0.2"}}, Made{"c", {"fd00::3"}}.speed(10000),
                           Made{"d", {"10.4.0.2"}}.speed(100)};
    for (std::size_t turn = 0; turn < host.size(); ++turn) {
        std::rotate(host.begin(), host.begin() + 1, host.end());
        const auto v = choose(host);
        ASSERT_EQ(v.size(), 4u);
        EXPECT_EQ(std::count_if(v.begin(), v.end(), [](const AddressVerdict& x) { return x.used; }), 4);
    }
}

TEST(ChooseAddresses, SeveralAddressesOfOneInterfaceAreAllUsedInOrder)
{
    const auto v = choose({Made{"bond0", {"10.1.0.2", "10.1.0.3", "10.2.0.2", "fd00::2"}}});
    EXPECT_EQ(lines(v), (Lines{
                            "bond0 10.1.0.2: used: usable, contact address",
                            "bond0 10.1.0.3: used: usable",
                            "bond0 10.2.0.2: used: usable",
                            "bond0 fd00::2: used: usable",
                        }));
}

TEST(ChooseAddresses, IncludeByNetworkPicksAmongTheAddressesOfOneInterface)
{
    const auto v = choose({kLo, Made{"bond0", {"10.1.0.2", "10.2.0.2"}}}, "10.2.0.0/16");
    EXPECT_EQ(v[0].line(), "bond0 10.2.0.2: used: net_include 10.2.0.0/16, contact address");
    EXPECT_EQ(v[1].line(), "lo 127.0.0.1: refused: not in net_include");
}

TEST(ChooseAddresses, IncludeOverridesExclude)
{
    EXPECT_TRUE(choose({Made{"docker0", {"172.17.0.1"}}}, "docker0")[0].used);
    EXPECT_TRUE(choose({kLo, Made{"eth0", {"10.1.0.2"}}}, "lo")[0].address.loopback());
}

TEST(ChooseAddresses, HostWithIpv6OnlyUsesItWithoutLinkLocal)
{
    const auto v = choose({kLo, Made{"eth0", {"fe80::1", "fd00::2", "2001:db8::2"}}});
    EXPECT_EQ(v[0].line(), "eth0 fd00::2: used: usable, contact address");
    EXPECT_EQ(v[1].line(), "eth0 2001:db8::2: used: usable");
    const Lines all = lines(v);
    EXPECT_NE(std::find(all.begin(), all.end(), "eth0 fe80::1: refused: link-local address, which net_include does not name"), all.end());
}

TEST(ChooseAddresses, LinkLocalAddressThatIsExcludedSaysSo)
{
    const auto v = choose({Made{"eth0", {"fe80::1", "fd00::2"}}}, "", "fe80::/10");
    EXPECT_EQ(v[1].line(), "eth0 fe80::1: refused: net_exclude fe80::/10");
}

TEST(ChooseAddresses, LinkLocalAddressesAreUsedWhereTheyAreNamedAndComeLast)
{
    const std::vector<Made> host{kLo, Made{"eth0", {"fe80::1%1", "fd00::2", "169.254.3.4"}}, Made{"eth1", {"fe80::1%2", "10.1.0.2"}}};
    const auto used = [&host](const char* include) {
        Lines out;
        for (const AddressVerdict& v : choose(host, include)) {
            if (v.used) {
                out.push_back(v.interface + " " + v.address.host_text());
            }
        }
        return out;
    };
    EXPECT_EQ(used("eth0"), Lines{"eth0 fd00::2"}) << "nobody means them by the name of an interface";
    EXPECT_EQ(used("::/0"), (Lines{"lo ::1", "eth0 fd00::2"}));
    EXPECT_EQ(used("eth0,fe80::/10").size(), 3u);
    EXPECT_EQ(used("eth0,fe80::/10").front(), "eth0 fd00::2");
    EXPECT_EQ(used("fe80::1%2").size(), 1u);
    EXPECT_EQ(used("169.254.0.0/16"), Lines{"eth0 169.254.3.4"});
}

TEST(ChooseAddresses, Ipv4ComesBeforeIpv6OfTheSameInterface)
{
    EXPECT_TRUE(choose({Made{"eth0", {"fd00::2", "10.1.0.2"}}})[0].address.is_v4());
}

TEST(ChooseAddresses, LoopbackIsTheLastResort)
{
    const auto v = choose({kLo, Made{"docker0", {"172.17.0.1"}}});
    EXPECT_EQ(v[0].line(), "lo 127.0.0.1: used: nothing else is usable, so only peers on this host can be reached, contact address");
    EXPECT_TRUE(v[1].used);
    EXPECT_FALSE(v[2].used);
}

TEST(ChooseAddresses, NoInterfaceAtAllGivesNothing)
{
    EXPECT_TRUE(choose({}).empty());
    const auto v = choose({Made{"eth0", {"10.1.0.2"}}}, "eth7");
    ASSERT_EQ(v.size(), 1u);
    EXPECT_FALSE(v[0].used);
}

// ---- this machine ----

TEST(ListInterfaces, LoopbackIsThereWithItsAddress)
{
    const auto list = list_interfaces(testing::test_log());
    ASSERT_TRUE(list.ok());
    const auto lo = std::find_if(list->begin(), list->end(), [](const NetInterface& i) { return i.loopback; });
    ASSERT_NE(lo, list->end());
    if (!lo->up) {
        GTEST_SKIP() << "loopback is down here";
    }
    EXPECT_TRUE(lo->carrier);
    EXPECT_TRUE(std::any_of(lo->addresses.begin(), lo->addresses.end(),
                            [](const InterfaceAddress& a) { return a.address.host_text() == "127.0.0.1" && a.prefix == 8; }));
}

TEST(RouteSource, BroadcastLeadsToNoPeerAndLoopbackToItself)
{
    int error = 0;
    EXPECT_EQ(route_source(*InetAddress::parse("255.255.255.255"), error).family(), AF_UNSPEC);
    EXPECT_NE(error, 0);
    EXPECT_TRUE(route_source(*InetAddress::parse("127.0.0.1"), error).loopback());
    EXPECT_EQ(error, 0);
}

}   // namespace
}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// InetAddress: text, sockaddr and back, kinds, networks.
#include "sys/inet_address.h"

#include <gtest/gtest.h>

namespace linnet {
namespace {

TEST(InetAddress, ParsesNumbersAndNothingElse)
{
    EXPECT_EQ(InetAddress::parse("10.1.0.2", 7)->text(), "10.1.0.2 port 7");
    EXPECT_EQ(InetAddress::parse("fd00::2", 7)->text(), "fd00::2 port 7");
    for (const char* wrong : {"", "localhost", "10.1.0", "10.1.0.256", "fd00:::1", "10.1.0.2 ", "0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000"}) {
        EXPECT_FALSE(InetAddress::parse(wrong)) << wrong;
    }
}

TEST(InetAddress, LinkLocalAddressMaySayItsInterface)
{
    const InetAddress a = *InetAddress::parse("fe80::2%lo", 7);
    EXPECT_EQ(a.scope(), 1u);
    EXPECT_EQ(a.text(), "fe80::2%lo port 7");
    EXPECT_EQ(InetAddress::parse("fe80::2%1")->host_text(), "fe80::2%lo");
    EXPECT_EQ(InetAddress::parse("fe80::2%4711")->host_text(), "fe80::2%4711") << "of another time, or another host";
    for (const char* wrong : {"fe80::2%", "fe80::2%0", "fe80::2%nosuchinterface0", "fe80::2%nosuch", "fd00::2%lo", "10.1.0.2%lo", "169.254.1.1%lo", "%lo",
                              "fe80::2%lo%lo", "fe80::2%2147483648", "fe80::2%4000000000", "fe80::2%4294967295", "fe80::2%4294967296",
                              "fe80::2%4294967297", "fe80::2%18446744073709551617", "fe80::2%-1", "fe80::2%+1", "fe80::2% 1", "fe80::2%1 ", "fe80::2%0x1"}) {
        EXPECT_FALSE(InetAddress::parse(wrong)) << wrong;
    }
    EXPECT_TRUE(a.interface_is_here());
    EXPECT_TRUE(InetAddress::parse("fe80::2")->interface_is_here());
    EXPECT_FALSE(InetAddress::parse("fe80::2%2147483647")->interface_is_here());
    sockaddr_storage storage;
    a.to_sockaddr(storage);
    EXPECT_EQ(reinterpret_cast<const sockaddr_in6&>(storage).sin6_scope_id, 1u);
    EXPECT_EQ(InetAddress::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage))->scope(), 1u);
    EXPECT_FALSE(a.same_host(*InetAddress::parse("fe80::2%2")));
    EXPECT_TRUE(a.same_host(*InetAddress::parse("fe80::2"))) << "which may be meant";
    EXPECT_TRUE(a.in_network(*InetAddress::parse("fe80::"), 10));
    EXPECT_FALSE(a.in_network(*InetAddress::parse("fe80::%2"), 10));
}

TEST(InetAddress, SockaddrAndBackIsTheSame)
{
    for (const char* text : {"10.1.0.2", "fd00::2"}) {
        const InetAddress a = *InetAddress::parse(text, 40000);
        sockaddr_storage storage;
        EXPECT_EQ(a.to_sockaddr(storage), a.is_v4() ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
        const auto b = InetAddress::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage));
        ASSERT_TRUE(b);
        EXPECT_TRUE(a.same_host(*b));
        EXPECT_EQ(b->port(), 40000);
    }
}

TEST(InetAddress, MappedAddressBecomesIpv4)
{
    sockaddr_storage storage;
    InetAddress::parse("::ffff:10.1.0.2", 9)->to_sockaddr(storage);
    EXPECT_EQ(InetAddress::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage))->text(), "10.1.0.2 port 9");
}

TEST(InetAddress, OtherFamiliesAreNothing)
{
    sockaddr other{};
    other.sa_family = AF_UNIX;
    EXPECT_FALSE(InetAddress::from_sockaddr(&other));
    EXPECT_FALSE(InetAddress::from_sockaddr(nullptr));
    EXPECT_EQ(InetAddress{}.host_text(), "no address");
}

TEST(InetAddress, KindsAreTold)
{
    EXPECT_TRUE(InetAddress::parse("127.8.0.1")->loopback());
    EXPECT_TRUE(InetAddress::parse("::1")->loopback());
    EXPECT_FALSE(InetAddress::parse("::2")->loopback());
    EXPECT_TRUE(InetAddress::parse("169.254.3.4")->link_local());
    EXPECT_TRUE(InetAddress::parse("fe80::1")->link_local());
    EXPECT_TRUE(InetAddress::parse("febf::1")->link_local());
    EXPECT_FALSE(InetAddress::parse("fec0::1")->link_local());
    for (const char* const host : {"10.1.0.2", "127.0.0.1", "223.255.255.255", "240.0.0.1", "::1", "fe80::1", "2001:db8::1"}) {
        EXPECT_TRUE(InetAddress::parse(host)->unicast()) << host;
    }
    for (const char* const none : {"0.0.0.0", "224.0.0.1", "239.255.0.1", "255.255.255.255", "::", "ff02::1"}) {
        EXPECT_FALSE(InetAddress::parse(none)->unicast()) << none;
    }
}

TEST(InetAddress, NetworksAreComparedByTheirPrefix)
{
    const InetAddress net = *InetAddress::parse("10.1.128.0");
    EXPECT_TRUE(InetAddress::parse("10.1.200.1")->in_network(net, 17));
    EXPECT_FALSE(InetAddress::parse("10.1.127.1")->in_network(net, 17));
    EXPECT_TRUE(InetAddress::parse("99.0.0.1")->in_network(net, 0));
    EXPECT_TRUE(net.in_network(net, 32));
    EXPECT_FALSE(net.in_network(net, 33));
    EXPECT_FALSE(InetAddress::parse("::1")->in_network(net, 0));
}

}   // namespace
}   // namespace linnet

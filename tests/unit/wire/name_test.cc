// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoint names: golden bytes of docs/wire-protocol.md section 2, room for addresses, and what is no name.
#include "wire/name.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "support/hex.h"
#include "support/seed.h"

namespace linnet::wire {
namespace {

using testing::hex_of;

NameAddress v4(std::uint8_t last) { return {AddressFamily::kIpv4, {10, 1, 0, last}}; }
NameAddress v6(std::uint8_t last)
{
    NameAddress a{AddressFamily::kIpv6, {0xfd}};
    a.bytes[15] = last;
    return a;
}

TEST(Name, GoldenBytes)
{
    EndpointName n;
    n.port.set(0x1234);
    n.endpoint_id.set(0x0102030405060708);
    n.incarnation.set(0x61626364);
    n.secret.fill(0x55);
    EXPECT_TRUE(add_address(n, {AddressFamily::kIpv4, {127, 0, 0, 1}}));
    EXPECT_TRUE(add_address(n, v6(9)));
    EXPECT_EQ(hex_of(n),
              "01" "02" "1234" "64636261" "0807060504030201" "55555555555555555555555555555555"
              "7f000001" "fd000000000000000000000000000009" "000000000000000000000000");
}

TEST(Name, GoldenBytesOfAnEthernetContact)
{
    EndpointName n;
    EtherContact contact;
    contact.endpoint.set(0xa1b2);
    contact.mac = {2, 0x4c, 1, 2, 3, 4};
    EXPECT_TRUE(add_address(n, v4(7)));
    EXPECT_TRUE(add_address(n, v4(8), contact));
    EXPECT_EQ(n.kinds, 0x40);
    EXPECT_EQ(hex_of(n.addresses), "0a010007" "0a010008" "a1b2024c01020304" "00000000000000000000000000000000");
    const NameAddresses got{n};
    ASSERT_EQ(got.size(), 2u);
    EXPECT_FALSE(got.contact(0).present());
    EXPECT_EQ(got.contact(1).endpoint.get(), 0xa1b2);
    EXPECT_EQ(got.contact(1).mac, contact.mac);
    EXPECT_EQ(got[1], v4(8));
}

TEST(Name, ContactsOfInterfacesShareTheRoomWithAddresses)
{
    EndpointName n;
    EtherContact contact;
    contact.endpoint.set(1);
    EXPECT_TRUE(add_address(n, v6(1), contact));
    EXPECT_FALSE(add_address(n, v4(2), contact)) << "8 bytes are left";
    EXPECT_TRUE(add_address(n, v4(2)));
    EXPECT_TRUE(add_address(n, v4(3)));
    EXPECT_FALSE(add_address(n, v4(4)));
    const NameAddresses got{n};
    ASSERT_EQ(got.size(), 3u);
    EXPECT_EQ(got[0], v6(1));
    EXPECT_EQ(got[2], v4(3));
    EXPECT_TRUE(got.contact(0).present());
    EXPECT_FALSE(got.contact(1).present() || got.contact(2).present());
    EndpointName full;
    for (std::uint8_t i = 1; i <= 3; ++i) {
        EXPECT_TRUE(add_address(full, v4(i)));
    }
    EXPECT_FALSE(add_address(full, v4(4), contact)) << "only the first three can have one";
}

TEST(Name, KeepsItsAddressesInOrderUntilItIsFull)
{
    const auto fill = [](std::vector<NameAddress> wanted, std::size_t expected) {
        EndpointName n;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            EXPECT_EQ(add_address(n, wanted[i]), i < expected) << i;
        }
        const NameAddresses got{n};
        wanted.resize(expected);
        EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()));
    };
    fill({}, 0);
    fill({v4(1), v4(2), v4(3), v4(4), v4(5), v4(6), v4(7), v4(8), v4(9)}, 8);
    fill({v6(1), v6(2), v4(3)}, 2);
    fill({v4(1), v6(2), v4(3), v4(4), v4(5), v4(6)}, 5);
    fill({v4(1), v4(2), v4(3), v4(4), v6(5), v6(6)}, 5);
    EndpointName n;
    EXPECT_FALSE(add_address(n, {AddressFamily::kIpv6, {}})) << "no address at all";
}

// What a peer sends: any bytes are some list, or none.
TEST(Name, ReadsAnyBytesWithinTheirBounds)
{
    std::mt19937_64 random{testing::test_seed(4)};
    for (int i = 0; i < 20'000; ++i) {
        EndpointName n;
        n.kinds = static_cast<std::uint8_t>(random());
        for (std::uint8_t& b : n.addresses) {
            b = random() % 3 == 0 ? 0 : static_cast<std::uint8_t>(random());
        }
        const NameAddresses got{n};
        ASSERT_LE(got.size(), kNameAddressesMax);
        ASSERT_LE(got.used_bytes(), kNameAddressBytes);
    }
}

TEST(DecodeName, RefusesWhatIsNoName)
{
    EndpointName n;
    n.endpoint_id.set(1);
    const auto decode = [&n](std::size_t bytes = kNameBytes) { return decode_name(std::as_bytes(std::span{&n, 1}).first(bytes)); };
    ASSERT_TRUE(decode().ok());
    EXPECT_EQ(hex_of(*decode()), hex_of(n));
    for (std::size_t bytes = 0; bytes < kNameBytes; ++bytes) {
        EXPECT_EQ(decode(bytes).status(), Status::kInvalid) << bytes;
    }
    n.version = 2;
    EXPECT_EQ(decode().status(), Status::kInvalid);
    n.version = kNameVersion;
    n.endpoint_id.set(0);
    EXPECT_EQ(decode().status(), Status::kInvalid);
}

}   // namespace
}   // namespace linnet::wire

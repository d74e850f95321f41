// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SipHash by its authors' vectors; hellos by golden bytes; what must be refused is refused.
#include "session/handshake.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "support/seed.h"
#include "support/session_node.h"

namespace linnet::session {
namespace {

using testing::make_name;

std::string hex(std::span<const std::byte> bytes)
{
    std::string s;
    for (const std::byte b : bytes) {
        constexpr const char* kDigits = "0123456789abcdef";
        s += kDigits[std::to_integer<unsigned>(b) >> 4];
        s += kDigits[std::to_integer<unsigned>(b) & 15];
    }
    return s;
}

// Key 00..0f, input 00..n-1: rows of the authors' table of 128-bit outputs.
TEST(SipHash, AgreesWithThePublishedVectors)
{
    const std::pair<std::size_t, const char*> rows[] = {
        {0, "a3817f04ba25a8e66df67214c7550293"},  {1, "da87c1d86b99af44347659119b22fc45"},  {7, "a1f1ebbed8dbc153c0b84aa61ff08239"},
        {8, "3b62a9ba6258f5610f83e264f31497b4"},  {9, "264499060ad9baabc47f8b02bb6d71ed"},  {15, "5493e99933b0a8117e08ec0f97cfc3d9"},
        {16, "6ee2a4ca67b054bbfd3315bf85230577"}, {33, "77c6077146f01c32b6b69d5f4ea9ffcf"}, {63, "5150d1772f50834a503e069a973fbd7c"},
    };
    SipKey key;
    std::array<std::byte, 64> in;
    for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<std::byte>(i);
        if (i < key.size()) {
            key[i] = static_cast<std::uint8_t>(i);
        }
    }
    for (const auto& [n, expected] : rows) {
        const SipTag tag = siphash128(key, std::span{in}.first(n));
        EXPECT_EQ(hex(std::as_bytes(std::span{tag})), expected) << n << " bytes";
    }
}

TEST(Epochs, AreOrderedByNumberThenByTheSmallerOpener)
{
    EXPECT_TRUE(newer({2, 9}, {1, 1}));
    EXPECT_FALSE(newer({1, 1}, {2, 9}));
    EXPECT_TRUE(newer({0, 9}, {0xffffffffu, 1}));
    EXPECT_TRUE(newer({3, 1}, {3, 2}));
    EXPECT_FALSE(newer({3, 2}, {3, 1}));
    EXPECT_FALSE(newer({3, 2}, {3, 2}));
}

TEST(Numbers, LeaveOutZeroWhenTheyWrap)
{
    EXPECT_EQ(next_number(0), 1u);
    EXPECT_EQ(next_number(0xfffffffeu), 0xffffffffu);
    EXPECT_EQ(next_number(0xffffffffu), 1u);
    EXPECT_TRUE(after(1, 0xffffffffu));
    EXPECT_FALSE(after(0xffffffffu, 1));
}

wire::NameAddress v4(std::uint8_t last) { return {wire::AddressFamily::kIpv4, {10, 1, 0, last}}; }
wire::NameAddress v6(std::uint8_t last)
{
    wire::NameAddress a{wire::AddressFamily::kIpv6, {0xfd}};
    a.bytes[15] = last;
    return a;
}

TEST(Name, GoldenBytes)
{
    wire::EndpointName n = make_name(0x1234, 0x0102030405060708u, 0x55);
    n.incarnation.set(0x61626364);
    EXPECT_TRUE(wire::add_address(n, v6(9)));
    EXPECT_EQ(hex(std::as_bytes(std::span{&n, 1})),
              "01" "02" "1234" "64636261" "0807060504030201" "55555555555555555555555555555555"
              "7f000001" "fd000000000000000000000000000009" "000000000000000000000000");
}

TEST(Name, GoldenBytesOfAnEthernetContact)
{
    wire::EndpointName n;
    wire::EtherContact contact;
    contact.endpoint.set(0xa1b2);
    contact.mac = {2, 0x4c, 1, 2, 3, 4};
    EXPECT_TRUE(wire::add_address(n, v4(7)));
    EXPECT_TRUE(wire::add_address(n, v4(8), contact));
    EXPECT_EQ(n.kinds, 0x40);
    EXPECT_EQ(hex(std::as_bytes(std::span{n.addresses})), "0a010007" "0a010008" "a1b2024c01020304" "00000000000000000000000000000000");
    const wire::NameAddresses got{n};
    ASSERT_EQ(got.size(), 2u);
    EXPECT_FALSE(got.contact(0).present());
    EXPECT_EQ(got.contact(1).endpoint.get(), 0xa1b2);
    EXPECT_EQ(got.contact(1).mac, contact.mac);
    EXPECT_EQ(got[1], v4(8));
}

TEST(Name, ContactsOfInterfacesShareTheRoomWithAddresses)
{
    wire::EndpointName n;
    wire::EtherContact contact;
    contact.endpoint.set(1);
    EXPECT_TRUE(wire::add_address(n, v6(1), contact));
    EXPECT_FALSE(wire::add_address(n, v4(2), contact)) << "8 bytes are left";
    EXPECT_TRUE(wire::add_address(n, v4(2)));
    EXPECT_TRUE(wire::add_address(n, v4(3)));
    EXPECT_FALSE(wire::add_address(n, v4(4)));
    const wire::NameAddresses got{n};
    ASSERT_EQ(got.size(), 3u);
    EXPECT_EQ(got[0], v6(1));
    EXPECT_EQ(got[2], v4(3));
    EXPECT_TRUE(got.contact(0).present());
    EXPECT_FALSE(got.contact(1).present() || got.contact(2).present());
    wire::EndpointName full;
    for (std::uint8_t i = 1; i <= 3; ++i) {
        EXPECT_TRUE(wire::add_address(full, v4(i)));
    }
    EXPECT_FALSE(wire::add_address(full, v4(4), contact)) << "only the first three can have one";
}

TEST(Name, KeepsItsAddressesInOrderUntilItIsFull)
{
    const auto fill = [](std::vector<wire::NameAddress> wanted, std::size_t expected) {
        wire::EndpointName n;
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            EXPECT_EQ(wire::add_address(n, wanted[i]), i < expected) << i;
        }
        const wire::NameAddresses got{n};
        wanted.resize(expected);
        EXPECT_TRUE(std::equal(got.begin(), got.end(), wanted.begin(), wanted.end()));
    };
    fill({}, 0);
    fill({v4(1), v4(2), v4(3), v4(4), v4(5), v4(6), v4(7), v4(8), v4(9)}, 8);
    fill({v6(1), v6(2), v4(3)}, 2);
    fill({v4(1), v6(2), v4(3), v4(4), v4(5), v4(6)}, 5);
    fill({v4(1), v4(2), v4(3), v4(4), v6(5), v6(6)}, 5);
    wire::EndpointName n;
    EXPECT_FALSE(wire::add_address(n, {wire::AddressFamily::kIpv6, {}})) << "no address at all";
}

// What a peer sends: any bytes are some list, or none.
TEST(Name, ReadsAnyBytesWithinTheirBounds)
{
    std::mt19937_64 random{testing::test_seed(4)};
    for (int i = 0; i < 20'000; ++i) {
        wire::EndpointName n;
        n.kinds = static_cast<std::uint8_t>(random());
        for (std::uint8_t& b : n.addresses) {
            b = random() % 3 == 0 ? 0 : static_cast<std::uint8_t>(random());
        }
        const wire::NameAddresses got{n};
        ASSERT_LE(got.size(), wire::kNameAddressesMax);
        ASSERT_LE(got.used_bytes(), wire::kNameAddressBytes);
    }
}

class Handshake : public ::testing::Test {
protected:
    Handshake()
    {
        ours.role = LinkRole::kLane;
        ours.opener_nonce.fill(0x11);
        ours.epoch = {5, opener.endpoint_id.get()};
        hello_bytes = write_hello(ours, acceptor, opener, 41, hello);
    }
    std::span<const std::byte> sent() const { return std::span{hello}.first(hello_bytes); }
    Status read(std::span<const std::byte> in, bool allow_by_address = true)
    {
        Attempt a;
        const auto seen = read_hello(a, acceptor, allow_by_address, in, reason);
        return seen.status();
    }

    wire::EndpointName opener = make_name(1001, 0x0102030405060708u, 7);
    wire::EndpointName acceptor = make_name(1002, 0x1112131415161718u, 9);
    Attempt ours;
    std::array<std::byte, kMaxHelloBytes> hello{};
    std::size_t hello_bytes{0};
    wire::RejectReason reason{};
};

TEST_F(Handshake, CarriesNamesNumbersAndEpochBothWays)
{
    Attempt theirs;
    const auto seen = read_hello(theirs, acceptor, false, sent(), reason);
    ASSERT_TRUE(seen.ok());
    EXPECT_EQ(std::memcmp(&seen->opener, &opener, sizeof opener), 0);
    EXPECT_FALSE(seen->by_address);
    EXPECT_EQ(theirs.peer_received, 41u);
    EXPECT_EQ(theirs.epoch.number, 5u);
    EXPECT_EQ(theirs.epoch.opener, opener.endpoint_id.get());
    theirs.acceptor_nonce.fill(0x22);
    std::array<std::byte, kMaxHelloBytes> welcome;
    const std::size_t n = write_welcome(theirs, acceptor, 77, welcome);
    const auto answer = read_welcome(ours, acceptor.endpoint_id.get(), std::span{welcome}.first(n));
    ASSERT_TRUE(answer.ok());
    EXPECT_FALSE(answer->rejected);
    EXPECT_TRUE(same_public(answer->acceptor, acceptor));
    EXPECT_EQ(answer->acceptor.secret, wire::Secret{});
    EXPECT_EQ(ours.peer_received, 77u);
    std::array<std::byte, kMaxHelloBytes> confirm;
    const std::size_t m = write_confirm(ours, confirm);
    EXPECT_EQ(check_confirm(theirs, std::span{confirm}.first(m)), Status::kOk);
    ++theirs.epoch.number;
    EXPECT_EQ(check_confirm(theirs, std::span{confirm}.first(m)), Status::kProtocol);
}

// A change of these bytes is a change of the protocol: docs/wire-protocol.md and the version must change with them.
TEST_F(Handshake, GoldenBytes)
{
    EXPECT_EQ(hex(sent().first(56)),
              "4c4e455401000101880000002900000005000000000000001817161514131211000000000000000011111111111111111111111111111111");
    EXPECT_EQ(hello_bytes, 136u);
    const SipTag of_all = siphash128(SipKey{}, sent());
    EXPECT_EQ(hex(std::as_bytes(std::span{of_all})), "51e549728fd63a03f69516c39cfdd890");
    Attempt theirs;
    ASSERT_TRUE(read_hello(theirs, acceptor, false, sent(), reason).ok());
    theirs.acceptor_nonce.fill(0x22);
    std::array<std::byte, kMaxHelloBytes> out;
    const std::size_t n = write_welcome(theirs, acceptor, 77, out);
    const SipTag of_welcome = siphash128(SipKey{}, std::span{out}.first(n));
    EXPECT_EQ(hex(std::as_bytes(std::span{of_welcome})), "60d1e4b196fd2c34d6525ee38f6d0437");
    const std::size_t m = write_confirm(theirs, out);
    EXPECT_EQ(hex(std::span{out}.first(m)), "4c4e4554030001012000000005000000d292e99cae497b92e6d8b0d48ef257d6");
    const std::size_t r = write_reject(LinkRole::kBulk, wire::RejectReason::kStale, 6, out);
    EXPECT_EQ(hex(std::span{out}.first(r)), "4c4e45540401010114000000" "08000000" "06000000");
}

TEST_F(Handshake, RefusesAnotherTargetSecretAndVersion)
{
    EXPECT_EQ(read(sent()), Status::kOk);
    acceptor.secret[3] ^= 1;
    EXPECT_EQ(read(sent()), Status::kRefused);
    EXPECT_EQ(reason, wire::RejectReason::kProof);
    acceptor.secret[3] ^= 1;
    acceptor.endpoint_id.set(99);
    EXPECT_EQ(read(sent()), Status::kRefused);
    EXPECT_EQ(reason, wire::RejectReason::kTarget);
    acceptor.endpoint_id.set(0x1112131415161718u);
    hello[6] = hello[7] = std::byte{9};   // a version that we do not speak, perhaps of another length
    hello[8] = std::byte{200};
    EXPECT_EQ(read(sent()), Status::kRefused);
    EXPECT_EQ(reason, wire::RejectReason::kVersion);
}

TEST_F(Handshake, RefusesOpenersWithoutProofWhenAskedTo)
{
    wire::EndpointName address = acceptor;
    address.endpoint_id.set(0);
    address.secret = {};
    hello_bytes = write_hello(ours, address, opener, 0, hello);
    EXPECT_EQ(read(sent(), true), Status::kOk);
    EXPECT_EQ(read(sent(), false), Status::kRefused);
    EXPECT_EQ(reason, wire::RejectReason::kProof);
}

TEST_F(Handshake, GivesAnAddressNoSecret)
{
    wire::EndpointName address = acceptor;
    address.endpoint_id.set(0);
    address.secret = {};
    hello_bytes = write_hello(ours, address, opener, 0, hello);
    EXPECT_EQ(hex(sent()).find("07070707"), std::string::npos);
}

TEST_F(Handshake, RefusesEveryChangeOfEveryBit)
{
    for (std::size_t i = 0; i < hello_bytes * 8; ++i) {
        hello[i / 8] ^= static_cast<std::byte>(1u << i % 8);
        EXPECT_NE(read(sent(), false), Status::kOk) << "bit " << i;
        hello[i / 8] ^= static_cast<std::byte>(1u << i % 8);
    }
}

TEST_F(Handshake, RefusesTruncatedAndRandomPackets)
{
    for (std::size_t n = 0; n < hello_bytes; ++n) {
        EXPECT_NE(read(sent().first(n)), Status::kOk) << n;
    }
    std::mt19937_64 random{testing::test_seed(3)};
    for (int i = 0; i < 20'000; ++i) {
        std::array<std::byte, kMaxHelloBytes> noise;
        for (std::byte& b : noise) {
            b = static_cast<std::byte>(random());
        }
        std::memcpy(noise.data(), hello.data(), random() % 80);
        const std::span<const std::byte> in = std::span{noise}.first(random() % noise.size());
        EXPECT_NE(read(in), Status::kOk);
        Attempt a = ours;
        EXPECT_FALSE(read_welcome(a, acceptor.endpoint_id.get(), in).ok());
        EXPECT_NE(check_confirm(a, in), Status::kOk);
    }
}

TEST_F(Handshake, RefusesAnOpenerThatClaimsToBeUs)
{
    hello_bytes = write_hello(ours, acceptor, acceptor, 0, hello);
    EXPECT_EQ(read(sent()), Status::kRefused);
    EXPECT_EQ(reason, wire::RejectReason::kName);
}

}   // namespace
}   // namespace linnet::session

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Hellos by golden bytes; what must be refused is refused.
#include "session/handshake.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>
#include <string>

#include "support/hex.h"
#include "support/seed.h"
#include "support/session_node.h"

namespace linnet::session {
namespace {

using testing::hex;
using testing::make_name;

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

class Handshake : public ::testing::Test {
protected:
    Handshake()
    {
        ours.role = LinkRole::kLane;
        ours.opener_nonce.fill(0x11);
        ours.epoch = {5, opener.endpoint_id.get()};
        hello_bytes = write_hello(ours, acceptor, opener, 41, 0, hello);
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
    const std::size_t n = write_welcome(theirs, acceptor, 77, 0, welcome);
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

TEST_F(Handshake, CarriesTheFeaturesOfTheOpener)
{
    Attempt theirs;
    EXPECT_EQ(read_hello(theirs, acceptor, false, sent(), reason)->features, 0u);
    hello_bytes = write_hello(ours, acceptor, opener, 41, 0x123456789a, hello);
    const auto seen = read_hello(theirs, acceptor, false, sent(), reason);
    ASSERT_TRUE(seen.ok());
    EXPECT_EQ(seen->features, 0x123456789au);
}

TEST_F(Handshake, CarriesTheRankOfEachSide)
{
    Attempt theirs;
    ASSERT_TRUE(read_hello(theirs, acceptor, false, sent(), reason).ok());
    EXPECT_EQ(theirs.peer_rank, 0u);
    ours.rank = 4;
    hello_bytes = write_hello(ours, acceptor, opener, 41, 0, hello);
    ASSERT_TRUE(read_hello(theirs, acceptor, false, sent(), reason).ok());
    EXPECT_EQ(theirs.peer_rank, 4u);
    theirs.rank = 0x01020304;
    std::array<std::byte, kMaxHelloBytes> welcome;
    const std::size_t n = write_welcome(theirs, acceptor, 77, 0, welcome);
    ASSERT_TRUE(read_welcome(ours, acceptor.endpoint_id.get(), std::span{welcome}.first(n)).ok());
    EXPECT_EQ(ours.peer_rank, 0x01020304u);
    EXPECT_EQ(ours.rank, 4u);
}

TEST_F(Handshake, CarriesWhatEachSideTakes)
{
    for (const std::uint64_t bits : {std::uint64_t{0}, wire::kTakesUnasked, ~std::uint64_t{0}, ~wire::kTakesUnasked}) {
        const bool takes = (bits & wire::kTakesUnasked) != 0;
        hello_bytes = write_hello(ours, acceptor, opener, 41, bits, hello);
        Attempt theirs;
        ASSERT_TRUE(read_hello(theirs, acceptor, false, sent(), reason).ok());
        EXPECT_EQ(theirs.peer_takes_unasked, takes);
        std::array<std::byte, kMaxHelloBytes> welcome;
        const std::size_t n = write_welcome(theirs, acceptor, 77, bits, welcome);
        ASSERT_TRUE(read_welcome(ours, acceptor.endpoint_id.get(), std::span{welcome}.first(n)).ok());
        EXPECT_EQ(ours.peer_takes_unasked, takes);
    }
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
    const std::size_t n = write_welcome(theirs, acceptor, 77, 0, out);
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
    hello_bytes = write_hello(ours, address, opener, 0, 0, hello);
    EXPECT_EQ(read(sent(), true), Status::kOk);
    EXPECT_EQ(read(sent(), false), Status::kRefused);
    EXPECT_EQ(reason, wire::RejectReason::kProof);
}

TEST_F(Handshake, GivesAnAddressNoSecret)
{
    wire::EndpointName address = acceptor;
    address.endpoint_id.set(0);
    address.secret = {};
    hello_bytes = write_hello(ours, address, opener, 0, 0, hello);
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
    hello_bytes = write_hello(ours, acceptor, acceptor, 0, 0, hello);
    EXPECT_EQ(read(sent()), Status::kRefused);
    EXPECT_EQ(reason, wire::RejectReason::kName);
}

}   // namespace
}   // namespace linnet::session

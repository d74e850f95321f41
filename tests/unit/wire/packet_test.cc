// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Packets of the lane and of the bulk link: golden bytes of docs/wire-protocol.md sections 4 and 5, and what is believed of a head.
#include "wire/packet.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "support/hex.h"

namespace linnet::wire {
namespace {

using testing::hex;
using testing::hex_of;

PacketHead head(PacketKind kind)
{
    PacketHead h;
    h.kind = kind;
    h.flags.set(0x0102);
    h.body_bytes.set(0x11121314);
    h.number.set(0x21222324);
    h.ack.set(0x31323334);
    h.credit.set(0x41424344);
    return h;
}

TagHeader tag()
{
    TagHeader t;
    t.space.set(0x51525354);
    t.send_slot.set(0x61626364);
    t.match_bits.set(0x7172737475767778);
    t.immediate.set(0x8182838485868788);
    return t;
}
const std::string kTag = "54535251" "64636261" "7877767574737271" "8887868584838281";

TEST(Packet, GoldenBytesOfTheHead)
{
    EXPECT_EQ(hex_of(PacketHead{}), "0100" + std::string(44, '0'));
    EXPECT_EQ(hex_of(head(PacketKind::kGoodbye)), "01" "0a" "0201" "14131211" "24232221" "34333231" "44434241" "00000000");
}

TEST(Packet, GoldenBytesOfEager) { EXPECT_EQ(hex_of(tag()), kTag); }

TEST(Packet, GoldenBytesOfRts)
{
    RtsHeader h;
    h.tag = tag();
    h.length.set(0x0102030405060708);
    h.address.set(0x1112131415161718);
    EXPECT_EQ(hex_of(h), kTag + "0807060504030201" "1817161514131211");
}

TEST(Packet, GoldenBytesOfGrant)
{
    GrantHeader h;
    h.send_slot.set(0x01020304);
    h.max_packet.set(0x11121314);
    h.recv_slot.set(0x21222324);
    h.recv_generation.set(0x31323334);
    h.offset.set(0x4142434445464748);
    h.length.set(0x5152535455565758);
    EXPECT_EQ(hex_of(h), "04030201" "14131211" "24232221" "34333231" "4847464544434241" "5857565554535251");
}

TEST(Packet, GoldenBytesOfFin)
{
    FinHeader h;
    h.send_slot.set(0x01020304);
    h.status = -12;
    EXPECT_EQ(hex_of(h), "04030201" "f4" "0000000000000000000000");
}

TEST(Packet, GoldenBytesOfActive)
{
    ActiveHeader h;
    h.id.set(0x01020304);
    h.header_bytes.set(0x11121314);
    h.immediate.set(0x2122232425262728);
    EXPECT_EQ(hex_of(h), "04030201" "14131211" "2827262524232221");
}

TEST(Packet, GoldenBytesOfWrite)
{
    WriteHeader h;
    h.key.set(0x0102030405060708);
    h.address.set(0x1112131415161718);
    h.length.set(0x2122232425262728);
    h.immediate.set(0x3132333435363738);
    h.offered.set(0x4142434445464748);
    h.send_slot.set(0x51525354);
    EXPECT_EQ(hex_of(h), "0807060504030201" "1817161514131211" "2827262524232221" "3837363534333231" "4847464544434241" "54535251" "00000000");
}

TEST(Packet, GoldenBytesOfRead)
{
    ReadHeader h;
    h.key.set(0x0102030405060708);
    h.address.set(0x1112131415161718);
    h.length.set(0x2122232425262728);
    h.recv_slot.set(0x31323334);
    h.max_packet.set(0x41424344);
    EXPECT_EQ(hex_of(h), "0807060504030201" "1817161514131211" "2827262524232221" "34333231" "44434241");
}

TEST(Packet, GoldenBytesOfReadReply)
{
    ReadReplyHeader h;
    h.offered.set(0x0102030405060708);
    h.recv_slot.set(0x11121314);
    h.send_slot.set(0x21222324);
    h.status = -2;
    EXPECT_EQ(hex_of(h), "0807060504030201" "14131211" "24232221" "fe" "00000000000000");
}

TEST(Packet, GoldenBytesOfAtomic)
{
    AtomicHeader h;
    h.key.set(0x0102030405060708);
    h.address.set(0x1112131415161718);
    h.slot.set(0x21222324);
    h.count.set(0x31323334);
    h.form = 2;
    h.op = 18;
    h.type = 15;
    EXPECT_EQ(hex_of(h), "0807060504030201" "1817161514131211" "24232221" "34333231" "02" "12" "0f" "0000000000");
}

TEST(Packet, GoldenBytesOfBulk)
{
    BulkHead h;
    h.flags.set(0x0102);
    h.body_bytes.set(0x11121314);
    h.recv_slot.set(0x21222324);
    h.recv_generation.set(0x31323334);
    h.offset.set(0x4142434445464748);
    EXPECT_EQ(hex_of(h), "01" "10" "0201" "14131211" "24232221" "34333231" "4847464544434241");
}

struct Kind {
    PacketKind kind;
    unsigned number;
    std::size_t header_bytes;
};
constexpr std::array<Kind, 14> kKinds{{
    {PacketKind::kAck, 1, 0},
    {PacketKind::kEager, 2, 24},
    {PacketKind::kRts, 3, 40},
    {PacketKind::kGrant, 4, 32},
    {PacketKind::kFin, 5, 16},
    {PacketKind::kMatched, 6, 16},
    {PacketKind::kCancel, 7, 16},
    {PacketKind::kCancelReply, 8, 16},
    {PacketKind::kActive, 9, 16},
    {PacketKind::kGoodbye, 10, 0},
    {PacketKind::kWrite, 11, 48},
    {PacketKind::kRead, 12, 32},
    {PacketKind::kReadReply, 13, 24},
    {PacketKind::kAtomic, 14, 32},
}};

TEST(Packet, GoldenNumbers)
{
    for (const Kind& k : kKinds) {
        EXPECT_EQ(static_cast<unsigned>(k.kind), k.number);
        EXPECT_EQ(kind_header_bytes(k.kind), static_cast<int>(k.header_bytes)) << k.number;
        EXPECT_LE(sizeof(PacketHead) + k.header_bytes, kMaxHeadBytes) << k.number;
    }
    EXPECT_EQ(hex_of(le16{flag::kWantAck}, le16{flag::kSync}, le16{flag::kPolling}, le16{flag::kImmediate}), "0100020004000800");
    EXPECT_EQ(kMaxBodyBytes, 64u * 1024 * 1024);
    EXPECT_EQ(kOrderedBytes, 16'384u);
    EXPECT_EQ(kMaxOneSided, 1024u);
    EXPECT_EQ(kEventCredit, 64u);
    EXPECT_EQ(kMaxAtomicBytes, 4096u);
}

// The way of the many writes the same bytes as the structs.
TEST(Packet, HeadInWordsIsTheHead)
{
    std::array<std::byte, sizeof(PacketHead) + sizeof(TagHeader)> words;
    words.fill(std::byte{0xee});
    write_head(words.data(), PacketKind::kEager, 0xf1f2, 0xa1a2a3a4);
    stamp_head(words.data(), 0xb1b2b3b4, 0xc1c2c3c4, 0xd1d2d3d4);
    write_tag(words.data() + sizeof(PacketHead), 0xe1e2e3e4, 0x9192939495969798, 0x8182838485868788);
    PacketHead h;
    h.kind = PacketKind::kEager;
    h.flags.set(0xf1f2);
    h.body_bytes.set(0xa1a2a3a4);
    h.number.set(0xb1b2b3b4);
    h.ack.set(0xc1c2c3c4);
    h.credit.set(0xd1d2d3d4);
    TagHeader t;
    t.space.set(0xe1e2e3e4);
    t.match_bits.set(0x9192939495969798);
    t.immediate.set(0x8182838485868788);
    EXPECT_EQ(hex(words), hex_of(h, t));
    EXPECT_EQ(hex_of(head_of(words)), hex_of(h));
    EXPECT_EQ(hex_of(tag_of(words)), hex_of(t));
}

TEST(LaneHead, OfAnotherVersionIsNotBelieved)
{
    PacketHead h;
    h.kind = PacketKind::kAck;
    EXPECT_TRUE(lane_head_ok(h));
    for (const unsigned version : {0u, 2u, 255u}) {
        h.version = static_cast<std::uint8_t>(version);
        EXPECT_FALSE(lane_head_ok(h)) << version;
    }
}

TEST(LaneHead, OfAKindThatDoesNotTravelThereIsNotBelieved)
{
    for (unsigned kind = 0; kind < 256; ++kind) {
        PacketHead h;
        h.kind = static_cast<PacketKind>(kind);
        h.body_bytes.set(1000);
        const bool known = std::any_of(kKinds.begin(), kKinds.end(), [kind](const Kind& k) { return k.number == kind; });
        EXPECT_EQ(lane_head_ok(h), known) << kind;
        EXPECT_EQ(kind_header_bytes(h.kind) >= 0, known) << kind;
    }
}

TEST(LaneHead, BodyHoldsTheHeaderOfItsKindAndIsBounded)
{
    for (const Kind& k : kKinds) {
        PacketHead h;
        h.kind = k.kind;
        h.flags.set(0xffff);   // unknown flags are ignored
        h.reserved.set(0xffffffff);
        const auto ok = [&h](std::size_t bytes) {
            h.body_bytes.set(static_cast<std::uint32_t>(bytes));
            return lane_head_ok(h);
        };
        EXPECT_TRUE(ok(k.header_bytes)) << k.number;
        EXPECT_TRUE(ok(kMaxBodyBytes)) << k.number;
        EXPECT_FALSE(ok(kMaxBodyBytes + 1)) << k.number;
        EXPECT_FALSE(ok(UINT32_MAX)) << k.number;
        if (k.header_bytes != 0) {
            EXPECT_FALSE(ok(k.header_bytes - 1)) << k.number;
            EXPECT_FALSE(ok(0)) << k.number;
        }
    }
}

TEST(BulkHead, IsBelievedByVersionKindAndLength)
{
    BulkHead h;
    EXPECT_TRUE(bulk_head_ok(h));
    h.body_bytes.set(kMaxBodyBytes);
    EXPECT_TRUE(bulk_head_ok(h));
    h.body_bytes.set(kMaxBodyBytes + 1);
    EXPECT_FALSE(bulk_head_ok(h));
    h.body_bytes.set(0);
    for (unsigned kind = 0; kind < 256; ++kind) {
        h.kind = static_cast<PacketKind>(kind);
        EXPECT_EQ(bulk_head_ok(h), kind == 16) << kind;
    }
    h.kind = PacketKind::kBulkData;
    h.version = 2;
    EXPECT_FALSE(bulk_head_ok(h));
}

}   // namespace
}   // namespace linnet::wire

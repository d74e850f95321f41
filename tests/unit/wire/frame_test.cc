// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Frames by golden bytes (docs/flow.md), what is believed of a head, and how packets are cut into trains.
#include "wire/frame.h"

#include <gtest/gtest.h>

#include "support/hex.h"

namespace linnet::wire {
namespace {

using testing::hex_of;

TEST(Frame, GoldenBytesOfTheHead)
{
    FrameHead h;
    EXPECT_EQ(hex_of(h), "0100" + std::string(124, '0'));
    h.kind = FrameKind::kLane;
    h.flags.set(0x0102);
    h.bytes.set(0x1112);
    h.epoch.set(0x2122);
    h.connection.set(0x3132333435363738);
    h.incarnation.set(0x41424344);
    h.source.set(0x51525354);
    h.number.set(0x61626364);
    h.ack.set(0x71727374);
    h.sack.set(0x8182838485868788);
    h.credit.set(0x91929394);
    h.held.set(0xa1a2a3a4);
    h.stamp.set(0xb1b2b3b4);
    h.echo.set(0xc1c2c3c4);
    h.echo_delay.set(0xd1d2);
    h.returns = 0xe1;
    h.returns_seen = 0xe2;
    h.crc.set(0xf1f2f3f4);
    EXPECT_EQ(hex_of(h), "01" "01" "0201" "1211" "2221" "3837363534333231" "44434241" "54535251" "64636261" "74737271" "8887868584838281"
                         "94939291" "a4a3a2a1" "b4b3b2b1" "c4c3c2c1" "d2d1" "e1" "e2" "f4f3f2f1");
}

TEST(Frame, GoldenBytesOfWhatFollows)
{
    BlockHead b;
    b.index.set(0x0102);
    b.block_bytes.set(0x1112);
    b.part.set(0x2122);
    b.bulk.body_bytes.set(0x31323334);
    EXPECT_EQ(hex_of(b), "0201" "1211" "2221" "0000" "01" "10" "0000" "34333231" "00000000" "00000000" "0000000000000000");
    PullHead p;
    p.first.set(0x0140);
    p.words.set(0x0102);
    EXPECT_EQ(hex_of(p), "4001" "0201" "00000000");
    OpenHead o;
    o.step = OpenStep::kWelcome;
    o.role = 1;
    o.frame_bytes.set(0x0102);
    o.bytes.set(0x1112);
    o.wants.set(open_wish::kCrc);
    o.own.set(0x2122232425262728);
    EXPECT_EQ(hex_of(o), "02" "01" "0201" "1211" "0100" "2827262524232221");
}

TEST(Frame, GoldenNumbers)
{
    EXPECT_EQ(hex_of(FrameKind::kLane, FrameKind::kAck, FrameKind::kProbe, FrameKind::kBlock, FrameKind::kPull, FrameKind::kReset, FrameKind::kOpen),
              "01020304050607");
    EXPECT_EQ(hex_of(OpenStep::kHello, OpenStep::kWelcome, OpenStep::kConfirm), "010203");
    using namespace frame_flag;
    EXPECT_EQ(hex_of(le16{kPolling}, le16{kWantAck}, le16{kEcho}, le16{kCrc}, le16{kMac}, le16{kAgain}), "010002000400080010002000");
}

TEST(Frame, HeadOfAnotherVersionOrKindIsNotBelieved)
{
    FrameHead h;
    unsigned kinds = 0;
    for (unsigned kind = 0; kind < 256; ++kind) {
        h.kind = static_cast<FrameKind>(kind);
        kinds += frame_head_ok(h, sizeof h) ? 1 : 0;
    }
    EXPECT_EQ(kinds, 7u);
    h.kind = FrameKind::kNone;
    EXPECT_FALSE(frame_head_ok(h, sizeof h));
    h.kind = FrameKind::kOpen;
    EXPECT_TRUE(frame_head_ok(h, sizeof h));
    for (const unsigned version : {0u, 2u, 255u}) {
        h.version = static_cast<std::uint8_t>(version);
        EXPECT_FALSE(frame_head_ok(h, sizeof h)) << version;
    }
}

TEST(Frame, LengthMustBeThere)
{
    FrameHead h;
    h.kind = FrameKind::kLane;
    h.bytes.set(100);
    EXPECT_FALSE(frame_head_ok(h, 163));
    EXPECT_TRUE(frame_head_ok(h, 164));
    EXPECT_TRUE(frame_head_ok(h, 1514)) << "Ethernet pads";
    h.flags.set(frame_flag::kMac);
    EXPECT_FALSE(frame_head_ok(h, 171));
    EXPECT_TRUE(frame_head_ok(h, 172));
    h.flags.set(0xffff & ~frame_flag::kMac);
    EXPECT_TRUE(frame_head_ok(h, 164)) << "only a MAC follows the head";
    h.bytes.set(65535);
    EXPECT_FALSE(frame_head_ok(h, 65598));
    EXPECT_TRUE(frame_head_ok(h, 65599));
}

TEST(Frame, LongestHeadHoldsEveryOptionalPart)
{
    EXPECT_EQ(kMaxFrameHead, 64u + 8u + 8u + 128u);
    EXPECT_LE(sizeof(FrameHead) + kMacBytes + sizeof(BlockHead), kMaxFrameHead);
}

TEST(Train, PacketIsCutIntoPartsWithoutGapOrRest)
{
    for (const std::size_t block : {1u, 64u, 1408u}) {
        const std::size_t part_max = block * 1024;
        for (const std::size_t packet : {std::size_t{0}, std::size_t{1}, block, part_max - 1, part_max, part_max + 1, 3 * part_max, 3 * part_max + 7}) {
            std::size_t covered = 0;
            std::size_t part = 0;
            do {
                EXPECT_EQ(train_offset(block, part), covered);
                const std::size_t bytes = train_bytes(packet, block, part);
                EXPECT_EQ(bytes, std::min(part_max, packet - covered));
                EXPECT_EQ(train_blocks(bytes, block), bytes == 0 ? 1 : (bytes + block - 1) / block);
                covered += bytes;
                ++part;
            } while (covered < packet);
            EXPECT_EQ(train_bytes(packet, block, part), 0u) << "there is no such part";
        }
    }
}

TEST(Train, ThatCannotBeHasNoBlocks)
{
    EXPECT_EQ(train_blocks(100, 0), 0u);
    EXPECT_EQ(train_blocks(0, 0), 0u);
    EXPECT_EQ(train_blocks(1024 * 100, 100), 1024u);
    EXPECT_EQ(train_blocks(1024 * 100 + 1, 100), 0u);
    EXPECT_EQ(train_blocks(SIZE_MAX, 65535), 0u);
}

}   // namespace
}   // namespace linnet::wire

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RecordRing: order, wrapping, room, and a writer or reader that means harm.
#include "sync/record_ring.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "support/seed.h"
#include "sync/backoff.h"

namespace linnet {
namespace {

using Bytes = std::vector<std::byte>;
using Put = RingWriter::Put;
using Peek = RingReader::Peek;

constexpr std::size_t kData = 4096;

struct Ring {
    RingControl control;
    std::unique_ptr<RingSlot[]> slots = std::make_unique<RingSlot[]>(kRingSlots);
    Bytes data = Bytes(kData);
    RingView view() { return {&control, slots.get(), data}; }
};

Bytes pattern(std::uint32_t seed, std::size_t bytes)
{
    Bytes out(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        out[i] = static_cast<std::byte>(seed * 31 + i * 7);
    }
    return out;
}

Bytes taken(RingReader& reader, std::uint32_t* kind = nullptr)
{
    RingReader::Record r;
    EXPECT_EQ(reader.peek(r), Peek::kRecord);
    Bytes out{r.inline_bytes.begin(), r.inline_bytes.end()};
    out.insert(out.end(), r.data.begin(), r.data.end());
    if (kind != nullptr) {
        *kind = r.kind;
    }
    reader.advance(r);
    return out;
}

TEST(RecordRing, EmptyRingHasNoRecord)
{
    Ring ring;
    RingReader reader{ring.view()};
    RingReader::Record r;
    EXPECT_EQ(reader.peek(r), Peek::kNone);
    EXPECT_FALSE(reader.ready());
}

// Long pieces are copied by steps that look ahead.
TEST(RecordRing, PiecesOfAllLengthsArriveAndTouchNothingElse)
{
    constexpr std::size_t kLong = 64 * 1024;
    for (const std::size_t bytes : std::initializer_list<std::size_t>{1, 511, 2047, 2048, 2049, 2559, 2560, 2561, 3072, 4095, 4096, 5000, 16383, 16384}) {
        Ring ring;
        ring.data = Bytes(kLong, std::byte{0xee});
        RingWriter writer{ring.view()};
        RingReader reader{ring.view()};
        const Bytes sent = pattern(7, bytes);
        ASSERT_EQ(writer.put(1, {}, {}, sent), Put::kDone) << bytes;
        EXPECT_EQ(taken(reader), sent) << bytes;
        const Bytes behind(ring.data.begin() + static_cast<std::ptrdiff_t>(bytes), ring.data.end());
        EXPECT_EQ(behind, Bytes(behind.size(), std::byte{0xee})) << bytes;
    }
}

TEST(RecordRing, RecordsComeInOrderWithKindAndAllTheirParts)
{
    Ring ring;
    RingWriter writer{ring.view()};
    RingReader reader{ring.view()};
    const Bytes head = pattern(1, 48);
    const Bytes tail = pattern(2, 72);
    const Bytes data = pattern(3, 1000);
    ASSERT_EQ(writer.put(5, head, tail, {}), Put::kDone);
    ASSERT_EQ(writer.put(6, head, {}, data), Put::kDone);
    EXPECT_TRUE(reader.ready());
    std::uint32_t kind = 0;
    Bytes expected = head;
    expected.insert(expected.end(), tail.begin(), tail.end());
    EXPECT_EQ(taken(reader, &kind), expected);
    EXPECT_EQ(kind, 5u);
    expected = head;
    expected.insert(expected.end(), data.begin(), data.end());
    EXPECT_EQ(taken(reader, &kind), expected);
    EXPECT_EQ(kind, 6u);
    EXPECT_FALSE(reader.ready());
}

TEST(RecordRing, FullOfSlotsUntilTheReaderPublishes)
{
    Ring ring;
    RingWriter writer{ring.view()};
    RingReader reader{ring.view()};
    const Bytes b = pattern(1, 8);
    for (std::uint32_t i = 0; i < kRingSlots; ++i) {
        ASSERT_EQ(writer.put(1, b, {}, {}), Put::kDone);
    }
    ASSERT_EQ(writer.put(1, b, {}, {}), Put::kFull);
    unsigned until = 0;
    do {
        taken(reader);
        ++until;
        ASSERT_FALSE(reader.publish_if_due()) << "nobody waits";
    } while (writer.put(1, b, {}, {}) == Put::kFull);
    EXPECT_EQ(until, kRingSlots / 4);
}

TEST(RecordRing, ShortRecordsInPlaceAreThoseOfPut)
{
    Ring ring;
    RingWriter writer{ring.view()};
    RingReader reader{ring.view()};
    for (std::size_t n = 0; n <= kInlineBytes; ++n) {
        const Bytes b = pattern(static_cast<std::uint32_t>(n), n);
        Bytes lines = b;
        lines.resize(kInlineBytes);
        ASSERT_EQ(writer.put_inline(3, lines.data(), n), Put::kDone);
        RingReader::Record r;
        ASSERT_EQ(reader.peek(r), RingReader::Peek::kRecord);
        EXPECT_EQ(r.kind, 3u);
        EXPECT_TRUE(std::equal(r.inline_bytes.begin(), r.inline_bytes.end(), b.begin(), b.end())) << n;
        EXPECT_TRUE(r.data.empty());
        reader.advance(r);
        ASSERT_FALSE(reader.publish_if_due());
    }
    std::uint32_t full = 0;
    const Bytes lines(kInlineBytes);
    while (writer.put_inline(1, lines.data(), 0) == Put::kDone) {
        ++full;
    }
    EXPECT_LE(full, kRingSlots);
    EXPECT_GT(full, kRingSlots / 2);
}

TEST(RecordRing, OnlyRecordsOfTheKindInPlaceAreCopied)
{
    Ring ring;
    RingWriter writer{ring.view()};
    RingReader reader{ring.view()};
    std::array<std::byte, kInlineBytes> to{};
    EXPECT_EQ(reader.copy_inline(1, to.data()), 0u);
    for (std::size_t n = 1; n <= kInlineBytes; ++n) {   // beyond a lap
        const Bytes b = pattern(static_cast<std::uint32_t>(n), n);
        Bytes lines = b;
        lines.resize(kInlineBytes);
        ASSERT_EQ(writer.put_inline(1, lines.data(), n), Put::kDone);
        ASSERT_EQ(writer.put_inline(2, lines.data(), n), Put::kDone);
        ASSERT_EQ(writer.put(1, b, {}, b), Put::kDone);
        EXPECT_EQ(reader.copy_inline(2, to.data()), 0u);
        ASSERT_EQ(reader.copy_inline(1, to.data()), n);
        EXPECT_TRUE(std::equal(b.begin(), b.end(), to.begin())) << n;
        ASSERT_EQ(reader.copy_inline(1, to.data()), n) << "it is there until it is done with";
        reader.advance_inline();
        EXPECT_EQ(reader.copy_inline(1, to.data()), 0u);
        EXPECT_EQ(taken(reader), b);
        EXPECT_EQ(reader.copy_inline(1, to.data()), 0u) << "it has data";
        EXPECT_EQ(taken(reader).size(), 2 * n);
        EXPECT_FALSE(reader.publish_if_due());
    }
}

TEST(RecordRing, WhatHasRoomCanBePutWhereverTheRingEnds)
{
    Ring ring;
    RingWriter writer{ring.view()};
    RingReader reader{ring.view()};
    unsigned refused = 0;
    for (std::uint32_t i = 0; i < 2000; ++i) {
        const std::size_t bytes = i * 97 % (kData / 4);
        while (!writer.has_room(bytes)) {
            ++refused;
            taken(reader);
            static_cast<void>(reader.publish_if_due());
        }
        const Bytes b = pattern(i, bytes);
        const std::size_t first = std::min(bytes, writer.data_max());
        ASSERT_EQ(writer.put(1, {}, {}, std::span{b}.first(first)), Put::kDone);
        ASSERT_TRUE(first == bytes || writer.put(2, {}, {}, std::span{b}.subspan(first)) == Put::kDone);
    }
    EXPECT_GT(refused, 0u);
}

TEST(RecordRing, WriterThatWaitsForRoomIsToldOnce)
{
    Ring ring;
    RingWriter writer{ring.view()};
    RingReader reader{ring.view()};
    const Bytes piece = pattern(1, writer.data_max());
    while (writer.put(1, {}, {}, piece) == Put::kDone) {
    }
    writer.want_room(true);
    taken(reader);
    EXPECT_TRUE(reader.publish_if_due());
    EXPECT_EQ(writer.put(1, {}, {}, piece), Put::kDone);
    writer.want_room(false);
    taken(reader);
    EXPECT_FALSE(reader.publish_if_due());
}

TEST(RecordRing, DataNeverWrapsInsideARecord)
{
    Ring ring;
    RingWriter writer{ring.view()};
    RingReader reader{ring.view()};
    std::mt19937 random{static_cast<unsigned>(testing::test_seed(5))};
    for (std::uint32_t i = 0; i < 5000; ++i) {
        const Bytes data = pattern(i, std::min<std::size_t>(random() % 1025, writer.data_max()));
        ASSERT_EQ(writer.put(1, {}, {}, data), Put::kDone);
        ASSERT_EQ(taken(reader), data);
        const bool waits = reader.publish_if_due();
        ASSERT_FALSE(waits);
    }
}

TEST(RecordRing, RecordedFreedCountTellsWhatWasRead)
{
    Ring ring;
    RingWriter writer{ring.view()};
    RingReader reader{ring.view()};
    ASSERT_EQ(writer.put(1, pattern(1, 3), {}, {}), Put::kDone);
    EXPECT_EQ(writer.written(), 1u);
    EXPECT_EQ(writer.freed(), 0u);
    taken(reader);
    EXPECT_FALSE(reader.publish());
    EXPECT_EQ(writer.freed(), 1u);
}

// ---- a partner that means harm ----

// A ring whose slots are zeroed whenever that is allowed, over the end of the positions: at each one where the reader may find nothing yet, it does.
TEST(RecordRing, ZeroedSlotsHoldNoRecordAtAnyPositionUpToTheLast)
{
    for (std::uint32_t before = 1; before <= 2 * kRingSlots; ++before) {
        Ring ring;
        const std::uint32_t first = 0u - before;
        ring.control.freed = static_cast<std::uint64_t>(first) << 32;
        RingWriter writer{ring.view(), first};
        RingReader reader{ring.view(), first};
        std::uint32_t position = first - kRingSlots;
        for (std::uint32_t i = 0; i < kRingSlots; ++i, ++position) {   // what the lap before left
            ring.slots[position % kRingSlots].word = static_cast<std::uint64_t>(position + 1) << 32;
        }
        if (writer.empty()) {
            for (std::uint32_t i = 0; i < kRingSlots; ++i) {
                ring.slots[i].word = 0;
            }
        }
        for (std::uint32_t i = 0; i < before + kRingSlots; ++i) {
            ASSERT_FALSE(reader.ready()) << before << " before the end, record " << i;
            ASSERT_EQ(writer.put(1, {}, {}, {}), Put::kDone);
            ASSERT_TRUE(taken(reader).empty());
            static_cast<void>(reader.publish());
        }
    }
}

TEST(RecordRing, HostileLengthsAreBrokenNotRead)
{
    const auto word = [](std::uint64_t inl, std::uint64_t data) { return std::uint64_t{1} << 32 | inl << 20 | data; };
    for (const std::uint64_t w : {word(kInlineBytes + 1, 0), word(255, 0), word(0, kData / 4 + 1), word(0, 0xfffff), word(120, kData)}) {
        Ring ring;
        ring.slots[0].word.store(w);
        RingReader reader{ring.view()};
        RingReader::Record r;
        EXPECT_EQ(reader.peek(r), Peek::kBroken) << std::hex << w;
        EXPECT_EQ(reader.ready_and_fetch(), reader.ready());
        std::array<std::byte, kInlineBytes> to{};
        EXPECT_EQ(reader.copy_inline(0, to.data()), 0u) << std::hex << w;
    }
}

TEST(RecordRing, RandomWordsNeverYieldBytesOutsideTheRing)
{
    std::mt19937_64 random{testing::test_seed(0x51)};
    Ring ring;
    RingReader reader{ring.view()};
    const std::byte* const data = ring.data.data();
    std::uint32_t position = 0;
    for (int i = 0; i < 200000; ++i) {
        RingSlot& slot = ring.slots[position % kRingSlots];
        const std::uint64_t low = random() % 3 == 0 ? random() & 0xffffffff : (random() % 130) << 20 | random() % 1100;
        slot.word.store((random() % 4 == 0 ? random() : std::uint64_t{position + 1}) << 32 | low);
        RingReader::Record r;
        if (reader.peek(r) == Peek::kRecord) {
            ASSERT_LE(r.inline_bytes.size(), kInlineBytes);
            ASSERT_TRUE(r.data.data() >= data && r.data.data() + r.data.size() <= data + kData);
            reader.advance(r);
            ++position;
        }
    }
    EXPECT_GT(position, 1000u);
}

TEST(RecordRing, ReaderThatFreesWhatWasNeverWrittenIsBroken)
{
    Ring ring;
    RingWriter writer{ring.view()};
    ring.control.freed.store(std::uint64_t{7} << 32);
    while (writer.put(1, pattern(1, 8), {}, {}) == Put::kDone) {
    }
    EXPECT_EQ(writer.put(1, pattern(1, 8), {}, {}), Put::kFull) << "7 of 128 were freed: that is possible now";
    ring.control.freed.store(std::uint64_t{kRingSlots + 8} << 32);   // one more than there are
    EXPECT_EQ(writer.put(1, pattern(1, 8), {}, {}), Put::kBroken);
    EXPECT_FALSE(writer.sane());
}

// ---- two threads ----

TEST(RecordRing, StreamBetweenThreadsIsInOrderAndWhole)
{
    Ring ring;
    constexpr std::uint32_t kCount = 20000;
    const auto size = [](std::uint32_t i) { return i % 3 == 0 ? i % 900 : i % 60; };
    std::thread producer{[&] {
        RingWriter writer{ring.view()};
        std::uint32_t i = 0;
        Backoff backoff;
        while (i < kCount) {
            const Bytes head = pattern(i, i % 50);
            const Bytes data = pattern(i + 1, std::min<std::size_t>(size(i), writer.data_max()));
            const Bytes number{static_cast<std::byte>(i), static_cast<std::byte>(i >> 8), static_cast<std::byte>(data.size()),
                               static_cast<std::byte>(data.size() >> 8)};
            switch (writer.put(2, number, head, data)) {
                case Put::kDone: ++i; backoff.reset(); break;
                case Put::kFull: backoff.wait(); break;
                case Put::kBroken: ADD_FAILURE(); return;
            }
        }
    }};
    RingReader reader{ring.view()};
    Backoff backoff;
    for (std::uint32_t i = 0; i < kCount;) {
        RingReader::Record r;
        if (reader.peek(r) != Peek::kRecord) {
            backoff.wait();
            continue;
        }
        backoff.reset();
        ASSERT_EQ(r.inline_bytes[0], static_cast<std::byte>(i));
        ASSERT_EQ(r.inline_bytes[1], static_cast<std::byte>(i >> 8));
        const Bytes head = pattern(i, i % 50);
        ASSERT_TRUE(std::equal(head.begin(), head.end(), r.inline_bytes.begin() + 4));
        const Bytes data = pattern(i + 1, r.data.size());
        ASSERT_TRUE(std::equal(data.begin(), data.end(), r.data.begin(), r.data.end()));
        reader.advance(r);
        static_cast<void>(reader.publish_if_due());
        ++i;
    }
    producer.join();
    EXPECT_FALSE(reader.ready());
}

}   // namespace
}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// IovCursor: walking pieces of every size, also empty ones, against a flat copy.
#include "mem/iov_cursor.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/seed.h"

namespace linnet {
namespace {

// "abcdefghij" in pieces "abc", "", "d", "efghij", "".
struct Letters {
    std::string text{"abcdefghij"};
    std::array<iovec, 5> pieces{{{text.data(), 3}, {nullptr, 0}, {text.data() + 3, 1}, {text.data() + 4, 6}, {nullptr, 0}}};
    IovCursor cursor{pieces};
};

std::string as_text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

std::string take(IovCursor& cursor, std::size_t n)
{
    std::string out(n, '?');
    const std::size_t got = cursor.copy_out(std::as_writable_bytes(std::span{out}));
    return out.substr(0, got);
}

TEST(IovCursor, DefaultAndEmptyListsAreDone)
{
    IovCursor none;
    EXPECT_TRUE(none.done());
    EXPECT_TRUE(none.front().empty());
    EXPECT_EQ(none.advance(5), 0u);
    const std::array<iovec, 2> empty{{{nullptr, 0}, {nullptr, 0}}};
    IovCursor cursor{empty};
    EXPECT_TRUE(cursor.done());
    EXPECT_TRUE(cursor.front().empty());
}

TEST(IovCursor, FrontIsTheContiguousRest)
{
    Letters l;
    EXPECT_EQ(l.cursor.remaining(), 10u);
    EXPECT_EQ(as_text(l.cursor.front()), "abc");
    EXPECT_EQ(l.cursor.advance(1), 1u);
    EXPECT_EQ(as_text(l.cursor.front()), "bc");
    EXPECT_EQ(l.cursor.advance(2), 2u);
    EXPECT_EQ(as_text(l.cursor.front()), "d");   // over the empty piece
    EXPECT_EQ(l.cursor.advance(3), 3u);
    EXPECT_EQ(as_text(l.cursor.front()), "ghij");
}

TEST(IovCursor, AdvanceStopsAtTheEnd)
{
    Letters l;
    EXPECT_EQ(l.cursor.advance(100), 10u);
    EXPECT_TRUE(l.cursor.done());
    EXPECT_EQ(l.cursor.advance(1), 0u);
}

TEST(IovCursor, CopyOutGathers)
{
    Letters l;
    EXPECT_EQ(take(l.cursor, 2), "ab");
    EXPECT_EQ(take(l.cursor, 5), "cdefg");
    EXPECT_EQ(l.cursor.remaining(), 3u);
    EXPECT_EQ(take(l.cursor, 100), "hij");
    EXPECT_EQ(take(l.cursor, 1), "");
}

TEST(IovCursor, CopyInScatters)
{
    Letters l;
    EXPECT_EQ(l.cursor.copy_in(std::as_bytes(std::span{std::string_view{"12345"}})), 5u);
    EXPECT_EQ(l.text, "12345fghij");
    EXPECT_EQ(l.cursor.copy_in(std::as_bytes(std::span{std::string_view{"6789ABCDEF"}})), 5u);   // room for five more
    EXPECT_EQ(l.text, "123456789A");
    EXPECT_TRUE(l.cursor.done());
}

TEST(IovCursor, CopyRemembersAPlace)
{
    Letters l;
    l.cursor.advance(4);
    IovCursor mark = l.cursor;
    EXPECT_EQ(take(l.cursor, 6), "efghij");
    EXPECT_EQ(take(mark, 2), "ef");
}

TEST(IovCursor, DescribeLeavesOutEmptyPiecesAndDoesNotMove)
{
    Letters l;
    l.cursor.advance(1);
    std::array<iovec, 8> out{};
    std::size_t bytes = 0;
    ASSERT_EQ(l.cursor.describe(out, 100, bytes), 3u);
    EXPECT_EQ(bytes, 9u);
    EXPECT_EQ(out[0].iov_base, l.text.data() + 1);
    EXPECT_EQ(out[0].iov_len, 2u);
    EXPECT_EQ(out[1].iov_len, 1u);
    EXPECT_EQ(out[2].iov_len, 6u);
    EXPECT_EQ(l.cursor.remaining(), 9u);
}

TEST(IovCursor, DescribeStopsAtTheLimitAndAtItsRoom)
{
    Letters l;
    std::array<iovec, 8> out{};
    std::size_t bytes = 0;
    ASSERT_EQ(l.cursor.describe(out, 5, bytes), 3u);
    EXPECT_EQ(bytes, 5u);
    EXPECT_EQ(out[2].iov_len, 1u);
    ASSERT_EQ(l.cursor.describe(std::span{out}.first(2), 100, bytes), 2u);
    EXPECT_EQ(bytes, 4u);
    ASSERT_EQ(l.cursor.describe(out, 0, bytes), 0u);
    EXPECT_EQ(bytes, 0u);
}

TEST(IovCursor, RandomWalkEqualsAFlatCopy)
{
    std::mt19937_64 random{testing::test_seed(0x10c)};
    for (int round = 0; round < 200; ++round) {
        std::vector<unsigned char> flat(1 + random() % 500);
        std::iota(flat.begin(), flat.end(), static_cast<unsigned char>(round));
        std::vector<iovec> pieces;
        for (std::size_t at = 0; at < flat.size();) {
            const std::size_t n = std::min<std::size_t>(random() % 40, flat.size() - at);
            pieces.push_back({flat.data() + at, n});
            at += n;
        }
        IovCursor cursor{pieces};
        std::vector<unsigned char> got(flat.size());
        std::size_t at = 0;
        while (at < flat.size()) {
            const std::size_t n = std::min<std::size_t>(1 + random() % 60, flat.size() - at);
            ASSERT_EQ(cursor.copy_out(std::as_writable_bytes(std::span{got}).subspan(at, n)), n);
            at += n;
            ASSERT_EQ(cursor.remaining(), flat.size() - at);
        }
        ASSERT_EQ(got, flat);
    }
}

}   // namespace
}   // namespace linnet

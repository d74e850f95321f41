// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// CRC-32C by the vectors of RFC 3720, and by its definition, bit by bit.
#include "wire/crc32c.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string_view>
#include <vector>

#include "support/seed.h"

namespace linnet::wire {
namespace {

TEST(Crc32c, AgreesWithThePublishedVectors)
{
    std::array<std::byte, 32> in{};
    EXPECT_EQ(crc32c(in), 0x8a9136aau);
    in.fill(std::byte{0xff});
    EXPECT_EQ(crc32c(in), 0x62a8ab43u);
    for (std::size_t i = 0; i < in.size(); ++i) {
        in[i] = static_cast<std::byte>(i);
    }
    EXPECT_EQ(crc32c(in), 0x46dd794eu);
    std::reverse(in.begin(), in.end());
    EXPECT_EQ(crc32c(in), 0x113fdb5cu);
    EXPECT_EQ(crc32c(std::as_bytes(std::span{std::string_view{"123456789"}})), 0xe3069283u);
    EXPECT_EQ(crc32c({}), 0u);
}

std::uint32_t bit_by_bit(std::span<const std::byte> data)
{
    std::uint32_t c = 0xffffffff;
    for (const std::byte b : data) {
        c ^= std::to_integer<std::uint32_t>(b);
        for (int bit = 0; bit < 8; ++bit) {
            c = (c & 1) != 0 ? (c >> 1) ^ 0x82f63b78 : c >> 1;
        }
    }
    return ~c;
}

TEST(Crc32c, IsTheSameAtEveryLengthAndInAnyPieces)
{
    std::mt19937_64 random{testing::test_seed(0xc32c)};
    std::vector<std::byte> data(70);
    for (std::byte& b : data) {
        b = static_cast<std::byte>(random());
    }
    for (std::size_t n = 0; n <= data.size(); ++n) {
        const std::span<const std::byte> all = std::span{data}.first(n);
        const std::uint32_t expected = bit_by_bit(all);
        ASSERT_EQ(crc32c(all), expected) << n;
        const std::size_t cut = random() % (n + 1);
        ASSERT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), expected) << n << " cut at " << cut;
    }
}

}   // namespace
}   // namespace linnet::wire

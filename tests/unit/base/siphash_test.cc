// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SipHash by its authors' vectors.
#include "base/siphash.h"

#include <gtest/gtest.h>

#include <utility>

#include "support/hex.h"

namespace linnet {
namespace {

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
        EXPECT_EQ(testing::hex_of(tag), expected) << n << " bytes";
    }
}

TEST(SipHash, DependsOnEveryBitOfTheKey)
{
    const std::array<std::byte, 20> in{};
    const SipTag plain = siphash128(SipKey{}, in);
    for (std::size_t bit = 0; bit < 128; ++bit) {
        SipKey key{};
        key[bit / 8] = static_cast<std::uint8_t>(1u << bit % 8);
        EXPECT_NE(siphash128(key, in), plain) << bit;
    }
}

TEST(SipHash, TagsAreEqualOnlyInEveryBit)
{
    SipTag a{};
    const SipTag b{};
    EXPECT_TRUE(tags_equal(a, b));
    for (std::size_t bit = 0; bit < 128; ++bit) {
        a[bit / 8] = static_cast<std::uint8_t>(1u << bit % 8);
        EXPECT_FALSE(tags_equal(a, b)) << bit;
        a[bit / 8] = 0;
    }
}

}   // namespace
}   // namespace linnet

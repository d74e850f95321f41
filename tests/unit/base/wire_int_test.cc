// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Integers of the wire: their bytes, whatever the order of the host.
#include "base/wire_int.h"

#include <gtest/gtest.h>

#include <limits>

#include "support/hex.h"

namespace linnet {
namespace {

using testing::hex_of;

static_assert(byte_swap<std::uint8_t>(0x12) == 0x12 && byte_swap<std::uint16_t>(0x1234) == 0x3412);
static_assert(byte_swap<std::uint32_t>(0x12345678) == 0x78563412);
static_assert(byte_swap<std::uint64_t>(0x0102030405060708) == 0x0807060504030201);

TEST(WireInt, GoldenBytes)
{
    EXPECT_EQ(hex_of(le16{0x0102}, be16{0x0102}), "0201" "0102");
    EXPECT_EQ(hex_of(le32{0x01020304}, be32{0x01020304}), "04030201" "01020304");
    EXPECT_EQ(hex_of(le64{0x0102030405060708}, be64{0x0102030405060708}), "0807060504030201" "0102030405060708");
}

template <class Wire>
class WireIntOf : public ::testing::Test {};
using All = ::testing::Types<le16, le32, le64, be16, be32, be64>;
TYPED_TEST_SUITE(WireIntOf, All);

TYPED_TEST(WireIntOf, GivesBackWhatWasPutIn)
{
    using Host = decltype(TypeParam{}.get());
    EXPECT_EQ(TypeParam{}.get(), 0u);
    for (unsigned bit = 0; bit < std::numeric_limits<Host>::digits; ++bit) {
        const Host value = static_cast<Host>(Host{1} << bit);
        TypeParam w{value};
        EXPECT_EQ(w.get(), value);
        w.set(static_cast<Host>(~value));
        EXPECT_EQ(w.get(), static_cast<Host>(~value));
    }
}

// A wire struct has no padding, and may lie anywhere.
TYPED_TEST(WireIntOf, TakesNoMoreRoomThanItsBytes)
{
    struct Packed {
        std::uint8_t before;
        TypeParam value;
        std::uint8_t after;
    };
    EXPECT_EQ(sizeof(Packed), sizeof(decltype(TypeParam{}.get())) + 2);
}

}   // namespace
}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Copies in words: every length at every alignment, and not a byte beside it.
#include "base/words.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace linnet {
namespace {

constexpr std::size_t kMost = 150;   // more than four turns of the longest step
constexpr std::byte kUntouched{0xee};

TEST(Words, LoadAndStoreNeedNoAlignment)
{
    std::array<std::byte, 24> memory;
    for (std::size_t at = 0; at < 9; ++at) {
        memory.fill(kUntouched);
        store_word(memory.data() + at, 0x0102030405060708);
        EXPECT_EQ(load_word(memory.data() + at), 0x0102030405060708u);
        for (std::size_t i = 0; i < memory.size(); ++i) {
            EXPECT_EQ(memory[i] == kUntouched, i < at || i >= at + 8) << i;
        }
    }
}

template <class Copy>
void expect_exact_copies(std::size_t most, Copy copy)
{
    std::array<std::byte, kMost + 16> from;
    for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = static_cast<std::byte>(i + 1);   // below kUntouched
    }
    static_assert(kMost + 16 < 0xee);
    std::array<std::byte, kMost + 24> to;
    for (std::size_t bytes = 0; bytes <= most; ++bytes) {
        for (std::size_t shift = 0; shift < 8; ++shift) {
            to.fill(kUntouched);
            copy(to.data() + 8 + shift, from.data() + (shift * 5) % 8, bytes);
            for (std::size_t i = 0; i < to.size(); ++i) {
                const bool inside = i >= 8 + shift && i < 8 + shift + bytes;
                ASSERT_EQ(to[i], inside ? from[i - 8 - shift + (shift * 5) % 8] : kUntouched) << bytes << " bytes, shift " << shift << ", at " << i;
            }
        }
    }
}

TEST(Words, CopyOfAnyLengthTouchesThatMuchAndNoMore)
{
    expect_exact_copies(kMost, copy_words);
    expect_exact_copies(kFewBytes, copy_few);
}

TEST(Words, CopyOfAFixedNumberOfThem)
{
    std::array<std::byte, 24> from;
    std::iota(reinterpret_cast<unsigned char*>(from.data()), reinterpret_cast<unsigned char*>(from.data() + from.size()), static_cast<unsigned char>(1));
    std::array<std::byte, 32> to;
    to.fill(kUntouched);
    copy_all_words<3>(to.data() + 4, from.data());
    EXPECT_TRUE(std::equal(from.begin(), from.end(), to.begin() + 4));
    EXPECT_EQ(std::count(to.begin(), to.end(), kUntouched), 8);
}

}   // namespace
}   // namespace linnet

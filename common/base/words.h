// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Bytes that are written in words and read again at once, in words.
//
// A processor serves a load out of its store buffer only if one store has all of its bytes; else the load waits until the stores have reached the cache, some
// 12 cycles and more. A compiler that makes one wide load of two narrow ones costs us just that, so these stay what they are.
// Threads: any. Blocking: never. Cannot fail.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace linnet {

// The word passes through a register of its own.
[[nodiscard]] inline std::uint64_t alone(std::uint64_t word) noexcept
{
#if defined(__GNUC__)
    asm("" : "+r"(word));
#endif
    return word;
}
[[nodiscard]] inline std::uint64_t load_word(const std::byte* from) noexcept
{
    std::uint64_t word = 0;
    std::memcpy(&word, from, sizeof word);
    return alone(word);
}
inline void store_word(std::byte* to, std::uint64_t word) noexcept
{
    word = alone(word);
    std::memcpy(to, &word, sizeof word);
}
inline void copy_word(std::byte* to, const std::byte* from) noexcept { store_word(to, load_word(from)); }

// Any number of bytes. Short ones: a call of memcpy() costs more than they do.
inline void copy_words(std::byte* to, const std::byte* from, std::size_t bytes) noexcept
{
    constexpr std::size_t kWord = sizeof(std::uint64_t);
    for (; bytes >= 4 * kWord; bytes -= 4 * kWord, to += 4 * kWord, from += 4 * kWord) {
        copy_word(to, from);
        copy_word(to + kWord, from + kWord);
        copy_word(to + 2 * kWord, from + 2 * kWord);
        copy_word(to + 3 * kWord, from + 3 * kWord);
    }
    for (; bytes >= kWord; bytes -= kWord, to += kWord, from += kWord) {
        copy_word(to, from);
    }
    for (std::size_t i = 0; i < bytes; ++i) {
        to[i] = from[i];
    }
}

// The same up to kFewBytes, which need not be read in words at once: no loop, and two pieces may overlap.
inline constexpr std::size_t kFewBytes = 64;
namespace detail {
template <std::size_t kPiece>
inline void copy_ends(std::byte* to, const std::byte* from, std::size_t bytes) noexcept
{
    std::array<std::byte, kPiece> first;
    std::array<std::byte, kPiece> last;
    std::memcpy(&first, from, kPiece);
    std::memcpy(&last, from + bytes - kPiece, kPiece);
    std::memcpy(to, &first, kPiece);
    std::memcpy(to + bytes - kPiece, &last, kPiece);
}
}   // namespace detail
inline void copy_few(std::byte* to, const std::byte* from, std::size_t bytes) noexcept
{
    if (bytes > 32) {
        detail::copy_ends<32>(to, from, bytes);
    } else if (bytes > 16) {
        detail::copy_ends<16>(to, from, bytes);
    } else if (bytes >= 8) {
        detail::copy_ends<8>(to, from, bytes);
    } else if (bytes >= 4) {
        detail::copy_ends<4>(to, from, bytes);
    } else if (bytes >= 2) {
        detail::copy_ends<2>(to, from, bytes);
    } else if (bytes != 0) {
        *to = *from;
    }
}

// So many words, without a loop.
template <std::size_t kWords>
inline void copy_all_words(std::byte* to, const std::byte* from) noexcept
{
    [&]<std::size_t... I>(std::index_sequence<I...>) { (copy_word(to + I * sizeof(std::uint64_t), from + I * sizeof(std::uint64_t)), ...); }(
        std::make_index_sequence<kWords>{});
}

}   // namespace linnet

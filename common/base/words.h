// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Bytes that are written in words and read again at once, in words.
//
// A processor serves a load out of its store buffer only if one store has all of its bytes; else the load waits until the stores have reached the cache, some
// 12 cycles and more. A compiler that makes one wide load of two narrow ones costs us just that, so these stay what they are.
// Threads: any. Blocking: never. Cannot fail.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

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
    if (bytes >= 2 * kWord) {
        copy_word(to, from);
        copy_word(to + kWord, from + kWord);
        bytes -= 2 * kWord;
        to += 2 * kWord;
        from += 2 * kWord;
    }
    if (bytes >= kWord) {
        copy_word(to, from);
        bytes -= kWord;
        to += kWord;
        from += kWord;
    }
    for (std::size_t i = 0; i < bytes; ++i) {
        to[i] = from[i];
    }
}

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The first few entries of a match queue, inside the match space itself.
//
// Most queues never hold more than a handful of entries. Here what is compared is copied into arrays, one per field, and all
// entries are compared at once: a search reads no element and takes the same time for one entry as for eight, warm requests or
// cold. Entries stay in their slots; one word lists the slots by age. Guarded by the lock of the match space; nothing allocates
// or fails.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/assert.h"

namespace linnet::match {

inline constexpr unsigned kShortQueue = 8;

// One 32-bit field of all entries, as two vectors of four lanes (the least that every x86-64 and arm64 has).
class Lanes {
public:
    using Vector = std::uint32_t __attribute__((vector_size(16)));

    [[nodiscard]] Vector half(unsigned h) const noexcept
    {
        Vector v;
        std::memcpy(&v, &lane_[4 * std::size_t{h}], sizeof v);
        return v;
    }
    void set(unsigned slot, std::uint32_t value) noexcept { lane_[slot] = value; }

    // Bit n is set when lane n of the eight that `lanes(0)` and `lanes(1)` compute is zero.
    template <class Halves>
    [[nodiscard]] static unsigned zeros(Halves halves) noexcept
    {
        constexpr Vector kBits0{1, 2, 4, 8};
        constexpr Vector kBits1{16, 32, 64, 128};
        const Vector bits = (reinterpret_cast<Vector>(halves(0) == 0) & kBits0) | (reinterpret_cast<Vector>(halves(1) == 0) & kBits1);
        std::array<std::uint64_t, 2> pair;
        std::memcpy(&pair, &bits, sizeof pair);
        const std::uint64_t both = pair[0] | pair[1];
        return static_cast<unsigned>(both | both >> 32);
    }

private:
    alignas(16) std::array<std::uint32_t, kShortQueue> lane_{};
};

// Which slots are in use, and in which order of age.
class SlotOrder {
public:
    [[nodiscard]] unsigned size() const noexcept { return count_; }
    [[nodiscard]] bool full() const noexcept { return count_ == kShortQueue; }
    [[nodiscard]] unsigned used() const noexcept { return used_; }   // one bit per slot
    // The slot of the entry that `age` others are older than.
    [[nodiscard]] unsigned slot(unsigned age) const noexcept { return static_cast<unsigned>(order_ >> 8 * age) & 0xff; }

    // The slot of the new youngest entry.
    unsigned add() noexcept
    {
        LINNET_ASSERT(!full());
        const unsigned s = slot(count_);
        ++count_;
        used_ = static_cast<std::uint8_t>(used_ | 1U << s);
        return s;
    }
    void remove(unsigned s) noexcept
    {
        LINNET_ASSERT((used_ >> s & 1U) != 0);
        const std::uint64_t older = (std::uint64_t{1} << 8 * age(s)) - 1;   // bytes before that of `s`
        order_ = (order_ & older) | (order_ >> 8 & ~older & UINT64_MAX >> 8) | std::uint64_t{s} << 56;
        --count_;
        used_ = static_cast<std::uint8_t>(used_ & ~(1U << s));
    }
    // The same where it is the only one: it stays the first of the free ones.
    void remove_only(unsigned s) noexcept
    {
        LINNET_ASSERT(count_ == 1 && slot(0) == s && used_ == 1U << s);
        count_ = 0;
        used_ = 0;
    }
    void remove_any(unsigned s) noexcept { count_ == 1 ? remove_only(s) : remove(s); }
    // The oldest of a non-empty set of used slots.
    [[nodiscard]] unsigned oldest(unsigned slots) const noexcept
    {
        LINNET_ASSERT(slots != 0);
        if ((slots & (slots - 1)) == 0) {
            return static_cast<unsigned>(std::countr_zero(slots));
        }
        unsigned age = 0;
        while ((slots >> slot(age) & 1U) == 0) {
            ++age;
        }
        return slot(age);
    }
    // How many are older: the place of the byte `s` in the word, by the lowest zero byte of the difference.
    [[nodiscard]] unsigned age(unsigned s) const noexcept
    {
        constexpr std::uint64_t kOnes = 0x0101010101010101;
        const std::uint64_t x = order_ ^ kOnes * s;
        return static_cast<unsigned>(std::countr_zero((x - kOnes) & ~x & kOnes << 7)) / 8;
    }

private:
    std::uint64_t order_{0x0706050403020100};   // byte n is a slot; the first count_ by age, then the free ones
    std::uint8_t count_{0};
    std::uint8_t used_{0};
};

}   // namespace linnet::match

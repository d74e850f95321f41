// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// BellPage: a page of shared memory by which other processes tell its owner which of many rings to look at, and whether it must be woken.
//
// Owner     One process maps it and reads it; those whom it is passed to set bits. What they write is a hint: a bit too many costs a look, a bit that is
//           cleared by a process that means harm costs its owner delay, never memory.
// Threads   Setters any; take() and the sleep calls one thread at a time.
// Blocking  Never. Cannot fail.
//
// Proof. All accesses are sequentially consistent.
//   A setter makes work, then sets its bit, then reads asleep_. A sleeper sets asleep_, then looks at the bits and at the work it knows how to see itself. In
//   the one order of all these either the setter sees asleep_ and wakes the owner, or the owner sees the bit or the work and does not sleep.
//   take() clears a bit before the owner looks for the work: a setter that found the bit set, and therefore left it, had made its work before that look.
//   Of several setters one clears asleep_ and wakes; should it die in between, its socket tells.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/ids.h"

namespace linnet {

class BellPage {
public:
    static constexpr std::uint32_t kBells = 4096;

    // ---- setters ----
    void set(std::uint32_t bell) noexcept
    {
        std::atomic<std::uint64_t>& word = words_[bell / 64 % words_.size()];
        const std::uint64_t bit = std::uint64_t{1} << bell % 64;
        if ((word.load(std::memory_order_seq_cst) & bit) == 0) {
            word.fetch_or(bit, std::memory_order_seq_cst);
        }
    }
    // False, after work was made that the owner finds by itself: nobody needs to wake it.
    [[nodiscard]] bool asleep() const noexcept { return asleep_.load(std::memory_order_seq_cst) != 0; }
    // Work was made, and set() called where the owner does not look by itself. True: wake it; nobody else will.
    [[nodiscard]] bool must_wake() noexcept { return asleep_.load(std::memory_order_seq_cst) != 0 && asleep_.exchange(0, std::memory_order_seq_cst) != 0; }

    // ---- owner ----
    // Calls look(bell) for every bell below `limit` that was set, once each; returns how many.
    template <class Look>
    unsigned take(std::uint32_t limit, Look&& look)
    {
        unsigned n = 0;
        for (std::uint32_t i = 0; i * 64 < limit && i < words_.size(); ++i) {
            if (words_[i].load(std::memory_order_relaxed) == 0) {
                continue;
            }
            for (std::uint64_t bits = words_[i].exchange(0, std::memory_order_seq_cst); bits != 0; bits &= bits - 1) {
                look(i * 64 + static_cast<std::uint32_t>(std::countr_zero(bits)));
                ++n;
            }
        }
        return n;
    }
    [[nodiscard]] bool any(std::uint32_t limit) const noexcept
    {
        for (std::uint32_t i = 0; i * 64 < limit && i < words_.size(); ++i) {
            if (words_[i].load(std::memory_order_seq_cst) != 0) {
                return true;
            }
        }
        return false;
    }
    void set_asleep(bool asleep) noexcept { asleep_.store(asleep ? 1 : 0, std::memory_order_seq_cst); }

private:
    alignas(kCacheLine) std::atomic<std::uint32_t> asleep_{0};
    alignas(kCacheLine) std::array<std::atomic<std::uint64_t>, kBells / 64> words_{};
};
static_assert(sizeof(BellPage) <= 4096);

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The first few entries of a match queue, in order of age, inside the match space itself.
//
// Most queues never hold more than a handful of entries. Here an entry carries a copy of what is compared, so a search reads a few
// adjacent cache lines of the space and no element: it costs the same whether the requests are warm or cold.
// Guarded by the lock of the match space; nothing allocates or fails.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/assert.h"

namespace linnet::match {

template <class Entry>
class SmallRing {
public:
    static constexpr unsigned kCapacity = 8;

    [[nodiscard]] unsigned size() const noexcept { return count_; }
    [[nodiscard]] bool full() const noexcept { return count_ == kCapacity; }
    // Age 0 is the oldest.
    [[nodiscard]] const Entry& operator[](unsigned age) const noexcept { return entries_[place(age)]; }

    void push_back(const Entry& e) noexcept
    {
        LINNET_ASSERT(!full());
        entries_[place(count_)] = e;
        ++count_;
    }

    // Bit n of the result: the entry of age n satisfies `accept`. Without a branch per entry, because which one matches is
    // what a branch predictor cannot know.
    template <class Accept>
    [[nodiscard]] unsigned matches(Accept accept) const noexcept
    {
        unsigned found = 0;
        for (unsigned age = 0; age < count_; ++age) {
            found |= static_cast<unsigned>(accept((*this)[age])) << age;
        }
        return found;
    }

    // Closes the gap from its shorter side; the oldest entry leaves for free.
    void remove(unsigned age) noexcept
    {
        LINNET_ASSERT(age < count_);
        if (2 * age < count_) {
            for (unsigned i = age; i > 0; --i) {
                entries_[place(i)] = entries_[place(i - 1)];
            }
            head_ = static_cast<std::uint8_t>(place(1));
        } else {
            for (unsigned i = age; i + 1 < count_; ++i) {
                entries_[place(i)] = entries_[place(i + 1)];
            }
        }
        --count_;
    }

private:
    [[nodiscard]] unsigned place(unsigned age) const noexcept { return (head_ + age) % kCapacity; }

    std::array<Entry, kCapacity> entries_;
    std::uint8_t head_{0};
    std::uint8_t count_{0};
};

}   // namespace linnet::match

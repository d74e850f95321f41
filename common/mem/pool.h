// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Pool<T>: objects of one type, in slabs that grow and never shrink before the pool dies.
//
// Owner: one object. Threads: one at a time; the owner's lock guards it. Blocking: never on the usual way; growing calls the
// allocator. Failure: null when the limit or the memory is exhausted: back-pressure, nothing is logged. Addresses are stable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "mem/poison.h"

namespace linnet {

template <class T>
class Pool {
    static_assert(std::is_nothrow_destructible_v<T>);

public:
    // `limit`: most objects at a time. The first slab holds 8 objects and each next one twice as many up to 256, so that an idle
    // owner stays small and a busy one seldom asks.
    explicit Pool(std::size_t limit = SIZE_MAX) noexcept : limit_{limit} {}
    // All objects must have been destroyed.
    ~Pool()
    {
        LINNET_ASSERT(in_use_ == 0);
        for (Slab& slab : slabs_) {
            unpoison(slab.cells.get(), slab.count * sizeof(Cell));
        }
    }
    Pool(const Pool&) = delete;
    Pool& operator=(const Pool&) = delete;

    // A new T, or null.
    template <class... Args>
    [[nodiscard]] T* create(Args&&... args) noexcept(std::is_nothrow_constructible_v<T, Args...>)
    {
        static_assert(std::is_nothrow_constructible_v<T, Args...>);
        if (in_use_ == limit_ || (free_ == nullptr && !grow())) {
            ++refusals_;
            return nullptr;
        }
        Cell* const cell = free_;
        unpoison(cell, sizeof(Cell));
        free_ = cell->next;
        ++in_use_;
        return new (cell) T(std::forward<Args>(args)...);
    }

    void destroy(T& object) noexcept
    {
        LINNET_ASSERT(in_use_ > 0);
        object.~T();
        Cell* const cell = reinterpret_cast<Cell*>(&object);
        cell->next = free_;
        poison(cell, sizeof(Cell));
        free_ = cell;
        --in_use_;
    }

    [[nodiscard]] std::size_t in_use() const noexcept { return in_use_; }
    [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::uint64_t growths() const noexcept { return growths_; }
    [[nodiscard]] std::uint64_t refusals() const noexcept { return refusals_; }

private:
    static constexpr std::size_t kFirstSlab = 8, kBiggestSlab = 256;
    union Cell {
        Cell* next;
        alignas(T) std::byte object[sizeof(T)];
    };
    struct Slab {
        std::unique_ptr<Cell[]> cells;
        std::size_t count;
    };

    [[nodiscard]] bool grow() noexcept
    {
        const std::size_t wanted = std::clamp(capacity_, kFirstSlab, kBiggestSlab);
        const std::size_t count = std::min(wanted, limit_ - capacity_);
        try {
            slabs_.reserve(slabs_.size() + 1);
            slabs_.push_back({std::make_unique_for_overwrite<Cell[]>(count), count});
        } catch (const std::bad_alloc&) {
            return false;
        }
        Cell* const cells = slabs_.back().cells.get();
        for (std::size_t i = count; i > 0; --i) {
            cells[i - 1].next = free_;
            free_ = &cells[i - 1];
        }
        poison(cells, count * sizeof(Cell));
        capacity_ += count;
        ++growths_;
        return true;
    }

    std::size_t limit_;
    std::size_t in_use_{0};
    std::size_t capacity_{0};
    std::uint64_t growths_{0};
    std::uint64_t refusals_{0};
    Cell* free_{nullptr};
    std::vector<Slab> slabs_;
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SpscRing: a bounded queue from one thread to one other.
//
// Owner: whoever holds both ends. Threads: one producer, one consumer; both may change over time when a lock or a join orders the
// old and the new one. Blocking: never. try_push() fails when full, try_pop() when empty. Does not allocate.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/ids.h"

namespace linnet {

// Invariant: 0 <= head_ - tail_ <= Capacity modulo 2^32, both only grow. Capacity is a power of two, so head_ % Capacity goes on
// smoothly when an index wraps.
//   (P) head_ release in try_push  pairs with  (C) head_ acquire in try_pop : the slot's contents are visible.
//   (F) tail_ release in try_pop   pairs with  (R) tail_ acquire in try_push: the slot was read and may be written again.
// Each side keeps its last sight of the other's index (seen_*). It can only be too small, never too big, so acting on it is safe;
// it is refreshed when it says full or empty. That keeps the two index lines from moving between cores at every element.
template <class T, std::uint32_t Capacity>
class SpscRing {
    static_assert(Capacity > 0 && (Capacity & (Capacity - 1)) == 0, "a power of two");
    static_assert(std::is_nothrow_copy_assignable_v<T>);

public:
    // `first` is the starting index; tests set it next to the wrap.
    explicit SpscRing(std::uint32_t first = 0) noexcept : head_{first}, seen_tail_{first}, tail_{first}, seen_head_{first} {}
    SpscRing(const SpscRing&) = delete;
    SpscRing& operator=(const SpscRing&) = delete;

    // Producer. False: full, nothing happened.
    [[nodiscard]] bool try_push(const T& item) noexcept
    {
        const std::uint32_t head = head_.load(std::memory_order_relaxed);   // own index
        if (head - seen_tail_ == Capacity) {
            seen_tail_ = tail_.load(std::memory_order_acquire);   // (R)
            if (head - seen_tail_ == Capacity) {
                return false;
            }
        }
        slots_[head % Capacity] = item;
        head_.store(head + 1, std::memory_order_release);   // (P)
        return true;
    }

    // Consumer. False: empty, `item` is unchanged.
    [[nodiscard]] bool try_pop(T& item) noexcept
    {
        const std::uint32_t tail = tail_.load(std::memory_order_relaxed);   // own index
        if (seen_head_ == tail) {
            seen_head_ = head_.load(std::memory_order_acquire);   // (C)
            if (seen_head_ == tail) {
                return false;
            }
        }
        item = slots_[tail % Capacity];
        tail_.store(tail + 1, std::memory_order_release);   // (F)
        return true;
    }

    // A hint for any thread; exact for the two ends while the other one rests.
    [[nodiscard]] std::size_t size() const noexcept
    {
        // tail first: head can only have grown since, so the difference is never negative; capped, since both may have moved.
        const std::uint32_t tail = tail_.load(std::memory_order_acquire);
        const std::uint32_t n = head_.load(std::memory_order_acquire) - tail;
        return n < Capacity ? n : Capacity;
    }
    [[nodiscard]] bool empty() const noexcept { return size() == 0; }
    static constexpr std::size_t capacity() noexcept { return Capacity; }

private:
    // written by the producer
    alignas(kCacheLine) std::atomic<std::uint32_t> head_;
    std::uint32_t seen_tail_;
    // written by the consumer
    alignas(kCacheLine) std::atomic<std::uint32_t> tail_;
    std::uint32_t seen_head_;
    alignas(kCacheLine) std::array<T, Capacity> slots_{};
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// BlockPool: blocks of bytes in size classes, under a budget.
//
// Owner: one object (a context, a transport). Threads: one at a time; the owner's lock guards it. Blocking: never on the usual way;
// growing calls the allocator. Failure: null, when the budget or the memory is exhausted: back-pressure, nothing is logged.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace linnet {

class BlockPool {
public:
    // Classes are powers of two from 64 bytes to 64 KiB: at most half of a block is waste. From 2 KiB on each has kHeadroom more, so that a payload whose size
    // is a power of two, as most are, finds room for its heads too. Bigger blocks come from the allocator and go back to it at once: copying that much costs
    // more than allocating does.
    static constexpr std::size_t kSmallest = 64;
    static constexpr std::size_t kHeadroom = 256;
    static constexpr std::size_t kLargest = 65536;

    // At most `budget_bytes` are ever taken from the allocator, free blocks included.
    explicit BlockPool(std::size_t budget_bytes = SIZE_MAX) noexcept : budget_{budget_bytes} {}
    // All blocks must have been released.
    ~BlockPool();
    BlockPool(const BlockPool&) = delete;
    BlockPool& operator=(const BlockPool&) = delete;

    // A block of at least `bytes`, aligned to a cache line, contents undefined; or null.
    [[nodiscard]] std::byte* acquire(std::size_t bytes) noexcept;
    // `bytes` as it was acquired. Null is ignored.
    void release(std::byte* block, std::size_t bytes) noexcept;

    // What acquire(bytes) really gives.
    [[nodiscard]] static std::size_t block_size(std::size_t bytes) noexcept;

    [[nodiscard]] std::size_t budget_bytes() const noexcept { return budget_; }
    [[nodiscard]] std::size_t held_bytes() const noexcept { return held_; }     // taken from the allocator
    [[nodiscard]] std::size_t in_use_bytes() const noexcept { return in_use_; } // in blocks that are out
    [[nodiscard]] std::uint64_t growths() const noexcept { return growths_; }   // calls of the allocator
    [[nodiscard]] std::uint64_t refusals() const noexcept { return refusals_; } // null answers

private:
    static constexpr std::size_t kClasses = 11;
    struct Free {
        Free* next;
    };
    struct Slab {
        Slab* next;
        std::byte* memory;
        std::size_t bytes;
    };
    [[nodiscard]] std::byte* take_memory(std::size_t bytes) noexcept;
    [[nodiscard]] bool grow(std::size_t size_class) noexcept;

    std::size_t budget_;
    std::size_t held_{0};
    std::size_t in_use_{0};
    std::uint64_t growths_{0};
    std::uint64_t refusals_{0};
    Slab* slabs_{nullptr};
    std::array<Free*, kClasses> free_{};
};

}   // namespace linnet

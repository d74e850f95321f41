// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// BlockPool: size classes, slabs, the budget.
#include "mem/block_pool.h"

#include <algorithm>
#include <bit>
#include <new>

#include "base/assert.h"
#include "base/ids.h"
#include "mem/poison.h"

namespace linnet {
namespace {

constexpr std::align_val_t kAlign{kCacheLine};

// A slab holds several small blocks, so that the allocator is asked rarely, but no more than 16 KiB of them, so that a process with
// little traffic stays small; from 16 KiB on a block is a slab.
constexpr std::size_t kSlabBytes = 16384;

constexpr std::size_t kFirstWithHeadroom = 2048;

constexpr std::size_t class_bytes(std::size_t size_class) noexcept
{
    const std::size_t bytes = BlockPool::kSmallest << size_class;
    return bytes < kFirstWithHeadroom ? bytes : bytes + BlockPool::kHeadroom;
}

constexpr std::size_t class_of(std::size_t bytes) noexcept
{
    const std::size_t power = bytes <= kFirstWithHeadroom + BlockPool::kHeadroom ? std::min(bytes, kFirstWithHeadroom) : bytes - BlockPool::kHeadroom;
    const std::size_t units = (std::max<std::size_t>(power, 1) - 1) / BlockPool::kSmallest;
    return static_cast<std::size_t>(std::bit_width(units));
}
static_assert(class_bytes(10) == BlockPool::kLargest + BlockPool::kHeadroom && class_of(BlockPool::kLargest) == 10);
static_assert(class_of(1024) == 4 && class_of(1025) == 5 && class_of(class_bytes(5)) == 5 && class_of(class_bytes(5) + 1) == 6);

}   // namespace

BlockPool::~BlockPool()
{
    LINNET_ASSERT(in_use_ == 0);
    while (slabs_ != nullptr) {
        Slab* const slab = slabs_;
        slabs_ = slab->next;
        unpoison(slab->memory, slab->bytes);
        ::operator delete(slab->memory, kAlign);
        delete slab;
    }
}

std::size_t BlockPool::block_size(std::size_t bytes) noexcept
{
    return bytes > kLargest ? bytes : class_bytes(class_of(bytes));
}

std::byte* BlockPool::take_memory(std::size_t bytes) noexcept
{
    if (bytes > budget_ - held_) {
        return nullptr;
    }
    auto* memory = static_cast<std::byte*>(::operator new(bytes, kAlign, std::nothrow));
    if (memory != nullptr) {
        held_ += bytes;
        ++growths_;
    }
    return memory;
}

bool BlockPool::grow(std::size_t size_class) noexcept
{
    const std::size_t block = class_bytes(size_class);
    const std::size_t bytes = std::max(block, std::min(kSlabBytes, budget_ - held_) / block * block);
    Slab* const slab = new (std::nothrow) Slab{slabs_, nullptr, bytes};
    if (slab == nullptr) {
        return false;
    }
    slab->memory = take_memory(bytes);
    if (slab->memory == nullptr) {
        delete slab;
        return false;
    }
    slabs_ = slab;
    for (std::size_t at = bytes; at > 0; at -= block) {   // backwards: blocks come out in the order of their addresses
        std::byte* const p = slab->memory + (at - block);
        free_[size_class] = new (p) Free{free_[size_class]};
        poison(p, block);
    }
    return true;
}

std::byte* BlockPool::acquire(std::size_t bytes) noexcept
{
    if (bytes > kLargest) {
        std::byte* const memory = take_memory(bytes);
        memory != nullptr ? in_use_ += bytes : ++refusals_;
        return memory;
    }
    const std::size_t size_class = class_of(bytes);
    if (free_[size_class] == nullptr && !grow(size_class)) {
        ++refusals_;
        return nullptr;
    }
    Free* const block = free_[size_class];
    unpoison(block, class_bytes(size_class));
    free_[size_class] = block->next;
    in_use_ += class_bytes(size_class);
    return reinterpret_cast<std::byte*>(block);
}

void BlockPool::release(std::byte* block, std::size_t bytes) noexcept
{
    if (block == nullptr) {
        return;
    }
    LINNET_ASSERT(in_use_ >= block_size(bytes));
    in_use_ -= block_size(bytes);
    if (bytes > kLargest) {
        held_ -= bytes;
        ::operator delete(block, kAlign);
        return;
    }
    const std::size_t size_class = class_of(bytes);
    free_[size_class] = new (block) Free{free_[size_class]};
    poison(block, class_bytes(size_class));
}

}   // namespace linnet

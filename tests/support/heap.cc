// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
#include "support/heap.h"

#include <atomic>
#include <cstdlib>
#include <new>

namespace linnet::testing {

thread_local std::size_t t_allocations_left = kNever;

namespace {

std::atomic<std::uint64_t> made{0};   // NOLINT: operator new has no other way to reach it

// Null: none.
void* allocate_or_not(std::size_t bytes, std::size_t alignment) noexcept
{
    made.fetch_add(1, std::memory_order_relaxed);
    if (t_allocations_left != kNever && t_allocations_left-- == 0) {   // kNever from now on: one fails
        return nullptr;
    }
    const std::size_t whole = (bytes + alignment - 1) / alignment * alignment;
    return alignment <= alignof(std::max_align_t) ? std::malloc(bytes) : std::aligned_alloc(alignment, whole);
}

void* allocate(std::size_t bytes, std::size_t alignment)
{
    void* const at = allocate_or_not(bytes, alignment);
    if (at == nullptr) {
        throw std::bad_alloc{};
    }
    return at;
}

constexpr std::size_t bytes_of(std::align_val_t alignment) noexcept { return static_cast<std::size_t>(alignment); }

}   // namespace

std::uint64_t allocations() noexcept { return made.load(std::memory_order_relaxed); }

}   // namespace linnet::testing

using linnet::testing::allocate;
using linnet::testing::allocate_or_not;
using linnet::testing::bytes_of;

// Those of the whole program, each of them, as a sanitizer has its own in place of the ones that would call these.
void* operator new(std::size_t n) { return allocate(n, 1); }
void* operator new[](std::size_t n) { return allocate(n, 1); }
void* operator new(std::size_t n, std::align_val_t a) { return allocate(n, bytes_of(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return allocate(n, bytes_of(a)); }
void* operator new(std::size_t n, const std::nothrow_t&) noexcept { return allocate_or_not(n, 1); }
void* operator new[](std::size_t n, const std::nothrow_t&) noexcept { return allocate_or_not(n, 1); }
void* operator new(std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return allocate_or_not(n, bytes_of(a)); }
void* operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t&) noexcept { return allocate_or_not(n, bytes_of(a)); }
void operator delete(void* at) noexcept { std::free(at); }
void operator delete[](void* at) noexcept { std::free(at); }
void operator delete(void* at, std::size_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t) noexcept { std::free(at); }
void operator delete(void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
void operator delete[](void* at, std::size_t, std::align_val_t) noexcept { std::free(at); }
void operator delete(void* at, const std::nothrow_t&) noexcept { std::free(at); }
void operator delete[](void* at, const std::nothrow_t&) noexcept { std::free(at); }

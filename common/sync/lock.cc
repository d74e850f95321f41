// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SpinLock: the waiting path, kept out of line so that lock() inlines to two instructions.
#include "sync/lock.h"

#include <array>
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "base/ids.h"
#include "sync/backoff.h"

namespace linnet {
namespace {

// Where waiters sleep: by the address of the mutex, so that a mutex itself is a few bytes. Two that share a place wake each other for nothing.
struct alignas(kCacheLine) Bed {
    std::mutex mutex;
    std::condition_variable bell;
};
Bed& bed_of(const void* mutex) noexcept
{
    static auto& beds = *new std::array<Bed, 16>;   // never destroyed: some thread may sleep here to the end
    return beds[reinterpret_cast<std::uintptr_t>(mutex) / kCacheLine % beds.size()];
}
constexpr std::chrono::milliseconds kLongestSleep{1};
// Before that: the owner may only have lost its core.
constexpr unsigned kYields = 30;

}   // namespace

void Mutex::lock_contended() noexcept
{
    Backoff backoff;
    for (unsigned yields = 0; yields < kYields; yields += backoff.yielding() ? 1 : 0, backoff.wait()) {
        if (!held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire)) {   // (A)
            return;
        }
    }
    Bed& bed = bed_of(this);
    waiters_.fetch_add(1, std::memory_order_seq_cst);   // (W)
    {
        std::unique_lock guard{bed.mutex};
        while (held_.exchange(true, std::memory_order_acquire)) {   // (A)
            bed.bell.wait_for(guard, kLongestSleep);
        }
    }
    waiters_.fetch_sub(1, std::memory_order_relaxed);
}

void Mutex::wake() noexcept
{
    Bed& bed = bed_of(this);
    {
        const std::lock_guard guard{bed.mutex};   // a waiter that found it held sleeps by now
    }
    bed.bell.notify_all();
}

void SpinLock::lock_contended() noexcept
{
    Backoff backoff;
    do {
        while (held_.load(std::memory_order_relaxed)) {
            backoff.wait();
        }
    } while (held_.exchange(true, std::memory_order_acquire));   // (A)
}

}   // namespace linnet

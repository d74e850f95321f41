// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SlotTable: 32-bit handles for requests that a peer may name on the wire.
//
// A handle holds an index and a generation, so that a late or hostile packet finds nothing instead of somebody else's request.
// Threads: any; a leaf lock. Allocates only when it grows.
#pragma once

#include <cstdint>
#include <vector>

#include "sync/lock.h"

namespace linnet::proto {

template <class T>
class SlotTable {
public:
    static constexpr unsigned kIndexBits = 20;

    // A handle for `object`, never 0; or 0 when a million are in use or memory is short.
    [[nodiscard]] std::uint32_t acquire(T& object) noexcept
    {
        SpinLockGuard guard{lock_};
        if (free_ == kNone && !grow()) {
            return 0;
        }
        const std::uint32_t index = free_;
        Slot& s = slots_[index];
        free_ = s.next_free;
        s.object = &object;
        return handle(index, s.generation);
    }
    void release(std::uint32_t h) noexcept
    {
        SpinLockGuard guard{lock_};
        Slot& s = slots_[h & kIndexMask];
        s.object = nullptr;
        s.generation = s.generation == kGenerationMask ? 1 : s.generation + 1;   // never 0, so that no handle is 0
        s.next_free = free_;
        free_ = h & kIndexMask;
    }
    // Null for a handle that is not in use. The caller's protocol must keep the object alive: only the token holder ends requests.
    [[nodiscard]] T* find(std::uint32_t h) noexcept
    {
        SpinLockGuard guard{lock_};
        const std::uint32_t index = h & kIndexMask;
        if (index >= slots_.size() || handle(index, slots_[index].generation) != h) {
            return nullptr;
        }
        return slots_[index].object;
    }

private:
    static constexpr std::uint32_t kIndexMask = (1u << kIndexBits) - 1;
    static constexpr std::uint32_t kGenerationMask = (1u << (32 - kIndexBits)) - 1;
    static constexpr std::uint32_t kNone = UINT32_MAX;
    struct Slot {
        T* object{nullptr};
        std::uint32_t generation{1};
        std::uint32_t next_free{kNone};
    };
    static std::uint32_t handle(std::uint32_t index, std::uint32_t generation) noexcept { return generation << kIndexBits | index; }
    bool grow() noexcept LINNET_REQUIRES(lock_)
    {
        const std::size_t old = slots_.size();
        const std::size_t now = old == 0 ? 64 : old * 2;
        if (now > std::size_t{kIndexMask} + 1) {
            return false;
        }
        try {
            slots_.resize(now);
        } catch (...) {
            return false;
        }
        for (std::size_t i = now; i > old; --i) {
            slots_[i - 1].next_free = free_;
            free_ = static_cast<std::uint32_t>(i - 1);
        }
        return true;
    }

    SpinLock lock_;
    std::vector<Slot> slots_ LINNET_GUARDED_BY(lock_);
    std::uint32_t free_ LINNET_GUARDED_BY(lock_) = kNone;
};

}   // namespace linnet::proto

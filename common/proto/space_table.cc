// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SpaceTable bodies.
#include "proto/space_table.h"

#include <new>

namespace linnet::proto {

SpaceTable::~SpaceTable()
{
    for (auto& d : direct_) {
        delete d.load(std::memory_order_relaxed);
    }
}

Space* SpaceTable::make_direct(std::uint32_t id) noexcept
{
    MutexLock guard{lock_};
    Space* s = direct_[id].load(std::memory_order_relaxed);
    if (s == nullptr) {
        s = new (std::nothrow) Space{id, wild_mask_, seed_};
        direct_[id].store(s, std::memory_order_release);
    }
    return s;
}

Space* SpaceTable::get_far(std::uint32_t id) noexcept
{
    MutexLock guard{lock_};
    try {
        const auto it = far_.find(id);
        if (it != far_.end()) {
            return it->second.get();
        }
        if (far_.size() >= kFarMax) {
            return nullptr;
        }
        return far_.emplace(id, std::make_unique<Space>(id, wild_mask_, seed_)).first->second.get();
    } catch (...) {
        return nullptr;
    }
}

}   // namespace linnet::proto

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RegionTable.
#include "proto/region_table.h"

#include <limits>

namespace linnet::proto {

Result<Region*> RegionTable::open(const RegionSpec& spec) noexcept
{
    constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
    if (spec.length == 0 || spec.length - 1 > kLast - spec.origin || spec.length - 1 > kLast - reinterpret_cast<std::uintptr_t>(spec.base)) {
        return Status::kInvalid;
    }
    SpinLockGuard guard{lock_};
    try {
        const auto [at, fresh] = regions_.try_emplace(spec.key);
        if (!fresh) {
            return Status::kKey;
        }
        at->second.reset(new (std::nothrow) Region{spec, ++last_number_ * 2 + (spec.notices ? 1 : 0)});
        if (at->second == nullptr) {
            regions_.erase(at);
            return Status::kNoMemory;
        }
        return at->second.get();
    } catch (...) {
        return Status::kNoMemory;
    }
}

void RegionTable::close(Region& region) noexcept
{
    SpinLockGuard guard{lock_};
    const auto at = regions_.find(region.spec.key);
    region.closed = true;
    if (region.queued) {
        static_cast<void>(at->second.release());   // take() frees it
    }
    regions_.erase(at);
}

RegionTable::Place RegionTable::find(std::uint64_t key, std::uint64_t address, std::uint64_t length, Access access) noexcept
{
    if (length == 0) {
        return {};
    }
    SpinLockGuard guard{lock_};
    const auto at = regions_.find(key);
    if (at == regions_.end()) {
        return {Status::kKey};
    }
    const RegionSpec& s = at->second->spec;
    if ((access != Access::kWrite && !s.readable) || (access != Access::kRead && !s.writable)) {
        return {Status::kNotAllowed};
    }
    const std::uint64_t offset = address - s.origin;
    if (address < s.origin || offset > s.length || length > s.length - offset) {
        return {Status::kBounds};
    }
    return {Status::kOk, s.base + offset, at->second->number};
}

void RegionTable::listen(bool wanted) noexcept
{
    SpinLockGuard guard{lock_};
    listened_ = wanted;
}

Region* RegionTable::note(std::uint64_t key, std::uint64_t number, Access access) noexcept
{
    SpinLockGuard guard{lock_};
    if (number != 0 && number % 2 == 0) {
        return nullptr;
    }
    const auto at = number == 0 ? regions_.end() : regions_.find(key);
    const bool known = at != regions_.end() && at->second->number == number;
    if (!known && !listened_) {
        return nullptr;
    }
    Region& r = known ? *at->second : nowhere_;
    r.reads += access != Access::kWrite ? 1 : 0;
    r.writes += access == Access::kWrite ? 1 : 0;
    r.changes += known && access != Access::kRead ? 1 : 0;
    if (r.queued) {
        return nullptr;
    }
    r.queued = true;
    return &r;
}

RegionTable::Notice RegionTable::take(Region& region) noexcept
{
    SpinLockGuard guard{lock_};
    const Notice n = region.closed ? Notice{nullptr, region.reads, region.writes, 0} : Notice{region.spec.arg, region.reads, region.writes, region.changes};
    region.reads = region.writes = region.changes = 0;
    region.queued = false;
    if (region.closed) {
        delete &region;
    }
    return n;
}

}   // namespace linnet::proto

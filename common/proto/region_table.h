// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RegionTable: the memory of this process that peers may read and write, by key.
//
// What it is     Checks of key, bounds and access, and what was done to a region, counted until the host asks.
// Threads        Any; a leaf lock. A Region's members are guarded by it, but for the pointer itself.
// Life           A region leaves the table by close(); its record lives on until the host has taken the last notice of it.
// Failure        kKey, kBounds, kNotAllowed: what a peer asked for is refused. Allocates in open() only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/status.h"
#include "proto/request.h"
#include "sync/lock.h"

namespace linnet::proto {

enum class Access : std::uint8_t { kRead = 1, kWrite = 2, kBoth = 3 };

struct RegionSpec {
    std::byte* base{nullptr};
    std::uint64_t length{0};
    std::uint64_t key{0};
    std::uint64_t origin{0};     // the address by which peers name the first byte
    bool readable{false};
    bool writable{false};
    bool notices{false};         // the host wants to hear of accesses
    void* arg{nullptr};          // the host's
};

struct Region final : Completion {
    explicit Region(const RegionSpec& s, std::uint64_t n) noexcept : Completion{Kind::kRegion}, spec{s}, number{n} {}
    const RegionSpec spec;
    const std::uint64_t number;  // no two regions of a table have the same, and none 0; odd: with `spec.notices`
    std::uint32_t reads{0};      // since the host took the last notice; atomic operations that bring back what was there among them
    std::uint32_t writes{0};     // all else
    std::uint32_t changes{0};    // writes, and of the reads those that may change what was there
    bool queued{false};          // in the list of completions
    bool closed{false};          // freed when it leaves that
};

class RegionTable {
public:
    // Where bytes of a region lie. `number` tells it from a later one with the same key.
    struct Place {
        Status status{Status::kOk};
        std::byte* at{nullptr};
        std::uint64_t number{0};
    };
    struct Notice {
        void* arg;
        std::uint32_t reads;
        std::uint32_t writes;
        std::uint32_t changes;
    };

    // kKey: the key is in use; kInvalid: no bytes, or their addresses wrap; kNoMemory.
    [[nodiscard]] Result<Region*> open(const RegionSpec& spec) noexcept;
    void close(Region& region) noexcept;
    // The place of `length` bytes at `address`. Nothing may be done with no bytes, whatever the key: then `at` is null.
    [[nodiscard]] Place find(std::uint64_t key, std::uint64_t address, std::uint64_t length, Access access) noexcept;
    // The host wants to hear of what is done to no bytes, too: of no region, whose `arg` is null.
    void listen(bool wanted) noexcept;
    // A peer read or wrote, or did both at once, to the region of this number; of one that was closed since, as to no bytes, which are of number 0. The region,
    // if it shall go into the list of completions now. Before the peer knows that it is done: who hears of that from the peer may close the region.
    [[nodiscard]] Region* note(std::uint64_t key, std::uint64_t number, Access access) noexcept;
    // It left the list. What was counted; of one that was closed since, whose record this frees, as of no region.
    Notice take(Region& region) noexcept;

private:
    SpinLock lock_;
    std::unordered_map<std::uint64_t, std::unique_ptr<Region>> regions_ LINNET_GUARDED_BY(lock_);
    std::uint64_t last_number_ LINNET_GUARDED_BY(lock_) = 0;
    bool listened_ LINNET_GUARDED_BY(lock_) = false;
    Region nowhere_ LINNET_GUARDED_BY(lock_){RegionSpec{}, 0};   // what is done to no bytes, and what is told of a region that is gone
};

}   // namespace linnet::proto

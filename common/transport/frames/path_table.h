// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PathTable: how long frames may be on the way to a host.
//
// Both interfaces may take jumbo frames and the switch between them not, or a tunnel less than either side's network; nobody says so where such frames only
// vanish. So the frames that open a link are padded
// to the length that is hoped for, and what arrives proves its length. When the first ones stay unanswered, every other one is short.
// A path that was never proven carries what is hoped for: nothing is sent on it but frames that open links.
// Owner: a port. Threads: any. Bounded: peers beyond the bound get short frames.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "sync/lock.h"

namespace linnet::frames {

class PathTable {
public:
    static constexpr std::size_t kMostPaths = 65536;
    static constexpr unsigned kHopeful = 2;   // frames of full length in a row before a short one: a single loss shall not cost the jumbo frames

    // The longest frame to send on the path `key`, at most `hoped`; `safe` is what every network takes.
    [[nodiscard]] std::size_t longest(std::uint64_t key, std::size_t hoped, std::size_t safe) const noexcept
    {
        MutexLock guard{lock_};
        const auto it = paths_.find(key);
        if (it == paths_.end()) {
            return paths_.size() < kMostPaths ? hoped : safe;
        }
        return it->second.proven == 0 ? hoped : it->second.proven < hoped ? it->second.proven : hoped;
    }

    // How long the next frame that opens a link shall be.
    [[nodiscard]] std::size_t next_opening(std::uint64_t key, std::size_t hoped, std::size_t safe) noexcept
    try {
        MutexLock guard{lock_};
        if (paths_.size() == kMostPaths && paths_.find(key) == paths_.end()) {
            return safe;
        }
        Path& p = paths_[key];
        const unsigned n = p.unanswered++;
        const std::size_t full = p.proven != 0 && p.proven < hoped ? p.proven : hoped;
        return n < kHopeful || n % 2 == 1 ? full : safe;
    } catch (const std::bad_alloc&) {
        return safe;
    }

    // A frame of this length came from there; the way back is taken to be like it.
    void arrived(std::uint64_t key, std::size_t bytes, std::size_t safe) noexcept
    try {
        MutexLock guard{lock_};
        if (paths_.size() == kMostPaths && paths_.find(key) == paths_.end()) {
            return;
        }
        Path& p = paths_[key];
        p.proven = bytes < safe ? safe : bytes;
        p.unanswered = 0;
    } catch (const std::bad_alloc&) {
        return;   // it stays as it was
    }

private:
    struct Path {
        std::size_t proven{0};    // length of the last one that came; 0: none did
        unsigned unanswered{0};   // sent since
    };
    mutable Mutex lock_;
    std::unordered_map<std::uint64_t, Path> paths_ LINNET_GUARDED_BY(lock_);
};

}   // namespace linnet::frames

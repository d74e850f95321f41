// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PathTable: how long frames may be on the way to a host.
//
// Both interfaces may take jumbo frames and the switch between them not, or a tunnel less than either side's network; nobody says so where such frames only
// vanish. So the frames that open a link are padded
// to the length that is hoped for, and what arrives proves its length. When the first ones stay unanswered, every other one is short.
// A path that was never proven carries what is hoped for: nothing is sent on it but frames that open links.
// Owner: a port. Threads: any. Bounded: beyond the bound the hosts that it has known longest are forgotten.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <unordered_map>

#include "sync/lock.h"

namespace linnet::frames {

class PathTable {
public:
    static constexpr std::size_t kMostPaths = 65536;
    static constexpr unsigned kHopeful = 2;   // frames of full length in a row before a short one: a single loss shall not cost the jumbo frames

    // The longest frame to send on the path `key`, at most `hoped`.
    [[nodiscard]] std::size_t longest(std::uint64_t key, std::size_t hoped) const noexcept
    {
        MutexLock guard{lock_};
        const auto it = paths_.find(key);
        const std::size_t proven = it != paths_.end() ? it->second.proven : 0;
        return proven != 0 && proven < hoped ? proven : hoped;
    }

    // How long the next frame that opens a link shall be; `safe` is what every network takes.
    [[nodiscard]] std::size_t next_opening(std::uint64_t key, std::size_t hoped, std::size_t safe) noexcept
    try {
        MutexLock guard{lock_};
        Path& p = place(key);
        const unsigned n = p.unanswered++;
        const std::size_t full = p.proven != 0 && p.proven < hoped ? p.proven : hoped;
        return n < kHopeful || n % 2 == 1 ? full : safe;
    } catch (const std::bad_alloc&) {
        return safe;
    }

    // A frame of this length came from there; the way back is taken to be like it. 0: of a length that says nothing.
    void arrived(std::uint64_t key, std::size_t bytes, std::size_t safe) noexcept
    try {
        MutexLock guard{lock_};
        Path& p = place(key);
        p.proven = bytes == 0 ? p.proven : bytes < safe ? safe : bytes;
        p.unanswered = 0;
    } catch (const std::bad_alloc&) {
        return;   // it stays as it was
    }

private:
    struct Path {
        std::size_t proven{0};    // length of the last one that came; 0: none did
        unsigned unanswered{0};   // sent since
    };
    [[nodiscard]] Path& place(std::uint64_t key) LINNET_REQUIRES(lock_)
    {
        if (const auto it = paths_.find(key); it != paths_.end()) {
            return it->second;
        }
        if (paths_.size() >= kMostPaths) {
            paths_.erase(order_.front());
            order_.pop_front();
        }
        order_.push_back(key);
        try {
            return paths_[key];
        } catch (const std::bad_alloc&) {
            order_.pop_back();
            throw;
        }
    }

    mutable Mutex lock_;
    std::unordered_map<std::uint64_t, Path> paths_ LINNET_GUARDED_BY(lock_);
    std::deque<std::uint64_t> order_ LINNET_GUARDED_BY(lock_);   // its keys, the oldest first
};

}   // namespace linnet::frames

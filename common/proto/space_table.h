// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Spaces: the match spaces of a context, by id.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>

#include "base/intrusive_list.h"
#include "match/match_space.h"
#include "proto/request.h"
#include "sync/lock.h"

namespace linnet::proto {

// What is meant for a receive that is not posted: one of the host's, which the core does not know. In storage that the host lends; under its space's lock.
struct Space;
struct Reservation final : ListLink {
    MatchSpec spec;
    Space* space{nullptr};
};

// A message that waits for its receive is in up to two lists besides.
struct Unexpected;
using NamedLink = ListLinkOf<0>;   // of its peer, which may cancel it
using OwedLink = ListLinkOf<1>;    // of its space

// What a host that watches a space hears of it; bits.
struct SpaceNews {
    static constexpr std::uint32_t kMessages = 1;   // some came for which no receive was posted
    static constexpr std::uint32_t kPeer = 2;       // one was lost, or removed by the host
};

// It is in the list of completions while there is news, once.
struct SpaceWatch final : Completion {
    using Fn = void (*)(void* arg, std::uint32_t space, std::uint32_t news) noexcept;
    SpaceWatch(std::uint32_t id, Fn f, void* a) noexcept : Completion{Kind::kSpace}, space{id}, fn{f}, arg{a} {}
    const std::uint32_t space;
    const Fn fn;
    void* const arg;
    std::atomic<std::uint32_t> news{0};
    std::atomic<bool> ended{false};
};

struct Space {
    Space(std::uint32_t space_id, std::uint64_t wild_mask, std::uint64_t seed) noexcept : id{space_id}, match{wild_mask, seed} {}
    const std::uint32_t id;
    SpinLock lock;
    MatchSpace match LINNET_GUARDED_BY(lock);
    std::atomic<SpaceWatch*> watch{nullptr};   // set once, and never taken away
    IntrusiveList<Reservation> reserved LINNET_GUARDED_BY(lock);
    IntrusiveList<Unexpected, OwedLink> owed LINNET_GUARDED_BY(lock);   // messages that are meant for these, whose senders want to know when they are there
    ~Space() { delete watch.load(std::memory_order_relaxed); }
};

// Spaces come into being when first named, by the host or by a packet. Threads: any. A space lives until the context ends, so that a pointer
// to it stays good; close() only empties it (a host numbers its communicators from a small set and uses the numbers again).
class SpaceTable {
public:
    SpaceTable(std::uint64_t wild_mask, std::uint64_t seed) noexcept : wild_mask_{wild_mask}, seed_{seed} {}
    ~SpaceTable();
    SpaceTable(const SpaceTable&) = delete;
    SpaceTable& operator=(const SpaceTable&) = delete;

    // Null when memory is short, or when a peer named more spaces than any program has.
    [[nodiscard]] Space* get(std::uint32_t id) noexcept
    {
        if (id < kDirect) {
            Space* s = direct_[id].load(std::memory_order_acquire);
            return s != nullptr ? s : make_direct(id);
        }
        return get_far(id);
    }
    template <class Fn>
    void for_each(Fn&& fn)
    {
        for (auto& d : direct_) {
            if (Space* s = d.load(std::memory_order_acquire); s != nullptr) {
                fn(*s);
            }
        }
        MutexLock guard{lock_};
        for (auto& [id, s] : far_) {
            fn(*s);
        }
    }

private:
    static constexpr std::size_t kDirect = 1024;
    static constexpr std::size_t kFarMax = 1u << 20;
    Space* make_direct(std::uint32_t id) noexcept;
    Space* get_far(std::uint32_t id) noexcept;

    const std::uint64_t wild_mask_;
    const std::uint64_t seed_;
    std::array<std::atomic<Space*>, kDirect> direct_{};
    Mutex lock_;
    std::unordered_map<std::uint32_t, std::unique_ptr<Space>> far_ LINNET_GUARDED_BY(lock_);
};

}   // namespace linnet::proto

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// MatchSpace: brings posted receives and arriving messages together by the rules of MPI.
//
// What     One per communicator (or per libfabric endpoint). MPI 4.0 section 3.5: a message matches the oldest posted receive that
//          accepts it; a receive or probe takes the oldest unexpected message that it accepts, over all sources when it names none.
// Owner    The space's owner also owns the elements; the space borrows them from post()/add_unexpected() until it hands them back.
// Threads  None of its own, no lock inside: every call is made with the lock of this match space held. The order in which
//          callers get that lock is the matching order.
// Blocking Never. The only allocations are the amortised growth and shrinking of hash tables of queues longer than eight.
// Failure  None. Without memory for a table, searches become linear and stay correct.
#pragma once

#include <cstddef>
#include <cstdint>

#include "match/element.h"
#include "match/posted_queue.h"
#include "match/unexpected_queue.h"

namespace linnet {

// Cumulative; examined / searches is the mean search depth. Guarded like the space.
struct MatchStats {
    std::uint64_t searches{0};   // calls of post(), arrive() and probe()
    std::uint64_t examined{0};   // entries they compared
};

class MatchSpace {
public:
    // `wild_mask` is the one ignore mask besides 0 ("any tag") for which constant time is promised, whatever the source. Bits
    // outside it must still be equal. `seed` should be unknown to peers: it makes their choice of tags harmless.
    explicit MatchSpace(std::uint64_t wild_mask, std::uint64_t seed = 0) noexcept : rules_{wild_mask, seed} {}
    MatchSpace(const MatchSpace&) = delete;
    MatchSpace& operator=(const MatchSpace&) = delete;
    // May be destroyed with elements in it; they are then in an undefined state: destroy them, do not cancel or claim.
    ~MatchSpace() = default;

    // Removes and returns the oldest unexpected message that `r` accepts; otherwise queues `r` and returns null.
    [[nodiscard]] UnexpectedMessage* post(PostedReceive& r) noexcept
    {
        ++stats_.searches;
        UnexpectedMessage* const m = unexpected_.surely_empty() ? nullptr : unexpected_.take(r.spec, rules_, stats_.examined);
        if (m == nullptr) {
            posted_.push_back(r, rules_);
        }
        return m;
    }

    // Removes and returns the oldest posted receive that accepts the message, or returns null; the caller then either drops the
    // message or calls add_unexpected() before it releases the lock. `source` is never kAnySource.
    [[nodiscard]] PostedReceive* arrive(PeerId source, std::uint64_t bits) noexcept
    {
        LINNET_ASSERT(source != kAnySource);
        ++stats_.searches;
        return posted_.take(source, bits, rules_, stats_.examined);
    }
    void add_unexpected(UnexpectedMessage& m) noexcept
    {
        LINNET_ASSERT(m.source != kAnySource);
        unexpected_.push_back(m, rules_);
    }

    // True when `r` was still queued here; it no longer is. False when it has matched, was detached or was never posted.
    [[nodiscard]] bool cancel(PostedReceive& r) noexcept { return posted_.remove(r, rules_); }

    // The oldest unexpected message that `spec` accepts, or null. It stays queued.
    [[nodiscard]] UnexpectedMessage* probe(const MatchSpec& spec) noexcept
    {
        ++stats_.searches;
        return unexpected_.find(spec, rules_, stats_.examined);
    }
    // Removes a message that is queued here (matched probe, or the message is void).
    void claim(UnexpectedMessage& m) noexcept { unexpected_.remove(m, rules_); }

    // A peer's death: removes the receives that name exactly `source` (any-source receives stay; no particular order), and the
    // messages of `source` (oldest first). Linear in the queue.
    [[nodiscard]] DetachedList<PostedReceive> detach_posted(PeerId source) noexcept { return posted_.detach_source(source); }
    [[nodiscard]] DetachedList<UnexpectedMessage> detach_unexpected(PeerId source) noexcept
    {
        return unexpected_.detach_source(source, rules_);
    }
    // The end of the space: removes everything and returns the memory of the tables.
    [[nodiscard]] DetachedList<PostedReceive> detach_posted() noexcept { return posted_.detach_all(); }
    [[nodiscard]] DetachedList<UnexpectedMessage> detach_unexpected() noexcept { return unexpected_.detach_all(); }

    [[nodiscard]] std::size_t posted() const noexcept { return posted_.size(); }
    [[nodiscard]] std::size_t unexpected() const noexcept { return unexpected_.size(); }
    [[nodiscard]] const MatchStats& stats() const noexcept { return stats_; }

private:
    match::Rules rules_;
    match::PostedQueue posted_;
    match::UnexpectedQueue unexpected_;
    MatchStats stats_;
};

// Programs make thousands of communicators; an idle one must cost little.
static_assert(sizeof(MatchSpace) <= 512);

}   // namespace linnet

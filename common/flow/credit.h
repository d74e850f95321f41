// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Credit: the frames of one receive ring, lent to the peers that send.
//
// A ring that overflows loses frames, so the receiver lends its places. Every peer may send `first` frames unasked: that floor is not taken from the pool, so
// that a peer that is heard for the first time needs no permission. Beyond it, peers that send share the pool; what an idle peer holds it gives back.
// A frame that is known to be lost is on its way no more: its place is back, to be taken once again when the frame is asked for again, before any of new ones.
// Counts are cumulative, modulo 2^32. Pure; one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flow/numbers.h"

namespace linnet::flow {

class CreditPool {
public:
    explicit CreditPool(std::uint32_t capacity) noexcept : capacity_{capacity} {}
    // `aside`: places that are kept for each borrower, for its first frames, and for its questions while nobody reads them; of all places at most half.
    CreditPool(std::uint32_t capacity, std::uint32_t bound, std::uint32_t aside) noexcept : capacity_{capacity}, bound_{bound}, aside_{aside} {}

    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::uint32_t lent() const noexcept { return lent_; }   // what may be on its way
    [[nodiscard]] std::uint32_t owed() const noexcept { return owed_; }   // what was lost and is to be asked for again
    [[nodiscard]] std::uint32_t borrowers() const noexcept { return borrowers_; }
    // What may be lent: of the capacity, as much as the way to the ring is known to hold.
    [[nodiscard]] std::uint32_t allowed() const noexcept { return allowed(borrowers_); }
    [[nodiscard]] std::uint32_t allowed(std::uint32_t borrowers) const noexcept
    {
        return std::min(capacity_ - std::min(aside_ * borrowers, capacity_ / 2), bound_);
    }
    // Places for frames that are asked for again; for new ones, those of the others are not available.
    [[nodiscard]] std::uint32_t vacant() const noexcept { return capacity_ - std::min(lent_, capacity_); }
    [[nodiscard]] std::uint32_t available() const noexcept { return available(borrowers_); }
    [[nodiscard]] std::uint32_t available(std::uint32_t borrowers) const noexcept { return allowed(borrowers) - std::min(lent_ + owed_, allowed(borrowers)); }
    // The measured capacity changed: the kernel counted drops, or the ring grew.
    void set_capacity(std::uint32_t capacity) noexcept { capacity_ = capacity; }
    // Nothing that is lent is taken back.
    void set_bound(std::uint32_t bound) noexcept { bound_ = bound; }

private:
    friend class CreditLine;
    std::uint32_t capacity_;
    std::uint32_t bound_{UINT32_MAX};
    std::uint32_t aside_{0};
    std::uint32_t lent_{0};
    std::uint32_t owed_{0};
    std::uint32_t borrowers_{0};
};

// What one connection has lent to its peer.
class CreditLine {
public:
    // `seen`: data frames that have arrived, each counted once.
    void start(std::uint32_t seen, std::uint32_t first) noexcept
    {
        seen_ = seen;
        first_ = first;
        limit_ = seen + first;
    }
    [[nodiscard]] std::uint32_t limit() const noexcept { return limit_; }
    [[nodiscard]] std::uint32_t seen() const noexcept { return seen_; }
    [[nodiscard]] std::uint32_t open() const noexcept { return limit_ - seen_; }
    [[nodiscard]] std::uint32_t lent() const noexcept { return lent_; }
    [[nodiscard]] std::uint32_t on_the_way() const noexcept { return open() - owed_; }
    [[nodiscard]] bool holds() const noexcept { return lent_ != 0 || owed_ != 0; }
    // Of the first frames, those that are not on their way.
    [[nodiscard]] std::uint32_t spare() const noexcept { return first_ - std::min(first_, on_the_way()); }

    // `lost`: frames below the limit that are known to be lost and were not asked for again.
    void arrived(CreditPool& pool, std::uint32_t seen, std::uint32_t lost = 0) noexcept
    {
        seen_ = seen;
        lost_ = lost;
        settle(pool);
    }
    // Lend up to a fair share, at most `most`. Returns whether the peer has all that it should have.
    bool extend(CreditPool& pool, std::uint32_t most) noexcept
    {
        const std::uint32_t sharers = pool.borrowers_ + (holds() ? 0 : 1);
        const std::uint32_t target = std::clamp(pool.allowed(sharers) / sharers + first_, first_, std::max(most, first_));
        const std::uint32_t missing = target > open() ? target - open() : 0;
        const std::uint32_t floor = first_ > open() ? first_ - open() : 0;
        const std::uint32_t add = std::min(missing, floor + pool.available(sharers));
        limit_ += add;
        settle(pool);
        return add == missing;
    }
    // The peer says that it keeps only what lies below `held`. False: that cannot be.
    bool give_back(CreditPool& pool, std::uint32_t held) noexcept
    {
        if (before(limit_, held) || before(held, seen_)) {
            return false;
        }
        limit_ = held;
        settle(pool);
        return true;
    }
    void end(CreditPool& pool) noexcept
    {
        limit_ = seen_;
        lost_ = 0;
        settle(pool);
    }

private:
    void settle(CreditPool& pool) noexcept
    {
        const bool held = holds();
        const std::uint32_t owed = std::min(lost_, open());   // no more than that is lost, whatever a peer says
        const std::uint32_t way = open() - owed;
        const std::uint32_t lent = way > first_ ? way - first_ : 0;
        pool.lent_ += lent - lent_;
        pool.owed_ += owed - owed_;
        lent_ = lent;
        owed_ = owed;
        pool.borrowers_ += (holds() ? 1u : 0u) - (held ? 1u : 0u);
    }
    std::uint32_t limit_{0};
    std::uint32_t seen_{0};
    std::uint32_t first_{0};
    std::uint32_t lost_{0};
    std::uint32_t lent_{0};   // of the pool
    std::uint32_t owed_{0};
};

}   // namespace linnet::flow

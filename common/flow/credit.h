// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Credit: the frames of one receive ring, lent to the peers that send.
//
// A ring that overflows loses frames, so the receiver lends its places. Every peer may send `first` frames unasked: that floor is not taken from the pool, so
// that a peer that is heard for the first time needs no permission. Beyond it, peers that send share the pool; what an idle peer holds it gives back.
// Counts are cumulative, modulo 2^32. Pure; one thread at a time.
#pragma once

#include <algorithm>
#include <cstdint>

#include "flow/numbers.h"

namespace linnet::flow {

class CreditPool {
public:
    explicit CreditPool(std::uint32_t capacity) noexcept : capacity_{capacity} {}
    CreditPool(std::uint32_t capacity, std::uint32_t bound) noexcept : capacity_{capacity}, bound_{bound} {}

    [[nodiscard]] std::uint32_t capacity() const noexcept { return capacity_; }
    [[nodiscard]] std::uint32_t lent() const noexcept { return lent_; }
    [[nodiscard]] std::uint32_t borrowers() const noexcept { return borrowers_; }
    // What may be lent: of the capacity, as much as the way to the ring is known to hold.
    [[nodiscard]] std::uint32_t allowed() const noexcept { return std::min(capacity_, bound_); }
    [[nodiscard]] std::uint32_t available() const noexcept { return allowed() - std::min(lent_, allowed()); }
    // The measured capacity changed: the kernel counted drops, or the ring grew.
    void set_capacity(std::uint32_t capacity) noexcept { capacity_ = capacity; }
    // Nothing that is lent is taken back.
    void set_bound(std::uint32_t bound) noexcept { bound_ = bound; }

private:
    friend class CreditLine;
    std::uint32_t capacity_;
    std::uint32_t bound_{UINT32_MAX};
    std::uint32_t lent_{0};
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

    void arrived(CreditPool& pool, std::uint32_t seen) noexcept
    {
        seen_ = seen;
        settle(pool);
    }
    // Lend up to a fair share, at most `most`. Returns whether the peer has all that it should have.
    bool extend(CreditPool& pool, std::uint32_t most) noexcept
    {
        const std::uint32_t sharers = pool.borrowers_ + (lent_ == 0 ? 1 : 0);
        const std::uint32_t target = std::clamp(pool.allowed() / sharers + first_, first_, std::max(most, first_));
        const std::uint32_t missing = target > open() ? target - open() : 0;
        const std::uint32_t floor = first_ > open() ? first_ - open() : 0;
        const std::uint32_t add = std::min(missing, floor + pool.available());
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
        settle(pool);
    }

private:
    void settle(CreditPool& pool) noexcept
    {
        const std::uint32_t now = open() > first_ ? open() - first_ : 0;
        pool.borrowers_ += (now != 0 ? 1u : 0u) - (lent_ != 0 ? 1u : 0u);
        pool.lent_ += now - lent_;
        lent_ = now;
    }
    std::uint32_t limit_{0};
    std::uint32_t seen_{0};
    std::uint32_t first_{0};
    std::uint32_t lent_{0};   // of the pool
};

}   // namespace linnet::flow

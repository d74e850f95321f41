// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ClaimQueue: offers of work, each to be claimed once or a number of times, by any thread, without a lock.
//
// What it is   64 slots and a bitmap of those with something to claim, so that a look at an empty queue is one load. An offer is a pointer to the offerer's own
//              object and a number of claims; who claims gets the pointer and a number of his own. Nearly first in, first out: slots are filled and
//              searched in rotation, and an offer with many claims is used up before the next one.
// Owner        Whoever outlives all users. Offered objects are borrowed until all their claims were made or withdrawn, which is all that the queue promises
//              about them: that those who claimed are done with the object is between them and its owner.
// Threads      Any, for everything. A thread that is stopped anywhere in here holds up nobody: at most its slot is missing until it goes on.
// Blocking     Never. Fails only when full. Does not allocate.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/assert.h"
#include "base/ids.h"

namespace linnet {

// Names an offer to its offerer, who may claim from it or withdraw it.
struct ClaimTicket {
    std::uint32_t slot{0};
    std::uint32_t generation{0};   // 0: none
};

// Proof. Slot s is *free* while its bit in used_ is 0. Its word holds (generation, flags, left): `left` claims can still be made. docs/models/claim_queue.pml
// checks what follows over all interleavings of a small queue.
//   (U) A pusher owns a free slot from the moment when its fetch_or on used_ changed the bit from 0 to 1; of several only one sees 0. It then writes the
//       element, sets the bit in ready_, and (W) stores the word of the next generation: from there on claims can be made.
//   (C) A claim is a compare-exchange of the word from left to left - 1. It reads the word (acquire, pairs with W: the element is visible), then the element,
//       then exchanges. Each value of `left` is taken exactly once per generation, so each claim goes to one thread.
//       The element is that of the word's generation. Suppose the load saw a later one. That was stored after a fetch_or (U) that acquired the release of the
//       slot, (F), which comes after the exchange that took the last claim of our generation. Our own exchange succeeded, so it is that one or comes before
//       it in the word's order, and as part of a chain of acquire-release exchanges it happens before the later store; a load that precedes the
//       exchange cannot have read it.
//   (F) Who takes the last claim clears the bit in ready_ and then, with release, that in used_. The pusher had set ready_ before (W), so the bit cannot be
//       left set behind a slot that has nothing to claim; and it is cleared before the slot can be filled again, so no filled slot loses it.
//   A bit in ready_ with nothing to claim is seen only between the two steps of a pusher or a last claimer; searchers pass over it.
//   Generations wrap after 2^32 offers in one slot: a thread would have to be stopped between its load and its exchange for exactly that many.
template <class T>
class ClaimQueue {
public:
    static constexpr unsigned kSlots = 64;
    static constexpr std::uint32_t kMaxClaims = (1u << 24) - 1;

    struct Claim {
        T* element{nullptr};
        std::uint32_t left{0};   // claims that remain after this one: each number below that of the offer is given out once, the highest first
    };

    // `generation`: of the offers before the first, for tests of its wrap-around.
    explicit ClaimQueue(std::uint32_t generation = 0) noexcept
    {
        for (Slot& slot : slots_) {
            slot.word.store(static_cast<std::uint64_t>(generation) << 32, std::memory_order_relaxed);
        }
    }
    ClaimQueue(const ClaimQueue&) = delete;
    ClaimQueue& operator=(const ClaimQueue&) = delete;

    // Offers `element` for `claims` claims (1 to kMaxClaims). `ticket` is written before the first claim can be made. False: all slots are taken.
    [[nodiscard]] bool push(T& element, std::uint32_t claims, std::uint8_t flags, ClaimTicket& ticket) noexcept
    {
        LINNET_ASSERT(claims >= 1 && claims <= kMaxClaims);
        std::uint64_t used = used_.load(std::memory_order_relaxed);
        unsigned at = 0;
        do {
            if (used == ~std::uint64_t{0}) {
                return false;
            }
            at = first_from(~used, fill_.load(std::memory_order_relaxed));
            used = used_.fetch_or(bit(at), std::memory_order_acquire);   // (U)
        } while ((used & bit(at)) != 0);
        fill_.store(at + 1, std::memory_order_relaxed);
        Slot& slot = slots_[at];
        auto generation = static_cast<std::uint32_t>(slot.word.load(std::memory_order_relaxed) >> 32) + 1;
        generation += generation == 0 ? 1 : 0;
        ticket = {at, generation};
        slot.element.store(&element, std::memory_order_relaxed);
        ready_.fetch_or(bit(at), std::memory_order_relaxed);
        slot.word.store(static_cast<std::uint64_t>(generation) << 32 | static_cast<std::uint64_t>(flags) << 24 | claims, std::memory_order_release);   // (W)
        return true;
    }

    // Claims from the oldest offer, more or less, that has all of `flags`. False: there was none.
    [[nodiscard]] bool claim(std::uint8_t flags, Claim& out) noexcept
    {
        std::uint64_t ready = ready_.load(std::memory_order_relaxed);
        while (ready != 0) {
            const unsigned at = first_from(ready, search_.load(std::memory_order_relaxed));
            if (claim_at(at, [flags](std::uint64_t word) { return (static_cast<std::uint8_t>(word >> 24) & flags) == flags; }, 1, out)) {
                return true;
            }
            ready &= ~bit(at);
        }
        return false;
    }
    // Claims from the offer with this ticket, whatever its flags.
    [[nodiscard]] bool claim_from(ClaimTicket ticket, Claim& out) noexcept { return claim_at(ticket.slot, same(ticket), 1, out); }
    // Takes all claims that are left of the offer: nobody else can claim from it any more. Returns how many those were.
    std::uint32_t withdraw(ClaimTicket ticket) noexcept
    {
        Claim all;
        return claim_at(ticket.slot, same(ticket), kMaxClaims, all) ? all.left : 0;
    }

    // A hint for any thread. One that announced by a sequentially consistent operation that it will sleep, and then finds this true, has
    // missed no offer whose offerer looks for sleepers in the same way after push().
    [[nodiscard]] bool empty() const noexcept { return ready_.load(std::memory_order_seq_cst) == 0; }

private:
    static constexpr std::uint64_t kLeft = kMaxClaims;

    struct Slot {
        std::atomic<std::uint64_t> word{0};   // generation << 32 | flags << 24 | left
        std::atomic<T*> element{nullptr};
    };

    static constexpr std::uint64_t bit(unsigned at) noexcept { return std::uint64_t{1} << at; }
    // The first set bit of `bits`, which is not 0, from `from` on and round.
    static unsigned first_from(std::uint64_t bits, unsigned from) noexcept
    {
        return (static_cast<unsigned>(std::countr_zero(std::rotr(bits, static_cast<int>(from % kSlots)))) + from) % kSlots;
    }
    static auto same(ClaimTicket ticket) noexcept
    {
        return [generation = ticket.generation](std::uint64_t word) { return static_cast<std::uint32_t>(word >> 32) == generation; };
    }

    // Takes one claim, or with `most` > 1 all that are left; `left` is then their number.
    template <class Wanted>
    bool claim_at(unsigned at, Wanted wanted, std::uint64_t most, Claim& out) noexcept
    {
        Slot& slot = slots_[at];
        std::uint64_t word = slot.word.load(std::memory_order_acquire);
        while ((word & kLeft) != 0 && wanted(word)) {
            const std::uint64_t left = word & kLeft;
            const std::uint64_t taken = most < left ? most : left;
            T* const element = slot.element.load(std::memory_order_relaxed);
            if (slot.word.compare_exchange_weak(word, word - taken, std::memory_order_acq_rel, std::memory_order_acquire)) {   // (C)
                out = {element, static_cast<std::uint32_t>(most == 1 ? left - 1 : left)};
                if (taken == left) {
                    search_.store(at + 1, std::memory_order_relaxed);
                    ready_.fetch_and(~bit(at), std::memory_order_relaxed);
                    used_.fetch_and(~bit(at), std::memory_order_release);   // (F)
                }
                return true;
            }
        }
        return false;
    }

    // pushers
    alignas(kCacheLine) std::atomic<std::uint64_t> used_{0};
    std::atomic<unsigned> fill_{0};     // where the next pusher looks first; modulo kSlots, a wrong one only costs order
    // claimers
    alignas(kCacheLine) std::atomic<std::uint64_t> ready_{0};
    std::atomic<unsigned> search_{0};   // where the next claimer looks first
    alignas(kCacheLine) std::array<Slot, kSlots> slots_{};
};

}   // namespace linnet

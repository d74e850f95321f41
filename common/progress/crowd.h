// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The signs that others want the core, and whether a yield gives it to them.
//
// Owner: the engine. Blocking: never (they are told what was seen; the engine sees). Cannot fail.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "progress/ticks.h"

namespace linnet {

// Do threads outnumber the cores that they may use? A leaky bucket of evidence: first the number of ranks, then what a spinning thread
// notices by itself: a yield that took long because somebody else ran, or processor time taken away while it polled.
//
// Threads: any, relaxed: evidence that is lost in a race comes again.
class Crowd {
public:
    static constexpr unsigned kFull = 16;
    static constexpr unsigned kLimit = 6;
    static constexpr unsigned kEvidence = 4;   // two signs within a few yields; one alone may have been an interrupt
    static constexpr unsigned kCalmest = 4;
    static constexpr Ticks kYieldsInMean = 16;
    static constexpr Ticks kBearableShare = 4;   // one in so many of the time lost in slow yields is borne
    static constexpr Ticks kGrowthOfMemory = 2;

    void suspect() noexcept { score_.store(kFull, std::memory_order_relaxed); }
    void alone() noexcept
    {
        const unsigned s = score_.load(std::memory_order_relaxed);
        if (s != 0) {
            score_.store(s - 1, std::memory_order_relaxed);
        } else if (const unsigned c = calm_.load(std::memory_order_relaxed); c < kCalmest) {
            calm_.store(c + 1, std::memory_order_relaxed);
        }
    }
    void disturbed() noexcept
    {
        score_.store(std::min(score_.load(std::memory_order_relaxed) + kEvidence, kFull), std::memory_order_relaxed);
        calm_.store(0, std::memory_order_relaxed);
    }
    [[nodiscard]] bool contended() const noexcept { return score_.load(std::memory_order_relaxed) >= kLimit; }
    // A yield was over after `took`: what it cost to give the core away and have it back. The caller bounds it.
    void yielded(Ticks took) noexcept
    {
        const Ticks mean = core_wait_.load(std::memory_order_relaxed);
        core_wait_.store(mean - mean / kYieldsInMean + took / kYieldsInMean, std::memory_order_relaxed);
    }
    // How long a thread that gives its core away waits for it, in the mean of its last yields. Falls to next to nothing when nobody else wants the core.
    [[nodiscard]] Ticks core_wait() const noexcept { return core_wait_.load(std::memory_order_relaxed); }
    // How often to look: the time between two yields is 2^calm() times the shortest. Yields that nobody uses make it longer, one that
    // somebody uses makes it the shortest again.
    [[nodiscard]] unsigned calm() const noexcept { return calm_.load(std::memory_order_relaxed); }

    // For how long yields are dear after some were: `shortest` at first, about two slices, which is also the loss that it takes; `longest` after more of them.
    struct Memory {
        Ticks shortest{0};
        Ticks longest{0};
    };
    // A yield that ended `now` `took` a time slice: a program that computes had it, and does not yield in return as a neighbour does that waits. Or one of
    // many neighbours was slow, which is no reason to stop yielding: what counts is the share of the time that is lost so. More than a quarter over two
    // slices, and for a while no yield is worth its price. Afterwards two more slices must tell that the other program is still there, not one: among
    // neighbours that sleep, each woken for its message, the first that yields gets the core back when all of them have had their turn (EEVDF: who yields
    // forfeits its claim), and only when most of them yield again is it soon. A neighbour that copies a megabyte is soon done; so the while is short at
    // first, and twice as long each time no yield after it came back soon.
    void robbed(Ticks now, Ticks took, const Memory& memory) noexcept
    {
        const Ticks limit = memory.shortest;
        const Ticks before = robbed_at_.exchange(now, std::memory_order_relaxed);
        const Ticks kept = (now - std::min(now, before)) / kBearableShare;   // `before` may lie ahead, see below
        const Ticks loot = loot_.load(std::memory_order_relaxed);
        const Ticks sum = loot - std::min(loot, kept) + std::min(took, limit - 1);   // never one alone
        if (sum < limit) {
            loot_.store(sum, std::memory_order_relaxed);
            return;
        }
        loot_.store(0, std::memory_order_relaxed);
        const bool again = unrefuted_.exchange(true, std::memory_order_relaxed);
        const Ticks last = shunned_.load(std::memory_order_relaxed);
        const Ticks time = std::clamp(again ? kGrowthOfMemory * last : last, memory.shortest, memory.longest);
        shunned_.store(time, std::memory_order_relaxed);
        robbed_at_.store(now + time, std::memory_order_relaxed);
        robbed_until_.store(now + time, std::memory_order_relaxed);
        suspect();
    }
    // A yield came back soon.
    void spared() noexcept
    {
        if (unrefuted_.load(std::memory_order_relaxed)) {
            unrefuted_.store(false, std::memory_order_relaxed);
            shunned_.store(shunned_.load(std::memory_order_relaxed) / 2, std::memory_order_relaxed);
        }
    }
    // Who is alone in its group of the scheduler gives nobody the core by a yield: dear for ever (docs/threading.md, Alone in a group).
    void yields_are_in_vain() noexcept { robbed_until_.store(~Ticks{0}, std::memory_order_relaxed); }
    [[nodiscard]] bool yields_are_dear(Ticks now) const noexcept { return now < robbed_until_.load(std::memory_order_relaxed); }

private:
    std::atomic<unsigned> score_{0};
    std::atomic<unsigned> calm_{0};
    std::atomic<Ticks> core_wait_{0};
    std::atomic<Ticks> robbed_at_{0};      // the last time,
    std::atomic<Ticks> loot_{0};           // what was lost up to then, less what is borne,
    std::atomic<Ticks> robbed_until_{0};   // and what followed from it,
    std::atomic<Ticks> shunned_{0};        // for so long,
    std::atomic<bool> unrefuted_{false};   // with no yield since
};

// Had somebody the core in a slow yield? The processor of a virtual machine may be taken away as a whole, for milliseconds: nobody here had it then, and a
// sleep would not bring it back. The kernel knows, for a system call on each side of the yield, which may cost as much as the yield itself. So it is asked for
// a while behind a very slow yield; and when kTrust answers in a row were yes, one time in kOneIn, until one is no. The next while begins without trust: who
// had the core then says nothing about who has it now.
//
// Threads: any, relaxed: an answer that is lost in a race comes again.
class YieldWatch {
public:
    static constexpr unsigned kTrust = 16;
    static constexpr unsigned kOneIn = 8;

    void watch_until(Ticks now, Ticks then) noexcept
    {
        if (!on(now)) {
            trust_.store(0, std::memory_order_relaxed);
        }
        until_.store(then, std::memory_order_relaxed);
    }
    [[nodiscard]] bool on(Ticks now) const noexcept { return now < until_.load(std::memory_order_relaxed); }
    // While it is on, before a yield.
    [[nodiscard]] bool asks() noexcept
    {
        if (trust_.load(std::memory_order_relaxed) < kTrust) {
            return true;
        }
        const unsigned turn = turn_.load(std::memory_order_relaxed);
        turn_.store(turn + 1, std::memory_order_relaxed);
        return turn % kOneIn == 0;
    }
    // What was asked about a yield that was slow.
    void answered(bool somebody) noexcept
    {
        const unsigned trust = trust_.load(std::memory_order_relaxed);
        trust_.store(somebody ? std::min(trust + 1, kTrust) : 0, std::memory_order_relaxed);
    }

private:
    std::atomic<Ticks> until_{0};
    std::atomic<unsigned> trust_{0};   // answers that were yes, in a row
    std::atomic<unsigned> turn_{0};
};

// Was the thread that polls made to leave its core since it looked last, and not by our own event thread?
//
// Threads: any, relaxed: a switch that is lost in a race was none of many.
class LostTime {
public:
    // The thread with this mark was made to leave so many times by now, and the event thread ran so many times.
    [[nodiscard]] bool since_last_look(std::uintptr_t mark, std::uint64_t switches, std::uint32_t runs) noexcept
    {
        const std::uint64_t left = switches - switches_.load(std::memory_order_relaxed);
        const std::uint32_t ran = runs - runs_.load(std::memory_order_relaxed);
        const bool same = mark_.load(std::memory_order_relaxed) == mark;
        mark_.store(mark, std::memory_order_relaxed);
        switches_.store(switches, std::memory_order_relaxed);
        runs_.store(runs, std::memory_order_relaxed);
        return same && left > ran;
    }

private:
    std::atomic<std::uintptr_t> mark_{0};
    std::atomic<std::uint64_t> switches_{0};
    std::atomic<std::uint32_t> runs_{0};
};

// The same of a thread that does not yield, and so has no yields to tell it: what share of the time did it wait for a core? One whose core nobody else wants
// has it within microseconds of its wake-up, and the kernel's own threads keep it for no more. The kernel is asked once in a while, which costs as much as ten
// yields and more, and not where the thread has had its core all the time.
//
// Threads: any, relaxed: as above.
class WaitShare {
public:
    static constexpr Ticks kShare = 8;   // waiting for one in so many is a sign of others

    // It is asked once in `interval`, and less than `least` since the last answer is no sign, whatever share that is. Before other threads use it.
    void set(Ticks interval, Ticks least) noexcept
    {
        interval_ = interval;
        least_ = least;
    }
    // Is it time to ask again? Then it is for this thread to do, at once. 0: not yet; else the time since the last answer.
    [[nodiscard]] Ticks due(Ticks now) noexcept
    {
        const Ticks since = now - asked_at_.load(std::memory_order_relaxed);
        if (since < interval_) {
            return 0;
        }
        asked_at_.store(now, std::memory_order_relaxed);
        return since;
    }
    // So many context switches of it by now. False: none since the last time.
    [[nodiscard]] bool left_its_core(std::uint64_t switches) noexcept
    {
        const std::uint64_t before = switches_.load(std::memory_order_relaxed);
        switches_.store(switches, std::memory_order_relaxed);
        return switches != before;
    }
    // The thread with this mark has waited so long, all in all; the last answer is `since` old.
    [[nodiscard]] bool for_others(std::uintptr_t mark, Ticks waited, Ticks since) noexcept
    {
        const Ticks more = waited - waited_.load(std::memory_order_relaxed);
        const bool same = mark_.load(std::memory_order_relaxed) == mark;
        mark_.store(mark, std::memory_order_relaxed);
        waited_.store(waited, std::memory_order_relaxed);
        return same && more >= std::max(least_, since / kShare);
    }

private:
    Ticks interval_{0}, least_{0};
    std::atomic<Ticks> asked_at_{0};
    std::atomic<std::uint64_t> switches_{0};
    std::atomic<std::uintptr_t> mark_{0};
    std::atomic<Ticks> waited_{0};
};

}   // namespace linnet

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
    // A yield was over after `took`, or a turn came so long after it could have: what it cost to give the core away and have it back. The caller bounds it.
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
    // Until then threads nap where they would yield, whatever yields cost (docs/threading.md, Naps instead of yields).
    void nap_until(Ticks then) noexcept { nap_until_.store(then, std::memory_order_relaxed); }
    [[nodiscard]] bool naps(Ticks now) const noexcept { return now < nap_until_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool yields_are_dear(Ticks now) const noexcept { return naps(now) || now < robbed_until_.load(std::memory_order_relaxed); }

private:
    std::atomic<unsigned> score_{0};
    std::atomic<unsigned> calm_{0};
    std::atomic<Ticks> core_wait_{0};
    std::atomic<Ticks> robbed_at_{0};      // the last time,
    std::atomic<Ticks> loot_{0};           // what was lost up to then, less what is borne,
    std::atomic<Ticks> robbed_until_{0};   // and what followed from it,
    std::atomic<Ticks> shunned_{0};        // for so long,
    std::atomic<bool> unrefuted_{false};   // with no yield since
    std::atomic<Ticks> nap_until_{0};
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
// Threads: one at a time.
class LostTime {
public:
    // The thread with this mark was made to leave so many times by now, and the event thread ran so many times.
    [[nodiscard]] bool since_last_look(std::uintptr_t mark, std::uint64_t switches, std::uint32_t runs) noexcept
    {
        const bool lost = mark_ == mark && switches - switches_ > runs - runs_;
        mark_ = mark;
        switches_ = switches;
        runs_ = runs;
        return lost;
    }

private:
    std::uintptr_t mark_{0};
    std::uint64_t switches_{0};
    std::uint32_t runs_{0};
};

// The same of a thread that does not yield, and so has no yields to tell it: what share of a while did it wait for a core, and how long for each turn? Where
// nobody else wants the core, a turn begins within microseconds of the wake-up, and the kernel's own threads take no more. The kernel is asked once in a
// while, which costs as much as ten yields and more, and not where the thread has had its core all the time.
//
// Threads: each its own.
class WaitShare {
public:
    static constexpr Ticks kShare = 8;   // waiting for one in so many of the time tells of others

    struct Pace {
        Ticks ask{0};      // so rarely
        Ticks window{0};   // over so long: several slices
        Ticks turn{0};     // a wake-up takes less, and what another thread's slice comes before, more
        Ticks starved{0};  // no fair scheduler lets a thread wait so long, whoever shares its core
    };
    enum class Others : std::uint8_t { kUnknown, kNone, kSome };

    [[nodiscard]] constexpr bool due(Ticks now, const Pace& pace) const noexcept { return now - tried_at_ >= pace.ask; }
    // As of the last answer.
    [[nodiscard]] constexpr std::uint64_t switches() const noexcept { return switches_; }
    [[nodiscard]] constexpr Ticks waited() const noexcept { return waited_; }
    [[nodiscard]] constexpr Others others() const noexcept { return others_; }
    // Since the answer before it the thread waited for most of the time, and very long.
    [[nodiscard]] constexpr bool starved() const noexcept { return starved_; }

    // The kernel was asked, and did not tell (no descriptor was left for its file): what it told before stands until it does again.
    constexpr void refused(Ticks now) noexcept { tried_at_ = now; }
    // An answer: so many context switches by now, and so long a wait, all in all. Returns the mean wait for a turn since the last one.
    constexpr Ticks answered(Ticks now, std::uint64_t switches, Ticks waited, const Pace& pace) noexcept
    {
        const bool first = asked_at_ == 0;
        const std::uint64_t turns = switches - switches_;
        const Ticks took = waited - waited_;
        starved_ = !first && took >= pace.starved && 2 * took >= now - asked_at_;
        asked_at_ = tried_at_ = now;
        switches_ = switches;
        waited_ = waited;
        if (first) {
            open_window();
            return 0;
        }
        const Ticks passed = now - window_.begin;
        const Ticks in_window = waited - window_.waited;
        if (in_window >= std::max(passed, pace.window) / kShare && in_window >= (switches - window_.switches) * pace.turn) {
            others_ = Others::kSome;
            open_window();
        } else if (passed >= pace.window) {
            others_ = Others::kNone;
            open_window();
        }
        return turns != 0 ? took / turns : 0;
    }

private:
    struct Window {
        Ticks begin{0}, waited{0};
        std::uint64_t switches{0};
    };
    constexpr void open_window() noexcept { window_ = {asked_at_, waited_, switches_}; }

    Ticks asked_at_{0};   // when it answered last; 0: never
    Ticks tried_at_{0};
    std::uint64_t switches_{0};
    Ticks waited_{0};
    Window window_;
    Others others_{Others::kUnknown};
    bool starved_{false};
};

}   // namespace linnet

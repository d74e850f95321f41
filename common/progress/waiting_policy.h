// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// How long a thread polls before it gives way or sleeps: the policy, and a spin budget.
//
// Owner: the engine, or the waiting thread. Blocking: never (they decide; the engine acts). Cannot fail.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>

#include "base/clock.h"
#include "progress/crowd.h"
#include "progress/ticks.h"
#include "sys/cpu_set.h"

namespace linnet {

// How a thread that waits lets others have its core. Values of the setting give_way.
enum class GiveWay : std::uint8_t {
    kAuto,    // by a yield; by naps, too, where several threads of the process test in turn, and by naps alone once one of them was starved
    kYield,
    kNap,
};

enum class ProgressPolicy : std::uint8_t {
    kAdaptive,   // spin for about twice the cost of a wake-up, then sleep; hardly spin when the cores are contended
    kSpin,       // never sleep inside host_progress() or wait(), but give way when the cores are contended
    kBlock,      // sleep as soon as there is nothing to do
};

// What a caller of the host's progress function allows when there is nothing to do.
enum class WhenIdle : std::uint8_t {
    kReturn,   // nothing: it comes back when it likes
    kYield,    // giving way to others that want the core: it may be about to call again at once, or may have work of its own
    kSleep,    // sleeping too: it waits
};

// How long a row of empty polls lasts before its first sleep. Two threads that wait for each other and both sleep would go on so wherever a wake-up takes
// longer than they poll, as in a virtual machine whose processors are taken away: each answers late, since it slept, and so finds the other one asleep. So a
// row that slept, and whose event came so soon that polling twice as long had seen it, doubles the time for a while; one that came much later sets it back.
// Waits between these bounds are such that a sleep is worth its price. (The halt polling of Linux KVM adapts likewise,
// Documentation/virt/kvm/halt-polling.rst.)
//
// Threads: any, relaxed: what is lost in a race is learned the next time.
class SpinTime {
public:
    static constexpr Ticks kGrowth = 64;   // at most so many times the least

    // Learned times are forgotten `memory` after the last row that taught; 0: it learns nothing.
    void set(Ticks least, Ticks memory) noexcept
    {
        least_ = least;
        memory_ = memory;
        time_.store(least, std::memory_order_relaxed);
    }
    [[nodiscard]] Ticks get(Ticks now) noexcept
    {
        const Ticks time = time_.load(std::memory_order_relaxed);
        if (time == least_ || now < learned_at_.load(std::memory_order_relaxed) + memory_) {
            return time;
        }
        time_.store(least_, std::memory_order_relaxed);
        return least_;
    }
    // A row that slept had its event at `now`, `row` after its begin.
    void slept(Ticks row, Ticks now) noexcept
    {
        const Ticks time = time_.load(std::memory_order_relaxed);
        if (row <= 2 * time && memory_ != 0) {
            time_.store(std::min(2 * time, kGrowth * least_), std::memory_order_relaxed);
            learned_at_.store(now, std::memory_order_relaxed);
        } else if (row > kGrowth * least_) {
            time_.store(least_, std::memory_order_relaxed);
        }
    }

private:
    Ticks least_{0}, memory_{0};
    std::atomic<Ticks> time_{0};
    std::atomic<Ticks> learned_at_{0};
};

// One row of empty polls. Between two real events the budget is spent once: an empty sleep does not renew it.
//
// Threads: one at a time.
class Spin {
public:
    struct Budget {
        ProgressPolicy policy{ProgressPolicy::kAdaptive};
        Ticks spin{0};             // polling before the first sleep
        Ticks between_yields{0};   // the shortest time between two looks whether others want the core
        Ticks back_to_back{0};     // longer gaps are not ours: the host does something of its own
    };
    enum class Step : std::uint8_t { kPoll, kYield, kNap, kSleep };   // kNap: of the engine, in the place of a yield
    // Yields of a contended thread before it sleeps: a partner on the same core that is about to answer gets its chance to, for less
    // than a sleep costs; and who sleeps is woken where its waker runs, so that ranks heap up on one core.
    static constexpr unsigned kYieldsWhenContended = 32;

    Spin() noexcept = default;
    explicit Spin(const Budget& budget) noexcept : budget_{budget} {}

    // Something happened: the row starts again. The time to the next yield goes on, since a ping-pong has only short rows.
    void restart() noexcept
    {
        spent_ = 0;
        yields_ = 0;
        breaks_ = 0;
        spent_out_ = slept_ = false;
    }
    // The same, at `now`, and what it waited counts for the next rows.
    void restart(Ticks now, SpinTime& time) noexcept
    {
        if (slept_) {
            time.slept(now - began_, now);
        }
        budget_.spin = time.get(now);
        restart();
    }
    // It sleeps indeed: the caller of next() need not.
    void sleeps() noexcept { slept_ = slept_ || spent_out_; }
    // After an empty poll at `now`, `gap` after the one before. What now? Never kSleep unless `may_sleep`.
    [[nodiscard]] Step next(Ticks now, Ticks gap, const Crowd& crowd, bool may_sleep = true) noexcept;
    // The row goes on, but the host did something else for so long: twice running means that it has better things to do than to wait.
    void interrupted() noexcept
    {
        if (++breaks_ >= 2) {
            restart();
            breaks_ = 2;
        }
    }
    [[nodiscard]] const Budget& budget() const noexcept { return budget_; }

private:
    Budget budget_{};
    Ticks began_{0};
    Ticks spent_{0};
    bool yielded_{false};   // as the last step
    Ticks since_yield_{0};
    unsigned yields_{0};
    unsigned breaks_{0};
    bool spent_out_{false};   // the budget is, and nothing else is why it sleeps
    bool slept_{false};
};

// How long a sleep in a row of empty polls may be, or one of the event thread between two looks for held packets. A crowd of ranks that wake up for nothing
// takes the cores from those that have something to do: there each sleep that nothing ended, or look in vain, makes the next one twice as long. What the host
// waits for besides comes later by that much; when it leaves a row, for long, that found nothing, it had such a thing, and the sleeps are short again.
//
// Threads: one at a time.
class SleepLength {
public:
    static constexpr unsigned kMostDoublings = 4;

    [[nodiscard]] Nanos next(Nanos shortest, bool contended) const noexcept { return contended ? shortest * (1u << doublings_) : shortest; }
    void in_vain() noexcept { doublings_ = std::min(doublings_ + 1, kMostDoublings); }
    void worth_it() noexcept { doublings_ = 0; }
    // Each poll of the row says what it found.
    void polled(bool found) noexcept { found_ = found; }
    // The host was away for long since the last poll.
    void interrupted() noexcept { doublings_ = found_ ? doublings_ : 0; }

private:
    unsigned doublings_{0};
    bool found_{false};
};

// Do the threads of this process that wait in turn outnumber their cores, those that any of them may run on? Then whoever polls keeps a core from the thread
// whose message it found, or is about to. Each says its mask once per window: programs pin threads one by one (OMP_PROC_BIND), and masks change. A thread is
// known by a few bits of its mark, so few too many look like one, and more than kBits cores are never outnumbered.
//
// Threads: one at a time.
class Pollers {
public:
    static constexpr unsigned kBits = 64;

    // The thread with this mark polled in vain at `now`. What is not seen again within `window` is forgotten. `affinity`: tells where this thread may run.
    void polled(std::uintptr_t mark, Ticks now, Ticks window, auto affinity) noexcept
    {
        if (now - since_ > window) {
            outnumber_ = now - since_ <= 2 * window && outnumbers();
            since_ = now;
            seen_ = 0;
        }
        if ((seen_ & bit(mark)) == 0) {
            cores_ = seen_ == 0 ? affinity() : cores_ | affinity();
            seen_ |= bit(mark);
            outnumber_ = outnumber_ || outnumbers();
        }
    }
    [[nodiscard]] bool outnumber_cores() const noexcept { return outnumber_; }

private:
    [[nodiscard]] bool outnumbers() const noexcept { return static_cast<unsigned>(std::popcount(seen_)) > cores_.count(); }
    [[nodiscard]] static std::uint64_t bit(std::uintptr_t mark) noexcept
    {
        return std::uint64_t{1} << (static_cast<std::uint64_t>(mark) * 0x9e3779b97f4a7c15u >> 58);   // marks are addresses, far apart
    }

    std::uint64_t seen_{0};
    CpuSet cores_;   // of those
    Ticks since_{0};
    bool outnumber_{false};
};

// Do several threads of this process test in turn? And the naps of these in the place of yields, now and then.
//
// Threads: one at a time.
class Testers {
public:
    Testers() noexcept = default;
    explicit Testers(Ticks naps_apart) noexcept : naps_apart_{naps_apart} {}

    // The thread with this mark tests at `now`: has another one done so within about `window`?
    [[nodiscard]] bool several(std::uintptr_t mark, Ticks now, Ticks window) noexcept
    {
        if (mark != last_) {
            changed_at_ = last_ != 0 ? now : 0;
            last_ = mark;
        }
        return changed_at_ != 0 && now - changed_at_ <= window;
    }
    // True once in `naps_apart`.
    [[nodiscard]] bool nap_is_due(Ticks now) noexcept
    {
        const bool due = now - napped_at_ >= naps_apart_;
        napped_at_ = due ? now : napped_at_;
        return due;
    }

private:
    Ticks naps_apart_{0};
    std::uintptr_t last_{0};
    Ticks changed_at_{0};   // another thread than before tested then; 0: none has
    Ticks napped_at_{0};
};

// Which tests of a row make a pass. A pass asks the kernel, as a rule, and a program that tests at each turn of its loop has other work to do, which takes less
// than a pass (MPI RandomAccess of HPC Challenge: one table entry). So once nothing has come for `quiet`, passes begin `apart` at least, and the tests between
// two return at once. Who waits by testing sees what comes so late at most that much later.
//
// Threads: one at a time.
class TestPace {
public:
    TestPace() noexcept = default;
    TestPace(Ticks quiet, Ticks apart) noexcept : quiet_{quiet}, apart_{apart} {}

    // Something came, or the host was away, or started an operation: a new row begins.
    void restart(Ticks now) noexcept { began_ = now; }
    // The host tests at `now`: has this row been without an event for so long that what comes next may be far off?
    [[nodiscard]] bool quiet(Ticks now) const noexcept { return now - began_ >= quiet_; }
    // Shall it make a pass? Then it does.
    [[nodiscard]] bool pass_is_due(Ticks now) noexcept
    {
        const bool due = !quiet(now) || now - passed_ >= apart_;
        passed_ = due ? now : passed_;
        return due;
    }

private:
    Ticks quiet_{0}, apart_{0};
    Ticks began_{0};
    Ticks passed_{0};
};

// Ranks on this host against the cores of this process: more ranks than cores is a suspicion only, since a process bound to one core
// cannot see where the others are bound. `ranks` 0: unknown.
[[nodiscard]] constexpr bool suspect_crowd(unsigned ranks, unsigned usable_cpus) noexcept
{
    return ranks > usable_cpus && usable_cpus > 1;
}

// Twice the cost of a wake-up: sleeping then costs at most about as much again as the spinning before it. Not less than 100 us: some round
// trips to the next host, since who sleeps within a ping-pong makes his partner wait longer, who then sleeps too; and what start() measures on one
// core, 1 us, is not what an arrival from another costs. Not more than 200 us: so slow a wake-up is a fluke of the measurement.
[[nodiscard]] constexpr Nanos spin_time_for(Nanos wake_cost) noexcept
{
    return std::clamp(2 * wake_cost, Nanos{100'000}, Nanos{200'000});
}

}   // namespace linnet

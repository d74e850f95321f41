// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ProgressEngine: who polls, who sleeps, and who is woken.
//
// What it is  One per context. It polls the context's sources on behalf of whoever has time: a host thread that is inside the waist, or
//             the event thread while the host computes. docs/threading.md states the machine; docs/models/progress.pml checks it.
// Owner       core/. It outlives no source, and its stop() is called before a source dies.
// Threads     Any, unless a function says otherwise. Functions that poll or sleep must not be called from inside a source's poll().
// Blocking    take(), wait(), stop(), and host_progress() when it may sleep: each bounded as written there. Nothing else.
// Failure     start() and add_source() answer a Status. A missing event thread is a warning: the host's own calls then do all the work.
// Fork        The child must not call anything but the destructor, which touches only the child's own memory and descriptors.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/annotations.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/ready_ref.h"
#include "base/status.h"
#include "progress/event_source.h"
#include "progress/gap_predictor.h"
#include "progress/ticks.h"
#include "progress/token.h"

namespace linnet {

enum class ProgressPolicy : std::uint8_t {
    kAdaptive,   // spin for about twice the cost of a wake-up, then sleep; hardly spin when the cores are contended
    kSpin,       // never sleep inside host_progress() or wait(), but give way when the cores are contended
    kBlock,      // sleep as soon as there is nothing to do
};

// What the event thread does now; a word of the statistics page.
enum class EventThreadState : std::uint32_t {
    kNone = 0,     // not started, failed to start, or stopped
    kAwake = 1,    // between two sleeps
    kParked = 2,   // on a futex with the look-in timer: arrivals wake nobody
    kArmed = 3,    // in epoll on all sources
};

// All written by one thread at a time (the holder of the token, or the event thread); read them from anywhere.
struct ProgressCounters {
    using Counter = std::atomic<std::uint64_t>;
    Counter polls{0};                   // passes over the sources, by anybody
    Counter event_thread_polls{0};      // of these, by the event thread
    Counter host_sleeps{0};             // sleeps of a host thread on the sources
    Counter host_sleeps_empty{0};       // of these, ended by time
    Counter yields{0};                  // sched_yield while spinning
    Counter contended{0};               // times that spinning found the core wanted by others
    alignas(kCacheLine) Counter event_thread_wakeups{0};   // returns from a sleep, of whatever state
    Counter event_thread_spurious{0};                      // of these: woken by an arrival, but the host polls
    Counter event_thread_look_ins{0};                      // of these: by the look-in timer
    alignas(kCacheLine) Counter arms{0};                   // times a leaving host woke the event thread (any thread; relaxed)
};

class ProgressEngine {
public:
    struct Config {
        ProgressPolicy policy{ProgressPolicy::kAdaptive};
        bool event_thread{true};
        unsigned local_ranks{0};       // processes of the job on this host; 0: unknown
        Nanos spin_time{0};            // 0: twice the measured cost of a wake-up
        Nanos sleep_max{500'000};      // longest sleep inside host_progress()
        Nanos look_in{20'000'000};     // how often the event thread looks whether the host still polls
        Nanos arm_gap{20'000};         // a gap between calls that is worth waking the event thread
        unsigned event_budget{64};     // packets per pass of the event thread
        // True while completions wait for the host to drain them: nobody goes to sleep then. May stay empty in tests.
        ReadyRef has_completions{};
    };

    ProgressEngine(const Config& config, const Clock& clock, Log& log);
    ~ProgressEngine();   // stop()
    ProgressEngine(const ProgressEngine&) = delete;
    ProgressEngine& operator=(const ProgressEngine&) = delete;

    // Borrows `source` until the engine is destroyed. Sources are polled in the order of these calls. Before start().
    [[nodiscard]] Status add_source(EventSource& source);
    // Measures what a wake-up costs (some 100 us) and starts the event thread. kOk also when the event thread could not start: that
    // was logged. Once. kNoDescriptors, kIo: epoll or eventfd failed, and nothing was started.
    [[nodiscard]] Status start();
    // Wakes every sleeper and joins the event thread. Afterwards nothing sleeps: wait() answers kClosed, host_progress() only polls.
    // Idempotent; the caller holds no token.
    void stop() noexcept LINNET_EXCLUDES(token_);

    // ---- the token: the right to poll, and to use what sources and sessions keep for their poller ----

    // False: another thread has it, or somebody waits in take_token().
    [[nodiscard]] bool try_take_token() noexcept LINNET_TRY_ACQUIRE(true, token_) { return token_.try_take(); }
    // Waits until the present holder lets go, at most one pass of poll(): a holder that sleeps is woken, one that polls for a waiter
    // steps back. Not from inside poll().
    void take_token() noexcept LINNET_ACQUIRE(token_);
    // Before letting go, wakes whoever should poll next.
    void release_token() noexcept LINNET_RELEASE(token_) { token_.release(); }
    [[nodiscard]] Token& token() noexcept LINNET_RETURN_CAPABILITY(token_) { return token_; }

    // ---- the host's threads ----

    // First and last thing of every entry of the waist; enter() also of an entry that ends without leave(). A few ns each. leave() with
    // open work makes one system call when the host will probably stay away for long and the event thread is parked.
    void enter() noexcept;
    void leave(CallKind kind) noexcept LINNET_EXCLUDES(token_);

    // One pass over all sources, about `budget` packets each (0: no limit). The true number of events; 0 when another thread polls.
    unsigned poll(unsigned budget) noexcept LINNET_EXCLUDES(token_);
    // The same, for linnet_progress(). With `may_sleep` (the caller has nothing better to do, and drained no completion in this call),
    // open work, and a policy that allows it, an uninterrupted row of empty calls ends in a sleep of at most sleep_max, from which an
    // arrival, kick() and completed() wake it at once. A thread that finds another one polling or asleep returns or sleeps likewise.
    unsigned host_progress(unsigned budget, bool may_sleep) noexcept LINNET_EXCLUDES(token_);
    // Polls and sleeps as the policy says until ready() or the deadline (TimePoint::max(): none). One of the waiting threads does so for
    // all; the others sleep, each until its own ready(), or until it is its turn to poll.
    // kOk: ready() was true. kTimedOut. kClosed: stop() was called.
    [[nodiscard]] Status wait(ReadyRef ready, TimePoint deadline) noexcept LINNET_EXCLUDES(token_);

    // ---- accounting: any thread, cheap, also from inside poll() ----

    // Operations that cannot complete without arrivals; exact. Without any nobody sleeps in host_progress(), and leave() wakes nobody.
    void work_opened() noexcept { open_work_.fetch_add(1, std::memory_order_relaxed); }
    void work_closed() noexcept { open_work_.fetch_sub(1, std::memory_order_relaxed); }
    [[nodiscard]] std::int64_t open_work() const noexcept { return open_work_.load(std::memory_order_relaxed); }
    // Peers connected now (or regions that peers may access). At 0 the event thread looks in ten times less often.
    void peers_changed(unsigned connected) noexcept;
    // The caller made work for the poller (a timer moved earlier, a blocked send) and stored it before this call. Wakes a sleeper.
    void kick() noexcept;
    // The caller linked a completion (or made some ready() true) before this call. Wakes whom it concerns.
    void completed() noexcept;

    // ---- descriptor mode ----

    // A descriptor that polls readable when host_progress() or draining completions would do something, or a timer is due. The engine's
    // own; -1 before start().
    [[nodiscard]] int wait_fd() const noexcept;
    // Before the host sleeps on it. True: sleep. False: call progress first.
    [[nodiscard]] bool arm_wait_fd() noexcept LINNET_EXCLUDES(token_);

    // ---- to look at ----

    [[nodiscard]] const ProgressCounters& counters() const noexcept { return counters_; }
    [[nodiscard]] EventThreadState event_thread_state() const noexcept;
    // What start() measured, and what follows from it and from the number of ranks.
    [[nodiscard]] Nanos wake_cost() const noexcept;
    [[nodiscard]] Nanos spin_time() const noexcept;
    [[nodiscard]] bool contended() const noexcept;   // the cores are wanted by others: spin little

private:
    class Machinery;

    std::atomic<std::int64_t> open_work_{0};
    ProgressCounters counters_;
    std::unique_ptr<Machinery> machinery_;   // before token_, which speaks to it
    Token token_;
};

// Holds the token for a scope.
class LINNET_SCOPED_CAPABILITY TokenGuard {
public:
    explicit TokenGuard(ProgressEngine& engine) noexcept LINNET_ACQUIRE(engine.token()) : engine_{engine} { engine_.take_token(); }
    ~TokenGuard() LINNET_RELEASE() { engine_.release_token(); }
    TokenGuard(const TokenGuard&) = delete;
    TokenGuard& operator=(const TokenGuard&) = delete;

private:
    ProgressEngine& engine_;
};

}   // namespace linnet

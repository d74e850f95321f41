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
#include <span>
#include <vector>

#include "base/annotations.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/ready_ref.h"
#include "base/status.h"
#include "progress/event_source.h"
#include "progress/event_thread_state.h"
#include "progress/gap_predictor.h"
#include "progress/gated_sleep.h"
#include "progress/ticks.h"
#include "progress/token.h"
#include "progress/wait_list.h"
#include "progress/waiting_policy.h"
#include "stats/counters.h"
#include "sys/epoll_set.h"
#include "sys/event_fd.h"
#include "sys/thread.h"
#include "sys/timer_fd.h"

namespace linnet {

class ProgressEngine final : private TokenAudience {
public:
    struct Config {
        ProgressPolicy policy{ProgressPolicy::kAdaptive};
        bool event_thread{true};
        unsigned local_ranks{0};       // processes of the job on this host; 0: unknown
        GiveWay give_way{GiveWay::kAuto};   // kNap: only where thread_core_wait() tells
        Nanos spin_time{0};            // 0: twice the measured cost of a wake-up
        Nanos sleep_max{500'000};      // longest sleep inside host_progress()
        Nanos look_in{20'000'000};     // how often the event thread looks whether the host still polls
        Nanos hold_time{100'000};      // a packet held back waits so long for the host's next call; 0: none is held
        Nanos arm_gap{20'000};         // a gap between calls that is worth waking the event thread
        unsigned event_budget{64};     // packets per pass of the event thread
        // True while completions wait for the host to drain them: nobody goes to sleep then. May stay empty in tests.
        ReadyRef has_completions{};
        bool (*attend)(void* arg) noexcept {nullptr}; void* attend_arg{nullptr};   // for the event thread behind its passes, with nothing held; may post: true
        ReadyRef idle_core{};          // is there probably a core with nothing to do? Empty: no
    };

    // Borrows clock, stats and log. Counts app_*, event_thread_* there.
    ProgressEngine(const Config& config, const Clock& clock, Stats& stats, Log& log);
    ~ProgressEngine();   // stop()
    ProgressEngine(const ProgressEngine&) = delete;
    ProgressEngine& operator=(const ProgressEngine&) = delete;

    // Borrows `source` until the engine is destroyed. Sources are polled in turn, in the order of these calls. Before start().
    [[nodiscard]] Status add_source(EventSource& source);
    // One of the sources: what it keeps() is work of a host that goes; what it owes() is settled before one goes for long or with nothing open. Before start().
    void set_debtor(EventSource& source) noexcept { debtor_ = &source; }
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
    void release_token() noexcept LINNET_RELEASE(token_);
    [[nodiscard]] Token& token() noexcept LINNET_RETURN_CAPABILITY(token_) { return token_; }

    // ---- the host's threads ----

    // First and last thing of every entry of the waist; enter() also of an entry that ends without leave(). A few ns each. leave() with
    // open work makes one system call when the host will probably stay away for long and the event thread is parked.
    void enter() noexcept;
    void leave(CallKind kind) noexcept LINNET_EXCLUDES(token_);
    // Both, at the end of an entry that took next to no time.
    void passed_by(CallKind kind) noexcept LINNET_EXCLUDES(token_);

    // One pass over the sources, about `budget` packets each (0: no limit); it ends early when something is complete. The true
    // number of events; 0 when another thread polls.
    unsigned poll(unsigned budget) noexcept LINNET_EXCLUDES(token_);
    // The same, for linnet_progress(). When the caller may sleep (it has nothing better to do, and drained no completion in this call), with open work, and a
    // policy that allows it, an uninterrupted row of empty calls ends in a sleep of at most sleep_max (where threads outnumber cores up to 16 times that), from
    // which an arrival, kick() and completed() wake it at once. A thread that finds another one polling or asleep returns or sleeps likewise. A caller that may
    // only yield does so in such a row when others want the core, with nothing open too; of a row that goes on for long few calls make a pass (TestPace).
    unsigned host_progress(unsigned budget, WhenIdle when) noexcept LINNET_EXCLUDES(token_);
    // Polls and sleeps as the policy says until ready() or the deadline (TimePoint::max(): none). One of the waiting threads does so for
    // all; the others sleep, each until its own ready(), or until it is its turn to poll. kOk: ready() was true. kTimedOut. kClosed: stop() was called.
    [[nodiscard]] Status wait(ReadyRef ready, TimePoint deadline) noexcept LINNET_EXCLUDES(token_);

    // ---- accounting: any thread, cheap, also from inside poll() ----

    // Operations that cannot complete without arrivals; exact. Without any nobody sleeps in host_progress(), and leave() wakes nobody.
    void work_opened() noexcept { open_work_.fetch_add(1, std::memory_order_relaxed); }
    void work_closed() noexcept { open_work_.fetch_sub(1, std::memory_order_relaxed); }
    // The same for the holder of the token, without a locked instruction.
    void work_closed_here() noexcept LINNET_REQUIRES(token_)
    {
        closed_here_.store(closed_here_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
    }
    // What was closed is read first: an operation that is opened meanwhile is never missed.
    [[nodiscard]] std::int64_t open_work() const noexcept
    {
        const std::int64_t closed = closed_here_.load(std::memory_order_acquire);
        return open_work_.load(std::memory_order_relaxed) - closed;
    }
    // So many more, or fewer, peers are connected, or regions open that peers may access. While there are none the event thread looks in ten times less often.
    void peers_changed(int more) noexcept;
    // The caller made work for the poller (a timer moved earlier, a blocked send) and stored it before this call. Wakes a sleeper.
    void kick() noexcept;
    // The caller linked a completion (or made some ready() true) before this call. Wakes whom it concerns.
    void completed() noexcept;
    // The caller holds the token inside a pass and completed something that it will hand to the host itself, at once: only the pass shall end. False: others
    // wait for completions too, and must be told by completed().
    [[nodiscard]] bool completed_here() noexcept LINNET_REQUIRES(token_)
    {
        here_ = here_ || !token_.has_audience();
        return !token_.has_audience();
    }

    // The caller started something that a peer answers after about `time`. Until then a waiting thread polls rather than sleeps, unless others want its
    // core: a sleep that ends a moment later costs more than it saves.
    void expect_within(Nanos time) noexcept;
    // The same behind what is expected already, since the peer answers one after the other; at most `most` from now.
    void expect_after_others(Nanos time, Nanos most) noexcept;

    // ---- packets held back ----
    // A small packet may wait for the next call of the host, so that a row of sends becomes one system call. Only within a row of posts back to
    // back whose end is not due, as learned, and only while nobody polls.
    [[nodiscard]] bool may_hold() const noexcept;
    // The caller has held one back, the first since the last pass, and stored it where a pass finds it. If the host does not come back
    // within about hold_time, the event thread makes that pass. False: somebody polls, and may be about to sleep: send it now.
    [[nodiscard]] bool held() noexcept;
    // Inside poll(): somebody waits for a pass over all sources, or has just slept. And when a host thread began its pass, as the last one that knew says.
    [[nodiscard]] bool pass_is_thorough() const noexcept LINNET_REQUIRES(token_) { return thorough_; }
    [[nodiscard]] Ticks pass_began() const noexcept LINNET_REQUIRES(token_) { return pass_began_; }
    // Packets wait for the next pass.
    [[nodiscard]] bool holds_packets() const noexcept { return held_sent_.load(std::memory_order_relaxed) != held_.load(std::memory_order_relaxed); }

    // ---- descriptor mode ----

    // A descriptor that polls readable when host_progress() or draining completions would do something, or a timer is due. The engine's own; -1 before start().
    [[nodiscard]] int wait_fd() const noexcept;
    // Before the host sleeps on it. True: sleep. False: call progress first. Waits some microseconds for a thread that polls.
    [[nodiscard]] bool arm_wait_fd() noexcept LINNET_EXCLUDES(token_);

    // ---- to look at ----

    [[nodiscard]] EventThreadState event_thread_state() const noexcept { return static_cast<EventThreadState>(event_state_.load(std::memory_order_seq_cst)); }
    // Is the caller the event thread?
    [[nodiscard]] bool in_event_thread() const noexcept { return event_mark_.load(std::memory_order_relaxed) == this_thread_mark(); }
    // What start() measured, and what follows from it.
    [[nodiscard]] Nanos wake_cost() const noexcept { return wake_cost_; }
    [[nodiscard]] Nanos spin_time() const noexcept { return spin_time_; }
    // Asked inside the post of an operation of so many bytes: the host will probably be away for long when it leaves.
    [[nodiscard]] bool will_leave(std::uint64_t bytes) const noexcept { return gaps_.will_leave(post_of(bytes)); }
    // Asked where work is found: shall it be left to the event thread (push a task, then work_left())? It shall when the host will probably be away for long
    // behind the call that it is in, a post of so many bytes or one of progress, and there is a core for that thread. It is called when the host leaves, so
    // work_left() may be called with locks held. If the host stays, its next pass does the work.
    [[nodiscard]] bool leaves_work(std::uint64_t bytes) const noexcept { return will_leave(bytes) && others_have_time(); }
    [[nodiscard]] bool leaves_work() const noexcept;
    void work_left() noexcept;
    [[nodiscard]] bool contended() const noexcept { return crowd_.contended(); }   // the cores are wanted by others: spin little
    // How long a thread waits for a core that it has given away, as its yields show: at most 0.5 ms. Any thread.
    [[nodiscard]] Nanos core_wait() const noexcept { return scale_.nanos(crowd_.core_wait()); }

private:
    static constexpr std::uint64_t kHostBellTag = 1, kHostTimerTag = 2;   // sources have 0
    static constexpr std::uint32_t kRun = UINT32_MAX, kNowhere = UINT32_MAX;

    // ---- between threads (progress_engine.cc) ----
    [[nodiscard]] Status open_sets();
    [[nodiscard]] Status watch_sources();
    void token_released() noexcept override;   // a release found an audience
    void let_go() noexcept LINNET_RELEASE(token_);
    void wake_ready() noexcept;
    void arm() noexcept LINNET_EXCLUDES(token_);
    void leave_work() noexcept LINNET_EXCLUDES(token_);
    bool wake_event_thread() noexcept;   // true: it was parked
    void tell_event_thread(std::uint32_t polled, bool prepared) noexcept;
    // `waits_since`: the caller has nothing else to do, and may linger; 0: it has.
    unsigned pass(unsigned budget, StatsRole role, Ticks waits_since = 0) noexcept LINNET_REQUIRES(token_);
    unsigned pass_over_all(unsigned each, EventSource* asked, std::uint32_t kicks, std::uint32_t held) noexcept LINNET_REQUIRES(token_);
    void tell_completed() noexcept LINNET_REQUIRES(token_);
    bool prepare_sources(EventSource::Sleeper who) noexcept LINNET_REQUIRES(token_);   // false: there is work already
    void finish_sources(EventSource::Sleeper who) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] TimePoint next_timer() const noexcept LINNET_REQUIRES(token_);

    // ---- host threads (wait.cc) ----
    bool sleep_holding_token(ReadyRef ready, TimePoint until) noexcept LINNET_REQUIRES(token_);   // false: ended by time
    void take_rings(std::span<const EpollEvent> events, unsigned n) noexcept LINNET_REQUIRES(token_);
    void came_back(Ticks now) noexcept;
    void goes(CallKind kind) noexcept LINNET_EXCLUDES(token_);
    [[nodiscard]] bool has_work() const noexcept;
    [[nodiscard]] bool owes(bool leaves) const noexcept;
    void note_lost_time() noexcept LINNET_REQUIRES(token_);
    void ask_for_own_waits(Ticks now) noexcept;
    void note_own_waits() noexcept;
    [[nodiscard]] bool tests_in_turn(Ticks now) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool others_have_time() const noexcept;
    void give_way(bool by_nap = false) noexcept;
    void yield_watched(Ticks before) noexcept;
    void still_here() noexcept;
    [[nodiscard]] bool may_linger() const noexcept { return config_.policy != ProgressPolicy::kBlock && !crowd_.contended(); }
    [[nodiscard]] unsigned linger(EventSource& source, Ticks since, unsigned each) noexcept LINNET_REQUIRES(token_);   // events
    [[nodiscard]] bool patient(Ticks now) const noexcept;
    [[nodiscard]] Spin::Step next_step_of_row(bool may_sleep) noexcept LINNET_REQUIRES(token_);
    unsigned sleep_in_row(unsigned budget) noexcept LINNET_REQUIRES(token_);
    unsigned host_progress_second(unsigned budget, WhenIdle when) noexcept LINNET_EXCLUDES(token_);
    void lead(ReadyRef ready, TimePoint deadline) noexcept LINNET_RELEASE(token_);
    // True: the caller has the token now. False: ready(), time over, called and not needed, or nothing at all.
    [[nodiscard]] bool follow(ReadyRef ready, TimePoint deadline, WaitList::Place place) noexcept LINNET_TRY_ACQUIRE(true, token_);

    // ---- the event thread (event_thread.cc) ----
    static void event_thread_entry(void* self) noexcept;
    void event_thread_run() noexcept LINNET_EXCLUDES(token_);
    void event_thread_armed() noexcept LINNET_EXCLUDES(token_);
    void event_thread_parked() noexcept LINNET_EXCLUDES(token_);
    void event_thread_look_in() noexcept LINNET_EXCLUDES(token_);
    [[nodiscard]] bool watch_for_held(std::uint32_t held) noexcept;
    void send_what_is_held() noexcept LINNET_EXCLUDES(token_);
    void settle_for_host() noexcept LINNET_EXCLUDES(token_);
    void event_thread_woke() noexcept;
    void event_thread_sleeps() noexcept;
    GatedSleep::Woken event_thread_sleep(Nanos time) noexcept;
    [[nodiscard]] Ticks without_event_thread(Ticks gap) const noexcept;
    [[nodiscard]] bool host_is_away() const noexcept;
    [[nodiscard]] Nanos event_thread_patience() const noexcept;
    void set_event_state(EventThreadState s) noexcept { event_state_.store(static_cast<std::uint32_t>(s), std::memory_order_seq_cst); }
    void measure_wake_cost() noexcept;
    void answer_measurement() noexcept;
    void ready_to_run() noexcept;

    // constant after start()
    const Config config_;
    const Clock& clock_;
    Stats& stats_;
    Log& log_;
    std::vector<EventSource*> sources_;
    EventSource* debtor_{nullptr};
    EpollSet host_set_;               // the sources, as in event_sleep_; each with a bell of its own, so that nobody takes another one's ring
    EventFd host_bell_;
    TimerFd host_timer_;              // in host_set_, for wait_fd()
    GatedSleep event_sleep_;
    Thread thread_;
    std::uint32_t owner_pid_{0};
    bool started_{false};
    Nanos wake_cost_{0}, spin_time_{0};
    Spin::Budget spin_budget_{};
    SpinTime spin_learned_;   // from spin_time_ on
    TickScale scale_;
    Ticks arm_gap_{0}, away_{0}, slow_yield_{0}, core_wait_most_{0}, robbed_{0}, robbery_remembered_{0}, nap_memory_{0}, hold_age_{0}, linger_most_{0};
    Crowd::Memory robbery_;
    WaitShare::Pace wait_pace_;

    // the host's threads, at each entry
    alignas(kCacheLine) std::atomic<Ticks> stamp_{0};   // of the last enter (odd) or leave (even)
    std::atomic<bool> stamp_is_fresh_{false}, posted_{false};   // who waited looked at the time, and then found at once what it waited for; a post, for tests
    std::atomic<Ticks> last_gap_{0}, event_busy_at_leave_{0}, patient_until_{0};
    YieldWatch yield_watch_;
    GapPredictor gaps_;
    alignas(kCacheLine) std::atomic<std::int64_t> open_work_{0};   // without what the holders of the token closed:
    std::atomic<std::int64_t> closed_here_{0};

    // words between threads; docs/threading.md says which pairs with which
    alignas(kCacheLine) std::atomic<std::uint32_t> kicks_{0};
    std::atomic<std::uint32_t> crossing_{0};    // completions on one side, sleepers' last look on the other
    std::atomic<std::uint32_t> token_seq_{0};   // futex of take_token()
    std::atomic<bool> sleeper_{false};          // a holder of the token sleeps in host_set_, or is about to
    std::atomic<std::uint32_t> held_{0};        // times that packets began to be held back,
    std::atomic<std::uint32_t> held_sent_{0};   // and what it was when the last pass began
    std::atomic<bool> watching_{false};         // the event thread looks every hold_time anyhow
    std::atomic<bool> fd_armed_{false};         // the host sleeps on wait_fd(), or is about to
    std::atomic<bool> stopping_{false};
    alignas(kCacheLine) std::atomic<std::uint32_t> event_state_{0};   // EventThreadState
    std::atomic<bool> arm_request_{false};      // the host left for long and has not come back
    std::atomic<bool> work_waits_{false};       // work_left(), and neither has the host left since nor has a pass begun
    std::atomic<int> connected_{0};
    std::atomic<std::uint32_t> ping_{0}, pong_{0};   // start() measures with them

    // the event thread; what is atomic, host threads read: how much of their time it may have taken
    bool called_by_arrival_{false};
    Ticks woke_at_{0};
    std::uint32_t held_seen_{0};                // held_ at its last look
    unsigned watch_{0};                         // looks that are left of watching for held packets,
    SleepLength watch_length_;                  // so far apart; meanwhile
    TimePoint looks_in_at_{};                   // it looks in then
    std::atomic<Ticks> event_busy_{0};          // between waking and sleeping, all together
    std::atomic<std::uint32_t> event_runs_{0}, event_id_{0};   // so many times; of the thread
    std::atomic<std::uintptr_t> event_mark_{0}, attending_{0}; // its mark; the same while it does what the host would (Config::attend)
    std::atomic<unsigned> event_cpu_{0}, event_on_{kNowhere};  // where it ran last; the same, while it is awake
    KeptOff kept_off_;                          // by leave_work()

    // the holder of the token
    alignas(kCacheLine) bool prepared_ LINNET_GUARDED_BY(token_){false};     // sources ring for arrivals
    EventSource::Sleeper prepared_for_ LINNET_GUARDED_BY(token_){EventSource::Sleeper::kHost};
    EventSource::Polling polling_ LINNET_GUARDED_BY(token_){EventSource::Polling::kSteadily};
    bool completed_ LINNET_GUARDED_BY(token_){false}, here_ LINNET_GUARDED_BY(token_){false};   // completed() by the holder; completed_here(), in this pass
    std::uint32_t polled_kicks_ LINNET_GUARDED_BY(token_){0};                // kicks_ before the last pass over all sources
    EventSource* liveliest_ LINNET_GUARDED_BY(token_){nullptr};              // the source that had events last
    bool prepared_quiet_ LINNET_GUARDED_BY(token_){true}, thorough_ LINNET_GUARDED_BY(token_){true};   // nothing was there then; those that rest are asked, too
    unsigned favours_ LINNET_GUARDED_BY(token_){0};                          // passes in a row that asked only that one
    Ticks linger_ LINNET_GUARDED_BY(token_){0}, pass_began_ LINNET_GUARDED_BY(token_){0};   // how long to look there for the next one; a host thread's
    std::size_t next_source_ LINNET_GUARDED_BY(token_){0};                   // where the next pass begins
    TimePoint fd_timer_ LINNET_GUARDED_BY(token_){TimePoint::max()};         // what host_timer_ is set to
    Spin host_spin_ LINNET_GUARDED_BY(token_);                               // the row of empty host_progress() calls
    Pollers pollers_ LINNET_GUARDED_BY(token_);                              // of that row and those before it,
    Testers testers_ LINNET_GUARDED_BY(token_);                              // and those among them that only test, in a crowd
    TestPace test_pace_ LINNET_GUARDED_BY(token_);                           // of the passes in a row of tests
    unsigned ranks_per_core_{1};                                             // on this host, as far as known, since start()
    SleepLength sleep_length_ LINNET_GUARDED_BY(token_);                     // in that row
    Ticks row_stamp_ LINNET_GUARDED_BY(token_){0}, row_end_ LINNET_GUARDED_BY(token_){0};   // its last call; when it ended, 0: it goes on
    LostTime lost_time_ LINNET_GUARDED_BY(token_);
    Crowd crowd_;
    WaitList followers_;
    ProcessBarrier barrier_;   // constant after start()
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

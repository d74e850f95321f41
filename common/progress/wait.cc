// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ProgressEngine: how the host's threads poll, lead, follow and sleep.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "progress/progress_engine.h"
#include "sync/backoff.h"
#include "sys/cpu_set.h"
#include "sys/futex.h"

namespace linnet {
namespace {

// A follower polls its own request so often before it sleeps, some 1 to 2 us: the poller may be about to finish it.
constexpr unsigned kFollowSpins = 40;
constexpr std::size_t kEventsPerSleep = 8;

// Of this thread, whichever engine asks.
constinit thread_local WaitShare own_waits;

}   // namespace

// ---- sleeping and giving way ----

bool ProgressEngine::sleep_holding_token(ReadyRef ready, TimePoint until) noexcept
{
    if (crowd_.naps(read_ticks())) {
        note_own_waits();
    } else {
        note_lost_time();
    }
    sleeper_.store(true, std::memory_order_seq_cst);
    crossing_.fetch_add(1, std::memory_order_acq_rel);
    bool woken = true;
    if (prepare_sources(EventSource::Sleeper::kHost) && kicks_.load(std::memory_order_seq_cst) == polled_kicks_ && !token_.wanted() &&
        !stopping_.load(std::memory_order_seq_cst) && !ready()) {
        const TimePoint due = std::min(until, next_timer());
        const Nanos time = due == TimePoint::max() ? EpollSet::kForever : std::max(due - clock_.now(), Nanos::zero());
        std::array<EpollEvent, kEventsPerSleep> events;
        const unsigned n = host_set_.wait(events, time);
        take_rings(events, n);
        woken = n != 0 || due == TimePoint::max() || clock_.now() < due;   // by a signal, too
        Counters& counters = stats_.block(StatsRole::kPoller);
        counters.add(Counter::kAppSleeps);
        if (!woken) {
            counters.add(Counter::kAppSleepsEmpty);
        }
    }
    sleeper_.store(false, std::memory_order_seq_cst);
    still_here();
    return woken;
}

void ProgressEngine::take_rings(std::span<const EpollEvent> events, unsigned n) noexcept
{
    for (unsigned i = 0; i < n; ++i) {
        if (events[i].data.u64 == kHostBellTag) {
            host_bell_.drain();
        } else if (events[i].data.u64 == kHostTimerTag) {
            host_timer_.drain();
            fd_timer_ = TimePoint::max();
        }
    }
}

void ProgressEngine::give_way(bool by_nap) noexcept
{
    const Ticks before = read_ticks();
    if (crowd_.naps(before)) {
        note_own_waits();
        if (!crowd_.contended()) {
            still_here();
            return;
        }
    }
    if (by_nap || crowd_.yields_are_dear(before)) {
        sleep_shortly();
    } else {
        yield_watched(before);
    }
    stats_.block(StatsRole::kAnyThread).add_shared(Counter::kAppYields);
    still_here();
}

void ProgressEngine::yield_watched(Ticks before) noexcept
{
    const std::uint32_t runs = event_runs_.load(std::memory_order_relaxed);
    const bool watched = yield_watch_.on(before);
    const bool asks = watched && yield_watch_.asks();
    const std::uint64_t switches = asks ? thread_context_switches().involuntary : 0;
    yield_cpu();
    const Ticks now = read_ticks();
    const bool slow = now - before > slow_yield_ && event_runs_.load(std::memory_order_relaxed) == runs;
    crowd_.yielded(slow ? std::min(now - before, core_wait_most_) : 0);   // a longer one tells of a program that computes, or of a stop
    const bool somebody = slow && (!asks || thread_context_switches().involuntary != switches);   // a yield that is used counts as involuntary
    if (slow && asks) {
        yield_watch_.answered(somebody);
    }
    if (slow && now - before > robbed_) {
        yield_watch_.watch_until(now, now + 2 * robbery_remembered_);   // until after what is remembered has passed
        if (watched && somebody) {
            crowd_.robbed(now, now - before, robbery_);
        }
    } else {
        crowd_.spared();
    }
    if (somebody) {
        crowd_.disturbed();
    } else {
        crowd_.alone();
    }
}

// The host has been inside the waist all the time: what passed in a sleep of ours is no gap of its.
void ProgressEngine::still_here() noexcept { stamp_.store(read_ticks() | 1, std::memory_order_relaxed); }

// Was this thread made to leave its core since the last time it was about to sleep, and not by our own event thread?
void ProgressEngine::note_lost_time() noexcept
{
    const std::uint64_t lost = thread_context_switches().involuntary;
    if (lost_time_.since_last_look(this_thread_mark(), lost, event_runs_.load(std::memory_order_relaxed))) {
        crowd_.disturbed();
    }
}

// How long did this thread wait for a core?
void ProgressEngine::ask_for_own_waits(Ticks now) noexcept
{
    if (!own_waits.due(now, wait_pace_)) {
        return;
    }
    const ContextSwitches by_now = thread_context_switches();
    const std::uint64_t switches = by_now.voluntary + by_now.involuntary;
    const bool had_its_core = switches == own_waits.switches();
    const std::optional<Nanos> waited = had_its_core ? std::nullopt : thread_core_wait();
    if (!waited && !had_its_core) {
        own_waits.refused(now);
        return;
    }
    const Ticks turn = own_waits.answered(now, switches, waited ? scale_.ticks(*waited) : own_waits.waited(), wait_pace_);
    if (crowd_.naps(now)) {
        crowd_.yielded(turn > slow_yield_ ? std::min(turn, core_wait_most_) : 0);
    }
}

// What its yields tell another thread: does somebody want this core, and how long does it take to get it back? Involuntary context switches do not tell it: the
// kernel's own threads take the core, too, for microseconds, and no quick yields follow that would say so.
void ProgressEngine::note_own_waits() noexcept
{
    ask_for_own_waits(read_ticks());
    if (own_waits.others() == WaitShare::Others::kSome) {
        crowd_.suspect();
    } else if (own_waits.others() == WaitShare::Others::kNone) {
        crowd_.alone();
    }
}

// ---- one call of the host ----

unsigned ProgressEngine::poll(unsigned budget) noexcept
{
    if (!token_.try_take()) {
        return 0;
    }
    const unsigned events = pass(budget, StatsRole::kPoller);
    let_go();
    return events;
}

unsigned ProgressEngine::host_progress(unsigned budget, WhenIdle when) noexcept
{
    // Who tests with nothing open looks for a message that it has posted no receive for: it keeps its core from others as much.
    const bool awaits = when == WhenIdle::kYield || (when == WhenIdle::kSleep && open_work() > 0);
    const bool waits = awaits && !stopping_.load(std::memory_order_relaxed);
    if (!token_.try_take()) {
        return waits ? host_progress_second(budget, when) : 0;
    }
    pass_began_ = stamp_.load(std::memory_order_relaxed);
    const bool back_to_back = last_gap_.load(std::memory_order_relaxed) <= spin_budget_.back_to_back;
    const bool tests = when == WhenIdle::kYield;
    if (!back_to_back || (tests && posted_.load(std::memory_order_relaxed))) {
        posted_.store(false, std::memory_order_relaxed);
        test_pace_.restart(pass_began_);
    }
    const auto asked_for = [this]() LINNET_REQUIRES(token_) {
        return kicks_.load(std::memory_order_relaxed) != polled_kicks_ || holds_packets() || work_waits_.load(std::memory_order_relaxed);
    };
    if (tests && !test_pace_.pass_is_due(pass_began_) && !asked_for()) {
        token_.release_soon();
        return 0;
    }
    // Only in calls back to back: a host that computes between two has better things to do than to wait here, and so may one that has tested for long.
    const bool lingers = waits && open_work() > 0 && back_to_back && may_linger() && !(tests && test_pace_.quiet(pass_began_));
    unsigned events = pass(budget, StatsRole::kPoller, lingers ? pass_began_ : 0);
    Spin::Step step = Spin::Step::kPoll;
    if (events != 0) {
        row_stamp_ = stamp_.load(std::memory_order_relaxed);
        test_pace_.restart(row_stamp_);
        row_end_ = row_end_ == 0 ? row_stamp_ : row_end_;   // the rest is for the next row to do: nobody waits then
    } else if (waits && !config_.has_completions()) {
        step = next_step_of_row(when == WhenIdle::kSleep);
        if (step == Spin::Step::kSleep && (!patient(row_stamp_) || pollers_.outnumber_cores())) {
            events = sleep_in_row(budget);
        }
    }
    tell_completed();
    token_.release_soon();   // who leaves for a short time looks at no word afterwards
    if (step == Spin::Step::kYield || step == Spin::Step::kNap) {
        give_way(step == Spin::Step::kNap);
    }
    return events;
}

bool ProgressEngine::patient(Ticks now) const noexcept
{
    return now < patient_until_.load(std::memory_order_relaxed) && config_.policy == ProgressPolicy::kAdaptive && !crowd_.contended();
}

unsigned ProgressEngine::sleep_in_row(unsigned budget) noexcept
{
    host_spin_.sleeps();
    const bool woken = sleep_holding_token(config_.has_completions, clock_.now() + sleep_length_.next(config_.sleep_max, crowd_.contended()));
    const unsigned events = pass(budget, StatsRole::kPoller);
    sleep_length_.polled(events != 0);
    if (events != 0) {
        host_spin_.restart(stamp_.load(std::memory_order_relaxed), spin_learned_);
    } else if (!woken) {
        sleep_length_.in_vain();
    }
    return events;
}

// Where the last events came from the next one is due: a look there costs a few cycles, and a way over all sources, out to the host and in again a quarter
// of a microsecond, in which an arrival goes unseen. For how long is learned: less with each look in vain, more with each arrival.
unsigned ProgressEngine::linger(EventSource& source, Ticks since, unsigned each) noexcept
{
    EventSource::Linger found = source.linger();
    for (Ticks now = since; found == EventSource::Linger::kNothing && now - since < linger_; found = source.linger()) {
        now = read_ticks();
        stamp_.store(now | 1, std::memory_order_relaxed);
    }
    if (found == EventSource::Linger::kTaken) [[likely]] {
        return 1;
    }
    if (found == EventSource::Linger::kArrival) {
        return source.poll(each);
    }
    linger_ /= 2;
    return 0;
}

// The call was empty. Only calls back to back count: a host that computes between two tests has better things to do than to sleep.
Spin::Step ProgressEngine::next_step_of_row(bool may_sleep) noexcept
{
    if (const Ticks end = std::exchange(row_end_, 0); end != 0) {
        host_spin_.restart(end, spin_learned_);
        sleep_length_.polled(true);
    }
    const Ticks now = stamp_.load(std::memory_order_relaxed);
    const Ticks gap = now - row_stamp_;
    row_stamp_ = now;
    if (last_gap_.load(std::memory_order_relaxed) > spin_budget_.back_to_back) {
        host_spin_.interrupted();
        sleep_length_.interrupted();
        sleep_length_.polled(false);
        return Spin::Step::kPoll;
    }
    sleep_length_.polled(false);
    pollers_.polled(this_thread_mark(), now, robbery_remembered_, []() noexcept { return thread_affinity(); });
    const bool in_turn = !may_sleep && tests_in_turn(now);
    const Spin::Step step = host_spin_.next(now, gap, crowd_, may_sleep);
    // Asleep we get the core back when a message comes, and give it up when its thread is to have it. Who yields in vain instead is preempted by that
    // thread while it wakes it, which Open MPI's then waits for by spinning, for a time slice.
    const bool gives_up = may_sleep && pollers_.outnumber_cores() && spin_budget_.policy == ProgressPolicy::kAdaptive;
    if (in_turn && step == Spin::Step::kYield && testers_.nap_is_due(now)) {
        return Spin::Step::kNap;
    }
    return gives_up ? Spin::Step::kSleep : step;
}

// Do several threads of this process test in turn, in a crowd? Whoever does holds the host's lock, as a rule, and a yield goes to one of the others, which
// sleeps on it at once. A group of threads that do this the kernel may not age, so that nobody else gets the core: a nap now and then lets others have it, and
// who finds that it was starved itself naps for long, as its neighbours have reason to yield no less than it has.
bool ProgressEngine::tests_in_turn(Ticks now) noexcept
{
    if (config_.give_way != GiveWay::kAuto || !crowd_.contended()) {
        return false;
    }
    if (!testers_.several(this_thread_mark(), now, robbery_remembered_)) {
        return false;
    }
    ask_for_own_waits(now);
    if (own_waits.starved()) {
        crowd_.nap_until(now + nap_memory_);
    }
    return true;
}

// Another thread has the token. When it has gone to sleep there is nothing to spin for: sleep until something is complete, or until it
// is our turn.
unsigned ProgressEngine::host_progress_second(unsigned budget, WhenIdle when) noexcept
{
    unsigned events = 0;
    if (when == WhenIdle::kSleep && sleeper_.load(std::memory_order_relaxed) && config_.policy != ProgressPolicy::kSpin) {
        if (follow(config_.has_completions, clock_.now() + config_.sleep_max, WaitList::Place::kFirst)) {
            events = pass(budget, StatsRole::kPoller);
            let_go();
        } else if (!token_.held()) {
            token_.call_audience();
        }
    } else if (event_on_.load(std::memory_order_relaxed) == current_cpu()) {
        yield_cpu();   // it polls, for us, on this very core: whatever we do here only keeps it from ending
    } else if (crowd_.contended()) {
        give_way();
    }
    return events;
}

// ---- waiting ----

void ProgressEngine::expect_within(Nanos time) noexcept { patient_until_.store(read_ticks() + scale_.ticks(time), std::memory_order_relaxed); }

void ProgressEngine::expect_after_others(Nanos time, Nanos most) noexcept
{
    const Ticks now = read_ticks();
    const Ticks until = std::max(now, patient_until_.load(std::memory_order_relaxed)) + scale_.ticks(time);
    patient_until_.store(std::min(until, now + scale_.ticks(most)), std::memory_order_relaxed);
}

Status ProgressEngine::wait(ReadyRef ready, TimePoint deadline) noexcept
{
    Status status = Status::kOk;
    for (bool looked = false; !ready(); looked = true) {   // who has no time looks once
        if (!started_ || stopping_.load(std::memory_order_seq_cst)) {
            status = Status::kClosed;
            break;
        }
        if (looked && deadline != TimePoint::max() && clock_.now() >= deadline) {
            status = Status::kTimedOut;
            break;
        }
        if (follow(ready, deadline, WaitList::Place::kFirst)) {
            lead(ready, deadline);
        }
    }
    // We may have been called to poll, and have no need to: the call goes on to another one.
    if (!token_.held()) {
        token_.call_audience();
    }
    return status;
}

bool ProgressEngine::follow(ReadyRef ready, TimePoint deadline, WaitList::Place place) noexcept
{
    for (unsigned i = 0; i < kFollowSpins; ++i) {
        if (token_.try_take()) {
            return true;
        }
        if (ready()) {
            return false;
        }
        cpu_pause();
    }
    const Nanos time = deadline == TimePoint::max() ? kFutexForever : std::max(deadline - clock_.now(), Nanos::zero());
    WaitSlot slot{ready};
    followers_.add(slot, place);
    token_.join_audience();
    crossing_.fetch_add(1, std::memory_order_acq_rel);
    bool mine = false;
    if (!ready() && !stopping_.load(std::memory_order_seq_cst)) {
        mine = token_.try_take();
        if (!mine) {
            WaitList::sleep(slot, time);
        }
    }
    followers_.remove(slot);
    token_.leave_audience();
    return mine;
}

void ProgressEngine::lead(ReadyRef ready, TimePoint deadline) noexcept
{
    Spin spin{spin_budget_};
    Ticks last = read_ticks();
    spin.restart(last, spin_learned_);
    for (;;) {
        pass_began_ = last;
        const unsigned events = pass(0, StatsRole::kPoller, may_linger() ? last : 0);
        const Ticks now = read_ticks();
        if (events != 0) {
            spin.restart(now, spin_learned_);
        }
        if (ready() || token_.wanted() || stopping_.load(std::memory_order_seq_cst)) {
            break;
        }
        if (deadline != TimePoint::max() && clock_.now() >= deadline) {
            break;
        }
        if (events == 0) {
            switch (spin.next(now, now - last, crowd_)) {
                case Spin::Step::kPoll:
                    break;
                case Spin::Step::kYield:
                case Spin::Step::kNap:
                    give_way();
                    break;
                case Spin::Step::kSleep:
                    if (!patient(now)) {
                        spin.sleeps();
                        sleep_holding_token(ready, deadline);
                    }
                    break;
            }
        }
        last = now;
    }
    let_go();
}

}   // namespace linnet

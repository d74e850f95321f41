// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ProgressEngine: the event thread, which polls when the host does not. Its machine is in docs/threading.md.
#include <algorithm>
#include <array>

#include "progress/progress_engine.h"
#include "sys/cpu_set.h"
#include "sys/futex.h"
#include "sys/system_clock.h"

namespace linnet {
namespace {

constexpr std::uint32_t kMeasureRounds = 9;
constexpr Nanos kMeasurePatience{20'000'000};   // per round; a machine so busy gets the default
constexpr Nanos kUnmeasuredWakeCost{10'000};
// Without a connected peer little can arrive but the first packet of one.
constexpr unsigned kLazyFactor = 10;
// A host thread that lost its core for a time slice is not away: up to 5 ms then. Waking up for it would only take more of the core.
constexpr Ticks kPatienceWhenContended = 50;
// Ranks that take turns on a core lose theirs to each look for held packets; and a host that went away in mid-row is late by time slices anyhow.
constexpr unsigned kHoldFactorWhenContended = 10;
// Rows of sends come in numbers: after some, go on looking every hold_time, and no sender has to wake us. A row of its own is worth a few looks, each further
// one that a look finds twice as many: a look takes the host's core for some microseconds.
constexpr unsigned kFirstLooks = 2;
constexpr unsigned kMostLooks = 20;

// Who started the event thread may be pinned where the process is not, and its mask is inherited. (Of a pinned first thread nobody knows what it had before.)
void leave_pinned_core() noexcept
{
    const CpuSet process = process_affinity(), mine = thread_affinity();
    if (process != mine && process.contains(mine)) {
        static_cast<void>(set_thread_affinity(process));
    }
}

}   // namespace

void ProgressEngine::event_thread_entry(void* self) noexcept { static_cast<ProgressEngine*>(self)->event_thread_run(); }

void ProgressEngine::event_thread_run() noexcept
{
    event_mark_.store(this_thread_mark(), std::memory_order_relaxed);
    event_id_.store(thread_id(), std::memory_order_relaxed);
    leave_pinned_core();
    answer_measurement();
    event_thread_woke();
    while (!stopping_.load(std::memory_order_seq_cst)) {
        set_event_state(EventThreadState::kAwake);
        if (arm_request_.load(std::memory_order_seq_cst) || host_is_away()) {
            event_thread_armed();
        } else {
            event_thread_parked();
        }
    }
}

void ProgressEngine::event_thread_woke() noexcept
{
    woke_at_ = read_ticks();
    event_cpu_.store(current_cpu(), std::memory_order_relaxed);
    event_on_.store(current_cpu(), std::memory_order_relaxed);
    event_runs_.store(event_runs_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    kept_off_.give_back();
}

void ProgressEngine::event_thread_sleeps() noexcept
{
    event_on_.store(kNowhere, std::memory_order_relaxed);
    event_busy_.store(event_busy_.load(std::memory_order_relaxed) + (read_ticks() - woke_at_), std::memory_order_relaxed);
}

// A gap between two calls of the host, less what the event thread took of it by running on the host's core: else a wake-up makes the gap long, a
// long gap arms, and the next arrival wakes the event thread again.
Ticks ProgressEngine::without_event_thread(Ticks gap) const noexcept
{
    const Ticks busy = event_busy_.load(std::memory_order_relaxed) - event_busy_at_leave_.load(std::memory_order_relaxed);
    return busy != 0 && event_cpu_.load(std::memory_order_relaxed) == current_cpu() ? gap - std::min(gap, busy) : gap;
}

// Nobody polls, and no host thread was inside the waist just now.
bool ProgressEngine::host_is_away() const noexcept
{
    if (token_.held() || fd_armed_.load(std::memory_order_relaxed)) {
        return false;
    }
    const auto age = static_cast<std::int64_t>(read_ticks() - stamp_.load(std::memory_order_relaxed));
    const Ticks limit = crowd_.contended() ? away_ * kPatienceWhenContended : away_;
    return age > static_cast<std::int64_t>(limit);
}

Nanos ProgressEngine::event_thread_patience() const noexcept
{
    if (connected_.load(std::memory_order_relaxed) == 0) {
        return config_.look_in * kLazyFactor;
    }
    return crowd_.contended() ? config_.look_in * ranks_per_core_ : config_.look_in;
}

void ProgressEngine::event_thread_armed() noexcept
{
    watching_.store(false, std::memory_order_seq_cst);
    // The state goes first: who makes work after our pass then sees it and rings.
    set_event_state(EventThreadState::kArmed);
    if (!token_.try_take()) {
        // Somebody polls. If he was there before the one who sent for us left, it is our turn after him; else he has come back.
        const auto called_off = [this]() noexcept { return !arm_request_.load(std::memory_order_seq_cst); };
        if (called_off()) {
            return;
        }
        event_thread_sleeps();
        const bool mine = follow(ReadyRef::to(called_off), clock_.now() + event_thread_patience(), WaitList::Place::kLast);
        event_thread_woke();
        if (!mine) {
            return;
        }
    }
    called_by_arrival_ = false;
    const unsigned events = pass(config_.event_budget, StatsRole::kEventThread);
    const std::uint32_t polled = polled_kicks_;
    const bool quiet = events == 0 && prepare_sources(EventSource::Sleeper::kEventThread);
    const TimePoint now = clock_.now();
    const TimePoint looks_in_at = now + event_thread_patience();
    const TimePoint wakes_at = std::min(next_timer(), looks_in_at);
    event_sleep_.sleeps_until(wakes_at);
    let_go();
    bool attended = false;
    if (config_.attend != nullptr) {
        attending_.store(this_thread_mark(), std::memory_order_relaxed);
        attended = config_.attend(config_.attend_arg);
        attending_.store(0, std::memory_order_relaxed);
    }
    // After letting go, since kick() leaves it to the holder of the token, which we were. What was posted has timers earlier than those that we measured.
    if (!quiet || attended || kicks_.load(std::memory_order_seq_cst) != polled || stopping_.load(std::memory_order_seq_cst)) {
        return;
    }
    if (!event_sleep_.is_open()) {
        event_sleep_.open();
    }
    called_by_arrival_ = event_thread_sleep(std::max(wakes_at - now, Nanos::zero())) != GatedSleep::Woken::kByTimer;
    if (!called_by_arrival_ && clock_.now() >= looks_in_at) {   // else a source's timer ended it
        stats_.block(StatsRole::kEventThread).add(Counter::kEventThreadLookIns);
    }
}

GatedSleep::Woken ProgressEngine::event_thread_sleep(Nanos time) noexcept
{
    event_thread_sleeps();
    const GatedSleep::Woken woken = event_sleep_.sleep(time);
    event_thread_woke();
    stats_.block(StatsRole::kEventThread).add(Counter::kEventThreadWakeups);
    return woken;
}

void ProgressEngine::event_thread_parked() noexcept
{
    if (called_by_arrival_) {
        called_by_arrival_ = false;
        stats_.block(StatsRole::kEventThread).add(Counter::kEventThreadSpurious);
    }
    settle_for_host();
    const std::uint32_t held = held_.load(std::memory_order_seq_cst);
    const bool watching = watch_for_held(held);
    const bool contended = crowd_.contended();
    const Nanos hold_time = watch_length_.next(contended ? config_.hold_time * kHoldFactorWhenContended : config_.hold_time, contended);
    const Nanos patience = watching ? std::min(hold_time, event_thread_patience()) : event_thread_patience();
    const TimePoint wakes_at = clock_.now() + patience;
    event_sleep_.sleeps_until(wakes_at);
    event_sleep_.close();   // before we look whether somebody has opened it meanwhile
    set_event_state(EventThreadState::kParked);
    if (stopping_.load(std::memory_order_seq_cst) || arm_request_.load(std::memory_order_seq_cst) ||
        (!watching && held_.load(std::memory_order_seq_cst) != held)) {
        return;
    }
    const GatedSleep::Woken woken = event_thread_sleep(patience);
    called_by_arrival_ = woken == GatedSleep::Woken::kByArrival;
    if (woken != GatedSleep::Woken::kByTimer) {
        return;
    }
    if (watching) {
        send_what_is_held();
    }
    if (const TimePoint now = clock_.now(); !watching || now >= looks_in_at_) {   // a host on our descriptor waits for it no longer than without rows of sends
        looks_in_at_ = now + event_thread_patience();
        stats_.block(StatsRole::kEventThread).add(Counter::kEventThreadLookIns, now >= wakes_at ? 1 : 0);
        event_thread_look_in();
    }
}

// What came in our own pass is acknowledged in the next one; the host, which may have taken the message meanwhile and gone, found the token held. Is it inside
// the waist, it sees to that itself when it leaves. (Armed we need not look: who runs up a debt holds the token, and to prepare settles it.)
void ProgressEngine::settle_for_host() noexcept
{
    if (debtor_ != nullptr && debtor_->owes() && (stamp_.load(std::memory_order_relaxed) & 1) == 0 && token_.try_take()) {
        debtor_->settle();
        let_go();
    }
}

// Until no packet was held back for a number of looks in a row, and all that were have been sent. (Model: docs/models/held_packets.pml.)
bool ProgressEngine::watch_for_held(std::uint32_t held) noexcept
{
    if (held != held_seen_) {
        held_seen_ = held;
        if (watch_ == 0) {
            watch_length_.worth_it();   // what looks were worth in another row says nothing about this one
        }
        watch_ = std::min(2 * watch_ + kFirstLooks, kMostLooks);
    } else if (watch_ != 0 && held_sent_.load(std::memory_order_relaxed) == held) {
        --watch_;
    }
    watching_.store(watch_ != 0, std::memory_order_seq_cst);
    return watch_ != 0;
}

// A row of sends that goes on sends what is held by itself. But if the host went to compute in the middle of one, although its rows used to be longer:
void ProgressEngine::send_what_is_held() noexcept
{
    const auto age = static_cast<std::int64_t>(read_ticks() - stamp_.load(std::memory_order_relaxed));
    const bool sent = held_sent_.load(std::memory_order_relaxed) == held_.load(std::memory_order_seq_cst);
    if (sent || age < static_cast<std::int64_t>(hold_age_) || !token_.try_take()) {
        watch_length_.in_vain();
        return;
    }
    watch_length_.worth_it();
    pass(config_.event_budget, StatsRole::kEventThread);
    let_go();
}

// The host sleeps on our descriptor, by itself. If it does not come although something has arrived, it is busy elsewhere.
void ProgressEngine::event_thread_look_in() noexcept
{
    if (!fd_armed_.load(std::memory_order_seq_cst) || !token_.try_take()) {
        return;
    }
    const unsigned events = pass(config_.event_budget, StatsRole::kEventThread);
    if (events != 0 || !prepare_sources(EventSource::Sleeper::kHost)) {
        arm_request_.store(true, std::memory_order_seq_cst);
    }
    let_go();
}

// ---- what a wake-up costs ----

// Both sides sleep in turn; half a round is one wake-up. The median, since one round may meet an interrupt.
void ProgressEngine::measure_wake_cost() noexcept
{
    std::array<Nanos, kMeasureRounds> rounds;
    std::uint32_t done = 0;
    while (done < kMeasureRounds) {
        const TimePoint before = monotonic_now();
        ping_.store(done + 1, std::memory_order_release);
        futex_wake(ping_);
        while (pong_.load(std::memory_order_acquire) <= done && monotonic_now() - before < kMeasurePatience) {
            futex_wait(pong_, done, kMeasurePatience);
        }
        if (pong_.load(std::memory_order_acquire) <= done) {
            break;
        }
        rounds[done] = monotonic_now() - before;
        ++done;
    }
    wake_cost_ = kUnmeasuredWakeCost;
    if (done == kMeasureRounds) {
        std::sort(rounds.begin(), rounds.end());
        wake_cost_ = rounds[kMeasureRounds / 2] / 2;
    }
}

void ProgressEngine::answer_measurement() noexcept
{
    for (std::uint32_t seen = 0; seen < kRun;) {
        futex_wait(ping_, seen);
        seen = ping_.load(std::memory_order_acquire);
        pong_.store(seen, std::memory_order_release);
        futex_wake(pong_);
    }
}

void ProgressEngine::ready_to_run() noexcept
{
    ping_.store(kRun, std::memory_order_release);   // what start() measured becomes visible to the event thread
    futex_wake(ping_);
}

}   // namespace linnet

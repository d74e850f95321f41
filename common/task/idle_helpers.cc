// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// IdleHelpers: the threads.
#include "task/idle_helpers.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "sys/futex.h"
#include "sys/process.h"

namespace linnet {
namespace {

// An idle core wakes up within some 5 to 100 us, in a virtual machine; a busy one gives a SCHED_IDLE thread its share after tens of milliseconds.
constexpr Nanos kLate{300'000};
constexpr Nanos::rep kStillFirst = 2'000'000;
constexpr Nanos::rep kStillMost = 512'000'000;
// Reading the affinity, and whether the core was lost, cost about a tenth of a 16 KiB piece each.
constexpr unsigned kRunsPerLook = 8;
// By callers; the helpers look when it matters.
constexpr Nanos::rep kBetweenLooks = 100'000'000;

}   // namespace

IdleHelpers::IdleHelpers(TaskTree& tree, const Config& config, const Clock& clock, const Log& log)
    : tree_{tree},
      config_{std::min(config.most, kMost), std::max(config.local_ranks, 1u), config.crowded, config.idle_class},
      clock_{clock},
      log_{log},
      machine_cpus_{std::max(tree.topology().nodes()[0].cpus.count(), 1u)},
      machine_cores_{std::max(tree.topology().cores(tree.topology().nodes()[0].cpus), 1u)},
      owner_pid_{process_id()},
      looks_{new Look[tree.topology().nodes().size()]},
      still_for_{kStillFirst}
{
}

// Ranks are taken to be spread evenly over the machine: so many of them have one each among `n` cores, or processors, of `all`. With few ranks, or a mask of
// each one's own, that is us.
unsigned IdleHelpers::beyond_ranks(unsigned n, unsigned all) const noexcept
{
    const unsigned ranks = std::max((config_.local_ranks * n + all - 1) / all, 1u);
    return n > ranks ? n - ranks : 0;
}

unsigned IdleHelpers::spare_on(const CpuSet& cpus) const noexcept { return beyond_ranks(tree_.topology().cores(cpus), machine_cores_); }

void IdleHelpers::look(QueueIndex queue, const CpuSet& cpus) noexcept
{
    const bool stopping = stopping_.load(std::memory_order_relaxed);
    looks_[queue].spare.store(stopping ? 0 : spare_on(cpus), std::memory_order_relaxed);
    looks_[queue].idle.store(!stopping && beyond_ranks(cpus.count(), machine_cpus_) != 0, std::memory_order_relaxed);
}

// Where work in this queue is found, as far as the process may go there.
CpuSet IdleHelpers::cpus_of(QueueIndex queue) const noexcept
{
    const CpuSet process = process_affinity();
    return queue == kMachineQueue ? process : process & tree_.topology().nodes()[queue].cpus;
}

const IdleHelpers::Look& IdleHelpers::last_look(QueueIndex queue, Nanos::rep now) noexcept
{
    Look& last = looks_[queue];
    if (now >= last.again_at.load(std::memory_order_relaxed)) {
        last.again_at.store(now + kBetweenLooks, std::memory_order_relaxed);
        look(queue, cpus_of(queue));
    }
    return last;
}

bool IdleHelpers::useful(QueueIndex queue) noexcept
{
    if (config_.most == 0) {
        return false;
    }
    const Nanos::rep now = clock_.now().time_since_epoch().count();
    return last_look(queue, now).spare.load(std::memory_order_relaxed) != 0 && now >= still_until_.load(std::memory_order_relaxed) && !config_.crowded();
}

bool IdleHelpers::idle_processor() noexcept
{
    return last_look(kMachineQueue, clock_.now().time_since_epoch().count()).idle.load(std::memory_order_relaxed) && !config_.crowded();
}

void IdleHelpers::call(unsigned n, QueueIndex queue) noexcept
{
    if (!useful(queue)) {
        return;
    }
    n = std::min(n, allowed(queue));
    if (started() < n) {
        start(n, queue);
        n = std::min(n, started());
    }
    const Nanos::rep now = clock_.now().time_since_epoch().count();
    std::optional<Place> elsewhere;
    for (unsigned i = 0; i < n; ++i) {
        Helper& helper = helpers_[i];
        if (helper.word.load(std::memory_order_relaxed) == (kAsleep | kCalled)) {
            if (config_.idle_class && now - helper.called_at.load(std::memory_order_relaxed) > kLate.count()) {
                disturbed();   // it was called long ago and got no core
                return;
            }
        } else {
            helper.called_at.store(now, std::memory_order_relaxed);
        }
        helper.queue.store(queue, std::memory_order_relaxed);   // its work in another one is left to who waits for it
        if (helper.word.fetch_or(kCalled, std::memory_order_acq_rel) == kAsleep) {
            if (!elsewhere) {
                elsewhere.emplace(tree_.topology().without_core_of(current_cpu(), cpus_of(queue)));
            }
            wake(helper, *elsewhere);
        }
    }
}

// A thread of the class SCHED_IDLE that is woken where somebody computes stays there, unless the scheduler knows of an idle core; in virtual machines it often
// does not. Here it would wait for the very core that its caller keeps busy with the rest of the copy. So it is woken on another one. Up, it may go anywhere
// again, since the core of a caller who waits for it is free.
void IdleHelpers::wake(Helper& helper, const Place& elsewhere) noexcept
{
    if (move(helper, elsewhere) && (helper.word.load(std::memory_order_seq_cst) & kCalled) == 0) {
        move(helper, Place{cpus_of(helper.queue.load(std::memory_order_relaxed))});   // it was not asleep yet, and is up already
    }
    futex_wake(helper.word);
}

// False: it is there, or cannot go.
bool IdleHelpers::move(Helper& helper, const Place& to) noexcept
{
    const std::uint32_t id = helper.id.load(std::memory_order_relaxed);
    if (id == 0 || to.cpus.empty() || helper.has.load(std::memory_order_seq_cst) == to.mark || !set_thread_affinity(to.cpus, id)) {
        return false;
    }
    helper.has.store(to.mark, std::memory_order_seq_cst);
    return true;
}

// The caller's core may be one that they were kept off, or of another node, to which the caller has gone since.
void IdleHelpers::make_room() noexcept
{
    CpuSet cpus = process_affinity();
    cpus.add(current_cpu());
    const Place all{cpus};
    for (unsigned i = 0; i < started(); ++i) {
        if ((helpers_[i].word.load(std::memory_order_acquire) & kAsleep) == 0) {
            move(helpers_[i], all);
        }
    }
}

void IdleHelpers::lift() noexcept
{
    for (unsigned i = 0; i < started() && config_.idle_class; ++i) {
        Helper& helper = helpers_[i];
        const std::uint32_t id = helper.id.load(std::memory_order_relaxed);
        if (id != 0 && (helper.word.load(std::memory_order_acquire) & kAsleep) == 0 && set_idle_class(false, id)) {
            helper.lifted.store(true, std::memory_order_release);
        }
    }
}

// Keeps callers away for a while, longer each time. What is found out meanwhile, by another helper or about a call before it, belongs to the same disturbance.
void IdleHelpers::disturbed() noexcept
{
    const Nanos::rep now = clock_.now().time_since_epoch().count();
    const Nanos::rep still = still_for_.load(std::memory_order_relaxed);
    Nanos::rep until = still_until_.load(std::memory_order_relaxed);
    if (now >= until && still_until_.compare_exchange_strong(until, now + still, std::memory_order_relaxed)) {
        still_for_.store(std::min(still * 2, kStillMost), std::memory_order_relaxed);
    }
}

// Up to `n` threads in all. A second caller does not wait for the first one to be done with it.
void IdleHelpers::start(unsigned n, QueueIndex queue) noexcept
{
    if (!starting_.try_lock()) {
        return;
    }
    for (unsigned i = started(); i < n && !cannot_start_ && !stopping_.load(std::memory_order_relaxed); ++i) {
        Helper& helper = helpers_[i];
        helper.all = this;
        helper.index = i;
        helper.queue.store(queue, std::memory_order_relaxed);
        helper.word.store(kCalled, std::memory_order_relaxed);
        helper.called_at.store(clock_.now().time_since_epoch().count(), std::memory_order_relaxed);
        Result<Thread> thread = Thread::start({"linnet-idle", Nanos{50'000}, config_.idle_class}, &IdleHelpers::entry, &helper, log_);
        if (thread.ok()) {
            helper.thread = std::move(*thread);
            started_.store(i + 1, std::memory_order_release);
        } else {
            cannot_start_ = true;   // it was logged; do not try again for every copy
        }
    }
    starting_.unlock();
}

void IdleHelpers::warn_of_late_one(Nanos time) const noexcept
{
    LINNET_LOG(log_, kWarn,
               "part of a copy is in the hands of a helper (thread linnet-idle) that has not ended it for %lld ms: others have its core, or the memory of the "
               "sender is slow to come. task_helpers=0 or copy=cpu copies without helpers",
               static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(time).count()));
}

void IdleHelpers::stop() noexcept
{
    const bool ours = process_id() == owner_pid_;
    if (ours && started() != 0) {   // those that were called, and wait for a core that they were sent to; later they may be gone, and others have their numbers
        const Place all{process_affinity()};
        for (unsigned i = 0; i < started(); ++i) {
            move(helpers_[i], all);
        }
    }
    stopping_.store(true, std::memory_order_seq_cst);
    for (unsigned i = 0; i < started(); ++i) {
        if (!ours) {
            helpers_[i].thread.forget();   // after fork(): it runs in the parent only
            continue;
        }
        helpers_[i].word.fetch_or(kCalled, std::memory_order_acq_rel);
        futex_wake(helpers_[i].word);
    }
    for (unsigned i = 0; i < started(); ++i) {
        helpers_[i].thread.join();
    }
    started_.store(0, std::memory_order_release);
    for (std::size_t i = 0; i < tree_.topology().nodes().size(); ++i) {
        look(static_cast<QueueIndex>(i), {});
    }
}

// ---- a helper ----

void IdleHelpers::entry(void* helper) noexcept
{
    auto& me = *static_cast<Helper*>(helper);
    me.all->live(me);
}

void IdleHelpers::live(Helper& me) noexcept
{
    me.has.store(thread_affinity().mark(), std::memory_order_relaxed);
    me.id.store(thread_id(), std::memory_order_relaxed);
    bool waited = true;   // for a core, since it was called
    while (!stopping_.load(std::memory_order_seq_cst)) {
        if ((me.word.exchange(kAsleep, std::memory_order_acq_rel) & kCalled) == 0) {
            waited = true;
            while (me.word.load(std::memory_order_acquire) == kAsleep) {
                futex_wait(me.word, kAsleep);
            }
        }
        me.word.exchange(0, std::memory_order_seq_cst);
        if (!stopping_.load(std::memory_order_seq_cst)) {
            work(me, std::exchange(waited, false));
        }
    }
}

void IdleHelpers::go_back(Helper& me) noexcept
{
    if (me.lifted.load(std::memory_order_relaxed)) [[unlikely]] {
        me.lifted.exchange(false, std::memory_order_acquire);
        set_idle_class(true);
    }
}

void IdleHelpers::work(Helper& me, bool waited) noexcept
{
    go_back(me);
    const QueueIndex queue = me.queue.load(std::memory_order_relaxed);
    look_at_affinity(me, queue);
    if (config_.idle_class && waited && clock_.now().time_since_epoch().count() - me.called_at.load(std::memory_order_relaxed) > kLate.count()) {
        disturbed();
        return;
    }
    const std::uint64_t lost = thread_context_switches().involuntary;
    for (unsigned runs = 1; me.index < allowed(queue) && !stopping_.load(std::memory_order_relaxed); ++runs) {
        const bool none = tree_.run(current_cpu(), TaskPlace::kHelper, 1).total() == 0;
        go_back(me);
        if (!none && runs % kRunsPerLook != 0) {
            continue;
        }
        if (config_.idle_class && thread_context_switches().involuntary != lost) {
            disturbed();
            return;
        }
        if (none) {
            still_for_.store(kStillFirst, std::memory_order_relaxed);
            return;
        }
        look_at_affinity(me, queue);
    }
}

// Programs pin themselves when they like, and cgroups change under them.
void IdleHelpers::look_at_affinity(Helper& me, QueueIndex queue) noexcept
{
    const Place place{cpus_of(queue)};
    if (me.has.load(std::memory_order_seq_cst) != place.mark) {
        move(me, place);
        look(queue, place.cpus);
    }
}

}   // namespace linnet

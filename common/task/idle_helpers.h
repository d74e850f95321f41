// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// IdleHelpers: threads that run tasks where a core has nothing else to do.
//
// What it is   Threads of the class SCHED_IDLE, in the place of PIOMan's hook in the idle loop of the scheduler. They sleep until called, run tasks that
//              were offered to idle helpers, and sleep again. None exists before the first call.
// Owner        The context. The tree outlives it; stop() (or the destructor) comes before the tasks' owners go.
// Threads      Any, for everything but stop(). A helper takes no lock that another thread can wait for, has all signals blocked, is called linnet-idle.
// Blocking     stop() waits for what the helpers are running, at most a body each. call() makes one system call, and two more for each helper that it wakes:
//              one moves it off the caller's core, unless it may not run there anyhow, one wakes it. The first time it starts a thread each. make_room() makes
//              one, and one for each helper that is up and was kept off a core; lift() one for each that is up. A helper makes some five for a call, and
//              two more every eight runs.
// Failure      None. Where no thread can be started, or no core is idle, whoever waits for a task runs it himself.
// Fork         The child has no helpers; destroying the object there forgets them.
//
// When still   A helper helps only on a core that nobody else wants. It looks at the affinity of the process when it is called, and between pieces of work:
//              there are at most as many helpers as cores in it beyond one for each rank that has its part of them, since ranks that are bound to a part
//              of the machine, a socket for example, share it with others as they share the machine. One that was called and got no core for 300 us, or
//              lost its core while it ran, takes that for oversubscription: no helper is called for 2 ms, twice as long each time this happens again, up to
//              half a second.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/ids.h"
#include "base/log.h"
#include "base/ready_ref.h"
#include "sync/lock.h"
#include "sys/cpu_set.h"
#include "sys/thread.h"
#include "task/task_tree.h"

namespace linnet {

class IdleHelpers {
public:
    static constexpr unsigned kMost = 16;

    struct Config {
        unsigned most{4};          // threads, at most kMost; 0: none ever
        unsigned local_ranks{1};   // processes of the job on this host
        ReadyRef crowded{};        // do others want our cores, as far as the waiting threads see?
        bool idle_class{true};     // false, for tests on busy machines: ordinary threads that do not mind being late or stopped
    };

    IdleHelpers(TaskTree& tree, const Config& config, const Clock& clock, const Log& log);
    ~IdleHelpers() { stop(); }
    IdleHelpers(const IdleHelpers&) = delete;
    IdleHelpers& operator=(const IdleHelpers&) = delete;

    // Would call() find a core that is probably idle, among those of this queue's node? Some ten nanoseconds, and every 100 ms
    // a look at the affinity.
    [[nodiscard]] bool useful(QueueIndex queue = kMachineQueue) noexcept;
    // Is a processor probably idle, for any thread: however many helpers there may be, and whether or not they keep still? The second thread of a core counts:
    // it moves messages for the program on the first well enough, where of two that copy neither gains. As long.
    [[nodiscard]] bool idle_processor() noexcept;
    // Work for `n` helpers was pushed to this queue before this call. Wakes as many as sleep, not more than useful; none if none is. They stay on the
    // processors of the queue's node, since elsewhere they would not find it.
    void call(unsigned n, QueueIndex queue = kMachineQueue) noexcept;
    // The caller is about to sleep until a helper ends the run that it is in: it may have the caller's core for it, too.
    void make_room() noexcept;
    // That was not enough: others have both cores. For the rest of the run that they are in the helpers are no idle-class threads, where the system allows it.
    void lift() noexcept;
    // Says that somebody has slept for `time` until a helper ends the run that it is in. Any thread.
    void warn_of_late_one(Nanos time) const noexcept;
    // Ends the threads. Idempotent. Not called at the same time as call().
    void stop() noexcept;

    // How many may run at present, and how many threads exist; to look at.
    [[nodiscard]] unsigned allowed(QueueIndex queue = kMachineQueue) const noexcept
    {
        return std::min(config_.most, looks_[queue].spare.load(std::memory_order_relaxed));
    }
    // How many could run on these processors.
    [[nodiscard]] unsigned allowed_on(const CpuSet& cpus) const noexcept { return std::min(config_.most, spare_on(cpus)); }
    [[nodiscard]] unsigned started() const noexcept { return started_.load(std::memory_order_acquire); }

private:
    // Proof. `word` of a helper: kAsleep from when it announced its sleep until it is up again; kCalled from a call until the helper has seen it.
    //   A caller pushes work and then does fetch_or(kCalled); a helper does exchange(kAsleep) and sleeps unless it saw kCalled. All are acquire-release
    //   read-modify-writes of one word, so they have an order: either the helper's exchange comes later, sees kCalled, and works again with the push visible;
    //   or the caller's comes later, sees kAsleep, and wakes it.
    static constexpr std::uint32_t kAsleep = 1, kCalled = 2;
    // `has` of a helper: the mark of its affinity. Callers move a helper that they wake off their core; up, it moves back where its work may be. Whoever sets
    //   an affinity stores its mark afterwards. A helper that was about to sleep and saw the call is up before it was moved: it clears kCalled and then looks
    //   at `has`; its caller sets affinity and `has` and then looks for kCalled, all sequentially consistent. So either the helper sees that it was moved, or
    //   its caller sees that it is up, and moves it back. What two of them that set at the same time leave behind, the next call of this helper mends: it is
    //   moved again, and moves back.

    struct alignas(kCacheLine) Helper {
        std::atomic<std::uint32_t> word{0};   // futex
        std::atomic<Nanos::rep> called_at{0};
        std::atomic<QueueIndex> queue{kMachineQueue};   // of the last call
        IdleHelpers* all{nullptr};
        unsigned index{0};
        std::atomic<std::uint32_t> id{0};               // of its thread; 0: not up yet
        std::atomic<std::uint64_t> has{0};
        std::atomic<bool> lifted{false};   // out of the idle class, before this was set: so it goes back, now or when it works next
        Thread thread;
    };

    // What was found of the affinity last, for a node of the topology.
    struct Look {
        std::atomic<Nanos::rep> again_at{0};
        std::atomic<unsigned> spare{0};   // cores, beyond one per rank
        std::atomic<bool> idle{false};    // there are processors beyond one per rank
    };

    struct Place {
        CpuSet cpus;
        std::uint64_t mark;
        explicit Place(const CpuSet& set) noexcept : cpus{set}, mark{set.mark()} {}
    };

    static void entry(void* helper) noexcept;
    void wake(Helper& helper, const Place& elsewhere) noexcept;
    static bool move(Helper& helper, const Place& to) noexcept;
    void live(Helper& me) noexcept;
    void work(Helper& me, bool waited) noexcept;
    static void go_back(Helper& me) noexcept;
    void look_at_affinity(Helper& me, QueueIndex queue) noexcept;
    void disturbed() noexcept;
    void start(unsigned n, QueueIndex queue) noexcept;
    [[nodiscard]] unsigned spare_on(const CpuSet& cpus) const noexcept;
    [[nodiscard]] unsigned beyond_ranks(unsigned n, unsigned all) const noexcept;
    void look(QueueIndex queue, const CpuSet& cpus) noexcept;
    [[nodiscard]] const Look& last_look(QueueIndex queue, Nanos::rep now) noexcept;
    [[nodiscard]] CpuSet cpus_of(QueueIndex queue) const noexcept;

    TaskTree& tree_;
    const Config config_;
    const Clock& clock_;
    const Log& log_;
    const unsigned machine_cpus_, machine_cores_;
    std::uint32_t owner_pid_{0};
    std::atomic<unsigned> started_{0};
    std::atomic<bool> stopping_{false};
    std::unique_ptr<Look[]> looks_;            // one per node
    std::atomic<Nanos::rep> still_until_{0};   // no calls before
    std::atomic<Nanos::rep> still_for_{0};     // how long the next disturbance keeps us still
    Mutex starting_;
    bool cannot_start_ LINNET_GUARDED_BY(starting_){false};
    std::array<Helper, kMost> helpers_;
};

}   // namespace linnet

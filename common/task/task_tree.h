// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TaskTree: queues of tasks, one per core, shared cache, package and NUMA node, and one for the machine.
//
// What it is   One ClaimQueue per node of the topology. A task goes into the innermost queue whose processors include all that it may run on; a thread
//              looks into the queue of its core first and then outwards. This is PIOMan's tree, without its locks. See docs/tasks.md.
// Owner        The context. Outlives all tasks in it and all threads that run them.
// Threads      Any, for everything.
// Blocking     Never, except by what the bodies do. Fails only where push() says so.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "base/ids.h"
#include "stats/counters.h"
#include "sync/claim_queue.h"
#include "sys/topology.h"
#include "task/task.h"

namespace linnet {

struct TaskOffer {
    QueueIndex queue{kMachineQueue};
    std::uint32_t runs{1};      // at most ClaimQueue's kMaxClaims
    bool idle_helpers{false};   // helpers may run it, too; see task.h for what that demands of the body
    bool rests{false};          // nothing waits for it: nobody stays awake or looks twice for its sake; run_resting() has turns for it
};

class TaskTree {
public:
    static constexpr unsigned kNoLimit = std::numeric_limits<unsigned>::max();

    struct Ran {
        unsigned done{0};    // runs that ended with kDone
        unsigned again{0};   // and with kAgain: they are queued again
        [[nodiscard]] unsigned total() const noexcept { return done + again; }
    };

    // Borrows `stats`; counts there which kind of task ran where.
    TaskTree(Topology topology, Stats& stats);

    [[nodiscard]] const Topology& topology() const noexcept { return topology_; }
    // The innermost queue of all these processors: a set is rounded up to a node of the topology.
    [[nodiscard]] QueueIndex queue_for(const CpuSet& cpus) const noexcept { return topology_.node_around(cpus); }
    // That of a core, and the innermost one around it that is of `level` or further out.
    [[nodiscard]] QueueIndex queue_of(unsigned cpu) const noexcept { return topology_.node_of(cpu); }
    [[nodiscard]] QueueIndex queue_of(unsigned cpu, TopologyLevel level) const noexcept;

    // Offers `task`. Where its queue is full it goes into the next one outwards. False: the machine's is full too, the task is the caller's as before, who
    // had best run it himself. The caller then tells whoever might sleep (ProgressEngine::kick(), IdleHelpers::call()).
    [[nodiscard]] bool push(Task& task, const TaskOffer& offer) noexcept;

    // Runs what waits in the queues around `cpu`, from the core outwards, at most `budget` runs. A task that says kAgain is queued again at the end.
    Ran run(unsigned cpu, TaskPlace place, unsigned budget) noexcept;
    // The same in all queues: nobody may be on the other cores. For the event thread, and for who is about to sleep.
    Ran run_everywhere(TaskPlace place, unsigned budget) noexcept;
    // A turn for each task that rests: in the queues around `cpu`, or in all.
    Ran run_resting(unsigned cpu, TaskPlace place) noexcept;
    Ran run_resting_everywhere(TaskPlace place) noexcept;
    // One run that the owner of `task` waits for, if one is left. False: none; all have been begun. Any number of threads at once.
    bool run_own(Task& task) noexcept;
    // Takes back the runs that nobody has begun. Returns how many; those that have been begun, end. The owner only.
    std::uint32_t withdraw(Task& task) noexcept;

    // Nothing waits, but perhaps tasks that rest. As ClaimQueue::empty().
    [[nodiscard]] bool empty() const noexcept;
    // Nothing in the queues around `cpu`.
    [[nodiscard]] bool empty(unsigned cpu) const noexcept;

    static constexpr Counter counter_of(TaskKind kind, TaskPlace place) noexcept
    {
        return static_cast<Counter>(static_cast<unsigned>(Counter::kTaskPollHost) + static_cast<unsigned>(kind) * static_cast<unsigned>(TaskPlace::kCount) +
                                    static_cast<unsigned>(place));
    }

private:
    using Queue = ClaimQueue<Task>;

    // What one call of run() did, told to the counters at its end.
    struct Tally {
        std::array<std::uint32_t, static_cast<std::size_t>(TaskKind::kCount)> kinds{};
        Ran ran;
        Task* again{nullptr};
    };

    void drain(Queue& queue, TaskPlace place, unsigned budget, Tally& tally) noexcept;
    void execute(const Queue::Claim& claim, Tally& tally) noexcept;
    Ran finish(Tally& tally, TaskPlace place) noexcept;

    Topology topology_;
    Stats& stats_;
    [[nodiscard]] Queue& queue_of(const Task& task) noexcept { return ((task.flags_ & Task::kRests) != 0 ? resting_ : all_)[task.queue_]; }

    std::unique_ptr<Queue[]> queues_;   // two per node
    std::span<Queue> all_;
    std::span<Queue> resting_;
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TaskTree: where tasks wait, and how they are run.
#include "task/task_tree.h"

#include <algorithm>
#include <utility>

namespace linnet {

TaskTree::TaskTree(Topology topology, Stats& stats)
    : topology_{std::move(topology)},
      stats_{stats},
      queues_{new Queue[2 * topology_.nodes().size()]},
      all_{queues_.get(), topology_.nodes().size()},
      resting_{queues_.get() + topology_.nodes().size(), topology_.nodes().size()}
{
}

QueueIndex TaskTree::queue_of(unsigned cpu, TopologyLevel level) const noexcept
{
    QueueIndex node = topology_.node_of(cpu);
    while (topology_.nodes()[node].level > level) {
        node = topology_.nodes()[node].parent;
    }
    return node;
}

bool TaskTree::push(Task& task, const TaskOffer& offer) noexcept
{
    task.runs_ = offer.runs;
    task.flags_ = static_cast<std::uint8_t>((offer.idle_helpers ? Task::kIdleHelpers : 0) | (offer.rests ? Task::kRests : 0));
    for (QueueIndex node = offer.queue;; node = topology_.nodes()[node].parent) {
        task.queue_ = node;
        if (queue_of(task).push(task, offer.runs, task.flags_, task.ticket_)) {
            return true;
        }
        if (node == kMachineQueue) {
            return false;
        }
    }
}

TaskTree::Ran TaskTree::run(unsigned cpu, TaskPlace place, unsigned budget) noexcept
{
    Tally tally;
    QueueIndex node = topology_.node_of(cpu);
    drain(all_[node], place, budget, tally);
    while (node != kMachineQueue && tally.ran.total() < budget) {
        node = topology_.nodes()[node].parent;
        drain(all_[node], place, budget, tally);
    }
    return finish(tally, place);
}

TaskTree::Ran TaskTree::run_everywhere(TaskPlace place, unsigned budget) noexcept
{
    Tally tally;
    for (Queue& queue : all_) {
        drain(queue, place, budget, tally);
    }
    return finish(tally, place);
}

TaskTree::Ran TaskTree::run_resting(unsigned cpu, TaskPlace place) noexcept
{
    Tally tally;
    QueueIndex node = topology_.node_of(cpu);
    drain(resting_[node], place, kNoLimit, tally);
    while (node != kMachineQueue) {
        node = topology_.nodes()[node].parent;
        drain(resting_[node], place, kNoLimit, tally);
    }
    return finish(tally, place);
}

TaskTree::Ran TaskTree::run_resting_everywhere(TaskPlace place) noexcept
{
    Tally tally;
    for (Queue& queue : resting_) {
        drain(queue, place, kNoLimit, tally);
    }
    return finish(tally, place);
}

bool TaskTree::run_own(Task& task) noexcept
{
    Queue::Claim claim;
    if (!queue_of(task).claim_from(task.ticket_, claim)) {
        return false;
    }
    Tally tally;
    execute(claim, tally);
    finish(tally, TaskPlace::kWaiter);
    return true;
}

std::uint32_t TaskTree::withdraw(Task& task) noexcept { return queue_of(task).withdraw(task.ticket_); }

void TaskTree::drain(Queue& queue, TaskPlace place, unsigned budget, Tally& tally) noexcept
{
    const std::uint8_t flags = place == TaskPlace::kHelper ? Task::kIdleHelpers : std::uint8_t{0};
    Queue::Claim claim;
    while (tally.ran.total() < budget && queue.claim(flags, claim)) {
        execute(claim, tally);
    }
}

void TaskTree::execute(const Queue::Claim& claim, Tally& tally) noexcept
{
    Task& task = *claim.element;
    ++tally.kinds[static_cast<std::size_t>(task.kind_)];
    if (task.body_(task, task.runs_ - 1 - claim.left) == TaskResult::kDone) {
        ++tally.ran.done;   // and the task may be gone
    } else {
        LINNET_ASSERT(task.runs_ == 1);
        ++tally.ran.again;
        task.next_ = std::exchange(tally.again, &task);
    }
}

TaskTree::Ran TaskTree::finish(Tally& tally, TaskPlace place) noexcept
{
    while (tally.again != nullptr) {
        Task& task = *std::exchange(tally.again, tally.again->next_);
        while (!push(task, {task.queue_, 1, (task.flags_ & Task::kIdleHelpers) != 0, (task.flags_ & Task::kRests) != 0})) {
            // Every queue outwards is full, of tasks that somebody will run. This one has its turn now.
            if (task.body_(task, 0) == TaskResult::kDone) {
                break;
            }
        }
    }
    for (std::size_t kind = 0; kind < tally.kinds.size(); ++kind) {
        if (tally.kinds[kind] != 0) {
            stats_.block(StatsRole::kAnyThread).add_shared(counter_of(static_cast<TaskKind>(kind), place), tally.kinds[kind]);
        }
    }
    return tally.ran;
}

bool TaskTree::empty() const noexcept
{
    return std::all_of(all_.begin(), all_.end(), [](const Queue& queue) { return queue.empty(); });
}

bool TaskTree::empty(unsigned cpu) const noexcept
{
    QueueIndex node = topology_.node_of(cpu);
    while (node != kMachineQueue && all_[node].empty()) {
        node = topology_.nodes()[node].parent;
    }
    return all_[node].empty();
}

}   // namespace linnet

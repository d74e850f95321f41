// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TaskSource: queued tasks, as something that is polled.
//
// What it is  An EventSource like a transport: whoever polls runs tasks, from the queues around his core; the event thread, and a thread that finds nothing
//             else before it sleeps, from all of them. Who pushes a task calls ProgressEngine::kick() afterwards, and nobody sleeps over it.
//             Tasks that say kAgain are no events. While some wait, nobody sleeps longer than kAgainPeriod: they have no descriptor to be woken by.
// Owner       core/. Outlived by tree and engine's threads as any source. Threads, blocking, failure: as EventSource says.
#pragma once

#include <algorithm>

#include "base/clock.h"
#include "progress/event_source.h"
#include "progress/progress_engine.h"
#include "sys/thread.h"
#include "task/task_tree.h"

namespace linnet {

class TaskSource final : public EventSource {
public:
    // How long a task that polls may have to wait for its next turn when everybody sleeps: as often as a sleep costs nothing to speak of.
    static constexpr Nanos kAgainPeriod{200'000};
    // Runs per pass: a pass stays bounded, some tens of microseconds with slices of copies.
    static constexpr unsigned kMost = 16;

    TaskSource(TaskTree& tree, const ProgressEngine& engine, const Clock& clock) noexcept : tree_{tree}, engine_{engine}, clock_{clock} {}

    unsigned poll(unsigned budget) noexcept override
    {
        if (polls_++ % kPollsPerLook == 0) {
            cpu_ = current_cpu();
        }
        const bool by_event_thread = engine_.in_event_thread();
        if (!search_ && !by_event_thread && tree_.empty(cpu_)) {   // nearly always: a few loads
            only_again_ = false;
            due_ = TimePoint::max();
            return 0;
        }
        const unsigned most = std::min(budget, kMost);
        const bool everywhere = by_event_thread || search_;
        search_ = false;
        const TaskPlace place = by_event_thread ? TaskPlace::kEventThread : TaskPlace::kHost;
        const TaskTree::Ran ran = everywhere ? tree_.run_everywhere(place, most) : tree_.run(cpu_, place, most);
        only_again_ = everywhere && ran.done == 0 && ran.again != 0;
        due_ = ran.again != 0 ? clock_.now() + kAgainPeriod : TimePoint::max();
        return ran.done;
    }
    [[nodiscard]] int wait_descriptor() const noexcept override { return -1; }
    // What waits in queues of other cores, where perhaps nobody is, is looked for in the pass that follows a refused sleep.
    [[nodiscard]] bool prepare_sleep() noexcept override
    {
        search_ = !only_again_ && !tree_.empty();
        return !search_;
    }
    [[nodiscard]] TimePoint next_timer() const noexcept override { return due_; }

private:
    TaskTree& tree_;
    const ProgressEngine& engine_;
    const Clock& clock_;
    // Threads move rarely, and a look around the wrong core only costs nearness.
    static constexpr unsigned kPollsPerLook = 32;

    // the holder of the token
    unsigned polls_{0};
    unsigned cpu_{0};
    bool search_{false};
    bool only_again_{false};   // the last pass looked everywhere, and found only tasks that wait for something
    TimePoint due_{TimePoint::max()};
};

}   // namespace linnet

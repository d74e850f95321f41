// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TaskSource: queued tasks, as something that is polled.
//
// What it is  An EventSource like a transport: whoever polls runs tasks, from the queues around his core; the event thread, and a thread that finds nothing
//             else before it sleeps, from all of them. Who pushes a task calls ProgressEngine::kick() or work_left() afterwards, and nobody
//             sleeps over it.
//             It also has the polls of sources that had nothing for long, which rest until somebody has time (poll_task.h).
//             Tasks that say kAgain are no events. While some wait, nobody sleeps longer than kAgainPeriod: they have no descriptor to be woken by.
// Owner       core/. Outlived by tree and engine's threads as any source. Threads, blocking, failure: as EventSource says.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "progress/event_source.h"
#include "progress/poll_task.h"
#include "progress/progress_engine.h"
#include "progress/ticks.h"
#include "sys/thread.h"
#include "task/task_tree.h"

namespace linnet {

class TaskSource final : public EventSource {
public:
    // How long a task that polls may have to wait for its next turn when everybody sleeps: as often as a sleep costs nothing to speak of.
    static constexpr Nanos kAgainPeriod{200'000};
    // Runs per pass: a pass stays bounded, some tens of microseconds with slices of copies.
    static constexpr unsigned kMost = 16;

    TaskSource(TaskTree& tree, ProgressEngine& engine, const Clock& clock) noexcept : tree_{tree}, engine_{engine}, clock_{clock} {}

    // A source whose poll() is to be a task while it has nothing. Before the engine starts; it was added there.
    void add_polled(EventSource& source) { polled_.push_back(std::make_unique<PollTask>(source)); }

    unsigned poll(unsigned budget) noexcept override
    {
        if (polls_++ % kPollsPerLook == 0) {
            cpu_ = current_cpu();
            if (polls_ % kPollsPerRest == 1) {
                send_to_rest();
            }
        }
        const bool by_event_thread = engine_.in_event_thread();
        return (resting_ != 0 ? poll_resting(by_event_thread) : 0) + run_queued(budget, by_event_thread);
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
    // Threads move rarely, and a look around the wrong core only costs nearness.
    static constexpr unsigned kPollsPerLook = 32;
    // A source that had nothing in so many passes over all, some 0.3 ms of polling, rests; then so many passes go by without it, some 2 us, and in so
    // many turns one is for those of other cores too.
    static constexpr unsigned kPollsPerRest = 4096;
    static constexpr unsigned kPassesPerTurn = 16;
    static constexpr unsigned kTurnsPerSearch = 16;
    // Where passes take longer, for so long, as far as pollers know the time. An arrival waits no longer; and a turn, 0.5 us, or 5 where system calls are slow,
    // is a hundredth of it at most. (There, with 5 us, half a round trip over shared memory took 0.17 us more; with 100, one in twenty.)
    static constexpr Nanos kBetweenTurns{500'000};

    unsigned run_queued(unsigned budget, bool by_event_thread) noexcept
    {
        engine_.token().assert_held();
        // Work that was left to the event thread may lie in the queues of a core where nobody is: whoever left it has kicked, or a pass has on its behalf.
        const bool everywhere = by_event_thread || search_ || engine_.pass_is_thorough();
        if (everywhere ? tree_.empty() : tree_.empty(cpu_)) {   // nearly always: a few loads
            search_ = false;
            only_again_ = false;
            due_ = TimePoint::max();
            return 0;
        }
        const unsigned most = std::min(budget, kMost);
        search_ = false;
        const TaskPlace place = by_event_thread ? TaskPlace::kEventThread : TaskPlace::kHost;
        const TaskTree::Ran ran = everywhere ? tree_.run_everywhere(place, most) : tree_.run(cpu_, place, most);
        only_again_ = everywhere && ran.done == 0 && ran.again != 0;
        due_ = ran.again != 0 ? clock_.now() + kAgainPeriod : TimePoint::max();
        return ran.done;
    }
    void send_to_rest() noexcept
    {
        const auto delivered = [](const std::unique_ptr<PollTask>& task) { return task->had_events(); };
        if (std::none_of(polled_.begin(), polled_.end(), delivered)) {
            return;   // a long wait, of which nobody knows for whom
        }
        for (const std::unique_ptr<PollTask>& task : polled_) {
            if (task->should_rest() && task->rest(tree_, tree_.queue_of(cpu_, TopologyLevel::kNuma))) {
                ++resting_;
            }
        }
    }
    unsigned poll_resting(bool by_event_thread) noexcept
    {
        engine_.token().assert_held();
        const bool all = by_event_thread || engine_.pass_is_thorough();
        const Ticks now = engine_.pass_began();
        if (!all && ++passes_ < kPassesPerTurn && now - turn_at_ < between_turns_) {
            return 0;
        }
        passes_ = 0;
        turn_at_ = now;
        const TaskPlace place = by_event_thread ? TaskPlace::kEventThread : TaskPlace::kHost;
        const bool everywhere = all || ++turns_ % kTurnsPerSearch == 0;
        const TaskTree::Ran ran = everywhere ? tree_.run_resting_everywhere(place) : tree_.run_resting(cpu_, place);
        resting_ -= ran.done;   // these had something
        return ran.done;
    }

    TaskTree& tree_;
    ProgressEngine& engine_;
    const Clock& clock_;
    const Ticks between_turns_{machine_ticks().ticks(kBetweenTurns)};
    std::vector<std::unique_ptr<PollTask>> polled_;

    // the holder of the token
    unsigned resting_{0};      // of polled_
    unsigned passes_{0};       // since they were polled,
    Ticks turn_at_{0};         // which was then
    unsigned turns_{0};
    unsigned polls_{0};
    unsigned cpu_{0};
    bool search_{false};
    bool only_again_{false};   // the last pass looked everywhere, and found only tasks that wait for something
    TimePoint due_{TimePoint::max()};
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PollTask: the poll() of a source that had nothing for long, as a task that repeats itself.
//
// What it is  A source that delivers is polled in each pass, directly: a claim out of a queue costs more than most polls that find nothing. One that had
//             nothing for long rests: passes leave it out, and its poll waits in the tree of queues for a thread with time: the event thread in each of its
//             passes, a host thread now and then, and before it sleeps (TaskSource). The first thing that is found there ends the rest.
// Owner       TaskSource; borrows the source. Threads: the holder of the progress token, who alone runs it: helpers may not poll, since what a source finds
//             is handled under the token. Blocking, failure: as poll().
#pragma once

#include <utility>

#include "progress/event_source.h"
#include "task/task_tree.h"

namespace linnet {

class PollTask final : public Task {
public:
    explicit PollTask(EventSource& source) noexcept : Task{TaskKind::kPoll, &PollTask::body}, source_{source} {}

    [[nodiscard]] bool had_events() const noexcept { return source_.had_events_; }
    // Has it had nothing since this was asked last?
    [[nodiscard]] bool should_rest() noexcept { return !source_.rests_ && !std::exchange(source_.had_events_, false); }
    // False: there is no room in the queues, and it is polled as before.
    [[nodiscard]] bool rest(TaskTree& tree, QueueIndex queue) noexcept
    {
        source_.rests_ = tree.push(*this, {.queue = queue, .rests = true});
        return source_.rests_;
    }

private:
    static constexpr unsigned kBudget = 64;

    static TaskResult body(Task& self, std::uint32_t) noexcept
    {
        EventSource& source = static_cast<PollTask&>(self).source_;
        if (source.poll(kBudget) == 0) {
            return TaskResult::kAgain;
        }
        source.rests_ = false;
        source.had_events_ = true;
        return TaskResult::kDone;
    }

    EventSource& source_;
};

}   // namespace linnet

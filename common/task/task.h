// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Task: a piece of work that somebody with time to spare does.
//
// What it is   A body and the queue's own words, embedded in the request that it serves: nothing is allocated. Offered to a queue of TaskTree, for one run
//              or for several, which may happen at the same time in different threads.
// Owner        The request's. Borrowed by the tree from push() until the last run has returned kDone or is withdrawn. The body's return is the last touch by
//              whoever ran it: a body that completes the request may let its owner free the task at once.
// Threads      The body runs in any thread of the process: one of the host's, the event thread, a helper. It holds no lock when called, not even the
//              progress token for certain; it must be short (some microseconds), must not sleep, and must not call the host.
// Idle helpers run only tasks offered as `idle_helpers`. Such a body takes no lock at all and allocates nothing, since the scheduler may stop a helper anywhere
//              and for long: who would wait for the lock, waits for an idle core.
#pragma once

#include <cstdint>

#include "sync/claim_queue.h"

namespace linnet {

// What a task is for; the counters are by kind and place.
enum class TaskKind : std::uint8_t {
    kPoll,     // look whether something has arrived
    kAnswer,   // answer a peer: a rendezvous, an acknowledgement
    kSend,     // hand a packet to its transport
    kCopy,     // copy memory
    kCount
};

// Who ran it.
enum class TaskPlace : std::uint8_t {
    kHost,          // a thread of the application that polls
    kEventThread,
    kHelper,        // an idle core
    kWaiter,        // a thread that waits for this very task
    kCount
};

enum class TaskResult : std::uint8_t {
    kDone,
    kAgain,   // not yet: queue it again where it was. Only a task offered for one run may say so
};

using QueueIndex = std::uint16_t;   // a node of the topology; 0 is the machine
inline constexpr QueueIndex kMachineQueue = 0;

class Task {
public:
    // `run`: which of the runs offered this is, counted from 0 in the order in which they are begun.
    using Body = TaskResult (*)(Task& self, std::uint32_t run) noexcept;

    Task(TaskKind kind, Body body) noexcept : body_{body}, kind_{kind} {}
    Task(const Task&) = delete;
    Task& operator=(const Task&) = delete;

    [[nodiscard]] TaskKind kind() const noexcept { return kind_; }

private:
    friend class TaskTree;
    static constexpr std::uint8_t kIdleHelpers = 1, kRests = 2;   // flags_

    Body body_;
    Task* next_{nullptr};   // in the chain of those to be queued again
    ClaimTicket ticket_{};
    std::uint32_t runs_{0};
    QueueIndex queue_{kMachineQueue};
    TaskKind kind_;
    std::uint8_t flags_{0};
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: what is done for a peer as a task: answering its rendezvous, pushing pending packets, and submitting sends. docs/tasks.md.
//
// There are two tasks for each peer, not one for each message: what they push is in queues of the peer's, in order, so whichever thread runs either, or sends
// a message of its own before, sends what was queued first. A task that finds nothing left has nothing to do.
#include <new>

#include "proto/proto.h"
#include "sys/thread.h"

namespace linnet::proto {

namespace {
// Handing a message over costs the host some microseconds, of which the wake-up of the event thread is nearly all; so it must save more. Measured:
// docs/tasks.md.
constexpr std::size_t kWorthHandingOver = 64 * 1024;
}   // namespace

// A message whose payload stays where it is until the peer has it: the host may leave at once, and the event thread submits it.
void Proto::submit(Peer& peer, const SendArgs& args, SendRequest& r) noexcept
{
    const bool may = config_.tasks != nullptr && !args.copy && r.tx.payload.size() >= kWorthHandingOver;
    if (may && engine_.leaves_work(r.data.length) && layer_->lane_ready(peer)) {
        layer_->send_later(peer, r.tx);
        if (!hand_over(peer, TaskKind::kSend)) {
            layer_->send_held(peer);
        }
        return;
    }
    const auto ignored = layer_->send(peer, r.tx);
    static_cast<void>(ignored);
}

// The thread that polls found that the peer asks for data (kAnswer), or that its link takes more (kSend).
void Proto::push_bulk(Peer& peer, TaskKind kind) noexcept
{
    if (peer.bulk_queue.empty()) {
        return;
    }
    if (config_.tasks != nullptr) {
        if (engine_.leaves_work() && hand_over(peer, kind)) {
            return;
        }
        // Who found it is the best place for it: it has its turn now, past the queue.
        shared_counters_.add_shared(TaskTree::counter_of(kind, engine_.in_event_thread() ? TaskPlace::kEventThread : TaskPlace::kHost));
    }
    pump_bulk(peer);
}

// False: there is no room for it, and the caller does it. Queued where its data is, around the core of whoever found it.
bool Proto::hand_over(Peer& peer, TaskKind kind) noexcept
{
    if (peer.tasks == nullptr) {
        std::byte* const memory = acquire(sizeof(PeerTasks));
        if (memory == nullptr) {
            return false;
        }
        peer.tasks = new (memory) PeerTasks{{TaskKind::kAnswer, &Proto::serve_peer, *this, peer}, {TaskKind::kSend, &Proto::serve_peer, *this, peer}};
    }
    PeerTask& task = kind == TaskKind::kAnswer ? peer.tasks->answer : peer.tasks->send;
    if (!task.queued) {
        if (!config_.tasks->push(task, {config_.tasks->queue_of(current_cpu(), TopologyLevel::kNuma)})) {
            return false;
        }
        task.queued = true;
        engine_.work_left();
    }
    return true;
}

// Proof. `queued` changes under the peer's lock. Who finds it true has put its work into the peer's queues under that lock; the run that is due takes the lock
// afterwards, and finds it. Who finds it false pushes the task: either nobody runs it, or a run has set it to false and let go of the lock, and touches
// the task no more.
TaskResult Proto::serve_peer(Task& self, std::uint32_t) noexcept
{
    auto& task = static_cast<PeerTask&>(self);
    Proto& proto = task.proto;
    Peer& peer = task.peer;
    MutexLock guard{peer.lock};
    task.queued = false;
    if (peer.down_reason() == Status::kOk) {
        proto.layer_->send_held(peer);
        proto.pump_bulk(peer);
    }
    return TaskResult::kDone;
}

// At the end, when nobody runs tasks any more.
void Proto::release_tasks(Peer& peer) noexcept
{
    if (peer.tasks == nullptr) {
        return;
    }
    for (PeerTask* const task : {&peer.tasks->answer, &peer.tasks->send}) {
        if (task->queued) {
            static_cast<void>(config_.tasks->withdraw(*task));
        }
    }
    peer.tasks->~PeerTasks();
    release(reinterpret_cast<std::byte*>(std::exchange(peer.tasks, nullptr)), sizeof(PeerTasks));
}

}   // namespace linnet::proto

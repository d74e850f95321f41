// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FI_FENCE: what an endpoint holds back.
//
// What it is     A fenced operation begins when all that went before it to the same peer has completed, for the application too, and what is
//                posted after it to that peer begins after it. The core knows the first of these (LINNET_ERR_AGAIN); until then both wait here, in the
//                order of the calls, per peer. They are tried again when one joins them, and whenever completions were run: by somebody who makes the
//                endpoint progress, or by the event thread while nobody does.
// Owner          An Endpoint. What still waits when it closes is dropped, as all else that is under way.
// Threads        Any. Lock order: lock_ > what linnet.h, queues and counters lock.
// Blocking       Nothing.
// Failure        hold(), join(): -FI_EAGAIN when kMost wait, or without memory. What the core refuses later ends in an error entry.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <variant>

#include "capi/linnet_rma.h"
#include "operation.h"

namespace linnet::ofi {

class Endpoint;

// What the core is asked for, by an operation with storage of its own.
struct Write {
    linnet_rma_t rma;
};
struct Read {
    linnet_rma_t rma;
};
using Posting = std::variant<linnet_send_t, Write, Read, linnet_atomic_t>;

class Fence {
public:
    explicit Fence(Endpoint& endpoint) noexcept : endpoint_{endpoint} {}
    Fence(const Fence&) = delete;
    Fence& operator=(const Fence&) = delete;

    // Anything is held back; else an operation need not ask join(). seq_cst, with Peer::open_operations in the core: see there.
    [[nodiscard]] bool holds() const noexcept { return held_.load(std::memory_order_seq_cst) != 0; }
    // One that could begin lacks something of which no wake-up tells: who wants to sleep tries again.
    [[nodiscard]] bool stuck() const noexcept { return stuck_.load(std::memory_order_seq_cst); }
    // Behind those to the same peer; nullopt: there are none.
    std::optional<ssize_t> join(SendOperation& op, const Posting& what) noexcept;
    // The core has said that it must wait.
    ssize_t hold(SendOperation& op, const Posting& what) noexcept;
    // The endpoint made progress.
    void resume() noexcept;
    // Takes one with this context out, for the caller to end; null: none waits here, or the context is null, as those of injections are. What is behind it
    // begins with the next resume().
    SendOperation* take(const void* context) noexcept;

private:
    static constexpr std::size_t kMost = 1024;
    struct Held {
        SendOperation* op;
        Posting what;
        std::unique_ptr<char[]> operands;   // of an atomic operation: the application's may be gone
    };
    using Line = std::deque<Held>;
    ssize_t append(linnet_peer_t peer, SendOperation& op, const Posting& what) noexcept;
    bool run(Line& line) noexcept;

    Endpoint& endpoint_;
    std::atomic<std::size_t> held_{0};
    std::atomic<bool> stuck_{false};
    std::mutex lock_;
    std::unordered_map<linnet_peer_t, Line> lines_;   // guarded by lock_; an empty one is as none
};

}   // namespace linnet::ofi

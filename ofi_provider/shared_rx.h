// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared receive contexts: fi_srx_context of fi_endpoint(3). README.md "Shared contexts" has the design.
//
// What it is     Receives that match what comes to any of the endpoints bound to it. Does the matching that the core does for other endpoints.
// Owner          The application; endpoints that are bound to it keep it from being closed.
// Threads        Any. Lock order: endpoints_lock_ > lock_ > what linnet.h, queues and counters lock.
// Blocking       Nothing.
// Failure        As an endpoint's.
#pragma once

#include <list>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>
#include <vector>

#include "capi/linnet_watch.h"
#include "operation.h"
#include "provider.h"

namespace linnet::ofi {

class Av;
class Domain;
class Endpoint;
struct RecvCall;

class SharedRx final : public fid_ep {
public:
    static int open(fid_domain* domain, fi_rx_attr* attr, fid_ep** out, void* context) noexcept;

    // An endpoint with these capabilities may use it: a subset of its own.
    [[nodiscard]] bool admits(std::uint64_t caps) const noexcept;
    [[nodiscard]] const Domain& domain() const noexcept { return domain_; }
    // An endpoint is enabled: 0 or a negative fi_errno. Then it closes: before its context does, and after.
    int attach(Endpoint& endpoint, const Av& av);
    void detach(Endpoint& endpoint) noexcept;
    void ended(const Endpoint& endpoint) noexcept;
    std::atomic<unsigned> users{0};

    ssize_t receive(const RecvCall& call) noexcept;
    ssize_t cancel(void* context) noexcept;

private:
    // A message that came and was claimed.
    struct Arrival {
        Endpoint* endpoint{nullptr};
        linnet_message_t* message{nullptr};
        linnet_result_t result{};
        bool settled{false};
    };
    // Of one match space.
    struct Queue {
        RecvOperation* posted{nullptr};   // the oldest of a ring; multi-receive buffers stay while they take a message
        unsigned busy{0};                 // of these, buffers that are taking one
        bool starved{false};              // messages stay with their endpoints, for want of memory
        std::list<Arrival> waiting;       // messages that none of the receives accepts, but buffers that are busy; oldest first
    };

    SharedRx(Domain& domain, const fi_rx_attr& attr);
    ~SharedRx() = default;
    static SharedRx& of(struct fid* f) noexcept { return object<SharedRx, fid_ep>(f); }
    static fi_ops_msg* message_ops() noexcept;
    static fi_ops_tagged* tagged_ops() noexcept;
    static int close_fid(struct fid* f) noexcept;
    static int control(struct fid* f, int command, void* arg) noexcept;
    static int get_option(fid_t f, int level, int name, void* value, std::size_t* bytes) noexcept;
    static int set_option(fid_t f, int level, int name, const void* value, std::size_t bytes) noexcept;

    Queue& queue_of(std::uint64_t kind) noexcept { return queues_[kind == FI_TAGGED ? 0 : 1]; }
    ssize_t post(const RecvCall& call, bool directed);
    ssize_t peek(const RecvCall& call, bool directed);
    ssize_t receive_claimed(const RecvCall& call) noexcept;
    [[nodiscard]] bool may_name(fi_addr_t from) const noexcept;
    RecvOperation* make(const RecvCall& call, bool directed) noexcept;

    // shared_match.cc; all under lock_
    static void on_news(void* arg, std::uint32_t space, std::uint32_t news) noexcept;
    static void on_received(linnet_request_t* request, void* arg) noexcept;
    void collect(Endpoint& endpoint, std::uint64_t kind) noexcept;
    [[nodiscard]] static bool accepts(const RecvOperation& op, Arrival& a) noexcept;
    static RecvOperation* taker(const Queue& q, Arrival& a) noexcept;
    static void settle(const RecvOperation* op, Arrival& a) noexcept;
    bool match(Queue& q, RecvOperation* only) noexcept;
    [[nodiscard]] bool start(Queue& q, RecvOperation& op, const Arrival& a) noexcept;
    [[nodiscard]] bool finish(Queue& q, RecvOperation& op) noexcept;
    void end(RecvOperation& op, Endpoint* at, linnet_status_t status) noexcept;
    void end_lost(Endpoint& endpoint) noexcept;
    [[nodiscard]] Endpoint* who_lost(const RecvOperation& op) noexcept;
    static void drop(const Arrival& a) noexcept;

    Domain& domain_;
    const std::uint64_t caps_;
    const std::size_t most_pieces_;   // of one receive
    std::uint64_t op_flags_;
    std::atomic<std::size_t> least_multi_recv_{1024};
    std::shared_mutex endpoints_lock_;         // shared: no endpoint closes
    std::mutex lock_;                          // guards all that follows
    const Av* av_{nullptr};                    // of all its endpoints
    std::vector<Endpoint*> endpoints_;         // the enabled ones
    std::array<Queue, 2> queues_;
    RecvOperation* running_{nullptr};          // ring of those that have left their queue with a message
    std::unordered_map<void*, Arrival> claims_;   // by context
    void keep_spare(std::list<Arrival>& of, std::list<Arrival>::iterator record) noexcept;
    std::list<Arrival> spare_;                 // one, for a message that comes when there is no memory
    OperationPool<RecvOperation> receives_;
};

}   // namespace linnet::ofi

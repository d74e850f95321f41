// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Context: one open endpoint: its settings, transports, peers, requests, event thread.
//
// What it is     What linnet.h calls a context, in C++. The only layer that names concrete transports (transport_table.cc).
// Owner          capi/, on behalf of the host.
// Threads        Any, for everything but open() and close(), which one thread calls with no other call under way.
// Blocking       wait(), flush(), close(), and progress() that may sleep: bounded.
// Failure        Statuses; the reason is in the log.
// Fork           A child's copy is dead: alive() is false there, and it must not be destroyed, which would reach into the parent's sockets.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "conf/settings.h"
#include "copy/copy_engine.h"
#include "core/stats_publisher.h"
#include "progress/progress_engine.h"
#include "progress/task_source.h"
#include "proto/proto.h"
#include "session/session_layer.h"
#include "stats/counters.h"
#include "stats/trace.h"
#include "sys/fork_flag.h"
#include "sys/process.h"
#include "sys/system_clock.h"
#include "task/idle_helpers.h"
#include "task/task_tree.h"
#include "transport/transport.h"

namespace linnet::core {

struct OpenArgs {
    std::vector<std::pair<std::string, std::string>> settings;   // name, value
    LogSink log{nullptr};
    void* log_arg{nullptr};
    std::uint64_t wild_mask{0};
    std::string label;
    std::uint32_t expected_peers{0};
    std::uint32_t local_ranks{0};
};

using ActiveFn = void (*)(void* arg, std::uint32_t from, std::uint64_t immediate, const void* header, std::size_t header_bytes,
                          const void* payload, std::size_t payload_bytes) noexcept;

// What peers did to our memory regions.
struct RemoteNews {
    std::uint32_t from{kNoPeer.value - 1};   // of an immediate, when the host knows the peer
    std::uint32_t reads{0};                  // notices
    std::uint32_t writes{0};
    std::uint32_t changes{0};
    bool has_immediate{false};
    std::uint64_t immediate{0};
    std::uint64_t length{0};
    void* region_arg{nullptr};               // notices
};
using RemoteFn = void (*)(void* arg, const RemoteNews& news) noexcept;
using AttendFn = void (*)(void* arg) noexcept;

struct TransportEnv;
struct TransportRow;

class Context {
public:
    static Result<std::unique_ptr<Context>> open(const OpenArgs& args);
    ~Context();   // close()
    Context(const Context&) = delete;
    Context& operator=(const Context&) = delete;

    // False in a child of fork().
    [[nodiscard]] bool alive() const noexcept { return live_.is_original(); }
    [[nodiscard]] const wire::EndpointName& name() const noexcept { return sessions_->self(); }

    // ---- peers ----
    Result<PeerId> add_peer(const wire::EndpointName& name);
    Result<PeerId> add_address(const char* node, const char* service);
    Status remove_peer(PeerId id) noexcept;
    Status declare_dead(PeerId id) noexcept;
    // Null for an id that this context never gave out.
    [[nodiscard]] proto::Peer* peer(PeerId id) noexcept { return static_cast<proto::Peer*>(sessions_->find(id)); }

    [[nodiscard]] proto::Proto& proto() noexcept { return *proto_; }
    [[nodiscard]] Log& log() noexcept { return log_; }
    [[nodiscard]] const session::SessionLayer& sessions() const noexcept { return *sessions_; }
    [[nodiscard]] const ProgressEngine& engine() const noexcept { return *engine_; }
    // Null: tasks=off.
    [[nodiscard]] TaskTree* tasks() noexcept { return tasks_.get(); }
    [[nodiscard]] IdleHelpers* helpers() noexcept { return helpers_.get(); }
    [[nodiscard]] std::uint64_t counter(Counter id) const noexcept;

    // ---- active messages ----
    Status register_active(std::uint32_t id, ActiveFn fn, void* arg) noexcept;

    // ---- one-sided operations ----
    void register_remote(RemoteFn fn, void* arg) noexcept;

    // ---- while the host is away ----
    void attend(AttendFn fn, void* arg) noexcept;
    unsigned hand_out() noexcept { return drain(0); }

    // ---- progress ----
    void enter() noexcept { engine_->enter(); }
    // Both, after a short call; none of them when nothing is open or unsent, and no peer waits for us.
    void passed_by() noexcept
    {
        if (engine_->open_work() > 0 || sessions_->owes() || sessions_->keeps()) {
            engine_->passed_by(CallKind::kPost);
        }
    }
    void leave_post(std::uint64_t bytes) noexcept { engine_->leave(post_of(bytes)); }
    unsigned progress(unsigned budget, WhenIdle when) noexcept;
    [[nodiscard]] bool holds_packets() const noexcept { return engine_->holds_packets(); }
    [[nodiscard]] bool has_completions() const noexcept { return proto_->has_completions(); }
    Status wait(Nanos timeout) noexcept;
    [[nodiscard]] int wait_fd() const noexcept { return engine_->wait_fd(); }
    Status arm_wait_fd() noexcept;
    Status flush(Nanos timeout) noexcept;

private:
    Context();
    Status start(const OpenArgs& args);
    Status apply_settings(const OpenArgs& args);
    [[nodiscard]] GiveWay give_way() const;
    void make_layers(const OpenArgs& args);
    void make_tasks();
    Status open_transports();
    Status open_transport(const TransportRow& row, const TransportEnv& env, wire::EndpointName& self, bool automatic);
    [[nodiscard]] bool pays_to_open_behind(const TransportRow& row) const noexcept;
    unsigned drain(unsigned budget) noexcept;
    unsigned drain(proto::Proto::Collector& mine, unsigned budget) noexcept;
    void run_active(proto::ActiveEvent& e) noexcept;
    void run(proto::Completion& c) noexcept;
    void run_event(proto::Completion& c) noexcept;
    void tell_remote(const RemoteNews& news) noexcept;
    [[nodiscard]] std::uint32_t unacknowledged() noexcept;
    Status flush_until(TimePoint deadline) noexcept;
    [[nodiscard]] TimePoint after(Nanos timeout) const noexcept;
    bool be_attended() noexcept;
    void close() noexcept;

    struct Handler {
        std::atomic<ActiveFn> fn{nullptr};
        std::atomic<void*> arg{nullptr};
    };

    Log log_;
    Settings settings_;
    const std::optional<std::uint32_t> rank_{launcher_rank()};   // for messages to people
    SystemClock clock_;
    Stats stats_;
    std::unique_ptr<Trace> trace_;   // null: trace_events=0
    ForkFlag live_;
    std::unique_ptr<TaskTree> tasks_;            // null, as the next two: tasks=off
    std::unique_ptr<ProgressEngine> engine_;
    std::unique_ptr<IdleHelpers> helpers_;
    std::unique_ptr<TaskSource> task_source_;
    std::unique_ptr<CopyEngine> copy_;
    std::unique_ptr<proto::Proto> proto_;
    std::unique_ptr<session::SessionLayer> sessions_;
    StatsPublisher publisher_;
    std::vector<std::unique_ptr<Transport>> transports_;   // above their sinks, so destroyed first
    std::array<Handler, proto::kActiveIds> handlers_;
    std::atomic<RemoteFn> remote_fn_{nullptr};
    std::atomic<void*> remote_arg_{nullptr};
    Mutex attend_lock_;   // held while it runs
    std::atomic<AttendFn> attend_fn_{nullptr};   // written under the lock
    void* attend_arg_ LINNET_GUARDED_BY(attend_lock_) = nullptr;
};

}   // namespace linnet::core

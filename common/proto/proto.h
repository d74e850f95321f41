// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: tagged messages (inline, eager, rendezvous), active messages and one-sided operations over sessions.
//
// What it is     The protocols of docs/architecture.md "Protocols": how a message travels by its size, where it lands, when its send completes.
// Owner          core/. Outlives all requests; the SessionLayer is its lower half and calls it as SessionSink.
// Threads        send, recv, cancel, probe: any thread. SessionSink calls: the token holder. Lock order: peer lock, then space lock, then leaves.
//                A peer's lock and a space's lock are never held together by code that could wait for the other.
// Blocking       Never, but for locks held for short sections; a peer's lock is held across the send system call, which is what orders its messages.
// Failure        Statuses; operations with a lost peer end with the reason.
#pragma once

#include <array>
#include <atomic>

#include "base/log.h"
#include "mem/block_pool.h"
#include "progress/progress_engine.h"
#include "proto/args.h"
#include "proto/atomic_ops.h"
#include "proto/peer.h"
#include "proto/region_table.h"
#include "proto/request.h"
#include "proto/slot_table.h"
#include "proto/space_table.h"
#include "session/session_layer.h"
#include "stats/counters.h"
#include "stats/trace.h"
#include "sync/mpsc_list.h"
#include "task/task_tree.h"

namespace linnet::proto {

inline constexpr std::size_t kShortMax = 4096;   // with its heads it fits into a block of the pool's class of 4 KiB
inline constexpr std::size_t kActiveIds = 64;
inline constexpr std::size_t kActiveHeaderMax = 256;
inline constexpr std::size_t kActivePayloadMax = 32768;

class Proto final : public session::SessionSink {
public:
    struct Config {
        std::size_t eager_limit{65536};
        std::size_t retain_limit{16u << 10};
        std::size_t eager_credit{1u << 20};
        std::size_t rndv_first{127 * 1024};
        std::size_t bulk_chunk{1u << 20};
        std::size_t offer_min{32u << 10};     // longer messages are read out of the sender's memory where a link permits it and it pays
        std::uint64_t wild_mask{0};
        std::uint64_t seed{0};
        TaskTree* tasks{nullptr};             // null: tasks=off
        Trace* trace{nullptr};                // null: trace_events=0
    };
    Proto(const Config& config, ProgressEngine& engine, Log& log, Counters& counters, Counters& shared_counters) noexcept;
    // Forget all that is queued; the sessions are closed but not yet destroyed. Once, before the destructor, with no other call under way.
    void clear() noexcept;
    void attach(session::SessionLayer& layer) noexcept { layer_ = &layer; }
    [[nodiscard]] const Config& config() const noexcept { return config_; }
    // What is not counted in the blocks of Stats but, more cheaply, under locks that are held anyway: sends, and completions handed out. Any thread; walks
    // over the peers. 0 for other counters.
    [[nodiscard]] std::uint64_t counted(Counter id) const noexcept;

    // ---- any thread ----
    // kOk: complete; kInProgress: the completion list will get it; else nothing happened. r.storage, done, done_arg, data are set by the caller.
    Status send(Peer& peer, const SendArgs& args, SendRequest& r) noexcept;
    // The longest that send_short() takes.
    [[nodiscard]] std::size_t short_max() const noexcept { return short_max_; }
    // A message of at most short_max() bytes to a peer so near that it can go at once, and is complete then: true. False: nothing happened; use send().
    [[nodiscard]] bool send_short(Peer& peer, const Envelope& envelope, std::span<const std::byte> payload) noexcept;
    Status send_active(Peer& peer, const ActiveArgs& args, SendRequest& r) noexcept;
    // kOk, kTruncated or another failure: r.result is valid, complete; kInProgress. `spec_peer` is null for any source.
    Status recv(Peer* spec_peer, std::uint32_t space, std::uint64_t bits, std::uint64_t ignore, RecvRequest& r) noexcept;
    Status probe(const MatchSpec& spec, std::uint32_t space, ResultRecord& result) noexcept;
    Status probe_claim(const MatchSpec& spec, std::uint32_t space, Unexpected*& message, ResultRecord& result) noexcept;
    Status recv_claimed(Unexpected& message, RecvRequest& r) noexcept;
    Status cancel(Request& r) noexcept;
    void close_space(std::uint32_t space) noexcept;
    // `fn` runs among the completions when there is SpaceNews, until unwatch(). Once for a space; kInvalid: it was watched before.
    Status watch(std::uint32_t space, SpaceWatch::Fn fn, void* arg) noexcept;
    void unwatch(std::uint32_t space) noexcept;
    // Messages that `spec` accepts and that wait in the space are meant for a receive that is not posted, until unreserve(): then senders that want to know
    // (SendArgs::delivered) are told of those that no other reservation accepts. `r` is lent. Not with a lock held that a send may want.
    Status reserve(std::uint32_t space, const MatchSpec& spec, Reservation& r) noexcept;
    void unreserve(Reservation& r) noexcept;
    // No receive is meant for this one, which the host has claimed.
    void settle(Unexpected& message) noexcept;
    // kInProgress; kNoResource: too many are open, or no credit for the immediate: come again; kAgain: the fence; else the peer is lost. Refused by the peer:
    // they end with kKey, kBounds or kNotAllowed.
    Status write(Peer& peer, const RemoteArgs& args, SendRequest& r) noexcept;
    Status read(Peer& peer, const RemoteArgs& args, RecvRequest& r) noexcept;
    // Likewise; atomic() for AtomicForm::kApply, the other for those that bring back values, to r.data. Operands may be changed at once.
    Status atomic(Peer& peer, const AtomicArgs& args, SendRequest& r) noexcept;
    Status atomic_fetch(Peer& peer, const AtomicArgs& args, RecvRequest& r) noexcept;
    // Memory that peers may reach; as RegionTable. After close_region() no new access begins. Not with a lock held.
    Status open_region(const RegionSpec& spec, Region*& region) noexcept;
    void close_region(Region& region) noexcept;
    [[nodiscard]] RegionTable& regions() noexcept { return regions_; }
    void forget_peer(Peer& peer) noexcept;     // the host removed it

    // ---- completions: the host's threads ----
    // While a thread of the host is inside progress, what it completes itself goes straight to it, past the list that all threads share. Nested calls of
    // progress, from completions, share the collector of the outermost: who waits for another completion finds it.
    class Collector {
    public:
        explicit Collector(Proto& proto) noexcept;
        ~Collector();
        Collector(const Collector&) = delete;
        Collector& operator=(const Collector&) = delete;
        // The next one that this thread completed, or null.
        [[nodiscard]] bool empty() const noexcept { return used_->first_ == nullptr; }
        [[nodiscard]] Completion* next() noexcept
        {
            MpscLink* const c = used_->first_;
            if (c != nullptr) {
                used_->first_ = c->next;
                if (c->next == nullptr) {
                    used_->end_ = &used_->first_;
                }
            }
            return static_cast<Completion*>(c);
        }

    private:
        friend class Proto;
        void add(Completion& c) noexcept
        {
            c.next = nullptr;
            *end_ = &c;
            end_ = &c.next;
        }
        Proto& proto_;
        Collector* const outer_;   // of another context, or null
        Collector* const used_;    // this one, or the outermost of this context
        MpscLink* first_{nullptr};
        MpscLink** end_{&first_};
    };
    // The next finished thing, or null. An ActiveEvent or RemoteEvent goes back by its release function after its handler ran, a Region by regions().take().
    [[nodiscard]] Completion* next_completion() noexcept;
    [[nodiscard]] bool has_completions() const noexcept { return !completions_.empty() || pending_.load(std::memory_order_relaxed) != nullptr; }
    void release_active(ActiveEvent& e) noexcept;
    void release_remote(RemoteEvent& e) noexcept;

    // ---- finalize, token held ----
    void say_goodbye(Peer& peer) noexcept;

    // ---- SessionSink ----
    std::unique_ptr<session::Session> make_session(PeerId id) override;
    void on_message(session::Session& s, std::span<const std::byte> packet) noexcept override;
    void on_message_in_two(session::Session& s, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept override;
    Landing on_message_begin(session::Session& s, std::span<const std::byte> head, std::size_t payload_bytes) noexcept override;
    Landing on_message_resume(session::Session& s, void* cookie) noexcept override;
    void on_message_end(session::Session& s, void* cookie) noexcept override;
    void on_message_lost(session::Session& s, void* cookie) noexcept override;
    Landing on_bulk_begin(session::Session& s, const wire::BulkHead& head) noexcept override;
    [[nodiscard]] std::size_t bulk_awaited(session::Session& s) noexcept override;
    [[nodiscard]] bool needs_bulk(session::Session& s) noexcept override LINNET_REQUIRES(s.lock);
    void on_bulk_end(session::Session& s, void* cookie, std::size_t landed, bool ok) noexcept override;
    void on_read_end(session::Session& s, void* cookie, Status status) noexcept override;
    void on_bulk_sent(session::Session& s, void* cookie, bool ok) noexcept override;
    void on_bulk_ready(session::Session& s) noexcept override;
    void on_bulk_down(session::Session& s) noexcept override;
    void on_acked(session::Session& s, IntrusiveQueue<session::TxMessage>& messages) noexcept override;
    void on_lane_written(session::Session& s) noexcept override;
    void on_credit(session::Session& s) noexcept override;
    void on_peer_up(session::Session& s) noexcept override;
    void on_peer_down(session::Session& s, Status why, IntrusiveQueue<session::TxMessage>& unacked) noexcept override;

private:
    // memory (proto.cc)
    std::byte* acquire(std::size_t bytes) noexcept LINNET_EXCLUDES(pool_lock_);
    void release(std::byte* block, std::size_t bytes) noexcept LINNET_EXCLUDES(pool_lock_);
    TxBlock* acquire_tx(Peer& peer, std::size_t head_bytes) noexcept LINNET_REQUIRES(peer.lock);
    TxBlock* acquire_short(Peer& peer, std::uint32_t block_bytes) noexcept LINNET_REQUIRES(peer.lock);
    TxBlock* acquire_another(Peer& peer, std::uint32_t block_bytes, session::TxMessage* acked) noexcept LINNET_REQUIRES(peer.lock);
    static TxBlock& make_tx(std::byte* memory, std::size_t bytes) noexcept;
    void release_tx(Peer& peer, TxBlock& block) noexcept LINNET_REQUIRES(peer.lock);
    void release_spares(Peer& peer) noexcept LINNET_REQUIRES(peer.lock);
    // completion (proto.cc)
    void complete(Request& r, Status status) noexcept;
    void count_failure(Status status) noexcept;
    void complete_here(Request& r, Status status) noexcept;
    void note_match(const Peer& peer, std::uint64_t bytes, std::uint64_t bits, bool rendezvous) noexcept;
    void note_complete(const Request& r, Status status) noexcept;
    void trace_end(const Request& r, Status status) noexcept;
    void open(SendRequest& r, Peer& peer) noexcept LINNET_REQUIRES(peer.lock);
    void forget_posted(Peer& peer, Status why) noexcept;
    void finish_send(Peer& peer, SendRequest& r, Status status) noexcept LINNET_REQUIRES(peer.lock);
    // sending (send.cc)
    Status send_eager(Peer& peer, const SendArgs& args, SendRequest& r) noexcept LINNET_REQUIRES(peer.lock);
    Status send_eager_in_place(Peer& peer, const SendArgs& args, SendRequest& r, const wire::PacketHead& head, const wire::TagHeader& tag, bool copy) noexcept
        LINNET_REQUIRES(peer.lock);
    Status send_eager_acked(Peer& peer, const SendArgs& args, SendRequest& r, wire::PacketHead head, const wire::TagHeader& tag) noexcept
        LINNET_REQUIRES(peer.lock);
    [[nodiscard]] bool offers(Peer& peer, std::uint64_t length, bool may_leave) noexcept LINNET_REQUIRES(peer.lock);
    Status send_rts(Peer& peer, const SendArgs& args, SendRequest& r, bool offered) noexcept LINNET_REQUIRES(peer.lock);
    // tasks (hand_over.cc)
    void submit(Peer& peer, const SendArgs& args, SendRequest& r) noexcept LINNET_REQUIRES(peer.lock);
    void push_bulk(Peer& peer, TaskKind kind) noexcept LINNET_REQUIRES(peer.lock);
    [[nodiscard]] bool hand_over(Peer& peer, TaskKind kind) noexcept LINNET_REQUIRES(peer.lock);
    static TaskResult serve_peer(Task& self, std::uint32_t run) noexcept;
    void release_tasks(Peer& peer) noexcept LINNET_REQUIRES(peer.lock);
    Status send_control(Peer& peer, wire::PacketKind kind, std::span<const std::byte> header) noexcept LINNET_REQUIRES(peer.lock);
    void tell(Peer& peer, wire::PacketKind kind, std::span<const std::byte> header) noexcept LINNET_REQUIRES(peer.lock);
    static bool charge(Peer& peer, std::size_t bytes) noexcept LINNET_REQUIRES(peer.lock);
    [[nodiscard]] bool may_hold(const Peer& peer, std::size_t bytes) const noexcept LINNET_REQUIRES(peer.lock);
    [[nodiscard]] bool retains(const Peer& peer, std::size_t length) const noexcept LINNET_REQUIRES(peer.lock);
    void hold(Peer& peer, TxBlock& block) noexcept LINNET_REQUIRES(peer.lock);
    void copy_retained(TxBlock& block) noexcept;
    Status cancel_send(SendRequest& r) noexcept;
    // receiving (recv.cc)
    bool claim_arriving(Unexpected& u, RecvRequest& r) noexcept;
    Status deliver(Unexpected& u, RecvRequest& r) noexcept;
    Status delivered(const RecvRequest& r, Status status) noexcept;
    void fill_result(ResultRecord& to, const Unexpected& u) noexcept;
    Unexpected* make_unexpected(Peer& peer, const wire::PacketHead& head, const wire::RtsHeader& rts, std::size_t payload_bytes) noexcept;
    void free_unexpected(Unexpected& u) noexcept;
    void tell_watcher(Space& space, std::uint32_t news) noexcept
    {
        if (SpaceWatch* const w = space.watch.load(std::memory_order_acquire); w != nullptr) [[unlikely]] {
            tell_watcher(*w, news);
        }
    }
    void tell_watcher(SpaceWatch& watch, std::uint32_t news) noexcept;
    static void unlist(Space& space, Unexpected& u) noexcept LINNET_REQUIRES(space.lock);
    void discard(Unexpected& u) noexcept;
    void give_credit(Peer& peer, std::size_t bytes) noexcept;
    void give_credit_here(Peer& peer, std::size_t bytes) noexcept;
    void give_more_credit(Peer& peer) noexcept;
    // arrival (arrive.cc)
    bool take_credit(Peer& peer, std::size_t bytes) noexcept;
    struct Arrival {                  // points into the packet, or to what the peer keeps of it
        const wire::PacketHead& head;
        const wire::RtsHeader& rts;   // tag part valid for eager
        std::size_t payload_bytes;
    };
    void count_arrival(Peer& peer, std::uint64_t bytes) noexcept;
    Space* admit(Peer& peer, const Arrival& a, std::uint64_t length) noexcept;
    static void fill_result(ResultRecord& to, const Peer& peer, const Arrival& a, std::uint64_t length) noexcept;
    struct Queued {
        Unexpected* u{nullptr};   // null: no memory. Once the space's lock is released, anybody may take and free it, unless it is marked as arriving
        bool owes{false};         // its sender is to be told then
    };
    Queued queue_unexpected(Peer& peer, Space& space, const Arrival& a, const std::byte* here) noexcept LINNET_REQUIRES(space.lock);
    void tell_queued(Peer& peer, Space& space, const Arrival& a, Queued queued) noexcept;
    void arrive_short(Peer& peer, const Arrival& a, const std::byte* payload) noexcept;
    void other_message(Peer& peer, std::span<const std::byte> packet) noexcept;
    void tell_matched(Peer& peer, std::uint32_t send_slot) noexcept;
    // delivery.cc
    [[nodiscard]] static bool covers(const MatchSpec& other, const MatchSpec& one) noexcept;
    [[nodiscard]] static bool is_reserved(Space& space, const Unexpected& u) noexcept LINNET_REQUIRES(space.lock);
    static void answered(Space& space, Unexpected& u) noexcept LINNET_REQUIRES(space.lock);
    [[nodiscard]] static bool owes(Space& space, Unexpected& u) noexcept LINNET_REQUIRES(space.lock);
    RecvRequest* match_arrival(Peer& peer, const Arrival& a, const std::byte* here, Unexpected*& u) noexcept;
    void arrive_tagged(Peer& peer, const Arrival& a, std::span<const std::byte> payload) noexcept;
    static Landing landing_place(Peer& peer) noexcept;
    void active_arrived(ActiveEvent& e) noexcept;
    void matched_payload_done(Peer& peer, RecvRequest& r, const Arrival& a) noexcept;
    void unexpected_payload_done(Unexpected& u) noexcept;
    void arrive_cancel(Peer& peer, const wire::FinHeader& h) noexcept;
    void arrive_fin(Peer& peer, wire::PacketKind kind, const wire::FinHeader& h) noexcept;
    ActiveEvent* make_active(Peer& peer, const wire::ActiveHeader& h, std::size_t body_bytes) noexcept;
    void protocol_error(session::Session& s, const char* what) noexcept;
    // rendezvous (rendezvous.cc)
    // The receive is matched to a rendezvous message whose first `next` bytes are in place: ask for the rest, or finish. kInProgress or final.
    Status start_pull(Peer& peer, RecvRequest& r) noexcept;
    Status ask_for_rest(Peer& peer, RecvRequest& r) noexcept;
    void read_offered(Peer& peer, RecvRequest& r) noexcept;
    [[nodiscard]] bool begin_reading(Peer& peer, RecvRequest& r) noexcept;
    void start_pull_early(Peer& peer, RecvRequest& r, const Arrival& a) noexcept;
    static void plan_pull(RecvRequest& r, const Arrival& a) noexcept;
    void send_grant(Peer& peer, RecvRequest& r) noexcept LINNET_REQUIRES(peer.lock);
    Status finish_pull(Peer& peer, RecvRequest& r, Status status) noexcept;
    void arrive_grant(Peer& peer, const wire::GrantHeader& h) noexcept;
    [[nodiscard]] bool announced(Peer& peer, std::uint32_t number) noexcept;
    [[nodiscard]] static RecvRequest* find_unasked(Peer& peer, std::uint32_t number) noexcept;
    static void queue_bulk(Peer& peer, SendRequest& r) noexcept LINNET_REQUIRES(peer.lock);
    void pump_bulk(Peer& peer) noexcept LINNET_REQUIRES(peer.lock);
    bool send_chunk(Peer& peer, SendRequest& r) noexcept LINNET_REQUIRES(peer.lock);
    static void unqueue_bulk(Peer& peer, SendRequest& r) noexcept LINNET_REQUIRES(peer.lock);
    void end_bulk(Peer& peer, SendRequest& r, Status status, bool arrived) noexcept LINNET_REQUIRES(peer.lock);

    // one-sided operations (onesided.cc)
    Status may_start(Peer& peer, const RemoteArgs& args) noexcept LINNET_REQUIRES(peer.lock);
    [[nodiscard]] std::uint64_t first_of_write(Peer& peer, std::uint64_t length) const noexcept LINNET_REQUIRES(peer.lock);
    static wire::RtsHeader envelope_of(const wire::WriteHeader& h) noexcept;
    static Status refusal_of(std::int8_t status) noexcept;
    Landing one_sided_begins(Peer& peer, const wire::PacketHead& head, std::span<const std::byte> body, std::size_t payload_bytes) noexcept;
    RecvRequest* arrive_write(Peer& peer, const wire::PacketHead& head, const wire::WriteHeader& h, std::size_t payload_bytes) noexcept;
    void arrive_read(Peer& peer, const wire::ReadHeader& h) noexcept;
    RecvRequest* arrive_read_reply(Peer& peer, const wire::ReadReplyHeader& h, std::size_t payload_bytes) noexcept;
    void read_reply_done(Peer& peer, RecvRequest& r) noexcept;
    std::uint32_t expect_reply(Peer& peer, RecvRequest& r) noexcept;
    void await_reply(Peer& peer, RecvRequest& r) noexcept LINNET_REQUIRES(peer.lock);
    void answer(Peer& peer, std::uint32_t send_slot, Status status) noexcept;
    bool serve_one_more(Peer& peer, ServedWrite* write = nullptr) noexcept;
    Status serve_read(Peer& peer, const wire::ReadHeader& h, const RegionTable::Place& from, wire::ReadReplyHeader& reply) noexcept;
    Status send_read_reply(Peer& peer, const wire::ReadReplyHeader& reply, std::span<const std::byte> bytes) noexcept;
    void note_write(const ServedWrite& w) noexcept;
    void note_access(std::uint64_t key, std::uint64_t number, Access access) noexcept;
    void served(Request& r, Status status) noexcept;
    [[nodiscard]] bool tell_immediate(Peer& peer, const ServedWrite& w) noexcept LINNET_REQUIRES(peer.lock);
    ServedWrite* forget(Peer& peer, ServedWrite& w) noexcept LINNET_REQUIRES(peer.lock);

    // atomic operations (atomic.cc)
    Status send_atomic(Peer& peer, const AtomicArgs& args, std::uint32_t slot) noexcept LINNET_REQUIRES(peer.lock);
    void arrive_atomic(Peer& peer, const wire::AtomicHeader& h, std::span<const std::byte> payload) noexcept;
    Landing atomic_begins(Peer& peer, const wire::AtomicHeader& h, std::size_t payload_bytes) noexcept;

    // Of this thread. In the static block of each thread's storage, where access is one instruction: the library is never unloaded.
    [[gnu::tls_model("initial-exec")]] static constinit thread_local Collector* collected_by_;

    static Peer& peer_of(session::Session& s) noexcept { return static_cast<Peer&>(s); }

    const Config config_;
    const std::size_t short_max_;
    ProgressEngine& engine_;
    Log& log_;
    Counters& counters_;          // token holder writes
    Counters& shared_counters_;   // any thread writes
    session::SessionLayer* layer_{nullptr};
    SpaceTable spaces_;
    std::atomic<std::uint32_t> credit_more_{0};   // Peer::credit_more of all
    SlotTable<SendRequest> send_slots_;
    SlotTable<RecvRequest> recv_slots_;
    RegionTable regions_;
    SpinLock pool_lock_;
    BlockPool pool_ LINNET_GUARDED_BY(pool_lock_);
    MpscList<Completion> completions_;
    SpinLock drain_lock_;
    std::atomic<std::uint64_t> handed_out_{0};    // completions; written under drain_lock_
    std::atomic<Completion*> pending_{nullptr};   // taken from completions_, not yet handed out; written under drain_lock_
};

}   // namespace linnet::proto

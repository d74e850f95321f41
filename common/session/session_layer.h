// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: all sessions of a context; the sink of its transports.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/log.h"
#include "session/address_index.h"
#include "session/numbers.h"
#include "session/paths.h"
#include "session/session.h"
#include "session/session_config.h"
#include "stats/counters.h"
#include "sync/backoff.h"

namespace linnet::session {

class SessionLayer;

// The sink of one transport: tells the layer which transport speaks. LinkIds are unique only within a transport.
class Port final : public TransportSink {
public:
    Port(SessionLayer& layer, Transport& transport) noexcept : layer_{layer}, transport_{transport} {}
    [[nodiscard]] Transport& transport() noexcept { return transport_; }
    [[nodiscard]] const Transport& transport() const noexcept { return transport_; }
    [[nodiscard]] const TransportCaps& caps() const noexcept { return transport_.caps(); }
    [[nodiscard]] bool lane_only() const noexcept { return lane_only_; }
    void keep_to_lanes() noexcept { lane_only_ = true; }   // before the first peer

    std::size_t make_hello(LinkId link, PeerId peer, LinkRole role, std::span<std::byte> out) noexcept override;
    HelloVerdict on_hello(LinkId link, std::span<const std::byte> hello, const Caller& from, std::span<std::byte> reply) noexcept override;
    HelloVerdict on_welcome(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> welcome, std::span<std::byte> confirm) noexcept override;
    HelloVerdict on_confirm(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> confirm) noexcept override;
    void on_link_up(LinkId link, PeerId peer, LinkRole role) noexcept override;
    void on_link_down(LinkId link, PeerId peer, LinkRole role, bool up, Status why, std::string_view text) noexcept override;
    void on_writable(PeerId peer, LinkRole role) noexcept override;
    void on_packet(LinkId link, PeerId peer, std::span<const std::byte> packet) noexcept override;
    void on_packet_in_two(LinkId link, PeerId peer, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept override;
    Landing on_packet_begin(LinkId link, PeerId peer, std::span<const std::byte> head, std::size_t payload_bytes) noexcept override;
    void on_packet_end(LinkId link, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept override;
    Landing on_bulk_begin(LinkId link, PeerId peer, const wire::BulkHead& head) noexcept override;
    [[nodiscard]] std::size_t bulk_awaited(PeerId peer) noexcept override;
    void on_bulk_end(LinkId link, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept override;
    void on_read_end(PeerId peer, void* cookie, Status status) noexcept override;
    void on_bulk_sent(PeerId peer, void* cookie, bool ok) noexcept override;
    [[nodiscard]] Mutex* send_lock(PeerId peer) noexcept override;

private:
    SessionLayer& layer_;
    Transport& transport_;
    bool lane_only_{false};
};

class SessionLayer final : public EventSource {
public:
    using Config = SessionConfig;

    SessionLayer(const Config& config, SessionSink& sink, const Clock& clock, Log& log, Counters& counters, Counters& shared_counters);
    ~SessionLayer() override;

    // Before the first peer. Transports are preferred in this order. Returns the port to hand to Transport::open().
    Port& add_port(Transport& transport);
    // Before the first peer: of all that were added so far the last to be tried, and by lanes alone; bulk data tries it only while its own path loses frames.
    void lane_only(const Transport& transport) noexcept;
    // Once, after the transports are open: who we are.
    void set_self(const wire::EndpointName& self) noexcept { self_ = self; }
    [[nodiscard]] const wire::EndpointName& self() const noexcept { return self_; }

    // ---- peers: any thread ----
    // The session of this endpoint, made if need be. kInvalid: the endpoint is known under another name; kNoMemory; kUnreachable: no transport reaches it.
    Result<Session*> add(const wire::EndpointName& name);
    // By address only: name.endpoint_id is 0.
    Result<Session*> add_address(const wire::EndpointName& address);
    [[nodiscard]] Session* find(PeerId id) const noexcept
    {
        const Chunk* c = id.value < kMaxPeers ? chunks_[id.value / kChunk].load(std::memory_order_acquire) : nullptr;
        return c == nullptr ? nullptr : (*c)[id.value % kChunk].load(std::memory_order_acquire);
    }
    [[nodiscard]] std::uint32_t peers() const noexcept { return count_.load(std::memory_order_acquire); }

    // ---- sending: any thread, under the session's lock ----
    struct Sent {
        Status status;      // kOk, or why the peer is lost (then nothing was taken)
        bool written;       // its bytes left the process: they may change, unless the session must send them again
    };
    Sent send(Session& s, TxMessage& m) noexcept LINNET_REQUIRES(s.lock);
    // Later, by send_held(), which the caller sees to, or with the next message. Only on a lane that is ready.
    void send_later(Session& s, TxMessage& m) noexcept LINNET_REQUIRES(s.lock) { append(s, m); }
    // Nothing waits before it, and the lane takes packets at once or not at all (LanePacket::at_once). A message of at most kAtOnceMax bytes of payload
    // may be sent by send_at_once() then: the lane has no pointers to it afterwards, so that move_payload() may follow, whether it was written or waits.
    [[nodiscard]] static bool goes_at_once(const Session& s) noexcept LINNET_REQUIRES(s.lock)
    {
        return s.at_once_ && s.unsent_ == nullptr && lane_ready(s) && s.down_reason() == Status::kOk;
    }
    void send_at_once(Session& s, TxMessage& m) noexcept LINNET_REQUIRES(s.lock);
    // A packet of so many bytes, its heads included, comes soon. Before the lock is taken: a line takes some 60 ns to come here.
    static void about_to_send(const Session& s, std::size_t packet_bytes, std::size_t payload_bytes) noexcept;
    // The oldest message sent, if it is lazy, the peer has acknowledged it and no link points to it: the caller's again, past on_acked(). Else null.
    [[nodiscard]] static TxMessage* take_acked(Session& s) noexcept LINNET_REQUIRES(s.lock)
    {
        TxMessage* const m = s.retained_.front();
        const std::uint32_t ack = s.ack_heard_.load(std::memory_order_relaxed);
        const bool done = m != nullptr && m->lazy && m != s.unsent_ && !after(m->number, ack) && !after(m->number, s.written_) &&
                          !after(ack, s.taken_.load(std::memory_order_relaxed));   // beyond it lies a lie, which take_ack() sees
        if (!done) {
            return nullptr;
        }
        s.taken_back_.store(m->number, std::memory_order_relaxed);
        return s.retained_.pop_front();
    }
    [[nodiscard]] static bool lane_ready(const Session& s) noexcept LINNET_REQUIRES(s.lock) { return s.lane_up() && !s.blocked_; }   // for one message at least
    // The same, but it may wait for others, to go out with them in one batch: at the next send() or poll(). True: it is the first one since the last poll(),
    // and somebody must see to it that there is one; or call send_held().
    [[nodiscard]] bool hold(Session& s, TxMessage& m) noexcept LINNET_REQUIRES(s.lock);
    // May hold() be called? Not for the first message to a peer in a turn, nor on a lane that is not ready, or whose packets go at once: that saves nothing.
    [[nodiscard]] bool may_hold(const Session& s, std::size_t bytes) const noexcept LINNET_REQUIRES(s.lock)
    {
        const bool bounded = s.held_count_ < kHoldCount && s.held_bytes_ + bytes <= kHoldBytes;
        return lane_ready(s) && !s.at_once_ && s.sent_in_turn_ == turns_.load(std::memory_order_relaxed) && bounded;
    }
    void send_held(Session& s) noexcept LINNET_REQUIRES(s.lock) { pump(s); }
    // Any thread. What is sent next answers what came, or is a step of an exchange whose other half the host has just asked for.
    void next_turn() noexcept { turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed); }
    // Bytes of a message from which on it is there sooner as bulk data, asked for or not, than over the lane, as expected of links and waits; SIZE_MAX: never.
    [[nodiscard]] std::size_t lane_worth(const Session& s, bool asked = true) const noexcept LINNET_REQUIRES(s.lock);
    // TransportCaps::first_fragment of the lane, or 0 where bulk data goes over another transport; SIZE_MAX: none is up.
    [[nodiscard]] std::size_t first_fragment(const Session& s) const noexcept LINNET_REQUIRES(s.lock);
    // TransportCaps::bulk_packet of the link that send_bulk() would take; 0: none is up.
    [[nodiscard]] std::size_t bulk_packet(const Session& s) const noexcept LINNET_REQUIRES(s.lock);
    // As Transport::send_bulk(). kAgain while the link is opening or full: on_bulk_ready() comes.
    Status send_bulk(Session& s, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept LINNET_REQUIRES(s.lock);
    // As Transport::bulk_over(), of what send_bulk() took.
    [[nodiscard]] bool bulk_over(Session& s, const void* cookie) noexcept LINNET_REQUIRES(s.lock);
    // `bytes` of the message in our slot are about to go, for the receiver asked or needs not, and later it has all of them: timed, where there is a choice.
    void transfer_begins(Session& s, std::uint32_t slot, std::uint64_t bytes) noexcept LINNET_REQUIRES(s.lock);
    void transfer_ends(Session& s, std::uint32_t slot, bool arrived) noexcept LINNET_REQUIRES(s.lock);   // else it was refused. Token held
    // A message of `bytes`, or the answer to one that somebody waits for, is about to be sent, or has come, whole or announced: the lane goes where messages
    // like it are expected to take the least time.
    void message_sent(Session& s, std::uint64_t bytes) noexcept LINNET_REQUIRES(s.lock)
    {
        if (s.lane_choice_.load(std::memory_order_relaxed)) {
            weigh_lane(s, bytes, true);
        } else if (s.lane_paths_ != nullptr) {
            watch_lane(s);
        }
    }
    void message_came(Session& s, std::uint64_t bytes) noexcept LINNET_EXCLUDES(s.lock)
    {
        if (s.lane_choice_.load(std::memory_order_relaxed)) {
            MutexLock guard{s.lock};
            weigh_lane(s, bytes, false);
        }
    }
    // The peer is so near that waiting for its acknowledgement costs less than a copy of some kilobytes.
    [[nodiscard]] bool is_near(const Session& s) const noexcept LINNET_REQUIRES(s.lock);
    // The peer can, and had better, read our memory over the lane that is up: an envelope may offer `bytes` of it. As Transport::offer().
    [[nodiscard]] bool offer(Session& s, std::size_t bytes, bool alone) noexcept LINNET_REQUIRES(s.lock);
    // Reads what it offered. Token held, lock not. As Transport::read() and begin_read().
    [[nodiscard]] Status read(Session& s, std::byte* to, std::uint64_t address, std::size_t bytes) noexcept LINNET_EXCLUDES(s.lock);
    [[nodiscard]] Status begin_read(Session& s, std::byte* to, std::uint64_t at, std::size_t bytes, void* cookie, bool alone) noexcept LINNET_EXCLUDES(s.lock);
    // s.credit_grant grew: tell the peer by a packet of its own when it has not heard of `threshold` bytes of it. Any thread, lock not held.
    void credit_given(Session& s, std::uint32_t threshold) noexcept LINNET_EXCLUDES(s.lock)
    {
        if (s.credit_grant.load(std::memory_order_relaxed) - s.credit_sent_.load(std::memory_order_relaxed) >= threshold) {
            send_ack(s);
        }
    }
    // The payload of an unacknowledged message has moved (the sender's buffer was copied). Only after Sent::written.
    static void move_payload(TxMessage& m, std::span<const std::byte> to) noexcept { m.payload = to; }

    // ---- token holder ----
    // Send an acknowledgement in the first pass in which nothing comes from this peer, so that an answer of the application may carry it.
    void acknowledge_soon(Session& s) noexcept;
    // Evidence from outside, or a protocol violation: the peer is lost.
    void declare_down(Session& s, Status why, std::string_view text) noexcept;
    // Any thread: there was no memory to send what the peer waits for. It is lost at the next poll; kick the engine.
    void lost_for_memory(Session& s) noexcept LINNET_REQUIRES(s.lock);
    // From now on a broken link is opened again only for what is still unacknowledged.
    void set_closing() noexcept { closing_.store(true, std::memory_order_relaxed); }
    // Close all links without a word, and end all sessions as closed; after it no sink call happens.
    void shutdown() noexcept;

    // EventSource: acknowledgements that are due, connect retries, silence.
    unsigned poll(unsigned budget) noexcept override;
    [[nodiscard]] int wait_descriptor() const noexcept override { return -1; }
    void settle() noexcept override;
    [[nodiscard]] bool prepare_sleep() noexcept override;
    [[nodiscard]] TimePoint next_timer() const noexcept override;

private:
    friend class Port;
    static constexpr std::size_t kChunk = 1024, kMaxPeers = kChunk * 1024;
    using Chunk = std::array<std::atomic<Session*>, kChunk>;

    // hello side (session_open.cc)
    std::size_t make_hello(Port& port, LinkId link, PeerId peer, LinkRole role, std::span<std::byte> out) noexcept;
    HelloVerdict on_hello(Port& port, LinkId link, std::span<const std::byte> hello, const Caller& from, std::span<std::byte> reply) noexcept;
    HelloVerdict on_welcome(Port& port, LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> welcome, std::span<std::byte> confirm) noexcept;
    HelloVerdict on_confirm(Port& port, LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> confirm) noexcept;
    void on_link_up(Port& port, LinkId link, PeerId peer, LinkRole role) noexcept;
    void on_link_down(Port& port, LinkId link, PeerId peer, LinkRole role, bool up, Status why, std::string_view text) noexcept;
    [[nodiscard]] static std::pair<Port*, LinkId> lane_of(Session& s) noexcept LINNET_EXCLUDES(s.lock);   // null: it is not up
    void open_link(Session& s, LinkRole role) noexcept LINNET_REQUIRES(s.lock);
    [[nodiscard]] static Port* bulk_port(const Session& s, Port* lane) noexcept LINNET_REQUIRES(s.lock);   // where it is, or would open with the lane there
    void open_when_idle(Session& s, LinkRole role) noexcept LINNET_REQUIRES(s.lock);
    void link_failed(Session& s, const Port& port, LinkRole role, bool up, Status why, std::string_view text) noexcept LINNET_EXCLUDES(s.lock);
    [[nodiscard]] std::uint32_t bit_of(const Port& port) const noexcept;   // in Session::was_up_over_
    [[nodiscard]] bool was_up_over(const Session& s, const Port& port) const noexcept LINNET_REQUIRES(s.lock) { return (s.was_up_over_ & bit_of(port)) != 0; }
    // A link that is up, or was until now, has been of use.
    [[nodiscard]] bool is_good(const Session& s, const LinkState& link) const noexcept;
    void link_lost(Session& s, Port& port, LinkRole role) noexcept LINNET_EXCLUDES(s.lock);
    void incoming_failed(Session& s, LinkState& link, LinkRole role, TimePoint now) noexcept LINNET_REQUIRES(s.lock);
    void install_link(Session& s, Port& port, LinkId link, LinkRole role, const Attempt& attempt) noexcept LINNET_EXCLUDES(s.lock);
    [[nodiscard]] bool link_wanted(const Session& s, LinkRole role) const noexcept LINNET_REQUIRES(s.lock);
    [[nodiscard]] HelloVerdict accept_hello(Session& s, Port& port, LinkId link, Attempt& attempt, std::span<std::byte> reply) noexcept LINNET_EXCLUDES(s.lock);
    [[nodiscard]] Status check_welcome(Session& s, Port& port, LinkId id, LinkRole role, std::span<const std::byte> welcome, WelcomeSeen& seen) noexcept
        LINNET_EXCLUDES(s.lock);
    [[nodiscard]] std::uint64_t listens_unnamed() const noexcept;   // bits of a hello's features
    [[nodiscard]] bool is_meant_by(const wire::EndpointName& given, const wire::EndpointName& who, const InetAddress& calls_from,
                                   std::uint64_t listens_unnamed) const noexcept;
    [[nodiscard]] bool of_this_host(const InetAddress& calls_from) const noexcept;
    [[nodiscard]] bool may_be_at(const wire::EndpointName& given, const InetAddress& calls_from) const noexcept;
    [[nodiscard]] Result<Session*> session_of_opener(const HelloSeen& seen, const InetAddress& from, wire::RejectReason& reason);
    [[nodiscard]] bool identify(Session& s, const wire::EndpointName& who) noexcept LINNET_EXCLUDES(s.lock);
    void retry_later(LinkState& link, TimePoint at) noexcept;
    TimePoint check_link(Session& s, LinkRole role, TimePoint now, unsigned& events) noexcept LINNET_EXCLUDES(s.lock);
    [[nodiscard]] bool adopt_name(Session& s, const wire::EndpointName& name) LINNET_REQUIRES(s.lock, table_lock_);
    [[nodiscard]] Result<Session*> make(const wire::EndpointName& name, bool known, bool by_address) LINNET_REQUIRES(table_lock_);

    // paths (paths.cc)
    void find_paths(Session& s) noexcept LINNET_REQUIRES(s.lock);
    void time_transfer(Session& s, std::uint32_t slot, std::uint64_t bytes) noexcept LINNET_REQUIRES(s.lock);
    void end_transfer(Session& s, std::uint32_t slot, bool arrived) noexcept LINNET_REQUIRES(s.lock);
    void find_lane_paths(Session& s) noexcept LINNET_REQUIRES(s.lock);
    static void forget_paths(Session& s) noexcept LINNET_REQUIRES(s.lock);
    template <std::size_t N>
    [[nodiscard]] std::size_t add_others(const Session& s, std::array<Port*, N>& found) const noexcept LINNET_REQUIRES(s.lock);
    void weigh_lane(Session& s, std::uint64_t bytes, bool ours) noexcept LINNET_REQUIRES(s.lock);
    void watch_lane(Session& s) noexcept LINNET_REQUIRES(s.lock);
    void expect_lanes(Session& s) noexcept LINNET_REQUIRES(s.lock);
    static std::size_t look_for_losses(const LinkState& link, Losses& losses, TimePoint now) noexcept;
    [[nodiscard]] model::Line expected_of(const Port& port) const noexcept;
    // With what losses add to it.
    [[nodiscard]] model::Line expected_of(const Session& s, const Port& port) const noexcept LINNET_REQUIRES(s.lock);
    // The attempt of ours that moves this link; null: none is under way.
    [[nodiscard]] static Move* move_of(Session& s, LinkRole role) noexcept LINNET_REQUIRES(s.lock);
    // False: it cannot be begun at all.
    [[nodiscard]] bool begin_move(Session& s, LinkRole role, Move& move, Port& to, TimePoint now) noexcept LINNET_REQUIRES(s.lock);
    void move_failed(Session& s, LinkRole role, std::string_view why) noexcept LINNET_REQUIRES(s.lock);
    void bulk_is_up(Session& s, Port& port, TimePoint now) noexcept LINNET_REQUIRES(s.lock);
    void lane_is_up(Session& s, LinkState& link, TimePoint now) noexcept LINNET_REQUIRES(s.lock);
    void tell_lane(Session& s, const Port& port, const LaneNews& news) noexcept LINNET_EXCLUDES(s.lock);
    void ask_elsewhere(Session& s, LinkRole role, Nanos unanswered, TimePoint now) noexcept LINNET_REQUIRES(s.lock);
    // False: the link or attempt that ended is another one.
    [[nodiscard]] bool move_ended(Session& s, Port& port, LinkId id, LinkRole role, Status why, std::string_view text) noexcept LINNET_EXCLUDES(s.lock);
    TimePoint check_move(Session& s, LinkRole role, TimePoint now) noexcept LINNET_EXCLUDES(s.lock);
    // Our attempt `id`: the ordinary one of the link, or the one that moves it. Null: neither, any more.
    struct OwnAttempt {
        Attempt* attempt{nullptr};
        bool* said_hello{nullptr};
        bool moves{false};
    };
    [[nodiscard]] OwnAttempt find_attempt(Session& s, const Port& port, LinkId id, LinkRole role) noexcept LINNET_REQUIRES(s.lock);
    [[nodiscard]] wire::Nonce fresh_nonce() const noexcept;
    [[nodiscard]] LinkEpoch next_epoch(LinkState& link) const noexcept;
    void retry_by(TimePoint at) noexcept;   // any thread

    // data side (session_layer.cc)
    void on_writable(PeerId peer, LinkRole role) noexcept;
    void on_packet(Session& s, std::span<const std::byte> packet) noexcept;
    Landing on_packet_begin(Session& s, std::span<const std::byte> head, std::size_t payload_bytes) noexcept;
    void on_packet_end(Session& s, void* cookie, bool ok) noexcept;
    bool accept_number(Session& s, const wire::PacketHead& head) noexcept;
    void credit_changed(Session& s, std::uint32_t limit) noexcept;
    void out_of_turn(Session& s, std::uint32_t number, std::uint32_t expected) noexcept;
    void resumed_whole(Session& s, std::span<const std::byte> packet) noexcept;
    [[nodiscard]] bool resumes(const Session& s, const wire::PacketHead& head) const noexcept;
    void take_ack(Session& s, std::uint32_t ack) noexcept LINNET_EXCLUDES(s.lock);
    void release_acked(Session& s, std::uint32_t ack, IntrusiveQueue<TxMessage>& done) noexcept LINNET_REQUIRES(s.lock);
    void lane_taken(Session& s, const SendResult& r) noexcept LINNET_REQUIRES(s.lock);
    void received(Session& s, const wire::PacketHead& head) noexcept;
    void acknowledge_later(Session& s) noexcept;
    void pump(Session& s) noexcept LINNET_REQUIRES(s.lock);
    void append(Session& s, TxMessage& m) noexcept LINNET_REQUIRES(s.lock);
    void retain(Session& s, TxMessage& m) noexcept LINNET_REQUIRES(s.lock);
    static void gone_at_once(Session& s, const TxMessage& m, const NextWrite& next) noexcept LINNET_REQUIRES(s.lock);
    void send_at_once_or_wait(Session& s, TxMessage& m) noexcept LINNET_REQUIRES(s.lock);
    void send_all_held() noexcept;
    void count_kept(Session& s) noexcept LINNET_REQUIRES(s.lock);
    static void stamp(Session& s, TxMessage& m) noexcept LINNET_REQUIRES(s.lock);
    void send_ack(Session& s) noexcept LINNET_EXCLUDES(s.lock);
    unsigned send_wanted_acks(bool all) noexcept;
    unsigned send_delayed_acks(TimePoint now) noexcept;
    unsigned retry_links(TimePoint now) noexcept;
    void check_silence(TimePoint now) noexcept;
    // How a session ends: lost (an error for people); quietly (closing); by the peer's goodbye, whose acknowledgement may still be on its way.
    enum class Ending : std::uint8_t { kLost, kQuiet, kDeparted };
    void end_session(Session& s, Status why, std::string_view text, Ending ending) noexcept LINNET_EXCLUDES(s.lock);
    // There is no way to it any more. When we are leaving too, a peer that has left already is no error.
    void give_up(Session& s, Status why, std::string_view text) noexcept LINNET_EXCLUDES(s.lock);
    // The first port from number `at` on that reaches `name`; `at` becomes its number. Null: none.
    [[nodiscard]] Port* port_for(const wire::EndpointName& name, std::size_t& at) noexcept;
    [[nodiscard]] bool reachable(const wire::EndpointName& name) noexcept
    {
        std::size_t at = 0;
        return port_for(name, at) != nullptr;
    }

    const Config config_;
    SessionSink& sink_;
    const Clock& clock_;
    Log& log_;
    Counters& counters_;          // token holder writes
    Counters& shared_counters_;   // any thread writes
    wire::EndpointName self_;
    std::vector<std::unique_ptr<Port>> ports_;

    mutable Mutex table_lock_;
    std::unordered_map<std::uint64_t, Session*> by_endpoint_ LINNET_GUARDED_BY(table_lock_);
    AddressIndex by_address_ LINNET_GUARDED_BY(table_lock_);
    std::array<std::atomic<Chunk*>, kMaxPeers / kChunk> chunks_{};
    std::atomic<std::uint32_t> count_{0};
    std::atomic<bool> closing_{false};
    static constexpr Nanos kNear = std::chrono::microseconds{1}, kRetryFirst = std::chrono::milliseconds{10}, kRetryMax = std::chrono::milliseconds{500};
    // Attempts bound themselves (connect_timeout), with a better text than we have; this catches one that does not.
    static constexpr Nanos kGrace = std::chrono::seconds{1};
    static constexpr unsigned kHoldCount = 31, kHoldBytes = 64u << 10, kPollsPerClock = 64;   // with the one that ends it: one batch
    std::atomic<std::uint32_t> turns_{0};                     // next_turn(), and each poll(); of two at a time one may be lost
    std::atomic<bool> any_held_{false};
    SpinLock held_lock_;
    Session* held_ LINNET_GUARDED_BY(held_lock_) = nullptr;   // linked by next_held_

    // ---- token holder ----
    unsigned polls_since_clock_{0};
    Trials trials_;
    Session *ack_now_{nullptr}, *delayed_{nullptr};
    TimePoint last_now_, delayed_due_{TimePoint::max()}, silence_due_{TimePoint::max()};   // at the last look at the clock
    std::atomic<std::int64_t> retry_due_{INT64_MAX};   // nanoseconds of the clock; any thread may move it earlier
    LogThrottle refused_throttle_;
};

}   // namespace linnet::session

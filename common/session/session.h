// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Session: one per peer; an ordered lane of messages that survives the death of its links.
//
// What it is     Message numbers, cumulative acknowledgement, retention at the sender and duplicate removal at the receiver, over whichever link is up.
//                A transport promises "in order or broken"; a session delivers every message once and in order, or declares the peer down, once.
// Owner          SessionLayer owns the sessions; they live as long as the layer. Its user derives its own per-peer state from Session.
// Threads        Send side: any thread, under the session's lock. Receive side and every SessionSink call: the holder of the progress token, with no
//                lock held, except where it says otherwise.
// Blocking       Never. Memory is the caller's: a TxMessage and the bytes it names are borrowed until on_acked() or on_peer_down().
// Failure        on_peer_down(), once per peer; the reason was logged with interface, addresses, cause and setting.
// See            docs/architecture.md "Session", docs/wire-protocol.md section 4
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/ids.h"
#include "base/intrusive_list.h"
#include "base/status.h"
#include "session/handshake.h"
#include "session/paths.h"
#include "sync/lock.h"
#include "sys/inet_address.h"
#include "transport/transport.h"
#include "wire/name.h"
#include "wire/packet.h"

namespace linnet::session {

// One numbered message on its way. The memory behind `head` starts with a PacketHead whose number, ack and credit the session fills in.
struct TxMessage : QueueLink {
    std::byte* head{nullptr};
    std::uint32_t head_bytes{0};
    std::uint32_t number{0};
    std::span<const std::byte> payload;
    bool lazy{false};        // nobody waits for its acknowledgement: on_acked() may come late, with others
    std::uint32_t kind{0};   // these two are the owner's own
    void* owner{nullptr};
};

class Port;

// "10.1.0.2 port 41873", for messages to people: the contact address, the first of its addresses.
[[nodiscard]] std::string name_text(const wire::EndpointName& name);
// Without memory `to` is another text, and not empty.
void keep_text(std::string& to, std::string_view text) noexcept;
// The same process by all that is public: everything but the secret.
[[nodiscard]] bool same_public(wire::EndpointName a, wire::EndpointName b) noexcept;

// The link of one role towards one peer. Guarded by the session's lock.
//
//   from      to         cause
//   kIdle     kOpening   there is something to send, or the link broke
//   kOpening  kUp        the peer's welcome
//   kOpening  kWaiting   the attempt failed; the next is due at retry_at
//   kOpening  kIdle      the peer's own attempt is newer
//   kWaiting  kOpening   retry_at
//   any       kUp        the peer's confirm of its newer attempt; the link that was up is dropped first
//   kUp       kOpening   the link broke (kWaiting when it had carried nothing, kIdle when nothing is left to say)
//   any       kIdle      the peer is lost
struct LinkState {
    enum class Phase : std::uint8_t { kIdle, kWaiting, kOpening, kUp };
    Phase phase{Phase::kIdle};
    bool changing{false};          // the old link is being dropped for a newer one: open none
    bool moved{false};             // the one that came up last was up over another transport before
    bool wanted{false};            // bulk: somebody here has data to send
    bool rejected{false};          // the last attempt was answered by a reject, for this reason:
    wire::RejectReason reason{};
    unsigned failures{0};          // attempts in a row that came to nothing
    std::string last_failure;      // what the latest of them said
    std::string refused;           // what the transport said that found nobody listening, since the link was up; empty: none did
    std::uint32_t proposed{0};     // newest epoch number that we proposed
    LinkEpoch epoch;               // newest link that both sides agreed to open
    bool nobody{false};            // every transport that reaches it said at once that no such process is there
    std::size_t first_port{0};     // the transports before this one failed to open; from 0 again when a link came up, or none did
    Port* port{nullptr};
    LinkId id{};
    Attempt attempt;               // while kOpening
    bool said_hello{false};        // likewise: to one address of the peer at least
    Port* incoming_port{nullptr};  // an accepted hello that waits for its confirm; null: none
    LinkId incoming{};
    Attempt incoming_attempt;
    TimePoint incoming_until{};
    std::uint32_t peer_received{0};   // by its hello; valid when kUp
    bool beside{false};               // Attempt::beside; likewise
    bool takes_unasked{false};        // bulk packets of writes that it did not ask for; likewise
    bool twin{false};                 // it took the place of one that came there just before, beside the same other one: both sides had opened one
    bool moved_here{false};           // we opened it beside one that was up elsewhere
    Port* up_over{nullptr};           // where it was up last, now or before; null: never
    std::uint64_t heard_at_up{0};
    TimePoint up_since{};
    TimePoint retry_at{};
    TimePoint with_lane_until{TimePoint::max()};   // while kOpening: a bulk link that is not where the lane is opens with it then
    TimePoint give_up_at{TimePoint::max()};   // when failures become kUnreachable; max: no attempt since the last good link
};

// What is to be said of a lane that is up.
struct LaneNews {
    bool again{false};   // it was up before
    bool moved{false};   // from another transport
    bool twin{false};    // LinkState::twin
    std::uint32_t resent{0};
};

// What the statistics page shows of a session.
struct SessionView {
    std::string name;
    const char* state;
    const char* via;
};

class Session {
public:
    explicit Session(PeerId peer_id) noexcept : id{peer_id} {}
    virtual ~Session() = default;
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    const PeerId id;
    mutable Mutex lock;

    // Why the peer is lost; kOk while it is not. Any thread.
    [[nodiscard]] Status down_reason() const noexcept { return down_.load(std::memory_order_acquire); }
    [[nodiscard]] std::uint64_t endpoint_id() const noexcept { return endpoint_id_.load(std::memory_order_relaxed); }
    [[nodiscard]] bool lane_up() const LINNET_REQUIRES(lock) { return links_[0].phase == LinkState::Phase::kUp; }
    // Bulk packets of a write may go out now without a grant.
    [[nodiscard]] bool takes_unasked() const noexcept LINNET_REQUIRES(lock);
    // As Transport::resume_bulk(), of its bulk link. Token held.
    void resume_bulk() noexcept LINNET_REQUIRES(lock);
    // The bulk link opens where the lane is not, or is no more.
    [[nodiscard]] bool bulk_opens_elsewhere() const LINNET_REQUIRES(lock)
    {
        return lane_up() && links_[1].phase == LinkState::Phase::kOpening && links_[1].port != links_[0].port;
    }
    [[nodiscard]] bool was_up() const LINNET_REQUIRES(lock) { return was_up_; }   // the lane, at any time
    // Every message handed to send() has been acknowledged.
    [[nodiscard]] bool all_acked() const LINNET_REQUIRES(lock);
    // All that we wait for is the acknowledgement of our goodbye.
    [[nodiscard]] bool only_goodbye_left() LINNET_EXCLUDES(lock);
    // Eager bytes that the peer may have sent in all (modulo 2^32); carried by every packet. Written by the user of the session, token held.
    std::atomic<std::uint32_t> credit_grant{0};
    // The same from the other side: what we may send. Written by the session.
    [[nodiscard]] std::uint32_t credit_limit() const noexcept { return credit_limit_.load(std::memory_order_seq_cst); }
    // The peer has told its credit; before its first packet nobody knows.
    [[nodiscard]] bool credit_known() const noexcept { return credit_known_.load(std::memory_order_relaxed); }
    // Set (seq_cst) by the user of the session while it waits for more; on_credit() then tells. Look at credit_limit() again after setting it: credit that
    // came in between is not told.
    std::atomic<bool> wants_credit{false};
    // For people: "rank 3 (10.1.0.2 port 41873)", by the label that the host gave it, or else the rank that it told; or only the address.
    // Without memory for that, the rank alone: also the loss of a peer for want of memory is told.
    [[nodiscard]] std::string describe() noexcept LINNET_EXCLUDES(lock);
    void set_label(std::string_view label) LINNET_EXCLUDES(lock);   // cut at kLabelBytes - 1
    static constexpr std::size_t kLabelBytes = 24;
    [[nodiscard]] SessionView view() LINNET_EXCLUDES(lock);
    // Packets from the peer; for the token holder.
    [[nodiscard]] std::uint64_t heard() const noexcept { return heard_; }

private:
    friend class SessionLayer;
    friend class Port;

    // Which of its links carries bulk data, whether it is up or not.
    [[nodiscard]] int bulk_link() const noexcept LINNET_REQUIRES(lock);
    [[nodiscard]] std::string labelled(const wire::EndpointName& name) const noexcept LINNET_REQUIRES(lock);
    void called(const InetAddress& from, std::uint64_t features) noexcept LINNET_REQUIRES(lock)
    {
        called_from_ = from.family() != AF_UNSPEC ? from : called_from_;
        listens_unnamed_ = static_cast<std::uint8_t>(features & wire::kUnnamed);
    }

    // The host gave an address for it, and nobody has said yet that he is the one there.
    [[nodiscard]] bool unknown_yet() const noexcept LINNET_REQUIRES(lock) { return down_reason() == Status::kOk && name_.endpoint_id.get() == 0; }

    // ---- any thread, under lock ----
    wire::EndpointName name_ LINNET_GUARDED_BY(lock);     // who it is; endpoint_id 0: not known yet
    wire::EndpointName contact_ LINNET_GUARDED_BY(lock);  // where we call it
    InetAddress called_from_ LINNET_GUARDED_BY(lock);     // by it, over IP, the last time
    bool name_known_ LINNET_GUARDED_BY(lock) = false;     // with its secret: the host added it
    std::array<char, kLabelBytes> label_ LINNET_GUARDED_BY(lock){};   // what the host calls it; empty: nothing
    bool by_address_ LINNET_GUARDED_BY(lock) = false;
    std::uint8_t listens_unnamed_ LINNET_GUARDED_BY(lock) = 0;   // bits of its last hello's features
    bool was_up_ LINNET_GUARDED_BY(lock) = false;
    std::uint32_t was_up_over_ LINNET_GUARDED_BY(lock) = 0;   // a bit for each port, by its place in the layer
    LinkState links_[2] LINNET_GUARDED_BY(lock);
    std::unique_ptr<Paths> paths_ LINNET_GUARDED_BY(lock);         // null: nothing to choose
    std::unique_ptr<LanePaths> lane_paths_ LINNET_GUARDED_BY(lock);
    std::atomic<bool> lane_choice_{false};                         // lane_paths_ are there, and it is ours to choose
    bool paths_sought_ LINNET_GUARDED_BY(lock) = false;
    std::uint32_t last_number_ LINNET_GUARDED_BY(lock) = 0;        // given to a message
    std::uint32_t link_taken_ LINNET_GUARDED_BY(lock) = 0;         // the last one that the present link took
    std::uint32_t written_ LINNET_GUARDED_BY(lock) = 0;            // up to this one the present link has no pointers to any more
    mutable IntrusiveQueue<TxMessage> retained_ LINNET_GUARDED_BY(lock);   // sent or not, not yet acknowledged, in order
    TxMessage* unsent_ LINNET_GUARDED_BY(lock) = nullptr;          // the first of them that the present link has not taken
    std::atomic<const void*> next_place_{nullptr};                 // SendResult::next; may be gone; written under the lock
    std::atomic<const void*> next_beside_{nullptr};
    bool at_once_ LINNET_GUARDED_BY(lock) = false;                 // what the transport of the present lane says of itself
    bool blocked_ LINNET_GUARDED_BY(lock) = false;                 // the lane is not open, or took a short batch; on_writable() comes
    bool kept_ LINNET_GUARDED_BY(lock) = false;                    // counted among those of which something is unsent
    bool ack_due_ LINNET_GUARDED_BY(lock) = false;                 // a new link must hear ack and credit, whatever older ones carried
    std::uint32_t sent_in_turn_ LINNET_GUARDED_BY(lock) = 0;       // the layer's count of turns when the last message was sent
    unsigned held_count_ LINNET_GUARDED_BY(lock) = 0;              // messages from unsent_ on that could have been sent, and wait for others
    std::uint32_t told_rank_ LINNET_GUARDED_BY(lock) = 0;          // the peer's in its job, as it told, plus one; 0: it did not
    std::size_t held_bytes_ LINNET_GUARDED_BY(lock) = 0;
    bool in_held_ LINNET_GUARDED_BY(lock) = false;                 // in the layer's list; leaves it at the next poll
    bool starved_ LINNET_GUARDED_BY(lock) = false;                 // lost_for_memory(), at the next poll
    bool proved_ LINNET_GUARDED_BY(lock) = false;                  // by a hello or a welcome that knew a secret: who calls without one is not it
    Session* next_held_{nullptr};                                  // under the layer's lock of that list
    wire::PacketHead ack_packet_ LINNET_GUARDED_BY(lock);          // the link points at it while blocked_

    // ---- shared ----
    std::atomic<Status> down_{Status::kOk};
    std::atomic<std::uint64_t> endpoint_id_{0};
    std::atomic<std::uint32_t> received_{0};       // number of the last message received in order: goes out as `ack`
    std::atomic<std::uint32_t> ack_sent_{0};       // the last `ack` that went out
    std::atomic<std::uint32_t> credit_sent_{0};
    std::atomic<std::uint32_t> taken_{0};          // number of the last message that any link took: the peer can acknowledge no more; written under lock
    std::atomic<std::uint32_t> ack_heard_{0};      // the peer's last `ack`; what it covers may still be retained
    std::atomic<std::uint32_t> taken_back_{0};     // the last message that take_acked() gave, or `acked_` when that is later; written under the lock
    std::atomic<std::uint32_t> prompt_{0};         // number of the last message that is not lazy, or `acked_` when that is later; written under the lock
    std::atomic<std::uint32_t> credit_limit_{0};
    std::atomic<bool> credit_known_{false};

    // ---- token holder ----
    std::uint32_t acked_{0};               // the `ack` up to which messages were handed back
    std::uint32_t ack_seen_{0};            // ack_sent_ when bytes_since_ack_ began
    std::uint32_t bytes_since_ack_{0};
    void* partial_{nullptr};               // cookie of a message whose link broke in mid-payload
    bool partial_valid_{false};
    bool landing_valid_{false};            // a message is being read now:
    wire::PacketHead landing_head_;        // its head, or that of the partial one
    bool in_delayed_{false};
    bool in_ack_now_{false};
    bool ack_at_once_{false};
    Session* next_ack_now_{nullptr};
    Session* next_delayed_{nullptr};
    std::uint64_t heard_{0};               // packets from it
    std::uint64_t bulk_heard_{0};          // those of bulk data
    std::uint64_t heard_at_pass_{0};
    std::uint64_t heard_at_check_{0};
    unsigned silent_checks_{0};
};

// Implemented by proto/. Token held; no lock held.
class SessionSink {
public:
    virtual std::unique_ptr<Session> make_session(PeerId id) = 0;   // the one place where peers are made; may allocate
    // No call below comes for a session after its on_peer_down(), except on_bulk_sent().
    // A message, whole. Exactly once, in order. `packet` starts with its PacketHead and lives for the call.
    virtual void on_message(Session& s, std::span<const std::byte> packet) noexcept = 0;
    // As TransportSink::on_packet_in_two().
    virtual void on_message_in_two(Session& s, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept = 0;
    // A message whose payload is still coming: where shall it go? After a broken link the same message may come to on_message_resume().
    virtual Landing on_message_begin(Session& s, std::span<const std::byte> head, std::size_t payload_bytes) noexcept = 0;
    virtual Landing on_message_resume(Session& s, void* cookie) noexcept = 0;
    // All of it is in place. It is acknowledged from now on.
    virtual void on_message_end(Session& s, void* cookie) noexcept = 0;
    // The peer went down while it was coming.
    virtual void on_message_lost(Session& s, void* cookie) noexcept = 0;

    // As TransportSink::on_bulk_begin().
    virtual Landing on_bulk_begin(Session& s, const wire::BulkHead& head) noexcept = 0;
    [[nodiscard]] virtual std::size_t bulk_awaited(Session&) noexcept { return 0; }
    // Is there anything begun that bulk data may be needed for?
    [[nodiscard]] virtual bool needs_bulk(Session& s) noexcept LINNET_REQUIRES(s.lock) = 0;
    virtual void on_bulk_end(Session& s, void* cookie, std::size_t landed, bool ok) noexcept = 0;
    virtual void on_read_end(Session&, void* /*cookie*/, Status) noexcept {}
    virtual void on_bulk_sent(Session& s, void* cookie, bool ok) noexcept = 0;
    virtual void on_bulk_ready(Session& s) noexcept = 0;    // send_bulk() may be tried again
    virtual void on_bulk_down(Session& s) noexcept = 0;     // what was asked for and has not come must be asked for again

    virtual void on_acked(Session& s, IntrusiveQueue<TxMessage>& messages) noexcept = 0;
    // Every byte that the lane had taken is written (or its link is gone): buffers of messages sent so far are not referenced by it.
    virtual void on_lane_written(Session& s) noexcept = 0;
    // Credit arrived and the session's wants_credit is set.
    virtual void on_credit(Session& s) noexcept = 0;
    virtual void on_peer_up(Session& s) noexcept = 0;       // the lane is open (again)
    // Once per peer. `unacked`: all messages that will never be acknowledged.
    virtual void on_peer_down(Session& s, Status why, IntrusiveQueue<TxMessage>& unacked) noexcept = 0;

protected:
    ~SessionSink() = default;
};

}   // namespace linnet::session

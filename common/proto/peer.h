// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Peer: proto's state per peer, on top of its session.
#pragma once

#include <atomic>

#include "base/intrusive_list.h"
#include "mem/block_pool.h"
#include "proto/request.h"
#include "proto/space_table.h"
#include "session/session.h"
#include "task/task.h"

namespace linnet::proto {

class Proto;

// A block of the pool that holds a TxMessage, its encoded head, and perhaps its payload.
struct TxBlock {
    static constexpr std::uint32_t kSmall = 256;   // blocks up to this all have this size
    static constexpr std::uint32_t kShort = 2048 + BlockPool::kHeadroom;   // those of Proto::send_short() for messages that a small one does not hold,
    static constexpr std::uint32_t kLong = 4096 + BlockPool::kHeadroom;    // and that a short one does not
    [[nodiscard]] static constexpr std::uint32_t size_for(std::size_t packet_bytes) noexcept
    {
        const std::size_t bytes = sizeof(TxBlock) + packet_bytes;
        return bytes <= kSmall ? kSmall : bytes <= kShort ? kShort : kLong;
    }
    session::TxMessage tx;
    std::uint32_t block_bytes{0};
    std::byte* copy{nullptr};        // the payload's own block, when it was copied after sending
    std::uint32_t copy_bytes{0};
    [[nodiscard]] static TxBlock* of(session::TxMessage& m) noexcept { return static_cast<TxBlock*>(m.owner); }
    [[nodiscard]] std::byte* head() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};

// A message that has arrived, at least its envelope, and has no receive yet. Guarded by its space's lock while in the match space.
struct Unexpected final : UnexpectedMessage, NamedLink, OwedLink {
    Peer* peer{nullptr};
    std::uint64_t immediate{0};
    std::uint64_t length{0};          // of the whole message
    std::uint64_t address{0};         // rendezvous: as RtsHeader
    std::uint32_t send_slot{0};
    bool rendezvous{false};
    bool sync{false};                 // its sender waits to be told
    bool delivery{false};             // also that no receive is meant for it
    bool settled{false};              // which the host said while it arrived
    bool has_immediate{false};
    bool arriving{false};             // its payload is still being read
    RecvRequest* claimant{nullptr};   // matched while arriving; gets it at the end
    bool lost{false};                 // its peer went down while it arrived
    bool dropped{false};              // its space was closed while it arrived
    bool claimed{false};              // by a matched probe: out of matching, not yet received
    std::byte* buffer{nullptr};
    std::size_t buffered{0};          // eager: all; rendezvous: the first fragment
    std::size_t record_bytes{0};
    Space* space{nullptr};
};

// An active message that waits for the host's progress call.
struct ActiveEvent final : Completion {
    ActiveEvent() noexcept : Completion{Kind::kActive} {}
    Peer* peer{nullptr};
    std::uint32_t id{0};
    std::uint64_t immediate{0};
    std::size_t header_bytes{0};
    std::size_t payload_bytes{0};
    std::byte* body{nullptr};         // header at 0, payload at the next multiple of 16
    std::size_t body_bytes{0};
};

// A write that brought an immediate, for the host's progress call.
struct RemoteEvent final : Completion {
    RemoteEvent() noexcept : Completion{Kind::kRemote} {}
    Peer* peer{nullptr};
    std::uint64_t immediate{0};
    std::uint64_t length{0};
};

// What was sent to one peer. Written under its lock, hence without a locked instruction; read by any thread.
struct SendTally {
    using Count = std::atomic<std::uint64_t>;
    Count eager{0};
    Count rndv{0};
    Count active{0};
    Count bytes{0};    // of the user
    Count stalls{0};   // sends that found no credit
    Count held{0};     // packets that waited for others
    Count one_sided{0};
    [[nodiscard]] std::uint64_t messages() const noexcept
    {
        return eager.load(std::memory_order_relaxed) + rndv.load(std::memory_order_relaxed) + active.load(std::memory_order_relaxed) +
               one_sided.load(std::memory_order_relaxed);
    }
    static void add(Count& count, std::uint64_t n = 1) noexcept { count.store(count.load(std::memory_order_relaxed) + n, std::memory_order_relaxed); }
};

// What is to be done for a peer, by whichever thread comes first: docs/tasks.md. In memory of the pool from the first time on.
class PeerTask final : public Task {
public:
    PeerTask(TaskKind kind, Body body, Proto& its_proto, Peer& its_peer) noexcept : Task{kind, body}, proto{its_proto}, peer{its_peer} {}
    Proto& proto;
    Peer& peer;
    bool queued{false};   // and not yet begun: who runs it takes the peer's lock first; under that lock
};
struct PeerTasks {
    PeerTask answer;
    PeerTask send;
};

class Peer final : public session::Session {
public:
    using Session::Session;

    std::atomic<bool> added{false};        // the host knows it
    // These are here for their size; under lock.
    bool connected LINNET_GUARDED_BY(lock) = false;       // counted by the progress engine
    bool said_goodbye LINNET_GUARDED_BY(lock) = false;    // the protocol sends no more of its own
    std::uint8_t spare_count LINNET_GUARDED_BY(lock) = 0;
    SendTally sent;
    std::atomic<std::uint32_t> credit_more{0};   // how many times over it may use the credit it began with: see Proto::give_more_credit()

    // ---- under lock ----
    std::uint32_t eager_used LINNET_GUARDED_BY(lock) = 0;         // bytes charged against credit_limit(), modulo 2^32
    IntrusiveList<SendRequest> open_sends LINNET_GUARDED_BY(lock);    // every incomplete send
    IntrusiveList<RecvRequest> active_recvs LINNET_GUARDED_BY(lock);  // every matched, incomplete rendezvous receive
    // Sends, writes, reads of the host's that are not over. More under lock; less when the host has been told of the end, by whichever thread does so, so that
    // what a fence lets go never ends, for the host, before what it waited for. seq_cst, before progress returns, for who then looks whether a fence holds
    // anything back (ofi_provider/fence.h): one who holds back says so first and asks here afterwards, so one of the two sees the other.
    std::atomic<std::uint32_t> open_operations{0};
    std::uint32_t open_one_sided LINNET_GUARDED_BY(lock) = 0;     // of these the writes and reads
    std::uint32_t served LINNET_GUARDED_BY(lock) = 0;             // the peer's own, here
    std::uint32_t unasked_sent LINNET_GUARDED_BY(lock) = 0;   // writes that went out without a grant for their bytes, modulo 2^32
    ServedWrite* last_served_write LINNET_GUARDED_BY(lock) = nullptr;   // the line of them ends here: see Proto::served()
    IntrusiveQueue<SendRequest> bulk_queue LINNET_GUARDED_BY(lock);   // sends with granted bytes to send
    TxBlock* uncopied LINNET_GUARDED_BY(lock) = nullptr;              // the lane still points into a user's buffer: see Proto::on_lane_written
    SendRequest* uncopied_request LINNET_GUARDED_BY(lock) = nullptr;
    IntrusiveQueue<SendRequest> stalled LINNET_GUARDED_BY(lock);      // active messages that wait for credit
    static constexpr unsigned kSparesMax = 8;
    IntrusiveQueue<session::TxMessage> spares LINNET_GUARDED_BY(lock);   // small blocks for the next messages: no way to the common pool and its lock
    TxBlock* short_spare LINNET_GUARDED_BY(lock) = nullptr;
    PeerTasks* tasks LINNET_GUARDED_BY(lock) = nullptr;

    // ---- token holder: see below ----
    std::uint32_t unasked_came{0};         // the peer's writes of that kind, as announced

    // ---- a leaf lock of its own, inside a space's lock ----
    SpinLock named_lock;
    IntrusiveList<Unexpected, NamedLink> named LINNET_GUARDED_BY(named_lock);   // unexpected messages that the sender can cancel

    // ---- token holder ----
    SendTally::Count rx_messages{0};    // arrived, and the bytes of the user in them; read by any thread
    SendTally::Count rx_bytes{0};
    std::uint32_t credit_held{0};       // consumed, and not yet in credit_grant: less than a kilobyte
    std::uint32_t eager_received{0};    // bytes that came in on credit, modulo 2^32; never past credit_grant
    // the message that is being read now
    Unexpected* landing_unexpected{nullptr};
    RecvRequest* landing_recv{nullptr};
    ActiveEvent* landing_active{nullptr};
    std::byte* landing_staging{nullptr};
    std::size_t landing_bytes{0};       // of payload, as announced
    wire::RtsHeader landing_header;     // tag part valid for eager messages too
    wire::AtomicHeader landing_atomic;
    wire::PacketHead landing_head;
};
// What a peer costs before anything is under way to it; more is a decision. (Its transports' links: their link.h.)
static_assert(sizeof(Peer) <= 1664);

}   // namespace linnet::proto

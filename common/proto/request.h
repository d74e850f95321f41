// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Requests: what an operation needs while it is under way; lives in storage that the host lends.
//
// Life: constructed by the call that starts the operation, finished by linking it into the completion list, which is its last touch. From then on
// only the host's thread may look at it. A request is in at most one protocol list at a time; which lock guards it stands at each member.
#pragma once

#include <array>
#include <cstdint>

#include "base/ids.h"
#include "base/intrusive_list.h"
#include "base/status.h"
#include "match/match_space.h"
#include "proto/data.h"
#include "session/session.h"
#include "sync/mpsc_list.h"

namespace linnet::proto {

class Peer;
struct Space;
struct TxBlock;

struct ResultRecord {
    Status status{Status::kOk};
    PeerId peer{kNoPeer};          // receives: the source
    bool peer_added{false};        // false: the host does not know it
    std::uint64_t bits{0};
    std::uint64_t immediate{0};
    bool has_immediate{false};     // its sender gave one
    std::uint64_t length{0};       // of the message as sent
};

// What travels in the completion list.
struct Completion : MpscLink {
    enum class Kind : std::uint8_t { kRequest, kActive, kRemote, kRegion, kSpace };
    explicit Completion(Kind k) noexcept : completion_kind{k} {}
    Kind completion_kind;
};

struct Request;
using DoneFn = void (*)(Request& request) noexcept;

struct Request : Completion {
    // The served ones are ours: what a peer reads or writes in a memory region here. They come from the pool, and no host knows them.
    enum class Kind : std::uint8_t { kSend, kRecv, kServedRead, kServedWrite };
    explicit Request(Kind k) noexcept : Completion{Completion::Kind::kRequest}, kind{k} {}

    Kind kind;
    ResultRecord result;
    void* storage{nullptr};     // what the host knows the request by
    DoneFn done{nullptr};             // its last touch: ends the request's life
    void (*host_done)(){nullptr};     // these two are capi's
    void* done_arg{nullptr};

    // Of a completed one: the peer towards which the host's operation was open; null: none was.
    [[nodiscard]] Peer* opened_to() const noexcept;
};

// Who owns a TxMessage, in TxMessage::kind.
enum TxKind : std::uint32_t {
    kTxBlock = 0,       // a TxBlock of the pool: freed when acknowledged
    kTxRequest = 1,     // SendRequest::tx; its send completes when acknowledged
    kTxEmbedded = 2,    // SendRequest::tx; its send completes otherwise (FIN)
};

// A range of a message that the receiver asked for.
struct GrantState {
    std::uint32_t recv_slot{0};
    std::uint32_t generation{0};
    std::uint64_t begin{0};
    std::uint64_t next{0};
    std::uint64_t end{0};
    std::uint32_t max_packet{0};
    bool unasked{false}; // nobody granted it: of a write that is sent at once (wire::flag::kUnasked); recv_slot is its number
    bool again{false};   // not the first grant, or a link broke under it: what is on its way now may be bytes that the receiver had before
};

class SendRequest : public Request, public ListLink, public QueueLink {
public:
    SendRequest() noexcept : Request{Kind::kSend} {}

    // Guarded by the peer's lock from the call that starts it.
    Peer* peer{nullptr};
    Data data;
    session::TxMessage tx;
    std::array<std::byte, wire::kMaxHeadBytes> head;
    std::uint32_t slot{0};           // handle in the table of sends; 0: none
    bool sync{false};
    bool one_sided{false};           // its receiver's fin tells how it ended
    bool in_bulk_queue{false};
    bool in_flight{false};           // a bulk packet of it is borrowed by the transport
    bool cancel_sent{false};
    bool tx_out{false};              // the session still has `tx`: not acknowledged, or its link may still point into it
    bool ends_with_tx{false};        // all else is over: the send completes with `end_status` when the session gives `tx` back
    bool ended{false};               // by its receiver, while a bulk packet that it no longer needs is on its way
    Status end_status{Status::kOk};
    GrantState grant;
    wire::BulkHead bulk_head;
    std::byte* staging{nullptr};     // packed bytes [staged_at, staged_at + staged) of a non-contiguous message
    std::uint64_t staged_at{0};
    std::size_t staged{0};
    // an active message that waits for credit
    TxBlock* am_block{nullptr};
    std::size_t am_charge{0};

protected:
    explicit SendRequest(Kind k) noexcept : Request{k} {}
};

class RecvRequest : public Request, public PostedReceive, public ListLink {
public:
    RecvRequest() noexcept : Request{Kind::kRecv} {}

    Space* space{nullptr};
    Data data;
    // Once matched to a rendezvous message: the token holder's, and its peer's lock for the list.
    Peer* peer{nullptr};
    std::uint32_t slot{0};           // handle in the table of receives
    std::uint32_t send_slot{0};
    std::uint32_t generation{0};
    bool one_sided{false};           // a read of a peer's memory
    bool answered{false};            // and its reply has come
    bool in_landing{false};          // a bulk packet is being written into it now
    bool first_on_its_way{false};    // the rest was asked for, but the first fragment, [0, first `next`), is still being read from the lane
    std::uint64_t next{0};           // bytes in place
    std::uint64_t landing_at{0};     // where the packet that is being read begins; at or before `next`
    std::uint64_t end{0};            // bytes wanted: the smaller of message and buffer
    std::uint64_t address{0};        // of the message in its sender's memory, if that was offered
    std::uint64_t being_read{0};     // bytes from `next` on that are being copied out of it
    std::byte* staging{nullptr};

protected:
    explicit RecvRequest(Kind k) noexcept : Request{k} {}
};

inline Peer* Request::opened_to() const noexcept
{
    if (kind == Kind::kSend) {
        return static_cast<const SendRequest*>(this)->peer;
    }
    const auto* const r = static_cast<const RecvRequest*>(this);
    return r->one_sided ? r->peer : nullptr;
}

// What a peer reads of a memory region by bulk packets.
class ServedRead final : public SendRequest {
public:
    ServedRead() noexcept : SendRequest{Kind::kServedRead} {}
    std::uint64_t key{0};            // these two tell the region
    std::uint64_t region{0};
};

// What a peer writes into a memory region.
class ServedWrite final : public RecvRequest {
public:
    ServedWrite() noexcept : RecvRequest{Kind::kServedWrite} {}
    std::uint64_t key{0};            // these two tell the region
    std::uint64_t region{0};
    std::uint32_t number{0};         // among those that come unasked
    bool unasked{false};
    bool over{false};                // and its immediate waits for the writes before it
    // The line of the peer's writes, in its order; under its lock.
    ServedWrite* before{nullptr};
    ServedWrite* behind{nullptr};
};

}   // namespace linnet::proto

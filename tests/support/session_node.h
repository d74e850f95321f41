// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionNode: a session layer over a SimTransport, with a sink that checks what sessions promise.
//
// Message i to a peer carries i and bytes that follow from i. The sink checks number and bytes of each arrival, that none comes twice, late or out of order,
// that what is handed back is referenced by no link, and overwrites it. Bulk data: bulk_book.h. What is wrong is collected in `faults()`, for the test to
// print with its seed.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "session/session_layer.h"
#include "support/bulk_book.h"
#include "support/sim_transport.h"

namespace linnet::testing {

inline constexpr std::size_t kMaxPayload = 16'384;

struct NodeMessage : session::TxMessage {
    std::array<std::byte, sizeof(wire::PacketHead) + sizeof(wire::TagHeader)> head_store;
    std::array<std::byte, kMaxPayload> body;
    std::array<std::byte, kMaxPayload> copy;   // where the payload moves once it is written
    std::uint32_t index{0};
    bool in_place{false};                      // payload is still in `body`
};

class SessionNode;

class NodePeer final : public session::Session {
public:
    NodePeer(PeerId peer, SimNet& net, std::vector<std::string>& faults) : Session{peer}, bulk{net, faults} {}
    BulkBook bulk;
    std::uint32_t sent{0};                // index of the next message, under lock
    std::uint32_t received{0};
    std::uint32_t handed_back{0};
    int downs{0};
    int ups{0};
    Status down_why{Status::kOk};
    std::uint64_t sender{0};              // endpoint id that its messages must show
    NodeMessage* uncopied{nullptr};       // under lock
    std::array<std::byte, kMaxPayload> landing{};
    std::uint32_t landing_index{0};
    std::size_t landing_bytes{0};
    bool landing_open{false};
    BulkBook::Order landing_order;
    std::size_t bulk_ok{0};
    int bulk_downs{0};
};

class SessionNode final : public session::SessionSink {
public:
    // `port` is address and identity: endpoint_id = id.
    SessionNode(SimNet& net, const Clock& clock, std::uint16_t port, std::uint64_t id, const session::SessionLayer::Config& config, bool separate_bulk = true);
    ~SessionNode();

    SimTransport transport;
    Log log;
    Counters counters;
    Counters shared_counters;
    session::SessionLayer layer;

    [[nodiscard]] const wire::EndpointName& name() const { return layer.self(); }
    NodePeer& add(const wire::EndpointName& peer);
    [[nodiscard]] NodePeer* peer_of(std::uint64_t endpoint_id);
    // A pass over transport and layer.
    unsigned poll();
    void send(NodePeer& peer, std::size_t payload_bytes, std::uint16_t flags = 0, const BulkBook::Order& order = {});
    // One more bulk transfer from there to here.
    void ask(NodePeer& peer) { send(peer, 0, 0, peer.bulk.ask()); }
    void goodbye(NodePeer& peer);
    [[nodiscard]] bool all_acked(NodePeer& peer);
    [[nodiscard]] std::size_t outstanding() const { return outstanding_; }   // messages not handed back
    [[nodiscard]] const std::vector<std::string>& faults() const { return faults_; }
    [[nodiscard]] const std::vector<std::string>& lines() const { return lines_; }
    void fault(const std::string& text) { faults_.push_back(text); }

    std::size_t bulk_piece_max{40};        // before the first peer; the same for both sides
    std::uint32_t answer_every{0};         // answers every n-th message from within its arrival
    std::uint32_t give_up_at{0};           // declares its peer lost while message n arrives
    bool move_payloads{true};
    bool hold{false};                      // holds messages back when it may
    unsigned held{0};                      // that it did
    bool needs{true};                      // bulk data, when its link is silent
    bool takes_back{false};                // sends lazily what wants no acknowledgement, and takes a message back with each
    unsigned taken_back{0};                // that it did
    std::uint64_t credits_told{0};

    // SessionSink
    std::unique_ptr<session::Session> make_session(PeerId id) override;
    void on_message(session::Session& s, std::span<const std::byte> packet) noexcept override;
    void on_message_in_two(session::Session& s, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept override
    {
        std::vector<std::byte> whole{head.begin(), head.end()};
        whole.insert(whole.end(), payload.begin(), payload.end());
        on_message(s, whole);
    }
    Landing on_message_begin(session::Session& s, std::span<const std::byte> head, std::size_t payload_bytes) noexcept override;
    Landing on_message_resume(session::Session& s, void* cookie) noexcept override;
    void on_message_end(session::Session& s, void* cookie) noexcept override;
    void on_message_lost(session::Session& s, void* cookie) noexcept override;
    Landing on_bulk_begin(session::Session& s, const wire::BulkHead& head) noexcept override;
    bool needs_bulk(session::Session&) noexcept override { return needs; }
    void on_bulk_end(session::Session& s, void* cookie, std::size_t landed, bool ok) noexcept override;
    void on_bulk_sent(session::Session& s, void* cookie, bool ok) noexcept override;
    void on_bulk_ready(session::Session& s) noexcept override;
    void on_bulk_down(session::Session& s) noexcept override;
    void on_acked(session::Session& s, IntrusiveQueue<session::TxMessage>& messages) noexcept override;
    void on_lane_written(session::Session& s) noexcept override;
    void on_credit(session::Session& s) noexcept override;
    void on_peer_up(session::Session& s) noexcept override;
    void on_peer_down(session::Session& s, Status why, IntrusiveQueue<session::TxMessage>& unacked) noexcept override;

    int bulk_ready{0};
    std::vector<std::pair<void*, bool>> bulk_sent;   // those that a test sent itself

private:
    NodePeer& peer(session::Session& s) { return static_cast<NodePeer&>(s); }
    void alive(session::Session& s, const char* call);
    void hand_back(NodePeer& p, NodeMessage& m, std::uint32_t expected);
    void arrived(NodePeer& p, std::uint32_t index, std::span<const std::byte> payload, const BulkBook::Order& order);
    void pump_bulk(NodePeer& p);
    void copy_payload(NodeMessage& m);
    NodeMessage& make_message();

    SimNet& net_;
    std::mutex pool_lock_;
    std::vector<std::unique_ptr<NodeMessage>> pool_;
    std::vector<NodeMessage*> free_;
    std::size_t outstanding_{0};
    std::vector<std::string> faults_;
    std::vector<std::string> lines_;
};

[[nodiscard]] wire::EndpointName make_name(std::uint16_t port, std::uint64_t id, std::uint8_t secret);

}   // namespace linnet::testing

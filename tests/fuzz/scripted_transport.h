// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ScriptedTransport: a transport without a wire. Its owner plays the peer and decides what each call meets.
//
// Owner: the fuzz target, one thread. It keeps a transport's promises: what it borrowed it reads once more before it gives it back, so that memory which was
// freed or reused too early is seen (by AddressSanitizer).
#pragma once

#include <array>
#include <deque>
#include <vector>

#include "transport/transport.h"

namespace linnet::fuzz {

class ScriptedTransport final : public Transport {
public:
    struct Link {
        LinkId id{};
        PeerId peer{kNoPeer};
        LinkRole role{LinkRole::kLane};
        enum class State : std::uint8_t { kAttempt, kConfirm, kUp } state{State::kAttempt};   // we called; it called, confirm to come; up
        bool in_body{false};
        bool waits{false};     // bulk: the packet of `head` was told to come later
        bool resumed{false};   // and then to go on
        wire::BulkHead head;
        Landing landing;
        std::size_t body_left{0};
        std::size_t landed{0};
    };

    // How the next sends go.
    enum class Mood : std::uint8_t { kWritten, kPending, kFull };
    Mood mood{Mood::kWritten};
    std::vector<Link> links;
    bool takes_unasked{false};   // the other side said so, with one of its links
    // What the other side saw of us, for a script that wants to answer.
    std::uint32_t last_number{0};
    std::deque<wire::GrantHeader> grants;
    std::deque<std::uint32_t> send_slots;
    std::deque<std::uint32_t> read_slots;

    [[nodiscard]] const TransportCaps& caps() const noexcept override;
    [[nodiscard]] Status open(TransportSink& sink, wire::EndpointName& name) noexcept override;
    [[nodiscard]] bool reaches(const wire::EndpointName&) const noexcept override { return true; }
    [[nodiscard]] Result<LinkId> connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept override;
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override;
    [[nodiscard]] Status send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept override;
    void resume_bulk(LinkId link) noexcept override;
    void drop(LinkId link) noexcept override;
    void shutdown() noexcept override;
    unsigned poll(unsigned) noexcept override { return 0; }
    [[nodiscard]] int wait_descriptor() const noexcept override { return -1; }

    // ---- the script: token held ----
    [[nodiscard]] Link* find(LinkId id) noexcept;
    [[nodiscard]] Link* link_of(LinkRole role, Link::State state) noexcept;
    Link& make_link(PeerId peer, LinkRole role, Link::State state);
    // Everything that was taken is on its way.
    void write_out(LinkRole role) noexcept;
    // The link dies.
    void fail(LinkId id, Status why) noexcept;
    // Lane bytes as a reader of the wire frames them. `split`: payload beyond the headers comes apart.
    void packet(LinkId id, std::span<const std::byte> bytes, bool split) noexcept;
    // The next bytes of a packet in landing.
    void body(LinkId id, std::span<const std::uint8_t> bytes) noexcept;
    void bulk(LinkId id, const wire::BulkHead& head) noexcept;
    // As bulk(), with the packet that was told to come later.
    void ask_again(LinkId id) noexcept;
    // The same on each link that was told to go on, as a transport does that is polled.
    void go_on() noexcept;

private:
    struct Borrowed {
        LinkId link;
        std::span<const std::byte> bytes;
    };
    struct Bulk {
        LinkId link;
        PeerId peer;
        const wire::BulkHead* head;
        std::span<const std::byte> payload;
        void* cookie;
    };
    void look(std::span<const std::byte> bytes) noexcept;
    void note(const LanePacket& packet);
    void forget(LinkId id) noexcept;
    void ask(LinkId id) noexcept;
    void end_body(LinkId id, bool ok) noexcept;

    TransportSink* sink_{nullptr};
    std::uint64_t last_id_{0};
    std::vector<Borrowed> lane_;
    std::vector<Bulk> bulk_;
    volatile unsigned sum_{0};
};

}   // namespace linnet::fuzz

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FrameSide: one process of the fuzz target "frames": a real FrameTransport on a network in memory, and a sink that knows what may be called when.
//
// Owner: the target, one thread. It ends the process where the transport breaks a promise; FrameWorld says which promises hold.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "conf/settings.h"
#include "fuzz/fuzz_target.h"
#include "support/sim_port.h"
#include "transport/frames/frame_transport.h"

namespace linnet::fuzz {

// A call, as the one who made it and the one who answered know it.
struct Call {
    unsigned opener{0};
    unsigned life{0};
    LinkRole role{LinkRole::kLane};
    unsigned answerer_life{0};   // of the answer that the opener agreed to; 0: to none yet
    std::uint64_t answerer_link{0};
};
// What the sinks say to each other.
struct Note {
    std::uint32_t magic;
    std::uint32_t call;
    std::uint32_t life;   // of the answerer; 0 in a hello and in a rejection
    std::uint32_t step;
    std::uint64_t link;   // likewise; in a hello: which attempt of the call it is
};
inline constexpr std::uint32_t kMagic = 0x66757a7a;

class FrameSide;

// What both sides, the network and the script share.
struct FrameWorld {
    Settings settings;
    ManualClock clock;
    Log log{LogLevel::kError, [](void*, LogLevel, const char*) noexcept {}, nullptr};
    testing::SimFrames net;
    unsigned channels{1};
    std::vector<Call> calls;
    bool trusted{true};      // nobody who knows the secrets has forged anything
    bool sound{true};        // nobody speaks from a false address
    bool slandered{false};   // the network said that somebody was gone who was not
    std::array<std::unique_ptr<FrameSide>, 2> sides;
};

// A link as its sink saw it.
struct Seen {
    enum class State : std::uint8_t { kAsked, kSaidHello, kAnswered, kUp, kOver } state{State::kAsked};
    LinkRole role{LinkRole::kLane};
    std::uint32_t call{0};
    bool opener{false};
    std::uint64_t attempt{0};    // of the opener: the last; else the one that was answered
    std::uint32_t sent{0};       // lane packets
    std::uint32_t received{0};
    std::uint32_t bulk_sent{0};
    std::vector<bool> bulk_received;
};
struct Place {
    std::uint64_t link;
    std::vector<std::byte> head;
    std::vector<std::byte> body;
    bool bulk;
};
struct Lent {
    std::uint64_t link;
    wire::BulkHead head;
    std::vector<std::byte> payload;
};

class FrameSide final : public TransportSink {
public:
    FrameSide(FrameWorld& world, unsigned number, unsigned life);
    ~FrameSide() { end(); }
    FrameSide(const FrameSide&) = delete;
    FrameSide& operator=(const FrameSide&) = delete;
    void end();

    // ---- what the script decides ----
    HelloVerdict::Action hello_answer{HelloVerdict::Action::kAccept};
    HelloVerdict::Action welcome_answer{HelloVerdict::Action::kAccept};
    HelloVerdict::Action confirm_answer{HelloVerdict::Action::kAccept};
    bool elsewhere{false};
    bool give_up{false};
    unsigned drop_in{0};      // in the so many-th call of the sink from now ...
    std::size_t drop_which{0};   // ... this link is dropped

    void connect(LinkRole role, unsigned addresses);
    void drop(std::size_t which);
    void send_lane(std::size_t which, std::size_t bytes);
    void send_bulk(std::size_t which, std::size_t bytes);
    [[nodiscard]] std::vector<std::uint64_t> alive() const;
    // The end of that call that is here, as the opener knows it, unless it is over.
    [[nodiscard]] Seen* end_of(std::uint32_t call, bool opener);

    std::size_t make_hello(LinkId link, PeerId peer, LinkRole role, std::span<std::byte> out) noexcept override;
    HelloVerdict on_hello(LinkId link, std::span<const std::byte> hello, const Caller& from, std::span<std::byte> reply) noexcept override;
    HelloVerdict on_welcome(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> welcome, std::span<std::byte> confirm) noexcept override;
    HelloVerdict on_confirm(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> confirm) noexcept override;
    void on_link_up(LinkId link, PeerId peer, LinkRole role) noexcept override;
    void on_link_down(LinkId link, PeerId peer, LinkRole role, bool up, Status why, std::string_view text) noexcept override;
    void on_writable(PeerId, LinkRole) noexcept override { called(); }
    void on_packet(LinkId link, PeerId peer, std::span<const std::byte> packet) noexcept override;
    Landing on_packet_begin(LinkId link, PeerId peer, std::span<const std::byte> head, std::size_t payload_bytes) noexcept override;
    void on_packet_end(LinkId link, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept override;
    Landing on_bulk_begin(LinkId link, PeerId peer, const wire::BulkHead& head) noexcept override;
    void on_bulk_end(LinkId link, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept override;
    void on_bulk_sent(PeerId peer, void* cookie, bool ok) noexcept override;

    const unsigned number;
    const unsigned life;
    wire::EndpointName name;
    testing::SimPort* port{nullptr};
    std::unique_ptr<frames::FrameTransport> transport;
    std::vector<std::pair<std::uint64_t, Seen>> links;   // in the order of their asking
    std::deque<std::unique_ptr<Lent>> lent;
    std::vector<std::unique_ptr<Place>> places;

private:
    [[nodiscard]] Seen* find(LinkId link);
    Seen& known(LinkId link);
    void called();
    Landing land(LinkId link, std::span<const std::byte> head, std::size_t payload_bytes, bool bulk);
    std::unique_ptr<Place> landed(LinkId link, void* cookie, std::size_t bytes);
    void lane_packet(Seen& s, std::span<const std::byte> packet);

    FrameWorld& world_;
    Stats stats_;
    std::vector<std::unique_ptr<std::vector<std::byte>>> packets_;   // lane packets lent
    bool ended_{false};
};

}   // namespace linnet::fuzz

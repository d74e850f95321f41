// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Openings that a peer played by hand begins: what its hello said when it was written, and who it is.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <vector>

#include "session/handshake.h"
#include "support/sim_world.h"

namespace linnet::session {
namespace {

using testing::make_name;

// Takes all it is given, and loses it.
class Sink final : public Transport {
public:
    const TransportCaps& caps() const noexcept override { return caps_; }
    Status open(TransportSink&, wire::EndpointName&) noexcept override { return Status::kOk; }
    bool reaches(const wire::EndpointName&) const noexcept override { return true; }
    Result<LinkId> connect(PeerId, LinkRole, const wire::EndpointName&) noexcept override { return LinkId{next_++}; }
    SendResult send_lane(LinkId, std::span<const LanePacket> packets) noexcept override
    {
        SendResult r;
        r.taken = packets.size();
        r.all_written = true;
        return r;
    }
    Status send_bulk(LinkId, const wire::BulkHead&, std::span<const std::byte>, void*) noexcept override { return Status::kAgain; }
    void drop(LinkId id) noexcept override { dropped.push_back(id); }
    void shutdown() noexcept override {}
    unsigned poll(unsigned) noexcept override { return 0; }
    int wait_descriptor() const noexcept override { return -1; }

    std::vector<LinkId> dropped;

private:
    TransportCaps caps_{"sink", 1u << 20, true, false, Nanos{3000}, 1.0, SIZE_MAX, 0, false, true};
    std::uint64_t next_{1000};
};

class OpeningTest : public ::testing::Test {
protected:
    using Buffer = std::array<std::byte, kMaxHelloBytes>;
    struct Call {
        Attempt attempt;
        Buffer bytes{};
        std::size_t size{0};
    };
    // A hello of `who` to `target`, as it is written now.
    static Call call(std::uint32_t epoch, const wire::EndpointName& target, const wire::EndpointName& who, std::uint32_t received)
    {
        Call c;
        c.attempt.role = LinkRole::kLane;
        c.attempt.opener_nonce.fill(static_cast<std::uint8_t>(epoch));
        c.attempt.epoch = {epoch, 1};
        c.size = write_hello(c.attempt, target, who, received, 0, c.bytes);
        return c;
    }
    // It arrives, and all that follows. False: it was refused.
    bool arrives(LinkId id, Call c, std::uint64_t target_id)
    {
        Buffer reply;
        const HelloVerdict v = port_.on_hello(id, std::span{c.bytes}.first(c.size), {}, reply);
        if (v.action != HelloVerdict::Action::kAccept || !read_welcome(c.attempt, target_id, std::span{reply}.first(v.reply_bytes)).ok()) {
            return false;
        }
        Buffer confirm;
        const std::size_t n = write_confirm(c.attempt, confirm);
        if (port_.on_confirm(id, v.peer, LinkRole::kLane, std::span{confirm}.first(n)).action != HelloVerdict::Action::kAccept) {
            return false;
        }
        port_.on_link_up(id, v.peer, LinkRole::kLane);
        return true;
    }

    static constexpr std::uint64_t kOwnId = 2;
    testing::SimWorld world_{1};
    testing::SessionNode& a_{world_.node(1002, kOwnId)};
    Sink sink_;
    Port& port_{a_.layer.add_port(sink_)};
    const wire::EndpointName b_{make_name(1001, 1, 6)};
    testing::NodePeer& to_b_{a_.add(b_)};
};

// It moves its lane: the hello over the new way is written when the move begins, and arrives when the old link has acknowledged more, and is broken.
TEST_F(OpeningTest, WhatWasAcknowledgedSinceAHelloWasWrittenCounts)
{
    ASSERT_TRUE(arrives(LinkId{1}, call(1, a_.name(), b_, 0), kOwnId));
    for (int i = 0; i < 5; ++i) {
        a_.send(to_b_, 100);
    }
    const Call early = call(2, a_.name(), b_, 2);
    wire::PacketHead ack;
    ack.kind = wire::PacketKind::kAck;
    ack.ack.set(5);
    ack.credit.set(65536);
    port_.on_packet(LinkId{1}, to_b_.id, std::as_bytes(std::span{&ack, 1}));
    world_.clock.advance(std::chrono::seconds{2});
    for (int i = 0; i < 200; ++i) {
        a_.layer.poll(1);
    }
    ASSERT_EQ(a_.outstanding(), 0u);
    port_.on_link_down(LinkId{1}, to_b_.id, LinkRole::kLane, true, Status::kPeerDown, "reset");
    EXPECT_TRUE(arrives(LinkId{2}, early, kOwnId));
    EXPECT_EQ(to_b_.down_reason(), Status::kOk);
    EXPECT_EQ(to_b_.downs, 0);
}

// A stranger calls by address and says that it is b, of which it knows what is public.
TEST_F(OpeningTest, WhoProvedItselfIsNotReplacedByOneWithoutProof)
{
    ASSERT_TRUE(arrives(LinkId{1}, call(1, a_.name(), b_, 0), kOwnId));
    wire::EndpointName claimed = b_;
    claimed.secret = {};
    wire::EndpointName nobody = a_.name();
    nobody.endpoint_id.set(0);
    nobody.secret = {};
    EXPECT_FALSE(arrives(LinkId{2}, call(2, nobody, claimed, 0), 0));
    EXPECT_TRUE(std::ranges::none_of(sink_.dropped, [](LinkId id) { return id.value == 1; })) << "the link of the one with proof";
    EXPECT_EQ(to_b_.down_reason(), Status::kOk);
    EXPECT_TRUE(arrives(LinkId{3}, call(3, a_.name(), b_, 0), kOwnId)) << "itself may call again";
}

}   // namespace
}   // namespace linnet::session

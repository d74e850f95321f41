// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: when the sender of a long message takes the word of its receiver for the acknowledgements of bulk packets that are still on their way.
#include <gtest/gtest.h>

#include <vector>

#include "unit/proto/around_loopback.h"
#include "unit/proto/own_peer.h"

namespace linnet::proto {
namespace {

constexpr std::size_t kBytes = 256 * 1024;

// The loopback transport with bulk packets that are on their way until the test says that they were sent, as over a link of datagrams.
class Holding final : public AroundLoopback {
public:
    explicit Holding(LoopbackTransport& inner) noexcept : AroundLoopback{inner} {}
    [[nodiscard]] Status send_bulk(LinkId, const wire::BulkHead&, std::span<const std::byte> payload, void* cookie) noexcept override
    {
        if (!takes) {
            return Status::kAgain;
        }
        on_the_way = cookie;
        sent += payload.size();
        return Status::kInProgress;
    }
    [[nodiscard]] bool bulk_over(LinkId, const void* cookie) noexcept override
    {
        ++asked;
        EXPECT_EQ(cookie, on_the_way);
        return gives_up;
    }

    bool takes{true};
    bool gives_up{true};         // can forget what is on its way
    unsigned asked{0};
    std::size_t sent{0};
    void* on_the_way{nullptr};
};

class BulkEnd : public OwnPeer {
protected:
    BulkEnd() : OwnPeer{{}}
    {
        meet(transport_);
        request_.data.base = data_.data();
        request_.data.length = data_.size();
        EXPECT_EQ(proto_.send(*peer_, SendArgs{}, request_), Status::kInProgress);
        poll();   // the announcement is out, and acknowledged
    }
    void poll()
    {
        for (int i = 0; i < 10; ++i) {
            TokenGuard token{engine_};
            transport_.poll(64);
            layer_.poll(64);
        }
    }
    void asks(std::uint64_t offset, std::uint64_t length)
    {
        wire::GrantHeader h;
        h.send_slot.set(request_.slot);
        h.recv_slot.set(7);
        h.recv_generation.set(++generation_);
        h.offset.set(offset);
        h.length.set(length);
        arrives(wire::PacketKind::kGrant, h, 0);
    }
    void has_it(Status status)
    {
        wire::FinHeader h;
        h.send_slot.set(request_.slot);
        h.status = static_cast<std::int8_t>(status);
        arrives(wire::PacketKind::kFin, h, 0);
        poll();
    }
    void link_says(bool ok)
    {
        TokenGuard token{engine_};
        proto_.on_bulk_sent(*peer_, &request_, ok);
    }
    void link_breaks()
    {
        TokenGuard token{engine_};
        proto_.on_bulk_sent(*peer_, &request_, false);
        proto_.on_bulk_down(*peer_);
        proto_.on_bulk_ready(*peer_);   // the next one is up
    }
    [[nodiscard]] bool completed() { return proto_.next_completion() == &request_; }

    // It still reads the buffer.
    void waits_for_the_link()
    {
        EXPECT_FALSE(completed());
        link_says(true);
        EXPECT_TRUE(completed());
    }

    std::vector<std::byte> data_ = std::vector<std::byte>(kBytes);
    Holding transport_{loopback_};
    SendRequest request_;
    std::uint32_t generation_{0};
};

TEST_F(BulkEnd, FinOfTheFirstGrantEndsWhatIsOnItsWay)
{
    asks(0, kBytes);
    ASSERT_EQ(transport_.sent, kBytes);
    EXPECT_FALSE(completed());
    has_it(Status::kOk);
    EXPECT_EQ(transport_.asked, 1u);
    EXPECT_TRUE(completed());
    EXPECT_EQ(peer_->down_reason(), Status::kOk);
}

TEST_F(BulkEnd, LinkThatCannotForgetItIsWaitedFor)
{
    transport_.gives_up = false;
    asks(0, kBytes);
    has_it(Status::kOk);
    EXPECT_EQ(transport_.asked, 1u);
    waits_for_the_link();
}

// An error may be said before the packets have come: the link must go on to carry them, or the next one's numbers have a gap.
TEST_F(BulkEnd, FinThatSaysAnErrorWaitsForTheLink)
{
    asks(0, kBytes);
    has_it(Status::kTruncated);
    waits_for_the_link();
    EXPECT_EQ(transport_.asked, 0u);
}

// What is on its way for a second grant may be bytes that the receiver had: that it has all says nothing about those packets.
TEST_F(BulkEnd, FinAfterASecondGrantWaitsForTheLink)
{
    asks(0, kBytes / 2);
    link_says(true);
    asks(kBytes / 2, kBytes / 2);
    ASSERT_EQ(transport_.sent, kBytes);
    has_it(Status::kOk);
    waits_for_the_link();
    EXPECT_EQ(transport_.asked, 0u);
}

// The link broke, everything goes again over the next one, and the receiver says that it had all of it before.
TEST_F(BulkEnd, FinAfterABrokenLinkWaitsForTheNextOne)
{
    asks(0, kBytes);
    link_breaks();
    ASSERT_EQ(transport_.sent, 2 * kBytes) << "again, from the start";
    has_it(Status::kOk);
    waits_for_the_link();
    EXPECT_EQ(transport_.asked, 0u);
}

// By which a transport knows how much is to come before anybody need wake up for it.
TEST_F(BulkEnd, WhatAReceiveHasAskedForIsAwaited)
{
    EXPECT_EQ(proto_.bulk_awaited(*peer_), 0u);
    std::vector<std::byte> to(kBytes);
    RecvRequest receive;
    receive.data.base = to.data();
    receive.data.length = to.size();
    ASSERT_EQ(proto_.recv(peer_, 0, 0, 0, receive), Status::kInProgress);
    poll();
    ASSERT_NE(transport_.sent, 0u);
    EXPECT_EQ(proto_.bulk_awaited(*peer_), sizeof(wire::BulkHead) + transport_.sent);

    wire::BulkHead head;
    head.body_bytes.set(static_cast<std::uint32_t>(transport_.sent));
    head.recv_slot.set(receive.slot);
    head.recv_generation.set(receive.generation);
    head.offset.set(kBytes - transport_.sent);
    {
        TokenGuard token{engine_};
        const Landing landing = proto_.on_bulk_begin(*peer_, head);
        proto_.on_bulk_end(*peer_, landing.cookie, landing.room, true);
    }
    EXPECT_EQ(proto_.bulk_awaited(*peer_), 0u);
    EXPECT_EQ(proto_.next_completion(), &receive);
    poll();
}

}   // namespace
}   // namespace linnet::proto

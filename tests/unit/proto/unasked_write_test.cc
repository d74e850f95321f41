// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: writes whose bytes come as bulk packets that nobody asked for.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "unit/proto/around_loopback.h"
#include "unit/proto/own_peer.h"

namespace linnet::proto {
namespace {

constexpr std::size_t kBytes = 256 * 1024;
constexpr std::uint64_t kKey = 5;

// The loopback transport as one whose bulk packets may have to wait, with a look at what goes over it; bulk packets are the test's to deliver.
class Unasked final : public AroundLoopback {
public:
    explicit Unasked(LoopbackTransport& inner) noexcept : AroundLoopback{inner}, caps_{inner.caps()} { caps_.unasked = true; }
    [[nodiscard]] const TransportCaps& caps() const noexcept override { return caps_; }
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override
    {
        for (const LanePacket& packet : batch) {
            wire::PacketHead head;
            std::memcpy(&head, packet.head.data(), sizeof head);
            grants += head.kind == wire::PacketKind::kGrant ? 1u : 0u;
            longest = std::max(longest, packet.payload.size());
        }
        return AroundLoopback::send_lane(link, batch);
    }
    [[nodiscard]] Status send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept override
    {
        heads.push_back(head);
        if (!keeps) {
            return AroundLoopback::send_bulk(link, head, payload, cookie);
        }
        payloads.push_back(payload);
        return Status::kInProgress;
    }
    void resume_bulk(LinkId) noexcept override { ++went_on; }

    bool keeps{false};
    unsigned grants{0};
    unsigned went_on{0};
    std::size_t longest{0};
    std::vector<wire::BulkHead> heads;
    std::vector<std::span<const std::byte>> payloads;

private:
    TransportCaps caps_;
};

class UnaskedWrite : public OwnPeer {
protected:
    UnaskedWrite() : OwnPeer{{}}
    {
        meet(transport_);
        EXPECT_EQ(proto_.open_region({region_.data(), region_.size(), kKey, 0, true, true, false, nullptr}, opened_), Status::kOk);
    }
    void SetUp() override   // the lane is up
    {
        SendRequest first;
        start(first, 1);
        poll();
        ASSERT_EQ(proto_.next_completion(), &first);
        transport_.longest = 0;
    }
    void TearDown() override
    {
        proto_.close_region(*opened_);
        OwnPeer::TearDown();
    }
    void start(SendRequest& request, std::size_t bytes, std::uint64_t key = kKey)
    {
        request.data.base = data_.data();
        request.data.length = bytes;
        RemoteArgs args;
        args.key = key;
        ASSERT_EQ(proto_.write(*peer_, args, request), Status::kInProgress);
    }
    void poll()
    {
        for (int i = 0; i < 100; ++i) {
            TokenGuard token{engine_};
            transport_.poll(64);
            layer_.poll(64);
        }
    }
    Landing begins(const wire::BulkHead& head)
    {
        TokenGuard token{engine_};
        return proto_.on_bulk_begin(*peer_, head);
    }
    // Bulk packet `i`, as far as it is wanted.
    void deliver(std::size_t i)
    {
        const Landing landing = begins(transport_.heads[i]);
        ASSERT_FALSE(landing.later);
        const std::size_t bytes = std::min(landing.room, transport_.payloads[i].size());
        if (bytes != 0) {
            std::memcpy(landing.to, transport_.payloads[i].data(), bytes);
        }
        TokenGuard token{engine_};
        proto_.on_bulk_end(*peer_, landing.cookie, bytes, true);
    }
    void link_breaks(SendRequest& request)
    {
        TokenGuard token{engine_};
        proto_.on_bulk_sent(*peer_, &request, false);
        proto_.on_bulk_down(*peer_);
        proto_.on_bulk_ready(*peer_);   // the next one is up
    }
    void sent(SendRequest& request)
    {
        TokenGuard token{engine_};
        proto_.on_bulk_sent(*peer_, &request, true);
    }
    // Bulk packet `i` is what the write lacked.
    void end_with(std::size_t i, SendRequest& request)
    {
        deliver(i);
        sent(request);
        poll();
        EXPECT_EQ(proto_.next_completion(), &request);
        EXPECT_EQ(region_, data_);
    }
    std::vector<std::byte> data_ = std::vector<std::byte>(kBytes, std::byte{42});
    std::vector<std::byte> region_ = std::vector<std::byte>(kBytes);
    Unasked transport_{loopback_};
    Region* opened_{nullptr};
};

TEST_F(UnaskedWrite, GoesWithoutAGrant)
{
    SendRequest request;
    start(request, kBytes);
    ASSERT_FALSE(transport_.heads.empty()) << "it waits for something";
    poll();
    ASSERT_EQ(proto_.next_completion(), &request);
    EXPECT_EQ(request.result.status, Status::kOk);
    EXPECT_EQ(region_, data_);
    EXPECT_EQ(transport_.grants, 0u);
    EXPECT_EQ(transport_.longest, 0u);
    EXPECT_EQ(transport_.heads.front().flags.get(), wire::flag::kUnasked);
}

TEST_F(UnaskedWrite, WhatIsShortGoesWithItsAnnouncement)
{
    SendRequest request;
    start(request, wire::kOrderedBytes);
    poll();
    ASSERT_EQ(proto_.next_completion(), &request);
    EXPECT_TRUE(transport_.heads.empty());
    EXPECT_EQ(transport_.longest, wire::kOrderedBytes);
}

TEST_F(UnaskedWrite, WaitsForItsAnnouncement)
{
    transport_.keeps = true;
    SendRequest request;
    start(request, kBytes);
    ASSERT_EQ(transport_.heads.size(), 1u);
    EXPECT_TRUE(begins(transport_.heads[0]).later);
    const unsigned before = transport_.went_on;
    poll();   // it is here
    EXPECT_EQ(transport_.went_on, before + 1);
    end_with(0, request);
}

// Several under way: each has its number, and those that came before it say nothing of it.
TEST_F(UnaskedWrite, SeveralAreToldApart)
{
    transport_.keeps = true;
    std::array<SendRequest, 3> requests;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        start(requests[i], kBytes / 4 * (i + 2));
        poll();   // the lane takes the next one
    }
    ASSERT_EQ(transport_.heads.size(), 3u);
    for (const std::size_t i : {2u, 0u, 1u}) {
        std::fill(region_.begin(), region_.end(), std::byte{});
        deliver(i);
        EXPECT_EQ(std::count(region_.begin(), region_.end(), std::byte{42}), static_cast<std::ptrdiff_t>(requests[i].data.length)) << i;
        sent(requests[i]);
        poll();
        EXPECT_EQ(proto_.next_completion(), &requests[i]) << i;
    }
}

// The fin says so; its bytes, which are on their way, land nowhere and keep nothing waiting.
TEST_F(UnaskedWrite, OfARefusedOneNothingLands)
{
    transport_.keeps = true;
    SendRequest request;
    start(request, kBytes, kKey + 1);
    poll();
    const Landing landing = begins(transport_.heads[0]);
    EXPECT_FALSE(landing.later);
    EXPECT_EQ(landing.room, 0u);
    sent(request);
    poll();
    ASSERT_EQ(proto_.next_completion(), &request);
    EXPECT_EQ(request.result.status, Status::kKey);
    EXPECT_EQ(peer_->down_reason(), Status::kOk);
}

// The bulk link breaks before the announcement has arrived. The receiver hears of that link first, and asks for nothing, as it knows of no write; so the sender
// begins again, but not before the receiver does know.
TEST_F(UnaskedWrite, BeginsAgainWhenItIsAnnounced)
{
    transport_.keeps = true;
    SendRequest request;
    start(request, kBytes);
    link_breaks(request);
    EXPECT_EQ(transport_.heads.size(), 1u) << "its receiver cannot know yet where it goes";
    poll();
    ASSERT_EQ(transport_.heads.size(), 2u);
    EXPECT_EQ(transport_.grants, 0u);
    end_with(1, request);
}

// The bulk link breaks when it is announced: both sides act, and what comes by the older number is dropped.
TEST_F(UnaskedWrite, IsAskedForWhenItsLinkBreaks)
{
    transport_.keeps = true;
    SendRequest request;
    start(request, kBytes);
    poll();
    link_breaks(request);
    ASSERT_EQ(transport_.heads.size(), 2u);
    EXPECT_EQ(begins(transport_.heads[1]).room, 0u) << "the receiver has asked anew";
    sent(request);
    poll();
    ASSERT_EQ(transport_.heads.size(), 3u);
    EXPECT_EQ(transport_.grants, 1u);
    EXPECT_EQ(transport_.heads[2].flags.get(), 0u);
    end_with(2, request);
}

TEST_F(UnaskedWrite, NumberThatNoneCanHaveYetIsAnError)
{
    wire::BulkHead head;
    head.flags.set(wire::flag::kUnasked);
    head.body_bytes.set(100);
    head.recv_generation.set(1);
    head.recv_slot.set(wire::kMaxOneSided);
    EXPECT_TRUE(begins(head).later);
    head.recv_slot.set(wire::kMaxOneSided + 1);
    EXPECT_FALSE(begins(head).later);
    EXPECT_EQ(peer_->down_reason(), Status::kProtocol);
}

class UnaskedAnnouncement : public UnaskedWrite {
protected:
    void arrive(std::size_t payload) { arrives(wire::PacketKind::kWrite, header_, payload, wire::flag::kUnasked); }
    wire::WriteHeader header_ = [] {
        wire::WriteHeader h;
        h.key.set(kKey);
        h.length.set(kBytes);
        h.send_slot.set(77);
        return h;
    }();
};

TEST_F(UnaskedAnnouncement, WithBytesIsAnError)
{
    arrive(100);
    EXPECT_EQ(peer_->down_reason(), Status::kProtocol);
}

TEST_F(UnaskedAnnouncement, OfNoBytesIsAnError)
{
    header_.length.set(0);
    arrive(0);
    EXPECT_EQ(peer_->down_reason(), Status::kProtocol);
}

TEST_F(UnaskedAnnouncement, OfBytesThatMayBeReadIsAnError)
{
    header_.offered.set(4096);
    arrive(0);
    EXPECT_EQ(peer_->down_reason(), Status::kProtocol);
}

}   // namespace
}   // namespace linnet::proto

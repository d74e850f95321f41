// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: how much of a one-sided write travels in the packet that announces it.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "unit/proto/around_loopback.h"
#include "unit/proto/own_peer.h"

namespace linnet::proto {
namespace {

// The loopback transport as a link of datagrams, whose lane is the worse way for long data.
class ShortFirst final : public AroundLoopback {
public:
    explicit ShortFirst(LoopbackTransport& inner) noexcept : AroundLoopback{inner}, caps_{inner.caps()} { caps_.first_fragment = 24 * 1024; }
    [[nodiscard]] const TransportCaps& caps() const noexcept override { return caps_; }
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override
    {
        for (const LanePacket& packet : batch) {
            longest = std::max(longest, packet.payload.size());
        }
        return AroundLoopback::send_lane(link, batch);
    }

    std::size_t longest{0};   // payload of a packet of the lane

private:
    TransportCaps caps_;
};

class WriteFirst : public OwnPeer {
protected:
    WriteFirst() : OwnPeer{{}}
    {
        meet(transport_);
        EXPECT_EQ(proto_.open_region({region_.data(), region_.size(), 5, 0, true, true, false, nullptr}, opened_), Status::kOk);
    }
    void SetUp() override { write(0); }   // the lane is up
    void TearDown() override
    {
        proto_.close_region(*opened_);
        OwnPeer::TearDown();
    }
    // Until it is done.
    void write(std::size_t bytes)
    {
        SendRequest request;
        request.data.base = data_.data();
        request.data.length = bytes;
        RemoteArgs args;
        args.key = 5;
        transport_.longest = 0;
        ASSERT_EQ(proto_.write(*peer_, args, request), Status::kInProgress);
        for (int i = 0; i < 1000; ++i) {
            TokenGuard token{engine_};
            transport_.poll(64);
            layer_.poll(64);
        }
        ASSERT_EQ(proto_.next_completion(), &request);
        EXPECT_EQ(request.result.status, Status::kOk);
    }
    std::vector<std::byte> data_ = std::vector<std::byte>(256 * 1024, std::byte{42});
    std::vector<std::byte> region_ = std::vector<std::byte>(256 * 1024);
    ShortFirst transport_{loopback_};
    Region* opened_{nullptr};
};

TEST_F(WriteFirst, AllOfAShortOneWhichKeepsItsPlaceInTheOrder)
{
    write(wire::kOrderedBytes);
    EXPECT_EQ(transport_.longest, wire::kOrderedBytes);
}

TEST_F(WriteFirst, OfALongOneWhatTheLinkSays)
{
    write(data_.size());
    EXPECT_EQ(transport_.longest, 24u * 1024);
    EXPECT_EQ(region_, data_);
}

}   // namespace
}   // namespace linnet::proto

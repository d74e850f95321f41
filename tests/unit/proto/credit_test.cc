// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: what a peer can make us hold for messages that nobody has asked for ends with its credit.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "unit/proto/own_peer.h"

namespace linnet::proto {
namespace {

constexpr std::size_t kCredit = 128 * 1024;
constexpr std::size_t kPiece = 32 * 1024;

class Credit : public OwnPeer {
protected:
    Credit() : OwnPeer{config()} { meet(loopback_); }
    static Proto::Config config()
    {
        Proto::Config c;
        c.eager_credit = kCredit;
        return c;
    }
    [[nodiscard]] Status receive()
    {
        data_.resize(kPiece);
        request_ = std::make_unique<RecvRequest>();
        request_->data.base = data_.data();
        request_->data.length = data_.size();
        return proto_.recv(peer_, 0, 0, 0, *request_);
    }

    std::vector<std::byte> data_;
    std::unique_ptr<RecvRequest> request_;
    std::vector<std::unique_ptr<RecvRequest>> requests_;   // earlier ones, under way
};

TEST_F(Credit, PeerThatSendsMoreEagerMessagesIsGivenUp)
{
    for (std::size_t sent = 0; sent < kCredit; sent += kPiece) {
        arrives(wire::PacketKind::kEager, wire::TagHeader{}, kPiece);
        ASSERT_EQ(peer_->down_reason(), Status::kOk) << sent;
    }
    arrives(wire::PacketKind::kEager, wire::TagHeader{}, 1);
    EXPECT_EQ(peer_->down_reason(), Status::kProtocol);
}

TEST_F(Credit, WhatIsReceivedMayBeSentAgain)
{
    for (std::size_t sent = 0; sent < 10 * kCredit; sent += kPiece) {
        arrives(wire::PacketKind::kEager, wire::TagHeader{}, kPiece);
        ASSERT_EQ(peer_->down_reason(), Status::kOk) << sent;
        ASSERT_EQ(receive(), Status::kOk);
    }
}

// A window of messages uses up the credit although the receiver keeps up: the peer says so by a short message without its payload.
TEST_F(Credit, PeerWhoseReceivesArePostedMayUseMore)
{
    wire::RtsHeader rts;
    rts.length.set(kPiece);
    arrives(wire::PacketKind::kRts, rts, 0);
    EXPECT_EQ(peer_->credit_grant.load(), kCredit) << "nobody had asked for it";
    ASSERT_EQ(receive(), Status::kInProgress);   // takes that one
    for (const std::uint32_t times : {2u, 3u, 4u, 4u}) {
        auto earlier = std::move(request_);
        requests_.push_back(std::move(earlier));
        ASSERT_EQ(receive(), Status::kInProgress);
        arrives(wire::PacketKind::kRts, rts, 0);
        EXPECT_EQ(peer_->credit_grant.load(), times * kCredit);
        ASSERT_EQ(peer_->down_reason(), Status::kOk);
    }
}

TEST_F(Credit, LongMessagesDoNotAskForMore)
{
    wire::RtsHeader rts;
    rts.length.set(4u << 20);
    ASSERT_EQ(receive(), Status::kInProgress);
    arrives(wire::PacketKind::kRts, rts, 0);
    EXPECT_EQ(peer_->credit_grant.load(), kCredit);
}

TEST_F(Credit, ActiveMessagesAndFirstFragmentsCountToo)
{
    arrives(wire::PacketKind::kActive, wire::ActiveHeader{}, kPiece);
    wire::RtsHeader rts;
    rts.length.set(10 * kPiece);
    arrives(wire::PacketKind::kRts, rts, 2 * kPiece);
    arrives(wire::PacketKind::kActive, wire::ActiveHeader{}, kPiece);
    ASSERT_EQ(peer_->down_reason(), Status::kOk);
    arrives(wire::PacketKind::kActive, wire::ActiveHeader{}, 16);
    EXPECT_EQ(peer_->down_reason(), Status::kProtocol);
}

}   // namespace
}   // namespace linnet::proto

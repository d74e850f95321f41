// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: what a host that goes away to compute leaves to its event thread, and what it does itself when it stays.
#include <gtest/gtest.h>

#include <mutex>
#include <thread>
#include <vector>

#include "progress/task_source.h"
#include "support/eventually.h"
#include "support/test_log.h"
#include "unit/proto/around_loopback.h"
#include "unit/proto/own_peer.h"

namespace linnet::proto {
namespace {

using testing::eventually;

constexpr std::size_t kLong = 1 << 20;

// The loopback transport, which writes down what it was given, and by whom.
class Noting final : public AroundLoopback {
public:
    struct Note {
        std::size_t bytes;
        bool bulk;
        std::uintptr_t thread;
    };
    explicit Noting(LoopbackTransport& inner) noexcept : AroundLoopback{inner} {}
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override
    {
        for (const LanePacket& p : batch) {
            note({p.payload.size(), false, this_thread_mark()});
        }
        return AroundLoopback::send_lane(link, batch);
    }
    [[nodiscard]] Status send_bulk(LinkId, const wire::BulkHead&, std::span<const std::byte> payload, void*) noexcept override
    {
        note({payload.size(), true, this_thread_mark()});
        return Status::kOk;
    }

    [[nodiscard]] std::vector<Note> notes()
    {
        const std::scoped_lock guard{lock_};
        return notes_;
    }
    void forget()
    {
        const std::scoped_lock guard{lock_};
        notes_.clear();
    }

private:
    void note(const Note& n)
    {
        const std::scoped_lock guard{lock_};
        notes_.push_back(n);
    }
    std::mutex lock_;
    std::vector<Note> notes_;
};

struct Tree {
    Stats stats;
    TaskTree tree{Topology::read(testing::test_log()), stats};
};

// Its event thread polls nothing but tasks, so that a message stays where it is.
class HandOver : private Tree, public OwnPeer {
protected:
    HandOver() : OwnPeer{config(tree), engine()}
    {
        meet(transport_);
        for (int i = 0; i < 10; ++i) {   // the lane comes up with the first message
            if (i == 0) {
                EXPECT_TRUE(proto_.send(*peer_, SendArgs{}, first_) == Status::kOk);
            }
            TokenGuard token{engine_};
            transport_.poll(64);
            layer_.poll(64);
        }
        EXPECT_EQ(engine_.add_source(source_), Status::kOk);
        EXPECT_EQ(engine_.start(), Status::kOk);
        const auto sleeps = [this] {   // its first pass is over: it does not have the token when the host polls
            return engine_.event_thread_state() == EventThreadState::kParked || engine_.event_thread_state() == EventThreadState::kArmed;
        };
        EXPECT_TRUE(eventually(sleeps));
        EXPECT_TRUE(eventually([this] { return engine_.leaves_work(kLong); }));   // the cores are not crowded, or not any more
        transport_.forget();
        request_.data.base = data_.data();
        request_.data.length = data_.size();
    }
    void TearDown() override
    {
        engine_.stop();
        OwnPeer::TearDown();
    }
    static Proto::Config config(TaskTree& tasks)
    {
        Proto::Config c;
        c.tasks = &tasks;
        return c;
    }
    static ProgressEngine::Config engine()
    {
        static constexpr auto yes = []() noexcept { return true; };
        ProgressEngine::Config c;
        c.look_in = std::chrono::hours{1};
        c.idle_core = ReadyRef::to(yes);
        return c;
    }
    [[nodiscard]] std::uint64_t ran(TaskKind kind, TaskPlace place)
    {
        return Tree::stats.total(TaskTree::counter_of(kind, place)) + OwnPeer::stats_.total(TaskTree::counter_of(kind, place));
    }
    void asks(std::uint64_t offset)
    {
        wire::GrantHeader h;
        h.send_slot.set(request_.slot);
        h.recv_slot.set(7);
        h.recv_generation.set(1);
        h.offset.set(offset);
        h.length.set(kLong - offset);
        arrives(wire::PacketKind::kGrant, h, 0);
    }

    std::vector<std::byte> data_ = std::vector<std::byte>(kLong);
    Noting transport_{loopback_};
    TaskSource source_{tree, engine_, clock_};
    SendRequest first_, request_, second_;
};

TEST_F(HandOver, LongMessageOfAHostThatGoesAwayIsSubmittedByTheEventThread)
{
    engine_.enter();
    ASSERT_EQ(proto_.send(*peer_, SendArgs{}, request_), Status::kInProgress);
    EXPECT_TRUE(transport_.notes().empty());
    engine_.leave(post_of(kLong));
    ASSERT_TRUE(eventually([&] { return !transport_.notes().empty(); }));
    EXPECT_NE(transport_.notes()[0].thread, this_thread_mark());
    EXPECT_GT(transport_.notes()[0].bytes, 64u * 1024);
    EXPECT_TRUE(eventually([&] { return ran(TaskKind::kSend, TaskPlace::kEventThread) == 1; }));
}

// Its locks are free then, and what calls takes system calls.
TEST_F(HandOver, EventThreadIsCalledWhenTheHostLeavesAndNotBefore)
{
    engine_.work_opened();
    engine_.enter();
    engine_.leave(post_of(kLong));
    ASSERT_TRUE(eventually([&] { return engine_.event_thread_state() == EventThreadState::kArmed; }));
    engine_.enter();
    ASSERT_EQ(proto_.send(*peer_, SendArgs{}, request_), Status::kInProgress);
    std::this_thread::sleep_for(std::chrono::milliseconds{20});
    EXPECT_TRUE(transport_.notes().empty());
    engine_.leave(post_of(kLong));
    EXPECT_TRUE(eventually([&] { return !transport_.notes().empty(); }));
    engine_.work_closed();
}

TEST_F(HandOver, HostThatWaitsAtOnceSubmitsItItself)
{
    engine_.enter();
    ASSERT_EQ(proto_.send(*peer_, SendArgs{}, request_), Status::kInProgress);
    EXPECT_TRUE(transport_.notes().empty());
    engine_.poll(64);   // inside the same call, before the event thread is called
    ASSERT_EQ(transport_.notes().size(), 1u);
    EXPECT_EQ(transport_.notes()[0].thread, this_thread_mark());
    EXPECT_EQ(ran(TaskKind::kSend, TaskPlace::kHost), 1u);
    engine_.leave(CallKind::kCompleted);
}

TEST_F(HandOver, MessageBehindOneThatWaitsToBeSubmittedDoesNotOvertakeIt)
{
    std::byte small[8]{};
    second_.data.base = small;
    second_.data.length = sizeof small;
    engine_.enter();
    ASSERT_EQ(proto_.send(*peer_, SendArgs{}, request_), Status::kInProgress);
    ASSERT_EQ(proto_.send(*peer_, SendArgs{}, second_), Status::kOk);
    const auto notes = transport_.notes();
    ASSERT_EQ(notes.size(), 2u);
    EXPECT_GT(notes[0].bytes, 64u * 1024);
    EXPECT_LE(notes[1].bytes, sizeof small);
    engine_.leave(post_of(kLong));
    EXPECT_TRUE(eventually([&] { return ran(TaskKind::kSend, TaskPlace::kEventThread) == 1; }));   // and finds nothing to do
    EXPECT_EQ(transport_.notes().size(), 2u);
}

TEST_F(HandOver, SenderThatIsAboutToWaitSubmitsAtOnce)
{
    SendArgs args;
    args.copy = true;
    engine_.enter();
    ASSERT_EQ(proto_.send(*peer_, args, request_), Status::kInProgress);
    EXPECT_EQ(transport_.notes().size(), 1u);
    engine_.leave(post_of(kLong));
}

TEST_F(HandOver, AnswerFoundByAHostThatGoesAwayIsGivenByTheEventThread)
{
    SendArgs args;
    args.copy = true;
    engine_.enter();
    ASSERT_EQ(proto_.send(*peer_, args, request_), Status::kInProgress);
    transport_.forget();
    asks(0);
    EXPECT_TRUE(transport_.notes().empty());
    engine_.leave(CallKind::kEmpty);
    ASSERT_TRUE(eventually([&] { return !transport_.notes().empty(); }));
    EXPECT_TRUE(transport_.notes()[0].bulk);
    EXPECT_NE(transport_.notes()[0].thread, this_thread_mark());
    EXPECT_TRUE(eventually([&] { return ran(TaskKind::kAnswer, TaskPlace::kEventThread) == 1; }));
}

// It has learned that its next call comes soon: it answers, which costs less than calling somebody.
TEST_F(HandOver, HostThatStaysAnswersItself)
{
    SendArgs args;
    args.copy = true;
    for (const CallKind kind : {CallKind::kEmpty, CallKind::kCompleted}) {
        for (int i = 0; i < 200; ++i) {
            engine_.enter();
            engine_.leave(kind);
        }
    }
    for (int i = 0; i < 200; ++i) {
        engine_.enter();
        engine_.leave(i % 2 == 0 ? CallKind::kEmpty : CallKind::kCompleted);
    }
    engine_.enter();
    ASSERT_EQ(proto_.send(*peer_, args, request_), Status::kInProgress);
    transport_.forget();
    asks(0);
    ASSERT_EQ(transport_.notes().size(), 1u);
    EXPECT_EQ(transport_.notes()[0].thread, this_thread_mark());
    EXPECT_EQ(ran(TaskKind::kAnswer, TaskPlace::kHost), 1u);
    engine_.leave(CallKind::kEmpty);
}

TEST_F(HandOver, PeerThatIsLostLeavesItsTaskNothingToDo)
{
    engine_.enter();
    {
        TokenGuard token{engine_};   // from the send on, so that the event thread, should it look in, finds the peer lost
        ASSERT_EQ(proto_.send(*peer_, SendArgs{}, request_), Status::kInProgress);
        layer_.declare_down(*peer_, Status::kPeerDown, "the test says so");
    }
    EXPECT_EQ(proto_.next_completion(), &request_);
    EXPECT_EQ(request_.result.status, Status::kPeerDown);
    const auto runs = [this] { return ran(TaskKind::kSend, TaskPlace::kHost) + ran(TaskKind::kSend, TaskPlace::kEventThread); };
    EXPECT_TRUE(eventually([&] {
        engine_.poll(64);
        return runs() != 0;
    }));
    EXPECT_EQ(runs(), 1u);
    EXPECT_TRUE(transport_.notes().empty());
    engine_.leave(post_of(kLong));
}

TEST_F(HandOver, WhatWaitsWhenTheContextClosesIsForgotten)
{
    engine_.enter();
    engine_.stop();   // nobody runs it
    ASSERT_EQ(proto_.send(*peer_, SendArgs{}, request_), Status::kInProgress);
}

}   // namespace
}   // namespace linnet::proto

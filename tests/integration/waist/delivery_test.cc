// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// LINNET_SEND_DELIVERED: the sender is told that its message is in the buffer of its receive, or that none is meant for it, and never too early.
#include <algorithm>
#include <array>
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "capi/linnet_watch.h"
#include "integration/waist/waist.h"

namespace linnet::testing {
namespace {

constexpr std::size_t kRoom = 60000;

struct Two {
    Endpoint a;
    Endpoint b;
    linnet_peer_t to_b{a.add(b)};
    linnet_peer_t to_a{b.add(a)};
    template <class Done>
    [[nodiscard]] bool until(const Done& done)
    {
        return drive({&a, &b}, done);
    }
    [[nodiscard]] bool waits_there(std::uint64_t bits, linnet_result_t& seen)
    {
        const linnet_match_t what{to_a, 1, bits, 0};
        return until([&] { return linnet_probe(b.context(), &what, &seen) == LINNET_OK; });
    }
    // As far as can be told in that time it is not told.
    [[nodiscard]] bool stays_open(const Op& send)
    {
        return !drive({&a, &b}, [&] { return send.complete(); }, 50ms);
    }
    linnet_status_t deliver(Op& send, std::uint64_t bits, const linnet_data_t& data) { return a.send(send, to_b, bits, data, LINNET_SEND_DELIVERED); }
    linnet_status_t renew(Op& op, std::uint64_t bits, const linnet_data_t& data)
    {
        linnet_recv_t r{};
        r.peer = LINNET_PEER_ANY;
        r.space = 1;
        r.match_bits = bits;
        r.data = data;
        r.done = Op::on_done;
        r.done_arg = &op;
        op.done = 0;
        return op.started = linnet_tag_recv_renewed(b.context(), &r, &op.request);
    }
    // Having looked at all that is there.
    linnet_status_t settle(std::uint32_t renewed) { return linnet_space_settle(b.context(), 1, renewed, linnet_space_mark(b.context(), 1)); }
};

// Copied into a packet, in place, in pieces.
struct Sent {
    std::vector<unsigned char> bytes{pattern(kRoom)};
    std::array<iovec, 2> pieces{{{bytes.data(), 10}, {bytes.data() + 20, 20000}}};
    std::array<iovec, 2> short_pieces{{{bytes.data(), 10}, {bytes.data() + 20, 40}}};
    static linnet_data_t of(std::array<iovec, 2>& pieces)
    {
        linnet_data_t d{};
        d.iov = pieces.data();
        d.iov_count = pieces.size();
        d.length = pieces[0].iov_len + pieces[1].iov_len;
        return d;
    }
    std::vector<linnet_data_t> forms{contiguous(bytes.data(), 0), contiguous(bytes.data(), 8), contiguous(bytes.data(), 3000),
                                     contiguous(bytes.data(), kRoom), of(short_pieces), of(pieces)};
    [[nodiscard]] std::vector<unsigned char> content(const linnet_data_t& form) const
    {
        std::vector<unsigned char> c(form.length);
        for (std::size_t i = 0; i < c.size(); ++i) {
            c[i] = bytes[i + (form.iov != nullptr && i >= 10 ? 10 : 0)];
        }
        return c;
    }
};

TEST(DeliveredSend, IsInTheBufferThatIsPosted)
{
    Two t;
    const Sent sent;
    for (const linnet_data_t& data : sent.forms) {
        std::vector<unsigned char> in(kRoom);
        Op send;
        Op recv;
        ASSERT_EQ(t.b.recv(recv, t.to_a, 7, contiguous(in.data(), in.size())), LINNET_IN_PROGRESS);
        ASSERT_EQ(t.deliver(send, 7, data), LINNET_IN_PROGRESS);
        ASSERT_TRUE(t.until([&] { return send.complete(); }));
        in.resize(data.length);
        EXPECT_EQ(in, sent.content(data));
        ASSERT_TRUE(t.until([&] { return recv.complete(); }));
    }
}

TEST(DeliveredSend, WaitsForNoReceiveThatNobodyHasPosted)
{
    Two t;
    const Sent sent;
    for (const linnet_data_t& data : sent.forms) {
        Op send;
        ASSERT_EQ(t.deliver(send, 7, data), LINNET_IN_PROGRESS);
        ASSERT_TRUE(t.until([&] { return send.complete(); }));
        linnet_result_t seen{};
        ASSERT_TRUE(t.waits_there(7, seen));
        EXPECT_EQ(seen.length, data.length);
        std::vector<unsigned char> in(kRoom);
        Op recv;
        ASSERT_EQ(t.b.recv(recv, t.to_a, 7, contiguous(in.data(), in.size())), LINNET_OK);
        in.resize(data.length);
        EXPECT_EQ(in, sent.content(data));
        EXPECT_EQ(send.done, 1) << "it is told once";
    }
}

TEST(DeliveredSend, WaitsForTheReceiveThatIsRenewed)
{
    Two t;
    const Sent sent;
    const linnet_data_t before = contiguous(sent.bytes.data(), 8);
    for (const linnet_data_t& data : sent.forms) {
        std::vector<unsigned char> in(kRoom);
        Op recv;
        Op first;
        Op second;
        EXPECT_EQ(t.settle(1), LINNET_ERR_AGAIN);
        ASSERT_EQ(t.renew(recv, 7, contiguous(in.data(), in.size())), LINNET_IN_PROGRESS);
        EXPECT_EQ(t.settle(1), LINNET_OK);
        ASSERT_EQ(t.deliver(first, 7, before), LINNET_IN_PROGRESS);
        ASSERT_EQ(t.deliver(second, 7, data), LINNET_IN_PROGRESS);
        linnet_result_t seen{};
        ASSERT_TRUE(t.until([&] { return recv.complete() && first.complete(); }));
        ASSERT_TRUE(t.waits_there(7, seen));
        EXPECT_TRUE(t.stays_open(second));
        EXPECT_EQ(t.settle(1), LINNET_ERR_AGAIN);
        EXPECT_TRUE(t.stays_open(second)) << "nothing has been posted";
        ASSERT_EQ(t.renew(recv, 7, contiguous(in.data(), in.size())), LINNET_OK);
        ASSERT_TRUE(t.until([&] { return second.complete(); }));
        in.resize(data.length);
        EXPECT_EQ(in, sent.content(data));

        Op third;   // it waits, and the host has no more room for it
        ASSERT_EQ(t.deliver(third, 7, data), LINNET_IN_PROGRESS);
        ASSERT_TRUE(t.waits_there(7, seen));
        EXPECT_TRUE(t.stays_open(third));
        EXPECT_EQ(t.settle(0), LINNET_OK);
        ASSERT_TRUE(t.until([&] { return third.complete(); }));
        in.resize(kRoom);
        ASSERT_EQ(t.b.recv(recv, t.to_a, 7, contiguous(in.data(), in.size())), LINNET_OK);
        in.resize(data.length);
        EXPECT_EQ(in, sent.content(data));
        EXPECT_EQ(std::pair(second.done, third.done), std::pair(1, 1)) << "each is told once";
    }
}

// One receive is renewed, and waits: what it does not take is meant for nobody. Canceled it is renewed no more.
TEST(DeliveredSend, WaitsForNoRenewedReceiveThatIsPosted)
{
    Two t;
    const Sent sent;
    std::vector<unsigned char> in(kRoom);
    Op recv;
    static_cast<void>(t.settle(1));
    ASSERT_EQ(t.renew(recv, 7, contiguous(in.data(), in.size())), LINNET_IN_PROGRESS);
    for (const linnet_data_t& data : sent.forms) {
        Op send;
        ASSERT_EQ(t.deliver(send, 8, data), LINNET_IN_PROGRESS);
        ASSERT_TRUE(t.until([&] { return send.complete(); }));
    }
    ASSERT_EQ(linnet_cancel(t.b.context(), &recv.request), LINNET_OK);
    Op send;
    ASSERT_EQ(t.deliver(send, 7, sent.forms[1]), LINNET_IN_PROGRESS);
    EXPECT_TRUE(t.stays_open(send));
    EXPECT_EQ(t.settle(0), LINNET_OK);
    EXPECT_TRUE(t.until([&] { return send.complete(); }));
}

TEST(DeliveredSend, OfARenewedReceiveWhosePeerIsLostIsSettledBeforeTheNextOne)
{
    Two t;
    Endpoint c;
    const linnet_peer_t from_c = t.b.add(c);
    t.b.expect_complaints();
    const Sent sent;
    Op recv;
    linnet_recv_t r{};
    r.peer = from_c;
    r.space = 1;
    r.done = Op::on_done;
    r.done_arg = &recv;
    static_cast<void>(t.settle(1));
    ASSERT_EQ(recv.started = linnet_tag_recv_renewed(t.b.context(), &r, &recv.request), LINNET_IN_PROGRESS);
    ASSERT_EQ(linnet_peer_declare_dead(t.b.context(), from_c), LINNET_OK);
    ASSERT_TRUE(t.until([&] { return recv.complete(); }));
    EXPECT_EQ(recv.status(), LINNET_ERR_PEER_DOWN);
    EXPECT_EQ(t.settle(0), LINNET_OK);
    Op send;
    ASSERT_EQ(t.deliver(send, 7, sent.forms[1]), LINNET_IN_PROGRESS);
    EXPECT_TRUE(t.until([&] { return send.complete(); }));
}

// A host that matches by itself: only that it has settled the space, or this message, ends the send; or that it takes it, closes the space, or leaves.
TEST(DeliveredSend, WaitsForAHostThatMatchesByItself)
{
    Two t;
    const Sent sent;
    ASSERT_EQ(linnet_space_watch(t.b.context(), 1, [](void*, std::uint32_t, std::uint32_t) noexcept {}, nullptr), LINNET_OK);
    for (const linnet_data_t& data : sent.forms) {
        Op settled;
        Op settled_alone;
        Op received;
        Op closed;
        std::vector<unsigned char> in(kRoom);
        const auto sends = [&](Op& send, std::uint64_t bits) {
            ASSERT_EQ(t.deliver(send, bits, data), LINNET_IN_PROGRESS);
            linnet_result_t seen{};
            ASSERT_TRUE(t.waits_there(bits, seen));
            EXPECT_TRUE(t.stays_open(send));
        };
        const auto claims = [&](std::uint64_t bits) {
            const linnet_match_t what{t.to_a, 1, bits, 0};
            linnet_message_t* message = nullptr;
            linnet_result_t seen{};
            EXPECT_EQ(linnet_probe_claim(t.b.context(), &what, &message, &seen), LINNET_OK);
            return message;
        };
        const auto receives = [&](linnet_message_t* message) {
            Op op;
            linnet_recv_t r{};
            r.data = contiguous(in.data(), in.size());
            ASSERT_EQ(linnet_message_recv(t.b.context(), message, &r, &op.request), LINNET_OK);
            EXPECT_TRUE(std::equal(in.begin(), in.begin() + static_cast<std::ptrdiff_t>(data.length), sent.content(data).begin()));
        };
        sends(settled, 1);
        EXPECT_EQ(t.settle(0), LINNET_OK);
        ASSERT_TRUE(t.until([&] { return settled.complete(); }));
        receives(claims(1));

        sends(settled_alone, 2);
        linnet_message_t* const message = claims(2);
        EXPECT_EQ(t.settle(0), LINNET_OK);
        EXPECT_TRUE(t.stays_open(settled_alone)) << "claimed, it is in the space no more";
        EXPECT_EQ(linnet_message_settle(t.b.context(), message), LINNET_OK);
        EXPECT_EQ(linnet_message_settle(t.b.context(), message), LINNET_OK);
        ASSERT_TRUE(t.until([&] { return settled_alone.complete(); }));
        receives(message);

        sends(received, 3);
        receives(claims(3));
        ASSERT_TRUE(t.until([&] { return received.complete(); }));

        sends(closed, 4);
        EXPECT_EQ(linnet_space_close(t.b.context(), 1), LINNET_OK);
        ASSERT_TRUE(t.until([&] { return closed.complete(); }));
        for (const Op* op : {&settled, &settled_alone, &received, &closed}) {
            EXPECT_EQ(op->done, 1);
            EXPECT_EQ(op->status(), LINNET_OK);
        }
    }
    EXPECT_EQ(linnet_message_settle(t.b.context(), nullptr), LINNET_ERR_INVALID);
    linnet_space_watch(t.b.context(), 1, nullptr, nullptr);
    Op last;
    ASSERT_EQ(t.deliver(last, 5, sent.forms[1]), LINNET_IN_PROGRESS);
    EXPECT_TRUE(t.until([&] { return last.complete(); })) << "nobody watches any more";
}

// Between the host's look and its word another message comes: its news is still to be heard.
TEST(DeliveredSend, IsNotSettledByAHostThatLookedBeforeItCame)
{
    Two t;
    const Sent sent;
    ASSERT_EQ(linnet_space_watch(t.b.context(), 1, [](void*, std::uint32_t, std::uint32_t) noexcept {}, nullptr), LINNET_OK);
    std::uint64_t bits = 0;
    for (const linnet_data_t& data : sent.forms) {
        bits += 2;
        Op first;
        Op second;
        linnet_result_t seen{};
        ASSERT_EQ(t.deliver(first, bits, data), LINNET_IN_PROGRESS);
        ASSERT_TRUE(t.waits_there(bits, seen));
        const std::uint64_t mark = linnet_space_mark(t.b.context(), 1);
        ASSERT_EQ(t.deliver(second, bits + 1, data), LINNET_IN_PROGRESS);
        ASSERT_TRUE(t.waits_there(bits + 1, seen));
        EXPECT_EQ(linnet_space_settle(t.b.context(), 1, 0, mark), LINNET_OK);
        ASSERT_TRUE(t.until([&] { return first.complete(); }));
        EXPECT_TRUE(t.stays_open(second));
        EXPECT_EQ(t.settle(0), LINNET_OK);
        ASSERT_TRUE(t.until([&] { return second.complete(); }));
    }
}

TEST(DeliveredSend, IsToldWhenTheWatchEnds)
{
    Two t;
    const Sent sent;
    ASSERT_EQ(linnet_space_watch(t.b.context(), 1, [](void*, std::uint32_t, std::uint32_t) noexcept {}, nullptr), LINNET_OK);
    std::vector<Op> sends(sent.forms.size());
    for (std::size_t i = 0; i < sends.size(); ++i) {
        ASSERT_EQ(t.deliver(sends[i], i, sent.forms[i]), LINNET_IN_PROGRESS);
        linnet_result_t seen{};
        ASSERT_TRUE(t.waits_there(i, seen));
    }
    EXPECT_TRUE(t.stays_open(sends[0]));
    linnet_space_watch(t.b.context(), 1, nullptr, nullptr);
    for (const Op& send : sends) {
        EXPECT_TRUE(t.until([&] { return send.complete(); }));
    }
}

// Claimed while its payload is on its way: it waits for a receive, as what is claimed later does.
TEST(DeliveredSend, IsToldWhenItIsThereThoughItIsClaimed)
{
    constexpr int kRounds = 60;
    Two t;
    const auto out = pattern(kRoom);
    const linnet_match_t what{t.to_a, 1, 7, 0};
    for (int round = 0; round < kRounds; ++round) {
        Op send;
        ASSERT_EQ(t.deliver(send, 7, contiguous(out.data(), kRoom)), LINNET_IN_PROGRESS);
        std::atomic<bool> stop{false};
        std::thread reader{[&] {
            while (!stop) {
                linnet_progress(t.b.context(), 1, 0);
            }
        }};
        linnet_message_t* message = nullptr;
        linnet_result_t seen{};
        const bool claimed = drive({&t.a}, [&] { return linnet_probe_claim(t.b.context(), &what, &message, &seen) == LINNET_OK; });
        const bool told = drive({&t.a}, [&] { return send.complete(); });
        stop = true;
        reader.join();
        ASSERT_TRUE(claimed);
        EXPECT_TRUE(told) << "round " << round;
        std::vector<unsigned char> in(kRoom);
        Op op;
        linnet_recv_t r{};
        r.data = contiguous(in.data(), in.size());
        r.done = Op::on_done;
        r.done_arg = &op;
        op.started = linnet_message_recv(t.b.context(), message, &r, &op.request);
        ASSERT_TRUE(t.until([&] { return op.complete() && send.complete(); }));
        EXPECT_EQ(in, out);
    }
}

TEST(DeliveredSend, IsTakenBackWhileItsSenderIsOwedTheWord)
{
    Two t;
    const Sent sent;
    ASSERT_EQ(linnet_space_watch(t.b.context(), 1, [](void*, std::uint32_t, std::uint32_t) noexcept {}, nullptr), LINNET_OK);
    for (const linnet_data_t& data : sent.forms) {
        Op send;
        ASSERT_EQ(t.deliver(send, 7, data), LINNET_IN_PROGRESS);
        linnet_result_t seen{};
        ASSERT_TRUE(t.waits_there(7, seen));
        ASSERT_EQ(linnet_cancel(t.a.context(), &send.request), LINNET_IN_PROGRESS);
        ASSERT_TRUE(t.until([&] { return send.complete(); }));
        EXPECT_EQ(send.status(), LINNET_ERR_CANCELED);
        EXPECT_EQ(t.settle(0), LINNET_OK);
        const linnet_match_t what{t.to_a, 1, 7, 0};
        EXPECT_EQ(linnet_probe(t.b.context(), &what, &seen), LINNET_ERR_NOT_FOUND);
    }
}

TEST(DeliveredSend, EndsWithItsPeer)
{
    Two t;
    const Sent sent;
    t.a.expect_complaints();
    t.b.expect_complaints();
    ASSERT_EQ(linnet_space_watch(t.b.context(), 1, [](void*, std::uint32_t, std::uint32_t) noexcept {}, nullptr), LINNET_OK);
    std::vector<Op> sends(sent.forms.size());
    for (std::size_t i = 0; i < sends.size(); ++i) {
        ASSERT_EQ(t.deliver(sends[i], i, sent.forms[i]), LINNET_IN_PROGRESS);
        linnet_result_t seen{};
        ASSERT_TRUE(t.waits_there(i, seen));
    }
    t.b.close();
    for (const Op& send : sends) {
        EXPECT_TRUE(drive({&t.a}, [&] { return send.complete(); }));
        EXPECT_EQ(send.status(), LINNET_ERR_PEER_DOWN);
    }
}

}   // namespace
}   // namespace linnet::testing

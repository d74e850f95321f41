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
    // Messages with these bits, from `from`, are meant for a receive of b that is not posted.
    void reserve(linnet_reservation_t& r, std::uint64_t bits, linnet_peer_t from = LINNET_PEER_ANY, std::uint64_t ignore = 0)
    {
        const linnet_match_t match{from, 1, bits, ignore};
        EXPECT_EQ(linnet_reserve(b.context(), &match, &r), LINNET_OK);
    }
    void unreserve(linnet_reservation_t& r) { EXPECT_EQ(linnet_unreserve(b.context(), &r), LINNET_OK); }
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

TEST(DeliveredSend, WaitsForTheReceiveThatIsPostedAgain)
{
    Two t;
    const Sent sent;
    const linnet_data_t before = contiguous(sent.bytes.data(), 8);
    for (const linnet_data_t& data : sent.forms) {
        std::vector<unsigned char> in(kRoom);
        linnet_reservation_t reservation;
        Op recv;
        Op first;
        Op second;
        t.reserve(reservation, 7);
        ASSERT_EQ(t.b.recv(recv, t.to_a, 7, contiguous(in.data(), in.size())), LINNET_IN_PROGRESS);
        ASSERT_EQ(t.deliver(first, 7, before), LINNET_IN_PROGRESS);
        ASSERT_EQ(t.deliver(second, 7, data), LINNET_IN_PROGRESS);
        linnet_result_t seen{};
        ASSERT_TRUE(t.until([&] { return recv.complete() && first.complete(); }));
        ASSERT_TRUE(t.waits_there(7, seen));
        EXPECT_TRUE(t.stays_open(second));
        ASSERT_EQ(t.b.recv(recv, t.to_a, 7, contiguous(in.data(), in.size())), LINNET_OK);
        ASSERT_TRUE(t.until([&] { return second.complete(); }));
        in.resize(data.length);
        EXPECT_EQ(in, sent.content(data));

        Op third;   // it waits, and the host has no more room for it
        ASSERT_EQ(t.deliver(third, 7, data), LINNET_IN_PROGRESS);
        ASSERT_TRUE(t.waits_there(7, seen));
        EXPECT_TRUE(t.stays_open(third));
        t.unreserve(reservation);
        ASSERT_TRUE(t.until([&] { return third.complete(); }));
        in.resize(kRoom);
        ASSERT_EQ(t.b.recv(recv, t.to_a, 7, contiguous(in.data(), in.size())), LINNET_OK);
        in.resize(data.length);
        EXPECT_EQ(in, sent.content(data));
        EXPECT_EQ(std::pair(second.done, third.done), std::pair(1, 1)) << "each is told once";
    }
}

// By source and bits; and as long as any reservation is left that accepts it.
TEST(DeliveredSend, WaitsForNoReceiveThatItIsNotMeantFor)
{
    Two t;
    Endpoint c;
    const linnet_peer_t from_c = t.b.add(c);
    const Sent sent;
    std::array<linnet_reservation_t, 4> reservations;
    t.reserve(reservations[0], 7);
    t.reserve(reservations[1], 0, from_c, ~std::uint64_t{0});
    std::uint64_t bits = 100;
    for (const linnet_data_t& data : sent.forms) {
        Op send;
        ASSERT_EQ(t.deliver(send, ++bits, data), LINNET_IN_PROGRESS);
        ASSERT_TRUE(t.until([&] { return send.complete(); }));
    }
    t.reserve(reservations[2], 7, t.to_a);
    t.reserve(reservations[3], 0, LINNET_PEER_ANY, ~std::uint64_t{0});
    std::array<Op, 100> sends;   // more than are told at a time
    for (std::size_t i = 0; i < sends.size(); ++i) {
        ASSERT_EQ(t.deliver(sends[i], i % 2 == 0 ? 7 : 8, sent.forms[1]), LINNET_IN_PROGRESS);
    }
    const auto done = [&](std::size_t first) {
        int n = 0;
        for (std::size_t i = first; i < sends.size(); i += 2) {
            n += sends[i].done;
        }
        return n;
    };
    linnet_result_t seen{};
    ASSERT_TRUE(t.waits_there(8, seen));
    EXPECT_TRUE(t.stays_open(sends[99]));
    t.unreserve(reservations[3]);
    ASSERT_TRUE(t.until([&] { return done(1) == 50; }));
    t.unreserve(reservations[1]);
    t.unreserve(reservations[0]);
    EXPECT_TRUE(t.stays_open(sends[0]));
    EXPECT_EQ(done(0), 0);
    t.unreserve(reservations[2]);
    EXPECT_TRUE(t.until([&] { return done(0) == 50; }));
}

// A host that matches by itself: that it receives this message ends the send, or says that it is meant for no receive; or that it closes the space.
TEST(DeliveredSend, WaitsForAHostThatMatchesByItself)
{
    Two t;
    const Sent sent;
    linnet_reservation_t all;
    t.reserve(all, 0, LINNET_PEER_ANY, ~std::uint64_t{0});
    for (const linnet_data_t& data : sent.forms) {
        Op settled;
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
        sends(settled, 2);
        linnet_message_t* const message = claims(2);
        EXPECT_TRUE(t.stays_open(settled));
        EXPECT_EQ(linnet_message_settle(t.b.context(), message), LINNET_OK);
        EXPECT_EQ(linnet_message_settle(t.b.context(), message), LINNET_OK);
        ASSERT_TRUE(t.until([&] { return settled.complete(); }));
        receives(message);

        sends(received, 3);
        receives(claims(3));
        ASSERT_TRUE(t.until([&] { return received.complete(); }));

        sends(closed, 4);
        EXPECT_EQ(linnet_space_close(t.b.context(), 1), LINNET_OK);
        ASSERT_TRUE(t.until([&] { return closed.complete(); }));
        for (const Op* op : {&settled, &received, &closed}) {
            EXPECT_EQ(op->done, 1);
            EXPECT_EQ(op->status(), LINNET_OK);
        }
    }
    EXPECT_EQ(linnet_message_settle(t.b.context(), nullptr), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_reserve(t.b.context(), nullptr, &all), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_unreserve(t.b.context(), nullptr), LINNET_ERR_INVALID);
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
    linnet_reservation_t all;
    t.reserve(all, 0, LINNET_PEER_ANY, ~std::uint64_t{0});
    for (const linnet_data_t& data : sent.forms) {
        Op send;
        ASSERT_EQ(t.deliver(send, 7, data), LINNET_IN_PROGRESS);
        linnet_result_t seen{};
        ASSERT_TRUE(t.waits_there(7, seen));
        ASSERT_EQ(linnet_cancel(t.a.context(), &send.request), LINNET_IN_PROGRESS);
        ASSERT_TRUE(t.until([&] { return send.complete(); }));
        EXPECT_EQ(send.status(), LINNET_ERR_CANCELED);
        const linnet_match_t what{t.to_a, 1, 7, 0};
        EXPECT_EQ(linnet_probe(t.b.context(), &what, &seen), LINNET_ERR_NOT_FOUND);
    }
    t.unreserve(all);
}

TEST(DeliveredSend, EndsWithItsPeer)
{
    Two t;
    const Sent sent;
    t.a.expect_complaints();
    t.b.expect_complaints();
    linnet_reservation_t all;
    t.reserve(all, 0, LINNET_PEER_ANY, ~std::uint64_t{0});
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

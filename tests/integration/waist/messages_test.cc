// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Tagged messages through linnet.h, between two contexts and to oneself.
#include <sys/uio.h>

#include <algorithm>
#include <thread>

#include "integration/waist/waist.h"

namespace linnet::testing {
namespace {

struct Pair {
    Endpoint a;
    Endpoint b;
    linnet_peer_t to_b;
    linnet_peer_t to_a;
    explicit Pair(const std::vector<linnet_setting_t>& settings = {}) : a{settings}, b{settings}, to_b{a.add(b)}, to_a{b.add(a)} {}
    bool until(const std::function<bool()>& done, std::chrono::milliseconds limit = 10s) { return drive({&a, &b}, done, limit); }
};

constexpr std::size_t kSizes[] = {0, 1, 8, 1000, 2048, 2049, 4096, 4097, 5000, 16384, 16385, 40000, 65536, 65537, 200000, 1u << 20, (4u << 20) + 3};

struct Case {
    bool posted_first;
    std::uint32_t flags;
};

class EverySize : public ::testing::TestWithParam<Case> {};

TEST_P(EverySize, ArrivesWholeWithItsEnvelope)
{
    Pair p;
    for (const std::size_t size : kSizes) {
        const auto out = pattern(size, static_cast<unsigned>(size));
        std::vector<unsigned char> in(size + 1, 0xee);
        Op send;
        Op recv;
        if (GetParam().posted_first) {
            ASSERT_EQ(p.b.recv(recv, p.to_a, 7, contiguous(in.data(), size)), LINNET_IN_PROGRESS);
        }
        ASSERT_GE(p.a.send(send, p.to_b, 7, contiguous(out.data(), size), GetParam().flags), 0);
        if (!GetParam().posted_first) {
            const linnet_match_t what{p.to_a, 1, 7, 0};
            linnet_result_t seen{};
            ASSERT_TRUE(p.until([&] { return linnet_probe(p.b.context(), &what, &seen) == LINNET_OK; })) << size;
            EXPECT_EQ(seen.length, size);
            ASSERT_GE(p.b.recv(recv, p.to_a, 7, contiguous(in.data(), size)), 0);
        }
        ASSERT_TRUE(p.until([&] { return send.complete() && recv.complete(); })) << size;
        EXPECT_EQ(send.done + (send.started == LINNET_OK ? 1 : 0), 1);
        EXPECT_EQ(recv.status(), LINNET_OK);
        EXPECT_EQ(recv.length(), size);
        EXPECT_EQ(recv.request.result.peer, p.to_a);
        EXPECT_EQ(recv.request.result.match_bits, 7u);
        EXPECT_EQ(recv.request.result.immediate, 107u);
        EXPECT_EQ(recv.request.result.flags, GetParam().flags & LINNET_SEND_IMMEDIATE);
        EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin())) << size;
        EXPECT_EQ(in[size], 0xee);
    }
}

INSTANTIATE_TEST_SUITE_P(Modes, EverySize,
                         ::testing::Values(Case{true, 0}, Case{false, 0}, Case{true, LINNET_SEND_COPY}, Case{false, LINNET_SEND_COPY},
                                           Case{true, LINNET_SEND_SYNC}, Case{false, LINNET_SEND_SYNC},
                                           Case{true, LINNET_SEND_ACKED}, Case{false, LINNET_SEND_ACKED | LINNET_SEND_IMMEDIATE},
                                           Case{true, LINNET_SEND_IMMEDIATE}));

// It is complete, or nothing happened: to a process on the same host once the two have met, never over a network nor if the completion tells of the peer.
TEST(SendWithoutARequest, IsCompleteOrHasNotHappened)
{
    Pair p;
    linnet_send_t s{};
    s.peer = p.to_b;
    s.space = 1;
    s.match_bits = 7;
    const auto out = pattern(100);
    std::vector<unsigned char> in(out.size());
    const auto exchange = [&](linnet_status_t started) {
        Op send;
        Op recv;
        ASSERT_EQ(p.b.recv(recv, p.to_a, 7, contiguous(in.data(), in.size())), LINNET_IN_PROGRESS);
        if (started != LINNET_OK) {
            ASSERT_GE(p.a.send(send, p.to_b, 7, contiguous(out.data(), out.size())), 0);
        }
        ASSERT_TRUE(p.until([&] { return recv.complete() && (started == LINNET_OK || send.complete()); }));
        EXPECT_EQ(recv.length(), out.size()) << "the first one was sent after all";
    };
    EXPECT_EQ(linnet_tag_send(p.a.context(), &s, nullptr), LINNET_ERR_AGAIN) << "they have not met";
    exchange(LINNET_ERR_AGAIN);
    for (const std::uint32_t flags : {LINNET_SEND_SYNC, LINNET_SEND_ACKED, LINNET_SEND_FENCE}) {
        s.flags = flags;
        EXPECT_EQ(linnet_tag_send(p.a.context(), &s, nullptr), LINNET_ERR_AGAIN);
    }
    exchange(LINNET_ERR_AGAIN);
    s.flags = 0;
    s.data = contiguous(out.data(), out.size());
    const linnet_status_t status = linnet_tag_send(p.a.context(), &s, nullptr);
#ifdef LINNET_WAIST_SHARED
    EXPECT_EQ(status, LINNET_OK);
#else
    EXPECT_EQ(status, LINNET_ERR_AGAIN);
#endif
    exchange(status);
}

TEST(AckedSend, CompletesWithoutAReceiveButNotBeforeThePeerHasIt)
{
    Pair p;
    const auto out = pattern(30000);
    const iovec pieces[] = {{const_cast<unsigned char*>(out.data()), 10}, {const_cast<unsigned char*>(out.data()) + 20, 20000}};
    linnet_data_t strided{};
    strided.iov = pieces;
    strided.iov_count = 2;
    strided.length = 20010;
    for (const linnet_data_t& data : {contiguous(out.data(), 0), contiguous(out.data(), 8), contiguous(out.data(), 30000), strided}) {
        Op send;
        ASSERT_EQ(p.a.send(send, p.to_b, 7, data, LINNET_SEND_ACKED), LINNET_IN_PROGRESS);
        ASSERT_TRUE(p.until([&] { return send.complete(); }));
        const linnet_match_t what{p.to_a, 1, 7, 0};
        linnet_result_t seen{};
        ASSERT_EQ(linnet_probe(p.b.context(), &what, &seen), LINNET_OK);
        EXPECT_EQ(seen.length, data.length);
        std::vector<unsigned char> in(30000);
        Op recv;
        ASSERT_EQ(p.b.recv(recv, p.to_a, 7, contiguous(in.data(), in.size())), LINNET_OK);
        std::vector<unsigned char> expected = out;
        if (data.iov != nullptr) {
            expected.erase(expected.begin() + 10, expected.begin() + 20);
        }
        expected.resize(data.length);
        EXPECT_TRUE(std::equal(expected.begin(), expected.end(), in.begin()));
    }
}

// The last thing of an exchange is a receive, and then a host computes for long. Its peer's send ends all the same: the acknowledgement waits for no later
// call, and there is nothing open here for which an event thread, if there is one, would be armed.
TEST(ComputingHost, OwesNoAcknowledgementOfWhatItReceivedLast)
{
    constexpr std::size_t kSize = 40000;
    const auto out = pattern(kSize);
    std::vector<unsigned char> in(kSize);
    for (const bool unexpected : {false, true}) {
        Endpoint a{{{"retain_limit", "0"}}};   // its sends wait for their acknowledgement
        Endpoint b{{{"event_thread", "off"}}};
        const linnet_peer_t to_b = a.add(b);
        const linnet_peer_t to_a = b.add(a);
        for (unsigned round = 0; round < 40; ++round) {   // the first ones connect, and teach how soon this host comes back: at once
            Op send;
            Op receive;
            ASSERT_EQ(a.send(send, to_b, 2, contiguous(out.data(), kSize)), LINNET_IN_PROGRESS);
            if (unexpected) {
                const linnet_match_t what{to_a, 1, 2, 0};
                linnet_result_t seen{};
                ASSERT_TRUE(drive({&a, &b}, [&] { return linnet_probe(b.context(), &what, &seen) == LINNET_OK; }));
            }
            ASSERT_GE(b.recv(receive, to_a, 2, contiguous(in.data(), kSize)), 0);
            ASSERT_TRUE(receive.complete() || drive({&a, &b}, [&] { return receive.complete(); }));
            ASSERT_TRUE(drive({&a}, [&] { return send.complete(); }, 2s)) << unexpected << ' ' << round;   // from now on b calls nothing
        }
    }
}

// While ranks take turns on cores, as where this host is told of more ranks than it has cores, more is copied, unless it is not to be at all.
TEST(CrowdedHost, CopiesMoreThanOneWithCoresOfItsOwn)
{
    constexpr std::size_t kSize = 40000;
    const auto out = pattern(kSize);
    std::vector<unsigned char> in(kSize);
    for (const auto& [limit, completes] : {std::pair{"16k", true}, std::pair{"8k", false}, std::pair{"0", false}}) {
        Endpoint a{{{"transports", "tcp"}, {"local_ranks", "4096"}, {"retain_limit", limit}}};
        Endpoint b{{{"transports", "tcp"}}};
        const linnet_peer_t to_b = a.add(b);
        const linnet_peer_t to_a = b.add(a);
        Op send;
        Op receive;
        ASSERT_GE(b.recv(receive, to_a, 2, contiguous(in.data(), kSize)), 0);
        EXPECT_EQ(a.send(send, to_b, 2, contiguous(out.data(), kSize)), completes ? LINNET_OK : LINNET_IN_PROGRESS) << limit;
        ASSERT_TRUE(drive({&a, &b}, [&] { return send.complete() && receive.complete(); })) << limit;
        EXPECT_EQ(in, out) << limit;
        in.assign(kSize, 0);
    }
}

TEST(Waist, SynchronousSendCompletesOnlyWhenMatched)
{
    Pair p;
    const auto out = pattern(100);
    std::vector<unsigned char> in(100);
    Op send;
    Op recv;
    ASSERT_EQ(p.a.send(send, p.to_b, 7, contiguous(out.data(), 100), LINNET_SEND_SYNC), LINNET_IN_PROGRESS);
    const linnet_match_t what{p.to_a, 1, 7, 0};
    linnet_result_t seen{};
    ASSERT_TRUE(p.until([&] { return linnet_probe(p.b.context(), &what, &seen) == LINNET_OK; }));
    for (int i = 0; i < 2000; ++i) {
        p.a.progress();
        p.b.progress();
    }
    EXPECT_EQ(send.done, 0);
    ASSERT_EQ(p.b.recv(recv, p.to_a, 7, contiguous(in.data(), 100)), LINNET_OK);
    EXPECT_TRUE(p.until([&] { return send.done == 1; }));
}

// A timer of some source whose poll() does not look at the clock would make the event thread turn until it does, hundreds of times.
TEST(Waist, EventThreadOfAConnectedIdleContextSleeps)
{
    Pair p;
    Op send;
    Op recv;
    unsigned char byte = 1;
    ASSERT_EQ(p.b.recv(recv, p.to_a, 7, contiguous(&byte, 1)), LINNET_IN_PROGRESS);
    p.a.send(send, p.to_b, 7, contiguous(&byte, 1));
    ASSERT_TRUE(p.until([&] { return recv.complete() && send.complete(); }));
    std::this_thread::sleep_for(std::chrono::milliseconds{100});   // the last acknowledgements
    const std::uint64_t before = p.a.counter("event_thread_polls");
    std::this_thread::sleep_for(std::chrono::milliseconds{500});
    EXPECT_LT(p.a.counter("event_thread_polls") - before, 200u);   // 25 looks in, 5 updates of the statistics page
}

TEST(Waist, MessagesOfMixedSizesKeepTheirOrder)
{
    Pair p;
    constexpr int kCount = 200;
    std::vector<Op> sends(kCount);
    std::vector<Op> recvs(kCount);
    std::vector<std::vector<unsigned char>> out;
    std::vector<std::vector<unsigned char>> in(kCount, std::vector<unsigned char>(300000));
    for (int i = 0; i < kCount; ++i) {
        out.push_back(pattern(i % 7 == 0 ? 250000u : static_cast<unsigned>(i * 13 % 5000), static_cast<unsigned>(i)));
    }
    for (int i = 0; i < kCount / 2; ++i) {
        p.b.recv(recvs[static_cast<std::size_t>(i)], LINNET_PEER_ANY, 0, contiguous(in[static_cast<std::size_t>(i)].data(), 300000), 0x7fffffff);
    }
    for (std::size_t i = 0; i < kCount; ++i) {
        ASSERT_GE(p.a.send(sends[i], p.to_b, 5, contiguous(out[i].data(), out[i].size())), 0);
        p.b.progress();
    }
    for (std::size_t i = kCount / 2; i < kCount; ++i) {
        p.b.recv(recvs[i], p.to_a, 5, contiguous(in[i].data(), 300000));
    }
    ASSERT_TRUE(p.until([&] { return std::all_of(recvs.begin(), recvs.end(), [](const Op& o) { return o.complete(); }) &&
                                     std::all_of(sends.begin(), sends.end(), [](const Op& o) { return o.complete(); }); }));
    for (std::size_t i = 0; i < kCount; ++i) {
        ASSERT_EQ(recvs[i].length(), out[i].size()) << i;
        EXPECT_TRUE(std::equal(out[i].begin(), out[i].end(), in[i].begin())) << i;
    }
}

TEST(Waist, TruncationReportsTheTrueLengthAndKeepsTheRestOfMemory)
{
    Pair p;
    for (const std::size_t size : {100u, 30000u, 65536u, 100000u, 1000000u}) {
        for (const bool posted : {true, false}) {
            const auto out = pattern(size);
            std::vector<unsigned char> in(size, 0xee);
            Op send;
            Op recv;
            const std::size_t room = size / 3;
            if (posted) {
                p.b.recv(recv, p.to_a, 7, contiguous(in.data(), room));
            }
            p.a.send(send, p.to_b, 7, contiguous(out.data(), size));
            if (!posted) {
                const linnet_match_t what{p.to_a, 1, 7, 0};
                linnet_result_t seen{};
                ASSERT_TRUE(p.until([&] { return linnet_probe(p.b.context(), &what, &seen) == LINNET_OK; }));
                p.b.recv(recv, p.to_a, 7, contiguous(in.data(), room));
            }
            ASSERT_TRUE(p.until([&] { return send.complete() && recv.complete(); })) << size;
            EXPECT_EQ(recv.status(), LINNET_ERR_TRUNCATED);
            EXPECT_EQ(recv.length(), size);
            EXPECT_TRUE(std::equal(in.begin(), in.begin() + static_cast<long>(room), out.begin()));
            EXPECT_TRUE(std::all_of(in.begin() + static_cast<long>(room), in.end(), [](unsigned char c) { return c == 0xee; }));
        }
    }
}

TEST(Waist, ReceiveCanBeCanceledUntilItMatches)
{
    Pair p;
    std::vector<unsigned char> in(10);
    Op first;
    Op second;
    p.b.recv(first, p.to_a, 7, contiguous(in.data(), 10));
    p.b.recv(second, p.to_a, 7, contiguous(in.data(), 10));
    EXPECT_EQ(linnet_cancel(p.b.context(), &first.request), LINNET_OK);
    EXPECT_EQ(first.status(), LINNET_ERR_CANCELED);
    const auto out = pattern(10);
    Op send;
    p.a.send(send, p.to_b, 7, contiguous(out.data(), 10));
    ASSERT_TRUE(p.until([&] { return send.complete() && second.done == 1; }));
    EXPECT_EQ(first.done, 0);
}

TEST(Waist, SendOfRendezvousMessageIsTakenBackWhileUnmatched)
{
    Pair p;
    const auto out = pattern(1u << 20);
    Op send;
    ASSERT_EQ(p.a.send(send, p.to_b, 7, contiguous(out.data(), out.size())), LINNET_IN_PROGRESS);
    const linnet_match_t what{p.to_a, 1, 7, 0};
    linnet_result_t seen{};
    ASSERT_TRUE(p.until([&] { return linnet_probe(p.b.context(), &what, &seen) == LINNET_OK; }));
    EXPECT_EQ(linnet_cancel(p.a.context(), &send.request), LINNET_IN_PROGRESS);
    ASSERT_TRUE(p.until([&] { return send.done == 1; }));
    EXPECT_EQ(send.status(), LINNET_ERR_CANCELED);
    EXPECT_EQ(linnet_probe(p.b.context(), &what, &seen), LINNET_ERR_NOT_FOUND);
}

TEST(Waist, ClaimedMessageIsReceivedByItsHandleOnly)
{
    Pair p;
    for (const std::size_t size : {10u, 50000u, 500000u}) {
        const auto out = pattern(size);
        std::vector<unsigned char> in(size);
        Op send;
        p.a.send(send, p.to_b, 7, contiguous(out.data(), size));
        const linnet_match_t what{LINNET_PEER_ANY, 1, 0, 0x7fffffff};
        linnet_result_t seen{};
        linnet_message_t* message = nullptr;
        ASSERT_TRUE(p.until([&] { return linnet_probe_claim(p.b.context(), &what, &message, &seen) == LINNET_OK; }));
        EXPECT_EQ(linnet_probe(p.b.context(), &what, &seen), LINNET_ERR_NOT_FOUND);
        linnet_recv_t r{};
        Op recv;
        r.data = contiguous(in.data(), size);
        r.done = Op::on_done;
        r.done_arg = &recv;
        recv.started = linnet_message_recv(p.b.context(), message, &r, &recv.request);
        ASSERT_TRUE(p.until([&] { return recv.complete() && send.complete(); }));
        EXPECT_EQ(in, out);
    }
}

// A message whose bytes lie in every second block of `block` bytes.
struct Strided {
    std::vector<unsigned char> memory;
    std::size_t block;
    std::uint64_t expected_next{0};
    int restarts{0};
    explicit Strided(std::size_t bytes, std::size_t block_bytes) : memory(2 * bytes + 2 * block_bytes), block{block_bytes} {}
    unsigned char& at(std::uint64_t i) { return memory[i / block * 2 * block + i % block]; }
    static void pack(void* arg, std::uint64_t offset, void* to, std::size_t bytes) noexcept
    {
        auto& s = *static_cast<Strided*>(arg);
        s.restarts += offset != s.expected_next;
        s.expected_next = offset + bytes;
        for (std::size_t i = 0; i < bytes; ++i) {
            static_cast<unsigned char*>(to)[i] = s.at(offset + i);
        }
    }
    static void unpack(void* arg, std::uint64_t offset, const void* from, std::size_t bytes) noexcept
    {
        auto& s = *static_cast<Strided*>(arg);
        s.restarts += offset != s.expected_next;
        s.expected_next = offset + bytes;
        for (std::size_t i = 0; i < bytes; ++i) {
            s.at(offset + i) = static_cast<const unsigned char*>(from)[i];
        }
    }
};

TEST(Waist, NoncontiguousDataIsPackedAndUnpackedAscending)
{
    Pair p;
    for (const std::size_t size : {0u, 24u, 3000u, 40000u, 65536u, 300000u, 3000000u}) {
        const auto what = pattern(size);
        Strided out{size, 24};
        Strided in{size, 40};
        for (std::size_t i = 0; i < size; ++i) {
            out.at(i) = what[i];
        }
        linnet_data_t from{};
        from.length = size;
        from.pack = Strided::pack;
        from.pack_arg = &out;
        linnet_data_t to{};
        to.length = size;
        to.unpack = Strided::unpack;
        to.pack_arg = &in;
        Op send;
        Op recv;
        p.b.recv(recv, p.to_a, 7, to);
        p.a.send(send, p.to_b, 7, from);
        // Byte by byte: megabytes take seconds under ThreadSanitizer.
        ASSERT_TRUE(p.until([&] { return send.complete() && recv.complete(); }, 60s)) << size;
        EXPECT_EQ(out.restarts + in.restarts, 0) << size;
        bool same = true;
        for (std::size_t i = 0; i < size; ++i) {
            same = same && in.at(i) == what[i];
        }
        EXPECT_TRUE(same) << size;
    }
}

TEST(Waist, VectorsAreGatheredAndScattered)
{
    Pair p;
    for (const std::size_t size : {300u, 60000u, 900000u}) {
        auto out = pattern(size);
        std::vector<unsigned char> in(size);
        iovec from[3] = {{out.data(), size / 3}, {out.data() + size / 3, 1}, {out.data() + size / 3 + 1, size - size / 3 - 1}};
        iovec to[2] = {{in.data(), size / 2}, {in.data() + size / 2, size - size / 2}};
        linnet_data_t f{};
        f.length = size;
        f.iov = from;
        f.iov_count = 3;
        linnet_data_t t{};
        t.length = size;
        t.iov = to;
        t.iov_count = 2;
        Op send;
        Op recv;
        p.b.recv(recv, p.to_a, 7, t);
        p.a.send(send, p.to_b, 7, f);
        ASSERT_TRUE(p.until([&] { return send.complete() && recv.complete(); })) << size;
        EXPECT_EQ(in, out);
    }
}

TEST(Waist, MessagesToOneselfWork)
{
    Endpoint a;
    const linnet_peer_t self = a.add(a);
    for (const std::size_t size : kSizes) {
        const auto out = pattern(size);
        std::vector<unsigned char> in(size);
        Op send;
        Op recv;
        a.recv(recv, self, 3, contiguous(in.data(), size));
        a.send(send, self, 3, contiguous(out.data(), size));
        ASSERT_TRUE(drive({&a}, [&] { return send.complete() && recv.complete(); })) << size;
        EXPECT_EQ(in, out) << size;
    }
}

TEST(Waist, FloodOfUnexpectedMessagesBeyondTheCreditArrives)
{
    Pair p{{{"eager_credit", "128k"}}};
    constexpr std::size_t kCount = 400;
    std::vector<Op> sends(kCount);
    std::vector<Op> recvs(kCount);
    const auto out = pattern(8000);
    std::vector<std::vector<unsigned char>> in(kCount, std::vector<unsigned char>(8000));
    for (auto& s : sends) {
        ASSERT_GE(p.a.send(s, p.to_b, 1, contiguous(out.data(), 8000)), 0);
        p.b.progress();
    }
    EXPECT_GT(p.a.counter("rndv_sent"), 0u);   // what had no credit went by rendezvous
    for (std::size_t i = 0; i < kCount; ++i) {
        ASSERT_GE(p.b.recv(recvs[i], p.to_a, 1, contiguous(in[i].data(), 8000)), 0);
    }
    ASSERT_TRUE(p.until([&] { return std::all_of(recvs.begin(), recvs.end(), [](const Op& o) { return o.complete(); }) &&
                                     std::all_of(sends.begin(), sends.end(), [](const Op& o) { return o.complete(); }); }));
    for (const auto& v : in) {
        EXPECT_EQ(v, out);
    }
}

TEST(Waist, MessagesOfSpacesDoNotMix)
{
    Pair p;
    const auto one = pattern(100, 1);
    const auto two = pattern(100, 2);
    std::vector<unsigned char> in(100);
    Op s1;
    Op s2;
    Op r;
    p.a.send(s1, p.to_b, 7, contiguous(one.data(), 100), 0, 1);
    p.a.send(s2, p.to_b, 7, contiguous(two.data(), 100), 0, 5000000);
    p.b.recv(r, p.to_a, 7, contiguous(in.data(), 100), 0, 5000000);
    ASSERT_TRUE(p.until([&] { return s1.complete() && s2.complete() && r.complete(); }));
    EXPECT_EQ(in, two);
    EXPECT_EQ(linnet_space_close(p.b.context(), 1), LINNET_OK);
}

TEST(Waist, DepartedPeersMessagesCanStillBeReceivedAndItsLossIsReported)
{
    Endpoint b;
    std::vector<unsigned char> in(100);
    const auto out = pattern(100);
    Op never;
    {
        Endpoint a;
        const linnet_peer_t to_b = a.add(b);
        const linnet_peer_t to_a = b.add(a);
        Op s;
        ASSERT_EQ(a.send(s, to_b, 7, contiguous(out.data(), 100)), LINNET_OK);
        b.recv(never, to_a, 99, contiguous(in.data(), 100));
        const linnet_match_t what{to_a, 1, 7, 0};
        linnet_result_t seen{};
        ASSERT_TRUE(drive({&a, &b}, [&] { return linnet_probe(b.context(), &what, &seen) == LINNET_OK; }));
    }
    ASSERT_TRUE(drive({&b}, [&] { return never.done == 1; }));
    EXPECT_EQ(never.status(), LINNET_ERR_PEER_DOWN);
    Op r;
    EXPECT_EQ(b.recv(r, 0, 7, contiguous(in.data(), 100)), LINNET_OK);
    EXPECT_EQ(in, out);
    Op late;
    EXPECT_EQ(b.send(late, 0, 7, contiguous(out.data(), 100)), LINNET_ERR_PEER_DOWN);
}

TEST(Waist, WrongArgumentsAreRefused)
{
    Endpoint a;
    Op op;
    char byte = 0;
    EXPECT_EQ(a.send(op, 12345, 1, contiguous(&byte, 1)), LINNET_ERR_INVALID);
    EXPECT_EQ(a.recv(op, 12345, 1, contiguous(&byte, 1)), LINNET_ERR_INVALID);
    linnet_name_t rubbish{};
    linnet_peer_t p = 0;
    EXPECT_EQ(linnet_peer_add(a.context(), &rubbish, &p), LINNET_ERR_INVALID);
    linnet_open_options_t o{};
    linnet_context_t* c = nullptr;
    EXPECT_EQ(linnet_context_open(&o, &c), LINNET_ERR_INVALID);
}

}   // namespace
}   // namespace linnet::testing

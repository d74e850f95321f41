// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A client like a libfabric provider: addresses, unknown senders, a descriptor to wait on, any ignore mask.
#include <poll.h>

#include <algorithm>

#include "integration/waist/waist.h"

namespace linnet::testing {
namespace {

// "127.0.0.1 port 4711" -> {"127.0.0.1", "4711"}
std::pair<std::string, std::string> node_and_service(const Endpoint& e)
{
    const linnet_name_t n = e.name();
    char text[128];
    EXPECT_EQ(linnet_name_text(&n, text, sizeof text), LINNET_OK);
    const std::string s{text};
    const auto space = s.find(' ');
    return {s.substr(0, space), s.substr(s.rfind(' ') + 1)};
}

linnet_peer_t add_by_address(Endpoint& e, const Endpoint& other)
{
    const auto [node, service] = node_and_service(other);
    linnet_peer_t p = LINNET_PEER_UNKNOWN;
    EXPECT_EQ(linnet_peer_add_address(e.context(), node.c_str(), service.c_str(), &p), LINNET_OK);
    return p;
}

TEST(ProviderLikeClient, PeersByNodeAndServiceExchangeMessagesBothWays)
{
    Endpoint a;
    Endpoint b;
    const linnet_peer_t to_b = add_by_address(a, b);
    const linnet_peer_t to_a = add_by_address(b, a);
    std::vector<unsigned char> in(200000);
    for (const std::size_t size : {10u, 200000u}) {
        const auto out = pattern(size);
        Op send;
        Op recv;
        b.recv(recv, to_a, 1, contiguous(in.data(), in.size()));
        a.send(send, to_b, 1, contiguous(out.data(), size));
        ASSERT_TRUE(drive({&a, &b}, [&] { return send.complete() && recv.complete(); }));
        EXPECT_EQ(recv.request.result.peer, to_a);
        EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
        Op back_recv;
        Op back_send;
        a.recv(back_recv, to_b, 2, contiguous(in.data(), in.size()));
        b.send(back_send, to_a, 2, contiguous(out.data(), size));
        ASSERT_TRUE(drive({&a, &b}, [&] { return back_send.complete() && back_recv.complete(); }));
        EXPECT_EQ(back_recv.request.result.peer, to_b);
    }
}

TEST(ProviderLikeClient, MessageOfAPeerNeverAddedHasAnUnknownSourceUntilItIsAdded)
{
    Endpoint a;
    Endpoint b;
    const linnet_peer_t to_b = a.add(b);
    const auto out = pattern(50);
    std::vector<unsigned char> in(50);
    Op first;
    Op second;
    Op recv;
    a.send(first, to_b, 1, contiguous(out.data(), 50));
    a.send(second, to_b, 2, contiguous(out.data(), 50));
    b.recv(recv, LINNET_PEER_ANY, 1, contiguous(in.data(), 50));
    ASSERT_TRUE(drive({&a, &b}, [&] { return first.complete() && recv.complete(); }));
    EXPECT_EQ(recv.request.result.peer, LINNET_PEER_UNKNOWN);
    const linnet_match_t any{LINNET_PEER_ANY, 1, 2, 0};
    linnet_result_t seen{};
    ASSERT_TRUE(drive({&a, &b}, [&] { return linnet_probe(b.context(), &any, &seen) == LINNET_OK; }));

    const linnet_peer_t to_a = b.add(a);   // its waiting message matches a receive that names it
    Op named;
    EXPECT_EQ(b.recv(named, to_a, 2, contiguous(in.data(), 50)), LINNET_OK);
    EXPECT_EQ(named.request.result.peer, to_a);
    EXPECT_TRUE(drive({&a, &b}, [&] { return second.complete(); }));
}

TEST(ProviderLikeClient, DescriptorIsReadableWhenProgressWouldDoSomething)
{
    Endpoint a;
    Endpoint b;
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    int fd = -1;
    ASSERT_EQ(linnet_wait_fd(b.context(), &fd), LINNET_OK);
    const auto out = pattern(64);
    std::vector<unsigned char> in(64);
    for (int round = 0; round < 50; ++round) {
        Op recv;
        ASSERT_EQ(b.recv(recv, to_a, 1, contiguous(in.data(), 64)), LINNET_IN_PROGRESS);
        Op send;
        a.send(send, to_b, 1, contiguous(out.data(), 64));
        const auto end = std::chrono::steady_clock::now() + 5s;
        while (!(send.complete() && recv.complete()) && std::chrono::steady_clock::now() < end) {
            a.progress();
            if (linnet_wait_fd_arm(b.context()) == LINNET_OK) {
                pollfd p{fd, POLLIN, 0};
                ::poll(&p, 1, round == 0 ? 20 : 1000);
            }
            b.progress();
        }
        ASSERT_TRUE(recv.complete()) << round;
    }
}

TEST(ProviderLikeClient, EveryIgnoreMaskMatchesByItsBits)
{
    Endpoint a;
    Endpoint b;
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    const auto out = pattern(8);
    std::vector<unsigned char> in(8);
    const struct {
        std::uint64_t sent, want, ignore;
        bool match;
    } cases[] = {
        {0x1234, 0x1200, 0xff, true},
        {0x1234, 0x1200, 0x0f, false},
        {0xffff000000000001, 1, 0xffff000000000000, true},
        {0x8000000000000000, 0, ~0ull, true},
        {0x5555, 0xaaaa, 0xffff, true},
        {0x5555, 0xaaaa, 0xfffe, false},
    };
    for (const auto& c : cases) {
        Op recv;
        Op send;
        ASSERT_EQ(b.recv(recv, to_a, c.want, contiguous(in.data(), 8), c.ignore), LINNET_IN_PROGRESS);
        a.send(send, to_b, c.sent, contiguous(out.data(), 8));
        Op catch_all;
        if (!c.match) {
            b.recv(catch_all, to_a, c.sent, contiguous(in.data(), 8));
        }
        ASSERT_TRUE(drive({&a, &b}, [&] { return send.complete() && (c.match ? recv.complete() : catch_all.complete()); }));
        EXPECT_EQ(recv.complete(), c.match);
        if (!c.match) {
            EXPECT_EQ(linnet_cancel(b.context(), &recv.request), LINNET_OK);
        }
    }
}

// A client that was told where it listens, and not that this is itself.
TEST(ProviderLikeClient, OwnNodeAndServiceReachOneself)
{
    Endpoint a;
    const linnet_peer_t self = add_by_address(a, a);
    const linnet_name_t name = a.name();
    linnet_peer_t by_name = LINNET_PEER_UNKNOWN;
    EXPECT_EQ(linnet_peer_add(a.context(), &name, &by_name), LINNET_OK);
    EXPECT_EQ(by_name, self);
    std::vector<unsigned char> in(200000);
    for (const std::size_t size : {10u, 200000u}) {
        const auto out = pattern(size);
        Op send;
        Op recv;
        a.recv(recv, self, 1, contiguous(in.data(), in.size()));
        a.send(send, self, 1, contiguous(out.data(), size));
        ASSERT_TRUE(drive({&a}, [&] { return send.complete() && recv.complete(); }, 5s));
        EXPECT_EQ(recv.request.result.peer, self);
        EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin()));
    }
}

TEST(ProviderLikeClient, AddressWhereNobodyListensEndsInAnErrorThatNamesIt)
{
    Endpoint a{{{"connect_timeout", "500ms"}}};
    a.expect_complaints();
    std::string node;
    std::string service;
    {
        Endpoint gone;
        std::tie(node, service) = node_and_service(gone);
    }
    linnet_peer_t p = 0;
    ASSERT_EQ(linnet_peer_add_address(a.context(), node.c_str(), service.c_str(), &p), LINNET_OK);
    const auto out = pattern(100000);
    Op send;
    a.send(send, p, 1, contiguous(out.data(), out.size()));
    ASSERT_TRUE(drive({&a}, [&] { return send.complete(); }, 5s));
    EXPECT_EQ(send.status(), LINNET_ERR_UNREACHABLE);
    EXPECT_NE(a.complaints().find("port " + service), std::string::npos) << a.complaints();
}

}   // namespace
}   // namespace linnet::testing

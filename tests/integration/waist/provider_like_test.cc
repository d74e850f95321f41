// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A client like a libfabric provider: addresses, unknown senders, a descriptor to wait on, any ignore mask.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "capi/linnet_watch.h"
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

// A host that matches by itself: it posts no receives, is told of messages, and claims them.
struct Watcher {
    explicit Watcher(Endpoint& e) : endpoint{e} {}
    Endpoint& endpoint;
    std::uint32_t news{0};
    int calls{0};
    std::vector<std::pair<linnet_message_t*, linnet_result_t>> taken;
    linnet_status_t watch()
    {
        return linnet_space_watch(endpoint.context(), 1, [](void* arg, std::uint32_t space, std::uint32_t what) noexcept {
            auto& w = *static_cast<Watcher*>(arg);
            EXPECT_EQ(space, 1u);
            ++w.calls;
            w.news |= what;
            const linnet_match_t all{LINNET_PEER_ANY, 1, 0, ~0ull};
            linnet_message_t* message = nullptr;
            linnet_result_t result{};
            while (linnet_probe_claim(w.endpoint.context(), &all, &message, &result) == LINNET_OK) {
                w.taken.emplace_back(message, result);
            }
        }, this);
    }
    linnet_status_t receive(std::size_t i, Op& op, const linnet_data_t& data)
    {
        linnet_recv_t r{};
        r.data = data;
        r.done = Op::on_done;
        r.done_arg = &op;
        return op.started = linnet_message_recv(endpoint.context(), taken[i].first, &r, &op.request);
    }
};

TEST(ProviderLikeClient, WhoWatchesASpaceIsToldOfEveryMessageInOrder)
{
    const auto out = pattern(300000);
    std::vector<std::unique_ptr<Op>> sends;   // not all of them are complete before their context ends
    Endpoint a;
    Endpoint b;
    Watcher w{b};
    const linnet_peer_t to_b = a.add(b);
    const std::size_t sizes[] = {8, 3000, 40000, 300000};
    const auto send = [&](unsigned i, std::uint32_t space) {
        sends.push_back(std::make_unique<Op>());
        a.send(*sends.back(), to_b, i, contiguous(out.data(), sizes[i % 4]), 0, space);
    };
    send(0, 1);   // before anybody watches
    const linnet_match_t any{LINNET_PEER_ANY, 1, 0, 0};
    linnet_result_t seen{};
    ASSERT_TRUE(drive({&a, &b}, [&] { return linnet_probe(b.context(), &any, &seen) == LINNET_OK; }));
    ASSERT_EQ(w.watch(), LINNET_OK);
    ASSERT_TRUE(drive({&b}, [&] { return w.taken.size() == 1; }));
    for (unsigned i = 1; i < 40; ++i) {
        send(i, i % 5 == 0 ? 2 : 1);   // what is in another space is not told
    }
    ASSERT_TRUE(drive({&a, &b}, [&] { return w.taken.size() == 33; }));
    EXPECT_EQ(w.news, LINNET_NEWS_MESSAGES);
    std::vector<unsigned char> in(out.size());
    unsigned i = 0;
    for (std::size_t k = 0; k < w.taken.size(); ++k, ++i) {
        i += i % 5 == 0 && i != 0 ? 1 : 0;
        EXPECT_EQ(w.taken[k].second.match_bits, i);
        EXPECT_EQ(w.taken[k].second.length, sizes[i % 4]);
        std::fill(in.begin(), in.end(), 0);
        Op op;
        w.receive(k, op, contiguous(in.data(), in.size()));
        ASSERT_TRUE(drive({&a, &b}, [&] { return op.complete(); }));
        EXPECT_EQ(op.status(), LINNET_OK);
        EXPECT_TRUE(std::equal(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(sizes[i % 4]), in.begin())) << k;
    }
    linnet_space_watch(b.context(), 1, nullptr, nullptr);
    const int calls = w.calls;
    send(0, 1);
    ASSERT_TRUE(drive({&a, &b}, [&] { return linnet_probe(b.context(), &any, &seen) == LINNET_OK; }));
    EXPECT_FALSE(drive({&b}, [&] { return w.calls != calls; }, 50ms));
}

TEST(ProviderLikeClient, SourceOfAClaimedMessageIsKnownOnceItsPeerIsAdded)
{
    Endpoint a;
    Endpoint b;
    Watcher w{b};
    ASSERT_EQ(w.watch(), LINNET_OK);
    const linnet_peer_t to_b = a.add(b);
    const auto out = pattern(50);
    Op send;
    a.send(send, to_b, 1, contiguous(out.data(), 50));
    ASSERT_TRUE(drive({&a, &b}, [&] { return w.taken.size() == 1; }));
    EXPECT_EQ(w.taken[0].second.peer, LINNET_PEER_UNKNOWN);
    linnet_peer_t from = 0;
    EXPECT_EQ(linnet_message_peer(b.context(), w.taken[0].first, &from), LINNET_OK);
    EXPECT_EQ(from, LINNET_PEER_UNKNOWN);
    const linnet_peer_t to_a = b.add(a);
    EXPECT_EQ(linnet_message_peer(b.context(), w.taken[0].first, &from), LINNET_OK);
    EXPECT_EQ(from, to_a);
    std::vector<unsigned char> in(50);
    Op op;
    EXPECT_EQ(w.receive(0, op, contiguous(in.data(), 50)), LINNET_OK);
    EXPECT_EQ(op.request.result.peer, to_a);
    EXPECT_EQ(in, out);
}

TEST(ProviderLikeClient, WhoWatchesASpaceIsWokenByItsMessagesAndToldOfLostPeers)
{
    Endpoint a;
    Endpoint b;
    a.expect_complaints();
    b.expect_complaints();
    Watcher w{b};
    ASSERT_EQ(w.watch(), LINNET_OK);
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    int fd = -1;
    ASSERT_EQ(linnet_wait_fd(b.context(), &fd), LINNET_OK);
    const auto out = pattern(64);
    for (std::size_t round = 1; round <= 50; ++round) {
        Op send;
        a.send(send, to_b, 1, contiguous(out.data(), 64));
        const auto end = std::chrono::steady_clock::now() + 5s;
        while (w.taken.size() != round && std::chrono::steady_clock::now() < end) {
            a.progress();
            if (linnet_wait_fd_arm(b.context()) == LINNET_OK) {
                pollfd p{fd, POLLIN, 0};
                ::poll(&p, 1, 1000);
            }
            b.progress();
        }
        ASSERT_EQ(w.taken.size(), round);
    }
    EXPECT_EQ(w.news, LINNET_NEWS_MESSAGES);
    std::vector<unsigned char> in(64);
    for (std::size_t i = 0; i < w.taken.size(); ++i) {
        Op op;
        EXPECT_EQ(w.receive(i, op, contiguous(in.data(), in.size())), LINNET_OK);
    }
    EXPECT_EQ(linnet_peer_declare_dead(b.context(), to_a), LINNET_OK);
    ASSERT_TRUE(drive({&b}, [&] { return (w.news & LINNET_NEWS_PEER) != 0; }));
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

// Has a port, so that no other program's endpoint gets it, and does not listen there.
class PortWithoutListener {
public:
    explicit PortWithoutListener(const std::string& node)
    {
        at_.sin_family = AF_INET;
        EXPECT_EQ(::inet_pton(AF_INET, node.c_str(), &at_.sin_addr), 1);
        socklen_t bytes = sizeof at_;
        EXPECT_EQ(::bind(socket_, reinterpret_cast<const sockaddr*>(&at_), sizeof at_), 0);
        EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&at_), &bytes), 0);
    }
    ~PortWithoutListener() { ::close(socket_); }
    PortWithoutListener(const PortWithoutListener&) = delete;
    PortWithoutListener& operator=(const PortWithoutListener&) = delete;
    [[nodiscard]] unsigned port() const { return ntohs(at_.sin_port); }

private:
    int socket_{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
    sockaddr_in at_{};
};

TEST(ProviderLikeClient, AddressWhereNobodyListensEndsInAnErrorThatNamesIt)
{
    Endpoint a{{{"connect_timeout", "500ms"}}};
    a.expect_complaints();
    const std::string node = node_and_service(a).first;
    const PortWithoutListener nobody{node};
    const std::string service = std::to_string(nobody.port());
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

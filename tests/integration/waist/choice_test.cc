// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Which transport carries what when nobody chose: shared memory within the host, and TCP where that cannot be had, or breaks.
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <deque>
#include <thread>

#include "integration/waist/waist.h"

namespace linnet::testing {
namespace {

// Sends `count` messages each way, of sizes from nothing to a rendezvous, a window of them at a time, and checks every byte.
class Traffic {
public:
    Traffic(Endpoint& a, Endpoint& b) : a_{a}, b_{b}, to_b_{a.add(b)}, to_a_{b.add(a)} {}

    void exchange(unsigned count, const std::function<void(unsigned)>& between = nullptr)
    {
        for (unsigned n = 0; n < count; ++n) {
            start(a_, to_b_, b_, to_a_, size_of(n));
            start(b_, to_a_, a_, to_b_, size_of(n + 1));
            ++number_;
            if (between) {
                between(n);
            }
            ASSERT_TRUE(drain(8)) << "message " << number_;
        }
        ASSERT_TRUE(drain(0)) << "the last messages";
    }

private:
    struct Message {
        Op send;
        Op recv;
        std::vector<unsigned char> out;
        std::vector<unsigned char> in;
    };
    static std::size_t size_of(unsigned n)
    {
        constexpr std::array<std::size_t, 7> kSizes{0, 8, 100, 4000, 40'000, 200'000, 3'000'001};
        return kSizes[n % kSizes.size()];
    }
    void start(Endpoint& from, linnet_peer_t to, Endpoint& at, linnet_peer_t source, std::size_t bytes)
    {
        Message& m = open_.emplace_back();
        m.out = pattern(bytes, number_);
        m.in.resize(bytes + 1);
        ASSERT_GE(at.recv(m.recv, source, number_, contiguous(m.in.data(), bytes)), 0);
        ASSERT_GE(from.send(m.send, to, number_, contiguous(m.out.data(), bytes)), 0);
    }
    // Until at most `left` are under way.
    bool drain(std::size_t left)
    {
        return drive({&a_, &b_}, [&] {
            while (!open_.empty() && open_.front().send.complete() && open_.front().recv.complete()) {
                Message& m = open_.front();
                EXPECT_EQ(m.send.status(), LINNET_OK);
                EXPECT_EQ(m.recv.status(), LINNET_OK);
                EXPECT_EQ(m.recv.length(), m.out.size());
                m.in.resize(m.out.size());
                EXPECT_TRUE(m.in == m.out) << m.out.size() << " bytes";
                open_.pop_front();
            }
            return open_.size() <= left;
        });
    }
    Endpoint& a_;
    Endpoint& b_;
    linnet_peer_t to_b_;
    linnet_peer_t to_a_;
    unsigned number_{1};
    std::deque<Message> open_;
};

// The Unix sockets of this process: links, or the doors at which they are opened.
enum class Which { kLinks, kDoors };
std::vector<int> unix_sockets(Which which)
{
    std::vector<int> found;
    for (int fd = 0; fd < 1024; ++fd) {
        int domain = 0;
        int type = 0;
        int listens = 0;
        ::socklen_t bytes = sizeof domain;
        if (::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX &&
            ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 && type == SOCK_SEQPACKET &&
            ::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &bytes) == 0 && (listens != 0) == (which == Which::kDoors)) {
            found.push_back(fd);
        }
    }
    return found;
}
const std::vector<linnet_setting_t> kAuto{{"transports", "auto"}};

const std::vector<linnet_setting_t> kReads{{"transports", "auto"}, {"shm_pull", "on"}};

TEST(Choice, PeersOfThisHostShareMemory)
{
    Endpoint a{kReads};
    Endpoint b{kReads};
    Traffic{a, b}.exchange(40);
    for (const Endpoint* e : {&a, &b}) {
        EXPECT_GT(e->counter("shm_tx_bytes"), 10'000'000u);
        EXPECT_GT(e->counter("shm_pulled_bytes"), 10'000'000u) << "long messages were copied twice";
        EXPECT_EQ(e->counter("tcp_tx_bytes"), 0u);
        EXPECT_EQ(e->counter("tcp_connects") + e->counter("tcp_accepts"), 0u);
    }
}

TEST(Choice, WithoutTheRightToReadMemoryLongMessagesAreCopiedTwice)
{
    Endpoint a{{{"transports", "auto"}, {"shm_pull", "off"}}};
    Endpoint b{kReads};
    Traffic{a, b}.exchange(40);
    EXPECT_EQ(a.counter("shm_pulled_bytes"), 0u);
    EXPECT_GT(a.counter("shm_rx_bytes"), 10'000'000u);
    EXPECT_GT(b.counter("shm_pulled_bytes"), 10'000'000u) << "b may read, a may not";
    EXPECT_EQ(a.counter("tcp_tx_bytes") + b.counter("tcp_tx_bytes"), 0u);
}

// Whether reading is cheaper than copying is measured, and differs; but where a host has learned to leave for long behind a post, its peer reads what it sent,
// without it.
TEST(Choice, WhatAHostSendsThatLeavesIsReadWithoutIt)
{
    constexpr std::size_t kBytes = 1 << 20;
    constexpr unsigned kRounds = 8;
    Endpoint a{kAuto};
    Endpoint b{kAuto};
    Traffic{a, b}.exchange(1);   // the link is up
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    const std::vector<unsigned char> out = pattern(kBytes, 1);
    const std::uint64_t before = b.counter("shm_pulled_bytes");
    for (unsigned round = 0; round < kRounds; ++round) {
        std::vector<unsigned char> in(kBytes);
        Op send;
        Op recv;
        ASSERT_GE(b.recv(recv, to_a, round, contiguous(in.data(), kBytes)), 0);
        ASSERT_GE(a.send(send, to_b, round, contiguous(const_cast<unsigned char*>(out.data()), kBytes)), 0);
        ASSERT_TRUE(drive({&b}, [&] { return recv.complete(); })) << round;
        std::this_thread::sleep_for(std::chrono::milliseconds{2});
        ASSERT_TRUE(drive({&a}, [&] { return send.complete(); })) << round;
        EXPECT_EQ(in, out) << round;
    }
    EXPECT_GE(b.counter("shm_pulled_bytes") - before, (kRounds - 3) * kBytes);
}

// Whoever speaks first.
TEST(Choice, PeerWithoutSharedMemoryIsReachedOverTcp)
{
    Endpoint a{kAuto};
    Endpoint b{{{"transports", "tcp"}}};
    Traffic{a, b}.exchange(20);
    for (const Endpoint* e : {&a, &b}) {
        EXPECT_GT(e->counter("tcp_tx_bytes"), 1'000'000u);
        EXPECT_EQ(e->counter("shm_tx_bytes"), 0u);
    }
    Endpoint c{{{"transports", "tcp"}}};
    Traffic{c, a}.exchange(20);
    EXPECT_EQ(a.counter("shm_tx_bytes"), 0u);
}

TEST(Choice, DoorThatIsShutMeansTcp)
{
    Endpoint a{kAuto};
    Endpoint b{kAuto};
    ASSERT_EQ(unix_sockets(Which::kDoors).size(), 2u);
    shut(unix_sockets(Which::kDoors));
    Traffic{a, b}.exchange(20);
    EXPECT_GT(a.counter("tcp_tx_bytes"), 1'000'000u);
    EXPECT_EQ(a.counter("shm_tx_bytes"), 0u);
}

TEST(Choice, BrokenLinksAreOpenedAgainAndNothingIsLostOrDoubled)
{
    Endpoint a{kAuto};
    Endpoint b{kAuto};
    Traffic traffic{a, b};
    traffic.exchange(7);
    for (unsigned lap = 0; lap < 6; ++lap) {
        traffic.exchange(12, [&](unsigned n) {
            if (n == lap + 3) {
                shut(unix_sockets(Which::kLinks));
            }
        });
        ASSERT_FALSE(::testing::Test::HasFailure()) << "lap " << lap;
    }
    EXPECT_GE(a.counter("reconnects"), 5u);
    EXPECT_EQ(a.counter("tcp_tx_bytes"), 0u) << "shared memory is still to be had";
}

TEST(Choice, BrokenLinksGoOnOverTcpWhenSharedMemoryIsNotToBeHadAnyMore)
{
    Endpoint a{kAuto};
    Endpoint b{kAuto};
    Traffic traffic{a, b};
    traffic.exchange(7);
    EXPECT_EQ(a.counter("tcp_tx_bytes"), 0u);
    traffic.exchange(20, [](unsigned n) {
        if (n == 5) {
            shut(unix_sockets(Which::kDoors));
            shut(unix_sockets(Which::kLinks));
        }
    });
    EXPECT_GT(a.counter("tcp_tx_bytes"), 1'000'000u);
    // Whoever hears of the new link before the end of the old one takes it for a move.
    EXPECT_EQ(a.counter("reconnects") + a.counter("path_moves"), 1u);
}

}   // namespace
}   // namespace linnet::testing

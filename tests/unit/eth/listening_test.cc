// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EthPort between two hosts: who listens to raw Ethernet, from when on, and how many at a time. A case that may not make network namespaces is skipped.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "support/net_namespace.h"
#include "support/test_log.h"
#include "transport/eth/eth_port.h"
#include "wire/frame.h"

namespace linnet::eth {
namespace {

using frames::kLaneChannel;
using testing::NamespacePair;

class ListeningTest : public ::testing::Test {
protected:
    struct Node {
        unsigned host{0};
        Settings settings;
        Stats stats;
        std::unique_ptr<EthPort> port;
        wire::EndpointName name;
    };
    void SetUp() override
    {
        std::string why;
        hosts_ = NamespacePair::make(why);
        if (hosts_ == nullptr) {
            GTEST_SKIP() << why;
        }
    }
    std::unique_ptr<Node> open(unsigned host, const char* transports, const char* listeners)
    {
        auto n = std::make_unique<Node>();
        n->host = host;
        std::string error;
        EXPECT_EQ(n->settings.set("net_include", "eth0", error), Status::kOk) << error;
        EXPECT_EQ(n->settings.set("transports", transports, error), Status::kOk) << error;
        EXPECT_EQ(n->settings.set("eth_listeners", listeners, error), Status::kOk) << error;
        n->port = std::make_unique<EthPort>(n->settings, testing::test_log(), n->stats);
        n->name.endpoint_id.set(++ids_);
        const NamespacePair::Scope there{*hosts_, host};
        EXPECT_EQ(n->port->open(n->name), Status::kOk);
        EXPECT_TRUE(n->port->usable());
        return n;
    }
    static frames::Candidate way(const Node& from, const wire::EndpointName& to)
    {
        std::array<frames::Candidate, wire::kNameAddressesMax> ways;
        EXPECT_GE(from.port->routes(to, ways), 1u);
        EXPECT_EQ(ways[0].refusal, "");
        return ways[0];
    }
    // As a link's opening begins, with a hello.
    void call(Node& from, const wire::EndpointName& to)
    {
        const NamespacePair::Scope there{*hosts_, from.host};
        const frames::Candidate w = way(from, to);
        std::string why_not;
        EXPECT_TRUE(from.port->prepare_call(to, {&w, 1}, why_not)) << why_not;
        std::array<std::byte, 300> frame{};
        wire::FrameHead head;
        head.kind = wire::FrameKind::kOpen;
        head.bytes.set(frame.size() - sizeof head);
        wire::OpenHead open;
        open.step = wire::OpenStep::kHello;
        std::memcpy(frame.data(), &head, sizeof head);
        std::memcpy(frame.data() + sizeof head, &open, sizeof open);
        from.port->send_single(kLaneChannel, w.route, frame);
    }
    // May it call, and for that listen?
    bool may_call(Node& n, const wire::EndpointName& callee, std::string& why_not)
    {
        const NamespacePair::Scope there{*hosts_, n.host};
        const frames::Candidate w = way(n, callee);
        return n.port->prepare_call(callee, {&w, 1}, why_not);
    }
    // Frames that came within a pass; within many.
    std::size_t pass(Node& n)
    {
        const NamespacePair::Scope there{*hosts_, n.host};
        std::array<frames::RxFrame, 8> frames;
        return n.port->receive(kLaneChannel, frames);
    }
    std::size_t passes(Node& n)
    {
        const NamespacePair::Scope there{*hosts_, n.host};
        const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds{3};
        std::array<frames::RxFrame, 8> frames;
        std::size_t came = 0;
        for (unsigned i = 0; i < 5000 || std::chrono::steady_clock::now() < until; ++i) {
            came += n.port->receive(kLaneChannel, frames);
        }
        return came;
    }
    static bool readable(const Node& n)
    {
        pollfd p{n.port->wait_descriptor(), POLLIN, 0};
        return ::poll(&p, 1, 1000) == 1;
    }
    // Packet sockets of the host that are bound to the EtherType, as the kernel lists them.
    unsigned listeners(unsigned host)
    {
        const NamespacePair::Scope there{*hosts_, host};
        std::ifstream list{"/proc/thread-self/net/packet"};
        unsigned n = 0;
        for (std::string line; std::getline(list, line);) {
            n += line.find(" 88b5 ") != std::string::npos ? 1 : 0;
        }
        return n;
    }
    std::unique_ptr<NamespacePair> hosts_;
    std::uint64_t ids_{100};
};

TEST_F(ListeningTest, WhoIsCalledListensFromTheKnockOnAndTheCallerFromTheAnswerOn)
{
    const auto a = open(0, "eth", "8");
    const auto b = open(1, "eth", "8");
    EXPECT_EQ(passes(*a) + passes(*b), 0u);
    call(*a, b->name);
    EXPECT_EQ(listeners(0) + listeners(1), 0u);
    EXPECT_EQ(passes(*b), 0u);
    EXPECT_EQ(listeners(1), 1u) << "the knock was heard";
    EXPECT_EQ(a->stats.total(Counter::kEthTxBytes), 0u) << "a hello that nobody hears looks like one that is too long for the path";
    EXPECT_EQ(listeners(0), 0u);
    EXPECT_EQ(passes(*a), 0u);
    EXPECT_EQ(listeners(0), 1u);
    call(*a, b->name);
    EXPECT_EQ(passes(*b), 1u);
    call(*b, a->name);   // who listens already has to know it of the other one too
    EXPECT_EQ(passes(*a), 0u);
    EXPECT_EQ(passes(*b), 0u);
    call(*b, a->name);
    EXPECT_EQ(passes(*a), 1u);
}

// A hello leaves only after the answer, so who listens already must not be late with it, nor the one that waits for it.
TEST_F(ListeningTest, ListenersThatSeldomPollHearEachOtherSoon)
{
    constexpr unsigned kFew = 30;
    const auto seldom = [this](Node& n) {
        for (unsigned i = 0; i < kFew; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            EXPECT_EQ(pass(n), 0u);
        }
    };
    const auto a = open(0, "eth", "8");
    const auto b = open(1, "eth", "8");
    const auto c = open(0, "eth", "8");
    call(*a, b->name);
    call(*c, b->name);
    seldom(*b);
    seldom(*a);
    seldom(*c);
    EXPECT_EQ(listeners(0), 2u);
    EXPECT_EQ(listeners(1), 1u);
    const auto d = open(1, "eth", "8");
    call(*a, d->name);
    seldom(*d);
    seldom(*a);
    call(*a, d->name);
    EXPECT_EQ(passes(*d), 1u);
}

TEST_F(ListeningTest, KnockWakesASleeper)
{
    const auto a = open(0, "eth", "8");
    const auto b = open(1, "eth", "8");
    EXPECT_TRUE(b->port->prepare_sleep());
    call(*a, b->name);
    ASSERT_TRUE(readable(*b));
    b->port->finish_sleep();
    EXPECT_EQ(pass(*b), 0u);
    EXPECT_EQ(listeners(1), 1u) << "heard in the first pass";
    EXPECT_TRUE(b->port->prepare_sleep());
    EXPECT_TRUE(a->port->prepare_sleep());
    ASSERT_TRUE(readable(*a)) << "by the answer";
    a->port->finish_sleep();
    EXPECT_EQ(pass(*a), 0u);
    call(*a, b->name);
    ASSERT_TRUE(readable(*b)) << "now by the frame";
    EXPECT_FALSE(b->port->prepare_sleep());
}

// Before the filter of a socket is there it would take anything, for whoever has its descriptor.
TEST_F(ListeningTest, NoSocketIsEverWithoutItsFilter)
{
    PacketRing::Config config;
    const NamespacePair::Scope there{*hosts_, 0};
    PacketRing::Opened o = PacketRing::make(config);
    ASSERT_EQ(o.error, 0) << o.what;
    const int off = 0;
    EXPECT_NE(::setsockopt(o.ring.descriptor(), SOL_SOCKET, SO_DETACH_FILTER, &off, sizeof off), 0) << "locked";
    EXPECT_EQ(errno, EPERM);
}

TEST_F(ListeningTest, OneInterfaceThatFailsLeavesTheSocketForALaterTry)
{
    const NamespacePair::Scope there{*hosts_, 0};
    PacketRing::Config config;
    config.interface_index = 4711;   // gone
    PacketRing::Opened o = PacketRing::make(config);
    ASSERT_EQ(o.error, 0) << o.what;
    EXPECT_EQ(o.ring.prepare(config).error, 0);
    EXPECT_EQ(o.ring.listen(config).error, ENODEV);
    EXPECT_FALSE(o.ring.listens());
    config.interface_index = ether_interface("eth0").index;
    EXPECT_EQ(o.ring.listen(config).error, 0);
    EXPECT_TRUE(o.ring.listens());
}

TEST_F(ListeningTest, WhoWasNotToldTheNameKnocksInVain)
{
    const auto a = open(0, "eth", "8");
    const auto b = open(1, "eth", "8");
    wire::EndpointName guessed = b->name;
    guessed.endpoint_id.set(1);
    call(*a, guessed);
    EXPECT_EQ(passes(*b), 0u);
    EXPECT_EQ(listeners(1), 0u);
}

TEST_F(ListeningTest, SoManyOfAHostListenAtATimeWhereTheTransportIsChosenForThem)
{
    const auto named = open(0, "eth,tcp", "1");
    auto first = open(0, "auto", "1");
    const auto second = open(0, "auto", "1");
    const auto elsewhere = open(1, "auto", "1");
    std::string why_not;
    EXPECT_TRUE(may_call(*named, elsewhere->name, why_not)) << "not counted";
    EXPECT_TRUE(may_call(*first, elsewhere->name, why_not)) << why_not;
    EXPECT_TRUE(may_call(*elsewhere, first->name, why_not)) << why_not;
    EXPECT_FALSE(may_call(*second, elsewhere->name, why_not));
    EXPECT_NE(why_not.find("eth_listeners"), std::string::npos) << why_not;
    first.reset();
    EXPECT_TRUE(may_call(*second, elsewhere->name, why_not)) << why_not;
}

TEST_F(ListeningTest, WhoFindsNoPlaceTellsItsCallersWhoGiveTheirsBack)
{
    const auto a = open(0, "auto", "1");
    const auto next = open(0, "auto", "1");
    const auto b = open(1, "auto", "1");
    const auto other = open(1, "auto", "1");
    std::string why_not;
    ASSERT_TRUE(may_call(*other, a->name, why_not)) << why_not;
    call(*a, b->name);
    EXPECT_FALSE(may_call(*next, b->name, why_not)) << "the caller has the place of its host";
    EXPECT_EQ(passes(*b), 0u);
    EXPECT_EQ(listeners(1), 0u);
    frames::Evidence e;
    EXPECT_FALSE(a->port->next_evidence(e));
    EXPECT_EQ(passes(*a), 0u);
    ASSERT_TRUE(a->port->next_evidence(e));
    EXPECT_EQ(e.route, way(*a, b->name).route);
    EXPECT_EQ(e.error, EBUSY);
    EXPECT_FALSE(a->port->next_evidence(e));
    EXPECT_TRUE(may_call(*next, b->name, why_not)) << why_not;
}

TEST_F(ListeningTest, WithoutABoundAllListenFromTheStart)
{
    const auto a = open(0, "auto", "0");
    const auto b = open(1, "eth", "0");
    EXPECT_EQ(listeners(0), 1u);
    EXPECT_EQ(listeners(1), 1u);
    call(*a, b->name);
    EXPECT_EQ(passes(*b), 1u) << "without a knock, which may not come through";
}

}   // namespace
}   // namespace linnet::eth

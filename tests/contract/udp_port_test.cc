// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// UdpPort on loopback: the connected socket follows the peer that is talked to most, and nothing is lost or overtaken on the way there.
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "support/net_namespace.h"
#include "support/test_log.h"
#include "transport/udp/udp_port.h"
#include "wire/frame.h"

namespace linnet::contract {
namespace {

using frames::kLaneChannel;

class Node {
public:
    explicit Node(const char* interface = "lo")
    {
        std::string error;
        EXPECT_EQ(settings_.set("net_include", interface, error), Status::kOk) << error;
        port_ = std::make_unique<udp::UdpPort>(settings_, testing::test_log(), stats_);
        wire::EndpointName name;
        EXPECT_EQ(port_->open(name), Status::kOk);
        std::array<frames::Candidate, wire::kNameAddressesMax> ways;
        EXPECT_GE(port_->routes(name, ways), 1u);
        route = ways[0].route;
    }
    ~Node() { port_->close(); }
    // By another of its addresses.
    [[nodiscard]] frames::Route route_at(const InetAddress::Bytes& address) const
    {
        InetAddress at = InetAddress::v4(address);
        at.set_port(route.as<RawAddress>().address().port());
        return frames::Route::of(RawAddress::of(at));
    }
    void send(const Node& to, std::uint32_t number, std::span<const std::byte> payload = {})
    {
        wire::FrameHead head;
        head.kind = wire::FrameKind::kLane;
        head.number.set(number);
        head.bytes.set(static_cast<std::uint16_t>(payload.size()));
        flow::TxFrame f;
        f.payload = payload;
        f.route = const_cast<frames::Route*>(&to.route);
        f.head_bytes = sizeof head;
        std::memcpy(f.head.data(), &head, sizeof head);
        EXPECT_EQ(port_->send(kLaneChannel, {&f, 1}), 1u);
    }
    // In one call. Returns how many are gone.
    std::size_t send_row(const Node& to, std::uint32_t number, std::size_t count, std::span<const std::byte> payload)
    {
        std::vector<flow::TxFrame> row(count);
        for (flow::TxFrame& f : row) {
            wire::FrameHead head;
            head.kind = wire::FrameKind::kLane;
            head.number.set(number++);
            head.bytes.set(static_cast<std::uint16_t>(payload.size()));
            f.payload = payload;
            f.route = const_cast<frames::Route*>(&to.route);
            f.head_bytes = sizeof head;
            std::memcpy(f.head.data(), &head, sizeof head);
        }
        return port_->send(kLaneChannel, row);
    }
    void call(const Node& to, wire::OpenStep step = wire::OpenStep::kHello, std::uint64_t own = 1)
    {
        std::array<std::byte, 300> frame{};
        wire::FrameHead head;
        head.kind = wire::FrameKind::kOpen;
        head.bytes.set(frame.size() - sizeof head);
        std::memcpy(frame.data(), &head, sizeof head);
        wire::OpenHead open;
        open.step = step;
        open.own.set(own);
        std::memcpy(frame.data() + sizeof head, &open, sizeof open);
        port_->send_single(kLaneChannel, to.route, frame);
    }
    [[nodiscard]] std::size_t frame_bytes(const Node& to) const { return port_->frame_bytes(to.route); }
    void came_through(const Node& from, std::size_t bytes) { port_->came_through(from.route, bytes); }
    // Of what comes next.
    std::size_t length()
    {
        std::array<frames::RxFrame, 1> frames;
        while (port_->receive(kLaneChannel, frames) == 0) {
        }
        return frames[0].bytes.size();
    }
    // What has come from `from`, in its order.
    std::vector<std::uint32_t>& heard(const Node& from)
    {
        for (auto& [route_of, numbers] : heard_) {
            if (route_of == from.route) {
                return numbers;
            }
        }
        return heard_.emplace_back(from.route, std::vector<std::uint32_t>{}).second;
    }
    std::size_t poll()
    {
        std::array<frames::RxFrame, 64> frames;
        const std::size_t n = port_->receive(kLaneChannel, frames);
        for (const frames::RxFrame& f : std::span{frames}.first(n)) {
            wire::FrameHead head;
            std::memcpy(&head, f.bytes.data(), sizeof head);
            const frames::Route source = port_->source(kLaneChannel, f);
            for (auto& [route_of, numbers] : heard_) {
                if (route_of == source) {
                    numbers.push_back(head.number.get());
                }
            }
        }
        return n;
    }
    [[nodiscard]] frames::PortLimits limits() const { return port_->limits(kLaneChannel); }
    [[nodiscard]] std::uint64_t kernel_drops() const { return port_->kernel_drops(kLaneChannel); }
    [[nodiscard]] bool readable(int wait_ms)
    {
        pollfd p{port_->wait_descriptor(), POLLIN, 0};
        return ::poll(&p, 1, wait_ms) == 1;
    }
    bool prepare_sleep() { return port_->prepare_sleep(); }
    frames::Route route;

private:
    Settings settings_;
    Stats stats_;
    std::unique_ptr<udp::UdpPort> port_;
    std::vector<std::pair<frames::Route, std::vector<std::uint32_t>>> heard_;
};

TEST(UdpPort, SocketThatIsPolledForLongTellsNobodyUntilSomebodySleeps)
{
    Node a;
    Node b;
    std::uint32_t sent = 0;
    const auto come = [&] {
        while (b.heard(a).size() < sent) {
            b.poll();
        }
    };
    while (sent < 2 * frames::kMuteAfter) {
        a.send(b, sent++);
        come();
    }
    a.send(b, sent++);
    EXPECT_FALSE(b.readable(20));
    EXPECT_TRUE(b.prepare_sleep());
    EXPECT_TRUE(b.readable(2000));
    come();
    EXPECT_FALSE(b.readable(0));
    a.send(b, sent++);
    EXPECT_TRUE(b.readable(2000)) << "a sleeper is woken";
    come();
}

// As for a receiver that lags behind its senders: all that it lends is sent again as soon as it has been read.
TEST(UdpPort, QueueHoldsWhatItIsSaidToWhileItIsNeverEmpty)
{
    Node a;
    Node b;
    const frames::PortLimits limits = b.limits();
    const std::vector<std::byte> payload(limits.frame_bytes - sizeof(wire::FrameHead));
    const std::size_t all = 4 * std::size_t{limits.ring_frames};
    std::vector<std::uint32_t>& heard = b.heard(a);
    std::uint32_t sent = 0;
    while (sent < limits.ring_frames) {
        a.send(b, sent++, payload);
    }
    while (heard.size() < all) {
        const std::size_t read = b.poll();
        ASSERT_NE(read, 0u) << heard.size() << " of " << sent << " came, the kernel dropped " << b.kernel_drops();
        for (std::size_t i = 0; i < read && sent < all; ++i) {
            a.send(b, sent++, payload);
        }
    }
    EXPECT_EQ(b.kernel_drops(), 0u);
    EXPECT_EQ(heard.back(), all - 1);
}

// As a tunnel would that takes less than the interface: nothing on loopback does, so nothing comes back instead.
TEST(UdpPort, FramesThatOpenALinkAreAsLongAsThePathIsHopedToTake)
{
    Node a;
    Node b;
    const std::size_t hoped = a.frame_bytes(b);
    EXPECT_GT(hoped, 1472u) << "loopback takes jumbo frames";
    for (unsigned i = 0; i < frames::PathTable::kHopeful; ++i) {
        a.call(b);
        EXPECT_EQ(b.length(), hoped);
        EXPECT_EQ(b.frame_bytes(a), hoped);
    }
    a.call(b);
    EXPECT_EQ(b.length(), 1232u) << "none was answered";
    EXPECT_EQ(b.frame_bytes(a), hoped) << "anybody may have said it";
    b.came_through(a, 1232);
    EXPECT_EQ(b.frame_bytes(a), 1232u);
    EXPECT_EQ(a.frame_bytes(b), hoped) << "nothing came from there";
    b.call(a);
    EXPECT_EQ(a.length(), 1232u);
    a.came_through(b, 1232);
    EXPECT_EQ(a.frame_bytes(b), 1232u) << "the way there is taken to be like it";
    a.send(b, 1);
    EXPECT_EQ(b.length(), sizeof(wire::FrameHead)) << "only what opens a link is padded";
    a.call(b, wire::OpenStep::kWelcome, 0);
    EXPECT_EQ(b.length(), 300u) << "and that rejects";
    EXPECT_EQ(a.limits().hello_bytes, 1232u) << "none is ever shorter";
}

TEST(UdpPort, ConnectedSocketFollowsThePeerThatIsTalkedToMost)
{
    Node a;
    Node b;
    Node c;
    std::array<Node*, 2> peers{&b, &c};
    std::array<std::uint32_t, 2> sent{};
    for (Node* p : peers) {
        static_cast<void>(a.heard(*p));
        static_cast<void>(p->heard(a));
    }
    const auto talk = [&](unsigned which) {
        Node& p = *peers[which];
        const std::uint32_t number = sent[which]++;
        a.send(p, number);
        while (p.heard(a).size() <= number) {
            p.poll();
        }
        p.send(a, number);
        p.send(a, number + 1'000'000);
        if (number % 5 != 0) {   // now and then several wait
            while (a.heard(p).size() < std::size_t{2} * number + 2) {
                a.poll();
            }
        }
    };
    for (const unsigned rows : {100u, 3u, 200u, 70u, 1u, 65u}) {
        for (unsigned which = 0; which < 2; ++which) {
            for (unsigned i = 0; i < rows; ++i) {
                talk(which);
            }
        }
    }
    for (unsigned which = 0; which < 2; ++which) {
        Node& p = *peers[which];
        while (a.heard(p).size() < std::size_t{2} * sent[which]) {
            a.poll();
        }
        for (std::uint32_t i = 0; i < sent[which]; ++i) {
            ASSERT_EQ(p.heard(a)[i], i);
            ASSERT_EQ(a.heard(p)[2 * i], i);
            ASSERT_EQ(a.heard(p)[2 * i + 1], i + 1'000'000);
        }
    }
}

// Two hosts with two networks.
class UdpPortOfTwoNetworks : public ::testing::Test {
protected:
    void SetUp() override
    {
        std::string why;
        hosts = testing::NamespacePair::make(why);
        if (hosts == nullptr) {
            GTEST_SKIP() << why;
        }
        for (const unsigned host : {0u, 1u}) {
            ASSERT_TRUE(hosts->ip(host, "addr add 10.71.0." + std::to_string(host + 1) + "/24 dev eth0"));
        }
    }
    [[nodiscard]] std::unique_ptr<Node> made_on(unsigned host) const
    {
        const testing::NamespacePair::Scope there{*hosts, host};
        return std::make_unique<Node>("eth0");
    }

    std::unique_ptr<testing::NamespacePair> hosts;
};

// A peer on each: what a peer gets comes from the address that it knows.
TEST_F(UdpPortOfTwoNetworks, ConnectedSocketLeavesTheAddressOfItsFirstPeerBehind)
{
    const auto a = made_on(0);
    std::array<std::unique_ptr<Node>, 2> peers{made_on(1), made_on(1)};
    const std::array<frames::Route, 2> seen{a->route_at({10, 99, 0, 1}), a->route_at({10, 71, 0, 1})};
    peers[0]->route = peers[0]->route_at({10, 99, 0, 2});
    peers[1]->route = peers[1]->route_at({10, 71, 0, 2});
    std::uint32_t number = 0;
    for (unsigned which : {0u, 1u, 0u, 1u}) {
        Node& p = *peers[which];
        a->route = seen[which];
        static_cast<void>(p.heard(*a));
        static_cast<void>(a->heard(p));
        for (unsigned i = 0; i < 100; ++i) {
            const std::size_t heard = p.heard(*a).size();
            {
                const testing::NamespacePair::Scope there{*hosts, 0};
                a->send(p, number++);
            }
            for (unsigned tries = 0; tries < 100'000 && p.heard(*a).size() == heard; ++tries) {
                p.poll();
            }
            ASSERT_EQ(p.heard(*a).size(), heard + 1) << "frame " << i << " to peer " << which << " came from another address";
            const std::size_t answers = a->heard(p).size();
            {
                const testing::NamespacePair::Scope there{*hosts, 1};
                p.send(*a, number++);
            }
            for (unsigned tries = 0; tries < 100'000 && a->heard(p).size() == answers; ++tries) {
                a->poll();
            }
            ASSERT_EQ(a->heard(p).size(), answers + 1) << "answer " << i << " of peer " << which << " did not come";
        }
    }
}

// The kernel cuts for the others all the same.
TEST_F(UdpPortOfTwoNetworks, PathThatBecameNarrowIsNoReasonNotToCutForOthers)
{
    const auto a = made_on(0);
    const auto narrow = made_on(1);
    narrow->route = narrow->route_at({10, 71, 0, 2});
    ASSERT_TRUE(hosts->ip(0, "route replace 10.71.0.0/24 dev eth0 src 10.71.0.1 mtu 1300"));
    const testing::NamespacePair::Scope there{*hosts, 0};
    a->route = a->route_at({10, 71, 0, 1});
    static_cast<void>(narrow->heard(*a));
    const std::vector<std::byte> payload(a->limits().frame_bytes - sizeof(wire::FrameHead));
    for (unsigned row = 0; row < 3; ++row) {
        EXPECT_EQ(a->send_row(*narrow, row * 8, 8, payload), 8u);
        for (unsigned tries = 0; tries < 100'000 && narrow->heard(*a).size() < (row + 1) * 8; ++tries) {
            narrow->poll();
        }
        EXPECT_EQ(narrow->heard(*a).size(), (row + 1) * 8) << "in fragments";
    }
    const auto lines = testing::logged_lines();
    EXPECT_TRUE(std::none_of(lines.begin(), lines.end(), [](const std::string& l) { return l.find("refused to cut") != std::string::npos; }));
}

}   // namespace
}   // namespace linnet::contract

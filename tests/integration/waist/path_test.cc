// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// path_choice=measured between two hosts: when the rate of a transport changes in mid-run, rendezvous data goes over another one; the lane follows the
// size of its messages.
//
// The hosts are network namespaces joined by a cable; tc(8) gives UDP and everything else rates of their own on it.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "capi/linnet_rma.h"
#include "integration/waist/two_hosts.h"
#include "sys/unix_socket.h"

namespace linnet::testing {
namespace {

constexpr std::size_t kMessage = 1 << 20;

class Paths : public TwoHosts {
protected:
    void SetUp() override
    {
        TwoHosts::SetUp();
        if (IsSkipped()) {
            return;
        }
        const bool shaped = tc("qdisc add dev eth0 root handle 1: htb default 10") &&
                            tc("class add dev eth0 parent 1: classid 1:10 htb rate 1gbit quantum 60000") &&
                            tc("class add dev eth0 parent 1: classid 1:20 htb rate 1gbit quantum 60000") &&
                            tc("filter add dev eth0 parent 1: protocol ip u32 match ip protocol 17 0xff flowid 1:20");
        if (!shaped) {
            GTEST_SKIP() << "tc(8) cannot shape traffic by protocol here";
        }
    }
    bool tc(const std::string& arguments)
    {
        const NamespacePair::Scope there{*hosts_, 0};
        return std::system(("PATH=$PATH:/sbin:/usr/sbin tc " + arguments + " 2>/dev/null").c_str()) == 0;   // NOLINT(concurrency-mt-unsafe)
    }
    enum class Kind { kUdp, kTcp };
    void rate(Kind kind, const std::string& rate)
    {
        const std::string of = kind == Kind::kUdp ? "1:20" : "1:10";
        ASSERT_TRUE(tc("class change dev eth0 parent 1: classid " + of + " htb rate " + rate + " quantum 60000"));
    }
    void open(std::vector<linnet_setting_t> settings)
    {
        const bool chosen = std::any_of(settings.begin(), settings.end(), [](const auto& x) { return std::string_view{x.name} == "transports"; });
        settings.insert(settings.begin(), {"net_include", ""});
        if (!chosen) {
            settings.push_back({"transports", "udp,tcp"});
        }
        TwoHosts::open(settings);
    }
    bool over(const Op& op)
    {
        const auto end = std::chrono::steady_clock::now() + 20s;
        Patience patience;
        while (!op.complete()) {
            if (std::chrono::steady_clock::now() > end) {
                return false;
            }
            pass(patience);
        }
        return true;
    }
    // Host `from` sends, the other one receives.
    void message(unsigned from = 0, std::size_t bytes = kMessage)
    {
        out_[0] = static_cast<unsigned char>(++number_);
        Op send;
        Op recv;
        {
            const NamespacePair::Scope there{*hosts_, 1 - from};
            ASSERT_GE(ends_[1 - from]->recv(recv, peer_[1 - from], number_, contiguous(in_.data(), bytes)), 0);
        }
        {
            const NamespacePair::Scope there{*hosts_, from};
            ASSERT_GE(ends_[from]->send(send, peer_[from], number_, contiguous(out_.data(), bytes)), 0);
        }
        ASSERT_TRUE(over(send) && over(recv)) << "message " << number_;
        ASSERT_EQ(send.status(), LINNET_OK);
        ASSERT_EQ(recv.status(), LINNET_OK);
        ASSERT_TRUE(std::equal(in_.begin(), in_.begin() + static_cast<std::ptrdiff_t>(bytes), out_.begin())) << "message " << number_;
    }
    // Messages of `bytes` to and fro until the lane has moved and host 0 sent one over the transport whose counter this is; false: not within `limit`.
    // (The move may be host 1's doing, with nothing of host 0 to carry yet.)
    bool until_lane_moves_to(const char* tx_bytes, std::size_t bytes, std::chrono::seconds limit)
    {
        return until_lane_moves_to(tx_bytes, bytes, limit, [&] {
            message(0, bytes);
            message(1, bytes);
        });
    }
    template <class Exchange>
    bool until_lane_moves_to(const char* tx_bytes, std::size_t bytes, std::chrono::seconds limit, Exchange exchange)
    {
        const std::uint64_t moves = ends_[0]->counter("path_moves");
        const std::uint64_t carried = ends_[0]->counter(tx_bytes);
        const auto end = std::chrono::steady_clock::now() + limit;
        while (ends_[0]->counter("path_moves") == moves || ends_[0]->counter(tx_bytes) - carried < bytes) {
            exchange();
            if (HasFatalFailure() || std::chrono::steady_clock::now() > end) {
                return false;
            }
        }
        return true;
    }
    [[nodiscard]] std::uint64_t bytes(Kind kind) const { return ends_[0]->counter(kind == Kind::kUdp ? "udp_tx_bytes" : "tcp_tx_bytes"); }
    // Messages until one went over `kind`, ten times in a row; false: none did within `limit`.
    bool until_over(Kind kind, std::chrono::seconds limit)
    {
        const auto end = std::chrono::steady_clock::now() + limit;
        for (unsigned row = 0; row < 10;) {
            const std::uint64_t before = bytes(kind);
            message();
            if (HasFatalFailure() || std::chrono::steady_clock::now() > end) {
                return false;
            }
            row = bytes(kind) - before > kMessage / 2 ? row + 1 : 0;
        }
        return true;
    }

    std::uint64_t number_{0};
    std::vector<unsigned char> out_ = pattern(kMessage);
    std::vector<unsigned char> in_ = std::vector<unsigned char>(kMessage);
};

TEST_F(Paths, ChoiceFollowsTheRatesInMidRun)
{
    open({{"path_choice", "measured"}});
    ASSERT_TRUE(until_over(Kind::kUdp, 10s)) << "the first of the transports, to begin with";
    rate(Kind::kUdp, "80mbit");
    ASSERT_TRUE(until_over(Kind::kTcp, 40s));
    EXPECT_GE(ends_[0]->counter("path_moves"), 1u);
    rate(Kind::kUdp, "1gbit");
    rate(Kind::kTcp, "80mbit");
    ASSERT_TRUE(until_over(Kind::kUdp, 40s));
    EXPECT_EQ(ends_[0]->counter("peers_lost") + ends_[1]->counter("peers_lost"), 0u);
    EXPECT_EQ(ends_[0]->counter("reconnects"), 0u) << "the lane stays";
}

// Raw Ethernet is quick with short messages and slow with longer ones.
TEST_F(Paths, LaneGoesWithTheSizeOfItsMessages)
{
    open({{"transports", "eth,tcp"}, {"path_choice", "measured"}});
    message(0, 8);
    EXPECT_GT(ends_[0]->counter("eth_tx_bytes"), 0u) << "the first of the transports, to begin with";
    ASSERT_TRUE(until_lane_moves_to("tcp_tx_bytes", 30'000, 20s));
    ASSERT_TRUE(until_lane_moves_to("eth_tx_bytes", 8, 20s));
    for (unsigned i = 0; i < 100; ++i) {
        message(i % 2, i * i * 5);
    }
    EXPECT_EQ(ends_[0]->counter("peers_lost") + ends_[1]->counter("peers_lost"), 0u);
    EXPECT_EQ(ends_[0]->counter("reconnects") + ends_[1]->counter("reconnects"), 0u);
}

// Nobody knows beforehand whether frames without IP arrive; so the lane begins where messages surely do.
TEST_F(Paths, LaneBeginsWithTcpAndMovesToRawEthernetByItself)
{
    open({{"transports", "auto"}});
    message(0, 8);
    EXPECT_EQ(ends_[0]->counter("tcp_connects") + ends_[0]->counter("tcp_accepts"), 1u);
    EXPECT_EQ(ends_[0]->counter("eth_tx_bytes"), 0u);
    ASSERT_TRUE(until_lane_moves_to("eth_tx_bytes", 8, 20s));
    EXPECT_EQ(ends_[0]->counter("peers_lost") + ends_[1]->counter("peers_lost"), 0u);
}

// Each listener looks at each frame that comes to its host, so there is a bound. Who finds no place is refused at once, and goes on with the others.
TEST_F(Paths, LaneStaysAwayFromRawEthernetWhereTooManyListenAlready)
{
    SocketOrError place;
    {
        const NamespacePair::Scope there{*hosts_, 1};
        place = unix_listen("linnet-eth-88b5-0", 1);
        ASSERT_TRUE(place.fd.valid());
    }
    open({{"transports", "auto"}, {"eth_listeners", "1"}});
    const auto end = std::chrono::steady_clock::now() + 2s;
    while (std::chrono::steady_clock::now() < end) {
        message(0, 8);
        message(1, 8);
        ASSERT_FALSE(HasFatalFailure());
    }
    EXPECT_EQ(ends_[0]->counter("eth_rx_bytes") + ends_[1]->counter("eth_rx_bytes"), 0u);
    EXPECT_EQ(ends_[0]->counter("peers_lost") + ends_[1]->counter("peers_lost"), 0u);
}

// Whoever waits for a write, a read or an atomic operation waits for a message and its answer.
class OneSidedPaths : public Paths {
protected:
    void SetUp() override
    {
        Paths::SetUp();
        if (IsSkipped()) {
            return;
        }
        open({{"transports", "auto"}});
        linnet_region_options_t o{};
        o.size = sizeof o;
        o.base = in_.data();
        o.length = in_.size();
        o.key = kKey;
        o.flags = LINNET_REGION_READ | LINNET_REGION_WRITE;
        const NamespacePair::Scope there{*hosts_, 1};
        ASSERT_EQ(linnet_region_open(ends_[1]->context(), &o, &region_), LINNET_OK);
    }
    void TearDown() override
    {
        if (region_ != nullptr) {
            const NamespacePair::Scope there{*hosts_, 1};
            EXPECT_EQ(linnet_region_close(ends_[1]->context(), region_), LINNET_OK);
        }
        Paths::TearDown();
    }
    // start(CONTEXT, PEER, OP): one operation of host 0.
    template <class Start>
    void expect_that_they_move_the_lane(Start start)
    {
        EXPECT_TRUE(until_lane_moves_to("eth_tx_bytes", 8, 20s, [&] {
            Op op;
            {
                const NamespacePair::Scope there{*hosts_, 0};
                op.started = start(ends_[0]->context(), peer_[0], op);
            }
            ASSERT_GE(op.started, 0);
            ASSERT_TRUE(over(op));
            ASSERT_EQ(op.status(), LINNET_OK);
        }));
    }
    template <class Kind>
    static Kind eight_bytes(linnet_peer_t peer, Op& op)
    {
        Kind k{};
        k.peer = peer;
        k.key = kKey;
        k.done = Op::on_done;
        k.done_arg = &op;
        return k;
    }
    static constexpr std::uint64_t kKey = 3;
    linnet_region_t* region_{nullptr};
};

TEST_F(OneSidedPaths, ShortWritesMoveTheLane)
{
    expect_that_they_move_the_lane([&](linnet_context_t* c, linnet_peer_t peer, Op& op) {
        auto w = eight_bytes<linnet_rma_t>(peer, op);
        w.data = contiguous(out_.data(), 8);
        return linnet_rma_write(c, &w, &op.request);
    });
}

TEST_F(OneSidedPaths, ShortReadsMoveTheLane)
{
    expect_that_they_move_the_lane([&](linnet_context_t* c, linnet_peer_t peer, Op& op) {
        auto r = eight_bytes<linnet_rma_t>(peer, op);
        r.data = contiguous(out_.data(), 8);
        return linnet_rma_read(c, &r, &op.request);
    });
}

TEST_F(OneSidedPaths, AtomicOperationsMoveTheLane)
{
    expect_that_they_move_the_lane([&](linnet_context_t* c, linnet_peer_t peer, Op& op) {
        auto a = eight_bytes<linnet_atomic_t>(peer, op);
        a.form = LINNET_ATOMIC_FETCH;
        a.op = LINNET_ATOMIC_SUM;
        a.type = LINNET_UINT64;
        a.count = 1;
        a.operand = contiguous(out_.data(), 8);
        a.result = contiguous(out_.data() + 8, 8);
        return linnet_rma_atomic(c, &a, &op.request);
    });
}

TEST_F(Paths, LaneThatIsNotHeardGoesOnOverTcp)
{
    open({{"transports", "auto"}});
    message(0, 8);
    ASSERT_TRUE(until_lane_moves_to("eth_tx_bytes", 8, 20s));
    const std::uint64_t moves = ends_[0]->counter("path_moves");
    const std::uint64_t carried = ends_[0]->counter("tcp_tx_bytes");
    ASSERT_TRUE(tc("class add dev eth0 parent 1: classid 1:30 htb rate 8bit ceil 8bit burst 1 cburst 1"));
    ASSERT_TRUE(tc("filter add dev eth0 parent 1: protocol 0x88b5 u32 match u32 0 0 flowid 1:30"));
    for (unsigned i = 0; i < 4; ++i) {   // the first may leave still
        message(0, 8);
        message(1, 8);
    }
    EXPECT_GT(ends_[0]->counter("path_moves"), moves);
    EXPECT_GT(ends_[0]->counter("tcp_tx_bytes"), carried);
    EXPECT_EQ(ends_[0]->counter("peers_lost") + ends_[1]->counter("peers_lost"), 0u);
}

// Those of them that are idle do not listen, and so cost the others nothing.
TEST_F(Paths, RawEthernetCarriesMessagesAlsoWhereManyProcessesAreOnAHost)
{
    open({{"transports", "auto"}, {"local_ranks", "64"}, {"expected_peers", "128"}});
    message(0, 8);
    ASSERT_TRUE(until_lane_moves_to("eth_tx_bytes", 8, 20s));
    EXPECT_EQ(ends_[0]->counter("udp_tx_bytes") + ends_[1]->counter("udp_tx_bytes"), 0u) << "which has sockets of its own";
}

TEST_F(Paths, JobOfOneHostDoesNotOpenRawEthernet)
{
    open({{"transports", "auto"}, {"local_ranks", "9"}, {"expected_peers", "9"}});
    for (unsigned i = 0; i < 2000; ++i) {
        message(i % 2, 8);
    }
    EXPECT_EQ(ends_[0]->counter("path_moves"), 0u);
    EXPECT_EQ(ends_[0]->counter("eth_tx_bytes") + ends_[1]->counter("eth_tx_bytes"), 0u);
}

TEST_F(Paths, InOrderTheFirstTransportCarriesEverything)
{
    open({{"path_choice", "order"}});
    rate(Kind::kUdp, "200mbit");
    for (unsigned i = 0; i < 30; ++i) {
        message();
    }
    EXPECT_EQ(bytes(Kind::kTcp), 0u);
    EXPECT_EQ(ends_[0]->counter("path_moves"), 0u);
}

TEST_F(Paths, BadProfileIsNamedAndIgnored)
{
    open({{"path_choice", "measured"}, {"path_profile", "/proc/version"}});
    for (const auto& e : ends_) {
        e->expect_complaints();
        EXPECT_NE(e->complaints().find("path_profile: /proc/version: line 1: a profile begins with"), std::string::npos) << e->complaints();
    }
    message();
}

}   // namespace
}   // namespace linnet::testing

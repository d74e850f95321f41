// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TwoNetworks: two nodes on two simulated networks, each a transport of its own, for tests of where links go.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "session/session_layer.h"
#include "support/seed.h"
#include "support/sim_world.h"

namespace linnet::session {

using namespace std::chrono_literals;
using testing::NodePeer;
using testing::SessionNode;
using testing::SimNet;
using testing::SimTransport;
using testing::SimWorld;

constexpr std::uint64_t kMega = 1 << 20;

class TwoNetworks {
public:
    explicit TwoNetworks(std::uint64_t seed, bool choose = true, Nanos connect_timeout = 30s, Nanos call_cost = 0ns) : world{seed}, other{world.clock, seed + 1}
    {
        world.config.choose_paths = choose;
        world.config.path_choice.trial_pause = 10ms;
        world.config.connect_timeout = connect_timeout;
        world.config.call_cost = call_cost;
        world.config.core_wait = {[](const void* wait) noexcept { return *static_cast<const Nanos*>(wait); }, &core_wait};
        a = &world.node(1001, 1);
        b = &world.node(1002, 2);
        join_second(*a, 1001);
        join_second(*b, 1002);
        to_b = &a->add(b->name());
        to_a = &b->add(a->name());
    }
    ~TwoNetworks()
    {
        for (auto& t : second) {
            t->shutdown();
        }
    }
    void join_second(SessionNode& n, std::uint16_t port)
    {
        wire::EndpointName name = n.name();
        SimTransport& t = *second.emplace_back(std::make_unique<SimTransport>(other, port));
        EXPECT_EQ(t.open(n.layer.add_port(t), name), Status::kOk);
    }
    // A node more, which has to do with b alone.
    SessionNode& add_third()
    {
        third = &world.node(1003, 3);
        join_second(*third, 1003);
        third_to_b = &third->add(b->name());
        return *third;
    }
    [[nodiscard]] NodePeer& peer_of(const SessionNode& n) const { return &n == a ? *to_b : &n == b ? *to_a : *third_to_b; }
    bool run_until(const std::function<bool()>& done, unsigned steps = 50'000)
    {
        for (; !done(); --steps) {
            if (steps == 0) {
                return false;
            }
            step();
        }
        return true;
    }
    // One pass of everybody. When nothing happened, time goes on to the next event, but not by more than `most`.
    void step(Nanos most = 100us)
    {
        unsigned events = 0;
        for (auto& t : second) {
            events += t->poll(64);
        }
        for (auto& n : world.nodes) {
            events += n->poll();
        }
        TimePoint next = std::min(world.net.next_event(), other.next_event());
        for (auto& n : world.nodes) {
            next = n->layer.prepare_sleep() ? std::min(next, n->layer.next_timer()) : TimePoint{};
        }
        const TimePoint now = world.clock.now();
        world.clock.advance(events != 0 ? Nanos{5us} : std::clamp<Nanos>(next - now, 1us, most));
    }
    void run_for(Nanos time)
    {
        for (const TimePoint end = world.clock.now() + time; world.clock.now() < end;) {
            step(100ms);
        }
    }
    // The lane and a bulk link are up; `n` has data to send.
    bool connect(SessionNode& n)
    {
        NodePeer& peer = peer_of(n);
        n.send(peer, 10);
        return run_until([&] { return n.outstanding() == 0; }, 120'000) && push(n);   // an accepted hello whose confirm is lost is in the way for 5 s
    }
    // It has data to send.
    Status wants_bulk(SessionNode& from)
    {
        NodePeer& peer = peer_of(from);
        MutexLock guard{peer.lock};
        return from.layer.send_bulk(peer, head_, data_, &cookie_);
    }
    // It was asked for data, which comes before it sends some.
    void is_asked(SessionNode& from)
    {
        NodePeer& peer = peer_of(from);
        MutexLock guard{peer.lock};
        from.layer.transfer_begins(peer, 9, kMega);
    }
    // One bulk packet gets through.
    bool push(SessionNode& from)
    {
        NodePeer& at = &from == a ? *to_a : &from == b ? *to_b : *b->peer_of(3);
        const std::size_t had = at.bulk_ok;
        int& ready = from.bulk_ready;
        for (unsigned tries = 0; tries < 50; ++tries) {
            ready = 0;
            if (wants_bulk(from) != Status::kAgain && run_until([&] { return at.bulk_ok > had; }, 2000)) {
                return true;
            }
            static_cast<void>(run_until([&] { return ready != 0; }, 2000));
        }
        return false;
    }
    // A transfer that takes as long as where the link is now takes.
    void transfer(SessionNode& from)
    {
        NodePeer& peer = peer_of(from);
        {
            MutexLock guard{peer.lock};
            from.layer.transfer_begins(peer, 7, kMega);
        }
        const bool there = other.links_up(LinkRole::kBulk, second[&from == a ? 0 : &from == b ? 1 : 2].get()) != 0;
        world.clock.advance(there ? second_takes : first_takes);
        {
            MutexLock guard{peer.lock};
            from.layer.transfer_ends(peer, 7, true);
        }
        for (int i = 0; i < 20; ++i) {
            step();
        }
    }
    void transfers(SessionNode& from, unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            transfer(from);
        }
    }
    // Messages of the proto layer, as the session is told of them: `count` each way in turn, `bytes` long, and one real one each way at times.
    void pingpong(std::uint64_t bytes, unsigned count)
    {
        for (unsigned i = 0; i < count; ++i) {
            for (SessionNode* const n : {a, b}) {
                NodePeer& out = n == a ? *to_b : *to_a;
                NodePeer& in = n == a ? *to_a : *to_b;
                {
                    MutexLock guard{out.lock};
                    n->layer.message_sent(out, bytes);
                }
                if (i % 16 == 0) {
                    n->send(out, 100);
                }
                (n == a ? b : a)->layer.message_came(in, bytes);
            }
            step();
        }
    }
    [[nodiscard]] bool lane_on_second() { return other.links_up(LinkRole::kLane) != 0; }
    [[nodiscard]] std::size_t lanes() { return other.links_up(LinkRole::kLane) + world.net.links_up(LinkRole::kLane); }
    // All that was sent has come, once, in order, and every message was handed back.
    bool drained()
    {
        return run_until([this] { return a->outstanding() == 0 && b->outstanding() == 0 && to_a->received == to_b->sent && to_b->received == to_a->sent; });
    }

    [[nodiscard]] bool on_second() { return other.links_up(LinkRole::kBulk) != 0; }
    [[nodiscard]] std::size_t bulk_links() { return other.links_up(LinkRole::kBulk) + world.net.links_up(LinkRole::kBulk); }
    [[nodiscard]] static std::uint64_t moves(const SessionNode& n) { return n.counters.get(Counter::kPathMoves); }

    Nanos core_wait{0};   // asked by the sessions of world
    SimWorld world;
    SimNet other;
    std::vector<std::unique_ptr<SimTransport>> second;
    SessionNode* a{nullptr};
    SessionNode* b{nullptr};
    NodePeer* to_b{nullptr};
    NodePeer* to_a{nullptr};
    SessionNode* third{nullptr};
    NodePeer* third_to_b{nullptr};
    Nanos first_takes{8ms};
    Nanos second_takes{8ms};

private:
    wire::BulkHead head_ = [] {
        wire::BulkHead h;
        h.body_bytes.set(100);
        return h;
    }();
    std::array<std::byte, 100> data_{};
    int cookie_{0};
};

class PathsTest : public ::testing::Test, public TwoNetworks {
protected:
    PathsTest() : TwoNetworks{testing::test_seed(1), true, 2s} {}
    void TearDown() override { EXPECT_EQ(world.complaints(), ""); }
};

class LanesTest : public PathsTest {
protected:
    LanesTest()
    {
        for (auto& t : second) {
            t->expect(1200ns, 0.5);   // the first: 2 us, 1 byte per ns
        }
        a->send(*to_b, 10);
        EXPECT_TRUE(drained());
    }
    void TearDown() override
    {
        EXPECT_TRUE(departed || drained());
        EXPECT_EQ(to_a->downs + to_b->downs, departed ? 1 : 0);
        PathsTest::TearDown();
    }
    bool departed{false};
};

}   // namespace linnet::session

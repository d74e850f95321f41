// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Sessions over a net that breaks: seeded schedules of breakage, delay, duplication and partial delivery. LINNET_TEST_SEED repeats one schedule (with
// LINNET_TEST_RUNS=1), LINNET_TEST_RUNS sets how many there are.
#include <gtest/gtest.h>

#include <cstdlib>

#include "support/pace.h"
#include "support/seed.h"
#include "support/sim_world.h"

namespace linnet::testing {
namespace {

std::uint64_t runs(std::uint64_t fallback)
{
    const char* text = std::getenv("LINNET_TEST_RUNS");
    return text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 0);
}

SimFaults random_faults(std::mt19937_64& random)
{
    const auto pick = [&](auto... values) {
        const std::uint64_t all[] = {static_cast<std::uint64_t>(values)...};
        return all[random() % sizeof...(values)];
    };
    SimFaults f;
    f.delay_max = Nanos{static_cast<std::int64_t>(pick(1, 20'000, 500'000, 30'000'000))};
    f.window = pick(100, 700, 4096, 1 << 16);
    f.read_max = pick(1, 30, 200, 5000, 1 << 16);
    f.batch_max = static_cast<unsigned>(pick(1, 3, 64));
    f.split = static_cast<double>(pick(0, 50, 100)) / 100;
    f.lag = static_cast<double>(pick(0, 0, 30, 90)) / 100;
    f.tells_close = pick(0, 1) != 0;
    f.no_resource = static_cast<double>(pick(0, 0, 0, 30)) / 100;
    f.unreachable = static_cast<double>(pick(0, 0, 0, 30)) / 100;
    f.timed_out = static_cast<double>(pick(0, 0, 0, 20)) / 100;
    if (f.read_max < 10) {
        f.delay_max = std::min(f.delay_max, Nanos{20'000});
    }
    return f;
}

// What is wrong after a schedule; empty: nothing.
std::string verdict(SimWorld& world, NodePeer& pa, NodePeer* pb, bool done)
{
    std::string wrong = world.complaints();
    if (!done) {
        wrong += "did not end: at " + std::to_string(world.clock.now().time_since_epoch().count() / 1000) + " us, received " + std::to_string(pa.received) +
                 " of " + std::to_string(pb == nullptr ? 0 : pb->sent) + " and " + std::to_string(pb == nullptr ? 0 : pb->received) + " of " +
                 std::to_string(pa.sent) + "; ";
    }
    if (pa.downs != 0 || pb == nullptr || pb->downs != 0) {
        wrong += "a peer was declared lost; ";
        for (auto& n : world.nodes) {
            for (auto& l : n->lines()) {
                wrong += l + "; ";
            }
        }
    } else {
        world.run_for(std::chrono::milliseconds{100});   // breaks that are still to be noticed
        if (!world.run_until([&] { return world.net.links_up(LinkRole::kLane) == 1; }, std::chrono::seconds{60})) {
            wrong += "lane links: " + std::to_string(world.net.links_up(LinkRole::kLane)) + "; ";
        }
        if (pb->received != pa.sent || pa.received != pb->sent) {
            wrong += "something arrived that was not sent; ";
        }
    }
    return wrong.empty() ? world.complaints() : wrong;
}

// One schedule. Returns what went wrong.
std::string run_schedule(std::uint64_t seed)
{
    std::mt19937_64 random{seed};
    SimWorld world{random()};
    world.config.first_number = random() % 2 == 0 ? 1 : 0xfffffff0u + static_cast<std::uint32_t>(random() % 16);
    world.net.faults = random_faults(random);
    SessionNode& a = world.node(1001, 1 + random() % 2 * 10);
    SessionNode& b = world.node(1002, 5);
    a.answer_every = random() % 3 == 0 ? 3 : 0;
    a.move_payloads = random() % 2 == 0;
    b.move_payloads = random() % 2 == 0;
    a.hold = random() % 2 == 0;
    b.hold = random() % 2 == 0;
    a.takes_back = random() % 2 == 0;
    b.takes_back = random() % 2 == 0;
    const bool by_address = random() % 8 == 0;
    wire::EndpointName to_b = b.name();
    if (by_address) {
        to_b.endpoint_id.set(0);
        to_b.secret = {};
    }
    NodePeer& pa = a.add(to_b);
    NodePeer* pb = random() % 2 == 0 ? &b.add(a.name()) : nullptr;
    std::uint32_t left_a = static_cast<std::uint32_t>(random() % 24);
    std::uint32_t left_b = static_cast<std::uint32_t>(random() % 24);
    std::uint64_t breaks = random() % 6;
    const std::size_t largest = world.net.faults.read_max < 10 ? 60 : random() % 2 == 0 ? 40 : 1500;
    const auto small = [&] { return random() % (largest + 1); };
    const auto flags = [&] { return random() % 4 == 0 ? wire::flag::kWantAck : std::uint16_t{0}; };
    if (left_a == 0) {
        left_a = 1;   // somebody must speak first, or an unknown peer stays unknown
    }
    const bool done = world.run_until([&] {
        for (std::uint64_t n = random() % 4; n != 0 && left_a != 0; --n) {
            --left_a;
            a.send(pa, small(), flags());
        }
        if (pb == nullptr) {
            pb = b.peer_of(a.name().endpoint_id.get());
        }
        for (std::uint64_t n = random() % 4; n != 0 && left_b != 0 && pb != nullptr; --n) {
            --left_b;
            b.send(*pb, small(), flags());
        }
        if (breaks != 0 && random() % 16 == 0 && world.net.break_any()) {
            --breaks;
        }
        if (pa.downs != 0 || (pb != nullptr && pb->downs != 0)) {
            return true;
        }
        return left_a == 0 && left_b == 0 && pb != nullptr && a.outstanding() == 0 && b.outstanding() == 0 && pb->received == pa.sent &&
               pa.received == pb->sent;
    });
    return verdict(world, pa, pb, done);
}

// In blocks, so that each has the watchdog's time to itself.
constexpr int kBlocks = 20;
class SessionFault : public ::testing::TestWithParam<int> {};

TEST_P(SessionFault, EveryMessageArrivesOnceAndInOrderOverLinksThatBreak)
{
    const std::uint64_t count = (runs(paced(25'000)) + kBlocks - 1) / kBlocks;
    const std::uint64_t seed = test_seed(20'261'121) + static_cast<std::uint64_t>(GetParam()) * count;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string wrong = run_schedule(seed + i);
        ASSERT_EQ(wrong, "") << "LINNET_TEST_RUNS=1 LINNET_TEST_SEED=" << seed + i;
    }
}
INSTANTIATE_TEST_SUITE_P(Seeds, SessionFault, ::testing::Range(0, kBlocks));

}   // namespace
}   // namespace linnet::testing

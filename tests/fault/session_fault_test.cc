// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Sessions over a net that breaks: seeded schedules of breakage, delay, duplication, partial delivery and replayed hellos, under messages and bulk data both
// ways. LINNET_TEST_SEED repeats one schedule (with LINNET_TEST_RUNS=1), LINNET_TEST_RUNS sets how many there are.
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
    f.replay = static_cast<double>(pick(0, 0, 50)) / 100;
    if (f.read_max < 10) {
        f.delay_max = std::min(f.delay_max, Nanos{20'000});
    }
    return f;
}

// What is wrong after a schedule; empty: nothing.
std::string verdict(SimWorld& world, NodePeer& pa, NodePeer* pb, bool done)
{
    std::string wrong = world.complaints();
    const auto bulk_over = [&] { return pa.bulk.complete() && (pb == nullptr || pb->bulk.complete()); };
    if (!done) {
        wrong += "did not end: at " + std::to_string(world.clock.now().time_since_epoch().count() / 1000) + " us, received " + std::to_string(pa.received) +
                 " of " + std::to_string(pb == nullptr ? 0 : pb->sent) + " and " + std::to_string(pb == nullptr ? 0 : pb->received) + " of " +
                 std::to_string(pa.sent) + (bulk_over() ? "; " : ", and not all bulk data; ");
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
        if (world.net.links_up(LinkRole::kBulk) > 1) {
            wrong += "bulk links: " + std::to_string(world.net.links_up(LinkRole::kBulk)) + "; ";
        }
        if (pb->received != pa.sent || pa.received != pb->sent || !bulk_over()) {
            wrong += "something arrived that was not sent; ";
        }
        pa.bulk.check_at_rest();
        pb->bulk.check_at_rest();
    }
    return wrong.empty() ? world.complaints() : wrong;
}

// What one side of a schedule still has to say and to ask for.
struct Plan {
    std::uint64_t messages;
    std::uint64_t transfers;
    [[nodiscard]] bool over() const { return messages == 0 && transfers == 0; }
};

Plan random_plan(std::mt19937_64& random)
{
    Plan p{random() % 24, 0};
    if (random() % 2 == 0) {
        p.transfers = random() % 5;
    }
    return p;
}

void go_on(Plan& plan, SessionNode& node, NodePeer& peer, std::size_t largest, std::mt19937_64& random)
{
    for (std::uint64_t n = random() % 4; n != 0 && plan.messages != 0; --n) {
        --plan.messages;
        const std::size_t bytes = random() % (largest + 1);
        node.send(peer, bytes, random() % 4 == 0 ? wire::flag::kWantAck : std::uint16_t{0});
    }
    if (plan.transfers != 0 && random() % 4 == 0) {
        --plan.transfers;
        node.ask(peer);
    }
}

// One schedule. Returns what went wrong.
std::string run_schedule(std::uint64_t seed)
{
    std::mt19937_64 random{seed};
    SimWorld world{random()};
    world.config.first_number = random() % 2 == 0 ? 1 : 0xfffffff0u + static_cast<std::uint32_t>(random() % 16);
    world.net.faults = random_faults(random);
    const bool separate_bulk = random() % 4 != 0;
    const std::size_t largest = world.net.faults.read_max < 10 ? 60 : random() % 2 == 0 ? 40 : 1500;
    SessionNode& a = world.node(1001, 1 + random() % 2 * 10, separate_bulk);
    SessionNode& b = world.node(1002, 5, separate_bulk);
    a.answer_every = random() % 3 == 0 ? 3 : 0;
    for (SessionNode* n : {&a, &b}) {
        n->bulk_piece_max = largest;
        n->move_payloads = random() % 2 == 0;
        n->hold = random() % 2 == 0;
        n->takes_back = random() % 2 == 0;
    }
    const bool by_address = random() % 8 == 0;
    wire::EndpointName to_b = b.name();
    if (by_address) {
        to_b.endpoint_id.set(0);
        to_b.secret = {};
    }
    NodePeer& pa = a.add(to_b);
    NodePeer* pb = random() % 2 == 0 ? &b.add(a.name()) : nullptr;
    Plan plan_a = random_plan(random);
    Plan plan_b = random_plan(random);
    std::uint64_t breaks = random() % 6;
    if (plan_a.messages == 0) {
        plan_a.messages = 1;   // somebody must speak first, or an unknown peer stays unknown
    }
    const bool done = world.run_until([&] {
        go_on(plan_a, a, pa, largest, random);
        if (pb == nullptr) {
            pb = b.peer_of(a.name().endpoint_id.get());
        } else {
            go_on(plan_b, b, *pb, largest, random);
        }
        if (breaks != 0 && random() % 16 == 0 && world.net.break_any()) {
            --breaks;
        }
        if (pa.downs != 0 || (pb != nullptr && pb->downs != 0)) {
            return true;
        }
        return plan_a.over() && plan_b.over() && pb != nullptr && a.outstanding() == 0 && b.outstanding() == 0 && pb->received == pa.sent &&
               pa.received == pb->sent && pa.bulk.complete() && pb->bulk.complete();
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

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// flow over a simulated network: schedules of faults by seed, recovery times, goodput. LINNET_TEST_SEED repeats one schedule (with LINNET_TEST_RUNS=1),
// LINNET_TEST_RUNS sets how many there are.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <utility>

#include "support/seed.h"
#include "unit/flow/sim.h"

namespace linnet::flow::sim {
namespace {

using namespace std::chrono_literals;

std::uint64_t runs(std::uint64_t fallback)
{
    const char* text = std::getenv("LINNET_TEST_RUNS");
    return text == nullptr || *text == '\0' ? fallback : std::strtoull(text, nullptr, 0);
}

template <class T>
T one_of(std::mt19937_64& random, std::initializer_list<T> values)
{
    return *(values.begin() + static_cast<std::ptrdiff_t>(random() % values.size()));
}

PathFaults random_faults(std::mt19937_64& random)
{
    PathFaults f;
    f.loss = one_of(random, {0.0, 0.0, 0.001, 0.01, 0.05, 0.2});
    f.burst = one_of(random, {0.0, 0.0, 0.3});
    f.burst_time = one_of<Nanos>(random, {5us, 100us, 5ms});
    f.again = one_of(random, {0.0, 0.0, 0.05});
    f.overtake = one_of(random, {0.0, 0.0, 0.01, 0.3});
    f.jitter = one_of<Nanos>(random, {5us, 50us, 500us});
    f.delay = one_of<Nanos>(random, {1us, 10us, 10us, 200us});
    f.bytes_per_ns = one_of(random, {0.125, 1.25, 6.0});
    f.not_sent = one_of(random, {0.0, 0.0, 0.1});
    return f;
}

Machine::Config random_config(std::mt19937_64& random)
{
    Machine::Config c;
    c.frame_bytes = one_of<std::size_t>(random, {256, 400, 1472});
    c.ring_frames = one_of(random, {32u, 40u, 64u, 256u});   // 32: nothing to lend
    c.trains_open = one_of(random, {1u, 4u, 8u});
    c.bulk_share = one_of(random, {8u, 64u, 256u});
    c.crc = random() % 2 == 0;
    return c;
}

void give_work(Host& h)
{
    auto& random = h.sim.random;
    for (std::uint64_t n = random() % 40; n != 0; --n) {
        h.send_lane(random() % 4 == 0 ? random() % h.machine.lane_payload() * 3 : random() % 100);
    }
    for (std::uint64_t n = random() % 6; n != 0; --n) {
        const std::size_t bytes = random() % (random() % 3 == 0 ? 60'000 : 3000);
        h.send_bulk(bytes, random() % 4 == 0 ? random() % (bytes + 1) : bytes);
    }
}

// One schedule. Returns what went wrong.
std::string run_schedule(std::uint64_t seed)
{
    Sim sim{seed};
    auto& random = sim.random;
    const Machine::Config config = random_config(random);
    Host& a = sim.add(config, one_of<std::size_t>(random, {34, 64, 256}), one_of<std::size_t>(random, {1, 8, 128}));
    Host& b = sim.add(config);
    const bool mac = random() % 8 == 0;
    const std::uint32_t first = random() % 2 == 0 ? 0 : 0xfffffff0u;
    a.join(b, first, mac);
    for (Host* h : {&a, &b}) {
        h->path = random_faults(random);
        h->path.corrupt = config.crc || mac ? one_of(random, {0.0, 0.0, 0.02}) : 0;
        h->asleep = random() % 5 == 0;
        h->wake_after = one_of<Nanos>(random, {20us, 1ms});
        h->turns = one_of<Nanos>(random, {0ns, 0ns, 60us, 1ms, 20ms});
        h->ring_max = config.ring_frames;
        give_work(*h);
    }
    if (random() % 4 == 0) {   // one of them restarts: frames of the old connections are still on their way
        sim.run([] { return false; }, one_of<Nanos>(random, {3us, 50us, 400us, 5ms}));
        a.leave();
        b.leave();
        a.join(b, first, mac);
        give_work(a);
        give_work(b);
    }
    const std::size_t lane_a = a.lane_to_send.size(), lane_b = b.lane_to_send.size();
    const std::size_t bulk_a = a.bulk_to_send.size(), bulk_b = b.bulk_to_send.size();
    const bool done = sim.run([&] { return a.done() && b.done() && b.lane_received == lane_a && a.lane_received == lane_b && b.bulk_received == bulk_a &&
                                           a.bulk_received == bulk_b; }, 20s);
    std::string wrong = a.faults + b.faults;
    if (!done) {
        wrong += "did not end: lane " + std::to_string(b.lane_received) + " of " + std::to_string(lane_a) + ", " + std::to_string(a.lane_received) + " of " +
                 std::to_string(lane_b) + ", bulk " + std::to_string(b.bulk_received) + " of " + std::to_string(bulk_a) + ", " +
                 std::to_string(a.bulk_received) + " of " + std::to_string(bulk_b) + "; ";
        return wrong + "\n" + a.describe() + "\n" + b.describe();
    }
    a.path.loss = b.path.loss = a.path.corrupt = b.path.corrupt = 0;
    sim.run([] { return false; }, 2500ms);   // unused credit goes back, late frames come
    a.check_rest();
    b.check_rest();
    return a.faults + b.faults;
}

// In blocks, so that each has the watchdog's time to itself.
constexpr int kBlocks = 50;
class FlowSchedules : public ::testing::TestWithParam<int> {};

TEST_P(FlowSchedules, EverythingArrivesOnceInOrderAndEverythingIsReturned)
{
    const std::uint64_t count = (runs(4000) + kBlocks - 1) / kBlocks;
    const std::uint64_t seed = testing::test_seed(20'261'121) + static_cast<std::uint64_t>(GetParam()) * count;
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::string wrong = run_schedule(seed + i);
        ASSERT_EQ(wrong, "") << "LINNET_TEST_RUNS=1 LINNET_TEST_SEED=" << seed + i;
    }
}
INSTANTIATE_TEST_SUITE_P(Seeds, FlowSchedules, ::testing::Range(0, kBlocks));

// ---- recovery ----

class FlowRecovery : public ::testing::Test {
protected:
    void SetUp() override
    {
        a->join(*b);
        // Round trips are known, credit is there.
        for (int i = 0; i < 50; ++i) {
            a->send_lane(64);
            ASSERT_TRUE(sim.run([&] { return b->lane_received == a->lane_sent && a->done(); }, 10ms));
        }
    }
    // Sends `count` packets of 64 bytes, one per frame and 2 us apart, and drops the frame of the one at `which`. Returns how long it took to arrive.
    Nanos lose_one(int count, int which)
    {
        int seen = 0;
        sim.filter = [&](const Host& from, const TxFrame& f) { return &from == a && f.kind == wire::FrameKind::kLane && seen++ == which; };
        const std::uint32_t target = b->lane_received + static_cast<std::uint32_t>(which) + 1;
        TimePoint sent{};
        TimePoint got{};
        for (int i = 0; i < count; ++i) {
            if (i == which) {
                sent = sim.now;
            }
            a->send_lane(64);
            sim.run([&] {
                got = got == TimePoint{} && b->lane_received >= target ? sim.now : got;
                return false;
            }, 2us);
        }
        EXPECT_TRUE(sim.run([&] { return b->lane_received >= target; }, 50ms));
        return (got == TimePoint{} ? sim.now : got) - sent;
    }
    static constexpr Nanos kRoundTrip{21us};   // twice the delay and a little for the frames themselves

    Sim sim{testing::test_seed(5)};
    Host* a{&sim.add({})};
    Host* b{&sim.add({})};
};

TEST_F(FlowRecovery, LostFrameAmongOthersComesWithinTwoRoundTrips)
{
    const Nanos took = lose_one(40, 20);
    EXPECT_LE(took.count(), (2 * kRoundTrip + 100us).count());
    EXPECT_EQ(a->machine.stats().timeouts, 0u);
    EXPECT_EQ(a->machine.stats().lane_again, 1u);
}

TEST_F(FlowRecovery, LostTailComesWithinAMillisecond)
{
    const Nanos took = lose_one(5, 4);
    EXPECT_LE(took.count(), Nanos{1ms}.count());
    EXPECT_GE(a->machine.stats().timeouts, 1u);
}

TEST_F(FlowRecovery, LostTailToASleepingPeerWaitsForItsSlice)
{
    b->asleep = true;
    b->wake_after = 1ms;
    a->send_lane(64);
    ASSERT_TRUE(sim.run([&] { return a->done(); }, 50ms));   // now a knows that b sleeps
    const std::uint64_t before = a->machine.stats().timeouts;
    const Nanos took = lose_one(1, 0);
    EXPECT_GE(took.count(), Nanos{5ms}.count());
    EXPECT_LE(took.count(), Nanos{8ms}.count());
    EXPECT_EQ(a->machine.stats().timeouts - before, 1u);
}

// What answers the first question tells what was lost, although others were asked since: they were lost, or their answers are still to come.
TEST_F(FlowRecovery, LossesBeforeThePeerLostItsCoreComeSoonAfterItHasItBack)
{
    for (std::uint64_t asked = 1; asked <= 20; ++asked) {
        const std::uint32_t target = b->lane_received + 8;
        const std::uint64_t before = a->machine.stats().timeouts;
        const TimePoint until = sim.now + 50us;
        int seen = 0;
        sim.filter = [&](const Host& from, const TxFrame&) {
            return &from == a && b->frozen && (sim.now < until ? seen++ < 7 : a->machine.stats().timeouts - before > 1);
        };
        b->frozen = true;
        for (int i = 0; i < 8; ++i) {
            a->send_lane(1300);
        }
        ASSERT_TRUE(sim.run([&] { return a->machine.stats().timeouts - before >= asked; }, 10s));
        sim.run([] { return false; }, 100us);
        b->frozen = false;
        EXPECT_TRUE(sim.run([&] { return b->lane_received >= target && a->done(); }, 200us)) << asked << " questions\n" << a->describe();
        ASSERT_TRUE(sim.run([&] { return b->lane_received >= target && a->done(); }, 10s));
    }
}

TEST_F(FlowRecovery, TrainWhoseEveryBlockWasLostComesAgainWithinAMillisecond)
{
    bool lost = false;
    sim.filter = [&](const Host& from, const TxFrame& f) {
        const bool first = &from == a && f.kind == wire::FrameKind::kBlock && !lost;
        lost = lost || first;
        return first;
    };
    a->send_bulk(1000, 1000);
    const TimePoint start = sim.now;
    ASSERT_TRUE(sim.run([&] { return b->bulk_received == 1; }, 50ms));
    EXPECT_LE((sim.now - start).count(), Nanos{1ms}.count());
    EXPECT_EQ(a->machine.stats().blocks_again, 1u);
}

// ---- a port that others fill for a while ----

TEST(BackedOff, IsBriskAtFirst)
{
    const Timing t;
    for (unsigned tries = 2; tries <= t.probe_brisk; ++tries) {
        EXPECT_EQ(backed_off(t, 5ms, tries), 15ms) << tries;
    }
    EXPECT_EQ(backed_off(t, 5ms, 0), 5ms);
    EXPECT_EQ(backed_off(t, 5ms, 1), 10ms);
    EXPECT_EQ(backed_off(t, 5ms, t.probe_brisk + 1), 30ms);
    EXPECT_EQ(backed_off(t, 5ms, 200), t.probe_max);
    EXPECT_EQ(backed_off(t, 20ms, 0), 20ms);
    EXPECT_EQ(backed_off(t, 20ms, t.probe_brisk), 20ms);   // and no sooner than the first time
    EXPECT_EQ(backed_off(t, 20ms, t.probe_brisk + 2), 80ms);
    EXPECT_EQ(backed_off(t, 20ms, t.probe_brisk + 4), t.probe_max);
    EXPECT_EQ(backed_off(t, 300ms, 3), 300ms);
}

struct CrowdCase {
    bool lane;
    bool asleep;
    Nanos wake_after;   // some milliseconds where ranks share cores; a first question waits for 30 ms and more then
    Nanos most;
};
class FlowAfterACrowd : public ::testing::TestWithParam<CrowdCase> {
protected:
    // From the end of a crowd that lets none but the first of our frames through until all has arrived.
    static Nanos after(Nanos crowd)
    {
        Sim sim{testing::test_seed(5)};
        Host& a = sim.add({});
        Host& b = sim.add({});
        a.join(b);
        a.asleep = b.asleep = GetParam().asleep;
        a.wake_after = b.wake_after = GetParam().wake_after;
        const auto send = [&] {
            for (int i = 0; i < 4; ++i) {
                GetParam().lane ? a.send_lane(1300) : a.send_bulk(40'000, 40'000);
            }
        };
        send();   // credit and round trip are known then
        EXPECT_TRUE(sim.run([&] { return a.done(); }, 1s));
        const TimePoint until = sim.now + crowd;
        bool first = true;
        sim.filter = [&](const Host& from, const TxFrame&) { return &from == &a && sim.now < until && !std::exchange(first, false); };
        send();
        EXPECT_TRUE(sim.run([&] { return a.done(); }, 2s));
        return sim.now - until;
    }
};

// Within 20 ms, or where the first question takes longer than that, within what it takes, and not after twice the time with each of them.
TEST_P(FlowAfterACrowd, GoesOnSoon)
{
    Nanos longest{0};
    for (Nanos crowd = 1ms; crowd <= 120ms; crowd += 1ms) {
        longest = std::max(longest, after(crowd));
    }
    std::printf("at most %.1f ms after the crowd\n", 1e-6 * static_cast<double>(longest.count()));
    EXPECT_LE(longest.count(), GetParam().most.count());
}
INSTANTIATE_TEST_SUITE_P(Roles, FlowAfterACrowd,
                         ::testing::Values(CrowdCase{true, false, 100us, 20ms}, CrowdCase{true, true, 100us, 20ms}, CrowdCase{true, true, 4ms, 60ms},
                                           CrowdCase{false, false, 100us, 20ms}, CrowdCase{false, true, 100us, 20ms}, CrowdCase{false, true, 4ms, 60ms}),
                         [](const auto& p) {
                             const char* const how = !p.param.asleep ? "Polling" : p.param.wake_after > 1ms ? "AsleepLong" : "Asleep";
                             return std::string{p.param.lane ? "Lane" : "Bulk"} + how;
                         });

// ---- goodput ----

// Nanoseconds that it takes to bring everything over at this loss, both ways.
Nanos duration(double loss, bool lane)
{
    Sim sim{testing::test_seed(11)};
    Machine::Config config;
    config.ring_frames = 1024;
    Host& a = sim.add(config, 512);
    Host& b = sim.add(config, 512);
    a.join(b);
    a.path.loss = b.path.loss = loss;
    a.ring_max = b.ring_max = 1024;
    const TimePoint start = sim.now;
    constexpr int kLanePackets = 12'000;
    constexpr int kTrains = 40;
    for (int i = 0; lane && i < kLanePackets; ++i) {
        a.send_lane(1300);
    }
    for (int i = 0; !lane && i < kTrains; ++i) {
        a.send_bulk(400'000, 400'000);
    }
    const bool all = sim.run([&] { return lane ? b.lane_received == kLanePackets : b.bulk_received == kTrains; }, 30s);
    EXPECT_TRUE(all) << a.describe() << "\n" << b.describe();
    EXPECT_EQ(a.faults + b.faults, "");
    if (loss == 0) {
        EXPECT_EQ(a.machine.stats().lane_again + a.machine.stats().blocks_again, 0u) << a.describe() << "\n" << b.describe();
    }
    return sim.now - start;
}

class FlowGoodput : public ::testing::TestWithParam<bool> {};

TEST_P(FlowGoodput, LossCostsLittleMoreThanWhatWasLost)
{
    const auto clean = static_cast<double>(duration(0, GetParam()).count());
    const double rate = (GetParam() ? 12'000 * 1300.0 : 40 * 400'000.0) / clean;
    EXPECT_GE(rate, 0.85 * 1.25);   // of a link of 1.25 bytes per ns, heads included
    const double few = clean / static_cast<double>(duration(1e-4, GetParam()).count());
    const double some = clean / static_cast<double>(duration(1e-3, GetParam()).count());
    const double many = clean / static_cast<double>(duration(1e-2, GetParam()).count());
    EXPECT_GE(few, 0.95);
    EXPECT_GE(some, 0.85);
    EXPECT_GE(many, 0.50);
    RecordProperty("goodput", std::to_string(rate) + " " + std::to_string(few) + " " + std::to_string(some) + " " + std::to_string(many));
    std::printf("bytes per ns %.3f; at loss 1e-4, 1e-3, 1e-2: %.3f %.3f %.3f of it\n", rate, few, some, many);
}
INSTANTIATE_TEST_SUITE_P(Roles, FlowGoodput, ::testing::Values(true, false), [](const auto& p) { return p.param ? "Lane" : "Bulk"; });

// ---- a port that holds less than is lent ----

// Ten times as fast into it as out of it, and a queue for a tenth of what the receiver's ring holds.
class FlowThroughAPort : public ::testing::TestWithParam<bool> {
protected:
    void SetUp() override
    {
        config.ring_frames = 8192;
        config.bulk_share = 1024;
        config.trains_open = 8;
        a = &sim.add(config, 2048);
        b = &sim.add(config, 2048);
        a->join(*b);
        a->port = &port;
        b->ring_max = 8192;
    }
    void stream(unsigned count, std::size_t bytes)
    {
        for (unsigned i = 0; i < count; ++i) {
            GetParam() ? a->send_lane(1300) : a->send_bulk(bytes, bytes);
        }
    }
    Sim sim{testing::test_seed(21)};
    Machine::Config config;
    SwitchPort port;
    Host* a{nullptr};
    Host* b{nullptr};
};

TEST_P(FlowThroughAPort, IsKeptBusyWithLittleThatIsSentInVain)
{
    port.buffer = GetParam() ? 64 * 1024 : 128 * 1024;   // less than the lane's own window
    const unsigned count = GetParam() ? 12'000 : 12;
    const std::size_t bytes = GetParam() ? 1300 : 1'400'000;
    stream(count, bytes);
    const TimePoint start = sim.now;
    ASSERT_TRUE(sim.run([&] { return a->done(); }, 10s)) << a->describe() << "\n" << b->describe();
    const auto took = static_cast<double>((sim.now - start).count());
    const double rate = static_cast<double>(count) * static_cast<double>(bytes) / took / port.bytes_per_ns;
    EXPECT_GE(rate, 0.80) << b->describe();   // of the port's, heads included
    EXPECT_LE(static_cast<double>(port.lost), 0.10 * static_cast<double>(port.passed)) << a->describe();
    EXPECT_EQ(a->faults + b->faults, "");
    std::printf("%.3f of the port's rate; %.3f of what passed was lost, %.3f sent again\n", rate,
                static_cast<double>(port.lost) / static_cast<double>(port.passed),
                static_cast<double>(a->machine.stats().blocks_again + a->machine.stats().lane_again) / static_cast<double>(port.passed));
}
INSTANTIATE_TEST_SUITE_P(Roles, FlowThroughAPort, ::testing::Values(true, false), [](const auto& p) { return p.param ? "Lane" : "Bulk"; });

// ---- a ring that several fill ----

// Senders to one receiver whose ring holds less than they have to send; nothing else loses frames but what the case says.
class FlowIntoARing : public ::testing::Test {
protected:
    explicit FlowIntoARing(std::uint64_t seed = testing::test_seed(31)) : sim{seed} {}
    void join(unsigned count, double loss, std::size_t messages, std::size_t bytes)
    {
        Machine::Config config;
        config.ring_frames = 256;
        config.control_reserve = 64;
        config.trains_open = 8;
        config.bulk_share = 1024;
        receiver = &sim.add(config);
        receiver->ring_max = config.ring_frames;
        receiver->path.loss = loss;
        for (unsigned i = 0; i < count; ++i) {
            Host& s = sim.add(config);
            s.next_message = i * 10'000;
            s.path.loss = loss;
            s.join(*receiver);
            senders.push_back(&s);
            for (std::size_t n = 0; n < messages; ++n) {
                s.send_bulk(bytes, bytes);
            }
        }
        all = count * messages;
    }
    [[nodiscard]] bool done() const
    {
        return receiver->bulk_received == all && std::all_of(senders.begin(), senders.end(), [](const Host* s) { return s->done(); });
    }
    [[nodiscard]] std::string describe() const
    {
        std::string text = receiver->describe() + " most " + std::to_string(receiver->blocks_most) + "\n";
        for (const Host* s : senders) {
            text += s->describe() + "\n";
        }
        return text;
    }
    void expect_all()
    {
        ASSERT_TRUE(sim.run([this] { return done(); }, 10s)) << describe();
        EXPECT_EQ(receiver->faults, "");
        for (const Host* s : senders) {
            EXPECT_EQ(s->faults, "");
        }
    }
    // The receiver has no core now and then, for as long as others use theirs.
    void freeze_at_random()
    {
        while (!done() && sim.now < TimePoint{std::chrono::seconds{110}}) {
            receiver->frozen = true;
            sim.run([] { return false; }, Nanos{static_cast<std::int64_t>(sim.pick(100'000, 12'000'000))});
            receiver->frozen = false;
            sim.run([this] { return done(); }, Nanos{static_cast<std::int64_t>(sim.pick(50'000, 2'000'000))});
        }
    }

    Sim sim;
    Host* receiver{nullptr};
    std::vector<Host*> senders;
    std::uint64_t all{0};
};

// What is asked for again has a place in the ring like what is sent for the first time: it never overflows, whoever loses what. One for ten of the other
// schedules, which take a tenth of the time.
constexpr int kRingBlocks = 20;
class FlowIntoARingSchedules : public FlowIntoARing, public ::testing::WithParamInterface<int> {};

TEST_P(FlowIntoARingSchedules, HoldWhatIsAskedForAgainToo)
{
    const std::uint64_t count = (runs(4000) + 10 * kRingBlocks - 1) / (10 * kRingBlocks);
    const std::uint64_t first = testing::test_seed(31) + static_cast<std::uint64_t>(GetParam()) * count;
    std::size_t most = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        sim = Sim{seed};
        senders.clear();
        join(static_cast<unsigned>(sim.pick(2, 7)), one_of(sim.random, {0.0, 0.01, 0.05, 0.3}), sim.pick(1, 12), sim.pick(20'000, 200'000));
        freeze_at_random();
        expect_all();
        most = std::max(most, receiver->blocks_most);
        ASSERT_EQ(receiver->ring_drops, 0u) << "LINNET_TEST_RUNS=1 LINNET_TEST_SEED=" << seed << "\n" << describe();
    }
    std::printf("at most %zu blocks on their way to 256 places\n", most);
}
INSTANTIATE_TEST_SUITE_P(Seeds, FlowIntoARingSchedules, ::testing::Range(0, kRingBlocks));

TEST_F(FlowIntoARing, SendersThatLoseFramesShareIt)
{
    join(4, 0.05, 40, 200'000);
    std::vector<std::uint64_t> bytes(senders.size());
    ASSERT_TRUE(sim.run([this] { return receiver->bulk_received >= all / 2; }, 10s)) << describe();
    for (const auto& [id, place] : receiver->places) {
        bytes[id / 10'000] += place->done ? place->room : 0;
    }
    const auto [least, greatest] = std::minmax_element(bytes.begin(), bytes.end());
    EXPECT_GE(static_cast<double>(*least), 0.7 * static_cast<double>(*greatest));
    expect_all();
    EXPECT_EQ(receiver->ring_drops, 0u);
}

// Places of what was lost with all that followed are not waited for: who knows of nothing that came later asks by a guess.
TEST_F(FlowIntoARing, GoesOnAfterAllWasLost)
{
    join(4, 0, 4, 200'000);
    sim.run([] { return false; }, 300us);
    for (int i = 0; i < 20; ++i) {
        const TimePoint until = sim.now + 2ms;
        sim.filter = [&](const Host&, const TxFrame&) { return sim.now < until; };
        const std::uint64_t before = receiver->machine.stats().frames_in;
        sim.run([] { return false; }, 2ms);
        EXPECT_TRUE(sim.run([&] { return done() || receiver->machine.stats().frames_in >= before + 300; }, 20ms)) << i << "\n" << describe();
    }
    sim.filter = nullptr;
    expect_all();
    EXPECT_EQ(receiver->ring_drops, 0u);
}

}   // namespace
}   // namespace linnet::flow::sim

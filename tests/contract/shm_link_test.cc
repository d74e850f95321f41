// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What is special about links through shared memory: who may have one, death of the other process at any moment, rubbish in the rings, limits, and what
// an idle link keeps.
#include <gtest/gtest.h>
#include <grp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <fstream>
#include <random>
#include <thread>

#include "contract/endpoint.h"
#include "contract/shm_processes.h"
#include "support/seed.h"
#include "support/test_log.h"
#include "sys/memfd.h"
#include "sys/process.h"
#include "sys/unix_socket.h"
#include "transport/shm/reading.h"
#include "transport/shm/shm_transport.h"

namespace linnet::contract {
namespace {

using namespace std::chrono_literals;

// Mappings of this process whose name contains `what`, and how much of them is in memory.
struct Mapped {
    std::size_t count{0};
    std::size_t resident{0};
    std::vector<std::span<std::byte>> where;
};
Mapped mapped(std::string_view what)
{
    Mapped m;
    std::ifstream file{"/proc/self/maps"};
    for (std::string line; std::getline(file, line);) {
        unsigned long begin = 0;
        unsigned long end = 0;
        if (line.find(what) == std::string::npos || std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) {
            continue;
        }
        ++m.count;
        const std::span part{reinterpret_cast<std::byte*>(begin), end - begin};
        m.where.push_back(part);
        std::vector<unsigned char> pages((part.size() + 4095) / 4096);
        EXPECT_EQ(::mincore(part.data(), part.size(), pages.data()), 0);
        for (const unsigned char page : pages) {
            m.resident += (page & 1) != 0 ? 4096 : 0;
        }
    }
    return m;
}

// ---- death ----

// The child floods; it is killed at some moment of that.
class ShmDeath : public ::testing::TestWithParam<int> {};

TEST_P(ShmDeath, KilledPeerEndsTheLinkInTimeByNameAndLeavesNothing)
{
    const std::size_t mapped_before = mapped("linnet-link").count;
    Solo child{1};
    Solo parent{2};
    Child process{[&child] {
        if (!child.open()) {
            ::_exit(3);
        }
        const Packet small = eager(1, 100);
        const Packet large = eager(2, 60'000);
        for (LinkId lane{};;) {
            child.end.transport->poll(64);
            if (!child.end.sink.ups.empty()) {
                lane = child.end.sink.ups[0].link;
                const std::array batch{small.lane(), large.lane()};
                static_cast<void>(child.end.transport->send_lane(lane, batch));
            }
            child.end.sink.packets.clear();
        }
    }};
    ASSERT_TRUE(parent.open());
    Result<LinkId> link = Status::kUnreachable;
    for (const TimePoint until = monotonic_now() + 10s; !link.ok() && monotonic_now() < until;) {
        link = parent.end.transport->connect(PeerId{1}, LinkRole::kLane, child.end.name);   // until it listens
    }
    ASSERT_TRUE(link.ok());
    ASSERT_TRUE(parent.run_until([&] { return !parent.end.sink.ups.empty() || !parent.end.sink.downs.empty(); }));
    ASSERT_FALSE(parent.end.sink.ups.empty()) << parent.end.sink.downs[0].text;
    const auto wanted = static_cast<std::size_t>(GetParam());
    ASSERT_TRUE(parent.run_until([&] { return parent.end.sink.packets.size() >= wanted; }));
    const std::string pid = std::to_string(process.pid());
    process.kill();
    const TimePoint killed = monotonic_now();
    ASSERT_TRUE(parent.run_until([&] { return !parent.end.sink.downs.empty(); }, 5s)) << "nobody noticed";
    EXPECT_LT(monotonic_now() - killed, 5s);
    const Sink::Down& down = parent.end.sink.downs[0];
    EXPECT_EQ(down.why, Status::kPeerDown);
    EXPECT_NE(down.text.find("process " + pid), std::string::npos) << down.text;
    EXPECT_EQ(parent.end.sink.begun, 0u) << "a packet that was not complete is still in its landing";
    for (const Sink::Arrival& packet : parent.end.sink.packets) {
        if (packet.ok) {
            const std::uint32_t number = number_of(packet.bytes);
            EXPECT_TRUE(number == 1 || number == 2);
            EXPECT_EQ(packet.bytes, eager(number, number == 1 ? 100 : 60'000).bytes) << "a whole packet that is wrong";
        }
    }
    EXPECT_EQ(parent.end.transport->connect(PeerId{1}, LinkRole::kLane, child.end.name).status(), Status::kUnreachable);
    parent.end.transport->poll(64);
    EXPECT_EQ(mapped("linnet-link").count, mapped_before);
    parent.end.transport->shutdown();
    child.end.transport->shutdown();
}

INSTANTIATE_TEST_SUITE_P(AfterPackets, ShmDeath, ::testing::Values(0, 1, 2, 7, 50, 333));

TEST(ShmLink, PeerThatDiesWhileItsMemoryIsReadGivesNoBytes)
{
    Solo child{3};
    Solo parent{4};
    Child process{[&child] {
        if (!child.open()) {
            ::_exit(3);
        }
        const std::vector<std::byte> data(32 << 20, std::byte{0x77});
        for (bool sent = false;;) {
            child.end.transport->poll(64);
            if (!sent && !child.end.sink.ups.empty()) {
                sent = child.end.transport->send_bulk(child.end.sink.ups[0].link, bulk_head(1, data.size()), data, &child) == Status::kInProgress;
            }
        }
    }};
    ASSERT_TRUE(parent.open());
    ASSERT_TRUE(parent.calls(child, LinkRole::kBulk));
    // Inside the call that gives the landing: what is read afterwards comes from a dead process, or from none.
    parent.end.sink.on_call = [&](const char* call, LinkId) {
        if (std::strcmp(call, "on_bulk_begin") == 0) {
            process.kill();
        }
    };
    ASSERT_TRUE(parent.run_until([&] { return !parent.end.sink.downs.empty(); }));
    ASSERT_EQ(parent.end.sink.bulk.size(), 1u);
    EXPECT_FALSE(parent.end.sink.bulk[0].ok);
    EXPECT_EQ(parent.end.sink.bulk[0].landed, 0u);
    EXPECT_EQ(parent.end.sink.downs[0].why, Status::kPeerDown);
    parent.end.transport->shutdown();
    child.end.transport->shutdown();
}

// ---- copies by several ----

// An engine as ever, but something happens when a piece was submitted: helpers may hold slices of it, and some more are nobody's yet.
class Interrupted final : public CopyEngine {
public:
    Interrupted(Copies& copies, std::function<void()> what) : copies_{copies}, what_{std::move(what)} {}
    [[nodiscard]] const char* name() const noexcept override { return "interrupted"; }
    [[nodiscard]] std::size_t worthwhile_bytes() const noexcept override { return copies_.together.worthwhile_bytes(); }
    void submit(CopyJob& job, CopyPiece& piece, std::byte* to, CopySource from, std::size_t bytes) noexcept override
    {
        copies_.together.submit(job, piece, to, from, bytes);
        what_();
    }
    bool poll(CopyJob& job) noexcept override { return copies_.together.poll(job); }
    Status wait(CopyJob& job) noexcept override { return copies_.together.wait(job); }

private:
    Copies& copies_;
    std::function<void()> what_;
};

TEST(ShmCopies, LongPullIsCopiedSliceBySliceAndEveryByteIsRight)
{
    Pair pair{kind_named("ShmWithHelpers")};
    ASSERT_TRUE(pair.ready()) << pair.why_not();
    if (!pair.copies().helpers.useful()) {
        GTEST_SKIP() << "one processor: no helpers";
    }
    const Pair::Ends ends = pair.open(LinkRole::kBulk);
    for (const std::size_t bytes : {kCopySlice, 3 * kCopySlice + 1, kLongRead}) {
        const std::uint64_t before = pair.copies().slices(TaskPlace::kWaiter) + pair.copies().slices(TaskPlace::kHelper);
        const Bytes data = pattern(static_cast<std::uint32_t>(bytes), bytes);
        ASSERT_EQ(pair.a().transport->send_bulk(ends.at_a, bulk_head(1, bytes), data, &pair), Status::kInProgress);
        ASSERT_TRUE(pair.run_until([&] { return !pair.a().sink.sent.empty(); }));
        ASSERT_EQ(pair.b().sink.bulk.size(), 1u);
        EXPECT_TRUE(std::ranges::equal(std::span{pair.b().sink.bulk[0].bytes}.subspan(sizeof(wire::BulkHead)), data)) << bytes;
        const std::uint64_t slices = pair.copies().slices(TaskPlace::kWaiter) + pair.copies().slices(TaskPlace::kHelper) - before;
        EXPECT_EQ(slices, (bytes + kCopySlice - 1) / kCopySlice) << bytes;
        Bytes again(bytes);
        ASSERT_EQ(pair.b().transport->read(ends.at_b, again.data(), reinterpret_cast<std::uintptr_t>(data.data()), bytes), Status::kOk);
        EXPECT_EQ(again, data) << bytes;
        pair.a().sink.sent.clear();
        pair.b().sink.bulk.clear();
    }
}

// It offers a long packet, and is killed when helpers have begun to read it: nothing of it counts, and nobody reads on when the link is reported down.
TEST(ShmCopies, PeerThatDiesWhileHelpersReadItGivesNoBytes)
{
    Copies copies;
    const bool helped = copies.helpers.useful();
    std::function<void()> kill;
    Interrupted engine{copies, [&] {
                           for (const TimePoint until = monotonic_now() + 10s; helped && copies.slices(TaskPlace::kHelper) == 0 && monotonic_now() < until;) {
                               std::this_thread::yield();
                           }
                           kill();
                       }};
    Solo child{7};
    Solo parent{8, &engine};
    Child process{[&child] {
        if (!child.open()) {
            ::_exit(3);
        }
        const std::vector<std::byte> data(kLongRead, std::byte{0x55});
        for (bool sent = false;;) {
            child.end.transport->poll(64);
            if (!sent && !child.end.sink.ups.empty()) {
                sent = child.end.transport->send_bulk(child.end.sink.ups[0].link, bulk_head(1, data.size()), data, &child) == Status::kInProgress;
            }
        }
    }};
    kill = [&] { process.kill(); };
    ASSERT_TRUE(parent.open());
    ASSERT_TRUE(parent.calls(child, LinkRole::kBulk));
    ASSERT_TRUE(parent.run_until([&] { return !parent.end.sink.downs.empty(); }));
    EXPECT_EQ(copies.slices(TaskPlace::kHelper) != 0, helped) << "the death was not in the middle";
    ASSERT_EQ(parent.end.sink.bulk.size(), 1u);
    EXPECT_FALSE(parent.end.sink.bulk[0].ok);
    EXPECT_EQ(parent.end.sink.bulk[0].landed, 0u);
    EXPECT_EQ(parent.end.sink.downs[0].why, Status::kPeerDown);
    EXPECT_TRUE(copies.tree.empty()) << "a slice is still to be had";
    parent.end.transport->shutdown();
    child.end.transport->shutdown();
}

// A context that closes ends its helpers first, and then its transports. Neither leaves anybody who writes to the memory.
TEST(ShmCopies, HelpersThatAreStoppedInTheMiddleLeaveTheRestToTheReader)
{
    Copies copies;
    if (!copies.helpers.useful()) {
        GTEST_SKIP() << "one processor: no helpers";
    }
    Interrupted engine{copies, [&copies] {
                           for (const TimePoint until = monotonic_now() + 10s; copies.slices(TaskPlace::kHelper) == 0 && monotonic_now() < until;) {
                               std::this_thread::yield();
                           }
                           copies.helpers.stop();
                       }};
    Solo first{9};
    Solo second{10, &engine};
    ASSERT_TRUE(first.open());
    ASSERT_TRUE(second.open());
    ASSERT_TRUE(second.end.transport->connect(PeerId{1}, LinkRole::kLane, first.end.name).ok());
    ASSERT_TRUE(second.run_until([&] {
        first.end.transport->poll(64);
        return !second.end.sink.ups.empty();
    }));
    const Bytes data = pattern(11, kLongRead);
    Bytes got(kLongRead);
    ASSERT_EQ(second.end.transport->read(second.end.sink.ups[0].link, got.data(), reinterpret_cast<std::uintptr_t>(data.data()), got.size()), Status::kOk);
    EXPECT_TRUE(got == data);
    const std::uint64_t helped = copies.slices(TaskPlace::kHelper);
    EXPECT_GT(helped, 0u);
    EXPECT_EQ(helped + copies.slices(TaskPlace::kWaiter), kLongRead / kCopySlice);
    EXPECT_TRUE(copies.tree.empty());
    second.end.transport->shutdown();
    first.end.transport->shutdown();
}

// The reader may be done with what was offered before the sender goes on to its next line, when that loses its core just then: it is told all the same.
TEST(ShmReading, PaysUnlessBothCopiesTogetherTakeLess)
{
    constexpr Nanos kCopy{1000};
    EXPECT_TRUE(shm::reading_pays({Nanos{500}, kCopy}));
    EXPECT_TRUE(shm::reading_pays({Nanos{2000}, kCopy}));
    EXPECT_FALSE(shm::reading_pays({Nanos{2001}, kCopy}));
    EXPECT_FALSE(shm::reading_pays({}));   // it cannot be done here
}

// Copies in one cache took 1 us for 64 KiB, which is less than half of a read; into a ring they take as the case says.
TEST(ShmReading, LearnsFromWhoWrites)
{
    const auto after = [](shm::ReadingChoice& reading, Nanos took, unsigned copies) {
        for (unsigned i = 0; i < copies; ++i) {
            if (!reading.wants_sample()) {
                continue;
            }
            reading.wrote(shm::kReadingSample / 2, i % 5 == 4 ? took / 2 : 100 * took);   // a processor that is taken away is no cost of copying
        }
        return reading.pays();
    };
    shm::ReadingChoice reading;
    reading.begin({Nanos{2500}, Nanos{1000}});
    ASSERT_TRUE(reading.wants_sample());
    EXPECT_FALSE(reading.pays());
    EXPECT_FALSE(after(reading, Nanos{1000}, 500));
    EXPECT_FALSE(reading.wants_sample()) << "a look at the clock for each copy is too dear";
    EXPECT_TRUE(after(reading, Nanos{4000}, 5000));
    unsigned read = 0;
    while (reading.pays() && read < 1000 * 1000) {
        reading.chosen();
        ++read;
    }
    EXPECT_GT(read, 100u);                             // the question is asked again, but not often
    EXPECT_FALSE(reading.pays());
    EXPECT_TRUE(after(reading, Nanos{4000}, 100)) << "at once";
    EXPECT_FALSE(after(reading, Nanos{1000}, 5000));
}

TEST(ShmReading, HasNothingToLearnWhereItPaysOrCannotBe)
{
    shm::ReadingChoice cheap;
    cheap.begin({Nanos{1500}, Nanos{1000}});
    EXPECT_TRUE(cheap.pays());
    EXPECT_FALSE(cheap.wants_sample());
    shm::ReadingChoice impossible;
    impossible.begin({});
    EXPECT_FALSE(impossible.pays());
    EXPECT_FALSE(impossible.wants_sample());
}

TEST(ShmReading, IsMeasuredInNoTime)
{
    const TimePoint begun = monotonic_now();
    const shm::ReadingCost cost = shm::measure_reading();
    EXPECT_LT(monotonic_now() - begun, 1s);   // some 0.1 ms, but for a machine that does much else
    EXPECT_GT(cost.copy, Nanos{0});
    EXPECT_LT(cost.copy, 100ms);
    EXPECT_LT(cost.read, 100ms);
}

TEST(ShmLink, SenderOfferedWhatIsReadAtOnceHearsOfIt)
{
    constexpr std::size_t kOffers = 500;
    Solo child{5};
    Solo parent{6};
    Child process{[&child] {
        if (!child.open()) {
            ::_exit(3);
        }
        const std::vector<std::byte> data(16 * 1024, std::byte{0x31});
        Sink& sink = child.end.sink;
        bool out = false;
        for (std::size_t offers = 0; offers < kOffers;) {
            child.end.transport->poll(64);
            if (!out && !sink.ups.empty()) {
                out = child.end.transport->send_bulk(sink.ups[0].link, bulk_head(1, data.size()), data, &child) == Status::kInProgress;
            }
            if (!sink.sent.empty()) {
                sink.sent.clear();
                out = false;
                ++offers;
            }
        }
        ::_exit(7);
    }};
    const auto spin = [] {
        for (volatile bool on = true; on;) {   // a loop without any effect may be taken for one that ends
        }
    };
    std::deque<Child> others;   // so that cores are lost
    for (unsigned n = std::thread::hardware_concurrency(); n != 0; --n) {
        others.emplace_back(spin);
    }
    ASSERT_TRUE(parent.open());
    parent.end.sink.room = 0;
    ASSERT_TRUE(parent.calls(child, LinkRole::kBulk));
    std::size_t read = 0;
    EXPECT_TRUE(parent.run_until(
        [&] {
            read += parent.end.sink.bulk.size();
            parent.end.sink.bulk.clear();
            return !parent.end.sink.downs.empty();   // the child is through and gone
        },
        30s))
        << "after " << read << " offers";
    EXPECT_EQ(read, kOffers);
    EXPECT_EQ(process.wait(), 7);
    parent.end.transport->shutdown();
    child.end.transport->shutdown();
}

// ---- who may ----

TEST(ShmLink, ProcessOfAnotherUserIsRefusedOnBothSides)
{
    if (::geteuid() != 0) {
        GTEST_SKIP() << "needs the right to become another user";
    }
    constexpr int kRefused = 42;
    Solo parent{5};
    ASSERT_TRUE(parent.open());
    Child process{[&parent] {
        if (::setgroups(0, nullptr) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) {
            ::_exit(1);
        }
        Solo child{6};
        if (!child.open()) {
            ::_exit(2);
        }
        const auto link = child.end.transport->connect(PeerId{1}, LinkRole::kLane, parent.end.name);
        const bool ended = link.ok() && child.run_until([&] { return !child.end.sink.downs.empty(); }, 5s);
        ::_exit(ended && child.end.sink.ups.empty() && child.end.sink.downs[0].why == Status::kUnreachable ? kRefused : 4);
    }};
    ASSERT_TRUE(parent.run_until([&] { return static_cast<shm::ShmTransport&>(*parent.end.transport).rubbish() != 0; }));
    EXPECT_EQ(process.wait(), kRefused);
    EXPECT_TRUE(parent.end.sink.from.empty()) << "a hello of another user was looked at";
    parent.end.transport->shutdown();
}

// What is offered instead of memory, or with it.
TEST(ShmLink, OfferOfAnythingButSealedMemoryOfTheRightSizeIsRubbish)
{
    Solo solo{7};
    ASSERT_TRUE(solo.open());
    auto& transport = static_cast<shm::ShmTransport&>(*solo.end.transport);
    char name[64];
    std::snprintf(name, sizeof name, "linnet-%016llx-%016llx", static_cast<unsigned long long>(solo.end.name.endpoint_id.get()),
                  static_cast<unsigned long long>(solo.end.name.incarnation.get()));
    const auto segment = create_memfd("linnet-test", shm::segment_bytes(LinkRole::kLane), testing::test_log());
    const auto bells = create_memfd("linnet-test", sizeof(BellPage), testing::test_log());
    const auto tiny = create_memfd("linnet-test", 4096, testing::test_log());
    const Fd unsealed{::memfd_create("linnet-test", MFD_CLOEXEC)};
    ASSERT_TRUE(segment.ok() && bells.ok() && tiny.ok() && unsealed.valid());
    ASSERT_EQ(::ftruncate(unsealed.get(), static_cast<::off_t>(shm::segment_bytes(LinkRole::kLane))), 0);
    struct Case {
        const char* what;
        std::vector<int> passed;
        std::uint32_t magic;
        std::uint32_t bell;
    };
    const std::vector<Case> cases{
        {"no descriptors", {}, shm::kMagic, 0},
        {"one descriptor", {segment->get()}, shm::kMagic, 0},
        {"three descriptors", {segment->get(), bells->get(), bells->get()}, shm::kMagic, 0},
        {"a segment that is too small", {tiny->get(), bells->get()}, shm::kMagic, 0},
        {"a segment that may shrink", {unsealed.get(), bells->get()}, shm::kMagic, 0},
        {"bells that are too large", {segment->get(), segment->get()}, shm::kMagic, 0},
        {"a socket", {solo.end.transport->wait_descriptor(), bells->get()}, shm::kMagic, 0},
        {"another magic", {segment->get(), bells->get()}, 0xbad, 0},
        {"a bell out of range", {segment->get(), bells->get()}, shm::kMagic, BellPage::kBells},
    };
    std::uint64_t rubbish = 0;
    for (const Case& c : cases) {
        const SocketOrError s = unix_connect(name);
        ASSERT_EQ(s.error, 0);
        shm::Setup setup;
        setup.magic.set(c.magic);
        setup.bell.set(c.bell);
        ASSERT_EQ(unix_send(s.fd.get(), std::as_bytes(std::span{&setup, 1}), c.passed).error, 0);
        ++rubbish;
        EXPECT_TRUE(solo.run_until([&] { return transport.rubbish() >= rubbish; }, 5s)) << c.what;
        EXPECT_EQ(transport.rubbish(), rubbish) << c.what;
    }
    EXPECT_TRUE(solo.end.sink.from.empty());
    solo.end.transport->shutdown();
}

// ---- rubbish in the rings ----

// Both ends' segments, scribbled over while packets go to and fro. Nothing is promised about what arrives; that nothing breaks but the link is.
TEST(ShmLink, RubbishInTheSegmentNeverHurtsMoreThanTheLink)
{
    std::mt19937_64 random{testing::test_seed(0x5bb1e)};
    std::uint64_t broken = 0;
    for (int round = 0; round < 60; ++round) {
        Pair pair{kind_named(round % 2 == 0 ? "Shm" : "ShmCopied")};
        ASSERT_TRUE(pair.ready());
        const LinkRole role = round % 3 == 0 ? LinkRole::kBulk : LinkRole::kLane;
        const Pair::Ends ends = pair.open(role);
        ASSERT_FALSE(::testing::Test::HasFailure());
        const Mapped segments = mapped("linnet-link");
        ASSERT_EQ(segments.count, 2u);
        const std::vector<std::byte> data(300'000, std::byte{1});
        const Packet small = eager(1, 40);
        const Packet large = eager(2, 50'000);
        for (int step = 0; step < 100; ++step) {   // most rubbish falls on what nobody reads any more
            const bool from_a = random() % 2 == 0;
            Endpoint& e = from_a ? pair.a() : pair.b();
            const LinkId link = from_a ? ends.at_a : ends.at_b;
            if (role == LinkRole::kBulk) {
                static_cast<void>(e.transport->send_bulk(link, bulk_head(1, data.size()), data, &pair));
            } else {
                const std::array batch{small.lane(), large.lane()};
                static_cast<void>(e.transport->send_lane(link, batch));
            }
            if (!pair.a().sink.downs.empty() || !pair.b().sink.downs.empty()) {
                break;   // its mapping is gone
            }
            // A word in the control page, in a slot, or anywhere.
            const std::span<std::byte> where = segments.where[random() % 2];
            const std::size_t reach = random() % 3 == 0 ? 640 : random() % 2 == 0 ? shm::kHeadBytes + shm::kSlotsBytes : where.size();
            const std::size_t at = random() % (reach / 8) * 8;
            std::uint64_t word = random();
            if (random() % 2 == 0) {   // a likely one: the right sequence, and rubbish in the rest
                std::memcpy(&word, where.data() + at, sizeof word);
                word ^= std::uint64_t{1} << random() % 64;
            }
            std::memcpy(where.data() + at, &word, sizeof word);
            pair.poll();
        }
        pair.settle();
        broken += pair.a().sink.downs.size() + pair.b().sink.downs.size();
        for (const Endpoint* e : {&pair.a(), &pair.b()}) {
            ASSERT_LE(e->sink.downs.size(), 1u);
        }
    }
    EXPECT_GT(broken, 10u) << "rubbish was believed";
}

TEST(ShmLink, RubbishIsCountedAndSaid)
{
    Pair pair{kind_named("Shm")};
    const Pair::Ends ends = pair.open(LinkRole::kLane);
    const Mapped segments = mapped("linnet-link");
    ASSERT_EQ(segments.count, 2u);
    const std::uint64_t before = pair.stats().total(Counter::kProtocolErrors);
    // The next slot of the acceptor's ring gets a record of a kind that does not exist.
    const auto ring = shm::ring_of(segments.where[0], LinkRole::kLane, shm::Side::kAcceptor);
    ring.slots[0].word.store(std::uint64_t{1} << 32 | 9u << 28 | 8u << 20);
    static_cast<void>(pair.b().transport->send_lane(ends.at_b, {}));
    ASSERT_TRUE(pair.run_until([&] {
        if (!pair.a().sink.downs.empty() || !pair.b().sink.downs.empty()) {
            return !pair.a().sink.downs.empty();   // the mapping is gone
        }
        const Packet p = eager(1, 8);
        const std::array one{p.lane()};
        static_cast<void>(pair.b().transport->send_lane(ends.at_b, one));
        ring.slots[0].word.store(std::uint64_t{1} << 32 | 9u << 28 | 8u << 20);
        return !pair.a().sink.downs.empty();
    }));
    EXPECT_EQ(pair.a().sink.downs[0].why, Status::kProtocol);
    EXPECT_NE(pair.a().sink.downs[0].text.find("unknown kind"), std::string::npos) << pair.a().sink.downs[0].text;
    EXPECT_EQ(pair.stats().total(Counter::kProtocolErrors), before + 1);
    ASSERT_TRUE(pair.run_until([&] { return !pair.b().sink.downs.empty(); }));
}

// ---- limits ----

TEST(ShmLink, NoDescriptorIsReportedAndTheNextAttemptWorks)
{
    testing::expect_complaint("shm: cannot open a connection: Too many open files (1 times); raise the limit of open files");
    Pair pair{kind_named("Shm")};
    {
        const LowDescriptors none;
        EXPECT_EQ(pair.a().transport->connect(PeerId{2}, LinkRole::kLane, pair.b().name).status(), Status::kNoDescriptors);
        pair.settle();
    }
    pair.open(LinkRole::kLane);
}

// The socket is there; the descriptor of the memory is not to be had.
TEST(ShmLink, NoDescriptorForTheMemoryEndsTheAttempt)
{
    testing::expect_complaint("shm: cannot make shared memory: too many open files; raise their limit (ulimit -n, RLIMIT_NOFILE) (1 times)");
    Pair pair{kind_named("Shm")};
    ASSERT_TRUE(pair.a().transport->connect(PeerId{2}, LinkRole::kLane, pair.b().name).ok());
    {
        const LowDescriptors none;
        for (int i = 0; i < 10'000 && pair.a().sink.downs.empty(); ++i) {
            pair.a().transport->poll(64);
        }
    }
    ASSERT_EQ(pair.a().sink.downs.size(), 1u);
    EXPECT_FALSE(pair.a().sink.downs[0].up);
    pair.open(LinkRole::kLane);
}

TEST(ShmLink, NoDescriptorToAcceptWithDoesNotSpinAndTheOpenerLearnsAtOnce)
{
    testing::expect_complaint("raise the limit of open files");
    Pair pair{kind_named("Shm")};
    ASSERT_TRUE(pair.a().transport->connect(PeerId{2}, LinkRole::kLane, pair.b().name).ok());
    for (int i = 0; i < 10'000 && !readable(*pair.b().transport); ++i) {
        pair.a().transport->poll(64);
    }
    {
        const LowDescriptors none;
        EXPECT_LE(polled_for_a_while(*pair.b().transport), 3u) << "the listener spins";
        EXPECT_FALSE(readable(*pair.b().transport)) << "a sleeper would spin";
        EXPECT_NE(pair.b().transport->next_timer(), TimePoint::max());
    }
    for (const TimePoint end = monotonic_now() + std::chrono::seconds{2}; pair.a().sink.downs.empty() && monotonic_now() < end;) {
        pair.a().transport->poll(64);
    }
    EXPECT_EQ(pair.a().sink.downs.size(), 1u) << "it tries another way at once";
    pair.open(LinkRole::kLane);
}

TEST(ShmLink, ShortEagerPacketsComeInTwoPiecesWhereTheyLie)
{
    Pair pair{kind_named("Shm")};
    const Pair::Ends ends = pair.open(LinkRole::kLane);
    std::uint32_t number = 0;
    for (const std::size_t payload : {std::size_t{0}, std::size_t{72}, std::size_t{73}, kAtOnceMax, kAtOnceMax + 1}) {
        const Packet p = eager(++number, payload);
        const std::array one{p.lane()};
        ASSERT_EQ(pair.a().transport->send_lane(ends.at_a, one).taken, 1u);
        ASSERT_TRUE(pair.run_until([&] { return pair.b().sink.packets.size() == number; }));
        EXPECT_EQ(pair.b().sink.packets.back().bytes, p.bytes);
        EXPECT_EQ(std::exchange(pair.b().sink.in_two, 0), payload == 73 || payload == kAtOnceMax ? 1u : 0u) << payload;
    }
}

TEST(ShmLink, RingWithoutRoomForAPacketAtOnceIsCountedOnceAWait)
{
    Pair pair{kind_named("Shm")};
    const Pair::Ends ends = pair.open(LinkRole::kLane);
    const Packet p = eager(1, kAtOnceMax);
    LanePacket packet = p.lane();
    packet.at_once = true;
    const auto taken = [&] { return pair.a().transport->send_lane(ends.at_a, {&packet, 1}).taken; };
    while (taken() == 1) {
    }
    EXPECT_EQ(taken(), 0u);
    EXPECT_EQ(pair.stats().total(Counter::kShmRoomStalls), 1u);
}

// ---- a thread that waits ----

TEST(ShmLink, LookOfAThreadThatWaitsTakesOnePacketAndNoMore)
{
    Pair pair{kind_named("Shm")};
    const Pair::Ends ends = pair.open(LinkRole::kLane);
    Transport& receiver = *pair.b().transport;
    EXPECT_EQ(receiver.linger(), EventSource::Linger::kNever) << "no ring is hot yet";
    const auto send = [&](std::uint32_t number, std::size_t payload) {
        const Packet p = eager(number, payload);
        const std::array one{p.lane()};
        ASSERT_EQ(pair.a().transport->send_lane(ends.at_a, one).taken, 1u);
    };
    send(1, 8);
    ASSERT_TRUE(pair.run_until([&] { return pair.b().sink.packets.size() == 1; }));
    EXPECT_EQ(receiver.linger(), EventSource::Linger::kNothing);
    std::uint32_t number = 1;
    for (const std::size_t payload : {std::size_t{0}, std::size_t{8}, std::size_t{72}, std::size_t{73}, std::size_t{2000}, std::size_t{30'000}}) {
        send(++number, payload);
        send(++number, payload);
        for (std::uint32_t seen = number - 1; seen <= number; ++seen) {
            ASSERT_EQ(receiver.linger(), EventSource::Linger::kTaken) << payload;
            ASSERT_EQ(pair.b().sink.packets.size(), seen) << payload;
            EXPECT_EQ(pair.b().sink.packets.back().bytes, eager(seen, payload).bytes);
        }
        EXPECT_EQ(receiver.linger(), EventSource::Linger::kNothing);
    }
}

// ---- memory ----

TEST(ShmLink, IdleLinkKeepsOnePage)
{
    Pair pair{kind_named("Shm")};
    constexpr std::size_t kLinks = 20;
    std::vector<Pair::Ends> ends;
    for (std::size_t i = 0; i < kLinks; ++i) {
        ends.push_back(pair.open(i % 4 == 3 ? LinkRole::kBulk : LinkRole::kLane));
    }
    const auto resident = [] { return mapped("linnet-link").resident / 2; };   // each segment is mapped twice here
    for (std::uint32_t lap = 0; lap < 3; ++lap) {
        for (std::size_t i = 0; i < kLinks; ++i) {
            if (i % 4 == 3) {
                continue;
            }
            for (std::uint32_t n = 0; n < 5; ++n) {
                const Packet p = eager(n, 30'000);
                const std::array one{p.lane()};
                ASSERT_EQ(pair.a().transport->send_lane(ends[i].at_a, one).taken, 1u);
                pair.poll();
            }
        }
        ASSERT_TRUE(pair.run_until([&] { return pair.b().sink.packets.size() == (lap + 1) * 75; }));
        EXPECT_GT(resident(), kLinks * 8192) << "the measurement sees nothing";
        EXPECT_TRUE(pair.run_until([&] { return resident() <= kLinks * 4096; }, 5s)) << resident() / kLinks << " bytes for each link";
    }
    for (const Sink::Arrival& packet : pair.b().sink.packets) {
        EXPECT_EQ(packet.bytes, eager(number_of(packet.bytes), 30'000).bytes);
    }
}

}   // namespace
}   // namespace linnet::contract

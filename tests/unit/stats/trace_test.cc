// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TraceRing: order, overwriting, and readers among writers.
#include "stats/trace.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/status.h"

namespace linnet {
namespace {

TraceEvent event(std::uint64_t a)
{
    return {TimePoint{Nanos{static_cast<Nanos::rep>(a)}}, TraceKind::kSend, PeerId{static_cast<std::uint32_t>(a)}, a, ~a};
}

std::vector<TraceEvent> dumped(const TraceRing& ring)
{
    std::vector<TraceEvent> events;
    ring.dump([](void* arg, const TraceEvent& e) { static_cast<std::vector<TraceEvent>*>(arg)->push_back(e); }, &events);
    return events;
}

TEST(TraceRing, EmptyRingIsOffAndRecordsNothing)
{
    TraceRing ring;
    EXPECT_FALSE(ring.on());
    ring.record(event(1));
    EXPECT_EQ(ring.recorded(), 0u);
    EXPECT_EQ(ring.capacity(), 0u);
    EXPECT_TRUE(dumped(ring).empty());
}

TEST(TraceRing, CapacityRoundsUpToAPowerOfTwo)
{
    EXPECT_EQ(TraceRing{1}.capacity(), 1u);
    EXPECT_EQ(TraceRing{5}.capacity(), 8u);
    EXPECT_EQ(TraceRing{8}.capacity(), 8u);
}

TEST(TraceRing, DumpGivesEventsWholeAndOldestFirst)
{
    TraceRing ring{8};
    for (std::uint64_t i = 0; i < 5; ++i) {
        ring.record(event(i));
    }
    const auto events = dumped(ring);
    ASSERT_EQ(events.size(), 5u);
    for (std::uint64_t i = 0; i < 5; ++i) {
        EXPECT_EQ(events[i].a, i);
        EXPECT_EQ(events[i].b, ~i);
        EXPECT_EQ(events[i].peer.value, i);
        EXPECT_EQ(events[i].kind, TraceKind::kSend);
        EXPECT_EQ(events[i].time, event(i).time);
    }
}

TEST(TraceRing, NewEventsReplaceTheOldest)
{
    TraceRing ring{4};
    for (std::uint64_t i = 0; i < 11; ++i) {
        ring.record(event(i));
    }
    const auto events = dumped(ring);
    ASSERT_EQ(events.size(), 4u);
    EXPECT_EQ(events.front().a, 7u);
    EXPECT_EQ(events.back().a, 10u);
    EXPECT_EQ(ring.recorded(), 11u);
    EXPECT_EQ(ring.dropped(), 0u);
}

TEST(TraceRing, FormatIsOneLine)
{
    char line[128];
    TraceRing::format({TimePoint{Nanos{12'345'678'901}}, TraceKind::kUnexpected, PeerId{3}, 4096, 17}, line, sizeof line);
    EXPECT_STREQ(line, "12.345678 unexpected peer 3 bytes 4096 bits 0x11");
    TraceRing::format({TimePoint{}, TraceKind::kLinkUp, kNoPeer, 1, 2}, line, sizeof line);
    EXPECT_STREQ(line, "0.000000 link-up peer - link 1 role 2");
    TraceRing::format({TimePoint{}, static_cast<TraceKind>(200), kNoPeer, 1, 2}, line, 12);
    EXPECT_STREQ(line, "0.000000 un");   // cut, not overrun
    TraceRing::format({TimePoint{}, TraceKind::kLinkDown, PeerId{0}, 1, static_cast<std::uint64_t>(Status::kPeerDown)}, line, sizeof line);
    EXPECT_NE(std::string_view{line}.find(" link-down peer 0 link 1 status "), std::string_view::npos) << line;
    EXPECT_TRUE(std::string_view{line}.ends_with(status_text(Status::kPeerDown))) << line;
}

TEST(Trace, TellsEachEventOnce)
{
    std::vector<std::string> lines;
    const Log log{LogLevel::kWarn, [](void* arg, LogLevel, const char* line) noexcept { static_cast<std::vector<std::string>*>(arg)->emplace_back(line); },
                  &lines};
    ManualClock clock;
    clock.advance(std::chrono::milliseconds{1500});
    Trace trace{2, clock, log};
    trace.note(TraceKind::kSend, PeerId{1}, 8, 1);
    trace.note(TraceKind::kSend, PeerId{1}, 16, 2);
    trace.note(TraceKind::kPeerDown, PeerId{1}, static_cast<std::uint64_t>(Status::kPeerDown), 0);
    trace.tell("a test");
    ASSERT_EQ(lines.size(), 3u);   // the first has been overwritten
    EXPECT_EQ(lines[0], "trace: the last events before a test, now at 1.500000 (setting trace_events):");
    EXPECT_EQ(lines[1], "trace: 1.500000 send peer 1 bytes 16 bits 0x2");
    EXPECT_NE(lines[2].find("peer-down peer 1 status"), std::string::npos);
    trace.note(TraceKind::kUnexpected, PeerId{0}, 0, 3);
    trace.tell("another");
    ASSERT_EQ(lines.size(), 5u);
    EXPECT_EQ(lines[4], "trace: 1.500000 unexpected peer 0 bytes 0 bits 0x3");
    note(nullptr, TraceKind::kSend, PeerId{1}, 8, 1);   // a context without
    tell(nullptr, "nothing");
    EXPECT_EQ(lines.size(), 5u);
}

// Two writers in a tiny ring lap each other all the time while a reader dumps: whatever it gets must be of one event. A torn one would
// have fields that do not fit together.
TEST(TraceRing, ReadersNeverSeeHalfAnEvent)
{
    TraceRing ring{4};
    std::atomic<bool> stop{false};
    std::vector<std::thread> writers;
    for (std::uint64_t w = 0; w < 2; ++w) {
        writers.emplace_back([&ring, &stop, w] {
            for (std::uint64_t i = w; !stop.load(std::memory_order_relaxed); i += 2) {
                ring.record(event(i));
            }
        });
    }
    std::uint64_t seen = 0, torn = 0;
    while (seen < 20000) {
        for (const TraceEvent& e : dumped(ring)) {
            ++seen;
            torn += e.b == ~e.a && e.peer.value == static_cast<std::uint32_t>(e.a) && e.time == event(e.a).time ? 0 : 1;
        }
    }
    stop.store(true, std::memory_order_relaxed);
    for (std::thread& t : writers) {
        t.join();
    }
    EXPECT_EQ(torn, 0u);
    EXPECT_GT(ring.recorded(), ring.capacity());
}

}   // namespace
}   // namespace linnet

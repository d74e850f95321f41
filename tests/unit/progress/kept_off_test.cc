// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Where the event thread may run: by whomever it was started, and kept off a core for a while (KeptOff).
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "progress/event_thread_state.h"
#include "progress/progress_engine.h"
#include "support/eventually.h"
#include "support/test_log.h"
#include "sys/thread.h"

namespace linnet {
namespace {

class KeptOffTest : public ::testing::Test {
protected:
    KeptOffTest()
    {
        for (unsigned cpu = 0; cpu < CpuSet::kCpus; ++cpu) {
            if (all.has(cpu)) {
                first = all.count() > 1 && first == CpuSet::kCpus ? cpu : first;
            }
        }
        pinned.add(first);
    }
    ~KeptOffTest() override { EXPECT_TRUE(set_thread_affinity(all)); }
    void SetUp() override
    {
        if (all.count() < 2) {
            GTEST_SKIP() << "one processor alone: there is no other one to go to";
        }
    }
    const CpuSet all = thread_affinity();
    unsigned first{CpuSet::kCpus};
    CpuSet pinned;
    KeptOff kept;
};

TEST_F(KeptOffTest, OneCoreUntilItIsGivenBack)
{
    CpuSet others = all;
    others.remove(first);
    kept.keep(thread_id(), first);
    EXPECT_EQ(thread_affinity(), others);
    kept.keep(thread_id(), first);
    kept.give_back();
    EXPECT_EQ(thread_affinity(), all);
    kept.give_back();
    EXPECT_EQ(thread_affinity(), all);
    kept.keep(thread_id(), first);
    EXPECT_EQ(thread_affinity(), others) << "once more";
    kept.give_back();
}

TEST_F(KeptOffTest, ThreadThatWasPinnedStaysSo)
{
    ASSERT_TRUE(set_thread_affinity(pinned));
    kept.keep(thread_id(), first);
    EXPECT_EQ(thread_affinity(), pinned) << "it has nowhere else to go";
    CpuSet others = all;
    others.remove(first);
    unsigned second = 0;
    while (!others.has(second)) {
        ++second;
    }
    kept.keep(thread_id(), second);
    EXPECT_EQ(thread_affinity(), pinned);
    kept.give_back();
    EXPECT_EQ(thread_affinity(), pinned) << "and not where the process may";
}

// A program, or a tool, that gives the thread another place while it sleeps means it.
TEST_F(KeptOffTest, MaskThatShrankMeanwhileStaysSo)
{
    CpuSet others = all;
    others.remove(first);
    kept.keep(thread_id(), first);
    ASSERT_TRUE(set_thread_affinity(pinned));
    kept.give_back();
    EXPECT_EQ(thread_affinity(), pinned);
    kept.keep(thread_id(), others.first());   // it is free for the next time
    kept.give_back();
    EXPECT_EQ(thread_affinity(), pinned);
}

// ---- from the start ----

std::uint32_t event_thread_id()
{
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::string name;
        std::getline(std::ifstream{task.path() / "comm"}, name);
        if (name == "linnet-event") {
            return static_cast<std::uint32_t>(std::stoul(task.path().filename().string()));
        }
    }
    return 0;
}

TEST(EventThread, MayRunWhereTheProcessMayThoughAPinnedThreadStartedIt)
{
    SystemClock clock;
    Stats stats;
    ProgressEngine engine{{}, clock, stats, testing::test_log()};
    std::thread starter{[&] {
        EXPECT_TRUE(set_thread_affinity(CpuSet::range(thread_affinity().first(), 1)));
        EXPECT_EQ(engine.start(), Status::kOk);
    }};
    starter.join();
    EXPECT_TRUE(testing::eventually([] { return event_thread_id() != 0 && thread_affinity(event_thread_id()) == process_affinity(); }));
    engine.stop();
}

}   // namespace
}   // namespace linnet

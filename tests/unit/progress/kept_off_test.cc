// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// KeptOff: where a thread may run, for a while.
#include <gtest/gtest.h>

#include "progress/event_thread_state.h"
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

}   // namespace
}   // namespace linnet

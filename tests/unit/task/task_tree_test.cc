// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TaskTree: which queue, in which order, how often, where counted; on a machine of 64 cores where hwloc can imagine one.
#include "task/task_tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "support/test_log.h"

namespace linnet {
namespace {

using testing::test_log;

// Four NUMA nodes of four caches of four cores, or one flat node of 64 processors.
Topology machine()
{
#if LINNET_HAVE_HWLOC
    Result<Topology> topology = Topology::synthetic("numa:4 l3:4 core:4 pu:1", test_log());
    if (topology.ok()) {
        return std::move(*topology);
    }
#endif
    return Topology::flat(CpuSet::range(0, 64));
}

class TaskTreeTest : public ::testing::Test {
protected:
    // A task that writes down that it ran, and wants to again for the first `again` times.
    struct Noting : Task {
        Noting(TaskTreeTest& test, int name, int again_times = 0) : Task{TaskKind::kAnswer, &Noting::body}, t{test}, id{name}, again{again_times} {}
        static TaskResult body(Task& self, std::uint32_t run) noexcept
        {
            auto& me = static_cast<Noting&>(self);
            me.t.order.push_back(me.id);
            me.t.runs.push_back(run);
            return me.again-- > 0 ? TaskResult::kAgain : TaskResult::kDone;
        }
        TaskTreeTest& t;
        int id;
        int again;
    };
    std::uint64_t count(TaskKind kind, TaskPlace place) { return stats.total(TaskTree::counter_of(kind, place)); }

    Stats stats;
    TaskTree tree{machine(), stats};
    std::vector<int> order;
    std::vector<std::uint32_t> runs;
};

TEST_F(TaskTreeTest, EmptyTreeRunsNothing)
{
    EXPECT_TRUE(tree.empty());
    EXPECT_TRUE(tree.empty(5));
    EXPECT_EQ(tree.run(5, TaskPlace::kHost, TaskTree::kNoLimit).total(), 0u);
    EXPECT_EQ(tree.run_everywhere(TaskPlace::kHost, TaskTree::kNoLimit).total(), 0u);
}

TEST_F(TaskTreeTest, TasksOfOneQueueRunInOrderAndAreCountedByKindAndPlace)
{
    Noting a{*this, 1}, b{*this, 2}, c{*this, 3};
    for (Noting* task : {&a, &b, &c}) {
        ASSERT_TRUE(tree.push(*task, {}));
    }
    EXPECT_FALSE(tree.empty());
    EXPECT_EQ(tree.run(0, TaskPlace::kHost, 2).done, 2u);
    EXPECT_EQ(tree.run(0, TaskPlace::kEventThread, 2).done, 1u);
    EXPECT_EQ(order, (std::vector{1, 2, 3}));
    EXPECT_EQ(count(TaskKind::kAnswer, TaskPlace::kHost), 2u);
    EXPECT_EQ(count(TaskKind::kAnswer, TaskPlace::kEventThread), 1u);
    EXPECT_EQ(count(TaskKind::kCopy, TaskPlace::kHost), 0u);
}

TEST_F(TaskTreeTest, TaskThatIsNotReadyIsQueuedAgainBehindTheOthers)
{
    Noting slow{*this, 1, 2}, quick{*this, 2};
    ASSERT_TRUE(tree.push(slow, {}) && tree.push(quick, {}));
    TaskTree::Ran ran = tree.run(0, TaskPlace::kHost, TaskTree::kNoLimit);
    EXPECT_EQ(ran.again, 1u);   // once per call: a task that polls does not hold its poller
    EXPECT_EQ(ran.done, 1u);
    EXPECT_FALSE(tree.empty());
    tree.run(0, TaskPlace::kHost, TaskTree::kNoLimit);
    ran = tree.run(0, TaskPlace::kHost, TaskTree::kNoLimit);
    EXPECT_EQ(ran.done, 1u);
    EXPECT_EQ(order, (std::vector{1, 2, 1, 1}));
    EXPECT_TRUE(tree.empty());
}

TEST_F(TaskTreeTest, TaskOfSeveralRunsGivesEachItsNumber)
{
    Noting task{*this, 1};
    ASSERT_TRUE(tree.push(task, {kMachineQueue, 4}));
    EXPECT_EQ(tree.run(0, TaskPlace::kHost, 2).done, 2u);
    EXPECT_TRUE(tree.run_own(task));
    EXPECT_TRUE(tree.run_own(task));
    EXPECT_FALSE(tree.run_own(task));
    EXPECT_EQ(runs, (std::vector<std::uint32_t>{0, 1, 2, 3}));
    EXPECT_EQ(count(TaskKind::kAnswer, TaskPlace::kWaiter), 2u);
}

TEST_F(TaskTreeTest, WithdrawnRunsAreNeverBegun)
{
    Noting task{*this, 1};
    ASSERT_TRUE(tree.push(task, {kMachineQueue, 4}));
    EXPECT_TRUE(tree.run_own(task));
    EXPECT_EQ(tree.withdraw(task), 3u);
    EXPECT_EQ(tree.run_everywhere(TaskPlace::kHost, TaskTree::kNoLimit).total(), 0u);
    EXPECT_EQ(order.size(), 1u);
}

TEST_F(TaskTreeTest, HelpersRunOnlyWhatWasOfferedToThem)
{
    Noting ordinary{*this, 1}, offered{*this, 2};
    ASSERT_TRUE(tree.push(ordinary, {}) && tree.push(offered, {kMachineQueue, 1, true}));
    EXPECT_EQ(tree.run(0, TaskPlace::kHelper, TaskTree::kNoLimit).done, 1u);
    EXPECT_EQ(order, (std::vector{2}));
    EXPECT_EQ(count(TaskKind::kAnswer, TaskPlace::kHelper), 1u);
    tree.run(0, TaskPlace::kHost, TaskTree::kNoLimit);
}

TEST_F(TaskTreeTest, TaskThatRestsKeepsNobodyAwakeAndGetsOneTurnAtATime)
{
    Noting poll{*this, 1, 2}, work{*this, 2};
    ASSERT_TRUE(tree.push(poll, {.queue = tree.queue_of(3), .rests = true}));
    EXPECT_TRUE(tree.empty());
    EXPECT_TRUE(tree.empty(3));
    EXPECT_EQ(tree.run_everywhere(TaskPlace::kEventThread, TaskTree::kNoLimit).total(), 0u);
    ASSERT_TRUE(tree.push(work, {.queue = tree.queue_of(3)}));
    EXPECT_EQ(tree.run_resting(3, TaskPlace::kHost).again, 1u);   // and is queued again
    EXPECT_EQ(tree.run_resting_everywhere(TaskPlace::kEventThread).again, 1u);
    EXPECT_EQ(tree.run_resting_everywhere(TaskPlace::kEventThread).done, 1u);
    EXPECT_EQ(tree.run_resting_everywhere(TaskPlace::kEventThread).total(), 0u);
    EXPECT_EQ(order, (std::vector{1, 1, 1}));
    EXPECT_EQ(count(TaskKind::kAnswer, TaskPlace::kHost), 1u);
    EXPECT_EQ(count(TaskKind::kAnswer, TaskPlace::kEventThread), 2u);
    EXPECT_FALSE(tree.empty());   // what does not rest
    tree.run_everywhere(TaskPlace::kHost, TaskTree::kNoLimit);
}

TEST_F(TaskTreeTest, TaskThatRestsIsTakenBackLikeAnyOther)
{
    Noting poll{*this, 1, 100};
    ASSERT_TRUE(tree.push(poll, {.queue = tree.queue_of(3), .rests = true}));
    EXPECT_EQ(tree.withdraw(poll), 1u);
    EXPECT_EQ(tree.run_resting_everywhere(TaskPlace::kHost).total(), 0u);
    ASSERT_TRUE(tree.push(poll, {.queue = tree.queue_of(3), .rests = true}));
    EXPECT_TRUE(tree.run_own(poll));
    EXPECT_EQ(count(TaskKind::kAnswer, TaskPlace::kWaiter), 1u);
    EXPECT_EQ(tree.withdraw(poll), 1u);
}

TEST_F(TaskTreeTest, FullTreeRefusesAndTheCallerKeepsTheTask)
{
    std::vector<std::unique_ptr<Noting>> tasks;
    const QueueIndex core = tree.queue_of(0);
    for (;;) {
        auto task = std::make_unique<Noting>(*this, 1);
        if (!tree.push(*task, {core})) {
            break;
        }
        tasks.push_back(std::move(task));
    }
    EXPECT_EQ(tasks.size() % 64, 0u);   // each queue from the core to the machine
    EXPECT_GE(tasks.size(), 64u);
    Noting stubborn{*this, 2, 3};
    EXPECT_FALSE(tree.push(stubborn, {core}));
    EXPECT_EQ(tree.run(0, TaskPlace::kHost, TaskTree::kNoLimit).done, tasks.size());
    EXPECT_TRUE(tree.empty());
}

// What is queued again may find its queue full by then: it gets its turns, and is not lost.
TEST_F(TaskTreeTest, TaskThatFindsNoRoomAgainIsRunUntilDone)
{
    std::vector<std::unique_ptr<Noting>> tasks;
    Noting last{*this, 7, 2};
    ASSERT_TRUE(tree.push(last, {}));
    // Fill the machine's queue behind it, as full as it gets, then run one: its slot is taken by a task pushed meanwhile.
    struct Intruder : Task {
        explicit Intruder(TaskTree& t, Noting& n) : Task{TaskKind::kAnswer, &Intruder::body}, tree{t}, late{n} {}
        static TaskResult body(Task& self, std::uint32_t) noexcept
        {
            auto& me = static_cast<Intruder&>(self);
            for (int i = 0; i < 2; ++i) {
                me.fits += me.tree.push(i == 0 ? me.late : *me.spare, {}) ? 1 : 0;
            }
            return TaskResult::kDone;
        }
        TaskTree& tree;
        Noting& late;
        Noting* spare{nullptr};
        int fits{0};
    };
    Noting late{*this, 8}, spare{*this, 9};
    Intruder intruder{tree, late};
    intruder.spare = &spare;
    ASSERT_TRUE(tree.push(intruder, {}));
    while (tasks.size() < 62) {
        tasks.push_back(std::make_unique<Noting>(*this, 1));
        ASSERT_TRUE(tree.push(*tasks.back(), {}));
    }
    EXPECT_EQ(tree.run(0, TaskPlace::kHost, 2).total(), 2u);   // `last`, which wants again, and the intruder, which takes both places
    EXPECT_EQ(intruder.fits, 2);
    EXPECT_EQ(order, (std::vector{7, 7, 7}));
    while (tree.run(0, TaskPlace::kHost, TaskTree::kNoLimit).total() != 0) {
    }
    EXPECT_EQ(std::count(order.begin(), order.end(), 1), 62);
    EXPECT_EQ(order.size(), 67u);
}

#if LINNET_HAVE_HWLOC

TEST_F(TaskTreeTest, CoreLooksIntoItsOwnQueueFirstAndThenOutwards)
{
    Noting machine_wide{*this, 4}, numa{*this, 3}, cache{*this, 2}, core{*this, 1}, elsewhere{*this, 9};
    ASSERT_TRUE(tree.push(machine_wide, {}));
    ASSERT_TRUE(tree.push(numa, {tree.queue_for(CpuSet::range(16, 16))}));
    ASSERT_TRUE(tree.push(cache, {tree.queue_of(21, TopologyLevel::kCache)}));
    ASSERT_TRUE(tree.push(core, {tree.queue_of(21)}));
    ASSERT_TRUE(tree.push(elsewhere, {tree.queue_of(22)}));
    EXPECT_TRUE(tree.empty(64) == false);   // a processor that nobody knows sees the machine's queue
    EXPECT_EQ(tree.run(21, TaskPlace::kHost, TaskTree::kNoLimit).done, 4u);
    EXPECT_EQ(order, (std::vector{1, 2, 3, 4}));
    EXPECT_TRUE(tree.empty(21));
    EXPECT_FALSE(tree.empty(22));
    EXPECT_FALSE(tree.empty());
    EXPECT_EQ(tree.run_everywhere(TaskPlace::kEventThread, TaskTree::kNoLimit).done, 1u);   // whoever is on core 22
    EXPECT_EQ(order.back(), 9);
}

TEST_F(TaskTreeTest, TaskThatRestsOnANodeIsSeenByItsCoresAndByWhoLooksEverywhere)
{
    Noting poll{*this, 1, 1000};
    ASSERT_TRUE(tree.push(poll, {.queue = tree.queue_of(21, TopologyLevel::kNuma), .rests = true}));
    EXPECT_EQ(tree.run_resting(30, TaskPlace::kHost).again, 1u);   // the same node of four
    EXPECT_EQ(tree.run_resting(32, TaskPlace::kHost).again, 0u);   // another one
    EXPECT_EQ(tree.run_resting_everywhere(TaskPlace::kEventThread).again, 1u);
    EXPECT_EQ(tree.withdraw(poll), 1u);
}

TEST_F(TaskTreeTest, LevelsAreFoundFromTheCore)
{
    EXPECT_EQ(tree.queue_of(21, TopologyLevel::kMachine), kMachineQueue);
    EXPECT_EQ(tree.queue_of(21, TopologyLevel::kCore), tree.queue_of(21));
    EXPECT_EQ(tree.queue_of(21, TopologyLevel::kPackage), tree.queue_of(30, TopologyLevel::kNuma));   // no packages here: the node around
    EXPECT_NE(tree.queue_of(21, TopologyLevel::kCache), tree.queue_of(25, TopologyLevel::kCache));
}

TEST_F(TaskTreeTest, FullCoreQueueOverflowsOutwards)
{
    std::vector<std::unique_ptr<Noting>> tasks;
    for (int i = 0; i < 70; ++i) {
        tasks.push_back(std::make_unique<Noting>(*this, i));
        ASSERT_TRUE(tree.push(*tasks.back(), {tree.queue_of(3)}));
    }
    EXPECT_FALSE(tree.empty(2));   // the same cache
    EXPECT_TRUE(tree.empty(4));    // another one
    EXPECT_EQ(tree.run(2, TaskPlace::kHost, TaskTree::kNoLimit).done, 6u);
    EXPECT_EQ(tree.run(3, TaskPlace::kHost, TaskTree::kNoLimit).done, 64u);
}

#endif

// Threads as if on all 64 cores push to every level, run their own path, and wait for tasks of several runs; a task is freed as soon as it is done.
TEST_F(TaskTreeTest, ManyThreadsRunEveryTaskExactlyAsOftenAsOffered)
{
    struct Counting : Task {
        explicit Counting(std::atomic<std::uint64_t>& all) : Task{TaskKind::kSend, &Counting::body}, sum{all} {}
        static TaskResult body(Task& self, std::uint32_t run) noexcept
        {
            auto& me = static_cast<Counting&>(self);
            me.sum.fetch_add(run + 1, std::memory_order_relaxed);
            me.left.fetch_sub(1, std::memory_order_release);   // the last touch: the owner frees it
            return TaskResult::kDone;
        }
        std::atomic<std::uint64_t>& sum;
        std::atomic<std::uint32_t> left{0};
    };
    constexpr unsigned kThreads = 4, kTasks = 5000;
    std::atomic<std::uint64_t> sum{0};
    std::uint64_t expected = 0;
    for (unsigned i = 0; i < kTasks; ++i) {
        const std::uint64_t n = 1 + i % 3;
        expected += kThreads * n * (n + 1) / 2;
    }
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < kThreads; ++t) {
        threads.emplace_back([&, t] {
            for (unsigned i = 0; i < kTasks; ++i) {
                const unsigned cpu = (t * 16 + i) % 64;
                const auto level = static_cast<TopologyLevel>(i % 5);
                const auto task = std::make_unique<Counting>(sum);
                task->left = 1 + i % 3;
                const std::uint32_t n = task->left;
                while (!tree.push(*task, {tree.queue_of(cpu, level), n})) {
                    tree.run_everywhere(TaskPlace::kHost, 1);
                }
                tree.run(cpu, TaskPlace::kHost, 1);
                while (tree.run_own(*task)) {
                }
                while (task->left.load(std::memory_order_acquire) != 0) {
                    std::this_thread::yield();
                }
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(sum.load(), expected);
    EXPECT_TRUE(tree.empty());
}

}   // namespace
}   // namespace linnet

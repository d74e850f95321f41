// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TaskSource: tasks run by those who poll, by the event thread, and by nobody twice; nobody sleeps over one.
#include "progress/task_source.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "support/eventually.h"
#include "support/test_log.h"
#include "sys/system_clock.h"
#include "unit/progress/fake_source.h"

namespace linnet {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::test_log;

// Done at its `turns`th run.
struct Counted : Task {
    explicit Counted(std::uint32_t n = 1) : Task{TaskKind::kAnswer, &Counted::body}, turns{n} {}
    static TaskResult body(Task& self, std::uint32_t) noexcept
    {
        auto& me = static_cast<Counted&>(self);
        const std::uint32_t n = 1 + me.runs.fetch_add(1, std::memory_order_acq_rel);
        return n >= me.turns.load() ? TaskResult::kDone : TaskResult::kAgain;
    }
    std::atomic<std::uint32_t> turns, runs{0};
};

class TaskSourceTest : public ::testing::Test {
protected:
    ProgressEngine& make(ProgressEngine::Config config = {})
    {
        config.has_completions = ReadyRef::to(no);
        engine.emplace(config, clock, stats, test_log());
        source.emplace(tree, *engine, clock);
        EXPECT_EQ(engine->add_source(*source), Status::kOk);
        EXPECT_EQ(engine->start(), Status::kOk);
        return *engine;
    }
    void TearDown() override
    {
        if (engine) {
            engine->stop();
        }
    }
    void submit(Task& task, QueueIndex queue = kMachineQueue)
    {
        ASSERT_TRUE(tree.push(task, {queue}));
        engine->kick();
    }

    static constexpr auto no = []() noexcept { return false; };
    SystemClock clock;
    Stats stats;
    TaskTree tree{Topology::read(test_log()), stats};
    std::optional<ProgressEngine> engine;
    std::optional<TaskSource> source;
};

TEST_F(TaskSourceTest, ThreadThatPollsRunsTasksAndCountsThemAsEvents)
{
    ProgressEngine& e = make({.event_thread = false});
    Counted a, b;
    submit(a);
    submit(b);
    EXPECT_EQ(e.poll(64), 2u);
    EXPECT_EQ(a.runs.load() + b.runs.load(), 2u);
    EXPECT_EQ(e.poll(64), 0u);
    EXPECT_EQ(stats.total(Counter::kTaskAnswerHost), 2u);
}

TEST_F(TaskSourceTest, EventThreadRunsTasksOfEveryQueueWhileTheHostComputes)
{
    make().peers_changed(1);
    for (unsigned cpu = 0; cpu < tree.topology().nodes()[0].cpus.count(); ++cpu) {
        Counted task;
        submit(task, tree.queue_of(cpu));
        EXPECT_TRUE(eventually([&] { return task.runs.load() == 1; })) << cpu;
        engine->stop();
        engine.reset();
        make().peers_changed(1);
    }
    EXPECT_GT(stats.total(Counter::kTaskAnswerEventThread), 0u);
}

TEST_F(TaskSourceTest, TaskPushedWhileAThreadSleepsWakesIt)
{
    ProgressEngine& e = make({.policy = ProgressPolicy::kBlock, .event_thread = false});
    Counted task;
    const auto ready = [&task]() noexcept { return task.runs.load() != 0; };
    std::thread pusher{[&] {
        std::this_thread::sleep_for(20ms);
        submit(task);
    }};
    EXPECT_EQ(e.wait(ReadyRef::to(ready), monotonic_now() + 20s), Status::kOk);
    pusher.join();
}

TEST_F(TaskSourceTest, SleeperFirstLooksIntoTheQueuesOfOtherCores)
{
    ProgressEngine& e = make({.policy = ProgressPolicy::kBlock, .event_thread = false});
    std::vector<std::unique_ptr<Counted>> tasks;
    for (unsigned node = 0; node < tree.topology().nodes().size(); ++node) {   // most of them not around this core
        tasks.push_back(std::make_unique<Counted>());
        ASSERT_TRUE(tree.push(*tasks.back(), {static_cast<QueueIndex>(node)}));
    }
    const auto ready = [&]() noexcept { return tree.empty(); };
    EXPECT_EQ(e.wait(ReadyRef::to(ready), monotonic_now() + 20s), Status::kOk);
    EXPECT_EQ(stats.total(Counter::kTaskAnswerHost), tasks.size());
}

TEST_F(TaskSourceTest, ThreadThatOnlyPollsLooksIntoTheQueuesOfOtherCoresAfterAKick)
{
    ProgressEngine& e = make({.event_thread = false});
    while (e.poll(64) != 0) {
    }
    std::vector<std::unique_ptr<Counted>> tasks;
    for (unsigned node = 0; node < tree.topology().nodes().size(); ++node) {
        tasks.push_back(std::make_unique<Counted>());
        ASSERT_TRUE(tree.push(*tasks.back(), {static_cast<QueueIndex>(node)}));
    }
    e.kick();
    EXPECT_EQ(e.poll(64), tasks.size());
    EXPECT_TRUE(tree.empty());
}

TEST_F(TaskSourceTest, TaskThatWantsAgainGetsItsTurnsWhileEverybodySleeps)
{
    ProgressEngine& e = make({.policy = ProgressPolicy::kBlock, .event_thread = false});
    Counted task{UINT32_MAX};
    submit(task);
    const auto ready = [&task]() noexcept { return task.runs.load() >= 20; };
    EXPECT_EQ(e.wait(ReadyRef::to(ready), monotonic_now() + 20s), Status::kOk);
    EXPECT_GT(stats.total(Counter::kAppSleeps), 0u);   // between its turns: it does not make anybody spin
    task.turns = 1;
    EXPECT_TRUE(eventually([&] { return e.poll(64) != 0 || tree.empty(); }));
    EXPECT_TRUE(tree.empty());
}

TEST_F(TaskSourceTest, EventThreadSleepsBetweenTheTurnsOfATaskThatWaits)
{
    ProgressEngine& e = make();
    e.peers_changed(1);
    Counted task{UINT32_MAX};
    submit(task);
    ASSERT_TRUE(eventually([&] { return task.runs.load() >= 20; }));
    const std::uint64_t polls = stats.total(Counter::kEventThreadPolls);
    std::this_thread::sleep_for(100ms);
    const std::uint64_t more = stats.total(Counter::kEventThreadPolls) - polls;
    EXPECT_GT(more, 0u);
    EXPECT_LT(more, 2000u);   // 500 at most if it slept the whole period each time
    task.turns = 1;
    EXPECT_TRUE(eventually([&] { return tree.empty(); }));
}

// ---- polls as tasks ----

class RestingTest : public TaskSourceTest {
protected:
    ProgressEngine& make_with_two(ProgressEngine::Config config = {})
    {
        config.has_completions = ReadyRef::to(no);
        engine.emplace(config, clock, stats, test_log());
        source.emplace(tree, *engine, clock);
        for (testing::FakeSource* const fake : {&busy, &idle}) {
            fake->on_handled = [](std::uint64_t) {};
            source->add_polled(*fake);
            EXPECT_EQ(engine->add_source(*fake), Status::kOk);
        }
        EXPECT_EQ(engine->add_source(*source), Status::kOk);
        EXPECT_EQ(engine->start(), Status::kOk);
        return *engine;
    }
    // A thread that polls, and always finds something at `busy`.
    void poll_busily(unsigned passes)
    {
        for (unsigned i = 0; i < passes; ++i) {
            busy.deliver();
            engine->poll(64);
        }
    }
    static constexpr unsigned kUntilRest = 3 * 4096;

    testing::FakeSource busy, idle;
};

TEST_F(RestingTest, SourceThatHasNothingForLongIsLeftOutOfMostPasses)
{
    make_with_two({.event_thread = false});
    poll_busily(kUntilRest);
    ASSERT_TRUE(idle.rests());
    EXPECT_FALSE(busy.rests());
    const std::uint64_t idle_polls = idle.polls(), busy_polls = busy.polls();
    poll_busily(1600);
    EXPECT_GE(busy.polls() - busy_polls, 1600u);
    EXPECT_NEAR(static_cast<double>(idle.polls() - idle_polls), 100, 2);   // its task has a turn in every 16th
    EXPECT_GE(stats.total(Counter::kTaskPollHost), 98u);
}

// A pass of a transport that has much to copy, or a slow system call to make.
TEST_F(RestingTest, SourceThatRestsWaitsNoLongerWherePassesTakeLong)
{
    make_with_two({.event_thread = false});
    poll_busily(kUntilRest);
    ASSERT_TRUE(idle.rests());
    busy.on_handled = [](std::uint64_t) {
        for (const TimePoint end = monotonic_now() + 510us; monotonic_now() < end;) {
        }
    };
    const std::uint64_t polls = idle.polls();
    for (int i = 0; i < 320; ++i) {
        busy.deliver();
        engine->enter();
        engine->host_progress(64, WhenIdle::kReturn);
        engine->leave(CallKind::kEmpty);
    }
    EXPECT_GE(idle.polls() - polls, 300u);   // 20, if only passes counted
}

TEST_F(RestingTest, NobodyRestsInALongWaitForWhoeverItIs)
{
    ProgressEngine& e = make_with_two({.event_thread = false});
    poll_busily(100);
    idle.deliver();   // it had something as lately as the other one, which had it last
    poll_busily(100);
    for (unsigned i = 0; i < 2 * kUntilRest; ++i) {
        e.poll(64);
    }
    EXPECT_FALSE(idle.rests());
    EXPECT_FALSE(busy.rests());
}

TEST_F(RestingTest, FirstArrivalEndsTheRest)
{
    make_with_two({.event_thread = false});
    poll_busily(kUntilRest);
    ASSERT_TRUE(idle.rests());
    idle.deliver();
    poll_busily(16);
    EXPECT_EQ(idle.handled(), 1u);
    EXPECT_FALSE(idle.rests());
    const std::uint64_t polls = idle.polls();
    poll_busily(160);
    EXPECT_GE(idle.polls() - polls, 150u);
}

TEST_F(RestingTest, KickAsksSourcesThatRestToo)
{
    ProgressEngine& e = make_with_two({.event_thread = false});
    poll_busily(kUntilRest);
    ASSERT_TRUE(idle.rests());
    for (unsigned i = 0; i < 8; ++i) {
        const std::uint64_t polls = idle.polls();
        e.kick();
        e.poll(64);
        EXPECT_GT(idle.polls(), polls);
    }
}

TEST_F(RestingTest, SleeperIsWokenByASourceThatRests)
{
    ProgressEngine& e = make_with_two({.policy = ProgressPolicy::kBlock, .event_thread = false});
    poll_busily(kUntilRest);
    ASSERT_TRUE(idle.rests());
    const auto ready = [this]() noexcept { return idle.handled() != 0; };
    std::thread sender{[this] {
        std::this_thread::sleep_for(20ms);
        idle.deliver();
    }};
    EXPECT_EQ(e.wait(ReadyRef::to(ready), monotonic_now() + 20s), Status::kOk);
    sender.join();
    EXPECT_GT(stats.total(Counter::kAppSleeps), 0u);
    EXPECT_LT(stats.total(Counter::kAppSleeps), 100u);   // what rests lets everybody sleep
}

TEST_F(RestingTest, EventThreadPollsWhatRestsWhileTheHostComputes)
{
    make_with_two({.look_in = 1ms}).peers_changed(1);
    poll_busily(kUntilRest);
    idle.deliver();
    EXPECT_TRUE(eventually([&] { return idle.handled() == 1; }));
}

}   // namespace
}   // namespace linnet

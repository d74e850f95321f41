// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// IdleHelpers: that they come, that they keep still, that nobody depends on them, and how they end.
//
// Where a helper must run, it is an ordinary thread: an idle core is more than a test may ask for.
#include "task/idle_helpers.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "support/eventually.h"
#include "support/test_log.h"
#include "sys/futex.h"
#include "sys/system_clock.h"

namespace linnet {
namespace {

using namespace std::chrono_literals;
using testing::eventually;
using testing::test_log;

// Runs `runs` times; a run by a helper waits until the gate is open.
struct Gated : Task {
    Gated() : Task{TaskKind::kCopy, &Gated::body} {}
    static TaskResult body(Task& self, std::uint32_t) noexcept
    {
        auto& me = static_cast<Gated&>(self);
        if (::pthread_equal(::pthread_self(), me.owner) == 0) {
            me.thread.store(thread_id());
            me.inside.fetch_add(1);
            while (me.gate.load(std::memory_order_acquire) == 0) {
                futex_wait(me.gate, 0);
            }
            ::pthread_getname_np(::pthread_self(), me.name, sizeof me.name);
            me.policy = ::sched_getscheduler(0);
            ::pthread_sigmask(SIG_SETMASK, nullptr, &me.blocked);
        }
        me.done.fetch_add(1, std::memory_order_release);
        return TaskResult::kDone;
    }
    void open()
    {
        gate.store(1, std::memory_order_release);
        futex_wake(gate, 100);
    }
    pthread_t owner{::pthread_self()};
    std::atomic<std::uint32_t> gate{0}, inside{0}, done{0}, thread{0};
    char name[16]{};
    int policy{-1};
    sigset_t blocked{};
};

// Moves only when told; helpers read it.
class SharedManualClock final : public Clock {
public:
    [[nodiscard]] TimePoint now() const noexcept override { return TimePoint{Nanos{ns_.load() + (thread_id() == maker_ ? 0 : late_.load())}}; }
    void advance(Nanos by) { ns_.fetch_add(by.count()); }
    void be_late_for_others(Nanos by) { late_.store(by.count()); }   // than the thread that made the clock

private:
    std::atomic<Nanos::rep> ns_{0};
    std::atomic<Nanos::rep> late_{0};
    const std::uint32_t maker_{thread_id()};
};

class IdleHelpersTest : public ::testing::Test {
protected:
    IdleHelpers& make(unsigned most, bool idle_class = false, unsigned ranks = 1)
    {
        return helpers.emplace(tree, IdleHelpers::Config{most, ranks, crowded, idle_class}, clock, test_log());
    }
    void push(Gated& task, std::uint32_t runs) { ASSERT_TRUE(tree.push(task, {kMachineQueue, runs, true})); }

    Topology topology{Topology::read(test_log())};
    const bool two_cpus{topology.cores(process_affinity()) >= 2};
    SystemClock clock;
    Stats stats;
    TaskTree tree{topology, stats};
    ReadyRef crowded{};
    std::optional<IdleHelpers> helpers;
};

#define NEEDS_TWO_PROCESSORS()                       \
    if (!two_cpus) {                                 \
        GTEST_SKIP() << "one core: no helpers"; \
    }

// ---- coming ----

TEST_F(IdleHelpersTest, NoThreadExistsBeforeTheFirstCallAndNoneIsAllowedAtMostZero)
{
    EXPECT_EQ(make(4).started(), 0u);
    IdleHelpers& none = make(0);
    EXPECT_FALSE(none.useful());
    none.call(3);
    EXPECT_EQ(none.started(), 0u);
}

TEST_F(IdleHelpersTest, CalledHelperRunsWhatWasOfferedUnderItsNameWithSignalsBlocked)
{
    NEEDS_TWO_PROCESSORS();
    IdleHelpers& h = make(1);
    for (unsigned round = 1; round <= 50; ++round) {   // asleep or about to be
        Gated task;
        task.open();
        push(task, 1);
        h.call(1);
        ASSERT_TRUE(eventually([&] { return task.done.load(std::memory_order_acquire) == 1; })) << round;
        EXPECT_STREQ(task.name, "linnet-idle");
        EXPECT_EQ(sigismember(&task.blocked, SIGINT), 1);
        EXPECT_EQ(sigismember(&task.blocked, SIGPROF), 1);
    }
    EXPECT_EQ(h.started(), 1u);
    h.stop();
    EXPECT_EQ(stats.total(Counter::kTaskCopyHelper), 50u);
}

TEST_F(IdleHelpersTest, HelperIsOfTheIdleClass)
{
    NEEDS_TWO_PROCESSORS();
    const ManualClock still;   // by which it is not late, however long it waits for a core
    IdleHelpers h{tree, {1, 1, crowded, true}, still, test_log()};
    Gated task;
    task.open();
    push(task, 1);
    ASSERT_TRUE(eventually([&] { return h.call(1), task.done.load(std::memory_order_acquire) == 1; }));
    h.stop();
    EXPECT_EQ(task.policy, SCHED_IDLE);
}

// ---- keeping still ----

// Its caller goes on computing where it called. A helper that were woken there, where it was before, would wait for that core.
TEST_F(IdleHelpersTest, CalledHelperWakesOnAnotherCoreThanItsCallersAndMayThenGoAnywhere)
{
    struct Place : Task {
        Place() : Task{TaskKind::kCopy, &Place::body} {}
        static TaskResult body(Task& self, std::uint32_t) noexcept
        {
            auto& me = static_cast<Place&>(self);
            me.cpu = current_cpu();
            me.may_go = thread_affinity();
            me.done.store(true, std::memory_order_release);
            return TaskResult::kDone;
        }
        unsigned cpu{0};
        CpuSet may_go;
        std::atomic<bool> done{false};
    };
    NEEDS_TWO_PROCESSORS();
    const CpuSet all = process_affinity();
    const unsigned first = all.first();
    CpuSet rest = all;
    rest.remove(first);
    const std::array cores{first, rest.first()};
    make(1);
    constexpr unsigned kRounds = 20;
    unsigned elsewhere = 0;
    for (unsigned i = 0; i <= kRounds; ++i) {
        std::thread caller{[&] {
            const unsigned here = cores[i % cores.size()];
            ASSERT_TRUE(set_thread_affinity(CpuSet::range(here, 1)));
            Place task;
            ASSERT_TRUE(tree.push(task, {kMachineQueue, 1, true}));
            helpers->call(1);
            for (const TimePoint until = monotonic_now() + 10s; !task.done.load(std::memory_order_acquire) && monotonic_now() < until;) {
            }
            ASSERT_TRUE(task.done.load(std::memory_order_acquire));
            EXPECT_EQ(task.may_go.text(), all.text()) << "round " << i;
            elsewhere += i != 0 && task.cpu != here ? 1 : 0;   // the first call starts it
        }};
        caller.join();
        std::this_thread::sleep_for(5ms);   // until it sleeps
    }
    EXPECT_GE(elsewhere, kRounds * 3 / 4) << "times of " << kRounds;
}

// It sees the call, and where it may be, while its caller still moves it.
TEST_F(IdleHelpersTest, HelperThatWasAboutToSleepIsNotLeftOffItsCallersCore)
{
    struct Whose : Task {
        Whose() : Task{TaskKind::kCopy, &Whose::body} {}
        static TaskResult body(Task& self, std::uint32_t) noexcept
        {
            static_cast<Whose&>(self).thread.store(thread_id(), std::memory_order_release);
            return TaskResult::kDone;
        }
        std::atomic<std::uint32_t> thread{0};
    };
    NEEDS_TWO_PROCESSORS();
    const CpuSet all = process_affinity();
    make(1);
    for (unsigned round = 0; round < 300; ++round) {
        Whose task;
        ASSERT_TRUE(tree.push(task, {kMachineQueue, 1, true}));
        helpers->call(1);
        const TimePoint until = monotonic_now() + 10s;
        while (task.thread.load(std::memory_order_acquire) == 0 && monotonic_now() < until) {
        }
        ASSERT_NE(task.thread.load(), 0u) << round;
        const std::uint32_t helper = task.thread.load();   // it may have found the task before it slept, and be called now
        ASSERT_TRUE(eventually([&] { return thread_affinity(helper) == all; })) << round;
        for (unsigned i = 0; i < round % 64 * 4; ++i) {   // until somewhere between its run and its sleep
            static_cast<void>(current_cpu());
        }
    }
}

TEST_F(IdleHelpersTest, RanksThatFillTheMachineLeaveNoCoreForHelpers)
{
    IdleHelpers& h = make(4, false, topology.nodes()[0].cpus.count());
    if (process_affinity() == topology.nodes()[0].cpus) {
        EXPECT_FALSE(h.useful());
        h.call(1);
        EXPECT_EQ(h.started(), 0u);
    }
}

#if LINNET_HAVE_HWLOC

class BoundRanksTest : public IdleHelpersTest {
protected:
    // Helpers of a rank among `ranks` that may run on `n` processors from `from` on.
    unsigned allowed(const char* machine, unsigned ranks, unsigned from, unsigned n)
    {
        Result<Topology> synthetic = Topology::synthetic(machine, test_log());
        EXPECT_TRUE(synthetic.ok()) << machine;
        TaskTree imagined{std::move(*synthetic), stats};
        const IdleHelpers h{imagined, {IdleHelpers::kMost, ranks, {}, false}, clock, test_log()};
        return h.allowed_on(CpuSet::range(from, n));
    }
};

TEST_F(BoundRanksTest, ThatShareASocketCountEachOthersCores)
{
    constexpr const char* kMachine = "pack:2 core:16 pu:1";
    EXPECT_EQ(allowed(kMachine, 32, 0, 16), 0u);    // Open MPI binds more than two ranks to sockets
    EXPECT_EQ(allowed(kMachine, 32, 16, 16), 0u);
    EXPECT_EQ(allowed(kMachine, 4, 0, 16), 14u);
    EXPECT_EQ(allowed(kMachine, 3, 0, 16), 14u);    // one and a half ranks are two
    EXPECT_EQ(allowed(kMachine, 64, 0, 16), 0u);
    EXPECT_EQ(allowed(kMachine, 32, 0, 32), 0u);
    EXPECT_EQ(allowed(kMachine, 24, 0, 32), 8u);
}

TEST_F(BoundRanksTest, ThatHaveCoresOfTheirOwnCountOnlyThemselves)
{
    EXPECT_EQ(allowed("pack:2 core:16 pu:1", 4, 8, 8), 7u);
    EXPECT_EQ(allowed("numa:4 core:16 pu:1", 16, 60, 4), 3u);
    EXPECT_EQ(allowed("numa:4 core:16 pu:1", 64, 5, 1), 0u);
    EXPECT_EQ(allowed("numa:4 core:16 pu:1", 2, 0, 4), 3u);   // the rest of the machine is nobody's
}

TEST_F(BoundRanksTest, OfFourNumaNodesHaveWhatTheirNodeHasLeft)
{
    EXPECT_EQ(allowed("numa:4 core:16 pu:1", 4, 16, 16), 15u);
    EXPECT_EQ(allowed("numa:4 core:16 pu:1", 40, 16, 16), 6u);
    EXPECT_EQ(allowed("numa:4 core:16 pu:1", 64, 16, 16), 0u);
}

// A copy's slices lie in the queue of its thread's node: a helper of another node would never find them.
class NodesTest : public IdleHelpersTest {
protected:
    void imagine(const char* machine, const IdleHelpers::Config& config = {1, 1, {}, false})
    {
        Result<Topology> synthetic = Topology::synthetic(machine, test_log());
        ASSERT_TRUE(synthetic.ok());
        helpers.reset();
        imagined.emplace(std::move(*synthetic), stats);
        helpers.emplace(*imagined, config, clock, test_log());
    }
    ~NodesTest() override { helpers.reset(); }
    QueueIndex node_of(unsigned cpu) { return imagined->queue_of(cpu, TopologyLevel::kNuma); }

    std::optional<TaskTree> imagined;
    const bool first_two{process_affinity() == CpuSet::range(0, 2)};   // those that the machines below have in their first nodes
};

TEST_F(NodesTest, HelpersAreOfUseWhereTheWorksNodeHasACoreToSpareAndOnlyThere)
{
    if (!first_two) {
        GTEST_SKIP() << "this process does not run on the processors 0 and 1";
    }
    imagine("numa:2 core:1 pu:1");
    EXPECT_TRUE(helpers->useful());
    EXPECT_FALSE(helpers->useful(node_of(0)));
    helpers->call(1, node_of(0));
    EXPECT_EQ(helpers->started(), 0u);
    imagine("numa:2 core:2 pu:1");
    EXPECT_TRUE(helpers->useful(node_of(0)));
    EXPECT_FALSE(helpers->useful(node_of(2))) << "the process may not go there";
    EXPECT_EQ(helpers->allowed(node_of(0)), 1u);
    EXPECT_EQ(helpers->allowed(node_of(2)), 0u);
}

TEST_F(NodesTest, HelperCalledForANodeRunsItsWork)
{
    if (!first_two) {
        GTEST_SKIP() << "this process does not run on the processors 0 and 1";
    }
    imagine("numa:2 core:2 pu:1");
    for (int round = 0; round < 20; ++round) {
        Gated task;
        task.open();
        ASSERT_TRUE(imagined->push(task, {node_of(1), 1, true}));
        helpers->call(1, node_of(1));
        ASSERT_TRUE(eventually([&] { return task.done.load(std::memory_order_acquire) == 1; })) << round;
    }
    helpers->stop();
    EXPECT_FALSE(helpers->useful(node_of(1)));
}

// Whether a processor is idle is no question of how many helpers there may be.
TEST_F(NodesTest, IdleProcessorIsOneWithoutHelpersToo)
{
    if (!first_two) {
        GTEST_SKIP() << "this process does not run on the processors 0 and 1";
    }
    imagine("core:2 pu:1", {0, 1, {}, false});
    EXPECT_FALSE(helpers->useful());
    EXPECT_TRUE(helpers->idle_processor());
    imagine("core:2 pu:1", {0, 2, {}, false});
    EXPECT_FALSE(helpers->idle_processor()) << "two ranks have one each";
    static constexpr auto kYes = []() noexcept { return true; };
    imagine("core:1 pu:2", {1, 1, {}, false});
    EXPECT_TRUE(helpers->idle_processor()) << "the second thread of the core";
    EXPECT_FALSE(helpers->useful()) << "it copies nothing faster";
    imagine("core:1 pu:2", {1, 2, {}, false});
    EXPECT_FALSE(helpers->idle_processor());
    imagine("core:2 pu:1", {1, 1, ReadyRef::to(kYes), false});
    EXPECT_FALSE(helpers->idle_processor()) << "others want them";
}

TEST_F(BoundRanksTest, ThreadsOfACoreAreNoCores)
{
    EXPECT_EQ(allowed("pack:2 core:8 pu:2", 16, 0, 32), 0u);   // a thread of each core is idle
    EXPECT_EQ(allowed("pack:2 core:8 pu:2", 16, 0, 16), 0u);
    EXPECT_EQ(allowed("pack:2 core:8 pu:2", 4, 0, 8), 3u);
    EXPECT_EQ(allowed("pack:2 core:8 pu:2", 4, 1, 2), 1u);     // the second thread of a core, the first of another
    EXPECT_EQ(allowed("core:1 pu:2", 1, 0, 2), 0u);
}

#endif

TEST_F(IdleHelpersTest, CrowdedCoresLeaveTheHelpersAsleep)
{
    static constexpr auto kYes = []() noexcept { return true; };
    crowded = ReadyRef::to(kYes);
    IdleHelpers& h = make(4);
    EXPECT_FALSE(h.useful());
    h.call(1);
    EXPECT_EQ(h.started(), 0u);
}

TEST_F(IdleHelpersTest, HelperThatGetsNoCoreIsNotCalledAgainForAWhile)
{
    NEEDS_TWO_PROCESSORS();
    SharedManualClock manual;
    manual.advance(1h);
    IdleHelpers h{tree, {1, 1, {}, true}, manual, test_log()};
    manual.be_late_for_others(1ms);   // from the call until it is up
    h.call(1);
    EXPECT_TRUE(eventually([&] { return !h.useful(); }));
    manual.advance(3ms);
    EXPECT_TRUE(h.useful());
    h.stop();
}

TEST_F(IdleHelpersTest, HelperThatWasBusyWhenItWasCalledAgainHadItsCore)
{
    NEEDS_TWO_PROCESSORS();
    bool useful = false;
    for (int round = 0; round < 20 && !useful; ++round) {   // in some others want its core
        SharedManualClock manual;
        manual.advance(1h);
        IdleHelpers h{tree, {1, 1, {}, true}, manual, test_log()};
        Gated task;
        push(task, 2);
        for (const TimePoint until = monotonic_now() + 1s; task.inside.load() == 0 && monotonic_now() < until;) {
            h.call(1);
        }
        h.call(1);
        manual.advance(1ms);
        task.open();
        std::this_thread::sleep_for(20ms);   // until it has seen that there is nothing more
        useful = task.done.load() == 2 && h.useful();
        tree.withdraw(task);
        h.stop();
    }
    EXPECT_TRUE(useful);
}

TEST_F(IdleHelpersTest, AffinityShrunkToOneCoreEndsTheHelpingAndWidenedItResumes)
{
    NEEDS_TWO_PROCESSORS();
    IdleHelpers& h = make(2);
    Gated task;
    task.open();
    push(task, 1'000'000);
    h.call(2);
    ASSERT_TRUE(eventually([&] { return task.done.load() > 0; }));
    const CpuSet before = process_affinity();
    CpuSet one;
    one.add(before.first());
    ASSERT_TRUE(set_thread_affinity(one));   // this is the first thread of the process
    EXPECT_TRUE(eventually([&] { return h.allowed() == 0 || task.done.load() == 1'000'000; }));
    const std::uint32_t withdrawn = tree.withdraw(task);
    EXPECT_GT(withdrawn, 0u);   // it stopped long before the end
    EXPECT_TRUE(eventually([&] { return task.done.load() == 1'000'000 - withdrawn; }));
    EXPECT_FALSE(h.useful());
    ASSERT_TRUE(set_thread_affinity(before));
    EXPECT_TRUE(eventually([&] { return h.useful(); }));   // looks again every 100 ms
    Gated after;
    after.open();
    push(after, 1);
    EXPECT_TRUE(eventually([&] { return h.call(1), after.done.load(std::memory_order_acquire) == 1; }));
    h.stop();
}

// ---- nobody depends on them ----

TEST_F(IdleHelpersTest, WaiterRunsAllThatAHelperStoppedInMidRunHasNotBegun)
{
    NEEDS_TWO_PROCESSORS();
    IdleHelpers& h = make(1);
    Gated task;
    push(task, 10);
    ASSERT_TRUE(eventually([&] { return h.call(1), task.inside.load() == 1; }));
    unsigned mine = 0;
    while (tree.run_own(task)) {
        ++mine;
    }
    EXPECT_EQ(mine, 9u);
    EXPECT_EQ(task.done.load(), 9u);
    task.open();
    EXPECT_TRUE(eventually([&] { return task.done.load(std::memory_order_acquire) == 10; }));
    EXPECT_EQ(stats.total(Counter::kTaskCopyWaiter), 9u);
}

// It may be stopped where others have the core for long, by the mask that it had when it began.
TEST_F(IdleHelpersTest, HelperInMidRunMayHaveTheCoreOfWhoMakesRoomForIt)
{
    NEEDS_TWO_PROCESSORS();
    IdleHelpers& h = make(1);
    Gated task;
    push(task, 1);
    ASSERT_TRUE(eventually([&] { return h.call(1), task.inside.load() == 1; }));
    const CpuSet all = thread_affinity();
    ASSERT_EQ(thread_affinity(task.thread.load()), all);
    CpuSet here;
    here.add(current_cpu());
    ASSERT_TRUE(set_thread_affinity(here));
    h.make_room();
    EXPECT_EQ(thread_affinity(task.thread.load()), here);
    ASSERT_TRUE(set_thread_affinity(all));
    task.open();
    ASSERT_TRUE(eventually([&] { return task.done.load(std::memory_order_acquire) == 1; }));
    Gated next;   // for which it may go anywhere again
    push(next, 1);
    ASSERT_TRUE(eventually([&] { return h.call(1), next.inside.load() == 1; }));
    EXPECT_EQ(thread_affinity(next.thread.load()), all);
    next.open();
    h.stop();
}

// Whoever waits for it has slept in vain.
TEST_F(IdleHelpersTest, LiftedHelperIsOfTheOrdinaryClassUntilItsRunEnds)
{
    NEEDS_TWO_PROCESSORS();
    bool may = false;
    std::thread{[&may] { may = set_idle_class(true) && set_idle_class(false); }}.join();
    const ManualClock still;   // by which no helper is late, however long it waits for a core
    IdleHelpers h{tree, {1, 1, crowded, true}, still, test_log()};
    Gated task;
    push(task, 1);
    ASSERT_TRUE(eventually([&] { return h.call(1), task.inside.load() == 1; }));
    const auto thread = static_cast<::pid_t>(task.thread.load());
    EXPECT_EQ(::sched_getscheduler(thread), SCHED_IDLE);
    h.lift();
    EXPECT_EQ(::sched_getscheduler(thread), may ? SCHED_OTHER : SCHED_IDLE) << "may it be, by CAP_SYS_NICE or RLIMIT_NICE: " << may;
    task.open();
    ASSERT_TRUE(eventually([&] { return task.done.load(std::memory_order_acquire) == 1; }));
    EXPECT_TRUE(eventually([&] { return ::sched_getscheduler(thread) == SCHED_IDLE; }));
    h.stop();
}

TEST_F(IdleHelpersTest, StopWaitsForTheRunThatAHelperIsIn)
{
    NEEDS_TWO_PROCESSORS();
    IdleHelpers& h = make(1);
    Gated task;
    push(task, 2);
    ASSERT_TRUE(eventually([&] { return h.call(1), task.inside.load() == 1; }));
    std::thread opener{[&] {
        std::this_thread::sleep_for(20ms);
        task.open();
    }};
    h.stop();
    EXPECT_GE(task.done.load(std::memory_order_acquire), 1u);
    EXPECT_EQ(h.started(), 0u);
    opener.join();
    tree.withdraw(task);
    h.call(1);   // nothing happens any more
    EXPECT_EQ(h.started(), 0u);
}

TEST_F(IdleHelpersTest, ChildOfForkForgetsThemAndTheParentKeepsThem)
{
    NEEDS_TWO_PROCESSORS();
    IdleHelpers& h = make(1);
    Gated task;
    push(task, 1);
    ASSERT_TRUE(eventually([&] { return h.call(1), task.inside.load() == 1; }));   // in the middle of a run
    const ::pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        helpers.reset();   // would hang or crash if it waited for, or woke, what is not there
        ::_exit(0);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    task.open();
    EXPECT_TRUE(eventually([&] { return task.done.load(std::memory_order_acquire) == 1; }));
}

// A program that computes on every core, itself pinned: its tasks end all the same, done by whoever waits.
TEST_F(IdleHelpersTest, ProgramThatComputesOnEveryCoreGetsItsTasksDone)
{
    IdleHelpers& h = make(4, true);
    const CpuSet all = process_affinity();
    std::atomic<bool> end{false};
    std::vector<std::thread> computing;
    for (unsigned cpu = 0; cpu < CpuSet::kCpus; ++cpu) {
        if (all.has(cpu) && computing.size() < 8) {
            computing.emplace_back([&end, cpu] {
                CpuSet one;
                one.add(cpu);
                set_thread_affinity(one);
                while (!end.load(std::memory_order_relaxed)) {
                }
            });
        }
    }
    for (unsigned round = 0; round < 200; ++round) {
        Gated task;
        task.open();
        push(task, 64);
        h.call(4);
        while (tree.run_own(task)) {
        }
        ASSERT_TRUE(eventually([&] { return task.done.load(std::memory_order_acquire) == 64; }));
    }
    end = true;
    for (std::thread& thread : computing) {
        thread.join();
    }
    h.stop();
    EXPECT_EQ(stats.total(Counter::kTaskCopyWaiter) + stats.total(Counter::kTaskCopyHelper), 200u * 64);
}

}   // namespace
}   // namespace linnet

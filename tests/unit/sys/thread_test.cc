// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Thread: name, signals, timer slack, joining; facts about the calling thread.
#include "sys/thread.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <fstream>
#include <string>
#include <thread>

#include "support/test_log.h"
#include "sys/cpu_set.h"
#include "sys/futex.h"
#include "sys/system_clock.h"

namespace linnet {
namespace {

struct Seen {
    std::atomic<std::uint32_t> go{0};
    std::string name;
    sigset_t blocked{};
    int slack{-1};
    int policy{-1};
    std::uint32_t id{0};
};

void look(void* arg) noexcept
{
    auto& seen = *static_cast<Seen*>(arg);
    while (seen.go.load(std::memory_order_acquire) == 0) {   // the name is set by the starter
        futex_wait(seen.go, 0);
    }
    std::array<char, 16> name{};
    ::pthread_getname_np(::pthread_self(), name.data(), name.size());
    seen.name = name.data();
    ::pthread_sigmask(SIG_SETMASK, nullptr, &seen.blocked);
    seen.slack = ::prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0);
    seen.policy = ::sched_getscheduler(0);
    seen.id = thread_id();
}

void run(const ThreadOptions& options, Seen& seen)
{
    auto thread = Thread::start(options, look, &seen, testing::test_log());
    EXPECT_TRUE(thread.ok());
    EXPECT_TRUE(thread->joinable());
    seen.go.store(1, std::memory_order_release);
    futex_wake(seen.go);
    thread->join();
    EXPECT_FALSE(thread->joinable());
}

TEST(Thread, HasTheSliceThatItAsksForWhereTheKernelKnowsSlices)
{
    struct {
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime, deadline, period;
    } a{};
    const auto read_slice = [&] { return ::syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) == 0 ? a.runtime : 0; };
    if (read_slice() == 0) {
        GTEST_SKIP() << "this kernel has no slice per thread (Linux 6.12)";
    }
    std::uint64_t slice = 0;
    auto body = [&] { slice = read_slice(); };
    auto thread = Thread::start({.slice = Nanos{200'000}}, [](void* arg) noexcept { (*static_cast<decltype(body)*>(arg))(); }, &body, testing::test_log());
    ASSERT_TRUE(thread.ok());
    thread->join();
    EXPECT_EQ(slice, 200'000u);
}

TEST(Thread, CarriesItsNameCutToFifteenCharacters)
{
    Seen seen;
    run({"linnet-event-thread", Nanos{1}, false}, seen);
    EXPECT_EQ(seen.name, "linnet-event-th");
}

TEST(Thread, BlocksWhatOthersSendButNotItsOwnFaults)
{
    Seen seen;
    run({}, seen);
    for (const int sig : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGALRM, SIGCHLD, SIGPIPE, SIGPROF}) {
        EXPECT_EQ(sigismember(&seen.blocked, sig), 1) << sig;
    }
    for (const int sig : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) {
        EXPECT_EQ(sigismember(&seen.blocked, sig), 0) << sig;
    }
}

TEST(Thread, LeavesTheStartersSignalsAlone)
{
    sigset_t before, after;
    ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
    Seen seen;
    run({}, seen);
    ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
    for (int sig = 1; sig < 32; ++sig) {
        EXPECT_EQ(sigismember(&before, sig), sigismember(&after, sig)) << sig;
    }
}

TEST(Thread, SetsTimerSlackAndSchedulingClass)
{
    Seen seen;
    run({"x", Nanos{1}, true}, seen);
    EXPECT_EQ(seen.slack, 1);
    EXPECT_EQ(seen.policy, SCHED_IDLE);
    Seen ordinary;
    run({"y", Nanos{5000}, false}, ordinary);
    EXPECT_EQ(ordinary.slack, 5000);
    EXPECT_EQ(ordinary.policy, SCHED_OTHER);
}

TEST(Thread, HasAnIdOfItsOwn)
{
    Seen seen;
    run({}, seen);
    EXPECT_NE(seen.id, 0u);
    EXPECT_NE(seen.id, thread_id());
    EXPECT_EQ(thread_id(), thread_id());
}

TEST(Thread, DestructorJoins)
{
    std::atomic<int> done{0};
    {
        auto thread = Thread::start(
            {}, [](void* arg) noexcept { static_cast<std::atomic<int>*>(arg)->store(1); }, &done, testing::test_log());
        ASSERT_TRUE(thread.ok());
        Thread moved{std::move(thread.value())};
        EXPECT_FALSE(thread->joinable());
        EXPECT_TRUE(moved.joinable());
    }
    EXPECT_EQ(done.load(), 1);
}

TEST(Thread, JoinOfNoThreadDoesNothing)
{
    Thread none;
    none.join();
    EXPECT_FALSE(none.joinable());
}

TEST(CurrentThread, AffinityCountFollowsTheMask)
{
    cpu_set_t original;
    ASSERT_EQ(::sched_getaffinity(0, sizeof original, &original), 0);
    EXPECT_EQ(usable_cpus(), static_cast<unsigned>(CPU_COUNT(&original)));
    int first = 0;
    while (!CPU_ISSET(first, &original)) {
        ++first;
    }
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(usable_cpus(), 1u);
    ASSERT_EQ(::sched_setaffinity(0, sizeof original, &original), 0);
}

TEST(CurrentThread, TheLauncherKnowsOfMoreProcessorsThanARankThatItBinds)
{
    const unsigned ours = usable_cpus();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(static_cast<int>(current_cpu()), &one);
        const bool bound = ::sched_setaffinity(0, sizeof one, &one) == 0 && usable_cpus() == 1;
        ::_exit(bound && launcher_cpus() == ours ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_GE(online_cpus(), ours);
}

TEST(CurrentThread, CpuTimeGrowsWithWorkAndNotWithSleep)
{
    const Nanos start = thread_cpu_time();
    while (thread_cpu_time() - start < Nanos{1'000'000}) {
    }
    const Nanos before = thread_cpu_time();
    const std::atomic<std::uint32_t> word{0};
    futex_wait(word, 0, Nanos{20'000'000});
    EXPECT_LT(thread_cpu_time() - before, Nanos{10'000'000});
}

TEST(CurrentThread, ASleepIsAVoluntarySwitch)
{
    const ContextSwitches before = thread_context_switches();
    const std::atomic<std::uint32_t> word{0};
    futex_wait(word, 0, Nanos{2'000'000});
    EXPECT_GT(thread_context_switches().voluntary, before.voluntary);
}

// Two that never give way on one core wait for each other half of the time.
TEST(ThisThread, KnowsHowLongItWaitedForACore)
{
    if (!thread_core_wait()) {
        GTEST_SKIP() << "no /proc/thread-self/schedstat: this kernel does not tell how long a thread waited for a core";
    }
    const CpuSet before_all = thread_affinity(thread_id());
    CpuSet one;
    one.add(current_cpu());
    ASSERT_TRUE(set_thread_affinity(one, thread_id()));
    std::atomic<bool> over{false};
    std::thread other{[&over] {
        while (!over.load(std::memory_order_relaxed)) {
        }
    }};   // born with this thread's mask
    const Nanos before = *thread_core_wait();
    const TimePoint end = monotonic_now() + std::chrono::seconds{20};
    while (*thread_core_wait() - before < std::chrono::milliseconds{20} && monotonic_now() < end) {
    }
    EXPECT_GE(*thread_core_wait() - before, std::chrono::milliseconds{20});
    over = true;
    other.join();
    EXPECT_TRUE(set_thread_affinity(before_all, thread_id()));
    constexpr Nanos kAsleep{100'000'000};
    const Nanos asleep = *thread_core_wait();
    const TimePoint begin = monotonic_now();
    std::this_thread::sleep_for(kAsleep);
    const Nanos waited = *thread_core_wait() - asleep;
    EXPECT_LE(waited, monotonic_now() - begin - kAsleep) << "a sleeping thread waits for nothing";
}

}   // namespace
}   // namespace linnet

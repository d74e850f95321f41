// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TaskCopyEngine: when it calls helpers, and a helper that is stopped in the middle of a copy; the contract is tested in copy_engine_test.cc. Also the
// helpers of all engines: streaming stores, the size of the cache.
#include "copy/task_copy_engine.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/userfaultfd.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "support/eventually.h"
#include "support/test_log.h"
#include "sys/cache_size.h"
#include "sys/fd.h"
#include "sys/system_clock.h"
#include "sys/thread.h"

namespace linnet {
namespace {

using namespace std::chrono_literals;
using testing::test_log;

constexpr std::size_t kPast = std::size_t{1} << 40;

// Memory whose pages are there only when the test says so: who touches one earlier sleeps in the kernel.
class LatePages {
public:
    explicit LatePages(std::size_t bytes) : bytes_{bytes}, fd_{static_cast<int>(::syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK))}
    {
        memory_ = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        uffdio_api api{};
        api.api = UFFD_API;
        uffdio_register area{};
        area.range = {reinterpret_cast<std::uintptr_t>(memory_), bytes};
        area.mode = UFFDIO_REGISTER_MODE_MISSING;
        usable_ = fd_.valid() && memory_ != MAP_FAILED && ::ioctl(fd_.get(), UFFDIO_API, &api) == 0 && ::ioctl(fd_.get(), UFFDIO_REGISTER, &area) == 0;
    }
    ~LatePages() { ::munmap(memory_, bytes_); }
    LatePages(const LatePages&) = delete;
    LatePages& operator=(const LatePages&) = delete;

    [[nodiscard]] bool usable() const { return usable_; }
    [[nodiscard]] std::byte* data() const { return static_cast<std::byte*>(memory_); }
    [[nodiscard]] bool somebody_waits(int milliseconds) const
    {
        ::pollfd p{fd_.get(), POLLIN, 0};
        return ::poll(&p, 1, milliseconds) == 1;
    }
    void provide(const std::vector<std::byte>& content)
    {
        uffdio_copy copy{};
        copy.dst = reinterpret_cast<std::uintptr_t>(memory_);
        copy.src = reinterpret_cast<std::uintptr_t>(content.data());
        copy.len = bytes_;
        ASSERT_EQ(::ioctl(fd_.get(), UFFDIO_COPY, &copy), 0);
    }

private:
    std::size_t bytes_;
    Fd fd_;
    void* memory_;
    bool usable_{false};
};

class TaskCopyEngineTest : public ::testing::Test {
protected:
    TaskCopyEngine& make(bool idle_class, std::size_t worthwhile = 64 * 1024)
    {
        helpers.emplace(tree, IdleHelpers::Config{1, 1, {}, idle_class}, clock, test_log());
        return engine.emplace(tree, *helpers, kPast, worthwhile);
    }

    SystemClock clock;
    Stats stats;
    TaskTree tree{Topology::read(test_log()), stats};
    std::optional<IdleHelpers> helpers;
    std::optional<TaskCopyEngine> engine;
    const bool two_cpus{tree.topology().cores(process_affinity()) >= 2};
};

TEST_F(TaskCopyEngineTest, SmallPieceIsCopiedAtOnceAndCallsNobody)
{
    make(false);
    std::vector<std::byte> from(64 * 1024 - 1, std::byte{1}), to(from.size());
    CopyJob job;
    CopyPiece piece;
    engine->submit(job, piece, to.data(), CopySource::own(from.data()), from.size());
    EXPECT_TRUE(job.done());
    EXPECT_EQ(from, to);
    EXPECT_EQ(helpers->started(), 0u);
    EXPECT_TRUE(tree.empty());
}

TEST_F(TaskCopyEngineTest, WithoutUsefulHelpersEverythingIsCopiedAtOnce)
{
    make(false);
    helpers->stop();
    std::vector<std::byte> from(1 << 20, std::byte{1}), to(from.size());
    CopyJob job;
    CopyPiece piece;
    engine->submit(job, piece, to.data(), CopySource::own(from.data()), from.size());
    EXPECT_TRUE(job.done());
    EXPECT_EQ(from, to);
}

TEST_F(TaskCopyEngineTest, FullQueuesLeaveTheCopyToTheCaller)
{
    make(false);
    if (!two_cpus) {
        GTEST_SKIP() << "one processor: no helpers";
    }
    struct Nothing : Task {
        Nothing() : Task{TaskKind::kPoll, [](Task&, std::uint32_t) noexcept { return TaskResult::kDone; }} {}
    };
    std::vector<std::unique_ptr<Nothing>> tasks;
    do {
        tasks.push_back(std::make_unique<Nothing>());
    } while (tree.push(*tasks.back(), {}));
    std::vector<std::byte> from(1 << 20, std::byte{1}), to(from.size());
    CopyJob job;
    CopyPiece piece;
    engine->submit(job, piece, to.data(), CopySource::own(from.data()), from.size());
    EXPECT_EQ(engine->wait(job), Status::kOk);
    EXPECT_EQ(from, to);
    tree.run_everywhere(TaskPlace::kHost, TaskTree::kNoLimit);
}

// The helper sleeps in the kernel over the first page; the waiter does the rest, sleeps, and returns when that slice is whole, and not before.
TEST_F(TaskCopyEngineTest, HelperStoppedInMidCopyIsWaitedForAndOnlyIt)
{
    LatePages late{kCopySlice};
    if (!two_cpus || !late.usable()) {
        GTEST_SKIP() << "one processor, or no userfaultfd";
    }
    make(false);
    const std::vector<std::byte> first(kCopySlice, std::byte{5}), rest(1 << 20, std::byte{9});
    std::vector<std::byte> to(first.size() + rest.size());
    std::array<CopyPiece, 2> pieces;
    CopyJob job;
    engine.emplace(tree, *helpers, kPast, std::size_t{1});
    engine->submit(job, pieces[0], to.data(), CopySource::own(late.data()), kCopySlice);
    ASSERT_TRUE(late.somebody_waits(20'000));   // only the helper can be: we have not waited yet
    engine->submit(job, pieces[1], to.data() + kCopySlice, CopySource::own(rest.data()), rest.size());
    std::atomic<bool> returned{false};
    std::thread waiter{[&] {
        EXPECT_EQ(engine->wait(job), Status::kOk);
        returned = true;
    }};
    while (stats.total(Counter::kTaskCopyWaiter) < rest.size() / kCopySlice) {
        std::this_thread::sleep_for(100us);
    }
    std::this_thread::sleep_for(20ms);
    EXPECT_FALSE(returned);
    EXPECT_FALSE(job.done());
    late.provide(first);
    waiter.join();
    EXPECT_TRUE(std::equal(first.begin(), first.end(), to.begin()));
    EXPECT_TRUE(std::equal(rest.begin(), rest.end(), to.begin() + kCopySlice));
    helpers->stop();
}

// Nobody waits for long without a word of what for.
TEST_F(TaskCopyEngineTest, HelperThatKeepsItsSliceForLongIsNamedInAWarning)
{
    LatePages late{kCopySlice};
    if (!two_cpus || !late.usable()) {
        GTEST_SKIP() << "one core, or no userfaultfd";
    }
    make(false);
    const std::vector<std::byte> content(kCopySlice, std::byte{5});
    std::vector<std::byte> to(kCopySlice);
    CopyPiece piece;
    CopyJob job;
    engine.emplace(tree, *helpers, kPast, std::size_t{1}, 10ms);
    engine->submit(job, piece, to.data(), CopySource::own(late.data()), kCopySlice);
    ASSERT_TRUE(late.somebody_waits(20'000));
    testing::expect_complaint("task_helpers=0 or copy=cpu");
    const TimePoint begin = monotonic_now();
    const auto warnings = [] {
        const std::vector<std::string> lines = testing::logged_lines();
        return std::count_if(lines.begin(), lines.end(), [](const std::string& line) { return line.find("helper") != std::string::npos; });
    };
    std::thread provider{[&] {
        EXPECT_TRUE(testing::eventually([&] { return warnings() != 0; }));
        EXPECT_FALSE(job.done());
        late.provide(content);
    }};
    EXPECT_EQ(engine->wait(job), Status::kOk);
    provider.join();
    EXPECT_EQ(to, content);
    EXPECT_LE(warnings(), 2 + (monotonic_now() - begin) / 100ms);   // not one for each 10 ms
    engine->submit(job, piece, to.data(), CopySource::own(content.data()), kCopySlice);   // and it can be used again
    EXPECT_EQ(engine->wait(job), Status::kOk);
    helpers->stop();
}

// The kernel's number of the only helper's thread.
::pid_t helper_thread()
{
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::string name;
        std::ifstream comm{task.path() / "comm"};
        if (std::getline(comm, name) && name == "linnet-idle") {
            return std::stoi(task.path().filename());
        }
    }
    return 0;
}

// It may be starved by others: for the rest of the slice it is an ordinary thread then, where the system lets it.
TEST_F(TaskCopyEngineTest, HelperThatIsWaitedForInVainLeavesTheIdleClassForTheRestOfItsSlice)
{
    LatePages late{kCopySlice};
    if (!two_cpus || !late.usable()) {
        GTEST_SKIP() << "one core, or no userfaultfd";
    }
    bool may = false;
    std::thread{[&may] { may = set_idle_class(true) && set_idle_class(false); }}.join();
    const ManualClock still;   // by which no helper is late, however long it waits for a core
    helpers.emplace(tree, IdleHelpers::Config{1, 1, {}, true}, still, test_log());
    engine.emplace(tree, *helpers, kPast, std::size_t{1});
    const std::vector<std::byte> content(kCopySlice, std::byte{5});
    std::vector<std::byte> to(kCopySlice);
    CopyPiece piece;
    CopyJob job;
    engine->submit(job, piece, to.data(), CopySource::own(late.data()), kCopySlice);
    ASSERT_TRUE(late.somebody_waits(20'000));
    std::thread waiter{[&] { EXPECT_EQ(engine->wait(job), Status::kOk); }};
    const ::pid_t helper = helper_thread();
    EXPECT_TRUE(testing::eventually([&] { return ::sched_getscheduler(helper) == SCHED_OTHER; }, may ? 20s : 20ms) == may);
    late.provide(content);
    EXPECT_TRUE(testing::eventually([&] { return ::sched_getscheduler(helper) == SCHED_IDLE; }));
    waiter.join();
    EXPECT_EQ(to, content);
    helpers->stop();
    engine.reset();
    helpers.reset();   // before its clock goes
}

// The same at the end of the program: stop() comes back when the slice is done.
TEST_F(TaskCopyEngineTest, HelpersEndAfterTheSliceTheyHold)
{
    LatePages late{kCopySlice};
    if (!two_cpus || !late.usable()) {
        GTEST_SKIP() << "one processor, or no userfaultfd";
    }
    make(false, 1);
    const std::vector<std::byte> content(kCopySlice, std::byte{5});
    std::vector<std::byte> to(kCopySlice);
    CopyPiece piece;
    CopyJob job;
    engine->submit(job, piece, to.data(), CopySource::own(late.data()), kCopySlice);
    ASSERT_TRUE(late.somebody_waits(20'000));
    std::thread provider{[&] {
        std::this_thread::sleep_for(20ms);
        late.provide(content);
    }};
    helpers->stop();
    EXPECT_TRUE(job.done());
    EXPECT_EQ(to, content);
    provider.join();
    EXPECT_EQ(engine->wait(job), Status::kOk);
}

// Helpers of the idle class beside threads that compute on every core: copies go on at the waiter's pace.
TEST_F(TaskCopyEngineTest, CopiesEndWhileTheProgramComputesOnEveryCore)
{
    make(true);
    std::atomic<bool> end{false};
    std::vector<std::thread> computing;
    const CpuSet all = process_affinity();
    for (unsigned cpu = 0; cpu < CpuSet::kCpus && computing.size() < 8; ++cpu) {
        if (all.has(cpu)) {
            computing.emplace_back([&end, cpu] {
                CpuSet one;
                one.add(cpu);
                set_thread_affinity(one);
                while (!end.load(std::memory_order_relaxed)) {
                }
            });
        }
    }
    std::vector<std::byte> from(1 << 20), to(from.size());
    Nanos longest{0};
    for (int round = 0; round < 100; ++round) {
        std::memset(from.data(), round, from.size());
        const TimePoint start = monotonic_now();
        CopyJob job;
        CopyPiece piece;
        engine->submit(job, piece, to.data(), CopySource::own(from.data()), from.size());
        ASSERT_EQ(engine->wait(job), Status::kOk);
        ASSERT_EQ(from, to);
        longest = std::max(longest, monotonic_now() - start);
    }
    end = true;
    for (std::thread& thread : computing) {
        thread.join();
    }
    helpers->stop();
    RecordProperty("longest_us", static_cast<int>(longest.count() / 1000));
    EXPECT_LT(longest, 20s);
}

// ---- what engines share ----

TEST(CopyNow, PastTheCacheIsTheSameBytesAtEveryAlignment)
{
    std::vector<std::byte> from(1000), to(1200);
    for (std::size_t i = 0; i < from.size(); ++i) {
        from[i] = static_cast<std::byte>(i * 7);
    }
    for (std::size_t a = 0; a < 64; a += 3) {
        for (const std::size_t bytes : {0u, 1u, 40u, 64u, 127u, 200u, 700u}) {
            std::fill(to.begin(), to.end(), std::byte{0xaa});
            EXPECT_EQ(copy_now(to.data() + 64 + a, CopySource::own(from.data() + a / 2), bytes, true), Status::kOk);
            ASSERT_TRUE(std::equal(to.begin() + 64 + static_cast<std::ptrdiff_t>(a), to.begin() + 64 + static_cast<std::ptrdiff_t>(a + bytes),
                                   from.begin() + static_cast<std::ptrdiff_t>(a / 2)));
            EXPECT_EQ(to[63 + a], std::byte{0xaa});
            EXPECT_EQ(to[64 + a + bytes], std::byte{0xaa});
        }
    }
}

TEST(CacheShare, IsThreeQuartersOfAnEvenShareOfTheLastLevel)
{
    std::string pattern = (std::filesystem::temp_directory_path() / "linnet-cache-XXXXXX").string();
    const std::string root = ::mkdtemp(pattern.data());
    EXPECT_EQ(last_level_cache_share(root.c_str()), 1u << 20);   // nothing is known
    const auto cache = [&root](int index, const char* level, const char* type, const char* size, const char* cpus) {
        const std::string folder = root + "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
        std::filesystem::create_directories(folder);
        std::ofstream{folder + "level"} << level << '\n';
        std::ofstream{folder + "type"} << type << '\n';
        std::ofstream{folder + "size"} << size << '\n';
        std::ofstream{folder + "shared_cpu_list"} << cpus << '\n';
    };
    cache(0, "1", "Data", "48K", "0");
    cache(1, "1", "Instruction", "32K", "0");
    cache(2, "2", "Unified", "2048K", "0");
    EXPECT_EQ(last_level_cache_share(root.c_str()), 2048u * 1024 / 4 * 3);
    cache(3, "3", "Unified", "32768K", "0-5,8,10-10");
    EXPECT_EQ(last_level_cache_share(root.c_str()), 4u * 1024 * 1024 / 4 * 3);
    std::filesystem::remove_all(root);
}

TEST(CacheShare, OfThisMachineIsBelievable)
{
    EXPECT_GE(last_level_cache_share(), 64u * 1024);
    EXPECT_LE(last_level_cache_share(), std::size_t{4} << 30);
}

}   // namespace
}   // namespace linnet

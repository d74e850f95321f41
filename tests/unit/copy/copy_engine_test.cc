// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The contract of copy_engine.h, over every engine: by the calling thread, past the cache, out of another process, by idle cores, by a device in all its moods.
#include "copy/copy_engine.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "copy/cpu_copy_engine.h"
#include "copy/dsa_copy_engine.h"
#include "copy/task_copy_engine.h"
#include "support/pace.h"
#include "support/seed.h"
#include "support/test_log.h"
#include "sys/process.h"
#include "sys/system_clock.h"
#include "unit/copy/dsa_emulator.h"

namespace linnet {
namespace {

using testing::DsaEmulator;
using testing::test_log;

// Everything that an engine may need, and the engine.
struct Fixture {
    SystemClock clock;
    Stats stats;
    TaskTree tree{Topology::read(test_log()), stats};
    IdleHelpers helpers{tree, {2, 1, {}, false}, clock, test_log()};
    RemoteProcess self{process_id()};
    std::unique_ptr<DsaEmulator> device;
    std::unique_ptr<CopyEngine> engine;
    bool fails{false};    // now and then, as the emulator was told
    bool remote{false};   // sources are memory "of another process", which is this one

    void emulate(const DsaLimits& limits, const DsaEmulator::Faults& faults)
    {
        device = std::make_unique<DsaEmulator>(limits, faults);
        fails = faults.error_every != 0 || faults.lie_every != 0;
        std::vector<std::unique_ptr<DsaPortal>> portals;
        portals.push_back(device->portal());
        engine = std::make_unique<DsaCopyEngine>(std::move(portals), std::size_t{1} << 30, clock, test_log(), stats.block(StatsRole::kAnyThread));
    }
    CopySource source(const std::byte* from) const { return remote ? CopySource::of(self, reinterpret_cast<std::uintptr_t>(from)) : CopySource::own(from); }
};

struct Case {
    const char* name;
    void (*make)(Fixture&);
};

constexpr std::size_t kNever = std::size_t{1} << 40;

const std::array kRemoteCases{
    Case{"CpuFromAnotherProcess", [](Fixture& f) { f.engine = std::make_unique<CpuCopyEngine>(kNever), f.remote = true; }},
    Case{"TasksFromAnotherProcess", [](Fixture& f) { f.engine = std::make_unique<TaskCopyEngine>(f.tree, f.helpers, kNever, 1), f.remote = true; }},
    Case{"DsaFromAnotherProcess", [](Fixture& f) { f.emulate({2 << 20, 32, 16, false}, {}), f.remote = true; }},
};
const std::array kCases{
    Case{"Cpu", [](Fixture& f) { f.engine = std::make_unique<CpuCopyEngine>(kNever); }},
    Case{"CpuPastTheCache", [](Fixture& f) { f.engine = std::make_unique<CpuCopyEngine>(0); }},
    Case{"Tasks", [](Fixture& f) { f.engine = std::make_unique<TaskCopyEngine>(f.tree, f.helpers, kNever, 1); }},
    Case{"TasksPastTheCache", [](Fixture& f) { f.engine = std::make_unique<TaskCopyEngine>(f.tree, f.helpers, 0, 1); }},
    Case{"DsaShared", [](Fixture& f) { f.emulate({2 << 20, 32, 16, false}, {}); }},
    Case{"DsaDedicated", [](Fixture& f) { f.emulate({2 << 20, 32, 16, true}, {}); }},
    Case{"DsaWithoutBatches", [](Fixture& f) { f.emulate({2 << 20, 1, 16, false}, {}); }},
    Case{"DsaOfSmallTransfers", [](Fixture& f) { f.emulate({4096, 8, 4, true}, {}); }},
    Case{"DsaWithPageFaults", [](Fixture& f) { f.emulate({2 << 20, 32, 16, false}, {.page_fault_every = 2}); }},
    Case{"DsaBackwardsWithPageFaults", [](Fixture& f) { f.emulate({2 << 20, 32, 16, true}, {.page_fault_every = 3, .backwards = true}); }},
    Case{"DsaWithUnreadableLists", [](Fixture& f) { f.emulate({2 << 20, 32, 16, false}, {.list_fault_every = 2}); }},
    Case{"DsaWithErrors", [](Fixture& f) { f.emulate({2 << 20, 32, 16, false}, {.error_every = 3}); }},
    Case{"DsaThatLies", [](Fixture& f) { f.emulate({2 << 20, 32, 16, false}, {.lie_every = 3}); }},
    Case{"DsaThatIsFull", [](Fixture& f) { f.emulate({2 << 20, 32, 1, false}, {.full_for = 1000}); }},
};

class CopyEngineTest : public ::testing::TestWithParam<Case> {
protected:
    void SetUp() override { GetParam().make(f); }
    void TearDown() override
    {
        f.helpers.stop();
        f.engine.reset();
        if (f.device != nullptr) {
            const DsaEmulator::Seen seen = f.device->seen();
            EXPECT_EQ(seen.violation, "");
            EXPECT_EQ(seen.lost, 0u);
        }
    }
    std::vector<std::byte> noise(std::size_t bytes)
    {
        std::vector<std::byte> out(bytes);
        std::generate(out.begin(), out.end(), [this] { return static_cast<std::byte>(random()); });
        return out;
    }
    std::size_t below(std::size_t n) { return n == 0 ? 0 : random() % n; }

    Fixture f;
    std::mt19937_64 random{testing::test_seed(4711)};
};

TEST_P(CopyEngineTest, JobWithoutPiecesIsDone)
{
    CopyJob job;
    EXPECT_TRUE(job.done());
    EXPECT_TRUE(f.engine->poll(job));
    EXPECT_EQ(f.engine->wait(job), Status::kOk);
}

TEST_P(CopyEngineTest, OnePieceOfEverySizeArrivesWholeAndNothingBesideIt)
{
    for (const std::size_t bytes : {0u, 1u, 7u, 63u, 64u, 65u, 4096u, 16383u, 16384u, 16385u, 65536u, 100'000u, 1'000'003u}) {
        const std::vector<std::byte> from = noise(bytes + 3);
        std::vector<std::byte> to(bytes + 200, std::byte{0xee});
        CopyJob job{bytes};
        CopyPiece piece;
        f.engine->submit(job, piece, to.data() + 101, f.source(from.data() + 3), bytes);
        ASSERT_EQ(f.engine->wait(job), Status::kOk) << bytes;
        ASSERT_TRUE(job.done());
        ASSERT_TRUE(std::equal(from.begin() + 3, from.end(), to.begin() + 101)) << bytes;
        const auto untouched = [](std::byte b) { return b == std::byte{0xee}; };
        ASSERT_TRUE(std::all_of(to.begin(), to.begin() + 101, untouched) && std::all_of(to.end() - 99, to.end(), untouched)) << bytes;
    }
}

TEST_P(CopyEngineTest, PiecesSubmittedAsTheyComeAreAllThereAfterOneWait)
{
    constexpr std::size_t kFrames = 40, kFrame = 9000;
    const std::vector<std::byte> from = noise(kFrames * kFrame);
    std::vector<std::byte> to(from.size());
    std::vector<CopyPiece> pieces(kFrames);
    CopyJob job{from.size()};
    std::vector<std::size_t> order(kFrames);
    for (std::size_t i = 0; i < kFrames; ++i) {
        order[i] = i;
    }
    std::shuffle(order.begin(), order.end(), random);
    for (const std::size_t i : order) {
        f.engine->submit(job, pieces[i], to.data() + i * kFrame, f.source(from.data() + i * kFrame), kFrame);
        if (below(4) == 0) {
            static_cast<void>(f.engine->poll(job));
        }
    }
    EXPECT_EQ(f.engine->wait(job), Status::kOk);
    EXPECT_EQ(from, to);
}

TEST_P(CopyEngineTest, PollingAloneFinishesAJob)
{
    const std::vector<std::byte> from = noise(700'000);
    std::vector<std::byte> to(from.size());
    CopyPiece piece;
    CopyJob job{from.size()};
    f.engine->submit(job, piece, to.data(), f.source(from.data()), from.size());
    while (!f.engine->poll(job)) {
        std::this_thread::yield();
    }
    EXPECT_TRUE(job.done());
    EXPECT_EQ(from, to);
}

TEST_P(CopyEngineTest, JobIsUsedAgainAfterItsEnd)
{
    CopyJob job{100};
    for (std::size_t round = 1; round < 60; ++round) {
        const std::vector<std::byte> from = noise(round * 1000);
        std::vector<std::byte> to(from.size());
        CopyPiece piece;
        job.reset(from.size());
        f.engine->submit(job, piece, to.data(), f.source(from.data()), from.size());
        ASSERT_EQ(f.engine->wait(job), Status::kOk);
        ASSERT_EQ(from, to);
    }
}

class RemoteCopyEngineTest : public CopyEngineTest {};

TEST_P(RemoteCopyEngineTest, SourceThatIsGoneIsAnErrorAndTheRestOfTheJobIsDone)
{
    void* const hole = ::mmap(nullptr, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(hole, MAP_FAILED);
    const std::vector<std::byte> from = noise(50'000);
    std::vector<std::byte> to(from.size()), lost(1 << 20);
    std::array<CopyPiece, 2> pieces;
    CopyJob job;
    f.engine->submit(job, pieces[0], lost.data(), f.source(static_cast<const std::byte*>(hole)), 1 << 20);
    f.engine->submit(job, pieces[1], to.data(), f.source(from.data()), from.size());
    EXPECT_EQ(f.engine->wait(job), Status::kPeerDown);
    EXPECT_EQ(from, to);
    ::munmap(hole, 1 << 20);
}

// Jobs of random pieces by several threads at once; frames and memory are freed as soon as a job is done, so a late writer would be seen by the sanitizers,
// and by the next owner of the memory.
TEST_P(CopyEngineTest, ManyJobsOfManyThreadsAreAllWhole)
{
    const std::uint64_t seed = random();
    if (f.fails) {   // one copy in three; but in which order three threads count theirs is chance, and a row of failures ends the use of the device
        testing::allow_complaint("is not used any more");
    }
    std::atomic<std::uint64_t> wrong{0};
    std::vector<std::thread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            std::mt19937_64 dice{seed + t};
            for (std::uint64_t round = 0; round < testing::paced(120) + 5; ++round) {
                std::vector<std::byte> from(1 + dice() % 400'000);
                for (std::size_t i = 0; i < from.size(); i += 64) {
                    from[i] = static_cast<std::byte>(dice());
                }
                std::vector<std::byte> to(from.size());
                CopyJob job{from.size()};
                std::vector<CopyPiece> pieces(1 + dice() % 12);
                const std::size_t each = from.size() / pieces.size();
                for (std::size_t i = 0; i < pieces.size(); ++i) {
                    const std::size_t bytes = i + 1 == pieces.size() ? from.size() - i * each : each;
                    f.engine->submit(job, pieces[i], to.data() + i * each, f.source(from.data() + i * each), bytes);
                }
                wrong += f.engine->wait(job) == Status::kOk && from == to ? 0 : 1;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong.load(), 0u);
}

const auto kName = [](const auto& info) { return std::string{info.param.name}; };
INSTANTIATE_TEST_SUITE_P(Engines, CopyEngineTest, ::testing::ValuesIn(kCases), kName);
INSTANTIATE_TEST_SUITE_P(Remote, CopyEngineTest, ::testing::ValuesIn(kRemoteCases), kName);
INSTANTIATE_TEST_SUITE_P(Remote, RemoteCopyEngineTest, ::testing::ValuesIn(kRemoteCases), kName);

}   // namespace
}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// DsaCopyEngine: what it asks of the device, when it stops asking, and which queues it finds; the contract is tested in copy_engine_test.cc.
#include "copy/dsa_copy_engine.h"

#include <gtest/gtest.h>

#if __has_include(<linux/idxd.h>)
#include <linux/idxd.h>
#define LINNET_TEST_HAS_IDXD 1
#else
#define LINNET_TEST_HAS_IDXD 0
#endif

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/test_log.h"
#include "sys/system_clock.h"
#include "unit/copy/dsa_emulator.h"

namespace linnet {
namespace {

using testing::DsaEmulator;
using testing::test_log;

class DsaCopyEngineTest : public ::testing::Test {
protected:
    void make(const DsaLimits& limits, const DsaEmulator::Faults& faults = {}, unsigned doors = 1)
    {
        device = std::make_unique<DsaEmulator>(limits, faults);
        std::vector<std::unique_ptr<DsaPortal>> portals;
        for (unsigned i = 0; i < doors; ++i) {
            portals.push_back(device->portal());
        }
        engine = std::make_unique<DsaCopyEngine>(std::move(portals), std::size_t{1} << 30, clock, test_log(), stats.block(StatsRole::kAnyThread));
    }
    void submit(CopyJob& job, std::size_t from, std::size_t bytes)
    {
        engine->submit(job, piece, to.data() + from, CopySource::own(source.data() + from), bytes);
    }

    SystemClock clock;
    Stats stats;
    std::unique_ptr<DsaEmulator> device;
    std::unique_ptr<DsaCopyEngine> engine;
    std::vector<std::byte> source = std::vector<std::byte>(1 << 20, std::byte{7});
    std::vector<std::byte> to = std::vector<std::byte>(1 << 20);
    CopyPiece piece;
};

TEST_F(DsaCopyEngineTest, DeviceCopiesEveryByteThatItCanAndTheyAreCounted)
{
    make({2 << 20, 32, 16, false});
    CopyJob job{source.size()};
    submit(job, 0, source.size());
    EXPECT_EQ(engine->wait(job), Status::kOk);
    EXPECT_EQ(source, to);
    EXPECT_EQ(device->seen().bytes, source.size());
    EXPECT_EQ(stats.total(Counter::kCopyDsaBytes), source.size());
    EXPECT_EQ(stats.total(Counter::kCopyDsaFaults), 0u);
}

TEST_F(DsaCopyEngineTest, SmallPiecesTravelInBatches)
{
    make({2 << 20, 32, 16, false});
    CopyJob job{64 * 1024};
    for (std::size_t i = 0; i < 16; ++i) {
        submit(job, i * 4096, 4096);
    }
    EXPECT_EQ(engine->wait(job), Status::kOk);
    const DsaEmulator::Seen seen = device->seen();
    EXPECT_EQ(seen.moves, 16u);
    EXPECT_EQ(seen.batches, 1u);
}

TEST_F(DsaCopyEngineTest, NothingIsDoneBeforeTheDeviceSaysSo)
{
    make({2 << 20, 32, 16, false});
    device->pause();
    CopyJob job{source.size()};
    submit(job, 0, source.size());
    for (int i = 0; i < 1000; ++i) {
        ASSERT_FALSE(engine->poll(job));
        ASSERT_FALSE(job.done());
    }
    device->resume();
    EXPECT_EQ(engine->wait(job), Status::kOk);
    EXPECT_EQ(source, to);
}

TEST_F(DsaCopyEngineTest, FullSharedQueueLeavesTheCopyToTheProcessor)
{
    make({2 << 20, 32, 16, false}, {.full_for = 100'000});
    CopyJob job{source.size()};
    submit(job, 0, source.size());
    EXPECT_EQ(engine->wait(job), Status::kOk);
    EXPECT_EQ(source, to);
    EXPECT_EQ(device->seen().bytes, 0u);
    EXPECT_GT(device->seen().retries, 0u);
    EXPECT_GT(stats.total(Counter::kCopyDsaFull), 0u);
    EXPECT_TRUE(engine->working());
}

TEST_F(DsaCopyEngineTest, DedicatedQueueIsNeverSentMoreThanItHolds)
{
    make({64 * 1024, 2, 2, true});
    device->pause();
    CopyJob job{source.size()};
    submit(job, 0, source.size());   // far more than two entries
    device->resume();
    EXPECT_EQ(engine->wait(job), Status::kOk);
    EXPECT_EQ(source, to);
    EXPECT_EQ(device->seen().lost, 0u);
    EXPECT_GT(device->seen().bytes, 0u);
}

TEST_F(DsaCopyEngineTest, PageFaultIsFinishedFromWhereTheDeviceStopped)
{
    make({2 << 20, 32, 16, false}, {.page_fault_every = 1});
    CopyJob job{source.size()};
    submit(job, 0, source.size());
    EXPECT_EQ(engine->wait(job), Status::kOk);
    EXPECT_EQ(source, to);
    EXPECT_EQ(stats.total(Counter::kCopyDsaBytes), device->seen().bytes);
    EXPECT_EQ(stats.total(Counter::kCopyDsaFaults), device->seen().moves);
    EXPECT_TRUE(engine->working());   // a fault is no error of the device
}

TEST_F(DsaCopyEngineTest, DeviceThatOnlyFailsIsNotAskedAnyMore)
{
    make({2 << 20, 32, 16, false}, {.error_every = 1});
    testing::expect_complaint("is not used any more");
    for (int i = 0; i < 10; ++i) {
        std::fill(to.begin(), to.end(), std::byte{0});
        CopyJob job{source.size()};
        submit(job, 0, source.size());
        EXPECT_EQ(engine->wait(job), Status::kOk);
        EXPECT_EQ(source, to);
    }
    EXPECT_FALSE(engine->working());
    EXPECT_EQ(device->seen().moves, 4u);   // the first job
}

TEST_F(DsaCopyEngineTest, JobsBeyondAllContextsAreCopiedByTheProcessor)
{
    make({2 << 20, 32, 128, false});
    device->pause();
    std::vector<CopyJob> jobs(100);
    std::vector<CopyPiece> pieces(100);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        engine->submit(jobs[i], pieces[i], to.data() + i * 5000, CopySource::own(source.data() + i * 5000), 5000);
        static_cast<void>(engine->poll(jobs[i]));
    }
    unsigned done = 0;
    for (CopyJob& job : jobs) {
        done += job.done() ? 1 : 0;
    }
    EXPECT_EQ(done, 100u - 64u);
    device->resume();
    for (CopyJob& job : jobs) {
        EXPECT_EQ(engine->wait(job), Status::kOk);
    }
    EXPECT_TRUE(std::equal(source.begin(), source.begin() + 500'000, to.begin()));
}

TEST_F(DsaCopyEngineTest, SeveralQueuesShareTheWork)
{
    make({2 << 20, 32, 8, true}, {}, 3);
    CopyJob job{source.size()};
    submit(job, 0, source.size());
    EXPECT_EQ(engine->wait(job), Status::kOk);
    EXPECT_EQ(source, to);
}

// ---- the layout, against the kernel's own header where there is one ----

#if LINNET_TEST_HAS_IDXD
TEST(DsaFormat, AgreesWithTheKernelsHeader)
{
    static_assert(sizeof(dsa::Descriptor) == sizeof(dsa_hw_desc) && sizeof(dsa::Record) == sizeof(dsa_completion_record));
    static_assert(offsetof(dsa::Descriptor, source) == offsetof(dsa_hw_desc, src_addr) && offsetof(dsa::Descriptor, size) == offsetof(dsa_hw_desc, xfer_size));
    static_assert(offsetof(dsa::Descriptor, destination) == offsetof(dsa_hw_desc, dst_addr));
    static_assert(offsetof(dsa::Descriptor, record) == offsetof(dsa_hw_desc, completion_addr));
    static_assert(offsetof(dsa::Record, bytes_done) == offsetof(dsa_completion_record, bytes_completed));
    static_assert(offsetof(dsa::Record, fault_address) == offsetof(dsa_completion_record, fault_addr));
    EXPECT_EQ(dsa::kRecordValid | dsa::kRecordWanted | dsa::kCacheControl, unsigned{IDXD_OP_FLAG_CRAV | IDXD_OP_FLAG_RCR | IDXD_OP_FLAG_CC});
    EXPECT_EQ(static_cast<int>(dsa::Opcode::kBatch), DSA_OPCODE_BATCH);
    EXPECT_EQ(static_cast<int>(dsa::Opcode::kMemoryMove), DSA_OPCODE_MEMMOVE);
    EXPECT_EQ(int{dsa::kSuccess}, DSA_COMP_SUCCESS);
    EXPECT_EQ(int{dsa::kPageFault}, DSA_COMP_PAGE_FAULT_NOBOF);
    EXPECT_EQ(int{dsa::kStatusMask}, DSA_COMP_STATUS_MASK);
    dsa_hw_desc kernel{};
    kernel.flags = IDXD_OP_FLAG_CRAV;
    kernel.opcode = DSA_OPCODE_MEMMOVE;
    std::uint32_t word = 0;
    std::memcpy(&word, reinterpret_cast<const char*>(&kernel) + 4, 4);
    EXPECT_EQ(word, std::uint32_t{3} << 24 | dsa::kRecordValid);
}
#endif

// ---- discovery ----

class DsaDiscovery : public ::testing::Test {
protected:
    DsaDiscovery()
    {
        std::string pattern = (std::filesystem::temp_directory_path() / "linnet-dsa-XXXXXX").string();
        root = ::mkdtemp(pattern.data());
    }
    ~DsaDiscovery() override { std::filesystem::remove_all(root); }
    void queue(const std::string& name, const std::string& type, const std::string& state, const std::string& mode)
    {
        const std::string folder = root + "/sys/bus/dsa/devices/" + name;
        std::filesystem::create_directories(folder);
        const std::vector<std::pair<const char*, std::string>> files{
            {"type", type}, {"state", state}, {"mode", mode}, {"size", "16"}, {"max_transfer_size", "2097152"}, {"max_batch_size", "32"}};
        for (const auto& [file, text] : files) {
            std::ofstream{folder + "/" + file} << text << '\n';
        }
    }
    std::string root;
};

TEST_F(DsaDiscovery, HostWithoutTheBusHasNoQueues) { EXPECT_TRUE(find_dsa_queues(root.c_str()).empty()); }

TEST_F(DsaDiscovery, EnabledUserQueuesAreFoundWithTheirLimits)
{
    queue("wq1.0", "user", "enabled", "shared");
    queue("wq0.1", "user", "enabled", "dedicated");
    queue("wq0.2", "kernel", "enabled", "dedicated");
    queue("wq0.3", "user", "disabled", "shared");
    queue("dsa0", "user", "enabled", "shared");
    const std::vector<DsaQueueInfo> found = find_dsa_queues(root.c_str());
    ASSERT_EQ(found.size(), 2u);
    EXPECT_EQ(found[0].name, "wq0.1");
    EXPECT_TRUE(found[0].limits.dedicated);
    EXPECT_EQ(found[0].limits.size, 16u);
    EXPECT_EQ(found[0].limits.max_transfer, 2u << 20);
    EXPECT_EQ(found[0].limits.max_batch, 32u);
    EXPECT_EQ(found[1].name, "wq1.0");
    EXPECT_FALSE(found[1].limits.dedicated);
}

TEST_F(DsaDiscovery, QueueWithoutNumbersIsLeftOut)
{
    queue("wq0.0", "user", "enabled", "shared");
    std::ofstream{root + "/sys/bus/dsa/devices/wq0.0/size"} << "garbage\n";
    EXPECT_TRUE(find_dsa_queues(root.c_str()).empty());
}

TEST(DsaQueue, QueueThatIsNotThereIsNotOpened)
{
    EXPECT_EQ(open_dsa_queue({"wq99.99", {2 << 20, 32, 16, false}}, test_log()), nullptr);
}

}   // namespace
}   // namespace linnet

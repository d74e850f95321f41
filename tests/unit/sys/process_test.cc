// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Facts about this process.
#include "sys/process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "support/test_log.h"
#include "sys/fd.h"

namespace linnet {
namespace {

TEST(Process, KnowsItsIds)
{
    EXPECT_EQ(process_id(), static_cast<std::uint32_t>(::getpid()));
    EXPECT_EQ(user_id(), ::geteuid());
}

TEST(OpenDescriptors, CountsOneMoreForOneMore)
{
    const std::size_t before = open_descriptors();
    ASSERT_GT(before, 0u);
    const Fd one{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(open_descriptors(), before + 1);
}

TEST(DescriptorLimit, IsRaisedOnlyAsFarAsWantedAndAllowed)
{
    rlimit original{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &original), 0);
    if (original.rlim_max < 512) {
        GTEST_SKIP() << "the hard limit leaves no room to raise anything";
    }
    const rlimit low{256, original.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    EXPECT_EQ(descriptor_limit().soft, 256u);
    EXPECT_EQ(descriptor_limit().hard, original.rlim_max);
    EXPECT_EQ(raise_descriptor_limit(100), 256u);   // never lowers
    EXPECT_EQ(raise_descriptor_limit(300), 300u);
    EXPECT_EQ(descriptor_limit().soft, 300u);
    EXPECT_EQ(raise_descriptor_limit(UINT64_MAX), original.rlim_max);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &original), 0);
}

// The variables of a launcher, under which the tests may run themselves.
class LauncherRank : public ::testing::Test {
protected:
    using Variables = std::vector<std::pair<const char*, const char*>>;
    void SetUp() override
    {
        for (const char* const name : kNames) {
            const char* const value = std::getenv(name);
            before_.push_back(value != nullptr ? std::optional<std::string>{value} : std::nullopt);
        }
    }
    void TearDown() override
    {
        for (std::size_t i = 0; i < kNames.size(); ++i) {
            before_[i] ? ::setenv(kNames[i], before_[i]->c_str(), 1) : ::unsetenv(kNames[i]);
        }
    }
    static void set(const Variables& variables)
    {
        for (const char* const name : kNames) {
            ::unsetenv(name);
        }
        for (const auto& [name, value] : variables) {
            ::setenv(name, value, 1);
        }
    }
    static std::optional<std::uint32_t> rank_with(const Variables& variables)
    {
        set(variables);
        return launcher_rank();
    }
    static std::optional<std::uint32_t> local_ranks_with(const Variables& variables)
    {
        set(variables);
        return launcher_local_ranks();
    }
    static constexpr std::array<const char*, 7> kNames{"OMPI_COMM_WORLD_RANK", "PMIX_RANK",           "PMI_RANK", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS",
                                                       "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"};

private:
    std::vector<std::optional<std::string>> before_;
};

TEST_F(LauncherRank, IsWhatTheInnermostLauncherSays)
{
    EXPECT_EQ(rank_with({}), std::nullopt);
    EXPECT_EQ(rank_with({{"OMPI_COMM_WORLD_RANK", "3"}, {"PMIX_RANK", "3"}, {"PMI_RANK", "0"}}), 3u);   // Open MPI's mpirun in a step of Slurm
    EXPECT_EQ(rank_with({{"PMIX_RANK", "5"}}), 5u);
    EXPECT_EQ(rank_with({{"PMI_RANK", "0"}}), 0u);
    EXPECT_EQ(rank_with({{"PMIX_RANK", "5"}, {"PMI_RANK", "5"}}), 5u);
    EXPECT_EQ(rank_with({{"PMIX_RANK", "0"}, {"PMI_RANK", "5"}}), std::nullopt);   // one is that of a process above
    EXPECT_EQ(rank_with({{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "4"}}), 2u);
    EXPECT_EQ(rank_with({{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}}), std::nullopt);   // the shell of an allocation
    EXPECT_EQ(rank_with({{"SLURM_PROCID", "0"}}), std::nullopt);
}

TEST_F(LauncherRank, IsANumber)
{
    for (const char* const wrong : {"", "x", "3x", "-1", " 3", "4294967296", "4294967294", "2147483647"}) {
        EXPECT_EQ(rank_with({{"OMPI_COMM_WORLD_RANK", wrong}}), std::nullopt) << wrong;
        EXPECT_EQ(rank_with({{"OMPI_COMM_WORLD_RANK", wrong}, {"PMIX_RANK", "7"}, {"PMI_RANK", wrong}}), 7u) << wrong;
    }
    EXPECT_EQ(rank_with({{"PMI_RANK", "2147483646"}}), 2147483646u);
}

TEST_F(LauncherRank, IsToldWithHowManyThereAreOnThisHost)
{
    EXPECT_EQ(local_ranks_with({}), std::nullopt);
    EXPECT_EQ(local_ranks_with({{"OMPI_COMM_WORLD_LOCAL_SIZE", "8"}}), 8u);
    EXPECT_EQ(local_ranks_with({{"MPI_LOCALNRANKS", "4"}}), 4u);
    EXPECT_EQ(local_ranks_with({{"OMPI_COMM_WORLD_LOCAL_SIZE", "2"}, {"MPI_LOCALNRANKS", "4"}}), 2u);
    for (const char* const wrong : {"", "0", "x", "8x", "-1"}) {
        EXPECT_EQ(local_ranks_with({{"OMPI_COMM_WORLD_LOCAL_SIZE", wrong}}), std::nullopt) << wrong;
    }
}

TEST(RandomBytes, FillAllAndDiffer)
{
    std::array<std::byte, 64> a{}, b{};
    ASSERT_EQ(random_bytes(a, testing::test_log()), Status::kOk);
    ASSERT_EQ(random_bytes(b, testing::test_log()), Status::kOk);
    EXPECT_NE(a, b);   // 2^-512 is not a flaky test
    EXPECT_LT(std::count(a.begin() + 32, a.end(), std::byte{0}), 16);   // the second half was written too
    EXPECT_EQ(random_bytes({}, testing::test_log()), Status::kOk);
}

TEST(Host, HasANameAndABootId)
{
    EXPECT_FALSE(host_name().empty());
    const std::string id = boot_id();
    if (!id.empty()) {   // absent only where /proc is hidden
        EXPECT_EQ(id.size(), 36u);
        EXPECT_EQ(id[8], '-');
        EXPECT_EQ(id, boot_id());
    }
}

}   // namespace
}   // namespace linnet

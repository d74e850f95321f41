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

TEST(LauncherRank, IsWhatTheFirstEnvironmentThatTellsOneSays)
{
    constexpr std::array<const char*, 4> kNames{"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"};
    const auto set_all = [&](const char* value) {
        for (const char* const name : kNames) {
            ASSERT_EQ(value != nullptr ? ::setenv(name, value, 1) : ::unsetenv(name), 0);
        }
    };
    set_all(nullptr);   // the tests may run under a launcher
    EXPECT_EQ(launcher_rank(), std::nullopt);
    for (std::uint32_t i = kNames.size(); i-- > 0;) {
        ::setenv(kNames[i], std::to_string(10 + i).c_str(), 1);
        EXPECT_EQ(launcher_rank(), 10 + i) << kNames[i];
    }
    for (const char* const wrong : {"", "x", "3x", "-1", " 3", "4294967296", "4294967294", "2147483647"}) {
        set_all(wrong);
        EXPECT_EQ(launcher_rank(), std::nullopt) << wrong;
    }
    set_all("2147483646");
    EXPECT_EQ(launcher_rank(), 2147483646u);
    set_all(nullptr);
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

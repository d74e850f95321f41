// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared memory: sealed, shared, unmapped.
#include "sys/memfd.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "support/test_log.h"

namespace linnet {
namespace {

using testing::test_log;

TEST(Memfd, IsZeroedSealedAndNotInherited)
{
    const auto fd = create_memfd("linnet-test", 8192, test_log());
    ASSERT_TRUE(fd.ok());
    EXPECT_NE(::fcntl(fd.value().get(), F_GETFD) & FD_CLOEXEC, 0);
    const auto info = inspect_memfd(fd.value().get());
    ASSERT_TRUE(info.ok());
    EXPECT_EQ(info.value().bytes, 8192u);
    EXPECT_TRUE(info.value().fixed_size);
    EXPECT_EQ(::ftruncate(fd.value().get(), 4096), -1);
    EXPECT_EQ(errno, EPERM);
    const auto map = Mapping::map(fd.value().get(), 8192, MapAccess::kReadOnly, test_log());
    ASSERT_TRUE(map.ok());
    for (const std::byte b : map.value().bytes()) {
        ASSERT_EQ(b, std::byte{0});
    }
}

TEST(Memfd, TwoMappingsShareTheirBytes)
{
    const auto fd = create_memfd("linnet-test", 4096, test_log());
    ASSERT_TRUE(fd.ok());
    const auto writer = Mapping::map(fd.value().get(), 4096, MapAccess::kReadWrite, test_log());
    const auto reader = Mapping::map(fd.value().get(), 4096, MapAccess::kReadOnly, test_log());
    ASSERT_TRUE(writer.ok() && reader.ok());
    writer.value().bytes()[100] = std::byte{42};
    EXPECT_EQ(reader.value().bytes()[100], std::byte{42});
}

// Mapping a file that its owner can shrink would let it kill us with SIGBUS.
TEST(InspectMemfd, TellsAnUnsealedFileFromASealedOne)
{
    const Fd open{::memfd_create("linnet-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    ASSERT_TRUE(open.valid());
    const auto info = inspect_memfd(open.get());
    ASSERT_TRUE(info.ok());
    EXPECT_FALSE(info.value().fixed_size);
}

TEST(InspectMemfd, RefusesWhatIsNoMemoryFile)
{
    const Fd null{::open("/dev/null", O_RDONLY | O_CLOEXEC)};
    EXPECT_EQ(inspect_memfd(null.get()).status(), Status::kUnsupported);
    EXPECT_EQ(inspect_memfd(-1).status(), Status::kIo);
}

TEST(Mapping, MoveLeavesNothingBehind)
{
    const auto fd = create_memfd("linnet-test", 4096, test_log());
    ASSERT_TRUE(fd.ok());
    auto first = Mapping::map(fd.value().get(), 4096, MapAccess::kReadWrite, test_log());
    ASSERT_TRUE(first.ok());
    Mapping second{std::move(first.value())};
    EXPECT_FALSE(first.value().valid());
    EXPECT_EQ(second.bytes().size(), 4096u);
    second.reset();
    EXPECT_FALSE(second.valid());
}

TEST(Mapping, ExcludedFromForkIsGoneInTheChild)
{
    const auto fd = create_memfd("linnet-test", 4096, test_log());
    ASSERT_TRUE(fd.ok());
    const auto map = Mapping::map(fd.value().get(), 4096, MapAccess::kReadWrite, test_log());
    ASSERT_TRUE(map.ok());
    map.value().exclude_from_fork();
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        unsigned char resident = 0;
        const int rc = ::mincore(map.value().bytes().data(), 4096, &resident);   // ENOMEM: nothing is mapped there
        ::_exit(rc == -1 && errno == ENOMEM ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Mapping, FailureIsLoggedWithItsCause)
{
    testing::expect_complaint("mmap of shared memory: Bad file descriptor");
    EXPECT_EQ(Mapping::map(-1, 4096, MapAccess::kReadOnly, test_log()).status(), Status::kIo);
}

}   // namespace
}   // namespace linnet

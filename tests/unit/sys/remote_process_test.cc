// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RemoteProcess: the memory of a process, as long as it is the one that its number meant.
#include "sys/remote_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "support/test_log.h"
#include "sys/process.h"
#include "sys/unforked_page.h"

namespace linnet {
namespace {

// Its memory is a copy of ours, at the same addresses.
class Child {
public:
    Child() : pid_{::fork()}
    {
        if (pid_ == 0) {
            ::pause();
            ::_exit(0);
        }
    }
    ~Child() { end(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;

    [[nodiscard]] std::uint32_t pid() const { return static_cast<std::uint32_t>(pid_); }
    // Returns when its number is free.
    void end()
    {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
            pid_ = 0;
        }
    }

private:
    ::pid_t pid_;
};

constexpr RemoteProcess::Key kKey{std::byte{7}, std::byte{8}, std::byte{9}};

std::uint64_t address_of(const auto& object) { return reinterpret_cast<std::uintptr_t>(object.data()); }

TEST(RemoteProcess, IsKnownByItsKeyUntilItEnds)
{
    const RemoteProcess::Key key = kKey;
    const std::array<std::byte, 3> here{std::byte{1}, std::byte{2}, std::byte{3}};
    Child child;
    const RemoteProcess process{child.pid(), address_of(key), kKey};
    EXPECT_TRUE(process.readable());
    std::array<std::byte, 3> to{};
    const IoResult r = process.read(to.data(), address_of(here), here.size());
    EXPECT_EQ(r.error, 0);
    EXPECT_EQ(r.bytes, here.size());
    EXPECT_EQ(to, here);
    child.end();
    EXPECT_FALSE(process.readable());
    EXPECT_EQ(process.read(to.data(), address_of(here), here.size()).error, ESRCH);
    EXPECT_FALSE(RemoteProcess{}.readable());
}

TEST(RemoteProcess, HasEndedWhenItWasKilledWhetherItWasWaitedForOrNot)
{
    EXPECT_FALSE(RemoteProcess{process_id()}.ended());
    EXPECT_FALSE(RemoteProcess{}.ended()) << "nobody can tell";
    Child child;
    const RemoteProcess process{child.pid()};
    EXPECT_FALSE(process.ended());
    ::kill(static_cast<::pid_t>(child.pid()), SIGKILL);
    ::siginfo_t info{};
    ASSERT_EQ(::waitid(P_PID, child.pid(), &info, WEXITED | WNOWAIT), 0);
    EXPECT_TRUE(process.ended()) << "a zombie";
    child.end();
    EXPECT_TRUE(process.ended());
}

TEST(RemoteProcess, AnotherWithTheSameNumberIsNotTheOne)
{
    const RemoteProcess::Key key = kKey;
    const std::array<std::byte, 3> here{};
    std::array<std::byte, 3> to{};
    RemoteProcess::Key other = kKey;
    other.back() = std::byte{1};
    const RemoteProcess process{process_id(), address_of(key), other};
    EXPECT_FALSE(process.readable());
    EXPECT_EQ(process.read(to.data(), address_of(here), here.size()).error, ESRCH);
    const RemoteProcess nowhere{process_id(), 8, kKey};
    EXPECT_FALSE(nowhere.readable());
    EXPECT_EQ(nowhere.read(to.data(), address_of(here), here.size()).error, ESRCH);
}

// A child of the one may get its number when it is gone.
TEST(RemoteProcess, AChildOfItHasNotItsKey)
{
    UnforkedPage page;
    ASSERT_EQ(page.map(testing::test_log()), Status::kOk);
    if (!page.wipes()) {
        GTEST_SKIP() << "this kernel gives children all pages (madvise MADV_WIPEONFORK is refused)";
    }
    std::copy(kKey.begin(), kKey.end(), page.bytes().begin());
    const RemoteProcess self{process_id(), address_of(page.bytes()), kKey};
    EXPECT_TRUE(self.readable());
    Child child;
    const RemoteProcess copy{child.pid(), address_of(page.bytes()), kKey};
    EXPECT_FALSE(copy.readable());
    RemoteProcess::Key seen = kKey;
    EXPECT_EQ(RemoteProcess{child.pid()}.read(seen.data(), address_of(page.bytes()), seen.size()).error, 0);
    EXPECT_EQ(seen, RemoteProcess::Key{}) << "it is there to be read, and wiped";
}

TEST(RemoteProcess, ReadOfMemoryThatIsNotThereIsAnError)
{
    const RemoteProcess self{process_id()};
    const std::array<std::byte, 3> here{std::byte{1}, std::byte{2}, std::byte{3}};
    std::array<std::byte, 3> to{};
    EXPECT_EQ(self.read(to.data(), reinterpret_cast<std::uintptr_t>(here.data()), here.size()).bytes, here.size());
    EXPECT_EQ(to, here);
    EXPECT_EQ(self.read(to.data(), 8, to.size()).error, EFAULT);
}

}   // namespace
}   // namespace linnet

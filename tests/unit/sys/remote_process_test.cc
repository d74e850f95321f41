// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RemoteProcess: whether a process still is the one that its number meant, and its memory.
#include "sys/remote_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "sys/process.h"

namespace linnet {
namespace {

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

TEST(RemoteProcess, IsAliveUntilItEnds)
{
    Child child;
    const RemoteProcess process{child.pid()};
    ASSERT_TRUE(process.valid());
    EXPECT_TRUE(process.alive());
    child.end();
    EXPECT_FALSE(process.alive());
    EXPECT_FALSE(RemoteProcess{}.alive());
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

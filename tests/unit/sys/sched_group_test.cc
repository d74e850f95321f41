// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The scheduling group of this process, from files as kernels show them.
#include "sys/sched_group.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace linnet {
namespace {

class SchedGroupTest : public ::testing::Test {
protected:
    SchedGroupTest()
    {
        std::string name = (std::filesystem::temp_directory_path() / "linnet-sched-group-XXXXXX").string();
        EXPECT_NE(::mkdtemp(name.data()), nullptr);
        folder_ = name;
        files_ = {file("enabled", "1\n"), file("cgroup", "0::/\n"), folder_ + "/unified"};
        std::filesystem::create_directories(files_.cgroup2);
    }
    ~SchedGroupTest() override { std::filesystem::remove_all(folder_); }
    SchedGroupTest(const SchedGroupTest&) = delete;
    SchedGroupTest& operator=(const SchedGroupTest&) = delete;

    std::string file(const std::string& name, const std::string& text) const
    {
        const std::string path = folder_ + "/" + name;
        std::filesystem::create_directories(std::filesystem::path{path}.parent_path());
        std::ofstream{path} << text;
        return path;
    }
    // The answer of a process that leads a session, or of one that was born into such a one.
    enum class Who { kLeader, kChildOfLeader };
    bool alone(Who who) const
    {
        const pid_t child = ::fork();
        if (child == 0) {
            ::setsid();
            if (who == Who::kLeader) {
                ::_exit(alone_in_scheduling_group(files_) ? 1 : 0);
            }
            const pid_t born = ::fork();
            if (born == 0) {
                ::_exit(alone_in_scheduling_group(files_) ? 1 : 0);
            }
            int status = 0;
            ::waitpid(born, &status, 0);
            ::_exit(WEXITSTATUS(status));
        }
        int status = 0;
        EXPECT_EQ(::waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status));
        return WEXITSTATUS(status) == 1;
    }

    std::string folder_;
    SchedGroupFiles files_;
};

TEST_F(SchedGroupTest, WhoLeadsASessionIsAlone)
{
    EXPECT_TRUE(alone(Who::kLeader));
    EXPECT_FALSE(alone(Who::kChildOfLeader)) << "siblings may be in it";
}

TEST_F(SchedGroupTest, SessionsAreNoGroupsWhereTheFeatureIsOffOrUnknown)
{
    file("enabled", "0\n");
    EXPECT_FALSE(alone(Who::kLeader));
    files_.autogroup_enabled += ".not-there";
    EXPECT_FALSE(alone(Who::kLeader));
}

TEST_F(SchedGroupTest, NorInACgroup)
{
    file("cgroup", "9:memory:/\n1:cpu,cpuacct:/docker/0123\n0::/\n");
    EXPECT_FALSE(alone(Who::kLeader));
    file("cgroup", "9:memory:/job\n1:cpu,cpuacct:/\n0::/\n");
    EXPECT_TRUE(alone(Who::kLeader));
    files_.own_cgroups += ".not-there";
    EXPECT_FALSE(alone(Who::kLeader));
}

TEST_F(SchedGroupTest, TheUnifiedHierarchyHasGroupsWhereTheControllerIs)
{
    file("unified/user.slice/session-1.scope/cgroup.procs", "");
    const std::string own = "0::/user.slice/session-1.scope\n";
    EXPECT_TRUE(in_root_cpu_cgroup(own, files_.cgroup2)) << "the controller is nowhere";
    file("unified/user.slice/cpu.weight", "100\n");
    EXPECT_FALSE(in_root_cpu_cgroup(own, files_.cgroup2)) << "above";
    EXPECT_TRUE(in_root_cpu_cgroup("0::/other.slice\n", files_.cgroup2));
    file("unified/cpu.weight", "100\n");
    EXPECT_FALSE(in_root_cpu_cgroup("0::/\n", files_.cgroup2)) << "a container sees its own as the root";
}

TEST_F(SchedGroupTest, AControllerIsItsWholeName)
{
    EXPECT_TRUE(in_root_cpu_cgroup("3:cpuset:/job\n2:cpuacct,cpu:/\n", files_.cgroup2));
    EXPECT_FALSE(in_root_cpu_cgroup("3:cpuset:/\n2:cpuacct,cpu:/job\n", files_.cgroup2));
}

TEST_F(SchedGroupTest, NonsenseIsNoAnswer)
{
    EXPECT_FALSE(in_root_cpu_cgroup("", files_.cgroup2));
    EXPECT_FALSE(in_root_cpu_cgroup("cpu\n:\n", files_.cgroup2));
    EXPECT_FALSE(in_root_cpu_cgroup("3:cpuset:/\n", files_.cgroup2)) << "nothing of the controller";
    EXPECT_TRUE(in_root_cpu_cgroup("1:cpu:/", files_.cgroup2)) << "a last line without an end";
}

}   // namespace
}   // namespace linnet

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
        files_ = {file("enabled", "1\n"), file("cgroup", "0::/\n"), folder_ + "/fs"};
        file("fs/cgroup.controllers", "cpu memory\n");
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
    file("fs/cpu,cpuacct/release_agent", "");
    file("cgroup", "9:memory:/\n1:cpu,cpuacct:/docker/0123\n0::/\n");
    EXPECT_FALSE(alone(Who::kLeader));
    file("cgroup", "9:memory:/job\n1:cpu,cpuacct:/\n0::/\n");
    EXPECT_TRUE(alone(Who::kLeader));
    std::filesystem::remove(folder_ + "/fs/cpu,cpuacct/release_agent");
    EXPECT_FALSE(alone(Who::kLeader)) << "a container sees its own as the root";
    file("fs/cpu/release_agent", "");
    EXPECT_TRUE(alone(Who::kLeader));
    std::filesystem::remove_all(folder_ + "/fs");
    EXPECT_TRUE(alone(Who::kLeader)) << "out of sight";
    files_.own_cgroups += ".not-there";
    EXPECT_FALSE(alone(Who::kLeader));
}

TEST_F(SchedGroupTest, TheUnifiedHierarchyHasGroupsWhereTheControllerIs)
{
    file("fs/user.slice/session-1.scope/cgroup.procs", "");
    const std::string own = "0::/user.slice/session-1.scope\n";
    EXPECT_TRUE(in_root_cpu_cgroup(own, files_.cgroups)) << "the controller is nowhere";
    file("fs/user.slice/cpu.weight", "100\n");
    EXPECT_FALSE(in_root_cpu_cgroup(own, files_.cgroups)) << "above";
    EXPECT_TRUE(in_root_cpu_cgroup("0::/other.slice\n", files_.cgroups));
    file("fs/cpu.weight", "100\n");
    EXPECT_FALSE(in_root_cpu_cgroup("0::/\n", files_.cgroups)) << "a container sees its own as the root";
}

TEST_F(SchedGroupTest, TheUnifiedHierarchyMayBeBesideTheOthersOrOutOfSight)
{
    std::filesystem::remove(folder_ + "/fs/cgroup.controllers");
    EXPECT_TRUE(in_root_cpu_cgroup("0::/\n", files_.cgroups));
    EXPECT_FALSE(in_root_cpu_cgroup("0::/job\n", files_.cgroups)) << "which may be a group of the controller";
    file("fs/unified/cgroup.controllers", "cpu\n");
    EXPECT_TRUE(in_root_cpu_cgroup("0::/\n", files_.cgroups));
    file("fs/unified/job/cpu.weight", "100\n");
    EXPECT_FALSE(in_root_cpu_cgroup("0::/job\n", files_.cgroups));
}

TEST_F(SchedGroupTest, AControllerIsItsWholeName)
{
    file("fs/cpu/release_agent", "");
    EXPECT_TRUE(in_root_cpu_cgroup("3:cpuset:/job\n2:cpuacct,cpu:/\n", files_.cgroups));
    EXPECT_FALSE(in_root_cpu_cgroup("3:cpuset:/\n2:cpuacct,cpu:/job\n", files_.cgroups));
}

TEST_F(SchedGroupTest, NonsenseIsNoAnswer)
{
    file("fs/cpu/release_agent", "");
    EXPECT_FALSE(in_root_cpu_cgroup("", files_.cgroups));
    EXPECT_FALSE(in_root_cpu_cgroup("cpu\n:\n", files_.cgroups));
    EXPECT_FALSE(in_root_cpu_cgroup("3:cpuset:/\n", files_.cgroups)) << "nothing of the controller";
    EXPECT_TRUE(in_root_cpu_cgroup("1:cpu:/", files_.cgroups)) << "a last line without an end";
}

}   // namespace
}   // namespace linnet

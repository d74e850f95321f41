// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Does the scheduler count this process for a group of its own?
//
// Where the kernel groups threads, a core is given to a group first, and sched_yield(2) lets another thread of the same group run, nobody else (sched(7),
// The autogroup feature; cgroups(7)). Each session is such a group, unless its processes are in a cgroup of the cpu controller.
//
// Threads: any. Blocking: reads of /proc and of the cgroup file system only. Not for the data path.
#pragma once

#include <string>
#include <string_view>

namespace linnet {

// Where the kernel says so; tests have files of their own.
struct SchedGroupFiles {
    std::string autogroup_enabled{"/proc/sys/kernel/sched_autogroup_enabled"};
    std::string own_cgroups{"/proc/self/cgroup"};
    std::string cgroups{"/sys/fs/cgroup"};   // where the hierarchies are: the unified one itself, or one below for each
};

// True: this process leads a session, as what MPICH's launcher starts does, and sessions are groups here. The only rank in it then, as far as can be known:
// ranks that it starts itself would not be found. False also when the kernel does not tell, or tells of a cgroup, which others may be in.
[[nodiscard]] bool alone_in_scheduling_group(const SchedGroupFiles& files = {});

// Is the process with this /proc/<pid>/cgroup in no cgroup of the cpu controller but the root?
[[nodiscard]] bool in_root_cpu_cgroup(std::string_view own_cgroups, const std::string& cgroups);

}   // namespace linnet

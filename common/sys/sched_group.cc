// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The scheduling group of this process, as the kernel's files tell.
#include "sys/sched_group.h"

#include <unistd.h>

#include <fstream>
#include <iterator>
#include <optional>

namespace linnet {
namespace {

std::optional<std::string> text_of(const std::string& path)
{
    std::ifstream file{path};
    if (!file) {
        return std::nullopt;
    }
    return std::string{std::istreambuf_iterator<char>{file}, {}};
}

// "cpu" in "cpu,cpuacct", not in "cpuset".
bool names_cpu(std::string_view controllers)
{
    while (!controllers.empty()) {
        const std::size_t comma = controllers.find(',');
        if (controllers.substr(0, comma) == "cpu") {
            return true;
        }
        controllers.remove_prefix(comma == std::string_view::npos ? controllers.size() : comma + 1);
    }
    return false;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

// Where a hierarchy is out of sight (ip-netns(8) hides it), its path has to do: "/" is the root then, though a container may see its own group so.

// Only the root of a hierarchy of version 1 has release_agent.
bool is_root_of_version_1(const std::string& cgroups, std::string_view controllers, std::string_view path)
{
    const std::string alias = cgroups + "/cpu";
    const std::string hierarchy = exists(alias) ? alias : cgroups + "/" + std::string{controllers};
    return path == "/" && (!exists(hierarchy) || exists(hierarchy + "/release_agent"));
}

// In version 2 cpu.weight is wherever the controller has a group, which the root of the hierarchy is not.
bool is_root_of_version_2(const std::string& cgroups, std::string_view path)
{
    const std::string hierarchy = exists(cgroups + "/cgroup.controllers") ? cgroups : cgroups + "/unified";
    if (!exists(hierarchy + "/cgroup.controllers")) {
        return path == "/";
    }
    for (std::string below{path};;) {
        if (exists(hierarchy + below + "/cpu.weight")) {
            return false;
        }
        const std::size_t slash = below.rfind('/');
        if (slash == std::string::npos) {
            return true;
        }
        below.resize(slash);
    }
}

}   // namespace

// Lines "hierarchy:controllers:path" (cgroups(7)); the unified one is number 0 and names no controllers. A controller is in one hierarchy only.
bool in_root_cpu_cgroup(std::string_view own_cgroups, const std::string& cgroups)
{
    std::optional<std::string_view> unified;
    while (!own_cgroups.empty()) {
        const std::size_t end = own_cgroups.find('\n');
        const std::string_view line = own_cgroups.substr(0, end);
        own_cgroups.remove_prefix(end == std::string_view::npos ? own_cgroups.size() : end + 1);
        const std::size_t first = line.find(':');
        const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
        if (second == std::string_view::npos) {
            continue;
        }
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        const std::string_view path = line.substr(second + 1);
        if (names_cpu(controllers)) {
            return is_root_of_version_1(cgroups, controllers, path);
        }
        if (line.substr(0, first) == "0" && controllers.empty()) {
            unified = path;
        }
    }
    return unified && is_root_of_version_2(cgroups, *unified);
}

bool alone_in_scheduling_group(const SchedGroupFiles& files)
{
    if (::getsid(0) != ::getpid()) {
        return false;
    }
    const std::optional<std::string> enabled = text_of(files.autogroup_enabled);
    if (!enabled || enabled->substr(0, 1) != "1") {
        return false;
    }
    const std::optional<std::string> own_cgroups = text_of(files.own_cgroups);
    return own_cgroups && in_root_cpu_cgroup(*own_cgroups, files.cgroups);
}

}   // namespace linnet

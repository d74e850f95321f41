// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Topology: hwloc's objects as one tree.
#include "sys/topology.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#if LINNET_HAVE_HWLOC
#include <hwloc.h>
#endif

namespace linnet {

const char* level_text(TopologyLevel level) noexcept
{
    return std::array{"machine", "numa", "package", "cache", "core"}[static_cast<std::size_t>(level)];
}

// Larger sets first, and of equal ones the outermost: then a node's parent is the last one before it that holds it.
Topology::Topology(std::vector<TopologyNode> sets)
{
    read_cores(sets);
    std::stable_sort(sets.begin(), sets.end(), [](const TopologyNode& a, const TopologyNode& b) {
        return a.cpus.count() != b.cpus.count() ? a.cpus.count() > b.cpus.count() : a.level < b.level;
    });
    for (TopologyNode& set : sets) {
        const auto around = [&](const TopologyNode& node) { return node.cpus.contains(set.cpus); };
        const auto parent = std::find_if(nodes_.rbegin(), nodes_.rend(), around);
        const bool nests = nodes_.empty() || parent != nodes_.rend();   // hwloc's sets do; a machine that contradicts itself loses the set
        const bool is_new = nodes_.empty() || (parent != nodes_.rend() && parent->cpus != set.cpus);
        if (set.cpus.empty() || !nests || !is_new || nodes_.size() >= std::numeric_limits<std::uint16_t>::max()) {
            continue;
        }
        set.parent = nodes_.empty() ? std::uint16_t{0} : static_cast<std::uint16_t>(std::distance(parent, nodes_.rend()) - 1);
        nodes_.push_back(set);
    }
    if (nodes_.empty()) {
        nodes_.push_back({TopologyLevel::kMachine, 0, CpuSet::range(0, 1)});
    }
    nodes_.front().level = TopologyLevel::kMachine;
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
        for (unsigned cpu = 0; cpu < CpuSet::kCpus; ++cpu) {
            if (nodes_[i].cpus.has(cpu)) {
                of_cpu_.resize(std::max<std::size_t>(of_cpu_.size(), cpu + 1));
                of_cpu_[cpu] = static_cast<std::uint16_t>(i);   // inner nodes come later
            }
        }
    }
}

// Before levels with the same processors become one node, of which nobody can tell whether it is a core.
void Topology::read_cores(const std::vector<TopologyNode>& sets)
{
    for (const TopologyNode& set : sets) {
        for (unsigned cpu = 0; set.level == TopologyLevel::kCore && cpu < CpuSet::kCpus; ++cpu) {
            if (set.cpus.has(cpu)) {
                for (auto known = static_cast<unsigned>(core_of_cpu_.size()); known <= cpu; ++known) {
                    core_of_cpu_.push_back(static_cast<std::uint16_t>(known));
                }
                core_of_cpu_[cpu] = static_cast<std::uint16_t>(set.cpus.first());
            }
        }
    }
}

unsigned Topology::cores(const CpuSet& cpus) const noexcept
{
    CpuSet firsts = cpus;
    for (unsigned cpu = 0; cpu < core_of_cpu_.size(); ++cpu) {
        if (cpus.has(cpu) && core_of_cpu_[cpu] != cpu) {
            firsts.remove(cpu);
            firsts.add(core_of_cpu_[cpu]);   // also when the mask has only the other threads of it
        }
    }
    return firsts.count();
}

CpuSet Topology::without_core_of(unsigned cpu, CpuSet cpus) const noexcept
{
    cpus.remove(cpu);
    for (unsigned other = 0; cpu < core_of_cpu_.size() && other < core_of_cpu_.size(); ++other) {
        if (core_of_cpu_[other] == core_of_cpu_[cpu]) {
            cpus.remove(other);
        }
    }
    return cpus;
}

Topology Topology::flat(const CpuSet& cpus) { return Topology{std::vector<TopologyNode>{{TopologyLevel::kMachine, 0, cpus}}}; }

Topology Topology::read(const Log& log)
{
    Result<Topology> read = load(nullptr, log);
    return read ? std::move(*read) : flat(process_affinity());
}

Result<Topology> Topology::synthetic(const char* description, const Log& log) { return load(description, log); }

std::uint16_t Topology::node_around(const CpuSet& cpus) const noexcept
{
    std::uint16_t node = cpus.empty() ? std::uint16_t{0} : node_of(cpus.first());
    while (node != 0 && !nodes_[node].cpus.contains(cpus)) {
        node = nodes_[node].parent;
    }
    return node;
}

#if LINNET_HAVE_HWLOC

namespace {

// Caches count from the first level that several cores may share; what a core has alone is merged into it anyway.
constexpr std::array<std::pair<hwloc_obj_type_t, TopologyLevel>, 6> kLevels{{
    {HWLOC_OBJ_MACHINE, TopologyLevel::kMachine},
    {HWLOC_OBJ_NUMANODE, TopologyLevel::kNuma},
    {HWLOC_OBJ_PACKAGE, TopologyLevel::kPackage},
    {HWLOC_OBJ_L3CACHE, TopologyLevel::kCache},
    {HWLOC_OBJ_L2CACHE, TopologyLevel::kCache},
    {HWLOC_OBJ_CORE, TopologyLevel::kCore},
}};

CpuSet to_cpu_set(hwloc_const_cpuset_t from)
{
    CpuSet set;
    for (int cpu = hwloc_bitmap_first(from); cpu >= 0; cpu = hwloc_bitmap_next(from, cpu)) {
        set.add(static_cast<unsigned>(cpu));
        if (static_cast<unsigned>(cpu) >= CpuSet::kCpus) {
            break;
        }
    }
    return set;
}

}   // namespace

Result<Topology> Topology::load(const char* description, const Log& log)
{
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) {
        return Status::kNoMemory;
    }
    // Only what the tree is made of: the less is asked for, the fewer files hwloc reads. Machine and NUMA nodes are always there; a NUMA node
    // of several packages, or within one, hangs on a group.
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (const auto& [type, level] : kLevels) {
        hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
    }
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
#if HWLOC_API_VERSION >= 0x00020100
    // It would run on every processor in turn to ask it, where /sys has all that we want to know: most of the time, and not ours to do in somebody's process.
    hwloc_topology_set_components(topology, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
#endif
    if (description != nullptr && hwloc_topology_set_synthetic(topology, description) != 0) {
        LINNET_LOG(log, kWarn, "hwloc does not understand the topology \"%s\"", description);
        hwloc_topology_destroy(topology);
        return Status::kInvalid;
    }
    if (hwloc_topology_load(topology) != 0) {
        LINNET_LOG(log, kWarn, "hwloc cannot read the topology of this machine: it is taken for one set of processors");
        hwloc_topology_destroy(topology);
        return Status::kIo;
    }
    std::vector<TopologyNode> sets;
    for (const auto& [type, level] : kLevels) {
        for (hwloc_obj_t object = hwloc_get_next_obj_by_type(topology, type, nullptr); object != nullptr;
             object = hwloc_get_next_obj_by_type(topology, type, object)) {
            sets.push_back({level, 0, to_cpu_set(object->cpuset)});
        }
    }
    hwloc_topology_destroy(topology);
    return Topology{std::move(sets)};
}

#else

Result<Topology> Topology::load(const char* description, const Log& log)
{
    if (description != nullptr) {
        LINNET_LOG(log, kWarn, "no topology \"%s\": built without hwloc", description);
    }
    return Status::kUnsupported;
}

#endif

}   // namespace linnet

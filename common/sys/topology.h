// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Topology: the machine as a tree of sets of processors: cores in caches in packages in NUMA nodes in the machine.
//
// What it is  A value, constant once made. Sets nest; levels with the same processors are one node, which has the outermost of their names. Read through
//             hwloc; without it (configure --without-hwloc) or where hwloc fails, the machine is one node.
// Threads     Any. Blocking: read() reads /sys, some milliseconds; allocates. The rest never.
// Failure     read() cannot fail. synthetic() answers a Status.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/log.h"
#include "base/status.h"
#include "sys/cpu_set.h"

namespace linnet {

enum class TopologyLevel : std::uint8_t { kMachine, kNuma, kPackage, kCache, kCore };
[[nodiscard]] const char* level_text(TopologyLevel level) noexcept;

struct TopologyNode {
    TopologyLevel level{TopologyLevel::kMachine};
    std::uint16_t parent{0};   // index of the node around it; the machine's is its own
    CpuSet cpus;
};

class Topology {
public:
    Topology() : Topology{flat(CpuSet::range(0, 1))} {}
    // This machine.
    [[nodiscard]] static Topology read(const Log& log);
    // One node with these processors.
    [[nodiscard]] static Topology flat(const CpuSet& cpus);
    // A machine that does not exist, as hwloc describes such ("numa:4 l3:2 core:8 pu:1", hwloc(7)), for tests. kUnsupported without hwloc, kInvalid.
    [[nodiscard]] static Result<Topology> synthetic(const char* description, const Log& log);

    // The machine first, each node after the one around it.
    [[nodiscard]] std::span<const TopologyNode> nodes() const noexcept { return nodes_; }
    // The innermost node around a processor; the machine for one that nobody knows.
    [[nodiscard]] std::uint16_t node_of(unsigned cpu) const noexcept { return cpu < of_cpu_.size() ? of_cpu_[cpu] : std::uint16_t{0}; }
    // The innermost node with all of `cpus`; the machine for a set that is empty or nowhere whole.
    [[nodiscard]] std::uint16_t node_around(const CpuSet& cpus) const noexcept;
    // How many cores have one of these processors, the threads of a core being one; processors, where nobody knows of cores. About a nanosecond for each
    // processor of the machine.
    [[nodiscard]] unsigned cores(const CpuSet& cpus) const noexcept;
    // Those of `cpus` that are of another core than this one.
    [[nodiscard]] CpuSet without_core_of(unsigned cpu, CpuSet cpus) const noexcept;

private:
    explicit Topology(std::vector<TopologyNode> sets);   // in any order, the same set several times
    static Result<Topology> load(const char* description, const Log& log);
    void read_cores(const std::vector<TopologyNode>& sets);

    std::vector<TopologyNode> nodes_;
    std::vector<std::uint16_t> of_cpu_;
    std::vector<std::uint16_t> core_of_cpu_;   // as the lowest of its processors
};

}   // namespace linnet

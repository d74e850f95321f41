// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Topology and CpuSet: nesting, merging, machines that do not exist, affinity.
#include "sys/topology.h"

#include <gtest/gtest.h>

#include <thread>

#include "support/test_log.h"
#include "sys/cpu_set.h"
#include "sys/thread.h"

namespace linnet {
namespace {

using testing::test_log;

// ---- CpuSet ----

TEST(CpuSet, HoldsWhatWasAddedAndIgnoresWhatIsBeyond)
{
    CpuSet set;
    EXPECT_TRUE(set.empty());
    EXPECT_EQ(set.first(), CpuSet::kCpus);
    set.add(0);
    set.add(63);
    set.add(64);
    set.add(1023);
    set.add(1024);
    EXPECT_EQ(set.count(), 4u);
    EXPECT_FALSE(set.has(1024));
    set.remove(0);
    EXPECT_EQ(set.first(), 63u);
    EXPECT_EQ(set.text(), "63-64,1023");
}

TEST(CpuSet, ContainsIsInclusion)
{
    const CpuSet all = CpuSet::range(0, 8), some = CpuSet::range(2, 3);
    EXPECT_TRUE(all.contains(some));
    EXPECT_TRUE(all.contains(all));
    EXPECT_FALSE(some.contains(all));
    EXPECT_TRUE((all & some) == some);
}

TEST(CpuSet, AffinityIsReadAgainAfterItChanged)
{
    const CpuSet before = process_affinity();
    ASSERT_FALSE(before.empty());
    EXPECT_EQ(before.count(), usable_cpus());
    CpuSet one;
    one.add(before.first());
    ASSERT_TRUE(set_thread_affinity(one));   // the test's main thread is the process's first
    EXPECT_EQ(process_affinity(), one);
    std::thread{[&] { EXPECT_EQ(process_affinity(), one); }}.join();
    ASSERT_TRUE(set_thread_affinity(before));
    EXPECT_EQ(process_affinity(), before);
}

TEST(CpuSet, AffinityWithoutAnyUsableProcessorIsRefused)
{
    const CpuSet before = thread_affinity();
    EXPECT_FALSE(set_thread_affinity(CpuSet{}));
    EXPECT_EQ(thread_affinity(), before);
}

// ---- Topology ----

void expect_a_tree(const Topology& topology)
{
    const auto nodes = topology.nodes();
    ASSERT_FALSE(nodes.empty());
    EXPECT_EQ(nodes[0].level, TopologyLevel::kMachine);
    EXPECT_EQ(nodes[0].parent, 0);
    for (std::size_t i = 1; i < nodes.size(); ++i) {
        ASSERT_LT(nodes[i].parent, i);
        EXPECT_TRUE(nodes[nodes[i].parent].cpus.contains(nodes[i].cpus)) << i;
        EXPECT_GT(nodes[nodes[i].parent].cpus.count(), nodes[i].cpus.count()) << i;
        EXPECT_FALSE(nodes[i].cpus.empty()) << i;
    }
}

TEST(Topology, FlatIsOneNode)
{
    const Topology topology = Topology::flat(CpuSet::range(4, 4));
    ASSERT_EQ(topology.nodes().size(), 1u);
    EXPECT_EQ(topology.node_of(5), 0);
    EXPECT_EQ(topology.node_of(99), 0);
    EXPECT_EQ(topology.node_around(CpuSet::range(4, 2)), 0);
    expect_a_tree(topology);
}

TEST(Topology, ThisMachineHoldsTheProcessorsOfThisProcess)
{
    const Topology topology = Topology::read(test_log());
    expect_a_tree(topology);
    EXPECT_TRUE(topology.nodes()[0].cpus.contains(process_affinity()));
    const unsigned cpu = current_cpu();
    EXPECT_TRUE(topology.nodes()[topology.node_of(cpu)].cpus.has(cpu));
}

#if LINNET_HAVE_HWLOC

unsigned count(const Topology& topology, TopologyLevel level)
{
    unsigned n = 0;
    for (const TopologyNode& node : topology.nodes()) {
        n += node.level == level ? 1 : 0;
    }
    return n;
}

TEST(Topology, SixtyFourCoresOnFourNumaNodesAreATreeOfFourLevels)
{
    const Result<Topology> topology = Topology::synthetic("numa:4 l3:4 core:4 pu:1", test_log());
    ASSERT_TRUE(topology.ok());
    expect_a_tree(*topology);
    EXPECT_EQ(topology->nodes()[0].cpus.count(), 64u);
    EXPECT_EQ(count(*topology, TopologyLevel::kMachine), 1u);
    EXPECT_EQ(count(*topology, TopologyLevel::kNuma), 4u);
    EXPECT_EQ(count(*topology, TopologyLevel::kCache), 16u);
    EXPECT_EQ(count(*topology, TopologyLevel::kCore), 64u);
    // from the core outwards
    std::uint16_t node = topology->node_of(37);
    for (const TopologyLevel level : {TopologyLevel::kCore, TopologyLevel::kCache, TopologyLevel::kNuma, TopologyLevel::kMachine}) {
        EXPECT_EQ(topology->nodes()[node].level, level);
        EXPECT_TRUE(topology->nodes()[node].cpus.has(37));
        node = topology->nodes()[node].parent;
    }
}

TEST(Topology, SetGoesIntoTheInnermostNodeThatHoldsAllOfIt)
{
    const Result<Topology> topology = Topology::synthetic("numa:4 l3:4 core:4 pu:1", test_log());
    ASSERT_TRUE(topology.ok());
    const auto level_around = [&](const CpuSet& cpus) { return topology->nodes()[topology->node_around(cpus)].level; };
    EXPECT_EQ(level_around(CpuSet::range(5, 1)), TopologyLevel::kCore);
    EXPECT_EQ(level_around(CpuSet::range(4, 4)), TopologyLevel::kCache);
    EXPECT_EQ(level_around(CpuSet::range(3, 2)), TopologyLevel::kNuma);
    EXPECT_EQ(level_around(CpuSet::range(15, 2)), TopologyLevel::kMachine);
    EXPECT_EQ(level_around(CpuSet{}), TopologyLevel::kMachine);
    EXPECT_EQ(level_around(CpuSet::range(60, 10)), TopologyLevel::kMachine);   // some of them are not there
}

TEST(Topology, LevelsWithTheSameProcessorsAreOneNode)
{
    const Result<Topology> topology = Topology::synthetic("pack:1 l3:1 core:2 pu:2", test_log());
    ASSERT_TRUE(topology.ok());
    expect_a_tree(*topology);
    EXPECT_EQ(topology->nodes().size(), 3u);   // the machine, two cores of two threads
    EXPECT_EQ(topology->node_of(0), topology->node_of(1));
    EXPECT_NE(topology->node_of(1), topology->node_of(2));
}

TEST(Topology, CoresAreCountedOnceWhateverThreadsOfThemAreMeant)
{
    const Result<Topology> topology = Topology::synthetic("pack:2 l2:4 core:1 pu:2", test_log());   // each core is all of a cache
    ASSERT_TRUE(topology.ok());
    EXPECT_EQ(topology->cores(topology->nodes()[0].cpus), 8u);
    EXPECT_EQ(topology->cores(CpuSet::range(2, 2)), 1u);
    EXPECT_EQ(topology->cores(CpuSet::range(3, 2)), 2u);
    CpuSet odd;
    odd.add(1);
    odd.add(3);
    odd.add(100);   // nobody knows it
    EXPECT_EQ(topology->cores(odd), 3u);
    EXPECT_EQ(topology->cores(CpuSet{}), 0u);
    EXPECT_EQ(Topology::flat(CpuSet::range(0, 6)).cores(CpuSet::range(0, 4)), 4u);
    EXPECT_EQ(topology->without_core_of(1, CpuSet::range(0, 4)), CpuSet::range(2, 2));
    EXPECT_EQ(Topology::flat(CpuSet::range(0, 6)).without_core_of(0, CpuSet::range(0, 4)), CpuSet::range(1, 3));
}

TEST(Topology, DescriptionThatNobodyUnderstandsIsAnError)
{
    testing::expect_complaint("does not understand");
    EXPECT_EQ(Topology::synthetic("unicorn:3", test_log()).status(), Status::kInvalid);
}

#else

TEST(Topology, WithoutHwlocTheMachineIsOneNode)
{
    EXPECT_EQ(Topology::read(test_log()).nodes().size(), 1u);
    testing::expect_complaint("built without hwloc");
    EXPECT_EQ(Topology::synthetic("core:2", test_log()).status(), Status::kUnsupported);
}

#endif

}   // namespace
}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The setting copy: which engine it means, and what is said when that cannot be.
#include "core/copy_choice.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/test_log.h"
#include "sys/dsa_queue.h"
#include "sys/system_clock.h"

namespace linnet::core {
namespace {

std::vector<std::string> said;   // by the code under test

// A context's parts, on a machine of `cpus` processors.
struct World {
    Settings settings;
    SystemClock clock;
    Stats stats;
    Log log;
    TaskTree tree;
    IdleHelpers helpers{tree, {}, clock, log};

    explicit World(unsigned cpus = 2) : tree{Topology::flat(CpuSet::range(0, cpus)), stats}
    {
        said.clear();
        log.configure(LogLevel::kDebug, [](void*, LogLevel, const char* line) noexcept { said.emplace_back(line); }, nullptr);
    }
    void set(SettingId id, const char* value)
    {
        std::string error;
        ASSERT_EQ(settings.set(id, value, error), Status::kOk) << error;
    }
    std::string made(bool tasks = true)
    {
        return make_copy_engine({settings, tasks ? &tree : nullptr, tasks ? &helpers : nullptr, clock, log, stats.block(StatsRole::kAnyThread)})->name();
    }
};

bool was_said(const std::string& what)
{
    for (const std::string& line : said) {
        if (line.find(what) != std::string::npos) {
            return true;
        }
    }
    return false;
}

// Whether this machine has the device decides what dsa is.
bool has_device()
{
    const auto queues = find_dsa_queues();
    return !queues.empty() && open_dsa_queue(queues[0], testing::test_log()) != nullptr;
}

TEST(CopyChoice, AutoIsTasksWhereHelpersMayExistAndNeverTheAccelerator)
{
    World world;
    EXPECT_EQ(world.made(), "tasks");
    EXPECT_TRUE(was_said("long messages are copied by: tasks"));
    EXPECT_EQ(world.made(false), "cpu");
    EXPECT_TRUE(was_said("long messages are copied by: cpu"));
    world.set(SettingId::kTaskHelpers, "0");
    EXPECT_EQ(world.made(), "cpu");
    World small{1};
    EXPECT_EQ(small.made(), "cpu");
    EXPECT_FALSE(was_said("cannot be")) << "nobody asked for more";
}

TEST(CopyChoice, CpuIsTheCallingThreadWhateverElseThereIs)
{
    World world;
    world.set(SettingId::kCopy, "cpu");
    EXPECT_EQ(world.made(), "cpu");
}

TEST(CopyChoice, TasksThatCannotBeAreNamed)
{
    World world;
    world.set(SettingId::kCopy, "tasks");
    EXPECT_EQ(world.made(), "tasks");
    EXPECT_FALSE(was_said("cannot be"));
    EXPECT_EQ(world.made(false), "cpu");
    EXPECT_TRUE(was_said("copy=tasks cannot be: tasks is off"));
    world.set(SettingId::kTaskHelpers, "0");
    EXPECT_EQ(world.made(), "cpu");
    EXPECT_TRUE(was_said("copy=tasks cannot be: task_helpers is 0"));
}

TEST(CopyChoice, AcceleratorThatIsNotThereIsNamedAndTheNextBestIsTaken)
{
    if (has_device()) {
        GTEST_SKIP() << "this machine has a data streaming accelerator";
    }
    World world;
    world.set(SettingId::kCopy, "dsa");
    EXPECT_EQ(world.made(), "tasks");
    EXPECT_TRUE(was_said("copy=dsa cannot be: " + dsa_lacks()));
}

// Without the instructions that is what is missing; with them, whatever the tree of devices lacks.
TEST(CopyChoice, WhatTheAcceleratorLacksFollowsTheTreeOfDevices)
{
    namespace fs = std::filesystem;
    const fs::path root = fs::temp_directory_path() / ("linnet-dsa-" + std::to_string(::getpid()));
    const fs::path queue = root / "sys/bus/dsa/devices/wq0.1";
    if (!has_dsa_instructions()) {
        EXPECT_NE(dsa_lacks(root.c_str()).find("MOVDIR64B"), std::string::npos);
        return;
    }
    EXPECT_NE(dsa_lacks(root.c_str()).find("no enabled work queue"), std::string::npos);
    fs::create_directories(queue);
    for (const auto& [name, value] : std::array<std::pair<const char*, const char*>, 6>{
             {{"type", "user"}, {"state", "enabled"}, {"mode", "shared"}, {"max_transfer_size", "2097152"}, {"max_batch_size", "32"}, {"size", "16"}}}) {
        std::ofstream{queue / name} << value << '\n';
    }
    EXPECT_NE(dsa_lacks(root.c_str()).find("can be opened"), std::string::npos);
    fs::remove_all(root);
}

}   // namespace
}   // namespace linnet::core

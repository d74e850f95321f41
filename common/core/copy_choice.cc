// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The choice among the engines of copy/.
#include "core/copy_choice.h"

#include <string_view>

#include "copy/cpu_copy_engine.h"
#include "copy/dsa_copy_engine.h"
#include "copy/task_copy_engine.h"
#include "sys/cache_size.h"
#include "sys/dsa_queue.h"

namespace linnet::core {

std::string tasks_lack(const CopyEnv& env)
{
    if (env.tasks == nullptr || env.helpers == nullptr) {
        return "tasks is off";
    }
    if (env.settings.integer(SettingId::kTaskHelpers) == 0) {
        return "task_helpers is 0";
    }
    const Topology& machine = env.tasks->topology();
    return machine.cores(machine.nodes()[0].cpus) < 2 ? "there is one core" : "";
}

std::string dsa_lacks(const char* root)
{
    if (!has_dsa_instructions()) {
        return "this processor has no MOVDIR64B and ENQCMD";
    }
    return find_dsa_queues(root).empty() ? "there is no enabled work queue of type user under /sys/bus/dsa/devices"
                                         : "no work queue in /dev/dsa can be opened (log_level=debug says why)";
}

std::unique_ptr<CopyEngine> make_copy_engine(const CopyEnv& env)
{
    enum Choice : std::uint8_t { kAuto, kCpu, kTasks, kDsa };   // as the setting's choices
    const auto wanted = static_cast<Choice>(env.settings.choice(SettingId::kCopy));
    const std::size_t past_cache_from = last_level_cache_share();
    std::unique_ptr<CopyEngine> engine;
    const auto warn = [&](const char* what, const std::string& lacks) {
        LINNET_LOG(env.log, kWarn, "copy=%s cannot be: %s", what, lacks.c_str());
    };
    if (wanted == kDsa) {   // who wants it says so: it cannot read other processes' memory, which is all that there is to do
        engine = open_dsa_copy_engine(past_cache_from, env.clock, env.log, env.counters);
        if (engine == nullptr) {
            warn("dsa", dsa_lacks());
        }
    }
    if (engine == nullptr && wanted != kCpu) {
        const std::string lacks = tasks_lack(env);
        if (lacks.empty()) {
            engine = std::make_unique<TaskCopyEngine>(*env.tasks, *env.helpers, past_cache_from);
        } else if (wanted == kTasks) {
            warn("tasks", lacks);
        }
    }
    if (engine == nullptr) {
        engine = std::make_unique<CpuCopyEngine>(past_cache_from);
    }
    LINNET_LOG(env.log, kDebug, "long messages are copied by: %s", engine->name());
    return engine;
}

}   // namespace linnet::core

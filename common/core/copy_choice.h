// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Who copies long messages in a context: what the setting copy says, as far as this machine has it.
//
// Threads: one, before anything is opened. Blocking: reads /sys. Failure: none; what was asked for and is not there is a warning that names what it lacks.
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "conf/settings.h"
#include "copy/copy_engine.h"
#include "stats/counters.h"
#include "task/idle_helpers.h"
#include "task/task_tree.h"

namespace linnet::core {

// Borrowed by the engine.
struct CopyEnv {
    const Settings& settings;
    TaskTree* tasks;        // null, as the next: tasks=off
    IdleHelpers* helpers;
    const Clock& clock;
    const Log& log;
    Counters& counters;
};

// Never null.
[[nodiscard]] std::unique_ptr<CopyEngine> make_copy_engine(const CopyEnv& env);

// What the engine would need that is not there, for people; empty: nothing.
[[nodiscard]] std::string tasks_lack(const CopyEnv& env);
[[nodiscard]] std::string dsa_lacks(const char* root = "");   // `root`: in front of /sys, for tests

}   // namespace linnet::core

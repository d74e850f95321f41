// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// thread_sleeps(): whether a thread of this process has gone to sleep, so that a test need not guess how long that takes.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

namespace linnet::testing {

// Of the thread of this name (prctl(2), PR_SET_NAME): state S in proc_pid_stat(5), the letter behind the name. False without such a thread.
inline bool thread_sleeps(std::string_view name)
{
    for (const auto& task : std::filesystem::directory_iterator{"/proc/self/task"}) {
        std::string stat;
        std::getline(std::ifstream{task.path() / "stat"}, stat);   // of a thread that has ended meanwhile: empty
        const std::string tag = "(" + std::string{name} + ") ";
        const std::size_t at = stat.find(tag);
        if (at != std::string::npos) {
            return stat[at + tag.size()] == 'S';
        }
    }
    return false;
}

}   // namespace linnet::testing

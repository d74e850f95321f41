// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The library loaded, used and unloaded, twice: no thread, no descriptor stays behind.
#include <dirent.h>
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>

#include "capi/linnet.h"

namespace linnet::testing {
namespace {

std::size_t entries(const char* folder)
{
    std::size_t n = 0;
    DIR* const dir = opendir(folder);
    while (dir != nullptr && readdir(dir) != nullptr) {
        ++n;
    }
    if (dir != nullptr) {
        closedir(dir);
    }
    return n;
}

// A thread that was joined may still be listed for a moment.
bool comes_down_to(const char* folder, std::size_t wanted)
{
    for (int i = 0; i < 200 && entries(folder) > wanted; ++i) {
        std::this_thread::sleep_for(std::chrono::milliseconds{10});
    }
    return entries(folder) == wanted;
}

TEST(Unload, LeavesNoThreadAndNoDescriptor)
{
    const char* const build = std::getenv("top_builddir");
    const std::string path = std::string{build == nullptr ? ".." : build} + "/common/.libs/liblinnet.so";
    const std::size_t threads = entries("/proc/self/task");
    const std::size_t descriptors = entries("/proc/self/fd");
    for (int round = 0; round < 2; ++round) {
        void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << dlerror();
        const auto open = reinterpret_cast<decltype(&linnet_context_open)>(dlsym(library, "linnet_context_open"));
        const auto close = reinterpret_cast<decltype(&linnet_context_close)>(dlsym(library, "linnet_context_close"));
        ASSERT_TRUE(open != nullptr && close != nullptr);
        const linnet_setting_t setting{"net_include", "lo"};
        linnet_open_options_t options{};
        options.size = sizeof options;
        options.settings = &setting;
        options.setting_count = 1;
        linnet_context_t* context = nullptr;
        ASSERT_EQ(open(&options, &context), LINNET_OK);
        EXPECT_GT(entries("/proc/self/task"), threads);   // the event thread
        close(context);
        EXPECT_TRUE(comes_down_to("/proc/self/task", threads)) << "round " << round;
        EXPECT_EQ(dlclose(library), 0);
        EXPECT_EQ(entries("/proc/self/fd"), descriptors) << "round " << round;
    }
}

}   // namespace
}   // namespace linnet::testing

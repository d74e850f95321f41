// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// How a context gives way: as the setting give_way says.
#include <string>
#include <vector>

#include "integration/waist/waist.h"
#include "sys/thread.h"

namespace linnet::testing {
namespace {

// What a context that is opened so says at the start.
std::string said(const char* give_way)
{
    std::string text;
    const std::vector<linnet_setting_t> settings{{"transports", "tcp"}, {"net_include", "lo"}, {"log_level", "debug"}, {"give_way", give_way}};
    linnet_open_options_t o{};
    o.size = sizeof o;
    o.settings = settings.data();
    o.setting_count = settings.size();
    o.wild_mask = 0x7fffffff;
    o.log = [](void* to, linnet_log_level_t, const char* line) noexcept { (*static_cast<std::string*>(to) += line) += '\n'; };
    o.log_arg = &text;
    linnet_context_t* context = nullptr;
    EXPECT_EQ(linnet_context_open(&o, &context), LINNET_OK);
    linnet_context_close(context);
    return text;
}

// How such a context gives way, in the words of that text.
std::string way(const char* give_way)
{
    const std::string text = said(give_way);
    const std::string before = "gives way by ";
    const std::size_t at = text.find(before);
    return at == std::string::npos ? text : text.substr(at + before.size(), text.find('\n', at) - at - before.size());
}

TEST(GiveWay, IsAsTheSettingSays)
{
    EXPECT_EQ(way("yield"), "yields");
    EXPECT_EQ(way("auto"), "yields and naps");
    if (thread_core_wait()) {
        EXPECT_EQ(way("nap"), "naps");
    } else {
        EXPECT_EQ(way("nap"), "yields");
        EXPECT_NE(said("nap").find("give_way=nap"), std::string::npos);
    }
}

}   // namespace
}   // namespace linnet::testing

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

bool naps(const char* give_way) { return said(give_way).find("gives way by naps") != std::string::npos; }
bool yields(const char* give_way) { return said(give_way).find("gives way by yields") != std::string::npos; }

TEST(GiveWay, IsAsTheSettingSays)
{
    EXPECT_TRUE(yields("yield"));
    if (thread_core_wait()) {
        EXPECT_TRUE(naps("nap"));
    } else {
        const std::string text = said("nap");
        EXPECT_NE(text.find("give_way=nap"), std::string::npos) << text;
        EXPECT_NE(text.find("gives way by yields"), std::string::npos) << text;
    }
}

}   // namespace
}   // namespace linnet::testing

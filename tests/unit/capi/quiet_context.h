// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// QuietContext: a context without threads, whose log goes to the test's.
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "capi/linnet.h"
#include "support/test_log.h"

namespace linnet::capi {

inline linnet_open_options_t quiet_options()
{
    static const std::vector<linnet_setting_t> settings{
        {"transports", "tcp"}, {"net_include", "127.0.0.1"}, {"event_thread", "off"}, {"tasks", "off"}, {"stats_page", "off"}, {"log_level", "warn"}};
    linnet_open_options_t o{};
    o.size = sizeof o;
    o.settings = settings.data();
    o.setting_count = settings.size();
    o.log = [](void*, linnet_log_level_t level, const char* line) noexcept { testing::test_log().write(static_cast<LogLevel>(level), "%s", line); };
    return o;
}

class QuietContext {
public:
    QuietContext()
    {
        const linnet_open_options_t o = quiet_options();
        EXPECT_EQ(linnet_context_open(&o, &context_), LINNET_OK);
    }
    ~QuietContext() { linnet_context_close(context_); }
    QuietContext(const QuietContext&) = delete;
    QuietContext& operator=(const QuietContext&) = delete;
    [[nodiscard]] linnet_context_t* get() const { return context_; }

    // Its own endpoint as a peer.
    linnet_peer_t add_self()
    {
        linnet_name_t name{};
        linnet_peer_t self = LINNET_PEER_UNKNOWN;
        EXPECT_EQ(linnet_context_name(context_, &name), LINNET_OK);
        EXPECT_EQ(linnet_peer_add(context_, &name, &self), LINNET_OK);
        return self;
    }

private:
    linnet_context_t* context_{nullptr};
};

}   // namespace linnet::capi

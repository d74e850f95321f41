// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Settings: values, where they come from, and what is said about wrong ones.
#include "conf/settings.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <utility>

#include "support/test_log.h"

namespace linnet {
namespace {

using testing::expect_complaint;
using testing::test_log;

TEST(Settings, StartWithTheDefaultsOfTheTable)
{
    const Settings s;
    EXPECT_EQ(s.duration(SettingId::kConnectTimeout), std::chrono::seconds{30});
    EXPECT_EQ(s.duration(SettingId::kSilenceTimeout), std::chrono::minutes{10});
    EXPECT_EQ(s.size(SettingId::kEagerLimit), 65536u);
    EXPECT_EQ(s.integer(SettingId::kTcpPortMin), 0);
    EXPECT_TRUE(s.boolean(SettingId::kEventThread));
    EXPECT_EQ(s.choice(SettingId::kProgressPolicy), 0u);
    EXPECT_EQ(s.text(SettingId::kTransports), "auto");
    for (const SettingInfo& row : kSettingTable) {
        EXPECT_EQ(s.value_text(row.id), row.default_text) << row.name;   // defaults are written the way they are shown
        EXPECT_EQ(s.origin(row.id), SettingOrigin::kDefault);
    }
}

TEST(Settings, SetByNameChangesOneValue)
{
    Settings s;
    std::string error;
    EXPECT_EQ(s.set("connect_timeout", "5s", error), Status::kOk);
    EXPECT_EQ(s.set("net_include", "eth1,10.0.0.0/8", error), Status::kOk);
    EXPECT_EQ(s.set("progress_policy", "block", error), Status::kOk);
    EXPECT_EQ(s.duration(SettingId::kConnectTimeout), std::chrono::seconds{5});
    EXPECT_EQ(s.text(SettingId::kNetInclude), "eth1,10.0.0.0/8");
    EXPECT_EQ(s.choice(SettingId::kProgressPolicy), 2u);
    EXPECT_EQ(s.value_text(SettingId::kProgressPolicy), "block");
    EXPECT_EQ(s.origin(SettingId::kConnectTimeout), SettingOrigin::kHost);
    EXPECT_EQ(s.origin(SettingId::kPeerTimeout), SettingOrigin::kDefault);
    EXPECT_EQ(error, "");
}

TEST(Settings, WrongValueIsExplainedAndChangesNothing)
{
    Settings s;
    std::string error;
    EXPECT_EQ(s.set("connect_timeout", "5 parsecs", error), Status::kInvalid);
    EXPECT_EQ(error, "setting connect_timeout=5 parsecs (from the parameters of MPI or libfabric) is wrong: it must be a duration from 100ms to 60min "
                     "(with ns, us, ms, s or min)");
    EXPECT_EQ(s.set("tcp_port_max", "70000", error), Status::kInvalid);
    EXPECT_EQ(error, "setting tcp_port_max=70000 (from the parameters of MPI or libfabric) is wrong: it must be a number from 0 to 65535");
    EXPECT_EQ(s.duration(SettingId::kConnectTimeout), std::chrono::seconds{30});
    EXPECT_EQ(s.origin(SettingId::kConnectTimeout), SettingOrigin::kDefault);
}

TEST(Settings, PortsAreARangeOrAny)
{
    const auto range_of = [](const char* low, const char* high, PortRange& range, unsigned given = 0) {
        Settings s;
        std::string error;
        EXPECT_EQ(s.set("tcp_port_min", low, error), Status::kOk);
        EXPECT_EQ(s.set("tcp_port_max", high, error), Status::kOk);
        const Log log{LogLevel::kError, [](void* to, LogLevel, const char* line) noexcept { *static_cast<std::string*>(to) = line; }, &error};
        const Result<PortRange> ports = port_range(s, SettingId::kTcpPortMin, SettingId::kTcpPortMax, given, log, "tcp");
        EXPECT_EQ(ports.ok(), error.empty());
        range = ports.ok() ? *ports : PortRange{};
        return error;
    };
    PortRange range;
    EXPECT_EQ(range_of("0", "0", range), "");
    EXPECT_EQ(std::pair(range.low, range.high), std::pair(0u, 0u));
    EXPECT_EQ(range_of("6000", "0", range), "");
    EXPECT_EQ(std::pair(range.low, range.high), std::pair(6000u, 65535u));
    EXPECT_EQ(range_of("6000", "6000", range), "");
    EXPECT_EQ(std::pair(range.low, range.high), std::pair(6000u, 6000u));
    EXPECT_EQ(range_of("6000", "6001", range, 7000), "");
    EXPECT_EQ(std::pair(range.low, range.high), std::pair(7000u, 7000u));
    EXPECT_EQ(range_of("6000", "5000", range),
              "tcp: settings tcp_port_min=6000 and tcp_port_max=5000 are wrong together: the ports are those from tcp_port_min, which must be given and not be "
              "the higher one, to tcp_port_max");
    EXPECT_NE(range_of("0", "5000", range), "");
    EXPECT_NE(range_of("0", "5000", range, 7000), "");
}

TEST(Settings, UnknownNameSuggestsTheNearest)
{
    Settings s;
    std::string error;
    EXPECT_EQ(s.set("conect_timeout", "5s", error), Status::kNotFound);
    EXPECT_EQ(error, "unknown setting conect_timeout=5s (from the parameters of MPI or libfabric); did you mean connect_timeout?");
    EXPECT_EQ(s.set("zzz", "1", error), Status::kNotFound);
    EXPECT_EQ(error, "unknown setting zzz=1 (from the parameters of MPI or libfabric)");
}

TEST(Settings, EnvironmentIsReadByUpperCaseName)
{
    const char* const variables[] = {"PATH=/bin", "LINNET_EAGER_LIMIT=8k", "LINNETX=1", "LINNET_LABEL=a=b", "LINNET_TEST_SEED=1", nullptr};
    Settings s;
    std::string error;
    ASSERT_EQ(s.load_environment(variables, test_log(), error), Status::kOk);
    EXPECT_EQ(s.size(SettingId::kEagerLimit), 8192u);
    EXPECT_EQ(s.text(SettingId::kLabel), "a=b");
    EXPECT_EQ(s.origin(SettingId::kEagerLimit), SettingOrigin::kEnvironment);
}

TEST(Settings, WrongVariableIsAnErrorThatNamesIt)
{
    const char* const variables[] = {"LINNET_EVENT_THREAD=maybe", nullptr};
    Settings s;
    std::string error;
    EXPECT_EQ(s.load_environment(variables, test_log(), error), Status::kInvalid);
    EXPECT_EQ(error, "setting LINNET_EVENT_THREAD=maybe (from the environment) is wrong: it must be on or off");
}

TEST(Settings, UnknownVariableIsOnlyWarnedOf)
{
    const char* const variables[] = {"LINNET_EAGER_LIMITT=8k", "LINNET_SLEEP_MAX=1ms", nullptr};
    Settings s;
    std::string error;
    expect_complaint("unknown variable LINNET_EAGER_LIMITT ignored; did you mean LINNET_EAGER_LIMIT?");
    EXPECT_EQ(s.load_environment(variables, test_log(), error), Status::kOk);
    EXPECT_EQ(s.duration(SettingId::kSleepMax), std::chrono::milliseconds{1});   // the others still count
}

TEST(Settings, HostOverridesEnvironmentInEitherOrder)
{
    const char* const variables[] = {"LINNET_EAGER_LIMIT=8k", nullptr};
    std::string error;
    Settings host_last;
    ASSERT_EQ(host_last.load_environment(variables, test_log(), error), Status::kOk);
    ASSERT_EQ(host_last.set("eager_limit", "4k", error), Status::kOk);
    Settings host_first;
    ASSERT_EQ(host_first.set("eager_limit", "4k", error), Status::kOk);
    ASSERT_EQ(host_first.load_environment(variables, test_log(), error), Status::kOk);
    for (const Settings* s : {&host_last, &host_first}) {
        EXPECT_EQ(s->size(SettingId::kEagerLimit), 4096u);
        EXPECT_EQ(s->origin(SettingId::kEagerLimit), SettingOrigin::kHost);
    }
}

TEST(Settings, TheProcessEnvironmentIsTheDefaultSource)
{
    ::setenv("LINNET_BULK_CHUNK", "128k", 1);
    Settings s;
    std::string error;
    const Status status = s.load_environment(test_log(), error);
    ::unsetenv("LINNET_BULK_CHUNK");
    ASSERT_EQ(status, Status::kOk) << error;
    EXPECT_EQ(s.size(SettingId::kBulkChunk), 131072u);
}

TEST(Settings, TwoSetsDoNotShareValues)
{
    Settings a, b;
    std::string error;
    ASSERT_EQ(a.set("label", "one", error), Status::kOk);
    EXPECT_EQ(b.text(SettingId::kLabel), "");
}

TEST(SettingNames, VariableAndLookupAgree)
{
    EXPECT_EQ(setting_variable("connect_timeout"), "LINNET_CONNECT_TIMEOUT");
    ASSERT_NE(find_setting("sleep_max"), nullptr);
    EXPECT_EQ(find_setting("sleep_max")->id, SettingId::kSleepMax);
    EXPECT_EQ(find_setting("SLEEP_MAX"), nullptr);
    EXPECT_EQ(nearest_setting("tcp_port_mix"), "tcp_port_min");
    EXPECT_EQ(nearest_setting("q"), "");
}

}   // namespace
}   // namespace linnet

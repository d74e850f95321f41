// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The file of path_profile: what of it is about this host, and what a transfer is expected to take by it.
#include "core/path_profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

#include "support/test_log.h"
#include "sys/process.h"

namespace linnet::core {
namespace {

using testing::test_log;

// Both ends work side by side: a packet of p bytes takes 1000 + 0.1 p of each, 5000 + 0.05 p between.
constexpr model::PathCost kCost{{1000, 0.1}, {500, 0.05}, {5000, 0.05}, {1000, 0.1}, {0, 0}, 0};

const NetInterface* loopback_of(const std::vector<NetInterface>& all)
{
    const auto it = std::find_if(all.begin(), all.end(), [](const NetInterface& i) { return i.loopback; });
    return it == all.end() ? nullptr : &*it;
}

TEST(PathKey, NamesTransportKernelDriverAndMtu)
{
    NetInterface eth;
    eth.driver = "e1000e";
    eth.mtu = 9000;
    const model::PathKey key = path_key("tcp", &eth);
    EXPECT_EQ(key, (model::PathKey{"tcp", kernel_release(), "e1000e", 9000}));
    EXPECT_NE(key.kernel, "");
}

TEST(PathKey, WhatIsNotKnownIsADash)
{
    EXPECT_EQ(path_key("shm", nullptr), (model::PathKey{"shm", kernel_release(), "-", 0}));
    NetInterface virtual_one;
    virtual_one.mtu = 1500;
    EXPECT_EQ(path_key("udp", &virtual_one), (model::PathKey{"udp", kernel_release(), "-", 1500}));
}

class ExpectedCosts : public ::testing::Test {
protected:
    void SetUp() override
    {
        char name[] = "/tmp/linnet-core-XXXXXX";
        const int fd = ::mkstemp(name);
        ASSERT_GE(fd, 0);
        file_ = name;
        ::close(fd);
        set(SettingId::kPathProfile, file_);
        set(SettingId::kNetInclude, "127.0.0.1");
        auto interfaces = list_interfaces(test_log());
        ASSERT_TRUE(interfaces.ok());
        interfaces_ = std::move(*interfaces);
        ASSERT_NE(loopback_of(interfaces_), nullptr);
    }
    void TearDown() override { std::remove(file_.c_str()); }

    void set(SettingId id, const std::string& text)
    {
        std::string error;
        ASSERT_EQ(settings_.set(id, text, error), Status::kOk) << error;
    }
    void save(const std::vector<std::pair<model::PathKey, model::PathCost>>& paths)
    {
        model::Profile profile;
        for (const auto& [key, cost] : paths) {
            ASSERT_EQ(profile.set(key, cost), Status::kOk);
        }
        std::string error;
        ASSERT_EQ(profile.save(file_, error), Status::kOk) << error;
    }
    [[nodiscard]] model::PathKey here(std::string_view transport) const
    {
        return path_key(transport, transport == "shm" ? nullptr : loopback_of(interfaces_));
    }
    static bool said(const std::string& part)
    {
        const auto lines = testing::logged_lines();
        return std::any_of(lines.begin(), lines.end(), [&part](const std::string& l) { return l.find(part) != std::string::npos; });
    }

    Settings settings_;
    std::string file_;
    std::vector<NetInterface> interfaces_;
};

TEST_F(ExpectedCosts, WithoutAFileNothingIsExpected)
{
    set(SettingId::kPathProfile, "");
    EXPECT_TRUE(expected_costs(settings_, test_log()).empty());
    EXPECT_TRUE(testing::logged_lines().empty());
}

// From 64 KiB on a transfer is so many full packets; k of them take 1000 + 0.1 p + 5000 + 0.05 p + k (1000 + 0.1 p), and the way back 7000.
TEST_F(ExpectedCosts, AreTheTimeOfATransferAndOfTheWordThatItArrived)
{
    save({{here("tcp"), kCost}});
    const auto expected = expected_costs(settings_, test_log());
    ASSERT_EQ(expected.size(), 1u);
    EXPECT_EQ(expected[0].first, "tcp");
    const model::Line line = expected[0].second;
    EXPECT_NEAR(line.per_byte_ns, (1000 + 0.1 * 65536) / 65536, 1e-9);
    EXPECT_NEAR(line.fixed_ns, 6000 + 0.15 * 65536 + 7000, 1e-6);
    for (const double bytes : {65536.0, 4194304.0}) {
        const auto one_way = [](double n) { return model::one_way_ns(kCost, static_cast<std::uint64_t>(n), model::kPacketBytes); };
        EXPECT_NEAR(line.at(bytes), one_way(bytes) + one_way(0), 1e-3) << bytes;
    }
    EXPECT_TRUE(said("tcp takes 22.8 us and 0.115 ns per byte"));
}

TEST_F(ExpectedCosts, OnlyPathsOfThisHostCountEachUnderItsTransport)
{
    model::PathKey other_kernel = here("udp");
    other_kernel.kernel += "x";
    model::PathKey other_mtu = here("eth");
    other_mtu.mtu += 1;
    model::PathCost slow = kCost;
    slow.latency.fixed_ns = 50'000;
    save({{other_kernel, kCost}, {here("shm"), kCost}, {other_mtu, kCost}, {here("tcp"), slow}, {here("carrier-pigeon"), kCost}});
    const auto expected = expected_costs(settings_, test_log());
    ASSERT_EQ(expected.size(), 2u);
    EXPECT_EQ(expected[0].first, "shm");
    EXPECT_EQ(expected[1].first, "tcp");
    EXPECT_NEAR(expected[1].second.fixed_ns - expected[0].second.fixed_ns, 90'000, 1e-6) << "there and back";
}

TEST_F(ExpectedCosts, FileAboutOtherHostsIsNoMoreThanAWord)
{
    model::PathKey other = here("tcp");
    other.driver = "e1000e";
    save({{other, kCost}});
    EXPECT_TRUE(expected_costs(settings_, test_log()).empty());
    EXPECT_TRUE(said(file_ + " has nothing about this host"));
}

TEST_F(ExpectedCosts, FileThatCannotBeUsedIsAWarningThatNamesIt)
{
    testing::expect_complaint("path_profile: " + file_ + ": line 2: a path must come first; it is ignored");
    std::ofstream{file_} << "linnet-profile 1\nnonsense\n";
    EXPECT_TRUE(expected_costs(settings_, test_log()).empty());
}

TEST_F(ExpectedCosts, MissingFileIsAWarningToo)
{
    testing::expect_complaint(file_ + "-no: cannot be opened; it is ignored");
    set(SettingId::kPathProfile, file_ + "-no");
    EXPECT_TRUE(expected_costs(settings_, test_log()).empty());
}

TEST_F(ExpectedCosts, ARefusedInterfaceMeansNoInterface)
{
    save({{here("tcp"), kCost}, {here("shm"), kCost}});
    set(SettingId::kNetInclude, "192.0.2.1");   // nobody has it (RFC 5737)
    const auto expected = expected_costs(settings_, test_log());
    ASSERT_EQ(expected.size(), 1u);
    EXPECT_EQ(expected[0].first, "shm");
}

}   // namespace
}   // namespace linnet::core

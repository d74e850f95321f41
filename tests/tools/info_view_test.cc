// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// How linnet-info shows what it found.
#include "info_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace linnet::tools {
namespace {

InfoReport report()
{
    InfoReport r;
    r.facts.host = "node7";
    r.facts.kernel = "6.1.0";
    r.facts.cores = 4;
    r.transports_setting = "auto";
    TransportFinding t;
    t.name = "eth";
    t.lacks = {"cannot make a packet socket: Operation not permitted"};
    t.prior_latency = Nanos{1500};
    t.prior_bytes_per_ns = 1.25;
    r.transports = {t};
    AddressVerdict v;
    v.interface = "eth0";
    v.address = *InetAddress::parse("10.1.0.2");
    v.used = true;
    v.why = "usable, contact address";
    r.addresses = {v};
    Nic nic;
    nic.interface.name = "eth0";
    nic.interface.mtu = 1500;
    nic.driver = "e1000e";
    nic.rx_ring = 256;
    r.facts.nics = {nic};
    return r;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(SizeText, IsExact)
{
    EXPECT_EQ(size_text(0), "0 B");
    EXPECT_EQ(size_text(100), "100 B");
    EXPECT_EQ(size_text(2048), "2 KiB");
    EXPECT_EQ(size_text(2049), "2049 B");
    EXPECT_EQ(size_text(127u << 10), "127 KiB");
    EXPECT_EQ(size_text(std::uint64_t{3} << 30), "3 GiB");
}

// Every size is in exactly one range, whatever the settings.
TEST(SizeRanges, AreWithoutGapOrOverlap)
{
    for (const char* const eager : {"0", "1k", "2k", "16k", "64k", "127k"}) {
        for (const char* const retain : {"0", "1k", "16k", "1m"}) {
            Settings settings;
            std::string error;
            ASSERT_EQ(settings.set("eager_limit", eager, error), Status::kOk) << error;
            ASSERT_EQ(settings.set("retain_limit", retain, error), Status::kOk) << error;
            const auto ranges = size_ranges(settings);
            std::uint64_t next = 0;
            for (const SizeRange& r : ranges) {
                EXPECT_EQ(r.from, next) << eager << " " << retain;
                EXPECT_GE(r.to, r.from);
                next = r.to + 1;
            }
            EXPECT_EQ(ranges.back().to, UINT64_MAX);
            EXPECT_EQ(ranges.back().from, settings.size(SettingId::kEagerLimit) + 1);
        }
    }
}

TEST(InfoText, TellsWhatIsRefusedAndWhy)
{
    const std::string text = info_text(report());
    EXPECT_TRUE(contains(text, "node7, Linux 6.1.0, 4 cores"));
    EXPECT_TRUE(contains(text, "eth   refused  not chosen"));
    EXPECT_TRUE(contains(text, "cannot make a packet socket"));
    EXPECT_TRUE(contains(text, "10.1.0.2        used     usable, contact address"));
    EXPECT_TRUE(contains(text, "e1000e, MTU 1500, ring 256"));
    EXPECT_TRUE(contains(text, "advice\n  none\n"));
    EXPECT_FALSE(contains(text, "towards"));
}

TEST(InfoText, ShowsThePeerWhenThereIsOne)
{
    InfoReport r = report();
    PeerFinding p;
    p.address = *InetAddress::parse("10.1.0.9", 4000);
    p.source = "10.1.0.2";
    p.interface = "eth0";
    p.path_mtu = 1500;
    p.port_answer = "somebody listens there";
    p.ways = {{"tcp", true, "there is a route"}, {"shm", false, "not an address of this host"}};
    r.peer = p;
    const std::string text = info_text(r);
    EXPECT_TRUE(contains(text, "towards 10.1.0.9\n  from 10.1.0.2, interface eth0, path MTU 1500\n  TCP port 4000: somebody listens there\n"));
    EXPECT_TRUE(contains(text, "tcp   possible there is a route"));
    EXPECT_TRUE(contains(text, "shm   refused  not an address of this host"));
}

TEST(InfoText, HostileBytesReachNoTerminal)
{
    InfoReport r = report();
    r.facts.nics.front().driver = "x\033[2J";
    r.facts.host = "a\rb";
    const std::string text = info_text(r);
    EXPECT_EQ(text.find_first_of("\033\r"), std::string::npos);
    EXPECT_TRUE(contains(text, "x?[2J"));
}

TEST(InfoText, LinesAreNotMuchLongerThanATerminal)
{
    InfoReport r = report();
    std::string lament = "it";
    for (unsigned i = 0; i < 100; ++i) {
        lament += " lacks this and that";
    }
    r.transports.front().lacks = {lament};
    const std::string text = info_text(r);
    std::size_t longest = 0;
    for (std::size_t at = 0, end = 0; end != std::string::npos; at = end + 1) {
        end = text.find('\n', at);
        longest = std::max(longest, (end == std::string::npos ? text.size() : end) - at);
    }
    EXPECT_LE(longest, 110u);
    EXPECT_GT(longest, 80u);
}

PathFinding path(const std::string& name, double fixed_ns, double per_byte_ns)
{
    model::PathCost cost;
    cost.latency = {fixed_ns, 0};
    cost.gap = {0, per_byte_ns};
    return predicted(name, cost);
}

TEST(Costs, AreLeftOutWhenThereAreNone)
{
    EXPECT_FALSE(contains(info_text(report()), "costs"));
    EXPECT_FALSE(nlohmann::json::parse(info_json(report())).contains("costs"));
}

TEST(Costs, ShowParametersTimesAndWhoIsCheapestWhere)
{
    InfoReport r = report();
    r.costs_from = "by the profile x";
    r.costs = {path("udp", 2000, 1), path("tcp", 9000, 0.5)};
    r.costs[1].points[0].measured_ns = 9500;
    const std::string text = info_text(r);
    EXPECT_TRUE(contains(text, "costs, by the profile x"));
    EXPECT_TRUE(contains(text, "L 2.00 + 0.000/KiB"));
    EXPECT_TRUE(contains(text, "9.50 us     predicted 9.00 us"));
    const auto j = nlohmann::json::parse(info_json(r));
    EXPECT_EQ(j["costs"]["paths"][1]["one_way"][0]["measured_ns"], 9500.0);
    EXPECT_TRUE(j["costs"]["paths"][0]["one_way"][0]["measured_ns"].is_null());
    EXPECT_EQ(j["costs"]["paths"][0]["g"]["per_byte_ns"], 1.0);
}

TEST(Costs, OneThatFailedIsToldAndNotCompared)
{
    InfoReport r = report();
    r.costs_from = "measured";
    PathFinding failed;
    failed.transport = "tcp";
    failed.error = "no way";
    r.costs = {failed, path("udp", 2000, 1)};
    EXPECT_TRUE(contains(info_text(r), "tcp   could not be measured: no way"));
    EXPECT_EQ(cheapest_paths(r.costs), std::vector<std::string>{"least time, all sizes: udp"});
    EXPECT_TRUE(cheapest_paths({failed}).empty());
}

TEST(Costs, OfProcessesThatHadNoCoreAreToldToBeSuch)
{
    constexpr const char* kRemark = "other programs took the cores";
    InfoReport r = report();
    r.costs_from = "measured";
    r.costs = {path("udp", 2000, 1)};
    for (CostPoint& p : r.costs[0].points) {
        p.measured_ns = 2000 + static_cast<double>(p.bytes);
    }
    EXPECT_FALSE(contains(info_text(r), kRemark));
    r.costs[0].points[0].measured_ns = 300'000;
    EXPECT_TRUE(contains(info_text(r), kRemark));
    EXPECT_TRUE(nlohmann::json::parse(info_json(r))["costs"]["paths"][0]["disturbed"]);
}

TEST(Transports, WithoutWhichNoJobStartsAreTold)
{
    InfoReport r = report();
    EXPECT_FALSE(contains(info_text(r), "a job does not start"));
    r.transports[0].stops_job = true;
    EXPECT_TRUE(contains(info_text(r), "a job does not start with these settings: it needs eth"));
}

TEST(CheapestPaths, AreRangesOfSizes)
{
    PathFinding quick = path("udp", 2000, 0);
    PathFinding wide = path("tcp", 9000, 0);
    for (CostPoint& p : quick.points) {
        p.measured_ns = 2000 + static_cast<double>(p.bytes);
    }
    for (CostPoint& p : wide.points) {
        p.measured_ns = 9000 + 0.5 * static_cast<double>(p.bytes);
    }
    EXPECT_EQ(cheapest_paths({quick, wide}), (std::vector<std::string>{"least time, up to 1 KiB: udp", "least time, from 16 KiB: tcp"}));
}

TEST(InfoJson, HoldsWhatTheTextDoes)
{
    const auto j = nlohmann::json::parse(info_json(report()));
    EXPECT_EQ(j["host"]["name"], "node7");
    EXPECT_EQ(j["transports"][0]["name"], "eth");
    EXPECT_FALSE(j["transports"][0]["usable"]);
    EXPECT_EQ(j["transports"][0]["prior"]["latency_us"], 1.5);
    EXPECT_EQ(j["interfaces"][0]["address"], "10.1.0.2");
    EXPECT_EQ(j["interfaces"][0]["rx_ring"], 256);
    EXPECT_TRUE(j["interfaces"][0]["rx_usecs"].is_null());
    EXPECT_FALSE(j.contains("peer"));
}

TEST(InfoJson, SurvivesTextThatIsNotUnicode)
{
    InfoReport r = report();
    r.facts.host = "a\xff" "b";
    EXPECT_TRUE(nlohmann::json::accept(info_json(r)));
}

}   // namespace
}   // namespace linnet::tools

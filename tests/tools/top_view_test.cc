// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What linnet-top makes of its samples: rates, history, table, JSON.
#include "top_view.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace linnet::tools {
namespace {

constexpr Nanos kSecond{1'000'000'000};

Sample sample(pid_t pid, Nanos updated, std::uint64_t tx_bytes, Nanos taken = {})
{
    Sample s;
    s.pid = pid;
    s.page = 1;
    s.taken = taken == Nanos{} ? updated : taken;
    s.view.whole = true;
    s.view.updated = updated;
    s.view.counters = {{"tx_bytes", tx_bytes}};
    return s;
}

TEST(Rate, IsTheDifferenceOverTheTimeBetweenUpdates)
{
    const Sample before = sample(1, 10 * kSecond, 1000);
    EXPECT_EQ(rate(sample(1, 12 * kSecond, 5000), &before, "tx_bytes"), 2000.0);
    EXPECT_EQ(rate(sample(1, 12 * kSecond, 1000), &before, "tx_bytes"), 0.0);
}

TEST(Rate, HasNothingToSayWithoutTwoDifferentUpdates)
{
    const Sample before = sample(1, 10 * kSecond, 1000);
    EXPECT_EQ(rate(before, nullptr, "tx_bytes"), std::nullopt);
    EXPECT_EQ(rate(sample(1, 10 * kSecond, 1000), &before, "tx_bytes"), std::nullopt);
    EXPECT_EQ(rate(sample(1, 9 * kSecond, 5000), &before, "tx_bytes"), std::nullopt);   // time went backwards
    EXPECT_EQ(rate(sample(1, 11 * kSecond, 999), &before, "tx_bytes"), std::nullopt);   // the counter did
}

TEST(Rate, DropsToZeroWhenThePageIsStale)
{
    const Sample before = sample(1, 10 * kSecond, 1000);
    EXPECT_EQ(rate(sample(1, 11 * kSecond, 2000, 14 * kSecond), &before, "tx_bytes"), 1000.0);
    EXPECT_EQ(rate(sample(1, 11 * kSecond, 2000, 15 * kSecond), &before, "tx_bytes"), 0.0);
}

TEST(History, ComparesWithTheLastDifferentUpdate)
{
    History history;
    const Sample first = sample(1, 1 * kSecond, 10), second = sample(1, 2 * kSecond, 30);
    history.add({first});
    EXPECT_EQ(history.before(first), nullptr);
    history.add({second});
    ASSERT_NE(history.before(second), nullptr);
    EXPECT_EQ(history.before(second)->view.updated, 1 * kSecond);
    history.add({second});   // looked again, nothing new
    ASSERT_NE(history.before(second), nullptr);
    EXPECT_EQ(history.before(second)->view.updated, 1 * kSecond);
}

TEST(History, ForgetsPagesThatAreGone)
{
    History history;
    history.add({sample(1, 1 * kSecond, 10)});
    history.add({});
    const Sample again = sample(1, 2 * kSecond, 20);
    history.add({again});
    EXPECT_EQ(history.before(again), nullptr);
}

TEST(ShortNumber, KeepsThreeDigits)
{
    EXPECT_EQ(short_number(0), "0");
    EXPECT_EQ(short_number(7), "7");
    EXPECT_EQ(short_number(0.25), "0.25");
    EXPECT_EQ(short_number(999), "999");
    EXPECT_EQ(short_number(1000), "1.00k");
    EXPECT_EQ(short_number(12345), "12.3k");
    EXPECT_EQ(short_number(999499), "999k");
    EXPECT_EQ(short_number(1.5e9), "1.50G");
    EXPECT_EQ(short_number(1.8446744073709552e19), "18.4E");
}

TEST(Table, MarksTotalsAndCutsAtTheScreen)
{
    History history;
    std::vector<Sample> now;
    for (pid_t pid = 1; pid <= 10; ++pid) {
        now.push_back(sample(pid, kSecond, 5000));
    }
    history.add(now);
    const std::string text = table(now, history, {});
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 11);
    EXPECT_NE(text.find(" =5.00k "), std::string::npos);
    const std::string cut = table(now, history, {false, false, 8});
    EXPECT_EQ(std::count(cut.begin(), cut.end(), '\n'), 7);   // heading, five processes, and the line that says how many more
    EXPECT_NE(cut.find("and 5 lines more"), std::string::npos);
}

TEST(Table, AbsurdValuesDoNotBreakALine)
{
    Sample s = sample(INT32_MAX, Nanos::max(), UINT64_MAX, Nanos{1});
    s.view.label = std::string(64, 'x');
    s.view.peers_total = UINT32_MAX;
    s.view.event_thread_state = 77;
    s.view.peers = {{UINT64_MAX, std::string(48, 'n'), std::string(16, 's'), std::string(16, 'v'), UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
                     Nanos::max()}};
    const std::string text = table({s}, History{}, {true, true, 0});
    EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 5);   // heading, process, counter, peer, "and more"
    EXPECT_NE(text.find("18446744073709551615"), std::string::npos);
}

TEST(Json, HoldsCountersRatesAndPeers)
{
    History history;
    history.add({sample(42, 1 * kSecond, 100)});
    Sample s = sample(42, 2 * kSecond, 300);
    s.view.label = "job \"7\"";
    s.view.peers = {{3, "10.0.0.1:4000", "connected", "tcp", 1, 2, 3, 4, Nanos{500'000'000}}};
    history.add({s});
    const auto document = nlohmann::json::parse(json({s}, history, Nanos{7}));
    EXPECT_EQ(document["time_ns"], 7);
    const auto& process = document["processes"].at(0);
    EXPECT_EQ(process["pid"], 42);
    EXPECT_EQ(process["label"], "job \"7\"");
    EXPECT_EQ(process["counters"]["tx_bytes"], 300);
    EXPECT_EQ(process["rates"]["tx_bytes"], 200.0);
    EXPECT_EQ(process["peers"].at(0)["via"], "tcp");
    EXPECT_EQ(process["peers"].at(0)["silent_s"], 0.5);
}

}   // namespace
}   // namespace linnet::tools

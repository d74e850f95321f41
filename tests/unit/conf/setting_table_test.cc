// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The table of settings: what users are promised about names and sentences. Order and defaults are checked by the compiler.
#include "conf/setting_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "conf/settings.h"

namespace linnet {
namespace {

TEST(SettingTable, NamesAreUniqueLowerCaseWords)
{
    std::set<std::string> names;
    for (const SettingInfo& row : kSettingTable) {
        const std::string name = row.name;
        EXPECT_TRUE(names.insert(name).second) << name << " twice";
        EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_"), std::string::npos) << name;
    }
}

TEST(SettingTable, TextsAreOneSentence)
{
    for (const SettingInfo& row : kSettingTable) {
        const std::string text = row.text;
        EXPECT_GT(text.size(), 20u) << row.name;
        EXPECT_EQ(text.back(), '.') << row.name;
        EXPECT_EQ(text.find(". "), std::string::npos) << row.name << ": two sentences";
    }
}

TEST(SettingTable, ChoicesStandExactlyWhereTheKindSaysSo)
{
    for (const SettingInfo& row : kSettingTable) {
        EXPECT_EQ(row.choices != nullptr, row.kind == SettingKind::kChoice) << row.name;
        const bool ranged = row.kind == SettingKind::kInteger || row.kind == SettingKind::kSize || row.kind == SettingKind::kDuration;
        EXPECT_EQ(row.min < row.max, ranged) << row.name;
    }
}

// The index of log_level is cast to LogLevel.
TEST(SettingTable, LogLevelsStandInTheOrderOfTheEnumeration)
{
    EXPECT_STREQ(setting_info(SettingId::kLogLevel).choices, "none|error|warn|info|debug|trace");
    EXPECT_EQ(Settings{}.log_level(), LogLevel::kWarn);
}

// An excluded real network is a job that does not start; a wanted one that is not excluded is a hang. Both lists are meant.
TEST(SettingTable, DefaultExclusionsSpareRealNetworks)
{
    const std::string list = "," + std::string{setting_info(SettingId::kNetExclude).default_text} + ",";
    for (const char* excluded : {"lo", "docker*", "virbr*", "cni*", "flannel*", "tun*"}) {
        EXPECT_NE(list.find("," + std::string{excluded} + ","), std::string::npos) << excluded;
    }
    for (const char* real : {",eth", ",en", ",bond", ",ib", ",br*", ",br0", ",veth", ",tap"}) {
        EXPECT_EQ(list.find(real), std::string::npos) << real;
    }
}

}   // namespace
}   // namespace linnet

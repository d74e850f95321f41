// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Parsing and formatting of setting values, kind by kind.
#include "conf/setting_parse.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace linnet {
namespace {

std::optional<std::int64_t> parse(SettingKind kind, std::string_view text, std::int64_t min = 0, std::int64_t max = INT64_MAX,
                                  const char* choices = nullptr)
{
    std::int64_t number = -77;
    if (parse_setting(kind, text, min, max, choices, number)) {
        return number;
    }
    EXPECT_EQ(number, -77) << "changed although refused";
    return std::nullopt;
}

TEST(ParseSetting, BoolTakesTheUsualWordsInEitherCase)
{
    for (const char* word : {"on", "yes", "true", "1", "On", "TRUE"}) {
        EXPECT_EQ(parse(SettingKind::kBool, word), 1) << word;
    }
    for (const char* word : {"off", "no", "false", "0", "OFF"}) {
        EXPECT_EQ(parse(SettingKind::kBool, word), 0) << word;
    }
    for (const char* word : {"", "2", "onn", "o", " on", "on "}) {
        EXPECT_EQ(parse(SettingKind::kBool, word), std::nullopt) << word;
    }
}

TEST(ParseSetting, IntegerRefusesSignsBlanksFractionsAndOverflow)
{
    EXPECT_EQ(parse(SettingKind::kInteger, "0"), 0);
    EXPECT_EQ(parse(SettingKind::kInteger, "0042"), 42);
    EXPECT_EQ(parse(SettingKind::kInteger, "9223372036854775807"), INT64_MAX);
    for (const char* word : {"", "-1", "+1", " 1", "1 ", "1.5", "9223372036854775808", "99999999999999999999", "1k"}) {
        EXPECT_EQ(parse(SettingKind::kInteger, word), std::nullopt) << word;
    }
}

TEST(ParseSetting, IntegerMayBeHexadecimal)
{
    EXPECT_EQ(parse(SettingKind::kInteger, "0x88B5"), 0x88b5);
    EXPECT_EQ(parse(SettingKind::kInteger, "0X88b5"), 0x88b5);
    EXPECT_EQ(parse(SettingKind::kInteger, "0x0"), 0);
    EXPECT_EQ(parse(SettingKind::kInteger, "0x7fffffffffffffff"), INT64_MAX);
    for (const char* word : {"0x", "x10", "0x 1", "0x1 ", "-0x1", "0x1g", "0x8000000000000000", "0x00x1", "88B5"}) {
        EXPECT_EQ(parse(SettingKind::kInteger, word), std::nullopt) << word;
    }
    EXPECT_EQ(parse(SettingKind::kInteger, "0x10", 0, 15), std::nullopt) << "out of range";
}

TEST(ParseSetting, SizeTakesBinarySuffixes)
{
    EXPECT_EQ(parse(SettingKind::kSize, "4096"), 4096);
    EXPECT_EQ(parse(SettingKind::kSize, "64k"), 65536);
    EXPECT_EQ(parse(SettingKind::kSize, "64K"), 65536);
    EXPECT_EQ(parse(SettingKind::kSize, "3m"), 3 << 20);
    EXPECT_EQ(parse(SettingKind::kSize, "2g"), std::int64_t{2} << 30);
    for (const char* word : {"", "k", "1kb", "1t", "1 k", "-1k", "8589934592g"}) {
        EXPECT_EQ(parse(SettingKind::kSize, word), std::nullopt) << word;
    }
}

TEST(ParseSetting, DurationNeedsAUnitUnlessItIsZero)
{
    EXPECT_EQ(parse(SettingKind::kDuration, "0"), 0);
    EXPECT_EQ(parse(SettingKind::kDuration, "7ns"), 7);
    EXPECT_EQ(parse(SettingKind::kDuration, "20us"), 20'000);
    EXPECT_EQ(parse(SettingKind::kDuration, "20ms"), 20'000'000);
    EXPECT_EQ(parse(SettingKind::kDuration, "30s"), 30'000'000'000);
    EXPECT_EQ(parse(SettingKind::kDuration, "10min"), 600'000'000'000);
    for (const char* word : {"30", "", "s", "1h", "1m", "0.5s", "9223372036s9", "9223372037s"}) {
        EXPECT_EQ(parse(SettingKind::kDuration, word), std::nullopt) << word;
    }
}

TEST(ParseSetting, ChoiceAnswersItsIndex)
{
    const char* const choices = "adaptive|spin|block";
    EXPECT_EQ(parse(SettingKind::kChoice, "adaptive", 0, 0, choices), 0);
    EXPECT_EQ(parse(SettingKind::kChoice, "Spin", 0, 0, choices), 1);
    EXPECT_EQ(parse(SettingKind::kChoice, "block", 0, 0, choices), 2);
    for (const char* word : {"", "bloc", "blocks", "adaptive|spin", "|"}) {
        EXPECT_EQ(parse(SettingKind::kChoice, word, 0, 0, choices), std::nullopt) << word;
    }
    EXPECT_EQ(parse(SettingKind::kChoice, "spin"), std::nullopt);   // no choices at all
    EXPECT_EQ(parse(SettingKind::kChoice, "1", 0, 0, choices), std::nullopt);
    for (const char* const word : {"on", "1", "yes", "true"}) {
        EXPECT_EQ(parse(SettingKind::kChoice, word, 0, 0, "auto|on|off"), 1) << word;
    }
    for (const char* const word : {"off", "0", "no", "false"}) {
        EXPECT_EQ(parse(SettingKind::kChoice, word, 0, 0, "auto|on|off"), 2) << word;
    }
}

TEST(ParseSetting, RangeIncludesItsEnds)
{
    EXPECT_EQ(parse(SettingKind::kInteger, "5", 5, 9), 5);
    EXPECT_EQ(parse(SettingKind::kInteger, "9", 5, 9), 9);
    EXPECT_EQ(parse(SettingKind::kInteger, "4", 5, 9), std::nullopt);
    EXPECT_EQ(parse(SettingKind::kInteger, "10", 5, 9), std::nullopt);
    EXPECT_EQ(parse(SettingKind::kSize, "1k", 0, 1023), std::nullopt);
}

TEST(ParseSetting, TextTakesAnything)
{
    EXPECT_EQ(parse(SettingKind::kText, ""), 0);
    EXPECT_EQ(parse(SettingKind::kText, "eth0, 10.0.0.0/8"), 0);
}

TEST(FormatSetting, ChoosesTheLargestUnitThatIsExact)
{
    EXPECT_EQ(format_setting(SettingKind::kSize, 65536, nullptr), "64k");
    EXPECT_EQ(format_setting(SettingKind::kSize, 65537, nullptr), "65537");
    EXPECT_EQ(format_setting(SettingKind::kSize, 0, nullptr), "0");
    EXPECT_EQ(format_setting(SettingKind::kDuration, 600'000'000'000, nullptr), "10min");
    EXPECT_EQ(format_setting(SettingKind::kDuration, 90'000'000'000, nullptr), "90s");
    EXPECT_EQ(format_setting(SettingKind::kDuration, 1'500'000, nullptr), "1500us");
    EXPECT_EQ(format_setting(SettingKind::kDuration, 0, nullptr), "0");
    EXPECT_EQ(format_setting(SettingKind::kBool, 1, nullptr), "on");
    EXPECT_EQ(format_setting(SettingKind::kInteger, 17, nullptr), "17");
    EXPECT_EQ(format_setting(SettingKind::kChoice, 2, "adaptive|spin|block"), "block");
}

TEST(FormatSetting, ParsesBackToTheSameNumber)
{
    for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1000}, std::int64_t{1024}, std::int64_t{60'000'000'000},
                                 std::int64_t{1} << 30, INT64_MAX}) {
        for (const SettingKind kind : {SettingKind::kInteger, SettingKind::kSize, SettingKind::kDuration}) {
            EXPECT_EQ(parse(kind, format_setting(kind, n, nullptr)), n) << format_setting(kind, n, nullptr);
        }
    }
}

TEST(DescribeRange, NamesEndsAndUnits)
{
    EXPECT_EQ(describe_range(SettingKind::kDuration, 100'000'000, 3'600'000'000'000, nullptr),
              "a duration from 100ms to 60min (with ns, us, ms, s or min)");
    EXPECT_EQ(describe_range(SettingKind::kSize, 0, 1 << 20, nullptr), "a size from 0 to 1m (in bytes, or with k, m or g)");
    EXPECT_EQ(describe_range(SettingKind::kInteger, 0, 65535, nullptr), "a number from 0 to 65535");
    EXPECT_EQ(describe_range(SettingKind::kBool, 0, 0, nullptr), "on or off");
    EXPECT_EQ(describe_range(SettingKind::kChoice, 0, 0, "adaptive|spin|block"), "one of adaptive, spin, block");
}

}   // namespace
}   // namespace linnet

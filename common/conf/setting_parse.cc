// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Settings: values back to text.
#include "conf/setting_parse.h"

namespace linnet {
namespace {

template <std::size_t N>
std::string format_quantity(std::int64_t number, const detail::SettingUnit (&units)[N])
{
    for (const detail::SettingUnit& unit : units) {
        if (number != 0 && number % unit.factor == 0) {
            return std::to_string(number / unit.factor).append(unit.text);
        }
    }
    return std::to_string(number);
}

std::string format_choice(std::int64_t index, std::string_view choices)
{
    for (; index > 0 && choices.find('|') != std::string_view::npos; --index) {
        choices.remove_prefix(choices.find('|') + 1);
    }
    return std::string{choices.substr(0, choices.find('|'))};
}

std::string alternatives(std::string_view choices)
{
    std::string words;
    for (const char c : choices) {
        words += c == '|' ? std::string{", "} : std::string(1, c);
    }
    return words;
}

}   // namespace

std::string format_setting(SettingKind kind, std::int64_t number, const char* choices)
{
    switch (kind) {
        case SettingKind::kBool: return number != 0 ? "on" : "off";
        case SettingKind::kInteger: return std::to_string(number);
        case SettingKind::kSize: return format_quantity(number, detail::kSizeUnits);
        case SettingKind::kDuration: return format_quantity(number, detail::kDurationUnits);
        case SettingKind::kChoice: return format_choice(number, choices == nullptr ? "" : choices);
        case SettingKind::kText: break;
    }
    return {};
}

std::string describe_range(SettingKind kind, std::int64_t min, std::int64_t max, const char* choices)
{
    const std::string range = " from " + format_setting(kind, min, choices) + " to " + format_setting(kind, max, choices);
    switch (kind) {
        case SettingKind::kBool: return "on or off";
        case SettingKind::kInteger: return "a number" + range;
        case SettingKind::kSize: return "a size" + range + " (in bytes, or with k, m or g)";
        case SettingKind::kDuration: return "a duration" + range + " (with ns, us, ms, s or min)";
        case SettingKind::kChoice: return "one of " + alternatives(choices == nullptr ? "" : choices);
        case SettingKind::kText: break;
    }
    return "any text";
}

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Settings: setting values, the environment, messages about wrong ones.
#include "conf/settings.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/assert.h"

extern "C" char** environ;   // POSIX; its header would bring system calls along

namespace linnet {
namespace {

constexpr std::string_view kPrefix = "LINNET_";
constexpr std::string_view kTestPrefix = "LINNET_TEST_";
constexpr std::string_view kLabPrefix = "LINNET_LAB_";   // tests/lab tells its programs where they are

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) noexcept { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

// Levenshtein distance: letters to insert, delete or replace.
std::size_t edits(std::string_view a, std::string_view b)
{
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, diagonal + 1, row[j] + 1});
        }
    }
    return row.back();
}

// How the user wrote the setting: as a variable, or by its name.
std::string as_written(std::string_view name, std::string_view text, SettingOrigin origin)
{
    std::string s = origin == SettingOrigin::kEnvironment ? setting_variable(name) : std::string{name};
    return s.append("=").append(text);
}

std::string suggestion(std::string_view name, SettingOrigin origin)
{
    const std::string_view near = nearest_setting(name);
    if (near.empty()) {
        return {};
    }
    const std::string shown = origin == SettingOrigin::kEnvironment ? setting_variable(near) : std::string{near};
    return "; did you mean " + shown + "?";
}

}   // namespace

Settings::Settings()
{
    for (const SettingInfo& row : kSettingTable) {
        Value& v = values_[static_cast<std::size_t>(row.id)];
        const bool good = parse_setting(row.kind, row.default_text, row.min, row.max, row.choices, v.number);
        LINNET_ASSERT(good);   // setting_table.h proves it at compile time
        static_cast<void>(good);
        if (row.kind == SettingKind::kText) {
            v.text = row.default_text;
        }
    }
}

Status Settings::set(std::string_view name, std::string_view text, std::string& error, SettingOrigin origin)
{
    const SettingInfo* row = find_setting(name);
    if (row == nullptr) {
        error = "unknown setting " + as_written(name, text, origin) + " (from the " + setting_origin_text(origin) + ")" +
                suggestion(name, origin);
        return Status::kNotFound;
    }
    return set(row->id, text, error, origin);
}

Status Settings::set(SettingId id, std::string_view text, std::string& error, SettingOrigin origin)
{
    const SettingInfo& row = setting_info(id);
    std::int64_t number = 0;
    if (!parse_setting(row.kind, text, row.min, row.max, row.choices, number)) {
        error = "setting " + as_written(row.name, text, origin) + " (from the " + setting_origin_text(origin) +
                ") is wrong: it must be " + describe_range(row.kind, row.min, row.max, row.choices);
        return Status::kInvalid;
    }
    Value& v = values_[static_cast<std::size_t>(id)];
    if (origin < v.origin) {
        return Status::kOk;   // checked, but somebody with more say has spoken
    }
    v.number = number;
    if (row.kind == SettingKind::kText) {
        v.text = text;
    }
    v.origin = origin;
    return Status::kOk;
}

Status Settings::load_environment(const char* const* variables, const Log& log, std::string& error)
{
    for (; variables != nullptr && *variables != nullptr; ++variables) {
        const std::string_view variable{*variables};
        const std::size_t equals = variable.find('=');
        if (!variable.starts_with(kPrefix) || variable.starts_with(kTestPrefix) || variable.starts_with(kLabPrefix) ||
            variable.starts_with("LINNET_LAB=") || equals == std::string_view::npos) {
            continue;
        }
        std::string name{variable.substr(kPrefix.size(), equals - kPrefix.size())};
        std::transform(name.begin(), name.end(), name.begin(), lower);
        const std::string_view text = variable.substr(equals + 1);
        const SettingInfo* row = find_setting(name);
        if (row == nullptr) {
            const std::string variable_name{variable.substr(0, equals)};
            LINNET_LOG(log, kWarn, "unknown variable %s ignored%s", variable_name.c_str(),
                       suggestion(name, SettingOrigin::kEnvironment).c_str());
            continue;
        }
        const Status s = set(row->id, text, error, SettingOrigin::kEnvironment);
        if (failed(s)) {
            return s;
        }
    }
    return Status::kOk;
}

Status Settings::load_environment(const Log& log, std::string& error) { return load_environment(environ, log, error); }

const std::string& Settings::text(SettingId id) const noexcept
{
    LINNET_ASSERT(setting_info(id).kind == SettingKind::kText);
    return value(id).text;
}

std::int64_t Settings::number(SettingId id, SettingKind kind) const noexcept
{
    LINNET_ASSERT(setting_info(id).kind == kind);
    static_cast<void>(kind);
    return value(id).number;
}

std::string Settings::value_text(SettingId id) const
{
    const SettingInfo& row = setting_info(id);
    return row.kind == SettingKind::kText ? value(id).text : format_setting(row.kind, value(id).number, row.choices);
}

Result<PortRange> port_range(const Settings& settings, SettingId lowest, SettingId highest, unsigned given, const Log& log, const char* who)
{
    constexpr unsigned kHighestPort = 65535;
    const auto low = static_cast<unsigned>(settings.integer(lowest));
    const auto high = static_cast<unsigned>(settings.integer(highest));
    if (high != 0 && (low == 0 || low > high)) {
        const char* const low_name = setting_info(lowest).name;
        const char* const high_name = setting_info(highest).name;
        LINNET_LOG(log, kError,
                   "%s: settings %s=%u and %s=%u are wrong together: the ports are those from %s, which must be given and not be the higher one, to %s", who,
                   low_name, low, high_name, high, low_name, high_name);
        return Status::kInvalid;
    }
    return given != 0 ? PortRange{given, given} : PortRange{low, low != 0 && high == 0 ? kHighestPort : high};
}

std::string setting_variable(std::string_view name)
{
    std::string variable{kPrefix};
    for (const char c : name) {
        variable += upper(c);
    }
    return variable;
}

const SettingInfo* find_setting(std::string_view name) noexcept
{
    const auto row = std::find_if(kSettingTable.begin(), kSettingTable.end(), [name](const SettingInfo& r) { return name == r.name; });
    return row == kSettingTable.end() ? nullptr : &*row;
}

std::string_view nearest_setting(std::string_view name)
{
    std::string_view nearest;
    std::size_t fewest = name.size() / 3 + 1;
    for (const SettingInfo& row : kSettingTable) {
        const std::size_t n = edits(name, row.name);
        if (n < fewest) {
            fewest = n;
            nearest = row.name;
        }
    }
    return nearest;
}

}   // namespace linnet

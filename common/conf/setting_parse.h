// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Text to value and back, for each kind of setting.
//
// Pure functions, usable at compile time; any thread. Parsing refuses what it does not understand entirely: no sign, no fraction,
// no blank, no overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace linnet {

enum class SettingKind : std::uint8_t { kBool = 0, kInteger = 1, kSize = 2, kDuration = 3, kChoice = 4, kText = 5 };

namespace detail {

struct SettingUnit {
    std::string_view text;
    std::int64_t factor;
};
inline constexpr SettingUnit kSizeUnits[] = {{"g", 1 << 30}, {"m", 1 << 20}, {"k", 1 << 10}};
inline constexpr SettingUnit kDurationUnits[] = {
    {"min", 60'000'000'000}, {"s", 1'000'000'000}, {"ms", 1'000'000}, {"us", 1'000}, {"ns", 1}};

constexpr bool same_word(std::string_view a, std::string_view b) noexcept   // ASCII, either case
{
    if (a.size() != b.size()) {
        return false;
    }
    for (std::size_t i = 0; i < a.size(); ++i) {
        const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
        if (lower(a[i]) != lower(b[i])) {
            return false;
        }
    }
    return true;
}

// Digits from the front of `text`, which is cut down to what follows them. Nothing on no digit or overflow.
constexpr std::optional<std::int64_t> take_digits(std::string_view& text) noexcept
{
    std::int64_t value = 0;
    std::size_t n = 0;
    for (; n < text.size() && text[n] >= '0' && text[n] <= '9'; ++n) {
        const std::int64_t digit = text[n] - '0';
        if (value > (INT64_MAX - digit) / 10) {
            return std::nullopt;
        }
        value = value * 10 + digit;
    }
    if (n == 0) {
        return std::nullopt;
    }
    text.remove_prefix(n);
    return value;
}

// Decimal, or hexadecimal behind 0x, as people write the number of a protocol.
constexpr std::optional<std::int64_t> parse_integer(std::string_view text) noexcept
{
    if (text.size() < 3 || !same_word(text.substr(0, 2), "0x")) {
        const auto number = take_digits(text);
        return text.empty() ? number : std::nullopt;
    }
    std::int64_t value = 0;
    for (const char c : text.substr(2)) {
        const std::size_t digit = std::string_view{"0123456789abcdef"}.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
        if (digit == std::string_view::npos || value > INT64_MAX >> 4) {
            return std::nullopt;
        }
        value = value << 4 | static_cast<std::int64_t>(digit);
    }
    return value;
}

constexpr std::optional<std::int64_t> parse_bool(std::string_view text) noexcept
{
    for (const std::string_view word : {"on", "yes", "true", "1"}) {
        if (same_word(text, word)) {
            return 1;
        }
    }
    for (const std::string_view word : {"off", "no", "false", "0"}) {
        if (same_word(text, word)) {
            return 0;
        }
    }
    return std::nullopt;
}

// A number with one of `units`; without a unit when `bare` allows it, or when it is 0.
template <std::size_t N>
constexpr std::optional<std::int64_t> parse_quantity(std::string_view text, const SettingUnit (&units)[N], bool bare) noexcept
{
    const auto number = take_digits(text);
    if (!number) {
        return std::nullopt;
    }
    if (text.empty()) {
        return bare || *number == 0 ? number : std::nullopt;
    }
    for (const SettingUnit& unit : units) {
        if (same_word(text, unit.text)) {
            return *number <= INT64_MAX / unit.factor ? std::optional{*number * unit.factor} : std::nullopt;
        }
    }
    return std::nullopt;
}

constexpr std::optional<std::int64_t> parse_word(std::string_view text, std::string_view choices) noexcept
{
    for (std::int64_t index = 0;; ++index) {
        const std::size_t bar = choices.find('|');
        if (same_word(text, choices.substr(0, bar))) {
            return index;
        }
        if (bar == std::string_view::npos) {
            return std::nullopt;
        }
        choices.remove_prefix(bar + 1);
    }
}

// A choice of "on" and "off" is also made by the other words for these.
constexpr std::optional<std::int64_t> parse_choice(std::string_view text, std::string_view choices) noexcept
{
    const std::optional<std::int64_t> word = parse_word(text, choices);
    const std::optional<std::int64_t> truth = word ? std::nullopt : parse_bool(text);
    return truth ? parse_word(*truth != 0 ? "on" : "off", choices) : word;
}

}   // namespace detail

// The number that stands for `text`: 0 or 1, units, bytes, nanoseconds, the index of the choice; 0 for kText, which takes anything.
// False, with `number` unchanged: not of that kind, or outside min..max (which bound integers, sizes and durations).
constexpr bool parse_setting(SettingKind kind, std::string_view text, std::int64_t min, std::int64_t max, const char* choices,
                             std::int64_t& number) noexcept
{
    std::optional<std::int64_t> value;
    bool ranged = true;
    switch (kind) {
        case SettingKind::kBool: value = detail::parse_bool(text); ranged = false; break;
        case SettingKind::kInteger: value = detail::parse_integer(text); break;
        case SettingKind::kSize: value = detail::parse_quantity(text, detail::kSizeUnits, true); break;
        case SettingKind::kDuration: value = detail::parse_quantity(text, detail::kDurationUnits, false); break;
        case SettingKind::kChoice: value = choices == nullptr ? std::nullopt : detail::parse_choice(text, choices); ranged = false; break;
        case SettingKind::kText: value = 0; ranged = false; break;
    }
    if (!value || (ranged && (*value < min || *value > max))) {
        return false;
    }
    number = *value;
    return true;
}

// The shortest text that parses to `number` again: "64k", "30s", "on". kText has no number: empty.
[[nodiscard]] std::string format_setting(SettingKind kind, std::int64_t number, const char* choices);

// What a user may write: "a duration from 100ms to 60min (ns, us, ms, s or min)".
[[nodiscard]] std::string describe_range(SettingKind kind, std::int64_t min, std::int64_t max, const char* choices);

}   // namespace linnet

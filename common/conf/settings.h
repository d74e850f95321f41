// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Settings: the values of one context. The environment is read here and nowhere else.
//
// Owner: the context; each has its own. Threads: filled by one before the context starts any other, then read by all. Blocking:
// never. Failure: a wrong value changes nothing and is explained in `error`, which the caller logs once.
//
// A host's value (an MCA parameter, an argument of linnet_context_open) overrides the environment, which overrides the default,
// in whichever order they are given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"
#include "conf/setting_table.h"

namespace linnet {

enum class SettingOrigin : std::uint8_t { kDefault = 0, kEnvironment = 1, kHost = 2 };
[[nodiscard]] constexpr const char* setting_origin_text(SettingOrigin origin) noexcept
{
    switch (origin) {
        case SettingOrigin::kDefault: return "default";
        case SettingOrigin::kEnvironment: return "environment";
        case SettingOrigin::kHost: return "parameters of MPI or libfabric";
    }
    return "unknown";
}

class Settings {
public:
    Settings();

    // kNotFound: no such setting; `error` suggests the nearest name. kInvalid: `error` names setting, value, range and origin.
    Status set(std::string_view name, std::string_view text, std::string& error, SettingOrigin origin = SettingOrigin::kHost);
    Status set(SettingId id, std::string_view text, std::string& error, SettingOrigin origin = SettingOrigin::kHost);

    // Takes every LINNET_<UPPER NAME>. An unknown LINNET_ variable is only warned of, with the nearest known name, since another
    // version may know it; LINNET_TEST_* belongs to the tests. Stops at the first wrong value. `variables` is laid out as environ;
    // the second form reads environ itself.
    Status load_environment(const char* const* variables, const Log& log, std::string& error);
    Status load_environment(const Log& log, std::string& error);

    // Typed access. Asking for a setting by another kind than the table's is our own mistake (LINNET_ASSERT).
    [[nodiscard]] bool boolean(SettingId id) const noexcept { return number(id, SettingKind::kBool) != 0; }
    [[nodiscard]] std::int64_t integer(SettingId id) const noexcept { return number(id, SettingKind::kInteger); }
    [[nodiscard]] std::size_t size(SettingId id) const noexcept { return static_cast<std::size_t>(number(id, SettingKind::kSize)); }
    [[nodiscard]] Nanos duration(SettingId id) const noexcept { return Nanos{number(id, SettingKind::kDuration)}; }
    [[nodiscard]] std::size_t choice(SettingId id) const noexcept { return static_cast<std::size_t>(number(id, SettingKind::kChoice)); }
    // Lives until the setting is set again.
    [[nodiscard]] const std::string& text(SettingId id) const noexcept;

    // `transports` names none: auto, or nothing.
    [[nodiscard]] bool automatic_transports() const noexcept { return is_automatic(text(SettingId::kTransports)); }
    [[nodiscard]] static bool is_automatic(std::string_view transports) noexcept { return transports.empty() || transports == "auto"; }

    [[nodiscard]] LogLevel log_level() const noexcept { return static_cast<LogLevel>(choice(SettingId::kLogLevel)); }

    // The value as a user would write it, whatever its kind.
    [[nodiscard]] std::string value_text(SettingId id) const;
    [[nodiscard]] SettingOrigin origin(SettingId id) const noexcept { return value(id).origin; }

private:
    struct Value {
        std::int64_t number{0};
        std::string text;   // kText only
        SettingOrigin origin{SettingOrigin::kDefault};
    };
    [[nodiscard]] const Value& value(SettingId id) const noexcept { return values_[static_cast<std::size_t>(id)]; }
    [[nodiscard]] std::int64_t number(SettingId id, SettingKind kind) const noexcept;

    std::array<Value, kSettingCount> values_;
};

struct PortRange {
    unsigned low{0}, high{0};
};
// The ports from one setting to another, or `given` alone if that is not 0; both 0: any. kInvalid: the two contradict each other, which was logged for the
// transport `who`.
[[nodiscard]] Result<PortRange> port_range(const Settings& settings, SettingId lowest, SettingId highest, unsigned given, const Log& log, const char* who);

// "LINNET_CONNECT_TIMEOUT" for "connect_timeout".
[[nodiscard]] std::string setting_variable(std::string_view name);

// The row called `name`, or null.
[[nodiscard]] const SettingInfo* find_setting(std::string_view name) noexcept;

// The known name with the fewest edits from `name`; empty when none is near (more than a third of its letters differ).
[[nodiscard]] std::string_view nearest_setting(std::string_view name);

}   // namespace linnet

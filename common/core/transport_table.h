// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The transports that this build has: the one place that names them.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/log.h"
#include "conf/settings.h"
#include "copy/copy_engine.h"
#include "stats/counters.h"
#include "transport/transport.h"

namespace linnet::core {

struct TransportEnv {
    const Settings& settings;
    const Clock& clock;
    Log& log;
    Stats& stats;
    CopyEngine& copy;   // for long messages
};

struct TransportRow {
    const char* name;   // in the setting transports
    // In "auto", kIfItOpens: without it when it cannot be opened. kBehind: likewise, and tried behind the others, since its reach is a guess that takes
    // seconds to prove wrong: the lane to a peer opens where it surely arrives, and moves here if that pays. kBehindAtTheirPort: likewise, opened after them.
    enum class Automatic : std::uint8_t { kYes, kIfItOpens, kBehind, kBehindAtTheirPort } automatic;
    [[nodiscard]] bool behind() const noexcept { return automatic >= Automatic::kBehind; }
    std::unique_ptr<Transport> (*make)(const TransportEnv&);
};

// In order of preference.
[[nodiscard]] std::span<const TransportRow> transport_table() noexcept;

// Is this one chosen by the value of the setting transports ("auto", or a comma list)? A process always reaches itself: loopback is, in any case.
[[nodiscard]] bool transport_chosen(std::string_view setting, const TransportRow& row) noexcept;

// What is wrong with such a value: its first word that names no transport. Empty: nothing.
[[nodiscard]] std::string wrong_transport(std::string_view setting);

}   // namespace linnet::core

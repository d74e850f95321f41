// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What paths are expected to cost, from the file that the setting path_profile names.
//
// Threads: any. Blocking: reads the file, netlink and /sys. Failure: a file that cannot be used is a warning, and nothing is expected.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "conf/settings.h"
#include "model/cost.h"
#include "model/profile.h"
#include "sys/net_interfaces.h"

namespace linnet::core {

// Under which a profile has the costs of a transport over an interface of this host; null: it needs none.
[[nodiscard]] model::PathKey path_key(std::string_view transport, const NetInterface* interface);

// By name of the transport, the time of a transfer: from the grant of its receiver until the sender hears that all of it arrived.
[[nodiscard]] std::vector<std::pair<std::string, model::Line>> expected_costs(const Settings& settings, const Log& log);

}   // namespace linnet::core

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What would make this host carry messages better: a pure function of what is known about it.
#pragma once

#include <string>
#include <vector>

#include "conf/settings.h"
#include "host_facts.h"
#include "sys/net_interfaces.h"

namespace linnet::tools {

struct Advice {
    std::string about;     // "net.core.rmem_max", "eth0"
    std::string now;       // the value in force
    std::string change;    // a command, or what to do
    std::string why;
};

// Only about interfaces that are used (by `addresses`), and only what there is a reason for: an empty list is the rule on a host that is set up well.
[[nodiscard]] std::vector<Advice> advise(const HostFacts& facts, const std::vector<AddressVerdict>& addresses, const Settings& settings);

}   // namespace linnet::tools

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What linnet-info shows: a report, as text and as JSON. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "advice.h"
#include "host_facts.h"
#include "measure.h"
#include "transport_check.h"

namespace linnet::tools {

// Messages of these sizes go this way.
struct SizeRange {
    std::uint64_t from{0};
    std::uint64_t to{0};     // inclusive; UINT64_MAX: no end
    std::string way;
};
[[nodiscard]] std::vector<SizeRange> size_ranges(const Settings& settings);

struct InfoReport {
    HostFacts facts;
    std::string transports_setting;
    std::vector<TransportFinding> transports;
    std::vector<AddressVerdict> addresses;
    std::vector<SizeRange> sizes;
    std::vector<Advice> advice;
    std::optional<PeerFinding> peer;
    std::string costs_from;            // "measured between ...", "by the profile ..."; empty: there are none
    std::vector<PathFinding> costs;
};

[[nodiscard]] std::string info_text(const InfoReport& report);
// One document, indented.
[[nodiscard]] std::string info_json(const InfoReport& report);

// Of the paths whose times are there, the one that takes least for each size: ranges of sizes, in words.
[[nodiscard]] std::vector<std::string> cheapest_paths(const std::vector<PathFinding>& costs);

// "64 KiB", "100 B": exact, so no unit that would need a fraction.
[[nodiscard]] std::string size_text(std::uint64_t bytes);

}   // namespace linnet::tools

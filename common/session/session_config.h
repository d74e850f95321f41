// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionConfig: what SessionLayer is told once, at its start.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ready_ref.h"
#include "model/cost.h"
#include "model/lane_choice.h"
#include "model/path_choice.h"
#include "stats/trace.h"

namespace linnet::session {

struct SessionConfig {
    Nanos connect_timeout{std::chrono::seconds{30}};
    Nanos peer_timeout{std::chrono::seconds{10}};       // silence that is worth a warning
    Nanos silence_timeout{std::chrono::minutes{10}};    // silence that is death; 0: never
    bool allow_by_address{true};
    std::uint32_t first_number{1};                      // of the first message, the same for all; tests start near the wrap
    std::uint32_t told_rank{0};                         // of this process in its job, plus one: peers name it so to people; 0: they are not told
    bool choose_paths{false};                           // links go where messages and transfers take the least time; else to the first transport
    model::PathChoice::Config path_choice;
    model::LaneChoice::Config lane_choice;
    std::vector<std::pair<std::string, model::Line>> expected;   // of a transfer, by name of the transport; without: what its caps say
    Nanos call_cost{0};                                 // of a system call, here; zero: a usual one
    Trace* trace{nullptr};                              // null: trace_events=0
    AskRef<Nanos> core_wait;                            // for a core that was given away, here; the peer that is to answer is presumed to wait as long
};

}   // namespace linnet::session

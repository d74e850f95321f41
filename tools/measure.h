// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Measuring the parameters of a transport between two processes, of this host or of two, the way an application sees it: through linnet.h.
//
// Threads: one; measure_transport() forks, so no other may exist. Blocking: some seconds for each transport, more where the network is slow; serve_peers() for
// ever. Failure: `error` says what did not work.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/cost.h"
#include "sys/inet_address.h"

namespace linnet::tools {

// One way, for a message of this size.
struct CostPoint {
    std::uint64_t bytes{0};
    double measured_ns{0};    // 0: was not
    double predicted_ns{0};   // by the parameters
};

struct PathFinding {
    std::string transport;
    std::string error;             // empty: what follows is valid
    model::PathCost cost;
    std::vector<CostPoint> points;
};

// The sizes of CostPoint.
inline constexpr std::uint64_t kCostSizes[] = {8, 1024, 16 * 1024, 64 * 1024, 1024 * 1024, 4 * 1024 * 1024};

// Over interface lo; a job between hosts has the wire and its cards on top.
[[nodiscard]] PathFinding measure_transport(const std::string& name);

// ---- between hosts ----
// One process serves, the other measures towards it. For each transport they meet over a TCP connection, where they tell each other their endpoint names, with
// the secrets in them and in the clear; what comes over it is checked, and who says nothing for some seconds is left.
inline constexpr std::uint16_t kServePort = 27180;
// By the settings of the environment on either side. The address has the port.
[[nodiscard]] PathFinding measure_towards(const std::string& name, const InetAddress& server);
// Answers all that come, one after the other. Returns only when it cannot: why. `say` is told when it can be called, and who has come.
[[nodiscard]] std::string serve_peers(std::uint16_t port, const std::function<void(const std::string&)>& say);

// What a profile says, without measuring.
[[nodiscard]] PathFinding predicted(const std::string& name, const model::PathCost& cost);

}   // namespace linnet::tools

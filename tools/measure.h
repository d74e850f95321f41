// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Measuring the parameters of a transport between two processes of this host, the way an application sees it: through linnet.h.
//
// Threads: one, and no other may exist, since it forks. Blocking: some seconds at most for each transport. Failure: `error` says what did not work.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/cost.h"

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
// What a profile says, without measuring.
[[nodiscard]] PathFinding predicted(const std::string& name, const model::PathCost& cost);

}   // namespace linnet::tools

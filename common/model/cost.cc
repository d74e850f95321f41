// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Prediction and linear fit.
#include "model/cost.h"

#include <algorithm>
#include <cmath>

namespace linnet::model {

double one_way_ns(const PathCost& cost, std::uint64_t bytes, std::size_t packet_bytes) noexcept
{
    const std::uint64_t packets = bytes == 0 ? 1 : (bytes + packet_bytes - 1) / packet_bytes;
    const double p = static_cast<double>(bytes) / static_cast<double>(packets);   // they are about equal, and the terms are linear
    const double k = static_cast<double>(packets);
    const double at_receiver = cost.receive.at(p) + cost.pick_up.at(p);
    if (cost.send.at(p) + at_receiver < cost.gap.at(p)) {
        return cost.send.at(p) + (k - 1) * cost.gap.at(p) + cost.latency.at(p) + at_receiver;
    }
    return cost.send.at(p) + cost.latency.at(p) + k * at_receiver;
}

// Weights 1 / ns^2 make the squared errors relative.
std::optional<Line> fit_line(std::span<const Point> points) noexcept
{
    double w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    bool different = false;
    for (const Point& p : points) {
        const double weight = 1 / (p.ns * p.ns);
        w += weight;
        wx += weight * p.bytes;
        wy += weight * p.ns;
        wxx += weight * p.bytes * p.bytes;
        wxy += weight * p.bytes * p.ns;
        different = different || p.bytes != points.front().bytes;
    }
    if (!different) {
        return std::nullopt;
    }
    const double slope = (w * wxy - wx * wy) / (w * wxx - wx * wx);   // the denominator is the variance of the sizes
    const double fixed = (wy - slope * wx) / w;
    if (slope < 0) {
        return Line{wy / w, 0};
    }
    if (fixed < 0) {
        return Line{0, wxy / wxx};
    }
    return Line{fixed, slope};
}

Line line_through(const Point& point, const Line& expected) noexcept
{
    if (point.bytes <= 0) {
        return {point.ns, expected.per_byte_ns};
    }
    const double fixed = std::min(expected.fixed_ns, point.ns);
    return {fixed, (point.ns - fixed) / point.bytes};
}

double worst_error(const Line& line, std::span<const Point> points) noexcept
{
    double worst = 0;
    for (const Point& p : points) {
        worst = std::max(worst, std::abs(line.at(p.bytes) - p.ns) / p.ns);
    }
    return worst;
}

}   // namespace linnet::model

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The communication cost model of Directed Point: parameters of a path, and the time that they predict.
//
// Values and pure functions. Threads: any. Blocking: never. See docs/model.md section 1.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace linnet::model {

// Nanoseconds as a line in a size.
struct Line {
    double fixed_ns{0};
    double per_byte_ns{0};
    [[nodiscard]] constexpr double at(double bytes) const noexcept { return fixed_ns + per_byte_ns * bytes; }
    friend constexpr Line operator+(const Line& a, const Line& b) noexcept { return {a.fixed_ns + b.fixed_ns, a.per_byte_ns + b.per_byte_ns}; }
    friend constexpr bool operator==(const Line&, const Line&) = default;
};

// The longest packet that the lines of a PathCost are about, unless its owner says otherwise.
inline constexpr std::size_t kPacketBytes = 64 * 1024;

// Each line in the bytes of a packet.
struct PathCost {
    Line send;          // O_s
    Line gap;           // g
    Line latency;       // L
    Line receive;       // O_r
    Line pick_up;       // U_r
    double capacity{0}; // B_L, packets; 0: not known
    friend constexpr bool operator==(const PathCost&, const PathCost&) = default;
};

// The time from the call that sends `bytes` until the receiver has all of them, in packets of at most `packet_bytes` (at least 1). No bytes are one packet.
[[nodiscard]] double one_way_ns(const PathCost& cost, std::uint64_t bytes, std::size_t packet_bytes) noexcept;

// A measurement: `bytes` took `ns`, more than 0.
struct Point {
    double bytes{0};
    double ns{0};
};
// The line with the least squares of relative errors, both terms at least 0. Nothing without points of two different sizes.
[[nodiscard]] std::optional<Line> fit_line(std::span<const Point> points) noexcept;
// The one through a single point that keeps the fixed part of `expected`, as far as it can.
[[nodiscard]] Line line_through(const Point& point, const Line& expected) noexcept;
// The largest error of the line at the points, relative to them; 0 without points.
[[nodiscard]] double worst_error(const Line& line, std::span<const Point> points) noexcept;

}   // namespace linnet::model

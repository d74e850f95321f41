// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Samples bodies.
#include "model/samples.h"

#include <algorithm>
#include <bit>

namespace linnet::model {

namespace {
constexpr unsigned kFirstOctave = 9;

unsigned class_of(std::uint64_t bytes) noexcept
{
    const auto octave = static_cast<unsigned>(std::bit_width(bytes));
    return std::min(octave <= kFirstOctave ? 0 : octave - kFirstOctave, Samples::kClasses - 1);
}

// Within an octave sizes differ by two: what counts is the least time for what was carried.
bool less(float ns, float bytes, float than_ns, float than_bytes) noexcept { return than_ns == 0 || ns * (than_bytes + 1) < than_ns * (bytes + 1); }
}   // namespace

void Samples::slide(TimePoint now) noexcept
{
    if (now - began_ < kWindow) {
        return;
    }
    window_[1] = now - began_ < 2 * kWindow ? window_[0] : Window{};
    window_[0] = {};
    began_ = now;
}

void Samples::add(std::uint64_t bytes, Nanos took, TimePoint now) noexcept
{
    slide(now);
    const auto ns = static_cast<float>(std::max<std::int64_t>(took.count(), 1));
    Least& least = window_[0][class_of(bytes)];
    if (less(ns, static_cast<float>(bytes), least.ns, least.bytes)) {
        least = {static_cast<float>(bytes), ns};
    }
}

bool Samples::empty() const noexcept
{
    const auto nothing = [](const Window& w) { return std::all_of(w.begin(), w.end(), [](const Least& l) { return l.ns == 0; }); };
    return std::all_of(window_.begin(), window_.end(), nothing);
}

std::optional<Line> Samples::line(const Line& expected) const noexcept
{
    std::array<Point, kClasses> points;
    std::size_t count = 0;
    for (unsigned c = 0; c < kClasses; ++c) {
        const Least& a = window_[0][c];
        const Least& b = window_[1][c];
        const Least& least = a.ns != 0 && less(a.ns, a.bytes, b.ns, b.bytes) ? a : b;
        if (least.ns != 0) {
            points[count++] = {least.bytes, least.ns};
        }
    }
    if (count == 0) {
        return std::nullopt;
    }
    const auto fitted = fit_line({points.data(), count});
    return fitted ? *fitted : line_through(points[0], expected);
}

}   // namespace linnet::model

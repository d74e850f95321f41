// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What linnet-top shows: samples, rates, table and JSON.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "page_finder.h"

namespace linnet::tools {

// One page at one time.
struct Sample {
    pid_t pid{0};
    ino_t page{0};
    Nanos taken{};   // since 1970
    StatsPageView view;
};

// What a counter did per second between two different updates of the same page, by the times that the page itself names. 0 when the last
// update is older than kStale: a process that writes nothing for so long does nothing. Nothing when there is no earlier update to compare
// with, or when a counter went backwards.
inline constexpr Nanos kStale{3'000'000'000};
[[nodiscard]] std::optional<double> rate(const Sample& now, const Sample* before, const char* counter);

// Remembers, for each page, the last two updates that differ.
class History {
public:
    // Takes the samples of one look; pages that are not among them are forgotten.
    void add(const std::vector<Sample>& now);
    // The update before the last one of the same page, or null.
    [[nodiscard]] const Sample* before(const Sample& now) const noexcept;

private:
    struct Pair {
        Sample last;
        std::optional<Sample> before;
    };
    std::vector<Pair> pages_;
};

struct TableOptions {
    bool peers{false};        // a line for each peer
    bool counters{false};     // a line for each counter that is not zero
    std::size_t lines{0};     // of the terminal; 0: no limit
};

// A table with a heading, one line per process. Where there is no rate yet a total stands instead, marked with '='.
[[nodiscard]] std::string table(const std::vector<Sample>& now, const History& history, const TableOptions& options);

// One JSON document in one line.
[[nodiscard]] std::string json(const std::vector<Sample>& now, const History& history, Nanos wall_now);

// "1.5M": three digits and a unit of a thousand.
[[nodiscard]] std::string short_number(double value);

}   // namespace linnet::tools

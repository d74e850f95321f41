// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The window of arrivals: what comes and what does not, by hand.
#include "flow/arrival_window.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace linnet::flow {
namespace {

// A way that holds `holds` frames: of a window sent at once the rest is lost. Returns what was lost of all that was sent.
double windows(ArrivalWindow& w, std::uint32_t holds, unsigned count)
{
    std::uint32_t sent = 0;
    std::uint32_t lost = 0;
    for (unsigned i = 0; i < count; ++i) {
        const std::uint32_t size = w.size();
        const std::uint32_t came = std::min(size, holds);
        for (std::uint32_t f = 0; f < came; ++f) {
            static_cast<void>(w.arrived(1, f + 1 == came ? size - came : 0, size));
        }
        sent += size;
        lost += size - came;
    }
    return static_cast<double>(lost) / sent;
}

TEST(ArrivalWindow, DoublesWithEachWindowThatComesWhole)
{
    ArrivalWindow w;
    EXPECT_EQ(windows(w, 100'000, 3), 0);
    EXPECT_EQ(w.size(), 8 * ArrivalWindow::kFirst);
    windows(w, 10'000'000, 20);
    EXPECT_EQ(w.size(), ArrivalWindow::kMost);
}

TEST(ArrivalWindow, GrowsOnlyWhileItIsUsed)
{
    ArrivalWindow w;
    for (int i = 0; i < 10'000; ++i) {
        EXPECT_FALSE(w.arrived(1, 0, 64));
    }
    EXPECT_EQ(w.size(), ArrivalWindow::kFirst);
}

TEST(ArrivalWindow, BecomesWhatTheWayHoldsWithinOneWindow)
{
    ArrivalWindow w;
    windows(w, 100'000, 4);
    windows(w, 80, 1);
    EXPECT_LE(w.size(), 84u);
    EXPECT_GE(w.size(), 76u);
}

TEST(ArrivalWindow, StaysNearWhatTheWayHolds)
{
    ArrivalWindow w;
    windows(w, 80, 10);
    std::uint32_t least = w.size();
    std::uint32_t most = w.size();
    double lost = 0;
    for (int i = 0; i < 1000; ++i) {
        lost += windows(w, 80, 1);
        least = std::min(least, w.size());
        most = std::max(most, w.size());
    }
    EXPECT_LE(lost, 1000 * 0.012);
    EXPECT_GE(least, 56u);   // seven tenths: the share of a queue that CUBIC keeps
    EXPECT_LE(most, 90u);
}

TEST(ArrivalWindow, LeavesRoomForOthersWhenTheWayOverflows)
{
    ArrivalWindow w;
    windows(w, 80, 10);
    while (w.size() <= 80) {
        EXPECT_EQ(windows(w, 80, 1), 0);
    }
    EXPECT_GT(windows(w, 80, 1), 0);
    EXPECT_LE(w.size(), 60u);
}

TEST(ArrivalWindow, NeverFallsBelowItsLeast)
{
    ArrivalWindow w;
    windows(w, 1, 100);
    EXPECT_GE(w.size(), ArrivalWindow::kLeast);
    EXPECT_LE(w.size(), ArrivalWindow::kLeast + 8);
}

TEST(ArrivalWindow, TakesLossOfOneInAHundredForTheNetworksOwn)
{
    ArrivalWindow w;
    windows(w, 100'000, 4);
    const std::uint32_t before = w.size();
    for (int i = 0; i < 100'000; ++i) {
        static_cast<void>(w.arrived(1, i % 100 == 0 ? 1 : 0, w.size()));
    }
    EXPECT_GE(w.size(), before);
}

TEST(ArrivalWindow, ComesBackWhenTheWayHoldsMoreAgain)
{
    ArrivalWindow w;
    windows(w, 80, 10);
    windows(w, 100'000, 200);
    EXPECT_GE(w.size(), 800u);
}

}   // namespace
}   // namespace linnet::flow

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EventThreadState: a word of the engine's, and of the statistics page. Who changes it when: docs/threading.md.
#pragma once

#include <cstdint>

namespace linnet {

// What the event thread does now.
enum class EventThreadState : std::uint32_t {
    kNone = 0,     // not started, failed to start, or stopped
    kAwake = 1,    // between two sleeps
    kParked = 2,   // in epoll on its bell alone, with the look-in timer: arrivals wake nobody
    kArmed = 3,    // in epoll on all sources
};

}   // namespace linnet

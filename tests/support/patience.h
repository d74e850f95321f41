// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Patience: how a test polls for what takes its time, such as a timer of the code under test, without keeping a core from other tests.
#pragma once

#include <chrono>
#include <thread>

namespace linnet::testing {

class Patience {
public:
    // After each pass of polling: the events that it brought. What polling alone brings comes within some passes; then each is followed by a pause.
    void saw(unsigned events)
    {
        idle_ = events != 0 ? 0 : idle_ + 1;
        if (idle_ > kPasses) {
            std::this_thread::sleep_for(std::chrono::microseconds{100});
        }
    }

private:
    static constexpr unsigned kPasses = 500;
    unsigned idle_{0};
};

}   // namespace linnet::testing

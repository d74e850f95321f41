// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Watchdog: a test program that hangs is a failure, and says where each of its threads stands.
#pragma once

#include <chrono>
#include <condition_variable>
#include <latch>
#include <mutex>
#include <thread>

namespace linnet::testing {

// Owner: main(). From construction on, a thread of its own waits; when `limit` passes without a pet() it writes name, system call
// and stack of every thread to standard error and aborts. Destruction ends it. LINNET_TEST_TIMEOUT (seconds) overrides `limit`.
class Watchdog {
public:
    explicit Watchdog(std::chrono::seconds limit);
    ~Watchdog();
    Watchdog(const Watchdog&) = delete;
    Watchdog& operator=(const Watchdog&) = delete;

    // Starts the time again: once per test case, so that the limit is one for a case.
    void pet();

private:
    void run(std::stop_token stop);

    std::chrono::seconds limit_;
    std::mutex mutex_;
    std::condition_variable_any changed_;
    std::chrono::steady_clock::time_point last_pet_;
    std::latch waits_{1};
    std::jthread thread_;
};

}   // namespace linnet::testing

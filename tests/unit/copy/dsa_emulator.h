// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// DsaEmulator: a device that behaves as the Intel DSA Architecture Specification says, as far as moves and batches go, with faults on demand.
//
// It reads descriptors as 64 raw bytes by the offsets of the specification and shares no declaration with the engine under test, so that a field that the
// engine puts in the wrong place is found. What the specification forbids is counted, and answered with the status that it prescribes.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "sys/dsa_queue.h"

namespace linnet::testing {

class DsaEmulator {
public:
    struct Faults {
        unsigned page_fault_every{0};      // every nth move ends early
        bool backwards{false};             // and had run from its end
        unsigned list_fault_every{0};      // every nth batch cannot be read: none of its moves is begun
        unsigned error_every{0};           // every nth move fails with a hardware error
        unsigned full_for{0};              // so many submissions to a shared queue are answered "retry"
        unsigned lie_every{0};             // every nth move reports more bytes than it had
    };
    struct Seen {
        std::uint64_t moves{0}, batches{0}, bytes{0}, retries{0}, lost{0};
        std::string violation;   // the first one; empty: none
    };

    DsaEmulator(const DsaLimits& limits, const Faults& faults);
    ~DsaEmulator();

    [[nodiscard]] std::unique_ptr<DsaPortal> portal();   // one more door to this device
    // Nothing is worked on until resume().
    void pause();
    void resume();
    [[nodiscard]] Seen seen();

private:
    using Raw = std::array<std::byte, 64>;
    class Door;

    bool take(const std::byte* descriptor);
    void work();
    void run(const Raw& descriptor);
    void run_batch(const Raw& batch);
    bool run_move(const Raw& move);   // false: it did not succeed
    std::uint8_t check(const Raw& descriptor, bool in_batch);
    void violate(const char* what);

    const DsaLimits limits_;
    Faults faults_;
    std::mutex mutex_;
    std::condition_variable wake_;
    std::deque<Raw> queue_;
    bool paused_{false}, ending_{false};
    Seen seen_;
    std::uint64_t moves_{0}, batches_{0};   // the worker's
    std::thread worker_;
};

}   // namespace linnet::testing

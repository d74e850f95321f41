// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ProcessBarrier: a full memory barrier in every thread of this process at once, for the rare side of a pair whose other side has no time for one.
//
// membarrier(2), private and expedited. A call takes about a microsecond, and interrupts the cores that run threads of this process.
// Threads: any. Blocking: no longer than those interrupts take.
#pragma once

namespace linnet {

class ProcessBarrier {
public:
    // Asks the system for it, once. False: run() must not be called (before Linux 4.14, some sandboxes).
    [[nodiscard]] bool prepare() noexcept;
    [[nodiscard]] bool works() const noexcept { return works_; }
    // When it returns, every other thread has been through a full barrier since it was called, and the caller too.
    void run() const noexcept;

private:
    bool works_{false};
};

}   // namespace linnet

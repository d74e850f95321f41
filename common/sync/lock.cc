// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SpinLock: the waiting path, kept out of line so that lock() inlines to two instructions.
#include "sync/lock.h"

#include "sync/backoff.h"

namespace linnet {

void SpinLock::lock_contended() noexcept
{
    Backoff backoff;
    do {
        while (held_.load(std::memory_order_relaxed)) {
            backoff.wait();
        }
    } while (held_.exchange(true, std::memory_order_acquire));   // (A)
}

}   // namespace linnet

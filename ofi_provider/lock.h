// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Lock: for the sections that every operation passes through.
//
// Owner: the object whose members it guards. Threads: any. Blocking: lock(), until the owner leaves. Not recursive, not fair; cannot fail.
#pragma once

#include <atomic>
#include <chrono>
#include <thread>

namespace linnet::ofi {

// One exchange and one store when nobody else wants it, where a std::mutex takes two exchanges and two calls.
// Who has to wait looks at the word, then yields since the owner may have lost its core, then sleeps a little: an owner that copies a long message is away
// for longer than that.
//
// The exchange is one step, so of several threads exactly one finds false; what the last owner wrote before its release is visible to who acquires.
class Lock {
public:
    Lock() noexcept = default;
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

    void lock() noexcept
    {
        if (held_.exchange(true, std::memory_order_acquire)) {
            wait();
        }
    }
    [[nodiscard]] bool try_lock() noexcept
    {
        return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);
    }
    void unlock() noexcept { held_.store(false, std::memory_order_release); }

private:
    static constexpr unsigned kLooks = 100;
    static constexpr unsigned kYields = 30;
    static constexpr std::chrono::microseconds kNap{50};

    [[gnu::noinline]] void wait() noexcept
    {
        for (unsigned i = 0; !try_lock(); ++i) {
            if (i >= kLooks + kYields) {
                std::this_thread::sleep_for(kNap);
            } else if (i >= kLooks) {
                std::this_thread::yield();
            }
        }
    }

    std::atomic<bool> held_{false};
};

}   // namespace linnet::ofi

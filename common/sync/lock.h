// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Locks and thread roles that clang's thread-safety analysis can check.
//
// Owner: the object whose members they guard. Threads: any. Blocking: Mutex sleeps, SpinLock spins and then yields, Role never.
// None is recursive; none fails. The order in which locks may be taken is in docs/threading.md; a lock not listed there is a leaf.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/annotations.h"

namespace linnet {

// For sections that may be long: wire-up, teardown, a copy. One exchange and one store when nobody else wants it, which is half of what a std::mutex costs;
// waiters spin for a short while and then sleep.
//
// Proof of exclusion: as SpinLock's, below.
// No waiter is lost: (W) waiters_ is raised before the exchange that fails, and unlock() reads it after its store. The two sides are not ordered by a fence,
// which would cost as much as the lock: an owner may miss a waiter that came in the nanoseconds in which its store was on the way. Therefore a sleep
// ends by itself after a millisecond at most, and then looks again.
class LINNET_CAPABILITY("mutex") Mutex {
public:
    Mutex() noexcept = default;
    Mutex(const Mutex&) = delete;
    Mutex& operator=(const Mutex&) = delete;

    void lock() noexcept LINNET_ACQUIRE()
    {
        if (held_.exchange(true, std::memory_order_acquire)) {   // (A)
            lock_contended();
        }
    }
    [[nodiscard]] bool try_lock() noexcept LINNET_TRY_ACQUIRE(true)
    {
        return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);   // (A)
    }
    void unlock() noexcept LINNET_RELEASE()
    {
        held_.store(false, std::memory_order_release);   // (R)
        if (waiters_.load(std::memory_order_relaxed) != 0) {   // (W)
            wake();
        }
    }
    // For a callee that cannot see how its caller came to hold the lock. Checks nothing at run time.
    void assert_held() const noexcept LINNET_ASSERT_CAPABILITY(this) {}

private:
    void lock_contended() noexcept;
    void wake() noexcept;

    std::atomic<bool> held_{false};
    std::atomic<std::uint32_t> waiters_{0};   // that sleep, or are about to
};

class LINNET_SCOPED_CAPABILITY MutexLock {
public:
    explicit MutexLock(Mutex& mutex) noexcept LINNET_ACQUIRE(mutex) : mutex_{mutex} { mutex_.lock(); }
    ~MutexLock() LINNET_RELEASE() { mutex_.unlock(); }
    MutexLock(const MutexLock&) = delete;
    MutexLock& operator=(const MutexLock&) = delete;

private:
    Mutex& mutex_;
};

// For sections of some tens of nanoseconds. Test-and-test-and-set: one exchange and one store when nobody else wants it; waiters
// read their own cached copy, pause, and yield after Backoff::kSpins since the owner may have lost its core. Not fair: a thread
// may be overtaken, which is harmless for sections this short and cheaper than any queue lock when ranks outnumber cores.
//
// Proof. The lock is held exactly while held_ is true and the thread that changed false to true has not stored false.
//   (A) the exchange is one step, so of several threads exactly one sees false and enters: mutual exclusion.
//   (R) held_ release in unlock()  pairs with  (A) held_ acquire exchange in lock() and try_lock(): what the last owner wrote
//       is visible to the next. The relaxed reads in between decide only when to try (A) again.
class LINNET_CAPABILITY("spin lock") SpinLock {
public:
    SpinLock() noexcept = default;
    SpinLock(const SpinLock&) = delete;
    SpinLock& operator=(const SpinLock&) = delete;

    void lock() noexcept LINNET_ACQUIRE()
    {
        if (held_.exchange(true, std::memory_order_acquire)) {   // (A)
            lock_contended();
        }
    }
    [[nodiscard]] bool try_lock() noexcept LINNET_TRY_ACQUIRE(true)
    {
        return !held_.load(std::memory_order_relaxed) && !held_.exchange(true, std::memory_order_acquire);   // (A)
    }
    void unlock() noexcept LINNET_RELEASE() { held_.store(false, std::memory_order_release); }   // (R)
    void assert_held() const noexcept LINNET_ASSERT_CAPABILITY(this) {}

private:
    void lock_contended() noexcept;

    std::atomic<bool> held_{false};
};

class LINNET_SCOPED_CAPABILITY SpinLockGuard {
public:
    explicit SpinLockGuard(SpinLock& lock) noexcept LINNET_ACQUIRE(lock) : lock_{lock} { lock_.lock(); }
    ~SpinLockGuard() LINNET_RELEASE() { lock_.unlock(); }
    SpinLockGuard(const SpinLockGuard&) = delete;
    SpinLockGuard& operator=(const SpinLockGuard&) = delete;

private:
    SpinLock& lock_;
};

// A thread role ("the event thread", "holder of the progress token"): no lock, no storage, nothing at run time. Members guarded by
// a role, and functions that require it, can then be used only where the analysis sees the role taken or asserted.
class LINNET_CAPABILITY("role") Role {
public:
    Role() noexcept = default;
    Role(const Role&) = delete;
    Role& operator=(const Role&) = delete;

    // This thread now acts in the role; something else (thread identity, a token) guarantees that no other does.
    void enter() noexcept LINNET_ACQUIRE() {}
    void leave() noexcept LINNET_RELEASE() {}
    // The caller is known to be in the role, in a way that the analysis cannot see (a callback, a lambda).
    void assert_held() const noexcept LINNET_ASSERT_CAPABILITY(this) {}
};

class LINNET_SCOPED_CAPABILITY RoleScope {
public:
    explicit RoleScope(Role& role) noexcept LINNET_ACQUIRE(role) : role_{role} { role_.enter(); }
    ~RoleScope() LINNET_RELEASE() { role_.leave(); }
    RoleScope(const RoleScope&) = delete;
    RoleScope& operator=(const RoleScope&) = delete;

private:
    Role& role_;
};

}   // namespace linnet

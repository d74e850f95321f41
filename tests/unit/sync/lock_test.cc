// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Locks: mutual exclusion and visibility, under real contention; meant for ThreadSanitizer too.
#include "sync/lock.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

namespace linnet {
namespace {

constexpr int kThreads = 4;   // more than this machine may have cores: owners do get descheduled

// A value that only mutual exclusion keeps right: two plain words that must move together.
template <class Lock, class Guard>
struct Guarded {
    Lock lock;
    std::uint64_t a LINNET_GUARDED_BY(lock) = 0;
    std::uint64_t b LINNET_GUARDED_BY(lock) = 0;
    std::uint64_t torn LINNET_GUARDED_BY(lock) = 0;

    void step()
    {
        Guard guard{lock};
        torn += a == b ? 0 : 1;
        ++a;
        ++b;
    }
};

template <class Lock, class Guard>
void hammer(int steps)
{
    Guarded<Lock, Guard> shared;
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&shared, steps] {
            for (int i = 0; i < steps; ++i) {
                shared.step();
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    Guard guard{shared.lock};
    EXPECT_EQ(shared.a, static_cast<std::uint64_t>(kThreads) * static_cast<std::uint64_t>(steps));
    EXPECT_EQ(shared.b, shared.a);
    EXPECT_EQ(shared.torn, 0u);
}

TEST(Mutex, ContendedStepsAreAllCounted) { hammer<Mutex, MutexLock>(20000); }

// Owners that keep it long enough for the others to go to sleep: nobody is forgotten, and nobody sleeps out his millisecond each time.
TEST(Mutex, SleepersAreWokenWhenTheOwnerLetsGo)
{
    constexpr int kSteps = 100;
    constexpr std::chrono::microseconds kHeld{300};
    Guarded<Mutex, MutexLock> shared;
    const auto begin = std::chrono::steady_clock::now();
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t) {
        threads.emplace_back([&shared, &kHeld] {
            for (int i = 0; i < kSteps; ++i) {
                MutexLock guard{shared.lock};
                std::this_thread::sleep_for(kHeld);
                ++shared.a;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    const auto took = std::chrono::steady_clock::now() - begin;
    MutexLock guard{shared.lock};
    EXPECT_EQ(shared.a, static_cast<std::uint64_t>(kThreads * kSteps));
    EXPECT_GE(took, kThreads * kSteps * kHeld) << "two held it at once";
}

TEST(SpinLock, ContendedStepsAreAllCounted) { hammer<SpinLock, SpinLockGuard>(50000); }

template <class Lock>
bool other_thread_gets(Lock& lock)
{
    bool got = false;
    std::thread{[&lock, &got] {
        if (lock.try_lock()) {
            got = true;
            lock.unlock();
        }
    }}.join();
    return got;
}

template <class Lock>
void expect_try_lock_fails_only_while_held()
{
    Lock lock;
    EXPECT_TRUE(other_thread_gets(lock));
    lock.lock();
    EXPECT_FALSE(other_thread_gets(lock));
    lock.unlock();
    EXPECT_TRUE(other_thread_gets(lock));
}

TEST(Mutex, TryLockFailsOnlyWhileHeld) { expect_try_lock_fails_only_while_held<Mutex>(); }

TEST(SpinLock, TryLockFailsOnlyWhileHeld) { expect_try_lock_fails_only_while_held<SpinLock>(); }

// The waiter must get in although the owner keeps the lock far longer than the spinning phase lasts.
TEST(SpinLock, WaiterOutlastsALongOwner)
{
    SpinLock lock;
    bool entered = false;
    lock.lock();
    std::thread waiter{[&lock, &entered] {
        SpinLockGuard guard{lock};
        entered = true;
    }};
    for (int i = 0; i < 2000; ++i) {
        std::this_thread::yield();
    }
    EXPECT_FALSE(entered);   // we hold the lock, so nobody writes it now
    lock.unlock();
    waiter.join();
    EXPECT_TRUE(entered);
}

// What it is for stands in the annotations: with clang, taking these lines out of the scope does not compile.
TEST(Role, GuardedMemberIsUsableInsideItsScope)
{
    struct Owner {
        Role role;
        int value LINNET_GUARDED_BY(role) = 0;
        int asserted() LINNET_EXCLUDES(role)
        {
            role.assert_held();
            return value;
        }
    } owner;
    {
        RoleScope scope{owner.role};
        owner.value = 7;
    }
    EXPECT_EQ(owner.asserted(), 7);
}

TEST(SpinLock, IsOneByteSoThatItFitsBesideWhatItGuards) { EXPECT_EQ(sizeof(SpinLock), 1u); }

}   // namespace
}   // namespace linnet

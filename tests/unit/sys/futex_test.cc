// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Futex: sleeping, waking, timing out.
#include "sys/futex.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "sys/system_clock.h"

namespace linnet {
namespace {

TEST(FutexWait, ReturnsAtOnceWhenTheWordDiffers)
{
    const std::atomic<std::uint32_t> word{1};
    EXPECT_EQ(futex_wait(word, 0), FutexResult::kChanged);
}

TEST(FutexWait, TimesOutNotEarlier)
{
    const std::atomic<std::uint32_t> word{0};
    const TimePoint start = monotonic_now();
    EXPECT_EQ(futex_wait(word, 0, Nanos{500'000}), FutexResult::kTimedOut);
    EXPECT_GE(monotonic_now() - start, Nanos{500'000});
    EXPECT_EQ(futex_wait(word, 0, Nanos{-5}), FutexResult::kTimedOut);   // negative: no time at all
}

TEST(FutexWake, WithoutSleepersWakesNobody)
{
    const std::atomic<std::uint32_t> word{0};
    EXPECT_EQ(futex_wake(word, 10), 0u);
}

// A sleeper must notice every change, whether the waker came before or after it fell asleep.
TEST(FutexWake, NoWakeUpIsMissed)
{
    constexpr std::uint32_t kRounds = 2000;
    std::atomic<std::uint32_t> ping{0}, pong{0};
    const auto await = [](std::atomic<std::uint32_t>& word, std::uint32_t wanted) {
        for (std::uint32_t now = word.load(std::memory_order_acquire); now != wanted; now = word.load(std::memory_order_acquire)) {
            futex_wait(word, now);
        }
    };
    std::thread other{[&] {
        for (std::uint32_t i = 1; i <= kRounds; ++i) {
            await(ping, i);
            pong.store(i, std::memory_order_release);
            futex_wake(pong);
        }
    }};
    for (std::uint32_t i = 1; i <= kRounds; ++i) {
        ping.store(i, std::memory_order_release);
        futex_wake(ping);
        await(pong, i);
    }
    other.join();
    EXPECT_EQ(pong.load(), kRounds);
}

TEST(FutexWake, WakesAtMostAsManyAsAsked)
{
    std::atomic<std::uint32_t> word{0};
    std::atomic<unsigned> returned{0};
    std::vector<std::thread> sleepers;
    for (int i = 0; i < 3; ++i) {
        sleepers.emplace_back([&] {
            while (word.load(std::memory_order_acquire) == 0) {
                futex_wait(word, 0);
            }
            returned.fetch_add(1);
        });
    }
    unsigned woken = 0;
    while (woken < 3) {   // the word has not changed, so each goes back to sleep: waking one at a time never ends a sleeper
        const unsigned n = futex_wake(word, 1);
        ASSERT_LE(n, 1u);
        woken += n;
        std::this_thread::yield();
    }
    EXPECT_EQ(returned.load(), 0u);
    word.store(1, std::memory_order_release);
    futex_wake(word, UINT32_MAX);
    for (std::thread& t : sleepers) {
        t.join();
    }
    EXPECT_EQ(returned.load(), 3u);
}

}   // namespace
}   // namespace linnet

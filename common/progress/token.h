// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Token: the right to poll a context's sources.
//
// Owner: ProgressEngine. Threads: any. Blocking: take() only. Not recursive; cannot fail.
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "base/annotations.h"
#include "sys/process_barrier.h"

namespace linnet {

// The calling thread, as a number that no other living thread has. Never 0.
[[nodiscard]] inline std::uintptr_t this_thread_mark() noexcept
{
    return static_cast<std::uintptr_t>(pthread_self());
}

// Called by a releasing holder when somebody waits for the token or for a turn to poll.
class TokenAudience {
public:
    virtual void token_released() noexcept = 0;

protected:
    ~TokenAudience() = default;
};

// A lock whose ordinary use is try_take(): a thread that does not get it has nothing to poll, because another thread does.
//
// Proof. holder_ is 0 or the mark of the one thread whose exchange from 0 took effect and that has not stored 0 since.
//   (A) holder_ acquire in try_take  pairs with  (R) holder_ exchange in release: the next holder sees what the last one wrote.
//   No wake-up is lost between a release and a thread about to sleep for want of the token: the sleeper does
//   audience_ += 1 (S), then tries (A) once more; the releaser does (R), then reads audience_ (L). All four are sequentially
//   consistent, so either the sleeper's try succeeds, or (L) sees the sleeper and token_released() wakes it.
//   release_soon() stores 0 (R') without a barrier, which costs some 8 ns of every message. The sleeper makes up for it: between (S) and
//   (A) it has every other thread pass a barrier (B). In the releaser that falls before (L), which then sees (S), or after it, hence after (R'), which (A) then
//   sees. Where the system has no (B), release_soon() is release().
class LINNET_CAPABILITY("progress token") Token {
public:
    Token(TokenAudience& audience, const ProcessBarrier& barrier) noexcept : listener_{audience}, barrier_{barrier} {}
    Token(const Token&) = delete;
    Token& operator=(const Token&) = delete;

    // False: held, or wanted by a thread in take(), which goes first.
    [[nodiscard]] bool try_take() noexcept LINNET_TRY_ACQUIRE(true)
    {
        return wanted_.load(std::memory_order_seq_cst) == 0 && holder_.load(std::memory_order_relaxed) == 0 && grab();
    }
    void release() noexcept LINNET_RELEASE()
    {
        holder_.exchange(0, std::memory_order_seq_cst);   // (R)
        call_audience();
    }
    // The same for a holder that reads no other word afterwards whose writer may have seen it hold the token: to others it may seem to hold it a moment longer.
    void release_soon() noexcept LINNET_RELEASE()
    {
        if (!barrier_.works()) {
            return release();
        }
        holder_.store(0, std::memory_order_release);   // (R')
        std::atomic_signal_fence(std::memory_order_seq_cst);
        call_audience();
    }
    // After (R), and by a thread that was called and did not take the token: the call goes on to another one.
    void call_audience() noexcept
    {
        if (audience_.load(std::memory_order_seq_cst) != 0) {   // (L)
            listener_.token_released();
        }
    }
    [[nodiscard]] bool held() const noexcept { return holder_.load(std::memory_order_relaxed) != 0; }
    [[nodiscard]] bool held_by_me() const noexcept { return holder_.load(std::memory_order_relaxed) == this_thread_mark(); }
    // For a callee that cannot see how its caller came to hold the token.
    void assert_held() const noexcept LINNET_ASSERT_CAPABILITY(this) {}

    // ---- for the engine ----

    [[nodiscard]] bool has_audience() const noexcept { return audience_.load(std::memory_order_seq_cst) != 0; }
    // A thread is about to sleep for want of the token, or is up again. Between the two, releases call token_released().
    void join_audience() noexcept
    {
        audience_.fetch_add(1, std::memory_order_seq_cst);   // (S)
        if (barrier_.works()) {
            barrier_.run();   // (B)
        }
    }
    void leave_audience() noexcept { audience_.fetch_sub(1, std::memory_order_seq_cst); }
    // A thread must have the token, not only poll if it is free: until it is served, try_take() fails for the others.
    void want() noexcept { wanted_.fetch_add(1, std::memory_order_seq_cst); }
    void unwant() noexcept { wanted_.fetch_sub(1, std::memory_order_seq_cst); }
    [[nodiscard]] bool wanted() const noexcept { return wanted_.load(std::memory_order_seq_cst) != 0; }
    // try_take() of a thread between want() and unwant().
    [[nodiscard]] bool try_take_wanted() noexcept LINNET_TRY_ACQUIRE(true) { return grab(); }

private:
    [[nodiscard]] bool grab() noexcept
    {
        std::uintptr_t free = 0;
        return holder_.compare_exchange_strong(free, this_thread_mark(), std::memory_order_seq_cst, std::memory_order_relaxed);   // (A)
    }

    std::atomic<std::uintptr_t> holder_{0};
    std::atomic<std::uint32_t> audience_{0};
    std::atomic<std::uint32_t> wanted_{0};
    TokenAudience& listener_;
    const ProcessBarrier& barrier_;
};

}   // namespace linnet

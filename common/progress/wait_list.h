// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// WaitList: threads that sleep in wait() while another one polls for them.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/annotations.h"
#include "base/clock.h"
#include "base/intrusive_list.h"
#include "base/ready_ref.h"
#include "sync/lock.h"

namespace linnet {

// A sleeping thread's place, in its own frame. `word` is its futex: 0 asleep, 1 woken.
struct WaitSlot : ListLink {
    explicit WaitSlot(ReadyRef what) noexcept : ready{what} {}
    ReadyRef ready;
    std::atomic<std::uint32_t> word{0};
    bool listed{false};   // under the list's lock
};

// Owner: the engine; slots belong to their threads. Threads: any. Blocking: sleep() only. Cannot fail.
//
// Proof. A slot is in the list from add() until somebody takes it out under the lock: a waker, or its own thread in remove().
//   Whoever takes it out as a waker then stores word = 1 and touches the slot no more: the owner, which must not leave before, waits for
//   the word when it finds itself taken out. (W) word release  pairs with  (O) word acquire in sleep() and remove(): what the waker
//   did before (making ready() true, releasing the token) is visible to the owner.
//   futex_wake() after (W) may name a slot that is gone: it compares addresses and reads nothing.
class WaitList {
public:
    enum class Place : std::uint8_t { kFirst, kLast };   // kLast: woken by wake_one() only when no other sleeps
    void add(WaitSlot& slot, Place place) noexcept LINNET_EXCLUDES(lock_);
    // The slot is the caller's again, and nobody touches it any more. Once per add(), by the thread that added it.
    void remove(WaitSlot& slot) noexcept LINNET_EXCLUDES(lock_);
    // Until woken, at most `timeout`. May also return early.
    static void sleep(WaitSlot& slot, Nanos timeout) noexcept;

    // Wakes the youngest sleeper of those in first place (its cache is the warmest).
    void wake_one() noexcept LINNET_EXCLUDES(lock_);
    // Wakes those whose ready() is true.
    void wake_ready() noexcept LINNET_EXCLUDES(lock_);
    void wake_all() noexcept LINNET_EXCLUDES(lock_);

private:
    template <class Choose>
    void wake_if(Choose choose, bool only_one) noexcept LINNET_EXCLUDES(lock_);

    SpinLock lock_;
    IntrusiveList<WaitSlot> slots_ LINNET_GUARDED_BY(lock_);   // youngest first
};

}   // namespace linnet

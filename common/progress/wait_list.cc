// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// WaitList: who is taken out, and how it is woken.
#include "progress/wait_list.h"

#include "sync/backoff.h"
#include "sys/futex.h"

namespace linnet {

void WaitList::add(WaitSlot& slot, Place place) noexcept
{
    slot.word.store(0, std::memory_order_relaxed);
    const SpinLockGuard guard{lock_};
    slot.listed = true;
    if (place == Place::kFirst) {
        slots_.push_front(slot);
    } else {
        slots_.push_back(slot);
    }
}

void WaitList::remove(WaitSlot& slot) noexcept
{
    {
        const SpinLockGuard guard{lock_};
        if (slot.listed) {
            slots_.remove(slot);
            return;
        }
    }
    // A waker took it out and is about to store the word.
    Backoff backoff;
    while (slot.word.load(std::memory_order_acquire) == 0) {   // (O)
        backoff.wait();
    }
}

void WaitList::sleep(WaitSlot& slot, Nanos timeout) noexcept
{
    if (slot.word.load(std::memory_order_acquire) == 0) {   // (O)
        futex_wait(slot.word, 0, timeout);
    }
}

template <class Choose>
void WaitList::wake_if(Choose choose, bool only_one) noexcept
{
    IntrusiveList<WaitSlot> woken;   // they are ours: their threads wait for the word
    {
        const SpinLockGuard guard{lock_};
        for (WaitSlot* slot = slots_.front(); slot != nullptr;) {
            WaitSlot* const next = slots_.next(*slot);
            if (choose(*slot)) {
                slots_.remove(*slot);
                slot->listed = false;
                woken.push_back(*slot);
                if (only_one) {
                    break;
                }
            }
            slot = next;
        }
    }
    // Outside the lock: no system call under it. pop_front() is the last read of the slot's links.
    while (WaitSlot* slot = woken.pop_front()) {
        std::atomic<std::uint32_t>& word = slot->word;
        word.store(1, std::memory_order_release);   // (W)
        futex_wake(word);
    }
}

void WaitList::wake_one() noexcept
{
    wake_if([](const WaitSlot&) { return true; }, true);
}

void WaitList::wake_ready() noexcept
{
    wake_if([](const WaitSlot& slot) { return slot.ready(); }, false);
}

void WaitList::wake_all() noexcept
{
    wake_if([](const WaitSlot&) { return true; }, false);
}

}   // namespace linnet

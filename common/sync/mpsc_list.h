// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// MpscList: an intrusive list that any thread pushes to and one thread empties; completions travel in it.
//
// Owner: the consumer. Threads: push() any; take_all() one at a time, ordered by the caller (a lock, a role or a token).
// Blocking: never; push() retries only when another push came in between. Elements are borrowed from push() until taken.
// Cannot fail, does not allocate.
#pragma once

#include <atomic>
#include <type_traits>

namespace linnet {

// Base of an element. An element is in at most one MpscList at a time.
struct MpscLink {
    MpscLink* next{nullptr};   // the list's own while the element is in it; afterwards the chain of take_all()
};

// The pushed elements form a stack: head_ is the youngest, next leads to the older one. take_all() detaches the whole stack and
// turns it round, so the chain has the order in which the pushes took effect; pushes of one thread keep their order.
//
// Proof.
//   (P) head_ release in push  pairs with  (T) head_ acquire in take_all: the consumer sees the element's `next` and all that the
//       producer wrote into the element. (T) reads the youngest push, yet synchronizes with every push in the chain, since each
//       later (P) is a read-modify-write and so continues the release sequence of the one before it.
//   (P) is also the producer's last access: once it took effect the consumer may take, reuse or free the element. A failed (P)
//       took no effect and leaves the element private.
//   No ABA: head_ may return to the same address between the load and (P) because that element was taken and pushed again. `next`
//       then points at what is the head at the moment of (P), which is all that the chain needs. Nothing is ever popped singly,
//       so no one reads `next` of an element that it does not own.
//   Counters do not exist here, so nothing wraps.
template <class T>
class MpscList {
public:
    MpscList() noexcept = default;
    MpscList(const MpscList&) = delete;
    MpscList& operator=(const MpscList&) = delete;

    // The last touch of `element`: after it the consumer may already have freed it. Returns true when the list was empty, so that
    // of any burst exactly one producer needs to wake the consumer. A producer that then reads "is the consumer asleep?" needs a
    // sequentially consistent fence in between, as does a consumer between announcing its sleep and its last look at empty().
    bool push(T& element) noexcept
    {
        static_assert(std::is_base_of_v<MpscLink, T>);
        MpscLink* const link = &element;
        MpscLink* head = head_.load(std::memory_order_relaxed);
        do {
            link->next = head;
        } while (!head_.compare_exchange_weak(head, link, std::memory_order_release, std::memory_order_relaxed));   // (P)
        return head == nullptr;
    }

    // Takes everything pushed so far: the oldest element, the others behind it through next(); null when there is none.
    [[nodiscard]] T* take_all() noexcept
    {
        if (head_.load(std::memory_order_relaxed) == nullptr) {
            return nullptr;   // an empty poll costs one read of a shared line and dirties nothing
        }
        MpscLink* youngest = head_.exchange(nullptr, std::memory_order_acquire);   // (T)
        MpscLink* oldest = nullptr;
        while (youngest != nullptr) {
            MpscLink* const older = youngest->next;
            youngest->next = oldest;
            oldest = youngest;
            youngest = older;
        }
        return static_cast<T*>(oldest);
    }

    // The element taken behind `element`, or null. Read it before `element` is handed on: its owner may free it at once.
    [[nodiscard]] static T* next(const T& element) noexcept
    {
        return static_cast<T*>(static_cast<const MpscLink&>(element).next);
    }

    // A hint for any thread: true may be out of date at once, false is certain only for the consumer.
    [[nodiscard]] bool empty() const noexcept { return head_.load(std::memory_order_relaxed) == nullptr; }

private:
    std::atomic<MpscLink*> head_{nullptr};
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Intrusive containers: the links live in the element, so nothing is allocated.
//
// Not thread-safe; the owner's lock guards them. An element is in at most one container per link member. Elements are borrowed:
// they must outlive their membership. A list with elements in it may be destroyed; the elements' links are then stale.
#pragma once

#include <cstddef>

#include "base/assert.h"

namespace linnet {

// ---- doubly linked: O(1) removal from the middle ----

struct ListLink {
    ListLink* prev{nullptr};
    ListLink* next{nullptr};
    [[nodiscard]] bool linked() const noexcept { return next != nullptr; }
};

// T derives from ListLink, or from several ListLinkOf<N> when it is in several lists at once.
template <int N>
struct ListLinkOf : ListLink {};

template <class T, class Link = ListLink>
class IntrusiveList {
public:
    IntrusiveList() noexcept { reset(); }
    IntrusiveList(const IntrusiveList&) = delete;
    IntrusiveList& operator=(const IntrusiveList&) = delete;

    [[nodiscard]] bool empty() const noexcept { return head_.next == &head_; }
    [[nodiscard]] T* front() noexcept { return empty() ? nullptr : to_element(head_.next); }
    [[nodiscard]] T* back() noexcept { return empty() ? nullptr : to_element(head_.prev); }
    // The element after `e`, or null at the end.
    [[nodiscard]] T* next(T& e) noexcept
    {
        ListLink* n = static_cast<Link&>(e).next;
        return n == &head_ ? nullptr : to_element(n);
    }
    void push_back(T& e) noexcept { insert_before(head_, static_cast<Link&>(e)); }
    void push_front(T& e) noexcept { insert_before(*head_.next, static_cast<Link&>(e)); }
    static void remove(T& e) noexcept
    {
        ListLink& l = static_cast<Link&>(e);
        LINNET_ASSERT(l.linked());
        l.prev->next = l.next;
        l.next->prev = l.prev;
        l.prev = l.next = nullptr;
    }
    [[nodiscard]] T* pop_front() noexcept
    {
        T* e = front();
        if (e != nullptr) {
            remove(*e);
        }
        return e;
    }

private:
    void reset() noexcept { head_.prev = head_.next = &head_; }
    static T* to_element(ListLink* l) noexcept { return static_cast<T*>(static_cast<Link*>(l)); }
    static void insert_before(ListLink& at, ListLink& l) noexcept
    {
        LINNET_ASSERT(!l.linked());
        l.prev = at.prev;
        l.next = &at;
        at.prev->next = &l;
        at.prev = &l;
    }
    ListLink head_;
};

// ---- singly linked FIFO ----

struct QueueLink {
    QueueLink* next{nullptr};
};

template <class T>
class IntrusiveQueue {
public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
    [[nodiscard]] T* front() noexcept { return static_cast<T*>(head_); }
    [[nodiscard]] T* next(T& e) noexcept { return static_cast<T*>(static_cast<QueueLink&>(e).next); }
    void push_back(T& e) noexcept
    {
        QueueLink& l = e;
        l.next = nullptr;
        if (tail_ == nullptr) {
            head_ = &l;
        } else {
            tail_->next = &l;
        }
        tail_ = &l;
    }
    [[nodiscard]] T* pop_front() noexcept
    {
        QueueLink* l = head_;
        if (l != nullptr) {
            head_ = l->next;
            if (head_ == nullptr) {
                tail_ = nullptr;
            }
            l->next = nullptr;
        }
        return static_cast<T*>(l);
    }

private:
    QueueLink* head_{nullptr};
    QueueLink* tail_{nullptr};
};

}   // namespace linnet

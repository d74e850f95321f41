// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Hash table from match keys to chains of elements with that key, oldest first.
//
// Open addressing, linear probing, erasure by shifting back, so there are no tombstones to collect. A slot has the whole hash, so
// probing and resizing do not touch elements. The table doubles beyond half full and halves below an eighth: its size follows
// the number of different keys, and both are O(1) amortised. Owned by one queue of one match space, guarded by the space's lock.
// The only failure is memory: push_back() then says so and nothing has changed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "match/element.h"

namespace linnet::match {

template <class T>
class ChainTable {
public:
    struct Slot {
        std::uint64_t hash;
        T* head;   // null: free
    };

    [[nodiscard]] bool empty() const noexcept { return used_ == 0; }

    // Starts to load the place of `hash`, so that the loads of several tables overlap.
    void prefetch(std::uint64_t hash) const noexcept
    {
        if (slots_ != nullptr) {
            __builtin_prefetch(&slots_[hash & mask_], 1);
        }
    }

    // The slot of `key`, or null. Valid until the table changes. `examined` grows by the number of slots compared.
    [[nodiscard]] Slot* find(std::uint64_t hash, const Key& key, unsigned c, const Rules& rules,
                             std::uint64_t& examined) const noexcept
    {
        if (used_ == 0) {
            return nullptr;
        }
        for (std::size_t i = hash & mask_;; i = (i + 1) & mask_) {
            Slot& s = slots_[i];
            if (s.head == nullptr) {
                return nullptr;
            }
            ++examined;
            if (s.hash == hash && ElementAccess::key(*s.head, c, rules) == key) {
                return &s;
            }
        }
    }

    // Appends to the chain of the element's key. False when there is no memory for a new key.
    [[nodiscard]] bool push_back(T& e, std::uint64_t hash, const Key& key, unsigned c, const Rules& rules) noexcept
    {
        if (!has_room() && !resize(std::max(kMinSlots, 2 * capacity())) && std::size_t{used_} + 1 >= capacity()) {
            return false;   // without memory a table may fill up to the one free slot that ends a search
        }
        std::size_t i = hash & mask_;
        while (slots_[i].head != nullptr && !(slots_[i].hash == hash && ElementAccess::key(*slots_[i].head, c, rules) == key)) {
            i = (i + 1) & mask_;
        }
        Slot& slot = slots_[i];
        used_ += slot.head == nullptr ? 1 : 0;
        slot.hash = hash;
        chain_push_back(slot.head, e, c);
        return true;
    }

    T& pop_front(Slot& slot, unsigned c) noexcept
    {
        T& e = *slot.head;
        chain_remove(slot.head, e, c);
        if (slot.head == nullptr) {
            erase(slot);
            shrink();
        }
        return e;
    }

    // False when `e` is at the end of some chain, but of none in this table.
    bool remove(T& e, std::uint64_t hash, const Key& key, unsigned c, const Rules& rules) noexcept
    {
        if (chain_is_inner(e, c)) {
            chain_remove_inner(e, c);
            return true;
        }
        if (used_ == 0) {
            return false;
        }
        std::size_t i = hash & mask_;
        if (ElementAccess::link(e, c).prev == &e) {   // alone, the usual case: no need to compare keys
            while (slots_[i].head != nullptr && slots_[i].head != &e) {
                i = (i + 1) & mask_;
            }
            if (slots_[i].head == nullptr) {
                return false;
            }
            ElementAccess::link(e, c) = {};
            erase(slots_[i]);
            shrink();
            return true;
        }
        std::uint64_t ignored = 0;
        Slot* slot = find(hash, key, c, rules, ignored);
        if (slot == nullptr || (slot->head != &e && ElementAccess::link(*slot->head, c).prev != &e)) {
            return false;
        }
        chain_remove(slot->head, e, c);
        return true;
    }

    // Moves every element of the chains whose oldest element satisfies `wanted` to `out`; returns how many.
    template <class Predicate>
    std::size_t detach_chains(Predicate wanted, unsigned c, DetachedList<T>& out) noexcept
    {
        std::size_t moved = 0;
        for (std::size_t i = 0; used_ != 0 && i <= mask_;) {
            Slot& s = slots_[i];
            if (s.head == nullptr || !wanted(*s.head)) {
                ++i;
                continue;
            }
            while (s.head != nullptr) {
                T& e = *s.head;
                chain_remove(s.head, e, c);
                out.push_back(e);
                ++moved;
            }
            erase(s);   // a later slot may have moved here: look at `i` again
        }
        shrink();
        return moved;
    }

private:
    static constexpr std::size_t kMinSlots = 32;   // 512 bytes, the least that a queue too long for its ring needs

    [[nodiscard]] std::size_t capacity() const noexcept { return slots_ == nullptr ? 0 : std::size_t{mask_} + 1; }

    [[nodiscard]] bool has_room() const noexcept { return 2 * (std::size_t{used_} + 1) <= capacity(); }

    Slot& free_slot(std::uint64_t hash) const noexcept
    {
        std::size_t i = hash & mask_;
        while (slots_[i].head != nullptr) {
            i = (i + 1) & mask_;
        }
        return slots_[i];
    }

    void erase(Slot& slot) noexcept
    {
        std::size_t hole = static_cast<std::size_t>(&slot - slots_.get());
        for (std::size_t i = (hole + 1) & mask_; slots_[i].head != nullptr; i = (i + 1) & mask_) {
            const std::size_t from_home = (i - slots_[i].hash) & mask_;
            if (from_home >= ((i - hole) & mask_)) {   // the hole lies between its home and its place
                slots_[hole] = slots_[i];
                hole = i;
            }
        }
        slots_[hole].head = nullptr;
        --used_;
    }

    void shrink() noexcept
    {
        std::size_t wanted = capacity();
        while (wanted > kMinSlots && 8 * std::size_t{used_} < wanted) {
            wanted /= 2;
        }
        if (wanted != capacity()) {
            static_cast<void>(resize(wanted));   // without memory the larger table serves as well
        }
    }

    [[nodiscard]] bool resize(std::size_t slots) noexcept
    {
        std::unique_ptr<Slot[]> old{new (std::nothrow) Slot[slots]{}};
        if (old == nullptr) {
            return false;
        }
        const std::size_t old_slots = capacity();
        old.swap(slots_);
        mask_ = static_cast<std::uint32_t>(slots - 1);
        for (std::size_t i = 0; i < old_slots; ++i) {
            if (old[i].head != nullptr) {
                free_slot(old[i].hash) = old[i];
            }
        }
        return true;
    }

    std::unique_ptr<Slot[]> slots_;
    std::uint32_t mask_{0};
    std::uint32_t used_{0};
};

}   // namespace linnet::match

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The posted-receive queue of one match space.
//
// A queue of up to eight is Short, and receives that accept the same as the one posted just before them count as one with it, however many: a window of
// receives for one stream is found as fast as a single one. Beyond that, a receive is in exactly one chain: that of its key in the table of its class, or the
// ordered list of receives with arbitrary masks. An arriving message compares, by sequence number, the oldest of the (at most
// four) chains that accept it and the oldest of the list. Guarded by the lock of the match space; never fails: a receive for
// which there is no memory joins the list, where it is found all the same, only slower.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "match/chain_table.h"
#include "match/element.h"
#include "match/short_queue.h"

namespace linnet::match {

class PostedQueue {
public:
    [[nodiscard]] std::size_t size() const noexcept;   // for tests: linear
    void push_back(PostedReceive& r, const Rules& rules) noexcept;
    // Removes and returns the oldest receive that accepts the message, or returns null.
    PostedReceive* take(PeerId source, std::uint64_t bits, const Rules& rules, std::uint64_t& examined) noexcept
    {
        Short* const few = std::get_if<Short>(&queue_);
        return few != nullptr ? few->take(source, bits, examined) : take_indexed(source, bits, rules, examined);
    }
    // True when `r` was in the queue; now removed.
    bool remove(PostedReceive& r, const Rules& rules) noexcept;
    // Removes the receives that name exactly `source`, or all. In no particular order.
    DetachedList<PostedReceive> detach_source(PeerId source) noexcept;
    DetachedList<PostedReceive> detach_all() noexcept;

private:
    class Short {
    public:
        Short() noexcept : receives_{} {}
        [[nodiscard]] std::size_t count() const noexcept;   // walks over all
        // False when all slots are taken, and `r` fits into none.
        [[nodiscard]] bool push_back(PostedReceive& r) noexcept;
        PostedReceive* take(PeerId source, std::uint64_t bits, std::uint64_t& examined) noexcept
        {
            if (order_.size() != 1) {
                return order_.size() == 0 ? nullptr : take_among(source, bits, examined);
            }
            const unsigned slot = order_.slot(0);   // most are
            ++examined;
            return receives_[slot]->spec.accepts(source, bits) ? pop_front(slot) : nullptr;
        }
        bool remove(PostedReceive& r) noexcept;
        DetachedList<PostedReceive> detach_source(PeerId source) noexcept;
        // The oldest of all, which leaves; null when there is none.
        PostedReceive* pop() noexcept;

    private:
        [[nodiscard]] PostedReceive* pop_front(unsigned slot) noexcept
        {
            PostedReceive* const r = receives_[slot];
            PostedReceive* const next = ElementAccess::link(*r, kOrder).next;
            if (next == nullptr) {
                order_.remove_any(slot);
                return r;
            }
            ChainLink<PostedReceive>& heir = ElementAccess::link(*next, kOrder);
            heir.prev = heir.next != nullptr ? ElementAccess::link(*r, kOrder).prev : nullptr;   // one that is left alone has no links, as if it always was
            ElementAccess::link(*r, kOrder) = {};
            receives_[slot] = next;
            return r;
        }
        PostedReceive* take_among(PeerId source, std::uint64_t bits, std::uint64_t& examined) noexcept;
        static void unlink_if_alone(PostedReceive& head) noexcept;
        void fill_lanes(unsigned slot, const MatchSpec& spec) noexcept;

        // Of the receives in the slots, while there are two at least. care: the bits that are compared.
        Lanes source_, source_care_, bits_low_, bits_high_, care_low_, care_high_;
        std::array<PostedReceive*, kShortQueue> receives_;   // by slot: one receive without links, or a chain of equals posted one behind the other
        SlotOrder order_;
    };
    using Table = ChainTable<PostedReceive>;

    struct Index {
        std::array<Table, kKeyClasses> tables;
        PostedReceive* list{nullptr};
        std::uint64_t next_sequence{0};
        std::size_t size{0};

        void push_back(PostedReceive& r, const Rules& rules) noexcept;
        PostedReceive* take(PeerId source, std::uint64_t bits, const Rules& rules, std::uint64_t& examined) noexcept;
        bool remove(PostedReceive& r, const Rules& rules) noexcept;
        DetachedList<PostedReceive> detach_source(PeerId source) noexcept;
        DetachedList<PostedReceive> detach_all() noexcept;
    };

    PostedReceive* take_indexed(PeerId source, std::uint64_t bits, const Rules& rules, std::uint64_t& examined) noexcept;
    Index& to_index(const Rules& rules) noexcept;
    void to_short_when_few(Index& index) noexcept;

    std::variant<Short, Index> queue_;
};

}   // namespace linnet::match

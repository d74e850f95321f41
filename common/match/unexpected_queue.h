// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The unexpected-message queue of one match space.
//
// A queue of up to eight is Short. Beyond that, all messages are in one list in order of arrival, and each class of receives (exact,
// any source, any tag, both) has a table of chains that covers the older part of the list, or all of it. A search takes the head
// of its key's chain; if there is none, it walks the newer part and enters what it passes. So receives that come in the order of
// the messages find theirs at once, without hashing and without tables. When they come in another order, the walk goes on to the
// end, and the table then covers everything, new messages too, until it is empty. Each message enters each table at most once.
// Searches with arbitrary masks walk the list.
// Guarded by the lock of the match space; never fails: what there is no memory to enter is walked over again next time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "match/chain_table.h"
#include "match/element.h"
#include "match/short_queue.h"

namespace linnet::match {

class UnexpectedQueue {
public:
    [[nodiscard]] std::size_t size() const noexcept;
    // There is none; false may be wrong.
    [[nodiscard]] bool surely_empty() const noexcept
    {
        const Short* const few = std::get_if<Short>(&queue_);
        return few != nullptr && few->order().size() == 0;
    }
    void push_back(UnexpectedMessage& m, const Rules& rules) noexcept;
    // The oldest message that `spec` accepts, or null: find() leaves it in the queue, take() removes it.
    UnexpectedMessage* find(const MatchSpec& spec, const Rules& rules, std::uint64_t& examined) noexcept;
    UnexpectedMessage* take(const MatchSpec& spec, const Rules& rules, std::uint64_t& examined) noexcept;
    // `m` must be in the queue.
    void remove(UnexpectedMessage& m, const Rules& rules) noexcept;
    // Removes the messages of `source`, or all. Oldest first.
    DetachedList<UnexpectedMessage> detach_source(PeerId source, const Rules& rules) noexcept;
    DetachedList<UnexpectedMessage> detach_all() noexcept;

private:
    class Short {
    public:
        Short() noexcept : messages_{} {}
        [[nodiscard]] const SlotOrder& order() const noexcept { return order_; }
        [[nodiscard]] UnexpectedMessage& message(unsigned slot) const noexcept { return *messages_[slot]; }
        void push_back(UnexpectedMessage& m) noexcept;
        // The slot, or kShortQueue when none is accepted.
        [[nodiscard]] unsigned find(const MatchSpec& spec, std::uint64_t& examined) const noexcept;
        void remove(unsigned slot) noexcept { order_.remove(slot); }
        void remove(const UnexpectedMessage& m) noexcept;
        DetachedList<UnexpectedMessage> detach_source(PeerId source) noexcept;

    private:
        Lanes source_, bits_low_, bits_high_;
        std::array<UnexpectedMessage*, kShortQueue> messages_;
        SlotOrder order_;
    };
    using Table = ChainTable<UnexpectedMessage>;

    struct Index {
        UnexpectedMessage* list{nullptr};
        std::size_t size{0};
        std::array<Table, kKeyClasses> tables;
        std::array<UnexpectedMessage*, kKeyClasses> newer{};   // the first in the list that is not in the table, or null

        void push_back(UnexpectedMessage& m, const Rules& rules) noexcept;
        bool enter(UnexpectedMessage& m, unsigned c, const Rules& rules) noexcept;
        UnexpectedMessage* find(const MatchSpec& spec, const Rules& rules, std::uint64_t& examined) noexcept;
        UnexpectedMessage* find_newer(const MatchSpec& spec, unsigned c, const Rules& rules, std::uint64_t& examined) noexcept;
        void remove(UnexpectedMessage& m, const Rules& rules) noexcept;
    };

    Index& to_index(const Rules& rules) noexcept;
    void to_short_when_few(Index& index) noexcept;

    std::variant<Short, Index> queue_;
};

}   // namespace linnet::match

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The unexpected-message queue of one match space.
//
// Short queues are a SmallRing. Beyond it, a message is in the list of all messages in order of arrival, and in the chain of its
// key in every *active* class: a class is active from the first search that needs it until the queue is short again. So programs
// pay for the kinds of receives they use, and each message enters each table at most once. A search reads
// the head of one chain, or walks the list when its mask is arbitrary. Guarded by the lock of the match space; never fails: a
// class for which there is no memory is inactive and its searches walk the list.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <variant>

#include "match/chain_table.h"
#include "match/element.h"
#include "match/small_ring.h"

namespace linnet::match {

class UnexpectedQueue {
public:
    [[nodiscard]] std::size_t size() const noexcept;
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
    struct Entry {
        std::uint64_t bits;
        UnexpectedMessage* message;
        PeerId source;
    };
    using Ring = SmallRing<Entry>;
    using Table = ChainTable<UnexpectedMessage>;

    struct Index {
        struct Keys;
        std::array<Table, kKeyClasses> tables;
        std::array<bool, kKeyClasses> active{};
        UnexpectedMessage* list{nullptr};
        std::size_t size{0};

        void push_back(UnexpectedMessage& m, const Rules& rules) noexcept;
        UnexpectedMessage* find(const MatchSpec& spec, const Rules& rules, std::uint64_t& examined) noexcept;
        void remove(UnexpectedMessage& m, const Rules& rules) noexcept;
        void enter(UnexpectedMessage& m, std::uint64_t hash, const Key& key, unsigned c, const Rules& rules) noexcept;
        void activate(unsigned c, const Rules& rules) noexcept;
    };

    static unsigned ring_matches(const Ring& ring, const MatchSpec& spec, std::uint64_t& examined) noexcept;
    Index& to_index(const Rules& rules) noexcept;
    void to_ring_when_short(Index& index) noexcept;

    std::variant<Ring, Index> queue_;
};

}   // namespace linnet::match

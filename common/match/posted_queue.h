// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The posted-receive queue of one match space.
//
// Short queues are a SmallRing. Beyond it, a receive is in exactly one chain: that of its key in the table of its class, or the
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
#include "match/small_ring.h"

namespace linnet::match {

class PostedQueue {
public:
    [[nodiscard]] std::size_t size() const noexcept;
    void push_back(PostedReceive& r, const Rules& rules) noexcept;
    // Removes and returns the oldest receive that accepts the message, or returns null.
    PostedReceive* take(PeerId source, std::uint64_t bits, const Rules& rules, std::uint64_t& examined) noexcept;
    // True when `r` was in the queue; now removed.
    bool remove(PostedReceive& r, const Rules& rules) noexcept;
    // Removes the receives that name exactly `source`, or all. In no particular order.
    DetachedList<PostedReceive> detach_source(PeerId source) noexcept;
    DetachedList<PostedReceive> detach_all() noexcept;

private:
    struct Entry {
        std::uint64_t bits;
        std::uint64_t care;          // ~ignore
        PostedReceive* receive;
        PeerId source;
        std::uint32_t source_care;   // 0 for any source
    };
    using Ring = SmallRing<Entry>;
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

    static void add(Ring& ring, PostedReceive& r) noexcept;
    Index& to_index(const Rules& rules) noexcept;
    void to_ring_when_short(Index& index) noexcept;

    std::variant<Ring, Index> queue_;
};

}   // namespace linnet::match

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// BulkBook: the bulk transfers between a SessionNode and one peer, and what a session promises about them.
//
// As in proto/, the receiver asks, over the lane, and asks again under a new generation for what has not come when its bulk link went down; in the end it asks
// for nothing. The sender begins again what it was asked for when its own link went down. A transfer is a few pieces whose lengths and bytes follow from its
// number. Checked is that each landing ends once, before the link is told to be down, with the bytes that were sent; that nothing writes to it afterwards; that
// no link delivers anything once it was told to be down; and that the sender's bytes come back once, and are referenced by nobody then.
//
// Owner: a NodePeer. Threads: the poller.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "support/sim_transport.h"

namespace linnet::testing {

class BulkBook {
public:
    // The words of a receiver: pieces of its transfer `slot` from `from` on.
    struct Order {
        std::uint32_t slot{0};   // 0: none
        std::uint32_t generation{0};
        std::uint32_t from{0};
    };
    // One transfer at its sender, one piece at a time.
    struct Out {
        Order order;
        std::uint32_t next{0};
        bool in_flight{false};
        wire::BulkHead head;
        std::vector<std::byte> bytes;
    };

    BulkBook(SimNet& net, std::vector<std::string>& faults) : net_{net}, faults_{faults} {}
    std::size_t largest{40};   // of a piece; the same for both sides

    // ---- receiver; `sender` is its endpoint id ----
    [[nodiscard]] Order ask();
    [[nodiscard]] Landing begin(const wire::BulkHead& head);
    // Returns what to say: that it was the last piece.
    [[nodiscard]] Order end(std::uint64_t sender, void* cookie, std::size_t landed, bool ok);

    // ---- sender, of the endpoint id `self` ----
    void ordered(const Order& order);
    // The next piece that could be sent; null: none. Then what became of it: the link has it, or has written it.
    [[nodiscard]] Out* next_out(std::uint64_t self);
    void taken(Out& out, bool written);
    // False: the cookie is not ours.
    [[nodiscard]] bool sent(void* cookie);

    // ---- both ----
    // The bulk link is down: what must be asked for again.
    [[nodiscard]] std::vector<Order> link_down();
    // All that was asked for is here, and nothing is on its way from here.
    [[nodiscard]] bool complete() const;
    // The peer is lost, or the test is over.
    void check_at_rest();

private:
    struct In {
        Order order;   // the latest; its `from` is the next piece
        bool landing{false};
    };
    struct Place {
        wire::BulkHead head;
        In* transfer;   // null: not wanted, read and thrown away
        std::vector<std::byte> memory;
        bool open{true};
    };
    [[nodiscard]] static std::uint32_t pieces(std::uint32_t slot) { return 1 + slot % 4; }
    [[nodiscard]] std::size_t piece_bytes(std::uint32_t slot, std::uint32_t piece) const { return (slot * 977 + piece * 331) % (largest + 1); }
    void heard(std::uint16_t link);
    void give_back(Out& out);
    void fault(const std::string& text) { faults_.push_back(text); }

    SimNet& net_;
    std::vector<std::string>& faults_;
    std::deque<In> in_;
    std::deque<std::unique_ptr<Place>> places_;   // also those whose landing is over: nothing may change there
    std::deque<Out> out_;
    std::size_t turn_{0};           // of out_
    std::uint16_t own_link_{0};     // counts our bulk links: which one a piece goes over
    std::uint16_t peer_link_{0};    // by its pieces, the link that they come over
    bool heard_any_{false};
    bool heard_since_down_{false};
};

}   // namespace linnet::testing

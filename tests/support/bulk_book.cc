// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// BulkBook.
#include "support/bulk_book.h"

#include <algorithm>
#include <cstring>

#include "support/pattern.h"

namespace linnet::testing {

namespace {
constexpr std::byte kPoison{0xdb};

std::uint64_t pattern_of(std::uint64_t sender, std::uint32_t slot, std::uint32_t piece) { return sender << 24 | std::uint64_t{slot} << 8 | piece; }
}   // namespace

// ---- receiver ----

BulkBook::Order BulkBook::ask()
{
    in_.push_back({{static_cast<std::uint32_t>(in_.size() + 1), 1, 0}});
    return in_.back().order;
}

// A link whose pieces were seen is over when it was told to be down; what comes then comes over another one.
void BulkBook::heard(std::uint16_t link)
{
    if (heard_since_down_ ? link != peer_link_ : heard_any_ && static_cast<std::int16_t>(link - peer_link_) <= 0) {
        fault("a bulk packet of link " + std::to_string(link) + (heard_since_down_ ? " while " : " after the end of ") + std::to_string(peer_link_));
    }
    peer_link_ = link;
    heard_any_ = heard_since_down_ = true;
}

Landing BulkBook::begin(const wire::BulkHead& head)
{
    const std::uint32_t slot = head.recv_slot.get();
    const auto piece = static_cast<std::uint32_t>(head.offset.get());
    const std::size_t bytes = head.body_bytes.get();
    places_.push_back(std::make_unique<Place>());
    Place& place = *places_.back();
    place.head = head;
    place.transfer = nullptr;
    if (slot == 0) {   // a piece that a test made itself
        place.memory.resize(bytes);
        return {place.memory.data(), bytes, &place};
    }
    heard(head.flags.get());
    In* const t = slot <= in_.size() ? &in_[slot - 1] : nullptr;
    if (t == nullptr || head.recv_generation.get() > t->order.generation || bytes != piece_bytes(slot, piece)) {
        fault("a bulk packet that nobody sent");
    } else if (head.recv_generation.get() == t->order.generation) {   // an older one is thrown away
        if (t->landing || piece != t->order.from) {
            fault("bulk piece " + std::to_string(piece) + " instead of " + std::to_string(t->order.from));
        } else {
            t->landing = true;
            place.transfer = t;
            place.memory.resize(bytes);
        }
    }
    return {place.memory.data(), place.memory.size(), &place};
}

BulkBook::Order BulkBook::end(std::uint64_t sender, void* cookie, std::size_t landed, bool ok)
{
    const auto it = std::find_if(places_.begin(), places_.end(), [cookie](const auto& p) { return p.get() == cookie; });
    if (it == places_.end() || !(*it)->open) {
        fault("a bulk landing ended that had not begun, or twice");
        return {};
    }
    Place& place = **it;
    const std::size_t bytes = place.head.body_bytes.get();
    if (landed > bytes || (ok && landed != bytes)) {
        fault("a bulk packet of " + std::to_string(bytes) + " bytes ended after " + std::to_string(landed));
    }
    Order over;
    if (In* const t = place.transfer; t != nullptr) {
        t->landing = false;
        const std::span<const std::byte> all = std::span{place.memory}.first(std::min(landed, bytes));
        if (pattern_mismatch(all, pattern_of(sender, t->order.slot, t->order.from)) != all.size()) {
            fault("wrong bytes in a bulk piece");
        }
        t->order.from += ok ? 1 : 0;
        if (t->order.from == pieces(t->order.slot)) {
            ++t->order.generation;
            over = t->order;
        }
    }
    place.open = false;
    std::fill(place.memory.begin(), place.memory.end(), kPoison);
    return over;
}

// ---- sender ----

void BulkBook::ordered(const Order& order)
{
    const auto it = std::find_if(out_.begin(), out_.end(), [&order](const Out& o) { return o.order.slot == order.slot; });
    Out& out = it == out_.end() ? out_.emplace_back() : *it;
    if (order.generation <= out.order.generation) {
        fault("an order that is older than the one before it");
    }
    out.order = order;
    out.next = order.from;
}

BulkBook::Out* BulkBook::next_out(std::uint64_t self)
{
    for (std::size_t i = 0; i < out_.size(); ++i) {
        Out& o = out_[(turn_ + i) % out_.size()];
        if (o.in_flight || o.next >= pieces(o.order.slot)) {
            continue;
        }
        turn_ = (turn_ + i + 1) % out_.size();
        o.bytes.resize(piece_bytes(o.order.slot, o.next));
        fill_pattern(o.bytes, pattern_of(self, o.order.slot, o.next));
        o.head.flags.set(own_link_);
        o.head.body_bytes.set(static_cast<std::uint32_t>(o.bytes.size()));
        o.head.recv_slot.set(o.order.slot);
        o.head.recv_generation.set(o.order.generation);
        o.head.offset.set(o.next);
        return &o;
    }
    return nullptr;
}

void BulkBook::taken(Out& out, bool written)
{
    ++out.next;
    out.in_flight = true;
    if (written) {
        give_back(out);
    }
}

bool BulkBook::sent(void* cookie)
{
    const auto it = std::find_if(out_.begin(), out_.end(), [cookie](const Out& o) { return &o == cookie; });
    if (it == out_.end()) {
        return false;
    }
    if (!it->in_flight) {
        fault("a bulk piece came back twice");
    }
    give_back(*it);
    return true;
}

void BulkBook::give_back(Out& out)
{
    out.in_flight = false;
    if (net_.references(out.bytes.data(), out.bytes.size()) || net_.references(&out.head, sizeof out.head)) {
        fault("a bulk piece came back while a link still points at it");
    }
    std::fill(out.bytes.begin(), out.bytes.end(), kPoison);
}

// ---- both ----

std::vector<BulkBook::Order> BulkBook::link_down()
{
    heard_since_down_ = false;
    ++own_link_;
    for (Out& o : out_) {
        if (o.in_flight) {
            fault("the bulk link is down, and has not given a piece back");
        }
        o.next = o.order.from;
    }
    std::vector<Order> again;
    for (In& t : in_) {
        if (t.landing) {
            fault("the bulk link is down, and a landing has not ended");
        }
        if (t.order.from < pieces(t.order.slot)) {
            ++t.order.generation;
            again.push_back(t.order);
        }
    }
    return again;
}

bool BulkBook::complete() const
{
    return std::all_of(in_.begin(), in_.end(), [](const In& t) { return t.order.from == pieces(t.order.slot); }) &&
           std::none_of(out_.begin(), out_.end(), [](const Out& o) { return o.in_flight; });
}

void BulkBook::check_at_rest()
{
    for (const auto& p : places_) {
        if (p->open) {
            fault("a bulk landing never ended");
        } else if (std::any_of(p->memory.begin(), p->memory.end(), [](std::byte b) { return b != kPoison; })) {
            fault("something was written to a landing that had ended");
        }
    }
    if (std::any_of(out_.begin(), out_.end(), [](const Out& o) { return o.in_flight; })) {
        fault("a bulk piece never came back");
    }
}

}   // namespace linnet::testing

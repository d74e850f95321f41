// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Posted receives: ring for short queues, tables of chains for long ones.
#include "match/posted_queue.h"

#include <algorithm>
#include <bit>

namespace linnet::match {

namespace {
// An index this short becomes a ring again. The distance to the ring's capacity pays for the way there and back.
constexpr std::size_t kBackToRing = 2;
}   // namespace

// ---- the index ----

void PostedQueue::Index::push_back(PostedReceive& r, const Rules& rules) noexcept
{
    ElementAccess::sequence(r) = next_sequence++;
    ++size;
    const KeyClass c = rules.classify(r.spec);
    const Key key = ElementAccess::key(r, c, rules);
    if (c == kOrder || !tables[c].push_back(r, rules.hash(key), key, c, rules)) {
        chain_push_back(list, r, kOrder);
    }
}

PostedReceive* PostedQueue::Index::take(PeerId source, std::uint64_t bits, const Rules& rules, std::uint64_t& examined) noexcept
{
    std::array<Key, kKeyClasses> key;
    std::array<std::uint64_t, kKeyClasses> hash;
    for (unsigned c = 0; c < kKeyClasses; ++c) {
        key[c] = rules.key(source, bits, c);
        hash[c] = rules.hash(key[c]);
        tables[c].prefetch(hash[c]);
    }
    Table::Slot* best = nullptr;
    unsigned best_class = kExact;
    std::uint64_t best_sequence = UINT64_MAX;
    for (unsigned c = 0; c < kKeyClasses; ++c) {
        Table::Slot* slot = tables[c].find(hash[c], key[c], c, rules, examined);
        if (slot != nullptr && ElementAccess::sequence(*slot->head) < best_sequence) {
            best = slot;
            best_class = c;
            best_sequence = ElementAccess::sequence(*slot->head);
        }
    }
    for (PostedReceive* r = list; r != nullptr && ElementAccess::sequence(*r) < best_sequence;
         r = ElementAccess::link(*r, kOrder).next) {
        ++examined;
        if (r->spec.accepts(source, bits)) {
            chain_remove(list, *r, kOrder);
            --size;
            return r;
        }
    }
    if (best == nullptr) {
        return nullptr;
    }
    --size;
    return &tables[best_class].pop_front(*best, best_class);
}

bool PostedQueue::Index::remove(PostedReceive& r, const Rules& rules) noexcept
{
    if (ElementAccess::link(r, kOrder).prev == nullptr) {
        return false;
    }
    --size;
    const KeyClass c = rules.classify(r.spec);
    const Key key = ElementAccess::key(r, c, rules);
    if (c == kOrder || !tables[c].remove(r, rules.hash(key), key, c, rules)) {   // memory was short when it came
        chain_remove(list, r, kOrder);
    }
    return true;
}

DetachedList<PostedReceive> PostedQueue::Index::detach_source(PeerId source) noexcept
{
    DetachedList<PostedReceive> out;
    const auto names_source = [source](const PostedReceive& r) { return r.spec.source == source; };
    for (const unsigned c : {unsigned{kExact}, unsigned{kAnyTagFlag}}) {
        size -= tables[c].detach_chains(names_source, c, out);
    }
    for (PostedReceive* r = list; r != nullptr;) {
        PostedReceive* next = ElementAccess::link(*r, kOrder).next;
        if (names_source(*r)) {
            chain_remove(list, *r, kOrder);
            out.push_back(*r);
            --size;
        }
        r = next;
    }
    return out;
}

DetachedList<PostedReceive> PostedQueue::Index::detach_all() noexcept
{
    DetachedList<PostedReceive> out;
    for (unsigned c = 0; c < kKeyClasses; ++c) {
        tables[c].detach_chains([](const PostedReceive&) { return true; }, c, out);
    }
    while (list != nullptr) {
        PostedReceive& r = *list;
        chain_remove(list, r, kOrder);
        out.push_back(r);
    }
    size = 0;
    return out;
}

// ---- the queue ----

std::size_t PostedQueue::size() const noexcept
{
    const Ring* ring = std::get_if<Ring>(&queue_);
    return ring != nullptr ? ring->size() : std::get_if<Index>(&queue_)->size;
}

void PostedQueue::push_back(PostedReceive& r, const Rules& rules) noexcept
{
    Ring* ring = std::get_if<Ring>(&queue_);
    if (ring != nullptr && !ring->full()) {
        add(*ring, r);
        return;
    }
    Index& index = ring != nullptr ? to_index(rules) : *std::get_if<Index>(&queue_);
    index.push_back(r, rules);
}

PostedReceive* PostedQueue::take(PeerId source, std::uint64_t bits, const Rules& rules, std::uint64_t& examined) noexcept
{
    if (Ring* ring = std::get_if<Ring>(&queue_); ring != nullptr) {
        const unsigned found = ring->matches([source, bits](const Entry& e) {
            return (((e.bits ^ bits) & e.care) | ((e.source.value ^ source.value) & e.source_care)) == 0;
        });
        if (found == 0) {
            examined += ring->size();
            return nullptr;
        }
        const unsigned age = static_cast<unsigned>(std::countr_zero(found));
        examined += age + 1;
        PostedReceive* r = (*ring)[age].receive;
        ring->remove(age);
        return r;
    }
    Index& index = *std::get_if<Index>(&queue_);
    PostedReceive* r = index.take(source, bits, rules, examined);
    to_ring_when_short(index);
    return r;
}

bool PostedQueue::remove(PostedReceive& r, const Rules& rules) noexcept
{
    if (Ring* ring = std::get_if<Ring>(&queue_); ring != nullptr) {
        const unsigned found = ring->matches([&r](const Entry& e) { return e.receive == &r; });
        if (found != 0) {
            ring->remove(static_cast<unsigned>(std::countr_zero(found)));
        }
        return found != 0;
    }
    Index& index = *std::get_if<Index>(&queue_);
    const bool removed = index.remove(r, rules);
    to_ring_when_short(index);
    return removed;
}

DetachedList<PostedReceive> PostedQueue::detach_source(PeerId source) noexcept
{
    if (Index* index = std::get_if<Index>(&queue_); index != nullptr) {
        DetachedList<PostedReceive> out = index->detach_source(source);
        to_ring_when_short(*index);
        return out;
    }
    DetachedList<PostedReceive> out;
    Ring& ring = *std::get_if<Ring>(&queue_);
    for (unsigned age = 0; age < ring.size();) {
        PostedReceive& r = *ring[age].receive;
        if (r.spec.source == source) {
            ring.remove(age);
            out.push_back(r);
        } else {
            ++age;
        }
    }
    return out;
}

DetachedList<PostedReceive> PostedQueue::detach_all() noexcept
{
    DetachedList<PostedReceive> out;
    if (Index* index = std::get_if<Index>(&queue_); index != nullptr) {
        out = index->detach_all();
    } else {
        const Ring& ring = *std::get_if<Ring>(&queue_);
        for (unsigned age = 0; age < ring.size(); ++age) {
            out.push_back(*ring[age].receive);
        }
    }
    queue_.emplace<Ring>();
    return out;
}

void PostedQueue::add(Ring& ring, PostedReceive& r) noexcept
{
    ring.push_back({r.spec.bits, ~r.spec.ignore, &r, r.spec.source, r.spec.source == kAnySource ? 0 : UINT32_MAX});
}

PostedQueue::Index& PostedQueue::to_index(const Rules& rules) noexcept
{
    const Ring ring = *std::get_if<Ring>(&queue_);
    Index& index = queue_.emplace<Index>();
    for (unsigned age = 0; age < ring.size(); ++age) {
        index.push_back(*ring[age].receive, rules);
    }
    return index;
}

void PostedQueue::to_ring_when_short(Index& index) noexcept
{
    if (index.size > kBackToRing) {
        return;
    }
    std::array<PostedReceive*, kBackToRing> left{};
    std::size_t count = 0;
    DetachedList<PostedReceive> all = index.detach_all();
    while (PostedReceive* r = all.pop()) {
        left[count++] = r;
    }
    std::sort(left.begin(), left.begin() + count, [](PostedReceive* a, PostedReceive* b) {
        return ElementAccess::sequence(*a) < ElementAccess::sequence(*b);
    });
    Ring& ring = queue_.emplace<Ring>();
    for (std::size_t i = 0; i < count; ++i) {
        add(ring, *left[i]);
    }
}

}   // namespace linnet::match

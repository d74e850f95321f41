// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Unexpected messages: ring for short queues, tables of chains for long ones.
#include "match/unexpected_queue.h"

#include <bit>

namespace linnet::match {

namespace {
// An index this short becomes a ring again. The distance to the ring's capacity pays for the way there and back.
constexpr std::size_t kBackToRing = 2;
}   // namespace

// ---- the index ----

// The keys of one message in all active classes; the places of all are being loaded when the constructor returns.
struct UnexpectedQueue::Index::Keys {
    Keys(const Index& index, const UnexpectedMessage& m, const Rules& rules) noexcept
    {
        for (unsigned c = 0; c < kKeyClasses; ++c) {
            if (index.active[c]) {
                key[c] = ElementAccess::key(m, c, rules);
                hash[c] = rules.hash(key[c]);
                index.tables[c].prefetch(hash[c]);
            }
        }
    }
    std::array<Key, kKeyClasses> key;
    std::array<std::uint64_t, kKeyClasses> hash;
};

void UnexpectedQueue::Index::push_back(UnexpectedMessage& m, const Rules& rules) noexcept
{
    const Keys keys{*this, m, rules};
    chain_push_back(list, m, kOrder);
    ++size;
    for (unsigned c = 0; c < kKeyClasses; ++c) {
        if (active[c]) {
            enter(m, keys.hash[c], keys.key[c], c, rules);
        }
    }
}

// A class that cannot hold every message is of no use: without memory it is dropped, and its searches walk the list.
void UnexpectedQueue::Index::enter(UnexpectedMessage& m, std::uint64_t hash, const Key& key, unsigned c,
                                   const Rules& rules) noexcept
{
    if (!tables[c].push_back(m, hash, key, c, rules)) {
        tables[c].clear();
        active[c] = false;
    }
}

void UnexpectedQueue::Index::activate(unsigned c, const Rules& rules) noexcept
{
    active[c] = true;
    for (UnexpectedMessage* m = list; m != nullptr && active[c]; m = ElementAccess::link(*m, kOrder).next) {
        const Key key = ElementAccess::key(*m, c, rules);
        enter(*m, rules.hash(key), key, c, rules);
    }
}

UnexpectedMessage* UnexpectedQueue::Index::find(const MatchSpec& spec, const Rules& rules, std::uint64_t& examined) noexcept
{
    const KeyClass c = rules.classify(spec);
    if (c != kOrder && !active[c]) {
        activate(c, rules);
    }
    if (c != kOrder && active[c]) {
        const Key key{spec.source, spec.bits & ~spec.ignore};
        const Table::Slot* slot = tables[c].find(rules.hash(key), key, c, rules, examined);
        return slot != nullptr ? slot->head : nullptr;
    }
    for (UnexpectedMessage* m = list; m != nullptr; m = ElementAccess::link(*m, kOrder).next) {
        ++examined;
        if (spec.accepts(m->source, m->bits)) {
            return m;
        }
    }
    return nullptr;
}

void UnexpectedQueue::Index::remove(UnexpectedMessage& m, const Rules& rules) noexcept
{
    const Keys keys{*this, m, rules};
    chain_remove(list, m, kOrder);
    --size;
    for (unsigned c = 0; c < kKeyClasses; ++c) {
        if (active[c]) {
            const bool found = tables[c].remove(m, keys.hash[c], keys.key[c], c, rules);
            LINNET_ASSERT(found);
            static_cast<void>(found);
        }
    }
}

// ---- the queue ----

std::size_t UnexpectedQueue::size() const noexcept
{
    const Ring* ring = std::get_if<Ring>(&queue_);
    return ring != nullptr ? ring->size() : std::get_if<Index>(&queue_)->size;
}

void UnexpectedQueue::push_back(UnexpectedMessage& m, const Rules& rules) noexcept
{
    Ring* ring = std::get_if<Ring>(&queue_);
    if (ring != nullptr && !ring->full()) {
        ring->push_back({m.bits, &m, m.source});
        return;
    }
    Index& index = ring != nullptr ? to_index(rules) : *std::get_if<Index>(&queue_);
    index.push_back(m, rules);
}

unsigned UnexpectedQueue::ring_matches(const Ring& ring, const MatchSpec& spec, std::uint64_t& examined) noexcept
{
    const std::uint64_t care = ~spec.ignore;
    const std::uint32_t source_care = spec.source == kAnySource ? 0 : UINT32_MAX;
    const unsigned found = ring.matches([&spec, care, source_care](const Entry& e) {
        return (((e.bits ^ spec.bits) & care) | ((e.source.value ^ spec.source.value) & source_care)) == 0;
    });
    examined += found == 0 ? ring.size() : static_cast<unsigned>(std::countr_zero(found)) + 1;
    return found;
}

UnexpectedMessage* UnexpectedQueue::find(const MatchSpec& spec, const Rules& rules, std::uint64_t& examined) noexcept
{
    if (const Ring* ring = std::get_if<Ring>(&queue_); ring != nullptr) {
        const unsigned found = ring_matches(*ring, spec, examined);
        return found == 0 ? nullptr : (*ring)[static_cast<unsigned>(std::countr_zero(found))].message;
    }
    return std::get_if<Index>(&queue_)->find(spec, rules, examined);
}

UnexpectedMessage* UnexpectedQueue::take(const MatchSpec& spec, const Rules& rules, std::uint64_t& examined) noexcept
{
    if (Ring* ring = std::get_if<Ring>(&queue_); ring != nullptr) {
        const unsigned found = ring_matches(*ring, spec, examined);
        if (found == 0) {
            return nullptr;
        }
        const unsigned age = static_cast<unsigned>(std::countr_zero(found));
        UnexpectedMessage* m = (*ring)[age].message;
        ring->remove(age);
        return m;
    }
    Index& index = *std::get_if<Index>(&queue_);
    UnexpectedMessage* m = index.find(spec, rules, examined);
    if (m != nullptr) {
        index.remove(*m, rules);
        to_ring_when_short(index);
    }
    return m;
}

void UnexpectedQueue::remove(UnexpectedMessage& m, const Rules& rules) noexcept
{
    if (Ring* ring = std::get_if<Ring>(&queue_); ring != nullptr) {
        const unsigned found = ring->matches([&m](const Entry& e) { return e.message == &m; });
        LINNET_ASSERT(found != 0);
        ring->remove(static_cast<unsigned>(std::countr_zero(found)));
        return;
    }
    Index& index = *std::get_if<Index>(&queue_);
    index.remove(m, rules);
    to_ring_when_short(index);
}

DetachedList<UnexpectedMessage> UnexpectedQueue::detach_source(PeerId source, const Rules& rules) noexcept
{
    DetachedList<UnexpectedMessage> out;
    if (Ring* ring = std::get_if<Ring>(&queue_); ring != nullptr) {
        for (unsigned age = 0; age < ring->size();) {
            UnexpectedMessage& m = *(*ring)[age].message;
            if (m.source == source) {
                ring->remove(age);
                out.push_back(m);
            } else {
                ++age;
            }
        }
        return out;
    }
    Index& index = *std::get_if<Index>(&queue_);
    for (UnexpectedMessage* m = index.list; m != nullptr;) {
        UnexpectedMessage* next = ElementAccess::link(*m, kOrder).next;
        if (m->source == source) {
            index.remove(*m, rules);
            out.push_back(*m);
        }
        m = next;
    }
    to_ring_when_short(index);
    return out;
}

DetachedList<UnexpectedMessage> UnexpectedQueue::detach_all() noexcept
{
    DetachedList<UnexpectedMessage> out;
    if (const Ring* ring = std::get_if<Ring>(&queue_); ring != nullptr) {
        for (unsigned age = 0; age < ring->size(); ++age) {
            out.push_back(*(*ring)[age].message);
        }
    } else {
        Index& index = *std::get_if<Index>(&queue_);
        while (index.list != nullptr) {
            UnexpectedMessage& m = *index.list;
            chain_remove(index.list, m, kOrder);
            out.push_back(m);
        }
    }
    queue_.emplace<Ring>();
    return out;
}

UnexpectedQueue::Index& UnexpectedQueue::to_index(const Rules& rules) noexcept
{
    const Ring ring = *std::get_if<Ring>(&queue_);
    Index& index = queue_.emplace<Index>();
    for (unsigned age = 0; age < ring.size(); ++age) {
        index.push_back(*ring[age].message, rules);
    }
    return index;
}

void UnexpectedQueue::to_ring_when_short(Index& index) noexcept
{
    if (index.size <= kBackToRing) {
        DetachedList<UnexpectedMessage> left = detach_all();
        while (UnexpectedMessage* m = left.pop()) {
            std::get_if<Ring>(&queue_)->push_back({m->bits, m, m->source});
        }
    }
}

}   // namespace linnet::match

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Unexpected messages: arrays for short queues, tables of chains for long ones.
#include "match/unexpected_queue.h"

namespace linnet::match {

namespace {
// An index with so few messages becomes Short again. The distance to kShortQueue pays for the way there and back.
constexpr std::size_t kFew = 2;

// Receives that find theirs within so many messages are taken to follow the order of arrival, and no table is made for them
// beyond what they pass. Larger: more cold messages are read in vain when the order is another one.
constexpr std::size_t kSoon = 8;
}   // namespace

// ---- a short queue ----

void UnexpectedQueue::Short::push_back(UnexpectedMessage& m) noexcept
{
    const unsigned slot = order_.add();
    source_.set(slot, m.source.value);
    bits_low_.set(slot, static_cast<std::uint32_t>(m.bits));
    bits_high_.set(slot, static_cast<std::uint32_t>(m.bits >> 32));
    messages_[slot] = &m;
}

unsigned UnexpectedQueue::Short::find(const MatchSpec& spec, std::uint64_t& examined) const noexcept
{
    if (order_.size() == 0) {
        return kShortQueue;
    }
    const std::uint32_t source_care = spec.source == kAnySource ? 0 : UINT32_MAX;
    const auto low = static_cast<std::uint32_t>(spec.bits);
    const auto high = static_cast<std::uint32_t>(spec.bits >> 32);
    const auto care_low = static_cast<std::uint32_t>(~spec.ignore);
    const auto care_high = static_cast<std::uint32_t>(~spec.ignore >> 32);
    const unsigned found = order_.used() & Lanes::zeros([&](unsigned h) {
        return ((source_.half(h) ^ spec.source.value) & source_care) | ((bits_low_.half(h) ^ low) & care_low) |
               ((bits_high_.half(h) ^ high) & care_high);
    });
    if (found == 0) {
        examined += order_.size();
        return kShortQueue;
    }
    const unsigned slot = order_.oldest(found);
    examined += order_.age(slot) + 1;
    return slot;
}

void UnexpectedQueue::Short::remove(const UnexpectedMessage& m) noexcept
{
    unsigned slot = 0;
    while (slot < kShortQueue && ((order_.used() >> slot & 1U) == 0 || messages_[slot] != &m)) {
        ++slot;
    }
    order_.remove(slot);   // which asserts that it was found
}

DetachedList<UnexpectedMessage> UnexpectedQueue::Short::detach_source(PeerId source) noexcept
{
    DetachedList<UnexpectedMessage> out;
    for (unsigned age = 0; age < order_.size();) {
        const unsigned slot = order_.slot(age);
        if (messages_[slot]->source == source) {
            order_.remove(slot);
            out.push_back(*messages_[slot]);
        } else {
            ++age;
        }
    }
    return out;
}

// ---- the index ----

void UnexpectedQueue::Index::push_back(UnexpectedMessage& m, const Rules& rules) noexcept
{
    chain_push_back(list, m, kOrder);
    ++size;
    for (unsigned c = 0; c < kKeyClasses; ++c) {
        if (newer[c] == nullptr && (tables[c].empty() || !enter(m, c, rules))) {
            newer[c] = &m;
        }
    }
}

bool UnexpectedQueue::Index::enter(UnexpectedMessage& m, unsigned c, const Rules& rules) noexcept
{
    const Key key = ElementAccess::key(m, c, rules);
    return tables[c].push_back(m, rules.hash(key), key, c, rules);
}

UnexpectedMessage* UnexpectedQueue::Index::find(const MatchSpec& spec, const Rules& rules, std::uint64_t& examined) noexcept
{
    const KeyClass c = rules.classify(spec);
    if (c != kOrder) {
        const Key key{spec.source, spec.bits & ~spec.ignore};
        const Table::Slot* slot = tables[c].find(rules.hash(key), key, c, rules, examined);
        return slot != nullptr ? slot->head : find_newer(spec, c, rules, examined);
    }
    for (UnexpectedMessage* m = list; m != nullptr; m = ElementAccess::link(*m, kOrder).next) {
        ++examined;
        if (spec.accepts(m->source, m->bits)) {
            return m;
        }
    }
    return nullptr;
}

// Walks the newer part of the list; the table grows over what is passed. A walk that finds nothing soon goes on to the end.
UnexpectedMessage* UnexpectedQueue::Index::find_newer(const MatchSpec& spec, unsigned c, const Rules& rules,
                                                      std::uint64_t& examined) noexcept
{
    UnexpectedMessage* found = nullptr;
    bool entering = true;
    std::size_t passed = 0;
    for (UnexpectedMessage* m = newer[c]; m != nullptr; m = ElementAccess::link(*m, kOrder).next, ++passed) {
        if (found == nullptr) {
            ++examined;
            found = spec.accepts(m->source, m->bits) ? m : nullptr;
        }
        if (found != nullptr && (passed < kSoon || !entering)) {
            break;
        }
        entering = entering && enter(*m, c, rules);
        if (entering) {
            newer[c] = ElementAccess::link(*m, kOrder).next;
        }
    }
    return found;
}

void UnexpectedQueue::Index::remove(UnexpectedMessage& m, const Rules& rules) noexcept
{
    std::array<Key, kKeyClasses> key;
    std::array<std::uint64_t, kKeyClasses> hash;
    const auto entered = [&m](unsigned c) { return ElementAccess::link(m, c).prev != nullptr; };
    for (unsigned c = 0; c < kKeyClasses; ++c) {
        if (entered(c)) {
            key[c] = ElementAccess::key(m, c, rules);
            hash[c] = rules.hash(key[c]);
            tables[c].prefetch(hash[c]);
        } else if (newer[c] == &m) {
            newer[c] = ElementAccess::link(m, kOrder).next;
        }
    }
    chain_remove(list, m, kOrder);
    --size;
    for (unsigned c = 0; c < kKeyClasses; ++c) {
        if (entered(c)) {
            const bool found = tables[c].remove(m, hash[c], key[c], c, rules);
            LINNET_ASSERT(found);
            static_cast<void>(found);
        }
    }
}

// ---- the queue ----

std::size_t UnexpectedQueue::size() const noexcept
{
    const Short* few = std::get_if<Short>(&queue_);
    return few != nullptr ? few->order().size() : std::get_if<Index>(&queue_)->size;
}

void UnexpectedQueue::push_back(UnexpectedMessage& m, const Rules& rules) noexcept
{
    Short* few = std::get_if<Short>(&queue_);
    if (few != nullptr && !few->order().full()) {
        few->push_back(m);
        return;
    }
    Index& index = few != nullptr ? to_index(rules) : *std::get_if<Index>(&queue_);
    index.push_back(m, rules);
}

UnexpectedMessage* UnexpectedQueue::find(const MatchSpec& spec, const Rules& rules, std::uint64_t& examined) noexcept
{
    if (const Short* few = std::get_if<Short>(&queue_); few != nullptr) {
        const unsigned slot = few->find(spec, examined);
        return slot == kShortQueue ? nullptr : &few->message(slot);
    }
    return std::get_if<Index>(&queue_)->find(spec, rules, examined);
}

UnexpectedMessage* UnexpectedQueue::take(const MatchSpec& spec, const Rules& rules, std::uint64_t& examined) noexcept
{
    if (Short* few = std::get_if<Short>(&queue_); few != nullptr) {
        const unsigned slot = few->find(spec, examined);
        if (slot == kShortQueue) {
            return nullptr;
        }
        few->remove(slot);
        return &few->message(slot);
    }
    Index& index = *std::get_if<Index>(&queue_);
    UnexpectedMessage* m = index.find(spec, rules, examined);
    if (m != nullptr) {
        index.remove(*m, rules);
        to_short_when_few(index);
    }
    return m;
}

void UnexpectedQueue::remove(UnexpectedMessage& m, const Rules& rules) noexcept
{
    if (Short* few = std::get_if<Short>(&queue_); few != nullptr) {
        few->remove(m);
        return;
    }
    Index& index = *std::get_if<Index>(&queue_);
    index.remove(m, rules);
    to_short_when_few(index);
}

DetachedList<UnexpectedMessage> UnexpectedQueue::detach_source(PeerId source, const Rules& rules) noexcept
{
    if (Short* few = std::get_if<Short>(&queue_); few != nullptr) {
        return few->detach_source(source);
    }
    DetachedList<UnexpectedMessage> out;
    Index& index = *std::get_if<Index>(&queue_);
    for (UnexpectedMessage* m = index.list; m != nullptr;) {
        UnexpectedMessage* next = ElementAccess::link(*m, kOrder).next;
        if (m->source == source) {
            index.remove(*m, rules);
            out.push_back(*m);
        }
        m = next;
    }
    to_short_when_few(index);
    return out;
}

DetachedList<UnexpectedMessage> UnexpectedQueue::detach_all() noexcept
{
    DetachedList<UnexpectedMessage> out;
    if (Index* index = std::get_if<Index>(&queue_); index != nullptr) {
        while (index->list != nullptr) {
            UnexpectedMessage& m = *index->list;
            chain_remove(index->list, m, kOrder);
            for (unsigned c = 0; c < kKeyClasses; ++c) {
                ElementAccess::link(m, c) = {};   // the tables go as a whole, below
            }
            out.push_back(m);
        }
    } else {
        const Short& few = *std::get_if<Short>(&queue_);
        for (unsigned age = 0; age < few.order().size(); ++age) {
            out.push_back(few.message(few.order().slot(age)));
        }
    }
    queue_.emplace<Short>();
    return out;
}

UnexpectedQueue::Index& UnexpectedQueue::to_index(const Rules& rules) noexcept
{
    const Short few = *std::get_if<Short>(&queue_);
    Index& index = queue_.emplace<Index>();
    for (unsigned age = 0; age < few.order().size(); ++age) {
        index.push_back(few.message(few.order().slot(age)), rules);
    }
    return index;
}

void UnexpectedQueue::to_short_when_few(Index& index) noexcept
{
    if (index.size <= kFew) {
        DetachedList<UnexpectedMessage> left = detach_all();
        while (UnexpectedMessage* m = left.pop()) {
            std::get_if<Short>(&queue_)->push_back(*m);
        }
    }
}

}   // namespace linnet::match

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Posted receives: arrays for short queues, tables of chains for long ones.
#include "match/posted_queue.h"

#include <algorithm>

namespace linnet::match {

namespace {
// An index with so few receives becomes Short again. The distance to kShortQueue pays for the way there and back: with a ninth spec all receives move.
constexpr std::size_t kFew = 2;
}   // namespace

// ---- a short queue ----

[[gnu::always_inline]] inline bool PostedQueue::Short::push_back(PostedReceive& r) noexcept
{
    if (order_.size() != 0) {
        PostedReceive*& youngest = receives_[order_.slot(order_.size() - 1)];
        if (youngest->spec == r.spec) {   // nothing was posted between them, so whoever takes the one would take the other next
            if (PostedReceive*& last = ElementAccess::link(*youngest, kOrder).prev; last == nullptr) {
                last = youngest;   // it was alone, and in no chain
            }
            chain_push_back(youngest, r, kOrder);
            return true;
        }
    }
    if (order_.full()) {
        return false;
    }
    if (order_.size() == 1) {
        fill_lanes(order_.slot(0), receives_[order_.slot(0)]->spec);
    }
    const unsigned slot = order_.add();
    if (order_.size() != 1) {
        fill_lanes(slot, r.spec);
    }
    receives_[slot] = &r;
    return true;
}

void PostedQueue::Short::fill_lanes(unsigned slot, const MatchSpec& spec) noexcept
{
    source_.set(slot, spec.source.value);
    source_care_.set(slot, spec.source == kAnySource ? 0 : UINT32_MAX);
    bits_low_.set(slot, static_cast<std::uint32_t>(spec.bits));
    bits_high_.set(slot, static_cast<std::uint32_t>(spec.bits >> 32));
    care_low_.set(slot, static_cast<std::uint32_t>(~spec.ignore));
    care_high_.set(slot, static_cast<std::uint32_t>(~spec.ignore >> 32));
}

// A receive that is left alone has no links, as one that always was.
void PostedQueue::Short::unlink_if_alone(PostedReceive& head) noexcept
{
    if (ElementAccess::link(head, kOrder).next == nullptr) {
        ElementAccess::link(head, kOrder).prev = nullptr;
    }
}

PostedReceive* PostedQueue::Short::take_among(PeerId source, std::uint64_t bits, std::uint64_t& examined) noexcept
{
    const auto low = static_cast<std::uint32_t>(bits);
    const auto high = static_cast<std::uint32_t>(bits >> 32);
    const unsigned found = order_.used() & Lanes::zeros([&](unsigned h) {
        return ((source_.half(h) ^ source.value) & source_care_.half(h)) | ((bits_low_.half(h) ^ low) & care_low_.half(h)) |
               ((bits_high_.half(h) ^ high) & care_high_.half(h));
    });
    if (found == 0) {
        examined += order_.size();
        return nullptr;
    }
    const unsigned slot = order_.oldest(found);
    examined += order_.age(slot) + 1;
    return pop_front(slot);
}

std::size_t PostedQueue::Short::count() const noexcept
{
    std::size_t n = 0;
    for (unsigned age = 0; age < order_.size(); ++age) {
        for (PostedReceive* r = receives_[order_.slot(age)]; r != nullptr; r = ElementAccess::link(*r, kOrder).next) {
            ++n;
        }
    }
    return n;
}

PostedReceive* PostedQueue::Short::pop() noexcept { return order_.size() == 0 ? nullptr : pop_front(order_.slot(0)); }

bool PostedQueue::Short::remove(PostedReceive& r) noexcept
{
    for (unsigned age = 0; age < order_.size(); ++age) {
        const unsigned slot = order_.slot(age);
        PostedReceive*& head = receives_[slot];
        if (head == &r) {
            static_cast<void>(pop_front(slot));
            return true;
        }
        if (ElementAccess::link(*head, kOrder).prev == &r) {   // the youngest of several
            chain_remove(head, r, kOrder);
            unlink_if_alone(*head);
            return true;
        }
    }
    if (ElementAccess::link(r, kOrder).prev == nullptr) {
        return false;
    }
    chain_remove_inner(r, kOrder);
    return true;
}

DetachedList<PostedReceive> PostedQueue::Short::detach_source(PeerId source) noexcept
{
    DetachedList<PostedReceive> out;
    for (unsigned age = 0; age < order_.size();) {
        const unsigned slot = order_.slot(age);
        if (receives_[slot]->spec.source != source) {
            ++age;
            continue;
        }
        out.push_back(*pop_front(slot));   // the last of its chain takes the slot away
    }
    return out;
}

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
        if (!tables[c].empty()) {
            key[c] = rules.key(source, bits, c);
            hash[c] = rules.hash(key[c]);
            tables[c].prefetch(hash[c]);
        }
    }
    Table::Slot* best = nullptr;
    unsigned best_class = kExact;
    std::uint64_t best_sequence = UINT64_MAX;
    for (unsigned c = 0; c < kKeyClasses; ++c) {
        if (tables[c].empty()) {
            continue;
        }
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
    const Short* few = std::get_if<Short>(&queue_);
    return few != nullptr ? few->count() : std::get_if<Index>(&queue_)->size;
}

void PostedQueue::push_back(PostedReceive& r, const Rules& rules) noexcept
{
    Short* few = std::get_if<Short>(&queue_);
    if (few != nullptr && few->push_back(r)) {
        return;
    }
    Index& index = few != nullptr ? to_index(rules) : *std::get_if<Index>(&queue_);
    index.push_back(r, rules);
}

PostedReceive* PostedQueue::take_indexed(PeerId source, std::uint64_t bits, const Rules& rules, std::uint64_t& examined) noexcept
{
    Index& index = *std::get_if<Index>(&queue_);
    PostedReceive* r = index.take(source, bits, rules, examined);
    to_short_when_few(index);
    return r;
}

bool PostedQueue::remove(PostedReceive& r, const Rules& rules) noexcept
{
    if (Short* few = std::get_if<Short>(&queue_); few != nullptr) {
        return few->remove(r);
    }
    Index& index = *std::get_if<Index>(&queue_);
    const bool removed = index.remove(r, rules);
    to_short_when_few(index);
    return removed;
}

DetachedList<PostedReceive> PostedQueue::detach_source(PeerId source) noexcept
{
    if (Short* few = std::get_if<Short>(&queue_); few != nullptr) {
        return few->detach_source(source);
    }
    Index& index = *std::get_if<Index>(&queue_);
    DetachedList<PostedReceive> out = index.detach_source(source);
    to_short_when_few(index);
    return out;
}

DetachedList<PostedReceive> PostedQueue::detach_all() noexcept
{
    DetachedList<PostedReceive> out;
    if (Index* index = std::get_if<Index>(&queue_); index != nullptr) {
        out = index->detach_all();
    } else {
        Short& few = *std::get_if<Short>(&queue_);
        while (PostedReceive* const r = few.pop()) {
            out.push_back(*r);
        }
    }
    queue_.emplace<Short>();
    return out;
}

PostedQueue::Index& PostedQueue::to_index(const Rules& rules) noexcept
{
    Short few = *std::get_if<Short>(&queue_);
    Index& index = queue_.emplace<Index>();
    while (PostedReceive* const r = few.pop()) {
        index.push_back(*r, rules);
    }
    return index;
}

void PostedQueue::to_short_when_few(Index& index) noexcept
{
    if (index.size > kFew) {
        return;
    }
    std::array<PostedReceive*, kFew> left{};
    std::size_t count = 0;
    DetachedList<PostedReceive> all = index.detach_all();
    while (PostedReceive* r = all.pop()) {
        left[count++] = r;
    }
    std::sort(left.begin(), left.begin() + count, [](PostedReceive* a, PostedReceive* b) {
        return ElementAccess::sequence(*a) < ElementAccess::sequence(*b);
    });
    Short& few = queue_.emplace<Short>();
    for (std::size_t i = 0; i < count; ++i) {
        const bool pushed = few.push_back(*left[i]);
        LINNET_ASSERT(pushed);
        static_cast<void>(pushed);
    }
}

}   // namespace linnet::match

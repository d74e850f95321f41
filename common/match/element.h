// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What is matched: posted receives, unexpected messages, and the chains that link them.
//
// Elements are borrowed by a MatchSpace while queued: they must neither move nor die then. Everything here is guarded by the lock
// of the element's match space, nothing blocks, nothing allocates, nothing fails.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "base/ids.h"

namespace linnet {

inline constexpr PeerId kAnySource = kNoPeer;

// Which messages a receive or a probe accepts.
struct MatchSpec {
    PeerId source{kAnySource};   // kAnySource: every peer
    std::uint64_t bits{0};
    std::uint64_t ignore{0};     // a bit set here is not compared

    friend constexpr bool operator==(const MatchSpec&, const MatchSpec&) = default;
    [[nodiscard]] constexpr bool accepts(PeerId from, std::uint64_t message_bits) const noexcept
    {
        return ((bits ^ message_bits) & ~ignore) == 0 && (source == kAnySource || source == from);
    }
};

namespace match {

// How a spec can be looked up; the two wildcard flags combine. kOrder is the list for which no key exists: receives with an
// arbitrary mask, and all unexpected messages in the order of arrival.
enum KeyClass : unsigned { kExact = 0, kAnySourceFlag = 1, kAnyTagFlag = 2, kKeyClasses = 4, kOrder = kKeyClasses };

// A chain is a FIFO whose owner stores only the pointer to the oldest element: head->prev is the youngest, and the youngest's next
// is null. An element out of every chain has null links.
template <class T>
struct ChainLink {
    T* prev{nullptr};
    T* next{nullptr};
};

struct ElementAccess;

}   // namespace match

// A receive that waits for its message; base class of the owner's receive request.
class PostedReceive {
public:
    PostedReceive() = default;
    PostedReceive(const PostedReceive&) = delete;
    PostedReceive& operator=(const PostedReceive&) = delete;

    MatchSpec spec;   // set by the owner before post(), constant while queued

protected:
    ~PostedReceive() = default;

private:
    friend struct match::ElementAccess;
    std::uint64_t sequence_{0};   // order of posting; valid while chained
    match::ChainLink<PostedReceive> chain_;
};

// A message that arrived before its receive; base class of the owner's record of it.
class UnexpectedMessage {
public:
    UnexpectedMessage() = default;
    UnexpectedMessage(const UnexpectedMessage&) = delete;
    UnexpectedMessage& operator=(const UnexpectedMessage&) = delete;

    PeerId source{};        // these two are set by the owner before add_unexpected(), constant while queued
    std::uint64_t bits{0};

protected:
    ~UnexpectedMessage() = default;

private:
    friend struct match::ElementAccess;
    std::array<match::ChainLink<UnexpectedMessage>, match::kKeyClasses + 1> chains_;   // kOrder, and one per class
};

// The core embeds one of these in every request or message record.
static_assert(sizeof(PostedReceive) == 48);
static_assert(sizeof(UnexpectedMessage) == 96);

namespace match {

struct Key {
    PeerId source;         // kAnySource in the any-source classes
    std::uint64_t bits;    // without the ignored bits
    friend constexpr bool operator==(const Key&, const Key&) = default;
};

// What a match space fixes at its creation.
struct Rules {
    std::uint64_t wild_mask;
    std::uint64_t seed;      // keeps a peer that chooses its tags from choosing our hash collisions

    [[nodiscard]] constexpr KeyClass classify(const MatchSpec& s) const noexcept
    {
        const unsigned source_flag = s.source == kAnySource ? kAnySourceFlag : 0U;
        if (s.ignore == 0) {
            return static_cast<KeyClass>(source_flag);
        }
        return s.ignore == wild_mask ? static_cast<KeyClass>(source_flag | kAnyTagFlag) : kOrder;
    }
    // The key under which class `c` knows a message.
    [[nodiscard]] constexpr Key key(PeerId source, std::uint64_t bits, unsigned c) const noexcept
    {
        return {(c & kAnySourceFlag) != 0 ? kAnySource : source, (c & kAnyTagFlag) != 0 ? bits & ~wild_mask : bits};
    }
    // A folded 64 x 64 bit product and one more round: without it, keys in arithmetic progression meet in some strides.
    [[nodiscard]] std::uint64_t hash(const Key& k) const noexcept
    {
        __extension__ using Wide = unsigned __int128;
        const std::uint64_t factor = (k.source.value * 0x9E3779B97F4A7C15ULL ^ seed ^ 0xE7037ED1A0B428DBULL) | 1U;
        const Wide product = static_cast<Wide>(k.bits ^ seed ^ 0xA0761D6478BD642FULL) * factor;
        std::uint64_t h = static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64);
        h = (h ^ h >> 32) * 0xD6E8FEB86659FD93ULL;
        return h ^ h >> 32;
    }
};

// The one door to the private parts of elements; it also makes both kinds look alike to Chain and ChainTable.
struct ElementAccess {
    static ChainLink<PostedReceive>& link(PostedReceive& r, unsigned) noexcept { return r.chain_; }
    static ChainLink<UnexpectedMessage>& link(UnexpectedMessage& m, unsigned c) noexcept
    {
        return m.chains_[c == kOrder ? 0 : c + 1];
    }
    static std::uint64_t& sequence(PostedReceive& r) noexcept { return r.sequence_; }
    static Key key(const PostedReceive& r, unsigned, const Rules&) noexcept
    {
        return {r.spec.source, r.spec.bits & ~r.spec.ignore};
    }
    static Key key(const UnexpectedMessage& m, unsigned c, const Rules& rules) noexcept
    {
        return rules.key(m.source, m.bits, c);
    }
};

template <class T>
void chain_push_back(T*& head, T& e, unsigned c) noexcept
{
    ChainLink<T>& link = ElementAccess::link(e, c);
    link.next = nullptr;
    if (head == nullptr) {
        link.prev = &e;
        head = &e;
        return;
    }
    ChainLink<T>& first = ElementAccess::link(*head, c);
    link.prev = first.prev;
    ElementAccess::link(*first.prev, c).next = &e;
    first.prev = &e;
}

// True when `e` has neighbours on both sides, so that it can leave without its chain's head.
template <class T>
[[nodiscard]] bool chain_is_inner(T& e, unsigned c) noexcept
{
    const ChainLink<T>& link = ElementAccess::link(e, c);
    return link.next != nullptr && ElementAccess::link(*link.prev, c).next == &e;
}

template <class T>
void chain_remove_inner(T& e, unsigned c) noexcept
{
    ChainLink<T>& link = ElementAccess::link(e, c);
    ElementAccess::link(*link.prev, c).next = link.next;
    ElementAccess::link(*link.next, c).prev = link.prev;
    link = {};
}

template <class T>
void chain_remove(T*& head, T& e, unsigned c) noexcept
{
    ChainLink<T>& link = ElementAccess::link(e, c);
    LINNET_ASSERT(link.prev != nullptr);
    if (head == &e) {
        head = link.next;
    } else {
        ElementAccess::link(*link.prev, c).next = link.next;
    }
    if (T* heir = link.next != nullptr ? link.next : head; heir != nullptr) {   // the one whose prev was `e`
        ElementAccess::link(*heir, c).prev = link.prev;
    }
    link = {};
}

}   // namespace match

// Elements that left a match space together. They are the caller's again: pop them one by one, with or without the lock. Until then
// they count as not queued: cancelling one of them is harmless and says so.
template <class T>
class DetachedList {
public:
    [[nodiscard]] bool empty() const noexcept { return head_ == nullptr; }
    [[nodiscard]] T* pop() noexcept
    {
        T* e = head_;
        if (e != nullptr) {
            head_ = std::exchange(match::ElementAccess::link(*e, match::kExact).next, nullptr);
        }
        return e;
    }
    // For the match space: `e` must be in no chain. Only `next` is used, because a null `prev` is what tells "not queued".
    void push_back(T& e) noexcept
    {
        match::ElementAccess::link(e, match::kExact) = {};
        (head_ == nullptr ? head_ : match::ElementAccess::link(*tail_, match::kExact).next) = &e;
        tail_ = &e;
    }

private:
    T* head_{nullptr};
    T* tail_{nullptr};   // meaningless while empty
};

}   // namespace linnet

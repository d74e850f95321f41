// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What every transport needs to keep its links: LinkTable (ids, slots, wishes to connect), HotLinks, OpeningLinks, and the end of a link.
//
// Owner    One transport. Link is its own class, derived from LinkBase; slots are reused and never move.
// Threads  LinkTable says so by method. HotLinks, OpeningLinks and all members of LinkBase: the holder of the progress token.
// Locks    LinkTable has one, a leaf; the sink is never called under it.
// Blocking Never.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/intrusive_list.h"
#include "base/status.h"
#include "sync/chunk_table.h"
#include "sync/lock.h"
#include "transport/transport.h"

namespace linnet {

struct LinkBase : ListLink {   // linked: in the list of links that are being opened, or of those that ended
    LinkId id{};               // whom the slot stands for; zero while it is free
    std::uint32_t number{0};   // of the slot
    PeerId peer{kNoPeer};
    LinkRole role{LinkRole::kLane};
    bool hot{false};
    TimePoint deadline{TimePoint::max()};   // of opening
};

// The packet that a link is receiving into a landing, begun and not finished.
struct RxBody {
    bool in_body{false};
    Landing landing;
    std::size_t body_left{0};   // bytes of its payload that have not come
    std::size_t landed{0};      // bytes of it that are in place
};

// Slots with generations: an id never means a later link in the same slot. `Wish` is what connect() asks for beside peer and role.
template <class Link, class Wish, std::size_t MaxChunks = 1024>
class LinkTable {
public:
    struct Request {
        LinkId id;
        PeerId peer;
        LinkRole role;
        Wish wish;
    };

    // ---- any thread ----
    [[nodiscard]] Link* slot_of(LinkId id) const noexcept { return links_.at(static_cast<std::uint32_t>(id.value)); }
    // Slots that exist: numbers below it.
    [[nodiscard]] std::uint32_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }

    // An id for a link to be opened by the token holder, who finds the request in start(). kClosed, kNoMemory.
    [[nodiscard]] Result<LinkId> request(PeerId peer, LinkRole role, Wish wish) noexcept LINNET_EXCLUDES(lock_)
    {
        MutexLock lock{lock_};
        const Result<LinkId> id = reserve();
        if (!id.ok()) {
            return id;
        }
        try {
            requests_.push_back({*id, peer, role, std::move(wish)});
        } catch (const std::bad_alloc&) {
            free_.push_back(static_cast<std::uint32_t>(id->value));
            return Status::kNoMemory;
        }
        return id;
    }
    // The request was not started yet and shall not be.
    void withdraw(LinkId id) noexcept LINNET_EXCLUDES(lock_)
    {
        MutexLock lock{lock_};
        const auto it = std::find_if(requests_.begin(), requests_.end(), [id](const Request& r) { return r.id == id; });
        if (it != requests_.end()) {
            free_.push_back(static_cast<std::uint32_t>(id.value));
            requests_.erase(it);
        }
    }

    // ---- token holder ----
    // The link that this id means, unless it ended.
    [[nodiscard]] Link* find(LinkId id) const noexcept
    {
        Link* const link = slot_of(id);
        return link != nullptr && id.value != 0 && link->id == id ? link : nullptr;
    }
    [[nodiscard]] Link* at(std::uint32_t number) const noexcept { return links_.at(number); }

    // Calls occupy(request) for each new request, under the lock: from then on drop() finds a link where it found a request. Then start(link, request),
    // without it, for those that still are.
    template <class Occupy, class Start>
    unsigned start(Occupy&& occupy, Start&& start) noexcept LINNET_EXCLUDES(lock_)
    {
        std::vector<Request> requests;
        {
            MutexLock lock{lock_};
            requests.swap(requests_);
            for (Request& r : requests) {
                occupy(take(r.id, r.peer, r.role), r);
            }
        }
        for (Request& r : requests) {
            if (Link* const link = find(r.id)) {   // the end of an earlier one may have dropped it
                start(*link, r);
            }
        }
        return static_cast<unsigned>(requests.size());
    }
    // A slot for a link that somebody else opens; null for want of memory or when the table is closed.
    [[nodiscard]] Link* adopt() noexcept LINNET_EXCLUDES(lock_)
    {
        MutexLock lock{lock_};
        const Result<LinkId> id = reserve();
        return id.ok() ? &take(*id, kNoPeer, LinkRole::kLane) : nullptr;
    }
    // The link ended: its id finds nothing from now on. The slot is reused after recycle().
    void retire(Link& link) noexcept
    {
        link.id = {};
        link.deadline = TimePoint::max();
        ended_.push_back(link);
    }
    // When nobody below on the stack looks at links any more.
    void recycle() noexcept LINNET_EXCLUDES(lock_)
    {
        if (ended_.empty()) {
            return;
        }
        MutexLock lock{lock_};
        while (const Link* link = ended_.pop_front()) {
            free_.push_back(link->number);
        }
    }
    // No new links; requests are forgotten.
    void close() noexcept LINNET_EXCLUDES(lock_)
    {
        MutexLock lock{lock_};
        closed_ = true;
        requests_.clear();
    }
    [[nodiscard]] bool closed() const noexcept LINNET_EXCLUDES(lock_)
    {
        MutexLock lock{lock_};
        return closed_;
    }

private:
    using Links = ChunkTable<Link, 64, MaxChunks>;

    [[nodiscard]] Result<LinkId> reserve() noexcept LINNET_REQUIRES(lock_)
    {
        if (closed_) {
            return Status::kClosed;
        }
        if (free_.empty()) {
            const std::uint32_t first = links_.size();
            const std::uint32_t more = static_cast<std::uint32_t>(Links::kPerChunk);
            try {
                free_.reserve(first + more);   // every slot may be free at once: recycle() must not fail
                generations_.resize(first + more, 0);
            } catch (const std::bad_alloc&) {
                return Status::kNoMemory;
            }
            if (!links_.grow()) {
                return Status::kNoMemory;
            }
            limit_.store(links_.size(), std::memory_order_relaxed);
            for (std::uint32_t n = links_.size(); n > first; --n) {
                free_.push_back(n - 1);
            }
        }
        const std::uint32_t number = free_.back();
        free_.pop_back();
        generations_[number] = std::max(1u, generations_[number] + 1);
        return LinkId{(static_cast<std::uint64_t>(generations_[number]) << 32) | number};
    }
    Link& take(LinkId id, PeerId peer, LinkRole role) noexcept
    {
        Link& link = *slot_of(id);
        link.id = id;
        link.number = static_cast<std::uint32_t>(id.value);
        link.peer = peer;
        link.role = role;
        return link;
    }

    Links links_;
    std::atomic<std::uint32_t> limit_{0};
    IntrusiveList<Link> ended_;   // token holder
    mutable Mutex lock_;
    std::vector<std::uint32_t> free_ LINNET_GUARDED_BY(lock_);
    std::vector<std::uint32_t> generations_ LINNET_GUARDED_BY(lock_);   // by slot: of its latest id
    std::vector<Request> requests_ LINNET_GUARDED_BY(lock_);
    bool closed_ LINNET_GUARDED_BY(lock_){false};
};

// The few links that are looked at on each pass.
template <class Link, unsigned Max>
class HotLinks {
public:
    [[nodiscard]] unsigned count() const noexcept { return count_; }
    [[nodiscard]] bool empty() const noexcept { return count_ == 0; }
    [[nodiscard]] Link& operator[](unsigned i) const noexcept { return *links_[i]; }

    // Not hot yet, and there is room.
    void add(Link& link) noexcept
    {
        link.hot = true;
        links_[count_++] = &link;
    }
    void remove(Link& link) noexcept
    {
        if (!link.hot) {
            return;
        }
        link.hot = false;
        *std::find(links_.begin(), links_.begin() + count_, &link) = links_[count_ - 1];
        --count_;
    }
    // Calls look(link) for each; it may end and remove any link, and sums up what it returns.
    template <class Look>
    unsigned each(Look&& look) noexcept
    {
        unsigned done = 0;
        for (unsigned i = 0; i < count_;) {
            Link* const link = links_[i];
            done += look(*link);
            i += i < count_ && links_[i] == link ? 1u : 0u;   // else another one stands here now
        }
        return done;
    }

private:
    std::array<Link*, Max> links_{};
    unsigned count_{0};
};

// Links that are being opened, the oldest first, each with a deadline.
template <class Link>
class OpeningLinks {
public:
    [[nodiscard]] bool empty() const noexcept { return list_.empty(); }
    [[nodiscard]] Link* front() noexcept { return list_.front(); }
    [[nodiscard]] Link* next(Link& link) noexcept { return list_.next(link); }
    // Nothing is due before; max() when there is none.
    [[nodiscard]] TimePoint due() const noexcept { return due_; }

    void add(Link& link) noexcept { list_.push_back(link); }
    void set_deadline(Link& link, TimePoint deadline) noexcept
    {
        link.deadline = deadline;
        due_ = std::min(due_, deadline);
    }
    // It came up, or ended; nothing happens when it was not opening.
    void remove(Link& link) noexcept
    {
        if (link.linked()) {
            IntrusiveList<Link>::remove(link);
            due_ = list_.empty() ? TimePoint::max() : due_;   // no timer, no clock to read
        }
        link.deadline = TimePoint::max();
    }
    // Calls give_up(link), which removes it or gives it another deadline, for each that is past its deadline; returns how many.
    template <class GiveUp>
    unsigned expire(TimePoint now, GiveUp&& give_up) noexcept
    {
        if (now < due_) {
            return 0;
        }
        IntrusiveList<Link> rest;   // to be looked at; the sink may end any of them
        while (Link* const link = list_.pop_front()) {
            rest.push_back(*link);
        }
        unsigned done = 0;
        due_ = TimePoint::max();
        while (Link* const link = rest.pop_front()) {
            list_.push_back(*link);   // their order stays
            if (link->deadline <= now) {
                ++done;
                give_up(*link);
            } else {
                due_ = std::min(due_, link->deadline);
            }
        }
        return done;
    }

private:
    IntrusiveList<Link> list_;
    TimePoint due_{TimePoint::max()};
};

// What the sink has to hear when a link ended; told last, when the link is taken apart and its slot retired: the sink may call back.
struct LinkEnd {
    LinkId id;
    PeerId peer;
    LinkRole role;
    bool up;
    RxBody body;         // of a packet that it broke off
    void* cookie;        // of a bulk packet that it gives back, if cookie_held
    bool cookie_held;
};
inline void tell_end(TransportSink& sink, const LinkEnd& end, bool report, Status why, std::string_view text) noexcept
{
    if (end.body.in_body && end.role == LinkRole::kLane) {
        sink.on_packet_end(end.id, end.peer, end.body.landing.cookie, end.body.landed, false);
    } else if (end.body.in_body) {
        sink.on_bulk_end(end.id, end.peer, end.body.landing.cookie, end.body.landed, false);
    }
    if (end.cookie_held) {
        sink.on_bulk_sent(end.peer, end.cookie, false);
    }
    if (report) {
        sink.on_link_down(end.id, end.peer, end.role, end.up, why, text);
    }
}

}   // namespace linnet

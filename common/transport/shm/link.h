// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Link: two rings in a segment of shared memory and the socket that came with them, or the attempt to open that.
//
// Owner    ShmTransport's table. Slots are reused: `id` tells whom a slot stands for, and is zero while it is free. The slot's number is its bell.
// Threads  `tx` by any thread within a TxScope; the rest by the holder of the progress token.
// Life     kFree -> kRequested (connect(), any thread) -> kAwaitAnswer -> kAwaitWelcome -> kUp -> kFree      opener
//          kFree -> kAwaitOffer -> kAwaitHello -> kAwaitConfirm -> kUp -> kFree                            acceptor
//          From every state to kFree when it fails, is refused, times out or is dropped.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/clock.h"
#include "base/ids.h"
#include "sync/bell_page.h"
#include "sync/lock.h"
#include "sync/record_ring.h"
#include "sys/fd.h"
#include "sys/memfd.h"
#include "sys/remote_process.h"
#include "transport/link_table.h"
#include "transport/shm/segment.h"

namespace linnet::shm {

// ThreadSanitizer orders accesses by address, and where both ends of a link are in one process, as in tests, they map its memory at two. So it is told that who
// receives a record comes after all that its sender had done before. Nothing elsewhere.
#if defined(__SANITIZE_THREAD__)
#define LINNET_SHM_TELLS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define LINNET_SHM_TELLS_SANITIZER 1
#endif
#endif
#if defined(LINNET_SHM_TELLS_SANITIZER)
inline std::atomic<unsigned> sanitizer_order{0};
inline void tell_sanitizer_sending() noexcept { sanitizer_order.fetch_add(1, std::memory_order_release); }
inline void tell_sanitizer_received() noexcept { static_cast<void>(sanitizer_order.load(std::memory_order_acquire)); }
#else
inline void tell_sanitizer_sending() noexcept {}
inline void tell_sanitizer_received() noexcept {}
#endif

enum class LinkState : std::uint8_t { kFree, kRequested, kAwaitAnswer, kAwaitWelcome, kAwaitOffer, kAwaitHello, kAwaitConfirm, kUp };
[[nodiscard]] constexpr const char* state_text(LinkState s) noexcept
{
    switch (s) {
        case LinkState::kFree: return "free";
        case LinkState::kRequested: return "requested";
        case LinkState::kAwaitAnswer: return "waiting for the answer to our offer of memory";
        case LinkState::kAwaitWelcome: return "waiting for the answer to our hello";
        case LinkState::kAwaitOffer: return "waiting for an offer of memory";
        case LinkState::kAwaitHello: return "waiting for a hello";
        case LinkState::kAwaitConfirm: return "waiting for the confirmation of a hello";
        case LinkState::kUp: return "up";
    }
    return "?";
}

inline constexpr std::uint32_t kNeverTrimmed = UINT32_MAX;

struct Rx : RxBody {
    RingReader ring;
};

// What is being written: at most one packet, begun and not finished.
struct Tx {
    LinkId id{};                 // zero: the link is not up
    int fd{-1};                  // its socket: the doorbell
    RingWriter ring;
    std::atomic<std::uint64_t>* tally{nullptr};   // Link::tx_bytes
    BellPage* bells{nullptr};    // the peer's
    std::uint32_t bell{0};
    std::array<std::span<const std::byte>, 2> rest;   // borrowed: what of the packet is not in the ring yet
    std::size_t piece{0};        // and at most so much of it at a time
    bool waiting{false};         // for room, or for a pull: the peer rings when it frees something
    bool notify{false};          // on_writable() is owed
    bool cookie_held{false};     // a bulk packet is pending
    bool pulled{false};          // ... of which the peer reads the payload itself:
    std::uint32_t pull_end{0};   // done with when so many records are
    bool peer_pulls{false};      // it can
    bool broken{false};
    void* cookie{nullptr};

    [[nodiscard]] bool busy() const noexcept { return !rest[0].empty() || !rest[1].empty(); }
    void count(std::size_t bytes) noexcept { tally->store(tally->load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed); }
};

struct alignas(kCacheLine) Link : LinkBase {
    Role tx_side;
    Tx tx LINNET_GUARDED_BY(tx_side);
    Mutex own_lock;                           // of tx, unless
    std::atomic<Mutex*> lent_lock{nullptr};   // the sink's, under which it sends: while the link is up
    std::atomic<std::uint64_t> tx_bytes{0};   // in the slot's life; written with tx, read by anybody

    // ---- token holder ----
    LinkState state{LinkState::kFree};
    Side side{Side::kOpener};
    bool we_pull{false};                // we can read the peer's memory
    bool peer_pulls{false};
    std::uint32_t peer_bell{0};
    Fd fd;
    // How far it was when trim_idle() looked last, and up to where what was written is given back.
    std::uint32_t read_then{0};
    std::uint32_t written_then{0};
    std::uint32_t heard_then{0};        // records read, when look_for_the_dead() looked last
    bool empty_then{false};
    std::uint32_t trimmed{0};           // kNeverTrimmed: not at all, and looking for records made a page of it too
    Mapping segment;
    Mapping peer_page;                  // its bells
    RemoteProcess process;
    Rx rx;

    [[nodiscard]] bool up() const noexcept { return state == LinkState::kUp; }
    // The sink knows of it: it asked for it, or accepted its hello.
    [[nodiscard]] bool reported() const noexcept
    {
        return state != LinkState::kAwaitOffer && state != LinkState::kAwaitHello && state != LinkState::kFree;
    }
    [[nodiscard]] SegmentHead& head() const noexcept { return *reinterpret_cast<SegmentHead*>(segment.bytes().data()); }
};

// The right to use a link's `tx`. Senders to one peer exclude each other already, if their sink lent its lock; then a sender has nothing to lock, and the
// poller locks that.
//
// Proof. Of a link that is up `lent_lock` is constant: bring_up() sets it before tx.id, and end_link() takes tx.id back under it first. A sender knows the
// link from on_link_up(), which comes after, and its sink hears of the end before another link gets the slot; so between those two every sender holds the lent
// lock, and with it excludes the others and the poller. An id of before or after that finds another id, or none.
class LINNET_SCOPED_CAPABILITY TxScope {
public:
    enum class Who : std::uint8_t { kSender, kPoller };
    TxScope(Link& link, Who who) noexcept LINNET_ACQUIRE(link.tx_side) : lock_{lock_of(link, who)} { enter(); }
    ~TxScope() LINNET_RELEASE() { leave(); }
    TxScope(const TxScope&) = delete;
    TxScope& operator=(const TxScope&) = delete;

private:
    static Mutex* lock_of(Link& link, Who who) noexcept
    {
        Mutex* const lent = link.lent_lock.load(std::memory_order_relaxed);
        return lent == nullptr ? &link.own_lock : who == Who::kPoller ? lent : nullptr;
    }
    void enter() noexcept LINNET_NO_THREAD_SAFETY_ANALYSIS
    {
        if (lock_ != nullptr) {
            lock_->lock();
        }
        tell_sanitizer_sending();
    }
    void leave() noexcept LINNET_NO_THREAD_SAFETY_ANALYSIS
    {
        if (lock_ != nullptr) {
            lock_->unlock();
        }
    }

    Mutex* const lock_;
};

}   // namespace linnet::shm

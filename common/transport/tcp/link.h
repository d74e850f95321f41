// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Link: one TCP connection, or the attempt to open one.
//
// Owner    TcpTransport's table. Slots are reused: `id` tells whom a slot stands for, and is zero while it is free.
// Threads  `tx` by any thread under `tx_lock`; the rest by the holder of the progress token.
// Life     kFree -> kRequested (connect(), any thread) -> kConnecting -> kAwaitWelcome -> kUp -> kFree       opener
//          kFree -> kAwaitHello -> kAwaitConfirm -> kUp -> kFree                                             acceptor
//          From every state to kFree when it fails, is refused, times out or is dropped; an opener first goes back to kRequested for each further
//          address of its peer.
// Memory   An idle link holds no buffer: it borrows one only while a packet is half read.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/ids.h"
#include "sync/lock.h"
#include "sys/fd.h"
#include "sys/inet_address.h"
#include "transport/calls.h"
#include "transport/link_table.h"

namespace linnet::tcp {

enum class LinkState : std::uint8_t { kFree, kRequested, kConnecting, kAwaitWelcome, kAwaitHello, kAwaitConfirm, kUp };
[[nodiscard]] constexpr const char* state_text(LinkState s) noexcept
{
    switch (s) {
        case LinkState::kFree: return "free";
        case LinkState::kRequested: return "requested";
        case LinkState::kConnecting: return "connecting";
        case LinkState::kAwaitWelcome: return "waiting for the answer to our hello";
        case LinkState::kAwaitHello: return "waiting for a hello";
        case LinkState::kAwaitConfirm: return "waiting for the confirmation of a hello";
        case LinkState::kUp: return "up";
    }
    return "?";
}

// What the errno that ended a link in this state means, and which setting or limit may help (a clause for the end of a message, or nothing).
[[nodiscard]] Status status_of_failure(LinkState state, int error) noexcept;
[[nodiscard]] const char* advice_for(LinkState state, int error) noexcept;

// What is being read. `ahead` holds bytes [begin, end) that arrived and are not handled yet: a pooled buffer on a lane, `bulk_head` on a bulk link,
// whose packets go straight into their landing.
struct Rx : RxBody {
    std::byte* ahead{nullptr};
    std::uint32_t capacity{0};
    std::uint32_t begin{0};
    std::uint32_t end{0};
    std::uint32_t low_water{1};   // of the socket, in bytes: epoll tells of fewer only when no more can come
    bool waits{false};            // on a bulk link: nobody knows yet where the packet goes whose head is here (Landing::later), and resume_bulk() did not come
    bool unwatched{false};        // epoll was told meanwhile not to watch for more
    std::uint8_t expect_long{0};  // not 0: a long packet came lately, and this many short ones may come before it is forgotten
    std::array<std::byte, sizeof(wire::BulkHead)> bulk_head{};
};

// What is being written: at most one packet, begun and not finished.
struct Tx {
    LinkId id{};                  // zero: the link is not up
    int fd{-1};
    std::array<iovec, 2> rest{};  // borrowed: the remaining bytes of the packet
    unsigned pieces{0};           // of `rest`
    bool armed{false};            // epoll watches for room
    bool notify{false};           // on_writable() is owed
    bool cookie_held{false};      // a bulk packet is pending
    int error{0};                 // errno of the send that found the link broken
    void* cookie{nullptr};
    wire::BulkHead bulk_head;
};

inline constexpr std::size_t kHelloBuffer = kMaxHelloBytes;

// Where a name says that its process listens, in the order of OwnAddresses::order().
struct AddressList {
    std::array<InetAddress, wire::kNameAddressesMax> at{};
    unsigned count{0};
};

using Calls = linnet::Calls<InetAddress>;

struct alignas(kCacheLine) Link : LinkBase {
    Mutex tx_lock;
    Tx tx LINNET_GUARDED_BY(tx_lock);

    // ---- token holder ----
    Fd fd;
    LinkState state{LinkState::kFree};
    std::uint32_t idle_passes{0};         // hot: direct reads in a row that found nothing
    Rx rx;
    InetAddress remote;
    std::unique_ptr<std::array<std::byte, kHelloBuffer>> hello;   // only while opening
    std::unique_ptr<Calls> calls;                                 // likewise, and only of an opener
    std::uint32_t hello_bytes{0};

    [[nodiscard]] bool up() const noexcept { return state == LinkState::kUp; }
    // The sink knows of it: it asked for it, or accepted its hello.
    [[nodiscard]] bool reported() const noexcept { return state != LinkState::kAwaitHello && state != LinkState::kFree; }
};
// Two links to each of thousands of peers: the fixed part stays far below the 8 KiB that an idle peer may cost.
static_assert(sizeof(Link) <= 640);

}   // namespace linnet::tcp

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TraceRing: the last events of a context, for a look after trouble.
//
// Owner: the context, which makes a Trace only if the setting trace_events asks for it; its layers hold a pointer, which is null otherwise. Threads: any.
// Blocking: never, but Trace::tell() as the log does. Failure: without memory it stays empty; events that meet in one slot are dropped and counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/ids.h"
#include "base/log.h"

namespace linnet {

enum class TraceKind : std::uint8_t {
    kNone = 0,        // `a` and `b` of each kind:
    kSend,            // bytes, match bits
    kMatch,           // bytes, match bits: a message met its receive
    kUnexpected,      // bytes, match bits: a message waits for its receive
    kRndvStart,       // bytes, match bits: at the receiver
    kRndvEnd,         // bytes, Status as a number
    kComplete,        // bytes, Status as a number: a request has ended
    kLinkUp,          // link, role
    kLinkDown,        // link, Status as a number
    kPeerDown,        // Status as a number, 0
    kCount
};

struct TraceEvent {
    TimePoint time{};
    TraceKind kind{TraceKind::kNone};
    PeerId peer{kNoPeer};
    std::uint64_t a{0};
    std::uint64_t b{0};
};

// Slot n % capacity takes event n; the events of one lap before are overwritten.
//
// Proof. `next_` hands each event a number of its own, so two writers meet in a slot only when one is a whole lap late.
//   A slot's `turn` is 2n+2 when event n stands in it, 2n+1 while event n is being written, and only grows.
//   (C) the compare-and-swap from an even turn <= 2n to 2n+1 lets one writer in: whoever finds the slot odd (a late writer inside) or
//       already beyond n drops its event. So the fields have a single writer at a time; its predecessor's stores come before, since (C)
//       acquires the turn that (E) released.
//   (E) turn release 2n+2 after the fields  pairs with  (1) turn acquire in read: the fields of event n, or later ones, are visible.
//   (W) each field release  pairs with  (2) each field acquire in read: who sees a field of a later event m > n also sees turn >= 2m+1,
//       stored before it, in (3), which then differs from (1). So equal turns mean that all fields are of event n.
class TraceRing {
public:
    // `capacity` events, rounded up to a power of two; 0: none.
    explicit TraceRing(std::size_t capacity = 0) noexcept;
    ~TraceRing();
    TraceRing(const TraceRing&) = delete;
    TraceRing& operator=(const TraceRing&) = delete;

    // Ask before taking the time for an event.
    [[nodiscard]] bool on() const noexcept { return slots_ != nullptr; }
    void record(const TraceEvent& event) noexcept;

    // Calls sink(arg, event) for every event from number `first` on that is still there, oldest first, while others may go on recording. Returns the number
    // of the next event.
    std::uint64_t dump(void (*sink)(void* arg, const TraceEvent& event), void* arg, std::uint64_t first = 0) const;
    // One line without a newline, "12.345678 send peer 3 bytes 4096 bits 0x11"; cut at `room`.
    static void format(const TraceEvent& event, char* line, std::size_t room) noexcept;

    [[nodiscard]] std::size_t capacity() const noexcept { return on() ? mask_ + 1 : 0; }
    [[nodiscard]] std::uint64_t recorded() const noexcept { return next_.load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t dropped() const noexcept { return dropped_.load(std::memory_order_relaxed); }

private:
    struct Slot;
    [[nodiscard]] bool read(std::uint64_t number, TraceEvent& event) const noexcept;

    std::unique_ptr<Slot[]> slots_;
    std::size_t mask_{0};
    std::atomic<std::uint64_t> dropped_{0};
    alignas(kCacheLine) std::atomic<std::uint64_t> next_{0};
};

// The ring of a context, with its clock and its log.
class Trace {
public:
    // Borrows both.
    Trace(std::size_t capacity, const Clock& clock, const Log& log) noexcept : ring_{capacity}, clock_{clock}, log_{log} {}
    void note(TraceKind kind, PeerId peer, std::uint64_t a, std::uint64_t b) noexcept;
    // There is trouble: logs, as warnings, the events since it was asked last.
    void tell(const char* trouble) noexcept;

private:
    TraceRing ring_;
    const Clock& clock_;
    const Log& log_;
    std::atomic<std::uint64_t> told_{0};   // events before this number; relaxed: two who tell at a time may tell the same
};

inline void note(Trace* trace, TraceKind kind, PeerId peer, std::uint64_t a, std::uint64_t b) noexcept
{
    if (trace != nullptr) [[unlikely]] {
        trace->note(kind, peer, a, b);
    }
}

inline void tell(Trace* trace, const char* trouble) noexcept
{
    if (trace != nullptr) [[unlikely]] {
        trace->tell(trouble);
    }
}

}   // namespace linnet

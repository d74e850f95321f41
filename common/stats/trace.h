// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TraceRing: the last events of a context, for a look after trouble.
//
// Owner: the context; one each, empty (and then free of cost but a test) unless the setting trace_events asks for it. Threads: record()
// and dump() any. Blocking: never. Failure: without memory it stays empty; events that meet in one slot are dropped and counted.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "base/ids.h"

namespace linnet {

enum class TraceKind : std::uint8_t {
    kNone = 0,        // `a` and `b` of each kind:
    kSend,            // bytes, message number
    kReceive,         // bytes, message number
    kMatch,           // match bits, bytes
    kUnexpected,      // match bits, bytes
    kRndvStart,       // slot, bytes
    kRndvEnd,         // slot, Status as a number
    kComplete,        // bytes, Status as a number
    kLinkUp,          // link, role
    kLinkDown,        // link, Status as a number
    kPeerDown,        // Status as a number, 0
    kEventThread,     // state before, state after
    kToken,           // thread that gave it, thread that took it
    kCount
};
[[nodiscard]] const char* trace_kind_text(TraceKind kind) noexcept;

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

    // Calls sink(arg, event) for every event still there, oldest first, while others may go on recording.
    void dump(void (*sink)(void* arg, const TraceEvent& event), void* arg) const;
    // One line without a newline, "12.345678 send peer 3 a 4096 b 17"; cut at `room`.
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

}   // namespace linnet

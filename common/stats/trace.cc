// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TraceRing: recording and dumping.
#include "stats/trace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cinttypes>
#include <cstdio>
#include <new>

namespace linnet {

struct TraceRing::Slot {
    std::atomic<std::uint64_t> turn{0};
    std::atomic<std::int64_t> time{0};
    std::atomic<std::uint64_t> what{0};   // kind << 32 | peer
    std::atomic<std::uint64_t> a{0};
    std::atomic<std::uint64_t> b{0};
};

TraceRing::TraceRing(std::size_t capacity) noexcept
{
    if (capacity > 0) {
        const std::size_t slots = std::bit_ceil(capacity);
        slots_.reset(new (std::nothrow) Slot[slots]);
        mask_ = slots - 1;
    }
}

TraceRing::~TraceRing() = default;

void TraceRing::record(const TraceEvent& event) noexcept
{
    if (!on()) {
        return;
    }
    const std::uint64_t n = next_.fetch_add(1, std::memory_order_relaxed);
    Slot& slot = slots_[n & mask_];
    std::uint64_t turn = slot.turn.load(std::memory_order_relaxed);
    if ((turn & 1) != 0 || turn > 2 * n ||
        !slot.turn.compare_exchange_strong(turn, 2 * n + 1, std::memory_order_acquire, std::memory_order_relaxed)) {   // (C)
        dropped_.fetch_add(1, std::memory_order_relaxed);
        return;
    }
    const auto what = static_cast<std::uint64_t>(event.kind) << 32 | event.peer.value;
    slot.time.store(event.time.time_since_epoch().count(), std::memory_order_release);   // (W), and so the next three
    slot.what.store(what, std::memory_order_release);
    slot.a.store(event.a, std::memory_order_release);
    slot.b.store(event.b, std::memory_order_release);
    slot.turn.store(2 * n + 2, std::memory_order_release);   // (E)
}

bool TraceRing::read(std::uint64_t number, TraceEvent& event) const noexcept
{
    const Slot& slot = slots_[number & mask_];
    if (slot.turn.load(std::memory_order_acquire) != 2 * number + 2) {   // (1)
        return false;
    }
    event.time = TimePoint{Nanos{slot.time.load(std::memory_order_acquire)}};   // (2), and so the next three
    const std::uint64_t what = slot.what.load(std::memory_order_acquire);
    event.a = slot.a.load(std::memory_order_acquire);
    event.b = slot.b.load(std::memory_order_acquire);
    event.kind = static_cast<TraceKind>(what >> 32);
    event.peer = PeerId{static_cast<std::uint32_t>(what)};
    return slot.turn.load(std::memory_order_relaxed) == 2 * number + 2;   // (3)
}

void TraceRing::dump(void (*sink)(void* arg, const TraceEvent& event), void* arg) const
{
    if (!on()) {
        return;
    }
    const std::uint64_t end = next_.load(std::memory_order_acquire);
    for (std::uint64_t n = end - std::min<std::uint64_t>(end, capacity()); n < end; ++n) {
        TraceEvent event;
        if (read(n, event)) {
            sink(arg, event);
        }
    }
}

void TraceRing::format(const TraceEvent& event, char* line, std::size_t room) noexcept
{
    const std::int64_t us = event.time.time_since_epoch().count() / 1000;
    std::array<char, 16> peer{"-"};
    if (event.peer != kNoPeer) {
        std::snprintf(peer.data(), peer.size(), "%" PRIu32, event.peer.value);
    }
    std::snprintf(line, room, "%" PRId64 ".%06" PRId64 " %s peer %s a %" PRIu64 " b %" PRIu64, us / 1000000, us % 1000000,
                  trace_kind_text(event.kind), peer.data(), event.a, event.b);
}

const char* trace_kind_text(TraceKind kind) noexcept
{
    static constexpr std::array<const char*, static_cast<std::size_t>(TraceKind::kCount)> kTexts{
        "none",     "send",    "receive",   "match",     "unexpected",   "rndv-start", "rndv-end",
        "complete", "link-up", "link-down", "peer-down", "event-thread", "token"};
    const auto i = static_cast<std::size_t>(kind);
    return i < kTexts.size() ? kTexts[i] : "unknown";
}

}   // namespace linnet

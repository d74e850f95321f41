// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TraceRing: recording and dumping.
#include "stats/trace.h"

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cinttypes>
#include <cstdio>
#include <new>

#include "base/status.h"

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

std::uint64_t TraceRing::dump(void (*sink)(void* arg, const TraceEvent& event), void* arg, std::uint64_t first) const
{
    const std::uint64_t end = next_.load(std::memory_order_acquire);
    for (std::uint64_t n = std::max(first, end - std::min<std::uint64_t>(end, capacity())); n < end; ++n) {
        TraceEvent event;
        if (read(n, event)) {
            sink(arg, event);
        }
    }
    return end;
}

namespace {

enum class Shown : std::uint8_t { kNumber, kBits, kStatus };
struct KindText {
    const char* kind;
    const char* a;
    const char* b;
    Shown a_as;
    Shown b_as;
};
constexpr std::array<KindText, static_cast<std::size_t>(TraceKind::kCount)> kTexts{{
    {"none", "a", "b", Shown::kNumber, Shown::kNumber},
    {"send", "bytes", "bits", Shown::kNumber, Shown::kBits},
    {"match", "bytes", "bits", Shown::kNumber, Shown::kBits},
    {"unexpected", "bytes", "bits", Shown::kNumber, Shown::kBits},
    {"rndv-start", "bytes", "bits", Shown::kNumber, Shown::kBits},
    {"rndv-end", "bytes", "status", Shown::kNumber, Shown::kStatus},
    {"complete", "bytes", "status", Shown::kNumber, Shown::kStatus},
    {"link-up", "link", "role", Shown::kNumber, Shown::kNumber},
    {"link-down", "link", "status", Shown::kNumber, Shown::kStatus},
    {"peer-down", "status", "b", Shown::kStatus, Shown::kNumber},
}};
constexpr KindText kUnknown{"unknown", "a", "b", Shown::kNumber, Shown::kNumber};

const KindText& text_of(TraceKind kind) noexcept
{
    const auto i = static_cast<std::size_t>(kind);
    return i < kTexts.size() ? kTexts[i] : kUnknown;
}

using ValueText = std::array<char, 48>;
ValueText shown(std::uint64_t value, Shown as) noexcept
{
    ValueText text{};
    switch (as) {
        case Shown::kNumber: std::snprintf(text.data(), text.size(), "%" PRIu64, value); break;
        case Shown::kBits: std::snprintf(text.data(), text.size(), "%#" PRIx64, value); break;
        case Shown::kStatus: std::snprintf(text.data(), text.size(), "%s", status_text(static_cast<Status>(static_cast<std::int64_t>(value)))); break;
    }
    return text;
}

}   // namespace

void TraceRing::format(const TraceEvent& event, char* line, std::size_t room) noexcept
{
    const std::int64_t us = event.time.time_since_epoch().count() / 1000;
    std::array<char, 16> peer{"-"};
    if (event.peer != kNoPeer) {
        std::snprintf(peer.data(), peer.size(), "%" PRIu32, event.peer.value);
    }
    const KindText& t = text_of(event.kind);
    std::snprintf(line, room, "%" PRId64 ".%06" PRId64 " %s peer %s %s %s %s %s", us / 1000000, us % 1000000, t.kind, peer.data(), t.a,
                  shown(event.a, t.a_as).data(), t.b, shown(event.b, t.b_as).data());
}

void Trace::note(TraceKind kind, PeerId peer, std::uint64_t a, std::uint64_t b) noexcept
{
    if (ring_.on()) {
        ring_.record({clock_.now(), kind, peer, a, b});
    }
}

void Trace::tell(const char* trouble) noexcept
{
    const auto line = [](void* arg, const TraceEvent& event) {
        std::array<char, 128> text{};
        TraceRing::format(event, text.data(), text.size());
        LINNET_LOG(*static_cast<const Log*>(arg), kWarn, "trace: %s", text.data());
    };
    const auto us = std::chrono::duration_cast<std::chrono::microseconds>(clock_.now().time_since_epoch()).count();
    LINNET_LOG(log_, kWarn, "trace: the last events before %s, now at %" PRId64 ".%06" PRId64 " (setting trace_events):", trouble,
               static_cast<std::int64_t>(us / 1000000), static_cast<std::int64_t>(us % 1000000));
    told_.store(ring_.dump(line, const_cast<Log*>(&log_), told_.load(std::memory_order_relaxed)), std::memory_order_relaxed);
}

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The statistics page: writing it, and reading one that nobody vouches for.
#include "stats/stats_page.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace linnet {
namespace {

// (W) in the proof of StatsPageWriter.
template <class T>
void put(std::atomic<T>& place, T value) noexcept
{
    place.store(value, std::memory_order_release);
}

template <std::size_t N>
void put(PageText<N>& place, std::string_view text) noexcept
{
    text = text.substr(0, N);
    for (PageWord& word : place.words) {
        std::uint64_t bytes = 0;
        const std::size_t n = std::min(text.size(), sizeof bytes);
        if (n > 0) {
            std::memcpy(&bytes, text.data(), n);
        }
        text.remove_prefix(n);
        put(word, bytes);
    }
}

// (2) in the proof of StatsPageWriter.
template <class T>
T get(const std::atomic<T>& place) noexcept
{
    return place.load(std::memory_order_acquire);
}

Nanos get_nanos(const PageWord& place) noexcept
{
    return Nanos{static_cast<Nanos::rep>(std::min<std::uint64_t>(get(place), INT64_MAX))};
}

template <std::size_t N>
std::string get(const PageText<N>& place)
{
    std::array<char, N> bytes;
    for (std::size_t i = 0; i < N / 8; ++i) {
        const std::uint64_t word = get(place.words[i]);
        std::memcpy(bytes.data() + 8 * i, &word, sizeof word);
    }
    std::string text{bytes.data(), ::strnlen(bytes.data(), N)};
    // A terminal obeys control characters, and JSON wants UTF-8: show neither what a broken or hostile writer put here.
    std::replace_if(text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
    return text;
}

StatsPageView copy(const StatsPage& page)
{
    StatsPageView view;
    view.pid = get(page.pid);
    view.event_thread_state = get(page.event_thread_state);
    view.token_owner = get(page.token_owner);
    view.peers_total = get(page.peers_total);
    view.started = get_nanos(page.started_ns);
    view.updated = get_nanos(page.updated_ns);
    view.label = get(page.label);
    const std::size_t counters = std::min<std::size_t>(get(page.counters_used), page.counters.size());
    view.counters.reserve(counters);
    for (std::size_t i = 0; i < counters; ++i) {
        view.counters.push_back({get(page.counters[i].name), get(page.counters[i].value)});
    }
    const std::size_t peers = std::min<std::size_t>(get(page.peers_used), page.peers.size());
    view.peers.reserve(peers);
    for (std::size_t i = 0; i < peers; ++i) {
        const PagePeer& p = page.peers[i];
        view.peers.push_back({get(p.peer), get(p.name), get(p.state), get(p.via), get(p.tx_messages), get(p.tx_bytes),
                              get(p.rx_messages), get(p.rx_bytes), get_nanos(p.silent_ns)});
    }
    return view;
}

}   // namespace

void StatsPageWriter::attach(std::span<std::byte> memory, const PageIdentity& identity) noexcept
{
    LINNET_ASSERT(memory.size() >= kStatsPageBytes && reinterpret_cast<std::uintptr_t>(memory.data()) % kCacheLine == 0);
    page_ = reinterpret_cast<StatsPage*>(memory.data());
    StatsPage& page = *page_;
    page.turn.store(1, std::memory_order_relaxed);   // (B)
    put(page.magic, kStatsPageMagic);
    put(page.page_bytes, std::uint64_t{kStatsPageBytes});
    put(page.pid, identity.pid);
    put(page.label, identity.label);
    put(page.started_ns, static_cast<std::uint64_t>(identity.started.count()));
    put(page.updated_ns, static_cast<std::uint64_t>(identity.started.count()));
    for (std::size_t i = 0; i < kCounterCount; ++i) {
        put(page.counters[i].name, std::string_view{kCounterTable[i].name});
    }
    put(page.counters_used, static_cast<std::uint32_t>(kCounterCount));
    put(page.version, kStatsPageVersion);   // before this a reader takes it for no page at all
    page.turn.store(2, std::memory_order_release);   // (E)
}

void StatsPageWriter::publish(const PageUpdate& update, TimePoint now) noexcept
{
    if (!attached()) {
        return;
    }
    StatsPage& page = *page_;
    const std::uint64_t turn = page.turn.load(std::memory_order_relaxed);   // our own last store
    page.turn.store(turn + 1, std::memory_order_relaxed);                   // (B)
    for (std::size_t i = 0; i < kCounterCount; ++i) {
        put(page.counters[i].value, update.counters[kCounterTable[i].id]);
    }
    put(page.event_thread_state, update.event_thread_state);
    put(page.token_owner, update.token_owner);
    put(page.peers_total, update.peers_total);
    put(page.updated_ns, static_cast<std::uint64_t>(update.wall_now.count()));
    const std::size_t peers = std::min(update.peers.size(), page.peers.size());
    put(page.peers_used, static_cast<std::uint32_t>(peers));
    for (std::size_t i = 0; i < peers; ++i) {
        const PagePeerUpdate& from = update.peers[i];
        PagePeer& to = page.peers[i];
        put(to.name, from.name);
        put(to.state, from.state);
        put(to.via, from.via);
        put(to.peer, std::uint64_t{from.peer.value});
        put(to.tx_messages, from.tx_messages);
        put(to.tx_bytes, from.tx_bytes);
        put(to.rx_messages, from.rx_messages);
        put(to.rx_bytes, from.rx_bytes);
        put(to.silent_ns, static_cast<std::uint64_t>(std::max(from.silent, Nanos::zero()).count()));
    }
    page.turn.store(turn + 2, std::memory_order_release);   // (E)
    published_ = now;
}

std::uint64_t StatsPageView::counter(std::string_view name) const noexcept
{
    const auto c = std::find_if(counters.begin(), counters.end(), [name](const PageCounterView& v) { return v.name == name; });
    return c == counters.end() ? 0 : c->value;
}

Result<StatsPageView> read_stats_page(std::span<const std::byte> memory)
{
    if (memory.size() < kStatsPageBytes || reinterpret_cast<std::uintptr_t>(memory.data()) % alignof(StatsPage) != 0) {
        return Status::kInvalid;
    }
    const auto& page = *reinterpret_cast<const StatsPage*>(memory.data());
    if (get(page.magic) != kStatsPageMagic) {
        return Status::kInvalid;
    }
    const std::uint32_t version = get(page.version);
    if (version != kStatsPageVersion || get(page.page_bytes) != kStatsPageBytes) {
        return version == 0 ? Status::kInvalid : Status::kUnsupported;
    }
    // An update takes some microseconds, ten times a second: meeting one is rare, a hundred times means a dead writer.
    constexpr int kTries = 100;
    StatsPageView view;
    for (int i = 1; i <= kTries && !view.whole; ++i) {
        const std::uint64_t before = page.turn.load(std::memory_order_acquire);   // (1)
        const bool resting = (before & 1) == 0;
        if (resting || i == kTries) {
            view = copy(page);
            view.whole = resting && page.turn.load(std::memory_order_relaxed) == before;   // (3)
        }
    }
    return view;
}

const char* event_thread_state_text(std::uint32_t state) noexcept
{
    static constexpr std::array<const char*, 4> kTexts{"none", "awake", "parked", "armed"};
    return state < kTexts.size() ? kTexts[state] : "unknown";
}

}   // namespace linnet

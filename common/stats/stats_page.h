// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The statistics page: shared memory in which a context shows its counters to linnet-top and others.
//
// Found as "/memfd:linnet-stats" in /proc/<pid>/fd of a process of the same user; no name in any file system, and it dies with its
// process. Readers map it read-only and take nothing in it for granted.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "stats/counters.h"

namespace linnet {

inline constexpr const char* kStatsPageName = "linnet-stats";   // of the memfd
inline constexpr std::uint32_t kStatsPageVersion = 2;           // another layout is another version
inline constexpr std::uint32_t kStatsPageMagic = 0x74656e4c;    // "Lnet"
inline constexpr Nanos kStatsPagePeriod{100'000'000};           // people read it; more often would only cost

// ---- layout: fixed width, fixed places, the byte order of the host that both sides run on ----

using PageWord = std::atomic<std::uint64_t>;
using PageHalf = std::atomic<std::uint32_t>;

// Text in words, so that it can be read while it is written. Ends at the first zero byte, or at N.
template <std::size_t N>
struct PageText {
    static_assert(N % 8 == 0);
    std::array<PageWord, N / 8> words;
};

struct PageCounter {
    PageText<24> name;
    PageWord value;
};

struct PagePeer {
    PageText<48> name;
    PageText<16> state;   // "connected"; free text, for people
    PageText<16> via;     // the transport of its lane
    PageWord peer;        // PeerId
    PageWord tx_messages, tx_bytes, rx_messages, rx_bytes;
    PageWord silent_ns;   // since it was last heard, at the time of the update
};

struct StatsPage {
    PageHalf version;
    PageHalf magic;
    PageWord page_bytes;
    PageWord turn;   // see the proof at StatsPageWriter
    PageHalf pid;
    PageHalf counters_used;
    PageHalf peers_used;
    PageHalf peers_total;          // also those that have no row
    PageHalf event_thread_state;   // 0 none, 1 awake, 2 parked, 3 armed
    PageHalf token_owner;          // thread id, 0: nobody
    PageWord started_ns;           // since 1970
    PageWord updated_ns;           // since 1970
    PageText<64> label;
    std::array<PageCounter, 124> counters;
    std::array<PagePeer, 64> peers;
};
inline constexpr std::size_t kStatsPageBytes = 12288;   // whole pages of memory

static_assert(PageWord::is_always_lock_free && PageHalf::is_always_lock_free);
static_assert(sizeof(PageWord) == 8 && sizeof(PageHalf) == 4 && sizeof(PageCounter) == 32 && sizeof(PagePeer) == 128);
static_assert(offsetof(StatsPage, version) == 0 && offsetof(StatsPage, magic) == 4 && offsetof(StatsPage, page_bytes) == 8);
static_assert(offsetof(StatsPage, turn) == 16 && offsetof(StatsPage, pid) == 24 && offsetof(StatsPage, started_ns) == 48);
static_assert(offsetof(StatsPage, label) == 64 && offsetof(StatsPage, counters) == 128 && offsetof(StatsPage, peers) == 4096);
static_assert(sizeof(StatsPage) == 12288 && sizeof(StatsPage) <= kStatsPageBytes);
static_assert(kCounterCount <= std::tuple_size_v<decltype(StatsPage::counters)>);

// ---- writing ----

struct PageIdentity {
    std::uint32_t pid{0};
    std::string_view label{};
    Nanos started{};   // since 1970
};

struct PagePeerUpdate {
    PeerId peer{kNoPeer};
    std::string_view name{}, state{}, via{};   // cut at the width of their place
    std::uint64_t tx_messages{0}, tx_bytes{0}, rx_messages{0}, rx_bytes{0};
    Nanos silent{};
};

struct PageUpdate {
    CounterTotals counters{};
    std::uint32_t event_thread_state{0};
    std::uint32_t token_owner{0};
    std::uint32_t peers_total{0};
    std::span<const PagePeerUpdate> peers{};   // the first 64 are shown
    Nanos wall_now{};                          // since 1970
};

// Owner: the context, which borrows it the memory. Threads: one at a time (the holder of the progress token). Blocking: never.
// Cannot fail; without memory every call does nothing.
//
// Proof. `turn` is odd while an update is under way and only grows; there is one writer.
//   (B) turn goes odd before any field is stored, (E) turn release even after all of them.
//   (E) pairs with  (1) turn acquire in read_stats_page: a reader that sees it even sees all fields of that update, or later ones.
//   (W) each field release  pairs with  (2) each field acquire: a reader that sees a field of a later update also sees that update's (B)
//       in (3), which then differs from (1). So two equal, even turns enclose fields of one update.
//   No fences: on x86 release stores and acquire loads are plain ones, and ThreadSanitizer understands them.
//   A writer that dies inside an update leaves the turn odd for ever: readers give up after some tries and say so.
class StatsPageWriter {
public:
    StatsPageWriter() noexcept = default;

    // `memory`: zeroes, aligned to a cache line, at least kStatsPageBytes, borrowed until the writer is destroyed or detached.
    void attach(std::span<std::byte> memory, const PageIdentity& identity) noexcept;
    void detach() noexcept { page_ = nullptr; }
    [[nodiscard]] bool attached() const noexcept { return page_ != nullptr; }

    // True when the last update is kStatsPagePeriod old; the event thread asks while it is awake anyway.
    [[nodiscard]] bool due(TimePoint now) const noexcept
    {
        return attached() && (!published_ || now - *published_ >= kStatsPagePeriod);
    }
    void publish(const PageUpdate& update, TimePoint now) noexcept;

private:
    StatsPage* page_{nullptr};
    std::optional<TimePoint> published_{};
};

// ---- reading ----

struct PageCounterView {
    std::string name;
    std::uint64_t value{0};
};

struct PagePeerView {
    std::uint64_t peer{0};
    std::string name, state, via;
    std::uint64_t tx_messages{0}, tx_bytes{0}, rx_messages{0}, rx_bytes{0};
    Nanos silent{};
};

struct StatsPageView {
    bool whole{false};   // false: the writer was inside an update all the time (it may have died there); values may not fit together
    std::uint32_t pid{0};
    std::uint32_t event_thread_state{0};
    std::uint32_t token_owner{0};
    std::uint32_t peers_total{0};
    Nanos started{}, updated{};   // since 1970
    std::string label;
    std::vector<PageCounterView> counters;   // names as the writer knows them: it may be of another build
    std::vector<PagePeerView> peers;
    // 0 when there is no such counter.
    [[nodiscard]] std::uint64_t counter(std::string_view name) const noexcept;
};

// Whatever the bytes are, this neither crashes nor reads past them; texts come back as printable ASCII. kInvalid: too short,
// misaligned, or no statistics page. kUnsupported: one of another version.
[[nodiscard]] Result<StatsPageView> read_stats_page(std::span<const std::byte> memory);

// "parked"; "unknown" for values that no writer writes.
[[nodiscard]] const char* event_thread_state_text(std::uint32_t state) noexcept;

}   // namespace linnet

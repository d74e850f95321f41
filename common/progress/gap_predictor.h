// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// GapPredictor: will the host be back soon? Learned from what it did the last times it left in the same way.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace linnet {

// How a call of the host ended.
enum class CallKind : std::uint8_t {
    kPost = 0,        // it started an operation
    kLongPost = 1,    // one that takes long and needs this side meanwhile: a message beyond what is sent unasked
    kCompleted = 2,   // it made progress, and completions were run
    kEmpty = 3,       // it made progress, and nothing was complete
};
inline constexpr std::size_t kCallKinds = 4;
// Longer operations do not go out by themselves in a call of the host: they are asked for, and both sides have work until they are over.
inline constexpr std::uint64_t kLongTransfer = 64 * 1024;
[[nodiscard]] constexpr CallKind post_of(std::uint64_t bytes) noexcept { return bytes > kLongTransfer ? CallKind::kLongPost : CallKind::kPost; }

// A gap is the time between a leave and the next entry. Which gap follows depends on the kind of call and on how many calls of that
// kind came in a row: of `4 x irecv, 4 x isend, compute, waitall` only the eighth post is followed by the long gap. So there is one
// small counter for each (kind, position in the row); one long gap sets it, kForget short ones clear it. New places start at "long":
// a needless wake-up of the event thread once costs less than a computation during which nobody progresses.
//
// A row of posts with a long one among them counts, from there on, in places of its own. Programs also exchange short messages, of which each gap is
// short; in places shared with those the one long gap behind `isend of 1 MB, compute` would be forgotten before it comes again.
//
// Programs compute when what they waited for is complete, and the last call of an exchange looks like the first. So each place is two: for leaves with
// operations open, and for those with none. The computation behind these needs nobody, and shall not make the gaps within an exchange look long.
//
// So a place that is sometimes long counts as long. But programs repeat themselves: a phase that waits at once, then one that computes, in turn. So each
// place remembers how its last kHistory gaps were, and for each such history how often in a row the gap behind it was short, or long: kSurelyShort or
// kSurelyLong times, and it is expected to be so again, whatever the small counter says. (Two-level branch prediction: Yeh and Patt, MICRO 1991.)
//
// Owner: the engine. Threads: any, relaxed: with several threads inside the waist the rows mix, and the guess is merely worse.
// Blocking: never. Cannot fail.
class GapPredictor {
public:
    static constexpr std::size_t kRow = 32;           // positions told apart; later ones share the last
    static constexpr std::uint8_t kForget = 3;
    static constexpr unsigned kHistory = 4;
    static constexpr int kSurelyShort = 5;
    static constexpr int kSurelyLong = 2;
    static constexpr unsigned kUnseenMost = 15;   // together they take less than a microsecond, so the gap that is seen behind them is still a short one
    static constexpr unsigned kWary = 256;        // calls: more than a program makes, as a rule, until it does the same again

    // The host leaves now with a call of this kind, and with operations open. True: it will probably stay away for long.
    bool leaving(CallKind kind) noexcept
    {
        const std::size_t place = next_place(place_.load(std::memory_order_relaxed), kind);
        place_.store(place, std::memory_order_relaxed);
        return places_[place].is_long();
    }
    // The same with nothing open, when nobody needs to know: learned when it comes back, which it does in its own time.
    void left(CallKind kind) noexcept { left_.store(static_cast<std::uint8_t>(kind) + 1, std::memory_order_relaxed); }
    // Asked inside a call of this kind: did another one precede it in the row, and will the next call come soon? `open`: operations are.
    [[nodiscard]] bool within_row(CallKind kind, bool open) const noexcept
    {
        const std::size_t before = place_.load(std::memory_order_relaxed);
        return same_row(before, row_of(before, kind)) && !places_[next_place(before, kind) + (open ? 0 : kClosed)].is_long();
    }
    // Asked inside a call of this kind: what leaving() will say at its end.
    [[nodiscard]] bool will_leave(CallKind kind) const noexcept { return places_[next_place(place_.load(std::memory_order_relaxed), kind)].is_long(); }
    // The same for a leave with nothing open.
    [[nodiscard]] bool will_leave_idle(CallKind kind) const noexcept
    {
        return places_[next_place(place_.load(std::memory_order_relaxed), kind) + kClosed].is_long();
    }
    // Asked inside a call of this kind. True: the gap before it and the one behind it were short for so long that the clock need not be read, and the call is
    // told as left. Whether one of a row of such gaps was long is seen by returned(), but not which: then the next calls are looked at again.
    [[nodiscard]] bool passes_unseen(CallKind kind) noexcept
    {
        const std::size_t before = place_.load(std::memory_order_relaxed);
        const std::size_t next = next_place(before, kind);
        if (left_.load(std::memory_order_relaxed) != 0 || !places_[before].is_calm() || !places_[next].is_calm()) {
            return false;
        }
        const unsigned unseen = unseen_.load(std::memory_order_relaxed);
        const unsigned wary = wary_.load(std::memory_order_relaxed);
        if (unseen >= kUnseenMost || wary != 0) [[unlikely]] {
            wary_.store(wary - (wary != 0 ? 1 : 0), std::memory_order_relaxed);
            return false;
        }
        unseen_.store(unseen + 1, std::memory_order_relaxed);
        place_.store(next, std::memory_order_relaxed);
        return true;
    }
    // It is back from the leave that was told last.
    void returned(bool after_long_gap) noexcept
    {
        if (unseen_.load(std::memory_order_relaxed) != 0) {
            unseen_.store(0, std::memory_order_relaxed);
            if (after_long_gap) [[unlikely]] {
                wary_.store(kWary, std::memory_order_relaxed);
                return;
            }
        }
        if (const std::uint8_t left = left_.load(std::memory_order_relaxed); left != 0) {
            left_.store(0, std::memory_order_relaxed);
            place_.store(next_place(place_.load(std::memory_order_relaxed), static_cast<CallKind>(left - 1)) + kClosed, std::memory_order_relaxed);
        }
        Place& place = places_[place_.load(std::memory_order_relaxed)];
        if (after_long_gap || !place.is_calm()) [[unlikely]] {
            place.learn(after_long_gap);
        }
    }

private:
    class Place {
    public:
        // Short for so long that one more short gap teaches nothing: most of a program that polls. Implies !is_long().
        [[nodiscard]] bool is_calm() const noexcept { return calm_.load(std::memory_order_relaxed); }
        [[nodiscard]] bool is_long() const noexcept
        {
            if (is_calm()) [[likely]] {
                return false;
            }
            const std::int8_t row = after_[history_.load(std::memory_order_relaxed)].load(std::memory_order_relaxed);
            return row >= kSurelyLong || (row > -kSurelyShort && weight_.load(std::memory_order_relaxed) != 0);
        }
        void learn(bool long_gap) noexcept
        {
            const std::uint8_t history = history_.load(std::memory_order_relaxed);
            const std::uint8_t weight = weight_.load(std::memory_order_relaxed);
            const int row = after_[history].load(std::memory_order_relaxed);
            const int next = long_gap ? std::clamp(row + 1, 1, kSurelyLong) : std::clamp(row - 1, -kSurelyShort, -1);
            after_[history].store(static_cast<std::int8_t>(next), std::memory_order_relaxed);
            weight_.store(long_gap ? kForget : static_cast<std::uint8_t>(weight - (weight != 0 ? 1 : 0)), std::memory_order_relaxed);
            history_.store(static_cast<std::uint8_t>((2 * history + (long_gap ? 1u : 0u)) % kHistories), std::memory_order_relaxed);
            calm_.store(!long_gap && history == 0 && weight <= 1 && next == -kSurelyShort, std::memory_order_relaxed);
        }

    private:
        static constexpr unsigned kHistories = 1u << kHistory;
        std::atomic<bool> calm_{false};
        std::atomic<std::uint8_t> weight_{1};
        std::atomic<std::uint8_t> history_{0};   // the last gap in the lowest bit; 1: long
        std::array<std::atomic<std::int8_t>, kHistories> after_{};   // so many gaps in a row were long, or short if it is negative
    };

    static constexpr auto kShortRow = static_cast<std::size_t>(CallKind::kPost);
    static constexpr auto kLongRow = static_cast<std::size_t>(CallKind::kLongPost);
    static constexpr std::size_t kNoRow = kCallKinds * kRow;    // past the last row
    static constexpr std::size_t kClosed = kNoRow + 1;          // from a place to the one for leaves with nothing open
    // A short post behind a long one goes on with its row, and a long one takes the row over.
    static std::size_t row_of(std::size_t before, CallKind kind) noexcept
    {
        return kind == CallKind::kPost && before % kClosed / kRow == kLongRow ? kLongRow : static_cast<std::size_t>(kind);
    }
    static bool same_row(std::size_t before, std::size_t k) noexcept
    {
        const std::size_t row = before % kClosed / kRow;
        return row == k || (k == kLongRow && row == kShortRow);
    }

    static std::size_t next_place(std::size_t before, CallKind kind) noexcept
    {
        const std::size_t k = row_of(before, kind);
        return same_row(before, k) ? std::min(k * kRow + before % kClosed % kRow + 1, k * kRow + kRow - 1) : k * kRow;
    }

    std::atomic<unsigned> unseen_{0};                 // calls that passed unseen since the last gap that was seen
    std::atomic<unsigned> wary_{0};                   // calls that do not, though they might
    std::atomic<std::uint8_t> left_{0};               // a kind, plus one; 0: place_ is up to date
    std::atomic<std::size_t> place_{kNoRow};
    std::array<Place, 2 * kClosed> places_;
};

}   // namespace linnet

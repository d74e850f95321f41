// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RecordRing: records from one process to another through shared memory.
//
// What it is   A ring of slots of two cache lines, each with up to 120 bytes in place, and a ring of bytes for what is longer. A short record is one or two
//              cache lines, and the only one that its reader waits for is the line that holds it. The layout is in docs/shm.md.
// Owner        The memory is a mapping of the transport's; RingWriter and RingReader are private to their side and never believe what the other one wrote:
//              a writer uses positions of its own, a reader copies nothing that its checks did not bound.
// Threads      One writer and one reader, each one thread at a time.
// Blocking     Never. Cannot fail, except that a side which finds nonsense says so (kBroken) and touches nothing.
//
// Proof. Slot i of position p is free, written, read, and free again for p + kRingSlots. Positions are modulo 2^32 and kRingSlots divides that.
//   (W) Slot::word release in complete()      pairs with  (R) acquire in peek(): a reader that sees sequence p + 1 sees the record's bytes.
//   (F) Control::freed release in publish()  pairs with  (G) acquire in refresh(): a writer that uses a slot or bytes again does so after they were read.
//       It uses a position only if it lies within the capacity beyond `freed`, so an old lap's word p + 1 - kRingSlots is never overwritten unread.
//   No word is cleared: sequence p + 1 differs from those of all laps but one in 2^25, and slots, unlike bytes, hold a word at a fixed place, so that no
//   payload can pose as one.
//   Sleep. (W) is also sequentially consistent, as are (P) Control::polled and the words of a BellPage: the writer stores its record and then reads these,
//       the reader stores these and then looks for a record, so one of the two sees the other.
//   Room. (F) and (N) Control::wants_room likewise: the writer sets wants_room and then reads freed, the reader stores freed and then reads wants_room.
//   Zeroed slots. A word of zero has sequence 0, which no reader waits for but at position 2^32 - 1. Its slot is written a lap before, and then holds no zero,
//       unless that is over when the slots are zeroed: empty() says no from there on until the lap is over.
//   No deadlock: publish_if_due() publishes when a quarter of the slots or bytes was read since the last time, and a writer is refused only while it sees more
//       than three quarters in use, all of which the reader will still read.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/ids.h"
#include "base/words.h"
#include "sync/backoff.h"

namespace linnet {

inline constexpr std::uint32_t kRingSlots = 128;
inline constexpr std::size_t kSlotBytes = 128;
inline constexpr std::size_t kInlineBytes = kSlotBytes - sizeof(std::uint64_t);
inline constexpr std::size_t kFirstLineBytes = kCacheLine - sizeof(std::uint64_t);

struct RingSlot {   // shared
    alignas(kSlotBytes) std::atomic<std::uint64_t> word{0};   // sequence << 32 | kind << 28 | inline bytes << 20 | data bytes
    std::array<std::byte, kInlineBytes> bytes{};
};
static_assert(sizeof(RingSlot) == kSlotBytes && std::atomic<std::uint64_t>::is_always_lock_free);

struct RingControl {   // shared
    alignas(kCacheLine) std::atomic<std::uint64_t> freed{0};        // reader: slots << 32 | bytes, both counted from the start
    alignas(kCacheLine) std::atomic<std::uint32_t> polled{0};       // reader: it looks into this ring on each pass; no bell is needed while it is awake
    alignas(kCacheLine) std::atomic<std::uint32_t> wants_room{0};   // writer: ring its bell when there is room again
};

// Where one ring lies. `data` is a power of two of at least 4 KiB, at most 1 MiB.
struct RingView {
    RingControl* control{nullptr};
    RingSlot* slots{nullptr};
    std::span<std::byte> data;
};

namespace detail {
inline constexpr std::uint32_t kRingAlign = kCacheLine;
constexpr std::uint32_t ring_round(std::size_t bytes) noexcept { return static_cast<std::uint32_t>((bytes + kRingAlign - 1) & ~std::size_t{kRingAlign - 1}); }

// memcpy() to lines that another core had last. It fetches too few of them at a time, and its stores wait for each; here the next ones are asked for while
// these are written. docs/performance/shm.md has what that gave, and other distances.
inline void copy_fetching(std::byte* to, const std::byte* from, std::size_t bytes) noexcept
{
    constexpr std::size_t kAhead = 2048;
    constexpr std::size_t kStep = 512;
    if (bytes > kAhead) {
        for (std::size_t i = 0; i < kAhead; i += kCacheLine) {
            fetch_to_write(to + i);
        }
        for (; bytes > kStep; bytes -= kStep, to += kStep, from += kStep) {
            for (std::size_t i = kAhead; i < std::min(kAhead + kStep, bytes); i += kCacheLine) {
                fetch_to_write(to + i);
            }
            std::memcpy(to, from, kStep);
        }
    }
    std::memcpy(to, from, bytes);
}
}   // namespace detail

class RingWriter {
public:
    enum class Put : std::uint8_t { kDone, kFull, kBroken };

    RingWriter() noexcept = default;
    // `first`: both sides' first position, another one than zero only in tests.
    explicit RingWriter(const RingView& view, std::uint32_t first = 0) noexcept
        : view_{view}, capacity_{static_cast<std::uint32_t>(view.data.size())}, slot_{first}, freed_slots_{first}
    {
    }

    // The most bytes beside the inline ones that the next record can carry: a quarter of the ring, or what is left of it before its end.
    [[nodiscard]] std::size_t data_max() const noexcept
    {
        const std::uint32_t at = data_ & (capacity_ - 1);
        return std::min(capacity_ / 4, capacity_ - at);
    }

    // Appends a record: `head` and then `tail` in place (together at most kInlineBytes), `data` (at most data_max()) beside it. `kind` below 16.
    [[nodiscard]] Put put(std::uint32_t kind, std::span<const std::byte> head, std::span<const std::byte> tail, std::span<const std::byte> data) noexcept
    {
        const std::uint32_t rounded = detail::ring_round(data.size());
        if (slot_ - freed_slots_ >= kRingSlots || data_ - freed_data_ > capacity_ - rounded) {
            refresh();
            if (slot_ - freed_slots_ > kRingSlots || data_ - freed_data_ > capacity_) {
                return Put::kBroken;   // it freed what was never written
            }
            if (slot_ - freed_slots_ == kRingSlots || data_ - freed_data_ > capacity_ - rounded) {
                return Put::kFull;
            }
        }
        RingSlot& slot = view_.slots[slot_ % kRingSlots];
        copy_words(slot.bytes.data(), head.data(), head.size());
        if (!tail.empty()) {
            std::memcpy(slot.bytes.data() + head.size(), tail.data(), tail.size());
        }
        if (!data.empty()) {
            detail::copy_fetching(view_.data.data() + (data_ & (capacity_ - 1)), data.data(), data.size());
            data_ += rounded;
        }
        complete(slot, kind, head.size() + tail.size(), data.size());
        return Put::kDone;
    }

    // A record of `bytes`, at most kInlineBytes, and no data, which is most of them. Whole lines are copied: `from` can be read up to the end of the last.
    [[nodiscard]] Put put_inline(std::uint32_t kind, const std::byte* from, std::size_t bytes) noexcept
    {
        if (slot_ - freed_slots_ >= kRingSlots) [[unlikely]] {
            return put(kind, {from, bytes}, {}, {});
        }
        RingSlot& slot = view_.slots[slot_ % kRingSlots];
        if (bytes <= kFirstLineBytes) [[likely]] {   // whose words were written just now
            copy_all_words<kFirstLineBytes / sizeof(std::uint64_t)>(slot.bytes.data(), from);
        } else {
            copy_all_words<kInlineBytes / sizeof(std::uint64_t)>(slot.bytes.data(), from);
        }
        complete(slot, kind, bytes, 0);
        return Put::kDone;
    }

    // Two records with `bytes` of data between them, at most a quarter of the ring, can be put now. After `false` ask again when want_room() has been called.
    [[nodiscard]] bool has_room(std::size_t bytes) noexcept
    {
        const auto rounded = static_cast<std::uint32_t>(bytes) + 2 * detail::kRingAlign;
        const auto room = [&] { return slot_ - freed_slots_ <= kRingSlots - 2 && data_ - freed_data_ <= capacity_ - rounded; };
        if (room()) {
            return true;
        }
        refresh();
        return sane() && room();
    }

    // After put(): must the reader be told by its bell even if it is awake?
    [[nodiscard]] bool reader_polls() const noexcept { return view_.control->polled.load(std::memory_order_seq_cst) != 0; }   // (P)

    // kFull was answered: ask for a bell, then try once more; room may have come in between. Who must hear that a record was read asks before put(): afterwards
    // the reader may have published already.
    void want_room(bool want) noexcept { view_.control->wants_room.store(want ? 1 : 0, std::memory_order_seq_cst); }   // (N)

    // The reader is done with everything, and said so. Until the next put() its slots and data may be zeroed: see "Zeroed slots".
    [[nodiscard]] bool empty() noexcept { return freed() == slot_ && freed_data_ == data_ && UINT32_MAX - slot_ >= kRingSlots; }

    // Where the next record will be written first.
    [[nodiscard]] const void* next() const noexcept { return &view_.slots[slot_ % kRingSlots]; }
    [[nodiscard]] const void* next_data() const noexcept { return view_.data.data() + (data_ & (capacity_ - 1)); }

    // Records written, and of these those that the reader is done with.
    [[nodiscard]] std::uint32_t written() const noexcept { return slot_; }
    [[nodiscard]] std::uint32_t freed() noexcept
    {
        refresh();
        return freed_slots_;
    }
    [[nodiscard]] bool sane() const noexcept { return slot_ - freed_slots_ <= kRingSlots && data_ - freed_data_ <= capacity_; }

private:
    // Its bytes are in `slot`.
    void complete(RingSlot& slot, std::uint32_t kind, std::size_t bytes, std::size_t data_bytes) noexcept
    {
        const std::uint32_t position = slot_ + 1;
        slot_ = position;
        const std::uint64_t word = static_cast<std::uint64_t>(position) << 32 | kind << 28 | static_cast<std::uint32_t>(bytes) << 20 |
                                   static_cast<std::uint32_t>(data_bytes);
        slot.word.store(word, std::memory_order_seq_cst);                // (W)
        fetch_to_write(&view_.slots[position % kRingSlots]);             // the reader has its line
    }
    void refresh() noexcept
    {
        const std::uint64_t freed = view_.control->freed.load(std::memory_order_seq_cst);   // (G)
        freed_slots_ = static_cast<std::uint32_t>(freed >> 32);
        freed_data_ = static_cast<std::uint32_t>(freed);
    }

    RingView view_;
    std::uint32_t capacity_{0};
    std::uint32_t slot_{0};   // next position
    std::uint32_t data_{0};
    std::uint32_t freed_slots_{0};
    std::uint32_t freed_data_{0};
};

class RingReader {
public:
    enum class Peek : std::uint8_t { kNone, kRecord, kBroken };
    // The spans lie in shared memory: their bytes may change while they are looked at, their bounds not.
    struct Record {
        std::uint32_t kind{0};
        std::span<const std::byte> inline_bytes;
        std::span<const std::byte> data;
    };

    RingReader() noexcept = default;
    explicit RingReader(const RingView& view, std::uint32_t first = 0) noexcept
        : view_{view}, capacity_{static_cast<std::uint32_t>(view.data.size())}, slot_{first}, published_slot_{first}
    {
    }

    // Is there a record? Sequentially consistent, for the look before a sleep.
    [[nodiscard]] bool ready() const noexcept
    {
        return static_cast<std::uint32_t>(view_.slots[slot_ % kRingSlots].word.load(std::memory_order_seq_cst) >> 32) == slot_ + 1;   // (R)
    }

    // ready(), and asks for the lines of the record behind its first one, which are at the writer's core.
    [[nodiscard]] bool ready_and_fetch() const noexcept
    {
        constexpr std::size_t kFetchMost = 2048;
        const RingSlot& slot = view_.slots[slot_ % kRingSlots];
        const std::uint64_t word = slot.word.load(std::memory_order_relaxed);
        if (static_cast<std::uint32_t>(word >> 32) != slot_ + 1) {
            return false;
        }
        if ((word >> 20 & 0xff) > kFirstLineBytes) {
            __builtin_prefetch(&slot.bytes[kFirstLineBytes]);
        }
        const std::byte* const data = view_.data.data() + (data_ & (capacity_ - 1));
        const std::size_t bytes = std::min<std::size_t>(word & 0xfffff, kFetchMost);   // a lie fetches what nobody reads
        for (std::size_t i = 0; i < bytes; i += kCacheLine) {
            __builtin_prefetch(data + i);
        }
        return true;
    }

    [[nodiscard]] Peek peek(Record& out) const noexcept
    {
        const RingSlot& slot = view_.slots[slot_ % kRingSlots];
        const std::uint64_t word = slot.word.load(std::memory_order_acquire);   // (R)
        if (static_cast<std::uint32_t>(word >> 32) != slot_ + 1) {
            return Peek::kNone;
        }
        const std::uint32_t inline_bytes = static_cast<std::uint32_t>(word >> 20) & 0xff;
        const std::uint32_t data_bytes = static_cast<std::uint32_t>(word) & 0xfffff;
        const std::uint32_t at = data_ & (capacity_ - 1);
        if (inline_bytes > kInlineBytes || data_bytes > std::min(capacity_ / 4, capacity_ - at)) {
            return Peek::kBroken;
        }
        out.kind = static_cast<std::uint32_t>(word >> 28) & 0xf;
        out.inline_bytes = std::span{slot.bytes}.first(inline_bytes);
        out.data = std::span<const std::byte>{view_.data}.subspan(at, data_bytes);
        return Peek::kRecord;
    }

    // The next record, if it is of `kind` and has no data beside it, which is most of them: copies its bytes to `to`, which has room for kInlineBytes, and
    // says how many there are. 0: it is another one, or has nothing, or none is there; peek() tells. Done with by advance_inline().
    [[nodiscard]] std::size_t copy_inline(std::uint32_t kind, std::byte* to) const noexcept
    {
        constexpr std::uint64_t kBytes = 0xff;
        const RingSlot& slot = view_.slots[slot_ % kRingSlots];
        const std::uint64_t word = slot.word.load(std::memory_order_acquire);   // (R)
        const std::size_t bytes = word >> 20 & kBytes;
        if ((word & ~(kBytes << 20)) != (static_cast<std::uint64_t>(slot_ + 1) << 32 | std::uint64_t{kind} << 28) || bytes > kInlineBytes) {
            return 0;
        }
        if (bytes <= kFirstLineBytes) {   // fixed sizes are copied by a few instructions
            std::memcpy(to, slot.bytes.data(), kFirstLineBytes);
        } else {
            std::memcpy(to, slot.bytes.data(), kInlineBytes);
        }
        return bytes;
    }
    void advance_inline() noexcept { ++slot_; }

    // The record that peek() gave is done with.
    void advance(const Record& record) noexcept
    {
        ++slot_;
        data_ += detail::ring_round(record.data.size());
    }

    // Tell the writer what is free when that is worth a cache line. True: it waits for room, ring its bell.
    [[nodiscard]] bool publish_if_due() noexcept
    {
        const bool due = slot_ - published_slot_ >= kRingSlots / 4 || data_ - published_data_ >= capacity_ / 4;
        return due && publish();
    }
    [[nodiscard]] bool publish() noexcept
    {
        published_slot_ = slot_;
        published_data_ = data_;
        view_.control->freed.store(static_cast<std::uint64_t>(slot_) << 32 | data_, std::memory_order_seq_cst);   // (F)
        return view_.control->wants_room.load(std::memory_order_seq_cst) != 0;                                     // (N)
    }

    // Records read, and of these those that the writer was not told of.
    [[nodiscard]] std::uint32_t read() const noexcept { return slot_; }
    [[nodiscard]] std::uint32_t unpublished() const noexcept { return slot_ - published_slot_; }

    // From now on this ring is looked at on each pass, or only when its bell rings. After `false` look once more.
    void set_polled(bool polled) noexcept { view_.control->polled.store(polled ? 1 : 0, std::memory_order_seq_cst); }   // (P)

private:
    RingView view_;
    std::uint32_t capacity_{0};
    std::uint32_t slot_{0};
    std::uint32_t data_{0};
    std::uint32_t published_slot_{0};
    std::uint32_t published_data_{0};
};

}   // namespace linnet

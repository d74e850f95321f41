// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Lane: a byte stream in numbered frames: retained and repeated by the sender, put in order by the receiver. Pure.
//
// Owner: Machine, one pair per lane connection. Buffers come from FramePools and go back when a frame is acknowledged or delivered. Never go-back-N:
// a frame is sent again only when it is itself found lost.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "flow/frame_pool.h"
#include "flow/numbers.h"

namespace linnet::flow {

inline constexpr unsigned kLaneWindow = 64;   // frames: what one SACK word covers

// A frame of the sender's window.
//
//   state    write    send     ack      lose     release  refuse
//   free     queued   -        free     free     -        -
//   queued   queued   sent     queued   queued   -        -
//   sent     -        -        acked    lost     -        queued
//   lost     -        sent     acked    lost     -        -
//   acked    -        -        acked    acked    free     -
//
// `-` only a fault of our own could cause. What a peer can cause (ack, lose) is defined everywhere.
enum class SlotState : std::uint8_t { kFree, kQueued, kSent, kLost, kAcked, kBug };
enum class SlotEvent : std::uint8_t { kWrite, kSend, kAck, kLose, kRelease, kRefuse };
inline constexpr std::array<std::array<SlotState, 6>, 5> kSlotTable{{
    {SlotState::kQueued, SlotState::kBug, SlotState::kFree, SlotState::kFree, SlotState::kBug, SlotState::kBug},
    {SlotState::kQueued, SlotState::kSent, SlotState::kQueued, SlotState::kQueued, SlotState::kBug, SlotState::kBug},
    {SlotState::kBug, SlotState::kBug, SlotState::kAcked, SlotState::kLost, SlotState::kBug, SlotState::kQueued},
    {SlotState::kBug, SlotState::kSent, SlotState::kAcked, SlotState::kLost, SlotState::kBug, SlotState::kBug},
    {SlotState::kBug, SlotState::kBug, SlotState::kAcked, SlotState::kAcked, SlotState::kFree, SlotState::kBug},
}};
namespace detail {
constexpr bool peers_cause_no_bug() noexcept
{
    for (const auto& row : kSlotTable) {
        if (row[static_cast<std::size_t>(SlotEvent::kAck)] == SlotState::kBug || row[static_cast<std::size_t>(SlotEvent::kLose)] == SlotState::kBug) {
            return false;
        }
    }
    return true;
}
static_assert(peers_cause_no_bug());
}   // namespace detail

class LaneTx {
public:
    explicit LaneTx(std::uint32_t first) noexcept : una_{first}, send_next_{first}, next_{first}, rack_number_{first} {}

    // Copy one packet into frames of at most `frame_payload` bytes. All of it or nothing: false when the window is full or the pool gives no more than `most`
    // frames. A packet that fits in one frame is never cut; packets that wait together share a frame.
    bool write(std::span<const std::byte> head, std::span<const std::byte> payload, std::size_t frame_payload, FramePool& pool, std::size_t most) noexcept;
    // Frames that a packet of `bytes` takes, beside what is left of the last one.
    [[nodiscard]] std::size_t frames_for(std::size_t bytes, std::size_t frame_payload) noexcept
    {
        const std::size_t room = send_next_ != next_ ? frame_payload - slot(next_ - 1).bytes : 0;
        return bytes <= room ? 0 : bytes <= frame_payload ? 1 : (bytes - room + frame_payload - 1) / frame_payload;
    }
    // Frames that it holds of the pool, and that it may hold.
    [[nodiscard]] std::uint32_t held() const noexcept { return next_ - una_; }
    [[nodiscard]] std::uint32_t window_left() const noexcept { return kLaneWindow - held(); }

    struct Picked {
        std::uint32_t number;
        std::span<const std::byte> payload;
        bool again;
    };
    [[nodiscard]] bool can_send(std::uint32_t limit) const noexcept { return lost_ != 0 || (send_next_ != next_ && before(send_next_, limit)); }
    // pick() would take a new one, and more may follow it.
    [[nodiscard]] bool in_row(std::uint32_t limit) const noexcept { return lost_ == 0 && send_next_ != next_ && before(send_next_ + 1, limit); }
    // The next frame to send: a lost one, else a new one. Only when can_send().
    [[nodiscard]] Picked pick(Stamp now) noexcept;
    // The network did not take it; of several, the one picked last comes first. True: it never left at all, and is new again; false: it is lost.
    bool not_sent(std::uint32_t number) noexcept;

    // Could a correct peer say this? `ack` and `sack` as in a FrameHead.
    [[nodiscard]] bool plausible(std::uint32_t ack, std::uint64_t sack) const noexcept;
    struct Acked {
        bool news{false};       // something was acknowledged for the first time
        bool spurious{false};   // a frame that we had sent again had arrived at first
        bool overtaken{false};  // so had one that others seemed to have overtaken, and not only our patience
        unsigned mended{0};     // frames that arrived when we had sent them again, and not before
    };
    // `echo`: the newest of our stamps that had arrived; null: not told.
    Acked on_ack(std::uint32_t ack, std::uint64_t sack, const Stamp* echo, FramePool& pool) noexcept;

    // Mark as lost what was sent clearly before something that arrived (RACK), or has `kReorderFrames` arrived frames above it while
    // frames have not been seen to overtake each other. `wait`: round trip and reordering window. Returns the time until the next one will count as lost.
    static constexpr unsigned kReorderFrames = 3;
    [[nodiscard]] Nanos detect(Stamp now, Nanos window, Nanos wait, bool in_order_path) noexcept;
    // No news for long: the first and the last outstanding frame go out again.
    void probe() noexcept;

    [[nodiscard]] bool outstanding() const noexcept { return una_ != send_next_; }
    [[nodiscard]] bool queued() const noexcept { return send_next_ != next_; }
    [[nodiscard]] bool idle() const noexcept { return una_ == next_; }
    [[nodiscard]] std::uint32_t used() const noexcept { return send_next_; }
    [[nodiscard]] std::uint32_t resent() const noexcept { return resent_; }   // frames sent again, modulo 2^32
    void clear(FramePool& pool) noexcept;

private:
    struct Slot {
        FramePool::Index buffer{FramePool::kNone};
        std::uint16_t bytes{0};
        Stamp stamp{0};
        SlotState state{SlotState::kFree};
        std::uint8_t sends{0};
        bool probed{false};     // it went out again because nothing was heard
    };
    [[nodiscard]] Slot& slot(std::uint32_t number) noexcept { return slots_[number % kLaneWindow]; }
    void transition(Slot& s, SlotEvent e) noexcept;
    Slot& new_frame(FramePool& pool) noexcept;
    void acknowledge(std::uint32_t number, const Stamp* echo, Acked& result) noexcept;
    void append(std::span<const std::byte> bytes, std::size_t frame_payload, FramePool& pool) noexcept;

    // una_ <= send_next_ <= next_; [una_, send_next_) was sent, [send_next_, next_) waits.
    std::uint32_t una_;
    std::uint32_t send_next_;
    std::uint32_t next_;
    std::uint32_t lost_{0};            // slots in kLost
    std::uint32_t highest_acked_{0};   // valid when rack_valid_
    std::uint32_t rack_number_;        // of the frames that arrived, the one sent last
    Stamp rack_stamp_{0};
    bool rack_valid_{false};
    const FramePool* pool_{nullptr};   // that the buffers are from
    std::uint32_t resent_{0};
    std::array<Slot, kLaneWindow> slots_{};
};

class LaneRx {
public:
    explicit LaneRx(std::uint32_t first) noexcept : next_{first} {}

    enum class Verdict : std::uint8_t { kDeliver, kKept, kDuplicate, kBeyond, kNoBuffer };
    // kDeliver: the payload is next in order, hand it on; then pop(). kKept: copied. The others: dropped.
    Verdict arrive(std::uint32_t number, std::span<const std::byte> payload, std::uint32_t limit, FramePool& pool) noexcept;
    // The next bytes in order that were kept, or empty. They stay until release(), which comes first.
    [[nodiscard]] bool pop(FramePool& pool, std::span<const std::byte>& bytes, FramePool::Index& buffer) noexcept;
    [[nodiscard]] bool ready() const noexcept { return (bits_ & 1) != 0; }
    // Nothing is kept: all that came has been delivered, up to next().
    [[nodiscard]] bool in_order() const noexcept { return bits_ == 0; }
    [[nodiscard]] std::uint32_t next() const noexcept { return next_; }
    // arrive() of that number, when in_order(), with kDeliver.
    void next_arrived() noexcept { ++next_; }

    // One more than the highest that came.
    [[nodiscard]] std::uint32_t top() const noexcept { return next_ + static_cast<std::uint32_t>(std::bit_width(bits_)); }
    [[nodiscard]] std::uint32_t ack() const noexcept { return next_ + static_cast<std::uint32_t>(std::countr_one(bits_)); }
    [[nodiscard]] std::uint64_t sack() const noexcept
    {
        const int ones = std::countr_one(bits_);
        return ones >= 63 ? 0 : bits_ >> (ones + 1);
    }
    void clear(FramePool& pool) noexcept;

private:
    struct Kept {
        FramePool::Index buffer;
        std::uint16_t bytes;
    };
    std::uint32_t next_;       // to be delivered
    std::uint64_t bits_{0};    // bit i: number next_ + i is kept
    std::array<Kept, kLaneWindow> kept_{};
};

}   // namespace linnet::flow

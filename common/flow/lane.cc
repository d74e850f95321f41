// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Lane: see lane.h.
#include "flow/lane.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace linnet::flow {

void LaneTx::transition(Slot& s, SlotEvent e) noexcept
{
    const SlotState to = kSlotTable[static_cast<std::size_t>(s.state)][static_cast<std::size_t>(e)];
    LINNET_ASSERT(to != SlotState::kBug);
    lost_ += (to == SlotState::kLost ? 1u : 0u) - (s.state == SlotState::kLost ? 1u : 0u);
    s.state = to;
}

// ---- writing ----

void LaneTx::append(std::span<const std::byte> bytes, std::size_t frame_payload, FramePool& pool) noexcept
{
    while (!bytes.empty()) {
        Slot* s = send_next_ != next_ ? &slot(next_ - 1) : nullptr;
        if (s == nullptr || s->bytes == frame_payload) {
            s = &new_frame(pool);
        }
        const std::size_t n = std::min(bytes.size(), frame_payload - s->bytes);
        std::memcpy(pool.buffer(s->buffer) + s->bytes, bytes.data(), n);
        s->bytes = static_cast<std::uint16_t>(s->bytes + n);
        bytes = bytes.subspan(n);
    }
}

LaneTx::Slot& LaneTx::new_frame(FramePool& pool) noexcept
{
    Slot& s = slot(next_++);
    s.buffer = pool.acquire();
    s.bytes = 0;
    s.sends = 0;
    s.probed = false;
    transition(s, SlotEvent::kWrite);
    return s;
}

bool LaneTx::write(std::span<const std::byte> head, std::span<const std::byte> payload, std::size_t frame_payload, FramePool& pool, std::size_t most) noexcept
{
    const std::size_t need = head.size() + payload.size();
    const std::size_t room = send_next_ != next_ ? frame_payload - slot(next_ - 1).bytes : 0;
    pool_ = &pool;
    if (need == 0) {
        return true;
    }
    if (need <= frame_payload) [[likely]] {
        if (need > room && (window_left() == 0 || most == 0)) {
            return false;
        }
        Slot& s = need > room ? new_frame(pool) : slot(next_ - 1);
        std::byte* const to = pool.buffer(s.buffer) + s.bytes;
        if (!head.empty()) {
            std::memcpy(to, head.data(), head.size());
        }
        if (!payload.empty()) {
            std::memcpy(to + head.size(), payload.data(), payload.size());
        }
        s.bytes = static_cast<std::uint16_t>(s.bytes + need);
        return true;
    }
    const std::size_t frames = frames_for(need, frame_payload);
    if (frames > window_left() || frames > most) {
        return false;
    }
    append(head, frame_payload, pool);
    append(payload, frame_payload, pool);
    return true;
}

// ---- sending ----

LaneTx::Picked LaneTx::pick(Stamp now) noexcept
{
    std::uint32_t number = send_next_;
    if (lost_ != 0) {
        for (number = una_; slot(number).state != SlotState::kLost; ++number) {
        }
    } else {
        if (una_ == send_next_) {
            rack_valid_ = false;   // a new flight: stamps of the old one may be half a wrap away
        }
        ++send_next_;
    }
    Slot& s = slot(number);
    transition(s, SlotEvent::kSend);
    const bool again = s.sends != 0;
    resent_ += again ? 1 : 0;
    s.sends = static_cast<std::uint8_t>(std::min(s.sends + 1, 255));
    s.stamp = now;
    return {number, {pool_->buffer(s.buffer), s.bytes}, again};
}

bool LaneTx::not_sent(std::uint32_t number) noexcept
{
    if (number - una_ >= send_next_ - una_) {
        return false;
    }
    Slot& s = slot(number);
    if (s.sends == 1 && number + 1 == send_next_ && s.state == SlotState::kSent) {
        transition(s, SlotEvent::kRefuse);
        s.sends = 0;
        --send_next_;
        return true;
    }
    resent_ -= s.sends > 1 ? 1 : 0;
    transition(s, SlotEvent::kLose);
    return false;
}

void LaneTx::probe() noexcept
{
    for (std::uint32_t n = una_; n != send_next_; ++n) {
        if (n == una_ || n + 1 == send_next_) {
            slot(n).probed = true;
            transition(slot(n), SlotEvent::kLose);
        }
    }
}

// ---- acknowledgements ----

bool LaneTx::plausible(std::uint32_t ack, std::uint64_t sack) const noexcept
{
    // Nothing beyond what was sent, and no `ack` older than a window and its echo on the way: such a head is not of this connection's present.
    const std::uint32_t top = sack == 0 ? ack : ack + 1 + static_cast<std::uint32_t>(64 - std::countl_zero(sack));
    return !before(send_next_, ack) && !before(send_next_, top) && una_ - ack + 0x40000000u < 0x80000000u;
}

void LaneTx::acknowledge(std::uint32_t number, const Stamp* echo, Acked& result) noexcept
{
    Slot& s = slot(number);
    if (s.state != SlotState::kSent && s.state != SlotState::kLost) {
        return;
    }
    result.news = true;
    transition(s, SlotEvent::kAck);
    // An earlier copy than the last one: which is not told, but nothing that was sent after `echo`.
    const bool early = s.sends > 1 && echo != nullptr && before(*echo, s.stamp);
    const Stamp stamp = early ? *echo : s.stamp;
    if (early) {
        result.spurious = true;
        result.overtaken = result.overtaken || !s.probed;
    } else {
        result.mended += s.sends > 1 ? 1 : 0;
    }
    if (!rack_valid_) {
        highest_acked_ = rack_number_ = number;
        rack_stamp_ = stamp;
        rack_valid_ = true;
        return;
    }
    highest_acked_ = later(highest_acked_, number);
    if (before(rack_stamp_, stamp) || (rack_stamp_ == stamp && before(rack_number_, number))) {
        rack_stamp_ = stamp;
        rack_number_ = number;
    }
}

LaneTx::Acked LaneTx::on_ack(std::uint32_t ack, std::uint64_t sack, const Stamp* echo, FramePool& pool) noexcept
{
    Acked result;
    for (std::uint32_t n = una_; before(n, ack); ++n) {
        acknowledge(n, echo, result);
    }
    for (std::uint64_t bits = sack; bits != 0; bits &= bits - 1) {
        const std::uint32_t n = ack + 1 + static_cast<std::uint32_t>(std::countr_zero(bits));
        if (!before(n, una_)) {
            acknowledge(n, echo, result);
        }
    }
    while (una_ != send_next_ && slot(una_).state == SlotState::kAcked) {
        Slot& s = slot(una_++);
        pool.release(s.buffer);
        s.buffer = FramePool::kNone;
        transition(s, SlotEvent::kRelease);
    }
    return result;
}

Nanos LaneTx::detect(Stamp now, Nanos window, Nanos wait, bool in_order_path) noexcept
{
    Nanos next = Nanos::max();
    if (!rack_valid_ || !before(una_, highest_acked_)) {
        return next;   // nothing arrived that was sent after something missing
    }
    unsigned above = 0;
    for (std::uint32_t n = highest_acked_; !before(n, una_); --n) {
        Slot& s = slot(n);
        if (s.state == SlotState::kAcked) {
            ++above;
            continue;
        }
        const bool sent_before = before(s.stamp, rack_stamp_) || (s.stamp == rack_stamp_ && before(n, rack_number_));
        if (s.state != SlotState::kSent || !sent_before) {
            continue;
        }
        const Nanos age = stamp_gap(s.stamp, now);
        if (stamp_gap(s.stamp, rack_stamp_) > window || age >= wait || (in_order_path && s.sends == 1 && above >= kReorderFrames)) {
            transition(s, SlotEvent::kLose);
        } else {
            next = std::min(next, wait - age);
        }
    }
    return next;
}

void LaneTx::clear(FramePool& pool) noexcept
{
    for (Slot& s : slots_) {
        if (s.buffer != FramePool::kNone) {
            pool.release(s.buffer);
        }
        s = Slot{};
    }
    una_ = send_next_ = next_;
    lost_ = 0;
}

// ---- receiving ----

LaneRx::Verdict LaneRx::arrive(std::uint32_t number, std::span<const std::byte> payload, std::uint32_t limit, FramePool& pool) noexcept
{
    if (before(number, next_)) {
        return Verdict::kDuplicate;
    }
    const std::uint32_t ahead = number - next_;
    if (!before(number, limit) || ahead >= kLaneWindow) {
        return Verdict::kBeyond;
    }
    if ((bits_ >> ahead & 1) != 0) {
        return Verdict::kDuplicate;
    }
    if (ahead == 0) {
        ++next_;
        bits_ >>= 1;
        return Verdict::kDeliver;
    }
    const FramePool::Index buffer = payload.size() <= pool.buffer_bytes() ? pool.acquire() : FramePool::kNone;
    if (buffer == FramePool::kNone) {
        return Verdict::kNoBuffer;
    }
    std::memcpy(pool.buffer(buffer), payload.data(), payload.size());
    kept_[number % kLaneWindow] = {buffer, static_cast<std::uint16_t>(payload.size())};
    bits_ |= std::uint64_t{1} << ahead;
    return Verdict::kKept;
}

bool LaneRx::pop(FramePool& pool, std::span<const std::byte>& bytes, FramePool::Index& buffer) noexcept
{
    if (!ready()) {
        return false;
    }
    const Kept& k = kept_[next_ % kLaneWindow];
    buffer = k.buffer;
    bytes = {pool.buffer(k.buffer), k.bytes};
    ++next_;
    bits_ >>= 1;
    return true;
}

void LaneRx::clear(FramePool& pool) noexcept
{
    for (; bits_ != 0; bits_ >>= 1, ++next_) {
        if ((bits_ & 1) != 0) {
            pool.release(kept_[next_ % kLaneWindow].buffer);
        }
    }
}

}   // namespace linnet::flow

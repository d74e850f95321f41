// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Machine: rows of frames. What is made in one call has one head, but for the number of the block, or of the lane frame and its length: it is built and
// checked once for all of them.
#include <cstring>

#include "flow/machine.h"

namespace linnet::flow {

namespace {

constexpr std::size_t kHeads = sizeof(wire::FrameHead) + sizeof(wire::BlockHead);
constexpr std::size_t kIndexAt = sizeof(wire::FrameHead) + offsetof(wire::BlockHead, index);
constexpr std::size_t kBehindIndex = kIndexAt + sizeof(wire::BlockHead::index);
static_assert(kIndexAt == sizeof(wire::FrameHead), "what must be equal in front of the index is the frame's head");
constexpr std::size_t kBytesAt = offsetof(wire::FrameHead, bytes);
constexpr std::size_t kBehindBytes = kBytesAt + sizeof(wire::FrameHead::bytes);
constexpr std::size_t kNumberAt = offsetof(wire::FrameHead, number);
constexpr std::size_t kBehindNumber = kNumberAt + sizeof(wire::FrameHead::number);

[[nodiscard]] wire::FrameHead head_of(const TxFrame& f) noexcept
{
    wire::FrameHead h;
    std::memcpy(&h, f.head.data(), sizeof h);
    return h;
}

// Each has a sum of its own, or says something that is not of all of them.
[[nodiscard]] bool special(const wire::FrameHead& h) noexcept
{
    return (h.flags.get() & (wire::frame_flag::kWantAck | wire::frame_flag::kCrc | wire::frame_flag::kMac)) != 0;
}

// What is not in the head.
void goes_like(TxFrame& f, const TxFrame& first) noexcept
{
    f.connection = first.connection;
    f.route = first.route;
    f.head_bytes = first.head_bytes;
    f.kind = first.kind;
}

// But for the length and the number of a lane frame.
[[nodiscard]] bool same_head(const std::byte* a, const std::byte* b) noexcept
{
    return std::memcmp(a, b, kBytesAt) == 0 && std::memcmp(a + kBehindBytes, b + kBehindBytes, kNumberAt - kBehindBytes) == 0 &&
           std::memcmp(a + kBehindNumber, b + kBehindNumber, sizeof(wire::FrameHead) - kBehindNumber) == 0;
}

}   // namespace

// ---- sending ----

// What follows `first` under the same head. Returns how many of `out` were filled.
std::size_t Machine::next_blocks(Connection& c, const TxFrame& first, std::span<TxFrame> out) noexcept
{
    if (special(head_of(first))) {
        return 0;
    }
    std::size_t n = 0;
    for (; n < out.size(); ++n) {
        TrainTx* const t = c.bulk->tx.pick_next(first.number, c.limit);
        if (t == nullptr || t->block(t->next - 1u).size() != first.payload.size()) {
            LINNET_ASSERT(t == nullptr);   // only the last block of a train is shorter
            break;
        }
        TxFrame& f = out[n];
        goes_like(f, first);
        f.index = static_cast<std::uint16_t>(t->next - 1u);
        f.number = first.number;
        f.payload = t->block(f.index);
        std::memcpy(f.head.data(), first.head.data(), kHeads);
        const le16 index{f.index};
        std::memcpy(f.head.data() + kIndexAt, &index, sizeof index);
    }
    stats_.frames_out += n;
    return n;
}

std::size_t Machine::next_lane_frames(Connection& c, const TxFrame& first, std::span<TxFrame> out) noexcept
{
    wire::FrameHead h = head_of(first);
    if (special(h)) {
        return 0;
    }
    std::size_t n = 0;
    for (; n < out.size() && c.lane->tx.in_row(c.limit); ++n) {
        const LaneTx::Picked p = c.lane->tx.pick(h.stamp.get());
        TxFrame& f = out[n];
        goes_like(f, first);
        f.number = p.number;
        f.payload = p.payload;
        h.bytes.set(static_cast<std::uint16_t>(p.payload.size()));
        h.number.set(p.number);
        std::memcpy(f.head.data(), &h, sizeof h);
    }
    stats_.frames_out += n;
    return n;
}

// ---- receiving ----

// A block has just been taken, with head `h`: may others join it?
void Machine::begin_row(Connection& c, const wire::FrameHead& h, std::span<const std::byte> frame) noexcept
{
    TrainRx* const t = c.bulk->rx.find(h.number.get());
    const std::uint16_t flags = h.flags.get();
    if (t == nullptr || !t->landing_known || !BulkRx::in_row(*t) || (flags & (wire::frame_flag::kCrc | wire::frame_flag::kMac)) != 0 ||
        h.bytes.get() != sizeof(wire::BlockHead) + t->block_bytes) {
        return;
    }
    row_ = {&c, t, frame.first(kHeads), t->block_bytes, c.line.open(), 0};
    row_of_ = c.id;
}

// Likewise a lane frame that is to be handed on.
void Machine::begin_lane_row(Connection& c, const wire::FrameHead& h, std::span<const std::byte> frame) noexcept
{
    const LaneRx& rx = c.lane->rx;
    if (rx.in_order() && (h.flags.get() & (wire::frame_flag::kCrc | wire::frame_flag::kMac)) == 0) {
        row_ = {&c, nullptr, frame.first(sizeof h), 0, c.line.limit() - rx.next(), 0};
    }
}

std::span<const std::byte> Machine::lane_bytes(std::span<const std::byte> frame) noexcept
{
    le16 bytes;
    std::memcpy(&bytes, frame.data() + kBytesAt, sizeof bytes);
    return frame.subspan(sizeof(wire::FrameHead), bytes.get());
}

bool Machine::receive_next_of_lane(std::span<const std::byte> frame) noexcept
{
    LaneRx& rx = row_.connection->lane->rx;
    if (frame.size() < sizeof(wire::FrameHead) || !same_head(frame.data(), row_.heads.data())) {
        return false;
    }
    wire::FrameHead h;
    std::memcpy(&h, frame.data(), sizeof h);
    if (h.number.get() != rx.next() || h.bytes.get() == 0 || h.bytes.get() > frame.size() - sizeof h) {
        return false;
    }
    rx.next_arrived();
    ++row_.joined;
    return true;
}

Machine::Ahead Machine::ahead() const noexcept
{
    const Connection* const c = get(row_of_);
    if (c == nullptr || !c->up() || c->mac || c->crc) {
        return {};
    }
    for (std::uint32_t n = c->bulk->rx.ack(); n != c->bulk->rx.ack() + kTrains; ++n) {
        const TrainRx* const t = c->bulk->rx.find(n);
        if (t == nullptr || !t->landing_known || !BulkRx::in_row(*t)) {
            continue;
        }
        if (t->to == nullptr) {
            return {};   // what comes is thrown away
        }
        const std::size_t from = std::size_t{t->frontier} * t->block_bytes;
        const std::size_t room = t->landed() > from ? t->landed() - from : 0;
        return {t->to + from, t->block_bytes, static_cast<unsigned>(room / t->block_bytes), t->frontier, t->number, c->own_wire_id};
    }
    return {};
}

bool Machine::as_expected(const Ahead& ahead, std::span<const std::byte> frame, const std::byte* payload) noexcept
{
    wire::FrameHead h;
    wire::BlockHead b;
    if (ahead.blocks == 0 || frame.size() != kHeads + ahead.block_bytes) {
        return false;
    }
    std::memcpy(&h, frame.data(), sizeof h);
    std::memcpy(&b, frame.data() + sizeof h, sizeof b);
    return h.kind == wire::FrameKind::kBlock && (h.flags.get() & (wire::frame_flag::kCrc | wire::frame_flag::kMac)) == 0 &&
           h.bytes.get() == sizeof b + ahead.block_bytes && h.connection.get() == ahead.wire_id && h.number.get() == ahead.train &&
           b.index.get() >= ahead.index && ahead.to + std::size_t{b.index.get() - ahead.index} * ahead.block_bytes == payload;
}

bool Machine::receive_next(std::span<const std::byte> frame, const std::byte* payload) noexcept
{
    if (row_.joined == row_.left) {
        return false;
    }
    if (row_.train == nullptr) {
        return receive_next_of_lane(frame);
    }
    if (frame.size() < kHeads + row_.payload_bytes) {
        return false;
    }
    TrainRx& t = *row_.train;
    le16 index;
    std::memcpy(&index, frame.data() + kIndexAt, sizeof index);
    if (index.get() != t.frontier || !BulkRx::in_row(t) || std::memcmp(frame.data(), row_.heads.data(), kIndexAt) != 0 ||
        std::memcmp(frame.data() + kBehindIndex, row_.heads.data() + kBehindIndex, kHeads - kBehindIndex) != 0) {
        return false;
    }
    const std::size_t at = std::size_t{t.frontier} * t.block_bytes;
    const std::byte* const from = payload != nullptr ? payload : frame.data() + kHeads;
    if (at < t.room && t.to + at != from) {
        std::memcpy(t.to + at, from, std::min(row_.payload_bytes, t.room - at));
    }
    row_.connection->bulk->rx.placed_next(t);
    ++row_.joined;
    return true;
}

void Machine::end_row(TimePoint now) noexcept
{
    if (row_.joined != 0) {
        Connection& c = *row_.connection;
        stats_.frames_in += row_.joined;
        watch_arrivals(row_.joined, 0);   // while what is lent counts the row: its window is what was on the way
        if (row_.train != nullptr) {
            row_.train->quiet_since = now;
            count_arrived(c);
        } else {
            c.line.arrived(pool_, c.lane->rx.ack());
        }
        c.since_ack += row_.joined - 1;
        data_arrived(c, false, now);
    }
    row_ = {};
}

}   // namespace linnet::flow

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FrameTransport: sending. A lane packet is copied into retained frames, a bulk packet leaves from where it lies; both leave in the same call.
#include <algorithm>
#include <span>

#include "transport/frames/frame_transport.h"

namespace linnet::frames {

// A packet that fits into a frame is written whole or not at all. A longer one is written frame by frame, as far as there is room: `cut` when the rest has
// to wait.
bool FrameTransport::write_packet(Channel& ch, Tx& tx, const LanePacket& packet, bool& cut) noexcept
{
    flow::Machine& m = *ch.machine;
    const std::size_t most = m.lane_payload(tx.connection);
    if (packet.head.size() + packet.payload.size() <= most) {
        return m.write_lane(tx.connection, packet.head, packet.payload);
    }
    const std::size_t first = std::min(packet.payload.size(), most > packet.head.size() ? most - packet.head.size() : 0);
    if (!m.write_lane(tx.connection, packet.head, packet.payload.first(first))) {
        return false;
    }
    tx.rest = {packet.payload.subspan(first), {}};
    cut = !write_rest(ch, tx);
    return true;
}

bool FrameTransport::write_rest(Channel& ch, Tx& tx) noexcept
{
    flow::Machine& m = *ch.machine;
    const std::size_t most = m.lane_payload(tx.connection);
    std::span<const std::byte>& rest = tx.rest[0];
    while (!rest.empty()) {
        const std::span<const std::byte> piece = rest.first(std::min(rest.size(), most));
        if (!m.write_lane(tx.connection, piece, {})) {
            return false;
        }
        rest = rest.subspan(piece.size());
    }
    return true;
}

SendResult FrameTransport::send_lane(LinkId id, std::span<const LanePacket> batch) noexcept
{
    SendResult result;
    Channel& ch = channel_of(LinkRole::kLane);
    MutexLock lock{ch.lock};
    const auto number = static_cast<std::uint32_t>(id.value);
    if (id.value == 0 || number >= ch.tx.size() || ch.tx[number].id != id) {
        result.down = true;
        return result;
    }
    Tx& tx = ch.tx[number];
    if (tx.cut()) {
        tx.notify = true;
        return result;
    }
    bool cut = false;
    while (result.taken < batch.size() && !cut && write_packet(ch, tx, batch[result.taken], cut)) {
        ++result.taken;
    }
    result.all_written = !cut;
    tx.notify = tx.notify || cut || result.taken < batch.size();
    flush(ch, clock_.now());
    return result;
}

// The next part of the packet that is borrowed.
Status FrameTransport::give_part(Channel& ch, Tx& tx) noexcept
{
    flow::Machine& m = *ch.machine;
    const std::size_t block = m.block_payload(tx.connection);
    const std::size_t bytes = wire::train_bytes(tx.payload.size(), block, tx.part);
    const std::size_t from = wire::train_offset(block, tx.part);
    const Status s = m.give_bulk(tx.connection, tx.head, tx.payload.subspan(std::min(from, tx.payload.size()), bytes), nullptr, tx.part);
    tx.part_waits = s == Status::kAgain;
    return s;
}

Status FrameTransport::send_bulk(LinkId id, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    Channel& ch = channel_of(LinkRole::kBulk);
    MutexLock lock{ch.lock};
    const auto number = static_cast<std::uint32_t>(id.value);
    if (id.value == 0 || number >= ch.tx.size() || ch.tx[number].id != id) {
        return Status::kPeerDown;
    }
    Tx& tx = ch.tx[number];
    if (tx.bulk_open) {
        tx.notify = true;
        return Status::kAgain;
    }
    tx.head = head;
    tx.payload = payload;
    tx.cookie = cookie;
    tx.part = 0;
    const Status s = give_part(ch, tx);
    tx.part_waits = false;
    if (s != Status::kInProgress) {
        tx.notify = tx.notify || s == Status::kAgain;
        return s;
    }
    tx.bulk_open = true;
    flush(ch, clock_.now());
    return Status::kInProgress;
}

// A part has arrived at the peer. True: it was the last one, and the packet is the caller's again.
bool FrameTransport::bulk_sent(Channel& ch, Tx& tx) noexcept
{
    ++tx.part;
    if (wire::train_offset(ch.machine->block_payload(tx.connection), tx.part) < tx.payload.size()) {
        static_cast<void>(give_part(ch, tx));
        return false;
    }
    tx.bulk_open = false;
    return true;
}

// ---- what the machine has to tell ----

unsigned FrameTransport::take_events(Channel& ch) noexcept
{
    unsigned done = 0;
    for (;;) {
        Link* link = nullptr;
        flow::Event e;
        void* cookie = nullptr;
        bool sent = false;
        bool notify = false;
        {
            MutexLock lock{ch.lock};
            e = ch.machine->next_event();
            if (e.kind == flow::Event::Kind::kNone) {
                if (done != 0) {
                    flush(ch, now_);
                }
                return done;
            }
            link = link_of(ch, e.connection);
            if (link == nullptr) {
                continue;
            }
            if (link->number < ch.tx.size() && ch.tx[link->number].id == link->id) {
                Tx& tx = ch.tx[link->number];
                if (e.kind == flow::Event::Kind::kBulkSent) {
                    cookie = tx.cookie;
                    sent = bulk_sent(ch, tx);
                } else if (e.kind == flow::Event::Kind::kWritable) {
                    if (tx.part_waits) {
                        static_cast<void>(give_part(ch, tx));
                    }
                    static_cast<void>(write_rest(ch, tx));
                }
                const bool room = e.kind == flow::Event::Kind::kBulkSent || e.kind == flow::Event::Kind::kWritable;
                if (room && tx.notify && !tx.cut() && !tx.bulk_open) {
                    tx.notify = false;
                    notify = true;
                }
            }
        }
        ++done;
        const LinkId id = link->id;
        const PeerId peer = link->peer;
        const LinkRole role = link->role;
        if (e.kind == flow::Event::Kind::kTrainDone) {
            train_done(*link, e);
        }
        if (sent) {
            sink_->on_bulk_sent(peer, cookie, true);
        }
        if (notify && link->id == id) {
            sink_->on_writable(peer, role);
        }
        if (closed_) {
            return done;
        }
    }
}

}   // namespace linnet::frames

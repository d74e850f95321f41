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
    const std::size_t heads = std::min(packet.head.size(), most);   // a packed payload lies behind it
    const std::size_t first = std::min(packet.payload.size(), most - heads);
    if (!m.write_lane(tx.connection, packet.head.first(heads), packet.payload.first(first))) {
        return false;
    }
    tx.rest = {packet.head.subspan(heads), packet.payload.subspan(first)};
    cut = !write_rest(ch, tx);
    return true;
}

bool FrameTransport::write_rest(Channel& ch, Tx& tx) noexcept
{
    flow::Machine& m = *ch.machine;
    const std::size_t most = m.lane_payload(tx.connection);
    for (std::span<const std::byte>& rest : tx.rest) {
        while (!rest.empty()) {
            const std::span<const std::byte> piece = rest.first(std::min(rest.size(), most));
            if (!m.write_lane(tx.connection, piece, {})) {
                return false;
            }
            rest = rest.subspan(piece.size());
        }
    }
    return true;
}

SendResult FrameTransport::send_lane(LinkId id, std::span<const LanePacket> batch) noexcept
{
    SendResult result;
    Channel& ch = channel_of(LinkRole::kLane);
    Held lock{ch};
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

// What the machine takes of the packets that are borrowed, in their order: the trains of the next one follow those of the last without a pause.
void FrameTransport::give_parts(Channel& ch, Tx& tx) noexcept
{
    flow::Machine& m = *ch.machine;
    const std::size_t block = m.block_payload(tx.connection);
    tx.part_waits = false;
    for (unsigned i = 0; i < tx.bulk->count; ++i) {
        for (BulkOut& p = tx.bulk->at(i); !p.given;) {
            const std::size_t from = wire::train_offset(block, p.part);
            const std::size_t bytes = wire::train_bytes(p.payload.size(), block, p.part);
            if (m.give_bulk(tx.connection, p.head, p.payload.subspan(from, bytes), &p, p.part) != Status::kInProgress) {
                tx.part_waits = true;
                return;
            }
            ++p.part;
            ++p.on_the_way;
            p.given = wire::train_offset(block, p.part) >= p.payload.size();
        }
    }
}

Status FrameTransport::send_bulk(LinkId id, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    Channel& ch = channel_of(LinkRole::kBulk);
    Held lock{ch};
    const auto number = static_cast<std::uint32_t>(id.value);
    if (id.value == 0 || number >= ch.tx.size() || ch.tx[number].id != id) {
        return Status::kPeerDown;
    }
    Tx& tx = ch.tx[number];
    if (!tx.takes_bulk()) {
        tx.notify = true;
        return Status::kAgain;
    }
    BulkOut& p = tx.bulk->add();
    p.head = head;
    p.payload = payload;
    p.cookie = cookie;
    give_parts(ch, tx);
    if (p.on_the_way == 0) {   // no record for its first train
        tx.bulk->drop_last();
        tx.part_waits = false;
        tx.notify = true;
        return Status::kAgain;
    }
    flush(ch, clock_.now());
    return Status::kInProgress;
}

// The acknowledgement comes by another way than what the receiver says of the message, and later. A packet that is not on its way whole is sent again after a
// broken link, to a peer that had it: that goes on.
bool FrameTransport::bulk_over(LinkId id, const void* cookie) noexcept
{
    Channel& ch = channel_of(LinkRole::kBulk);
    Held lock{ch};
    const auto number = static_cast<std::uint32_t>(id.value);
    if (id.value == 0 || number >= ch.tx.size() || ch.tx[number].id != id || ch.tx[number].bulk == nullptr) {
        return false;
    }
    Tx& tx = ch.tx[number];
    for (unsigned i = 0; i < tx.bulk->count; ++i) {
        BulkOut& p = tx.bulk->at(i);
        if (p.cookie != cookie || p.over || !p.given) {
            continue;
        }
        p.on_the_way -= ch.machine->end_bulk(tx.connection, &p, clock_.now());
        p.over = p.on_the_way == 0;
        if (!p.over) {
            return false;
        }
        tx.bulk->drop_over();
        if (tx.part_waits) {
            give_parts(ch, tx);
        }
        tx.notify = tx.notify && !tx.takes_bulk();
        return true;
    }
    return false;
}

// A part has arrived at the peer. True: the packet has, and is the caller's again.
bool FrameTransport::bulk_sent(Channel& ch, Tx& tx, BulkOut& packet) noexcept
{
    --packet.on_the_way;
    packet.over = packet.given && packet.on_the_way == 0;
    tx.bulk->drop_over();
    if (tx.part_waits) {
        give_parts(ch, tx);
    }
    return packet.over;
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
            Held lock{ch};
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
                    auto& packet = *static_cast<BulkOut*>(e.cookie);
                    cookie = packet.cookie;
                    sent = bulk_sent(ch, tx, packet);
                } else if (e.kind == flow::Event::Kind::kWritable) {
                    if (tx.part_waits) {
                        give_parts(ch, tx);
                    }
                    static_cast<void>(write_rest(ch, tx));
                }
                const bool room = e.kind == flow::Event::Kind::kBulkSent || e.kind == flow::Event::Kind::kWritable;
                if (room && tx.notify && (tx.bulk != nullptr ? tx.takes_bulk() : !tx.cut())) {
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

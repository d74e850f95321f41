// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FrameTransport: receiving. Packets are handed up from the frame that brought them; what is longer than a frame goes where the sink wants it, a copy each.
#include <algorithm>
#include <cstring>
#include <span>

#include "transport/frames/frame_transport.h"

namespace linnet::frames {

namespace {

[[nodiscard]] wire::FrameKind kind_of(std::span<const std::byte> frame) noexcept
{
    return frame.size() < sizeof(wire::FrameHead) ? wire::FrameKind::kNone : static_cast<wire::FrameKind>(frame[offsetof(wire::FrameHead, kind)]);
}
// Frames about connections, not within one.
[[nodiscard]] bool about_connection(wire::FrameKind kind) noexcept { return kind == wire::FrameKind::kOpen || kind == wire::FrameKind::kReset; }

}   // namespace

// The lock is held over as many frames as need nothing of the sink.
unsigned FrameTransport::handle(Channel& ch, std::span<RxFrame> frames) noexcept
{
    if (std::any_of(frames.begin(), frames.end(),
                    [&ch](const RxFrame& f) { return f.payload != nullptr && !flow::Machine::as_expected(ch.ahead, f.bytes, f.payload); })) {
        port_->gather(ch.number);   // the guess was wrong for some, and where they belong others may lie
        std::for_each(frames.begin(), frames.end(), [](RxFrame& f) { f.payload = nullptr; });
    }
    std::size_t i = 0;
    while (i < frames.size() && !closed_) {
        const wire::FrameKind kind = kind_of(frames[i].bytes);
        if (about_connection(kind)) {
            kind == wire::FrameKind::kOpen ? open_frame_arrived(ch, frames[i]) : reset_arrived(ch, frames[i].bytes);
            ++i;
            continue;
        }
        flow::Received r;
        Link* link = nullptr;
        std::size_t first = i;   // of a row
        {
            Held lock{ch};
            while (i < frames.size() && !about_connection(kind_of(frames[i].bytes))) {
                first = i;
                r = ch.machine->receive(frames[i].bytes, now_, frames[i].payload);
                ++i;
                if (r.landing != nullptr || r.drop == flow::Drop::kUnknown) {
                    break;
                }
                while (i < frames.size() && ch.machine->receive_next(frames[i].bytes, frames[i].payload)) {
                    ++i;
                }
                if (!r.lane.empty()) {
                    break;
                }
            }
            ch.machine->end_row(now_);
            link = link_of(ch, r.connection);
        }
        if (r.drop == flow::Drop::kUnknown) {
            wire::FrameHead head;
            std::memcpy(&head, frames[first].bytes.data(), sizeof head);
            answer_unknown(ch, head, port_->source(ch.number, frames[first]));
        } else if (link != nullptr && !r.lane.empty()) {
            const LinkId id = link->id;
            lane_arrived(ch, *link, r.lane, r.more);
            for (std::size_t next = first + 1; next < i && link->id == id && !closed_; ++next) {
                feed(*link, flow::Machine::lane_bytes(frames[next].bytes));
            }
        } else if (link != nullptr && r.landing != nullptr) {
            ch.trains = true;
            const LinkId id = link->id;
            static_cast<void>(take_events(ch));   // the end of the packet before it
            if (link->id == id) {
                train_begins(ch, *link, r);
            }
        }
    }
    return static_cast<unsigned>(i);
}

// ---- lane ----

// The piece in this frame, and what was kept since it had come too early.
void FrameTransport::lane_arrived(Channel& ch, Link& link, std::span<const std::byte> bytes, bool more) noexcept
{
    const LinkId id = link.id;
    const flow::ConnectionId connection = link.connection;
    feed(link, bytes);
    while (more && link.id == id && !closed_) {
        {
            Held lock{ch};
            more = ch.machine->more_lane(connection, bytes);
        }
        if (more) {
            feed(link, bytes);
        }
    }
}

void FrameTransport::feed(Link& link, std::span<const std::byte> bytes) noexcept
{
    const LinkId id = link.id;
    while (!bytes.empty()) {
        std::size_t used = 0;
        if (link.body.in_body) {
            used = feed_body(link, bytes);
        } else if (link.head_bytes != 0 || bytes.size() < sizeof(wire::PacketHead)) {
            used = feed_head(link, bytes);
        } else {
            wire::PacketHead head;
            std::memcpy(&head, bytes.data(), sizeof head);
            if (!lane_head_ok(link, head)) {
                return;
            }
            const std::size_t total = sizeof head + head.body_bytes.get();
            const std::size_t heads = sizeof head + static_cast<std::size_t>(wire::kind_header_bytes(head.kind));
            if (bytes.size() >= total) {
                used = total;
                sink_->on_packet(id, link.peer, bytes.first(total));
            } else if (bytes.size() >= heads) {
                used = heads;
                begin_body(link, bytes.first(heads), total - heads);
            } else {
                used = feed_head(link, bytes);
            }
        }
        if (link.id != id || closed_) {
            return;
        }
        bytes = bytes.subspan(used);
    }
}

bool FrameTransport::lane_head_ok(Link& link, const wire::PacketHead& head) noexcept
{
    if (wire::lane_head_ok(head) && sizeof head + head.body_bytes.get() <= caps_.lane_packet_max) {
        return true;
    }
    counters_.add(Counter::kProtocolErrors);
    end_link(link, true, Status::kProtocol, describe(link, "received what is no packet", 0));
    return false;
}

// A head that frames have cut. Returns how many of `bytes` belong to it.
std::size_t FrameTransport::feed_head(Link& link, std::span<const std::byte> bytes) noexcept
{
    const auto take = [&](std::size_t wanted) {
        const std::size_t n = std::min(bytes.size(), wanted - link.head_bytes);
        std::memcpy(link.head.data() + link.head_bytes, bytes.data(), n);
        link.head_bytes = static_cast<std::uint8_t>(link.head_bytes + n);
        bytes = bytes.subspan(n);
        return n;
    };
    wire::PacketHead head;
    std::size_t used = 0;
    if (link.head_bytes < sizeof head) {
        used = take(sizeof head);
        if (link.head_bytes < sizeof head) {
            return used;
        }
    }
    std::memcpy(&head, link.head.data(), sizeof head);
    if (!lane_head_ok(link, head)) {
        return used;
    }
    const std::size_t heads = sizeof head + static_cast<std::size_t>(wire::kind_header_bytes(head.kind));
    used += take(heads);
    if (link.head_bytes < heads) {
        return used;
    }
    link.head_bytes = 0;
    const std::size_t payload = sizeof head + head.body_bytes.get() - heads;
    if (payload == 0) {
        sink_->on_packet(link.id, link.peer, std::span{link.head}.first(heads));
    } else {
        begin_body(link, std::span{link.head}.first(heads), payload);
    }
    return used;
}

void FrameTransport::begin_body(Link& link, std::span<const std::byte> head, std::size_t payload_bytes) noexcept
{
    const LinkId id = link.id;
    const Landing landing = sink_->on_packet_begin(id, link.peer, head, payload_bytes);
    if (link.id == id) {
        link.body = {true, landing, payload_bytes, 0};
    }
}

std::size_t FrameTransport::feed_body(Link& link, std::span<const std::byte> bytes) noexcept
{
    RxBody& body = link.body;
    const std::size_t n = std::min(bytes.size(), body.body_left);
    const std::size_t wanted = std::min(n, body.landing.room - body.landed);
    if (wanted != 0) {
        std::memcpy(body.landing.to + body.landed, bytes.data(), wanted);
    }
    body.landed += wanted;
    body.body_left -= n;
    if (body.body_left == 0) {
        const RxBody whole = std::exchange(body, {});
        sink_->on_packet_end(link.id, link.peer, whole.landing.cookie, whole.landed, true);
    }
    return n;
}

// ---- bulk ----

// Several packets, and several parts of one, arrive at a time; each part is one train, and begins with whichever of its blocks comes first.
void FrameTransport::train_begins(Channel& ch, Link& link, const flow::Received& r) noexcept
{
    const LinkId id = link.id;
    const wire::BulkHead head = *r.landing;
    BulkArrivals& arrivals = *link.bulk;
    const auto same = [&head](const BulkIn& p) { return p.open && std::memcmp(&p.head, &head, sizeof head) == 0; };
    auto packet = std::find_if(arrivals.begin(), arrivals.end(), same);
    const bool fresh = packet == arrivals.end();
    if (fresh) {
        packet = std::find_if(arrivals.begin(), arrivals.end(), [](const BulkIn& p) { return !p.open; });
    }
    const std::size_t whole = head.body_bytes.get();
    if (packet == arrivals.end() || (fresh ? 0 : packet->begun) + r.part_bytes > whole) {
        counters_.add(Counter::kProtocolErrors);
        end_link(link, true, Status::kProtocol, describe(link, "received bulk data that cannot be", 0));
        return;
    }
    if (fresh) {
        const Landing landing = sink_->on_bulk_begin(id, link.peer, head);
        if (link.id != id || closed_) {
            return;
        }
        *packet = BulkIn{};
        packet->open = true;
        packet->head = head;
        packet->landing = landing;
        packet->left = whole;
    }
    packet->begun += r.part_bytes;
    packet->part_bytes = r.part == 0 ? r.part_bytes : r.part_offset / r.part;
    const Landing& to = packet->landing;
    const std::size_t at = std::min<std::size_t>(r.part_offset, to.room);
    Held lock{ch};
    ch.machine->land(r, at < to.room ? to.to + at : nullptr, to.room - at, &*packet, now_);
}

void FrameTransport::train_done(Link& link, const flow::Event& e) noexcept
{
    BulkIn& packet = *static_cast<BulkIn*>(e.cookie);
    packet.left -= e.bytes;
    packet.part_done(e.part);
    if (packet.left == 0) {
        packet.open = false;
        sink_->on_bulk_end(link.id, link.peer, packet.landing.cookie, std::min<std::size_t>(packet.landing.room, packet.head.body_bytes.get()), true);
    }
}

}   // namespace linnet::frames

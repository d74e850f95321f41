// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ScriptedTransport: see scripted_transport.h.
#include "fuzz/scripted_transport.h"

#include <algorithm>
#include <cstring>

#include "fuzz/fuzz_target.h"

namespace linnet::fuzz {

const TransportCaps& ScriptedTransport::caps() const noexcept
{
    static constexpr TransportCaps kCaps{.name = "scripted",
                                         .lane_packet_max = 128 * 1024,
                                         .separate_bulk = true,
                                         .direct_links = false,
                                         .latency = Nanos{1},
                                         .bytes_per_ns = 1,
                                         .unasked = true};
    return kCaps;
}

Status ScriptedTransport::open(TransportSink& sink, wire::EndpointName& name) noexcept
{
    sink_ = &sink;
    name.port.set(1);
    static_cast<void>(wire::add_address(name, {wire::AddressFamily::kIpv4, {127, 0, 0, 1}}));
    return Status::kOk;
}

ScriptedTransport::Link* ScriptedTransport::find(LinkId id) noexcept
{
    const auto it = std::find_if(links.begin(), links.end(), [&](const Link& l) { return l.id == id; });
    return it == links.end() ? nullptr : &*it;
}

ScriptedTransport::Link* ScriptedTransport::link_of(LinkRole role, Link::State state) noexcept
{
    const auto it = std::find_if(links.begin(), links.end(), [&](const Link& l) { return l.role == role && l.state == state; });
    return it == links.end() ? nullptr : &*it;
}

ScriptedTransport::Link& ScriptedTransport::make_link(PeerId peer, LinkRole role, Link::State state)
{
    Link link;
    link.id = LinkId{++last_id_};
    link.peer = peer;
    link.role = role;
    link.state = state;
    links.push_back(link);
    return links.back();
}

Result<LinkId> ScriptedTransport::connect(PeerId peer, LinkRole role, const wire::EndpointName&) noexcept
{
    return make_link(peer, role, Link::State::kAttempt).id;
}

void ScriptedTransport::look(std::span<const std::byte> bytes) noexcept
{
    for (const std::byte b : bytes) {
        sum_ = sum_ + std::to_integer<unsigned>(b);
    }
}

void ScriptedTransport::note(const LanePacket& packet)
{
    wire::PacketHead head;
    LINNET_FUZZ_CHECK(packet.head.size() >= sizeof head);
    std::memcpy(&head, packet.head.data(), sizeof head);
    LINNET_FUZZ_CHECK(wire::lane_head_ok(head) && packet.head.size() + packet.payload.size() == sizeof head + head.body_bytes.get());
    last_number = head.number.get() != 0 ? head.number.get() : last_number;
    const std::byte* const body = packet.head.data() + sizeof head;
    if (head.kind == wire::PacketKind::kGrant) {
        wire::GrantHeader g;
        std::memcpy(&g, body, sizeof g);
        grants.push_back(g);
    } else if (head.kind == wire::PacketKind::kRts || head.kind == wire::PacketKind::kEager) {
        wire::TagHeader t;
        std::memcpy(&t, body, sizeof t);
        send_slots.push_back(t.send_slot.get());
    } else if (head.kind == wire::PacketKind::kWrite) {
        wire::WriteHeader w;
        std::memcpy(&w, body, sizeof w);
        send_slots.push_back(w.send_slot.get());
    } else if (head.kind == wire::PacketKind::kRead) {
        wire::ReadHeader r;
        std::memcpy(&r, body, sizeof r);
        read_slots.push_back(r.recv_slot.get());
        wire::GrantHeader g;   // it is one
        g.recv_slot = r.recv_slot;
        g.recv_generation.set(1);
        g.length = r.length;
        grants.push_back(g);
    }
    if (grants.size() > 8) {
        grants.pop_front();
    }
    if (send_slots.size() > 8) {
        send_slots.pop_front();
    }
    if (read_slots.size() > 8) {
        read_slots.pop_front();
    }
}

SendResult ScriptedTransport::send_lane(LinkId link, std::span<const LanePacket> batch) noexcept
{
    const Link* const l = find(link);
    if (l == nullptr || l->state != Link::State::kUp) {
        return {0, false, true};
    }
    LINNET_FUZZ_CHECK(std::none_of(lane_.begin(), lane_.end(), [&](const Borrowed& b) { return b.link == link; }));
    if (mood == Mood::kFull) {
        lane_.push_back({link, {}});
        return {0, false, false};
    }
    for (const LanePacket& p : batch) {
        look(p.head);
        look(p.payload);
        note(p);
    }
    if (mood == Mood::kPending && !batch.empty()) {
        for (const LanePacket& p : batch) {
            lane_.push_back({link, p.head});
            lane_.push_back({link, p.payload});
        }
        return {batch.size(), false, false};
    }
    return {batch.size(), true, false};
}

Status ScriptedTransport::send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    const Link* const l = find(link);
    if (l == nullptr || l->state != Link::State::kUp) {
        return Status::kPeerDown;
    }
    LINNET_FUZZ_CHECK(cookie != nullptr && std::none_of(bulk_.begin(), bulk_.end(), [&](const Bulk& b) { return b.link == link && b.cookie == cookie; }));
    LINNET_FUZZ_CHECK(wire::bulk_head_ok(head) && head.body_bytes.get() == payload.size());
    const bool unasked = (head.flags.get() & wire::flag::kUnasked) != 0;
    LINNET_FUZZ_CHECK(!unasked || (takes_unasked && head.recv_generation.get() == 1));
    const bool was_full = std::any_of(bulk_.begin(), bulk_.end(), [&](const Bulk& b) { return b.link == link && b.cookie == nullptr; });
    if (was_full || mood == Mood::kFull) {   // until write_out(), as often as it is asked
        if (!was_full) {
            bulk_.push_back({link, l->peer, nullptr, {}, nullptr});
        }
        return Status::kAgain;
    }
    look(payload);
    if (mood == Mood::kWritten) {
        return Status::kOk;
    }
    bulk_.push_back({link, l->peer, &head, payload, cookie});
    return Status::kInProgress;
}

void ScriptedTransport::write_out(LinkRole role) noexcept
{
    const Link* const l = link_of(role, Link::State::kUp);
    if (l == nullptr) {
        return;
    }
    const LinkId id = l->id;
    const PeerId peer = l->peer;
    bool any = false;
    std::vector<Bulk> sent;
    for (const Borrowed& b : lane_) {
        if (b.link == id) {
            look(b.bytes);
            any = true;
        }
    }
    std::erase_if(lane_, [&](const Borrowed& b) { return b.link == id; });
    for (const Bulk& b : bulk_) {
        if (b.link == id) {
            sent.push_back(b);
        }
    }
    std::erase_if(bulk_, [&](const Bulk& b) { return b.link == id; });
    for (const Bulk& b : sent) {
        any = true;
        look(b.payload);
        if (b.head != nullptr) {
            look(std::as_bytes(std::span{b.head, 1}));
            sink_->on_bulk_sent(b.peer, b.cookie, true);
        }
    }
    if (any && find(id) != nullptr) {
        sink_->on_writable(peer, role);
    }
}

// Gives back what the link borrowed.
void ScriptedTransport::forget(LinkId id) noexcept
{
    std::erase_if(lane_, [&](const Borrowed& b) {
        if (b.link == id) {
            look(b.bytes);
        }
        return b.link == id;
    });
    std::vector<Bulk> back;
    for (const Bulk& b : bulk_) {
        if (b.link == id) {
            back.push_back(b);
        }
    }
    std::erase_if(bulk_, [&](const Bulk& b) { return b.link == id; });
    for (const Bulk& b : back) {
        if (b.head != nullptr) {
            look(b.payload);
            look(std::as_bytes(std::span{b.head, 1}));
            sink_->on_bulk_sent(b.peer, b.cookie, false);
        }
    }
}

void ScriptedTransport::drop(LinkId id) noexcept
{
    Link* const found = find(id);
    if (found == nullptr) {
        return;
    }
    const Link link = *found;
    links.erase(links.begin() + (found - links.data()));   // first: calls below may ask for it
    forget(id);
    if (!link.in_body) {
        return;
    }
    if (link.role == LinkRole::kLane) {
        sink_->on_packet_end(id, link.peer, link.landing.cookie, link.landed, false);
    } else {
        sink_->on_bulk_end(id, link.peer, link.landing.cookie, link.landed, false);
    }
}

void ScriptedTransport::fail(LinkId id, Status why) noexcept
{
    const Link* const found = find(id);
    if (found == nullptr) {
        return;
    }
    const Link link = *found;
    drop(id);
    sink_->on_link_down(id, link.peer, link.role, link.state == Link::State::kUp, why, "the script says so");
}

void ScriptedTransport::shutdown() noexcept
{
    while (!links.empty()) {
        drop(links.front().id);
    }
}

void ScriptedTransport::packet(LinkId id, std::span<const std::byte> bytes, bool split) noexcept
{
    Link* link = find(id);
    if (link == nullptr || link->in_body || bytes.size() < sizeof(wire::PacketHead)) {
        return;
    }
    wire::PacketHead head;
    std::memcpy(&head, bytes.data(), sizeof head);
    const std::size_t total = sizeof head + head.body_bytes.get();
    if (!wire::lane_head_ok(head) || total > caps().lane_packet_max) {
        fail(id, Status::kProtocol);
        return;
    }
    const std::size_t head_bytes = sizeof head + static_cast<std::size_t>(wire::kind_header_bytes(head.kind));
    const std::vector<std::byte> exact{bytes.begin(), bytes.end()};   // a read past its end is seen
    if (!split && exact.size() == total) {
        sink_->on_packet(id, link->peer, exact);
        return;
    }
    if (exact.size() < head_bytes || total == head_bytes) {
        fail(id, Status::kPeerDown);
        return;
    }
    const std::vector<std::byte> front{exact.begin(), exact.begin() + static_cast<std::ptrdiff_t>(head_bytes)};
    const Landing landing = sink_->on_packet_begin(id, link->peer, front, total - head_bytes);
    link = find(id);
    if (link == nullptr) {
        return;
    }
    link->landing = landing;
    link->in_body = true;
    link->landed = 0;
    link->body_left = total - head_bytes;
    body(id, {reinterpret_cast<const std::uint8_t*>(exact.data()) + head_bytes, exact.size() - head_bytes});
}

void ScriptedTransport::body(LinkId id, std::span<const std::uint8_t> bytes) noexcept
{
    Link* const link = find(id);
    if (link == nullptr || !link->in_body) {
        return;
    }
    const std::size_t n = std::min(bytes.size(), link->body_left);
    const std::size_t room = std::min(n, link->landing.room - link->landed);
    if (room != 0) {
        std::memcpy(link->landing.to + link->landed, bytes.data(), room);
    }
    link->landed += room;
    link->body_left -= n;
    if (link->body_left == 0) {
        end_body(id, true);
    }
}

void ScriptedTransport::end_body(LinkId id, bool ok) noexcept
{
    Link* const link = find(id);
    link->in_body = false;
    const Link l = *link;
    if (l.role == LinkRole::kLane) {
        sink_->on_packet_end(id, l.peer, l.landing.cookie, l.landed, ok);
    } else {
        sink_->on_bulk_end(id, l.peer, l.landing.cookie, l.landed, ok);
    }
}

void ScriptedTransport::bulk(LinkId id, const wire::BulkHead& head) noexcept
{
    Link* const link = find(id);
    if (link == nullptr || link->in_body || link->waits) {
        return;
    }
    if (!wire::bulk_head_ok(head)) {
        fail(id, Status::kProtocol);
        return;
    }
    link->head = head;
    ask(id);
}

void ScriptedTransport::ask(LinkId id) noexcept
{
    const Link was = *find(id);
    const Landing landing = sink_->on_bulk_begin(id, was.peer, was.head);
    Link* const link = find(id);
    if (link == nullptr) {
        return;
    }
    LINNET_FUZZ_CHECK(!was.waits || was.resumed || landing.later);   // a transport that waits for resume_bulk() would have waited for ever
    link->resumed = false;
    link->waits = landing.later;
    if (link->waits) {
        return;
    }
    link->landing = landing;
    link->in_body = true;
    link->landed = 0;
    link->body_left = link->head.body_bytes.get();
    if (link->body_left == 0) {
        end_body(id, true);
    }
}

void ScriptedTransport::ask_again(LinkId id) noexcept
{
    const Link* const link = find(id);
    if (link != nullptr && link->waits) {
        ask(id);
    }
}

void ScriptedTransport::go_on() noexcept
{
    std::vector<LinkId> resumed;
    for (const Link& l : links) {
        if (l.waits && l.resumed) {
            resumed.push_back(l.id);
        }
    }
    for (const LinkId id : resumed) {
        ask_again(id);
    }
}

void ScriptedTransport::resume_bulk(LinkId id) noexcept
{
    Link* const link = find(id);
    if (link != nullptr && link->waits) {
        link->resumed = true;
    }
}

}   // namespace linnet::fuzz

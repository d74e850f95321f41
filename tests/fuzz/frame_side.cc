// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FrameSide: see frame_side.h.
#include "fuzz/frame_side.h"

#include <algorithm>

namespace linnet::fuzz {
namespace {

using frames::FrameTransport;
using testing::SimPort;
using Action = HelloVerdict::Action;
using Bytes = std::vector<std::byte>;
constexpr std::size_t kMaxLinks = 200;   // fewer than the hellos that a transport remembers of links that ended
constexpr std::size_t kFrameBytes = 700;

std::byte pattern(std::uint32_t call, unsigned direction, std::uint32_t number, std::size_t at)
{
    return static_cast<std::byte>((call * 31 + direction * 97 + number * 7 + at * 13 + (at >> 8)) & 0xff);
}

}   // namespace

FrameSide::FrameSide(FrameWorld& world, unsigned n, unsigned l) : number{n}, life{l}, world_{world}
{
    auto p = std::make_unique<SimPort>(world.net, n + 1, world.channels, kFrameBytes, world.log);
    port = p.get();
    const TransportCaps caps{"sim", 0, true, false, Nanos{1000}, 1.0};
    transport = std::make_unique<FrameTransport>(std::move(p), caps, world.settings, world.clock, world.log, stats_);
    name.endpoint_id.set(n + 1);
    name.port.set(1);
    name.incarnation.set(0x1000 + l);
    LINNET_FUZZ_CHECK(transport->open(*this, name) == Status::kOk);
}

void FrameSide::end()
{
    if (std::exchange(ended_, true)) {
        return;
    }
    transport->shutdown();
    LINNET_FUZZ_CHECK(places.empty() && lent.empty());
    transport.reset();
}

Seen* FrameSide::find(LinkId link)
{
    const auto it = std::find_if(links.begin(), links.end(), [link](const auto& l) { return l.first == link.value; });
    return it == links.end() ? nullptr : &it->second;
}

// A link that the sink may hear of.
Seen& FrameSide::known(LinkId link)
{
    Seen* const s = find(link);
    LINNET_FUZZ_CHECK(s != nullptr && s->state != Seen::State::kOver);
    return *s;
}

std::vector<std::uint64_t> FrameSide::alive() const
{
    std::vector<std::uint64_t> all;
    for (const auto& [id, s] : links) {
        if (s.state != Seen::State::kOver) {
            all.push_back(id);
        }
    }
    return all;
}

Seen* FrameSide::end_of(std::uint32_t call, bool opener)
{
    for (auto& [id, s] : links) {
        const bool meant = opener || (world_.calls[call].answerer_life == life && world_.calls[call].answerer_link == id);
        if (s.state != Seen::State::kOver && s.call == call && s.opener == opener && meant) {
            return &s;
        }
    }
    return nullptr;
}

void FrameSide::connect(LinkRole role, unsigned addresses)
{
    if (links.size() >= kMaxLinks) {
        return;
    }
    wire::EndpointName to;
    to.port.set(1);
    const auto peer = static_cast<std::uint8_t>(2 - number);
    for (unsigned i = 0; i < addresses; ++i) {   // at the others nobody is
        wire::NameAddress at;
        at.bytes[3] = i + 1 == addresses ? peer : static_cast<std::uint8_t>(10 + i);
        LINNET_FUZZ_CHECK(wire::add_address(to, at));
    }
    const auto id = transport->connect(PeerId{2 - number}, role, to);
    if (id.ok()) {
        Seen s;
        s.role = role;
        s.opener = true;
        s.call = static_cast<std::uint32_t>(world_.calls.size());
        world_.calls.push_back({number, life, role, 0, 0});
        links.emplace_back(id->value, s);
    }
}

void FrameSide::drop(std::size_t which)
{
    const auto all = alive();
    if (all.empty()) {
        return;
    }
    const LinkId id{all[which % all.size()]};
    transport->drop(id);
    known(id).state = Seen::State::kOver;
    for (const auto& p : places) {
        LINNET_FUZZ_CHECK(p->link != id.value);
    }
    for (const auto& l : lent) {
        LINNET_FUZZ_CHECK(l->link != id.value);
    }
}

void FrameSide::called()
{
    if (drop_in != 0 && --drop_in == 0) {
        drop(drop_which);
    }
}

void FrameSide::send_lane(std::size_t which, std::size_t bytes)
{
    const auto all = alive();
    if (all.empty()) {
        return;
    }
    const LinkId id{all[which % all.size()]};
    Seen& s = known(id);
    if (s.state != Seen::State::kUp || s.role != LinkRole::kLane) {
        return;
    }
    wire::PacketHead head;
    head.kind = wire::PacketKind::kEager;
    head.number.set(s.sent);
    head.body_bytes.set(static_cast<std::uint32_t>(sizeof(wire::TagHeader) + bytes));
    constexpr std::size_t kHeads = sizeof head + sizeof(wire::TagHeader);
    packets_.push_back(std::make_unique<Bytes>(kHeads + bytes));
    Bytes& packet = *packets_.back();
    std::memcpy(packet.data(), &head, sizeof head);
    for (std::size_t i = 0; i < bytes; ++i) {
        packet[kHeads + i] = pattern(s.call, s.opener ? 0 : 1, s.sent, i);
    }
    const LanePacket one{std::span{packet}.first(kHeads), std::span{packet}.subspan(kHeads)};
    const SendResult r = transport->send_lane(id, {&one, 1});
    LINNET_FUZZ_CHECK(!r.down && r.taken <= 1);
    s.sent += static_cast<std::uint32_t>(r.taken);
}

void FrameSide::send_bulk(std::size_t which, std::size_t bytes)
{
    const auto all = alive();
    if (all.empty()) {
        return;
    }
    const LinkId id{all[which % all.size()]};
    Seen& s = known(id);
    if (s.state != Seen::State::kUp || s.role != LinkRole::kBulk) {
        return;
    }
    auto l = std::make_unique<Lent>();
    l->link = id.value;
    l->head.body_bytes.set(static_cast<std::uint32_t>(bytes));
    l->head.recv_slot.set(s.bulk_sent);
    l->payload.resize(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        l->payload[i] = pattern(s.call, s.opener ? 0 : 1, s.bulk_sent, i);
    }
    lent.push_back(std::move(l));
    Lent& given = *lent.back();
    const Status status = transport->send_bulk(id, given.head, given.payload, &given);
    LINNET_FUZZ_CHECK(status == Status::kInProgress || status == Status::kAgain);
    if (status == Status::kAgain) {
        lent.pop_back();
    } else {
        ++s.bulk_sent;
    }
}

// ---- its sink: opening ----

std::size_t FrameSide::make_hello(LinkId link, PeerId peer, LinkRole role, std::span<std::byte> out) noexcept
{
    Seen& s = known(link);
    LINNET_FUZZ_CHECK(s.opener && s.role == role && peer == PeerId{2 - number} && out.size() >= sizeof(Note));
    LINNET_FUZZ_CHECK(s.state == Seen::State::kAsked || s.state == Seen::State::kSaidHello);   // again for each address
    s.state = Seen::State::kSaidHello;
    const Note note{kMagic, s.call, 0, 1, ++s.attempt};
    std::memcpy(out.data(), &note, sizeof note);
    called();
    return give_up ? 0 : sizeof note;
}

HelloVerdict FrameSide::on_hello(LinkId link, std::span<const std::byte> hello, const Caller&, std::span<std::byte> reply) noexcept
{
    LINNET_FUZZ_CHECK(find(link) == nullptr && hello.size() <= kMaxHelloBytes && reply.size() >= sizeof(Note));
    HelloVerdict v;
    Note note{};
    std::memcpy(&note, hello.data(), std::min(hello.size(), sizeof note));
    const bool proper = hello.size() == sizeof note && note.magic == kMagic && note.step == 1 && note.call < world_.calls.size() &&
                        world_.calls[note.call].opener != number;
    LINNET_FUZZ_CHECK(proper || !world_.trusted);
    if (!proper || links.size() >= kMaxLinks) {
        return v;   // without an answer
    }
    for (const auto& [id, other] : links) {   // nobody is asked twice about what he let in
        LINNET_FUZZ_CHECK(!world_.trusted || !world_.sound || other.opener || other.call != note.call || other.attempt != note.link);
    }
    const bool yes = hello_answer == Action::kAccept;
    const Note answer{kMagic, note.call, yes ? life : 0, 2, yes ? link.value : 0};
    std::memcpy(reply.data(), &answer, sizeof answer);
    v.action = hello_answer;
    v.peer = PeerId{2 - number};
    v.role = world_.calls[note.call].role;
    v.reply_bytes = sizeof answer;
    v.why = yes ? Status::kOk : Status::kRefused;
    if (yes) {
        Seen s;
        s.state = Seen::State::kAnswered;
        s.role = v.role;
        s.call = note.call;
        s.attempt = note.link;
        links.emplace_back(link.value, s);
    }
    return v;   // it must not be dropped before this is told
}

HelloVerdict FrameSide::on_welcome(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> welcome, std::span<std::byte> confirm) noexcept
{
    Seen& s = known(link);
    LINNET_FUZZ_CHECK(s.opener && s.state == Seen::State::kSaidHello && s.role == role && peer == PeerId{2 - number} && confirm.size() >= sizeof(Note));
    HelloVerdict v;
    Note note{};
    std::memcpy(&note, welcome.data(), std::min(welcome.size(), sizeof note));
    const bool proper = welcome.size() == sizeof note && note.magic == kMagic && note.step == 2 && note.call == s.call;
    LINNET_FUZZ_CHECK(proper || !world_.trusted);
    v.action = note.life == 0 ? Action::kReject : welcome_answer;
    v.peer = peer;
    v.role = role;
    v.elsewhere = elsewhere;
    v.why = v.action == Action::kAccept ? Status::kOk : Status::kRefused;
    if (v.action == Action::kAccept) {
        world_.calls[s.call].answerer_life = note.life;
        world_.calls[s.call].answerer_link = note.link;
        s.state = Seen::State::kAnswered;
        const Note answer{kMagic, s.call, note.life, 3, note.link};
        std::memcpy(confirm.data(), &answer, sizeof answer);
        v.reply_bytes = sizeof answer;
    }
    called();
    return v;
}

HelloVerdict FrameSide::on_confirm(LinkId link, PeerId, LinkRole role, std::span<const std::byte> confirm) noexcept
{
    Seen& s = known(link);
    LINNET_FUZZ_CHECK(!s.opener && s.state == Seen::State::kAnswered && s.role == role);
    Note note{};
    std::memcpy(&note, confirm.data(), std::min(confirm.size(), sizeof note));
    const bool proper = confirm.size() == sizeof note && note.step == 3 && note.call == s.call && note.life == life && note.link == link.value;
    LINNET_FUZZ_CHECK(proper || !world_.trusted);
    HelloVerdict v;
    v.action = confirm_answer;
    v.peer = PeerId{2 - number};
    v.role = role;
    v.why = v.action == Action::kAccept ? Status::kOk : Status::kRefused;
    called();
    return v;
}

void FrameSide::on_link_up(LinkId link, PeerId peer, LinkRole role) noexcept
{
    Seen& s = known(link);
    LINNET_FUZZ_CHECK(s.state == Seen::State::kAnswered && s.role == role && peer == PeerId{2 - number});
    const Call& c = world_.calls[s.call];
    LINNET_FUZZ_CHECK(!world_.trusted || s.opener || (c.answerer_life == life && c.answerer_link == link.value));
    s.state = Seen::State::kUp;
    called();
}

void FrameSide::on_link_down(LinkId link, PeerId, LinkRole role, bool up, Status why, std::string_view) noexcept
{
    Seen& s = known(link);
    LINNET_FUZZ_CHECK(s.role == role && up == (s.state == Seen::State::kUp) && failed(why));
    const bool told = why == Status::kClosed || why == Status::kPeerDown;   // by the other side, which has left then
    const auto& other = world_.sides[1 - number];
    const Call& c = world_.calls[s.call];
    const bool agreed = s.opener || (c.answerer_life == life && c.answerer_link == link.value);
    LINNET_FUZZ_CHECK(!told || !world_.trusted || !world_.sound || world_.slandered || !agreed || other->end_of(s.call, !s.opener) == nullptr);
    s.state = Seen::State::kOver;
    for (const auto& p : places) {
        LINNET_FUZZ_CHECK(p->link != link.value);
    }
    for (const auto& l : lent) {
        LINNET_FUZZ_CHECK(l->link != link.value);
    }
    called();
}

// ---- its sink: data ----

void FrameSide::lane_packet(Seen& s, std::span<const std::byte> packet)
{
    const std::uint32_t number_here = s.received++;
    if (!world_.trusted) {
        return;
    }
    wire::PacketHead head;
    std::memcpy(&head, packet.data(), sizeof head);
    LINNET_FUZZ_CHECK(head.kind == wire::PacketKind::kEager && head.number.get() == number_here && packet.size() == sizeof head + head.body_bytes.get());
    const auto payload = packet.subspan(sizeof head + sizeof(wire::TagHeader));
    for (std::size_t i = 0; i < payload.size(); ++i) {
        LINNET_FUZZ_CHECK(payload[i] == pattern(s.call, s.opener ? 1 : 0, number_here, i));
    }
}

void FrameSide::on_packet(LinkId link, PeerId, std::span<const std::byte> packet) noexcept
{
    Seen& s = known(link);
    LINNET_FUZZ_CHECK(s.state == Seen::State::kUp && s.role == LinkRole::kLane);
    lane_packet(s, packet);
    called();
}

Landing FrameSide::land(LinkId link, std::span<const std::byte> head, std::size_t payload_bytes, bool bulk)
{
    LINNET_FUZZ_CHECK(known(link).state == Seen::State::kUp && (known(link).role == LinkRole::kBulk) == bulk);
    places.push_back(std::make_unique<Place>(Place{link.value, {head.begin(), head.end()}, Bytes(std::min<std::size_t>(payload_bytes, 1u << 18)), bulk}));
    return {places.back()->body.data(), places.back()->body.size(), places.back().get()};
}

std::unique_ptr<Place> FrameSide::landed(LinkId link, void* cookie, std::size_t bytes)
{
    const auto it = std::find_if(places.begin(), places.end(), [cookie](const auto& p) { return p.get() == cookie; });
    LINNET_FUZZ_CHECK(it != places.end() && (*it)->link == link.value && bytes <= (*it)->body.size());
    std::unique_ptr<Place> p = std::move(*it);
    places.erase(it);
    return p;
}

Landing FrameSide::on_packet_begin(LinkId link, PeerId, std::span<const std::byte> head, std::size_t payload_bytes) noexcept
{
    return land(link, head, payload_bytes, false);
}

void FrameSide::on_packet_end(LinkId link, PeerId, void* cookie, std::size_t bytes, bool ok) noexcept
{
    const auto p = landed(link, cookie, bytes);
    Seen* const s = find(link);
    if (ok) {
        LINNET_FUZZ_CHECK(s != nullptr && s->state == Seen::State::kUp && bytes == p->body.size());
        p->head.insert(p->head.end(), p->body.begin(), p->body.end());
        lane_packet(*s, p->head);
        called();
    }
}

Landing FrameSide::on_bulk_begin(LinkId link, PeerId, const wire::BulkHead& head) noexcept
{
    return land(link, std::as_bytes(std::span{&head, 1}), head.body_bytes.get(), true);
}

void FrameSide::on_bulk_end(LinkId link, PeerId, void* cookie, std::size_t bytes, bool ok) noexcept
{
    const auto p = landed(link, cookie, bytes);
    Seen* const s = find(link);
    LINNET_FUZZ_CHECK(s != nullptr && p->bulk);
    wire::BulkHead head;
    std::memcpy(&head, p->head.data(), sizeof head);
    const std::uint32_t slot = head.recv_slot.get();
    if (world_.trusted) {
        LINNET_FUZZ_CHECK(!ok || bytes == head.body_bytes.get());
        for (std::size_t i = 0; i < bytes; ++i) {
            LINNET_FUZZ_CHECK(p->body[i] == pattern(s->call, s->opener ? 1 : 0, slot, i));
        }
    }
    if (ok && world_.trusted) {
        s->bulk_received.resize(std::max<std::size_t>(s->bulk_received.size(), slot + 1));
        LINNET_FUZZ_CHECK(!s->bulk_received[slot]);
        s->bulk_received[slot] = true;
    }
    if (ok) {
        called();
    }
}

void FrameSide::on_bulk_sent(PeerId, void* cookie, bool ok) noexcept
{
    const auto it = std::find_if(lent.begin(), lent.end(), [cookie](const auto& l) { return l.get() == cookie; });
    LINNET_FUZZ_CHECK(it != lent.end());
    lent.erase(it);
    if (ok) {
        called();
    }
}

}   // namespace linnet::fuzz

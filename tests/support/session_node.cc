// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionNode.
#include "support/session_node.h"

#include <algorithm>
#include <cstring>

#include "support/pattern.h"

namespace linnet::testing {

namespace {
constexpr std::byte kPoison{0xdb};

void keep_line(void* arg, LogLevel level, const char* line) noexcept
{
    if (level <= LogLevel::kWarn) {
        static_cast<std::vector<std::string>*>(arg)->emplace_back(line);
    }
}

std::string numbered(const char* text, std::uint64_t a, std::uint64_t b) { return std::string{text} + " " + std::to_string(a) + " " + std::to_string(b); }

template <class T>
T load(std::span<const std::byte> from)
{
    T t;
    std::memcpy(&t, from.data(), sizeof t);
    return t;
}

// An order travels in the tag of a message.
void put(wire::TagHeader& tag, const BulkBook::Order& order)
{
    tag.send_slot.set(order.slot);
    tag.space.set(order.generation << 8 | order.from);
}
BulkBook::Order order_of(const wire::TagHeader& tag) { return {tag.send_slot.get(), tag.space.get() >> 8, tag.space.get() & 0xff}; }
}   // namespace

wire::EndpointName make_name(std::uint16_t port, std::uint64_t id, std::uint8_t secret)
{
    wire::EndpointName n;
    n.port.set(port);
    wire::add_address(n, {wire::AddressFamily::kIpv4, {127, 0, 0, 1}});
    n.endpoint_id.set(id);
    n.incarnation.set(static_cast<std::uint32_t>(id * 3));
    n.secret.fill(secret);
    return n;
}

SessionNode::SessionNode(SimNet& net, const Clock& clock, std::uint16_t port, std::uint64_t id, const session::SessionLayer::Config& config, bool separate_bulk)
    : transport{net, port, separate_bulk}, log{LogLevel::kWarn, keep_line, &lines_}, layer{config, *this, clock, log, counters, shared_counters}, net_{net}
{
    wire::EndpointName self = make_name(port, id, static_cast<std::uint8_t>(id * 5 + 1));
    const Status opened = transport.open(layer.add_port(transport), self);
    static_cast<void>(opened);
    layer.set_self(self);
}

SessionNode::~SessionNode() = default;

NodePeer& SessionNode::add(const wire::EndpointName& name)
{
    const Result<session::Session*> s = name.endpoint_id.get() != 0 ? layer.add(name) : layer.add_address(name);
    return peer(**s);
}

NodePeer* SessionNode::peer_of(std::uint64_t endpoint_id)
{
    for (std::uint32_t i = 0; i < layer.peers(); ++i) {
        if (layer.find(PeerId{i})->endpoint_id() == endpoint_id) {
            return &peer(*layer.find(PeerId{i}));
        }
    }
    return nullptr;
}

unsigned SessionNode::poll() { return transport.poll(64) + layer.poll(64); }

NodeMessage& SessionNode::make_message()
{
    const std::lock_guard guard{pool_lock_};
    if (free_.empty()) {
        pool_.push_back(std::unique_ptr<NodeMessage>{new NodeMessage});
        free_.push_back(pool_.back().get());
    }
    NodeMessage& m = *free_.back();
    free_.pop_back();
    ++outstanding_;
    return m;
}

void SessionNode::send(NodePeer& p, std::size_t payload_bytes, std::uint16_t flags, const BulkBook::Order& order)
{
    MutexLock guard{p.lock};
    if (p.down_reason() != Status::kOk) {
        return;
    }
    if (session::TxMessage* const old = takes_back ? session::SessionLayer::take_acked(p) : nullptr; old != nullptr) {
        ++taken_back;
        hand_back(p, static_cast<NodeMessage&>(*old), p.handed_back++);
    }
    NodeMessage& m = make_message();
    m.index = p.sent++;
    m.kind = 0;
    m.lazy = takes_back && (flags & wire::flag::kWantAck) == 0;
    wire::PacketHead h;
    h.kind = wire::PacketKind::kEager;
    h.flags.set(flags);
    h.body_bytes.set(static_cast<std::uint32_t>(sizeof(wire::TagHeader) + payload_bytes));
    wire::TagHeader t;
    t.match_bits.set(m.index);
    t.immediate.set(layer.self().endpoint_id.get());
    put(t, order);
    std::memcpy(m.head_store.data(), &h, sizeof h);
    std::memcpy(m.head_store.data() + sizeof h, &t, sizeof t);
    fill_pattern(std::span{m.body}.first(payload_bytes), m.index);
    m.head = m.head_store.data();
    m.head_bytes = static_cast<std::uint32_t>(m.head_store.size());
    m.payload = {m.body.data(), payload_bytes};
    m.in_place = true;
    if (hold && layer.may_hold(p, m.head_bytes + payload_bytes)) {
        if (move_payloads) {
            copy_payload(m);
        }
        ++held;
        static_cast<void>(layer.hold(p, m));
        return;
    }
    const bool ready = session::SessionLayer::lane_ready(p);
    const auto sent = layer.send(p, m);
    if (!move_payloads) {
        return;
    }
    if (sent.written) {
        copy_payload(m);
    } else if (ready && p.uncopied == nullptr) {
        p.uncopied = &m;
    }
}

// The sender's buffer is the host's again.
void SessionNode::copy_payload(NodeMessage& m)
{
    if (net_.references(m.body.data(), m.payload.size())) {
        fault("a payload that was written is still referenced");
    }
    std::memcpy(m.copy.data(), m.body.data(), m.payload.size());
    session::SessionLayer::move_payload(m, {m.copy.data(), m.payload.size()});
    std::memset(m.body.data(), static_cast<int>(kPoison), m.payload.size());
    m.in_place = false;
}

void SessionNode::goodbye(NodePeer& p)
{
    MutexLock guard{p.lock};
    if (p.down_reason() != Status::kOk) {
        return;
    }
    NodeMessage& m = make_message();
    m.index = p.sent++;
    m.lazy = false;
    wire::PacketHead h;
    h.kind = wire::PacketKind::kGoodbye;
    h.flags.set(wire::flag::kWantAck);
    std::memcpy(m.head_store.data(), &h, sizeof h);
    m.head = m.head_store.data();
    m.head_bytes = sizeof h;
    m.payload = {};
    static_cast<void>(layer.send(p, m));
}

bool SessionNode::all_acked(NodePeer& p)
{
    MutexLock guard{p.lock};
    return p.all_acked();
}

// ---- sink ----

std::unique_ptr<session::Session> SessionNode::make_session(PeerId id)
{
    auto p = std::make_unique<NodePeer>(id, net_, faults_);
    p->bulk.largest = bulk_piece_max;
    return p;
}

void SessionNode::alive(session::Session& s, const char* call)
{
    if (peer(s).downs != 0) {
        fault(std::string{call} + " after on_peer_down");
    }
}

void SessionNode::arrived(NodePeer& p, std::uint32_t index, std::span<const std::byte> payload, const BulkBook::Order& order)
{
    if (index != p.received) {
        fault(numbered("message out of order: expected, got", p.received, index));
    }
    ++p.received;
    if (const std::size_t wrong = pattern_mismatch(payload, index); wrong != payload.size()) {
        fault(numbered("wrong byte in message, at", index, wrong));
    }
    if (order.slot != 0) {
        p.bulk.ordered(order);
        pump_bulk(p);
    }
    if (answer_every != 0 && p.received % answer_every == 0) {
        send(p, payload.size() / 2);
    }
}

void SessionNode::on_message(session::Session& s, std::span<const std::byte> packet) noexcept
{
    alive(s, "on_message");
    NodePeer& p = peer(s);
    const auto tag = load<wire::TagHeader>(packet.subspan(sizeof(wire::PacketHead)));
    if (p.sender != 0 && tag.immediate.get() != p.sender) {
        fault("a message of another sender");
    }
    if (give_up_at != 0 && p.received + 1 == give_up_at) {
        layer.declare_down(s, Status::kProtocol, "the test says so");
        return;
    }
    arrived(p, static_cast<std::uint32_t>(tag.match_bits.get()), packet.subspan(sizeof(wire::PacketHead) + sizeof tag), order_of(tag));
}

Landing SessionNode::on_message_begin(session::Session& s, std::span<const std::byte> head, std::size_t payload_bytes) noexcept
{
    alive(s, "on_message_begin");
    NodePeer& p = peer(s);
    if (p.landing_open) {
        fault("two messages land at once");
    }
    const auto tag = load<wire::TagHeader>(head.subspan(sizeof(wire::PacketHead)));
    p.landing_index = static_cast<std::uint32_t>(tag.match_bits.get());
    p.landing_order = order_of(tag);
    if (give_up_at != 0 && p.received + 1 == give_up_at) {
        layer.declare_down(s, Status::kProtocol, "the test says so");
        return {};
    }
    p.landing_bytes = payload_bytes;
    p.landing_open = true;
    return {p.landing.data(), payload_bytes, &p};
}

Landing SessionNode::on_message_resume(session::Session& s, void* cookie) noexcept
{
    alive(s, "on_message_resume");
    NodePeer& p = peer(s);
    if (!p.landing_open || cookie != &p) {
        fault("resumed a message that had not begun");
    }
    std::memset(p.landing.data(), 0, p.landing_bytes);
    return {p.landing.data(), p.landing_bytes, &p};
}

void SessionNode::on_message_end(session::Session& s, void* cookie) noexcept
{
    alive(s, "on_message_end");
    NodePeer& p = peer(s);
    if (!p.landing_open || cookie != &p) {
        fault("ended a message that had not begun");
    }
    p.landing_open = false;
    arrived(p, p.landing_index, {p.landing.data(), p.landing_bytes}, p.landing_order);
}

void SessionNode::on_message_lost(session::Session& s, void* cookie) noexcept
{
    alive(s, "on_message_lost");
    NodePeer& p = peer(s);
    if (!p.landing_open || cookie != &p || p.down_reason() == Status::kOk) {
        fault("lost a message that had not begun, or of a peer that is up");
    }
    p.landing_open = false;
}

Landing SessionNode::on_bulk_begin(session::Session& s, const wire::BulkHead& head) noexcept
{
    alive(s, "on_bulk_begin");
    return peer(s).bulk.begin(head);
}

void SessionNode::on_bulk_end(session::Session& s, void* cookie, std::size_t landed, bool ok) noexcept
{
    alive(s, "on_bulk_end");
    NodePeer& p = peer(s);
    p.bulk_ok += ok ? 1 : 0;
    if (const BulkBook::Order over = p.bulk.end(s.endpoint_id(), cookie, landed, ok); over.slot != 0) {
        send(p, 0, 0, over);
    }
}

void SessionNode::on_bulk_sent(session::Session& s, void* cookie, bool ok) noexcept
{
    if (!peer(s).bulk.sent(cookie)) {
        bulk_sent.emplace_back(cookie, ok);
    } else if (ok) {
        pump_bulk(peer(s));
    }
}

void SessionNode::on_bulk_ready(session::Session& s) noexcept
{
    alive(s, "on_bulk_ready");
    ++bulk_ready;
    pump_bulk(peer(s));
}

void SessionNode::on_bulk_down(session::Session& s) noexcept
{
    alive(s, "on_bulk_down");
    NodePeer& p = peer(s);
    ++p.bulk_downs;
    for (const BulkBook::Order& order : p.bulk.link_down()) {
        send(p, 0, 0, order);
    }
    pump_bulk(p);   // which asks for the next link
}

// Pieces while the link takes them. When it does not, on_bulk_ready() comes, or on_peer_down().
void SessionNode::pump_bulk(NodePeer& p)
{
    MutexLock guard{p.lock};
    while (BulkBook::Out* const out = p.bulk.next_out(layer.self().endpoint_id.get())) {
        const Status s = layer.send_bulk(p, out->head, out->bytes, out);
        if (s != Status::kOk && s != Status::kInProgress) {
            return;
        }
        p.bulk.taken(*out, s == Status::kOk);
    }
}

void SessionNode::hand_back(NodePeer& p, NodeMessage& m, std::uint32_t expected)
{
    if (m.index != expected) {
        fault(numbered("handed back out of order: expected, got", expected, m.index));
    }
    if (net_.references(m.head, m.head_bytes) || net_.references(m.payload.data(), m.payload.size())) {
        fault(numbered("handed back while a link still points at it:", m.index, p.id.value));
    }
    if (p.uncopied == &m) {
        p.uncopied = nullptr;
    }
    m.head_store.fill(kPoison);
    std::memset(m.body.data(), static_cast<int>(kPoison), m.payload.size());
    std::memset(m.copy.data(), static_cast<int>(kPoison), m.payload.size());
    const std::lock_guard guard{pool_lock_};
    --outstanding_;
    free_.push_back(&m);
}

void SessionNode::on_acked(session::Session& s, IntrusiveQueue<session::TxMessage>& messages) noexcept
{
    alive(s, "on_acked");
    NodePeer& p = peer(s);
    MutexLock guard{p.lock};
    while (session::TxMessage* m = messages.pop_front()) {
        hand_back(p, static_cast<NodeMessage&>(*m), p.handed_back++);
    }
}

void SessionNode::on_lane_written(session::Session& s) noexcept
{
    alive(s, "on_lane_written");
    NodePeer& p = peer(s);
    MutexLock guard{p.lock};
    if (p.uncopied != nullptr) {
        copy_payload(*p.uncopied);
        p.uncopied = nullptr;
    }
}

void SessionNode::on_credit(session::Session& s) noexcept
{
    alive(s, "on_credit");
    ++credits_told;
}

void SessionNode::on_peer_up(session::Session& s) noexcept
{
    alive(s, "on_peer_up");
    ++peer(s).ups;
}

void SessionNode::on_peer_down(session::Session& s, Status why, IntrusiveQueue<session::TxMessage>& unacked) noexcept
{
    alive(s, "on_peer_down");
    NodePeer& p = peer(s);
    ++p.downs;
    p.down_why = why;
    if (p.landing_open) {
        fault("a message was in landing when its peer went down");
    }
    p.bulk.check_at_rest();
    MutexLock guard{p.lock};
    while (session::TxMessage* m = unacked.pop_front()) {
        hand_back(p, static_cast<NodeMessage&>(*m), p.handed_back++);
    }
}

}   // namespace linnet::testing

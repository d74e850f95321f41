// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SimTransport.
#include "support/sim_transport.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"
#include "wire/hello.h"

namespace linnet::testing {

namespace {
constexpr std::size_t kHeadBytes = sizeof(wire::PacketHead);
static_assert(sizeof(wire::BulkHead) == kHeadBytes);
}   // namespace

SimTransport::SimTransport(SimNet& net, std::uint16_t port, bool separate_bulk)
    : net_{net}, caps_{"sim", 1u << 20, separate_bulk, false, Nanos{2000}, 1.0, SIZE_MAX, 0, false, true}, port_{port}
{
    net_.transports_.push_back(this);
}

SimTransport::~SimTransport()
{
    kill();
    std::erase(net_.transports_, this);
}

Status SimTransport::open(TransportSink& sink, wire::EndpointName& name) noexcept
{
    sink_ = &sink;
    name.port.set(port_);
    if (wire::NameAddresses{name}.empty()) {
        wire::add_address(name, {wire::AddressFamily::kIpv4, {127, 0, 0, 1}});
    }
    return Status::kOk;
}

void SimTransport::kill()
{
    const std::lock_guard guard{net_.lock_};
    dead_ = true;
    for (auto& c : net_.conns_) {
        for (int side = 0; side < 2; ++side) {
            if (c->end[side].owner == this && c->end[side].stage != Stage::kGone) {
                net_.sever(*c, side);
                c->end[side].unsent.clear();
            }
        }
    }
}

Result<LinkId> SimTransport::connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept
{
    const std::lock_guard guard{net_.lock_};
    if (dead_) {
        return Status::kClosed;
    }
    const SimFaults& f = net_.faults;
    if (f.queue_full != 0) {
        --net_.faults.queue_full;
        return Status::kAgain;
    }
    if (net_.chance(f.no_resource)) {
        return Status::kNoDescriptors;
    }
    auto conn = std::make_unique<Conn>();
    End& e = conn->end[0];
    e.owner = this;
    e.stage = Stage::kConnecting;
    e.id = LinkId{net_.next_id_++};
    e.peer = peer;
    e.role = role;
    const auto delay = Nanos{1 + static_cast<std::int64_t>(net_.below(static_cast<std::uint64_t>(f.delay_max.count()) + 1))};
    e.due = net_.clock_.now() + delay;
    SimTransport* const to = net_.listener_at(name);
    if (net_.chance(f.timed_out) || (to == nullptr && net_.silent_since_ != TimePoint::max())) {
        e.outcome = Status::kTimedOut;
        e.due += std::chrono::seconds{1};
    } else if (net_.chance(f.unreachable)) {
        e.outcome = Status::kUnreachable;
    } else if (to == nullptr) {
        e.outcome = Status::kRefused;
    }
    conn->swallow = net_.chance(f.hang);
    End& other = conn->end[1];
    other.stage = e.outcome == Status::kOk ? Stage::kAwaitHello : Stage::kGone;
    other.owner = to;
    other.id = LinkId{net_.next_id_++};
    other.role = role;
    net_.conns_.push_back(std::move(conn));
    return e.id;
}

SimTransport::Found SimTransport::find(LinkId id)
{
    for (auto& c : net_.conns_) {
        for (int side = 0; side < 2; ++side) {
            if (c->end[side].id == id && c->end[side].owner == this && c->end[side].stage != Stage::kGone) {
                return {c.get(), side};
            }
        }
    }
    return {};
}

SendResult SimTransport::send_lane(LinkId link, std::span<const LanePacket> batch) noexcept
{
    const std::lock_guard guard{net_.lock_};
    SendResult r;
    const Found found = find(link);
    if (found.conn == nullptr || found.end().stage != Stage::kUp) {
        r.down = true;
        return r;
    }
    End& e = found.end();
    LINNET_ASSERT(e.role == LinkRole::kLane);
    if (!e.unsent.empty()) {
        e.tell_writable = true;
        return r;
    }
    const std::size_t most = 1 + net_.below(net_.faults.batch_max);
    const bool lag = net_.chance(net_.faults.lag);
    for (const LanePacket& p : batch) {
        if (r.taken == most || (r.taken != 0 && e.in_flight >= net_.faults.window)) {
            break;
        }
        e.unsent.push_back({p.head.data(), p.head.size(), nullptr, false});
        e.unsent.push_back({p.payload.data(), p.payload.size(), nullptr, false});
        ++r.taken;
        ++net_.packets_sent_;
        if (!lag) {
            net_.flush(e);
        }
        if (!e.unsent.empty()) {
            break;
        }
    }
    r.all_written = e.unsent.empty();
    e.tell_writable = r.taken < batch.size() || !r.all_written;
    return r;
}

Status SimTransport::send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    const std::lock_guard guard{net_.lock_};
    const Found found = find(link);
    if (found.conn == nullptr || found.end().stage != Stage::kUp) {
        return Status::kPeerDown;
    }
    End& e = found.end();
    if (!e.unsent.empty()) {
        e.tell_writable = true;
        return Status::kAgain;
    }
    net_.push(e, reinterpret_cast<const std::byte*>(&head), sizeof head);
    e.unsent.push_back({payload.data(), payload.size(), cookie, true});
    net_.flush(e);
    if (e.unsent.front().left == 0) {
        e.unsent.clear();
        return Status::kOk;
    }
    e.tell_writable = true;
    return Status::kInProgress;
}

// (Whatever is up is waited for.)
Nanos SimTransport::unanswered(LinkId link) noexcept
{
    const std::lock_guard guard{net_.lock_};
    const bool silent = net_.silent_since_ != TimePoint::max() && find(link).conn != nullptr;
    return silent && !caps_.told_of_death ? net_.clock_.now() - net_.silent_since_ : Nanos{0};
}

void SimTransport::drop(LinkId link) noexcept
{
    Found found;
    {
        const std::lock_guard guard{net_.lock_};
        found = find(link);
    }
    if (found.conn != nullptr) {
        fail(*found.conn, found.side, Status::kOk, "", false);
    }
}

void SimTransport::shutdown() noexcept
{
    for (;;) {
        Found found;
        {
            const std::lock_guard guard{net_.lock_};
            dead_ = true;
            for (auto& c : net_.conns_) {
                for (int side = 0; side < 2; ++side) {
                    if (c->end[side].owner == this && c->end[side].stage != Stage::kGone) {
                        found = {c.get(), side};
                    }
                }
            }
        }
        if (found.conn == nullptr) {
            return;
        }
        fail(*found.conn, found.side, Status::kOk, "", false);
    }
}

// Ends this side: hands everything back, and says so (`tell`).
void SimTransport::fail(Conn& c, int side, Status why, const char* text, bool tell)
{
    End& e = c.end[side];
    std::vector<void*> bulk;
    const bool was_up = e.was_up;
    const bool landing = e.landing;
    {
        const std::lock_guard guard{net_.lock_};
        net_.sever(c, side);
        for (const SimNet::Borrowed& b : e.unsent) {
            if (b.bulk) {
                bulk.push_back(b.cookie);
            }
        }
        e.unsent.clear();
        e.landing = false;
    }
    if (sink_ == nullptr || e.id == stranger_) {
        return;
    }
    if (landing && !e.landing_bulk) {
        sink_->on_packet_end(e.id, e.peer, e.to.cookie, e.landed, false);
    } else if (landing) {
        sink_->on_bulk_end(e.id, e.peer, e.to.cookie, e.landed, false);
    }
    for (void* cookie : bulk) {
        sink_->on_bulk_sent(e.peer, cookie, false);
    }
    if (tell && e.peer != kNoPeer) {
        sink_->on_link_down(e.id, e.peer, e.role, was_up, why, text);
    }
}

LinkId SimTransport::stranger(std::uint16_t to_port, std::span<const std::byte> hello)
{
    wire::EndpointName to;
    to.port.set(to_port);
    const auto id = connect(kNoPeer, LinkRole::kLane, to);
    const std::lock_guard guard{net_.lock_};
    stranger_ = *id;
    reply_.clear();
    End& e = find(*id).end();
    e.stage = Stage::kAwaitWelcome;
    net_.push(e, hello.data(), hello.size());
    return *id;
}

// ---- polling ----

unsigned SimTransport::poll(unsigned) noexcept
{
    unsigned events = 0;
    std::vector<Found> mine;   // a lock for each costs more than all else that a simulation does
    {
        const std::lock_guard guard{net_.lock_};
        auto& conns = net_.conns_;
        while (!net_.keep_dead && !conns.empty() && conns.front()->end[0].stage == Stage::kGone && conns.front()->end[1].stage == Stage::kGone) {
            conns.pop_front();
        }
        for (auto& c : conns) {
            for (int side = 0; side < 2; ++side) {
                if (c->end[side].owner == this && has_work(*c, side)) {
                    mine.push_back({c.get(), side});
                }
            }
        }
    }
    for (std::size_t i = 0; i < mine.size() && !dead_; ++i) {
        events += poll_end(*mine[i].conn, mine[i].side);
    }
    return events;
}

// Under the lock.
bool SimTransport::has_work(const Conn& c, int side) const
{
    const End& e = c.end[side];
    const auto& wire = c.end[1 - side].wire;
    const TimePoint now = net_.clock_.now();
    const bool due = now >= e.break_at || (e.stage == Stage::kConnecting ? now >= e.due : !e.unsent.empty() || e.tell_writable);
    return e.stage != Stage::kGone && (due || !e.rx.empty() || (!wire.empty() && wire.front().at <= now));
}

unsigned SimTransport::poll_end(Conn& c, int side)
{
    End& e = c.end[side];
    const LinkId id = e.id;
    enum class What : std::uint8_t { kNothing, kFail, kHello } what = What::kNothing;
    Status why = Status::kPeerDown;
    bool writable = false;
    bool incoming = false;
    std::vector<void*> sent;
    {
        const std::lock_guard guard{net_.lock_};
        if (e.stage == Stage::kGone) {
            return 0;
        }
        const TimePoint now = net_.clock_.now();
        if (now >= e.break_at && !(e.eof && !c.end[1 - side].wire.empty())) {
            what = What::kFail;
            why = e.left ? Status::kClosed : why;
        } else if (e.stage == Stage::kConnecting) {
            if (now < e.due) {
                return 0;
            }
            why = e.outcome;
            what = why == Status::kOk ? What::kHello : What::kFail;
        } else if (!e.unsent.empty()) {
            net_.flush(e);
            while (!e.unsent.empty() && e.unsent.front().left == 0) {
                sent.push_back(e.unsent.front().cookie);
                e.unsent.pop_front();
                net_.flush(e);
            }
        }
        if (what == What::kNothing && e.stage == Stage::kUp && e.unsent.empty() && e.tell_writable) {
            e.tell_writable = false;
            writable = true;
        }
        const auto& wire = c.end[1 - side].wire;
        incoming = !wire.empty() && wire.front().at <= now;
    }
    if (what == What::kFail) {
        fail(c, side, why, status_text(why), true);
        return 1;
    }
    if (what == What::kHello) {
        open_with_hello(c, side);
        return 1;
    }
    for (void* cookie : sent) {
        sink_->on_bulk_sent(e.peer, cookie, true);
    }
    if (writable && alive(c, side, id)) {
        sink_->on_writable(e.peer, e.role);
    }
    unsigned events = static_cast<unsigned>(sent.size()) + (writable ? 1 : 0);
    if (incoming && alive(c, side, id)) {
        read_some(c, side);
    }
    if (!e.rx.empty() && alive(c, side, id)) {
        events += parse(c, side);
    }
    return events;
}

void SimTransport::open_with_hello(Conn& c, int side)
{
    End& e = c.end[side];
    const LinkId id = e.id;
    std::byte out[kMaxHelloBytes];
    const std::size_t n = sink_->make_hello(id, e.peer, e.role, out);
    if (!alive(c, side, id)) {
        return;
    }
    if (n == 0) {
        fail(c, side, Status::kCanceled, "given up", true);
        return;
    }
    {
        const std::lock_guard guard{net_.lock_};
        e.stage = Stage::kAwaitWelcome;
    }
    if (!c.swallow) {
        remember(c, false, {out, n});
        say(c, side, {out, n});
    }
}

// For a replay, which may come at once.
void SimTransport::remember(Conn& c, bool confirm, std::span<const std::byte> bytes)
{
    const std::lock_guard guard{net_.lock_};
    if (net_.faults.replay <= 0) {
        return;
    }
    net_.said_.push_back({c.end[1].owner, confirm, {bytes.begin(), bytes.end()}});
    if (!confirm) {
        c.said = net_.said_.size() - 1;
        if (net_.chance(net_.faults.replay)) {
            net_.replay(*c.end[1].owner);
        }
    }
}

// An acceptor takes a hello once at most, and no confirm of another attempt.
void SimTransport::check_replay(const Conn& c, const HelloVerdict& v, bool confirm)
{
    const std::lock_guard guard{net_.lock_};
    const bool accepted = v.action == HelloVerdict::Action::kAccept;
    if (!c.ghost && confirm && accepted && c.said != SIZE_MAX) {
        net_.said_[c.said].agreed = true;
    } else if (c.ghost && accepted && confirm) {
        net_.faults_of_replays_.emplace_back("a confirm of another attempt was accepted");
    } else if (c.ghost && accepted && net_.said_[c.said].agreed) {
        net_.faults_of_replays_.emplace_back("the hello of a link that had been up was accepted again");
    }
}

void SimTransport::say(Conn& c, int side, std::span<const std::byte> bytes)
{
    const std::lock_guard guard{net_.lock_};
    if (!c.ghost) {
        net_.push(c.end[side], bytes.data(), bytes.size());
    }
}

void SimTransport::read_some(Conn& c, int side)
{
    const std::lock_guard guard{net_.lock_};
    End& from = c.end[1 - side];
    End& e = c.end[side];
    std::size_t room = net_.silent_since_ == TimePoint::max() ? 1 + net_.below(net_.faults.read_max) : 0;
    const TimePoint now = net_.clock_.now();
    while (room != 0 && !from.wire.empty() && from.wire.front().at <= now) {
        std::vector<std::byte>& piece = from.wire.front().bytes;
        const std::size_t n = std::min(room, piece.size());
        e.rx.insert(e.rx.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(n));
        piece.erase(piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(n));
        if (piece.empty()) {
            from.wire.pop_front();
        }
        from.in_flight -= std::min(n, from.in_flight);
        room -= n;
    }
}

unsigned SimTransport::parse(Conn& c, int side)
{
    const LinkId id = c.end[side].id;
    unsigned events = 0;
    while (alive(c, side, id)) {
        End& e = c.end[side];
        const bool more = e.stage != Stage::kUp ? parse_hello(c, side) : e.landing ? feed(c, side) : parse_packet(c, side);
        if (!more) {
            break;
        }
        ++events;
    }
    return events;
}

void SimTransport::up(Conn& c, int side)
{
    End& e = c.end[side];
    {
        const std::lock_guard guard{net_.lock_};
        e.stage = Stage::kUp;
        e.was_up = true;
    }
    sink_->on_link_up(e.id, e.peer, e.role);
}

bool SimTransport::parse_hello(Conn& c, int side)
{
    using Action = HelloVerdict::Action;
    End& e = c.end[side];
    const LinkId id = e.id;
    if (id == stranger_) {
        reply_.insert(reply_.end(), e.rx.begin(), e.rx.end());
        e.rx.clear();
        return false;
    }
    wire::HelloHead head;
    if (e.stage == Stage::kConnecting || e.rx.size() < sizeof head) {
        return false;
    }
    std::memcpy(&head, e.rx.data(), sizeof head);
    const std::size_t n = head.bytes.get();
    if (head.magic.get() != wire::kHelloMagic || n < sizeof head || n > kMaxHelloBytes) {
        fail(c, side, Status::kProtocol, "no hello", true);
        return true;
    }
    if (e.rx.size() < n) {
        return false;
    }
    const std::vector<std::byte> packet(e.rx.begin(), e.rx.begin() + static_cast<std::ptrdiff_t>(n));
    e.rx.erase(e.rx.begin(), e.rx.begin() + static_cast<std::ptrdiff_t>(n));
    std::byte out[kMaxHelloBytes];
    HelloVerdict v;
    const Stage stage = e.stage;
    if (stage == Stage::kAwaitHello) {
        const SimTransport* const caller = c.end[1 - side].owner;
        v = sink_->on_hello(id, packet, {caller != nullptr ? caller->calls_from : InetAddress{}, "a simulated port"}, out);
    } else if (stage == Stage::kAwaitWelcome) {
        v = sink_->on_welcome(id, e.peer, e.role, packet, out);
    } else {
        v = sink_->on_confirm(id, e.peer, e.role, packet);
    }
    if (side == 1) {
        check_replay(c, v, stage == Stage::kAwaitConfirm);
    }
    if (!alive(c, side, id)) {
        return true;
    }
    if (v.reply_bytes != 0) {
        if (stage == Stage::kAwaitWelcome) {
            remember(c, true, {out, v.reply_bytes});
        }
        say(c, side, {out, v.reply_bytes});
    }
    if (v.action != Action::kAccept) {
        fail(c, side, failed(v.why) ? v.why : Status::kRefused, "rejected", true);
        return true;
    }
    if (stage == Stage::kAwaitHello) {
        const std::lock_guard guard{net_.lock_};
        e.peer = v.peer;
        e.role = v.role;
        e.stage = Stage::kAwaitConfirm;
        return true;
    }
    up(c, side);
    return true;
}

// The next packet: whole, or its beginning.
bool SimTransport::parse_packet(Conn& c, int side)
{
    End& e = c.end[side];
    if (e.rx.size() < kHeadBytes) {
        return false;
    }
    wire::PacketHead head;
    std::memcpy(&head, e.rx.data(), sizeof head);
    if (head.kind == wire::PacketKind::kBulkData) {
        wire::BulkHead bulk;
        std::memcpy(&bulk, e.rx.data(), sizeof bulk);
        e.rx.erase(e.rx.begin(), e.rx.begin() + kHeadBytes);
        const Landing to = sink_->on_bulk_begin(e.id, e.peer, bulk);
        if (e.stage == Stage::kUp) {
            e.to = to;
            e.landing = e.landing_bulk = true;
            e.landed = 0;
            e.payload_bytes = bulk.body_bytes.get();
        }
        return true;
    }
    if (!wire::lane_head_ok(head)) {
        fail(c, side, Status::kProtocol, "no packet", true);
        return true;
    }
    const std::size_t total = kHeadBytes + head.body_bytes.get();
    const std::size_t heads = kHeadBytes + static_cast<std::size_t>(wire::kind_header_bytes(head.kind));
    bool begin = false;
    bool gone = false;
    {
        const std::lock_guard guard{net_.lock_};
        begin = total > heads && e.rx.size() >= heads && net_.chance(net_.faults.split);
        gone = e.eof && c.end[1 - side].wire.empty();
    }
    if (begin && !gone) {
        const std::vector<std::byte> bytes(e.rx.begin(), e.rx.begin() + static_cast<std::ptrdiff_t>(heads));
        e.rx.erase(e.rx.begin(), e.rx.begin() + static_cast<std::ptrdiff_t>(heads));
        const Landing to = sink_->on_packet_begin(e.id, e.peer, bytes, total - heads);
        if (e.stage == Stage::kUp) {
            e.to = to;
            e.landing = true;
            e.landing_bulk = false;
            e.landed = 0;
            e.payload_bytes = total - heads;
        }
        return true;
    }
    if (e.rx.size() < total) {
        return false;
    }
    const std::vector<std::byte> packet(e.rx.begin(), e.rx.begin() + static_cast<std::ptrdiff_t>(total));
    e.rx.erase(e.rx.begin(), e.rx.begin() + static_cast<std::ptrdiff_t>(total));
    sink_->on_packet(e.id, e.peer, packet);
    return true;
}

// Payload into its landing.
bool SimTransport::feed(Conn& c, int side)
{
    End& e = c.end[side];
    const std::size_t n = std::min(e.rx.size(), e.payload_bytes - e.landed);
    if (e.landed < e.to.room && n != 0) {
        std::memcpy(e.to.to + e.landed, e.rx.data(), std::min(n, e.to.room - e.landed));
    }
    e.landed += n;
    e.rx.erase(e.rx.begin(), e.rx.begin() + static_cast<std::ptrdiff_t>(n));
    if (e.landed < e.payload_bytes) {
        return false;
    }
    e.landing = false;
    if (!e.landing_bulk) {
        sink_->on_packet_end(e.id, e.peer, e.to.cookie, e.landed, true);
    } else {
        sink_->on_bulk_end(e.id, e.peer, e.to.cookie, e.landed, true);
    }
    return true;
}

}   // namespace linnet::testing

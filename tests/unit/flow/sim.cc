// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Simulated network: see sim.h.
#include "unit/flow/sim.h"

#include <algorithm>
#include <cstring>

#include "support/pattern.h"

namespace linnet::flow::sim {

namespace {

constexpr std::byte kOver{0xee};

bool is_block(const std::vector<std::byte>& frame)
{
    return static_cast<wire::FrameKind>(frame[offsetof(wire::FrameHead, kind)]) == wire::FrameKind::kBlock;
}

std::vector<std::byte> memory_of(const Machine::Config& config, std::size_t buffers) { return std::vector<std::byte>(config.frame_bytes * buffers); }

}   // namespace

// ---- network ----

Host& Sim::add(const Machine::Config& config, std::size_t tx_buffers, std::size_t rx_buffers)
{
    hosts.push_back(std::make_unique<Host>(*this, config, tx_buffers, rx_buffers));
    return *hosts.back();
}

// A frame of `bytes` gets there at `at`. False: there was no room.
bool SwitchPort::pass(TimePoint& at, std::size_t bytes)
{
    const auto waits = std::max(free - at, Nanos{0});
    if (static_cast<double>(waits.count()) * bytes_per_ns + static_cast<double>(bytes) > static_cast<double>(buffer)) {
        ++lost;
        return false;
    }
    free = std::max(free, at) + Nanos{static_cast<std::int64_t>(static_cast<double>(bytes + 38) / bytes_per_ns)};
    at = free;
    ++passed;
    return true;
}

void Sim::send(Host& from, const TxFrame& frame)
{
    PathFaults& path = from.path;
    const std::size_t bytes = frame.head_bytes + frame.payload.size();
    if (bytes > from.config.frame_bytes) {
        from.complain("a frame of " + std::to_string(bytes) + " bytes");
    }
    from.path_free = std::max(from.path_free, now) + Nanos{static_cast<std::int64_t>(static_cast<double>(bytes + 38) / path.bytes_per_ns)};
    Host* const to = frame.route != nullptr ? static_cast<Host*>(frame.route) : from.peer;
    if (to == nullptr || (filter && filter(from, frame))) {
        return;
    }
    bool lost = chance(path.loss);
    if (now < from.burst_until) {
        lost = true;
    } else if (lost && chance(path.burst)) {
        from.burst_until = now + path.burst_time;
    }
    if (lost) {
        return;
    }
    std::vector<std::byte> copy(bytes);
    std::memcpy(copy.data(), frame.head.data(), frame.head_bytes);
    if (!frame.payload.empty()) {
        std::memcpy(copy.data() + frame.head_bytes, frame.payload.data(), frame.payload.size());
    }
    if (chance(path.corrupt)) {
        const std::size_t bit = pick(0, bytes * 8 - 1);
        copy[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    if (copy.size() < 60) {
        copy.resize(60);
    }
    for (unsigned n = chance(path.again) ? 2 : 1; n != 0; --n) {
        TimePoint at = from.path_free + path.delay;
        if (chance(path.overtake)) {
            at += Nanos{static_cast<std::int64_t>(pick(0, static_cast<std::uint64_t>(path.jitter.count())))};
        }
        if (from.port != nullptr && !from.port->pass(at, bytes)) {
            continue;
        }
        to->expect(copy);
        flights_.push({at, order_++, to, copy});
    }
}

bool Sim::step(TimePoint end)
{
    TimePoint at = flights_.empty() ? TimePoint::max() : flights_.top().at;
    for (const auto& h : hosts) {
        at = std::min(at, h->next());
    }
    if (at > end) {
        now = end;
        return false;
    }
    now = std::max(now, at);
    while (!flights_.empty() && flights_.top().at <= now) {
        Flight f = flights_.top();
        flights_.pop();
        f.to->arrive(std::move(f.bytes));
    }
    for (const auto& h : hosts) {
        if (h->next() <= now) {
            h->poll();
        }
    }
    return true;
}

// ---- host ----

Host::Host(Sim& s, const Machine::Config& c, std::size_t tx_buffers, std::size_t rx_buffers)
    : sim{s},
      config{c},
      tx_memory{memory_of(c, tx_buffers)},
      rx_memory{memory_of(c, rx_buffers)},
      tx_pool{tx_memory, c.frame_bytes},
      rx_pool{rx_memory, c.frame_bytes},
      machine{c, tx_pool, rx_pool}
{
}

void Host::join(Host& other, std::uint32_t first_number, bool mac)
{
    peer = &other;
    other.peer = this;
    const auto open = [&](Host& h, Role role) {
        Machine::Opening o;
        o.role = role;
        o.route = &h == this ? &other : this;
        o.own_secret = sim.random();
        o.own_incarnation = &h == this ? 1 : 2;
        o.epoch = 7;
        o.first_number = first_number;
        o.mac = mac;
        o.mac_key[3] = 9;
        return *h.machine.add(o, sim.now);
    };
    const auto connect = [&](Host& a, ConnectionId ia, Host& b, ConnectionId ib) {
        a.machine.connect(ia, b.machine.wire_id(ib), &b == this ? 1 : 2, sim.now);
        b.machine.connect(ib, a.machine.wire_id(ia), &a == this ? 1 : 2, sim.now);
    };
    lane = open(*this, Role::kLane);
    other.lane = open(other, Role::kLane);
    connect(*this, lane, other, other.lane);
    bulk = open(*this, Role::kBulk);
    other.bulk = open(other, Role::kBulk);
    connect(*this, bulk, other, other.bulk);
}

void Host::leave()
{
    for (const ConnectionId id : {lane, bulk}) {
        machine.close(id);
        for (Event e = machine.take_back(id); e.kind != Event::Kind::kNone; e = machine.take_back(id)) {
            take_event(e);
        }
    }
    if (machine.connections() != 0 || machine.next_event().kind != Event::Kind::kNone || machine.credit().lent() != 0 ||
        machine.credit().borrowers() != 0 || bulk_open != 0) {
        complain("something of a closed connection is left");
    }
    check_rest();
    lane_sent = lane_received = 0;
    bulk_received = 0;
    lane_blocked = bulk_blocked = false;
    stream.clear();
}

void Host::send_bulk(std::size_t bytes, std::size_t room)
{
    Message m;
    m.id = next_message++;
    m.room = room;
    m.data.resize(bytes);
    testing::fill_pattern(m.data, m.id);
    bulk_to_send.push_back(m.id);
    messages.emplace(m.id, std::move(m));
}

void Host::expect(const std::vector<std::byte>& frame)
{
    blocks_due += is_block(frame) ? 1 : 0;
    blocks_most = std::max(blocks_most, blocks_due);
}

std::vector<std::byte> Host::take_frame()
{
    std::vector<std::byte> frame = std::move(ring.front());
    ring.pop_front();
    blocks_due -= is_block(frame) ? 1 : 0;
    return frame;
}

void Host::arrive(std::vector<std::byte> bytes)
{
    if (ring.size() >= ring_max) {
        ++ring_drops;
        blocks_due -= is_block(bytes) ? 1 : 0;
        return;
    }
    ring.push_back(std::move(bytes));
    if (asleep && wake_at == TimePoint::max()) {
        wake_at = sim.now + wake_after;
    }
}

TimePoint Host::next() const
{
    if (frozen) {
        return TimePoint::max();
    }
    const bool can_give = (!lane_to_send.empty() && !lane_blocked) || (!bulk_to_send.empty() && !bulk_blocked);
    TimePoint at = !ring.empty() || can_give || refused_ ? sim.now : machine.next_timer();
    if (asleep) {
        at = can_give || refused_ ? sim.now : std::min(wake_at, machine.next_timer());
    }
    return std::max(at, busy_until_);
}

void Host::poll()
{
    wake_at = TimePoint::max();
    machine.set_polling(!asleep, turns != Nanos{0} && sim.now.time_since_epoch() / turns % 2 != 0);
    for (unsigned n = 0; n < 64 && !ring.empty(); ++n) {
        const std::vector<std::byte> frame = take_frame();
        const Received received = machine.receive(frame, sim.now);
        std::vector<std::vector<std::byte>> row;
        while (received.landing == nullptr && !ring.empty() && machine.receive_next(ring.front())) {
            row.push_back(take_frame());
        }
        machine.end_row(sim.now);
        in_rows += row.size();
        take(received);
        for (const std::vector<std::byte>& next : row) {
            if (!received.lane.empty()) {
                take_lane(Machine::lane_bytes(next));
            }
        }
        if (machine.credit().lent() > machine.credit().capacity()) {
            complain("more credit lent than there is");
        }
    }
    machine.run(sim.now);
    for (Event e = machine.next_event(); e.kind != Event::Kind::kNone; e = machine.next_event()) {
        take_event(e);
    }
    give();
    if (asleep) {
        machine.flush_acks();
        machine.be_patient(sim.now);
    }
    transmit();
    busy_until_ = std::max(busy_until_, sim.now + Nanos{200});
    wake_at = ring.empty() ? TimePoint::max() : busy_until_;
}

void Host::transmit()
{
    std::array<TxFrame, 32> frames;
    refused_ = false;
    for (;;) {
        const std::size_t n = machine.produce(sim.now, frames);
        std::size_t taken = n;
        if (n != 0 && sim.chance(path.not_sent)) {
            taken = sim.pick(0, n - 1);
            machine.not_sent(std::span{frames}.subspan(taken, n - taken), sim.now);
        }
        for (std::size_t i = 0; i < taken; ++i) {
            sim.send(*this, frames[i]);
        }
        if (taken < frames.size()) {
            busy_until_ = taken < n ? sim.now + std::chrono::microseconds{2} : busy_until_;
            refused_ = taken < n;
            return;
        }
        if (path_free > sim.now + std::chrono::microseconds{40}) {   // the ring towards the network is full for now
            busy_until_ = path_free - std::chrono::microseconds{10};
            refused_ = true;
            return;
        }
    }
}

// ---- application ----

void Host::give()
{
    while (!lane_to_send.empty()) {
        const std::uint32_t bytes = lane_to_send.front();
        std::vector<std::byte> packet(bytes);
        testing::fill_pattern(packet, lane_sent);
        const std::uint32_t head[2] = {bytes, lane_sent};
        if (!machine.write_lane(lane, std::as_bytes(std::span{head}), packet)) {
            lane_blocked = true;
            break;
        }
        ++lane_sent;
        lane_to_send.pop_front();
    }
    while (!bulk_to_send.empty()) {
        Message& m = messages.at(bulk_to_send.front());
        wire::BulkHead head;
        head.body_bytes.set(static_cast<std::uint32_t>(m.data.size()));
        head.recv_slot.set(m.id);
        head.offset.set(m.room);
        if (machine.give_bulk(bulk, head, m.data, &m) != Status::kInProgress) {
            bulk_blocked = true;
            break;
        }
        m.given = true;
        ++bulk_open;
        bulk_to_send.pop_front();
    }
}

void Host::take(Received r)
{
    if (!r.lane.empty()) {
        take_lane(r.lane);
    }
    std::span<const std::byte> more;
    while (r.connection == lane && machine.more_lane(lane, more)) {
        take_lane(more);
    }
    if (r.landing != nullptr) {
        take_landing(r);
    }
    for (Event e = machine.next_event(); e.kind != Event::Kind::kNone; e = machine.next_event()) {
        take_event(e);
    }
}

void Host::take_lane(std::span<const std::byte> bytes)
{
    stream.insert(stream.end(), bytes.begin(), bytes.end());
    std::size_t at = 0;
    std::uint32_t head[2];
    while (stream.size() - at >= sizeof head) {
        std::memcpy(head, stream.data() + at, sizeof head);
        if (head[1] != lane_received || head[0] > 1u << 20) {
            complain("lane packet " + std::to_string(head[1]) + " in place of " + std::to_string(lane_received));
            stream.clear();
            return;
        }
        if (stream.size() - at - sizeof head < head[0]) {
            break;
        }
        if (testing::pattern_mismatch(std::span{stream}.subspan(at + sizeof head, head[0]), head[1]) != head[0]) {
            complain("lane packet " + std::to_string(head[1]) + " is damaged");
        }
        at += sizeof head + head[0];
        ++lane_received;
        lane_bytes += head[0];
        lane_last = sim.now;
    }
    stream.erase(stream.begin(), stream.begin() + static_cast<std::ptrdiff_t>(at));
}

void Host::take_landing(const Received& r)
{
    const std::uint32_t id = r.landing->recv_slot.get();
    const auto room = static_cast<std::size_t>(r.landing->offset.get());
    auto& place = places[id];
    if (place != nullptr) {
        complain("transfer " + std::to_string(id) + " began twice");
        return;
    }
    place = std::make_unique<Place>();
    place->id = id;
    place->room = room;
    place->data.assign(std::min<std::size_t>(room, r.landing->body_bytes.get()) + 64, kOver);
    machine.land(r, room == 0 ? nullptr : place->data.data(), room, place.get(), sim.now);
}

void Host::take_event(const Event& e)
{
    if (e.kind == Event::Kind::kWritable) {
        lane_blocked = lane_blocked && e.connection != lane;
        bulk_blocked = bulk_blocked && e.connection != bulk;
    } else if (e.kind == Event::Kind::kReset) {
        resets = true;
    } else if (e.kind == Event::Kind::kBulkSent) {
        auto& m = *static_cast<Message*>(e.cookie);
        if (m.back) {
            complain("bulk packet came back twice");
        }
        m.back = true;
        --bulk_open;
        std::fill(m.data.begin(), m.data.end(), kOver);   // it is ours again: nothing reads it any more
    } else if (e.kind == Event::Kind::kTrainDone) {
        auto& p = *static_cast<Place*>(e.cookie);
        if (p.done) {
            complain("transfer ended twice");
        }
        p.done = true;
        const auto landed = std::span{p.data}.first(std::min<std::size_t>(e.landed, p.data.size()));
        if (const std::size_t wrong = testing::pattern_mismatch(landed, p.id); e.ok && wrong != landed.size()) {
            complain("transfer " + std::to_string(p.id) + " is damaged at " + std::to_string(wrong));
        }
        if (e.ok && !std::all_of(p.data.begin() + static_cast<std::ptrdiff_t>(landed.size()), p.data.end(), [](std::byte b) { return b == kOver; })) {
            complain("transfer " + std::to_string(p.id) + " wrote beyond its end");
        }
        if (e.ok && e.landed != p.data.size() - 64) {
            complain("transfer of another length");
        }
        std::fill(p.data.begin(), p.data.end(), kOver);
        ++bulk_received;
        bulk_bytes += e.landed;
    }
}

std::string Host::describe() const
{
    const MachineStats& s = machine.stats();
    std::string text = "in " + std::to_string(s.frames_in) + " out " + std::to_string(s.frames_out) + " acks " + std::to_string(s.acks_out) + " pulls " +
                       std::to_string(s.pulls_out) + " probes " + std::to_string(s.probes_out) + " again " + std::to_string(s.lane_again) + " " +
                       std::to_string(s.blocks_again) + " in rows " + std::to_string(in_rows) +
                       " timeouts " + std::to_string(s.timeouts) + " ring drops " + std::to_string(ring_drops) + " drops";
    for (const std::uint64_t d : s.drops) {
        text += " " + std::to_string(d);
    }
    const Nanos timer = machine.next_timer() - sim.now;
    return text + " lent " + std::to_string(machine.credit().lent()) + " timer in " + std::to_string(timer.count()) + " ns, asleep " +
           std::to_string(asleep) + " loss " + std::to_string(path.loss);
}

void Host::check_rest()
{
    for (const auto& [id, p] : places) {
        if (!p->done || std::any_of(p->data.begin(), p->data.end(), [](std::byte b) { return b != kOver; })) {
            complain("transfer " + std::to_string(id) + (p->done ? " was written after its end" : " never ended"));
        }
    }
    for (const auto& [id, m] : messages) {
        if (m.given && !m.back) {
            complain("bulk packet " + std::to_string(id) + " never came back");
        }
    }
    if (tx_pool.available() != tx_pool.count() || rx_pool.available() != rx_pool.count()) {
        complain("frames are missing from a pool: " + std::to_string(tx_pool.available()) + " and " + std::to_string(rx_pool.available()));
    }
    if (machine.credit().lent() != 0) {
        complain("credit was not given back: " + std::to_string(machine.credit().lent()));
    }
}

}   // namespace linnet::flow::sim

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fuzz target: two real FrameTransports, the network between them, and who listens to it: frames of every age come again, also those of a process that was
// at the address before; damaged ones, forged ones, from elsewhere. Their sinks say yes and no, and end links in the middle of a call.
//
// The input is a first byte (channels, CRC), then a list of steps, each a byte and its arguments. In the end the network is sound for a minute.
// Promised always: each call of the sink is one that the contract knows at that point; memory lent comes back, once. Without forgeries: a link comes up at
// the side that was called only if the very process that called agreed to this very link, what it carries is in order, once, and of this link. With a sound
// network in the end and nobody who speaks from a false address: both sides agree which links are up, and what was sent on these has arrived.
#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "fuzz/frame_side.h"
#include "fuzz/fuzz_target.h"
#include "wire/crc32c.h"

namespace linnet::fuzz {
namespace {

using Action = HelloVerdict::Action;
using Frame = testing::SimFrames::Frame;
constexpr unsigned kMaxSteps = 400;
constexpr std::size_t kMaxWire = 512;
constexpr std::size_t kHistory = 400;

class World : public FrameWorld {
public:
    explicit World(Reader& reader) : in{reader}
    {
        const std::uint8_t how = in.byte();
        channels = 1 + how % 2;
        crc = how / 2 % 2 != 0;
        std::string error;
        LINNET_FUZZ_CHECK(settings.set("frame_crc", crc ? "on" : "off", error) == Status::kOk && settings.set("peer_timeout", "2s", error) == Status::kOk);
        net.lose = [this](const Frame& f) {
            travel(f);
            return true;
        };
        clock.advance(std::chrono::seconds{1});
        for (unsigned i = 0; i < 2; ++i) {
            sides[i] = std::make_unique<FrameSide>(*this, i, ++lives);
        }
    }
    void play();
    void travel(const Frame& f)
    {
        net.sent.clear();
        if (silent) {
            return;
        }
        if (history.size() < kHistory) {
            history.push_back(f);
        } else {
            history[++oldest % kHistory] = f;
        }
        if (on_wire.size() < kMaxWire) {
            on_wire.push_back(f);
        }
    }

    Reader& in;
    bool crc{false};
    unsigned lives{0};
    std::deque<Frame> on_wire;
    std::vector<Frame> history;
    std::size_t oldest{0};
    bool silent{false};      // a process dies: its last words reach nobody

private:
    void step();
    void deliver(std::size_t count);
    void poll(unsigned which) { sides[which]->transport->poll(64); }
    void again();
    void damage();
    void forge();
    void restart(unsigned which, bool goodbye);
    void heal();
    void agree();
};

// ---- the script ----

void World::deliver(std::size_t count)
{
    for (; count != 0 && !on_wire.empty(); --count) {
        Frame f = std::move(on_wire.front());
        on_wire.pop_front();
        if (const auto it = net.ports.find(f.to); it != net.ports.end()) {
            it->second->arrive(f.channel % channels, std::move(f));
        }
    }
}

// Somebody has recorded all, and sends some of it once more: in a row, as it was.
void World::again()
{
    const std::size_t from = in.take<std::uint16_t>();
    const std::size_t count = 1 + in.byte() % 16;
    for (std::size_t i = 0; i < count && !history.empty() && on_wire.size() < kMaxWire; ++i) {
        on_wire.push_back(history[(from + i) % history.size()]);
    }
}

void World::damage()
{
    if (on_wire.empty()) {
        return;
    }
    Frame& f = on_wire[in.byte() % on_wire.size()];
    const std::size_t bit = in.take<std::uint16_t>() % (f.bytes.size() * 8);
    const bool opens = f.head().kind == wire::FrameKind::kOpen;   // these have a CRC always
    f.bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    if (!crc && (!opens || bit < 32)) {   // also where it became another kind of frame
        trusted = sound = false;
    }
}

// Somebody who has seen everything makes up a frame out of one that was sent.
void World::forge()
{
    if (history.empty()) {
        return;
    }
    Frame f = history[in.take<std::uint16_t>() % history.size()];
    const Frame& other = history[in.take<std::uint16_t>() % history.size()];
    const std::uint8_t what = in.byte();
    wire::FrameHead head = f.head();
    const wire::FrameHead from = other.head();
    trusted = sound = false;
    if ((what & 1) != 0) {
        head.connection = from.connection;
    }
    if ((what & 2) != 0) {
        head.incarnation = from.incarnation;
    }
    if ((what & 4) != 0) {
        head.epoch.set(in.byte());
    }
    if ((what & 8) != 0) {
        head.kind = static_cast<wire::FrameKind>(in.byte() % 9);
    }
    if ((what & 16) != 0) {
        head.number = from.number;
        head.source = from.source;
    }
    f.bytes.resize(std::max(f.bytes.size(), sizeof head + sizeof(wire::OpenHead)));
    if ((what & 32) != 0) {   // of the head that opens, or whatever stands there: step, role, lengths, name
        f.bytes[sizeof head + in.byte() % sizeof(wire::OpenHead)] = static_cast<std::byte>(in.byte());
    }
    if ((what & 64) != 0 && other.bytes.size() >= sizeof head + sizeof(wire::OpenHead)) {
        std::copy_n(other.bytes.begin() + sizeof head + 8, 8, f.bytes.begin() + sizeof head + 8);
    }
    if ((what & 128) != 0) {
        std::swap(f.from, f.to);
    }
    head.crc.set(0);
    const std::size_t body = std::min<std::size_t>(head.bytes.get(), f.bytes.size() - sizeof head);
    head.crc.set(wire::crc32c(std::span{f.bytes}.subspan(sizeof head, body), wire::crc32c(std::as_bytes(std::span{&head, 1}))));
    std::memcpy(f.bytes.data(), &head, sizeof head);
    on_wire.push_back(std::move(f));
}

// Another process at the same address.
void World::restart(unsigned which, bool goodbye)
{
    if (lives >= 8) {
        return;
    }
    silent = !goodbye;
    sides[which]->end();
    silent = false;
    sides[which] = std::make_unique<FrameSide>(*this, which, ++lives);
}

void World::step()
{
    const std::uint8_t what = in.byte();
    FrameSide& s = *sides[what & 1];
    switch (what / 2 % 20) {
        case 0: s.connect(LinkRole::kLane, 1); break;
        case 1: s.connect(what < 128 ? LinkRole::kBulk : LinkRole::kLane, 1 + in.byte() % 3); break;
        case 2: poll(what & 1); break;
        case 3: deliver(1 + in.byte() % 8); break;
        case 4:
            if (!on_wire.empty()) {
                on_wire.erase(on_wire.begin() + static_cast<std::ptrdiff_t>(in.byte() % on_wire.size()));
            }
            break;
        case 5:
            if (!on_wire.empty()) {
                std::swap(on_wire.front(), on_wire[in.byte() % on_wire.size()]);
            }
            break;
        case 6:
        case 7: again(); break;
        case 8: damage(); break;
        case 9: forge(); break;
        case 10: clock.advance(std::chrono::microseconds{100} * (1 << in.byte() % 17)); break;
        case 11: {
            const std::uint8_t how = in.byte();
            const auto action = [](unsigned a) { return a % 4 == 1 ? Action::kReject : a % 4 == 2 ? Action::kYield : Action::kAccept; };
            s.hello_answer = action(how);
            s.welcome_answer = action(how / 4u);
            s.confirm_answer = action(how / 16u) == Action::kYield ? Action::kReject : action(how / 16u);
            s.elsewhere = (how & 64) != 0;
            s.give_up = (how & 128) != 0;
            break;
        }
        case 12: s.drop(in.byte()); break;
        case 13: restart(what & 1, what < 128); break;
        case 14:
            slandered = slandered || what < 128;
            s.port->evidence.emplace_back(what < 128 ? 2 - (what & 1) : 10 + (what & 1), in.byte() % 2 == 0 ? ECONNREFUSED : EHOSTUNREACH);
            break;
        case 15: std::ignore = in.byte(), s.send_lane(in.byte(), in.take<std::uint16_t>() % 6000); break;
        case 16: s.send_bulk(in.byte(), in.take<std::uint16_t>()); break;
        case 17:
            s.drop_in = 1 + in.byte() % 8;
            s.drop_which = in.byte();
            break;
        case 18:
            if (!on_wire.empty()) {   // from where nobody is, or the other one
                on_wire.front().from = in.byte() % 4;
                sound = false;
            }
            break;
        default:
            for (unsigned round = 0; round < 4; ++round) {
                deliver(kMaxWire);
                poll(0);
                poll(1);
            }
    }
    LINNET_FUZZ_CHECK(sides[what & 1]->transport->next_timer() > TimePoint{});
}

// The network is sound for a minute, and nobody says no any more.
void World::heal()
{
    for (const auto& s : sides) {
        s->hello_answer = s->welcome_answer = s->confirm_answer = Action::kAccept;
        s->give_up = false;
        s->drop_in = 0;
    }
    const TimePoint end = clock.now() + std::chrono::seconds{60};
    for (unsigned round = 0; clock.now() < end && round < 20'000; ++round) {
        deliver(kMaxWire);
        poll(0);
        poll(1);
        if (on_wire.empty()) {
            const TimePoint next = std::min(sides[0]->transport->next_timer(), sides[1]->transport->next_timer());
            clock.advance(std::clamp<Nanos>(next - clock.now(), std::chrono::microseconds{20}, std::chrono::seconds{2}));
        } else {
            clock.advance(std::chrono::microseconds{20});
        }
    }
    LINNET_FUZZ_CHECK(!sound || clock.now() >= end);   // no storm of frames
}

void World::agree()
{
    for (const auto& s : sides) {
        for (auto& [id, l] : s->links) {
            LINNET_FUZZ_CHECK(l.state == Seen::State::kUp || l.state == Seen::State::kOver);
            if (l.state == Seen::State::kUp) {
                const Seen* const mate = sides[1 - s->number]->end_of(l.call, !l.opener);
                LINNET_FUZZ_CHECK(mate != nullptr && mate->state == Seen::State::kUp && mate->received == l.sent);
                LINNET_FUZZ_CHECK(static_cast<std::size_t>(std::count(mate->bulk_received.begin(), mate->bulk_received.end(), true)) == l.bulk_sent);
            }
        }
        LINNET_FUZZ_CHECK(s->places.empty() && s->lent.empty());
    }
}

void World::play()
{
    for (unsigned steps = 0; !in.empty() && steps < kMaxSteps; ++steps) {
        step();
    }
    heal();
    if (trusted && sound) {
        agree();
    }
    for (const auto& s : sides) {
        s->end();
    }
}

}   // namespace

void run_frames(std::span<const std::uint8_t> input)
{
    Reader in{input};
    World{in}.play();
}

// A step is a byte: side | what * 2.
std::vector<Input> frames_seeds()
{
    const auto op = [](unsigned side, unsigned what, unsigned more = 0) { return static_cast<std::uint8_t>(side | what << 1 | more); };
    const Input exchange{op(0, 19), op(0, 10), 0, op(0, 19)};
    const auto with = [](Input all, std::initializer_list<Input> parts) {
        for (const Input& p : parts) {
            all.insert(all.end(), p.begin(), p.end());
        }
        return all;
    };
    std::vector<Input> seeds;
    for (const std::uint8_t how : std::initializer_list<std::uint8_t>{0, 1, 2, 3}) {
        const Input up = with({how}, {{op(0, 0), op(1, 0), op(0, 1), 0, op(1, 1), 1}, exchange, {op(0, 10), 14}, exchange});
        const Input talk{op(0, 15), 0, 0, 0x40, 0x10, op(1, 15), 0, 0, 0x20, 0, op(0, 16), 1, 0x30, 0x75, op(0, 16), 2, 0x10, 0x27, op(1, 16), 3, 0, 0x40};
        const Input replay{op(0, 6), 0, 0, 15, op(0, 6), 16, 0, 15, op(0, 7), 32, 0, 15, op(0, 3), 7};
        seeds.push_back(with(up, {talk, exchange, replay, exchange, talk, exchange}));
        const Input trouble{op(0, 4), 0, op(0, 5), 3, op(0, 8), 1, 0x80, 1};
        seeds.push_back(with(up, {talk, trouble, exchange, {op(1, 12), 0, op(0, 12), 1}, replay, exchange, talk, exchange}));
        // Another process at the address, and everything that was said to the first one once more.
        for (const unsigned goodbye : {0u, 128u}) {
            seeds.push_back(with(up, {talk, exchange, {op(0, 13, goodbye)}, replay, exchange, {op(0, 0), op(0, 1), 0}, exchange, replay, talk, exchange,
                                      replay, exchange}));
            seeds.push_back(with(up, {talk, {op(1, 13, goodbye)}, replay, exchange, {op(1, 0), op(0, 0)}, exchange, replay, talk, exchange}));
        }
        // No, not me, later; and an end in the middle of it.
        for (const std::uint8_t answer : std::initializer_list<std::uint8_t>{1, 2, 4, 8, 16, 64 + 1, 128}) {
            const Input ask{op(0, 11), answer, op(1, 11), answer, op(0, 0), op(0, 1), 2, op(1, 0)};
            seeds.push_back(with({how}, {ask, exchange, {op(0, 11), 0, op(1, 11), 0, op(0, 10), 14}, exchange,
                                         {op(0, 14), 0, op(1, 0)}, exchange, talk, exchange}));
            const Input soon{op(0, 0), op(1, 0), op(0, 17), static_cast<std::uint8_t>(answer % 5), 0, op(1, 17), static_cast<std::uint8_t>(answer % 3), 1};
            seeds.push_back(with({how}, {soon, exchange, talk, exchange, replay, exchange}));
        }
        Input forged = with(up, {talk, exchange});
        for (std::uint8_t i = 0; i < 24; ++i) {
            forged = with(forged, {{op(0, 9), i, 0, static_cast<std::uint8_t>(i * 3), 0, static_cast<std::uint8_t>(i * 11 + 1), i, i, i, op(0, 3), 3}});
            forged = i % 6 == 5 ? with(forged, {exchange, {op(0, 0)}}) : forged;
        }
        seeds.push_back(with(forged, {exchange, talk, exchange}));
        const Input elsewhere{op(0, 0), op(0, 2), op(0, 18), 3, op(0, 19), op(0, 18), 2, op(1, 18), 1};
        const Input nobody{op(1, 14, 128), 0, op(0, 1), 2, op(0, 14, 128), 0};
        seeds.push_back(with({how}, {elsewhere, exchange, nobody, exchange, talk, exchange}));
    }
    return seeds;
}

}   // namespace linnet::fuzz

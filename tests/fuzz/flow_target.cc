// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fuzz target: two flow::Machines that send to each other over a network which the input commands: it loses, doubles, delays, reorders and refuses frames,
// lets time pass, and says what a peer that knows all secrets may say: frames that were changed, and frames that were made up. Whatever comes, nothing is
// written outside of a landing or after its end, no more credit is lent than there is, and what was borrowed comes back once. As long as nothing was forged,
// what arrives is also what was sent, and when the network is sound again all of it does.
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <string>

#include "flow/machine.h"
#include "fuzz/fuzz_target.h"

namespace linnet::fuzz {
namespace {

using flow::Event;
using flow::Machine;
using Frame = std::vector<std::byte>;

constexpr std::size_t kFrameBytes = 320;
constexpr std::size_t kFrames = 256;
constexpr std::size_t kGuard = 32;
constexpr std::byte kUntouched{0xa5};
constexpr std::uint32_t kIncarnation[2] = {0x11, 0x22};

[[nodiscard]] std::byte pattern(std::uint64_t stream, std::uint64_t at) noexcept { return static_cast<std::byte>((stream * 31 + at) * 0x9e3779b1u >> 13); }

struct Place {
    std::uint32_t message{0};
    std::size_t room{0};
    std::size_t bytes{0};
    std::size_t offset{0};      // of the part
    bool done{false};
    Frame data;                 // with a guard on either side
};
struct Outgoing {
    Frame data;
    bool back{false};
};

struct Side {
    Side(unsigned n, const Machine::Config& config)
        : number{n}, tx_memory(kFrames * kFrameBytes), rx_memory(kFrames * kFrameBytes), tx_pool{tx_memory, kFrameBytes}, rx_pool{rx_memory, kFrameBytes},
          machine{config, tx_pool, rx_pool}
    {
    }
    const unsigned number;
    std::vector<std::byte> tx_memory, rx_memory;
    flow::FramePool tx_pool, rx_pool;
    Machine machine;
    std::array<flow::ConnectionId, 2> connections{};   // by role
    std::deque<Frame> inbox;
    bool trusted{true};              // nothing forged has arrived here
    std::uint64_t lane_written{0};
    std::uint64_t lane_read{0};
    std::uint32_t next_message{0};
    std::size_t borrowed{0};
    std::size_t whole{0};            // trains that arrived
    std::map<std::uint32_t, std::unique_ptr<Outgoing>> messages;
    std::vector<std::unique_ptr<Place>> places;
    bool closed{false};
    std::uint32_t most_lent{0};      // before the ring became smaller
};

class Game {
public:
    explicit Game(Reader& in) : in_{in}
    {
        const std::uint8_t how = in_.byte();
        Machine::Config config;
        config.frame_bytes = kFrameBytes;
        config.ring_frames = how % 4 == 0 ? 40 : 128;
        config.control_reserve = 8;
        config.trains_open = 1 + how / 4 % flow::kTrains;
        config.trains = 16;
        config.crc = how / 32 % 2 != 0;
        const std::uint32_t first = how / 64 % 2 != 0 ? 0xfffffff0u : 0;
        mac_ = how / 128 != 0;
        for (unsigned i = 0; i < 2; ++i) {
            sides_[i] = std::make_unique<Side>(i, config);
        }
        for (unsigned role = 0; role < 2; ++role) {
            for (const auto& s : sides_) {
                Machine::Opening o;
                o.role = static_cast<flow::Role>(role);
                o.own_secret = 0x1234567800000000u * (s->number + 1);
                o.own_incarnation = kIncarnation[s->number];
                o.first_number = first;
                o.mac = mac_;
                s->connections[role] = *s->machine.add(o, now_);
            }
            for (const auto& s : sides_) {
                const Side& p = *sides_[1 - s->number];
                s->machine.connect(s->connections[role], p.machine.wire_id(p.connections[role]), kIncarnation[p.number], now_);
            }
        }
    }

    void play()
    {
        for (unsigned steps = 0; !in_.empty() && steps < 600; ++steps) {
            const std::uint8_t what = in_.byte();
            step(*sides_[what & 1], what >> 1 & 15, what >> 5);
        }
        if (sides_[0]->trusted && sides_[1]->trusted && !sides_[0]->closed && !sides_[1]->closed) {
            heal();
        }
        for (const auto& s : sides_) {
            close(*s);
            LINNET_FUZZ_CHECK(s->borrowed == 0);
            LINNET_FUZZ_CHECK(s->machine.connections() == 0);
            LINNET_FUZZ_CHECK(s->tx_pool.available() == s->tx_pool.count() && s->rx_pool.available() == s->rx_pool.count());
            LINNET_FUZZ_CHECK(s->machine.credit().lent() == 0);
            check_places(*s, true);
        }
    }

private:
    void step(Side& s, unsigned what, unsigned amount)
    {
        switch (what) {
            case 0: write_lane(s, 1 + std::size_t{in_.byte()} * (1 + amount)); break;
            case 1: give_bulk(s, in_.take<std::uint16_t>() % 20'000); break;
            case 2: case 3: transmit(s, SIZE_MAX); break;
            case 4: transmit(s, amount); break;
            case 5: case 6: deliver(s, 1 + amount * 8); break;
            case 7: lose(s, in_.byte()); break;
            case 8: doubled(s, in_.byte()); break;
            case 9: overtake(s, in_.byte(), in_.byte()); break;
            case 10: pass(s, std::chrono::microseconds{10 << (2 * amount)}); break;
            case 11: pass(s, std::chrono::microseconds{in_.byte()}); break;
            case 12: change(s, amount); break;
            case 13: make_up(s, amount); break;
            case 14:
                s.machine.set_polling(amount % 2 == 0);
                s.machine.flush_acks();
                if (amount % 4 == 3) {
                    s.machine.be_patient(now_);
                }
                break;
            default:
                if (amount == 7) {
                    close(s);
                } else {
                    s.machine.set_ring_frames(8 + amount * 20u);
                    s.most_lent = std::max(s.most_lent, s.machine.credit().lent());   // what is out stays out in a smaller ring
                }
        }
    }

    // ---- the application ----
    void write_lane(Side& s, std::size_t bytes)
    {
        bytes = std::min(bytes, s.machine.lane_payload() * (flow::kLaneWindow / 2));
        Frame data(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
            data[i] = pattern(s.number, s.lane_written + i);
        }
        if (!s.closed && s.machine.write_lane(s.connections[0], std::span{data}.first(bytes / 3), std::span{data}.subspan(bytes / 3))) {
            s.lane_written += bytes;
        }
    }
    void give_bulk(Side& s, std::size_t bytes)
    {
        if (s.closed || s.messages.size() > 64) {
            return;
        }
        auto m = std::make_unique<Outgoing>();
        m->data.resize(bytes);
        for (std::size_t i = 0; i < bytes; ++i) {
            m->data[i] = pattern(100 + s.next_message, i);
        }
        wire::BulkHead head;
        head.body_bytes.set(static_cast<std::uint32_t>(bytes));
        head.recv_slot.set(s.next_message);
        if (s.machine.give_bulk(s.connections[1], head, m->data, m.get()) == Status::kInProgress) {
            ++s.borrowed;
            s.messages.emplace(s.next_message++, std::move(m));
        }
    }
    void event(Side& s, const Event& e)
    {
        if (e.kind == Event::Kind::kBulkSent) {
            auto& m = *static_cast<Outgoing*>(e.cookie);
            LINNET_FUZZ_CHECK(!m.back && s.borrowed != 0);
            m.back = true;
            --s.borrowed;
            std::fill(m.data.begin(), m.data.end(), kUntouched);   // ours again
        } else if (e.kind == Event::Kind::kTrainDone) {
            auto& p = *static_cast<Place*>(e.cookie);
            LINNET_FUZZ_CHECK(!p.done && e.landed <= p.room && e.bytes == p.bytes);
            p.done = true;
            s.whole += e.ok ? 1 : 0;
            for (std::size_t i = 0; e.ok && s.trusted && i < e.landed; ++i) {
                LINNET_FUZZ_CHECK(p.data[kGuard + i] == pattern(100 + p.message, p.offset + i));
            }
            std::fill(p.data.begin() + kGuard, p.data.end() - kGuard, kUntouched);
        }
    }
    void events(Side& s)
    {
        for (Event e = s.machine.next_event(); e.kind != Event::Kind::kNone; e = s.machine.next_event()) {
            event(s, e);
        }
        LINNET_FUZZ_CHECK(s.machine.credit().lent() <= std::max(s.most_lent, s.machine.credit().capacity()));
        s.most_lent = s.machine.credit().lent();
    }
    void check_places(const Side& s, bool all_done) const
    {
        for (const auto& p : s.places) {
            const auto untouched = [](std::byte b) { return b == kUntouched; };
            LINNET_FUZZ_CHECK(p->done || !all_done);
            LINNET_FUZZ_CHECK(std::all_of(p->data.begin(), p->data.begin() + kGuard, untouched));
            LINNET_FUZZ_CHECK(std::all_of(p->data.end() - kGuard, p->data.end(), untouched));
            LINNET_FUZZ_CHECK(!p->done || std::all_of(p->data.begin(), p->data.end(), untouched));   // nothing after the end
        }
    }
    void close(Side& s)
    {
        for (const flow::ConnectionId c : s.connections) {
            s.machine.close(c);
            for (Event e = s.machine.take_back(c); e.kind != Event::Kind::kNone; e = s.machine.take_back(c)) {
                event(s, e);
            }
        }
        s.closed = true;
        check_places(s, true);
    }

    // ---- the network ----
    void transmit(Side& s, std::size_t taken)
    {
        std::array<flow::TxFrame, 16> out;
        for (std::size_t n = s.machine.produce(now_, out); n != 0; n = s.machine.produce(now_, out)) {
            const std::size_t go = std::min(n, taken);
            for (const flow::TxFrame& f : std::span{out}.first(go)) {
                Frame frame{f.head.begin(), f.head.begin() + f.head_bytes};
                frame.insert(frame.end(), f.payload.begin(), f.payload.end());
                LINNET_FUZZ_CHECK(frame.size() <= kFrameBytes);
                std::deque<Frame>& to = sides_[1 - s.number]->inbox;
                if (to.size() < 512) {
                    to.push_back(std::move(frame));
                }
            }
            if (go < n) {
                s.machine.not_sent(std::span{out}.subspan(go, n - go), now_);
                return;
            }
        }
    }
    void deliver(Side& s, std::size_t count)
    {
        std::vector<Frame> batch;   // lives until the rows of it are over
        for (; count != 0 && !s.inbox.empty(); --count) {
            batch.push_back(std::move(s.inbox.front()));
            s.inbox.pop_front();
        }
        for (std::size_t i = 0; i < batch.size();) {
            const flow::Received r = s.machine.receive(batch[i++], now_);
            const std::size_t second = i;
            while (r.landing == nullptr && i < batch.size() && s.machine.receive_next(batch[i])) {
                ++i;
            }
            s.machine.end_row(now_);
            take(s, r);
            for (std::size_t next = second; next < i && !r.lane.empty(); ++next) {
                read_lane(s, flow::Machine::lane_bytes(batch[next]));
            }
            events(s);
        }
    }
    void take(Side& s, const flow::Received& r)
    {
        read_lane(s, r.lane);
        std::span<const std::byte> more;
        while (r.connection == s.connections[0] && s.machine.more_lane(r.connection, more)) {
            read_lane(s, more);
        }
        if (r.landing == nullptr) {
            return;
        }
        if (s.places.size() > 256) {
            s.machine.land(r, nullptr, 0, place(s, r, 0), now_);
            return;
        }
        const std::size_t room = std::min<std::size_t>(r.part_bytes, r.landing->recv_slot.get() % 5 == 4 ? 1000 : 30'000);
        Place* const p = place(s, r, room);
        s.machine.land(r, room == 0 ? nullptr : p->data.data() + kGuard, room, p, now_);
    }
    Place* place(Side& s, const flow::Received& r, std::size_t room)
    {
        s.places.push_back(std::make_unique<Place>());
        Place& p = *s.places.back();
        p.message = r.landing->recv_slot.get();
        p.room = room;
        p.bytes = r.part_bytes;
        p.offset = r.part_offset;
        p.data.assign(room + 2 * kGuard, kUntouched);
        return &p;
    }
    void read_lane(Side& s, std::span<const std::byte> bytes)
    {
        for (std::size_t i = 0; s.trusted && i < bytes.size(); ++i) {
            LINNET_FUZZ_CHECK(bytes[i] == pattern(1 - s.number, s.lane_read + i));
        }
        s.lane_read += bytes.size();
        LINNET_FUZZ_CHECK(!s.trusted || s.lane_read <= sides_[1 - s.number]->lane_written);
    }
    void lose(Side& s, std::size_t at)
    {
        if (!s.inbox.empty()) {
            s.inbox.erase(s.inbox.begin() + static_cast<std::ptrdiff_t>(at % s.inbox.size()));
        }
    }
    void doubled(Side& s, std::size_t at)
    {
        if (!s.inbox.empty() && s.inbox.size() < 512) {
            s.inbox.push_back(Frame{s.inbox[at % s.inbox.size()]});
        }
    }
    void overtake(Side& s, std::size_t a, std::size_t b)
    {
        if (!s.inbox.empty()) {
            std::swap(s.inbox[a % s.inbox.size()], s.inbox[b % s.inbox.size()]);
        }
    }
    void pass(Side& s, Nanos time)
    {
        now_ += time;
        s.machine.run(now_);
        events(s);
    }

    // ---- the enemy ----
    // Some bytes of a frame on the way. With CRC or MAC it is damage, which is found out; without, a forgery.
    void change(Side& s, unsigned amount)
    {
        if (s.inbox.empty()) {
            return;
        }
        Frame& f = s.inbox[in_.byte() % s.inbox.size()];
        for (unsigned i = 0; i <= amount; ++i) {
            f[in_.take<std::uint16_t>() % f.size()] ^= static_cast<std::byte>(1u << in_.byte() % 8);
        }
        s.trusted = false;
    }
    void make_up(Side& s, unsigned amount)
    {
        Side& peer = *sides_[1 - s.number];
        const unsigned role = amount & 1;
        wire::FrameHead h = in_.take<wire::FrameHead>();
        h.version = wire::kFrameVersion;
        h.kind = static_cast<wire::FrameKind>(1 + static_cast<unsigned>(h.kind) % 7);
        h.connection.set(s.machine.wire_id(s.connections[role]));
        h.incarnation.set(kIncarnation[peer.number]);
        h.epoch.set(0);
        h.flags.set(static_cast<std::uint16_t>(h.flags.get() & ~(wire::frame_flag::kMac | wire::frame_flag::kCrc)));
        if ((amount & 2) != 0) {   // acknowledges and grants what may be
            h.ack.set(h.ack.get() % 4);
            h.sack.set(0);
            h.credit.set(h.credit.get() % 512);
            h.number.set(h.number.get() % 16);
        }
        std::span<const std::uint8_t> rest = in_.bytes(in_.byte());
        h.bytes.set(static_cast<std::uint16_t>(rest.size()));
        Frame f(sizeof h + rest.size());
        std::memcpy(f.data(), &h, sizeof h);
        if (!rest.empty()) {
            std::memcpy(f.data() + sizeof h, rest.data(), rest.size());
        }
        s.inbox.push_back(std::move(f));
        s.trusted = false;
    }

    // ---- in the end ----
    [[nodiscard]] bool settled() const
    {
        return std::all_of(sides_.begin(), sides_.end(), [this](const auto& s) {
            const Side& p = *sides_[1 - s->number];
            return s->lane_read == p.lane_written && s->borrowed == 0 && s->whole == p.messages.size();
        });
    }
    // The network is sound again, and the ring has room.
    void heal()
    {
        for (const auto& s : sides_) {
            s->machine.set_ring_frames(128);
            s->machine.set_polling(true);
        }
        for (unsigned round = 0; round < 20'000 && !settled(); ++round) {
            for (const auto& s : sides_) {
                deliver(*s, SIZE_MAX);
                s->machine.run(now_);
                events(*s);
                transmit(*s, SIZE_MAX);
            }
            now_ += std::chrono::microseconds{round < 2000 ? 20 : 1000};
        }
        LINNET_FUZZ_CHECK(settled());
    }

    Reader& in_;
    TimePoint now_{std::chrono::seconds{5}};
    bool mac_{false};
    std::array<std::unique_ptr<Side>, 2> sides_;
};

}   // namespace

void run_flow(std::span<const std::uint8_t> input)
{
    Reader in{input};
    Game{in}.play();
}

// A step is a byte: side | what * 2 | amount * 32.
std::vector<Input> flow_seeds()
{
    const auto op = [](unsigned side, unsigned what, unsigned amount = 0) { return static_cast<std::uint8_t>(side | what << 1 | amount << 5); };
    const auto exchange = [&op](Input& in, unsigned rounds) {
        for (unsigned i = 0; i < rounds; ++i) {
            in.insert(in.end(), {op(0, 2), op(1, 5, 7), op(1, 2), op(0, 5, 7), op(i % 2, 10, 1)});
        }
    };
    std::vector<Input> seeds;
    for (const std::uint8_t how : std::initializer_list<std::uint8_t>{0, 13, 28, 32, 64, 128, 253}) {
        Input in{how};
        in.insert(in.end(), {op(0, 0, 7), 200, op(1, 0, 2), 90, op(0, 1), 0x20, 0x4e, op(0, 1), 0xff, 0x0f, op(1, 1), 0x00, 0x10});
        exchange(in, 6);
        in.insert(in.end(), {op(1, 7), 3, op(0, 8), 1, op(1, 9), 2, 9, op(0, 4, 2), op(1, 14, 1), op(1, 15, 2)});
        exchange(in, 6);
        seeds.push_back(in);
        Input lossy = in;
        for (unsigned i = 0; i < 12; ++i) {
            lossy.insert(lossy.end(), {op(0, 0, 3), 77, op(0, 1), 0x10, 0x27, op(0, 2), op(1, 7), static_cast<std::uint8_t>(i * 5), op(1, 7), 9, op(1, 5, 3),
                                       op(1, 2), op(0, 7), 0, op(0, 5, 7), op(0, 10, 4), op(1, 10, 4)});
        }
        seeds.push_back(lossy);
        Input forged = in;
        for (unsigned i = 0; i < 8; ++i) {
            forged.insert(forged.end(), {op(0, 1), 0x10, 0x27, op(0, 2), op(1, 12, i % 4), static_cast<std::uint8_t>(i), 60, 0, 3, 28, 0, 1, 70, 0, 2, 33, 0, 5,
                                         op(1, 5, 7), op(1, 13, i)});
            wire::FrameHead h;
            h.kind = static_cast<wire::FrameKind>(i);
            h.credit.set(100);
            const auto* const bytes = reinterpret_cast<const std::uint8_t*>(&h);
            forged.insert(forged.end(), bytes, bytes + sizeof h);
            wire::BlockHead b;
            b.block_bytes.set(40);
            b.bulk.body_bytes.set(4000);
            const auto* const block = reinterpret_cast<const std::uint8_t*>(&b);
            forged.push_back(sizeof b + 40);
            forged.insert(forged.end(), block, block + sizeof b);
            forged.insert(forged.end(), 40, static_cast<std::uint8_t>(i));
            forged.insert(forged.end(), {op(1, 5, 7), op(1, 10, 3)});
        }
        forged.push_back(op(how & 1, 15, 7));
        exchange(forged, 3);
        seeds.push_back(forged);
    }
    return seeds;
}

}   // namespace linnet::fuzz

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SimNet.
#include <algorithm>

#include "support/sim_transport.h"

namespace linnet::testing {

void SimNet::push(End& from, const std::byte* bytes, std::size_t n)
{
    const auto delay = Nanos{static_cast<std::int64_t>(below(static_cast<std::uint64_t>(faults.delay_max.count()) + 1))};
    from.last_at = std::max(from.last_at, clock_.now() + delay);
    from.in_flight += n;
    if (!from.wire.empty() && from.wire.back().at == from.last_at) {
        from.wire.back().bytes.insert(from.wire.back().bytes.end(), bytes, bytes + n);
        return;
    }
    from.wire.push_back({from.last_at, {bytes, bytes + n}});
}

// Moves borrowed bytes into the stream as far as the window allows.
void SimNet::flush(End& from)
{
    while (!from.unsent.empty()) {
        Borrowed& b = from.unsent.front();
        const std::size_t n = std::min(b.left, faults.window > from.in_flight ? faults.window - from.in_flight : 0);
        if (b.left != 0 && n == 0) {
            return;
        }
        if (n != 0) {
            push(from, b.at, n);
        }
        b.at += n;
        b.left -= n;
        if (b.left != 0 || b.bulk) {
            return;   // the end of a bulk packet is told by the poller
        }
        from.unsent.pop_front();
    }
}

// This side of the connection is gone: what flies towards it is lost, and the other side will notice.
void SimNet::sever(Conn& c, int side)
{
    End& mine = c.end[side];
    End& other = c.end[1 - side];
    mine.stage = Stage::kGone;
    other.wire.clear();
    other.in_flight = 0;
    if (other.stage != Stage::kGone && other.break_at == TimePoint::max() && silent_since_ == TimePoint::max()) {
        other.left = faults.tells_close && other.stage == Stage::kUp;
        other.eof = chance(0.5);   // an orderly end lets what was sent before come through, a reset does not
        other.break_at = other.eof ? std::max(mine.last_at, clock_.now()) : clock_.now() + Nanos{static_cast<std::int64_t>(below(1'000'000))};
    }
}

// Under the lock. What was said before goes to `to` once more, some time from now; whoever sent it goes away some time after that, or never.
void SimNet::replay(SimTransport& to)
{
    constexpr unsigned kMostReplays = 16;
    constexpr std::size_t kNone = SIZE_MAX;
    const auto pick = [&](bool confirm) {
        std::vector<std::size_t> found;
        for (std::size_t i = 0; i < said_.size(); ++i) {
            if (said_[i].to == &to && said_[i].confirm == confirm) {
                found.push_back(i);
            }
        }
        return found.empty() ? kNone : chance(0.5) ? found.back() : found[below(found.size())];
    };
    const std::size_t hello = pick(false);
    if (hello == kNone || replays_ == kMostReplays) {
        return;
    }
    ++replays_;
    auto conn = std::make_unique<Conn>();
    conn->ghost = true;
    conn->said = hello;
    End& from = conn->end[0];
    from.stage = Stage::kGone;
    End& end = conn->end[1];
    end.owner = &to;
    end.id = LinkId{next_id_++};
    const auto later = [&](std::uint64_t most) { return Nanos{static_cast<std::int64_t>(below(most))}; };
    const auto put = [&](const Said& said) {   // not by push(): it may overtake the one that it repeats
        from.wire.push_back({from.last_at, said.bytes});
        from.in_flight += said.bytes.size();
    };
    constexpr std::uint64_t kLate[] = {1, 1'000'000, 50'000'000};
    from.last_at = clock_.now() + later(kLate[below(3)]);
    put(said_[hello]);
    if (const std::size_t confirm = chance(0.7) ? pick(true) : kNone; confirm != kNone) {
        from.last_at += later(20'000'000);
        put(said_[confirm]);
    }
    if (chance(0.7)) {
        end.break_at = from.last_at + later(30'000'000);
        end.eof = true;
    }
    conns_.push_back(std::move(conn));
}

SimTransport* SimNet::listener_at(const wire::EndpointName& name)
{
    for (SimTransport* t : transports_) {
        if (!t->dead_ && t->sink_ != nullptr && t->port_ == name.port.get()) {
            return t;
        }
    }
    return nullptr;
}

bool SimNet::break_any()
{
    const std::lock_guard guard{lock_};
    std::vector<Conn*> live;
    for (auto& c : conns_) {
        if (!c->ghost && (c->end[0].stage != Stage::kGone || c->end[1].stage != Stage::kGone)) {
            live.push_back(c.get());
        }
    }
    if (live.empty()) {
        return false;
    }
    Conn& c = *live[below(live.size())];
    const auto soon = [&] { return clock_.now() + Nanos{static_cast<std::int64_t>(below(2'000'000))}; };
    const std::uint64_t how = below(4);   // side 0, side 1, both at once, both at different times
    const TimePoint at = soon();
    for (int side = 0; side < 2; ++side) {
        if (how == 2 || how == 3 || how == static_cast<std::uint64_t>(side)) {
            c.end[side].break_at = std::min(c.end[side].break_at, how == 3 ? soon() : at);
            c.end[side].eof = false;
        }
    }
    return true;
}

void SimNet::break_all(SimTransport& of, LinkRole role)
{
    const std::lock_guard guard{lock_};
    for (auto& c : conns_) {
        for (End& e : c->end) {
            if (e.owner == &of && e.stage != Stage::kGone && e.role == role) {
                e.break_at = clock_.now();
                e.eof = false;
            }
        }
    }
}

void SimNet::fall_silent(bool silent)
{
    const std::lock_guard guard{lock_};
    silent_since_ = silent ? std::min(silent_since_, clock_.now()) : TimePoint::max();
    for (auto& c : conns_) {
        for (End& e : c->end) {
            const End& other = c->end[&e == &c->end[0] ? 1 : 0];
            if (!silent && e.stage != Stage::kGone && e.stage != Stage::kConnecting && other.stage == Stage::kGone) {
                e.break_at = std::min(e.break_at, clock_.now());   // told now
            }
        }
    }
}

bool SimNet::references(const void* bytes, std::size_t size)
{
    const std::lock_guard guard{lock_};
    const auto* from = static_cast<const std::byte*>(bytes);
    for (auto& c : conns_) {
        for (const End& e : c->end) {
            for (const Borrowed& b : e.unsent) {
                if (e.stage != Stage::kGone && b.left != 0 && b.at < from + size && from < b.at + b.left) {
                    return true;
                }
            }
        }
    }
    return false;
}

TimePoint SimNet::next_event()
{
    const std::lock_guard guard{lock_};
    TimePoint next = TimePoint::max();
    for (auto& c : conns_) {
        for (const End& e : c->end) {
            if (e.stage == Stage::kGone) {
                if (c->ghost && !e.wire.empty()) {
                    next = std::min(next, e.wire.front().at);
                }
                continue;
            }
            next = std::min(next, e.break_at);
            if (e.stage == Stage::kConnecting) {
                next = std::min(next, e.due);
            }
            if (!e.wire.empty() && silent_since_ == TimePoint::max()) {
                next = std::min(next, e.wire.front().at);
            }
            if (!e.unsent.empty() && e.in_flight < faults.window) {
                next = clock_.now();
            }
        }
    }
    return next;
}

std::size_t SimNet::links_up(LinkRole role, const SimTransport* of)
{
    const std::lock_guard guard{lock_};
    return static_cast<std::size_t>(std::count_if(conns_.begin(), conns_.end(), [role, of](const auto& c) {
        const bool up = c->end[0].stage == Stage::kUp && c->end[1].stage == Stage::kUp && c->end[0].role == role;
        return up && (of == nullptr || c->end[0].owner == of || c->end[1].owner == of);
    }));
}

}   // namespace linnet::testing

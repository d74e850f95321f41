// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SimWorld: a net, a clock, some nodes, and the passing of time.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "support/session_node.h"

namespace linnet::testing {

class SimWorld {
public:
    explicit SimWorld(std::uint64_t seed) : net{clock, seed} {}

    ManualClock clock;
    SimNet net;
    std::vector<std::unique_ptr<SessionNode>> nodes;
    session::SessionLayer::Config config;

    SessionNode& node(std::uint16_t port, std::uint64_t id, bool separate_bulk = true)
    {
        nodes.push_back(std::make_unique<SessionNode>(net, clock, port, id, config, separate_bulk));
        return *nodes.back();
    }

    // One pass of every node. When nothing happened, time goes on to the next event.
    void step()
    {
        unsigned events = 0;
        for (auto& n : nodes) {
            events += n->poll();
        }
        if (events != 0) {
            clock.advance(std::chrono::microseconds{5});
            return;
        }
        TimePoint next = net.next_event();
        bool quiet = true;
        for (auto& n : nodes) {
            quiet = n->layer.prepare_sleep() && quiet;
            next = std::min(next, n->layer.next_timer());
        }
        if (quiet) {
            const TimePoint now = clock.now();
            clock.advance(std::clamp<Nanos>(next - now, std::chrono::microseconds{1}, std::chrono::seconds{1}));
        }
    }
    template <class Done>
    bool run_until(Done done, Nanos limit = std::chrono::seconds{120}, unsigned steps = 200'000)
    {
        const TimePoint end = clock.now() + limit;
        while (!done()) {
            if (clock.now() > end || steps-- == 0) {
                return false;
            }
            step();
        }
        return true;
    }
    void run_for(Nanos time)
    {
        const TimePoint end = clock.now() + time;
        while (clock.now() < end) {
            step();
        }
    }
    [[nodiscard]] std::string complaints() const
    {
        std::string all;
        for (const auto& n : nodes) {
            for (const auto& f : n->faults()) {
                all += f + "; ";
            }
        }
        for (const auto& f : net.faults_of_replays()) {
            all += f + "; ";
        }
        return all;
    }
};

}   // namespace linnet::testing

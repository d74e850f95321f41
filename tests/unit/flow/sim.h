// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A network of two machines in simulated time: it loses, doubles, delays, reorders and corrupts frames by a seed, and its hosts sleep. The hosts check what
// flow promises: every lane byte once and in order, every bulk byte in its place once, nothing after the end, nothing held back.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <random>
#include <string>
#include <vector>

#include "flow/machine.h"

namespace linnet::flow::sim {

struct PathFaults {
    double loss{0};
    double burst{0};              // chance that a loss begins a burst
    Nanos burst_time{0};          // of this length
    double again{0};              // doubled
    double corrupt{0};            // a bit flipped
    double overtake{0};           // delayed by up to `jitter` more, so that later ones pass
    Nanos jitter{0};
    Nanos delay{std::chrono::microseconds{10}};
    double bytes_per_ns{1.25};    // 10 Gbit/s
    double not_sent{0};           // the local ring refuses a batch
};

// The port of a switch, in front of a receiver: frames of all senders queue in it, and those that find it full are lost.
struct SwitchPort {
    double bytes_per_ns{0.125};          // 1 Gbit/s
    std::size_t buffer{128 * 1024};
    TimePoint free{};
    std::uint64_t passed{0};
    std::uint64_t lost{0};
    bool pass(TimePoint& at, std::size_t bytes);
};

class Host;

class Sim {
public:
    explicit Sim(std::uint64_t seed) : random{seed} {}
    TimePoint now{std::chrono::seconds{100}};
    std::mt19937_64 random;
    [[nodiscard]] bool chance(double p) { return p > 0 && std::uniform_real_distribution<double>{}(random) < p; }
    [[nodiscard]] std::uint64_t pick(std::uint64_t from, std::uint64_t to) { return from + random() % (to - from + 1); }

    Host& add(const Machine::Config& config, std::size_t tx_buffers = 256, std::size_t rx_buffers = 128);
    void send(Host& from, const TxFrame& frame);
    // Until `done` or `limit`. False: time ran out.
    template <class Done>
    bool run(Done done, Nanos limit)
    {
        const TimePoint end = now + limit;
        while (!done()) {
            if (!step(end)) {
                return done();
            }
        }
        return true;
    }
    bool step(TimePoint end);

    std::vector<std::unique_ptr<Host>> hosts;
    // Called for each frame that is sent: true drops it.
    std::function<bool(const Host& from, const TxFrame&)> filter;

private:
    struct Flight {
        TimePoint at;
        std::uint64_t order;
        Host* to;
        std::vector<std::byte> bytes;
        bool operator>(const Flight& o) const { return at != o.at ? at > o.at : order > o.order; }
    };
    std::priority_queue<Flight, std::vector<Flight>, std::greater<>> flights_;
    std::uint64_t order_{0};
};

// One lane and one bulk connection to the other host, and the application above. Several may join one: then it only receives bulk data.
class Host {
public:
    Host(Sim& sim, const Machine::Config& config, std::size_t tx_buffers, std::size_t rx_buffers);

    // Connections of this host and `other`, up.
    void join(Host& other, std::uint32_t first_number = 0, bool mac = false);

    // Close both connections, take everything back, begin anew: the peer restarted, or its link broke. What was not given yet is still to be sent.
    void leave();

    void send_lane(std::size_t bytes) { lane_to_send.push_back(static_cast<std::uint32_t>(bytes)); }
    void send_bulk(std::size_t bytes, std::size_t room);
    void expect(const std::vector<std::byte>& frame);
    void arrive(std::vector<std::byte> bytes);
    void poll();
    [[nodiscard]] TimePoint next() const;
    [[nodiscard]] bool done() const
    {
        return lane_to_send.empty() && bulk_to_send.empty() && bulk_open == 0 && machine.all_acked(lane) && machine.all_acked(bulk);
    }
    void complain(const std::string& what) { faults += what + "; "; }
    // Counters, for messages.
    [[nodiscard]] std::string describe() const;
    // Everything was returned and nothing was touched after its end.
    void check_rest();

    Sim& sim;
    Machine::Config config;
    std::vector<std::byte> tx_memory, rx_memory;
    FramePool tx_pool, rx_pool;
    Machine machine;
    Host* peer{nullptr};
    ConnectionId lane{}, bulk{};
    PathFaults path;               // to the peer
    SwitchPort* port{nullptr};     // that its frames go through, behind that
    TimePoint path_free{};
    TimePoint burst_until{};
    std::size_t ring_max{256};
    bool asleep{false};            // woken by arrivals and timers only after `wake_after`
    Nanos wake_after{0};
    TimePoint wake_at{TimePoint::max()};
    bool frozen{false};            // not scheduled at all
    Nanos turns{0};                // it polls steadily and in turns, for so long each; 0: steadily
    std::uint64_t ring_drops{0};
    std::size_t blocks_due{0};           // on their way to it, or in its ring
    std::size_t blocks_most{0};
    std::uint64_t in_rows{0};            // frames that receive_next() took
    std::deque<std::vector<std::byte>> ring;
    std::string faults;

    // application
    std::deque<std::uint32_t> lane_to_send;
    std::uint32_t lane_sent{0};
    std::uint32_t lane_received{0};
    std::uint64_t lane_bytes{0};
    TimePoint lane_last{};
    bool lane_blocked{false};
    bool bulk_blocked{false};
    std::vector<std::byte> stream;              // received, not yet a whole packet
    struct Message {
        std::vector<std::byte> data;
        std::size_t room;
        std::uint32_t id;
        bool given{false};
        bool back{false};
    };
    struct Place {
        std::vector<std::byte> data;
        std::size_t room;
        std::uint32_t id;
        bool done{false};
    };
    std::deque<std::uint32_t> bulk_to_send;
    std::map<std::uint32_t, Message> messages;
    std::map<std::uint32_t, std::unique_ptr<Place>> places;
    std::uint32_t next_message{0};
    unsigned bulk_open{0};
    std::uint64_t bulk_received{0};
    std::uint64_t bulk_bytes{0};
    bool resets{false};

    void take(Received r);
    void give();

private:
    [[nodiscard]] std::vector<std::byte> take_frame();
    void take_lane(std::span<const std::byte> bytes);
    void take_landing(const Received& r);
    void take_event(const Event& e);
    void transmit();
    TimePoint busy_until_{};
    bool refused_{false};   // the network did not take all: there is more to produce
};

}   // namespace linnet::flow::sim

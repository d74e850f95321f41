// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Two endpoints of one transport in one process, with a sink that records every call and does what the case tells it.
#pragma once

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "conf/settings.h"
#include "copy/cpu_copy_engine.h"
#include "copy/task_copy_engine.h"
#include "stats/counters.h"
#include "support/net_namespace.h"
#include "sys/system_clock.h"
#include "task/idle_helpers.h"
#include "task/task_tree.h"
#include "transport/transport.h"
#include "wire/hello.h"

namespace linnet::contract {

using Bytes = std::vector<std::byte>;

// A packet as the session would hold it: one piece of memory, header first.
struct Packet {
    Bytes bytes;
    std::size_t head_bytes{0};
    [[nodiscard]] LanePacket lane() const { return {std::span{bytes}.first(head_bytes), std::span{bytes}.subspan(head_bytes)}; }
};
// An eager packet with `payload` bytes that differ for each `number`.
[[nodiscard]] Packet eager(std::uint32_t number, std::size_t payload);
[[nodiscard]] std::uint32_t number_of(std::span<const std::byte> packet);
[[nodiscard]] Bytes pattern(std::uint32_t number, std::size_t bytes);
[[nodiscard]] wire::BulkHead bulk_head(std::uint32_t slot, std::size_t bytes);
// Is the descriptor that a sleeper would wait for readable? Now, or within a second.
[[nodiscard]] bool readable(const Transport& transport);
[[nodiscard]] bool becomes_readable(const Transport& transport);
// Events of so many passes as fit into 50 ms.
[[nodiscard]] unsigned polled_for_a_while(Transport& transport);

// There is no descriptor left.
class LowDescriptors {
public:
    LowDescriptors();
    ~LowDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
    LowDescriptors(const LowDescriptors&) = delete;
    LowDescriptors& operator=(const LowDescriptors&) = delete;

private:
    rlimit before_{};
};

class Sink final : public TransportSink {
public:
    struct Up {
        LinkId link;
        PeerId peer;
        LinkRole role;
    };
    struct Down {
        LinkId link;
        PeerId peer;
        LinkRole role;
        bool up;
        Status why;
        std::string text;
    };
    struct Arrival {          // a packet: header and what was landed of its payload
        LinkId link;
        Bytes bytes;
        bool in_landing{false};
        std::size_t landed{0};
        bool ok{true};
    };
    struct Sent {
        void* cookie;
        bool ok;
    };

    // ---- what happened ----
    std::vector<Up> ups;
    std::vector<Down> downs;
    std::vector<Arrival> packets;
    std::vector<Arrival> bulk;
    std::vector<Sent> sent;
    struct Read {
        void* cookie;
        Status status;
    };
    std::vector<Read> reads;
    struct From {
        InetAddress address;
        std::string text;
    };
    std::vector<From> from;
    unsigned writable{0};
    unsigned begun{0};       // landings given and not ended
    unsigned hellos{0};
    unsigned in_two{0};      // packets that came in two pieces
    std::size_t awaited{0};   // what bulk_awaited() answers

    // ---- what to do ----
    using Action = HelloVerdict::Action;
    PeerId peer{1};                      // who the one that says hello is
    Action hello_answer{Action::kAccept};
    Action welcome_answer{Action::kAccept};
    Action confirm_answer{Action::kAccept};
    bool elsewhere{false};               // a rejected welcome came from another process
    bool give_up{false};                 // make_hello() writes nothing
    std::size_t room{SIZE_MAX};          // of each landing, at most
    bool later{false};                   // where a bulk packet goes is not known yet
    std::function<void(const char* call, LinkId link)> on_call;   // inside each call, after it was recorded

    std::size_t make_hello(LinkId link, PeerId peer, LinkRole role, std::span<std::byte> out) noexcept override;
    HelloVerdict on_hello(LinkId link, std::span<const std::byte> hello, const Caller& from, std::span<std::byte> reply) noexcept override;
    HelloVerdict on_welcome(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> welcome, std::span<std::byte> confirm) noexcept override;
    HelloVerdict on_confirm(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> confirm) noexcept override;
    void on_link_up(LinkId link, PeerId peer, LinkRole role) noexcept override;
    void on_link_down(LinkId link, PeerId peer, LinkRole role, bool up, Status why, std::string_view text) noexcept override;
    void on_writable(PeerId peer, LinkRole role) noexcept override;
    void on_packet(LinkId link, PeerId peer, std::span<const std::byte> packet) noexcept override;
    void on_packet_in_two(LinkId link, PeerId sender, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept override
    {
        ++in_two;
        TransportSink::on_packet_in_two(link, sender, head, payload);
    }
    Landing on_packet_begin(LinkId link, PeerId peer, std::span<const std::byte> head, std::size_t payload_bytes) noexcept override;
    void on_packet_end(LinkId link, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept override;
    Landing on_bulk_begin(LinkId link, PeerId peer, const wire::BulkHead& head) noexcept override;
    std::size_t bulk_awaited(PeerId) noexcept override { return awaited; }
    void on_bulk_end(LinkId link, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept override;
    void on_read_end(PeerId peer, void* cookie, Status status) noexcept override;
    void on_bulk_sent(PeerId peer, void* cookie, bool ok) noexcept override;

private:
    struct Place {
        Bytes head;
        Bytes body;
    };
    Landing land(std::span<const std::byte> head, std::size_t payload_bytes);
    void landed(std::vector<Arrival>& list, LinkId link, void* cookie, std::size_t landed, bool ok);
    void called(const char* call, LinkId link)
    {
        if (on_call) {
            on_call(call, link);
        }
    }
    std::vector<std::unique_ptr<Place>> places_;
};

struct Endpoint {
    Sink sink;
    std::unique_ptr<Transport> transport;
    wire::EndpointName name;
};

// Who copies for a transport: its own thread, or helpers with it, which are ordinary threads here: the machine may be busy, and they do not mind.
struct Copies {
    SystemClock clock;
    Stats stats;
    TaskTree tree;
    IdleHelpers helpers;
    CpuCopyEngine alone{SIZE_MAX};
    TaskCopyEngine together;

    explicit Copies(unsigned most = 2, std::size_t worthwhile = 1);
    [[nodiscard]] CopyEngine& engine(bool helped) { return helped ? static_cast<CopyEngine&>(together) : alone; }
    // Slices that were copied there.
    [[nodiscard]] std::uint64_t slices(TaskPlace place) const { return stats.total(TaskTree::counter_of(TaskKind::kCopy, place)); }
};

// How to make a transport. Both endpoints of a pair get the same settings.
struct Kind {
    const char* name;
    std::unique_ptr<Transport> (*make)(const Settings&, const Clock&, Log&, Stats&, CopyEngine&);
    const char* net_include;
    bool self;      // both endpoints are one
    bool hellos;    // links open with a hello
    const char* shm_pull{"on"};
    bool faulty{false};   // behind a FaultyTransport that delays and cuts sends short
    unsigned cable{0};    // each endpoint on a host of its own, joined by a cable of this MTU; 0: both on this host
    bool helped{false};   // helpers copy, too, everything that the transport lets an engine copy
};
void PrintTo(const Kind& kind, std::ostream* out);   // NOLINT: GoogleTest's name
// The plain transports, loopback first; and all of them again behind a FaultyTransport.
[[nodiscard]] const std::vector<Kind>& plain_kinds();
[[nodiscard]] std::vector<Kind> all_kinds();

// Two open endpoints, or one that talks to itself. After shutdown() of both, all landings must have ended.
class Pair {
public:
    explicit Pair(const Kind& kind, std::vector<std::pair<SettingId, std::string>> settings = {}, double kill = 0);
    ~Pair();
    // False: the machine has no such address; the case is to be skipped.
    [[nodiscard]] bool ready() const { return ready_; }
    [[nodiscard]] const std::string& why_not() const { return why_not_; }

    [[nodiscard]] Endpoint& a() { return *a_; }
    [[nodiscard]] Endpoint& b() { return *b_; }
    [[nodiscard]] Stats& stats() { return stats_; }
    [[nodiscard]] Copies& copies() { return copies_; }

    // One pass over both; returns the events.
    unsigned poll();
    // Polls until `done`, at most some seconds; false: it did not come to that.
    [[nodiscard]] bool run_until(const std::function<bool()>& done, std::chrono::milliseconds limit = std::chrono::seconds{20});
    // Polls for a while, for what shall not happen.
    void settle();

    // Opens a link from a to b and returns both ends' ids; fails the case when it does not come up.
    struct Ends {
        LinkId at_a;
        LinkId at_b;
    };
    Ends open(LinkRole role);
    // The role on which bulk packets travel.
    [[nodiscard]] LinkRole bulk_role() { return a().transport->caps().separate_bulk ? LinkRole::kBulk : LinkRole::kLane; }

private:
    Settings settings_;
    SystemClock clock_;
    Stats stats_;
    Stats other_stats_;
    Copies copies_;
    std::unique_ptr<testing::NamespacePair> hosts_;
    std::string why_not_{"the machine has no such address"};
    std::unique_ptr<Endpoint> first_;
    std::unique_ptr<Endpoint> second_;
    Endpoint* a_{nullptr};
    Endpoint* b_{nullptr};
    bool ready_{false};
};

}   // namespace linnet::contract

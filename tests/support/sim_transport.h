// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SimNet, SimTransport: the contract of transport.h over a simulated network, with every fault that the contract allows.
//
// A connection is two byte streams with delay and a bounded window. What does not fit stays behind as pointers to the sender's memory, as with a socket:
// a buffer that comes back too early is seen, by references() and by the bytes that arrive. Packets reach the sink whole or in two pieces, split anywhere.
// Connections break on request, on both sides or on one side first; bytes in flight are lost. Processes die and others take their address.
//
// Owner: the test. Threads: sends and connect() from any thread (one lock for the whole net); everything else: the poller of its endpoint. All choices
// come from the seed.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "transport/transport.h"

namespace linnet::testing {

class SimTransport;

struct SimFaults {
    Nanos delay_max{std::chrono::microseconds{200}};   // of every piece of a stream; order is kept
    std::size_t window{1u << 16};                      // bytes in flight per direction
    std::size_t read_max{1u << 16};                    // bytes that one poll reads from a connection
    unsigned batch_max{64};                            // packets that one send_lane() takes
    double split{0.5};                                 // probability that a payload that is not all there is begun at once
    double lag{0};                                     // probability that a full connection leaves bytes behind although there is room
    double no_resource{0};                             // probabilities, per connect():
    double unreachable{0};
    double timed_out{0};
    bool tells_close{false};                           // an end that a peer made is told from a break of the network
    unsigned queue_full{0};                            // so many of the next connect() find too many waiting
    double hang{0};                                    // the hello is swallowed; nothing ever comes
    // Probability, per hello, that it or an earlier one comes to the same process once more, sooner or later, as from an opener of its own, perhaps with an
    // earlier confirm behind it. Who repeats them hears no answer. The first 16 of a net.
    double replay{0};
};

class SimNet {
public:
    SimNet(const Clock& clock, std::uint64_t seed) : clock_{clock}, random_{seed} {}

    SimFaults faults;
    bool keep_dead{false};   // with threads: another poller may be looking at a dead connection
    // Break a random connection: both sides at once, or one side first. False when there is none.
    bool break_any();
    // Break all connections of one endpoint, that have this role.
    void break_all(SimTransport& of, LinkRole role);
    // From now on nothing arrives and nobody is told of an end; links stay up. With false, what was sent meanwhile comes, and ends are told.
    void fall_silent(bool silent = true);
    // Any transport holds pointers into these bytes.
    [[nodiscard]] bool references(const void* bytes, std::size_t size);
    // When the next byte, break or end of an attempt is due.
    [[nodiscard]] TimePoint next_event();
    // Connections that both sides think are up; null: of anybody.
    [[nodiscard]] std::size_t links_up(LinkRole role, const SimTransport* of = nullptr);
    [[nodiscard]] std::uint64_t packets_sent() const { return packets_sent_; }
    [[nodiscard]] unsigned replays() const { return replays_; }
    // What replays brought about that they must not.
    [[nodiscard]] const std::vector<std::string>& faults_of_replays() const { return faults_of_replays_; }

private:
    friend class SimTransport;
    enum class Stage : std::uint8_t { kConnecting, kAwaitHello, kAwaitWelcome, kAwaitConfirm, kUp, kGone };
    struct Borrowed {
        const std::byte* at;
        std::size_t left;
        void* cookie;   // of a bulk packet that ends here
        bool bulk;
    };
    struct Piece {
        TimePoint at;
        std::vector<std::byte> bytes;
    };
    struct End {
        SimTransport* owner{nullptr};
        Stage stage{Stage::kAwaitHello};
        LinkId id{};
        PeerId peer{kNoPeer};
        LinkRole role{LinkRole::kLane};
        bool was_up{false};
        TimePoint due{};                         // kConnecting: the answer
        Status outcome{Status::kOk};             // of connecting
        TimePoint break_at{TimePoint::max()};
        bool eof{false};                         // break_at lets earlier bytes through
        bool left{false};                        // the other side ended it
        // outgoing
        std::deque<Borrowed> unsent;             // pointers
        bool tell_writable{false};
        std::deque<Piece> wire;                  // to the other end
        std::size_t in_flight{0};
        TimePoint last_at{};
        // incoming, of the poller
        std::vector<std::byte> rx;
        bool landing{false};
        bool landing_bulk{false};
        Landing to;
        std::size_t payload_bytes{0};
        std::size_t landed{0};
    };
    struct Conn {
        End end[2];
        bool swallow{false};
        bool ghost{false};   // a replay: nobody is at end 0
        std::size_t said{SIZE_MAX};   // the hello
    };
    struct Said {            // by an opener
        SimTransport* to;
        bool confirm;
        std::vector<std::byte> bytes;
        bool agreed{false};  // the hello came to a link
    };

    bool chance(double p) { return p > 0 && std::uniform_real_distribution<double>{0, 1}(random_) < p; }
    std::uint64_t below(std::uint64_t n) { return n == 0 ? 0 : random_() % n; }
    void push(End& from, const std::byte* bytes, std::size_t n);
    void flush(End& from);
    void sever(Conn& c, int side);
    void replay(SimTransport& to);
    SimTransport* listener_at(const wire::EndpointName& name);

    const Clock& clock_;
    std::mutex lock_;
    std::mt19937_64 random_;
    std::vector<SimTransport*> transports_;
    std::deque<std::unique_ptr<Conn>> conns_;   // guarded by lock_, also the unsent and wire members of all ends
    TimePoint silent_since_{TimePoint::max()};
    std::uint64_t packets_sent_{0};
    std::uint64_t next_id_{1};
    std::vector<Said> said_;
    unsigned replays_{0};
    std::vector<std::string> faults_of_replays_;
};

class SimTransport final : public Transport {
public:
    // `port` stands for the whole address.
    SimTransport(SimNet& net, std::uint16_t port, bool separate_bulk = true);
    ~SimTransport() override;

    [[nodiscard]] const TransportCaps& caps() const noexcept override { return caps_; }
    // What is expected of it, before the first link.
    void expect(Nanos latency, double bytes_per_ns)
    {
        caps_.latency = latency;
        caps_.bytes_per_ns = bytes_per_ns;
    }
    // Likewise, system calls for a short message.
    void needs_calls(double calls) { caps_.calls = calls; }
    // Likewise, the share of the latency that is work.
    void works_for(double share) { caps_.busy = share; }
    // Likewise, and losses() is asked what a frame holds.
    void more_frames_take(Nanos more)
    {
        caps_.more_frames = more;
        loses(0);
    }
    void told_of_death(bool told) { caps_.told_of_death = told; }   // likewise
    // Of a thousand frames so many are lost from now on, each of which costs `lost_frame`; so says losses(), each time of a thousand more.
    void loses(unsigned of_a_thousand, Nanos lost_frame = std::chrono::milliseconds{2})
    {
        caps_.lost_frame = lost_frame;
        lost_ = of_a_thousand;
    }
    [[nodiscard]] Status open(TransportSink& sink, wire::EndpointName& name) noexcept override;
    [[nodiscard]] bool reaches(const wire::EndpointName& name) const noexcept override { return name.port.get() != 0; }
    [[nodiscard]] std::uint64_t listens_unnamed() const noexcept override { return unnamed; }
    [[nodiscard]] Result<LinkId> connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept override;
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override;
    [[nodiscard]] Status send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept override;
    [[nodiscard]] Nanos unanswered(LinkId link) noexcept override;
    [[nodiscard]] Losses losses(LinkId link) noexcept override
    {
        Losses& told = told_[link.value];
        told.frames += 1000;
        told.again += lost_;
        told.frame_bytes = 1448;
        return told;
    }
    void drop(LinkId link) noexcept override;
    void shutdown() noexcept override;
    unsigned poll(unsigned budget) noexcept override;
    [[nodiscard]] int wait_descriptor() const noexcept override { return -1; }

    InetAddress calls_from{};      // as others are told
    std::uint64_t unnamed{0};      // likewise
    // The process dies: nothing is said to anybody here; the others see their connections reset.
    void kill();
    // A hello of our own making, as a stranger sends it; what comes back is in stranger_reply().
    LinkId stranger(std::uint16_t to_port, std::span<const std::byte> hello);
    [[nodiscard]] const std::vector<std::byte>& stranger_reply() const { return reply_; }

private:
    friend class SimNet;
    using End = SimNet::End;
    using Conn = SimNet::Conn;
    using Stage = SimNet::Stage;

    struct Found {
        Conn* conn{nullptr};
        int side{0};
        [[nodiscard]] End& end() const { return conn->end[side]; }
    };
    Found find(LinkId id);   // under the lock
    [[nodiscard]] bool has_work(const Conn& c, int side) const;
    unsigned poll_end(Conn& c, int side);
    void open_with_hello(Conn& c, int side);
    bool alive(const Conn& c, int side, LinkId id) const { return c.end[side].owner == this && c.end[side].id == id && c.end[side].stage != Stage::kGone; }
    void read_some(Conn& c, int side);
    unsigned parse(Conn& c, int side);
    bool parse_hello(Conn& c, int side);
    bool parse_packet(Conn& c, int side);
    bool feed(Conn& c, int side);
    void fail(Conn& c, int side, Status why, const char* text, bool tell);
    void say(Conn& c, int side, std::span<const std::byte> bytes);
    void remember(Conn& c, bool confirm, std::span<const std::byte> bytes);
    void check_replay(const Conn& c, const HelloVerdict& v, bool confirm);
    void up(Conn& c, int side);

    SimNet& net_;
    TransportCaps caps_;
    std::uint16_t port_;
    unsigned lost_{0};
    std::map<std::uint64_t, Losses> told_;   // by link
    TransportSink* sink_{nullptr};
    bool dead_{false};
    std::vector<std::byte> reply_;
    LinkId stranger_{};
};

}   // namespace linnet::testing

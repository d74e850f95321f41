// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FrameTransport: links over a network that loses, doubles and reorders frames.
//
// What it is  A transport but for the network, which is its FramePort. Each channel of the port has a flow::Machine; a link is a connection of one. Packets
//             of a lane are written into the connection's byte stream and parsed out of it again; a bulk packet is one train of blocks, or several, one
//             after the other. Links are opened by frames that carry the hellos and are repeated by the opener until they are answered (docs/flow.md).
// Owner       core/. The sink, settings, clock, log and counters are borrowed and outlive it; the port is owned.
// Threads     As transport/transport.h says. Locks: Channel::lock and the link table's, both leaves: neither is held during a sink call. Sends are made
//             under the channel's lock, by whichever thread has something to send.
// Blocking    Never. open() reads /proc and /sys.
// Failure     open() answers a Status and logs why. A link ends by evidence only: a reset, a goodbye, ICMP port unreachable. Silence is the session's affair.
// See         docs/flow.md, docs/architecture.md
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/log.h"
#include "conf/settings.h"
#include "flow/frame_pool.h"
#include "flow/machine.h"
#include "stats/counters.h"
#include "sync/lock.h"
#include "sys/epoll_set.h"
#include "sys/event_fd.h"
#include "transport/frames/link.h"
#include "transport/frames/port.h"
#include "transport/link_table.h"
#include "transport/transport.h"

namespace linnet::frames {

class FrameTransport : public Transport {
public:
    // `prior`: the transport's name and the first guess at its speed; the other members are filled here.
    FrameTransport(std::unique_ptr<FramePort> port, const TransportCaps& prior, const Settings& settings, const Clock& clock, Log& log, Stats& stats) noexcept;
    ~FrameTransport() override;

    [[nodiscard]] const TransportCaps& caps() const noexcept override { return caps_; }
    [[nodiscard]] bool usable() const noexcept override { return port_->usable(); }
    [[nodiscard]] double ns_per_byte() const noexcept override
    {
        return std::max(1 / caps_.bytes_per_ns, static_cast<double>(sending_ns_per_byte_.load(std::memory_order_relaxed)));
    }
    [[nodiscard]] Status open(TransportSink& sink, wire::EndpointName& name) noexcept override;
    [[nodiscard]] bool reaches(const wire::EndpointName& name) const noexcept override;
    [[nodiscard]] std::uint64_t listens_unnamed() const noexcept override { return port_->listens_unnamed(); }
    [[nodiscard]] Result<LinkId> connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept override;
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override;
    [[nodiscard]] Status send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept override;
    [[nodiscard]] bool bulk_over(LinkId link, const void* cookie) noexcept override;
    [[nodiscard]] Nanos unanswered(LinkId link) noexcept override;
    void drop(LinkId link) noexcept override;
    void shutdown() noexcept override;

    // EventSource
    unsigned poll(unsigned budget) noexcept override;
    [[nodiscard]] Linger linger() noexcept override;
    [[nodiscard]] int wait_descriptor() const noexcept override { return epoll_.get(); }
    [[nodiscard]] bool prepare_sleep() noexcept override;
    void finish_sleep() noexcept override;
    void will_sleep(Sleeper who) noexcept override;
    void will_poll(Polling how) noexcept override;
    [[nodiscard]] TimePoint next_timer() const noexcept override;

    // Opening frames that were no such thing, or were refused for their number. Token holder.
    [[nodiscard]] std::uint64_t rubbish() const noexcept { return rubbish_; }

private:
    static constexpr std::size_t kBatch = 64;      // frames of one produce(), and of one receive()
    static constexpr std::size_t kForgotten = 256;

    struct Channel {
        unsigned number{0};
        PortLimits limits;
        std::unique_ptr<std::byte[]> tx_memory;
        std::unique_ptr<std::byte[]> rx_memory;
        std::unique_ptr<flow::FramePool> tx_pool;
        std::unique_ptr<flow::FramePool> rx_pool;
        std::array<RxFrame, kBatch> arrived;       // token holder
        flow::Machine::Ahead ahead;                // token holder: at which the port was aimed last
        bool trains{false};                        // token holder: one may be arriving
        std::uint32_t unread{0};                   // token holder: frames read since there may be more behind them
        std::size_t at_once{kBatch};               // frames of one produce(): whole bursts

        // When a poll without arrivals has to look at the machine, by the clock: then at the latest. Written by Held; a poll that does not see the newest is
        // followed by another one, or by a sleep that begins with a look under the lock.
        std::atomic<TimePoint::rep> due{0};

        mutable Mutex lock;
        std::unique_ptr<flow::Machine> machine LINNET_GUARDED_BY(lock);
        std::vector<Tx> tx LINNET_GUARDED_BY(lock);            // by number of the link
        std::vector<Link*> links LINNET_GUARDED_BY(lock);      // by place of the connection
        bool refused LINNET_GUARDED_BY(lock){false};           // the network took less than it was offered
        flow::MachineStats told LINNET_GUARDED_BY(lock);       // what the counters know of
        std::array<flow::TxFrame, kBatch> frames LINNET_GUARDED_BY(lock);
        std::uint64_t told_drops{0};                           // token holder
        std::uint32_t ring_frames{0};                          // likewise: of those of `limits`, so many are lent
        TimePoint shrink_at{};                                 // likewise: a later overflow is another one
        TimePoint grow_at{};                                   // likewise
    };
    // The lock of a channel, taken by whoever may leave its machine with more to do, or something to do sooner.
    class LINNET_SCOPED_CAPABILITY Held {
    public:
        explicit Held(Channel& ch) noexcept LINNET_ACQUIRE(ch.lock) : ch_{ch} { ch_.lock.lock(); }
        ~Held() LINNET_RELEASE()
        {
            ch_.lock.assert_held();
            const bool now = ch_.refused || ch_.machine->has_events() || ch_.machine->has_output();
            ch_.due.store(now ? 0 : ch_.machine->next_timer().time_since_epoch().count(), std::memory_order_relaxed);
            ch_.lock.unlock();
        }
        Held(const Held&) = delete;
        Held& operator=(const Held&) = delete;

    private:
        Channel& ch_;
    };
    // A peer that was told of the end of its link, once more since the frame may have been lost.
    struct Goodbye {
        unsigned channel;
        Route to;
        wire::FrameHead frame;
        TimePoint at;
        unsigned left;
    };

    // ---- table, polling (frame_transport.cc) ----
    void make_channel(unsigned number);
    [[nodiscard]] Channel& channel_of(LinkRole role) noexcept { return *channels_[static_cast<unsigned>(role) % channel_count_]; }
    [[nodiscard]] Channel& channel_of(const Link& link) noexcept { return *channels_[link.channel]; }
    [[nodiscard]] static Link* link_of(const Channel& ch, flow::ConnectionId id) noexcept LINNET_REQUIRES(ch.lock);
    void end_link(Link& link, bool report, Status why, std::string_view text) noexcept LINNET_REQUIRES(token_);
    void close_connection(Link& link, std::unique_ptr<BulkQueue>* leaving) noexcept LINNET_REQUIRES(token_);
    void gone(Link& link) noexcept LINNET_REQUIRES(token_);
    void say_goodbye(Channel& ch, const Link& link) noexcept LINNET_REQUIRES(token_, ch.lock);
    void repeat_goodbyes(TimePoint now) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] std::string describe(const Link& link, const char* what, int error) const;
    bool take_aim(Channel& ch) noexcept LINNET_REQUIRES(token_);
    unsigned serve(Channel& ch, unsigned budget) noexcept LINNET_REQUIRES(token_);
    unsigned take_evidence() noexcept LINNET_REQUIRES(token_);
    unsigned run_timers(TimePoint now) noexcept LINNET_REQUIRES(token_);
    void publish(Channel& ch) noexcept LINNET_REQUIRES(token_);
    void fit_ring(Channel& ch, bool overflowed) noexcept LINNET_REQUIRES(token_, ch.lock);
    [[nodiscard]] std::size_t send_row(Channel& ch, std::span<const flow::TxFrame> frames) noexcept LINNET_REQUIRES(ch.lock);
    void flush(Channel& ch, TimePoint now) noexcept LINNET_REQUIRES(ch.lock);

    // ---- opening (opening.cc) ----
    unsigned start_requested() noexcept LINNET_REQUIRES(token_);
    void start(Link& link, const wire::EndpointName& name) noexcept LINNET_REQUIRES(token_);
    void call_next(Link& link) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool make_call(Link& link) noexcept LINNET_REQUIRES(token_);
    struct OpenFrame {
        Channel& channel;
        wire::FrameHead head;
        wire::OpenHead open;
        std::span<const std::byte> packet;
        Route from;
        std::size_t bytes;   // padding included
    };
    void call_failed(Link& link, Status why, std::string text) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool connection_for(Link& link) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool ready_to_send(Link& link, const OpenFrame& said) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] std::size_t open_frame(const Link& link, std::uint64_t to, wire::OpenStep step, std::span<const std::byte> packet,
                                         std::span<std::byte, kMaxOpenFrame> out) noexcept LINNET_REQUIRES(token_);
    void send_open(Link& link, wire::OpenStep step, std::span<const std::byte> packet, bool repeat) noexcept LINNET_REQUIRES(token_);
    void repeat_open(Link& link) noexcept LINNET_REQUIRES(token_);
    void open_due(Link& link, TimePoint now) noexcept LINNET_REQUIRES(token_);
    void open_done(Link& link) noexcept LINNET_REQUIRES(token_);
    void open_frame_arrived(Channel& ch, const RxFrame& frame) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] std::string alias_of(const Route& caller) const noexcept;
    void hello_arrived(const OpenFrame& f) noexcept LINNET_REQUIRES(token_);
    void welcome_arrived(Link& link, const OpenFrame& f) noexcept LINNET_REQUIRES(token_);
    void confirm_arrived(Link& link, const OpenFrame& f) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] Link* addressee(Channel& ch, std::uint64_t wire_id) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool make_room_for_hello() noexcept LINNET_REQUIRES(token_);
    void answer_unknown(Channel& ch, const wire::FrameHead& head, const Route& from) noexcept LINNET_REQUIRES(token_);
    void reset_arrived(Channel& ch, std::span<const std::byte> frame) noexcept LINNET_REQUIRES(token_);
    void bring_up(Link& link) noexcept LINNET_REQUIRES(token_);

    // ---- receiving (receive.cc) ----
    unsigned handle(Channel& ch, std::span<RxFrame> frames) noexcept LINNET_REQUIRES(token_);
    void lane_arrived(Channel& ch, Link& link, std::span<const std::byte> bytes, bool more) noexcept LINNET_REQUIRES(token_);
    void feed(Link& link, std::span<const std::byte> bytes) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] std::size_t feed_body(Link& link, std::span<const std::byte> bytes) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] std::size_t feed_head(Link& link, std::span<const std::byte> bytes) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool lane_head_ok(Link& link, const wire::PacketHead& head) noexcept LINNET_REQUIRES(token_);
    void begin_body(Link& link, std::span<const std::byte> head, std::size_t payload_bytes) noexcept LINNET_REQUIRES(token_);
    void train_begins(Channel& ch, Link& link, const flow::Received& r) noexcept LINNET_REQUIRES(token_);
    unsigned take_events(Channel& ch) noexcept LINNET_REQUIRES(token_);
    void train_done(Link& link, const flow::Event& e) noexcept LINNET_REQUIRES(token_);

    // ---- sending (send.cc) ----
    [[nodiscard]] static bool write_packet(Channel& ch, Tx& tx, const LanePacket& packet, bool& cut) noexcept LINNET_REQUIRES(ch.lock);
    [[nodiscard]] static bool write_rest(Channel& ch, Tx& tx) noexcept LINNET_REQUIRES(ch.lock);
    static void give_parts(Channel& ch, Tx& tx) noexcept LINNET_REQUIRES(ch.lock);
    [[nodiscard]] static bool bulk_sent(Channel& ch, Tx& tx, BulkOut& packet) noexcept LINNET_REQUIRES(ch.lock);

    const std::unique_ptr<FramePort> port_;
    TransportCaps caps_;
    // Of the lane channel, a running median; 0: not measured. Written under its lock, read by any thread (relaxed: a number by itself).
    std::atomic<float> sending_ns_per_byte_{0};
    unsigned long_rows_{0};   // under its lock: rows of frames that were long enough to be measured
    const Settings& settings_;
    const Clock& clock_;
    Log& log_;
    Counters& counters_;   // token holder
    TransportSink* sink_{nullptr};

    // Constant after open().
    EpollSet epoll_;
    EventFd doorbell_;   // connect() was called: poll() has something to start
    std::array<std::unique_ptr<Channel>, kChannels> channels_;
    unsigned channel_count_{1};
    std::uint32_t incarnation_{0};
    Nanos connect_timeout_{};

    LinkTable<Link, wire::EndpointName> links_;
    std::atomic<bool> wishes_{false};   // connect() was called since poll() looked

    mutable Role token_;
    bool polling_ LINNET_GUARDED_BY(token_){false};
    bool closed_ LINNET_GUARDED_BY(token_){false};
    Polling how_polled_ LINNET_GUARDED_BY(token_){Polling::kSteadily};
    TimePoint now_ LINNET_GUARDED_BY(token_){};             // of this pass
    bool now_is_new_ LINNET_GUARDED_BY(token_){false};      // linger() has just looked
    TimePoint publish_at_ LINNET_GUARDED_BY(token_){};
    OpeningLinks<Link> opening_ LINNET_GUARDED_BY(token_);
    unsigned half_open_ LINNET_GUARDED_BY(token_){0};       // acceptors that wait for a confirm
    std::unordered_map<std::uint64_t, LinkId> hellos_ LINNET_GUARDED_BY(token_);   // by Link::hello, of acceptors
    std::array<std::uint64_t, kForgotten> forgotten_ LINNET_GUARDED_BY(token_){};  // hellos of links that ended: late copies of them open nothing
    unsigned forget_next_ LINNET_GUARDED_BY(token_){0};
    std::vector<Goodbye> goodbyes_ LINNET_GUARDED_BY(token_);
    std::vector<Route> known_ LINNET_GUARDED_BY(token_);    // by PeerId: where it was reached last
    unsigned resets_left_ LINNET_GUARDED_BY(token_){0};     // that may go out before resets_at_
    TimePoint resets_at_ LINNET_GUARDED_BY(token_){};
    std::uint64_t rubbish_{0};
    LogThrottle rubbish_throttle_;
    LogThrottle drops_throttle_;
};

}   // namespace linnet::frames

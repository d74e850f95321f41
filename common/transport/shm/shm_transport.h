// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ShmTransport: links between processes of one host and one user, through shared memory.
//
// What it is  Two rings per link in a memory file without a name, which the opener makes and passes over an abstract Unix socket. Sending and
//             receiving make no system call while both sides poll. Long bulk packets are read by the receiver straight out of the sender's memory where
//             the system permits that, else copied twice, in pieces. The socket stays: it is the doorbell of a sleeper, and its end is the peer's death.
// Owner       core/. The sink, settings, clock, log, counters and copy engine are borrowed and outlive it.
// Threads     As transport/transport.h says. Locks: that of a link (TxScope) and the table's, both leaves: neither is held during a sink call.
// Blocking    Never, except that reading another process's memory may wait for its pages, and for helpers of the copy engine, a slice each.
// Failure     open() answers a Status and logs why. connect() answers kUnreachable when nobody of that name is on this host: use another transport.
//             A link ends once, by on_link_down(). What the peer writes into shared memory is checked; nonsense ends the link.
// See         docs/shm.md
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "conf/settings.h"
#include "copy/copy_engine.h"
#include "progress/ticks.h"
#include "stats/counters.h"
#include "sync/lock.h"
#include "sys/epoll_set.h"
#include "sys/event_fd.h"
#include "sys/inet_address.h"
#include "sys/unforked_page.h"
#include "sys/unix_socket.h"
#include "transport/shm/link.h"
#include "transport/shm/long_read.h"
#include "transport/shm/reading.h"
#include "transport/transport.h"

namespace linnet::shm {

class ShmTransport final : public Transport {
public:
    ShmTransport(const Settings& settings, const Clock& clock, Log& log, Stats& stats, CopyEngine& copy) noexcept;
    ~ShmTransport() override;

    [[nodiscard]] const TransportCaps& caps() const noexcept override;
    [[nodiscard]] std::uint64_t counted(Counter id) const noexcept override;
    [[nodiscard]] Status open(TransportSink& sink, wire::EndpointName& name) noexcept override;
    [[nodiscard]] bool reaches(const wire::EndpointName& name) const noexcept override;
    [[nodiscard]] Result<LinkId> connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept override;
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override;
    [[nodiscard]] NextWrite send_now(LinkId link, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept override;
    [[nodiscard]] Status send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept override;
    [[nodiscard]] bool offer(LinkId link, std::size_t bytes, bool alone) noexcept override;
    [[nodiscard]] Status read(LinkId link, std::byte* to, std::uint64_t address, std::size_t bytes) noexcept override;
    [[nodiscard]] Status begin_read(LinkId link, std::byte* to, std::uint64_t address, std::size_t bytes, void* cookie, bool alone) noexcept override;
    void drop(LinkId link) noexcept override;
    void shutdown() noexcept override;

    // EventSource
    unsigned poll(unsigned budget) noexcept override;
    [[nodiscard]] Linger linger() noexcept override;
    [[nodiscard]] int wait_descriptor() const noexcept override { return epoll_.get(); }
    [[nodiscard]] bool prepare_sleep() noexcept override;
    void finish_sleep() noexcept override;
    [[nodiscard]] TimePoint next_timer() const noexcept override;

    // Connections that were closed because they sent what no process of ours sends, or nothing in time. Token holder.
    [[nodiscard]] std::uint64_t rubbish() const noexcept { return rubbish_; }

private:
    static constexpr std::uint64_t kListenerTag = 0;   // epoll data that are no LinkId: generations start at 1
    static constexpr std::uint64_t kDoorbellTag = 1;
    static constexpr unsigned kMaxHot = 16;
    static constexpr unsigned kMostReads = 4;
    static constexpr Nanos kDeadPause = std::chrono::seconds{1};   // between two questions whether the processes of silent peers still are
    static constexpr std::size_t kBriefMax = 2048;     // a pass that received no more has taken next to no time
    static constexpr std::size_t kWholeMax = 2048;     // packets up to this are handed up whole, from a copy that nobody else can change

    // ---- table (shm_transport.cc) ----
    // A slot that the table gave, for a new link.
    void prepare(Link& link, Side side, LinkState state) noexcept LINNET_REQUIRES(token_);
    void end_link(Link& link, bool report, Status why, std::string_view text) noexcept LINNET_REQUIRES(token_);
    // Ends a link that failed, with `what` and the errno, if any, as text.
    void fail_link(Link& link, Status why, int error, const char* what) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] std::string describe(const Link& link, const char* what, int error) const LINNET_REQUIRES(token_);
    unsigned poll_epoll(unsigned budget) noexcept LINNET_REQUIRES(token_);
    unsigned handle(Link& link, unsigned budget) noexcept LINNET_REQUIRES(token_);
    unsigned socket_of_up_link(Link& link) noexcept LINNET_REQUIRES(token_);
    unsigned peer_went(Link& link, int error, const char* what) noexcept LINNET_REQUIRES(token_);
    unsigned look_for_the_dead() noexcept LINNET_REQUIRES(token_);
    void take_one(Link& link) noexcept LINNET_REQUIRES(token_);
    void warm(Link& link) noexcept LINNET_REQUIRES(token_);
    unsigned run_timers() noexcept LINNET_REQUIRES(token_);
    void trim_idle() noexcept LINNET_REQUIRES(token_);
    void watch_idleness() noexcept LINNET_REQUIRES(token_);
    // True: there is still something to give back.
    [[nodiscard]] bool trim(Link& link) noexcept LINNET_REQUIRES(token_);

    // ---- opening (opening.cc) ----
    void choose_reading();
    [[nodiscard]] static std::string socket_name(const wire::EndpointName& name);
    unsigned start_requested() noexcept LINNET_REQUIRES(token_);
    void start(Link& link) noexcept LINNET_REQUIRES(token_);
    unsigned accept_some() noexcept LINNET_REQUIRES(token_);
    void accept_failed(int error) noexcept LINNET_REQUIRES(token_);
    void pause_listener() noexcept LINNET_REQUIRES(token_);
    void stranger_gone() noexcept LINNET_REQUIRES(token_);
    void adopt(Fd fd) noexcept LINNET_REQUIRES(token_);
    unsigned receive_setup(Link& link) noexcept LINNET_REQUIRES(token_);
    void offer_arrived(Link& link, std::span<const std::byte> packet, std::span<Fd> passed) noexcept LINNET_REQUIRES(token_);
    void answer_arrived(Link& link, std::span<const std::byte> packet, std::span<Fd> passed) noexcept LINNET_REQUIRES(token_);
    void hello_arrived(Link& link, std::span<const std::byte> packet) noexcept LINNET_REQUIRES(token_);
    void welcome_arrived(Link& link, std::span<const std::byte> packet) noexcept LINNET_REQUIRES(token_);
    void confirm_arrived(Link& link, std::span<const std::byte> packet) noexcept LINNET_REQUIRES(token_);
    // False when the link was ended.
    [[nodiscard]] bool send_setup(Link& link, SocketKind kind, std::span<const int> passed) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool send_hello(Link& link, std::span<const std::byte> hello) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool take_setup(Link& link, const Setup& setup, const Fd& page) noexcept LINNET_REQUIRES(token_);
    void bring_up(Link& link) noexcept LINNET_REQUIRES(token_);

    // ---- receiving (receive.cc) ----
    unsigned receive(Link& link, unsigned budget) noexcept LINNET_REQUIRES(token_);
    unsigned receive_short(Link& link, unsigned most) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool in_two(const RingReader::Record& record) noexcept LINNET_REQUIRES(token_);
    void lane_record(Link& link, const RingReader::Record& record) noexcept LINNET_REQUIRES(token_);
    void bulk_record(Link& link, const RingReader::Record& record) noexcept LINNET_REQUIRES(token_);
    void pull_record(Link& link, const RingReader::Record& record) noexcept LINNET_REQUIRES(token_);
    void body_record(Link& link, const RingReader::Record& record) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] Status read_peer(Link& link, std::byte* to, std::uint64_t address, std::size_t bytes) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] Status was_read(Link& link, Status copied, std::byte* to, std::uint64_t address, std::size_t bytes) noexcept LINNET_REQUIRES(token_);

    // ---- long messages that are read pass by pass (long_read.cc) ----
    [[nodiscard]] LongRead* free_read() noexcept LINNET_REQUIRES(token_);
    void start_read(LongRead& read, const LongRead::What& what) noexcept LINNET_REQUIRES(token_);
    unsigned go_on_reading() noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool go_on(LongRead& read, Link& link) noexcept LINNET_REQUIRES(token_);
    void end_read(LongRead& read, Status status) noexcept LINNET_REQUIRES(token_);
    void stop_reads(LinkId link) noexcept LINNET_REQUIRES(token_);   // nobody copies for it any more
    void fail_reads(LinkId link) noexcept LINNET_REQUIRES(token_);
    void land(Rx& rx, std::span<const std::byte> bytes) noexcept LINNET_REQUIRES(token_);
    void end_body(Link& link) noexcept LINNET_REQUIRES(token_);
    void nonsense(Link& link, const char* what) noexcept LINNET_REQUIRES(token_);
    // Freed memory was published and the peer waits for it.
    void tell_room(Link& link) noexcept LINNET_REQUIRES(token_) LINNET_EXCLUDES(link.tx_side);

    // ---- sending (send.cc) ----
    enum class Written : std::uint8_t { kAll, kPart, kNone, kBroken };
    [[nodiscard]] Written write_packet(Tx& tx, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept;
    [[nodiscard]] bool fits(Tx& tx, const LanePacket& p) noexcept;
    [[nodiscard]] RingWriter::Put write_rest(Tx& tx) noexcept;
    [[nodiscard]] Status offer_pull(Tx& tx, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept;
    [[nodiscard]] RingWriter::Put put_or_wait(Tx& tx, std::uint32_t kind, std::span<const std::byte> head, std::span<const std::byte> tail,
                                              std::span<const std::byte> data) noexcept;
    void announce(Tx& tx) noexcept;
    void ring_bell(Tx& tx) noexcept;
    void broke(Tx& tx) noexcept;
    unsigned flush(Link& link) noexcept LINNET_REQUIRES(token_);

    const Settings& settings_;
    const Clock& clock_;
    Log& log_;
    Counters& rx_counters_;   // token holder
    Counters& tx_counters_;   // any thread
    CopyEngine& copy_;
    const Ticks ask_opening_;   // between two questions to epoll
    const Ticks ask_idle_;
    TransportSink* sink_{nullptr};

    // Constant after open().
    EpollSet epoll_;
    EventFd doorbell_;         // connect() was called: poll() has something to start
    Fd listener_;
    Fd page_fd_;
    Mapping page_;             // our bells
    BellPage* bells_{nullptr};
    UnforkedPage probe_;       // begins with a Probe: others read it, to see whether they can, and whether it is still us
    std::uint64_t own_id_{0};
    std::vector<InetAddress> addresses_;   // of this host, here
    Nanos connect_timeout_{};
    std::atomic<bool> pulls_{false};       // we may try to read others' memory
    ReadingChoice choice_;                 // a message is better read by its receiver than copied by both, even where both are there; any thread

    LinkTable<Link, Fd, BellPage::kBells / 64> links_;   // a slot's number is its bell

    mutable Role token_;
    HotLinks<Link, kMaxHot> hot_ LINNET_GUARDED_BY(token_);
    unsigned next_out_ LINNET_GUARDED_BY(token_){0};
    std::atomic<bool> sent_{false};   // since trim_due_ was set last; relaxed: a hint
    TimePoint trim_due_ LINNET_GUARDED_BY(token_){TimePoint::max()};   // while a link that is up may hold more memory than an idle one shall
    TimePoint dead_due_ LINNET_GUARDED_BY(token_){TimePoint::max()};   // while a lane is up
    TimePoint listen_again_ LINNET_GUARDED_BY(token_){TimePoint::max()};   // the listener rests until then
    Fd spare_ LINNET_GUARDED_BY(token_);
    Ticks asked_ LINNET_GUARDED_BY(token_){0};             // epoll, last
    bool ask_now_ LINNET_GUARDED_BY(token_){true};
    unsigned passes_ LINNET_GUARDED_BY(token_){0};         // since the time was looked at
    bool polling_ LINNET_GUARDED_BY(token_){false};
    std::size_t moved_ LINNET_GUARDED_BY(token_){0};       // bytes received in this pass
    OpeningLinks<Link> opening_ LINNET_GUARDED_BY(token_);
    unsigned strangers_ LINNET_GUARDED_BY(token_){0};       // accepted, no accepted hello yet
    unsigned reading_ LINNET_GUARDED_BY(token_){0};         // of these, so many are under way:
    std::array<std::unique_ptr<LongRead>, kMostReads> reads_ LINNET_GUARDED_BY(token_);
    std::deque<LongRead::What> reads_waiting_ LINNET_GUARDED_BY(token_);   // some only while all of those are under way
    alignas(kCacheLine) std::array<std::byte, kWholeMax + kInlineBytes> whole_;   // the packet being handed up
    std::uint64_t rubbish_{0};
    LogThrottle rubbish_throttle_;
    LogThrottle memory_throttle_;
    LogThrottle descriptor_throttle_;
};

}   // namespace linnet::shm

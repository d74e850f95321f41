// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TcpTransport: links over TCP connections.
//
// What it is  The transport that always works: IPv4 or IPv6, any network, no privilege. One connection per link, so bulk data never stands in front of
//             a small message. Connections are opened on demand and cost nothing while idle: one epoll set watches all of them, and those that
//             delivered lately ("hot"), if they are few, are read directly, without asking epoll first. It listens at every address that its name
//             tells, and calls a peer at one address of the peer's name after the other: first those of networks that this host is on, never over an
//             interface not to be used.
// Owner       core/. The sink, settings, clock, log and counters are borrowed and outlive it.
// Threads     As transport/transport.h says. Locks: Link::tx_lock and the table's, both leaves: neither is held during a sink call.
// Blocking    Never. open() reads /proc and /sys.
// Failure     open() answers a Status and logs why. A link ends once, by on_link_down(), with a text that names interface, addresses, errno and setting.
// See         docs/architecture.md
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.h"
#include "conf/settings.h"
#include "progress/rare_question.h"
#include "stats/counters.h"
#include "sync/lock.h"
#include "sys/epoll_set.h"
#include "sys/event_fd.h"
#include "sys/tcp_socket.h"
#include "transport/own_addresses.h"
#include "transport/tcp/link.h"
#include "transport/transport.h"

namespace linnet::tcp {

class TcpTransport final : public Transport {
public:
    TcpTransport(const Settings& settings, const Clock& clock, Log& log, Stats& stats) noexcept;
    ~TcpTransport() override;

    [[nodiscard]] const TransportCaps& caps() const noexcept override;
    [[nodiscard]] Status open(TransportSink& sink, wire::EndpointName& name) noexcept override;
    [[nodiscard]] bool reaches(const wire::EndpointName& name) const noexcept override;
    [[nodiscard]] bool listens_at(const wire::EndpointName& contact) const noexcept override;
    [[nodiscard]] std::uint64_t listens_unnamed() const noexcept override { return unnamed_; }
    [[nodiscard]] Result<LinkId> connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept override;
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override;
    [[nodiscard]] Status send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept override;
    [[nodiscard]] Losses losses(LinkId link) noexcept override;
    void resume_bulk(LinkId link) noexcept override;
    void drop(LinkId link) noexcept override;
    void shutdown() noexcept override;

    // EventSource
    unsigned poll(unsigned budget) noexcept override;
    [[nodiscard]] int wait_descriptor() const noexcept override { return epoll_.get(); }
    void finish_sleep() noexcept override;
    void will_sleep(Sleeper who) noexcept override;
    [[nodiscard]] TimePoint next_timer() const noexcept override;

    // For linnet-info: one verdict per address of this host. After open().
    [[nodiscard]] const std::vector<AddressVerdict>& addresses() const noexcept { return own_.verdicts(); }
    // Connections that were closed because they sent something else than a hello, or nothing in time. Token holder.
    [[nodiscard]] std::uint64_t rubbish() const noexcept { return rubbish_; }
    // Read buffers that exist. Token holder.
    [[nodiscard]] std::size_t buffers() const noexcept { return buffers_.size(); }
    // Sockets that are read without asking epoll, or instead of which it is asked in each pass. Token holder.
    [[nodiscard]] unsigned hot_sockets() const noexcept;

private:
    static constexpr std::uint64_t kListenerTags = wire::kNameAddressesMax + 10;   // epoll data that are no LinkId (generations start at 1): from 0, one for
    static constexpr std::uint64_t kDoorbellTag = kListenerTags;                   // each listener, those that no name tells last; then the doorbell
    static constexpr std::uint32_t kBufferBytes = 64 * 1024;
    static constexpr unsigned kMaxHot = 64;

    // ---- table (tcp_transport.cc) ----
    // A slot that the table gave, for a new link.
    void prepare(Link& link, const InetAddress& remote, LinkState state) noexcept LINNET_REQUIRES(token_);
    // Ends a link: frees all it holds, gives borrowed things back, and reports it when `report` and the sink knows it.
    void end_link(Link& link, bool report, Status why, std::string_view text) noexcept LINNET_REQUIRES(token_);
    void fail_link(Link& link, int error, const char* what) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] std::string describe(const Link& link, const char* what, int error, std::string_view advice) const LINNET_REQUIRES(token_);
    unsigned poll_hot(unsigned budget) noexcept LINNET_REQUIRES(token_);
    unsigned poll_epoll(unsigned budget) noexcept LINNET_REQUIRES(token_);
    unsigned handle(Link& link, std::uint32_t events, unsigned budget) noexcept LINNET_REQUIRES(token_);
    void warm(Link& link) noexcept LINNET_REQUIRES(token_);
    void cool(Link& link) noexcept LINNET_REQUIRES(token_);
    void found_nothing(Link& link) noexcept LINNET_REQUIRES(token_);
    void set_low_water(Link& link, std::size_t bytes) noexcept LINNET_REQUIRES(token_);
    void watch(Link& link, bool on) noexcept LINNET_REQUIRES(token_);
    unsigned run_timers() noexcept LINNET_REQUIRES(token_);

    // ---- before the first link (setup.cc) ----
    [[nodiscard]] Status check_descriptors();
    [[nodiscard]] Status listen_everywhere();
    void listen_unnamed(std::uint16_t port);
    [[nodiscard]] int listen_at_port(std::span<AddressVerdict* const> where, unsigned port);
    [[nodiscard]] Status watch_listeners();

    // ---- which address of a peer (addresses.cc) ----
    [[nodiscard]] AddressList addresses_of(const wire::EndpointName& name) const noexcept;
    void order_calls(const Link& link, const AddressList& list, Calls& calls) const LINNET_REQUIRES(token_);
    void call_next(Link& link) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool make_call(Link& link) noexcept LINNET_REQUIRES(token_);
    void call_failed(Link& link, Status why, std::string text) noexcept LINNET_REQUIRES(token_);
    void remember(const Link& link) noexcept LINNET_REQUIRES(token_);

    // ---- opening (opening.cc) ----
    unsigned start_requested() noexcept LINNET_REQUIRES(token_);
    void start(Link& link, const AddressList& list) noexcept LINNET_REQUIRES(token_);
    void connected(Link& link) noexcept LINNET_REQUIRES(token_);
    unsigned accept_some(const Fd& listener) noexcept LINNET_REQUIRES(token_);
    void accept_failed(const Fd& listener, int error) noexcept LINNET_REQUIRES(token_);
    void adopt(Fd fd) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool make_room_for_stranger() noexcept LINNET_REQUIRES(token_);
    void pause_listeners() noexcept LINNET_REQUIRES(token_);
    void watch_listeners_for(std::uint32_t events) noexcept LINNET_REQUIRES(token_);
    unsigned receive_hello(Link& link) noexcept LINNET_REQUIRES(token_);
    void hello_arrived(Link& link) noexcept LINNET_REQUIRES(token_);
    void welcome_arrived(Link& link, std::span<const std::byte> packet) noexcept LINNET_REQUIRES(token_);
    void confirm_arrived(Link& link, std::span<const std::byte> packet) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool send_hello(Link& link, std::span<const std::byte> packet) noexcept LINNET_REQUIRES(token_);
    void stranger_gone(Link& link, const char* why) noexcept LINNET_REQUIRES(token_);
    void bring_up(Link& link) noexcept LINNET_REQUIRES(token_);

    // ---- receiving (receive.cc) ----
    unsigned receive(Link& link, unsigned budget) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] IoResult read_some(Link& link, std::size_t& asked) noexcept LINNET_REQUIRES(token_);
    unsigned arrived(Link& link, std::size_t bytes) noexcept LINNET_REQUIRES(token_);
    unsigned parse_lane(Link& link) noexcept LINNET_REQUIRES(token_);
    unsigned parse_bulk(Link& link) noexcept LINNET_REQUIRES(token_);
    void begin_body(Link& link, const Landing& landing, std::size_t payload_bytes, std::span<const std::byte> here) noexcept LINNET_REQUIRES(token_);
    void end_body(Link& link, bool ok) noexcept LINNET_REQUIRES(token_);
    [[nodiscard]] bool take_buffer(Rx& rx) noexcept LINNET_REQUIRES(token_);
    void return_buffer(Rx& rx) noexcept LINNET_REQUIRES(token_);

    // ---- sending (send.cc) ----
    void wait_for_room(Link& link) noexcept LINNET_REQUIRES(link.tx_lock);
    void send_broke(Link& link, int error) noexcept LINNET_REQUIRES(link.tx_lock);
    unsigned flush(Link& link) noexcept LINNET_REQUIRES(token_);

    const Settings& settings_;
    const Clock& clock_;
    Log& log_;
    Counters& rx_counters_;   // token holder
    Counters& tx_counters_;   // any thread
    TransportSink* sink_{nullptr};

    // Constant after open().
    EpollSet epoll_;
    EventFd doorbell_;         // connect() was called: poll() has something to start
    std::array<Fd, kListenerTags> listeners_;        // one for each address in the name, in its order; then those at addresses that no name tells
    std::array<InetAddress, kListenerTags> listens_at_;
    unsigned listener_count_{0};
    unsigned named_count_{0};
    std::uint64_t unnamed_{0};               // bits of a hello's features, of the other listeners
    unsigned given_port_{0};   // by a transport opened before, in the name, which has room for one; 0: none
    TcpSocketOptions socket_options_;
    OwnAddresses own_;
    unsigned hot_limit_{0};
    Nanos connect_timeout_{};

    LinkTable<Link, AddressList> links_;
    std::atomic<unsigned> writers_waiting_{0};   // links that epoll watches for room; relaxed: only a hint when to ask epoll

    mutable Role token_;
    HotLinks<Link, kMaxHot> hot_ LINNET_GUARDED_BY(token_);
    unsigned passes_ LINNET_GUARDED_BY(token_){0};      // since epoll was asked
    RareQuestion question_ LINNET_GUARDED_BY(token_);   // to epoll, without hot sockets
    unsigned epoll_gap_ LINNET_GUARDED_BY(token_){1};   // passes between two questions to epoll
    bool slept_ LINNET_GUARDED_BY(token_){false};       // since the last poll
    Sleeper sleeper_ LINNET_GUARDED_BY(token_){Sleeper::kHost};
    unsigned low_waters_ LINNET_GUARDED_BY(token_){0};  // sockets that have one
    bool polling_ LINNET_GUARDED_BY(token_){false};
    OpeningLinks<Link> opening_ LINNET_GUARDED_BY(token_);
    // What earlier links to a peer taught, by PeerId.
    struct Known {
        InetAddress good;                   // where it was reached last
        std::array<bool, 2> was_up{};       // by role
    };
    std::vector<Known> known_ LINNET_GUARDED_BY(token_);
    unsigned strangers_ LINNET_GUARDED_BY(token_){0};      // accepted, no hello yet
    TimePoint listen_again_ LINNET_GUARDED_BY(token_){TimePoint::max()};   // the listeners rest until then
    Fd spare_ LINNET_GUARDED_BY(token_);
    std::vector<std::unique_ptr<std::byte[]>> buffers_;   // all that exist
    std::vector<std::byte*> free_buffers_ LINNET_GUARDED_BY(token_);
    std::unique_ptr<std::byte[]> scratch_;                // where unwanted bytes are read to
    std::uint64_t rubbish_{0};
    LogThrottle rubbish_throttle_;
    LogThrottle descriptor_throttle_;
};

}   // namespace linnet::tcp

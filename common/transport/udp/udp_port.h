// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// UdpPort: frames over UDP sockets; UdpTransport: links over them.
//
// What it is  One socket per channel and IP family, whatever the number of peers, so an idle peer costs no descriptor; and one that is connected to the peer
//             to whom the last short frames went, which spares either kernel a look at its routes for each. Frames of one connection leave in one
//             call and are cut apart by the kernel, and come in joined likewise, where the kernel can (UDP_SEGMENT, UDP_GRO); where it cannot, or stops to,
//             they go one by one. Sockets that delivered lately are read on every pass, the others when epoll says so.
//             A run of frames can be read with its payload straight to where it is expected (aim()).
// Owner       FrameTransport. Threads: as FramePort says. Locks: evidence_lock_, a leaf. Blocking: never.
// Failure     open() answers a Status and logs why. What the network reports about single datagrams becomes Evidence.
// See         docs/flow.md section 8, udp(7)
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "conf/settings.h"
#include "progress/rare_question.h"
#include "stats/counters.h"
#include "sync/lock.h"
#include "sys/epoll_set.h"
#include "sys/udp_socket.h"
#include "transport/frames/frame_transport.h"
#include "transport/frames/path_table.h"
#include "transport/frames/port.h"
#include "transport/own_addresses.h"

namespace linnet::udp {

class UdpPort final : public frames::FramePort {
public:
    UdpPort(const Settings& settings, Log& log, Stats& stats) noexcept;

    [[nodiscard]] const char* name() const noexcept override { return "udp"; }
    [[nodiscard]] Status open(wire::EndpointName& name) override;
    [[nodiscard]] unsigned channels() const noexcept override { return frames::kChannels; }
    [[nodiscard]] frames::PortLimits limits(unsigned channel) const noexcept override;
    [[nodiscard]] std::uint64_t listens_unnamed() const noexcept override { return unnamed_; }
    void close() noexcept override;
    [[nodiscard]] unsigned routes(const wire::EndpointName& name, std::span<frames::Candidate> out) const override;
    [[nodiscard]] std::size_t frame_bytes(const frames::Route& to) const noexcept override;
    void came_through(const frames::Route& from, std::size_t bytes) noexcept override { paths_.arrived(path_key(from.as<RawAddress>()), bytes, kSafeFrame); }
    [[nodiscard]] InetAddress address(const frames::Route& peer) const noexcept override { return peer.as<RawAddress>().address(); }
    [[nodiscard]] std::string local_text(const frames::Route& peer) const override;
    [[nodiscard]] std::size_t send(unsigned channel, std::span<const flow::TxFrame> frames) noexcept override;
    void send_single(unsigned channel, const frames::Route& to, std::span<const std::byte> frame) noexcept override;
    [[nodiscard]] std::size_t receive(unsigned channel, std::span<frames::RxFrame> out) noexcept override;
    [[nodiscard]] EventSource::Linger linger() noexcept override;
    bool aim(unsigned channel, const frames::Aim& aim) noexcept override;
    void gather(unsigned channel) noexcept override;
    [[nodiscard]] frames::Route source(unsigned channel, const frames::RxFrame& frame) const noexcept override;
    [[nodiscard]] bool next_evidence(frames::Evidence& out) noexcept override;
    [[nodiscard]] std::uint64_t kernel_drops(unsigned channel) const noexcept override;
    [[nodiscard]] int wait_descriptor() const noexcept override { return epoll_.get(); }
    [[nodiscard]] bool prepare_sleep() noexcept override;
    void finish_sleep() noexcept override;

    // For linnet-info: one verdict per address of this host. After open().
    [[nodiscard]] const std::vector<AddressVerdict>& addresses() const noexcept { return addresses_.verdicts(); }

private:
    static constexpr unsigned kFamilies = 2;   // IPv4, IPv6
    static constexpr unsigned kNear = kFamilies;          // the place of the connected socket
    static constexpr unsigned kSockets = kFamilies + 1;
    static constexpr unsigned kRuns = 16;      // that one call reads at most
    static constexpr std::size_t kRunRoom = 64 * 1024;
    static constexpr std::size_t kAimedFrames = 64;

    struct Socket {
        Fd fd;
        std::atomic<bool> cuts{true};     // UDP_SEGMENT works
        std::size_t queue_bytes{0};
        // ---- token holder ----
        unsigned idle{0};                 // hot: reads in a row that found nothing
        bool watched{true};               // epoll knows of arrivals
        unsigned unslept{0};              // reads that found something since it last began to
        std::uint32_t drops{0};           // as the kernel told last
    };
    struct Channel {
        std::array<Socket, kSockets> sockets;
        // ---- sender ----
        RawAddress near{};          // to whom the connected socket is
        RawAddress other{};         // to whom the last frames went that were not for it
        unsigned in_a_row{0};       // so many of them
        std::uint32_t near_bytes{0};   // of an address of its family
        bool alone{false};          // there can be no connected socket
        std::array<std::uint64_t, 16> narrow{};   // path_key() of hosts that a run cannot be cut for: the way there takes less than its segments. 0: none
        unsigned next_narrow{0};    // the place of the next one
        std::atomic<bool> moved{false};   // it is about to be connected to another peer; told to the token holder
        // ---- token holder ----
        unsigned hot{0};            // sockets that are read on every pass, a bit for each
        unsigned ready{0};          // likewise: epoll said so
        std::unique_ptr<std::byte[]> memory;
        std::array<UdpRunIn, kRuns> runs;
        unsigned run_count{0};      // of `runs` that hold something
        unsigned run{0};            // the first that was not handed out whole
        std::size_t offset{0};      // in it
        unsigned ask{1};            // runs to read at once: as many as came lately
        unsigned first{0};          // of the sockets, to be read next: none fills all calls
        unsigned settling{0};       // calls for which it stays the first, after a move
        unsigned full{0};           // calls in a row that found as many as were asked for
        frames::Aim next_aim;       // of the next receive()
        frames::Aim aim;            // of the first of `runs`
        std::size_t aimed{0};       // frames of it whose payload lies there
        std::array<iovec, 2 * kAimedFrames + 1> pieces;
        std::uint64_t drops{0};
    };
    struct Batch;   // what leaves in one call
    static constexpr std::size_t kIpv6Heads = 40 + 8;
    // Jumbo frames. Longer ones, of loopback, would make each lost or unused place of a queue dearer than they save.
    static constexpr std::size_t kMostMtu = 9000;
    static constexpr std::size_t kLeastMtu = 1280;   // IPv6 promises it
    static constexpr std::size_t kSafeFrame = kLeastMtu - kIpv6Heads;

    [[nodiscard]] Status bind_all(wire::EndpointName& name);
    [[nodiscard]] int bind_at_port(std::span<AddressVerdict* const> where, unsigned port);
    [[nodiscard]] int bind_family(std::span<AddressVerdict* const> where, bool v4, unsigned port);
    void configure(Socket& socket, const char* what);
    [[nodiscard]] Socket& socket_for(unsigned channel, const RawAddress& to) noexcept;
    [[nodiscard]] bool goes_near(Channel& ch, const RawAddress& to, bool all) noexcept;
    [[nodiscard]] bool come_near(Channel& ch, const RawAddress& to) noexcept;
    void collect(Batch& b, unsigned channel, std::span<const flow::TxFrame> frames) noexcept;
    [[nodiscard]] std::size_t send_one(unsigned channel, const flow::TxFrame& frame, bool& refused) noexcept;
    [[nodiscard]] std::size_t send_some(unsigned channel, std::span<const flow::TxFrame> frames, bool& refused) noexcept;
    struct Failed;
    [[nodiscard]] std::size_t give_up(unsigned channel, const Failed& run, bool& refused) noexcept;
    [[nodiscard]] bool survives(Socket& socket, const RawAddress& to, int error) noexcept LINNET_EXCLUDES(evidence_lock_);
    unsigned take_errors(Socket& socket) noexcept LINNET_EXCLUDES(evidence_lock_);
    void add_evidence(const InetAddress& to, int error) noexcept LINNET_EXCLUDES(evidence_lock_);
    bool ask_epoll() noexcept;
    void make_hot(Channel& ch, unsigned number) noexcept;
    bool watch(unsigned channel, unsigned number, bool on) noexcept;   // false: it cannot be
    [[nodiscard]] bool any_hot() const noexcept { return (channels_[frames::kLaneChannel].hot | channels_[frames::kBulkChannel].hot) != 0; }
    void overtake(const Channel& by, unsigned number) noexcept;
    void follow_move(Channel& ch) noexcept;
    [[nodiscard]] static std::size_t segment_of(const UdpRunIn& run) noexcept;
    [[nodiscard]] bool read(Channel& ch, unsigned number, std::size_t most) noexcept;
    static void take_aim(Channel& ch, std::size_t most) noexcept;
    static void check_aim(Channel& ch) noexcept;
    static void put_together(Channel& ch) noexcept;
    [[nodiscard]] std::size_t hand_out(Channel& ch, std::span<frames::RxFrame> out) noexcept;
    [[nodiscard]] std::size_t hoped_frame_bytes(const RawAddress& to) const noexcept;
    void no_cutting_for(unsigned channel, const Failed& run) noexcept;
    [[nodiscard]] static bool too_narrow(const RawAddress& to, std::size_t bytes) noexcept;
    [[nodiscard]] static std::uint64_t path_key(const RawAddress& to) noexcept;

    const Settings& settings_;
    Log& log_;
    Counters& rx_counters_;   // token holder
    Counters& tx_counters_;   // any thread

    // Constant after open().
    OwnAddresses addresses_;
    EpollSet epoll_;
    std::size_t frame_bytes_{1472};
    std::uint16_t port_{0};
    std::uint64_t unnamed_{0};   // bits of a hello's features

    frames::PathTable paths_;
    std::array<Channel, frames::kChannels> channels_;
    unsigned passes_{0};    // since epoll was asked
    unsigned gap_{1};       // passes between two questions
    RareQuestion question_{machine_ticks().ticks(Nanos{2'000})};   // to epoll, without hot sockets

    std::atomic<bool> told_uncut_{false};   // the log knows that the kernel cuts no more; each socket learns it by itself

    mutable Mutex evidence_lock_;
    std::vector<frames::Evidence> evidence_ LINNET_GUARDED_BY(evidence_lock_);
    std::atomic<bool> has_evidence_{false};   // relaxed: a hint, found on one of the next passes
};

class UdpTransport final : public frames::FrameTransport {
public:
    UdpTransport(const Settings& settings, const Clock& clock, Log& log, Stats& stats) noexcept;
};

}   // namespace linnet::udp

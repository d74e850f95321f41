// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EthPort: frames in Ethernet frames of a private EtherType; EthTransport: links over them.
//
// What it is  One packet ring for each Ethernet interface in use, whatever the number of peers. Arrivals are read from shared memory; a batch of frames leaves
//             in one system call. A peer is a hardware address and an endpoint on the same segment, both out of its name; frames are never routed.
// Owner       FrameTransport. Threads: as FramePort says. Locks: the path table's, a leaf. Blocking: never.
// Failure     Without the right to make packet sockets, or without an Ethernet interface, it opens all the same, says why in a line, and reaches nobody. There
//             is no evidence of a peer's death: nothing in Ethernet says that nobody is there.
// See         docs/eth.md, packet(7)
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "conf/settings.h"
#include "stats/counters.h"
#include "sys/packet_ring.h"
#include "transport/frames/frame_transport.h"
#include "transport/frames/path_table.h"
#include "transport/frames/port.h"
#include "transport/own_addresses.h"

namespace linnet::eth {

// What a frames::Route holds.
struct EthRoute {
    MacAddress mac{};
    std::array<std::uint8_t, 2> endpoint{};   // big-endian
    std::uint8_t interface{0};                // ours, by number
    std::array<std::uint8_t, 7> zero{};
};
static_assert(sizeof(EthRoute) == 16);

class EthPort final : public frames::FramePort {
public:
    EthPort(const Settings& settings, Log& log, Stats& stats) noexcept;

    [[nodiscard]] const char* name() const noexcept override { return "eth"; }
    [[nodiscard]] Status open(wire::EndpointName& name) override;
    [[nodiscard]] bool usable() const noexcept override { return !interfaces_.empty(); }
    [[nodiscard]] unsigned channels() const noexcept override { return 1; }
    [[nodiscard]] frames::PortLimits limits(unsigned channel) const noexcept override;
    void close() noexcept override { open_ = false; }
    [[nodiscard]] unsigned routes(const wire::EndpointName& name, std::span<frames::Candidate> out) const override;
    [[nodiscard]] std::size_t frame_bytes(const frames::Route& to) const noexcept override;
    [[nodiscard]] std::string text(const frames::Route& peer) const override;
    [[nodiscard]] std::string local_text(const frames::Route& peer) const override;
    [[nodiscard]] std::size_t send(unsigned channel, std::span<const flow::TxFrame> frames) noexcept override;
    void send_single(unsigned channel, const frames::Route& to, std::span<const std::byte> frame) noexcept override;
    [[nodiscard]] std::size_t receive(unsigned channel, std::span<frames::RxFrame> out) noexcept override;
    [[nodiscard]] EventSource::Linger linger() noexcept override;
    [[nodiscard]] frames::Route source(unsigned channel, const frames::RxFrame& frame) const noexcept override;
    [[nodiscard]] bool next_evidence(frames::Evidence&) noexcept override { return false; }
    [[nodiscard]] std::uint64_t kernel_drops(unsigned channel) const noexcept override;
    [[nodiscard]] int wait_descriptor() const noexcept override { return epoll_.get(); }
    [[nodiscard]] bool prepare_sleep() noexcept override;

private:
    // Payload that every Ethernet takes, without the endpoints.
    static constexpr std::size_t kSafeFrame = 1500 - (sizeof(EtherHead) - kEtherHeaderBytes);

    struct Interface {
        std::string name;
        InetAddress address;
        unsigned prefix{0};
        EtherHead head;                // of all that is sent: address, EtherType, endpoint
        std::size_t frame_bytes{0};    // longest, without the EtherHead
        ReservedPort endpoint;
        PacketRing ring;
        std::uint64_t drops{0};        // token holder
        LogThrottle refused;
    };

    // ---- setup.cc ----
    [[nodiscard]] bool open_interface(const AddressVerdict& v, std::string& why_not);
    [[nodiscard]] const Interface* on_segment_of(const InetAddress& address) const noexcept;

    template <std::size_t Most>
    [[nodiscard]] std::size_t send_run(Interface& i, std::span<const flow::TxFrame> frames, bool& refused) noexcept;
    void trouble(Interface& i, int error) noexcept;
    bool watch(bool on) noexcept;   // false: it cannot be
    [[nodiscard]] bool take(std::size_t number, const PacketRing::Frame& f, frames::RxFrame& out) noexcept;
    [[nodiscard]] static std::uint64_t path_key(const EthRoute& to) noexcept;

    const Settings& settings_;
    Log& log_;
    Counters& rx_counters_;   // token holder
    Counters& tx_counters_;   // any thread

    // Constant after open(), but for what says otherwise.
    OwnAddresses addresses_;
    std::vector<std::unique_ptr<Interface>> interfaces_;
    std::string none_;                   // why interfaces_ is empty
    EpollSet epoll_;
    std::vector<std::byte> padding_;     // zeros
    bool jumbo_{false};                  // paths may differ in what they take
    frames::PathTable paths_;
    std::atomic<bool> open_{false};      // relaxed: false stops what comes after shutdown
    std::size_t first_{0};               // token holder: the interface that is read first
    bool watched_{true};                 // likewise: its descriptor tells of arrivals
    unsigned unslept_{0};                // likewise: receive() found something so often since it last began to
};

class EthTransport final : public frames::FrameTransport {
public:
    EthTransport(const Settings& settings, const Clock& clock, Log& log, Stats& stats) noexcept;
};

}   // namespace linnet::eth

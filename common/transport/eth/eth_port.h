// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EthPort: frames in Ethernet frames of a private EtherType; EthTransport: links over them.
//
// What it is  One packet ring for each Ethernet interface in use, whatever the number of peers. Arrivals are read from shared memory; a batch of frames leaves
//             in one system call. A peer is a hardware address and an endpoint on the same segment, both out of its name; frames are never routed.
// Listening   Each ring of a host looks at each frame that comes there. So a process binds none until somebody calls it, or says that it listens for a call
//             of ours: the caller knocks, with a datagram, at the UDP port whose number is the endpoint, and is answered likewise. With transports=auto
//             only so many processes of a host may listen (setting eth_listeners).
// Owner       FrameTransport. Threads: as FramePort says. Locks: evidence_lock_ and the path table's, leaves. Blocking: never,
//             but for 10 ms in which the kernel makes the first ring of a process that shares its host with many.
// Failure     Without the right to make packet sockets, or without an Ethernet interface, it opens all the same, says why in a line, and reaches nobody. There
//             is no evidence of a peer's death: nothing in Ethernet says that nobody is there.
// See         docs/eth.md, packet(7)
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "conf/settings.h"
#include "progress/ticks.h"
#include "stats/counters.h"
#include "sync/lock.h"
#include "sys/epoll_set.h"
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
    friend bool operator==(const EthRoute&, const EthRoute&) = default;
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
    [[nodiscard]] bool prepare_call(const wire::EndpointName& callee, std::span<const frames::Candidate> ways, std::string& why_not) override;
    [[nodiscard]] unsigned routes(const wire::EndpointName& name, std::span<frames::Candidate> out) const override;
    [[nodiscard]] std::size_t frame_bytes(const frames::Route& to) const noexcept override;
    void came_through(const frames::Route& from, std::size_t bytes) noexcept override
    {
        if (jumbo_) {
            paths_.arrived(path_key(from.as<EthRoute>()), bytes, kSafeFrame);
        }
    }
    [[nodiscard]] std::string text(const frames::Route& peer) const override;
    [[nodiscard]] std::string local_text(const frames::Route& peer) const override;
    [[nodiscard]] std::size_t send(unsigned channel, std::span<const flow::TxFrame> frames) noexcept override;
    void send_single(unsigned channel, const frames::Route& to, std::span<const std::byte> frame) noexcept override;
    [[nodiscard]] std::size_t receive(unsigned channel, std::span<frames::RxFrame> out) noexcept override;
    [[nodiscard]] EventSource::Linger linger() noexcept override;
    [[nodiscard]] frames::Route source(unsigned channel, const frames::RxFrame& frame) const noexcept override;
    [[nodiscard]] bool next_evidence(frames::Evidence& out) noexcept override;
    [[nodiscard]] std::uint64_t kernel_drops(unsigned channel) const noexcept override;
    [[nodiscard]] int wait_descriptor() const noexcept override { return epoll_.get(); }
    [[nodiscard]] bool prepare_sleep() noexcept override;
    void finish_sleep() noexcept override
    {
        looked_ = 0;
        passes_ = kPassesBetweenLooks;
    }

private:
    // Looking for knocks takes a system call, so it is done when so much time has passed: counted in passes it would be late where they are rare. Who
    // listens is in a hurry for its frames, and reads the clock in some of its passes only.
    static constexpr Nanos kPause{80'000};
    static constexpr Nanos kPauseOfListener{400'000};
    static constexpr unsigned kPassesBetweenLooks = 8;
    static constexpr Nanos kSilence = std::chrono::seconds{5};   // longer than the patience with a call

    // Payload that every Ethernet takes, without the endpoints.
    static constexpr std::size_t kSafeFrame = 1500 - (sizeof(EtherHead) - kEtherHeaderBytes);

    static constexpr std::size_t kMostMtu = 9216;   // longer ones would make each place of a ring dearer than they save
    [[nodiscard]] static std::size_t payload_of(std::size_t mtu) noexcept
    {
        return std::clamp<std::size_t>(mtu, 576, kMostMtu) - (sizeof(EtherHead) - kEtherHeaderBytes);
    }

    struct Interface {
        std::string name;
        InetAddress address;
        unsigned prefix{0};
        EtherHead head;                // of all that is sent: address, EtherType, endpoint
        std::size_t frame_bytes{0};    // longest, without the EtherHead
        std::atomic<std::size_t> takes{0};   // of that, since its MTU was lowered
        ReservedPort endpoint;
        PacketRing::Config config;
        PacketRing ring;               // a mere socket, or one with memory, until we listen
        std::uint64_t drops{0};        // token holder
        LogThrottle refused;
    };

    // ---- setup.cc ----
    [[nodiscard]] bool open_interface(const AddressVerdict& v, std::string& why_not);
    [[nodiscard]] static bool on_segment_of(const InetAddress& address, const Interface& i) noexcept;
    [[nodiscard]] bool take_place(std::string& why_not);
    [[nodiscard]] bool counted() const noexcept;
    [[nodiscard]] bool few_here() const noexcept;
    [[nodiscard]] bool may_listen(std::string& why_not);
    [[nodiscard]] bool bind_rings(std::string& why_not);
    [[nodiscard]] bool listen_now(std::string& why_not);

    // ---- knocks (knocks.cc) ----
    enum class Word : std::uint32_t { kKnock = 0x6b6e6c4c, kHere = 0x65686c4c, kBusy = 0x73626c4c };   // "Llnk", "Llhe", "Llbs"
    struct Called {
        InetAddress at;           // its UDP port
        std::uint64_t id;         // of the name: only who has been told the name knocks and is let in
        bool here{false};         // it said that it listens
    };
    struct Asked {
        InetAddress at;
        std::uint64_t id;
        EthRoute to;
        TimePoint when;   // last
    };
    [[nodiscard]] static Knock knock_of(Word word, std::uint64_t id) noexcept;
    [[nodiscard]] static std::uint64_t contact_key(const EthRoute& to) noexcept;
    void remember(const EthRoute& to, const wire::EndpointName& callee);
    // May a hello go there? If nobody listens there yet, as far as is known, it knocks instead.
    [[nodiscard]] bool heard_there(const Interface& i, const EthRoute& to) noexcept;
    [[nodiscard]] bool time_for_knocks() noexcept;
    void look_for_knocks() noexcept;
    void knock_came(std::size_t number, const Knock& knock, const InetAddress& from) noexcept;
    void answered(Word word, std::uint64_t id, const InetAddress& from);
    void forget_silent() noexcept;
    void no_way(const EthRoute& to, int error) noexcept;

    template <std::size_t Most>
    [[nodiscard]] std::size_t send_run(Interface& i, std::span<const flow::TxFrame> frames, bool& refused) noexcept;
    void trouble(Interface& i, int error) noexcept;
    void too_long(Interface& i, const frames::Route& to, std::size_t bytes) noexcept LINNET_EXCLUDES(evidence_lock_);
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
    std::uint64_t own_id_{0};
    mutable Mutex evidence_lock_;
    std::vector<frames::Evidence> too_long_ LINNET_GUARDED_BY(evidence_lock_);   // the interface takes shorter frames than their links were opened for
    std::atomic<bool> has_too_long_{false};   // relaxed: a hint, found on one of the next passes
    SocketOrError place_;                // token holder: one of the places of listeners that a host has, from a call on that is not refused

    // The token holder's.
    std::unordered_map<std::uint64_t, Called> called_;   // by contact_key()
    std::atomic<bool> listening_{false};   // written by it, relaxed: who sends before has nobody that could answer
    const Ticks pause_{machine_ticks().ticks(kPause)};
    const Ticks pause_of_listener_{machine_ticks().ticks(kPauseOfListener)};
    Ticks looked_{0};                    // for knocks, last; 0: the next pass shall
    unsigned passes_{0};                 // since then
    std::vector<Asked> asked_;           // knocked at, and not answered yet
    std::vector<frames::Evidence> busy_; // who said that it cannot listen
    std::size_t first_{0};               // token holder: the interface that is read first
    bool watched_{true};                 // likewise: its descriptor tells of arrivals
    unsigned unslept_{0};                // likewise: receive() found something so often since it last began to
};

class EthTransport final : public frames::FrameTransport {
public:
    EthTransport(const Settings& settings, const Clock& clock, Log& log, Stats& stats) noexcept;
};

}   // namespace linnet::eth

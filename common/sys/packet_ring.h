// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PacketRing: frames of one EtherType on one interface, received without system calls. See packet(7), TPACKET_V2.
//
// What it is   A packet socket whose receive ring is shared with the kernel: a frame has arrived when the status word of its place says so. A classic
//              BPF filter, locked in before the first frame can come, passes only frames of our EtherType whose next two bytes name our endpoint, so that IP
//              and other processes on the same interface cost us nothing and we cost them nothing.
// Owner        Whoever opened it; the interface may vanish meanwhile, which shows as an error of send().
// Threads      Receiving: one at a time. send(): one at a time, apart from receiving. drops(): as receiving.
// Blocking     Never; send() is one system call per kSendBatch frames.
// Failure      open() says which step failed. CAP_NET_RAW is needed for it (EPERM), not afterwards. A frame that is cut short, or was not
//              meant for this interface, is shown as such: the caller drops and counts it.
#pragma once

#include <linux/filter.h>
#include <sys/uio.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "sys/fd.h"
#include "sys/tcp_socket.h"

namespace linnet {

using MacAddress = std::array<std::uint8_t, 6>;

// What stands before the payload of every frame: Ethernet's own header, then the endpoints, which tell the processes of one host apart.
struct EtherHead {
    MacAddress to{};
    MacAddress from{};
    std::array<std::uint8_t, 2> ether_type{};      // big-endian, as the two that follow
    std::array<std::uint8_t, 2> to_endpoint{};
    std::array<std::uint8_t, 2> from_endpoint{};
};
static_assert(sizeof(EtherHead) == 18 && alignof(EtherHead) == 1);
inline constexpr std::size_t kEtherHeaderBytes = 14;

inline constexpr unsigned kPacketFilterSteps = 6;
// Passes what has this EtherType and, right after it, this endpoint; pure.
[[nodiscard]] std::array<sock_filter, kPacketFilterSteps> packet_filter(std::uint16_t ether_type, std::uint16_t endpoint) noexcept;

class PacketRing {
public:
    struct Config {
        unsigned interface_index{0};
        std::uint16_t ether_type{0x88b5};
        std::uint16_t endpoint{0};
        std::size_t frame_bytes{1514};      // the longest frame with its Ethernet header; longer ones arrive cut
        unsigned frames{512};               // places; rounded up to fill its pages
        bool bypass_qdisc{false};           // send past the queueing discipline: no shaping, and a full transmit queue drops
    };
    struct Opened;   // a ring, or what failed
    struct Failure {
        int error{0};
        const char* what{""};   // the step that failed
    };
    // The socket alone, for which it takes the right, with its filter. It gets no frame, and costs none anything.
    [[nodiscard]] static Opened make(const Config& config) noexcept;
    // And its ring, once, which takes the kernel some milliseconds. Still no frame comes.
    [[nodiscard]] Failure prepare(const Config& config) noexcept;
    // Frames come from now on, into the ring, which is made if it is not there. What failed may be asked for again.
    [[nodiscard]] Failure listen(const Config& config) noexcept;
    // All of it.
    [[nodiscard]] static Opened open(const Config& config) noexcept;
    // How many it will have, at least.
    [[nodiscard]] static unsigned places_of(const Config& config) noexcept;

    PacketRing() noexcept = default;
    ~PacketRing();
    PacketRing(PacketRing&& other) noexcept { swap(other); }
    PacketRing& operator=(PacketRing&& other) noexcept
    {
        swap(other);
        return *this;
    }

    struct Frame {
        std::span<const std::byte> bytes;   // from the destination address on; without a VLAN tag, which the kernel takes off
        bool cut{false};                    // there was more of it
        bool elsewhere{false};              // sent to another address (the interface is promiscuous), to all, or in a VLAN
        bool losing{false};                 // frames were dropped since drops() was last asked
    };
    // The next frame, in order of arrival; false: there is none. It stays until release().
    [[nodiscard]] bool next(Frame& out) noexcept;
    // Gives the places of all frames that next() showed back to the kernel.
    void release() noexcept;
    // Is there a frame that next() has not shown? One load.
    [[nodiscard]] bool ready() const noexcept { return !all_shown() && (status_of(next_.at).load(std::memory_order_acquire) & kOurs) != 0; }

    // One frame, gathered from pieces the first of which is its EtherHead.
    struct Outgoing {
        std::span<const iovec> pieces;
    };
    static constexpr std::size_t kSendBatch = 64;
    struct Sent {
        std::size_t frames{0};   // from the front, taken by the kernel
        int error{0};            // why the next one was not: EAGAIN and ENOBUFS pass, ENETDOWN and ENXIO when the interface is gone
    };
    [[nodiscard]] Sent send(std::span<const Outgoing> frames) noexcept;

    // Frames that the kernel dropped because no place was free, since open(). A system call.
    [[nodiscard]] std::uint64_t drops() noexcept;
    [[nodiscard]] unsigned places() const noexcept { return places_; }
    // Readable while frames wait; -1 where there is no socket.
    [[nodiscard]] int descriptor() const noexcept { return fd_.get(); }
    [[nodiscard]] bool has_ring() const noexcept { return memory_ != nullptr; }
    [[nodiscard]] bool listens() const noexcept { return listens_; }

private:
    static constexpr std::uint32_t kOurs = 1;   // TP_STATUS_USER
    struct Cursor {
        std::byte* at{nullptr};
        unsigned left{0};   // places of its block from there on
    };

    [[nodiscard]] const char* set_up(const Config& config) noexcept;
    [[nodiscard]] bool bind(const Config& config) noexcept;
    struct Shape {
        std::size_t place_bytes, block_bytes;
        unsigned per_block, blocks;
    };
    [[nodiscard]] static Shape shape_of(const Config& config) noexcept;
    [[nodiscard]] bool map_ring(const Config& config) noexcept;
    void swap(PacketRing& other) noexcept;
    void advance(Cursor& c) const noexcept;
    [[nodiscard]] bool all_shown() const noexcept { return shown_ == places_; }
    // The status word, first of a place. The kernel stores kOurs after the frame (release), which pairs with our load (acquire); our store of 0 gives the
    // place away after it was read (release).
    [[nodiscard]] static std::atomic_ref<std::uint32_t> status_of(std::byte* at) noexcept
    {
        return std::atomic_ref{*reinterpret_cast<std::uint32_t*>(at)};
    }

    Fd fd_;
    std::byte* memory_{nullptr};
    std::size_t bytes_{0};
    std::size_t block_bytes_{0};
    std::size_t place_bytes_{0};
    unsigned per_block_{1};
    unsigned places_{0};
    Cursor next_;               // what next() looks at
    Cursor oldest_;             // the first that release() gives back
    unsigned shown_{0};         // places in between
    std::uint64_t drops_{0};
    bool listens_{false};
};

struct PacketRing::Opened {
    PacketRing ring;
    int error{0};
    const char* what{""};   // the step that failed
};

// ---- the interface ----
struct EtherInterface {
    int error{0};
    unsigned index{0};   // the kernel's
    bool ethernet{false};
    MacAddress mac{};
    std::size_t mtu{0};
};
[[nodiscard]] EtherInterface ether_interface(const char* name) noexcept;

// A knock at a reserved port: who wants frames to be listened for there. Both never block.
inline constexpr std::size_t kKnockBytes = 16;
using Knock = std::array<std::byte, kKnockBytes>;
void send_knock(int fd, const InetAddress& to, const Knock& knock) noexcept;
// The next that came, and whence; what is none is dropped. False: no more.
[[nodiscard]] bool next_knock(int fd, Knock& knock, InetAddress& from) noexcept;

// A UDP port of `address` that nobody else gets while the descriptor is open; 0 with an error. It takes knocks.
struct ReservedPort {
    Fd fd;
    std::uint16_t port{0};
    int error{0};
};
[[nodiscard]] ReservedPort reserve_udp_port(const InetAddress& address) noexcept;

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FramePort: what puts frames on a network and takes them off it, below FrameTransport.
//
// What it is   The part in which transport/udp (sockets) and transport/eth (a packet ring) differ. All that they share, links, opening, reliability, is in
//              FrameTransport and flow::Machine. A frame is a wire::FrameHead and what follows it (common/wire/frame.h); what a port puts around it (IP
//              and UDP, or an Ethernet header with padding) is the port's own and not in any length here.
// Channels     A port has one or two: kLaneChannel always; kBulkChannel when rendezvous data has a queue of its own in the kernel (a second socket), so that it
//              never stands in front of a small message. Each has a Machine, and a credit pool of the size of its receive queue.
// Owner        FrameTransport, which owns the port.
// Threads      send() and send_single(): any thread, one at a time per channel, by a lock of the caller's. open(), close(), and all that receives: the
//              holder of the progress token, at the same time as sends. routes(), frame_bytes() and texts: any thread, after open().
// Blocking     Never; open() and routes() may read /proc, /sys and the routing table.
// Failure      Frames may be lost without a word: that is what flow/ is for. What is known to be lost is said by a short count; what proves that nobody is
//              there comes as Evidence.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "base/clock.h"
#include "base/status.h"
#include "flow/machine.h"
#include "progress/event_source.h"
#include "sys/inet_address.h"
#include "wire/frame.h"
#include "wire/name.h"

namespace linnet::frames {

inline constexpr unsigned kLaneChannel = 0;
inline constexpr unsigned kBulkChannel = 1;
inline constexpr unsigned kChannels = 2;

// An arrival goes through each set of descriptors that its socket is in, to see who sleeps there: some 0.2 us each in the sender's call, and a port is three
// sets deep. So a socket of which so many arrivals were found by polling, with no sleep in between, is muted until somebody is about to sleep.
inline constexpr unsigned kMuteAfter = 64;

// How a peer is reached on one channel: an address and port, or an interface, a hardware address and an endpoint. Opaque to all but its port. A value; equal
// routes have equal bytes, so a port zeroes what it does not use.
class Route {
public:
    static constexpr std::size_t kBytes = 32;
    template <class T>
    [[nodiscard]] static Route of(const T& value) noexcept
    {
        static_assert(sizeof(T) <= kBytes && std::is_trivially_copyable_v<T> && std::has_unique_object_representations_v<T>);
        Route r;
        std::memcpy(r.bytes_.data(), &value, sizeof value);
        return r;
    }
    template <class T>
    [[nodiscard]] T as() const noexcept
    {
        static_assert(sizeof(T) <= kBytes && std::is_trivially_copyable_v<T>);
        T value;
        std::memcpy(&value, bytes_.data(), sizeof value);
        return value;
    }
    friend bool operator==(const Route&, const Route&) = default;

private:
    alignas(8) std::array<std::byte, kBytes> bytes_{};
};

// One way to call a peer, or why it is none.
struct Candidate {
    Route route;
    std::string refusal;   // empty: go ahead. Else for people: "no route: Network is unreachable (errno 101)"
};

// A whole FrameHead and more.
[[nodiscard]] inline bool opens_a_link(std::span<const std::byte> frame) noexcept
{
    return static_cast<wire::FrameKind>(frame[offsetof(wire::FrameHead, kind)]) == wire::FrameKind::kOpen;
}

[[nodiscard]] inline bool says_hello(std::span<const std::byte> frame) noexcept
{
    return opens_a_link(frame) && frame.size() > sizeof(wire::FrameHead) + offsetof(wire::OpenHead, step) &&
           static_cast<wire::OpenStep>(frame[sizeof(wire::FrameHead) + offsetof(wire::OpenHead, step)]) == wire::OpenStep::kHello;
}

// A port sends frames that open a link longer than they are, to see what the path takes (path_table.h). Not a rejection: anybody may claim to have called.
[[nodiscard]] inline bool is_padded(std::span<const std::byte> frame) noexcept
{
    wire::OpenHead open;
    if (!opens_a_link(frame) || frame.size() < sizeof(wire::FrameHead) + sizeof open) {
        return false;
    }
    std::memcpy(&open, frame.data() + sizeof(wire::FrameHead), sizeof open);
    return open.own.get() != 0;
}

// A frame that arrived. `bytes` starts with the FrameHead and may be longer than the frame (Ethernet pads). Valid until the next receive() of the channel.
struct RxFrame {
    std::span<const std::byte> bytes;
    std::uint32_t source{0};              // for FramePort::source(): whence, asked for few frames only
    const std::byte* payload{nullptr};    // of an aimed frame: where it lies instead of behind the heads in `bytes`
};

// Where the payload of coming frames most likely belongs: one after the other from `to` on, each of `block_bytes` behind heads of `head_bytes`.
struct Aim {
    std::byte* to{nullptr};
    std::size_t block_bytes{0};
    std::size_t head_bytes{0};
    unsigned blocks{0};
};

// Proof that nobody is at a route: ICMP port unreachable, an administrator's refusal. Not a silence, and not a full queue. Or that frames of the length that
// was agreed on do not leave any more.
struct Evidence {
    Route route;      // as the peer's frames would have as source
    int error{0};     // ECONNREFUSED, EHOSTUNREACH, ENETUNREACH; EMSGSIZE: a link that is up is to be opened anew
};

struct PortLimits {
    std::size_t frame_bytes{0};     // the largest frame that any route takes: head and payload
    std::uint32_t ring_frames{0};   // frames of that size that the kernel queues for us, at least; credit is lent out of them
    unsigned burst{1};              // frames that go best with one call: segments of a GSO send, slots
    Nanos patience{Nanos::max()};   // for calls to stay unanswered, where routes() can only guess: then another transport is tried
    std::size_t hello_bytes{0};     // a hello is padded to so many at least: whoever says a shorter one may want somebody else to be answered by more
};

class FramePort {
public:
    virtual ~FramePort() = default;

    // ---- before the first link ----
    [[nodiscard]] virtual const char* name() const noexcept = 0;   // "udp": of the transport
    // Bind and choose addresses; adds them to the name, with the port. kUnreachable, kNoDescriptors, ...: logged with the reason.
    [[nodiscard]] virtual Status open(wire::EndpointName& name) = 0;
    [[nodiscard]] virtual bool usable() const noexcept { return true; }   // after open(): can it reach anybody?
    [[nodiscard]] virtual unsigned channels() const noexcept = 0;
    [[nodiscard]] virtual PortLimits limits(unsigned channel) const noexcept = 0;
    // As Transport::listens_unnamed().
    [[nodiscard]] virtual std::uint64_t listens_unnamed() const noexcept { return 0; }
    // Nothing is sent or received any more; also after a failed open().
    virtual void close() noexcept = 0;

    // We are about to call that peer by those of these ways that are not refused. False: it cannot be now, for this reason; may be asked again. Token holder.
    [[nodiscard]] virtual bool prepare_call(const wire::EndpointName&, std::span<const Candidate>, std::string&) { return true; }

    // ---- peers ----
    // The ways to call a peer of this name, on its lane channel, best first; at most wire::kNameAddressesMax. Returns how many. A name without addresses is
    // one candidate that is refused.
    [[nodiscard]] virtual unsigned routes(const wire::EndpointName& name, std::span<Candidate> out) const = 0;
    // The largest frame that is to be sent there, by what is known of the path; at most limits().frame_bytes. A larger one must still arrive, if slower.
    [[nodiscard]] virtual std::size_t frame_bytes(const Route& to) const noexcept = 0;
    // A frame of so many bytes that opens a link came from there, and was checked: that is what the path takes. 0: one that is never padded.
    virtual void came_through(const Route&, std::size_t) noexcept {}
    // Of the peer; none where frames are not sent to one.
    [[nodiscard]] virtual InetAddress address(const Route&) const noexcept { return {}; }
    [[nodiscard]] virtual std::string text(const Route& peer) const { return address(peer).text(); }   // "10.1.0.2 port 41873"
    [[nodiscard]] virtual std::string local_text(const Route& peer) const = 0;   // "interface eth0, local 10.1.0.1 port 40112"

    // ---- sending ----
    // TxFrame::route points to a Route. Returns how many of `frames`, from the front, are gone or lost on the way; the rest was refused (a full queue): it is
    // to be offered again at the next poll. What can never be sent there (no route any more) counts as gone, and becomes Evidence where it is one.
    [[nodiscard]] virtual std::size_t send(unsigned channel, std::span<const flow::TxFrame> frames) noexcept = 0;
    // One frame of an opening or a reset; lost when refused.
    virtual void send_single(unsigned channel, const Route& to, std::span<const std::byte> frame) noexcept = 0;

    // ---- receiving ----
    // What is there, up to out.size(); 0: nothing. Called on every poll of the progress engine: it may skip its system call while a channel is quiet, as long
    // as an arrival is found within some microseconds of polling. The frames of the call before are gone.
    [[nodiscard]] virtual std::size_t receive(unsigned channel, std::span<RxFrame> out) noexcept = 0;
    // As EventSource::linger(): may receive() find something on any channel?
    [[nodiscard]] virtual EventSource::Linger linger() noexcept { return EventSource::Linger::kNever; }
    // A guess for the next receive() alone: what it reads may be read straight to there, whatever it is, and is then shown by RxFrame::payload; it reads no
    // more at once than such a guess can cover. A guess that proves wrong is undone by gather(): the payload of all frames that were read lies behind their
    // heads then. False: the port cannot, and reads as ever.
    virtual bool aim(unsigned, const Aim&) noexcept { return false; }
    virtual void gather(unsigned) noexcept {}
    // Of a frame of the last receive() of this channel.
    [[nodiscard]] virtual Route source(unsigned channel, const RxFrame& frame) const noexcept = 0;
    // Evidence that came since; false: no more.
    [[nodiscard]] virtual bool next_evidence(Evidence& out) noexcept = 0;
    // Frames that the kernel dropped for want of room in our queue, since open(), as far as it told.
    [[nodiscard]] virtual std::uint64_t kernel_drops(unsigned channel) const noexcept = 0;

    // ---- sleeping ----
    // Readable whenever receive() or next_evidence() would find something. Constant after open().
    [[nodiscard]] virtual int wait_descriptor() const noexcept = 0;
    // Somebody is about to sleep on it, or woke: false when there is work already.
    [[nodiscard]] virtual bool prepare_sleep() noexcept { return true; }
    virtual void finish_sleep() noexcept {}
};

}   // namespace linnet::frames

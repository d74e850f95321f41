// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The Transport interface: links to peers, and the sink that its owner implements.
//
// What it is     One mechanism that carries packets to other processes. A *link* joins this process to one peer in one role: the lane link carries
//                ordered lane packets, the bulk link carries rendezvous data. A link is in order or broken: it never loses, doubles or reorders, but it may
//                die, and what it had not delivered is then lost (session/ sends it again on the next link).
// Owner          core/ owns the transports; each outlives its links, and the sink outlives the transport.
// Threads        connect, send_lane, send_bulk, drop: any thread; calls for one peer are serialised by the caller (its peer lock). poll and every
//                sink call: the holder of the progress token. A transport holds none of its own locks while it calls the sink.
// Blocking       Never.
// Failure        A link that fails is reported once by on_link_down(); send calls then answer kDown.
// See            docs/architecture.md, docs/adding-a-transport.md
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>

#include "base/annotations.h"
#include "base/clock.h"
#include "base/ids.h"
#include "base/status.h"
#include "progress/event_source.h"
#include "stats/counters.h"
#include "sync/backoff.h"
#include "sync/lock.h"
#include "sys/inet_address.h"
#include "wire/name.h"
#include "wire/packet.h"

namespace linnet {

enum class LinkRole : std::uint8_t { kLane = 0, kBulk = 1 };

// One attempt to open a link, or the link that came of it; unique within the transport while it lives.
using LinkId = StrongId<struct LinkIdTag, std::uint64_t>;

struct TransportCaps {            // constant after open(); upper layers choose by these, never by name
    const char* name;             // "tcp"
    std::size_t lane_packet_max;  // largest head + payload of one lane packet
    bool separate_bulk;           // bulk data has a link of its own; else bulk packets go over the lane link
    bool direct_links;            // links come up without a hello: both ends are this process
    Nanos latency;                // prior: half round trip of an empty packet, where a system call takes kUsualCall
    double bytes_per_ns;          // prior: stream rate
    std::size_t first_fragment{SIZE_MAX};   // more of a long message goes better as bulk data than with its announcement
    std::size_t bulk_packet{0};   // bulk packets shorter than this cost a pause each, where the message has more
    bool at_once{false};          // takes LanePacket::at_once, of up to kAtOnceMax bytes of payload
    bool told_of_death{false};    // the system says when the process of the other side is gone, and that nobody listens where it did
    Nanos lost_frame{0};          // prior: what a frame that the network loses costs those behind it
    Nanos more_frames{0};         // prior: what a message alone takes longer as soon as one frame does not hold it
    double calls{0};              // prior: the latency is longer by so many times what a system call takes above kUsualCall
    bool unasked{false};          // its bulk packets may be told to wait (Landing::later), so they may come before it is known what for
    // Priors: where ranks share cores others work while a message is on its way, and what counts is what it takes of the processors of both sides: as shares of
    // the latency and of the time per byte, to one scale for all transports.
    double busy{1}, busy_byte{1};
};
inline constexpr Nanos kUsualCall{200};

// A lane packet to send. `head` is PacketHead and kind header, already encoded, and what of the payload was packed behind them; `payload` is the rest. Both
// spans are borrowed until the packet is acknowledged or its link is reported down: a transport may keep pointers to what it could not write at once.
struct LanePacket {
    std::span<const std::byte> head;
    std::span<const std::byte> payload;
    bool at_once{false};          // only with caps().at_once: take it if every byte can be written now, else not; so the spans are free on return
};
inline constexpr std::size_t kAtOnceMax = 4096;

// Where in this process's memory the next packet that goes at once will be written. Its peer looks there, so the lines have to come from its core: who asks for
// them as soon as it knows that it will send waits less.
struct NextWrite {
    static constexpr std::size_t kPlaceBytes = 2 * kCacheLine - sizeof(std::uint64_t);   // of a packet in `place`; a longer one has its payload beside
    static constexpr std::size_t kFetchMost = 2048;                                      // more is not here in time anyway, and takes the place of others

    const void* place{nullptr};   // null: nowhere
    const void* beside{nullptr};

    // A packet of so many bytes, its heads included, of which the payload has `payload_bytes`.
    void fetch(std::size_t packet_bytes, std::size_t payload_bytes) const noexcept
    {
        fetch_to_write(place);
        if (packet_bytes > kCacheLine - sizeof(std::uint64_t) && packet_bytes <= kPlaceBytes) {
            fetch_to_write(static_cast<const std::byte*>(place) + kCacheLine);
        } else if (packet_bytes > kPlaceBytes) {
            const std::size_t bytes = payload_bytes < kFetchMost ? payload_bytes : kFetchMost;
            for (std::size_t i = 0; i < bytes; i += kCacheLine) {
                fetch_to_write(static_cast<const std::byte*>(beside) + i);
            }
        }
    }
};

struct SendResult {
    std::size_t taken{0};      // packets of the batch, from the front, that the link now owns
    bool all_written{false};   // every byte of the taken ones left this process: their memory is not referenced any more
    bool down{false};          // the link is gone; on_link_down() comes or came. taken then says nothing
    NextWrite next{};
};

// Where a packet's payload goes. Bytes beyond `room` are read and discarded. `cookie` comes back in the end call.
struct Landing {
    std::byte* to{nullptr};
    std::size_t room{0};
    void* cookie{nullptr};
    bool later{false};            // bulk, with caps().unasked: not known yet. It has not begun; the question comes again, after resume_bulk() at the latest
};

// What the owner of the transport says to a hello of the other side.
struct HelloVerdict {
    enum class Action : std::uint8_t { kAccept, kReject, kYield } action{Action::kReject};   // kYield: our own attempt to that peer goes first
    PeerId peer{kNoPeer};
    LinkRole role{LinkRole::kLane};
    std::size_t reply_bytes{0};   // in the reply buffer: welcome, confirm, or the reason of the rejection
    Status why{Status::kOk};
    bool elsewhere{false};        // of a rejected welcome: it came from another process than the one we asked, so the peer may be at another address
};

inline constexpr std::size_t kMaxHelloBytes = 512;

// Who says hello, as far as its transport knows. What it calls itself is in the hello.
struct Caller {
    InetAddress address{};        // whence it calls, with the interface of a link-local one; none where what arrives tells none (Ethernet)
    std::string_view alias{};     // for people, where there is no address, or more to say: "process 812 of this host"; lives for the call

    [[nodiscard]] std::string text() const { return alias.empty() ? address.text() : std::string{alias}; }
};

// Implemented by session/. Every call: token held, no transport lock held; may call back into the transport.
class TransportSink {
public:
    // ---- opening: opener sends hello, gets welcome, sends confirm; the link is up for the acceptor when confirm is accepted ----
    // Write the hello for an attempt that connect() started; returns its length, or 0 to give the attempt up. Again for each further address of the peer.
    virtual std::size_t make_hello(LinkId link, PeerId peer, LinkRole role, std::span<std::byte> out) noexcept = 0;
    virtual HelloVerdict on_hello(LinkId link, std::span<const std::byte> hello, const Caller& from, std::span<std::byte> reply) noexcept = 0;
    virtual HelloVerdict on_welcome(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> welcome, std::span<std::byte> confirm) noexcept = 0;
    virtual HelloVerdict on_confirm(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> confirm) noexcept = 0;
    // Packets may be sent from now on.
    virtual void on_link_up(LinkId link, PeerId peer, LinkRole role) noexcept = 0;
    // The last call for this link. Also ends an attempt that never came up (`up` false). `why`: kPeerDown reset or end of stream, kClosed the
    // peer ended a link that was up, or its process is gone, and no network broke it (only transports that can tell say so), kUnreachable, kRefused
    // (nobody listens, or rejected), kTimedOut, kProtocol, kNoDescriptors, kIo. `text` says it for people: interface, addresses, errno.
    virtual void on_link_down(LinkId link, PeerId peer, LinkRole role, bool up, Status why, std::string_view text) noexcept = 0;
    // After a send that was short or left bytes unwritten: everything taken is written, and the link takes packets again.
    virtual void on_writable(PeerId peer, LinkRole role) noexcept = 0;

    // The lock under which all sends to this peer are made: send_lane(), send_bulk(), offer(). A transport whose links live in this process's memory needs
    // none of its own then. Null: sends of one link may come from several threads at once. Asked when a link comes up; not held in any call of the sink, nor
    // in drop() and shutdown().
    [[nodiscard]] virtual Mutex* send_lock(PeerId) noexcept { return nullptr; }

    // ---- lane ----
    // A whole packet. `packet` starts with the PacketHead, checked by lane_head_ok(), and lives for the call.
    virtual void on_packet(LinkId link, PeerId peer, std::span<const std::byte> packet) noexcept = 0;
    // The same for an eager packet in two pieces, of at most kAtOnceMax bytes of payload: `head` is PacketHead and TagHeader, and no more of it may be written
    // by the peer; `payload` may, and is copied once. Who does not care gets it whole.
    virtual void on_packet_in_two(LinkId link, PeerId peer, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept
    {
        std::array<std::byte, wire::kMaxHeadBytes + kAtOnceMax> whole;
        std::memcpy(whole.data(), head.data(), head.size());
        std::memcpy(whole.data() + head.size(), payload.data(), payload.size());
        on_packet(link, peer, {whole.data(), head.size() + payload.size()});
    }
    // A packet whose payload is still on its way: `head` holds PacketHead and kind header. Answer where the payload goes.
    virtual Landing on_packet_begin(LinkId link, PeerId peer, std::span<const std::byte> head, std::size_t payload_bytes) noexcept = 0;
    // All of it arrived (ok), or the link broke after `landed` bytes (then on_link_down follows).
    virtual void on_packet_end(LinkId link, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept = 0;

    // ---- bulk ----
    // Several packets may be arriving at a time, and end in another order than they were sent in. No two that a sender has open have the same head.
    virtual Landing on_bulk_begin(LinkId link, PeerId peer, const wire::BulkHead& head) noexcept = 0;
    // Bytes that this peer was asked for, whose packets have not begun, or fewer; 0: none, or nobody knows. Nothing can be done before they are here.
    [[nodiscard]] virtual std::size_t bulk_awaited(PeerId) noexcept { return 0; }
    // `landed` bytes of the packet are in place, counted from its start; `ok` false: the link broke.
    virtual void on_bulk_end(LinkId link, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept = 0;
    // What begin_read() began is over: kOk, or as read(). Nobody writes to the memory any more.
    virtual void on_read_end(PeerId, void* /*cookie*/, Status) noexcept {}
    // The bytes of a send_bulk() are not referenced any more (ok: handed to the network; else the link broke).
    virtual void on_bulk_sent(PeerId peer, void* cookie, bool ok) noexcept = 0;

protected:
    ~TransportSink() = default;
};

class Transport : public EventSource {   // poll(), wait_descriptor(), next_timer(): progress/event_source.h
public:
    ~Transport() override = default;
    [[nodiscard]] virtual const TransportCaps& caps() const noexcept = 0;
    // What a byte takes in a stream of lane packets: as seen of late, or the prior. Any thread.
    [[nodiscard]] virtual double ns_per_byte() const noexcept { return 1 / caps().bytes_per_ns; }

    // Listen, and choose the addresses to be called at. Adds them to the name, with the port. Once, before all else.
    [[nodiscard]] virtual Status open(TransportSink& sink, wire::EndpointName& name) noexcept = 0;

    // After open(): can it reach anybody? If not, it need not be polled.
    [[nodiscard]] virtual bool usable() const noexcept { return true; }

    // What it does not count in Stats but, more cheaply, by link. Any thread. 0 for other counters.
    [[nodiscard]] virtual std::uint64_t counted(Counter) const noexcept { return 0; }

    // Can a peer with this name be reached at all, at one of its addresses (family, interface)? If not, `text` may be asked of connect().
    [[nodiscard]] virtual bool reaches(const wire::EndpointName& name) const noexcept = 0;
    // Does this process itself listen at the address and port of a contact? Of addresses that its name does not tell. Any thread.
    [[nodiscard]] virtual bool listens_at(const wire::EndpointName& /*contact*/) const noexcept { return false; }
    // After open(), at which of these it listens: wire::kAtLocalhostV4 and its like.
    [[nodiscard]] virtual std::uint64_t listens_unnamed() const noexcept { return 0; }

    // Start opening a link; ends in on_link_up() or on_link_down(), never before this call returned. Fails at once only for lack of resources.
    [[nodiscard]] virtual Result<LinkId> connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept = 0;

    // Give packets to the peer's lane link, in order. A short count, or all_written false, means: stop, on_writable() will come.
    [[nodiscard]] virtual SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept = 0;

    // With caps().at_once: one packet, as send_lane() takes it with LanePacket::at_once, on the way of the many. `head` lies in memory of which
    // NextWrite::kPlaceBytes can be read. Nowhere next: nothing happened, and send_lane() does it or says why not.
    [[nodiscard]] virtual NextWrite send_now(LinkId, std::span<const std::byte> /*head*/, std::span<const std::byte> /*payload*/) noexcept { return {}; }

    // Send one bulk packet, while others are on their way or after them; head and payload are borrowed until on_bulk_sent(cookie). kOk: written already,
    // no on_bulk_sent() will come; kInProgress: it will; kAgain: the link is full, nothing taken, on_writable() will come; kPeerDown.
    [[nodiscard]] virtual Status send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept = 0;

    // The peer has said on the lane that this very link delivered all of the packet that send_bulk() took as kInProgress with this cookie; that it has the
    // bytes by another link is not enough. True: the packet is the caller's again, no on_bulk_sent() will come for it, and where the link was full it has
    // room now. False: that is still to come. Token held.
    [[nodiscard]] virtual bool bulk_over(LinkId, const void*) noexcept { return false; }
    // It may be known by now where the bulk packet goes that was to come later. Token held; any lock may be, so nothing is called from here.
    virtual void resume_bulk(LinkId) noexcept {}

    // Memory instead of packets, where the system lets one process read another's. offer(): the peer of this lane link may read `bytes` of ours, which the
    // caller tells it and keeps until it answers; false: it cannot, or they go better in packets. `alone`: we shall not be there to send these. Threads as for
    // send_lane().
    [[nodiscard]] virtual bool offer(LinkId, std::size_t, bool alone) noexcept { return static_cast<void>(alone), false; }
    // Copies `bytes` at `address` of the peer's memory, which it offered, to `to`. Token held, also from inside a sink call. kOk: all is there. Else
    // what `to` holds now means nothing, and it must come in another way: kUnsupported, kPeerDown, kIo.
    [[nodiscard]] virtual Status read(LinkId, std::byte*, std::uint64_t, std::size_t) noexcept { return Status::kUnsupported; }

    // The same for a long range, which is copied while other things go on: kInProgress, and sink.on_read_end(cookie) says how it ended, never before this call
    // returned. Else nothing happened: kUnsupported (also: read() does it), kAgain: too many are being read. `alone`: hardly anybody waits meanwhile.
    [[nodiscard]] virtual Status begin_read(LinkId, std::byte*, std::uint64_t, std::size_t, void* /*cookie*/, bool /*alone*/) noexcept
    {
        return Status::kUnsupported;
    }

    // For how long the peer of this link has left a question of the link's own without any answer; zero: none is open, or caps().told_of_death. Token held,
    // and perhaps a lock of the sink's.
    [[nodiscard]] virtual Nanos unanswered(LinkId) noexcept { return Nanos{0}; }

    // Of what this link has sent, how much the network lost, as far as what was sent once more tells. Only where caps().lost_frame is not zero; else nothing is
    // sent. Asked rarely: it may be a system call. Threads as for send_lane().
    struct Losses {
        std::uint64_t frames{0};      // sent, since the link came up
        std::uint64_t again{0};       // of these, sent once more
        std::size_t frame_bytes{0};   // payload of a full one
    };
    [[nodiscard]] virtual Losses losses(LinkId) noexcept { return {}; }

    // Fence and close a link or attempt: no sink call for it comes after this returns, except that borrowed bulk packets come back through
    // on_bulk_sent(ok = false) first, a packet in landing through on_packet_end/on_bulk_end(ok = false), and what is being read by on_read_end(). Token held.
    virtual void drop(LinkId link) noexcept = 0;

    // Close everything, likewise. After it no sink call ever happens. Token held.
    virtual void shutdown() noexcept = 0;
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ShmTransport: receiving. A short packet is copied and handed up; of a longer one the head is, and its payload goes from the ring, or out of the sender's
// memory, to where the sink wants it.
//
// Every head is copied before it is looked at: what lies in the ring may change under our eyes.
#include <algorithm>
#include <cstring>

#include "sys/error.h"
#include "transport/shm/shm_transport.h"

namespace linnet::shm {

namespace {

using Peek = RingReader::Peek;

// Looks of a few cycles each: about the time in which a sender that has its core writes a piece.
constexpr unsigned kLooksForPiece = 256;

// After so many bytes of one link in a pass the others have their turn.
constexpr std::size_t kPassBytes = 512 * 1024;
constexpr std::size_t kEagerHead = sizeof(wire::PacketHead) + sizeof(wire::TagHeader);
constexpr unsigned kPassShort = kPassBytes / kInlineBytes;

// Copies all of a record's bytes, which fit.
std::size_t gather(const RingReader::Record& record, std::span<std::byte> to) noexcept
{
    constexpr std::size_t kFirstLine = kCacheLine - sizeof(std::uint64_t);
    if (record.inline_bytes.size() <= kFirstLine) {   // most are: a fixed size is copied by a few instructions
        std::memcpy(to.data(), record.inline_bytes.data(), kFirstLine);
    } else {
        std::memcpy(to.data(), record.inline_bytes.data(), kInlineBytes);
    }
    const std::size_t room = to.size() - record.inline_bytes.size();
    const std::size_t more = std::min(record.data.size(), room);
    if (more != 0) {
        std::memcpy(to.data() + record.inline_bytes.size(), record.data.data(), more);
    }
    return record.inline_bytes.size() + more;
}

}   // namespace

void ShmTransport::nonsense(Link& link, const char* what) noexcept
{
    rx_counters_.add(Counter::kProtocolErrors);
    end_link(link, true, Status::kProtocol, describe(link, what, 0));
}

void ShmTransport::tell_room(Link& link) noexcept
{
    TxScope tx_scope{link, TxScope::Who::kPoller};
    if (link.tx.id == link.id) {
        link.tx.bells->set(link.tx.bell);
        ring_bell(link.tx);
    }
}

// Most records of a lane are whole packets in place: up to `most` of these.
unsigned ShmTransport::receive_short(Link& link, unsigned most) noexcept
{
    const LinkId id = link.id;
    const PeerId peer = link.peer;
    std::size_t bytes = 0;
    unsigned done = 0;
    while (done < most) {
        const std::size_t n = link.rx.ring.copy_inline(kStart, whole_.data());
        const wire::PacketHead& head = wire::head_of(whole_);
        if (n < sizeof head || head.body_bytes.get() != n - sizeof head || !wire::lane_head_ok(head)) {
            break;
        }
        link.rx.ring.advance_inline();
        tell_sanitizer_received();
        bytes += n;
        ++done;
        sink_->on_packet(id, peer, {whole_.data(), n});
        if (link.id != id) [[unlikely]] {
            break;
        }
        if (link.rx.ring.publish_if_due()) [[unlikely]] {
            tell_room(link);
        }
    }
    moved_ += bytes;
    rx_counters_.add(Counter::kShmRxBytes, bytes);
    return done;
}

unsigned ShmTransport::receive(Link& link, unsigned budget) noexcept
{
    const LinkId id = link.id;
    const unsigned most = std::max(budget, 1u);
    unsigned done = 0;
    unsigned looks = 0;
    std::size_t bytes = 0;
    RingReader::Record record;
    while ((done < most || link.rx.in_body) && bytes < kPassBytes) {
        if (link.role == LinkRole::kLane && !link.rx.in_body) {
            const unsigned n = receive_short(link, std::min(most - done, kPassShort));
            done += n;
            bytes += n * kInlineBytes;
            if (done == most || link.id != id) {
                return done;
            }
        }
        const Peek peek = link.rx.ring.peek(record);
        if (peek == Peek::kNone) {
            if (link.rx.in_body && ++looks < kLooksForPiece) {
                continue;   // the next piece is being written right now
            }
            break;
        }
        tell_sanitizer_received();
        looks = 0;
        ++done;
        if (peek == Peek::kBroken) {
            nonsense(link, "found nonsense in its ring");
            return done;
        }
        const std::size_t size = record.inline_bytes.size() + record.data.size();
        bytes += size;
        moved_ += size;
        rx_counters_.add(Counter::kShmRxBytes, size);
        if (record.kind == kMore) {
            body_record(link, record);
        } else if (link.rx.in_body) {
            nonsense(link, "received a packet within another");
        } else if (record.kind == kStart && link.role == LinkRole::kLane) {
            lane_record(link, record);
        } else if (record.kind == kStart) {
            bulk_record(link, record);
        } else if (record.kind == kPull && link.role == LinkRole::kBulk) {
            pull_record(link, record);
            bytes = kPassBytes;
        } else {
            nonsense(link, "received a record of an unknown kind");
        }
        if (link.id != id) {
            return done;
        }
        if (link.rx.ring.publish_if_due()) {
            tell_room(link);
        }
    }
    return done;
}

// Is it a short eager packet, its heads in place and its payload beside? Then its heads are in whole_ now.
bool ShmTransport::in_two(const RingReader::Record& record) noexcept
{
    if (record.inline_bytes.size() != kEagerHead || record.data.empty() || record.data.size() > kAtOnceMax) {
        return false;
    }
    std::memcpy(whole_.data(), record.inline_bytes.data(), kEagerHead);
    const wire::PacketHead& head = wire::head_of(whole_);
    return head.kind == wire::PacketKind::kEager && wire::lane_head_ok(head) && head.body_bytes.get() - sizeof(wire::TagHeader) == record.data.size();
}

void ShmTransport::lane_record(Link& link, const RingReader::Record& record) noexcept
{
    if (in_two(record)) {
        link.rx.ring.advance(record);
        sink_->on_packet_in_two(link.id, link.peer, {whole_.data(), kEagerHead}, record.data);
        return;
    }
    const std::size_t here = gather(record, whole_);
    wire::PacketHead head;
    std::memcpy(&head, whole_.data(), sizeof head);
    const std::size_t total = sizeof head + head.body_bytes.get();
    const std::size_t size = record.inline_bytes.size() + record.data.size();
    if (here < sizeof head || !wire::lane_head_ok(head) || total > kLanePacketMax || size > total) {
        nonsense(link, "received what is no packet");
        return;
    }
    if (size == total && total <= whole_.size()) {
        link.rx.ring.advance(record);
        sink_->on_packet(link.id, link.peer, {whole_.data(), total});
        return;
    }
    const std::size_t head_bytes = sizeof head + static_cast<std::size_t>(wire::kind_header_bytes(head.kind));
    if (here < head_bytes) {
        nonsense(link, "received a torn head");
        return;
    }
    const LinkId id = link.id;
    const Landing landing = sink_->on_packet_begin(id, link.peer, {whole_.data(), head_bytes}, total - head_bytes);
    if (link.id != id) {
        return;   // and its ring is gone
    }
    Rx& rx = link.rx;
    rx.landing = landing;
    rx.landed = 0;
    rx.body_left = total - head_bytes;
    rx.in_body = true;
    const std::size_t in_place = std::min(head_bytes, record.inline_bytes.size());
    land(rx, record.inline_bytes.subspan(in_place));
    land(rx, record.data.subspan(head_bytes - in_place));
    rx.ring.advance(record);
    if (rx.body_left == 0) {
        end_body(link);
    }
}

void ShmTransport::bulk_record(Link& link, const RingReader::Record& record) noexcept
{
    wire::BulkHead head;
    bool good = record.inline_bytes.size() >= sizeof head;
    if (good) {
        std::memcpy(&head, record.inline_bytes.data(), sizeof head);
        good = wire::bulk_head_ok(head) && record.inline_bytes.size() - sizeof head + record.data.size() <= head.body_bytes.get();
    }
    if (!good) {
        nonsense(link, "received what is no bulk packet");
        return;
    }
    const LinkId id = link.id;
    const Landing landing = sink_->on_bulk_begin(id, link.peer, head);
    if (link.id != id) {
        return;
    }
    Rx& rx = link.rx;
    rx.landing = landing;
    rx.landed = 0;
    rx.body_left = head.body_bytes.get();
    rx.in_body = true;
    land(rx, record.inline_bytes.subspan(sizeof head));
    land(rx, record.data);
    rx.ring.advance(record);
    if (rx.body_left == 0) {
        end_body(link);
    }
}

void ShmTransport::body_record(Link& link, const RingReader::Record& record) noexcept
{
    Rx& rx = link.rx;
    if (!rx.in_body || record.data.empty() || !record.inline_bytes.empty() || record.data.size() > rx.body_left) {
        nonsense(link, "received what belongs to no packet");
        return;
    }
    land(rx, record.data);
    rx.ring.advance(record);
    if (rx.body_left == 0) {
        end_body(link);
    }
}

// Only we write to `to`, and whoever copies for us until wait() returned; so a sender that dies or gives the link up meanwhile can spoil the bytes, not the
// memory; then they do not count. They cannot be somebody else's: RemoteProcess sees to that. The link cannot end before: that is for the holder of the
// token, us.
Status ShmTransport::read_peer(Link& link, std::byte* to, std::uint64_t address, std::size_t bytes) noexcept
{
    CopyJob job{bytes};
    CopyPiece piece;
    copy_.submit(job, piece, to, CopySource::of(link.process, address), bytes);
    return was_read(link, copy_.wait(job), to, address, bytes);
}

// What came of a copy that is over.
Status ShmTransport::was_read(Link& link, Status copied, std::byte* to, std::uint64_t address, std::size_t bytes) noexcept
{
    int error = 0;
    if (copied != Status::kOk) {
        error = link.process.read(to, address, bytes).error;   // an engine says that it could not; the same once more says why, or has the bytes
    }
    const std::atomic<std::uint32_t>& closed = link.head().closed[static_cast<std::size_t>(other(link.side))].value;
    // Is it the bytes that cannot be read, or the process that is gone? Where another has its number now the error may be any.
    if (closed.load(std::memory_order_seq_cst) != 0 || (error != 0 && !link.process.readable())) {
        return Status::kPeerDown;
    }
    if (error != 0) {
        LINNET_LOG(log_, kDebug, "shm: cannot read %zu bytes of process %u: %s", bytes, link.process.pid(), errno_text(error));
        return Status::kIo;
    }
    moved_ += bytes;
    rx_counters_.add(Counter::kShmRxBytes, bytes);
    rx_counters_.add(Counter::kShmPulledBytes, bytes);
    return Status::kOk;
}

Status ShmTransport::read(LinkId id, std::byte* to, std::uint64_t address, std::size_t bytes) noexcept
{
    RoleScope token{token_};
    Link* const link = links_.find(id);
    return link != nullptr && link->up() && link->we_pull ? read_peer(*link, to, address, bytes) : Status::kUnsupported;
}

void ShmTransport::pull_record(Link& link, const RingReader::Record& record) noexcept
{
    wire::BulkHead head;
    PullTail tail;
    if (record.inline_bytes.size() != sizeof head + sizeof tail || !record.data.empty() || !link.we_pull) {
        nonsense(link, "was asked to read its memory, but not properly");
        return;
    }
    std::memcpy(&head, record.inline_bytes.data(), sizeof head);
    std::memcpy(&tail, record.inline_bytes.data() + sizeof head, sizeof tail);
    if (!wire::bulk_head_ok(head)) {
        nonsense(link, "received what is no bulk packet");
        return;
    }
    const LinkId id = link.id;
    const Landing landing = sink_->on_bulk_begin(id, link.peer, head);
    if (link.id != id) {
        return;
    }
    Rx& rx = link.rx;
    rx.landing = landing;
    rx.landed = 0;
    rx.in_body = true;
    const std::size_t bytes = std::min<std::size_t>(landing.room, head.body_bytes.get());
    if (bytes != 0) {
        const Status read = read_peer(link, landing.to, tail.address.get(), bytes);
        if (read != Status::kOk) {
            if (read == Status::kIo) {   // memory that cannot be read so, or a permission withdrawn: copy twice from now on
                pulls_.store(false, std::memory_order_relaxed);
            }
            const char* const what = read == Status::kIo ? "cannot read its memory, and shall not try again" : "it was gone while its memory was read";
            fail_link(link, Status::kPeerDown, 0, what);
            return;
        }
        rx.landed = bytes;
    }
    rx.ring.advance(record);
    if (rx.ring.publish()) {   // at once: the sender waits for its memory
        tell_room(link);
    }
    end_body(link);
}

void ShmTransport::land(Rx& rx, std::span<const std::byte> bytes) noexcept
{
    const std::size_t n = std::min(bytes.size(), rx.landing.room - rx.landed);
    if (n != 0) {
        std::memcpy(rx.landing.to + rx.landed, bytes.data(), n);
    }
    rx.landed += n;
    rx.body_left -= bytes.size();   // the caller saw to it that this is not more
}

void ShmTransport::end_body(Link& link) noexcept
{
    Rx& rx = link.rx;
    rx.in_body = false;
    if (link.role == LinkRole::kLane) {
        sink_->on_packet_end(link.id, link.peer, rx.landing.cookie, rx.landed, true);
    } else {
        sink_->on_bulk_end(link.id, link.peer, rx.landing.cookie, rx.landed, true);
    }
}

}   // namespace linnet::shm

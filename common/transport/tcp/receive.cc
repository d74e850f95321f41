// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TcpTransport: receiving. Small packets are handed up from the read buffer; what is longer is read where the sink wants it.
//
// One read serves both: [rest of the packet in landing][bytes ahead]. The second piece brings the next header along, so that a stream of packets costs one
// system call for each. A read that returns less than was asked for has emptied the socket: no second call says so.
#include <algorithm>
#include <cstring>
#include <span>

#include "transport/tcp/tcp_transport.h"

namespace linnet::tcp {

namespace {

// A packet of which this much is missing is read into its landing; a nearly complete one is cheaper to finish in the buffer.
constexpr std::size_t kLandingMin = 2048;
// After a packet of this size others as long are expected: only a header is then read ahead, so that the rest goes where the sink wants it without a
// copy. Until so many short ones came in between: grants and the like always do, while a burst of short packets should be read in large calls again.
constexpr std::size_t kLongPacket = 16 * 1024;
constexpr std::uint8_t kLongMemory = 8;
constexpr std::size_t kShortAhead = 1024;
// One read into a landing: large enough to make the call cheap, small enough to stay in the second-level cache.
constexpr std::size_t kReadChunk = 512 * 1024;
// After so many bytes of one link in a pass the others have their turn.
constexpr std::size_t kPassBytes = 1024 * 1024;
constexpr std::size_t kScratchBytes = 64 * 1024;

}   // namespace

bool TcpTransport::take_buffer(Rx& rx) noexcept
{
    if (free_buffers_.empty()) {
        try {
            free_buffers_.reserve(buffers_.size() + 1);   // all may come back at once
            buffers_.reserve(buffers_.size() + 1);
            buffers_.push_back(std::make_unique_for_overwrite<std::byte[]>(kBufferBytes));
        } catch (const std::bad_alloc&) {
            return false;
        }
        free_buffers_.push_back(buffers_.back().get());
        rx_counters_.add(Counter::kPoolGrowths);
    }
    rx.ahead = free_buffers_.back();
    free_buffers_.pop_back();
    rx.capacity = kBufferBytes;
    rx.begin = rx.end = 0;
    return true;
}

void TcpTransport::return_buffer(Rx& rx) noexcept
{
    if (rx.capacity == kBufferBytes) {
        free_buffers_.push_back(rx.ahead);
        rx.ahead = nullptr;
        rx.capacity = rx.begin = rx.end = 0;
    }
}

// `asked` becomes what the call could have returned at most.
IoResult TcpTransport::read_some(Link& link, std::size_t& asked) noexcept
{
    Rx& rx = link.rx;
    std::array<iovec, 3> pieces;
    unsigned count = 0;
    std::size_t ahead_from = rx.end;
    asked = 0;
    if (rx.in_body) {
        const std::size_t want = std::min(rx.body_left, kReadChunk);
        const std::size_t room = std::min(want, rx.landing.room - rx.landed);
        const std::size_t unwanted = std::min(want - room, kScratchBytes);
        if (room != 0) {
            pieces[count++] = {rx.landing.to + rx.landed, room};
        }
        if (unwanted != 0) {
            pieces[count++] = {scratch_.get(), unwanted};
        }
        asked = room + unwanted;
        ahead_from = asked == rx.body_left ? 0 : rx.capacity;   // the next header comes only after the whole packet
    } else if (rx.begin == rx.end) {
        rx.begin = rx.end = 0;
        ahead_from = 0;
    } else if (rx.begin != 0) {
        std::memmove(rx.ahead, rx.ahead + rx.begin, rx.end - rx.begin);   // less than a packet of kLandingMin, or a header
        rx.end -= rx.begin;
        rx.begin = 0;
        ahead_from = rx.end;
    }
    if (ahead_from < rx.capacity) {
        const std::size_t ahead = rx.expect_long != 0 ? std::min(rx.capacity - ahead_from, kShortAhead) : rx.capacity - ahead_from;
        pieces[count++] = {rx.ahead + ahead_from, ahead};
        asked += ahead;
    }
    rx_counters_.add(Counter::kTcpRxCalls);
    return count == 1 ? socket_receive(link.fd.get(), static_cast<std::byte*>(pieces[0].iov_base), pieces[0].iov_len)
                      : socket_receive(link.fd.get(), std::span{pieces}.first(count));
}

unsigned TcpTransport::receive(Link& link, unsigned budget) noexcept
{
    const LinkId id = link.id;
    Rx& rx = link.rx;
    unsigned done = 0;
    std::size_t bytes = 0;
    if (link.role == LinkRole::kBulk && !rx.in_body && rx.end - rx.begin == sizeof(wire::BulkHead)) {   // its packet was to come later
        done = parse_bulk(link);
    }
    while (link.id == id && !rx.waits && done < std::max(budget, 1u) && bytes < kPassBytes) {
        if (rx.ahead == nullptr && !take_buffer(rx)) {
            return done;   // no memory now; the data waits in the socket
        }
        std::size_t asked = 0;
        const IoResult r = read_some(link, asked);
        if (r.error == EINTR) {
            continue;
        }
        if (r.would_block()) {
            break;
        }
        if (r.error != 0 || r.bytes == 0) {
            fail_link(link, r.error, r.error != 0 ? "receiving failed" : "closed by the peer");
            return done + 1;
        }
        bytes += r.bytes;
        rx_counters_.add(Counter::kTcpRxBytes, r.bytes);
        done += std::max(arrived(link, r.bytes), 1u);
        if (link.id != id) {
            return done;
        }
        if (r.bytes < asked) {
            break;
        }
    }
    if (rx.begin == rx.end && link.role == LinkRole::kLane) {
        return_buffer(rx);
    }
    return done;
}

// `bytes` came in by read_some(). Returns the number of packets that they completed.
unsigned TcpTransport::arrived(Link& link, std::size_t bytes) noexcept
{
    Rx& rx = link.rx;
    const LinkId id = link.id;
    unsigned done = 0;
    if (rx.in_body) {
        const std::size_t body = std::min(bytes, rx.body_left);
        rx.landed += std::min(body, rx.landing.room - rx.landed);
        rx.body_left -= body;
        if (rx.body_left != 0) {
            return 0;
        }
        rx.begin = 0;
        rx.end = static_cast<std::uint32_t>(bytes - body);
        end_body(link, true);
        done = 1;
        if (link.id != id) {
            return done;
        }
    } else {
        rx.end += static_cast<std::uint32_t>(bytes);
    }
    return done + (link.role == LinkRole::kLane ? parse_lane(link) : parse_bulk(link));
}

unsigned TcpTransport::parse_lane(Link& link) noexcept
{
    Rx& rx = link.rx;
    const LinkId id = link.id;
    unsigned done = 0;
    while (rx.end - rx.begin >= sizeof(wire::PacketHead)) {
        const std::size_t have = rx.end - rx.begin;
        const std::byte* const at = rx.ahead + rx.begin;
        wire::PacketHead head;
        std::memcpy(&head, at, sizeof head);
        const std::size_t total = sizeof head + head.body_bytes.get();
        if (!wire::lane_head_ok(head) || total > caps().lane_packet_max) {
            rx_counters_.add(Counter::kProtocolErrors);
            end_link(link, true, Status::kProtocol, describe(link, "received what is no packet", 0, {}));
            return done;
        }
        rx.expect_long = total >= kLongPacket ? kLongMemory : static_cast<std::uint8_t>(rx.expect_long - (rx.expect_long != 0 ? 1 : 0));
        if (have >= total) {
            rx.begin += static_cast<std::uint32_t>(total);
            ++done;
            sink_->on_packet(id, link.peer, {at, total});
            if (link.id != id) {
                return done;
            }
            continue;
        }
        const std::size_t head_bytes = sizeof head + static_cast<std::size_t>(wire::kind_header_bytes(head.kind));
        if (have < head_bytes || (total - have < kLandingMin && total <= rx.capacity)) {
            break;
        }
        const Landing landing = sink_->on_packet_begin(id, link.peer, {at, head_bytes}, total - head_bytes);
        if (link.id == id) {
            rx.begin = rx.end = 0;
            begin_body(link, landing, total - head_bytes, {at + head_bytes, have - head_bytes});
        }
        return done;
    }
    return done;
}

unsigned TcpTransport::parse_bulk(Link& link) noexcept
{
    Rx& rx = link.rx;
    const LinkId id = link.id;
    unsigned done = 0;
    while (rx.end - rx.begin == sizeof(wire::BulkHead)) {   // `ahead` holds no more than one head
        wire::BulkHead head;
        std::memcpy(&head, rx.ahead, sizeof head);
        if (!wire::bulk_head_ok(head)) {
            rx_counters_.add(Counter::kProtocolErrors);
            end_link(link, true, Status::kProtocol, describe(link, "received what is no bulk packet", 0, {}));
            return done;
        }
        const Landing landing = sink_->on_bulk_begin(id, link.peer, head);
        if (link.id != id) {
            return done;
        }
        rx.waits = landing.later;
        if (rx.waits) {
            return done;
        }
        rx.begin = rx.end = 0;
        begin_body(link, landing, head.body_bytes.get(), {});
        if (rx.body_left == 0) {
            ++done;
            end_body(link, true);
        }
        return done;
    }
    return done;
}

// `here`: what of the payload arrived together with the head.
void TcpTransport::begin_body(Link& link, const Landing& landing, std::size_t payload_bytes, std::span<const std::byte> here) noexcept
{
    Rx& rx = link.rx;
    rx.landing = landing;
    rx.landed = std::min(here.size(), landing.room);
    rx.body_left = payload_bytes - here.size();
    rx.in_body = true;
    if (rx.landed != 0) {
        std::memcpy(landing.to, here.data(), rx.landed);
    }
}

void TcpTransport::end_body(Link& link, bool ok) noexcept
{
    Rx& rx = link.rx;
    rx.in_body = false;
    set_low_water(link, 1);
    const Landing landing = rx.landing;
    if (link.role == LinkRole::kLane) {
        sink_->on_packet_end(link.id, link.peer, landing.cookie, rx.landed, ok);
    } else {
        sink_->on_bulk_end(link.id, link.peer, landing.cookie, rx.landed, ok);
    }
}

}   // namespace linnet::tcp

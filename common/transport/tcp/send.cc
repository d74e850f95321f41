// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TcpTransport: sending. One system call for a batch; what the socket does not take is remembered by pointer.
#include <algorithm>
#include <span>

#include "transport/tcp/tcp_transport.h"

namespace linnet::tcp {

namespace {

constexpr unsigned kPieces = 64;

void add_piece(std::array<iovec, kPieces>& pieces, unsigned& count, std::span<const std::byte> bytes) noexcept
{
    if (bytes.empty()) {
        return;
    }
    if (count != 0) {
        iovec& last = pieces[count - 1];
        if (static_cast<const std::byte*>(last.iov_base) + last.iov_len == bytes.data()) {   // packets of one ring: fewer pieces, cheaper call
            last.iov_len += bytes.size();
            return;
        }
    }
    pieces[count++] = {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

// What is left of two spans after `skip` bytes.
unsigned rest_of(std::array<iovec, 2>& rest, std::span<const std::byte> a, std::span<const std::byte> b, std::size_t skip) noexcept
{
    unsigned n = 0;
    for (const std::span<const std::byte> s : {a, b}) {
        const std::size_t gone = std::min(skip, s.size());
        skip -= gone;
        if (gone < s.size()) {
            rest[n++] = {const_cast<std::byte*>(s.data()) + gone, s.size() - gone};
        }
    }
    return n;
}

std::span<const std::byte> piece(const iovec& v) noexcept { return {static_cast<const std::byte*>(v.iov_base), v.iov_len}; }

IoResult send_all(int fd, std::span<const iovec> pieces) noexcept
{
    IoResult r;
    do {
        r = socket_send(fd, pieces);
    } while (r.error == EINTR);
    return r;
}

}   // namespace

void TcpTransport::wait_for_room(Link& link) noexcept
{
    link.tx.notify = true;
    if (!link.tx.armed) {
        link.tx.armed = true;
        writers_waiting_.fetch_add(1, std::memory_order_relaxed);
        static_cast<void>(epoll_.modify(link.tx.fd, EPOLLIN | EPOLLOUT, link.tx.id.value, log_));
    }
}

// The poller will see the end of stream that this causes, and ends the link with the errno kept here.
void TcpTransport::send_broke(Link& link, int error) noexcept
{
    if (link.tx.error == 0) {
        link.tx.error = error;
        socket_shutdown(link.tx.fd);
    }
}

Transport::Losses TcpTransport::losses(LinkId id) noexcept
{
    Link* const link = links_.slot_of(id);
    if (link == nullptr) {
        return {};
    }
    MutexLock lock{link->tx_lock};
    if (link->tx.id != id || link->tx.error != 0) {
        return {};
    }
    const TcpSent sent = tcp_sent(link->tx.fd);
    return {sent.segments, sent.again, sent.segment_bytes};
}

SendResult TcpTransport::send_lane(LinkId id, std::span<const LanePacket> batch) noexcept
{
    SendResult result;
    Link* const link = links_.slot_of(id);
    if (link == nullptr) {
        result.down = true;
        return result;
    }
    MutexLock lock{link->tx_lock};
    Tx& tx = link->tx;
    if (tx.id != id || tx.error != 0) {
        result.down = true;
        return result;
    }
    if (tx.pieces != 0) {
        tx.notify = true;
        return result;   // armed already
    }
    result.all_written = true;
    while (result.taken < batch.size()) {
        std::array<iovec, kPieces> pieces;
        unsigned count = 0;
        std::size_t asked = 0;
        std::size_t last = result.taken;
        for (; last < batch.size() && count + 2 <= kPieces; ++last) {
            add_piece(pieces, count, batch[last].head);
            add_piece(pieces, count, batch[last].payload);
            asked += batch[last].head.size() + batch[last].payload.size();
        }
        const IoResult r = send_all(tx.fd, std::span{pieces}.first(count));
        tx_counters_.add_shared(Counter::kTcpTxCalls);
        tx_counters_.add_shared(Counter::kTcpTxBytes, r.bytes);
        if (r.error != 0 && !r.would_block()) {
            send_broke(*link, r.error);
            return {0, false, true};
        }
        if (r.bytes == asked) {
            result.taken = last;
            continue;
        }
        // The socket is full. Packets before the cut are gone; the one that was cut stays with us.
        std::size_t written = r.bytes;
        for (; result.taken < last; ++result.taken) {
            const LanePacket& p = batch[result.taken];
            const std::size_t size = p.head.size() + p.payload.size();
            if (written < size) {
                break;
            }
            written -= size;
        }
        if (written != 0) {
            const LanePacket& cut = batch[result.taken++];
            tx.pieces = rest_of(tx.rest, cut.head, cut.payload, written);
            result.all_written = false;
        }
        wait_for_room(*link);
        return result;
    }
    return result;
}

Status TcpTransport::send_bulk(LinkId id, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    Link* const link = links_.slot_of(id);
    if (link == nullptr) {
        return Status::kPeerDown;
    }
    MutexLock lock{link->tx_lock};
    Tx& tx = link->tx;
    if (tx.id != id || tx.error != 0) {
        return Status::kPeerDown;
    }
    if (tx.pieces != 0) {
        tx.notify = true;
        return Status::kAgain;
    }
    tx.bulk_head = head;
    const std::span<const std::byte> head_bytes = std::as_bytes(std::span{&tx.bulk_head, 1});
    tx.pieces = rest_of(tx.rest, head_bytes, payload, 0);
    const IoResult r = send_all(tx.fd, std::span{tx.rest}.first(tx.pieces));
    tx_counters_.add_shared(Counter::kTcpTxCalls);
    tx_counters_.add_shared(Counter::kTcpTxBytes, r.bytes);
    if (r.error != 0 && !r.would_block()) {
        tx.pieces = 0;
        send_broke(*link, r.error);
        return Status::kPeerDown;
    }
    tx.pieces = rest_of(tx.rest, head_bytes, payload, r.bytes);
    if (tx.pieces == 0) {
        return Status::kOk;
    }
    tx.cookie = cookie;
    tx.cookie_held = true;
    const bool owed = tx.notify;
    wait_for_room(*link);
    tx.notify = owed;   // on_bulk_sent() will do, unless somebody was refused
    return Status::kInProgress;
}

// The socket has room again: go on with what was begun, then let the sink go on.
unsigned TcpTransport::flush(Link& link) noexcept
{
    const LinkId id = link.id;
    void* cookie = nullptr;
    bool sent = false;
    bool notify = false;
    {
        MutexLock lock{link.tx_lock};
        Tx& tx = link.tx;
        if (tx.pieces != 0) {
            const IoResult r = send_all(tx.fd, std::span{tx.rest}.first(tx.pieces));
            tx_counters_.add_shared(Counter::kTcpTxCalls);
            tx_counters_.add_shared(Counter::kTcpTxBytes, r.bytes);
            if (r.error != 0 && !r.would_block()) {
                send_broke(link, r.error);
                return 1;
            }
            const std::span<const std::byte> first = piece(tx.rest[0]);
            const std::span<const std::byte> second = tx.pieces == 2 ? piece(tx.rest[1]) : std::span<const std::byte>{};
            tx.pieces = rest_of(tx.rest, first, second, r.bytes);
            if (tx.pieces != 0) {
                return 1;
            }
        }
        sent = std::exchange(tx.cookie_held, false);
        cookie = tx.cookie;
        notify = std::exchange(tx.notify, false);
    }
    const PeerId peer = link.peer;
    const LinkRole role = link.role;
    if (sent) {
        sink_->on_bulk_sent(peer, cookie, true);
    }
    if (notify && link.id == id) {
        sink_->on_writable(peer, role);
    }
    if (link.id != id) {
        return 1;
    }
    MutexLock lock{link.tx_lock};   // the sink may have filled the socket again; then epoll goes on watching
    if (link.tx.armed && link.tx.pieces == 0 && !link.tx.notify) {
        link.tx.armed = false;
        writers_waiting_.fetch_sub(1, std::memory_order_relaxed);
        static_cast<void>(epoll_.modify(link.tx.fd, EPOLLIN, id.value, log_));
    }
    return 1;
}

}   // namespace linnet::tcp

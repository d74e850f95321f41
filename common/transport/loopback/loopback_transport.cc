// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// LoopbackTransport: see loopback_transport.h.
#include "transport/loopback/loopback_transport.h"

#include <algorithm>
#include <cstring>
#include <new>

namespace linnet {

namespace {

// Packets up to this size are put together and handed up whole; longer ones are copied where the sink wants them.
constexpr std::size_t kWholeMax = 16 * 1024;

constexpr TransportCaps kCaps{
    .name = "loopback",
    .lane_packet_max = 128 * 1024,
    .separate_bulk = false,
    .direct_links = true,
    .latency = Nanos{100},
    .bytes_per_ns = 10.0,
    .told_of_death = true,
};

// Returns how much of it there is room for.
std::size_t copy_into(const Landing& landing, std::span<const std::byte> payload) noexcept
{
    const std::size_t n = std::min(landing.room, payload.size());
    if (n != 0) {
        std::memcpy(landing.to, payload.data(), n);
    }
    return n;
}

}   // namespace

const TransportCaps& LoopbackTransport::caps() const noexcept { return kCaps; }

Status LoopbackTransport::open(TransportSink& sink, wire::EndpointName& name) noexcept
{
    auto doorbell = EventFd::open(log_);
    if (!doorbell.ok()) {
        return doorbell.status();
    }
    whole_.reset(new (std::nothrow) std::byte[kWholeMax]);
    if (whole_ == nullptr) {
        return Status::kNoMemory;
    }
    doorbell_ = std::move(doorbell).value();
    sink_ = &sink;
    own_id_ = name.endpoint_id.get();
    return Status::kOk;
}

bool LoopbackTransport::reaches(const wire::EndpointName& name) const noexcept { return own_id_ != 0 && name.endpoint_id.get() == own_id_; }

// ---- the queue ----

LoopbackTransport::Link* LoopbackTransport::find(LinkId id) noexcept
{
    const auto it = std::find_if(links_.begin(), links_.end(), [id](const Link& l) { return l.id == id; });
    return it != links_.end() ? &*it : nullptr;
}

bool LoopbackTransport::alive(LinkId id) noexcept
{
    MutexLock lock{lock_};
    return find(id) != nullptr;
}

bool LoopbackTransport::push(const Item& item) noexcept
{
    try {
        queue_.push_back(item);
    } catch (const std::bad_alloc&) {
        return false;
    }
    to_do_.store(true, std::memory_order_release);
    if (asleep_) {
        asleep_ = false;
        rung_ = true;
        doorbell_.signal();
    }
    return true;
}

// The next item of a link that still lives, which is copied to `link`.
bool LoopbackTransport::pop(Item& item, Link& link) noexcept
{
    MutexLock lock{lock_};
    while (!queue_.empty()) {
        item = queue_.front();
        queue_.pop_front();
        Link* const l = find(item.link);
        if (l == nullptr) {
            continue;
        }
        l->up = true;
        if (item.kind == ItemKind::kLane || item.kind == ItemKind::kBulk) {
            --l->queued;
        } else if (item.kind == ItemKind::kWritable) {
            l->full = false;
        }
        link = *l;
        return true;
    }
    return false;
}

bool LoopbackTransport::prepare_sleep() noexcept
{
    MutexLock lock{lock_};
    asleep_ = queue_.empty();
    return asleep_;
}

void LoopbackTransport::finish_sleep() noexcept
{
    MutexLock lock{lock_};
    asleep_ = false;
}

// ---- links ----

Result<LinkId> LoopbackTransport::connect(PeerId peer, LinkRole role, const wire::EndpointName&) noexcept
{
    MutexLock lock{lock_};
    if (closed_) {
        return Status::kClosed;
    }
    Link link;
    link.id = LinkId{next_id_++};
    link.peer = peer;
    link.role = role;
    Item up;
    up.link = link.id;
    try {
        links_.push_back(link);
    } catch (const std::bad_alloc&) {
        return Status::kNoMemory;
    }
    if (!push(up)) {
        links_.pop_back();
        return Status::kNoMemory;
    }
    return link.id;
}

void LoopbackTransport::drop(LinkId id) noexcept
{
    PeerId peer{};
    {
        MutexLock lock{lock_};
        Link* const link = find(id);
        if (link == nullptr) {
            return;
        }
        peer = link->peer;
        links_.erase(links_.begin() + (link - links_.data()));
    }
    // One at a time: a copy of all would need memory, and the want of it may be why the link is dropped.
    Item item;
    const auto take = [&] {
        MutexLock lock{lock_};
        const auto at = std::find_if(queue_.begin(), queue_.end(), [id](const Item& i) { return i.link == id; });
        const bool found = at != queue_.end();
        if (found) {
            item = *at;
            queue_.erase(at);
        }
        return found;
    };
    while (take()) {
        if (item.kind == ItemKind::kBulk) {
            sink_->on_bulk_sent(peer, item.cookie, false);
        }
    }
}

void LoopbackTransport::shutdown() noexcept
{
    for (;;) {
        LinkId next{};
        {
            MutexLock lock{lock_};
            closed_ = true;
            if (links_.empty()) {
                return;
            }
            next = links_.back().id;
        }
        drop(next);
    }
}

// ---- sending ----

SendResult LoopbackTransport::send_lane(LinkId id, std::span<const LanePacket> batch) noexcept
{
    MutexLock lock{lock_};
    SendResult result;
    Link* const link = find(id);
    if (link == nullptr) {
        result.down = true;
        return result;
    }
    std::size_t bytes = 0;
    while (result.taken < batch.size() && link->queued < kMaxQueued) {
        Item item;
        item.kind = ItemKind::kLane;
        item.link = id;
        item.packet = batch[result.taken];
        if (!push(item)) {
            break;
        }
        ++link->queued;
        ++result.taken;
        bytes += item.packet.head.size() + item.packet.payload.size();
    }
    counters_.add_shared(Counter::kLoopbackTxBytes, bytes);
    // Nothing is written before poll() has handed it over; on_writable() then says so.
    Item writable;
    writable.kind = ItemKind::kWritable;
    writable.link = id;
    link->full = link->full || push(writable);
    return result;
}

Status LoopbackTransport::send_bulk(LinkId id, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    MutexLock lock{lock_};
    Link* const link = find(id);
    if (link == nullptr) {
        return Status::kPeerDown;
    }
    Item item;
    item.link = id;
    if (link->queued >= kMaxQueued) {
        item.kind = ItemKind::kWritable;
        link->full = link->full || push(item);
        return Status::kAgain;
    }
    item.kind = ItemKind::kBulk;
    item.bulk_head = head;
    item.payload = payload;
    item.cookie = cookie;
    if (!push(item)) {
        return Status::kAgain;
    }
    ++link->queued;
    counters_.add_shared(Counter::kLoopbackTxBytes, sizeof head + payload.size());
    return Status::kInProgress;
}

// ---- delivering ----

void LoopbackTransport::deliver_lane(const Item& item, PeerId peer) noexcept
{
    const std::span<const std::byte> head = item.packet.head;
    const std::span<const std::byte> payload = item.packet.payload;
    if (head.size() + payload.size() <= kWholeMax) {
        std::memcpy(whole_.get(), head.data(), head.size());
        if (!payload.empty()) {
            std::memcpy(whole_.get() + head.size(), payload.data(), payload.size());
        }
        sink_->on_packet(item.link, peer, {whole_.get(), head.size() + payload.size()});
        return;
    }
    wire::PacketHead packet;
    std::memcpy(&packet, head.data(), sizeof packet);
    const std::size_t head_bytes = sizeof packet + static_cast<std::size_t>(wire::kind_header_bytes(packet.kind));
    const std::span<const std::byte> packed = head.subspan(head_bytes);
    const Landing landing = sink_->on_packet_begin(item.link, peer, head.first(head_bytes), packed.size() + payload.size());
    if (alive(item.link)) {
        const std::size_t landed = copy_into(landing, packed);
        const Landing rest{landing.to + landed, landing.room - landed, landing.cookie};
        sink_->on_packet_end(item.link, peer, landing.cookie, landed + copy_into(rest, payload), true);
    }
}

void LoopbackTransport::deliver_bulk(const Item& item, PeerId peer) noexcept
{
    const Landing landing = sink_->on_bulk_begin(item.link, peer, item.bulk_head);
    if (!alive(item.link)) {
        sink_->on_bulk_sent(peer, item.cookie, false);
        return;
    }
    sink_->on_bulk_end(item.link, peer, landing.cookie, copy_into(landing, item.payload), true);
    sink_->on_bulk_sent(peer, item.cookie, true);
}

unsigned LoopbackTransport::poll(unsigned budget) noexcept
{
    if (!to_do_.load(std::memory_order_acquire)) {
        return 0;
    }
    unsigned done = 0;
    Item item;
    Link link;
    while (done < std::max(budget, 1u) && pop(item, link)) {
        ++done;
        switch (item.kind) {
            case ItemKind::kUp: sink_->on_link_up(link.id, link.peer, link.role); break;
            case ItemKind::kLane: deliver_lane(item, link.peer); break;
            case ItemKind::kBulk: deliver_bulk(item, link.peer); break;
            case ItemKind::kWritable: sink_->on_writable(link.peer, link.role); break;
        }
    }
    MutexLock lock{lock_};
    if (queue_.empty()) {
        to_do_.store(false, std::memory_order_relaxed);
        if (rung_) {
            rung_ = false;
            doorbell_.drain();
        }
    }
    return done;
}

}   // namespace linnet

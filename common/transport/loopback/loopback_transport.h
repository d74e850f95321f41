// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// LoopbackTransport: links from this process to itself; the reference implementation of transport/transport.h.
//
// What it is  A queue. What is sent on a link is handed to the sink of the same transport by the next poll(), on the same link: both of its ends are here,
//             so it comes up without a hello. Bulk packets go over the lane link, in order with the rest.
// Owner       core/. Sink and counters are borrowed and outlive it.
// Threads     As transport/transport.h says. Lock: lock_, a leaf, never held during a sink call.
// Blocking    Never.
// Failure     connect() and sends answer kNoMemory or a short count. A link ends only by drop() and shutdown().
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "base/log.h"
#include "stats/counters.h"
#include "sync/lock.h"
#include "sys/event_fd.h"
#include "transport/transport.h"

namespace linnet {

class LoopbackTransport final : public Transport {
public:
    LoopbackTransport(Log& log, Stats& stats) : log_{log}, counters_{stats.block(StatsRole::kAnyThread)} {}
    ~LoopbackTransport() override { shutdown(); }

    [[nodiscard]] const TransportCaps& caps() const noexcept override;
    // Remembers name.endpoint_id, by which reaches() knows ourselves; fills nothing.
    [[nodiscard]] Status open(TransportSink& sink, wire::EndpointName& name) noexcept override;
    [[nodiscard]] bool reaches(const wire::EndpointName& name) const noexcept override;
    [[nodiscard]] Result<LinkId> connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept override LINNET_EXCLUDES(lock_);
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override LINNET_EXCLUDES(lock_);
    [[nodiscard]] Status send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept override
        LINNET_EXCLUDES(lock_);
    void drop(LinkId link) noexcept override LINNET_EXCLUDES(lock_);
    void shutdown() noexcept override LINNET_EXCLUDES(lock_);

    // EventSource
    unsigned poll(unsigned budget) noexcept override LINNET_EXCLUDES(lock_);
    [[nodiscard]] int wait_descriptor() const noexcept override { return doorbell_.get(); }
    [[nodiscard]] bool prepare_sleep() noexcept override LINNET_EXCLUDES(lock_);
    void finish_sleep() noexcept override LINNET_EXCLUDES(lock_);

private:
    enum class ItemKind : std::uint8_t { kUp, kLane, kBulk, kWritable };
    struct Item {
        ItemKind kind{ItemKind::kUp};
        LinkId link{};
        LanePacket packet;
        wire::BulkHead bulk_head;
        std::span<const std::byte> payload;   // of a bulk packet
        void* cookie{nullptr};
    };
    struct Link {
        LinkId id{};
        PeerId peer{kNoPeer};
        LinkRole role{LinkRole::kLane};
        bool up{false};
        bool full{false};         // a send was cut short: kWritable is owed
        unsigned queued{0};
    };
    // A link may have so many packets in the queue before sends are cut short.
    static constexpr unsigned kMaxQueued = 256;

    [[nodiscard]] Link* find(LinkId id) noexcept LINNET_REQUIRES(lock_);
    [[nodiscard]] bool push(const Item& item) noexcept LINNET_REQUIRES(lock_);
    [[nodiscard]] bool pop(Item& item, Link& link) noexcept LINNET_EXCLUDES(lock_);
    [[nodiscard]] bool alive(LinkId id) noexcept LINNET_EXCLUDES(lock_);
    void deliver_lane(const Item& item, PeerId peer) noexcept;
    void deliver_bulk(const Item& item, PeerId peer) noexcept;

    Log& log_;
    Counters& counters_;
    TransportSink* sink_{nullptr};
    std::uint64_t own_id_{0};
    EventFd doorbell_;                      // rung only while the poller sleeps
    std::unique_ptr<std::byte[]> whole_;    // token holder: a packet put together for on_packet()

    mutable Mutex lock_;
    std::vector<Link> links_ LINNET_GUARDED_BY(lock_);
    std::deque<Item> queue_ LINNET_GUARDED_BY(lock_);
    // False: the queue is empty and the doorbell silent. Written under the lock; read without, so that a poll which finds nothing takes no lock.
    std::atomic<bool> to_do_{false};
    std::uint64_t next_id_ LINNET_GUARDED_BY(lock_){1};
    bool asleep_ LINNET_GUARDED_BY(lock_){false};   // the poller waits for the doorbell
    bool rung_ LINNET_GUARDED_BY(lock_){false};
    bool closed_ LINNET_GUARDED_BY(lock_){false};
};

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FaultyTransport: a transport that does, on purpose, everything that the contract allows: it takes fewer packets than it could, delays what it has to say,
// and kills links at the worst moments. What the contract forbids (loss, doubling, reordering within a link's life) it never does.
//
// Owner: a test. It stands between a transport and that transport's user: the user opens this one, this one opens the real one with itself as sink.
// Threads: as the transport's. Choices come from one seed.
#pragma once

#include <memory>
#include <mutex>
#include <random>
#include <vector>

#include "transport/transport.h"

namespace linnet::testing {

struct Faults {
    double short_send{0};    // chance that a send_lane() takes only a part of its batch, or nothing
    double refuse_bulk{0};   // chance that a send_bulk() says kAgain though there is room
    double lazy_poll{0};     // chance that a poll() does nothing, although there may be work
    double kill{0};          // chance, per packet or bulk packet that arrives, that its link dies right before
};

class FaultyTransport final : public Transport, private TransportSink {
public:
    FaultyTransport(std::unique_ptr<Transport> real, const Faults& faults, std::uint64_t seed) : real_{std::move(real)}, faults_{faults}, random_{seed} {}
    ~FaultyTransport() override { shutdown(); }

    [[nodiscard]] unsigned kills() const { return kills_; }
    [[nodiscard]] unsigned short_sends() const { return short_sends_; }
    void stop_killing() { faults_.kill = 0; }

    // Transport
    [[nodiscard]] const TransportCaps& caps() const noexcept override { return real_->caps(); }
    [[nodiscard]] Status open(TransportSink& sink, wire::EndpointName& name) noexcept override;
    [[nodiscard]] bool reaches(const wire::EndpointName& name) const noexcept override { return real_->reaches(name); }
    [[nodiscard]] bool listens_at(const wire::EndpointName& contact) const noexcept override { return real_->listens_at(contact); }
    [[nodiscard]] std::uint64_t listens_unnamed() const noexcept override { return real_->listens_unnamed(); }
    [[nodiscard]] Result<LinkId> connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept override
    {
        return real_->connect(peer, role, name);
    }
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override;
    [[nodiscard]] bool bulk_over(LinkId link, const void* cookie) noexcept override { return real_->bulk_over(link, cookie); }
    [[nodiscard]] NextWrite send_now(LinkId link, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept override
    {
        return happens(faults_.short_send) ? NextWrite{} : real_->send_now(link, head, payload);
    }
    [[nodiscard]] Status send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept override;
    void resume_bulk(LinkId link) noexcept override { real_->resume_bulk(link); }
    [[nodiscard]] Nanos unanswered(LinkId link) noexcept override { return real_->unanswered(link); }
    void drop(LinkId link) noexcept override;
    void shutdown() noexcept override;
    unsigned poll(unsigned budget) noexcept override;
    [[nodiscard]] int wait_descriptor() const noexcept override { return real_->wait_descriptor(); }
    [[nodiscard]] bool prepare_sleep() noexcept override;
    void finish_sleep() noexcept override { real_->finish_sleep(); }
    [[nodiscard]] TimePoint next_timer() const noexcept override { return real_->next_timer(); }

private:
    struct Up {
        LinkId link;
        PeerId peer;
        LinkRole role;
    };

    // TransportSink: passes on, unless the link is to die.
    std::size_t make_hello(LinkId link, PeerId peer, LinkRole role, std::span<std::byte> out) noexcept override
    {
        return sink_->make_hello(link, peer, role, out);
    }
    HelloVerdict on_hello(LinkId link, std::span<const std::byte> hello, const Caller& from, std::span<std::byte> reply) noexcept override
    {
        return sink_->on_hello(link, hello, from, reply);
    }
    HelloVerdict on_welcome(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> welcome, std::span<std::byte> confirm) noexcept override
    {
        return sink_->on_welcome(link, peer, role, welcome, confirm);
    }
    HelloVerdict on_confirm(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> confirm) noexcept override
    {
        return sink_->on_confirm(link, peer, role, confirm);
    }
    void on_link_up(LinkId link, PeerId peer, LinkRole role) noexcept override;
    void on_link_down(LinkId link, PeerId peer, LinkRole role, bool up, Status why, std::string_view text) noexcept override;
    void on_writable(PeerId peer, LinkRole role) noexcept override { sink_->on_writable(peer, role); }
    void on_packet(LinkId link, PeerId peer, std::span<const std::byte> packet) noexcept override;
    Landing on_packet_begin(LinkId link, PeerId peer, std::span<const std::byte> head, std::size_t payload_bytes) noexcept override;
    void on_packet_end(LinkId link, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept override
    {
        sink_->on_packet_end(link, peer, cookie, landed, ok);
    }
    Landing on_bulk_begin(LinkId link, PeerId peer, const wire::BulkHead& head) noexcept override;
    void on_bulk_end(LinkId link, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept override
    {
        sink_->on_bulk_end(link, peer, cookie, landed, ok);
    }
    void on_bulk_sent(PeerId peer, void* cookie, bool ok) noexcept override { sink_->on_bulk_sent(peer, cookie, ok); }

    [[nodiscard]] bool happens(double chance);
    void owe_writable(LinkId link);
    [[nodiscard]] bool is_up(LinkId link);
    void forget(LinkId link);
    // The link dies now, as if its connection had been reset; true when it did.
    bool kill(LinkId link) noexcept;

    std::unique_ptr<Transport> real_;
    TransportSink* sink_{nullptr};
    Faults faults_;
    std::mutex mutex_;               // the choices, the table and what is owed: senders are any threads
    std::mt19937_64 random_;
    std::vector<Up> up_;
    std::vector<LinkId> owed_;       // links on which a send was cut short by us
    unsigned kills_{0};
    unsigned short_sends_{0};
};

}   // namespace linnet::testing

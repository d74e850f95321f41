// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// AroundLoopback: the loopback transport, for tests that change or watch some of what it does.
#pragma once

#include <span>

#include "transport/loopback/loopback_transport.h"

namespace linnet::proto {

class AroundLoopback : public Transport {
public:
    explicit AroundLoopback(LoopbackTransport& inner) noexcept : inner_{inner} {}
    [[nodiscard]] const TransportCaps& caps() const noexcept override { return inner_.caps(); }
    [[nodiscard]] Status open(TransportSink& sink, wire::EndpointName& name) noexcept override { return inner_.open(sink, name); }
    [[nodiscard]] bool reaches(const wire::EndpointName& name) const noexcept override { return inner_.reaches(name); }
    [[nodiscard]] Result<LinkId> connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept override
    {
        return inner_.connect(peer, role, name);
    }
    [[nodiscard]] SendResult send_lane(LinkId link, std::span<const LanePacket> batch) noexcept override { return inner_.send_lane(link, batch); }
    [[nodiscard]] Status send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept override
    {
        return inner_.send_bulk(link, head, payload, cookie);
    }
    void drop(LinkId link) noexcept override { inner_.drop(link); }
    void shutdown() noexcept override { inner_.shutdown(); }
    unsigned poll(unsigned budget) noexcept override { return inner_.poll(budget); }
    [[nodiscard]] int wait_descriptor() const noexcept override { return inner_.wait_descriptor(); }

private:
    LoopbackTransport& inner_;
};

}   // namespace linnet::proto

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Port: forwards a transport's sink calls to the layer, with the session looked up.
#include "session/session_layer.h"

namespace linnet::session {

std::size_t Port::make_hello(LinkId link, PeerId peer, LinkRole role, std::span<std::byte> out) noexcept
{
    return layer_.make_hello(*this, link, peer, role, out);
}

HelloVerdict Port::on_hello(LinkId link, std::span<const std::byte> hello, const Caller& from, std::span<std::byte> reply) noexcept
{
    return layer_.on_hello(*this, link, hello, from, reply);
}

HelloVerdict Port::on_welcome(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> welcome, std::span<std::byte> confirm) noexcept
{
    return layer_.on_welcome(*this, link, peer, role, welcome, confirm);
}

HelloVerdict Port::on_confirm(LinkId link, PeerId peer, LinkRole role, std::span<const std::byte> confirm) noexcept
{
    return layer_.on_confirm(*this, link, peer, role, confirm);
}

void Port::on_link_up(LinkId link, PeerId peer, LinkRole role) noexcept { layer_.on_link_up(*this, link, peer, role); }

void Port::on_link_down(LinkId link, PeerId peer, LinkRole role, bool up, Status why, std::string_view text) noexcept
{
    layer_.on_link_down(*this, link, peer, role, up, why, text);
}

void Port::on_writable(PeerId peer, LinkRole role) noexcept { layer_.on_writable(peer, role); }

Landing Port::on_packet_begin(LinkId, PeerId peer, std::span<const std::byte> head, std::size_t payload_bytes) noexcept
{
    return layer_.on_packet_begin(*layer_.find(peer), head, payload_bytes);
}

void Port::on_packet_end(LinkId, PeerId peer, void* cookie, std::size_t, bool ok) noexcept
{
    layer_.on_packet_end(*layer_.find(peer), cookie, ok);
}

Landing Port::on_bulk_begin(LinkId, PeerId peer, const wire::BulkHead& head) noexcept
{
    Session& s = *layer_.find(peer);
    const Landing landing = s.down_reason() == Status::kOk ? layer_.sink_.on_bulk_begin(s, head) : Landing{};
    if (!landing.later) {   // else it is heard once, when it goes on
        ++s.heard_;
        ++s.bulk_heard_;
    }
    return landing;
}

std::size_t Port::bulk_awaited(PeerId peer) noexcept
{
    Session& s = *layer_.find(peer);
    return s.down_reason() == Status::kOk ? layer_.sink_.bulk_awaited(s) : 0;
}

void Port::on_bulk_end(LinkId, PeerId peer, void* cookie, std::size_t landed, bool ok) noexcept
{
    layer_.sink_.on_bulk_end(*layer_.find(peer), cookie, landed, ok);
}

void Port::on_read_end(PeerId peer, void* cookie, Status status) noexcept { layer_.sink_.on_read_end(*layer_.find(peer), cookie, status); }

Mutex* Port::send_lock(PeerId peer) noexcept { return &layer_.find(peer)->lock; }

void Port::on_bulk_sent(PeerId peer, void* cookie, bool ok) noexcept { layer_.sink_.on_bulk_sent(*layer_.find(peer), cookie, ok); }

}   // namespace linnet::session

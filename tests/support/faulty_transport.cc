// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FaultyTransport: see faulty_transport.h.
#include "support/faulty_transport.h"

#include <algorithm>

namespace linnet::testing {

Status FaultyTransport::open(TransportSink& sink, wire::EndpointName& name) noexcept
{
    sink_ = &sink;
    return real_->open(*this, name);
}

bool FaultyTransport::happens(double chance)
{
    const std::lock_guard lock{mutex_};
    return chance > 0 && std::uniform_real_distribution<double>{0, 1}(random_) < chance;
}

void FaultyTransport::owe_writable(LinkId link)
{
    const std::lock_guard lock{mutex_};
    ++short_sends_;
    if (std::find(owed_.begin(), owed_.end(), link) == owed_.end()) {
        owed_.push_back(link);
    }
}

bool FaultyTransport::is_up(LinkId link)
{
    const std::lock_guard lock{mutex_};
    return std::any_of(up_.begin(), up_.end(), [link](const Up& u) { return u.link == link; });
}

void FaultyTransport::forget(LinkId link)
{
    const std::lock_guard lock{mutex_};
    std::erase_if(up_, [link](const Up& u) { return u.link == link; });
    std::erase(owed_, link);
}

// ---- sending ----

SendResult FaultyTransport::send_lane(LinkId link, std::span<const LanePacket> batch) noexcept
{
    if (!happens(faults_.short_send)) {
        return real_->send_lane(link, batch);
    }
    std::size_t part = 0;
    {
        const std::lock_guard lock{mutex_};
        part = batch.empty() ? 0 : random_() % batch.size();
    }
    const SendResult r = real_->send_lane(link, batch.first(part));
    if (!r.down && r.taken == part && (r.all_written || part == 0)) {
        owe_writable(link);   // the real one has nothing to say about what it was not given
    }
    return r;
}

Status FaultyTransport::send_bulk(LinkId link, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    if (is_up(link) && happens(faults_.refuse_bulk)) {   // of one that is down the contract says kPeerDown, at once
        owe_writable(link);
        return Status::kAgain;
    }
    return real_->send_bulk(link, head, payload, cookie);
}

// ---- polling ----

unsigned FaultyTransport::poll(unsigned budget) noexcept
{
    if (happens(faults_.lazy_poll)) {
        return 0;
    }
    std::vector<Up> now;
    {
        const std::lock_guard lock{mutex_};
        for (const LinkId link : owed_) {
            const auto it = std::find_if(up_.begin(), up_.end(), [link](const Up& u) { return u.link == link; });
            if (it != up_.end()) {
                now.push_back(*it);
            }
        }
        owed_.clear();
    }
    for (const Up& u : now) {
        sink_->on_writable(u.peer, u.role);
    }
    return static_cast<unsigned>(now.size()) + real_->poll(budget);
}

bool FaultyTransport::prepare_sleep() noexcept
{
    const bool quiet = real_->prepare_sleep();
    const std::lock_guard lock{mutex_};
    return quiet && owed_.empty();
}

// ---- links ----

void FaultyTransport::drop(LinkId link) noexcept
{
    forget(link);
    real_->drop(link);
}

// What is owed is not said any more: the sink hears nothing from a transport that was shut down.
void FaultyTransport::shutdown() noexcept
{
    real_->shutdown();
    const std::lock_guard lock{mutex_};
    up_.clear();
    owed_.clear();
}

bool FaultyTransport::kill(LinkId link) noexcept
{
    if (!happens(faults_.kill)) {
        return false;
    }
    Up victim;
    {
        const std::lock_guard lock{mutex_};
        const auto it = std::find_if(up_.begin(), up_.end(), [link](const Up& u) { return u.link == link; });
        if (it == up_.end()) {
            return false;
        }
        victim = *it;
        ++kills_;
    }
    forget(link);
    real_->drop(link);
    sink_->on_link_down(link, victim.peer, victim.role, true, Status::kPeerDown, "killed by the test");
    return true;
}

void FaultyTransport::on_link_up(LinkId link, PeerId peer, LinkRole role) noexcept
{
    {
        const std::lock_guard lock{mutex_};
        up_.push_back({link, peer, role});
    }
    sink_->on_link_up(link, peer, role);
}

void FaultyTransport::on_link_down(LinkId link, PeerId peer, LinkRole role, bool up, Status why, std::string_view text) noexcept
{
    forget(link);
    sink_->on_link_down(link, peer, role, up, why, text);
}

void FaultyTransport::on_packet(LinkId link, PeerId peer, std::span<const std::byte> packet) noexcept
{
    if (!kill(link)) {
        sink_->on_packet(link, peer, packet);
    }
}

Landing FaultyTransport::on_packet_begin(LinkId link, PeerId peer, std::span<const std::byte> head, std::size_t payload_bytes) noexcept
{
    return kill(link) ? Landing{} : sink_->on_packet_begin(link, peer, head, payload_bytes);
}

Landing FaultyTransport::on_bulk_begin(LinkId link, PeerId peer, const wire::BulkHead& head) noexcept
{
    return kill(link) ? Landing{} : sink_->on_bulk_begin(link, peer, head);
}

}   // namespace linnet::testing

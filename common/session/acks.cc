// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: when acknowledgements go out that no packet of ours carries.
#include "base/ids.h"
#include "session/session_layer.h"

namespace linnet::session {

namespace {
// An acknowledgement that no packet of ours carried goes out after this long; it only frees the sender's memory. Shorter: packets that nobody waits for.
// Longer: more memory retained at peers that talk to us one way only.
constexpr Nanos kAckDelay = std::chrono::milliseconds{50};
}   // namespace

// No packet of ours has carried an acknowledgement for a while: one of its own, by and by.
void SessionLayer::acknowledge_later(Session& s) noexcept
{
    s.in_delayed_ = true;
    s.next_delayed_ = delayed_;
    delayed_ = &s;
    if (delayed_due_ == TimePoint::max()) {
        delayed_due_ = last_now_ + kAckDelay;   // from the last look at the clock: early rather than exact
    }
}

void SessionLayer::acknowledge_soon(Session& s) noexcept
{
    if (!s.in_ack_now_) {
        s.in_ack_now_ = true;
        s.heard_at_pass_ = s.heard_ - 1;   // something has just come
        s.next_ack_now_ = ack_now_;
        ack_now_ = &s;
        owes_.store(true, std::memory_order_relaxed);
    }
}

void SessionLayer::send_ack(Session& s) noexcept
{
    MutexLock guard{s.lock};
    const std::uint32_t ack = s.received_.load(std::memory_order_relaxed);
    const std::uint32_t credit = s.credit_grant.load(std::memory_order_relaxed);
    const bool news = s.ack_due_ || ack != s.ack_sent_.load(std::memory_order_relaxed) || credit != s.credit_sent_.load(std::memory_order_relaxed);
    LinkState& lane = s.links_[0];
    // A blocked lane comes back with on_writable(), a closed one with on_link_up().
    if (!news || s.blocked_ || s.unsent_ != nullptr || lane.phase != LinkState::Phase::kUp) {
        return;
    }
    s.ack_packet_ = {};
    s.ack_packet_.kind = wire::PacketKind::kAck;
    s.ack_packet_.ack.set(ack);
    s.ack_packet_.credit.set(credit);
    const LanePacket packet{std::as_bytes(std::span{&s.ack_packet_, 1}), {}};
    const SendResult r = lane.port->transport().send_lane(lane.id, {&packet, 1});
    if (r.down || r.taken == 0) {
        s.blocked_ = true;
        count_kept(s);
        return;
    }
    s.blocked_ = !r.all_written;
    count_kept(s);
    s.ack_due_ = false;
    s.ack_sent_.store(ack, std::memory_order_relaxed);
    s.credit_sent_.store(credit, std::memory_order_relaxed);
    shared_counters_.add_shared(Counter::kAcksSent, 1);
}

// Acknowledgements that somebody waits for: those of peers that sent nothing in this pass, and those that are overdue. The clock is not needed. `all`: of the
// others too.
unsigned SessionLayer::send_wanted_acks(bool all) noexcept
{
    unsigned events = 0;
    Session* s = ack_now_;
    ack_now_ = nullptr;
    while (s != nullptr) {
        Session* const next = s->next_ack_now_;
        if (all || s->ack_at_once_ || s->heard_ == s->heard_at_pass_) {
            s->in_ack_now_ = s->ack_at_once_ = false;
            send_ack(*s);
            ++events;
        } else {
            s->heard_at_pass_ = s->heard_;
            s->next_ack_now_ = ack_now_;
            ack_now_ = s;
        }
        s = next;
    }
    owes_.store(ack_now_ != nullptr, std::memory_order_relaxed);
    return events;
}

void SessionLayer::settle() noexcept { static_cast<void>(send_wanted_acks(true)); }

unsigned SessionLayer::send_delayed_acks(TimePoint now) noexcept
{
    if (delayed_ == nullptr || now < delayed_due_) {
        return 0;
    }
    unsigned events = 0;
    Session* s = delayed_;
    delayed_ = nullptr;
    delayed_due_ = TimePoint::max();
    while (s != nullptr) {
        Session* const next = s->next_delayed_;
        s->in_delayed_ = false;
        send_ack(*s);
        ++events;
        s = next;
    }
    return events;
}

}   // namespace linnet::session

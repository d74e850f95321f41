// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Machine: time. One heap holds every connection that waits for something, by the earliest thing; an idle one is in it for its keep-alive.
//
// A deadline that moves later leaves the heap alone: it fires early, finds nothing due, and is put back. So a stream of frames, each of which moves
// the probe timer, costs the heap nothing.
#include <algorithm>

#include "flow/machine.h"

namespace linnet::flow {

// ---- heap ----

void Machine::sift_up(std::size_t i) noexcept
{
    Connection* const c = heap_[i];
    for (; i != 0 && c->scheduled < heap_[(i - 1) / 2]->scheduled; i = (i - 1) / 2) {
        heap_[i] = heap_[(i - 1) / 2];
        heap_[i]->heap_place = i;
    }
    heap_[i] = c;
    c->heap_place = i;
}

void Machine::sift_down(std::size_t i) noexcept
{
    Connection* const c = heap_[i];
    for (;;) {
        std::size_t child = 2 * i + 1;
        if (child >= heap_.size()) {
            break;
        }
        if (child + 1 < heap_.size() && heap_[child + 1]->scheduled < heap_[child]->scheduled) {
            ++child;
        }
        if (c->scheduled <= heap_[child]->scheduled) {
            break;
        }
        heap_[i] = heap_[child];
        heap_[i]->heap_place = i;
        i = child;
    }
    heap_[i] = c;
    c->heap_place = i;
}

void Machine::unschedule(Connection& c) noexcept
{
    const std::size_t i = c.heap_place;
    if (i == SIZE_MAX) {
        return;
    }
    Connection* const last = heap_.back();
    heap_.pop_back();
    if (last != &c) {
        heap_[i] = last;
        last->heap_place = i;
        sift_up(i);
        sift_down(last->heap_place);
    }
    c.heap_place = SIZE_MAX;
    c.scheduled = TimePoint::max();
}

TimePoint Machine::deadline(const Connection& c) const noexcept
{
    return std::min({c.ack_due, c.probe_at, c.reorder_at, c.idle_at, c.pull_at, c.lent_at, c.keep_at});
}

void Machine::arm(Connection& c) noexcept { wake_by(c, deadline(c)); }

void Machine::schedule(Connection& c, TimePoint at) noexcept
{
    c.scheduled = at;
    if (c.heap_place == SIZE_MAX) {
        heap_.push_back(&c);   // reserved by add()
        sift_up(heap_.size() - 1);
    } else {
        sift_up(c.heap_place);
    }
}

void Machine::run(TimePoint now) noexcept
{
    while (!heap_.empty() && heap_.front()->scheduled <= now) {
        Connection& c = *heap_.front();
        unschedule(c);
        run_connection(c, now);
        arm(c);
    }
}

void Machine::run_connection(Connection& c, TimePoint now) noexcept
{
    if (c.ack_due <= now) {
        want_ack(c);
    }
    if (c.reorder_at <= now) {
        detect_losses(c, now);
    }
    if (c.pull_at <= now) {
        const Nanos patience = probe_timeout(config_.timing, c.rtt, c.peer_polls);
        c.bulk->rx.run(now, config_.timing, patience);
        c.pull_at = c.bulk->rx.due(config_.timing, patience);
        count_arrived(c);
        if (c.bulk->rx.asking(true) != nullptr) {
            want_control(c);
        }
    }
    if (c.probe_at <= now) {
        probe_due(c, now);
    }
    if (c.idle_at <= now) {
        c.idle_at = TimePoint::max();
        return_credit(c, now);
    }
    if (c.lent_at <= now) {
        ask_for_credit(c, now);
    }
    if (c.keep_at <= now) {
        if (now - c.heard >= config_.timing.keep_alive) {
            c.probe_owed = true;
            c.asked = std::min(c.asked, now);
            want_control(c);
            c.keep_at = now + std::min(config_.timing.keep_alive, config_.timing.ask_again);
        } else {
            c.keep_at = c.heard + config_.timing.keep_alive;
        }
    }
}

// ---- probes ----

// What the connection waits for, if anything, and when to ask about it.
void Machine::restart_probe(Connection& c, TimePoint now) noexcept
{
    const bool busy = !c.tx_idle();
    if (busy || !c.returns_known) {
        // The receiver of a train asks by itself; its sender only sees to it that the receiver knows that there is something to ask for.
        const Nanos first = probe_timeout(config_.timing, c.rtt, answers_soon(c)) * (c.bulk != nullptr ? 2 : 1);
        c.probe_from = now;
        c.probe_at = now + backed_off(config_.timing, first, c.backoff);
    } else {
        c.probe_at = TimePoint::max();
    }
    const bool spare = c.limit - c.used() > config_.first_credit;
    if (busy || !spare) {
        c.idle_at = TimePoint::max();
    } else if (c.idle_at == TimePoint::max()) {
        c.idle_at = now + config_.timing.idle_return;
    }
    wake_by(c, std::min(c.probe_at, c.idle_at));
}

void Machine::probe_due(Connection& c, TimePoint now) noexcept
{
    if (c.tx_idle() && c.returns_known) {   // what it was set for has been answered meanwhile
        restart_probe(c, now);
        return;
    }
    ++stats_.timeouts;
    c.asked = std::min(c.asked, now);
    bool data = false;
    if (c.lane != nullptr && c.lane->tx.outstanding()) {
        c.lane->tx.probe();
        data = true;
    } else if (c.bulk != nullptr && !c.bulk->tx.idle()) {
        data = c.bulk->tx.probe(c.backoff == 0);
    }
    if (data || can_send_data(c)) {   // what the network refused until now is the question
        want_send(c);
    } else {
        c.probe_owed = true;   // out of credit, or what we gave back was not heard
        want_control(c);
    }
    c.backoff = static_cast<std::uint8_t>(std::min(c.backoff + 1, 200));
    restart_probe(c, now);
}

void Machine::detect_losses(Connection& c, TimePoint now) noexcept
{
    if (c.lane == nullptr) {
        c.reorder_at = TimePoint::max();
        return;
    }
    const Nanos window = reorder_window(config_.timing, c.rtt, c.widened);
    const Nanos trip = c.rtt.known() ? std::max(c.rtt.smoothed(), c.rtt.latest()) : config_.timing.probe_floor_polling;
    const Nanos next = c.lane->tx.detect(stamp_of(now), window, trip + window, c.in_order_path());
    c.reorder_at = next == Nanos::max() ? TimePoint::max() : now + std::max<Nanos>(next, Nanos{kStampNanos});
    wake_by(c, c.reorder_at);
    if (can_send_data(c)) {
        want_send(c);
    }
}

// Unused for long: the peer's ring places go to somebody else. Told until it is heard.
void Machine::return_credit(Connection& c, TimePoint now) noexcept
{
    if (!c.tx_idle() || c.limit - c.used() <= config_.first_credit) {
        return;
    }
    if (!c.returns_known) {
        c.idle_at = now + config_.timing.idle_return;
        return;
    }
    c.limit = c.used() + config_.first_credit;
    ++c.returns;
    c.returns_known = false;
    ++stats_.credit_returns;
    c.probe_owed = true;
    want_control(c);
    restart_probe(c, now);
}

// The frame that told the peer of its credit may have been lost; then it does not know that there is something to give back.
void Machine::ask_for_credit(Connection& c, TimePoint now) noexcept
{
    if (c.line.lent() == 0) {
        c.lent_at = TimePoint::max();
        c.lent_tries = 0;
        return;
    }
    const Nanos wait = 4 * config_.timing.idle_return * (1 << std::min<unsigned>(c.lent_tries, 5));
    if (now - c.data_heard < wait) {
        c.lent_at = c.data_heard + wait;
        return;
    }
    c.lent_tries = static_cast<std::uint8_t>(std::min(c.lent_tries + 1, 200));
    c.lent_at = now + wait;
    c.asked = std::min(c.asked, now);   // where only we are not heard, nobody else learns it: to the peer, our questions are signs of life
    c.probe_owed = true;
    want_control(c);
}

// A peer that sleeps is told with the next frame, or late: to wake it up for an acknowledgement takes more than it is worth. One that polls is told so too, by
// one that it knows to sleep: the frame would be a call of the event thread's, on the core of a host that computes.
void Machine::flush_acks() noexcept
{
    for (Connection* c = delayed_.front(); c != nullptr;) {
        Connection* const next = delayed_.next(*c);
        if (!ack_can_wait(*c)) {
            delayed_.remove(*c);
            want_ack(*c);
        }
        c = next;
    }
}

// From the last frame on, so that whoever sleeps again and again asks in the end.
void Machine::be_patient(TimePoint now) noexcept
{
    const TimePoint soon = now + config_.timing.probe_floor_sleeping;
    for (std::size_t most = heap_.size(); most != 0 && !heap_.empty() && heap_.front()->scheduled < soon; --most) {
        Connection& c = *heap_.front();
        if (c.lane != nullptr && c.backoff == 0 && c.probe_at != TimePoint::max()) {
            c.probe_at = std::max(c.probe_at, c.probe_from + config_.timing.probe_floor_sleeping);
        }
        unschedule(c);
        arm(c);
        if (!heap_.empty() && heap_.front() == &c && c.scheduled < soon) {
            return;   // there is something to do before, and then we are asked again
        }
    }
}

}   // namespace linnet::flow

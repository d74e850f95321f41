// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: the data side: numbers, acknowledgements, retention.
#include "session/session_layer.h"

#include <algorithm>
#include <cstring>

namespace linnet::session {

namespace {
// An acknowledgement that no packet of ours carried goes out after this long; it only frees the sender's memory.
constexpr Nanos kAckDelay = std::chrono::milliseconds{50};
// ... or after this many messages, so that a one-way stream retains a bounded number.
constexpr std::uint32_t kAckEvery = 64;
constexpr Nanos kSilenceCheck = std::chrono::seconds{1};
constexpr std::size_t kBatch = 32;

// a comes after b in modular numbering
constexpr bool after(std::uint32_t a, std::uint32_t b) noexcept { return static_cast<std::int32_t>(a - b) > 0; }

wire::PacketHead load_head(std::span<const std::byte> packet) noexcept
{
    wire::PacketHead h;
    std::memcpy(&h, packet.data(), sizeof h);
    return h;
}
}   // namespace

std::string Session::describe()
{
    MutexLock guard{lock};
    return name_text(name_);
}

SessionView Session::view()
{
    MutexLock guard{lock};
    const LinkState& lane = links_[0];
    const char* state = "idle";
    if (down_reason() != Status::kOk) {
        state = status_text(down_reason());
    } else if (lane.phase == LinkState::Phase::kUp) {
        state = "connected";
    } else if (lane.phase == LinkState::Phase::kOpening || lane.waiting) {
        state = "connecting";
    }
    const char* const via = lane.port != nullptr ? lane.port->transport().caps().name : "";
    return {name_text(name_), state, via, next_number_ - 1, received_.load(std::memory_order_relaxed)};
}

SessionLayer::SessionLayer(const Config& config, SessionSink& sink, const Clock& clock, Log& log, Counters& counters, Counters& shared_counters)
    : config_{config}, sink_{sink}, clock_{clock}, log_{log}, counters_{counters}, shared_counters_{shared_counters}
{
}

SessionLayer::~SessionLayer()
{
    for (std::uint32_t i = 0; i < peers(); ++i) {
        delete find(PeerId{i});
    }
    for (auto& c : chunks_) {
        delete c.load(std::memory_order_relaxed);
    }
}

Port& SessionLayer::add_port(Transport& transport)
{
    ports_.push_back(std::make_unique<Port>(*this, transport));
    return *ports_.back();
}

// ---- sending ----

void SessionLayer::stamp(Session& s, TxMessage& m) noexcept
{
    wire::PacketHead h;
    std::memcpy(&h, m.head, sizeof h);
    const std::uint32_t ack = s.received_.load(std::memory_order_relaxed);
    const std::uint32_t credit = s.credit_grant.load(std::memory_order_relaxed);
    h.number.set(m.number);
    h.ack.set(ack);
    h.credit.set(credit);
    std::memcpy(m.head, &h, sizeof h);
    s.ack_sent_.store(ack, std::memory_order_relaxed);
    s.credit_sent_.store(credit, std::memory_order_relaxed);
}

SessionLayer::Sent SessionLayer::send(Session& s, TxMessage& m) noexcept
{
    const Status down = s.down_reason();
    if (down != Status::kOk) {
        return {down, false};
    }
    m.number = s.next_number_++;
    if (s.next_number_ == 0) {
        s.next_number_ = 1;   // 0 means un-numbered
    }
    s.retained_.push_back(m);
    LinkState& lane = s.links_[0];
    if (lane.phase != LinkState::Phase::kUp || s.blocked_ || s.unsent_ != nullptr) {
        if (s.unsent_ == nullptr) {
            s.unsent_ = &m;
        }
        if (lane.phase == LinkState::Phase::kNone && !lane.waiting && lane.incoming_port == nullptr) {
            open_link(s, LinkRole::kLane);
        }
        return {Status::kOk, false};
    }
    stamp(s, m);
    const LanePacket packet{{m.head, m.head_bytes}, m.payload};
    const SendResult r = lane.port->transport().send_lane(lane.id, {&packet, 1});
    if (r.down || r.taken == 0) {
        s.unsent_ = &m;
        s.blocked_ = true;
        return {Status::kOk, false};
    }
    s.blocked_ = !r.all_written;
    return {Status::kOk, r.all_written};
}

void SessionLayer::pump(Session& s) noexcept
{
    LinkState& lane = s.links_[0];
    while (s.unsent_ != nullptr && !s.blocked_ && lane.phase == LinkState::Phase::kUp) {
        LanePacket batch[kBatch];
        std::size_t n = 0;
        for (TxMessage* m = s.unsent_; m != nullptr && n < kBatch; m = s.retained_.next(*m)) {
            stamp(s, *m);
            batch[n++] = {{m->head, m->head_bytes}, m->payload};
        }
        const SendResult r = lane.port->transport().send_lane(lane.id, {batch, n});
        if (r.down) {
            s.blocked_ = true;
            return;
        }
        for (std::size_t i = 0; i < r.taken; ++i) {
            s.unsent_ = s.retained_.next(*s.unsent_);
        }
        s.blocked_ = r.taken < n || !r.all_written;
    }
}

Status SessionLayer::send_bulk(Session& s, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    const Status down = s.down_reason();
    if (down != Status::kOk) {
        return down;
    }
    Port* port = s.links_[0].port;
    const bool separate = port == nullptr || port->transport().caps().separate_bulk;
    LinkState& link = s.links_[separate ? 1 : 0];
    if (link.phase != LinkState::Phase::kUp) {
        if (separate && link.phase == LinkState::Phase::kNone && !link.waiting && link.incoming_port == nullptr) {
            open_link(s, LinkRole::kBulk);
        }
        return Status::kAgain;
    }
    const Status sent = link.port->transport().send_bulk(link.id, head, payload, cookie);
    return sent == Status::kPeerDown ? Status::kAgain : sent;   // the link died; on_bulk_down() comes, then a new grant
}

void SessionLayer::on_writable(PeerId peer, LinkRole role) noexcept
{
    Session* s = find(peer);
    if (s == nullptr) {
        return;
    }
    bool shared_link = false;
    if (role == LinkRole::kLane) {
        sink_.on_lane_written(*s);
        MutexLock guard{s->lock};
        s->blocked_ = false;
        s->ack_packet_busy_ = false;
        pump(*s);
        shared_link = !s->blocked_ && s->links_[0].port != nullptr && !s->links_[0].port->transport().caps().separate_bulk;
    }
    if (role == LinkRole::kBulk || shared_link) {
        sink_.on_bulk_ready(*s);
    }
}

// ---- receiving ----

void SessionLayer::take_ack(Session& s, std::uint32_t ack, bool from_hello) noexcept
{
    IntrusiveQueue<TxMessage> done;
    bool wrong = false;
    {
        MutexLock guard{s.lock};
        // The peer may acknowledge only what a link has taken.
        const std::uint32_t last = s.unsent_ != nullptr && !from_hello ? s.unsent_->number - 1 : s.next_number_ - 1;
        if (after(ack, last)) {
            wrong = true;
        } else {
            while (s.retained_.front() != nullptr && !after(s.retained_.front()->number, ack)) {
                done.push_back(*s.retained_.pop_front());
            }
        }
    }
    if (wrong) {
        counters_.add(Counter::kProtocolErrors, 1);
        declare_down(s, Status::kProtocol, "it acknowledged messages that were never sent");
        return;
    }
    s.acked_ = ack;
    if (!done.empty()) {
        sink_.on_acked(s, done);
    }
}

// The fields that every head carries. True when the message is the next one and shall be delivered.
bool SessionLayer::accept_number(Session& s, const wire::PacketHead& head) noexcept
{
    ++s.heard_;
    if (s.credit_limit_.load(std::memory_order_relaxed) != head.credit.get()) {
        s.credit_limit_.store(head.credit.get(), std::memory_order_relaxed);
        if (s.wants_credit.load(std::memory_order_relaxed)) {
            sink_.on_credit(s);
        }
    }
    if (head.ack.get() != s.acked_ && after(head.ack.get(), s.acked_)) {
        take_ack(s, head.ack.get(), false);
    }
    const std::uint32_t number = head.number.get();
    if (number == 0 || s.down_reason() != Status::kOk) {
        return false;
    }
    std::uint32_t expected = s.received_.load(std::memory_order_relaxed) + 1;
    expected = expected == 0 ? 1 : expected;
    if (number == expected) {
        return true;
    }
    if (after(number, expected)) {
        counters_.add(Counter::kProtocolErrors, 1);
        declare_down(s, Status::kProtocol, "a message number is missing");
        return false;
    }
    counters_.add(Counter::kDuplicatesDropped, 1);
    acknowledge_soon(s);   // it does not know that we have it
    return false;
}

// The message `head` has been delivered: count it, and see to it that it is acknowledged.
void SessionLayer::received(Session& s, const wire::PacketHead& head) noexcept
{
    const std::uint32_t number = head.number.get();
    s.received_.store(number, std::memory_order_relaxed);
    if ((head.flags.get() & wire::flag::kWantAck) != 0 || number - s.ack_sent_.load(std::memory_order_relaxed) >= kAckEvery) {
        acknowledge_soon(s);
    } else if (!s.in_delayed_) {
        s.in_delayed_ = true;
        s.next_delayed_ = delayed_;
        delayed_ = &s;
        if (delayed_due_ == TimePoint::max()) {
            delayed_due_ = clock_.now() + kAckDelay;
        }
    }
}

void SessionLayer::on_packet(Session& s, std::span<const std::byte> packet) noexcept
{
    const wire::PacketHead head = load_head(packet);
    if (!accept_number(s, head)) {
        return;
    }
    if (s.partial_valid_) {   // the link broke in mid-payload last time; now it came in one piece
        const std::size_t skip = sizeof head + static_cast<std::size_t>(wire::kind_header_bytes(head.kind));
        s.partial_valid_ = false;
        const Landing to = sink_.on_message_resume(s, s.partial_);
        std::memcpy(to.to, packet.data() + skip, std::min(to.room, packet.size() - skip));
        received(s, head);
        sink_.on_message_end(s, to.cookie);
        return;
    }
    if (head.kind == wire::PacketKind::kGoodbye) {
        received(s, head);
        s.departed_ = true;
        declare_down(s, Status::kPeerDown, {});
        return;
    }
    // Before it is delivered, so that an answer sent from inside carries this acknowledgement.
    received(s, head);
    sink_.on_message(s, packet);
}

Landing SessionLayer::on_packet_begin(Session& s, std::span<const std::byte> head_bytes, std::size_t payload_bytes) noexcept
{
    const wire::PacketHead head = load_head(head_bytes);
    if (!accept_number(s, head)) {
        return {};
    }
    s.landing_head_ = head;
    s.landing_valid_ = true;
    if (s.partial_valid_) {
        s.partial_valid_ = false;
        return sink_.on_message_resume(s, s.partial_);
    }
    return sink_.on_message_begin(s, head_bytes, payload_bytes);
}

void SessionLayer::on_packet_end(Session& s, void* cookie, bool ok) noexcept
{
    if (!s.landing_valid_) {
        return;   // a duplicate that was read and discarded
    }
    s.landing_valid_ = false;
    if (s.down_reason() != Status::kOk) {
        sink_.on_message_lost(s, cookie);
    } else if (ok) {
        received(s, s.landing_head_);
        sink_.on_message_end(s, cookie);
    } else {
        s.partial_ = cookie;
        s.partial_valid_ = true;
    }
}

// ---- acknowledgements and timers ----

void SessionLayer::acknowledge_soon(Session& s) noexcept
{
    if (!s.in_ack_now_) {
        s.in_ack_now_ = true;
        s.next_ack_now_ = ack_now_;
        ack_now_ = &s;
    }
}

void SessionLayer::send_ack(Session& s) noexcept
{
    MutexLock guard{s.lock};
    const std::uint32_t ack = s.received_.load(std::memory_order_relaxed);
    const std::uint32_t credit = s.credit_grant.load(std::memory_order_relaxed);
    const bool news = ack != s.ack_sent_.load(std::memory_order_relaxed) || credit != s.credit_sent_.load(std::memory_order_relaxed);
    LinkState& lane = s.links_[0];
    // A blocked lane has packets waiting, which will carry it.
    if (!news || s.ack_packet_busy_ || s.blocked_ || s.unsent_ != nullptr || lane.phase != LinkState::Phase::kUp) {
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
        return;
    }
    s.ack_packet_busy_ = s.blocked_ = !r.all_written;
    s.ack_sent_.store(ack, std::memory_order_relaxed);
    s.credit_sent_.store(credit, std::memory_order_relaxed);
    shared_counters_.add_shared(Counter::kAcksSent, 1);
}

unsigned SessionLayer::send_due_acks(TimePoint now) noexcept
{
    unsigned events = 0;
    while (ack_now_ != nullptr) {
        Session& s = *ack_now_;
        ack_now_ = s.next_ack_now_;
        s.in_ack_now_ = false;
        send_ack(s);
        ++events;
    }
    if (delayed_ != nullptr && now >= delayed_due_) {
        Session* s = delayed_;
        delayed_ = nullptr;
        delayed_due_ = TimePoint::max();
        while (s != nullptr) {
            Session* const next = s->next_delayed_;
            s->in_delayed_ = false;
            send_ack(*s);
            s = next;
        }
    }
    return events;
}

void SessionLayer::check_silence() noexcept
{
    for (std::uint32_t i = 0; i < peers(); ++i) {
        Session* s = find(PeerId{i});
        if (s == nullptr || s->down_reason() != Status::kOk) {
            continue;
        }
        bool waiting = false;
        {
            MutexLock guard{s->lock};
            waiting = s->links_[0].phase == LinkState::Phase::kUp && !s->retained_.empty();
        }
        if (!waiting || s->heard_ != s->heard_at_check_) {
            s->heard_at_check_ = s->heard_;
            s->silent_checks_ = 0;
            continue;
        }
        const Nanos silent = ++s->silent_checks_ * kSilenceCheck;
        if (silent >= config_.peer_timeout && silent - kSilenceCheck < config_.peer_timeout) {
            LINNET_LOG(log_, kWarn, "peer %s has not answered for %lld s; it may be stopped or overloaded; waiting on (setting peer_timeout)",
                       s->describe().c_str(), static_cast<long long>(std::chrono::duration_cast<std::chrono::seconds>(silent).count()));
        }
        if (config_.silence_timeout.count() > 0 && silent >= config_.silence_timeout) {
            declare_down(*s, Status::kPeerDown, "it has not answered for silence_timeout");
        }
    }
}

unsigned SessionLayer::poll(unsigned) noexcept
{
    const bool timers = delayed_ != nullptr || retry_due_.load(std::memory_order_relaxed) != INT64_MAX || silence_due_ != TimePoint::max();
    if (ack_now_ == nullptr && !timers) {
        return 0;
    }
    if (ack_now_ == nullptr && ++polls_since_clock_ < kPollsPerClock) {
        return 0;   // the clock costs as much as the rest of an empty poll, and no timer here is that urgent
    }
    polls_since_clock_ = 0;
    const TimePoint now = clock_.now();
    unsigned events = send_due_acks(now);
    events += retry_links(now);
    if (now >= silence_due_) {
        silence_due_ = now + kSilenceCheck;
        check_silence();
    }
    return events;
}

TimePoint SessionLayer::next_timer() const noexcept
{
    const TimePoint retry{Nanos{retry_due_.load(std::memory_order_relaxed)}};
    return std::min({delayed_due_, retry, silence_due_});
}

// ---- death ----

void SessionLayer::declare_down(Session& s, Status why, std::string_view text) noexcept
{
    IntrusiveQueue<TxMessage> unacked;
    struct Old {
        Port* port;
        LinkId id;
    };
    Old old[4];
    std::size_t n = 0;
    {
        MutexLock guard{s.lock};
        if (s.down_reason() != Status::kOk) {
            return;
        }
        s.down_.store(why, std::memory_order_release);
        while (TxMessage* m = s.retained_.pop_front()) {
            unacked.push_back(*m);
        }
        s.unsent_ = nullptr;
        for (LinkState& link : s.links_) {
            if (link.phase != LinkState::Phase::kNone && !s.departed_) {
                old[n++] = {link.port, link.id};
            }
            if (link.incoming_port != nullptr) {
                old[n++] = {link.incoming_port, link.incoming};
            }
            if (!s.departed_) {
                link.phase = LinkState::Phase::kNone;
            }
            link.incoming_port = nullptr;
            link.waiting = false;
        }
    }
    if (!s.departed_) {
        LINNET_LOG(log_, kError, "peer %s is lost: %s%s%.*s", s.describe().c_str(), status_text(why), text.empty() ? "" : ": ",
                   static_cast<int>(text.size()), text.data());
    } else {
        LINNET_LOG(log_, kDebug, "session with %s ends: %s", s.describe().c_str(), why == Status::kClosed ? "closed here" : "it departed");
    }
    for (std::size_t i = 0; i < n; ++i) {
        old[i].port->transport().drop(old[i].id);
    }
    if (s.partial_valid_) {
        s.partial_valid_ = false;
        sink_.on_message_lost(s, s.partial_);
    }
    sink_.on_peer_down(s, why, unacked);
}

void SessionLayer::shutdown() noexcept
{
    for (auto& port : ports_) {
        port->transport().shutdown();
    }
    for (std::uint32_t i = 0; i < peers(); ++i) {   // hands back what is still retained
        Session& s = *find(PeerId{i});
        s.departed_ = true;
        declare_down(s, Status::kClosed, {});
    }
}

}   // namespace linnet::session

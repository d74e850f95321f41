// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SessionLayer: the data side: numbers, acknowledgements, retention.
#include "session/session_layer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "session/lean.h"

namespace linnet::session {

namespace {
// An acknowledgement goes out at the latest after this many messages or bytes, so that a one-way stream retains a bounded amount.
constexpr std::uint32_t kAckEvery = 64;
constexpr std::uint32_t kAckEveryBytes = 256u << 10;
// Lazy messages that the sender does not take back itself are handed back so many at a time: the lock and the owner are asked once for all. More than
// the window of most streams, of which each send takes back a message of the window before.
constexpr std::uint32_t kReleaseEvery = 96;
constexpr Nanos kSilenceCheck = std::chrono::seconds{1};
constexpr std::size_t kBatch = 32;

wire::PacketHead load_head(std::span<const std::byte> packet) noexcept
{
    wire::PacketHead h;
    std::memcpy(&h, packet.data(), sizeof h);
    return h;
}
}   // namespace

bool Session::all_acked() const { return retained_.empty() || !after(last_number_, ack_heard_.load(std::memory_order_relaxed)); }

bool Session::only_goodbye_left()
{
    MutexLock guard{lock};
    TxMessage* m = retained_.front();
    while (m != nullptr && !after(m->number, ack_heard_.load(std::memory_order_relaxed))) {
        m = retained_.next(*m);   // acknowledged, and not yet handed back
    }
    return m != nullptr && wire::head_of({m->head, m->head_bytes}).kind == wire::PacketKind::kGoodbye;
}

SessionLayer::SessionLayer(const Config& config, SessionSink& sink, const Clock& clock, Log& log, Counters& counters, Counters& shared_counters)
    : config_{config}, sink_{sink}, clock_{clock}, log_{log}, counters_{counters}, shared_counters_{shared_counters}, last_now_{clock.now()}
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

// ---- sending ----

// What the lane link made of a batch that began at unsent_.
void SessionLayer::lane_taken(Session& s, const SendResult& r) noexcept
{
    for (std::size_t i = 0; i < r.taken; ++i) {
        s.link_taken_ = s.unsent_->number;
        s.unsent_ = s.retained_.next(*s.unsent_);
    }
    if (after(s.link_taken_, s.taken_.load(std::memory_order_relaxed))) {
        s.taken_.store(s.link_taken_, std::memory_order_relaxed);
    }
    if (r.taken != 0) {
        s.ack_due_ = false;
    }
    if (r.all_written) {
        s.written_ = s.link_taken_;
    }
}

void SessionLayer::append(Session& s, TxMessage& m) noexcept
{
    m.number = next_number(s.last_number_);
    retain(s, m);
    if (s.unsent_ == nullptr) {
        s.unsent_ = &m;
    }
}

// Behind each attempt to send: does anything wait here for room, or for a link?
void SessionLayer::count_kept(Session& s) noexcept
{
    const bool keeps = (s.unsent_ != nullptr || s.blocked_) && s.down_reason() == Status::kOk;
    if (keeps != s.kept_) [[unlikely]] {
        s.kept_ = keeps;
        keeps ? kept_.fetch_add(1, std::memory_order_relaxed) : kept_.fetch_sub(1, std::memory_order_relaxed);
    }
}

SessionLayer::Sent SessionLayer::send(Session& s, TxMessage& m) noexcept
{
    const Status down = s.down_reason();
    if (down != Status::kOk) {
        return {down, false};
    }
    append(s, m);
    if (!lane_ready(s)) {
        count_kept(s);
        open_when_idle(s, LinkRole::kLane);
        return {Status::kOk, false};
    }
    if (s.unsent_ != &m) {
        pump(s);   // with what was held back for it
        return {Status::kOk, s.unsent_ == nullptr && s.written_ == m.number};
    }
    stamp(s, m);
    const LanePacket packet{{m.head, m.head_bytes}, m.payload};
    const SendResult r = s.links_[0].port->transport().send_lane(s.links_[0].id, {&packet, 1});
    if (r.down || r.taken == 0) {
        s.blocked_ = true;
        count_kept(s);
        return {Status::kOk, false};
    }
    lane_taken(s, r);
    s.blocked_ = !r.all_written;
    count_kept(s);
    return {Status::kOk, r.all_written};
}

void SessionLayer::pump(Session& s) noexcept
{
    s.held_count_ = 0;
    s.held_bytes_ = 0;
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
            break;
        }
        lane_taken(s, r);
        s.blocked_ = r.taken < n || !r.all_written;
    }
    count_kept(s);
}

bool SessionLayer::hold(Session& s, TxMessage& m) noexcept
{
    append(s, m);
    ++s.held_count_;
    s.held_bytes_ += m.head_bytes + m.payload.size();
    if (!s.in_held_) {
        s.in_held_ = true;
        SpinLockGuard guard{held_lock_};
        s.next_held_ = held_;
        held_ = &s;
    }
    return !any_held_.exchange(true, std::memory_order_seq_cst);
}

// The flag goes first: who links a session afterwards, finds it down and says so.
void SessionLayer::send_all_held() noexcept
{
    any_held_.store(false, std::memory_order_seq_cst);
    Session* s = nullptr;
    {
        SpinLockGuard guard{held_lock_};
        s = std::exchange(held_, nullptr);
    }
    while (s != nullptr) {
        MutexLock guard{s->lock};
        Session* const next = s->next_held_;
        s->in_held_ = false;
        pump(*s);
        s = next;
    }
}

Status SessionLayer::send_bulk(Session& s, const wire::BulkHead& head, std::span<const std::byte> payload, void* cookie) noexcept
{
    const Status down = s.down_reason();
    if (down != Status::kOk) {
        return down;
    }
    const int which = s.bulk_link();
    LinkState& link = s.links_[which];
    if (link.phase != LinkState::Phase::kUp) {
        if (which != 0) {
            link.wanted = true;
            open_when_idle(s, LinkRole::kBulk);
        }
        return Status::kAgain;
    }
    const Status sent = link.port->transport().send_bulk(link.id, head, payload, cookie);
    return sent == Status::kPeerDown ? Status::kAgain : sent;   // the link died; on_bulk_down() comes, then a new grant
}

int Session::bulk_link() const noexcept
{
    const Port* const lane = links_[0].port;
    return lane == nullptr || lane->transport().caps().separate_bulk ? 1 : 0;
}

bool Session::takes_unasked() const noexcept
{
    const LinkState& link = links_[bulk_link()];
    return link.phase == LinkState::Phase::kUp && link.takes_unasked;
}

void Session::resume_bulk() noexcept
{
    const LinkState& link = links_[bulk_link()];
    if (link.phase == LinkState::Phase::kUp) {
        link.port->transport().resume_bulk(link.id);
    }
}

bool SessionLayer::bulk_over(Session& s, const void* cookie) noexcept
{
    const LinkState& link = s.links_[s.links_[1].port != nullptr ? 1 : 0];
    return link.phase == LinkState::Phase::kUp && link.port->transport().bulk_over(link.id, cookie);
}

std::size_t SessionLayer::bulk_packet(const Session& s) const noexcept
{
    const LinkState& link = s.links_[s.links_[1].port != nullptr ? 1 : 0];
    return link.port != nullptr ? link.port->transport().caps().bulk_packet : 0;
}

void SessionLayer::on_writable(PeerId peer, LinkRole role) noexcept
{
    Session* s = find(peer);
    if (s == nullptr || s->down_reason() != Status::kOk) {
        return;
    }
    bool bulk = role == LinkRole::kBulk;
    if (role == LinkRole::kLane) {
        sink_.on_lane_written(*s);   // before its messages may be handed back as acknowledged
        IntrusiveQueue<TxMessage> done;
        {
            MutexLock guard{s->lock};
            s->written_ = s->link_taken_;
            s->blocked_ = false;
            release_acked(*s, s->acked_, done);
            pump(*s);
            bulk = !s->blocked_ && s->links_[0].port != nullptr && !s->links_[0].port->transport().caps().separate_bulk;
        }
        if (!done.empty()) {
            sink_.on_acked(*s, done);
        }
        acknowledge_soon(*s);   // an acknowledgement may have found the lane blocked
    }
    if (bulk && s->down_reason() == Status::kOk) {
        sink_.on_bulk_ready(*s);
    }
}

// ---- receiving ----

// Moves what `ack` covers to `done`, as far as the present link has no pointers to it: a peer may have a message from an older link while the present one
// is still sending it again.
void SessionLayer::release_acked(Session& s, std::uint32_t ack, IntrusiveQueue<TxMessage>& done) noexcept
{
    while (TxMessage* m = s.retained_.front()) {
        if (after(m->number, ack) || (m != s.unsent_ && after(m->number, s.written_))) {
            return;
        }
        if (m == s.unsent_) {
            s.unsent_ = s.retained_.next(*m);   // an older link delivered it
        }
        done.push_back(*s.retained_.pop_front());
    }
}

void SessionLayer::take_ack(Session& s, std::uint32_t ack) noexcept
{
    IntrusiveQueue<TxMessage> done;
    bool wrong = false;
    {
        MutexLock guard{s.lock};
        wrong = after(ack, s.taken_.load(std::memory_order_relaxed));
        if (!wrong) {
            s.acked_ = ack;
            s.taken_back_.store(ack, std::memory_order_relaxed);
            if (!after(s.prompt_.load(std::memory_order_relaxed), ack)) {
                s.prompt_.store(ack, std::memory_order_relaxed);   // neither is left behind: numbers compare only within half their range
            }
            if (after(ack, s.ack_heard_.load(std::memory_order_relaxed))) {
                s.ack_heard_.store(ack, std::memory_order_relaxed);
            }
            release_acked(s, ack, done);
        }
    }
    if (wrong) {
        counters_.add(Counter::kProtocolErrors, 1);
        declare_down(s, Status::kProtocol, "it acknowledged messages that were never sent");
    } else if (!done.empty()) {
        sink_.on_acked(s, done);
    }
}

void SessionLayer::credit_changed(Session& s, std::uint32_t limit) noexcept
{
    // A sender sets wants_credit and then looks at the limit; here it is the other way round. One of the two sees the other.
    s.credit_limit_.store(limit, std::memory_order_seq_cst);
    s.credit_known_.store(true, std::memory_order_relaxed);
    if (s.wants_credit.load(std::memory_order_seq_cst)) {
        sink_.on_credit(s);
    }
}

// A number other than the next one.
void SessionLayer::out_of_turn(Session& s, std::uint32_t number, std::uint32_t expected) noexcept
{
    if (after(number, expected)) {
        counters_.add(Counter::kProtocolErrors, 1);
        declare_down(s, Status::kProtocol, "a message number is missing");
    } else {
        counters_.add(Counter::kDuplicatesDropped, 1);
    }
}

// The fields that every head carries. True when the message is the next one and shall be delivered.
[[gnu::always_inline]] inline bool SessionLayer::accept_number(Session& s, const wire::PacketHead& head) noexcept
{
    ++s.heard_;
    next_turn();
    if (s.down_reason() != Status::kOk) [[unlikely]] {
        return false;
    }
    if (const std::uint32_t limit = head.credit.get(); s.credit_limit_.load(std::memory_order_relaxed) != limit) [[unlikely]] {
        credit_changed(s, limit);
    }
    if (const std::uint32_t ack = head.ack.get(); after(ack, s.ack_heard_.load(std::memory_order_relaxed))) {
        s.ack_heard_.store(ack, std::memory_order_relaxed);
        // Beyond `taken_`: it has just been sent, or is a lie; that is seen under the lock.
        const bool due = ack - s.taken_back_.load(std::memory_order_relaxed) >= kReleaseEvery || after(s.prompt_.load(std::memory_order_relaxed), s.acked_);
        if (due || after(ack, s.taken_.load(std::memory_order_relaxed))) [[unlikely]] {
            take_ack(s, ack);
        }
    }
    const std::uint32_t number = head.number.get();
    if (number == 0 || s.down_reason() != Status::kOk) [[unlikely]] {
        return false;
    }
    const std::uint32_t expected = next_number(s.received_.load(std::memory_order_relaxed));
    if (number != expected) [[unlikely]] {
        out_of_turn(s, number, expected);
        return false;
    }
    return true;
}

// The message `head` is here whole: count it, and see to it that it is acknowledged.
[[gnu::always_inline]] inline void SessionLayer::received(Session& s, const wire::PacketHead& head) noexcept
{
    const std::uint32_t number = head.number.get();
    s.received_.store(number, std::memory_order_relaxed);
    const std::uint32_t sent = s.ack_sent_.load(std::memory_order_relaxed);
    if (sent != s.ack_seen_) {
        s.ack_seen_ = sent;
        s.bytes_since_ack_ = 0;
    }
    s.bytes_since_ack_ += head.body_bytes.get();
    if (number - sent >= kAckEvery || s.bytes_since_ack_ >= kAckEveryBytes) [[unlikely]] {
        s.ack_at_once_ = true;
        acknowledge_soon(s);
    } else if ((head.flags.get() & wire::flag::kWantAck) != 0) [[unlikely]] {
        acknowledge_soon(s);
    } else if (!s.in_delayed_) [[unlikely]] {
        acknowledge_later(s);
    }
}

// `head` is the message that broke off in mid-payload, once more.
bool SessionLayer::resumes(const Session& s, const wire::PacketHead& head) const noexcept
{
    return head.kind == s.landing_head_.kind && head.body_bytes.get() == s.landing_head_.body_bytes.get();
}

inline void SessionLayer::on_packet(Session& s, std::span<const std::byte> packet) noexcept
{
    const wire::PacketHead& head = wire::head_of(packet);
    if (!accept_number(s, head)) {
        return;
    }
    if (s.partial_valid_) [[unlikely]] {
        resumed_whole(s, packet);
        return;
    }
    // Before it is delivered, so that an answer sent from inside carries this acknowledgement.
    received(s, head);
    if (head.kind == wire::PacketKind::kGoodbye) [[unlikely]] {
        send_ack(s);
        end_session(s, Status::kPeerDown, {}, Ending::kDeparted);
        return;
    }
    sink_.on_message(s, packet);
}

void Port::on_packet(LinkId, PeerId peer, std::span<const std::byte> packet) noexcept { layer_.on_packet(*layer_.find(peer), packet); }

void Port::on_packet_in_two(LinkId link, PeerId peer, std::span<const std::byte> head, std::span<const std::byte> payload) noexcept
{
    Session& s = *layer_.find(peer);
    const wire::PacketHead& h = wire::head_of(head);
    if (s.partial_valid_) [[unlikely]] {
        TransportSink::on_packet_in_two(link, peer, head, payload);
    } else if (layer_.accept_number(s, h)) {
        layer_.received(s, h);
        layer_.sink_.on_message_in_two(s, head, payload);
    }
}

// The link broke in mid-payload last time; now the message came in one piece.
void SessionLayer::resumed_whole(Session& s, std::span<const std::byte> packet) noexcept
{
    const wire::PacketHead& head = wire::head_of(packet);
    if (!resumes(s, head)) {
        counters_.add(Counter::kProtocolErrors, 1);
        declare_down(s, Status::kProtocol, "it sent another message under a number that it had used");
        return;
    }
    const std::size_t skip = sizeof head + static_cast<std::size_t>(wire::kind_header_bytes(head.kind));
    s.partial_valid_ = false;
    const Landing to = sink_.on_message_resume(s, s.partial_);
    if (const std::size_t n = std::min(to.room, packet.size() - skip); n != 0) {
        std::memcpy(to.to, packet.data() + skip, n);
    }
    received(s, head);
    sink_.on_message_end(s, to.cookie);
}

Landing SessionLayer::on_packet_begin(Session& s, std::span<const std::byte> head_bytes, std::size_t payload_bytes) noexcept
{
    const wire::PacketHead head = load_head(head_bytes);
    if (!accept_number(s, head)) {
        return {};
    }
    Landing to;
    if (!s.partial_valid_) {
        s.landing_head_ = head;
        to = sink_.on_message_begin(s, head_bytes, payload_bytes);
    } else if (resumes(s, head)) {
        s.partial_valid_ = false;
        to = sink_.on_message_resume(s, s.partial_);
    } else {
        counters_.add(Counter::kProtocolErrors, 1);
        declare_down(s, Status::kProtocol, "it sent another message under a number that it had used");
    }
    if (s.down_reason() != Status::kOk) {   // by the sink, or just now: the link is dropped, and nothing lands
        return {};
    }
    s.landing_valid_ = true;
    return to;
}

void SessionLayer::on_packet_end(Session& s, void* cookie, bool ok) noexcept
{
    if (!s.landing_valid_) {
        return;   // a duplicate that was read and discarded
    }
    s.landing_valid_ = false;
    if (s.down_reason() != Status::kOk) {
        sink_.on_message_lost(s, cookie);   // from within end_session(), which tells on_peer_down() afterwards
    } else if (ok) {
        received(s, s.landing_head_);
        sink_.on_message_end(s, cookie);
    } else {
        s.partial_ = cookie;
        s.partial_valid_ = true;
    }
}

// ---- timers ----

void SessionLayer::check_silence(TimePoint now) noexcept
{
    for (std::uint32_t i = 0; i < peers(); ++i) {
        Session* s = find(PeerId{i});
        if (s == nullptr || s->down_reason() != Status::kOk) {
            continue;
        }
        bool waiting = false;
        bool leftover = false;
        {
            MutexLock guard{s->lock};
            const LinkState& lane = s->links_[0];
            const LinkState& bulk = s->links_[1];
            const Nanos unanswered = s->lane_up() ? lane.port->transport().unanswered(lane.id) : Nanos{0};   // it asks by itself when all is acknowledged
            const Nanos bulk_unanswered = bulk.phase == LinkState::Phase::kUp ? bulk.port->transport().unanswered(bulk.id) : Nanos{0};
            waiting = s->lane_up() && (!s->all_acked() || unanswered > Nanos{0} || (bulk_unanswered >= kSilenceCheck && sink_.needs_bulk(*s)));
            ask_elsewhere(*s, LinkRole::kLane, unanswered, now);
            ask_elsewhere(*s, LinkRole::kBulk, bulk_unanswered, now);
            leftover = s->acked_ != s->ack_heard_.load(std::memory_order_relaxed);
        }
        if (leftover) {   // too few to be handed back when they were acknowledged
            take_ack(*s, s->ack_heard_.load(std::memory_order_relaxed));
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
    next_turn();
    if (any_held_.load(std::memory_order_seq_cst)) {
        send_all_held();
    }
    unsigned events = ack_now_ != nullptr ? send_wanted_acks(false) : 0;
    const bool timers = delayed_ != nullptr || retry_due_.load(std::memory_order_relaxed) != INT64_MAX || silence_due_ != TimePoint::max();
    if (!timers || ++polls_since_clock_ < kPollsPerClock) {
        return events;   // the clock costs as much as the rest of an empty poll, and no timer here is that urgent
    }
    polls_since_clock_ = 0;
    const TimePoint now = last_now_ = clock_.now();
    events += send_delayed_acks(now);
    events += retry_links(now);
    if (now >= silence_due_) {
        silence_due_ = now + kSilenceCheck;
        check_silence(now);
    }
    return events;
}

bool SessionLayer::prepare_sleep() noexcept
{
    polls_since_clock_ = kPollsPerClock;   // the first pass after a sleep looks at the clock
    settle();
    return !any_held_.load(std::memory_order_seq_cst);   // one more pass sends them
}

TimePoint SessionLayer::next_timer() const noexcept
{
    const TimePoint retry{Nanos{retry_due_.load(std::memory_order_relaxed)}};
    return std::min({delayed_due_, retry, silence_due_});
}

// ---- the end ----

void SessionLayer::declare_down(Session& s, Status why, std::string_view text) noexcept { end_session(s, why, text, Ending::kLost); }

void SessionLayer::give_up(Session& s, Status why, std::string_view text) noexcept
{
    end_session(s, why, text, closing_.load(std::memory_order_relaxed) ? Ending::kQuiet : Ending::kLost);
}

void SessionLayer::end_session(Session& s, Status why, std::string_view text, Ending ending) noexcept
{
    IntrusiveQueue<TxMessage> unacked;
    struct Old {
        Port* port;
        LinkId id;
    };
    Old old[6];
    std::size_t n = 0;
    {
        MutexLock guard{s.lock};
        if (s.down_reason() != Status::kOk) {
            return;
        }
        for (const LinkRole role : {LinkRole::kLane, LinkRole::kBulk}) {
            if (const Move* const move = move_of(s, role); move != nullptr) {
                old[n++] = {move->port, move->id};
            }
        }
        forget_paths(s);
        s.down_.store(why, std::memory_order_release);
        while (TxMessage* m = s.retained_.pop_front()) {
            unacked.push_back(*m);
        }
        s.unsent_ = nullptr;
        count_kept(s);
        for (LinkState& link : s.links_) {
            // The lane of a departed peer stays for the last acknowledgement, unless it holds pointers to what is handed back now.
            const bool stays = ending == Ending::kDeparted && &link == &s.links_[0] && link.phase == LinkState::Phase::kUp && !s.blocked_ &&
                               link.port->transport().caps().separate_bulk;
            if (!stays && (link.phase == LinkState::Phase::kOpening || link.phase == LinkState::Phase::kUp)) {
                old[n++] = {link.port, link.id};
            }
            if (link.incoming_port != nullptr) {
                old[n++] = {link.incoming_port, link.incoming};
                link.incoming_port = nullptr;
            }
            link.phase = stays ? LinkState::Phase::kUp : LinkState::Phase::kIdle;
        }
    }
    note(config_.trace, TraceKind::kPeerDown, s.id, static_cast<std::uint64_t>(why), 0);
    if (ending == Ending::kLost) {
        counters_.add(Counter::kPeersLost, 1);
        LINNET_LOG(log_, kError, "peer %s is lost: %s%s%.*s", s.describe().c_str(), status_text(why), text.empty() ? "" : ": ",
                   static_cast<int>(text.size()), text.data());
        tell(config_.trace, "a peer was lost");   // before the ends of its operations, which would take the places of what led here
    } else {
        LINNET_LOG(log_, kDebug, "session with %s ends: %s%s%.*s", s.describe().c_str(), ending == Ending::kDeparted ? "it departed" : status_text(why),
                   text.empty() ? "" : ": ", static_cast<int>(text.size()), text.data());
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
        {
            MutexLock guard{s.lock};
            forget_paths(s);
            for (LinkState& link : s.links_) {
                link.phase = LinkState::Phase::kIdle;
                link.incoming_port = nullptr;
            }
        }
        end_session(s, Status::kClosed, {}, Ending::kQuiet);
    }
    ack_now_ = delayed_ = nullptr;
    owes_.store(false, std::memory_order_relaxed);
}

}   // namespace linnet::session

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FrameTransport: calling, and the exchange of hellos, which the sink writes and judges.
//
// Only the opener repeats; the acceptor answers a copy as it answered the original, without asking the sink again. An acceptor learns the opener's address
// from its frames and the other way round, so each side answers from the socket that the link shall use. Who says no proper hello gets no answer, and no
// answer is longer than a hello, so nobody can be made to flood a third party. Who is not let in costs no memory; who is, and does not confirm, is one of
// a limited number.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <span>

#include "sys/error.h"
#include "sys/process.h"
#include "transport/frames/frame_transport.h"
#include "wire/crc32c.h"
#include "wire/hello.h"

namespace linnet::frames {

namespace {

// A hello is repeated after this, then after twice as long, ...: a peer that is busy answers late, one that does not exist costs little.
constexpr Nanos kFirstGap = std::chrono::milliseconds{5};
constexpr Nanos kLongestGap = std::chrono::milliseconds{500};
// More acceptors than this that wait for a confirm: the oldest that had its chance makes room, else the hello is lost and comes again.
constexpr unsigned kMaxHalfOpen = 4096;
constexpr Nanos kConfirmChance = std::chrono::seconds{1};
// Answers to frames for connections that nobody here knows: enough for a restart among thousands of peers, too few to be a tool for others.
constexpr unsigned kResetsAtOnce = 256;
constexpr Nanos kResetsPause = std::chrono::milliseconds{10};

}   // namespace

bool FrameTransport::reaches(const wire::EndpointName& name) const noexcept
try {
    std::array<Candidate, wire::kNameAddressesMax> to;
    const unsigned n = port_->routes(name, to);
    return std::any_of(to.begin(), to.begin() + n, [](const Candidate& c) { return c.refusal.empty(); });
} catch (const std::bad_alloc&) {
    return true;   // the attempt will tell
}

// ---- opener ----

unsigned FrameTransport::start_requested() noexcept
{
    return links_.start([](Link& link, const auto&) { link.state = LinkState::kRequested; },
                        [this](Link& link, const auto& request) {
                            token_.assert_held();
                            start(link, request.wish);
                        });
}

void FrameTransport::start(Link& link, const wire::EndpointName& name) noexcept
{
    try {
        link.calls = std::make_unique<Calls>();
        link.opening = std::make_unique<Opening>();
        std::array<Candidate, wire::kNameAddressesMax> to;
        Calls& calls = *link.calls;
        calls.count = std::max(1u, port_->routes(name, to));
        const auto end = to.begin() + calls.count;
        std::string why_not;
        const bool can = port_->prepare_call(name, {to.begin(), end}, why_not);
        for (auto way = to.begin(); way != end; ++way) {
            way->refusal = !way->refusal.empty() ? way->refusal + "; see the settings net_include and net_exclude" : can ? "" : why_not;
        }
        if (link.peer.value < known_.size()) {   // where it was reached before comes first
            const Route good = known_[link.peer.value];
            std::stable_partition(to.begin(), end, [&good](const Candidate& c) { return c.route == good; });
        }
        for (unsigned i = 0; i < calls.count; ++i) {
            calls.call[i].to = std::move(to[i]);
        }
        calls.limit = now_ + std::min(connect_timeout_, port_->limits(kLaneChannel).patience);
    } catch (const std::bad_alloc&) {
        end_link(link, true, Status::kNoMemory, "no memory to open a link");
        return;
    }
    opening_.add(link);
    call_next(link);
}

void FrameTransport::call_next(Link& link) noexcept
{
    while (Calls::Call* const call = link.calls->advance(now_)) {
        link.route = call->to.route;   // it has no connection now
        if (!call->to.refusal.empty()) {
            call->text = describe(link, call->to.refusal.c_str(), 0);
            continue;
        }
        call->made = true;
        call->unanswered = false;
        if (make_call(link)) {
            return;
        }
    }
    const Status why = link.calls->verdict();
    end_link(link, true, why, link.calls->text());
}

// False: no memory. True also when the link ended.
bool FrameTransport::make_call(Link& link) noexcept
{
    const LinkId id = link.id;
    if (!connection_for(link)) {
        end_link(link, true, Status::kNoMemory, describe(link, "no memory for a connection", 0));
        return true;
    }
    link.opening->give_up = now_ + link.calls->patience(now_);
    std::array<std::byte, kMaxHelloBytes> hello;
    const std::size_t bytes = sink_->make_hello(id, link.peer, link.role, hello);
    if (link.id != id) {
        return true;
    }
    if (bytes == 0) {
        end_link(link, true, Status::kCanceled, describe(link, "given up before the hello", 0));
        return true;
    }
    link.state = LinkState::kAwaitWelcome;
    link.opening->gap = kFirstGap;
    send_open(link, wire::OpenStep::kHello, std::span{hello}.first(bytes), true);
    return true;
}

// Nothing came of the call under way: the next one, or the end.
void FrameTransport::call_failed(Link& link, Status why, std::string text) noexcept
{
    if (link.calls == nullptr) {
        end_link(link, true, why, text);
        return;
    }
    Calls::Call& call = link.calls->current();
    call.unanswered = why == Status::kTimedOut;
    call.why = why;
    call.text = std::move(text);
    LINNET_LOG(log_, kDebug, "%s", call.text.c_str());
    close_connection(link, nullptr);
    link.state = LinkState::kRequested;
    call_next(link);
}

// ---- connections ----

// A connection of the machine for the link, which can receive nothing yet.
bool FrameTransport::connection_for(Link& link) noexcept
{
    link.channel = static_cast<std::uint8_t>(static_cast<unsigned>(link.role) % channel_count_);
    Channel& ch = channel_of(link);
    flow::Machine::Opening o;
    o.role = link.role == LinkRole::kLane ? flow::Role::kLane : flow::Role::kBulk;
    o.route = &link.route;
    if (failed(random_bytes(std::as_writable_bytes(std::span{&o.own_secret, 1}), log_))) {
        return false;
    }
    o.own_incarnation = incarnation_;
    Held lock{ch};
    const Result<flow::ConnectionId> c = ch.machine->add(o, now_);
    if (!c.ok()) {
        return false;
    }
    const auto place = static_cast<std::uint32_t>(c->value);
    try {
        if (place >= ch.links.size()) {
            ch.links.resize(place + 1);
        }
    } catch (const std::bad_alloc&) {
        ch.machine->close(*c);
        static_cast<void>(ch.machine->take_back(*c));
        return false;
    }
    ch.links[place] = &link;
    link.connection = *c;
    return true;
}

// Both sides know each other: frames are taken and may be sent.
bool FrameTransport::ready_to_send(Link& link, const OpenFrame& said) noexcept
{
    const std::size_t frame_bytes = std::min<std::size_t>(port_->frame_bytes(link.route), said.open.frame_bytes.get());
    Channel& ch = channel_of(link);
    Held lock{ch};
    std::unique_ptr<BulkQueue> leaving;
    try {
        if (link.number >= ch.tx.size()) {
            ch.tx.resize(link.number + 1);
        }
        if (link.role == LinkRole::kBulk) {
            leaving = std::make_unique<BulkQueue>();
            link.bulk = std::make_unique<BulkArrivals>();
        }
    } catch (const std::bad_alloc&) {
        return false;
    }
    const bool crc = (said.open.wants.get() & wire::open_wish::kCrc) != 0;
    ch.machine->connect(link.connection, link.peer_wire_id, said.head.incarnation.get(), now_, frame_bytes, crc);
    Tx& tx = ch.tx[link.number];
    tx = Tx{};
    tx.id = link.id;
    tx.connection = link.connection;
    tx.bulk = std::move(leaving);
    return true;
}

Link* FrameTransport::addressee(Channel& ch, std::uint64_t wire_id) noexcept
{
    constexpr std::uint64_t kPlaceMask = (1u << 20) - 1;
    const auto place = static_cast<std::size_t>(wire_id & kPlaceMask);
    Held lock{ch};
    Link* const link = place < ch.links.size() ? ch.links[place] : nullptr;
    return link != nullptr && ch.machine->wire_id(link->connection) == wire_id ? link : nullptr;
}

// ---- frames ----

std::size_t FrameTransport::open_frame(const Link& link, std::uint64_t to, wire::OpenStep step, std::span<const std::byte> packet,
                                       std::span<std::byte, kMaxOpenFrame> out) noexcept
{
    wire::OpenHead open;
    open.step = step;
    open.role = static_cast<std::uint8_t>(link.role);
    open.bytes.set(static_cast<std::uint16_t>(packet.size()));
    open.frame_bytes.set(static_cast<std::uint16_t>(std::min<std::size_t>(port_->frame_bytes(link.route), UINT16_MAX)));
    open.wants.set(settings_.boolean(SettingId::kFrameCrc) ? wire::open_wish::kCrc : 0);
    wire::FrameHead head;
    head.kind = wire::FrameKind::kOpen;
    head.flags.set(wire::frame_flag::kCrc);
    head.bytes.set(static_cast<std::uint16_t>(sizeof open + packet.size()));
    head.connection.set(to);
    head.incarnation.set(incarnation_);
    if (link.connection.value != 0) {
        const Channel& ch = *channels_[link.channel];
        MutexLock lock{ch.lock};
        open.own.set(ch.machine->wire_id(link.connection));
        head.source.set(static_cast<std::uint32_t>(link.connection.value));
    }
    const std::uint32_t sum = wire::crc32c(std::as_bytes(std::span{&open, 1}), wire::crc32c(std::as_bytes(std::span{&head, 1})));
    head.crc.set(wire::crc32c(packet, sum));
    std::memcpy(out.data(), &head, sizeof head);
    std::memcpy(out.data() + sizeof head, &open, sizeof open);
    if (!packet.empty()) {
        std::memcpy(out.data() + sizeof head + sizeof open, packet.data(), packet.size());
    }
    return sizeof head + sizeof open + packet.size();
}

// Sends a step of a link's opening and keeps it: to be repeated until it is answered, or only when it is asked for again.
void FrameTransport::send_open(Link& link, wire::OpenStep step, std::span<const std::byte> packet, bool repeat) noexcept
{
    Opening& o = *link.opening;
    o.bytes = open_frame(link, link.peer_wire_id, step, packet, o.frame);
    o.again = repeat ? now_ + o.gap : TimePoint::max();
    repeat_open(link);
    opening_.set_deadline(link, std::min(o.again, o.give_up));
}

void FrameTransport::repeat_open(Link& link) noexcept
{
    Channel& ch = channel_of(link);
    Held lock{ch};
    port_->send_single(ch.number, link.route, std::span{link.opening->frame}.first(link.opening->bytes));
}

// A link in opening_ has come to the time it waited for.
void FrameTransport::open_due(Link& link, TimePoint now) noexcept
{
    Opening& o = *link.opening;
    if (now < o.give_up) {
        repeat_open(link);
        o.gap = std::min(o.gap * 2, kLongestGap);
        o.again = now + o.gap;
        opening_.set_deadline(link, std::min(o.again, o.give_up));
        return;
    }
    if (link.up()) {   // the peer never said that it had our confirm; if it has not, it will say so to our frames
        open_done(link);
        return;
    }
    const std::string what = std::string{"gave up while "} + state_text(link.state) + "; see the settings connect_timeout and net_include";
    call_failed(link, Status::kTimedOut, describe(link, what.c_str(), ETIMEDOUT));
}

void FrameTransport::open_done(Link& link) noexcept
{
    opening_.remove(link);
    link.opening.reset();
}

void FrameTransport::open_frame_arrived(Channel& ch, const RxFrame& frame) noexcept
{
    wire::FrameHead head;
    wire::OpenHead open;
    std::memcpy(&head, frame.bytes.data(), sizeof head);
    const std::size_t body = head.bytes.get();
    bool ok = wire::frame_head_ok(head, frame.bytes.size()) && head.flags.get() == wire::frame_flag::kCrc && body >= sizeof open &&
              body <= sizeof open + kMaxHelloBytes;
    if (ok) {
        wire::FrameHead summed = head;
        summed.crc.set(0);
        std::memcpy(&open, frame.bytes.data() + sizeof head, sizeof open);
        ok = open.bytes.get() == body - sizeof open && (open.step != wire::OpenStep::kHello || frame.bytes.size() >= ch.limits.hello_bytes) &&
             head.crc.get() == wire::crc32c(frame.bytes.subspan(sizeof head, body), wire::crc32c(std::as_bytes(std::span{&summed, 1})));
    }
    if (!ok) {
        if (const std::uint64_t n = (++rubbish_, rubbish_throttle_.hit()); n != 0) {
            LINNET_LOG(log_, kInfo, "%s: a frame that opens nothing (%llu so far)", caps_.name, static_cast<unsigned long long>(n));
        }
        return;
    }
    const OpenFrame f{ch, head, open, frame.bytes.subspan(sizeof head + sizeof open, open.bytes.get()), port_->source(ch.number, frame), frame.bytes.size()};
    if (open.step == wire::OpenStep::kHello) {
        hello_arrived(f);
        return;
    }
    Link* const link = addressee(ch, head.connection.get());
    if (link == nullptr) {
        if (open.own.get() != 0 && open.step != wire::OpenStep::kUp) {
            answer_unknown(ch, head, f.from);
        }
        return;
    }
    port_->came_through(f.from, open.own.get() != 0 ? f.bytes : 0);   // who said so has heard the name of our connection
    switch (open.step) {
        case wire::OpenStep::kWelcome: welcome_arrived(*link, f); break;
        case wire::OpenStep::kConfirm: confirm_arrived(*link, f); break;
        case wire::OpenStep::kUp:
            if (link->up() && link->hello == 0) {
                open_done(*link);
            }
            break;
        default: break;
    }
}

// ---- acceptor ----

bool FrameTransport::make_room_for_hello() noexcept
{
    if (half_open_ < kMaxHalfOpen) {
        return true;
    }
    for (Link* link = opening_.front(); link != nullptr; link = opening_.next(*link)) {   // the oldest first
        if (link->state == LinkState::kAwaitConfirm) {
            if (link->opening->give_up - connect_timeout_ + kConfirmChance > now_) {
                return false;
            }
            end_link(*link, true, Status::kTimedOut, describe(*link, "no confirmation came; made room for others", 0));
            return true;
        }
    }
    return false;
}

// A caller who has no address must still be told from others in messages.
std::string FrameTransport::alias_of(const Route& caller) const noexcept
try {
    return port_->address(caller).family() == AF_UNSPEC ? port_->text(caller) : std::string{};
} catch (const std::bad_alloc&) {
    return {};
}

void FrameTransport::hello_arrived(const OpenFrame& f) noexcept
{
    const std::uint64_t hello = f.open.own.get();
    if (hello == 0 || f.head.connection.get() != 0 || std::find(forgotten_.begin(), forgotten_.end(), hello) != forgotten_.end()) {
        return;
    }
    if (const auto it = hellos_.find(hello); it != hellos_.end()) {
        Link* const known = links_.find(it->second);
        if (known != nullptr && known->opening != nullptr && known->route == f.from) {
            port_->came_through(f.from, f.bytes);
            repeat_open(*known);
        }
        return;
    }
    if (!make_room_for_hello()) {
        return;
    }
    Link* const adopted = links_.adopt();
    if (adopted == nullptr) {
        return;
    }
    Link& link = *adopted;
    const LinkId id = link.id;
    link.route = f.from;
    link.state = LinkState::kFree;   // the sink does not know of it yet
    std::array<std::byte, kMaxHelloBytes> reply;
    const std::string alias = alias_of(f.from);
    const HelloVerdict verdict = sink_->on_hello(id, f.packet, {port_->address(f.from), alias}, reply);
    if (link.id != id || closed_) {
        return;
    }
    const std::span<const std::byte> answer = std::span{reply}.first(verdict.reply_bytes);
    if (verdict.action != HelloVerdict::Action::kAccept) {
        if (!answer.empty()) {
            std::array<std::byte, kMaxOpenFrame> frame;
            const std::size_t bytes = open_frame(link, hello, wire::OpenStep::kWelcome, answer, frame);
            Held lock{f.channel};
            port_->send_single(f.channel.number, f.from, std::span{frame}.first(bytes));
        }
        end_link(link, false, verdict.why, {});
        return;
    }
    port_->came_through(f.from, f.bytes);
    link.peer = verdict.peer;
    link.role = verdict.role;
    link.state = LinkState::kAwaitConfirm;
    ++half_open_;
    bool ok = connection_for(link);
    try {
        link.opening = std::make_unique<Opening>();
        hellos_.emplace(hello, id);
        link.hello = hello;
    } catch (const std::bad_alloc&) {
        ok = false;
    }
    if (!ok) {
        end_link(link, true, Status::kNoMemory, describe(link, "no memory for a connection", 0));
        return;
    }
    counters_.add(Counter::kFlowAccepts);
    link.peer_wire_id = hello;
    link.opening->give_up = now_ + connect_timeout_;
    opening_.add(link);
    send_open(link, wire::OpenStep::kWelcome, answer, false);
}

void FrameTransport::confirm_arrived(Link& link, const OpenFrame& f) noexcept
{
    const LinkId id = link.id;
    if (link.hello == 0 || link.peer_wire_id != f.open.own.get()) {
        return;
    }
    if (link.state == LinkState::kAwaitConfirm) {
        const HelloVerdict verdict = sink_->on_confirm(id, link.peer, link.role, f.packet);
        if (link.id != id || closed_) {
            return;
        }
        if (verdict.action != HelloVerdict::Action::kAccept) {
            end_link(link, true, failed(verdict.why) ? verdict.why : Status::kRefused, describe(link, "the confirmation was rejected", 0));
            return;
        }
        if (!ready_to_send(link, f)) {
            end_link(link, true, Status::kNoMemory, describe(link, "no memory for a link", 0));
            return;
        }
    }
    std::array<std::byte, kMaxOpenFrame> frame;   // also in answer to a copy: ours was lost
    const std::size_t bytes = open_frame(link, link.peer_wire_id, wire::OpenStep::kUp, {}, frame);
    {
        Channel& ch = channel_of(link);
        Held lock{ch};
        port_->send_single(ch.number, link.route, std::span{frame}.first(bytes));
    }
    if (link.state == LinkState::kAwaitConfirm) {
        --half_open_;
        bring_up(link);
    }
}

// ---- opener, again ----

void FrameTransport::welcome_arrived(Link& link, const OpenFrame& f) noexcept
{
    if (link.up()) {
        if (link.opening != nullptr && link.peer_wire_id == f.open.own.get()) {
            repeat_open(link);   // our confirm was lost
        }
        return;
    }
    if (link.state != LinkState::kAwaitWelcome) {
        return;
    }
    const LinkId id = link.id;
    std::array<std::byte, kMaxHelloBytes> confirm;
    const HelloVerdict verdict = sink_->on_welcome(id, link.peer, link.role, f.packet, confirm);
    if (link.id != id || closed_) {
        return;
    }
    const bool accepted = verdict.action == HelloVerdict::Action::kAccept;
    if (!accepted || f.open.own.get() == 0) {
        const char* what = verdict.action == HelloVerdict::Action::kYield ? "yielded to the peer's own attempt" : "rejected";
        const Status why = accepted ? Status::kProtocol : failed(verdict.why) ? verdict.why : Status::kRefused;
        if (verdict.elsewhere && !accepted) {
            call_failed(link, why, describe(link, "another process answered", 0));
        } else {
            end_link(link, true, why, describe(link, what, 0));
        }
        return;
    }
    try {
        if (link.peer != kNoPeer && link.peer.value >= known_.size()) {
            known_.resize(link.peer.value + 1);
        }
        if (link.peer != kNoPeer) {
            known_[link.peer.value] = link.calls->current().to.route;
        }
    } catch (const std::bad_alloc&) {
        known_.clear();   // it is a convenience
    }
    link.calls.reset();   // for the sink the link is open: its end is not that of an address
    link.peer_wire_id = f.open.own.get();
    {
        Channel& ch = channel_of(link);
        Held lock{ch};
        link.route = f.from;
    }
    if (!ready_to_send(link, f)) {
        end_link(link, true, Status::kNoMemory, describe(link, "no memory for a link", 0));
        return;
    }
    counters_.add(Counter::kFlowConnects);
    link.opening->gap = kFirstGap;
    link.opening->give_up = now_ + connect_timeout_;
    send_open(link, wire::OpenStep::kConfirm, std::span{confirm}.first(verdict.reply_bytes), true);
    bring_up(link);
}

void FrameTransport::bring_up(Link& link) noexcept
{
    const bool acceptor = link.state == LinkState::kAwaitConfirm;
    link.state = LinkState::kUp;
    if (acceptor) {
        open_done(link);
    }
    LINNET_LOG(log_, kDebug, "%s: %s link to %s is up", caps_.name, link.role == LinkRole::kLane ? "lane" : "bulk", port_->text(link.route).c_str());
    sink_->on_link_up(link.id, link.peer, link.role);
}

// ---- ends that the other side tells ----

void FrameTransport::answer_unknown(Channel& ch, const wire::FrameHead& head, const Route& from) noexcept
{
    if (now_ >= resets_at_) {
        resets_at_ = now_ + kResetsPause;
        resets_left_ = kResetsAtOnce;
    }
    if (resets_left_ == 0) {
        return;
    }
    --resets_left_;
    const wire::FrameHead reset = flow::Machine::reset(head);
    Held lock{ch};
    port_->send_single(ch.number, from, std::as_bytes(std::span{&reset, 1}));
}

// It names both ends of the connection, and one of the names is a secret.
void FrameTransport::reset_arrived(Channel& ch, std::span<const std::byte> frame) noexcept
{
    wire::FrameHead head;
    std::memcpy(&head, frame.data(), sizeof head);
    if (!wire::frame_head_ok(head, frame.size())) {
        return;
    }
    Link* link = nullptr;
    {
        Held lock{ch};
        const std::uint32_t place = head.number.get();
        link = place < ch.links.size() ? ch.links[place] : nullptr;
    }
    if (link != nullptr && link->peer_wire_id != 0 && link->peer_wire_id == head.connection.get()) {
        const std::string text = describe(*link, "closed by the peer", 0);
        gone(*link);
        end_link(*link, true, link->up() ? Status::kClosed : Status::kPeerDown, text);
    }
}

}   // namespace linnet::frames

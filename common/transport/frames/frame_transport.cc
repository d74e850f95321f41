// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FrameTransport: the table of links, polling, timers, and the end of links.
#include "transport/frames/frame_transport.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/assert.h"
#include "sys/error.h"
#include "sys/process.h"

namespace linnet::frames {

namespace {

// A packet of the lane may be as long as any transport's (TransportCaps); it is cut into frames.
constexpr std::size_t kLanePacketMax = 128 * 1024;
// The lane copies on either side, bulk data goes from memory to memory: no more than what hides the round trip of the grant.
constexpr std::size_t kFirstFragment = 32 * 1024;
// Frames that a channel keeps for repetition, and that came too early. Touched from the end of a stack, so that only as many are in memory as are ever in use.
constexpr std::size_t kTxFrames = 2048;
constexpr std::size_t kRxFrames = 1024;
// Lane frames to one acknowledgement of its own. Half of the window: it is a system call of the receiver's, for which the message waits that it comes amid,
// and the other half covers its way.
constexpr std::uint32_t kAckEvery = flow::kLaneWindow / 2;
// A refused frame is offered again after this, when nobody polls.
constexpr Nanos kRefusedPause = std::chrono::microseconds{100};
constexpr Nanos kPublishGap = std::chrono::milliseconds{1};
constexpr Nanos kGoodbyeGap = std::chrono::milliseconds{2};
constexpr unsigned kGoodbyes = 4;
constexpr std::size_t kMaxGoodbyes = 256;
// A ring that overflowed. One overflow may be told in several parts, and what was lent before it is still on its way.
constexpr std::uint32_t kLeastRing = 48;
constexpr Nanos kOneOverflow = std::chrono::milliseconds{100};
// It may have been somebody else's crowd: after so long without one it grows again, by a part of what it was, in so many steps.
constexpr Nanos kCalm = std::chrono::seconds{2};
constexpr Nanos kGrowGap = std::chrono::milliseconds{100};
constexpr std::uint32_t kGrowSteps = 64;
// All of what a poll of another transport would wait for: several batches, then the others have their turn.
constexpr unsigned kBatchesAtOnce = 4;
constexpr std::uint32_t kControl = 64;   // places of a ring that are never lent

}   // namespace

FrameTransport::FrameTransport(std::unique_ptr<FramePort> port, const TransportCaps& prior, const Settings& settings, const Clock& clock, Log& log,
                               Stats& stats) noexcept
    : port_{std::move(port)}, caps_{prior}, settings_{settings}, clock_{clock}, log_{log}, counters_{stats.block(StatsRole::kPoller)}
{
    caps_.lane_packet_max = kLanePacketMax;
    caps_.separate_bulk = true;
    caps_.direct_links = false;
    caps_.first_fragment = kFirstFragment;
    caps_.bulk_packet = 16u << 20;   // one of a message at a time: the next would wait for a round trip
}

FrameTransport::~FrameTransport() { shutdown(); }

// ---- before the first link ----

void FrameTransport::make_channel(unsigned number)
{
    auto ch = std::make_unique<Channel>();
    ch->number = number;
    ch->limits = port_->limits(number);
    ch->ring_frames = ch->limits.ring_frames;
    const bool lane = number == kLaneChannel;   // blocks leave from the user's memory
    const std::size_t bytes = ch->limits.frame_bytes;
    const std::size_t tx = lane ? kTxFrames : 1;
    const std::size_t rx = lane ? kRxFrames : 1;
    ch->tx_memory = std::make_unique_for_overwrite<std::byte[]>(tx * bytes);
    ch->rx_memory = std::make_unique_for_overwrite<std::byte[]>(rx * bytes);
    ch->tx_pool = std::make_unique<flow::FramePool>(std::span{ch->tx_memory.get(), tx * bytes}, bytes);
    ch->rx_pool = std::make_unique<flow::FramePool>(std::span{ch->rx_memory.get(), rx * bytes}, bytes);
    flow::Machine::Config config;
    config.frame_bytes = bytes;
    config.ring_frames = ch->limits.ring_frames;
    config.control_reserve = config.ring_frames >= 8 * kControl ? kControl : std::min(config.control_reserve, config.ring_frames / 4);
    config.trains_open = kBulkPackets;
    config.trains = 128;
    config.bulk_share = 1024;
    config.ack_every = kAckEvery;
    config.crc = settings_.boolean(SettingId::kFrameCrc);
    config.quantum = std::min<unsigned>(ch->limits.burst, kBatch);
    ch->at_once = kBatch - kBatch % config.quantum;
    config.timing.keep_alive = settings_.duration(SettingId::kPeerTimeout);
    MutexLock lock{ch->lock};
    ch->machine = std::make_unique<flow::Machine>(config, *ch->tx_pool, *ch->rx_pool);
    channels_[number] = std::move(ch);
}

Status FrameTransport::open(TransportSink& sink, wire::EndpointName& name) noexcept
try {
    sink_ = &sink;
    incarnation_ = name.incarnation.get();
    connect_timeout_ = settings_.duration(SettingId::kConnectTimeout);
    if (const Status s = port_->open(name); failed(s)) {
        port_->close();
        return s;
    }
    channel_count_ = std::min(port_->channels(), kChannels);
    for (unsigned i = 0; i < channel_count_; ++i) {
        make_channel(i);
    }
    auto epoll = EpollSet::open(log_);
    auto doorbell = EventFd::open(log_);
    if (!epoll.ok() || !doorbell.ok()) {
        return epoll.ok() ? doorbell.status() : epoll.status();
    }
    epoll_ = std::move(epoll).value();
    doorbell_ = std::move(doorbell).value();
    if (failed(epoll_.add(doorbell_.get(), EPOLLIN, 0, log_)) || failed(epoll_.add(port_->wait_descriptor(), EPOLLIN, 1, log_))) {
        return Status::kNoMemory;
    }
    return Status::kOk;
} catch (const std::bad_alloc&) {
    return Status::kNoMemory;
}

// ---- table ----

Link* FrameTransport::link_of(const Channel& ch, flow::ConnectionId id) noexcept
{
    const auto place = static_cast<std::uint32_t>(id.value);
    Link* const link = place < ch.links.size() ? ch.links[place] : nullptr;
    return link != nullptr && link->connection == id ? link : nullptr;
}

Result<LinkId> FrameTransport::connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept
{
    const Result<LinkId> id = links_.request(peer, role, name);
    if (id.ok()) {
        wishes_.store(true, std::memory_order_release);
        doorbell_.signal();
    }
    return id;
}

Nanos FrameTransport::unanswered(LinkId id) noexcept
{
    RoleScope token{token_};
    const Link* const link = links_.find(id);
    if (link == nullptr || link->connection.value == 0) {
        return Nanos{0};
    }
    Channel& ch = channel_of(*link);
    Held lock{ch};
    return ch.machine->unanswered(link->connection, clock_.now());
}

void FrameTransport::drop(LinkId id) noexcept
{
    RoleScope token{token_};
    if (Link* const link = links_.find(id)) {
        end_link(*link, false, Status::kCanceled, {});
        if (!polling_) {
            links_.recycle();
        }
        return;
    }
    links_.withdraw(id);
}

void FrameTransport::shutdown() noexcept
{
    RoleScope token{token_};
    if (std::exchange(closed_, true)) {
        return;
    }
    links_.close();
    now_ = clock_.now();
    for (std::uint32_t n = 0; n < links_.limit(); ++n) {
        if (Link* const link = links_.at(n); link->id.value != 0) {
            end_link(*link, false, Status::kClosed, {});
        }
    }
    repeat_goodbyes(TimePoint::max());   // there will be no other time
    for (unsigned i = 0; i < channel_count_ && channels_[i] != nullptr; ++i) {
        publish(*channels_[i]);
    }
    port_->close();
}

// ---- ending ----

// Nothing of it is sent, received or written to the user's memory any more. `leaving`: bulk packets that are the caller's again.
void FrameTransport::close_connection(Link& link, std::unique_ptr<BulkQueue>* leaving) noexcept
{
    if (link.connection.value == 0) {
        return;
    }
    Channel& ch = channel_of(link);
    Held lock{ch};
    if (link.peer_wire_id != 0) {
        say_goodbye(ch, link);
    }
    ch.links[static_cast<std::uint32_t>(link.connection.value)] = nullptr;
    ch.machine->close(link.connection);
    for (flow::Event e = ch.machine->take_back(link.connection); e.kind != flow::Event::Kind::kNone; e = ch.machine->take_back(link.connection)) {
        if (e.kind == flow::Event::Kind::kTrainDone) {
            static_cast<BulkIn*>(e.cookie)->part_ended(e);
        }
    }
    if (link.number < ch.tx.size() && ch.tx[link.number].id == link.id) {
        Tx& tx = ch.tx[link.number];
        if (leaving != nullptr) {
            *leaving = std::move(tx.bulk);
        }
        tx = Tx{};
    }
    link.connection = {};
    link.peer_wire_id = 0;
}

void FrameTransport::end_link(Link& link, bool report, Status why, std::string_view text) noexcept
{
    LinkEnd end{link.id, link.peer, link.role, link.up(), link.body, nullptr, false};
    report = report && link.state != LinkState::kFree;
    std::unique_ptr<BulkQueue> leaving;
    close_connection(link, &leaving);
    const std::unique_ptr<BulkArrivals> arriving = std::move(link.bulk);
    open_done(link);
    if (link.state == LinkState::kAwaitConfirm) {
        --half_open_;
    }
    if (link.hello != 0) {
        hellos_.erase(link.hello);
        forgotten_[forget_next_++ % kForgotten] = std::exchange(link.hello, 0);
    }
    link.body = {};
    link.head_bytes = 0;
    link.calls.reset();
    link.state = LinkState::kFree;
    links_.retire(link);
    for (unsigned i = 0; arriving != nullptr && i < arriving->size(); ++i) {
        if (const BulkIn& p = (*arriving)[i]; p.open) {
            sink_->on_bulk_end(end.id, end.peer, p.landing.cookie, p.in_place(), false);
        }
    }
    for (unsigned i = 0; leaving != nullptr && i < leaving->count; ++i) {
        if (const BulkOut& p = leaving->at(i); !p.over) {
            sink_->on_bulk_sent(end.peer, p.cookie, false);
        }
    }
    tell_end(*sink_, end, report, why, text);
}

// The peer ended it: no goodbye.
void FrameTransport::gone(Link& link) noexcept { link.peer_wire_id = 0; }

// A frame like the answer to one of the peer's that nobody here knows any more.
void FrameTransport::say_goodbye(Channel& ch, const Link& link) noexcept
{
    constexpr std::uint32_t kPlaceMask = (1u << 20) - 1;
    Goodbye g{ch.number, link.route, {}, now_ + kGoodbyeGap, kGoodbyes};
    g.frame.kind = wire::FrameKind::kReset;
    g.frame.connection.set(ch.machine->wire_id(link.connection));
    g.frame.number.set(static_cast<std::uint32_t>(link.peer_wire_id) & kPlaceMask);
    port_->send_single(ch.number, g.to, std::as_bytes(std::span{&g.frame, 1}));
    try {
        if (goodbyes_.size() < kMaxGoodbyes) {
            goodbyes_.push_back(g);
        }
    } catch (const std::bad_alloc&) {
        return;   // the peer learns it from the answer to its next frame
    }
}

void FrameTransport::repeat_goodbyes(TimePoint now) noexcept
{
    for (std::size_t i = 0; i < goodbyes_.size();) {
        Goodbye& g = goodbyes_[i];
        if (g.at <= now) {
            Channel& ch = *channels_[g.channel];
            Held lock{ch};
            port_->send_single(g.channel, g.to, std::as_bytes(std::span{&g.frame, 1}));
            g.at += kGoodbyeGap * (1 << (2 * (kGoodbyes - g.left)));
            if (--g.left == 0) {
                g = goodbyes_.back();
                goodbyes_.pop_back();
                continue;
            }
        }
        ++i;
    }
}

// "udp lane link to 10.1.0.2 port 41873, interface eth0, local 10.1.0.1 port 40112: reset by peer: Connection refused (errno 111)"
std::string FrameTransport::describe(const Link& link, const char* what, int error) const
{
    std::string text = std::string{caps_.name} + (link.role == LinkRole::kLane ? " lane link to " : " bulk link to ");
    text += port_->text(link.route) + ", " + port_->local_text(link.route) + ": " + what;
    if (error != 0) {
        text += std::string{": "} + errno_text(error) + " (errno " + std::to_string(error) + ")";
    }
    return text;
}

// ---- polling ----

// The kernel's work for a row of frames is what bounds a stream where it does not cut and join them by itself: each frame of 1500 bytes takes 1 us on one
// host and 4 on another. So now and then a row is timed.
std::size_t FrameTransport::send_row(Channel& ch, std::span<const flow::TxFrame> frames) noexcept
{
    constexpr std::size_t kLongRow = 4096;
    constexpr unsigned kEach = 8;
    std::size_t bytes = 0;
    if (ch.number == kLaneChannel && frames.size() > 1) {
        for (const flow::TxFrame& f : frames) {
            bytes += f.payload.size();
        }
    }
    if (bytes < kLongRow || ++long_rows_ % kEach != 0) {
        return port_->send(ch.number, frames);
    }
    const TimePoint before = clock_.now();
    const std::size_t sent = port_->send(ch.number, frames);
    if (sent == frames.size()) {
        // One step towards each sample finds their median, which a lost core does not move.
        const float sample = static_cast<float>((clock_.now() - before).count()) / static_cast<float>(bytes);
        const float known = sending_ns_per_byte_.load(std::memory_order_relaxed);
        const float step = known / 16;
        sending_ns_per_byte_.store(known == 0 ? sample : known + (sample > known ? step : -step), std::memory_order_relaxed);
    }
    return sent;
}

// Everything that the machine wants to say now. What is refused goes back, and is offered again on the next pass.
void FrameTransport::flush(Channel& ch, TimePoint now) noexcept
{
    ch.refused = false;
    for (;;) {
        const std::size_t n = ch.machine->produce(now, std::span{ch.frames}.first(ch.at_once));
        if (n == 0) {
            return;
        }
        const std::size_t sent = send_row(ch, std::span{ch.frames}.first(n));
        if (sent < n) {
            ch.machine->not_sent(std::span{ch.frames}.subspan(sent, n - sent), now);
            ch.refused = true;
            return;
        }
        if (n < ch.at_once) {
            return;   // that was all
        }
    }
}

// What comes next are most likely the next blocks of the train that is arriving: let them be read to where they belong.
bool FrameTransport::take_aim(Channel& ch) noexcept
{
    constexpr unsigned kWorthwhile = 4;
    if (!ch.trains) {
        return false;
    }
    flow::Machine::Ahead ahead;
    {
        Held lock{ch};
        ahead = ch.machine->ahead();
    }
    ch.trains = ahead.blocks != 0;
    if (ahead.blocks < kWorthwhile) {
        return false;
    }
    ch.ahead = ahead;
    return port_->aim(ch.number, {ahead.to, ahead.block_bytes, sizeof(wire::FrameHead) + sizeof(wire::BlockHead), ahead.blocks});
}

unsigned FrameTransport::serve(Channel& ch, unsigned budget) noexcept
{
    unsigned done = 0;
    bool all = false;
    for (unsigned batch = 0; batch < kBatchesAtOnce && done < std::max(budget, 1u) && !closed_ && !all; ++batch) {
        const bool aimed = take_aim(ch);
        const std::size_t n = port_->receive(ch.number, ch.arrived);
        if (n != 0) {
            done += handle(ch, std::span{ch.arrived}.first(n));
        }
        all = n < ch.arrived.size() && !(aimed && n != 0);
    }
    ch.unread = all ? 0 : ch.unread + done;
    if (closed_ || ch.due.load(std::memory_order_relaxed) > now_.time_since_epoch().count()) {
        return done;
    }
    bool events = false;
    {
        Held lock{ch};
        // A process without a core for a while finds its ring full: what it waits for may lie there, and is not late before it has read so far.
        if (ch.machine->next_timer() <= now_ && (all || ch.unread >= ch.limits.ring_frames)) {
            ch.machine->run(now_);
            ch.unread = 0;
        }
        flush(ch, now_);
        events = ch.machine->has_events();
    }
    return events ? done + take_events(ch) : done;
}

unsigned FrameTransport::take_evidence() noexcept
{
    unsigned done = 0;
    for (Evidence e; !closed_ && port_->next_evidence(e);) {
        ++done;
        for (std::uint32_t n = 0; n < links_.limit(); ++n) {
            Link* const link = links_.at(n);
            if (link->id.value == 0 || link->connection.value == 0 || link->route != e.route) {
                continue;
            }
            if (e.error == EMSGSIZE) {
                if (link->up()) {
                    end_link(*link, true, Status::kIo, describe(*link, "its frames have become too long for the interface", e.error));
                }
            } else if (link->state == LinkState::kAwaitWelcome) {
                call_failed(*link, e.error == ECONNREFUSED ? Status::kRefused : Status::kUnreachable, describe(*link, "cannot connect", e.error));
            } else if (e.error == ECONNREFUSED) {   // other errors may pass: an interface that is down for a moment
                const std::string text = describe(*link, "nobody is there any more", e.error);
                gone(*link);
                end_link(*link, true, link->up() ? Status::kClosed : Status::kPeerDown, text);
            }
        }
    }
    return done;
}

unsigned FrameTransport::run_timers(TimePoint now) noexcept
{
    unsigned done = opening_.expire(now, [this, now](Link& link) {
        token_.assert_held();
        open_due(link, now);
    });
    if (!goodbyes_.empty()) {
        repeat_goodbyes(now);
    }
    if (now >= publish_at_) {
        publish_at_ = now + kPublishGap;
        for (unsigned i = 0; i < channel_count_; ++i) {
            publish(*channels_[i]);
        }
    }
    return done;
}

unsigned FrameTransport::poll(unsigned budget) noexcept
{
    RoleScope token{token_};
    LINNET_ASSERT(!polling_);
    if (closed_) {
        return 0;
    }
    polling_ = true;
    if (!std::exchange(now_is_new_, false)) {
        now_ = clock_.now();
    }
    unsigned done = 0;
    if (wishes_.load(std::memory_order_relaxed)) {
        wishes_.store(false, std::memory_order_relaxed);
        doorbell_.drain();
        done += start_requested();
    }
    for (unsigned i = 0; i < channel_count_ && !closed_; ++i) {
        done += serve(*channels_[i], budget);
    }
    done += take_evidence();
    if (!closed_) {
        done += run_timers(now_);
    }
    polling_ = false;
    links_.recycle();
    return done;
}

// Who finds something knows the time already.
EventSource::Linger FrameTransport::linger() noexcept
{
    RoleScope token{token_};
    now_ = clock_.now();
    const Linger found = closed_ ? Linger::kNever : port_->linger();
    now_is_new_ = found == Linger::kArrival;
    return found;
}

// ---- sleeping ----

bool FrameTransport::prepare_sleep() noexcept
{
    RoleScope token{token_};
    if (closed_) {
        return true;
    }
    now_ = clock_.now();
    bool quiet = port_->prepare_sleep();
    for (unsigned i = 0; i < channel_count_; ++i) {
        Channel& ch = *channels_[i];
        {
            Held lock{ch};
            ch.machine->set_polling(false);
            ch.machine->flush_acks();
            flush(ch, now_);
            quiet = quiet && !ch.machine->has_events();   // what another transport's pass made of ours is told by a pass
        }
        publish(ch);
    }
    quiet = quiet && !wishes_.load(std::memory_order_acquire);
    return quiet;
}

void FrameTransport::finish_sleep() noexcept
{
    RoleScope token{token_};
    if (closed_) {
        return;
    }
    port_->finish_sleep();
    will_poll(how_polled_);
}

// What the event thread sends in a pass comes from one that sleeps: it does so before the answer is here. Among ranks that share a core the 50 us of an
// acknowledgement are over before either side has had its turn: it would be a frame of its own, for which nobody waits.
void FrameTransport::will_poll(Polling how) noexcept
{
    RoleScope token{token_};
    how_polled_ = how;
    for (unsigned i = 0; i < channel_count_ && !closed_; ++i) {
        Held lock{*channels_[i]};
        channels_[i]->machine->set_polling(how != Polling::kForAMoment, how == Polling::kInTurns);
    }
}

void FrameTransport::will_sleep(Sleeper who) noexcept
{
    RoleScope token{token_};
    for (unsigned i = 0; i < channel_count_ && !closed_ && who == Sleeper::kEventThread; ++i) {
        Held lock{*channels_[i]};
        channels_[i]->machine->be_patient(now_);
    }
}

TimePoint FrameTransport::next_timer() const noexcept
{
    RoleScope token{token_};
    if (closed_) {
        return TimePoint::max();
    }
    TimePoint first = opening_.due();
    for (const Goodbye& g : goodbyes_) {
        first = std::min(first, g.at);
    }
    for (unsigned i = 0; i < channel_count_; ++i) {
        const Channel& ch = *channels_[i];
        MutexLock lock{ch.lock};
        first = std::min(first, ch.machine->next_timer());
        if (ch.refused) {
            first = std::min(first, now_ + kRefusedPause);
        }
    }
    return first;
}

// ---- counters ----

// A queue that overflowed is smaller than was thought, or was for a while: less of it is lent. Where hardly any of it was lent, that is not why.
void FrameTransport::fit_ring(Channel& ch, bool overflowed) noexcept
{
    const std::uint32_t whole = ch.limits.ring_frames;
    const flow::CreditPool& credit = ch.machine->credit();
    const std::uint32_t before = ch.ring_frames;
    if (overflowed) {
        ch.grow_at = now_ + kCalm;
        if (now_ >= ch.shrink_at && credit.lent() + credit.owed() >= credit.capacity() / 4) {
            ch.shrink_at = now_ + kOneOverflow;
            ch.ring_frames = std::max(before - before / 8, std::min(kLeastRing, whole));
        }
    } else if (before < whole && now_ >= ch.grow_at) {
        ch.grow_at = now_ + kGrowGap;
        ch.ring_frames = std::min(before + std::max(whole / kGrowSteps, 1u), whole);
    }
    if (ch.ring_frames != before) {
        ch.machine->set_ring_frames(ch.ring_frames);
    }
}

// What the machine counted since the last time.
void FrameTransport::publish(Channel& ch) noexcept
{
    flow::MachineStats s;
    flow::MachineStats before;
    const std::uint64_t drops = port_->kernel_drops(ch.number);
    const bool overflowed = drops != ch.told_drops;
    {
        Held lock{ch};
        s = ch.machine->stats();
        before = std::exchange(ch.told, s);
        fit_ring(ch, overflowed);
    }
    const auto add = [this](Counter id, std::uint64_t now, std::uint64_t then) {
        if (now != then) {
            counters_.add(id, now - then);
        }
    };
    add(Counter::kFlowFramesIn, s.frames_in, before.frames_in);
    add(Counter::kFlowFramesOut, s.frames_out, before.frames_out);
    add(Counter::kFlowAcks, s.acks_out, before.acks_out);
    add(Counter::kFlowPulls, s.pulls_out, before.pulls_out);
    add(Counter::kFlowProbes, s.probes_out, before.probes_out);
    add(Counter::kFlowFramesAgain, s.lane_again + s.blocks_again, before.lane_again + before.blocks_again);
    add(Counter::kFlowTimeouts, s.timeouts, before.timeouts);
    add(Counter::kFlowSpurious, s.spurious, before.spurious);
    add(Counter::kFlowCreditStalls, s.credit_stalls, before.credit_stalls);
    add(Counter::kFlowKernelDrops, drops, std::exchange(ch.told_drops, drops));
    for (std::size_t i = 1; i < s.drops.size(); ++i) {
        static_assert(static_cast<std::size_t>(Counter::kFlowDropStale) - static_cast<std::size_t>(Counter::kFlowDropBadHead) + 2 ==
                      static_cast<std::size_t>(flow::Drop::kCount));
        add(static_cast<Counter>(static_cast<std::size_t>(Counter::kFlowDropBadHead) + i - 1), s.drops[i], before.drops[i]);
    }
    if (overflowed) {
        if (const std::uint64_t n = drops_throttle_.hit(); n != 0) {
            LINNET_LOG(log_, kInfo, "%s: the kernel dropped frames for want of room (%llu so far): at most %u frames are lent now", caps_.name,
                       static_cast<unsigned long long>(drops), ch.ring_frames);
        }
    }
}

}   // namespace linnet::frames

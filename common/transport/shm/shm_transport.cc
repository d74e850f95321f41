// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ShmTransport: the table of links, polling and sleeping, and the end of links.
#include "transport/shm/shm_transport.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <new>
#include <span>
#include <utility>

#include "base/assert.h"
#include "sys/error.h"
#include "wire/hello.h"

namespace linnet::shm {

namespace {

// Sockets say only who comes and who goes, and that somebody rang while we slept: asking costs more than a pass over all rings, so a thread that polls
// without pause asks rarely. One that polls rarely asks each time.
constexpr Nanos kAskOpening{2'000};   // while links are being opened
constexpr Nanos kAskIdle{50'000};
constexpr unsigned kPassesPerTick = 8;
constexpr unsigned kEventsAtOnce = 32;
// A link that was idle for two or three times as long gives its memory back.
constexpr Nanos kTrimPause = std::chrono::milliseconds{250};

constexpr TransportCaps kCaps{
    .name = "shm",
    .lane_packet_max = kLanePacketMax,
    .separate_bulk = true,
    .direct_links = false,
    .latency = Nanos{300},
    .bytes_per_ns = 8.0,
    .at_once = true,
    .told_of_death = true,
};

}   // namespace

ShmTransport::ShmTransport(const Settings& settings, const Clock& clock, Log& log, Stats& stats, CopyEngine& copy) noexcept
    : settings_{settings},
      clock_{clock},
      log_{log},
      rx_counters_{stats.block(StatsRole::kPoller)},
      tx_counters_{stats.block(StatsRole::kAnyThread)},
      copy_{copy},
      ask_opening_{machine_ticks().ticks(kAskOpening)},
      ask_idle_{machine_ticks().ticks(kAskIdle)}
{
}

ShmTransport::~ShmTransport() { shutdown(); }

const TransportCaps& ShmTransport::caps() const noexcept { return kCaps; }

std::uint64_t ShmTransport::counted(Counter id) const noexcept
{
    std::uint64_t sum = 0;
    for (std::uint32_t n = 0; id == Counter::kShmTxBytes && n < links_.limit(); ++n) {
        const Link* const link = links_.at(n);
        sum += link != nullptr ? link->tx_bytes.load(std::memory_order_relaxed) : 0;
    }
    return sum;
}

// ---- table ----

void ShmTransport::prepare(Link& link, Side side, LinkState state) noexcept
{
    link.side = side;
    link.state = state;
    link.we_pull = link.peer_pulls = false;
    link.read_then = link.written_then = link.heard_then = 0;
    link.trimmed = kNeverTrimmed;
    link.empty_then = false;
    link.rx = Rx{};
    link.lent_lock.store(nullptr, std::memory_order_relaxed);
    opening_.add(link);
}

Result<LinkId> ShmTransport::connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept
{
    if (links_.closed()) {
        return Status::kClosed;
    }
    SocketOrError s;
    try {
        s = unix_connect(socket_name(name));
    } catch (const std::bad_alloc&) {
        return Status::kNoMemory;
    }
    if (s.error != 0) {
        LINNET_LOG(log_, kDebug, "shm: no way to endpoint %016llx: %s", static_cast<unsigned long long>(name.endpoint_id.get()), errno_text(s.error));
        const Status why = s.error == ECONNREFUSED || s.error == ENOENT ? Status::kUnreachable : status_from_errno(s.error);
        if (why == Status::kNoDescriptors) {
            if (const std::uint64_t n = descriptor_throttle_.hit(); n != 0) {
                LINNET_LOG(log_, kError, "shm: cannot open a connection: %s (%llu times); raise the limit of open files (ulimit -n, RLIMIT_NOFILE)",
                           errno_text(s.error), static_cast<unsigned long long>(n));
            }
        }
        return why;
    }
    const Result<LinkId> id = links_.request(peer, role, std::move(s.fd));
    if (id.ok()) {
        doorbell_.signal();
    }
    return id;
}

void ShmTransport::drop(LinkId id) noexcept
{
    RoleScope token{token_};
    Link* const link = links_.find(id);
    if (link == nullptr) {
        links_.withdraw(id);
        return;
    }
    end_link(*link, false, Status::kCanceled, {});
    if (!polling_) {   // else a pass over the links is going on below us on the stack and may still look at what ended
        links_.recycle();
    }
}

void ShmTransport::shutdown() noexcept
{
    RoleScope token{token_};
    links_.close();
    for (std::uint32_t n = 0; Link* const link = links_.at(n); ++n) {
        if (link->state != LinkState::kFree) {
            end_link(*link, false, Status::kClosed, {});
        }
    }
    listener_.reset();   // takes it out of the epoll set: no duplicate of it exists
    listen_again_ = TimePoint::max();
    spare_.reset();
}

// ---- ending ----

void ShmTransport::end_link(Link& link, bool report, Status why, std::string_view text) noexcept
{
    LinkEnd end{link.id, link.peer, link.role, link.up(), link.rx, nullptr, false};
    report = report && link.reported();
    stop_reads(link.id);
    {
        TxScope tx_scope{link, TxScope::Who::kPoller};   // after this no thread of ours writes into the segment
        end.cookie = link.tx.cookie;
        end.cookie_held = link.tx.cookie_held;
        link.tx = Tx{};
    }
    if (link.segment.valid()) {
        link.head().closed[static_cast<std::size_t>(link.side)].value.store(1, std::memory_order_seq_cst);   // before offered memory is given back
    }
    if (link.fd.valid()) {
        epoll_.remove(link.fd.get());   // a child of fork() may hold the descriptor: closing alone would not take it out,
        socket_shutdown(link.fd.get()); // nor tell the peer
        link.fd.reset();
    }
    if (link.state == LinkState::kAwaitOffer || link.state == LinkState::kAwaitHello) {
        stranger_gone();
    }
    opening_.remove(link);
    hot_.remove(link);
    link.rx = Rx{};
    link.segment.reset();
    link.peer_page.reset();
    link.process = RemoteProcess{};
    link.state = LinkState::kFree;
    links_.retire(link);
    fail_reads(end.id);
    tell_end(*sink_, end, report, why, text);
}

// "shm lane link to process 4711 of this host: closed by the peer"
std::string ShmTransport::describe(const Link& link, const char* what, int error) const
{
    std::string text = link.role == LinkRole::kLane ? "shm lane link to process " : "shm bulk link to process ";
    text += std::to_string(link.process.pid()) + " of this host: " + what;
    if (error != 0) {
        text += std::string{": "} + errno_text(error) + " (errno " + std::to_string(error) + ")";
    }
    return text;
}

void ShmTransport::fail_link(Link& link, Status why, int error, const char* what) noexcept
{
    std::string text;
    try {
        text = describe(link, what, error);
    } catch (const std::bad_alloc&) {
        // it ends without a word
    }
    if (link.state == LinkState::kAwaitOffer || link.state == LinkState::kAwaitHello) {
        ++rubbish_;
        rx_counters_.add(Counter::kRefusedHellos);
        if (const std::uint64_t n = rubbish_throttle_.hit(); n != 0) {
            LINNET_LOG(log_, kInfo, "%s (%llu so far)", text.c_str(), static_cast<unsigned long long>(n));
        }
    }
    end_link(link, true, why, text);
}

// ---- polling ----

// A hot link's ring is looked at on each pass, and its peer need not ring for that. The longest hot one makes room.
void ShmTransport::warm(Link& link) noexcept
{
    if (link.hot) {
        return;
    }
    if (hot_.count() == kMaxHot) {
        next_out_ = (next_out_ + 1) % kMaxHot;
        Link& out = hot_[next_out_];
        hot_.remove(out);
        out.rx.ring.set_polled(false);
        bells_->set(out.number);   // a record may have come just before
    }
    hot_.add(link);
    link.rx.ring.set_polled(true);
}

// A bell of a link that is up: records, or room, or trouble that a sender met.
unsigned ShmTransport::handle(Link& link, unsigned budget) noexcept
{
    const LinkId id = link.id;
    bool broken = false;
    {
        TxScope tx_scope{link, TxScope::Who::kPoller};
        broken = link.tx.broken;
    }
    if (broken) {
        nonsense(link, "found nonsense in its ring");
        return 1;
    }
    unsigned done = flush(link);
    if (link.id == id) {
        const unsigned n = receive(link, budget);
        done += n;
        if (link.id == id && n != 0) {
            warm(link);
        }
        watch_idleness();
        if (link.id == id && !link.hot && link.rx.ring.ready()) {
            bells_->set(link.number);   // the budget ended: more is there, and its bell was taken
        }
    }
    return done;
}

unsigned ShmTransport::socket_of_up_link(Link& link) noexcept
{
    for (;;) {
        std::array<std::byte, 16> buffer;
        const UnixPacket p = unix_receive(link.fd.get(), buffer);
        if (p.io.error == EINTR) {
            continue;
        }
        if (p.io.would_block()) {
            return 0;
        }
        if (p.io.error == 0 && p.io.bytes == 1 && buffer[0] == static_cast<std::byte>(SocketKind::kDoorbell)) {
            return 0;   // its bell says the rest; were there another byte, epoll would say so again
        }
        if (p.io.error == 0 && p.io.bytes != 0) {
            nonsense(link, "received what is no doorbell");
            return 1;
        }
        return peer_went(link, p.io.error, "closed by the peer");
    }
}

unsigned ShmTransport::peer_went(Link& link, int error, const char* what) noexcept
{
    const LinkId id = link.id;
    unsigned done = 1;
    for (unsigned n = 1; n != 0 && link.id == id; done += n) {   // what it wrote before it went still counts
        n = receive(link, UINT32_MAX);
    }
    if (link.id == id) {
        fail_link(link, Status::kPeerDown, error, what);
    }
    return done;
}

// The socket of a process that was killed stays open while a child of its fork() has it, too. A system call for each peer that was silent, as a rule.
unsigned ShmTransport::look_for_the_dead() noexcept
{
    unsigned done = 0;
    bool any = false;
    for (std::uint32_t n = 0; Link* const link = links_.at(n); ++n) {
        if (!link->up() || link->role != LinkRole::kLane) {
            continue;
        }
        any = true;
        const bool silent = std::exchange(link->heard_then, link->rx.ring.read()) == link->rx.ring.read();
        if (silent && !link->process.readable() && link->process.ended()) {
            done += peer_went(*link, 0, "its process has ended, and left the socket to a child");
        }
    }
    dead_due_ = any ? clock_.now() + kDeadPause : TimePoint::max();
    return done;
}

unsigned ShmTransport::poll_epoll(unsigned budget) noexcept
{
    std::array<EpollEvent, kEventsAtOnce> events;
    const unsigned n = epoll_.wait(events, Nanos::zero());
    unsigned done = 0;
    for (const EpollEvent& e : std::span{events}.first(n)) {
        if (e.data.u64 == kListenerTag) {
            done += accept_some();
        } else if (e.data.u64 == kDoorbellTag) {
            doorbell_.drain();
            done += start_requested();
        } else if (Link* const link = links_.find(LinkId{e.data.u64})) {   // may have ended since epoll spoke
            done += link->up() ? socket_of_up_link(*link) : receive_setup(*link);
        }
    }
    static_cast<void>(budget);
    ask_now_ = n == kEventsAtOnce;
    return done;
}

unsigned ShmTransport::poll(unsigned budget) noexcept
{
    RoleScope token{token_};
    LINNET_ASSERT(!polling_);
    if (bells_ == nullptr) {
        return 0;
    }
    polling_ = true;
    moved_ = 0;
    brief_ = false;
    unsigned done = hot_.each([&](Link& link) {
        token_.assert_held();
        return receive(link, budget);
    });
    bells_->take(links_.limit(), [&](std::uint32_t bell) {
        token_.assert_held();
        Link* const link = links_.at(bell);
        if (link != nullptr && link->up()) {
            done += handle(*link, budget);
        }
    });
    if (reading_ != 0) {
        done += go_on_reading();
    }
    if (!ask_now_ && (done == 0 || opening_.empty()) && ++passes_ < kPassesPerTick && !hot_.empty()) {
        polling_ = false;   // even the time costs a tenth of such a pass
        brief_ = moved_ <= kBriefMax;
        links_.recycle();
        return done;
    }
    passes_ = 0;
    const Ticks now = read_ticks();
    if (ask_now_ || now - asked_ >= (opening_.empty() ? ask_idle_ : ask_opening_)) {
        asked_ = now;
        done += poll_epoll(budget);
        if (!opening_.empty() || listen_again_ != TimePoint::max()) {
            done += run_timers();
        }
        if (sent_.load(std::memory_order_relaxed)) {
            watch_idleness();
        }
        if (trim_due_ != TimePoint::max()) {
            trim_idle();
        }
        if (dead_due_ != TimePoint::max() && clock_.now() >= dead_due_) {
            done += look_for_the_dead();
        }
    }
    polling_ = false;
    links_.recycle();
    return done;
}

EventSource::Linger ShmTransport::linger() noexcept
{
    RoleScope token{token_};
    for (unsigned i = 0; i < hot_.count(); ++i) {
        if (hot_[i].rx.ring.ready_and_fetch()) {
            take_one(hot_[i]);
            return Linger::kTaken;
        }
    }
    return hot_.empty() ? Linger::kNever : Linger::kNothing;
}

// All else was looked at when this wait began. One packet: somebody waits for it, and the slot behind it would have to come from the peer's core.
void ShmTransport::take_one(Link& link) noexcept
{
    polling_ = true;
    moved_ = 0;
    static_cast<void>(receive(link, 1));
    polling_ = false;
    brief_ = moved_ <= kBriefMax;
    links_.recycle();
}

// Links that did not open in time, and the listener's pause.
unsigned ShmTransport::run_timers() noexcept
{
    const TimePoint now = clock_.now();
    unsigned done = 0;
    if (now >= listen_again_) {
        listen_again_ = TimePoint::max();
        static_cast<void>(epoll_.modify(listener_.get(), EPOLLIN, kListenerTag, log_));
        ++done;
    }
    return done + opening_.expire(now, [this](Link& link) {
        token_.assert_held();
        std::array<char, 96> what{};
        std::snprintf(what.data(), what.size(), "gave up while %s", state_text(link.state));
        fail_link(link, Status::kTimedOut, 0, what.data());
    });
}

// ---- memory of idle links ----

// Nothing came or went for a while: the reader says that it is done with everything, and stops looking on each pass; the writer, when it
// has heard that of its own ring, gives its memory back. The page with the control words stays.
bool ShmTransport::trim(Link& link) noexcept
{
    const bool reads = std::exchange(link.read_then, link.rx.ring.read()) != link.rx.ring.read() || link.rx.in_body;
    if (!reads) {
        if (link.hot) {
            hot_.remove(link);
            link.rx.ring.set_polled(false);
            bells_->set(link.number);   // a record may have come just before
        }
        if (link.rx.ring.unpublished() != 0 && link.rx.ring.publish()) {
            tell_room(link);
        }
    }
    TxScope tx_scope{link, TxScope::Who::kPoller};
    Tx& tx = link.tx;
    const bool writes = std::exchange(link.written_then, tx.ring.written()) != tx.ring.written();
    // The second time: the reader that has just said so looks once more.
    const bool empty = !writes && !tx.busy() && !tx.waiting && tx.ring.empty();
    if (std::exchange(link.empty_then, empty) && empty && tx.ring.written() != link.trimmed) {
        link.segment.discard(ring_memory(link.segment.bytes(), link.role, link.side));
        link.trimmed = tx.ring.written();
    }
    return reads || writes || tx.ring.written() != link.trimmed;
}

void ShmTransport::watch_idleness() noexcept
{
    sent_.store(false, std::memory_order_relaxed);
    if (trim_due_ == TimePoint::max()) {
        trim_due_ = clock_.now() + kTrimPause;
    }
}

void ShmTransport::trim_idle() noexcept
{
    const TimePoint now = clock_.now();
    if (now < trim_due_) {
        return;
    }
    bool more = false;
    for (std::uint32_t n = 0; Link* const link = links_.at(n); ++n) {
        more = (link->up() && trim(*link)) || more;
    }
    trim_due_ = more ? now + kTrimPause : TimePoint::max();
}

// ---- sleeping ----

bool ShmTransport::prepare_sleep() noexcept
{
    RoleScope token{token_};
    if (bells_ == nullptr) {
        return true;
    }
    if (sent_.load(std::memory_order_relaxed)) {
        watch_idleness();
    }
    bells_->set_asleep(true);
    bool quiet = reading_ == 0 && !bells_->any(links_.limit());
    for (unsigned i = 0; quiet && i < hot_.count(); ++i) {
        quiet = !hot_[i].rx.ring.ready();
    }
    return quiet;
}

void ShmTransport::finish_sleep() noexcept
{
    RoleScope token{token_};
    if (bells_ != nullptr) {
        bells_->set_asleep(false);
        ask_now_ = true;   // somebody may have rung
    }
}

TimePoint ShmTransport::next_timer() const noexcept
{
    RoleScope token{token_};
    return std::min({opening_.due(), trim_due_, dead_due_, listen_again_});
}

}   // namespace linnet::shm

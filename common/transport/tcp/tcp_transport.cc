// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TcpTransport: the table of links, polling, and the end of links.
#include "transport/tcp/tcp_transport.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/assert.h"
#include "sys/error.h"

namespace linnet::tcp {

namespace {

// A hot socket is read on every pass; one that found nothing so often in a row, while polling went on, is left to epoll again.
constexpr std::uint32_t kCoolAfter = 4096;
// ... or this much earlier when other sockets deliver meanwhile.
constexpr std::uint32_t kCoolWhenOvertaken = 64;
// ... or when so many sleeps ended without it: who sleeps asks epoll anyhow.
constexpr std::uint32_t kCoolAfterSleeps = 2;
constexpr std::uint32_t kCoolAfterLongSleeps = 16;   // of the event thread, which is not to be woken often; there may be some between two messages
// So many are known to be hot, or tcp_hot_sockets if that is more. With more than that setting says one question to epoll takes the place of their reads, of
// which most would find nothing.
constexpr unsigned kMostKnown = 8;
// While hot sockets deliver, epoll is asked on every n-th pass; n doubles up to this as long as epoll knows of no other socket. It bounds how long a
// socket that was idle waits: some microseconds.
constexpr unsigned kMaxEpollGap = 32;
// Without hot sockets: at most so often (RareQuestion).
constexpr Nanos kEpollPause{2'000};
constexpr unsigned kEventsAtOnce = 32;
// While the host computes, a packet of which so much is missing is read when the rest has come, or this much at a time, and likewise what was asked
// for: the event thread wakes up once for it rather than with every segment, and the kernel buffers that much for a link.
constexpr std::size_t kWorthWaiting = 16 * 1024;
constexpr std::size_t kMostBuffered = 1024 * 1024;

constexpr TransportCaps kCaps{
    .name = "tcp",
    .lane_packet_max = 128 * 1024,
    .separate_bulk = true,
    .direct_links = false,
    .latency = Nanos{7200},
    .bytes_per_ns = 4.0,
    .told_of_death = true,
    .lost_frame = std::chrono::milliseconds{2},   // at one in a hundred; a tail that is lost costs 16 ms, or 200 before Linux 6.15
    // A receiver answers beyond one segment at once (RFC 9293, 3.8.6.3), and who reads the socket waits until that is on its way.
    .more_frames = Nanos{3500},
    .calls = 5,   // as those of udp, and of its acknowledgements
    .unasked = true,
    .busy = 0.51,
};

}   // namespace

TcpTransport::TcpTransport(const Settings& settings, const Clock& clock, Log& log, Stats& stats) noexcept
    : settings_{settings},
      clock_{clock},
      log_{log},
      rx_counters_{stats.block(StatsRole::kPoller)},
      tx_counters_{stats.block(StatsRole::kAnyThread)},
      question_{machine_ticks().ticks(kEpollPause)}
{
}

TcpTransport::~TcpTransport() { shutdown(); }

const TransportCaps& TcpTransport::caps() const noexcept { return kCaps; }

// ---- table ----

void TcpTransport::prepare(Link& link, const InetAddress& remote, LinkState state) noexcept
{
    link.remote = remote;
    link.state = state;
    link.hello_bytes = 0;
    link.idle_passes = 0;
    link.rx = Rx{};
    opening_.add(link);
}

Result<LinkId> TcpTransport::connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept
{
    const Result<LinkId> id = links_.request(peer, role, addresses_of(name));
    if (id.ok()) {
        doorbell_.signal();
    }
    return id;
}

void TcpTransport::drop(LinkId id) noexcept
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

void TcpTransport::shutdown() noexcept
{
    RoleScope token{token_};
    links_.close();
    for (std::uint32_t n = 0; Link* const link = links_.at(n); ++n) {
        if (link->state != LinkState::kFree) {
            end_link(*link, false, Status::kClosed, {});
        }
    }
    for (Fd& listener : listeners_) {
        listener.reset();   // takes it out of the epoll set: no duplicate of it exists
    }
    listener_count_ = 0;
    listen_again_ = TimePoint::max();
    spare_.reset();
}

// ---- ending ----

void TcpTransport::end_link(Link& link, bool report, Status why, std::string_view text) noexcept
{
    LinkEnd end{link.id, link.peer, link.role, link.up(), link.rx, nullptr, false};
    report = report && link.reported();
    {
        MutexLock lock{link.tx_lock};
        end.cookie = link.tx.cookie;
        end.cookie_held = link.tx.cookie_held;
        if (link.tx.armed) {
            writers_waiting_.fetch_sub(1, std::memory_order_relaxed);
        }
        link.tx = Tx{};
    }
    if (link.fd.valid()) {
        epoll_.remove(link.fd.get());          // a child of fork() may hold the descriptor: closing alone would not take it out,
        socket_shutdown(link.fd.get());        // nor tell the peer
        link.fd.reset();
    }
    if (link.state == LinkState::kAwaitHello) {
        --strangers_;
    }
    opening_.remove(link);
    hot_.remove(link);
    low_waters_ -= link.rx.low_water > 1 ? 1u : 0u;
    return_buffer(link.rx);
    link.rx = Rx{};
    link.hello.reset();
    link.calls.reset();
    link.state = LinkState::kFree;
    links_.retire(link);
    tell_end(*sink_, end, report, why, text);
}

Status status_of_failure(LinkState state, int error) noexcept
{
    switch (error) {
        case ECONNREFUSED: return state == LinkState::kConnecting ? Status::kRefused : Status::kPeerDown;
        case ECONNABORTED:   // ss -K, or an administrator's tool like it
        case ENOTCONN:
        case 0: return Status::kPeerDown;
        case EADDRNOTAVAIL: return Status::kUnreachable;
        default: return status_from_errno(error);
    }
}

const char* advice_for(LinkState state, int error) noexcept
{
    switch (error) {
        case ETIMEDOUT: return state == LinkState::kUp ? "; see the setting silence_timeout" : "; see the settings connect_timeout and net_include";
        case ENETUNREACH:
        case EHOSTUNREACH:
        case EADDRNOTAVAIL: return "; see the settings net_include and net_exclude";
        case EMFILE:
        case ENFILE: return "; raise the limit of open files (ulimit -n, RLIMIT_NOFILE)";
        default: return "";
    }
}

// "tcp lane link to 10.1.0.2 port 41873, interface eth0, local 10.1.0.1 port 40112: reset by peer: Connection reset by peer (errno 104)"
std::string TcpTransport::describe(const Link& link, const char* what, int error, std::string_view advice) const
{
    std::string text = link.role == LinkRole::kLane ? "tcp lane link to " : "tcp bulk link to ";
    text += link.remote.text();
    const InetAddress local = link.fd.valid() ? local_address(link.fd.get()) : InetAddress{};
    if (local.family() != AF_UNSPEC && local.port() != 0) {
        text += ", interface " + own_.interface_of(local) + ", local " + local.text();
    } else {
        text += ", interface " + own_.interface_of(listens_at_[0]) + ", local " + listens_at_[0].host_text();
    }
    text += std::string{": "} + what;
    if (error != 0) {
        text += std::string{": "} + errno_text(error) + " (errno " + std::to_string(error) + ")";
    }
    return text.append(advice);
}

void TcpTransport::fail_link(Link& link, int error, const char* what) noexcept
{
    {
        MutexLock lock{link.tx_lock};
        error = error != 0 ? error : link.tx.error;   // the end of stream that follows a failed send has lost its reason
    }
    if (link.state == LinkState::kAwaitHello) {
        stranger_gone(link, what);
        return;
    }
    const Status why = status_of_failure(link.state, error);
    std::string text = describe(link, what, error, advice_for(link.state, error));
    if (link.calls != nullptr) {
        call_failed(link, why, std::move(text));
    } else {
        end_link(link, true, why, text);
    }
}

// ---- polling ----

// It delivered, which the other hot ones did not at that moment: their reads would only have delayed it.
void TcpTransport::warm(Link& link) noexcept
{
    link.idle_passes = 0;
    if (!link.hot && hot_limit_ != 0 && hot_.count() < std::max(hot_limit_, kMostKnown)) {
        hot_.add(link);
    }
    hot_.each([&](Link& other) {
        token_.assert_held();
        other.idle_passes += &other != &link ? kCoolAfter / kCoolWhenOvertaken : 0;
        if (other.idle_passes > kCoolAfter) {
            cool(other);
        }
        return 0u;
    });
}

void TcpTransport::cool(Link& link) noexcept
{
    set_low_water(link, 1);   // epoll alone watches it now
    hot_.remove(link);
}

void TcpTransport::set_low_water(Link& link, std::size_t bytes) noexcept
{
    if (link.rx.low_water != bytes) {
        low_waters_ += bytes > 1 ? 1u : 0u;
        low_waters_ -= link.rx.low_water > 1 ? 1u : 0u;
        link.rx.low_water = static_cast<std::uint32_t>(bytes);
        socket_low_water(link.fd.get(), bytes);
    }
}

// A link whose packet waits has bytes to read, and nobody reads them: epoll would end every sleep. Arming for room to write, which any thread does, has it
// watch again; then it is told again.
void TcpTransport::watch(Link& link, bool on) noexcept
{
    MutexLock lock{link.tx_lock};
    const std::uint32_t in = on ? std::uint32_t{EPOLLIN} : 0;
    const std::uint32_t out = link.tx.armed ? std::uint32_t{EPOLLOUT} : 0;
    link.rx.unwatched = epoll_.modify(link.fd.get(), in | out, link.id.value, log_) == Status::kOk && !on;
}

void TcpTransport::resume_bulk(LinkId id) noexcept
{
    RoleScope token{token_};
    Link* const link = links_.find(id);
    if (link == nullptr || !link->rx.waits) {
        return;
    }
    link->rx.waits = false;   // the next read asks: whoever sleeps before that is to be woken
    if (link->rx.unwatched) {
        watch(*link, true);
    }
}

void TcpTransport::will_sleep(Sleeper who) noexcept
{
    RoleScope token{token_};
    sleeper_ = who;
    for (unsigned i = 0; i < hot_.count(); ++i) {
        Link& link = hot_[i];
        if (link.rx.waits) {
            watch(link, false);
        }
        std::size_t missing = 0;
        if (who == Sleeper::kEventThread && link.rx.in_body) {
            missing = link.rx.body_left;
        } else if (who == Sleeper::kEventThread && link.role == LinkRole::kBulk && link.rx.begin == link.rx.end) {
            missing = sink_->bulk_awaited(link.peer);
        }
        set_low_water(link, missing >= kWorthWaiting ? std::min(missing, kMostBuffered) : 1);
    }
}

unsigned TcpTransport::poll_hot(unsigned budget) noexcept
{
    return hot_.each([&](Link& link) {
        token_.assert_held();
        const unsigned n = receive(link, budget);
        if (n != 0 && link.hot) {
            warm(link);
        } else {
            found_nothing(link);
        }
        return n;
    });
}

void TcpTransport::found_nothing(Link& link) noexcept
{
    if (link.hot && ++link.idle_passes > kCoolAfter) {
        cool(link);
    }
}

unsigned TcpTransport::handle(Link& link, std::uint32_t events, unsigned budget) noexcept
{
    const LinkId id = link.id;
    unsigned done = 0;
    switch (link.state) {
        case LinkState::kFree:
        case LinkState::kRequested: return 0;
        case LinkState::kConnecting: connected(link); return 1;
        case LinkState::kAwaitWelcome:
        case LinkState::kAwaitHello:
        case LinkState::kAwaitConfirm: return receive_hello(link);
        case LinkState::kUp: break;
    }
    if ((events & EPOLLOUT) != 0) {
        done += flush(link);
    }
    if (link.id == id && link.rx.waits && (events & (EPOLLERR | EPOLLHUP)) != 0) {   // of which epoll tells in any case
        fail_link(link, socket_error(link.fd.get()), "closed by the peer");
        return done + 1;
    }
    if (link.id == id && (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) {
        const unsigned n = receive(link, budget);
        if (link.id == id && link.rx.waits) {
            watch(link, false);
        }
        if (n != 0 && link.id == id) {
            warm(link);
        }
        done += n;
    }
    return done;
}

unsigned TcpTransport::poll_epoll(unsigned budget) noexcept
{
    std::array<EpollEvent, kEventsAtOnce> events;
    const unsigned n = epoll_.wait(events, Nanos::zero());
    unsigned done = 0;
    bool news = hot_.empty();
    for (const EpollEvent& e : std::span{events}.first(n)) {
        if (e.data.u64 < kListenerTags) {
            done += accept_some(listeners_[e.data.u64]);
        } else if (e.data.u64 == kDoorbellTag) {
            doorbell_.drain();
            done += start_requested();
        } else if (Link* const link = links_.find(LinkId{e.data.u64})) {   // may have ended since epoll spoke
            news = news || !link->hot;
            done += handle(*link, e.events, budget);
            continue;
        }
        news = true;
    }
    epoll_gap_ = news ? 1 : std::min(epoll_gap_ * 2, kMaxEpollGap);
    return done;
}

unsigned TcpTransport::poll(unsigned budget) noexcept
{
    RoleScope token{token_};
    LINNET_ASSERT(!polling_);
    polling_ = true;
    // Epoll ended a sleep, and knows for which socket: with several hot ones it is asked instead of them, whose reads would find nothing. So it is with many
    // at any time. But of a socket with a low water it does not know all.
    const bool slept = std::exchange(slept_, false);
    const bool epoll_first = low_waters_ == 0 && hot_.count() > (slept ? 1 : hot_limit_);
    unsigned done = epoll_first ? 0 : poll_hot(budget);
    const Ticks asked = hot_.empty() ? read_ticks() : 0;
    const bool turn = asked != 0 ? question_.due(asked) : ++passes_ >= epoll_gap_;
    if (turn || epoll_first || (slept && done == 0) || writers_waiting_.load(std::memory_order_relaxed) != 0) {
        passes_ = 0;
        const unsigned found = poll_epoll(budget);
        done += found;
        if (asked != 0) {
            found == 0 ? question_.was_in_vain(asked, read_ticks()) : question_.had_answer(asked);
        }
        if (epoll_first && done == 0) {
            hot_.each([this](Link& link) {
                token_.assert_held();
                found_nothing(link);
                return 0u;
            });
        }
        if (opening_.due() != TimePoint::max() || listen_again_ != TimePoint::max()) {
            done += run_timers();
        }
    }
    polling_ = false;
    links_.recycle();
    return done;
}

void TcpTransport::finish_sleep() noexcept
{
    RoleScope token{token_};
    slept_ = true;
    for (unsigned i = 0; i < hot_.count(); ++i) {
        hot_[i].idle_passes += kCoolAfter / (sleeper_ == Sleeper::kEventThread ? kCoolAfterLongSleeps : kCoolAfterSleeps);
    }
}

unsigned TcpTransport::hot_sockets() const noexcept
{
    RoleScope token{token_};
    return hot_.count();
}

TimePoint TcpTransport::next_timer() const noexcept
{
    RoleScope token{token_};
    return std::min(opening_.due(), listen_again_);
}

// Links that did not open in time, and the listener's pause.
unsigned TcpTransport::run_timers() noexcept
{
    const TimePoint now = clock_.now();
    unsigned done = 0;
    if (now >= listen_again_) {
        listen_again_ = TimePoint::max();
        watch_listeners_for(EPOLLIN);
        ++done;
    }
    return done + opening_.expire(now, [this](Link& link) {
        token_.assert_held();
        if (link.state == LinkState::kAwaitHello) {
            stranger_gone(link, "no hello in time");
        } else {
            const std::string what = std::string{"gave up while "} + state_text(link.state);
            fail_link(link, ETIMEDOUT, what.c_str());
        }
    });
}

}   // namespace linnet::tcp

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TcpTransport: the table of links, polling, and the end of links.
#include "transport/tcp/tcp_transport.h"

#include <algorithm>
#include <span>

#include "base/assert.h"
#include "sys/error.h"

namespace linnet::tcp {

namespace {

// A hot socket is read on every pass; one that found nothing so often in a row, while polling went on, is left to epoll again.
constexpr std::uint32_t kCoolAfter = 4096;
// ... or this much earlier when other sockets deliver meanwhile: then its reads delay theirs.
constexpr std::uint32_t kCoolWhenOvertaken = 64;
// While hot sockets deliver, epoll is asked on every n-th pass; n doubles up to this as long as epoll knows of no other socket. It bounds how long a
// socket that was idle waits: some microseconds.
constexpr unsigned kMaxEpollGap = 32;
// Without hot sockets: when so much time, in ticks of some GHz, has passed; at 2 us the question is a small part of a poll that serves other transports.
constexpr Ticks kEpollPause = 5'000;
constexpr unsigned kEventsAtOnce = 32;

constexpr TransportCaps kCaps{
    .name = "tcp",
    .lane_packet_max = 128 * 1024,
    .separate_bulk = true,
    .direct_links = false,
    .latency = Nanos{4500},
    .bytes_per_ns = 3.0,
};

}   // namespace

TcpTransport::TcpTransport(const Settings& settings, const Clock& clock, Log& log, Stats& stats) noexcept
    : settings_{settings}, clock_{clock}, log_{log}, rx_counters_{stats.block(StatsRole::kPoller)}, tx_counters_{stats.block(StatsRole::kAnyThread)}
{
}

TcpTransport::~TcpTransport() { shutdown(); }

const TransportCaps& TcpTransport::caps() const noexcept { return kCaps; }

// ---- table ----

Link* TcpTransport::find(LinkId id) const noexcept
{
    Link* const link = slot_of(id);
    return link != nullptr && link->id == id && link->state != LinkState::kFree ? link : nullptr;
}

// A fresh id with its slot; zero when memory is exhausted.
LinkId TcpTransport::reserve() noexcept
{
    if (free_.empty()) {
        const std::uint32_t first = links_.size();
        try {
            free_.reserve(first + ChunkTable<Link>::kPerChunk);   // every slot may be free at once: recycle() must not fail
            generations_.resize(first + ChunkTable<Link>::kPerChunk, 0);
        } catch (const std::bad_alloc&) {
            return {};
        }
        if (!links_.grow()) {
            return {};
        }
        for (std::uint32_t n = links_.size(); n > first; --n) {
            free_.push_back(n - 1);
        }
    }
    const std::uint32_t number = free_.back();
    free_.pop_back();
    generations_[number] = std::max(1u, generations_[number] + 1);
    return LinkId{(static_cast<std::uint64_t>(generations_[number]) << 32) | number};
}

Link& TcpTransport::occupy(LinkId id, PeerId peer, LinkRole role, const InetAddress& remote, LinkState state) noexcept
{
    Link& link = *slot_of(id);
    link.id = id;
    link.number = static_cast<std::uint32_t>(id.value);
    link.peer = peer;
    link.role = role;
    link.remote = remote;
    link.state = state;
    link.hello_bytes = 0;
    link.idle_passes = 0;
    link.rx = Rx{};
    opening_.push_back(link);
    return link;
}

void TcpTransport::recycle() noexcept
{
    if (polling_ || ended_.empty()) {
        return;   // a pass over the links is going on below us on the stack and may still look at what ended
    }
    MutexLock lock{table_lock_};
    while (const Link* link = ended_.pop_front()) {
        free_.push_back(link->number);
    }
}

Result<LinkId> TcpTransport::connect(PeerId peer, LinkRole role, const wire::EndpointName& name) noexcept
{
    LinkId id;
    {
        MutexLock lock{table_lock_};
        if (closed_) {
            return Status::kClosed;
        }
        id = reserve();
        if (id.value == 0) {
            return Status::kNoMemory;
        }
        try {
            requests_.push_back({id, peer, role, address_list(name)});
        } catch (const std::bad_alloc&) {
            free_.push_back(static_cast<std::uint32_t>(id.value));
            return Status::kNoMemory;
        }
    }
    doorbell_.signal();
    return id;
}

void TcpTransport::drop(LinkId id) noexcept
{
    RoleScope token{token_};
    if (Link* const link = find(id)) {
        end_link(*link, false, Status::kCanceled, {});
        recycle();
        return;
    }
    MutexLock lock{table_lock_};
    const auto it = std::find_if(requests_.begin(), requests_.end(), [id](const Request& r) { return r.id == id; });
    if (it != requests_.end()) {
        free_.push_back(static_cast<std::uint32_t>(id.value));
        requests_.erase(it);
    }
}

void TcpTransport::shutdown() noexcept
{
    RoleScope token{token_};
    {
        MutexLock lock{table_lock_};
        closed_ = true;
        requests_.clear();
    }
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
    const LinkId id = link.id;
    const PeerId peer = link.peer;
    const LinkRole role = link.role;
    const bool up = link.up();
    report = report && link.reported();
    void* cookie = nullptr;
    bool cookie_held = false;
    {
        MutexLock lock{link.tx_lock};
        cookie = link.tx.cookie;
        cookie_held = link.tx.cookie_held;
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
    opened_or_not(link);
    cool(link);
    const bool in_body = link.rx.in_body;
    const Landing landing = link.rx.landing;
    const std::size_t landed = link.rx.landed;
    return_buffer(link.rx);
    link.rx = Rx{};
    link.hello.reset();
    link.calls.reset();
    link.state = LinkState::kFree;
    link.id = {};
    ended_.push_back(link);

    // The sink, last: it may call back.
    if (in_body && role == LinkRole::kLane) {
        sink_->on_packet_end(id, peer, landing.cookie, landed, false);
    } else if (in_body) {
        sink_->on_bulk_end(id, peer, landing.cookie, landed, false);
    }
    if (cookie_held) {
        sink_->on_bulk_sent(peer, cookie, false);
    }
    if (report) {
        sink_->on_link_down(id, peer, role, up, why, text);
    }
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

std::string TcpTransport::interface_of(const InetAddress& local) const
{
    for (const AddressVerdict& v : addresses_) {
        if (v.address.same_host(local)) {
            return v.interface;
        }
    }
    return local.loopback() ? "lo" : "?";
}

// "tcp lane link to 10.1.0.2 port 41873, interface eth0, local 10.1.0.1 port 40112: reset by peer: Connection reset by peer (errno 104)"
std::string TcpTransport::describe(const Link& link, const char* what, int error, std::string_view advice) const
{
    std::string text = link.role == LinkRole::kLane ? "tcp lane link to " : "tcp bulk link to ";
    text += link.remote.text();
    const InetAddress local = link.fd.valid() ? local_address(link.fd.get()) : InetAddress{};
    if (local.family() != AF_UNSPEC && local.port() != 0) {
        text += ", interface " + interface_of(local) + ", local " + local.text();
    } else {
        text += ", interface " + interface_of(listens_at_[0]) + ", local " + listens_at_[0].host_text();
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

void TcpTransport::warm(Link& link) noexcept
{
    link.idle_passes = 0;
    if (!link.hot && hot_count_ < hot_limit_) {
        link.hot = true;
        hot_[hot_count_++] = &link;
    }
}

void TcpTransport::cool(Link& link) noexcept
{
    if (!link.hot) {
        return;
    }
    link.hot = false;
    for (unsigned i = 0; i < hot_count_; ++i) {
        if (hot_[i] == &link) {
            hot_[i] = hot_[--hot_count_];
            return;
        }
    }
}

unsigned TcpTransport::poll_hot(unsigned budget) noexcept
{
    unsigned done = 0;
    for (unsigned i = 0; i < hot_count_;) {
        Link& link = *hot_[i];
        const unsigned n = receive(link, budget);
        if (n != 0) {
            done += n;
            link.idle_passes = 0;
            for (unsigned j = 0; j < hot_count_; ++j) {
                hot_[j]->idle_passes += hot_[j] != &link ? kCoolAfter / kCoolWhenOvertaken : 0;
            }
        } else if (link.hot && ++link.idle_passes > kCoolAfter) {
            cool(link);
        }
        i += i < hot_count_ && hot_[i] == &link ? 1 : 0;   // else another one stands here now
    }
    return done;
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
    if (link.id == id && (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) {
        const unsigned n = receive(link, budget);
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
    bool news = hot_count_ == 0;
    for (const EpollEvent& e : std::span{events}.first(n)) {
        if (e.data.u64 < kListenerTags) {
            done += accept_some(listeners_[e.data.u64]);
        } else if (e.data.u64 == kDoorbellTag) {
            doorbell_.drain();
            done += start_requested();
        } else if (Link* const link = find(LinkId{e.data.u64})) {   // may have ended since epoll spoke
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
    unsigned done = poll_hot(budget);
    if ((hot_count_ == 0 ? read_ticks() - asked_ >= kEpollPause : ++passes_ >= epoll_gap_) || writers_waiting_.load(std::memory_order_relaxed) != 0) {
        passes_ = 0;
        asked_ = hot_count_ == 0 ? read_ticks() : asked_;
        done += poll_epoll(budget);
        if (due_ != TimePoint::max() || listen_again_ != TimePoint::max()) {
            done += run_timers();
        }
    }
    polling_ = false;
    recycle();
    return done;
}

TimePoint TcpTransport::next_timer() const noexcept
{
    RoleScope token{token_};
    return std::min(due_, listen_again_);
}

// It needs no deadline any more.
void TcpTransport::opened_or_not(Link& link) noexcept
{
    if (link.linked()) {
        IntrusiveList<Link>::remove(link);
        due_ = opening_.empty() ? TimePoint::max() : due_;   // no timer, no clock to read
    }
}

// Links that did not open in time, and the listener's pause. `due_` may be early: a link that came up leaves it as long as others are opening.
unsigned TcpTransport::run_timers() noexcept
{
    const TimePoint now = clock_.now();
    unsigned done = 0;
    if (now >= listen_again_) {
        listen_again_ = TimePoint::max();
        watch_listeners_for(EPOLLIN);
        ++done;
    }
    if (now < due_) {
        return done;
    }
    due_ = TimePoint::max();
    for (Link* link = opening_.front(); link != nullptr;) {
        if (link->deadline <= now) {
            ++done;
            if (link->state == LinkState::kAwaitHello) {
                stranger_gone(*link, "no hello in time");
            } else {
                const std::string what = std::string{"gave up while "} + state_text(link->state);
                fail_link(*link, ETIMEDOUT, what.c_str());
            }
            link = opening_.front();   // the sink may have ended others: start again
            due_ = TimePoint::max();
            continue;
        }
        due_ = std::min(due_, link->deadline);
        link = opening_.next(*link);
    }
    return done;
}

}   // namespace linnet::tcp

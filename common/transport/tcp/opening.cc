// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TcpTransport: connecting, accepting, and the exchange of hellos, which the sink writes and judges.
//
// A hello packet says its own length, so exactly that much is read and nothing of what follows it. Strangers, connections that have not yet sent a hello, are
// limited in number and in time.
#include <algorithm>
#include <cstring>
#include <span>

#include "sys/error.h"
#include "transport/tcp/tcp_transport.h"
#include "wire/hello.h"

namespace linnet::tcp {

namespace {

constexpr unsigned kAcceptsAtOnce = 32;
// More strangers than this: the oldest one that had its chance makes room, else the listener rests. A burst of a thousand ranks is let in in a few rests.
constexpr unsigned kMaxStrangers = 256;
constexpr Nanos kHelloTime = std::chrono::seconds{10};
constexpr Nanos kHelloChance = std::chrono::seconds{1};
constexpr Nanos kListenerRest = std::chrono::milliseconds{100};

}   // namespace

// ---- opener ----

unsigned TcpTransport::start_requested() noexcept
{
    using Request = LinkTable<Link, AddressList>::Request;
    return links_.start(
        [this](Link& link, const Request& r) {
            token_.assert_held();
            prepare(link, r.wish.at[0], LinkState::kRequested);
            link.deadline = clock_.now() + connect_timeout_;
        },
        [this](Link& link, const Request& r) {
            token_.assert_held();
            start(link, r.wish);
        });
}

void TcpTransport::start(Link& link, const AddressList& list) noexcept
{
    try {
        link.calls = std::make_unique<Calls>();
        order_calls(link, list, *link.calls);
    } catch (const std::bad_alloc&) {
        end_link(link, true, Status::kNoMemory, "no memory to open a link");
        return;
    }
    link.calls->limit = link.deadline;
    call_next(link);
}

// Somebody answers: the rest of the time is theirs and that of the addresses behind.
void TcpTransport::connected(Link& link) noexcept
{
    const LinkId id = link.id;
    if (const int error = socket_error(link.fd.get()); error != 0) {
        fail_link(link, error, "cannot connect");
        return;
    }
    const TimePoint now = clock_.now();
    opening_.set_deadline(link, now + link.calls->share(now));
    const InetAddress local = local_address(link.fd.get());
    if (local.same_host(link.remote) && local.port() == link.remote.port()) {   // nobody listened, and our own port was the one we called
        fail_link(link, ECONNREFUSED, "connected to itself");
        return;
    }
    try {
        link.hello = std::make_unique<std::array<std::byte, kHelloBuffer>>();
    } catch (const std::bad_alloc&) {
        fail_link(link, ENOMEM, "no memory for a hello");
        return;
    }
    std::array<std::byte, kMaxHelloBytes> out;
    const std::size_t bytes = sink_->make_hello(id, link.peer, link.role, out);
    if (link.id != id) {
        return;
    }
    if (bytes == 0) {
        end_link(link, true, Status::kCanceled, describe(link, "given up before the hello", 0, {}));
        return;
    }
    link.state = LinkState::kAwaitWelcome;
    if (!send_hello(link, std::span{out}.first(bytes))) {
        return;
    }
    static_cast<void>(epoll_.modify(link.fd.get(), EPOLLIN, id.value, log_));
}

// A fresh socket has room for a hello; one that has not is broken.
bool TcpTransport::send_hello(Link& link, std::span<const std::byte> packet) noexcept
{
    const iovec piece{const_cast<std::byte*>(packet.data()), packet.size()};
    const IoResult r = socket_send(link.fd.get(), std::span{&piece, 1});
    if (r.bytes == packet.size()) {
        return true;
    }
    fail_link(link, r.error != 0 ? r.error : EIO, "cannot send a hello");
    return false;
}

// ---- acceptor ----

void TcpTransport::watch_listeners_for(std::uint32_t events) noexcept
{
    for (unsigned i = 0; i < listener_count_; ++i) {
        static_cast<void>(epoll_.modify(listeners_[i].get(), events, i, log_));
    }
}

void TcpTransport::pause_listeners() noexcept
{
    watch_listeners_for(0);
    listen_again_ = clock_.now() + kListenerRest;
}

// Without this the listener would stay readable and the poller would spin: one connection is taken with the descriptor kept for this, and closed, so that
// its opener learns at once; then the listener rests.
void TcpTransport::accept_failed(const Fd& listener, int error) noexcept
{
    if (const std::uint64_t n = descriptor_throttle_.hit(); n != 0) {
        LINNET_LOG(log_, kError, "cannot accept a connection: %s (%llu times); raise the limit of open files (ulimit -n, RLIMIT_NOFILE)", errno_text(error),
                   static_cast<unsigned long long>(n));
    }
    spare_.reset();
    {
        const SocketOrError refused = tcp_accept(listener.get());
    }
    spare_ = spare_descriptor();
    pause_listeners();
}

bool TcpTransport::make_room_for_stranger() noexcept
{
    if (strangers_ < kMaxStrangers) {
        return true;
    }
    for (Link* link = opening_.front(); link != nullptr; link = opening_.next(*link)) {   // the oldest first
        if (link->state == LinkState::kAwaitHello) {
            if (link->deadline - kHelloTime + kHelloChance > clock_.now()) {
                return false;
            }
            stranger_gone(*link, "made room for others");
            return true;
        }
    }
    return false;
}

unsigned TcpTransport::accept_some(const Fd& listener) noexcept
{
    unsigned done = 0;
    for (; done < kAcceptsAtOnce && listener.valid(); ++done) {
        if (!make_room_for_stranger()) {
            pause_listeners();
            return done + 1;
        }
        SocketOrError s = tcp_accept(listener.get());
        if (s.error == 0) {
            adopt(std::move(s.fd));
            continue;
        }
        switch (s.error) {
            case EAGAIN: return done;
            case EMFILE:
            case ENFILE:
            case ENOBUFS:
            case ENOMEM: accept_failed(listener, s.error); return done + 1;
            default: break;   // the connection died in the queue: take the next
        }
    }
    return done;
}

void TcpTransport::adopt(Fd fd) noexcept
{
    Link* const adopted = links_.adopt();
    std::unique_ptr<std::array<std::byte, kHelloBuffer>> hello;
    try {
        hello = std::make_unique<std::array<std::byte, kHelloBuffer>>();
    } catch (const std::bad_alloc&) {
    }
    if (adopted == nullptr) {
        return;   // no memory: the connection is closed, its opener tries again
    }
    rx_counters_.add(Counter::kTcpAccepts);
    Link& link = *adopted;
    prepare(link, peer_address(fd.get()), LinkState::kAwaitHello);
    ++strangers_;
    opening_.set_deadline(link, clock_.now() + std::min(kHelloTime, connect_timeout_));
    link.hello = std::move(hello);
    link.fd = std::move(fd);
    if (link.hello == nullptr || failed(epoll_.add(link.fd.get(), EPOLLIN, link.id.value, log_))) {
        end_link(link, false, Status::kNoMemory, {});
    }
}

void TcpTransport::stranger_gone(Link& link, const char* why) noexcept
{
    ++rubbish_;
    rx_counters_.add(Counter::kRefusedHellos);
    if (const std::uint64_t n = rubbish_throttle_.hit(); n != 0) {
        LINNET_LOG(log_, kInfo, "tcp: connection from %s closed: %s (%llu so far)", link.remote.text().c_str(), why, static_cast<unsigned long long>(n));
    }
    end_link(link, false, Status::kProtocol, {});
}

// ---- both ----

unsigned TcpTransport::receive_hello(Link& link) noexcept
{
    const LinkId id = link.id;
    std::size_t wanted = sizeof(wire::HelloHead);
    for (;;) {
        wire::HelloHead head;
        if (link.hello_bytes >= sizeof head) {
            std::memcpy(&head, link.hello->data(), sizeof head);
            wanted = head.bytes.get();
            if (head.magic.get() != wire::kHelloMagic || wanted < sizeof head || wanted > kMaxHelloBytes) {
                fail_link(link, EPROTO, "received what is no hello");
                return 1;
            }
            if (link.hello_bytes == wanted) {
                hello_arrived(link);
                return 1;   // what follows is for the next pass
            }
        }
        const IoResult r = socket_receive(link.fd.get(), link.hello->data() + link.hello_bytes, wanted - link.hello_bytes);
        if (r.would_block()) {
            return link.id == id ? 1 : 0;
        }
        if (r.error == EINTR) {
            continue;
        }
        if (r.error != 0 || r.bytes == 0) {
            fail_link(link, r.error, r.error != 0 ? "receiving failed" : "closed by the peer before the link was open");
            return 1;
        }
        link.hello_bytes += static_cast<std::uint32_t>(r.bytes);
    }
}

void TcpTransport::hello_arrived(Link& link) noexcept
{
    using Action = HelloVerdict::Action;
    const LinkId id = link.id;
    const std::size_t bytes = std::exchange(link.hello_bytes, 0u);
    const std::span<const std::byte> packet = std::span{*link.hello}.first(bytes);
    if (link.state == LinkState::kAwaitWelcome) {
        welcome_arrived(link, packet);
        return;
    }
    if (link.state == LinkState::kAwaitConfirm) {
        confirm_arrived(link, packet);
        return;
    }
    std::array<std::byte, kMaxHelloBytes> reply;
    const HelloVerdict verdict = sink_->on_hello(id, packet, {link.remote}, reply);
    if (link.id != id) {
        return;
    }
    if (verdict.action != Action::kAccept) {
        if (verdict.reply_bytes != 0 && !send_hello(link, std::span{reply}.first(verdict.reply_bytes))) {
            return;
        }
        end_link(link, false, verdict.why, {});
        return;
    }
    --strangers_;
    link.state = LinkState::kAwaitConfirm;
    link.peer = verdict.peer;
    link.role = verdict.role;
    static_cast<void>(send_hello(link, std::span{reply}.first(verdict.reply_bytes)));
}

void TcpTransport::welcome_arrived(Link& link, std::span<const std::byte> packet) noexcept
{
    const LinkId id = link.id;
    std::array<std::byte, kMaxHelloBytes> confirm;
    const HelloVerdict verdict = sink_->on_welcome(id, link.peer, link.role, packet, confirm);
    if (link.id != id) {
        return;
    }
    if (verdict.action != HelloVerdict::Action::kAccept) {
        const char* what = verdict.action == HelloVerdict::Action::kYield ? "yielded to the peer's own attempt" : "rejected";
        const Status why = failed(verdict.why) ? verdict.why : Status::kRefused;
        if (verdict.elsewhere) {
            call_failed(link, why, describe(link, "another process answered", 0, {}));
        } else {
            end_link(link, true, why, describe(link, what, 0, {}));
        }
        return;
    }
    link.calls.reset();   // for the sink the link is open: its end is not that of an address
    if (send_hello(link, std::span{confirm}.first(verdict.reply_bytes))) {
        bring_up(link);
    }
}

void TcpTransport::confirm_arrived(Link& link, std::span<const std::byte> packet) noexcept
{
    const LinkId id = link.id;
    const HelloVerdict verdict = sink_->on_confirm(id, link.peer, link.role, packet);
    if (link.id != id) {
        return;
    }
    if (verdict.action != HelloVerdict::Action::kAccept) {
        end_link(link, true, failed(verdict.why) ? verdict.why : Status::kRefused, describe(link, "the confirmation was rejected", 0, {}));
        return;
    }
    bring_up(link);
}

void TcpTransport::bring_up(Link& link) noexcept
{
    link.state = LinkState::kUp;
    link.hello.reset();
    opening_.remove(link);
    remember(link);
    if (link.role == LinkRole::kBulk) {
        link.rx.ahead = link.rx.bulk_head.data();
        link.rx.capacity = sizeof link.rx.bulk_head;
    }
    {
        MutexLock lock{link.tx_lock};
        link.tx = Tx{};
        link.tx.id = link.id;
        link.tx.fd = link.fd.get();
    }
    LINNET_LOG(log_, kDebug, "tcp: %s link to %s is up", link.role == LinkRole::kLane ? "lane" : "bulk", link.remote.text().c_str());
    sink_->on_link_up(link.id, link.peer, link.role);
}

}   // namespace linnet::tcp

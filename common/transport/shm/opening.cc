// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ShmTransport: finding each other by an abstract name, agreeing on memory, and the exchange of hellos, which the sink writes and judges.
//
//     opener                                             acceptor
//     connect to the acceptor's name
//     Offer: segment, own bells, where to probe    -->   same user? sealed memory of the right size? can I read the opener?
//     can I read the acceptor?                     <--   Answer: own bells, where to probe
//     hello                                        -->
//                                                  <--   welcome
//     confirm; up                                  -->   up
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "sys/error.h"
#include "sys/net_interfaces.h"
#include "sys/process.h"
#include "transport/name_inet.h"
#include "transport/shm/reading.h"
#include "transport/shm/shm_transport.h"

namespace linnet::shm {

namespace {

constexpr unsigned kAcceptsAtOnce = 32;
constexpr int kBacklog = 4096;   // the system cuts it to net.core.somaxconn
constexpr unsigned kMaxStrangers = 256;
constexpr Nanos kListenerRest = std::chrono::milliseconds{100};
constexpr Nanos kSetupTime = std::chrono::seconds{10};

}   // namespace

// The endpoint id is random, so the name is found only by those who were given it.
std::string ShmTransport::socket_name(const wire::EndpointName& name)
{
    char text[64];
    std::snprintf(text, sizeof text, "linnet-%016llx-%016llx", static_cast<unsigned long long>(name.endpoint_id.get()),
                  static_cast<unsigned long long>(name.incarnation.get()));
    return text;
}

Status ShmTransport::open(TransportSink& sink, wire::EndpointName& name) noexcept
{
    sink_ = &sink;
    own_id_ = name.endpoint_id.get();
    connect_timeout_ = settings_.duration(SettingId::kConnectTimeout);
    const Status mapped = probe_.map(log_);
    const Status random = failed(mapped) ? mapped : random_bytes(probe_.bytes().first(sizeof(Probe)), log_);
    auto interfaces = list_interfaces(log_);
    auto epoll = EpollSet::open(log_);
    auto doorbell = EventFd::open(log_);
    auto page = create_memfd("linnet-bells", sizeof(BellPage), log_);
    for (const Status s : {random, interfaces.status(), epoll.status(), doorbell.status(), page.status()}) {
        if (failed(s)) {
            return s;
        }
    }
    auto mapping = Mapping::map(page->get(), sizeof(BellPage), MapAccess::kReadWrite, log_);
    if (!mapping.ok()) {
        return mapping.status();
    }
    try {
        choose_reading();
        for (const NetInterface& i : *interfaces) {
            for (const InterfaceAddress& a : i.addresses) {
                addresses_.push_back(a.address);
            }
        }
        SocketOrError s = unix_listen(socket_name(name), kBacklog);
        if (s.error != 0) {
            return log_errno(log_, "shm: cannot listen on an abstract socket", s.error);
        }
        listener_ = std::move(s.fd);
        RoleScope token{token_};   // nobody else knows us yet
        spare_ = spare_descriptor();
    } catch (const std::bad_alloc&) {
        return Status::kNoMemory;
    }
    epoll_ = std::move(*epoll);
    doorbell_ = std::move(*doorbell);
    page_fd_ = std::move(*page);
    page_ = std::move(*mapping);
    page_.exclude_from_fork();
    Status s = epoll_.add(listener_.get(), EPOLLIN, kListenerTag, log_);
    if (!failed(s)) {
        s = epoll_.add(doorbell_.get(), EPOLLIN, kDoorbellTag, log_);
    }
    if (!failed(s)) {
        bells_ = reinterpret_cast<BellPage*>(page_.bytes().data());
    }
    return s;
}

// As the setting says, or as is found here.
void ShmTransport::choose_reading()
{
    enum Choice : std::size_t { kAuto, kOn, kOff };   // in the table's order
    const std::size_t choice = settings_.choice(SettingId::kShmPull);
    if (choice == kAuto) {
        const ReadingCost cost = measure_reading();
        choice_.begin(cost);
        LINNET_LOG(log_, kDebug, "shm: 64 KiB take %lld ns to read out of a process, %lld ns to copy: long messages are %s",
                   static_cast<long long>(cost.read.count()), static_cast<long long>(cost.copy.count()),
                   choice_.pays() ? "read" : "copied by both sides while both are there, until copies into rings say otherwise");
    }
    pulls_.store(choice != kOff, std::memory_order_relaxed);
}

// Only a guess that spares a system call: an address of this host may be another container's too, and connect() finds out.
bool ShmTransport::reaches(const wire::EndpointName& name) const noexcept
{
    if (bells_ == nullptr || name.endpoint_id.get() == 0) {
        return false;
    }
    const wire::NameAddresses at{name};
    return at.empty() || std::any_of(at.begin(), at.end(), [this](const wire::NameAddress& a) {
        const InetAddress to = inet_address(a);
        return to.loopback() || std::any_of(addresses_.begin(), addresses_.end(), [&to](const InetAddress& own) { return own.same_host(to); });
    });
}

// ---- opener ----

unsigned ShmTransport::start_requested() noexcept
{
    using Request = LinkTable<Link, Fd, BellPage::kBells / 64>::Request;
    return links_.start(
        [this](Link& link, Request& r) {
            token_.assert_held();
            prepare(link, Side::kOpener, LinkState::kRequested);
            link.fd = std::move(r.wish);
        },
        [this](Link& link, const Request&) {
            token_.assert_held();
            start(link);
        });
}

void ShmTransport::start(Link& link) noexcept
{
    opening_.set_deadline(link, clock_.now() + connect_timeout_ * 2 / 3);   // which leaves time to try another transport
    const UnixPeer who = unix_peer(link.fd.get());
    link.process = RemoteProcess{who.pid};
    if (who.uid != user_id()) {
        fail_link(link, Status::kUnreachable, EPERM, "belongs to another user");
        return;
    }
    if (link.process.ended()) {
        fail_link(link, Status::kRefused, 0, "its process has ended, and left its name to a child");
        return;
    }
    const std::size_t bytes = segment_bytes(link.role);
    const Log quiet{LogLevel::kNone, nullptr, nullptr};   // the session tries again and again, and each would say so
    auto memory = create_memfd("linnet-link", bytes, quiet);
    auto mapping = memory.ok() ? Mapping::map(memory->get(), bytes, MapAccess::kReadWrite, quiet) : Result<Mapping>{memory.status()};
    if (!mapping.ok()) {
        const char* const why = mapping.status() == Status::kNoDescriptors ? "too many open files; raise their limit (ulimit -n, RLIMIT_NOFILE)"
                                                                           : status_text(mapping.status());
        std::array<char, 120> what{};
        std::snprintf(what.data(), what.size(), "cannot make shared memory: %s", why);
        if (const std::uint64_t n = memory_throttle_.hit(); n != 0) {
            LINNET_LOG(log_, kError, "shm: %s (%llu times)", what.data(), static_cast<unsigned long long>(n));
        }
        fail_link(link, mapping.status(), 0, what.data());
        return;
    }
    link.segment = std::move(*mapping);
    link.segment.exclude_from_fork();
    const std::array passed{memory->get(), page_fd_.get()};
    link.state = LinkState::kAwaitAnswer;
    if (!send_setup(link, SocketKind::kOffer, passed)) {
        return;
    }
    rx_counters_.add(Counter::kShmConnects);
    if (failed(epoll_.add(link.fd.get(), EPOLLIN, link.id.value, log_))) {
        fail_link(link, Status::kNoMemory, 0, "cannot watch the socket");
    }
}

bool ShmTransport::send_setup(Link& link, SocketKind kind, std::span<const int> passed) noexcept
{
    Setup setup;
    setup.kind = kind;
    setup.role = static_cast<std::uint8_t>(link.role);
    setup.flags = link.we_pull ? kFlagPulls : 0;
    setup.magic.set(kMagic);
    setup.bell.set(link.number);
    setup.probe_address.set(reinterpret_cast<std::uintptr_t>(probe_.bytes().data()));
    std::memcpy(setup.probe.data(), probe_.bytes().data(), setup.probe.size());
    const IoResult r = unix_send(link.fd.get(), std::as_bytes(std::span{&setup, 1}), passed);
    if (r.error != 0) {
        fail_link(link, Status::kPeerDown, r.error, "cannot send a setup");
    }
    return r.error == 0;
}

bool ShmTransport::send_hello(Link& link, std::span<const std::byte> hello) noexcept
{
    std::array<std::byte, sizeof(HelloPrefix) + kMaxHelloBytes> packet;
    HelloPrefix prefix;
    prefix.flags = link.we_pull ? kFlagPulls : 0;
    std::memcpy(packet.data(), &prefix, sizeof prefix);
    std::memcpy(packet.data() + sizeof prefix, hello.data(), hello.size());
    const IoResult r = unix_send(link.fd.get(), std::span{packet}.first(sizeof prefix + hello.size()));
    if (r.error != 0) {
        fail_link(link, Status::kPeerDown, r.error, "cannot send a hello");
    }
    return r.error == 0;
}

// ---- acceptor ----

unsigned ShmTransport::accept_some() noexcept
{
    unsigned done = 0;
    for (; done < kAcceptsAtOnce && listener_.valid() && strangers_ < kMaxStrangers; ++done) {
        SocketOrError s = unix_accept(listener_.get());
        if (s.error != 0) {
            if (s.error != EAGAIN && s.error != ECONNABORTED) {
                accept_failed(s.error);
            }
            return done;
        }
        adopt(std::move(s.fd));
    }
    if (strangers_ >= kMaxStrangers) {
        pause_listener();
    }
    return done;
}

// What waits at the listener keeps it readable: the poller would spin, and no thread of this process sleep.
void ShmTransport::pause_listener() noexcept
{
    static_cast<void>(epoll_.modify(listener_.get(), 0, kListenerTag, log_));
    listen_again_ = clock_.now() + kListenerRest;
}

void ShmTransport::stranger_gone() noexcept
{
    if (--strangers_ == kMaxStrangers / 2 && listen_again_ != TimePoint::max()) {
        listen_again_ = clock_.now();
    }
}

// One connection is taken with the descriptor kept for this, and closed: its opener learns at once, and tries another way.
void ShmTransport::accept_failed(int error) noexcept
{
    if (const std::uint64_t n = descriptor_throttle_.hit(); n != 0) {
        const bool files = error == EMFILE || error == ENFILE;
        LINNET_LOG(log_, kError, "shm: cannot accept a connection: %s (%llu times)%s", errno_text(error), static_cast<unsigned long long>(n),
                   files ? "; raise the limit of open files (ulimit -n, RLIMIT_NOFILE)" : "");
    }
    spare_.reset();
    {
        const SocketOrError refused = unix_accept(listener_.get());
    }
    spare_ = spare_descriptor();
    pause_listener();
}

void ShmTransport::adopt(Fd fd) noexcept
{
    Link* const adopted = links_.adopt();
    if (adopted == nullptr) {
        return;   // no memory: the connection is closed, its opener tries another way
    }
    rx_counters_.add(Counter::kShmAccepts);
    Link& link = *adopted;
    prepare(link, Side::kAcceptor, LinkState::kAwaitOffer);
    ++strangers_;
    opening_.set_deadline(link, clock_.now() + std::min(kSetupTime, connect_timeout_));
    link.fd = std::move(fd);
    const UnixPeer who = unix_peer(link.fd.get());
    link.process = RemoteProcess{who.pid};
    if (who.uid != user_id()) {
        fail_link(link, Status::kRefused, EPERM, "belongs to another user");
    } else if (failed(epoll_.add(link.fd.get(), EPOLLIN, link.id.value, log_))) {
        fail_link(link, Status::kNoMemory, 0, "cannot watch the socket");
    }
}

// ---- both ----

unsigned ShmTransport::receive_setup(Link& link) noexcept
{
    std::array<std::byte, sizeof(HelloPrefix) + kMaxHelloBytes> buffer;
    UnixPacket p = unix_receive(link.fd.get(), buffer);
    if (p.io.would_block() || p.io.error == EINTR) {
        return 0;
    }
    if (p.io.error != 0 || p.io.bytes == 0) {
        fail_link(link, Status::kPeerDown, p.io.error, "closed by the peer before the link was open");
        return 1;
    }
    const std::span<const std::byte> packet = std::span{buffer}.first(p.io.bytes);
    const auto kind = static_cast<SocketKind>(packet[0]);
    const std::span<Fd> passed = std::span{p.passed}.first(p.passed_count);
    const bool setup = p.whole && packet.size() == sizeof(Setup);
    const bool hello = p.whole && kind == SocketKind::kHello && packet.size() > sizeof(HelloPrefix) && passed.empty();
    if (link.state == LinkState::kAwaitOffer && setup && kind == SocketKind::kOffer && passed.size() == 2) {
        offer_arrived(link, packet, passed);
    } else if (link.state == LinkState::kAwaitAnswer && setup && kind == SocketKind::kAnswer && passed.size() == 1) {
        answer_arrived(link, packet, passed);
    } else if (link.state == LinkState::kAwaitHello && hello) {
        hello_arrived(link, packet);
    } else if (link.state == LinkState::kAwaitWelcome && hello) {
        welcome_arrived(link, packet);
    } else if (link.state == LinkState::kAwaitConfirm && hello) {
        confirm_arrived(link, packet);
    } else {
        fail_link(link, Status::kProtocol, 0, "received what does not belong here");
    }
    return 1;
}

// What both sides check of each other's setup. False: the link was ended.
bool ShmTransport::take_setup(Link& link, const Setup& setup, const Fd& page) noexcept
{
    const auto info = inspect_memfd(page.get());
    const char* wrong = nullptr;
    if (setup.magic.get() != kMagic || setup.version != kVersion || setup.role > 1 || setup.bell.get() >= BellPage::kBells) {
        wrong = "its setup is of another version, or none";
    } else if (!info.ok() || !info->fixed_size || info->bytes != sizeof(BellPage)) {
        wrong = "its bells are no sealed memory of the right size";
    }
    if (wrong != nullptr) {
        fail_link(link, Status::kProtocol, 0, wrong);
        return false;
    }
    auto mapping = Mapping::map(page.get(), sizeof(BellPage), MapAccess::kReadWrite, log_);
    if (!mapping.ok()) {
        fail_link(link, mapping.status(), 0, "cannot map its bells");
        return false;
    }
    link.peer_page = std::move(*mapping);
    link.peer_page.exclude_from_fork();
    link.peer_bell = setup.bell.get();
    link.process = RemoteProcess{link.process.pid(), setup.probe_address.get(), setup.probe};
    link.we_pull = pulls_.load(std::memory_order_relaxed) && link.process.readable();
    return true;
}

void ShmTransport::offer_arrived(Link& link, std::span<const std::byte> packet, std::span<Fd> passed) noexcept
{
    Setup setup;
    std::memcpy(&setup, packet.data(), sizeof setup);
    if (!take_setup(link, setup, passed[1])) {
        return;
    }
    link.role = static_cast<LinkRole>(setup.role);
    const auto info = inspect_memfd(passed[0].get());
    if (!info.ok() || !info->fixed_size || info->bytes != segment_bytes(link.role)) {
        fail_link(link, Status::kProtocol, 0, "its segment is no sealed memory of the right size");
        return;
    }
    auto mapping = Mapping::map(passed[0].get(), info->bytes, MapAccess::kReadWrite, log_);
    if (!mapping.ok()) {
        fail_link(link, mapping.status(), 0, "cannot map its segment");
        return;
    }
    link.segment = std::move(*mapping);
    link.segment.exclude_from_fork();
    link.state = LinkState::kAwaitHello;
    const std::array own{page_fd_.get()};
    static_cast<void>(send_setup(link, SocketKind::kAnswer, own));
}

void ShmTransport::answer_arrived(Link& link, std::span<const std::byte> packet, std::span<Fd> passed) noexcept
{
    Setup setup;
    std::memcpy(&setup, packet.data(), sizeof setup);
    if (!take_setup(link, setup, passed[0])) {
        return;
    }
    link.peer_pulls = (setup.flags & kFlagPulls) != 0;
    const LinkId id = link.id;
    std::array<std::byte, kMaxHelloBytes> out;
    const std::size_t bytes = sink_->make_hello(id, link.peer, link.role, out);
    if (link.id != id) {
        return;
    }
    if (bytes == 0) {
        fail_link(link, Status::kCanceled, 0, "given up before the hello");
        return;
    }
    link.state = LinkState::kAwaitWelcome;
    static_cast<void>(send_hello(link, std::span{out}.first(bytes)));
}

void ShmTransport::hello_arrived(Link& link, std::span<const std::byte> packet) noexcept
{
    using Action = HelloVerdict::Action;
    const LinkId id = link.id;
    link.peer_pulls = (static_cast<std::uint8_t>(packet[1]) & kFlagPulls) != 0;
    std::array<std::byte, kMaxHelloBytes> reply;
    std::string from;
    try {
        from = "process " + std::to_string(link.process.pid()) + " of this host";
    } catch (const std::bad_alloc&) {
    }
    // Abstract names are those of one network namespace: whoever found ours means by loopback addresses what we do.
    const InetAddress here = InetAddress::v4({127, 0, 0, 1});
    const HelloVerdict verdict = sink_->on_hello(id, packet.subspan(sizeof(HelloPrefix)), {here, from}, reply);
    if (link.id != id) {
        return;
    }
    if (verdict.action != Action::kAccept) {
        if (verdict.reply_bytes != 0 && !send_hello(link, std::span{reply}.first(verdict.reply_bytes))) {
            return;
        }
        if (verdict.action == Action::kReject) {
            rx_counters_.add(Counter::kRefusedHellos);
        }
        end_link(link, false, verdict.why, {});
        return;
    }
    if (verdict.role != link.role) {   // its segment is for the other role
        fail_link(link, Status::kProtocol, 0, "its hello asks for another role than its offer");
        return;
    }
    stranger_gone();
    link.state = LinkState::kAwaitConfirm;
    link.peer = verdict.peer;
    static_cast<void>(send_hello(link, std::span{reply}.first(verdict.reply_bytes)));
}

void ShmTransport::welcome_arrived(Link& link, std::span<const std::byte> packet) noexcept
{
    const LinkId id = link.id;
    std::array<std::byte, kMaxHelloBytes> confirm;
    const HelloVerdict verdict = sink_->on_welcome(id, link.peer, link.role, packet.subspan(sizeof(HelloPrefix)), confirm);
    if (link.id != id) {
        return;
    }
    if (verdict.action != HelloVerdict::Action::kAccept) {
        const char* what = verdict.action == HelloVerdict::Action::kYield ? "yielded to the peer's own attempt" : "rejected";
        fail_link(link, failed(verdict.why) ? verdict.why : Status::kRefused, 0, what);
        return;
    }
    if (send_hello(link, std::span{confirm}.first(verdict.reply_bytes))) {
        bring_up(link);
    }
}

void ShmTransport::confirm_arrived(Link& link, std::span<const std::byte> packet) noexcept
{
    const LinkId id = link.id;
    const HelloVerdict verdict = sink_->on_confirm(id, link.peer, link.role, packet.subspan(sizeof(HelloPrefix)));
    if (link.id != id) {
        return;
    }
    if (verdict.action != HelloVerdict::Action::kAccept) {
        rx_counters_.add(Counter::kRefusedHellos);
        fail_link(link, failed(verdict.why) ? verdict.why : Status::kRefused, 0, "the confirmation was rejected");
        return;
    }
    bring_up(link);
}

void ShmTransport::bring_up(Link& link) noexcept
{
    link.state = LinkState::kUp;
    opening_.remove(link);
    const std::span<std::byte> segment = link.segment.bytes();
    link.rx.ring = RingReader{ring_of(segment, link.role, other(link.side))};
    link.lent_lock.store(sink_->send_lock(link.peer), std::memory_order_relaxed);
    {
        TxScope tx_scope{link, TxScope::Who::kPoller};
        link.tx = Tx{};
        link.tx.id = link.id;
        link.tx.fd = link.fd.get();
        link.tx.tally = &link.tx_bytes;
        link.tx.ring = RingWriter{ring_of(segment, link.role, link.side)};
        link.tx.bells = reinterpret_cast<BellPage*>(link.peer_page.bytes().data());
        link.tx.bell = link.peer_bell;
        link.tx.peer_pulls = link.peer_pulls;
    }
    bells_->set(link.number);   // what the peer wrote before was rung for in vain
    watch_idleness();
    dead_due_ = std::min(dead_due_, clock_.now() + kDeadPause);
    LINNET_LOG(log_, kDebug, "shm: %s link to process %u is up; %s read its memory, it %s ours", link.role == LinkRole::kLane ? "lane" : "bulk",
               link.process.pid(), link.we_pull ? "we can" : "we cannot", link.peer_pulls ? "can" : "cannot");
    sink_->on_link_up(link.id, link.peer, link.role);
}

}   // namespace linnet::shm

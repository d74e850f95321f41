// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What is special about links over TCP: opening, refusing, strangers, death at every stage, descriptors, sleeping.
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <thread>

#include "contract/endpoint.h"
#include "contract/raw_peer.h"
#include "support/test_log.h"
#include "sys/process.h"
#include "transport/tcp/tcp_transport.h"

namespace linnet::contract {
namespace {

using Action = HelloVerdict::Action;

class TcpLink : public ::testing::TestWithParam<Kind> {
protected:
    void SetUp() override { make({}); }
    void make(std::vector<std::pair<SettingId, std::string>> settings)
    {
        pair.reset();
        pair = std::make_unique<Pair>(GetParam(), std::move(settings));
        if (!pair->ready()) {
            GTEST_SKIP() << "no such address on this machine";
        }
    }
    Sink& a() { return pair->a().sink; }
    Sink& b() { return pair->b().sink; }
    tcp::TcpTransport& tcp_b() { return static_cast<tcp::TcpTransport&>(*pair->b().transport); }
    LinkId connect()
    {
        const auto link = pair->a().transport->connect(PeerId{2}, LinkRole::kLane, pair->b().name);
        EXPECT_TRUE(link.ok());
        return *link;
    }
    std::unique_ptr<Pair> pair;
};

// ---- opening ----

TEST_P(TcpLink, ClosedPortIsRefusedWithATextThatNamesTheWay)
{
    wire::EndpointName nobody = pair->b().name;
    pair->b().transport->shutdown();   // its port is free now
    ASSERT_TRUE(pair->a().transport->connect(PeerId{2}, LinkRole::kLane, nobody).ok());
    ASSERT_TRUE(pair->run_until([&] { return !a().downs.empty(); }));
    const Sink::Down& d = a().downs[0];
    EXPECT_FALSE(d.up);
    EXPECT_EQ(d.why, Status::kRefused);
    const std::string address = std::string{GetParam().net_include} + " port " + std::to_string(nobody.port.get());
    for (const std::string& part : {address, std::string{"interface lo"}, std::string{"local "}, std::string{"Connection refused (errno 111)"}}) {
        EXPECT_NE(d.text.find(part), std::string::npos) << d.text << " lacks " << part;
    }
}

TEST_P(TcpLink, AddressWithoutARouteFailsAtOnceAndNamesTheSetting)
{
    wire::EndpointName far = pair->b().name;
    far.addresses = {};
    wire::add_address(far, {wire::AddressFamily::kIpv4, InetAddress::parse("240.0.0.1")->bytes()});   // reserved: no route leads there
    EXPECT_FALSE(pair->a().transport->reaches(far));
    EXPECT_TRUE(pair->a().transport->reaches(pair->b().name));
    ASSERT_TRUE(pair->a().transport->connect(PeerId{2}, LinkRole::kLane, far).ok());
    ASSERT_TRUE(pair->run_until([&] { return !a().downs.empty(); }, std::chrono::seconds{1}));
    EXPECT_EQ(a().downs[0].why, Status::kUnreachable);
    EXPECT_NE(a().downs[0].text.find("net_include"), std::string::npos) << a().downs[0].text;
}

// A name with addresses at which nobody listens, before the one where somebody does; and with none of the latter.
TEST_P(TcpLink, AddressesAreCalledInTurnUntilOneAnswers)
{
    const wire::NameAddress good = wire::NameAddresses{pair->b().name}.front();
    wire::EndpointName name = pair->b().name;
    name.addresses = {};
    name.kinds = 0;
    for (const std::uint8_t last : {std::uint8_t{91}, std::uint8_t{92}, std::uint8_t{93}}) {
        ASSERT_TRUE(wire::add_address(name, {wire::AddressFamily::kIpv4, {127, 0, 0, last}}));
    }
    ASSERT_TRUE(pair->a().transport->connect(PeerId{2}, LinkRole::kLane, name).ok());
    ASSERT_TRUE(pair->run_until([&] { return a().downs.size() == 1; }));
    EXPECT_EQ(a().downs[0].why, Status::kRefused);
    for (const char* part : {"none of its 3 addresses", "(1) tcp lane link to 127.0.0.91 port", "(3) tcp lane link to 127.0.0.93 port"}) {
        EXPECT_NE(a().downs[0].text.find(part), std::string::npos) << a().downs[0].text;
    }
    EXPECT_EQ(pair->stats().total(Counter::kTcpConnects), 3u);
    ASSERT_TRUE(wire::add_address(name, good));
    ASSERT_TRUE(pair->a().transport->connect(PeerId{2}, LinkRole::kLane, name).ok());
    ASSERT_TRUE(pair->run_until([&] { return a().ups.size() == 1 && b().ups.size() == 1; }));
    EXPECT_LE(pair->stats().total(Counter::kTcpConnects), 7u);
    const std::uint64_t before = pair->stats().total(Counter::kTcpConnects);
    ASSERT_TRUE(pair->a().transport->connect(PeerId{2}, LinkRole::kBulk, name).ok());
    ASSERT_TRUE(pair->run_until([&] { return a().ups.size() == 2; }));
    EXPECT_EQ(pair->stats().total(Counter::kTcpConnects), before + 1) << "the address that answered is called first next time";
}

TEST_P(TcpLink, AnotherProcessThatAnswersIsNoEndWhileAddressesAreLeft)
{
    a().elsewhere = true;
    a().welcome_answer = Action::kReject;
    wire::EndpointName twice = pair->b().name;
    ASSERT_TRUE(wire::add_address(twice, wire::NameAddresses{twice}.front()));
    ASSERT_TRUE(pair->a().transport->connect(PeerId{2}, LinkRole::kLane, twice).ok());
    ASSERT_TRUE(pair->run_until([&] { return a().downs.size() == 1; }));
    EXPECT_EQ(b().hellos, 2u);
    EXPECT_EQ(a().downs[0].why, Status::kRefused);
    EXPECT_NE(a().downs[0].text.find("another process answered"), std::string::npos) << a().downs[0].text;
}

TEST_P(TcpLink, ReconnectsAreCounted)
{
    const auto first = pair->open(LinkRole::kLane);
    pair->open(LinkRole::kBulk);
    EXPECT_EQ(pair->stats().total(Counter::kTcpReconnects), 0u);
    pair->a().transport->drop(first.at_a);
    pair->open(LinkRole::kLane);
    EXPECT_EQ(pair->stats().total(Counter::kTcpReconnects), 1u);
}

TEST_P(TcpLink, PeerThatDoesNotAnswerTimesOut)
{
    make({{SettingId::kConnectTimeout, "200ms"}});
    RawListener deaf{pair->b().name, 0};   // its queue is full of connections that nobody accepts
    std::vector<RawPeer> fill(4);
    for (RawPeer& r : fill) {
        r.start(deaf.name());
    }
    ASSERT_TRUE(pair->a().transport->connect(PeerId{2}, LinkRole::kLane, deaf.name()).ok());
    const TimePoint start = monotonic_now();
    ASSERT_TRUE(pair->run_until([&] { return !a().downs.empty(); }));
    EXPECT_GE(monotonic_now() - start, std::chrono::milliseconds{190});
    EXPECT_LT(monotonic_now() - start, std::chrono::seconds{5});
    EXPECT_EQ(a().downs[0].why, Status::kTimedOut);
    EXPECT_NE(a().downs[0].text.find("connect_timeout"), std::string::npos) << a().downs[0].text;
    EXPECT_EQ(pair->a().transport->next_timer(), TimePoint::max());
}

TEST_P(TcpLink, RefusedHelloEndsTheAttemptOfTheOpenerOnly)
{
    b().hello_answer = Action::kReject;
    const LinkId link = connect();
    ASSERT_TRUE(pair->run_until([&] { return !a().downs.empty(); }));
    pair->settle();
    EXPECT_EQ(a().downs.size(), 1u);
    EXPECT_EQ(a().downs[0].link, link);
    EXPECT_EQ(a().downs[0].why, Status::kRefused);
    EXPECT_FALSE(a().downs[0].up);
    EXPECT_TRUE(b().downs.empty());
    EXPECT_TRUE(a().ups.empty() && b().ups.empty());
}

TEST_P(TcpLink, RefusedWelcomeAndRefusedConfirmEndBothSides)
{
    a().welcome_answer = Action::kReject;
    connect();
    ASSERT_TRUE(pair->run_until([&] { return a().downs.size() == 1 && b().downs.size() == 1; }));
    EXPECT_EQ(a().downs[0].why, Status::kRefused);
    EXPECT_FALSE(b().downs[0].up) << "the acceptor had accepted the hello, so it must hear of the end";
    a().welcome_answer = Action::kAccept;
    b().confirm_answer = Action::kReject;
    connect();
    ASSERT_TRUE(pair->run_until([&] { return a().downs.size() == 2 && b().downs.size() == 2; }));
    EXPECT_EQ(b().downs[1].why, Status::kRefused);
    EXPECT_TRUE(b().ups.empty());
}

TEST_P(TcpLink, AttemptGivenUpBeforeItsHelloEnds)
{
    a().give_up = true;
    connect();
    ASSERT_TRUE(pair->run_until([&] { return a().downs.size() == 1; }));
    EXPECT_EQ(a().downs[0].why, Status::kCanceled);
    EXPECT_EQ(b().hellos, 0u);
}

// Both call each other at the same moment; one yields, as the session decides. One link must be left.
TEST_P(TcpLink, SimultaneousOpeningLeavesOneLinkWhenOneYields)
{
    b().hello_answer = Action::kYield;
    connect();
    ASSERT_TRUE(pair->b().transport->connect(PeerId{1}, LinkRole::kLane, pair->a().name).ok());
    ASSERT_TRUE(pair->run_until([&] { return a().ups.size() == 1 && b().ups.size() == 1 && a().downs.size() == 1; }));
    pair->settle();
    EXPECT_EQ(a().ups.size(), 1u);
    EXPECT_EQ(b().ups.size(), 1u);
    EXPECT_FALSE(a().downs[0].up);
    EXPECT_TRUE(b().downs.empty());
}

TEST_P(TcpLink, HelloInSinglePiecesIsAccepted)
{
    RawPeer raw;
    raw.start(pair->b().name);
    for (const std::byte piece : raw.hello(wire::HelloKind::kHello, LinkRole::kLane)) {
        raw.send({&piece, 1});
        pair->poll();
    }
    ASSERT_TRUE(pair->run_until([&] { return b().hellos == 1; }));
    raw.send(raw.hello(wire::HelloKind::kConfirm, LinkRole::kLane));
    ASSERT_TRUE(pair->run_until([&] { return b().ups.size() == 1; }));
    EXPECT_TRUE(b().from[0].address.same_host(*InetAddress::parse(GetParam().net_include)));
}

// What follows the confirmation in the same segment is the first packet.
TEST_P(TcpLink, PacketRightBehindTheConfirmationIsNotLost)
{
    RawPeer raw;
    raw.start(pair->b().name);
    raw.send(raw.hello(wire::HelloKind::kHello, LinkRole::kLane));
    Bytes both = raw.hello(wire::HelloKind::kConfirm, LinkRole::kLane);
    const Packet p = eager(1, 100);
    both.insert(both.end(), p.bytes.begin(), p.bytes.end());
    raw.send(both);
    ASSERT_TRUE(pair->run_until([&] { return b().packets.size() == 1; }));
    EXPECT_EQ(b().packets[0].bytes, p.bytes);
}

// ---- strangers ----

TEST_P(TcpLink, RubbishIsCountedAndClosedAndOthersAreServed)
{
    std::vector<Bytes> rubbish;
    const std::string http = "GET / HTTP/1.1\r\nHost: linnet\r\n\r\n";
    rubbish.emplace_back(std::as_bytes(std::span{http}).begin(), std::as_bytes(std::span{http}).end());
    RawPeer maker;
    Bytes huge = maker.hello(wire::HelloKind::kHello, LinkRole::kLane);
    wire::HelloHead head;
    std::memcpy(&head, huge.data(), sizeof head);
    for (const std::uint16_t length : {std::uint16_t{0}, std::uint16_t{11}, std::uint16_t{513}, std::uint16_t{65535}}) {
        head.bytes = le16{length};
        std::memcpy(huge.data(), &head, sizeof head);
        rubbish.push_back(huge);
    }
    std::vector<RawPeer> raws(rubbish.size() + 1);
    for (std::size_t i = 0; i < rubbish.size(); ++i) {
        raws[i].start(pair->b().name);
        raws[i].send(rubbish[i]);
    }
    raws.back().start(pair->b().name);   // a port scanner: connects and leaves
    raws.back().close();
    ASSERT_TRUE(pair->run_until([&] { return tcp_b().rubbish() == rubbish.size() + 1; }));
    for (std::size_t i = 0; i < rubbish.size(); ++i) {
        EXPECT_TRUE(raws[i].closed_by_peer()) << i;
    }
    EXPECT_EQ(b().hellos, 0u);
    EXPECT_TRUE(b().downs.empty());
    pair->open(LinkRole::kLane);
}

TEST_P(TcpLink, SilentStrangerIsClosedInTime)
{
    make({{SettingId::kConnectTimeout, "150ms"}});
    RawPeer raw;
    raw.start(pair->b().name);
    ASSERT_TRUE(pair->run_until([&] { return tcp_b().rubbish() == 1; }));
    EXPECT_TRUE(raw.closed_by_peer());
}

TEST_P(TcpLink, CrowdOfSilentStrangersDoesNotShutTheDoor)
{
    std::vector<RawPeer> crowd(300);
    for (RawPeer& r : crowd) {
        r.start(pair->b().name);
        pair->poll();
    }
    pair->open(LinkRole::kLane);   // within its time: the oldest strangers had theirs
    EXPECT_GE(tcp_b().rubbish(), 1u);
}

// ---- death ----

class TcpDeath : public TcpLink {
protected:
    // A link between b and a raw peer.
    void open_raw(LinkRole role)
    {
        raw.start(pair->b().name);
        raw.send(raw.hello(wire::HelloKind::kHello, role));
        ASSERT_TRUE(pair->run_until([&] { return b().hellos == 1; }));
        raw.send(raw.hello(wire::HelloKind::kConfirm, role));
        ASSERT_TRUE(pair->run_until([&] { return b().ups.size() == 1; }));
    }
    void expect_one_end(Status why, bool up)
    {
        ASSERT_TRUE(pair->run_until([&] { return !b().downs.empty(); }));
        pair->settle();
        ASSERT_EQ(b().downs.size(), 1u);
        EXPECT_EQ(b().downs[0].why, why) << b().downs[0].text;
        EXPECT_EQ(b().downs[0].up, up);
        EXPECT_EQ(b().begun, 0u) << "a landing was left open";
    }
    RawPeer raw;
};

TEST_P(TcpDeath, EndOfStreamOfAnIdleLink)
{
    open_raw(LinkRole::kLane);
    raw.close();
    expect_one_end(Status::kPeerDown, true);
}

TEST_P(TcpDeath, ResetOfAnIdleLink)
{
    open_raw(LinkRole::kLane);
    raw.reset();
    expect_one_end(Status::kPeerDown, true);
    EXPECT_NE(b().downs[0].text.find("Connection reset by peer (errno 104)"), std::string::npos) << b().downs[0].text;
}

TEST_P(TcpDeath, BeforeTheConfirmation)
{
    raw.start(pair->b().name);
    raw.send(raw.hello(wire::HelloKind::kHello, LinkRole::kLane));
    ASSERT_TRUE(pair->run_until([&] { return b().hellos == 1; }));
    raw.close();
    expect_one_end(Status::kPeerDown, false);
}

TEST_P(TcpDeath, InTheMiddleOfAHeaderAndOfAPacketInTheBuffer)
{
    open_raw(LinkRole::kLane);
    const Packet whole = eager(1, 10);
    const Packet cut = eager(2, 1000);
    raw.send(whole.bytes);
    raw.send(std::span{cut.bytes}.first(600));
    raw.close();
    expect_one_end(Status::kPeerDown, true);
    ASSERT_EQ(b().packets.size(), 1u) << "half a packet was handed up";
    EXPECT_EQ(b().packets[0].bytes, whole.bytes);
}

TEST_P(TcpDeath, InTheMiddleOfALanding)
{
    open_raw(LinkRole::kLane);
    const Packet cut = eager(1, 100000);
    raw.send(std::span{cut.bytes}.first(50000));
    ASSERT_TRUE(pair->run_until([&] { return b().begun == 1; }));
    raw.close();
    expect_one_end(Status::kPeerDown, true);
    ASSERT_EQ(b().packets.size(), 1u);
    EXPECT_FALSE(b().packets[0].ok);
    EXPECT_EQ(b().packets[0].landed, 50000u - cut.head_bytes);
}

TEST_P(TcpDeath, InTheMiddleOfBulk)
{
    open_raw(LinkRole::kBulk);
    const wire::BulkHead head = bulk_head(1, 100000);
    raw.send(std::as_bytes(std::span{&head, 1}));
    raw.send(pattern(1, 30000));
    ASSERT_TRUE(pair->run_until([&] { return b().begun == 1; }));
    raw.close();
    expect_one_end(Status::kPeerDown, true);
    ASSERT_EQ(b().bulk.size(), 1u);
    EXPECT_FALSE(b().bulk[0].ok);
    EXPECT_EQ(b().bulk[0].landed, 30000u);
}

TEST_P(TcpDeath, ForeignBytesOnALinkEndIt)
{
    open_raw(LinkRole::kLane);
    raw.send(pattern(5, 100));
    expect_one_end(Status::kProtocol, true);
    EXPECT_TRUE(raw.closed_by_peer());
}

TEST_P(TcpDeath, PacketBeyondTheLimitEndsTheLink)
{
    open_raw(LinkRole::kLane);
    Packet p = eager(1, 0);
    wire::PacketHead head;
    std::memcpy(&head, p.bytes.data(), sizeof head);
    head.body_bytes = le32{wire::kMaxBodyBytes};
    std::memcpy(p.bytes.data(), &head, sizeof head);
    raw.send(p.bytes);
    expect_one_end(Status::kProtocol, true);
}

TEST_P(TcpDeath, WhileBulkIsBeingSentGivesItsMemoryBack)
{
    open_raw(LinkRole::kBulk);
    const Bytes payload = pattern(1, 16 << 20);
    ASSERT_EQ(pair->b().transport->send_bulk(b().ups[0].link, bulk_head(1, payload.size()), payload, this), Status::kInProgress);
    raw.reset();
    expect_one_end(Status::kPeerDown, true);
    ASSERT_EQ(b().sent.size(), 1u);
    EXPECT_FALSE(b().sent[0].ok);
    EXPECT_EQ(b().sent[0].cookie, this);
}

// As with `ss -K` in the middle of traffic: our end of the connection is destroyed under us.
TEST_P(TcpDeath, DestroyedByAnAdministrator)
{
    open_raw(LinkRole::kLane);
    const Packet cut = eager(1, 100000);
    raw.send(std::span{cut.bytes}.first(50000));
    ASSERT_TRUE(pair->run_until([&] { return b().begun == 1; }));
    const std::string ss = "ss -K -H -t sport = " + std::to_string(pair->b().name.port.get()) + " and dport = " + std::to_string(raw.port());
    if (std::system((ss + " 2>/dev/null | grep -q ESTAB").c_str()) != 0) {
        raw.close();
        GTEST_SKIP() << "this user or kernel cannot destroy sockets";
    }
    expect_one_end(Status::kPeerDown, true);
    ASSERT_EQ(b().packets.size(), 1u);
    EXPECT_FALSE(b().packets[0].ok);
    EXPECT_NE(b().downs[0].text.find("(errno 103)"), std::string::npos) << b().downs[0].text;
}

// A send is the first to see that the peer is gone; the poller must hear of it too.
TEST_P(TcpDeath, SeenBySendFirstIsStillReportedOnceWithItsErrno)
{
    open_raw(LinkRole::kLane);
    raw.reset();
    const Packet p = eager(1, 10);
    const LanePacket one = p.lane();
    bool down = false;
    for (int i = 0; i < 1000 && !down; ++i) {
        down = pair->b().transport->send_lane(b().ups[0].link, {&one, 1}).down;
    }
    ASSERT_TRUE(down);
    EXPECT_TRUE(b().downs.empty()) << "a sink call from a sender's thread";
    expect_one_end(Status::kPeerDown, true);
    EXPECT_NE(b().downs[0].text.find("errno"), std::string::npos) << b().downs[0].text;
}

// ---- congestion control ----

// Of the connection's sockets: the opener's and the acceptor's end.
class CongestionControl : public TcpLink {
protected:
    static std::string of(int fd)
    {
        char name[32]{};
        socklen_t bytes = sizeof name - 1;
        return ::getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &bytes) == 0 ? name : "?";
    }
    static unsigned port(const sockaddr_storage& at) { return ntohs(reinterpret_cast<const sockaddr_in&>(at).sin_port); }   // IPv6 has it there too
    // Opens a link and returns what is in force at both ends of it.
    std::pair<std::string, std::string> ends()
    {
        pair->open(LinkRole::kLane);
        const unsigned listens_at = pair->b().name.port.get();
        std::pair<std::string, std::string> found;
        for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
            const int fd = std::atoi(entry.path().filename().c_str());
            sockaddr_storage here{};
            sockaddr_storage there{};
            socklen_t here_bytes = sizeof here;
            socklen_t there_bytes = sizeof there;
            if (::getpeername(fd, reinterpret_cast<sockaddr*>(&there), &there_bytes) == 0 &&
                ::getsockname(fd, reinterpret_cast<sockaddr*>(&here), &here_bytes) == 0 && (there.ss_family == AF_INET || there.ss_family == AF_INET6)) {
                (port(there) == listens_at ? found.first : found.second) += of(fd);
            }
        }
        return found;
    }
    static std::string systems_own()
    {
        const Fd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)};
        return of(fd.get());
    }
    static bool said(const std::string& line)
    {
        const auto lines = testing::logged_lines();
        return std::find(lines.begin(), lines.end(), line) != lines.end();
    }
};

// Both are in every kernel, and allowed to everybody where they are the default.
TEST_P(CongestionControl, IsTheOneThatWasAskedForAtBothEnds)
{
    const std::string other = systems_own() == "reno" ? "cubic" : "reno";
    testing::allow_complaint("tcp_congestion=" + other + " is not to be had");
    make({{SettingId::kTcpCongestion, other}});
    if (!said("tcp: congestion control " + other)) {
        GTEST_SKIP() << "the system has or allows none but its own";
    }
    EXPECT_EQ(ends(), std::pair(other, other));
}

TEST_P(CongestionControl, NothingAskedForMeansTheSystemsOwn)
{
    make({{SettingId::kTcpCongestion, ""}});
    EXPECT_EQ(ends(), std::pair(systems_own(), systems_own()));
    EXPECT_TRUE(said("tcp: congestion control " + systems_own()));
}

TEST_P(CongestionControl, RefusedNameIsToldAndTheSystemsOwnUsed)
{
    testing::allow_complaint("tcp_congestion=no-such-control is not to be had");
    make({{SettingId::kTcpCongestion, "no-such-control"}});
    EXPECT_TRUE(said("tcp: tcp_congestion=no-such-control is not to be had, " + systems_own() +
                     " is used; net.ipv4.tcp_allowed_congestion_control lists what everybody may choose"));
    EXPECT_TRUE(said("tcp: congestion control " + systems_own() + ", the system refused no-such-control"));
    EXPECT_EQ(ends(), std::pair(systems_own(), systems_own()));
}

// ---- descriptors ----

TEST_P(TcpLink, TooFewDescriptorsAreAnErrorAtTheStartThatNamesBothNumbers)
{
    testing::expect_complaint("33554");   // 2 x 16777216 and some
    testing::expect_complaint("RLIMIT_NOFILE");
    Pair poor{GetParam(), {{SettingId::kExpectedPeers, "16777216"}}};
    EXPECT_FALSE(poor.ready());
}

TEST_P(TcpLink, NoDescriptorForAConnectionIsReportedAsSuch)
{
    testing::expect_complaint("raise the limit of open files");
    {
        const LowDescriptors none;
        connect();
        ASSERT_TRUE(pair->run_until([&] { return !a().downs.empty(); }));
    }
    EXPECT_EQ(a().downs[0].why, Status::kNoDescriptors);
    EXPECT_NE(a().downs[0].text.find("RLIMIT_NOFILE"), std::string::npos) << a().downs[0].text;
}

TEST_P(TcpLink, NoDescriptorToAcceptWithDoesNotSpinAndRecovers)
{
    testing::expect_complaint("raise the limit of open files");
    RawPeer raw;
    raw.start(pair->b().name);
    ASSERT_TRUE(pair->run_until([&] { return readable(*pair->b().transport); }));
    {
        const LowDescriptors none;
        const unsigned events = polled_for_a_while(*pair->b().transport);
        EXPECT_GE(events, 1u);
        EXPECT_LE(events, 3u) << "the listener spins";
        EXPECT_FALSE(readable(*pair->b().transport)) << "a sleeper would spin";
        EXPECT_NE(pair->b().transport->next_timer(), TimePoint::max());
    }
    pair->open(LinkRole::kLane);
}

TEST_P(TcpLink, ThousandIdleLinksHoldNoBuffers)
{
    if (descriptor_limit().soft < 700) {
        GTEST_SKIP() << "not enough descriptors";
    }
    for (unsigned i = 0; i < 300; ++i) {
        pair->open(LinkRole::kLane);
    }
    std::vector<Packet> packets;
    for (std::uint32_t i = 0; i < 300; ++i) {
        packets.push_back(eager(i + 1, 100));
    }
    for (unsigned i = 0; i < 300; ++i) {
        const LanePacket one = packets[i].lane();
        EXPECT_TRUE(pair->a().transport->send_lane(a().ups[i].link, {&one, 1}).all_written);
    }
    ASSERT_TRUE(pair->run_until([&] { return b().packets.size() == 300; }));
    EXPECT_LE(tcp_b().buffers(), 2u);
}

// ---- sleeping ----

TEST_P(TcpLink, WaitDescriptorIsReadableExactlyWhenThereIsWork)
{
    const auto ends = pair->open(LinkRole::kLane);
    const auto quiet = [&] {
        pair->settle();
        return !readable(*pair->b().transport) && pair->b().transport->prepare_sleep();
    };
    for (std::uint32_t i = 1; i <= 20; ++i) {   // also when the socket has become hot and is read without epoll
        ASSERT_TRUE(quiet()) << i;
        const Packet p = eager(i, 50);
        const LanePacket one = p.lane();
        ASSERT_TRUE(pair->a().transport->send_lane(ends.at_a, {&one, 1}).all_written);
        ASSERT_TRUE(becomes_readable(*pair->b().transport)) << i;
        ASSERT_TRUE(pair->run_until([&] { return b().packets.size() == i; }));
    }
    EXPECT_TRUE(quiet());
    connect();
    EXPECT_TRUE(readable(*pair->a().transport)) << "connect() by another thread must wake the sleeper";
}

// The receiver computes; a thread that sleeps on the wait descriptor drains its sockets. The sender gets rid of far more than sockets can hold.
TEST_P(TcpLink, SenderRunsOnWhileTheReceiverComputes)
{
    const auto ends = pair->open(LinkRole::kLane);
    constexpr std::uint32_t kCount = 1000;
    const Packet p = eager(1, 60000);
    std::atomic<bool> stop{false};
    std::thread event_thread{[&] {
        while (!stop) {
            ::pollfd waiting{pair->b().transport->wait_descriptor(), POLLIN, 0};
            if (::poll(&waiting, 1, 5) == 1) {
                while (pair->b().transport->poll(64) != 0) {
                }
                b().packets.clear();   // matched and consumed
            }
        }
    }};
    const TimePoint end = monotonic_now() + std::chrono::seconds{20};
    std::uint32_t sent = 0;
    while (sent < kCount && monotonic_now() < end) {
        const LanePacket one = p.lane();
        sent += static_cast<std::uint32_t>(pair->a().transport->send_lane(ends.at_a, {&one, 1}).taken);
        pair->a().transport->poll(64);
    }
    stop = true;
    event_thread.join();
    EXPECT_EQ(sent, kCount);
}

INSTANTIATE_TEST_SUITE_P(All, TcpLink, ::testing::ValuesIn(plain_kinds().begin() + 1, plain_kinds().begin() + 3),
                         [](const auto& p) { return std::string{p.param.name}; });
INSTANTIATE_TEST_SUITE_P(All, CongestionControl, ::testing::ValuesIn(plain_kinds().begin() + 1, plain_kinds().begin() + 3),
                         [](const auto& p) { return std::string{p.param.name}; });
INSTANTIATE_TEST_SUITE_P(All, TcpDeath, ::testing::ValuesIn(plain_kinds().begin() + 1, plain_kinds().begin() + 3),
                         [](const auto& p) { return std::string{p.param.name}; });

}   // namespace
}   // namespace linnet::contract

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints: see endpoint.h.
#include "contract/endpoint.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <thread>

#include "support/faulty_port.h"
#include "support/faulty_transport.h"
#include "support/patience.h"
#include "support/pattern.h"
#include "support/seed.h"
#include "support/test_log.h"
#include "sys/process.h"
#include "transport/eth/eth_port.h"
#include "transport/loopback/loopback_transport.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/udp/udp_port.h"

namespace linnet::contract {

namespace {

constexpr std::size_t kHelloExtra = 20;   // so that a hello is more than its head

std::size_t write_hello(wire::HelloKind kind, LinkRole role, std::span<std::byte> out)
{
    wire::HelloHead head;
    head.magic = le32{wire::kHelloMagic};
    head.kind = kind;
    head.role = static_cast<std::uint8_t>(role);
    head.bytes = le16{static_cast<std::uint16_t>(sizeof head + kHelloExtra)};
    std::memcpy(out.data(), &head, sizeof head);
    std::fill_n(out.begin() + sizeof head, kHelloExtra, std::byte{0x5a});
    return sizeof head + kHelloExtra;
}

wire::HelloHead read_hello(std::span<const std::byte> in)
{
    wire::HelloHead head;
    EXPECT_EQ(in.size(), sizeof head + kHelloExtra);
    std::memcpy(&head, in.data(), sizeof head);
    return head;
}

}   // namespace

Bytes pattern(std::uint32_t number, std::size_t bytes)
{
    Bytes out(bytes);
    testing::fill_pattern(out, number);
    return out;
}

Packet eager(std::uint32_t number, std::size_t payload)
{
    wire::PacketHead head;
    head.kind = wire::PacketKind::kEager;
    head.number = le32{number};
    head.body_bytes = le32{static_cast<std::uint32_t>(sizeof(wire::TagHeader) + payload)};
    wire::TagHeader tag;
    tag.match_bits = le64{number};
    Packet p;
    p.head_bytes = sizeof head + sizeof tag;
    p.bytes.resize(p.head_bytes);
    std::memcpy(p.bytes.data(), &head, sizeof head);
    std::memcpy(p.bytes.data() + sizeof head, &tag, sizeof tag);
    const Bytes body = pattern(number, payload);
    p.bytes.insert(p.bytes.end(), body.begin(), body.end());
    return p;
}

std::uint32_t number_of(std::span<const std::byte> packet)
{
    wire::PacketHead head;
    std::memcpy(&head, packet.data(), sizeof head);
    return head.number.get();
}

bool readable(const Transport& transport)
{
    ::pollfd p{transport.wait_descriptor(), POLLIN, 0};
    return ::poll(&p, 1, 0) == 1;
}

bool becomes_readable(const Transport& transport)
{
    for (int tries = 0; tries < 1000 && !readable(transport); ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds{1});
    }
    return readable(transport);
}

unsigned polled_for_a_while(Transport& transport)
{
    unsigned events = 0;
    for (const TimePoint end = monotonic_now() + std::chrono::milliseconds{50}; monotonic_now() < end;) {
        events += transport.poll(64);
    }
    return events;
}

LowDescriptors::LowDescriptors()
{
    EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &before_), 0);
    const int lowest = ::dup(0);   // the lowest free number becomes the limit
    const rlimit low{static_cast<rlim_t>(lowest), before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    ::close(lowest);
}

wire::BulkHead bulk_head(std::uint32_t slot, std::size_t bytes)
{
    wire::BulkHead head;
    head.body_bytes = le32{static_cast<std::uint32_t>(bytes)};
    head.recv_slot = le32{slot};
    return head;
}

// ---- sink ----

std::size_t Sink::make_hello(LinkId link, PeerId, LinkRole role, std::span<std::byte> out) noexcept
{
    called("make_hello", link);
    return give_up ? 0 : write_hello(wire::HelloKind::kHello, role, out);
}

HelloVerdict Sink::on_hello(LinkId link, std::span<const std::byte> hello, const Caller& who, std::span<std::byte> reply) noexcept
{
    ++hellos;
    from.push_back({who.address, who.text()});
    const wire::HelloHead head = read_hello(hello);
    EXPECT_EQ(head.kind, wire::HelloKind::kHello);
    HelloVerdict v;
    v.action = hello_answer;
    v.peer = peer;
    v.role = static_cast<LinkRole>(head.role);
    v.reply_bytes = write_hello(hello_answer == Action::kAccept ? wire::HelloKind::kWelcome : wire::HelloKind::kReject, v.role, reply);
    v.why = hello_answer == Action::kAccept ? Status::kOk : Status::kRefused;
    called("on_hello", link);
    return v;
}

HelloVerdict Sink::on_welcome(LinkId link, PeerId who, LinkRole role, std::span<const std::byte> welcome, std::span<std::byte> confirm) noexcept
{
    const wire::HelloHead head = read_hello(welcome);
    HelloVerdict v;
    v.peer = who;
    v.role = role;
    v.action = head.kind == wire::HelloKind::kWelcome ? welcome_answer : Action::kReject;
    v.why = v.action == Action::kAccept ? Status::kOk : Status::kRefused;
    v.elsewhere = elsewhere;
    v.reply_bytes = write_hello(wire::HelloKind::kConfirm, role, confirm);
    called("on_welcome", link);
    return v;
}

HelloVerdict Sink::on_confirm(LinkId link, PeerId who, LinkRole role, std::span<const std::byte> confirm) noexcept
{
    EXPECT_EQ(read_hello(confirm).kind, wire::HelloKind::kConfirm);
    HelloVerdict v;
    v.peer = who;
    v.role = role;
    v.action = confirm_answer;
    v.why = v.action == Action::kAccept ? Status::kOk : Status::kRefused;
    called("on_confirm", link);
    return v;
}

void Sink::on_link_up(LinkId link, PeerId who, LinkRole role) noexcept
{
    ups.push_back({link, who, role});
    called("on_link_up", link);
}

void Sink::on_link_down(LinkId link, PeerId who, LinkRole role, bool up, Status why, std::string_view text) noexcept
{
    downs.push_back({link, who, role, up, why, std::string{text}});
    called("on_link_down", link);
}

void Sink::on_writable(PeerId, LinkRole) noexcept
{
    ++writable;
    called("on_writable", LinkId{});
}

void Sink::on_packet(LinkId link, PeerId, std::span<const std::byte> packet) noexcept
{
    packets.push_back({link, {packet.begin(), packet.end()}, false, packet.size(), true});
    called("on_packet", link);
}

Landing Sink::land(std::span<const std::byte> head, std::size_t payload_bytes)
{
    auto place = std::make_unique<Place>();
    place->head.assign(head.begin(), head.end());
    place->body.resize(std::min(payload_bytes, room));
    places_.push_back(std::move(place));
    ++begun;
    return {places_.back()->body.data(), places_.back()->body.size(), places_.back().get()};
}

void Sink::landed(std::vector<Arrival>& list, LinkId link, void* cookie, std::size_t landed, bool ok)
{
    const auto it = std::find_if(places_.begin(), places_.end(), [cookie](const auto& p) { return p.get() == cookie; });
    ASSERT_NE(it, places_.end()) << "a landing ended twice, or was never begun";
    ASSERT_LE(landed, (*it)->body.size());
    Arrival a{link, (*it)->head, true, landed, ok};
    a.bytes.insert(a.bytes.end(), (*it)->body.begin(), (*it)->body.begin() + static_cast<std::ptrdiff_t>(landed));
    list.push_back(std::move(a));
    places_.erase(it);
    --begun;
}

Landing Sink::on_packet_begin(LinkId link, PeerId, std::span<const std::byte> head, std::size_t payload_bytes) noexcept
{
    const Landing l = land(head, payload_bytes);
    called("on_packet_begin", link);
    return l;
}

void Sink::on_packet_end(LinkId link, PeerId, void* cookie, std::size_t bytes, bool ok) noexcept
{
    landed(packets, link, cookie, bytes, ok);
    called("on_packet_end", link);
}

Landing Sink::on_bulk_begin(LinkId link, PeerId, const wire::BulkHead& head) noexcept
{
    const Landing l = later ? Landing{.later = true} : land(std::as_bytes(std::span{&head, 1}), head.body_bytes.get());
    called("on_bulk_begin", link);
    return l;
}

void Sink::on_bulk_end(LinkId link, PeerId, void* cookie, std::size_t bytes, bool ok) noexcept
{
    landed(bulk, link, cookie, bytes, ok);
    called("on_bulk_end", link);
}

void Sink::on_read_end(PeerId, void* cookie, Status status) noexcept
{
    reads.push_back({cookie, status});
    called("on_read_end", LinkId{});
}

void Sink::on_bulk_sent(PeerId, void* cookie, bool ok) noexcept
{
    sent.push_back({cookie, ok});
    called("on_bulk_sent", LinkId{});
}

// ---- kinds and pairs ----

Copies::Copies(unsigned most, std::size_t worthwhile)
    : tree{Topology::read(testing::test_log()), stats},
      helpers{tree, {most, 1, {}, false}, clock, testing::test_log()},
      together{tree, helpers, SIZE_MAX, worthwhile}
{
}

void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.name; }

const std::vector<Kind>& plain_kinds()
{
    constexpr auto tcp = [](const Settings& s, const Clock& c, Log& l, Stats& t, CopyEngine&) -> std::unique_ptr<Transport> {
        return std::make_unique<tcp::TcpTransport>(s, c, l, t);
    };
    constexpr auto loopback = [](const Settings&, const Clock&, Log& l, Stats& t, CopyEngine&) -> std::unique_ptr<Transport> {
        return std::make_unique<LoopbackTransport>(l, t);
    };
    constexpr auto shm = [](const Settings& s, const Clock& c, Log& l, Stats& t, CopyEngine& copy) -> std::unique_ptr<Transport> {
        return std::make_unique<shm::ShmTransport>(s, c, l, t, copy);
    };
    constexpr auto udp = [](const Settings& s, const Clock& c, Log& l, Stats& t, CopyEngine&) -> std::unique_ptr<Transport> {
        return std::make_unique<udp::UdpTransport>(s, c, l, t);
    };
    constexpr auto lossy = [](const Settings& s, const Clock& c, Log& l, Stats& t, CopyEngine&) -> std::unique_ptr<Transport> {
        static std::uint64_t made = 0;
        const testing::FrameFaults faults{.lose = 0.03, .twice = 0.02, .late = 0.03, .damage = 0, .refuse = 0.02};
        auto port = std::make_unique<testing::FaultyPort>(std::make_unique<udp::UdpPort>(s, l, t), faults, testing::test_seed(0x77 + ++made));
        const TransportCaps caps{"lossy", 0, true, false, Nanos{3000}, 1.0};
        return std::make_unique<frames::FrameTransport>(std::move(port), caps, s, c, l, t);
    };
    constexpr auto eth = [](const Settings& s, const Clock& c, Log& l, Stats& t, CopyEngine&) -> std::unique_ptr<Transport> {
        return std::make_unique<eth::EthTransport>(s, c, l, t);
    };
    static const std::vector<Kind> kinds{
        {"Loopback", loopback, "", true, false},
        {"TcpV4", tcp, "127.0.0.1", false, true},
        {"TcpV6", tcp, "::1", false, true},
        {"Shm", shm, "", false, true},
        {"ShmCopied", shm, "", false, true, "off"},
        {"UdpV4", udp, "127.0.0.1", false, true},
        {"UdpV6", udp, "::1", false, true},
        {"LossyUdp", lossy, "127.0.0.1", false, true},
        {"Eth", eth, "", false, true, "on", false, 1500},
        {"EthJumbo", eth, "", false, true, "on", false, 9000},
        {"ShmWithHelpers", shm, "", false, true, "on", false, 0, true},
    };
    return kinds;
}

std::vector<Kind> all_kinds()
{
    static constexpr std::array kFaultyNames{"FaultyLoopback", "FaultyTcpV4", "FaultyTcpV6", "FaultyShm", "FaultyShmCopied",
                                            "FaultyUdpV4",    "FaultyUdpV6", "FaultyLossyUdp", "FaultyEth", "FaultyEthJumbo",
                                            "FaultyShmWithHelpers"};
    std::vector<Kind> kinds = plain_kinds();
    for (std::size_t i = 0; i < kFaultyNames.size(); ++i) {
        Kind k = kinds[i];
        k.name = kFaultyNames[i];
        k.faulty = true;
        kinds.push_back(k);
    }
    return kinds;
}

Pair::Pair(const Kind& kind, std::vector<std::pair<SettingId, std::string>> settings, double kill)
{
    const testing::Faults faults{.short_send = 0.3, .refuse_bulk = 0.3, .lazy_poll = 0.3, .kill = kill};
    std::string error;
    EXPECT_EQ(settings_.set(SettingId::kNetInclude, kind.net_include, error), Status::kOk) << error;
    EXPECT_EQ(settings_.set(SettingId::kShmPull, kind.shm_pull, error), Status::kOk) << error;
    for (const auto& [id, text] : settings) {
        EXPECT_EQ(settings_.set(id, text, error), Status::kOk) << error;
    }
    first_ = std::make_unique<Endpoint>();
    a_ = b_ = first_.get();
    if (!kind.self) {
        second_ = std::make_unique<Endpoint>();
        b_ = second_.get();
    }
    ready_ = true;
    if (kind.cable != 0) {
        hosts_ = testing::NamespacePair::make(why_not_, kind.cable);
        if (hosts_ == nullptr) {
            ready_ = false;
            return;
        }
    }
    std::uint64_t id = 100;
    for (Endpoint* e : {first_.get(), second_.get()}) {
        if (e != nullptr) {
            e->name.endpoint_id = le64{++id};
            static auto incarnation = static_cast<std::uint32_t>(process_id()) << 10;   // names are found by every process here
            e->name.incarnation = le32{++incarnation};
            e->transport = kind.make(settings_, clock_, testing::test_log(), e == first_.get() ? stats_ : other_stats_, copies_.engine(kind.helped));
            if (kind.faulty) {
                e->transport = std::make_unique<testing::FaultyTransport>(std::move(e->transport), faults, testing::test_seed(0x11 + id));
            }
            std::optional<testing::NamespacePair::Scope> there;
            if (hosts_ != nullptr) {
                there.emplace(*hosts_, e == first_.get() ? 0u : 1u);
            }
            ready_ = ready_ && e->transport->open(e->sink, e->name) == Status::kOk;
        }
    }
}

Pair::~Pair()
{
    for (Endpoint* e : {first_.get(), second_.get()}) {
        if (e != nullptr && ready_) {
            e->sink.on_call = nullptr;
            e->transport->shutdown();
            EXPECT_EQ(e->sink.begun, 0u) << "a landing was not ended";
            const std::size_t calls = e->sink.downs.size() + e->sink.packets.size() + e->sink.writable;
            e->transport->poll(64);
            EXPECT_EQ(e->sink.downs.size() + e->sink.packets.size() + e->sink.writable, calls) << "a sink call after shutdown()";
        }
    }
}

unsigned Pair::poll()
{
    unsigned n = a().transport->poll(64);
    if (&a() != &b()) {
        n += b().transport->poll(64);
    }
    return n;
}

bool Pair::run_until(const std::function<bool()>& done, std::chrono::milliseconds limit)
{
    const TimePoint end = monotonic_now() + limit;
    testing::Patience patience;
    while (!done()) {
        if (monotonic_now() > end) {
            return done();
        }
        patience.saw(poll());
    }
    return true;
}

void Pair::settle()
{
    const TimePoint end = monotonic_now() + std::chrono::milliseconds{30};
    while (monotonic_now() < end) {
        if (poll() == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds{100});
        }
    }
}

Pair::Ends Pair::open(LinkRole role)
{
    const std::size_t a_before = a().sink.ups.size();
    const std::size_t b_before = b().sink.ups.size();
    const auto link = a().transport->connect(PeerId{2}, role, b().name);
    EXPECT_TRUE(link.ok());
    EXPECT_EQ(a().sink.ups.size(), a_before) << "up before connect() returned";
    EXPECT_TRUE(run_until([&] { return a().sink.ups.size() > a_before && b().sink.ups.size() > b_before; }));
    if (a().sink.ups.size() == a_before || b().sink.ups.size() == b_before) {
        return {};
    }
    EXPECT_EQ(a().sink.ups.back().link, *link);
    EXPECT_EQ(a().sink.ups.back().role, role);
    EXPECT_EQ(b().sink.ups.back().role, role);
    return {*link, b().sink.ups.back().link};
}

}   // namespace linnet::contract

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What every transport promises (transport/transport.h), on every transport.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <thread>

#include "contract/endpoint.h"
#include "support/seed.h"

namespace linnet::contract {
namespace {

class TransportContract : public ::testing::TestWithParam<Kind> {
protected:
    void SetUp() override
    {
        pair = std::make_unique<Pair>(GetParam());
        if (!pair->ready()) {
            GTEST_SKIP() << pair->why_not();
        }
    }
    // Sends all of `packets` on a's link, in batches, as room comes.
    void send_all(LinkId link, const std::vector<Packet>& packets, std::size_t batch)
    {
        std::size_t next = 0;
        while (next < packets.size()) {
            std::vector<LanePacket> some;
            for (std::size_t i = next; i < std::min(next + batch, packets.size()); ++i) {
                some.push_back(packets[i].lane());
            }
            const unsigned before = pair->a().sink.writable;
            const SendResult r = pair->a().transport->send_lane(link, some);
            ASSERT_FALSE(r.down);
            next += r.taken;
            if (r.taken < some.size() || !r.all_written) {
                ASSERT_TRUE(pair->run_until([&] { return pair->a().sink.writable > before; })) << "no on_writable() after a short send";
            }
        }
    }
    void expect_packets(const std::vector<Packet>& packets)
    {
        ASSERT_TRUE(pair->run_until([&] { return pair->b().sink.packets.size() >= packets.size(); }))
            << pair->b().sink.packets.size() << " of " << packets.size();
        pair->settle();
        ASSERT_EQ(pair->b().sink.packets.size(), packets.size());
        for (std::size_t i = 0; i < packets.size(); ++i) {
            ASSERT_EQ(pair->b().sink.packets[i].bytes, packets[i].bytes) << "packet " << i;
            ASSERT_TRUE(pair->b().sink.packets[i].ok);
        }
    }
    std::unique_ptr<Pair> pair;
};

// Of the transports that take a packet with its last byte, or not at all: caps().at_once.
class AtOnceContract : public TransportContract {};
// Of the transports that kill their links.
class KillingContract : public TransportContract {};

std::vector<Kind> kinds_where(bool (*wanted)(const Kind&))
{
    std::vector<Kind> kinds = all_kinds();
    std::erase_if(kinds, [wanted](const Kind& k) { return !wanted(k); });
    return kinds;
}
bool is_shm(const Kind& k) { return std::string_view{k.name}.find("Shm") != std::string_view::npos; }
bool is_faulty(const Kind& k) { return k.faulty; }

TEST_P(TransportContract, LinkComesUpOnceAtBothEnds)
{
    pair->open(LinkRole::kLane);
    pair->settle();
    EXPECT_EQ(pair->a().sink.ups.size(), 1u);
    EXPECT_EQ(pair->b().sink.ups.size(), 1u);
    EXPECT_EQ(pair->a().sink.ups[0].peer, PeerId{2});
    EXPECT_TRUE(pair->a().sink.downs.empty());
    EXPECT_TRUE(pair->b().sink.downs.empty());
}

TEST_P(TransportContract, AcceptorIsToldWhoCalls)
{
    pair->open(LinkRole::kLane);
    ASSERT_EQ(pair->b().sink.from.empty(), !GetParam().hellos);
    if (!GetParam().hellos) {
        return;   // and nobody calls
    }
    const Sink::From& from = pair->b().sink.from.back();
    if (const auto at = InetAddress::parse(GetParam().net_include)) {
        EXPECT_TRUE(from.address.same_host(*at)) << from.address.text();
        EXPECT_NE(from.address.port(), 0);
        EXPECT_EQ(from.text, from.address.text());
    } else {   // over memory it is of this host, and a frame tells none
        EXPECT_TRUE(GetParam().cable == 0 ? from.address.loopback() : from.address.family() == AF_UNSPEC) << from.address.text();
        EXPECT_EQ(from.text.find("no address"), std::string::npos) << from.text;
        EXPECT_FALSE(from.text.empty());
    }
}

TEST_P(TransportContract, BothRolesHaveLinksOfTheirOwn)
{
    const auto lane = pair->open(LinkRole::kLane);
    const auto bulk = pair->open(LinkRole::kBulk);
    EXPECT_NE(lane.at_a, bulk.at_a);
    EXPECT_NE(lane.at_b, bulk.at_b);
}

TEST_P(TransportContract, PacketsArriveWholeOnceAndInOrder)
{
    const auto ends = pair->open(LinkRole::kLane);
    std::vector<Packet> packets;
    for (std::uint32_t i = 1; i <= 2000; ++i) {
        packets.push_back(eager(i, i % 97));
    }
    send_all(ends.at_a, packets, 32);
    expect_packets(packets);
    EXPECT_EQ(pair->b().sink.packets.back().link, ends.at_b);
}

TEST_P(TransportContract, EverySizeUpToTheLargestArrives)
{
    const auto ends = pair->open(LinkRole::kLane);
    const std::size_t most = pair->a().transport->caps().lane_packet_max - eager(1, 0).bytes.size();
    std::vector<Packet> packets;
    std::uint32_t n = 0;
    for (const std::size_t size : std::initializer_list<std::size_t>{0, 1, 2047, 2048, 2049, 65535, 65536, 100000, most - 1, most, 8}) {
        packets.push_back(eager(++n, size));
    }
    send_all(ends.at_a, packets, 3);
    expect_packets(packets);
}

TEST_P(TransportContract, RandomSizesAndBatchesArriveInOrder)
{
    std::mt19937_64 random{testing::test_seed(0x7c93)};
    const auto ends = pair->open(LinkRole::kLane);
    std::vector<Packet> packets;
    for (std::uint32_t i = 1; i <= 600; ++i) {
        const std::size_t magnitude = random() % 17;
        packets.push_back(eager(i, random() % (std::size_t{1} << magnitude)));
    }
    send_all(ends.at_a, packets, 1 + random() % 40);
    expect_packets(packets);
}

// One that was not taken is sent again when there is room; what was handed over may be overwritten in either case.
TEST_P(AtOnceContract, PacketsAtOnceAreTakenWholeOrNotAtAll)
{
    ASSERT_TRUE(pair->a().transport->caps().at_once);
    std::mt19937_64 random{testing::test_seed(0x7c94)};
    const auto ends = pair->open(LinkRole::kLane);
    std::vector<Packet> packets;
    for (std::uint32_t i = 1; i <= 1000; ++i) {
        packets.push_back(eager(i, random() % (kAtOnceMax + 1)));
    }
    std::size_t next = 0;
    unsigned refused = 0;
    unsigned on_the_short_way = 0;
    while (next < packets.size()) {
        Packet lent = packets[next];
        lent.head_bytes = lent.bytes.size() <= NextWrite::kPlaceBytes ? lent.bytes.size() : lent.head_bytes;
        lent.bytes.reserve(NextWrite::kPlaceBytes);
        LanePacket packet = lent.lane();
        packet.at_once = true;
        const unsigned before = pair->a().sink.writable;
        const bool taken = next % 2 == 0 && pair->a().transport->send_now(ends.at_a, packet.head, packet.payload).place != nullptr;
        const SendResult r = taken ? SendResult{1, true, false, {}} : pair->a().transport->send_lane(ends.at_a, {&packet, 1});
        on_the_short_way += taken ? 1 : 0;
        std::fill(lent.bytes.begin(), lent.bytes.end(), std::byte{0xee});
        ASSERT_FALSE(r.down);
        ASSERT_TRUE(r.all_written);
        next += r.taken;
        if (r.taken == 0) {
            ++refused;
            ASSERT_TRUE(pair->run_until([&] { return pair->a().sink.writable > before; })) << "no on_writable() after a packet that was not taken";
        }
    }
    EXPECT_GT(refused, 0u) << "the link never filled";
    EXPECT_GT(on_the_short_way, 0u);
    EXPECT_EQ(pair->a().transport->send_now(LinkId{ends.at_a.value + (std::uint64_t{1} << 32)}, packets[0].lane().head, {}).place, nullptr) << "no such link";
    expect_packets(packets);
}

TEST_P(TransportContract, PacketsWithoutNumberOrKindHeaderArrive)
{
    const auto ends = pair->open(LinkRole::kLane);
    wire::PacketHead head;
    head.kind = wire::PacketKind::kAck;
    Packet ack;
    ack.head_bytes = sizeof head;
    ack.bytes.assign(std::as_bytes(std::span{&head, 1}).begin(), std::as_bytes(std::span{&head, 1}).end());
    send_all(ends.at_a, {ack, ack, ack}, 2);
    expect_packets({ack, ack, ack});
}

// As those of messages that are not contiguous: all of it, or its beginning.
TEST_P(TransportContract, PayloadThatIsPackedBehindTheHeadArrivesAsTheRestOfIt)
{
    const auto ends = pair->open(LinkRole::kLane);
    std::vector<Packet> packets;
    for (const std::size_t size : {std::size_t{1}, std::size_t{3000}, std::size_t{16 * 1024}, std::size_t{40'000}, std::size_t{100'000}}) {
        for (const std::size_t packed : {size, size / 2, std::size_t{1}}) {
            packets.push_back(eager(static_cast<std::uint32_t>(packets.size() + 1), size));
            packets.back().head_bytes += packed;
        }
    }
    send_all(ends.at_a, packets, 2);
    expect_packets(packets);
}

TEST_P(TransportContract, LandingShorterThanThePayloadGetsItsStartAndTheRestIsDiscarded)
{
    const auto ends = pair->open(LinkRole::kLane);
    const std::size_t size = 100000;
    for (const std::size_t room : {std::size_t{99999}, std::size_t{1000}, std::size_t{0}}) {
        pair->b().sink.room = room;
        pair->b().sink.packets.clear();
        const std::vector<Packet> packets{eager(1, size), eager(2, 5)};
        send_all(ends.at_a, packets, 2);
        ASSERT_TRUE(pair->run_until([&] { return pair->b().sink.packets.size() == 2; }));
        const Sink::Arrival& cut = pair->b().sink.packets[0];
        if (cut.in_landing) {   // else it happened to be whole, which no room limits
            EXPECT_EQ(cut.landed, room);
            EXPECT_TRUE(std::equal(cut.bytes.begin(), cut.bytes.end(), packets[0].bytes.begin()));
        }
        EXPECT_TRUE(cut.ok);
        EXPECT_EQ(pair->b().sink.packets[1].bytes, packets[1].bytes);
    }
}

TEST_P(TransportContract, BulkPacketsLandAndTheirMemoryComesBack)
{
    const auto ends = pair->open(pair->bulk_role());
    std::vector<Bytes> payloads;
    unsigned expected = 0;
    for (std::uint32_t i = 0; i < 12; ++i) {
        payloads.push_back(pattern(i, std::size_t{1} << (2 * i)));   // 1 byte to 4 MiB
    }
    for (std::uint32_t i = 0; i < payloads.size(); ++i) {
        Status s = Status::kAgain;
        ASSERT_TRUE(pair->run_until([&] {
            s = s == Status::kAgain ? pair->a().transport->send_bulk(ends.at_a, bulk_head(i, payloads[i].size()), payloads[i], &payloads[i]) : s;
            return s != Status::kAgain;
        }));
        ASSERT_FALSE(failed(s));
        expected += s == Status::kInProgress ? 1 : 0;
    }
    ASSERT_TRUE(pair->run_until([&] { return pair->b().sink.bulk.size() == payloads.size() && pair->a().sink.sent.size() == expected; }));
    std::vector<bool> seen(payloads.size());
    for (const Sink::Arrival& got : pair->b().sink.bulk) {   // each once, in any order
        wire::BulkHead head;
        std::memcpy(&head, got.bytes.data(), sizeof head);
        const std::size_t i = head.recv_slot.get();
        ASSERT_LT(i, payloads.size());
        EXPECT_FALSE(seen[i]) << i;
        seen[i] = true;
        ASSERT_EQ(got.landed, payloads[i].size());
        EXPECT_TRUE(std::equal(payloads[i].begin(), payloads[i].end(), got.bytes.begin() + sizeof(wire::BulkHead)));
    }
    EXPECT_TRUE(std::all_of(pair->a().sink.sent.begin(), pair->a().sink.sent.end(), [](const Sink::Sent& s) { return s.ok; }));
}

TEST_P(TransportContract, BulkBeyondTheLandingIsDiscarded)
{
    const auto ends = pair->open(pair->bulk_role());
    const Bytes payload = pattern(1, 300000);
    for (const std::size_t room : {std::size_t{0}, std::size_t{17}, payload.size()}) {
        pair->b().sink.room = room;
        pair->b().sink.bulk.clear();
        Status s = Status::kAgain;
        ASSERT_TRUE(pair->run_until([&] {
            s = s == Status::kAgain ? pair->a().transport->send_bulk(ends.at_a, bulk_head(1, payload.size()), payload, nullptr) : s;
            return pair->b().sink.bulk.size() == 1;
        }));
        EXPECT_EQ(pair->b().sink.bulk[0].landed, room);
        EXPECT_TRUE(std::equal(pair->b().sink.bulk[0].bytes.begin() + sizeof(wire::BulkHead), pair->b().sink.bulk[0].bytes.end(), payload.begin()));
    }
}

TEST_P(TransportContract, EmptyBulkPacketArrives)
{
    const auto ends = pair->open(pair->bulk_role());
    Status s = Status::kAgain;
    ASSERT_TRUE(pair->run_until([&] {
        s = s == Status::kAgain ? pair->a().transport->send_bulk(ends.at_a, bulk_head(3, 0), {}, nullptr) : s;
        return pair->b().sink.bulk.size() == 1;
    }));
    EXPECT_EQ(pair->b().sink.bulk[0].landed, 0u);
}

// The sender is faster than a receiver that does not poll: it must be stopped, and told when to go on.
TEST_P(TransportContract, SenderIsHeldBackAndToldToGoOn)
{
    const auto ends = pair->open(LinkRole::kLane);
    std::vector<Packet> packets;
    for (std::uint32_t i = 1; i <= 400; ++i) {
        packets.push_back(eager(i, 60000));
    }
    std::size_t taken = 0;
    bool held_back = false;
    while (taken < packets.size() && !held_back) {
        const LanePacket one = packets[taken].lane();
        const SendResult r = pair->a().transport->send_lane(ends.at_a, {&one, 1});
        ASSERT_FALSE(r.down);
        taken += r.taken;
        held_back = r.taken == 0;
    }
    EXPECT_TRUE(held_back) << "24 MB were swallowed without a receiver";
    const unsigned before = pair->a().sink.writable;
    ASSERT_TRUE(pair->run_until([&] { return pair->a().sink.writable > before; }));
    send_all(ends.at_a, {packets.begin() + static_cast<std::ptrdiff_t>(taken), packets.end()}, 8);
    expect_packets(packets);
}

TEST_P(TransportContract, SendingToADroppedLinkSaysDown)
{
    const auto ends = pair->open(LinkRole::kLane);
    pair->a().transport->drop(ends.at_a);
    const Packet p = eager(1, 10);
    const LanePacket one = p.lane();
    EXPECT_TRUE(pair->a().transport->send_lane(ends.at_a, {&one, 1}).down);
    EXPECT_EQ(pair->a().transport->send_bulk(ends.at_a, bulk_head(1, 0), {}, nullptr), Status::kPeerDown);
    EXPECT_TRUE(pair->a().transport->send_lane(LinkId{~std::uint64_t{0}}, {&one, 1}).down);
    pair->a().transport->drop(ends.at_a);   // again: nothing
    pair->settle();
    EXPECT_TRUE(pair->a().sink.downs.empty()) << "a dropped link was reported";
}

TEST_P(TransportContract, DropBeforeTheLinkIsUpIsQuiet)
{
    const auto link = pair->a().transport->connect(PeerId{2}, LinkRole::kLane, pair->b().name);
    ASSERT_TRUE(link.ok());
    pair->a().transport->drop(*link);
    pair->settle();
    EXPECT_TRUE(pair->a().sink.ups.empty());
    EXPECT_TRUE(pair->a().sink.downs.empty());
}

TEST_P(TransportContract, DropInsideEveryCallIsTheLastOfThatLink)
{
    for (const std::string where : {"on_link_up", "on_packet", "on_packet_begin", "on_bulk_begin", "make_hello", "on_hello", "on_welcome", "on_confirm"}) {
        if (!GetParam().hellos && (where == "make_hello" || where == "on_hello" || where == "on_welcome" || where == "on_confirm")) {
            continue;
        }
        Pair fresh{GetParam()};
        Sink& sink = fresh.b().sink;
        bool dropped = false;
        for (Endpoint* e : {&fresh.a(), &fresh.b()}) {
            e->sink.on_call = [&, e](const char* call, LinkId link) {
                if (where == call && !dropped && (e == &fresh.b() || where == "make_hello" || where == "on_welcome")) {
                    dropped = true;
                    e->transport->drop(link);
                    if (where == "on_packet_begin" || where == "on_bulk_begin") {
                        --e->sink.begun;   // a landing that was answered for a dropped link is void
                    }
                }
            };
        }
        const auto link = fresh.a().transport->connect(PeerId{2}, where == "on_bulk_begin" ? fresh.bulk_role() : LinkRole::kLane, fresh.b().name);
        ASSERT_TRUE(link.ok());
        const Packet small = eager(1, 10);
        const Packet large = eager(2, 120000);
        const Bytes payload = pattern(3, 100000);
        fresh.a().sink.ups.reserve(4);
        std::size_t sent = 0;
        const bool reached = fresh.run_until(
            [&] {
                if (sent < 2 && !fresh.a().sink.ups.empty()) {
                    if (where == "on_bulk_begin") {
                        sent = fresh.a().transport->send_bulk(*link, bulk_head(1, payload.size()), payload, nullptr) == Status::kAgain ? 0 : 2;
                    } else {
                        const LanePacket both[]{small.lane(), large.lane()};
                        sent += fresh.a().transport->send_lane(*link, std::span{both}.subspan(sent)).taken;
                    }
                }
                return dropped;
            });
        ASSERT_TRUE(reached) << where;
        const std::size_t packets = sink.packets.size();
        fresh.settle();
        if (where != "make_hello" && where != "on_welcome") {
            EXPECT_EQ(sink.packets.size(), packets) << where;
            EXPECT_TRUE(sink.downs.empty()) << where;
        }
    }
}

TEST_P(TransportContract, ShutdownInsideACallEndsEverything)
{
    const auto ends = pair->open(LinkRole::kLane);
    Endpoint& b = pair->b();
    b.sink.on_call = [&](const char*, LinkId) {
        b.sink.on_call = nullptr;
        b.transport->shutdown();
    };
    const std::vector<Packet> packets{eager(1, 8), eager(2, 8), eager(3, 8)};
    std::vector<LanePacket> batch;
    for (const Packet& p : packets) {
        batch.push_back(p.lane());
    }
    while (pair->a().transport->send_lane(ends.at_a, batch).taken == 0) {
    }
    ASSERT_TRUE(pair->run_until([&] { return b.sink.on_call == nullptr; }));
    const std::size_t seen = b.sink.packets.size();
    pair->settle();
    EXPECT_EQ(b.sink.packets.size(), seen);
    EXPECT_EQ(b.transport->connect(PeerId{2}, LinkRole::kLane, pair->a().name).status(), Status::kClosed);
}

TEST_P(TransportContract, BulkBorrowedByADroppedLinkComesBackFirst)
{
    const auto ends = pair->open(pair->bulk_role());
    const Bytes payload = pattern(1, 16 << 20);
    Status s = Status::kAgain;
    while (s == Status::kAgain) {   // a faulty transport may say so for nothing
        s = pair->a().transport->send_bulk(ends.at_a, bulk_head(1, payload.size()), payload, &pair);
    }
    ASSERT_EQ(s, Status::kInProgress) << "16 MiB fitted into the socket";
    pair->a().transport->drop(ends.at_a);
    ASSERT_EQ(pair->a().sink.sent.size(), 1u);
    EXPECT_FALSE(pair->a().sink.sent[0].ok);
    EXPECT_EQ(pair->a().sink.sent[0].cookie, &pair);
}

// Any thread may send while another one polls and the link dies.
TEST_P(TransportContract, SendersAndPollerRunTogether)
{
    const auto ends = pair->open(LinkRole::kLane);
    constexpr std::uint32_t kCount = 3000;
    std::vector<Packet> packets;
    for (std::uint32_t i = 1; i <= kCount; ++i) {
        packets.push_back(eager(i, i % 3000));
    }
    wire::PacketHead head;   // borrowed by the link until it is dropped
    head.kind = wire::PacketKind::kAck;
    std::atomic<bool> stop{false};
    std::thread sender{[&] {
        std::size_t next = 0;
        while (next < packets.size() && !stop) {
            const LanePacket one = packets[next].lane();
            const SendResult r = pair->a().transport->send_lane(ends.at_a, {&one, 1});
            next += r.taken;
            if (r.taken == 0) {
                std::this_thread::yield();
            }
        }
        while (!stop) {   // until the link is gone under it
            const LanePacket ack{std::as_bytes(std::span{&head, 1}), {}};
            const SendResult r = pair->a().transport->send_lane(ends.at_a, {&ack, 1});
            if (r.down) {
                break;
            }
            if (r.taken == 0) {
                std::this_thread::yield();
            }
        }
    }};
    const auto numbered = [&] {
        return std::count_if(pair->b().sink.packets.begin(), pair->b().sink.packets.end(), [](const Sink::Arrival& a) { return number_of(a.bytes) != 0; });
    };
    const bool arrived = pair->run_until([&] { return pair->b().sink.packets.size() >= kCount && numbered() == kCount; });
    pair->a().transport->drop(ends.at_a);
    stop = !arrived;
    sender.join();
    ASSERT_TRUE(arrived);
    std::uint32_t next = 0;
    for (const Sink::Arrival& a : pair->b().sink.packets) {
        if (number_of(a.bytes) != 0) {
            ASSERT_EQ(number_of(a.bytes), ++next);
            ASSERT_EQ(a.bytes, packets[next - 1].bytes);
        }
    }
}

// Links are killed right before packets; what arrives of each life must be the beginning of what was sent in it, and each life ends once.
TEST_P(KillingContract, EachLifeDeliversABeginningOfWhatWasSentAndEndsOnce)
{
    Pair mortal{GetParam(), {}, 0.02};
    std::size_t lives = 0;
    const LinkRole role = LinkRole::kLane;
    std::vector<Packet> packets;
    for (std::uint32_t i = 1; i <= 300; ++i) {
        packets.push_back(eager(i, i % 7 == 0 ? 30000 : i));
    }
    Sink& a = mortal.a().sink;
    Sink& b = mortal.b().sink;
    for (; lives < 6; ++lives) {
        a.downs.clear();
        b.downs.clear();
        b.packets.clear();
        const auto ends = mortal.open(role);
        std::size_t next = 0;
        ASSERT_TRUE(mortal.run_until([&] {
            if (a.downs.empty() && next < packets.size()) {
                std::vector<LanePacket> some;
                for (std::size_t i = next; i < std::min(next + 16, packets.size()); ++i) {
                    some.push_back(packets[i].lane());
                }
                next += mortal.a().transport->send_lane(ends.at_a, some).taken;
            }
            const std::size_t ended = a.downs.size() + (GetParam().self ? 0 : b.downs.size());
            return ended >= (GetParam().self ? 1u : 2u) || b.packets.size() == packets.size();
        }));
        ASSERT_LE(b.downs.size(), 1u);
        ASSERT_LE(b.packets.size(), packets.size());
        const bool died = !b.downs.empty();
        for (std::size_t i = 0; i < b.packets.size(); ++i) {
            const bool last = i + 1 == b.packets.size();
            if (b.packets[i].ok) {
                ASSERT_EQ(b.packets[i].bytes, packets[i].bytes) << i;
            } else {
                ASSERT_TRUE(died && last) << "a landing broke in a link that lives";
            }
        }
        if (!died) {
            mortal.a().transport->drop(ends.at_a);
            ASSERT_TRUE(GetParam().self || mortal.run_until([&] { return !b.downs.empty(); }));
        }
        EXPECT_EQ(b.begun, 0u);
    }
}

INSTANTIATE_TEST_SUITE_P(All, TransportContract, ::testing::ValuesIn(all_kinds()), [](const auto& p) { return std::string{p.param.name}; });
INSTANTIATE_TEST_SUITE_P(All, AtOnceContract, ::testing::ValuesIn(kinds_where(is_shm)), [](const auto& p) { return std::string{p.param.name}; });
INSTANTIATE_TEST_SUITE_P(All, KillingContract, ::testing::ValuesIn(kinds_where(is_faulty)), [](const auto& p) { return std::string{p.param.name}; });

}   // namespace
}   // namespace linnet::contract

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Somebody on the network has recorded all frames of a job, and sends them again into a later one between the same two hosts, at the same addresses, ports and
// endpoints: every frame is dropped and counted, and nothing else happens.
//
// The hosts are network namespaces joined by a cable. What is recorded is what leaves eth0 of a host, by a packet socket; it is sent by one.
#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "integration/waist/two_hosts.h"
#include "sys/fd.h"
#include "wire/frame.h"
#include "wire/name.h"

namespace linnet::testing {
namespace {

constexpr unsigned kPort = 27182;
constexpr std::size_t kMac = 14;                    // bytes of an Ethernet header
constexpr std::size_t kEndpoints = kMac + 4;        // and of the two endpoints behind it: eth
constexpr std::size_t kUdpHeads = kMac + 20 + 8;    // and of IPv4 and UDP

struct Recorded {
    unsigned from;   // host
    std::vector<std::byte> bytes;
};

// A packet socket at eth0 of a host. `protocol` 0: to send.
Fd packet_socket(const NamespacePair& hosts, unsigned host, int protocol)
{
    const NamespacePair::Scope there{hosts, host};
    Fd fd{::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, htons(static_cast<std::uint16_t>(protocol)))};
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(static_cast<std::uint16_t>(protocol));
    at.sll_ifindex = static_cast<int>(::if_nametoindex("eth0"));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at), 0);
    const int queue = 64 << 20;
    EXPECT_EQ(::setsockopt(fd.get(), SOL_SOCKET, SO_RCVBUFFORCE, &queue, sizeof queue), 0);
    return fd;
}

class Replay : public TwoHosts, public ::testing::WithParamInterface<const char*> {
protected:
    [[nodiscard]] bool udp() const { return std::string{GetParam()} == "udp"; }

    void open()
    {
        // What the kernel is given in one piece it would show so to who records it. A ring that holds what is lent and what nobody has asked for,
        // and no event thread: one without a core would keep pass() from emptying it.
        const std::string port = std::to_string(kPort);
        const std::vector<linnet_setting_t> settings{{"net_include", ""}, {"transports", GetParam()}, {"udp_segment", "off"},
                                                     {"udp_port_min", port.c_str()}, {"udp_port_max", port.c_str()}, {"eth_ring", "4096"},
                                                     {"event_thread", "off"}, {"eth_listeners", "0"}};   // all hear from the start
        TwoHosts::open(settings);
    }
    // Messages of all kinds both ways, each with bytes of its own; `each_pass` after every pass of polling.
    template <class F>
    void exchange(unsigned seed, F each_pass)
    {
        const auto end = std::chrono::steady_clock::now() + 20s;
        Patience patience;
        for (const std::size_t bytes : {std::size_t{8}, std::size_t{3000}, std::size_t{100'000}, std::size_t{1} << 20}) {
            const std::array<std::vector<unsigned char>, 2> out{pattern(bytes, seed++), pattern(bytes, seed++)};
            std::array<std::vector<unsigned char>, 2> in{std::vector<unsigned char>(bytes), std::vector<unsigned char>(bytes)};
            std::array<Op, 4> ops;
            for (const unsigned host : {0u, 1u}) {
                const NamespacePair::Scope there{*hosts_, host};
                ASSERT_GE(ends_[host]->recv(ops[host], peer_[host], 7, contiguous(in[host].data(), bytes)), 0);
                ASSERT_GE(ends_[host]->send(ops[2 + host], peer_[host], 7, contiguous(out[host].data(), bytes)), 0);
            }
            while (!std::all_of(ops.begin(), ops.end(), [](const Op& op) { return op.complete(); })) {
                ASSERT_LT(std::chrono::steady_clock::now(), end) << bytes << " bytes";
                pass(patience);
                each_pass();
            }
            for (const unsigned host : {0u, 1u}) {
                ASSERT_EQ(ops[host].status(), LINNET_OK);
                ASSERT_EQ(ops[host].length(), bytes);
                ASSERT_EQ(in[host], out[1 - host]);
            }
        }
    }
    [[nodiscard]] std::uint64_t counter(const char* name) const { return ends_[0]->counter(name) + ends_[1]->counter(name); }

    // ---- the listener ----

    void listen()
    {
        for (const unsigned host : {0u, 1u}) {
            ears_[host] = packet_socket(*hosts_, host, ETH_P_ALL);
        }
    }
    // Keeps what is a job's.
    void record(std::vector<Recorded>& to)
    {
        for (const unsigned host : {0u, 1u}) {
            std::vector<std::byte> frame(65536);
            sockaddr_ll from{};
            socklen_t length = sizeof from;
            for (;;) {
                const ssize_t n = ::recvfrom(ears_[host].get(), frame.data(), frame.size(), 0, reinterpret_cast<sockaddr*>(&from), &length);
                if (n < 0) {
                    break;
                }
                const std::span<const std::byte> seen = std::span{frame}.first(static_cast<std::size_t>(n));
                if (from.sll_pkttype == PACKET_OUTGOING && (udp() ? is_udp(seen) : is_ether(seen))) {
                    to.push_back({host, {seen.begin(), seen.end()}});
                }
            }
        }
    }
    static std::uint16_t word(std::span<const std::byte> at, std::size_t i)
    {
        return static_cast<std::uint16_t>(std::to_integer<unsigned>(at[i]) << 8 | std::to_integer<unsigned>(at[i + 1]));
    }
    static bool is_udp(std::span<const std::byte> f)
    {
        return f.size() >= kUdpHeads + sizeof(wire::FrameHead) && word(f, 12) == ETHERTYPE_IP && f[23] == std::byte{IPPROTO_UDP};
    }
    static bool is_ether(std::span<const std::byte> f) { return f.size() >= kEndpoints + sizeof(wire::FrameHead) && word(f, 12) == 0x88b5; }

    static void set_word(std::span<std::byte> at, std::size_t i, unsigned value)
    {
        at[i] = static_cast<std::byte>(value >> 8);
        at[i + 1] = static_cast<std::byte>(value & 0xff);
    }
    // From which port the host sends rendezvous data, by these frames; one that is not known yet, if there is any.
    static unsigned bulk_port(std::span<const Recorded> frames, unsigned host, const std::array<unsigned, 2>& known)
    {
        const auto it = std::find_if(frames.begin(), frames.end(), [&](const Recorded& r) {
            const unsigned port = word(r.bytes, kMac + 20);
            return r.from == host && port != kPort && std::find(known.begin(), known.end(), port) == known.end();
        });
        return it == frames.end() ? known[host] : word(it->bytes, kMac + 20);
    }
    // As it was, but what the sender's card would have computed, and the endpoints of the processes that are there now.
    [[nodiscard]] Recorded made_current(Recorded r) const
    {
        if (udp()) {
            set_word(r.bytes, kMac + 20 + 6, 0);   // no checksum
            for (const std::size_t port : {kMac + 20, kMac + 22}) {
                for (const unsigned host : {0u, 1u}) {
                    if (new_bulk_[host] != 0 && word(r.bytes, port) == old_bulk_[host]) {
                        set_word(r.bytes, port, new_bulk_[host]);
                        break;
                    }
                }
            }
            return r;
        }
        for (const unsigned end : {0u, 1u}) {   // of the receiver, of the sender
            const linnet_name_t raw = ends_[end == 0 ? 1 - r.from : r.from]->name();
            const auto name = wire::decode_name(std::as_bytes(std::span{&raw, 1}));
            const std::uint16_t endpoint = wire::NameAddresses{*name}.contact(0).endpoint.get();
            set_word(r.bytes, kMac + 2 * end, endpoint);
        }
        return r;
    }
    struct Expected {
        std::uint64_t hellos{0};
        std::uint64_t unknown{0};
    };
    // Of what is sent to it again: opening frames but the hello, and resets, say nothing to nobody; all others name a connection.
    void count(const Recorded& r)
    {
        wire::FrameHead head;
        std::memcpy(&head, r.bytes.data() + (udp() ? kUdpHeads : kEndpoints), sizeof head);
        const unsigned to = udp() ? word(r.bytes, kMac + 22) : kPort;
        if (to != kPort && to != new_bulk_[1 - r.from]) {
            return;   // to a socket for bulk data that was, and has another port now
        }
        if (head.kind == wire::FrameKind::kOpen) {
            expected_.hellos += head.connection.get() == 0 ? 1 : 0;
        } else {
            expected_.unknown += head.kind != wire::FrameKind::kReset ? 1 : 0;
        }
    }
    // The next few of them, from the beginning again at the end.
    void replay(std::size_t frames)
    {
        for (; frames != 0; --frames) {
            const Recorded& r = current_[next_++ % current_.size()];
            ASSERT_EQ(::send(mouths_[r.from].get(), r.bytes.data(), r.bytes.size(), 0), static_cast<ssize_t>(r.bytes.size())) << std::strerror(errno);
            count(r);
        }
    }
    void make_all_current()
    {
        current_.clear();
        next_ = 0;
        for (const Recorded& r : recorded_) {
            current_.push_back(made_current(r));
        }
    }

    Fd ears_[2];
    Fd mouths_[2];
    std::vector<Recorded> recorded_;
    std::vector<Recorded> current_;
    std::array<unsigned, 2> old_bulk_{};   // ports, udp
    std::array<unsigned, 2> new_bulk_{};
    std::size_t next_{0};
    Expected expected_;
};

TEST_P(Replay, FramesOfAnEarlierJobChangeNothing)
{
    listen();
    open();
    exchange(1, [&] { record(recorded_); });
    const std::uint64_t links = counter("flow_connects");
    EXPECT_EQ(counter("flow_drop_unknown"), 0u);
    EXPECT_LE(counter("refused_hellos"), links) << "but where both sides call at once, of which one yields";
    close_both();
    record(recorded_);
    ASSERT_GT(recorded_.size(), 1000u);
    open();
    for (const unsigned host : {0u, 1u}) {
        mouths_[host] = packet_socket(*hosts_, host, 0);
    }
    make_all_current();
    // Before anybody has called, from the first hello on; then into opening and messages, some frames into each pass.
    Patience patience;
    while (next_ < 600) {
        replay(8);
        pass(patience);
    }
    next_ = 0;
    std::vector<Recorded> later;
    exchange(1000, [&] {
        replay(2);
        record(later);
    });
    for (const unsigned host : {0u, 1u}) {   // now it is known where rendezvous data goes this time
        old_bulk_[host] = udp() ? bulk_port(recorded_, host, {}) : 0;
    }
    for (const unsigned host : {0u, 1u}) {
        new_bulk_[host] = udp() ? bulk_port(later, host, old_bulk_) : 0;
    }
    make_all_current();
    for (unsigned seed = 2000; !HasFatalFailure() && next_ < current_.size(); seed += 100) {
        exchange(seed, [&] { replay(8); });
    }
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_GT(expected_.hellos, 1u);
    ASSERT_GT(expected_.unknown, 1000u);
    const auto end = std::chrono::steady_clock::now() + 10s;
    while ((counter("flow_drop_unknown") < expected_.unknown || counter("refused_hellos") < expected_.hellos) && std::chrono::steady_clock::now() < end) {
        pass(patience);
    }
    EXPECT_EQ(counter("flow_drop_unknown"), expected_.unknown);
    EXPECT_GE(counter("refused_hellos"), expected_.hellos);
    EXPECT_LE(counter("refused_hellos"), expected_.hellos + links) << "but where both sides call at once, of which one yields";
    EXPECT_EQ(counter("flow_connects"), links) << "nothing was opened again";
    EXPECT_EQ(counter("flow_accepts"), links);
    for (const char* const name : {"reconnects", "peers_lost", "protocol_errors", "flow_drop_bad_head", "flow_drop_incarnation", "flow_drop_epoch",
                                   "flow_drop_check", "flow_drop_implausible", "flow_drop_mismatch", "flow_kernel_drops"}) {
        EXPECT_EQ(counter(name), 0u) << name;
    }
}
INSTANTIATE_TEST_SUITE_P(Transports, Replay, ::testing::Values("udp", "eth"), [](const auto& transport) { return std::string{transport.param}; });

}   // namespace
}   // namespace linnet::testing

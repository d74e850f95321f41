// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What TcpTransport costs above the sockets it uses: ping-pong on the lane, streams on the bulk link, beside the same over raw sockets, turn about.
//
//   tcp_transport_bench serve ADDRESS PORT            on one host
//   tcp_transport_bench run ADDRESS PORT [TURNS [IDLE]]   on the other; IDLE more lane links stay open and silent
//
// One JSON line per size and measurement: medians over the turns, their median absolute deviation, and the median of the paired ratios. It fails (exit 1)
// when the counters do not show about one read and one write system call for each message: then it measured something else.
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <string>
#include <thread>
#include <vector>

#include "sys/system_clock.h"
#include "sys/tcp_socket.h"
#include "transport/tcp/tcp_transport.h"
#include "wire/hello.h"

namespace linnet {
namespace {

constexpr std::size_t kHead = sizeof(wire::PacketHead) + sizeof(wire::TagHeader);

[[noreturn]] void die(const char* what)
{
    std::fprintf(stderr, "tcp_transport_bench: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

// ---- the raw side: a blocking spin on a non-blocking socket, the least that any library can do ----

void raw_send(int fd, const std::byte* data, std::size_t bytes)
{
    while (bytes != 0) {
        const iovec piece{const_cast<std::byte*>(data), bytes};
        const IoResult r = socket_send(fd, {&piece, 1});
        if (r.error != 0 && !r.would_block()) {
            die("send");
        }
        data += r.bytes;
        bytes -= r.bytes;
    }
}

void raw_receive(int fd, std::byte* data, std::size_t bytes)
{
    while (bytes != 0) {
        const IoResult r = socket_receive(fd, data, bytes);
        if ((r.error != 0 && !r.would_block()) || (r.error == 0 && r.bytes == 0)) {
            die("receive");
        }
        data += r.bytes;
        bytes -= r.bytes;
    }
}

// ---- the transport side ----

class BenchSink final : public TransportSink {
public:
    std::uint64_t packets{0};
    std::uint64_t bulk_bytes{0};
    std::uint64_t sent_back{0};
    unsigned ups{0};
    LinkId lane{}, bulk{};
    std::vector<std::byte> memory = std::vector<std::byte>(8u << 20);

    std::size_t make_hello(LinkId, PeerId, LinkRole role, std::span<std::byte> out) noexcept override { return hello(role, out); }
    HelloVerdict on_hello(LinkId, std::span<const std::byte> in, const Caller&, std::span<std::byte> reply) noexcept override
    {
        wire::HelloHead head;
        std::memcpy(&head, in.data(), sizeof head);
        return accept(PeerId{0}, static_cast<LinkRole>(head.role), hello(static_cast<LinkRole>(head.role), reply));
    }
    HelloVerdict on_welcome(LinkId, PeerId peer, LinkRole role, std::span<const std::byte>, std::span<std::byte> out) noexcept override
    {
        return accept(peer, role, hello(role, out));
    }
    HelloVerdict on_confirm(LinkId, PeerId peer, LinkRole role, std::span<const std::byte>) noexcept override { return accept(peer, role, 0); }
    void on_link_up(LinkId link, PeerId, LinkRole role) noexcept override
    {
        ++ups;
        LinkId& first = role == LinkRole::kLane ? lane : bulk;
        first = first.value == 0 ? link : first;
    }
    void on_link_down(LinkId, PeerId, LinkRole, bool, Status, std::string_view text) noexcept override
    {
        std::fprintf(stderr, "tcp_transport_bench: %.*s\n", static_cast<int>(text.size()), text.data());
        std::exit(1);
    }
    void on_writable(PeerId, LinkRole) noexcept override {}
    void on_packet(LinkId, PeerId, std::span<const std::byte> packet) noexcept override
    {
        std::memcpy(memory.data(), packet.data() + kHead, packet.size() - kHead);   // as matching would, to the user
        ++packets;
    }
    Landing on_packet_begin(LinkId, PeerId, std::span<const std::byte>, std::size_t) noexcept override { return {memory.data(), memory.size(), nullptr}; }
    void on_packet_end(LinkId, PeerId, void*, std::size_t, bool) noexcept override { ++packets; }
    Landing on_bulk_begin(LinkId, PeerId, const wire::BulkHead&) noexcept override { return {memory.data(), memory.size(), nullptr}; }
    void on_bulk_end(LinkId, PeerId, void*, std::size_t landed, bool) noexcept override { bulk_bytes += landed; }
    void on_bulk_sent(PeerId, void*, bool) noexcept override { ++sent_back; }

private:
    static std::size_t hello(LinkRole role, std::span<std::byte> out)
    {
        wire::HelloHead head;
        head.magic = le32{wire::kHelloMagic};
        head.role = static_cast<std::uint8_t>(role);
        head.bytes = le16{sizeof head};
        std::memcpy(out.data(), &head, sizeof head);
        return sizeof head;
    }
    static HelloVerdict accept(PeerId peer, LinkRole role, std::size_t reply)
    {
        HelloVerdict v;
        v.action = HelloVerdict::Action::kAccept;
        v.peer = peer;
        v.role = role;
        v.reply_bytes = reply;
        return v;
    }
};

struct Command {
    enum Kind : std::uint32_t { kRawPingPong, kPingPong, kRawStream, kStream, kEnd } kind;
    std::uint32_t count;
    std::uint64_t bytes;
};

struct Peer {
    Fd control;
    Settings settings;
    SystemClock clock;
    Log log;
    Stats stats;
    BenchSink sink;
    tcp::TcpTransport transport{settings, clock, log, stats};
    std::vector<std::byte> buffer = std::vector<std::byte>(8u << 20);
    std::vector<std::byte> packet = std::vector<std::byte>(kHead + (1u << 17));

    void open(const char* address)
    {
        std::string error;
        static_cast<void>(settings.set(SettingId::kNetInclude, address, error));
        static_cast<void>(settings.load_environment(log, error));
        wire::EndpointName mine;
        mine.endpoint_id = le64{1};
        if (transport.open(sink, mine) != Status::kOk) {
            die("cannot open the transport");
        }
        raw_send(control.get(), reinterpret_cast<const std::byte*>(&mine), sizeof mine);
        raw_receive(control.get(), reinterpret_cast<std::byte*>(&other), sizeof other);
    }
    wire::EndpointName other;
    std::uint64_t stream_expected{0};

    void send_packet(std::size_t bytes)
    {
        wire::PacketHead head;
        head.kind = wire::PacketKind::kEager;
        head.body_bytes = le32{static_cast<std::uint32_t>(sizeof(wire::TagHeader) + bytes)};
        std::memcpy(packet.data(), &head, sizeof head);
        const LanePacket one{std::span{packet}.first(kHead), std::span{packet}.subspan(kHead, bytes)};
        SendResult r = transport.send_lane(sink.lane, {&one, 1});
        while (!r.all_written) {
            transport.poll(16);
            r = transport.send_lane(sink.lane, {&one, r.taken == 0 ? std::size_t{1} : std::size_t{0}});
        }
    }
    void receive_packet()
    {
        const std::uint64_t before = sink.packets;
        while (sink.packets == before) {
            transport.poll(16);
        }
    }
    void send_stream(std::uint32_t count, std::size_t bytes)
    {
        wire::BulkHead head;
        head.body_bytes = le32{static_cast<std::uint32_t>(bytes)};
        std::uint64_t expected = sink.sent_back;
        for (std::uint32_t i = 0; i < count; ++i) {
            Status s = Status::kAgain;
            while ((s = transport.send_bulk(sink.bulk, head, std::span{buffer}.first(bytes), nullptr)) == Status::kAgain) {
                transport.poll(16);
            }
            expected += s == Status::kInProgress ? 1 : 0;
        }
        while (sink.sent_back < expected) {
            transport.poll(16);
        }
    }
    // One pass may bring more than one packet.
    void receive_stream(std::uint64_t bytes)
    {
        stream_expected += bytes;
        while (sink.bulk_bytes < stream_expected) {
            transport.poll(16);
        }
    }
};

void serve(const char* address, int port)
{
    auto at = InetAddress::parse(address, static_cast<std::uint16_t>(port));
    SocketOrError listener = at ? tcp_listen(*at, 8) : SocketOrError{Fd{}, EINVAL};
    if (listener.error != 0) {
        errno = listener.error;
        die("cannot listen");
    }
    Peer p;
    for (SocketOrError s; !p.control.valid(); p.control = std::move(s.fd)) {
        s = tcp_accept(listener.fd.get());
    }
    static_cast<void>(tcp_configure(p.control.get(), {"cubic", {}, 0}));
    p.open(address);
    std::byte one{};
    for (;;) {
        Command c;
        const TimePoint start = monotonic_now();
        while (monotonic_now() - start < std::chrono::milliseconds{1}) {
            p.transport.poll(16);
        }
        ::pollfd waiting{p.control.get(), POLLIN, 0};
        if (::poll(&waiting, 1, 0) <= 0) {
            continue;
        }
        raw_receive(p.control.get(), reinterpret_cast<std::byte*>(&c), sizeof c);
        raw_send(p.control.get(), &one, 1);
        for (std::uint32_t i = 0; i < c.count; ++i) {
            switch (c.kind) {
                case Command::kRawPingPong:
                    raw_receive(p.control.get(), p.buffer.data(), c.bytes);
                    raw_send(p.control.get(), p.buffer.data(), c.bytes);
                    break;
                case Command::kPingPong:
                    p.receive_packet();
                    p.send_packet(c.bytes);
                    break;
                case Command::kRawStream: raw_receive(p.control.get(), p.buffer.data(), c.bytes); break;
                case Command::kStream: p.receive_stream(c.bytes); break;
                case Command::kEnd: return;
            }
        }
        if (c.kind == Command::kRawStream || c.kind == Command::kStream) {
            raw_send(p.control.get(), &one, 1);
        }
    }
}

double median(std::vector<double> v)
{
    std::nth_element(v.begin(), v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2), v.end());
    return v[v.size() / 2];
}
double deviation(const std::vector<double>& v)
{
    const double m = median(v);
    std::vector<double> d;
    for (const double x : v) {
        d.push_back(std::fabs(x - m));
    }
    return median(d);
}

// Microseconds of one command, start to end as this side sees it.
double timed(Peer& p, const Command& c)
{
    std::byte one{};
    raw_send(p.control.get(), reinterpret_cast<const std::byte*>(&c), sizeof c);
    raw_receive(p.control.get(), &one, 1);
    const TimePoint start = monotonic_now();
    for (std::uint32_t i = 0; i < c.count; ++i) {
        switch (c.kind) {
            case Command::kRawPingPong:
                raw_send(p.control.get(), p.buffer.data(), c.bytes);
                raw_receive(p.control.get(), p.buffer.data(), c.bytes);
                break;
            case Command::kPingPong:
                p.send_packet(c.bytes);
                p.receive_packet();
                break;
            case Command::kRawStream: raw_send(p.control.get(), p.buffer.data(), c.bytes); break;
            case Command::kStream: p.send_stream(1, c.bytes); break;
            case Command::kEnd: return 0;
        }
    }
    if (c.kind == Command::kRawStream || c.kind == Command::kStream) {
        raw_receive(p.control.get(), &one, 1);
    }
    return std::chrono::duration<double, std::micro>(monotonic_now() - start).count();
}

bool compare(Peer& p, bool stream, std::uint64_t bytes, std::uint32_t count, unsigned turns)
{
    std::vector<double> raw, ours, ratio;
    std::uint64_t calls = 0, messages = 0;
    const double per = stream ? static_cast<double>(count) : 2.0 * count;
    for (unsigned t = 0; t < turns + 1; ++t) {
        const Command raw_command{stream ? Command::kRawStream : Command::kRawPingPong, count, stream ? bytes : bytes + kHead};
        const Command our_command{stream ? Command::kStream : Command::kPingPong, count, bytes};
        double r = 0, o = 0;
        const auto tx = [&p] { return p.stats.total(Counter::kTcpTxCalls); };
        if (t % 2 == 0) {
            r = timed(p, raw_command) / per;
        }
        const std::uint64_t before = tx();
        o = timed(p, our_command) / per;
        if (t != 0) {
            calls += tx() - before;
            messages += count;
        }
        if (t % 2 != 0) {
            r = timed(p, raw_command) / per;
        }
        if (t != 0) {   // the first turn warms up
            raw.push_back(r);
            ours.push_back(o);
            ratio.push_back(o / r);
        }
    }
    const double calls_per_message = static_cast<double>(calls) / static_cast<double>(messages);
    std::printf("{\"what\": \"%s\", \"bytes\": %llu, \"turns\": %u, \"raw_us\": %.3f, \"raw_mad\": %.3f, \"linnet_us\": %.3f, \"linnet_mad\": %.3f, "
                "\"ratio\": %.3f, \"ratio_mad\": %.3f, \"send_calls_per_message\": %.3f",
                stream ? "stream" : "half_round_trip", static_cast<unsigned long long>(bytes), turns, median(raw), deviation(raw), median(ours),
                deviation(ours), median(ratio), deviation(ratio), calls_per_message);
    if (stream) {
        std::printf(", \"raw_MB_s\": %.0f, \"linnet_MB_s\": %.0f", static_cast<double>(bytes) / median(raw), static_cast<double>(bytes) / median(ours));
    }
    std::printf("}\n");
    std::fflush(stdout);
    return stream || bytes > 8192 || (calls_per_message > 0.99 && calls_per_message < 1.01);
}

int run(const char* address, int port, unsigned turns, unsigned idle)
{
    Peer p;
    const auto to = InetAddress::parse(address, static_cast<std::uint16_t>(port));
    if (!to) {
        die("not an address");
    }
    int error = ECONNREFUSED;
    for (int tries = 0; tries < 100 && error != 0; ++tries) {
        SocketOrError s = tcp_socket(to->family());
        error = tcp_connect(s.fd.get(), *to);
        if (error == EINPROGRESS) {
            ::pollfd waiting{s.fd.get(), POLLOUT, 0};
            ::poll(&waiting, 1, 1000);
            error = socket_error(s.fd.get());
        }
        p.control = std::move(s.fd);
        std::this_thread::sleep_for(std::chrono::milliseconds{error != 0 ? 50 : 0});
    }
    static_cast<void>(tcp_configure(p.control.get(), {"cubic", {}, 0}));
    int ignored = 0;
    p.open(route_source(*to, ignored).host_text().c_str());
    if (!p.transport.connect(PeerId{0}, LinkRole::kLane, p.other).ok() || !p.transport.connect(PeerId{0}, LinkRole::kBulk, p.other).ok()) {
        die("connect");
    }
    for (unsigned wanted = 2; p.sink.ups < idle + 2;) {
        p.transport.poll(16);
        if (p.sink.ups == wanted && wanted < idle + 2) {
            ++wanted;
            static_cast<void>(p.transport.connect(PeerId{1}, LinkRole::kLane, p.other));
        }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds{10});
    bool ok = true;
    for (const std::uint64_t bytes : {8ull, 1024ull, 8192ull, 65536ull}) {
        ok = compare(p, false, bytes, bytes > 8192 ? 300 : 2000, turns) && ok;
    }
    for (const std::uint64_t bytes : {65536ull, 262144ull, 1048576ull, 4194304ull}) {
        ok = compare(p, true, bytes, static_cast<std::uint32_t>((64ull << 20) / bytes), turns) && ok;
    }
    // What a pass costs that finds nothing.
    const TimePoint start = monotonic_now();
    constexpr unsigned kPasses = 20000;
    for (unsigned i = 0; i < kPasses; ++i) {
        p.transport.poll(16);
    }
    std::printf("{\"what\": \"empty_poll\", \"idle_links\": %u, \"ns\": %.0f, \"buffers\": %zu, \"bytes_per_idle_peer\": %zu}\n", idle,
                std::chrono::duration<double, std::nano>(monotonic_now() - start).count() / kPasses, p.transport.buffers(), 2 * sizeof(tcp::Link));
    const Command end{Command::kEnd, 1, 0};
    timed(p, end);
    return ok ? 0 : 1;
}

}   // namespace
}   // namespace linnet

int main(int argc, char** argv)
{
    const std::string mode = argc > 3 ? argv[1] : "";
    if (mode == "serve") {
        linnet::serve(argv[2], std::atoi(argv[3]));
        return 0;
    }
    if (mode == "run") {
        const int turns = argc > 4 ? std::atoi(argv[4]) : 15;
        const int idle = argc > 5 ? std::atoi(argv[5]) : 0;
        return linnet::run(argv[2], std::atoi(argv[3]), static_cast<unsigned>(std::max(turns, 1)), static_cast<unsigned>(std::max(idle, 0)));
    }
    std::fprintf(stderr, "usage: tcp_transport_bench serve ADDRESS PORT | run ADDRESS PORT [TURNS [IDLE]]\n");
    return 2;
}

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fuzz target: what a connection may send to the TCP transport: rubbish instead of a hello, then bytes of any kind in pieces of any size. What the transport
// hands up must be exactly the packets that are in the stream, up to the first that is none.
#include <memory>
#include <string>

#include "conf/settings.h"
#include "fuzz/fuzz_target.h"
#include "sys/system_clock.h"
#include "sys/tcp_socket.h"
#include "transport/tcp/tcp_transport.h"
#include "wire/hello.h"

namespace linnet::fuzz {
namespace {

constexpr std::size_t kMaxStream = 1u << 18;

// Accepts every hello, and keeps what arrives.
class Keeper final : public TransportSink {
public:
    LinkRole role{LinkRole::kLane};
    std::vector<std::byte> got;      // all packets that came whole, one behind the other
    std::vector<std::byte> landing;
    std::vector<std::byte> head;
    bool in_body{false};
    bool up{false};
    bool down{false};
    Status why{Status::kOk};
    unsigned packets{0};
    std::size_t room_every{0};       // every so many landings have no room for the end

    std::size_t make_hello(LinkId, PeerId, LinkRole, std::span<std::byte>) noexcept override { return 0; }
    HelloVerdict on_hello(LinkId, std::span<const std::byte> hello, const Caller&, std::span<std::byte> reply) noexcept override
    {
        LINNET_FUZZ_CHECK(hello.size() >= sizeof(wire::HelloHead) && hello.size() <= kMaxHelloBytes);
        HelloVerdict v;
        v.action = HelloVerdict::Action::kAccept;
        v.peer = PeerId{1};
        v.role = role;
        v.reply_bytes = 1;
        reply[0] = std::byte{1};
        return v;
    }
    HelloVerdict on_welcome(LinkId, PeerId, LinkRole, std::span<const std::byte>, std::span<std::byte>) noexcept override { return {}; }
    HelloVerdict on_confirm(LinkId, PeerId, LinkRole r, std::span<const std::byte>) noexcept override
    {
        HelloVerdict v;
        v.action = HelloVerdict::Action::kAccept;
        v.role = r;
        return v;
    }
    void on_link_up(LinkId, PeerId, LinkRole) noexcept override { up = true; }
    void on_link_down(LinkId, PeerId, LinkRole, bool, Status status, std::string_view) noexcept override
    {
        LINNET_FUZZ_CHECK(!down && !in_body);
        down = true;
        why = status;
    }
    void on_writable(PeerId, LinkRole) noexcept override {}
    void on_packet(LinkId, PeerId, std::span<const std::byte> packet) noexcept override
    {
        LINNET_FUZZ_CHECK(!in_body && role == LinkRole::kLane);
        keep(packet);
        ++packets;
    }
    Landing on_packet_begin(LinkId, PeerId, std::span<const std::byte> h, std::size_t payload_bytes) noexcept override { return begin(h, payload_bytes); }
    void on_packet_end(LinkId, PeerId, void* cookie, std::size_t landed, bool ok) noexcept override { end(cookie, landed, ok); }
    Landing on_bulk_begin(LinkId, PeerId, const wire::BulkHead& h) noexcept override
    {
        return begin(std::as_bytes(std::span{&h, 1}), std::min<std::size_t>(h.body_bytes.get(), kMaxStream));
    }
    void on_bulk_end(LinkId, PeerId, void* cookie, std::size_t landed, bool ok) noexcept override { end(cookie, landed, ok); }
    void on_bulk_sent(PeerId, void*, bool) noexcept override {}

private:
    Landing begin(std::span<const std::byte> h, std::size_t payload_bytes)
    {
        LINNET_FUZZ_CHECK(!in_body);
        in_body = true;
        head.assign(h.begin(), h.end());
        const bool cut = room_every != 0 && packets % room_every == room_every - 1;
        landing.assign(cut ? payload_bytes / 2 : payload_bytes, std::byte{0});
        return {landing.data(), landing.size(), this};
    }
    void end(void* cookie, std::size_t landed, bool ok)
    {
        LINNET_FUZZ_CHECK(in_body && cookie == this && landed <= landing.size());
        in_body = false;
        if (ok) {
            ++packets;
            keep(head);
            keep(std::span{landing}.first(landed));
        }
    }
    void keep(std::span<const std::byte> bytes) { got.insert(got.end(), bytes.begin(), bytes.end()); }
};

// One transport for all inputs; a connection for each.
class Fixture {
public:
    Fixture() : log_{LogLevel::kError, [](void*, LogLevel, const char*) noexcept {}, nullptr}
    {
        std::string error;
        LINNET_FUZZ_CHECK(settings_.set("net_include", "lo", error) == Status::kOk);
        transport_ = std::make_unique<tcp::TcpTransport>(settings_, clock_, log_, stats_);
        LINNET_FUZZ_CHECK(transport_->open(sink_, name_) == Status::kOk);
        address_ = *InetAddress::parse("127.0.0.1", name_.port.get());
    }
    ~Fixture() { transport_->shutdown(); }
    Fixture(const Fixture&) = delete;
    Fixture& operator=(const Fixture&) = delete;

    void run(Reader& in)
    {
        sink_.~Keeper();
        new (&sink_) Keeper;
        const std::uint8_t how = in.byte();
        sink_.role = how % 2 == 0 ? LinkRole::kLane : LinkRole::kBulk;
        sink_.room_every = how / 2 % 4;
        SocketOrError s = tcp_socket(AF_INET);
        LINNET_FUZZ_CHECK(s.error == 0);
        socket_reset_on_close(s.fd.get());
        const int error = tcp_connect(s.fd.get(), address_);
        LINNET_FUZZ_CHECK(error == 0 || error == EINPROGRESS);
        fd_ = std::move(s.fd);
        poll_some();
        if (how >= 128) {   // rubbish
            send(std::as_bytes(in.bytes(600)));
            finish();
            return;
        }
        send(hello(wire::HelloKind::kHello));
        send(hello(wire::HelloKind::kConfirm));
        poll_until([&] { return sink_.up; });
        LINNET_FUZZ_CHECK(sink_.up);
        stream(in);
        finish();
    }

private:
    static std::vector<std::byte> hello(wire::HelloKind kind)
    {
        wire::HelloHead head;
        head.magic.set(wire::kHelloMagic);
        head.kind = kind;
        head.bytes.set(sizeof head);
        const auto bytes = std::as_bytes(std::span{&head, 1});
        return {bytes.begin(), bytes.end()};
    }
    void poll_some()
    {
        for (int i = 0; i < 4; ++i) {
            transport_->poll(64);
        }
    }
    // The loopback device may deliver late on a busy machine.
    template <class Done>
    void poll_until(Done done)
    {
        const TimePoint end = clock_.now() + std::chrono::seconds{10};
        while (!done() && clock_.now() < end) {
            transport_->poll(64);
        }
    }
    void send(std::span<const std::byte> bytes)
    {
        const TimePoint end = clock_.now() + std::chrono::seconds{10};
        while (!bytes.empty() && clock_.now() < end) {
            const iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};
            const IoResult r = socket_send(fd_.get(), {&piece, 1});
            bytes = bytes.subspan(r.bytes);
            transport_->poll(64);
            if (r.error != 0 && !r.would_block()) {
                return;
            }
        }
    }
    // Sections: a size, and that many bytes of the input; or packets with a right head and bytes that stand for many.
    void stream(Reader& in)
    {
        std::vector<std::byte> all;
        while (!in.empty() && all.size() < kMaxStream && !sink_.down) {
            const std::uint8_t n = in.byte();
            std::vector<std::byte> piece;
            if (n < 128) {
                const auto raw = std::as_bytes(in.bytes(n));
                piece.assign(raw.begin(), raw.end());
            } else {
                const std::size_t body = n < 192 ? in.take<std::uint16_t>() : std::size_t{in.take<std::uint16_t>()} * 4;
                piece = packet(in.byte(), body);
            }
            all.insert(all.end(), piece.begin(), piece.end());
            send(piece);
        }
        const std::vector<std::byte> wanted = expected(all);
        poll_until([&] { return sink_.packets >= whole_ && sink_.down >= rubbish_; });
        poll_some();
        if (sink_.room_every == 0) {
            LINNET_FUZZ_CHECK(sink_.got == wanted);
        }
        LINNET_FUZZ_CHECK(sink_.packets == whole_);
        LINNET_FUZZ_CHECK(sink_.down == rubbish_ && (!rubbish_ || sink_.why == Status::kProtocol));
    }
    [[nodiscard]] std::vector<std::byte> packet(std::uint8_t what, std::size_t body) const
    {
        std::vector<std::byte> out(24);
        if (sink_.role == LinkRole::kBulk) {
            wire::BulkHead head;
            head.body_bytes.set(static_cast<std::uint32_t>(body));
            std::memcpy(out.data(), &head, sizeof head);
        } else {
            wire::PacketHead head;
            head.kind = static_cast<wire::PacketKind>(1 + what % 10);
            const int least = wire::kind_header_bytes(head.kind);
            body += static_cast<std::size_t>(least);
            head.body_bytes.set(static_cast<std::uint32_t>(body));
            std::memcpy(out.data(), &head, sizeof head);
        }
        for (std::size_t i = 0; i < body; ++i) {
            out.push_back(static_cast<std::byte>(what + i * 7));
        }
        return out;
    }
    // The naive reader. Sets `whole_` and `rubbish_`.
    std::vector<std::byte> expected(std::span<const std::byte> all)
    {
        whole_ = 0;
        rubbish_ = false;
        std::vector<std::byte> out;
        while (all.size() >= sizeof(wire::PacketHead)) {
            wire::PacketHead head;
            wire::BulkHead bulk_head;
            std::memcpy(&head, all.data(), sizeof head);
            std::memcpy(&bulk_head, all.data(), sizeof bulk_head);
            const bool lane = sink_.role == LinkRole::kLane;
            const std::size_t total = sizeof head + (lane ? head.body_bytes.get() : bulk_head.body_bytes.get());
            if (lane ? !wire::lane_head_ok(head) || total > transport_->caps().lane_packet_max : !wire::bulk_head_ok(bulk_head)) {
                rubbish_ = true;
                return out;
            }
            if (all.size() < total) {
                return out;
            }
            ++whole_;
            out.insert(out.end(), all.begin(), all.begin() + static_cast<std::ptrdiff_t>(total));
            all = all.subspan(total);
        }
        return out;
    }
    void finish()
    {
        fd_.reset();
        poll_until([&] { return !sink_.up || sink_.down; });
        poll_some();
        LINNET_FUZZ_CHECK(!sink_.up || sink_.down);
        LINNET_FUZZ_CHECK(transport_->buffers() <= 2);
    }

    Settings settings_;
    SystemClock clock_;
    Stats stats_;
    Log log_;
    Keeper sink_;
    wire::EndpointName name_;
    InetAddress address_;
    std::unique_ptr<tcp::TcpTransport> transport_;
    Fd fd_;
    unsigned whole_{0};
    bool rubbish_{false};
};

std::unique_ptr<Fixture>& fixture()
{
    static std::unique_ptr<Fixture> one;
    return one;
}

}   // namespace

void run_tcp(std::span<const std::uint8_t> input)
{
    if (fixture() == nullptr) {
        fixture() = std::make_unique<Fixture>();
    }
    Reader in{input};
    fixture()->run(in);
}

void end_tcp() { fixture().reset(); }

std::vector<Input> tcp_seeds()
{
    const auto lane = [](std::uint8_t first, std::initializer_list<Input> parts) {
        Input all{first};
        for (const Input& p : parts) {
            all.insert(all.end(), p.begin(), p.end());
        }
        return all;
    };
    const auto packet = [](std::uint8_t class_of_size, std::uint16_t body, std::uint8_t what) {
        return Input{class_of_size, static_cast<std::uint8_t>(body & 0xff), static_cast<std::uint8_t>(body >> 8), what};
    };
    wire::PacketHead head;
    head.kind = wire::PacketKind::kEager;
    head.number.set(1);
    head.body_bytes.set(sizeof(wire::TagHeader) + 3);
    Input raw{24};
    raw.insert(raw.end(), reinterpret_cast<const std::uint8_t*>(&head), reinterpret_cast<const std::uint8_t*>(&head) + sizeof head);
    Input rubbish{128, 'L', 'N', 'E', 'T', 1, 0, 1, 1, 0xff, 0x01, 0, 0};
    rubbish.resize(80);
    return {
        lane(0, {packet(128, 100, 1), packet(128, 5000, 2), packet(128, 0, 0), packet(128, 20, 8)}),
        lane(0, {packet(192, 16000, 1), packet(128, 10, 2), packet(192, 16000, 1)}),
        lane(2, {packet(128, 60000, 1), packet(128, 3000, 1), packet(128, 2047, 1), packet(128, 2048, 2)}),
        lane(1, {packet(128, 0, 0), packet(192, 60000, 0), packet(128, 1, 0)}),
        lane(5, {packet(192, 9000, 0), packet(128, 100, 0)}),
        lane(0, {raw, {27, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27}, {10, 1, 99}}),
        rubbish,
    };
}

}   // namespace linnet::fuzz

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fuzz target: a peer that knows our secret and may say anything. Session and protocols are the real ones; the transport is the script's.
//
// The input is a list of steps, each a byte and its arguments: what the peer sends, what becomes of links, what our own host does meanwhile.
#include <memory>

#include "base/log.h"
#include "fuzz/fuzz_target.h"
#include "fuzz/scripted_transport.h"
#include "progress/progress_engine.h"
#include "proto/proto.h"
#include "session/session_layer.h"

namespace linnet::fuzz {
namespace {

using Link = ScriptedTransport::Link;
constexpr std::size_t kMaxRequests = 24;
constexpr unsigned kMaxSteps = 400;

wire::EndpointName name_of(std::uint64_t id, std::uint8_t secret)
{
    wire::EndpointName n;
    n.port.set(static_cast<std::uint16_t>(id));
    n.endpoint_id.set(id);
    static_cast<void>(wire::add_address(n, {wire::AddressFamily::kIpv4, {127, 0, 0, 1}}));
    n.secret.fill(secret);
    return n;
}

struct SendOp {
    proto::SendRequest request;
    std::vector<std::byte> memory;
    std::array<iovec, 2> pieces{};
    bool open{false};
};
struct RecvOp {
    proto::RecvRequest request;
    std::vector<std::byte> memory;
    std::array<iovec, 2> pieces{};
    bool open{false};
};

void quiet(void*, LogLevel, const char*) noexcept {}

class World {
public:
    explicit World(Reader& in) : in_{in}, log_{LogLevel::kError, quiet, nullptr}, engine_{engine_config(), clock_, stats_, log_},
        proto_{proto_config(), engine_, log_, stats_.block(StatsRole::kPoller), stats_.block(StatsRole::kAnyThread)},
        layer_{{}, proto_, clock_, log_, stats_.block(StatsRole::kPoller), stats_.block(StatsRole::kAnyThread)}, port_{layer_.add_port(transport_)}
    {
        proto_.attach(layer_);
        us_ = name_of(2, 0x22);
        LINNET_FUZZ_CHECK(transport_.open(port_, us_) == Status::kOk);
        layer_.set_self(us_);
    }
    ~World()
    {
        {
            TokenGuard token{engine_};
            layer_.shutdown();
        }
        drain();
        for (const auto& s : sends_) {
            LINNET_FUZZ_CHECK(!s->open);   // every send to a peer that is gone has ended
        }
        for (proto::Unexpected* const u : claimed_) {
            receive_claimed(u);
        }
        drain();
        proto_.clear();
    }
    World(const World&) = delete;
    World& operator=(const World&) = delete;

    void run()
    {
        for (unsigned steps = 0; !in_.empty() && steps < kMaxSteps; ++steps) {
            step();
            token([&] { transport_.go_on(); });
            drain();
        }
    }

private:
    static ProgressEngine::Config engine_config()
    {
        ProgressEngine::Config c;
        c.event_thread = false;
        return c;
    }
    static proto::Proto::Config proto_config()
    {
        proto::Proto::Config c;
        c.eager_credit = 128 * 1024;
        c.wild_mask = 0x7fff;
        return c;
    }
    proto::Peer* peer() { return layer_.peers() == 0 ? nullptr : static_cast<proto::Peer*>(layer_.find(PeerId{0})); }

    void step()
    {
        const std::uint8_t what = in_.byte();
        switch (what % 24) {
            case 0: peer_calls(LinkRole::kLane, true); break;
            case 1: peer_calls(LinkRole::kBulk, true); break;
            case 2: peer_calls(what < 128 ? LinkRole::kLane : LinkRole::kBulk, false); break;
            case 3: answer(false); break;
            case 4: answer(true); break;
            case 5: confirm(); break;
            case 6:
            case 7:
            case 8: lane_packet(what >= 128); break;
            case 9: more_body(LinkRole::kLane); break;
            case 10: bulk_packet(); break;
            case 11: more_bulk(); break;
            case 12: transport_.mood = static_cast<ScriptedTransport::Mood>(in_.byte() % 3); break;
            case 13: token([&] { transport_.write_out(LinkRole::kLane); }); break;
            case 14: token([&] { transport_.write_out(LinkRole::kBulk); }); break;
            case 15: break_link(); break;
            case 16: pass_time(); break;
            case 17: add_peer(); break;
            case 18: send(); break;
            case 19: receive(); break;
            case 20: cancel(); break;
            case 21: probe(); break;
            case 22: send_active(); break;
            default: seldom();
        }
    }
    template <class F>
    void token(F&& f)
    {
        TokenGuard guard{engine_};
        f();
    }

    // ---- what the peer does ----

    static std::uint64_t features_of(std::uint8_t how) { return how % 4 != 3 ? wire::kTakesUnasked : 0; }
    void peer_calls(LinkRole role, bool confirm_too)
    {
        session::Attempt a;
        a.role = role;
        a.opener_nonce.fill(in_.byte());
        const std::uint8_t how = in_.byte();
        a.epoch = {how >= 16 ? how : ++epoch_, 1};
        const std::uint32_t received = how == 0 ? in_.take<std::uint32_t>() : transport_.last_number;
        const std::uint64_t features = features_of(how);
        std::array<std::byte, kMaxHelloBytes> hello;
        const std::size_t n = session::write_hello(a, us_, name_of(1, 0x11), received, features, hello);
        token([&] {
            const LinkId id = transport_.make_link(kNoPeer, role, Link::State::kConfirm).id;
            transport_.takes_unasked |= features != 0;
            std::array<std::byte, kMaxHelloBytes> reply{};
            const HelloVerdict v = port_.on_hello(id, std::span{hello}.first(n), {{}, "somewhere"}, reply);
            if (v.action != HelloVerdict::Action::kAccept || transport_.find(id) == nullptr) {
                transport_.drop(id);
                return;
            }
            transport_.find(id)->peer = v.peer;
            const auto seen = session::read_welcome(a, 2, std::span{reply}.first(v.reply_bytes));
            LINNET_FUZZ_CHECK(static_cast<bool>(seen) && !seen->rejected);
            confirms_[static_cast<std::size_t>(role)] = {id, a};
            if (confirm_too) {
                confirm_link(role);
            }
        });
    }
    void confirm() { token([&] { confirm_link(in_.byte() % 2 == 0 ? LinkRole::kLane : LinkRole::kBulk); }); }
    void confirm_link(LinkRole role)
    {
        const auto [id, a] = confirms_[static_cast<std::size_t>(role)];
        const Link* const link = transport_.find(id);
        if (link == nullptr || link->state != Link::State::kConfirm) {
            return;
        }
        const PeerId peer_id = link->peer;
        std::array<std::byte, kMaxHelloBytes> packet;
        const std::size_t n = session::write_confirm(a, packet);
        const HelloVerdict v = port_.on_confirm(id, peer_id, role, std::span{packet}.first(n));
        if (transport_.find(id) == nullptr) {
            return;
        }
        if (v.action != HelloVerdict::Action::kAccept) {
            transport_.fail(id, Status::kRefused);
            return;
        }
        transport_.find(id)->state = Link::State::kUp;
        port_.on_link_up(id, peer_id, role);
    }
    // The peer answers our call.
    void answer(bool reject)
    {
        token([&] {
            Link* link = transport_.link_of(in_.byte() % 2 == 0 ? LinkRole::kLane : LinkRole::kBulk, Link::State::kAttempt);
            if (link == nullptr) {
                return;
            }
            const Link was = *link;
            std::array<std::byte, kMaxHelloBytes> hello{};
            const std::size_t n = port_.make_hello(was.id, was.peer, was.role, hello);
            session::Attempt a;
            wire::RejectReason reason{};
            wire::EndpointName self = name_of(1, 0x11);
            const auto seen = session::read_hello(a, self, true, std::span{hello}.first(n), reason);
            if (n == 0 || !seen) {
                transport_.fail(was.id, Status::kCanceled);
                return;
            }
            std::array<std::byte, kMaxHelloBytes> reply{};
            std::size_t bytes = 0;
            if (reject) {
                bytes = session::write_reject(was.role, static_cast<wire::RejectReason>(in_.byte() % 10), in_.byte(), reply);
            } else {
                const std::uint8_t how = in_.byte();
                const std::uint32_t received = how == 0 ? in_.take<std::uint32_t>() : transport_.last_number;
                bytes = session::write_welcome(a, self, received, features_of(how), reply);
                transport_.takes_unasked |= features_of(how) != 0;
            }
            std::array<std::byte, kMaxHelloBytes> out{};
            const HelloVerdict v = port_.on_welcome(was.id, was.peer, was.role, std::span{reply}.first(bytes), out);
            link = transport_.find(was.id);
            if (link == nullptr) {
                return;
            }
            if (v.action != HelloVerdict::Action::kAccept) {
                transport_.fail(was.id, failed(v.why) ? v.why : Status::kRefused);
                return;
            }
            link->state = Link::State::kUp;
            port_.on_link_up(was.id, was.peer, was.role);
        });
    }

    // flags byte: what to put into the numbers; then kind, flags, length; then the kind's header, whose handles may be ones that we gave out.
    void lane_packet(bool split)
    {
        const Link* const link = transport_.link_of(LinkRole::kLane, Link::State::kUp);
        const std::uint8_t how = in_.byte();
        wire::PacketHead head;
        const std::uint8_t kind = in_.byte();
        head.kind = static_cast<wire::PacketKind>(kind < 224 ? kind % 12 : 11 + kind % 4);
        head.flags.set(static_cast<std::uint16_t>(in_.byte() % 32));
        switch (how % 4) {
            case 0:
            case 1: head.number.set(next_number_); break;
            case 2: head.number.set(0); break;
            default: head.number.set(next_number_ + static_cast<std::uint32_t>(static_cast<std::int8_t>(in_.byte())));
        }
        head.ack.set(how / 4 % 4 == 0 ? in_.take<std::uint32_t>() : how / 4 % 4 == 1 ? 0 : transport_.last_number);
        credit_ += how / 16 % 2 == 0 ? 0 : std::uint32_t{in_.byte()} << 10;
        head.credit.set(how / 32 % 4 == 3 ? in_.take<std::uint32_t>() : credit_);
        std::vector<std::byte> packet(sizeof head + kind_bytes(head.kind));
        kind_header(head.kind, packet.data() + sizeof head);
        const std::size_t announced = payload_size();
        const auto here = in_.bytes(split ? in_.byte() : announced);
        if (link == nullptr) {
            return;
        }
        head.body_bytes.set(static_cast<std::uint32_t>(kind_bytes(head.kind) + announced));
        std::memcpy(packet.data(), &head, sizeof head);
        const auto raw = std::as_bytes(here);
        packet.insert(packet.end(), raw.begin(), raw.begin() + static_cast<std::ptrdiff_t>(std::min(raw.size(), announced)));
        if (!split) {
            packet.resize(packet.size() - std::min(raw.size(), announced) + announced);
        }
        if (head.number.get() == next_number_) {
            next_number_ = session::next_number(next_number_);
            if (head.kind == wire::PacketKind::kWrite && (head.flags.get() & wire::flag::kUnasked) != 0) {
                wire::WriteHeader h;
                std::memcpy(&h, packet.data() + sizeof head, sizeof h);
                unasked_.push_back(h.length.get());
            }
        }
        const LinkId id = link->id;
        token([&] { transport_.packet(id, packet, split); });
    }
    static std::size_t kind_bytes(wire::PacketKind kind)
    {
        const int n = wire::kind_header_bytes(kind);
        return n < 0 ? 0 : static_cast<std::size_t>(n);
    }
    std::size_t payload_size()
    {
        const std::uint8_t n = in_.byte();
        return n < 200 ? n : n < 240 ? std::size_t{n} * 128 : std::size_t{n} * 520;
    }
    std::uint32_t slot_of(std::uint8_t which)
    {
        if (which >= 128) {
            return in_.take<std::uint32_t>();
        }
        return transport_.send_slots.empty() ? 0 : transport_.send_slots[which % transport_.send_slots.size()];
    }
    std::uint32_t read_slot_of(std::uint8_t which)
    {
        return which >= 224 || transport_.read_slots.empty() ? which : transport_.read_slots[which % transport_.read_slots.size()];
    }
    void kind_header(wire::PacketKind kind, std::byte* to)
    {
        const auto put = [&](const auto& h) { std::memcpy(to, &h, sizeof h); };
        if (kind == wire::PacketKind::kEager || kind == wire::PacketKind::kRts) {
            wire::RtsHeader h;
            const std::uint8_t where = in_.byte();
            h.tag.space.set(where % 8 == 7 ? in_.take<std::uint32_t>() : where % 2);
            h.tag.match_bits.set(in_.byte() % 4);
            h.tag.send_slot.set(in_.byte());
            h.length.set(kind == wire::PacketKind::kEager ? 0 : where >= 192 ? in_.take<std::uint64_t>() : std::uint64_t{in_.byte()} * 700);
            std::memcpy(to, &h, kind_bytes(kind));
        } else if (kind == wire::PacketKind::kGrant) {
            wire::GrantHeader h;
            const std::uint8_t how = in_.byte();
            h.send_slot.set(slot_of(how));
            h.max_packet.set(how % 2 == 0 ? 0 : in_.take<std::uint32_t>());
            h.recv_slot.set(how);
            h.recv_generation.set(how);
            h.offset.set(how % 4 < 2 ? 0 : in_.take<std::uint64_t>());
            h.length.set(how % 8 < 4 ? in_.take<std::uint16_t>() : in_.take<std::uint64_t>());
            put(h);
        } else if (kind == wire::PacketKind::kWrite) {
            wire::WriteHeader h;
            const std::uint8_t how = in_.byte();
            h.key.set(how % 4);
            h.address.set(how % 8 == 7 ? in_.take<std::uint64_t>() : std::uint64_t{in_.byte()} * 64);
            h.length.set(how >= 192 ? in_.take<std::uint64_t>() : std::uint64_t{in_.byte()} * 700);
            h.send_slot.set(how);
            put(h);
        } else if (kind == wire::PacketKind::kRead) {
            wire::ReadHeader h;
            const std::uint8_t how = in_.byte();
            h.key.set(how % 4);
            h.address.set(how % 8 == 7 ? in_.take<std::uint64_t>() : std::uint64_t{in_.byte()} * 64);
            h.length.set(how >= 192 ? in_.take<std::uint64_t>() : std::uint64_t{in_.byte()} * 700);
            h.recv_slot.set(how);
            h.max_packet.set(how % 3 == 0 ? in_.take<std::uint32_t>() : 0);
            put(h);
        } else if (kind == wire::PacketKind::kReadReply) {
            wire::ReadReplyHeader h;
            const std::uint8_t how = in_.byte();
            h.recv_slot.set(read_slot_of(how));
            h.send_slot.set(how % 2 == 0 ? 0 : how);
            h.status = how % 8 == 7 ? static_cast<std::int8_t>(in_.byte()) : 0;
            put(h);
        } else if (kind == wire::PacketKind::kActive) {
            wire::ActiveHeader h;
            h.id.set(in_.byte());
            h.header_bytes.set(in_.byte() % 2 == 0 ? in_.byte() : in_.take<std::uint32_t>());
            put(h);
        } else if (kind_bytes(kind) == sizeof(wire::FinHeader)) {
            wire::FinHeader h;
            const std::uint8_t how = in_.byte();
            h.send_slot.set(slot_of(how));
            h.status = how % 2 == 0 ? 0 : static_cast<std::int8_t>(in_.byte());
            put(h);
        }
    }
    void more_body(LinkRole role)
    {
        const Link* const link = transport_.link_of(role, Link::State::kUp);
        const std::uint8_t n = in_.byte();
        // A byte of the input stands for many of the packet, so that long packets can end.
        const std::vector<std::uint8_t> bytes(n < 128 ? n : n * 1024u, n);
        if (link != nullptr) {
            const LinkId id = link->id;
            token([&] { transport_.body(id, bytes); });
        }
    }
    // Of a packet that waits, the question where it goes.
    void more_bulk()
    {
        const Link* const link = transport_.link_of(LinkRole::kBulk, Link::State::kUp);
        if (link != nullptr && link->waits) {
            token([&, id = link->id] { transport_.ask_again(id); });
        }
        more_body(LinkRole::kBulk);
    }
    void bulk_packet()
    {
        const Link* const link = transport_.link_of(LinkRole::kBulk, Link::State::kUp);
        const std::uint8_t how = in_.byte();
        wire::BulkHead head;
        if (how < 200 && !transport_.grants.empty()) {   // what was asked for, or nearly
            const wire::GrantHeader& g = transport_.grants[how % transport_.grants.size()];
            head.recv_slot = g.recv_slot;
            head.recv_generation = g.recv_generation;
            head.offset = g.offset;
            head.body_bytes.set(static_cast<std::uint32_t>(std::min<std::uint64_t>(g.length.get(), 1 << 20)));
        } else if (how >= 200) {   // of a write that was announced with kUnasked: one of the last three, or the next, which comes too early
            const std::size_t number = unasked_.size() + 1 - std::min<std::size_t>(in_.byte() % 4, unasked_.size());
            head.flags.set(wire::flag::kUnasked);
            head.recv_slot.set(static_cast<std::uint32_t>(number));
            head.recv_generation.set(1);
            head.body_bytes.set(static_cast<std::uint32_t>(std::min<std::uint64_t>(number <= unasked_.size() ? unasked_[number - 1] : 70'000, 1 << 20)));
        }
        switch (how % 8) {
            case 1: head.offset.set(head.offset.get() + in_.byte()); break;
            case 2: head.body_bytes.set(in_.take<std::uint16_t>()); break;
            case 3: head.recv_generation.set(in_.byte()); break;
            case 4: head.offset.set(in_.take<std::uint64_t>()); break;
            case 5: head.recv_slot.set(in_.take<std::uint32_t>()); break;
            case 6: head.body_bytes.set(in_.take<std::uint32_t>()); break;
            default: break;
        }
        if (link != nullptr) {
            const LinkId id = link->id;
            token([&] { transport_.bulk(id, head); });
        }
    }

    // ---- what the net does ----

    void break_link()
    {
        const std::uint8_t how = in_.byte();
        if (transport_.links.empty()) {
            return;
        }
        const LinkId id = transport_.links[how % transport_.links.size()].id;
        constexpr Status kWhy[] = {Status::kPeerDown, Status::kRefused, Status::kTimedOut, Status::kProtocol};
        token([&] { transport_.fail(id, kWhy[how / 16 % 4]); });
    }
    void pass_time()
    {
        const std::uint8_t ms = in_.byte();
        clock_.advance(std::chrono::milliseconds{ms < 128 ? ms : (ms - 127) * 1000});
        token([&] {
            for (int i = 0; i < 3; ++i) {
                static_cast<void>(layer_.prepare_sleep());
                layer_.poll(64);
            }
        });
    }

    // ---- what our host does ----

    void add_peer()
    {
        const auto added = layer_.add(name_of(1, 0x11));
        if (added) {
            static_cast<proto::Peer*>(*added)->added.store(true, std::memory_order_relaxed);
        }
    }
    static void shape(proto::Data& data, std::vector<std::byte>& memory, std::array<iovec, 2>& pieces, std::size_t bytes, bool strided)
    {
        memory.assign(bytes, std::byte{1});
        data.length = bytes;
        if (strided && bytes > 1) {
            pieces = {iovec{memory.data(), bytes / 2}, iovec{memory.data() + bytes / 2, bytes - bytes / 2}};
            data.iov = pieces.data();
            data.iov_count = pieces.size();
        } else {
            data.base = memory.data();
        }
    }
    std::size_t message_size()
    {
        const std::uint8_t n = in_.byte();
        return n < 64 ? n : n < 128 ? std::size_t{n} * 64 : std::size_t{n} * 700;
    }
    void send()
    {
        const std::uint8_t how = in_.byte();
        const std::size_t bytes = message_size();
        proto::Peer* const p = peer();
        if (p == nullptr || sends_.size() >= kMaxRequests) {
            return;
        }
        auto op = std::make_unique<SendOp>();
        shape(op->request.data, op->memory, op->pieces, bytes, how % 4 == 3);
        proto::SendArgs args;
        args.space = 1;
        args.sync = how / 4 % 2 == 1;
        args.copy = how / 8 % 2 == 1;
        op->open = proto_.send(*p, args, op->request) == Status::kInProgress;
        if (op->open) {
            sends_.push_back(std::move(op));
        }
    }
    void send_active()
    {
        const std::size_t bytes = std::min(message_size(), proto::kActivePayloadMax);
        proto::Peer* const p = peer();
        if (p == nullptr || sends_.size() >= kMaxRequests) {
            return;
        }
        auto op = std::make_unique<SendOp>();
        shape(op->request.data, op->memory, op->pieces, bytes, false);
        const std::array<std::byte, 7> header{};
        proto::ActiveArgs args;
        args.header = header;
        op->open = proto_.send_active(*p, args, op->request) == Status::kInProgress;
        if (op->open) {
            sends_.push_back(std::move(op));
        }
    }
    void receive()
    {
        const std::uint8_t how = in_.byte();
        const std::size_t bytes = message_size();
        if (recvs_.size() >= kMaxRequests) {
            return;
        }
        auto op = std::make_unique<RecvOp>();
        shape(op->request.data, op->memory, op->pieces, bytes, how % 4 == 3);
        op->open = proto_.recv(how / 4 % 2 == 0 ? nullptr : peer(), how / 8 % 2, how / 16 % 4, how / 64 == 0 ? 0x7fff : 0, op->request) == Status::kInProgress;
        if (op->open) {
            recvs_.push_back(std::move(op));
        }
    }
    void receive_claimed(proto::Unexpected* u)
    {
        auto op = std::make_unique<RecvOp>();
        shape(op->request.data, op->memory, op->pieces, 100, false);
        op->open = proto_.recv_claimed(*u, op->request) == Status::kInProgress;
        if (op->open) {
            recvs_.push_back(std::move(op));
        }
    }
    void cancel()
    {
        const std::uint8_t which = in_.byte();
        if (which % 2 == 0 && !sends_.empty()) {
            static_cast<void>(proto_.cancel(sends_[which / 2 % sends_.size()]->request));
        } else if (which % 2 == 1 && !recvs_.empty()) {
            const auto at = recvs_.begin() + static_cast<std::ptrdiff_t>(which / 2 % recvs_.size());
            if (proto_.cancel((*at)->request) == Status::kOk) {
                recvs_.erase(at);
            }
        }
    }
    void probe()
    {
        const std::uint8_t how = in_.byte();
        const MatchSpec spec{kAnySource, how % 4u, how % 8 < 4 ? 0u : 0x7fffu};
        proto::ResultRecord found;
        proto::Unexpected* u = nullptr;
        if (how < 128) {
            static_cast<void>(proto_.probe(spec, how / 8 % 2, found));
        } else if (proto_.probe_claim(spec, how / 8 % 2, u, found) == Status::kOk) {
            claimed_.push_back(u);
        }
    }
    void seldom()
    {
        const std::uint8_t what = in_.byte();
        proto::Peer* const p = peer();
        if (what < 64) {
            proto_.close_space(what % 2);
        } else if (what < 128 && !claimed_.empty()) {
            proto::Unexpected* const u = claimed_.back();
            claimed_.pop_back();
            receive_claimed(u);
        } else if (what < 160 && p != nullptr) {
            proto_.forget_peer(*p);
        } else if (what < 176 && p != nullptr) {
            token([&] { proto_.say_goodbye(*p); });
        } else if (what < 224 && p != nullptr) {
            one_sided(*p, what % 2 == 0);
        } else if (what <= 250) {
            open_or_close_region(what % 4);
        } else if (p != nullptr) {
            token([&] { layer_.declare_down(*p, Status::kPeerDown, "the script says so"); });
        }
    }
    void one_sided(proto::Peer& p, bool write)
    {
        const std::uint8_t how = in_.byte();
        const std::size_t bytes = message_size();
        proto::RemoteArgs args;
        args.has_immediate = how % 4 == 1;
        args.fence = how % 16 == 15;
        if (write && sends_.size() < kMaxRequests) {
            auto op = std::make_unique<SendOp>();
            shape(op->request.data, op->memory, op->pieces, bytes, how / 4 % 4 == 3);
            op->open = proto_.write(p, args, op->request) == Status::kInProgress;
            if (op->open) {
                sends_.push_back(std::move(op));
            }
        } else if (!write && recvs_.size() < kMaxRequests) {
            auto op = std::make_unique<RecvOp>();
            shape(op->request.data, op->memory, op->pieces, bytes, how / 4 % 4 == 3);
            op->open = proto_.read(p, args, op->request) == Status::kInProgress;
            if (op->open) {
                recvs_.push_back(std::move(op));
            }
        }
    }
    void open_or_close_region(std::size_t key)
    {
        if (regions_[key] != nullptr) {
            proto_.close_region(*regions_[key]);
            regions_[key] = nullptr;
            return;
        }
        const std::uint8_t how = in_.byte();
        proto::RegionSpec spec;
        spec.base = region_memory_.data();
        spec.length = region_memory_.size();
        spec.key = key;
        spec.origin = how % 4 == 0 ? UINT64_MAX - region_memory_.size() + 1 : 0;
        spec.readable = how % 8 < 6;
        spec.writable = how / 8 % 8 < 6;
        spec.notices = how >= 128;
        LINNET_FUZZ_CHECK(proto_.open_region(spec, regions_[key]) == Status::kOk);
    }
    void drain()
    {
        while (proto::Completion* const c = proto_.next_completion()) {
            if (c->completion_kind == proto::Completion::Kind::kActive) {
                proto_.release_active(static_cast<proto::ActiveEvent&>(*c));
                continue;
            }
            if (c->completion_kind == proto::Completion::Kind::kRemote) {
                proto_.release_remote(static_cast<proto::RemoteEvent&>(*c));
                continue;
            }
            if (c->completion_kind == proto::Completion::Kind::kRegion) {
                static_cast<void>(proto_.regions().take(static_cast<proto::Region&>(*c)));
                continue;
            }
            // Freed at once: who still knows it is found out.
            const auto sent = std::erase_if(sends_, [&](const auto& s) { return static_cast<proto::Completion*>(&s->request) == c; });
            const auto received = std::erase_if(recvs_, [&](const auto& r) { return static_cast<proto::Completion*>(&r->request) == c; });
            LINNET_FUZZ_CHECK(sent + received == 1);
        }
    }

    Reader& in_;
    ManualClock clock_;
    Stats stats_;
    Log log_;
    ProgressEngine engine_;
    ScriptedTransport transport_;
    proto::Proto proto_;
    session::SessionLayer layer_;
    session::Port& port_;
    wire::EndpointName us_;
    struct Waiting {
        LinkId id{};
        session::Attempt attempt;
    };
    std::array<Waiting, 2> confirms_;
    std::uint32_t epoch_{0};
    std::uint32_t next_number_{1};
    std::uint32_t credit_{0};
    std::vector<std::uint64_t> unasked_;   // lengths of the writes that the peer announced so
    std::vector<std::unique_ptr<SendOp>> sends_;
    std::vector<std::unique_ptr<RecvOp>> recvs_;
    std::vector<proto::Unexpected*> claimed_;
    std::vector<std::byte> region_memory_ = std::vector<std::byte>(100'000);
    std::array<proto::Region*, 4> regions_{};
};

}   // namespace

void run_session(std::span<const std::uint8_t> input)
{
    Reader in{input};
    World{in}.run();
}

}   // namespace linnet::fuzz

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PacketRing: see packet_ring.h.
#include "sys/packet_ring.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/ids.h"
#include "sys/flat_pieces.h"
#include "sys/plain_call.h"

namespace linnet {

namespace {

static_assert(TP_STATUS_USER == 1);

// What the kernel puts before a frame: its record, the sender's address, and up to a quarter of a cache line so that what follows the Ethernet header
// stands on a multiple of 16.
constexpr std::size_t kPlaceHead = TPACKET_ALIGN(sizeof(tpacket2_hdr) + sizeof(sockaddr_ll)) + TPACKET_ALIGNMENT;
constexpr std::size_t kFetched = 3;   // cache lines behind the first, of a short frame
constexpr std::size_t kFlat = 1024;   // a lone frame up to this is sent in one piece
constexpr std::size_t kBlockBytes = 64 * 1024;   // of consecutive physical memory, which is scarce on a host that has been up for long

bool set(int fd, int level, int option, const void* value, std::size_t bytes) noexcept
{
    return ::setsockopt(fd, level, option, value, static_cast<socklen_t>(bytes)) == 0;
}
bool set(int fd, int level, int option, int value) noexcept { return set(fd, level, option, &value, sizeof value); }

}   // namespace

std::array<sock_filter, kPacketFilterSteps> packet_filter(std::uint16_t ether_type, std::uint16_t endpoint) noexcept
{
    // A load beyond the end of a frame ends the program with "drop".
    return {{
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, 12),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ether_type, 0, 3),
        BPF_STMT(BPF_LD | BPF_H | BPF_ABS, kEtherHeaderBytes),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, endpoint, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0x40000),
        BPF_STMT(BPF_RET | BPF_K, 0),
    }};
}

PacketRing::~PacketRing()
{
    if (memory_ != nullptr) {
        ::munmap(memory_, bytes_);
    }
}

void PacketRing::swap(PacketRing& other) noexcept
{
    std::swap(fd_, other.fd_);
    std::swap(memory_, other.memory_);
    std::swap(bytes_, other.bytes_);
    std::swap(block_bytes_, other.block_bytes_);
    std::swap(place_bytes_, other.place_bytes_);
    std::swap(per_block_, other.per_block_);
    std::swap(places_, other.places_);
    std::swap(next_, other.next_);
    std::swap(oldest_, other.oldest_);
    std::swap(shown_, other.shown_);
    std::swap(drops_, other.drops_);
    std::swap(listens_, other.listens_);
}

// ---- opening ----

PacketRing::Opened PacketRing::make(const Config& config) noexcept
{
    Opened o;
    // Protocol 0: not a single frame before the filter is in place and locked, for whoever gets hold of the descriptor.
    o.ring.fd_.reset(::socket(AF_PACKET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    o.what = o.ring.fd_.valid() ? o.ring.set_up(config) : "cannot make a packet socket";
    if (o.what != nullptr) {
        o.error = errno;
        o.ring = PacketRing{};
    }
    o.what = o.error != 0 ? o.what : "";
    return o;
}

PacketRing::Failure PacketRing::prepare(const Config& config) noexcept
{
    if (!has_ring() && !map_ring(config)) {
        return {errno, "cannot make the receive ring"};
    }
    return {};
}

PacketRing::Failure PacketRing::listen(const Config& config) noexcept
{
    const Failure f = prepare(config);
    if (f.error == 0 && !bind(config)) {
        return {errno, "cannot bind the packet socket"};
    }
    return f;
}

PacketRing::Opened PacketRing::open(const Config& config) noexcept
{
    Opened o = make(config);
    if (o.error == 0) {
        const Failure f = o.ring.listen(config);
        o.error = f.error;
        o.what = f.what;
        if (f.error != 0) {
            o.ring = PacketRing{};
        }
    }
    return o;
}

// Null, or the step that failed, with errno.
const char* PacketRing::set_up(const Config& config) noexcept
{
    const int fd = fd_.get();
    auto steps = packet_filter(config.ether_type, config.endpoint);
    const sock_fprog program{static_cast<unsigned short>(steps.size()), steps.data()};
    if (!set(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program) || !set(fd, SOL_SOCKET, SO_LOCK_FILTER, 1)) {
        return "cannot attach the packet filter";
    }
    // Our own frames do not come back to us; before Linux 4.20 they do, and the address check drops them.
    static_cast<void>(set(fd, SOL_PACKET, PACKET_IGNORE_OUTGOING, 1));
    if (config.bypass_qdisc) {
        static_cast<void>(set(fd, SOL_PACKET, PACKET_QDISC_BYPASS, 1));
    }
    // Room for a burst until the interface has sent it. The system cuts it to net.core.wmem_max.
    static_cast<void>(set(fd, SOL_SOCKET, SO_SNDBUF, 4 << 20));
    return nullptr;
}

bool PacketRing::bind(const Config& config) noexcept
{
    sockaddr_ll at{};
    at.sll_family = AF_PACKET;
    at.sll_protocol = htons(config.ether_type);
    at.sll_ifindex = static_cast<int>(config.interface_index);
    listens_ = ::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0;
    return listens_;
}

PacketRing::Shape PacketRing::shape_of(const Config& config) noexcept
{
    Shape s{};
    s.place_bytes = TPACKET_ALIGN(kPlaceHead + config.frame_bytes);
    s.block_bytes = std::max(kBlockBytes, std::bit_ceil(s.place_bytes));
    s.per_block = static_cast<unsigned>(s.block_bytes / s.place_bytes);
    s.blocks = (std::max(config.frames, 1u) + s.per_block - 1) / s.per_block;
    return s;
}

unsigned PacketRing::places_of(const Config& config) noexcept
{
    const Shape s = shape_of(config);
    return s.blocks * s.per_block;
}

bool PacketRing::map_ring(const Config& config) noexcept
{
    const Shape shape = shape_of(config);
    place_bytes_ = shape.place_bytes;
    block_bytes_ = shape.block_bytes;
    per_block_ = shape.per_block;
    const unsigned blocks = shape.blocks;
    tpacket_req request{};
    request.tp_block_size = static_cast<unsigned>(block_bytes_);
    request.tp_frame_size = static_cast<unsigned>(place_bytes_);
    request.tp_block_nr = blocks;
    request.tp_frame_nr = blocks * per_block_;
    if (!set(fd_.get(), SOL_PACKET, PACKET_VERSION, TPACKET_V2) || !set(fd_.get(), SOL_PACKET, PACKET_RX_RING, &request, sizeof request)) {
        return false;
    }
    const std::size_t bytes = block_bytes_ * blocks;
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_.get(), 0);
    if (at == MAP_FAILED) {
        const int why = errno;
        request = {};   // no ring again: it can be made later
        static_cast<void>(set(fd_.get(), SOL_PACKET, PACKET_RX_RING, &request, sizeof request));
        errno = why;
        return false;
    }
    static_cast<void>(::madvise(at, bytes, MADV_DONTFORK));   // a child would give our places back
    memory_ = static_cast<std::byte*>(at);
    next_ = oldest_ = {memory_, per_block_};
    bytes_ = bytes;
    places_ = request.tp_frame_nr;
    return true;
}

// ---- receiving ----

bool PacketRing::next(Frame& out) noexcept
{
    if (all_shown()) {
        return false;
    }
    std::byte* const at = next_.at;
    const std::uint32_t s = status_of(at).load(std::memory_order_acquire);
    if ((s & kOurs) == 0) {
        return false;
    }
    for (std::size_t line = 1; line <= kFetched; ++line) {   // another core has just written them, and each will be read
        __builtin_prefetch(at + line * kCacheLine);
    }
    const auto& h = *reinterpret_cast<const tpacket2_hdr*>(at);
    // The kernel writes these, and only it: no frame can make them wrong.
    out.bytes = {at + h.tp_mac, std::min<std::size_t>(h.tp_snaplen, place_bytes_ - h.tp_mac)};
    out.cut = h.tp_snaplen < h.tp_len || (s & TP_STATUS_COPY) != 0;
    // The kernel takes VLAN tags off and calls what was in one another host's, unless it is VLAN 0, a mere priority.
    out.elsewhere = reinterpret_cast<const sockaddr_ll*>(at + TPACKET_ALIGN(sizeof h))->sll_pkttype != PACKET_HOST ||
                    ((s & TP_STATUS_VLAN_VALID) != 0 && (h.tp_vlan_tci & 0x0fff) != 0);
    out.losing = (s & TP_STATUS_LOSING) != 0;
    advance(next_);
    ++shown_;
    return true;
}

void PacketRing::release() noexcept
{
    for (; shown_ != 0; --shown_) {
        status_of(oldest_.at).store(TP_STATUS_KERNEL, std::memory_order_release);
        advance(oldest_);
    }
}

void PacketRing::advance(Cursor& c) const noexcept
{
    c.at += place_bytes_;
    if (--c.left != 0) {
        return;
    }
    c.left = per_block_;
    c.at += block_bytes_ - per_block_ * place_bytes_;   // the rest of a block stays empty
    if (c.at == memory_ + bytes_) {
        c.at = memory_;
    }
}

std::uint64_t PacketRing::drops() noexcept
{
    tpacket_stats s{};
    socklen_t bytes = sizeof s;
    if (::getsockopt(fd_.get(), SOL_PACKET, PACKET_STATISTICS, &s, &bytes) == 0) {
        drops_ += s.tp_drops;   // reading sets the kernel's count to zero
    }
    return drops_;
}

// ---- sending ----

PacketRing::Sent PacketRing::send(std::span<const Outgoing> frames) noexcept
{
    Sent sent;
    const auto message = [](const Outgoing& f) {
        ::msghdr m{};
        m.msg_iov = const_cast<iovec*>(f.pieces.data());
        m.msg_iovlen = f.pieces.size();
        return m;
    };
    if (frames.size() == 1) {
        FlatPieces<kFlat> flat;
        if (const std::size_t bytes = flat.gather(frames[0].pieces); bytes != 0) {
            sent.frames = plain_sendto(fd_.get(), flat.data(), bytes, MSG_DONTWAIT, nullptr, 0) >= 0 ? 1 : 0;
            sent.error = sent.frames == 1 ? 0 : errno;
            return sent;
        }
        const ::msghdr m = message(frames[0]);
        sent.frames = plain_sendmsg(fd_.get(), &m, MSG_DONTWAIT) >= 0 ? 1 : 0;
        sent.error = sent.frames == 1 ? 0 : errno;
        return sent;
    }
    std::array<mmsghdr, kSendBatch> batch;
    while (sent.frames < frames.size()) {
        const auto now = frames.subspan(sent.frames, std::min(kSendBatch, frames.size() - sent.frames));
        std::transform(now.begin(), now.end(), batch.begin(), [&message](const Outgoing& f) { return mmsghdr{message(f), 0}; });
        const int n = ::sendmmsg(fd_.get(), batch.data(), static_cast<unsigned>(now.size()), MSG_DONTWAIT);
        if (n < 0) {
            sent.error = errno;
            return sent;
        }
        sent.frames += static_cast<std::size_t>(n);   // a short count: the next call tells why
    }
    return sent;
}

// ---- the interface ----

EtherInterface ether_interface(const char* name) noexcept
{
    EtherInterface e;
    const Fd fd{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
    ifreq request{};
    std::strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
    if (!fd.valid() || ::ioctl(fd.get(), SIOCGIFHWADDR, &request) != 0) {
        e.error = errno;
        return e;
    }
    e.index = ::if_nametoindex(name);
    e.ethernet = request.ifr_hwaddr.sa_family == ARPHRD_ETHER;
    std::memcpy(e.mac.data(), request.ifr_hwaddr.sa_data, e.mac.size());
    if (::ioctl(fd.get(), SIOCGIFMTU, &request) != 0) {
        e.error = errno;
        return e;
    }
    e.mtu = static_cast<std::size_t>(std::max(request.ifr_mtu, 0));
    return e;
}

void send_knock(int fd, const InetAddress& to, const Knock& knock) noexcept
{
    sockaddr_storage storage;
    const socklen_t bytes = to.to_sockaddr(storage);
    // Lost like any datagram; an error left by an earlier one (nobody was there) sends nothing, and is over then.
    for (unsigned tries = 0; tries < 2; ++tries) {
        if (::sendto(fd, knock.data(), knock.size(), MSG_DONTWAIT | MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&storage), bytes) >= 0) {
            return;
        }
    }
}

bool next_knock(int fd, Knock& knock, InetAddress& from) noexcept
{
    constexpr unsigned kMost = 64;   // that are none, or errors of knocks of ours
    for (unsigned i = 0; i < kMost; ++i) {
        sockaddr_storage storage{};
        socklen_t bytes = sizeof storage;
        std::array<std::byte, kKnockBytes + 1> buffer;
        const ssize_t n = ::recvfrom(fd, buffer.data(), buffer.size(), MSG_DONTWAIT, reinterpret_cast<sockaddr*>(&storage), &bytes);
        if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) {
            return false;
        }
        if (n == static_cast<ssize_t>(kKnockBytes)) {
            std::copy_n(buffer.begin(), kKnockBytes, knock.begin());
            const auto at = InetAddress::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage));
            from = at.value_or(InetAddress{});
            return at.has_value();
        }
    }
    return false;
}

ReservedPort reserve_udp_port(const InetAddress& address) noexcept
{
    ReservedPort r;
    InetAddress at = address;
    at.set_port(0);
    sockaddr_storage storage;
    const socklen_t bytes = at.to_sockaddr(storage);
    r.fd.reset(::socket(address.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!r.fd.valid() || ::bind(r.fd.get(), reinterpret_cast<const sockaddr*>(&storage), bytes) != 0) {
        r.error = errno;
        r.fd.reset();
        return r;
    }
    r.port = local_address(r.fd.get()).port();
    return r;
}

}   // namespace linnet

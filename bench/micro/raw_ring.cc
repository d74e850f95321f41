// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The floor below Linnet's raw Ethernet: frames of a private EtherType out of a TPACKET_V2 ring, both ends spinning, no MPI. See raw.h.
//
// A byte stream in the hope that nothing is lost: there is no number, no acknowledgement and no credit, only a ring that holds a whole window. A lost frame
// shows as wrong payload or as the time limit. Rank 0 is on the interface that has --address; rank 1 on the one whose network that is in.

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

#include "raw.h"

namespace {

constexpr std::uint16_t kEtherType = 0x88b6;   // the second of the two for local experiments: not Linnet's
constexpr std::size_t kRingBytes = std::size_t{16} << 20;
constexpr std::size_t kBlockBytes = std::size_t{64} << 10;
constexpr unsigned kRow = 16;          // frames of a transmit ring for one call
constexpr std::size_t kCopied = 512;   // a payload up to this is sent in one piece with its header

struct Head {
    ether_header ether;
    std::uint16_t hello;   // 1: looking for the other one; 2: here I am
    std::uint16_t bytes;
} __attribute__((packed));

class Ring final : public raw::Connection {
public:
    Ring(const raw::Options& options, bool leads)
    {
        fd_ = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
        if (fd_ < 0)
            raw::fail_errno("packet socket");
        const std::string interface = interface_for(options.address);
        ifreq request{};
        std::strncpy(request.ifr_name, interface.c_str(), sizeof request.ifr_name - 1);
        if (ioctl(fd_, SIOCGIFHWADDR, &request) != 0)
            raw::fail_errno("address of " + interface);
        std::memcpy(out_.ether.ether_shost, request.ifr_hwaddr.sa_data, ETH_ALEN);
        if (ioctl(fd_, SIOCGIFMTU, &request) != 0)
            raw::fail_errno("MTU of " + interface);
        most_ = static_cast<std::size_t>(request.ifr_mtu) - (sizeof(Head) - sizeof(ether_header));
        out_.ether.ether_type = htons(kEtherType);
        map_rings(static_cast<std::size_t>(request.ifr_mtu) + sizeof(ether_header), options.zero_copy);
        sockaddr_ll at{};
        at.sll_family = AF_PACKET;
        at.sll_protocol = htons(kEtherType);
        at.sll_ifindex = static_cast<int>(if_nametoindex(interface.c_str()));
        const int on = 1;
        if (setsockopt(fd_, SOL_PACKET, PACKET_IGNORE_OUTGOING, &on, sizeof on) != 0 || bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
            raw::fail_errno("bind");
        meet(leads);
    }
    ~Ring() override
    {
        munmap(rx_.begin, mapped_);
        close(fd_);
    }
    Ring(const Ring&) = delete;
    Ring& operator=(const Ring&) = delete;

    void send_all(std::span<const std::byte> bytes) override
    {
        unsigned in_row = 0;
        while (!bytes.empty()) {
            const auto now = bytes.first(std::min(most_, bytes.size()));
            bytes = bytes.subspan(now.size());
            if (tx_.begin == nullptr) {
                send_frame(0, now);
            } else {
                put_frame(0, now);
                if (bytes.empty() || ++in_row % kRow == 0)
                    kick();
            }
        }
    }
    [[nodiscard]] std::string note() const override { return tx_.begin != nullptr ? "sent out of a ring" : ""; }

    void recv_all(std::span<std::byte> bytes) override
    {
        while (!bytes.empty()) {
            if (rest_.empty()) {
                next_frame();
                continue;
            }
            const std::size_t n = std::min(rest_.size(), bytes.size());
            std::memcpy(bytes.data(), rest_.data(), n);
            rest_ = rest_.subspan(n);
            bytes = bytes.subspan(n);
            if (rest_.empty())
                give_back();
        }
    }

private:
    static std::string interface_for(const std::string& address)
    {
        in_addr wanted{};
        ifaddrs* list = nullptr;
        if (inet_pton(AF_INET, address.c_str(), &wanted) != 1 || getifaddrs(&list) != 0)
            raw::fail("not an address: " + address);
        std::string name;
        for (const ifaddrs* i = list; i != nullptr && name.empty(); i = i->ifa_next) {
            if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET)
                continue;
            const auto own = reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr.s_addr;
            const auto mask = reinterpret_cast<const sockaddr_in*>(i->ifa_netmask)->sin_addr.s_addr;
            if ((own & mask) == (wanted.s_addr & mask))
                name = i->ifa_name;
        }
        freeifaddrs(list);
        if (name.empty())
            raw::fail("no interface of this host is on the network of " + address);
        return name;
    }

    // Places for frames, `per_block` of them in each block.
    struct Places {
        std::byte* begin = nullptr;
        std::byte* at = nullptr;
        std::size_t in_block = 0;

        [[nodiscard]] std::atomic_ref<std::uint32_t> status() const { return std::atomic_ref{*reinterpret_cast<std::uint32_t*>(at)}; }
        void next(std::size_t place, std::size_t per_block)
        {
            at += place;
            if (++in_block == per_block) {
                in_block = 0;
                at += kBlockBytes - per_block * place;
                at = at == begin + kRingBytes ? begin : at;
            }
        }
    };

    void map_rings(std::size_t frame, bool both)
    {
        place_ = TPACKET_ALIGN(TPACKET2_HDRLEN + 32 + frame);
        per_block_ = kBlockBytes / place_;
        tpacket_req request{};
        request.tp_block_size = kBlockBytes;
        request.tp_block_nr = kRingBytes / kBlockBytes;
        request.tp_frame_size = static_cast<unsigned>(place_);
        request.tp_frame_nr = static_cast<unsigned>(request.tp_block_nr * per_block_);
        const int version = TPACKET_V2;
        if (setsockopt(fd_, SOL_PACKET, PACKET_VERSION, &version, sizeof version) != 0 ||
            setsockopt(fd_, SOL_PACKET, PACKET_RX_RING, &request, sizeof request) != 0)
            raw::fail_errno("receive ring");
        if (both && setsockopt(fd_, SOL_PACKET, PACKET_TX_RING, &request, sizeof request) != 0)
            raw::fail_errno("transmit ring");
        mapped_ = both ? 2 * kRingBytes : kRingBytes;
        void* const at = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd_, 0);
        if (at == MAP_FAILED)
            raw::fail_errno("map of the rings");
        rx_.begin = rx_.at = static_cast<std::byte*>(at);
        if (both)
            tx_.begin = tx_.at = rx_.begin + kRingBytes;
    }

    // Into the transmit ring, for the next kick(). (The kernel's packet_mmap.rst: the frame lies behind the header.)
    void put_frame(std::uint16_t hello, std::span<const std::byte> payload)
    {
        for (std::uint32_t status; (status = tx_.status().load(std::memory_order_acquire)) != TP_STATUS_AVAILABLE; kick())
            if ((status & TP_STATUS_WRONG_FORMAT) != 0)
                raw::fail("the kernel does not take a frame of the transmit ring");
        out_.hello = hello;
        out_.bytes = static_cast<std::uint16_t>(payload.size());
        auto& record = *reinterpret_cast<tpacket2_hdr*>(tx_.at);
        std::byte* const frame = tx_.at + TPACKET2_HDRLEN - sizeof(sockaddr_ll);
        std::memcpy(frame, &out_, sizeof out_);
        std::memcpy(frame + sizeof out_, payload.data(), payload.size());
        record.tp_len = static_cast<std::uint32_t>(sizeof out_ + payload.size());
        tx_.status().store(TP_STATUS_SEND_REQUEST, std::memory_order_release);
        tx_.next(place_, per_block_);
    }
    void kick() const
    {
        if (send(fd_, nullptr, 0, MSG_DONTWAIT) < 0 && errno != EAGAIN && errno != ENOBUFS && errno != EINTR)
            raw::fail_errno("send");
    }

    // Rank 1 calls until rank 0, who then knows its address, has answered.
    void meet(bool leads)
    {
        std::memset(out_.ether.ether_dhost, 0xff, ETH_ALEN);
        for (std::uint64_t spins = 0; !met_; ++spins) {
            if (!leads && spins % 20'000'000 == 0)
                send_frame(1, {});
            next_frame();
        }
        if (leads)
            send_frame(2, {});
    }

    void send_frame(std::uint16_t hello, std::span<const std::byte> payload)
    {
        if (tx_.begin != nullptr) {   // a socket with such a ring sends nothing else
            put_frame(hello, payload);
            return kick();
        }
        out_.hello = hello;
        out_.bytes = static_cast<std::uint16_t>(payload.size());
        ssize_t sent;
        do {
            if (payload.size() <= kCopied) {
                std::array<std::byte, sizeof(Head) + kCopied> whole;
                std::memcpy(whole.data(), &out_, sizeof out_);
                std::copy(payload.begin(), payload.end(), whole.begin() + sizeof out_);
                sent = send(fd_, whole.data(), sizeof out_ + payload.size(), MSG_DONTWAIT);
            } else {
                std::array<iovec, 2> pieces{{{&out_, sizeof out_}, {const_cast<std::byte*>(payload.data()), payload.size()}}};
                msghdr message{};
                message.msg_iov = pieces.data();
                message.msg_iovlen = pieces.size();
                sent = sendmsg(fd_, &message, MSG_DONTWAIT);
            }
        } while (sent < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == EINTR));
        if (sent < 0)
            raw::fail_errno("send");
    }

    // The payload of the frame at hand, if there is one that matters, is in rest_ afterwards.
    void next_frame()
    {
        if ((rx_.status().load(std::memory_order_acquire) & TP_STATUS_USER) == 0)
            return;
        const auto& record = *reinterpret_cast<const tpacket2_hdr*>(rx_.at);
        Head head;
        std::memcpy(&head, rx_.at + record.tp_mac, sizeof head);
        if (head.hello != 0 && !met_) {
            std::memcpy(out_.ether.ether_dhost, head.ether.ether_shost, ETH_ALEN);
            met_ = true;
        }
        rest_ = {rx_.at + record.tp_mac + sizeof head, head.hello != 0 ? 0u : head.bytes};
        if (rest_.empty())
            give_back();
    }

    void give_back()
    {
        rx_.status().store(TP_STATUS_KERNEL, std::memory_order_release);
        rx_.next(place_, per_block_);
    }

    int fd_ = -1;
    Head out_{};
    std::size_t most_ = 0;   // payload of a frame
    Places rx_, tx_;         // without a transmit ring frames are sent by a call each
    std::size_t mapped_ = 0;
    std::size_t place_ = 0;
    std::size_t per_block_ = 0;
    std::span<const std::byte> rest_;
    bool met_ = false;
};

}   // namespace

int main(int argc, char** argv)
{
    return raw::run("raw_ring", argc, argv,
                    [](const raw::Options& options, bool leads) -> std::unique_ptr<raw::Connection> { return std::make_unique<Ring>(options, leads); });
}

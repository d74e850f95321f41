// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EthPort: sending and receiving.
#include "transport/eth/eth_port.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sync/backoff.h"
#include "sys/error.h"

namespace linnet::eth {

namespace {

constexpr std::size_t kMostTooLong = 1024;

iovec piece(const void* at, std::size_t bytes) noexcept { return {const_cast<void*>(at), bytes}; }

}   // namespace

std::uint64_t EthPort::path_key(const EthRoute& to) noexcept
{
    std::uint64_t key = to.interface;
    for (const std::uint8_t byte : to.mac) {
        key = key << 8 | byte;
    }
    return key;
}

std::size_t EthPort::frame_bytes(const frames::Route& to) const noexcept
{
    const auto route = to.as<EthRoute>();
    const std::size_t hoped = route.interface < interfaces_.size() ? interfaces_[route.interface]->takes.load(std::memory_order_relaxed) : kSafeFrame;
    return hoped <= kSafeFrame ? hoped : paths_.longest(path_key(route), hoped);
}

// ---- sending ----

// At most so many frames by one interface. What will never leave counts as sent: it is lost, and flow/ knows what to do.
template <std::size_t Most>
std::size_t EthPort::send_run(Interface& i, std::span<const flow::TxFrame> frames, bool& refused) noexcept
{
    std::array<EtherHead, Most> heads;
    std::array<std::array<iovec, 3>, Most> pieces;
    std::array<PacketRing::Outgoing, Most> batch;
    std::size_t bytes = 0;
    for (std::size_t n = 0; n < frames.size(); ++n) {
        const flow::TxFrame& f = frames[n];
        const auto to = static_cast<const frames::Route*>(f.route)->as<EthRoute>();
        heads[n] = i.head;
        heads[n].to = to.mac;
        heads[n].to_endpoint = to.endpoint;
        pieces[n] = {piece(&heads[n], sizeof heads[n]), piece(f.head.data(), f.head_bytes), piece(f.payload.data(), f.payload.size())};
        batch[n].pieces = std::span{pieces[n]}.first(f.payload.empty() ? 2 : 3);
        bytes += sizeof heads[n] + f.head_bytes + f.payload.size();
    }
    std::size_t done = 0;
    unsigned calls = 0;
    while (done < frames.size() && !refused) {
        const PacketRing::Sent sent = i.ring.send(std::span{batch}.subspan(done, frames.size() - done));
        ++calls;
        done += sent.frames;
        refused = sent.error == EAGAIN || sent.error == ENOBUFS;
        if (sent.error != 0 && !refused) {
            trouble(i, sent.error);
            if (sent.error == EMSGSIZE) {
                too_long(i, *static_cast<const frames::Route*>(frames[done].route), frames[done].head_bytes + frames[done].payload.size());
            }
            ++done;
        }
    }
    for (std::size_t n = done; n < frames.size(); ++n) {
        bytes -= sizeof heads[n] + frames[n].head_bytes + frames[n].payload.size();
    }
    tx_counters_.add(Counter::kEthTxCalls, calls);
    tx_counters_.add(Counter::kEthTxBytes, bytes);
    return done;
}

void EthPort::trouble(Interface& i, int error) noexcept
{
    if (const std::uint64_t n = i.refused.hit(); n != 0) {
        LINNET_LOG(log_, kInfo, "eth: a frame was lost on %s: %s (%llu so far)", i.name.c_str(), errno_text(error), static_cast<unsigned long long>(n));
    }
}

// Its MTU was lowered: the link has to be opened anew, for shorter frames.
void EthPort::too_long(Interface& i, const frames::Route& to, std::size_t bytes) noexcept
try {
    MutexLock lock{evidence_lock_};
    if (std::any_of(too_long_.begin(), too_long_.end(), [&to](const frames::Evidence& e) { return e.route == to; }) || too_long_.size() == kMostTooLong) {
        return;
    }
    const EtherInterface now = ether_interface(i.name.c_str());
    if (now.error == 0) {
        i.takes.store(std::min(i.frame_bytes, payload_of(now.mtu)), std::memory_order_relaxed);
    }
    if (bytes > i.takes.load(std::memory_order_relaxed)) {
        too_long_.push_back({to, EMSGSIZE});
        has_too_long_.store(true, std::memory_order_relaxed);
    }
} catch (const std::bad_alloc&) {
    return;   // it will be too long again
}

std::size_t EthPort::send(unsigned, std::span<const flow::TxFrame> frames) noexcept
{
    const auto interface_of = [](const flow::TxFrame& f) { return static_cast<const frames::Route*>(f.route)->as<EthRoute>().interface; };
    std::size_t done = 0;
    bool refused = !open_.load(std::memory_order_relaxed);
    while (done < frames.size() && !refused) {
        const auto number = interface_of(frames[done]);
        std::size_t n = 1;
        while (n < PacketRing::kSendBatch && done + n < frames.size() && interface_of(frames[done + n]) == number) {
            ++n;
        }
        const auto run = frames.subspan(done, n);
        if (number >= interfaces_.size()) {
            done += n;
        } else {
            Interface& i = *interfaces_[number];
            done += n == 1 ? send_run<1>(i, run, refused) : send_run<PacketRing::kSendBatch>(i, run, refused);
        }
    }
    return done;
}

// A frame that opens a link is padded to the length that the path is hoped to take.
void EthPort::send_single(unsigned, const frames::Route& to, std::span<const std::byte> frame) noexcept
{
    const auto route = to.as<EthRoute>();
    if (route.interface >= interfaces_.size() || !open_.load(std::memory_order_relaxed)) {
        return;
    }
    Interface& i = *interfaces_[route.interface];
    const bool hello = frames::says_hello(frame);
    if (hello && !heard_there(i, route)) {
        return;   // it is repeated
    }
    if (!i.ring.listens()) {   // this interface alone could not be listened to
        if (hello) {
            no_way(route, ENETDOWN);
        }
        return;
    }
    EtherHead head = i.head;
    head.to = route.mac;
    head.to_endpoint = route.endpoint;
    std::size_t pad = 0;
    if (const std::size_t takes = i.takes.load(std::memory_order_relaxed); takes > kSafeFrame && frames::is_padded(frame)) {
        const std::size_t wanted = paths_.next_opening(path_key(route), takes, kSafeFrame);
        pad = wanted > frame.size() ? wanted - frame.size() : 0;
    }
    const std::array<iovec, 3> pieces{piece(&head, sizeof head), piece(frame.data(), frame.size()), piece(padding_.data(), pad)};
    const PacketRing::Outgoing out{std::span{pieces}.first(pad == 0 ? 2 : 3)};
    const PacketRing::Sent sent = i.ring.send({&out, 1});
    if (sent.error != 0 && sent.error != EAGAIN && sent.error != ENOBUFS) {
        trouble(i, sent.error);
    }
    tx_counters_.add(Counter::kEthTxCalls);
    tx_counters_.add(Counter::kEthTxBytes, sizeof head + frame.size() + pad);
}

// ---- receiving ----

bool EthPort::take(std::size_t number, const PacketRing::Frame& f, frames::RxFrame& out) noexcept
{
    Interface& i = *interfaces_[number];
    if (f.losing) {
        i.drops = i.ring.drops();
    }
    if (f.elsewhere || f.cut || f.bytes.size() < sizeof(EtherHead) + sizeof(wire::FrameHead)) {
        rx_counters_.add(f.elsewhere ? Counter::kEthForeign : Counter::kEthBroken);
        return false;
    }
    out.bytes = f.bytes.subspan(sizeof(EtherHead));
    out.source = static_cast<std::uint32_t>(number);
    rx_counters_.add(Counter::kEthRxBytes, f.bytes.size());
    return true;
}

bool EthPort::time_for_knocks() noexcept
{
    const bool listening = listening_.load(std::memory_order_relaxed);
    if (listening && ++passes_ <= kPassesBetweenLooks) [[likely]] {
        return false;
    }
    passes_ = 0;
    const Ticks now = read_ticks();
    if (looked_ != 0 && now - looked_ < (listening ? pause_of_listener_ : pause_)) {
        return false;
    }
    looked_ = now;
    return true;
}

std::size_t EthPort::receive(unsigned, std::span<frames::RxFrame> out) noexcept
{
    if (!open_.load(std::memory_order_relaxed)) {
        return 0;
    }
    if (time_for_knocks()) {
        look_for_knocks();
    }
    if (!listening_.load(std::memory_order_relaxed)) {
        return 0;
    }
    std::size_t n = 0;
    const std::size_t count = interfaces_.size();
    for (std::size_t k = 0; k < count; ++k) {
        const std::size_t number = first_ + k < count ? first_ + k : first_ + k - count;
        PacketRing& ring = interfaces_[number]->ring;
        ring.release();
        PacketRing::Frame f;
        while (n < out.size() && ring.next(f)) {
            n += take(number, f, out[n]) ? 1 : 0;
        }
    }
    first_ = first_ + 1 < count ? first_ + 1 : 0;   // nobody fills `out` for ever at the cost of the others
    if (n != 0 && watched_ && ++unslept_ >= frames::kMuteAfter) {
        watch(false);
    }
    return n;
}

bool EthPort::watch(bool on) noexcept
{
    watched_ = on;
    unslept_ = 0;
    bool ok = true;
    for (std::size_t i = 0; i < interfaces_.size(); ++i) {
        ok = !failed(epoll_.modify(interfaces_[i]->ring.descriptor(), on ? EPOLLIN : 0u, i, log_)) && ok;
    }
    return ok;
}

EventSource::Linger EthPort::linger() noexcept
{
    constexpr unsigned kLooks = 8;   // of some 15 ns each
    for (unsigned looks = 0; looks < kLooks && open_.load(std::memory_order_relaxed) && listening_.load(std::memory_order_relaxed); ++looks) {
        if (std::any_of(interfaces_.begin(), interfaces_.end(), [](const auto& i) { return i->ring.ready(); })) {
            return EventSource::Linger::kArrival;
        }
        cpu_pause();   // the other end may be at work on the same core's other half
    }
    return EventSource::Linger::kNothing;
}

frames::Route EthPort::source(unsigned, const frames::RxFrame& frame) const noexcept
{
    EtherHead head;
    std::memcpy(&head, frame.bytes.data() - sizeof head, sizeof head);
    EthRoute from;
    from.mac = head.from;
    from.endpoint = head.from_endpoint;
    from.interface = static_cast<std::uint8_t>(frame.source);
    return frames::Route::of(from);
}

std::uint64_t EthPort::kernel_drops(unsigned) const noexcept
{
    std::uint64_t n = 0;
    for (const auto& i : interfaces_) {
        n += i->drops;
    }
    return n;
}

bool EthPort::prepare_sleep() noexcept
{
    if (!listening_.load(std::memory_order_relaxed)) {
        return true;   // a knock wakes who sleeps
    }
    bool nothing = watched_ || watch(true);
    unslept_ = 0;
    for (const auto& i : interfaces_) {
        static_cast<void>(socket_error(i->ring.descriptor()));   // an interface that went down makes the socket readable until its error was taken
        nothing = nothing && !i->ring.ready();
    }
    return nothing;
}

}   // namespace linnet::eth

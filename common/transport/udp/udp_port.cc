// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// UdpPort: frames out and in.
#include "transport/udp/udp_port.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "sys/error.h"
#include "wire/frame.h"

namespace linnet::udp {

namespace {

// A hot socket that found nothing so often in a row, while polling went on, is left to epoll again; so much earlier when other sockets deliver meanwhile.
constexpr unsigned kCoolAfter = 4096;
constexpr unsigned kCoolWhenOvertaken = 64;
// While hot sockets deliver, epoll is asked on every n-th pass; n doubles up to this as long as epoll knows of no other socket.
constexpr unsigned kMaxEpollGap = 16;
constexpr std::size_t kMostEvidence = 64;
// After a move the sockets that anybody's frames come to are read first until they are empty, at most so many times.
constexpr unsigned kSettleReads = 64;
// More runs are asked for after so many calls in a row that found all they had asked for: to ask for several costs more, also when there is none.
constexpr unsigned kFullBeforeMore = 2;

[[nodiscard]] bool queue_is_full(int error) noexcept { return error == EAGAIN || error == EWOULDBLOCK || error == ENOBUFS || error == ENOMEM; }
// What a kernel or a device says that cannot cut a run apart.
[[nodiscard]] bool cannot_cut(int error) noexcept
{
    return error == EIO || error == EINVAL || error == EOPNOTSUPP || error == ENOPROTOOPT || error == EMSGSIZE;
}

}   // namespace

// ---- sending ----

UdpPort::Socket& UdpPort::socket_for(unsigned channel, const RawAddress& to) noexcept
{
    return channels_[channel].sockets[to.bytes == sizeof(::sockaddr_in) ? 0 : 1];
}

// False: the run to `to` failed for good, and is lost. True: try again.
bool UdpPort::survives(Socket& socket, const RawAddress& to, int error) noexcept
{
    if (take_errors(socket) != 0) {
        return true;   // it was about an earlier datagram, and the call that told it sent nothing
    }
    if (error == ENETUNREACH || error == EHOSTUNREACH) {
        add_evidence(to.address(), error);
    }
    return false;
}

struct UdpPort::Batch {
    struct Run {
        RawAddress to;
        std::size_t frames;
        std::size_t first_piece;
        std::size_t pieces;
        std::size_t segment;   // bytes of its first frame
        std::size_t bytes;
    };
    Socket* socket{nullptr};
    std::size_t count{0};
    std::array<Run, kUdpRunsAtOnce> runs;
    std::array<iovec, 2 * kUdpRunSegments> pieces;
};

// Frames to one address, of equal size but the last, are one run. At most kUdpRunsAtOnce of them, all of one socket.
void UdpPort::collect(Batch& b, unsigned channel, std::span<const flow::TxFrame> frames) noexcept
{
    const void* route = nullptr;
    bool open = false;   // the last run takes another frame
    std::size_t used = 0;
    for (const flow::TxFrame& f : frames) {
        const std::size_t bytes = f.head_bytes + f.payload.size();
        if (used + 2 > b.pieces.size()) {
            break;
        }
        const Batch::Run* const last = b.count != 0 ? &b.runs[b.count - 1] : nullptr;
        if (!open || f.route != route || bytes > last->segment || last->bytes + bytes > kUdpRunBytes || last->frames == kUdpRunSegments) {
            const RawAddress to = static_cast<const frames::Route*>(f.route)->as<RawAddress>();
            Socket& socket = socket_for(channel, to);
            if (b.count == b.runs.size() || (b.socket != nullptr && b.socket != &socket)) {
                break;
            }
            b.socket = &socket;
            b.runs[b.count++] = {to, 0, used, 0, bytes, 0};
            route = f.route;
            const auto& narrow = channels_[channel].narrow;
            open = socket.cuts.load(std::memory_order_relaxed) &&
                   (narrow[0] == 0 || std::find(narrow.begin(), narrow.end(), path_key(to)) == narrow.end());
        }
        Batch::Run& run = b.runs[b.count - 1];
        b.pieces[used++] = {const_cast<std::byte*>(f.head.data()), f.head_bytes};
        if (!f.payload.empty()) {
            b.pieces[used++] = {const_cast<std::byte*>(f.payload.data()), f.payload.size()};
        }
        run.pieces = used - run.first_piece;
        run.bytes += bytes;
        ++run.frames;
        open = open && bytes == run.segment;
    }
}

// What comes from `to` goes there from now on. What has come already is in the other socket, which is read first.
bool UdpPort::come_near(Channel& ch, const RawAddress& to) noexcept
{
    Socket& near = ch.sockets[kNear];
    const Socket& main = socket_for(frames::kLaneChannel, to);
    if (!near.fd.valid()) {
        SocketOrError made = udp_bind_beside(main.fd.get());
        if (made.error == 0) {
            const UdpGranted granted = udp_configure(made.fd.get(), settings_.size(SettingId::kUdpQueue));
            near.queue_bytes = granted.receive_bytes;
            near.cuts.store(main.cuts.load(std::memory_order_relaxed), std::memory_order_relaxed);
            near.fd = std::move(made.fd);
        }
        ch.near_bytes = to.bytes;
        ch.alone = made.error != 0 || near.queue_bytes < main.queue_bytes || failed(epoll_.add(near.fd.get(), EPOLLIN, kNear, log_));
        if (ch.alone) {
            near.fd.reset();   // nobody would read what comes to it
        }
        LINNET_LOG(log_, kDebug, "udp: a socket of its own for the peer that is talked to most: %s", ch.alone ? "not possible" : "yes");
    }
    if (ch.alone || to.bytes != ch.near_bytes) {
        return false;
    }
    ch.moved.store(true, std::memory_order_release);
    // A socket that is bound at all addresses takes with its first peer one of them, and with a link-local peer an interface: to be nobody's gives both back,
    // and keeps the port.
    constexpr RawAddress kNobody{{AF_UNSPEC}, sizeof(::sockaddr_in)};
    const bool connected = udp_connect(near.fd.get(), kNobody) == 0 && udp_connect(near.fd.get(), to) == 0;
    ch.near = connected ? to : RawAddress{};
    return connected;
}

// Does `to`, where all of a call goes or only its first run, have the connected socket? After so many calls in a row for one other peer that one gets it.
bool UdpPort::goes_near(Channel& ch, const RawAddress& to, bool all) noexcept
{
    constexpr unsigned kNearAfter = 64;
    if (to == ch.near) {
        ch.in_a_row = 0;
        return all;
    }
    if (to != ch.other || !all) {
        ch.other = to;
        ch.in_a_row = 0;
    }
    if (ch.alone || ++ch.in_a_row < kNearAfter) {
        return false;
    }
    ch.in_a_row = 0;
    return come_near(ch, to);
}

struct UdpPort::Failed {
    const RawAddress& to;
    Socket& socket;
    std::size_t frames;
    std::size_t segment;
    bool near;
    int error;
};

// Others are reached as ever.
void UdpPort::no_cutting_for(unsigned channel, const Failed& run) noexcept
{
    Channel& ch = channels_[channel];
    ch.narrow[ch.next_narrow++] = path_key(run.to);
    try {
        LINNET_LOG(log_, kInfo, "udp: the way to %s became too narrow for datagrams of %zu bytes (%s, errno %d): they go one by one, in fragments",
                   run.to.address().text().c_str(), run.segment, errno_text(run.error), run.error);
    } catch (const std::bad_alloc&) {
        // no memory for a line that only explains
    }
}

// A run that did not leave. Returns how many of its frames are dealt with all the same: none, or all.
std::size_t UdpPort::give_up(unsigned channel, const Failed& run, bool& refused) noexcept
{
    if (run.near && !queue_is_full(run.error)) {
        channels_[channel].near = {};   // the other socket will tell what is wrong, if anything is
        static_cast<void>(take_errors(run.socket));
    } else if (queue_is_full(run.error)) {
        refused = true;
    } else if (run.frames > 1 && (run.error == EMSGSIZE || run.error == EINVAL) && channels_[channel].narrow.back() == 0 && too_narrow(run.to, run.segment)) {
        no_cutting_for(channel, run);
    } else if (run.frames > 1 && cannot_cut(run.error)) {   // for nobody; also when too many hosts are reached by ways that are too narrow
        run.socket.cuts.store(false, std::memory_order_relaxed);
        if (!told_uncut_.exchange(true, std::memory_order_relaxed)) {
            LINNET_LOG(log_, kInfo, "udp: the kernel refused to cut datagrams apart (%s, errno %d): they go one by one", errno_text(run.error), run.error);
        }
    } else if (!survives(run.socket, run.to, run.error)) {
        return run.frames;
    }
    return 0;
}

// What most calls are for: a short frame.
std::size_t UdpPort::send_one(unsigned channel, const flow::TxFrame& frame, bool& refused) noexcept
{
    Channel& ch = channels_[channel];
    const RawAddress to = static_cast<const frames::Route*>(frame.route)->as<RawAddress>();
    const bool near = channel == frames::kLaneChannel && goes_near(ch, to, true);
    Socket& socket = near ? ch.sockets[kNear] : socket_for(channel, to);
    const std::array<iovec, 2> pieces{{{const_cast<std::byte*>(frame.head.data()), frame.head_bytes},
                                       {const_cast<std::byte*>(frame.payload.data()), frame.payload.size()}}};
    const UdpRunOut run{near ? nullptr : &to, pieces.data(), frame.payload.empty() ? 1u : 2u, 0};
    const UdpSent sent = udp_send(socket.fd.get(), {&run, 1});
    tx_counters_.add_shared(Counter::kUdpTxCalls);
    if (sent.runs == 0) {
        return give_up(channel, {to, socket, 1, 0, near, sent.error}, refused);
    }
    tx_counters_.add_shared(Counter::kUdpTxBytes, frame.head_bytes + frame.payload.size());
    return 1;
}

// One call. Returns how many frames are dealt with.
std::size_t UdpPort::send_some(unsigned channel, std::span<const flow::TxFrame> frames, bool& refused) noexcept
{
    Batch b;
    collect(b, channel, frames);
    std::array<UdpRunOut, kUdpRunsAtOnce> out;
    for (std::size_t i = 0; i < b.count; ++i) {
        const Batch::Run& run = b.runs[i];
        out[i] = {&run.to, b.pieces.data() + run.first_piece, static_cast<std::uint32_t>(run.pieces),
                  static_cast<std::uint32_t>(run.frames > 1 ? run.segment : 0)};
    }
    const RawAddress& to = b.runs[0].to;
    const bool one = std::all_of(b.runs.begin() + 1, b.runs.begin() + b.count, [&to](const Batch::Run& run) { return run.to == to; });
    const bool near = channel == frames::kLaneChannel && goes_near(channels_[channel], to, one);
    if (near) {
        b.socket = &channels_[channel].sockets[kNear];
        std::for_each(out.begin(), out.begin() + b.count, [](UdpRunOut& run) { run.to = nullptr; });
    }
    const UdpSent sent = udp_send(b.socket->fd.get(), std::span{out}.first(b.count));
    std::size_t done = 0;
    std::size_t bytes = 0;
    for (unsigned i = 0; i < sent.runs; ++i) {
        done += b.runs[i].frames;
        bytes += b.runs[i].bytes;
    }
    tx_counters_.add_shared(Counter::kUdpTxCalls);
    tx_counters_.add_shared(Counter::kUdpTxBytes, bytes);
    if (sent.runs == b.count) {
        return done;
    }
    const Batch::Run& run = b.runs[sent.runs];
    return done + give_up(channel, {run.to, *b.socket, run.frames, run.segment, near, sent.error}, refused);
}

std::size_t UdpPort::send(unsigned channel, std::span<const flow::TxFrame> frames) noexcept
{
    std::size_t done = 0;
    unsigned tries = 0;
    for (bool refused = false; done < frames.size() && !refused;) {
        const auto rest = frames.subspan(done);
        const std::size_t n = rest.size() == 1 ? send_one(channel, rest[0], refused) : send_some(channel, rest, refused);
        done += n;
        tries = n == 0 ? tries + 1 : 0;
        if (tries > 8) {
            break;   // one error after the other: later
        }
    }
    return done;
}

// A frame that opens a link is padded to the length that the path is hoped to take: a tunnel on the way may swallow longer ones, and say nothing.
void UdpPort::send_single(unsigned channel, const frames::Route& to, std::span<const std::byte> frame) noexcept
{
    static constexpr std::array<std::byte, kMostMtu> kPadding{};
    const RawAddress address = to.as<RawAddress>();
    Socket& socket = socket_for(channel, address);
    std::size_t pad = 0;
    if (frames::is_padded(frame)) {
        const std::size_t wanted = paths_.next_opening(path_key(address), hoped_frame_bytes(address), kSafeFrame);
        pad = wanted > frame.size() ? wanted - frame.size() : 0;
    }
    const std::array<iovec, 2> pieces{{{const_cast<std::byte*>(frame.data()), frame.size()}, {const_cast<std::byte*>(kPadding.data()), pad}}};
    const UdpRunOut run{&address, pieces.data(), pad == 0 ? 1u : 2u, 0};
    for (unsigned tries = 0; tries < 8 && socket.fd.valid(); ++tries) {
        const UdpSent sent = udp_send(socket.fd.get(), {&run, 1});
        tx_counters_.add_shared(Counter::kUdpTxCalls);
        if (sent.runs == 1) {
            tx_counters_.add_shared(Counter::kUdpTxBytes, frame.size() + pad);
            return;
        }
        if (queue_is_full(sent.error) || !survives(socket, address, sent.error)) {
            return;
        }
    }
}

// ---- evidence ----

unsigned UdpPort::take_errors(Socket& socket) noexcept
{
    unsigned n = 0;
    InetAddress to;
    int error = 0;
    for (; n < 256 && udp_error(socket.fd.get(), to, error); ++n) {
        if (error == ECONNREFUSED || error == EHOSTUNREACH || error == ENETUNREACH) {
            add_evidence(to, error);
        }
    }
    return n;
}

void UdpPort::add_evidence(const InetAddress& to, int error) noexcept
{
    MutexLock lock{evidence_lock_};
    try {
        if (evidence_.size() < kMostEvidence) {
            evidence_.push_back({frames::Route::of(RawAddress::of(to)), error});
        }
    } catch (const std::bad_alloc&) {
        return;   // there will be more of it
    }
    has_evidence_.store(true, std::memory_order_relaxed);
}

bool UdpPort::next_evidence(frames::Evidence& out) noexcept
{
    if (!has_evidence_.load(std::memory_order_relaxed)) {
        return false;
    }
    MutexLock lock{evidence_lock_};
    if (evidence_.empty()) {
        has_evidence_.store(false, std::memory_order_relaxed);
        return false;
    }
    out = evidence_.back();
    evidence_.pop_back();
    return true;
}

// ---- receiving ----

bool UdpPort::ask_epoll() noexcept
{
    std::array<EpollEvent, frames::kChannels * kSockets> events;
    const unsigned n = epoll_.wait(events, Nanos::zero());
    bool news = false;
    for (const EpollEvent& e : std::span{events}.first(n)) {
        Channel& ch = channels_[e.data.u64 / kSockets];
        const auto number = static_cast<unsigned>(e.data.u64 % kSockets);
        news = news || (ch.hot >> number & 1) == 0;
        ch.ready |= 1u << number;
        if ((e.events & EPOLLERR) != 0) {
            static_cast<void>(take_errors(ch.sockets[number]));
        }
    }
    gap_ = news ? 1 : std::min(gap_ * 2, kMaxEpollGap);
    return n != 0;
}

// ---- aimed ----

bool UdpPort::aim(unsigned channel, const frames::Aim& aim) noexcept
{
    channels_[channel].next_aim = aim;
    return true;
}

// The first run is read in pieces: heads into its buffer, where they would stand if all of it were read there, payload to where it is expected. Of no more
// frames than this call hands out: later the memory may be somebody else's.
void UdpPort::take_aim(Channel& ch, std::size_t most) noexcept
{
    ch.aim = std::exchange(ch.next_aim, {});
    ch.aimed = 0;
    UdpRunIn& run = ch.runs[0];
    run.pieces = {};
    const std::size_t frame = ch.aim.head_bytes + ch.aim.block_bytes;
    if (ch.aim.blocks == 0) {
        return;
    }
    const std::size_t count = std::min({std::size_t{ch.aim.blocks}, kRunRoom / frame, kAimedFrames, most});
    std::size_t n = 0;
    for (std::size_t i = 0; i < count; ++i) {
        ch.pieces[n++] = {run.buffer + i * frame, ch.aim.head_bytes};
        ch.pieces[n++] = {ch.aim.to + i * ch.aim.block_bytes, ch.aim.block_bytes};
    }
    if (count * frame < kRunRoom) {
        ch.pieces[n++] = {run.buffer + count * frame, kRunRoom - count * frame};
    }
    run.pieces = std::span{ch.pieces}.first(n);
    ch.aim.blocks = static_cast<unsigned>(count);
}

// The frames have the length that was expected, or the run is put together again.
void UdpPort::check_aim(Channel& ch) noexcept
{
    const UdpRunIn& run = ch.runs[0];
    const std::size_t frame = ch.aim.head_bytes + ch.aim.block_bytes;
    ch.aimed = std::min<std::size_t>(ch.aim.blocks, run.bytes / frame);
    if (ch.aimed < ch.aim.blocks && run.bytes % frame > ch.aim.head_bytes) {   // the last one is shorter
        std::memcpy(run.buffer + ch.aimed * frame + ch.aim.head_bytes, ch.aim.to + ch.aimed * ch.aim.block_bytes, run.bytes % frame - ch.aim.head_bytes);
    }
    if (run.segment != frame) {
        put_together(ch);
    }
}

void UdpPort::put_together(Channel& ch) noexcept
{
    const std::size_t frame = ch.aim.head_bytes + ch.aim.block_bytes;
    for (std::size_t i = 0; i < ch.aimed; ++i) {
        std::memcpy(ch.runs[0].buffer + i * frame + ch.aim.head_bytes, ch.aim.to + i * ch.aim.block_bytes, ch.aim.block_bytes);
    }
    ch.aimed = 0;
}

void UdpPort::gather(unsigned channel) noexcept { put_together(channels_[channel]); }

// ---- sockets ----

// What the kernel joined has frames of one length, but the last; the first says its own. If it lies, what is cut wrong is no frame, and dropped as such.
std::size_t UdpPort::segment_of(const UdpRunIn& run) noexcept
{
    wire::FrameHead head;
    if (run.bytes < sizeof head) {
        return run.bytes;
    }
    std::memcpy(&head, run.buffer, sizeof head);
    if (head.kind == wire::FrameKind::kOpen) {
        return run.bytes;   // padded; should the kernel have joined two, the other one is sent again
    }
    const std::size_t mac = (head.flags.get() & wire::frame_flag::kMac) != 0 ? wire::kMacBytes : 0;
    return std::min(run.bytes, sizeof head + mac + head.bytes.get());
}

void UdpPort::make_hot(Channel& ch, unsigned number) noexcept
{
    ch.sockets[number].idle = 0;
    ch.hot |= 1u << number;
}

bool UdpPort::watch(unsigned channel, unsigned number, bool on) noexcept
{
    Socket& s = channels_[channel].sockets[number];
    s.watched = on;
    s.unslept = 0;
    return !failed(epoll_.modify(s.fd.get(), on ? EPOLLIN : 0u, channel * kSockets + number, log_));
}

// That socket has delivered: the others have been idle for longer.
void UdpPort::overtake(const Channel& by, unsigned number) noexcept
{
    for (Channel& ch : channels_) {
        for (unsigned others = ch.hot & ~(&ch == &by ? 1u << number : 0u); others != 0; others &= others - 1) {
            ch.sockets[static_cast<unsigned>(std::countr_zero(others))].idle += kCoolAfter / kCoolWhenOvertaken;
        }
    }
}

// The connected socket gets another peer's frames from now on: what that one sent until now is in the others, and read first.
void UdpPort::follow_move(Channel& ch) noexcept
{
    ch.moved.store(false, std::memory_order_relaxed);
    ch.first = 0;
    ch.settling = kSettleReads;
    for (unsigned f = 0; f < kFamilies; ++f) {
        if (ch.sockets[f].fd.valid()) {
            make_hot(ch, f);
        }
    }
}

// True: something came. `most`: frames that are asked for.
bool UdpPort::read(Channel& ch, unsigned number, std::size_t most) noexcept
{
    Socket& socket = ch.sockets[number];
    ch.ready &= ~(1u << number);
    take_aim(ch, most);
    const unsigned ask = ch.aim.blocks != 0 ? 1 : ch.ask;
    const bool uncut = ask == 1 && ch.aim.blocks == 0;
    const UdpReceived r = uncut ? udp_receive_uncut(socket.fd.get(), ch.runs[0]) : udp_receive(socket.fd.get(), std::span{ch.runs}.first(ask));
    rx_counters_.add(Counter::kUdpRxCalls);
    if (r.runs == 0) {
        if (r.error != EAGAIN && r.error != EWOULDBLOCK && r.error != EINTR) {
            static_cast<void>(take_errors(socket));
        }
        if (++socket.idle > kCoolAfter) {
            ch.hot &= ~(1u << number);
            if (!socket.watched) {
                static_cast<void>(watch(static_cast<unsigned>(&ch - channels_.data()), number, true));
            }
        }
        ch.ask = 1;
        ch.full = 0;
        return false;
    }
    if (uncut) {
        ch.runs[0].segment = segment_of(ch.runs[0]);
    }
    std::size_t bytes = 0;
    for (const UdpRunIn& run : std::span{ch.runs}.first(r.runs)) {
        bytes += run.bytes;
    }
    rx_counters_.add(Counter::kUdpRxBytes, bytes);
    if (r.drops != 0 && r.drops != socket.drops) {
        ch.drops += r.drops - socket.drops;
        socket.drops = r.drops;
    }
    make_hot(ch, number);
    overtake(ch, number);
    if (socket.watched && ++socket.unslept >= frames::kMuteAfter) {
        static_cast<void>(watch(static_cast<unsigned>(&ch - channels_.data()), number, false));
    }
    if (ch.aim.blocks != 0) {
        check_aim(ch);
    }
    ch.run_count = r.runs;
    ch.run = 0;
    ch.offset = 0;
    ch.full = r.runs == ask && ch.aim.blocks == 0 ? ch.full + 1 : 0;
    ch.ask = ch.full > kFullBeforeMore ? std::min(ask * 2, kRuns) : std::max(r.runs, 1u);
    return true;
}

std::size_t UdpPort::hand_out(Channel& ch, std::span<frames::RxFrame> out) noexcept
{
    std::size_t n = 0;
    while (n < out.size() && ch.run < ch.run_count) {
        const UdpRunIn& run = ch.runs[ch.run];
        const std::size_t bytes = std::min(run.segment, run.bytes - ch.offset);
        if (bytes != 0) {
            const std::size_t number = ch.run == 0 && ch.aimed != 0 ? ch.offset / run.segment : ch.aimed;
            out[n++] = {{run.buffer + ch.offset, bytes}, ch.run, number < ch.aimed ? ch.aim.to + number * ch.aim.block_bytes : nullptr};
            ch.offset += bytes;
        }
        if (ch.offset >= run.bytes) {
            ++ch.run;
            ch.offset = 0;
        }
    }
    return n;
}

std::size_t UdpPort::receive(unsigned channel, std::span<frames::RxFrame> out) noexcept
{
    Channel& ch = channels_[channel];
    if (ch.run < ch.run_count) {
        ch.next_aim = {};
        return hand_out(ch, out);
    }
    if (channel == frames::kLaneChannel) {
        const Ticks asked = any_hot() ? 0 : read_ticks();
        if (asked != 0 ? question_.due(asked) : ++passes_ >= gap_) {
            passes_ = 0;
            const bool found = ask_epoll();
            if (asked != 0) {
                found ? question_.had_answer(asked) : question_.was_in_vain(asked, read_ticks());
            }
        }
    }
    if (ch.moved.load(std::memory_order_acquire)) {
        follow_move(ch);
    }
    const unsigned live = ch.hot | ch.ready;
    for (unsigned k = 0; live != 0 && k < kSockets; ++k) {
        const unsigned number = ch.first + k < kSockets ? ch.first + k : ch.first + k - kSockets;
        if ((live >> number & 1) != 0 && read(ch, number, out.size())) {
            ch.settling -= ch.settling != 0 ? 1 : 0;
            ch.first = ch.settling != 0 || number + 1 == kSockets ? 0 : number + 1;
            return hand_out(ch, out);
        }
        ch.settling = number == kFamilies - 1 ? 0 : ch.settling;
    }
    ch.next_aim = {};   // it was for this call alone: later the memory may be somebody else's
    return 0;
}

// One read, where only one socket is worth it and none has to be read before it: what it finds is handed out by receive().
EventSource::Linger UdpPort::linger() noexcept
{
    Channel& ch = channels_[frames::kLaneChannel];
    const bool moves = ch.settling != 0 || ch.moved.load(std::memory_order_acquire);
    if (!std::has_single_bit(ch.hot) || channels_[frames::kBulkChannel].hot != 0 || ch.run < ch.run_count || moves) {
        return EventSource::Linger::kNever;
    }
    return read(ch, static_cast<unsigned>(std::countr_zero(ch.hot)), kAimedFrames) ? EventSource::Linger::kArrival : EventSource::Linger::kNothing;
}

frames::Route UdpPort::source(unsigned channel, const frames::RxFrame& frame) const noexcept
{
    return frames::Route::of(channels_[channel].runs[frame.source].from);
}

std::uint64_t UdpPort::kernel_drops(unsigned channel) const noexcept { return channels_[channel].drops; }

// Who slept on the descriptor asks epoll first: it may have been a socket that is not read on every pass.
void UdpPort::finish_sleep() noexcept
{
    passes_ = kMaxEpollGap;
    question_.ask_at_once();
}

bool UdpPort::prepare_sleep() noexcept
{
    bool told = true;
    for (unsigned c = 0; c < frames::kChannels; ++c) {
        for (unsigned f = 0; f < kSockets; ++f) {
            Socket& s = channels_[c].sockets[f];
            told = (s.watched || watch(c, f, true)) && told;
            s.unslept = 0;
        }
    }
    return told && std::none_of(channels_.begin(), channels_.end(), [](const Channel& ch) { return ch.run < ch.run_count; });
}

}   // namespace linnet::udp

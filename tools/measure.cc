// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Two processes, a ping-pong and a row of messages for each size; the least times count. Those of two hosts meet over TCP.
#include "measure.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <utility>

#include "capi/linnet.h"
#include "core/transport_table.h"
#include "sys/error.h"
#include "sys/fd.h"
#include "sys/tcp_socket.h"
#include "transport_check.h"

namespace linnet::tools {
namespace {

using Time = std::chrono::steady_clock;

constexpr std::uint64_t kEcho = 1, kRow = 2, kStop = 3;   // match bits: what the other side shall do with the message
constexpr unsigned kRowLength = 16;
constexpr std::uint64_t kLongest = 4 * 1024 * 1024;
constexpr auto kPatience = std::chrono::seconds{5};        // for one message
constexpr auto kTimePerSize = std::chrono::milliseconds{60};
constexpr unsigned kLeastRounds = 30;   // on a machine whose cores are taken each of them may wait for its turn
// Of a row the receiver takes what it is sent without asking; above this it asks, and a row is no row any more.
constexpr std::uint64_t kLongestEager = 64 * 1024;
constexpr const char* kWithin = "lo";   // interfaces, within a host

double since(Time::time_point then) { return std::chrono::duration<double, std::nano>(Time::now() - then).count(); }

// One end. `net_include`: the setting, or null: as the environment has it. What waited for too long is still posted: the end owns all that the context knows of
// until this is closed, and after a failure it is good for nothing else.
class End {
public:
    End(const std::string& transport, const char* net_include)
    {
        std::vector<linnet_setting_t> settings{{"transports", transport.c_str()}, {"log_level", "error"}, {"stats_page", "off"}};
        if (net_include != nullptr) {
            settings.push_back({"net_include", net_include});
        }
        linnet_open_options_t o{};
        o.size = sizeof o;
        o.settings = settings.data();
        o.setting_count = settings.size();
        o.log = [](void* arg, linnet_log_level_t, const char* line) noexcept { static_cast<End*>(arg)->note(line); };   // on any thread
        o.log_arg = this;
        if (linnet_context_open(&o, &context_) != LINNET_OK) {
            context_ = nullptr;
        }
    }
    ~End()
    {
        if (context_ != nullptr) {
            linnet_context_close(context_);
        }
    }
    End(const End&) = delete;
    End& operator=(const End&) = delete;

    bool name(linnet_name_t& own) const { return context_ != nullptr && linnet_context_name(context_, &own) == LINNET_OK; }
    bool know(const linnet_name_t& other) { return linnet_peer_add(context_, &other, &peer_) == LINNET_OK; }
    // Exchanges names over a socket; the other side does the same.
    bool meet(int socket)
    {
        linnet_name_t own{};
        linnet_name_t other{};
        return name(own) && ::send(socket, &own, sizeof own, MSG_NOSIGNAL) == sizeof own && ::read(socket, &other, sizeof other) == sizeof other && know(other);
    }
    // Until the message may be forgotten.
    bool send(std::uint64_t bits, std::uint64_t bytes) { return start_send(bits, bytes) && finish(out_); }
    bool receive(std::uint64_t& bits, std::uint64_t& bytes)
    {
        if (!start_receive() || !finish(in_)) {
            return false;
        }
        bits = in_.request.result.match_bits;
        bytes = in_.request.result.length;
        return in_.request.result.status == LINNET_OK;
    }
    // One ping-pong: the half of its time, what the call to send took, and the pass that brought the answer.
    struct Round {
        double half, send, arrival;
    };
    bool round(std::uint64_t bytes, Round& out)
    {
        if (!start_receive()) {
            return false;
        }
        const auto begin = Time::now();
        if (!start_send(kEcho, bytes)) {
            return false;
        }
        out.send = since(begin);
        while (!in_.done) {
            const auto pass = Time::now();
            linnet_progress(context_, 0, 0);
            out.arrival = since(pass);
            if (pass - begin > kPatience) {
                return false;
            }
        }
        out.half = since(begin) / 2;
        return in_.request.result.status == LINNET_OK && finish(out_);
    }
    [[nodiscard]] std::string error() const
    {
        const std::lock_guard guard{error_lock_};
        return error_;
    }

private:
    struct Op {
        linnet_request_t request{};
        bool done{false};
    };
    static void on_done(linnet_request_t*, void* arg) noexcept { static_cast<Op*>(arg)->done = true; }
    void note(const char* line) noexcept
    {
        const std::lock_guard guard{error_lock_};
        error_ = line;
    }
    bool start_send(std::uint64_t bits, std::uint64_t bytes)
    {
        out_ = {};
        linnet_send_t s{};
        s.peer = peer_;
        s.space = 1;
        s.match_bits = bits;
        s.data.base = buffer_.data();
        s.data.length = bytes;
        s.done = on_done;
        s.done_arg = &out_;
        const linnet_status_t status = linnet_tag_send(context_, &s, &out_.request);
        out_.done = status != LINNET_IN_PROGRESS;
        return status >= 0;
    }
    bool start_receive()
    {
        in_ = {};
        linnet_recv_t r{};
        r.peer = peer_;
        r.space = 1;
        r.ignore = UINT64_MAX;
        r.data.base = buffer_.data();
        r.data.length = buffer_.size();
        r.done = on_done;
        r.done_arg = &in_;
        const linnet_status_t status = linnet_tag_recv(context_, &r, &in_.request);
        in_.done = status != LINNET_IN_PROGRESS;
        return status >= 0;
    }
    bool finish(const Op& op)
    {
        for (const auto begin = Time::now(); !op.done;) {
            linnet_progress(context_, 0, 0);
            if (Time::now() - begin > kPatience) {
                return false;
            }
        }
        return true;
    }

    Op in_;    // one receive at a time, and one send
    Op out_;
    std::vector<char> buffer_ = std::vector<char>(kLongest);   // of both
    mutable std::mutex error_lock_;
    std::string error_;
    linnet_context_t* context_{nullptr};
    linnet_peer_t peer_{LINNET_PEER_UNKNOWN};
};

// The other process: answers until it is told to stop, or nothing comes.
void serve(End& end)
{
    std::uint64_t bits = 0;
    std::uint64_t bytes = 0;
    while (end.receive(bits, bytes) && bits != kStop) {
        if (bits == kEcho && !end.send(kEcho, bytes)) {
            return;
        }
    }
}

struct Least {
    double half{std::numeric_limits<double>::max()};
    double send{half};
    double arrival{half};
    double gap{half};
};

bool ping_pongs(End& end, std::uint64_t bytes, Least& least)
{
    const auto until = Time::now() + kTimePerSize;
    for (unsigned n = 0; n < kLeastRounds || Time::now() < until; ++n) {
        End::Round r{};
        if (!end.round(bytes, r)) {
            return false;
        }
        least.half = std::min(least.half, r.half);
        least.send = std::min(least.send, r.send);
        least.arrival = std::min(least.arrival, r.arrival);
    }
    return true;
}

// Rows that end in a ping-pong of nothing, which is taken off again: it says that all of the row arrived.
bool rows(End& end, std::uint64_t bytes, double empty_half, Least& least)
{
    const auto until = Time::now() + kTimePerSize;
    for (unsigned n = 0; n < kLeastRounds || Time::now() < until; ++n) {
        const auto begin = Time::now();
        for (unsigned i = 0; i < kRowLength; ++i) {
            if (!end.send(kRow, bytes)) {
                return false;
            }
        }
        End::Round r{};
        if (!end.round(0, r)) {
            return false;
        }
        least.gap = std::min(least.gap, std::max(1.0, since(begin) - 2 * empty_half) / kRowLength);
    }
    return true;
}

bool measure(End& end, PathFinding& finding)
{
    std::vector<model::Point> send, gap, latency, receive;
    Least empty;
    if (!ping_pongs(end, 0, empty)) {
        return false;
    }
    for (const std::uint64_t bytes : kCostSizes) {
        Least l;
        if (!ping_pongs(end, bytes, l) || (bytes <= kLongestEager && !rows(end, bytes, empty.half, l))) {
            return false;
        }
        finding.points.push_back({bytes, l.half, 0});
        if (bytes <= kLongestEager) {
            const auto size = static_cast<double>(bytes);
            send.push_back({size, std::max(l.send, 1.0)});
            gap.push_back({size, l.gap});
            receive.push_back({size, std::max(l.arrival, 1.0)});
            latency.push_back({size, std::max(l.half - l.send - l.arrival, 1.0)});
        }
    }
    finding.cost.send = model::fit_line(send).value_or(model::Line{});
    finding.cost.gap = model::fit_line(gap).value_or(model::Line{});
    finding.cost.receive = model::fit_line(receive).value_or(model::Line{});
    finding.cost.latency = model::fit_line(latency).value_or(model::Line{});
    for (CostPoint& p : finding.points) {
        p.predicted_ns = model::one_way_ns(finding.cost, p.bytes, model::kPacketBytes);
    }
    static_cast<void>(end.send(kStop, 0));
    return true;
}

// ---- two hosts meet ----

// What each tells the other first. Anybody may have sent it.
struct Greeting {
    static constexpr std::array<char, 8> kMagic{'l', 'n', 't', 'i', 'n', 'f', 'o', '1'};
    std::array<char, 8> magic{kMagic};
    std::array<char, 16> transport{};
    std::array<char, 232> error{};   // of who serves: why it cannot
    linnet_name_t name{};

    // Both texts end, and nothing in them plays with a terminal or is no JSON.
    [[nodiscard]] bool ok() const
    {
        const auto plain = [](char c) { return c == 0 || (c >= ' ' && c <= '~'); };
        return magic == kMagic && transport.back() == 0 && error.back() == 0 && std::all_of(error.begin(), error.end(), plain);
    }
    template <std::size_t N>
    static void set(std::array<char, N>& to, const std::string& text)
    {
        to = {};
        text.copy(to.data(), N - 1);
    }
};

bool wait_for(int fd, short what, Time::time_point until)
{
    ::pollfd one{fd, what, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Time::now()).count();
    return left > 0 && ::poll(&one, 1, static_cast<int>(left)) > 0;
}

bool tell(int fd, const Greeting& g)
{
    const auto until = Time::now() + kPatience;
    for (auto left = std::as_bytes(std::span{&g, 1}); !left.empty();) {
        const iovec piece{const_cast<std::byte*>(left.data()), left.size()};
        const IoResult r = socket_send(fd, {&piece, 1});
        if (r.error != 0 && (!r.would_block() || !wait_for(fd, POLLOUT, until))) {
            return false;
        }
        left = left.subspan(r.bytes);
    }
    return true;
}

bool hear(int fd, Greeting& g)
{
    const auto until = Time::now() + kPatience;
    for (auto left = std::as_writable_bytes(std::span{&g, 1}); !left.empty();) {
        const IoResult r = socket_receive(fd, left.data(), left.size());
        if (r.error != 0 ? !r.would_block() || !wait_for(fd, POLLIN, until) : r.bytes == 0) {
            return false;
        }
        left = left.subspan(r.bytes);
    }
    return g.ok();
}

// A connection to who serves; else `error` says why there is none.
Fd call(const InetAddress& server, std::string& error)
{
    SocketOrError s = tcp_socket(server.family());
    int code = s.error != 0 ? s.error : tcp_connect(s.fd.get(), server);
    if (code == EINPROGRESS) {
        code = wait_for(s.fd.get(), POLLOUT, Time::now() + kConnectPatience) ? socket_error(s.fd.get()) : ETIMEDOUT;
    }
    if (code != 0) {
        error = server.text() + ": " + errno_text(code) + "; does linnet-info --serve run there?";
        return {};
    }
    return std::move(s.fd);
}

// What one peer asked for. Returns its transport, for the record, or nothing: it was no peer.
std::optional<std::string> answer(int fd)
{
    Greeting asked;
    if (!hear(fd, asked)) {
        return std::nullopt;
    }
    const std::string transport{asked.transport.data()};
    const auto table = core::transport_table();
    const bool known = std::any_of(table.begin(), table.end(), [&transport](const core::TransportRow& row) { return transport == row.name; });
    if (!known) {
        return std::nullopt;
    }
    End end{transport, nullptr};
    Greeting reply;
    reply.transport = asked.transport;
    if (!end.name(reply.name) || !end.know(asked.name)) {
        Greeting::set(reply.error, end.error().empty() ? "it does not take our name" : end.error());
    }
    if (tell(fd, reply) && reply.error[0] == 0) {
        serve(end);
    }
    return transport;
}

}   // namespace

PathFinding predicted(const std::string& name, const model::PathCost& cost)
{
    PathFinding finding{name, {}, cost, {}};
    for (const std::uint64_t bytes : kCostSizes) {
        finding.points.push_back({bytes, 0, model::one_way_ns(cost, bytes, model::kPacketBytes)});
    }
    return finding;
}

PathFinding measure_transport(const std::string& name)
{
    PathFinding finding;
    finding.transport = name;
    int sockets[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
        finding.error = "no socket for two processes to meet";
        return finding;
    }
    Fd own{sockets[0]};
    Fd other{sockets[1]};
    const pid_t parent = ::getpid();
    const pid_t child = ::fork();
    if (child == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        own.reset();
        if (::getppid() == parent) {
            End end{name, kWithin};
            if (end.meet(other.get())) {
                serve(end);
            }
        }
        ::_exit(0);
    }
    other.reset();
    if (child < 0) {
        finding.error = "no second process";
        return finding;
    }
    {
        End end{name, kWithin};
        if (!end.meet(own.get())) {
            finding.error = end.error().empty() ? "the processes did not meet" : end.error();
        } else if (!measure(end, finding)) {
            finding.error = end.error().empty() ? "a message did not arrive" : end.error();
        }
    }
    own.reset();
    if (!finding.error.empty()) {
        ::kill(child, SIGKILL);
    }
    ::waitpid(child, nullptr, 0);
    return finding;
}

PathFinding measure_towards(const std::string& name, const InetAddress& server)
{
    PathFinding finding;
    finding.transport = name;
    const Fd fd = call(server, finding.error);
    if (!finding.error.empty()) {
        return finding;
    }
    End end{name, nullptr};
    Greeting own;
    Greeting reply;
    Greeting::set(own.transport, name);
    if (!end.name(own.name)) {
        finding.error = end.error().empty() ? "it cannot be opened" : end.error();
    } else if (!tell(fd.get(), own) || !hear(fd.get(), reply)) {
        finding.error = server.text() + ": no linnet-info --serve of this release answers there";
    } else if (reply.error[0] != 0 || !end.know(reply.name)) {
        finding.error = "at the peer: " + std::string{reply.error[0] != 0 ? reply.error.data() : "a name that is none"};
    } else if (!measure(end, finding)) {
        finding.error = end.error().empty() ? "a message did not arrive" : end.error();
    }
    return finding;
}

std::string serve_peers(std::uint16_t port, const std::function<void(const std::string&)>& say)
{
    std::array<SocketOrError, 2> listeners{tcp_listen(InetAddress::v4({}, port), 16), tcp_listen(InetAddress::v6({}, port), 16)};
    for (const SocketOrError& l : listeners) {
        if (l.error == EADDRINUSE || l.error == EACCES || (listeners[0].error != 0 && listeners[1].error != 0)) {
            return "port " + std::to_string(port) + ": " + errno_text(l.error);
        }
    }
    say("serving at port " + std::to_string(port));
    for (;;) {
        std::array<::pollfd, 2> wait{::pollfd{listeners[0].fd.get(), POLLIN, 0}, ::pollfd{listeners[1].fd.get(), POLLIN, 0}};   // -1: none
        if (::poll(wait.data(), wait.size(), -1) < 0 && errno != EINTR) {
            return errno_text(errno);
        }
        for (const ::pollfd& w : wait) {
            if ((w.revents & POLLIN) == 0) {
                continue;
            }
            const SocketOrError s = tcp_accept(w.fd);
            if (s.error != 0) {
                continue;
            }
            const std::string from = peer_address(s.fd.get()).text();
            if (const auto transport = answer(s.fd.get())) {
                say(from + ": " + *transport);
            }
        }
    }
}

}   // namespace linnet::tools

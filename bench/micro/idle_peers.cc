// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What idle peers cost a pair: half a round trip of 8 B between two processes that have 0, 126 or 1000 other peers each, without a host.
//
// Every peer is a context of its own, with an exchange of hellos and a message each way with both ends of the pair, so that all that belongs to a connected
// peer is there. The peers of a pair live in a few processes, whose threads sleep while the pair is measured: what is seen is what peers cost because they are
// known, not what their processes would take of this machine. With --event-threads they have their event threads, and that is seen, too.
//
// For each number of peers there is a pair. The pairs exist at the same time and take turns of a tenth of a second, so that a machine whose speed changes is
// equally fast for all of them. Ends and peers enter the network namespaces that --nets names (tests/lab/lab):
//
//     lab up -n demo --hosts 3; idle_peers --nets linnet.demo.h0,linnet.demo.h1,linnet.demo.h2 --transports udp
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <vector>

#include "capi/linnet.h"

namespace {

using Clock = std::chrono::steady_clock;
using Seconds = std::chrono::duration<double>;

constexpr std::size_t kBytes = 8;
constexpr unsigned kBatch = 100;         // round trips between two looks at the clock
constexpr unsigned kMostBatches = 4096;  // of a turn
constexpr unsigned kMostCounters = 256;
constexpr unsigned kMostPairs = 16;
constexpr unsigned kEnds = 2;
constexpr unsigned kMostPeers = 4096;
constexpr unsigned kPeersOfAProcess = 400;   // each takes some twenty descriptors
constexpr unsigned kLimit = 400;   // seconds
constexpr std::uint32_t kSpace = 1;
constexpr std::uint64_t kPingPong = 7, kMeet = 8;

struct Options {
    std::vector<std::string> nets;
    std::vector<unsigned> peers{0, 126, 1000};
    std::string transports = "udp";
    unsigned turns = 20;
    Seconds turn{0.1};
    bool event_threads = false;   // of the peers
    bool local_ranks = false;     // as in a job of two hosts with half of the peers on each
    std::vector<std::pair<std::string, std::string>> settings;
};

[[noreturn]] void fail(const std::string& what)
{
    std::fprintf(stderr, "idle_peers: %s\n", what.c_str());
    std::_Exit(1);
}

[[noreturn]] void fail_errno(const std::string& what) { fail(what + ": " + std::strerror(errno)); }

// ---- what the processes of a pair share ----

struct Pair {
    std::array<int, 2> orders[kEnds];   // pipes: a turn begins; the end of the pipe is the end of the process
    std::array<int, 2> answers[kEnds];
    std::atomic<bool> named[kEnds]{};
    std::atomic<unsigned> peers_named{0};
    std::atomic<unsigned> met{0};       // ends that have heard of all peers
    std::atomic<unsigned> peers_sleep{0};
    linnet_name_t ends[kEnds];
    std::atomic<std::uint64_t> messages{0};
    std::uint64_t counters[kMostCounters];   // of end 0, what the turns added
    unsigned batches{0};                     // of the newest turn
    double half_round_trip[kMostBatches];
    linnet_name_t peers[kMostPeers];
};

// Bounded: whoever waits for a process that died fails, and so does all.
void await(const char* what, const std::function<bool()>& there)
{
    const auto until = Clock::now() + std::chrono::seconds{120};
    while (!there()) {
        if (Clock::now() > until) {
            fail(std::string{"waited in vain for "} + what);
        }
        ::usleep(200);
    }
}

// ---- one context ----

struct Context {
    linnet_context_t* context{nullptr};
    linnet_request_t send{};
    linnet_request_t receive{};
    unsigned received{0};
    std::array<unsigned char, kBytes> out{};
    std::array<unsigned char, kBytes> in{};
};

void on_received(linnet_request_t*, void* arg) noexcept { ++static_cast<Context*>(arg)->received; }
void on_sent(linnet_request_t*, void*) noexcept {}

void open(Context& c, const Options& o, unsigned peers, bool event_thread)
{
    std::vector<linnet_setting_t> settings{
        {"transports", o.transports.c_str()}, {"event_thread", event_thread ? "on" : "off"}, {"log_level", "error"}};
    for (const auto& [name, value] : o.settings) {
        settings.push_back({name.c_str(), value.c_str()});
    }
    linnet_open_options_t options{};
    options.size = sizeof options;
    options.settings = settings.data();
    options.setting_count = settings.size();
    options.wild_mask = 0x7fffffff;
    options.label = "idle_peers";
    options.local_ranks = o.local_ranks ? 1 + peers / kEnds : 0;
    if (linnet_context_open(&options, &c.context) != LINNET_OK) {
        fail("no context");
    }
}

linnet_peer_t add(Context& c, const linnet_name_t& name)
{
    linnet_peer_t peer{};
    if (linnet_peer_add(c.context, &name, &peer) != LINNET_OK) {
        fail("a name was refused");
    }
    return peer;
}

void post(Context& c, linnet_peer_t from, std::uint64_t tag)
{
    linnet_recv_t r{};
    r.peer = from;
    r.space = kSpace;
    r.match_bits = tag;
    r.data.base = c.in.data();
    r.data.length = kBytes;
    r.done = on_received;
    r.done_arg = &c;
    const linnet_status_t s = linnet_tag_recv(c.context, &r, &c.receive);
    if (s == LINNET_OK) {
        ++c.received;
    } else if (s != LINNET_IN_PROGRESS) {
        fail("a receive was not posted");
    }
}

void send(Context& c, linnet_peer_t to, std::uint64_t tag)
{
    linnet_send_t s{};
    s.peer = to;
    s.space = kSpace;
    s.match_bits = tag;
    s.flags = LINNET_SEND_COPY;
    s.data.base = c.out.data();
    s.data.length = kBytes;
    s.done = on_sent;
    linnet_status_t status = LINNET_ERR_NO_RESOURCE;
    while ((status = linnet_tag_send(c.context, &s, &c.send)) == LINNET_ERR_NO_RESOURCE) {
        linnet_progress(c.context, 0, 0);
    }
    if (status < LINNET_OK) {
        fail(std::string{"a message could not be sent: "} + linnet_status_text(status));
    }
    if (status == LINNET_IN_PROGRESS) {   // the link opens first, or it would have to be kept
        await("a message to leave", [&c] {
            linnet_progress(c.context, 0, 0);
            return linnet_context_flush(c.context, 1'000'000) == LINNET_OK;
        });
    }
}

// ---- the processes ----

void enter(const Options& o, unsigned which)
{
    if (o.nets.empty()) {
        return;
    }
    const std::string path = "/run/netns/" + o.nets[std::min<std::size_t>(which, o.nets.size() - 1)];
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0 || ::setns(fd, CLONE_NEWNET) != 0) {
        fail_errno(path);
    }
    ::close(fd);
}

void pin(unsigned core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(core, &set);
    static_cast<void>(::sched_setaffinity(0, sizeof set, &set));   // a machine with one core
}

// Some of the peers of a pair: each answers both ends, and sleeps.
void be_peers(Pair& p, const Options& o, unsigned all_of_them, unsigned first, unsigned count)
{
    enter(o, kEnds);
    std::vector<std::unique_ptr<Context>> peers;
    for (unsigned i = 0; i < count; ++i) {
        peers.push_back(std::make_unique<Context>());
        open(*peers.back(), o, all_of_them, o.event_threads);
        if (linnet_context_name(peers.back()->context, &p.peers[first + i]) != LINNET_OK) {
            fail("no name");
        }
    }
    p.peers_named.fetch_add(count);
    await("the ends", [&p] { return p.named[0].load() && p.named[1].load(); });
    for (const auto& c : peers) {
        for (const linnet_name_t& end : p.ends) {
            add(*c, end);
        }
        post(*c, LINNET_PEER_ANY, kMeet);
    }
    std::vector<unsigned> answered(count, 0);
    await("messages of both ends", [&] {
        bool all = true;
        for (unsigned i = 0; i < count; ++i) {
            Context& c = *peers[i];
            linnet_progress(c.context, 0, 0);
            if (answered[i] < c.received) {
                const linnet_peer_t from = c.receive.result.peer;
                if (++answered[i] < kEnds) {
                    post(c, LINNET_PEER_ANY, kMeet);
                }
                send(c, from, kMeet);
            }
            all = all && answered[i] == kEnds;
        }
        return all;
    });
    // Acknowledgements and goodbyes of openings are over soon; then nothing is to be said for `peer_timeout`.
    for (const auto until = Clock::now() + std::chrono::milliseconds{1500}; Clock::now() < until || p.met.load() < kEnds;) {
        for (const auto& c : peers) {
            linnet_progress(c->context, 0, 0);
        }
        ::usleep(500);
    }
    p.peers_sleep.fetch_add(count);
    for (;;) {
        ::pause();
    }
}

void read_counters(linnet_context_t* context, std::uint64_t* out, bool add)
{
    for (unsigned i = 0; i < kMostCounters; ++i) {
        std::uint64_t value = 0;
        if (linnet_counter_read(context, i, &value) != LINNET_OK) {
            return;
        }
        out[i] = add ? out[i] + value : out[i] - value;
    }
}

// One message there and one back. The last of a turn has a zero: the other end, which answers, stops.
void ping(Context& c, linnet_peer_t other, bool goes_on)
{
    c.out[0] = static_cast<unsigned char>(goes_on ? 1 + (c.out[0] & 0x7f) : 0);
    const unsigned before = c.received;
    post(c, other, kPingPong);
    send(c, other, kPingPong);
    while (c.received == before) {
        linnet_progress(c.context, 0, LINNET_MAY_SLEEP);
    }
    if (c.in != c.out) {
        fail("a message came wrong");
    }
}

void measure(Pair& p, Context& c, linnet_peer_t other, Seconds turn)
{
    read_counters(c.context, p.counters, false);
    std::uint64_t messages = 0;
    p.batches = 0;
    const auto begin = Clock::now();
    for (auto now = begin; now - begin < turn && p.batches < kMostBatches;) {
        for (unsigned i = 0; i < kBatch; ++i) {
            ping(c, other, true);
        }
        const auto after = Clock::now();
        p.half_round_trip[p.batches++] = Seconds{after - now}.count() / (2 * kBatch);
        messages += 2 * kBatch;
        now = after;
    }
    read_counters(c.context, p.counters, true);
    ping(c, other, false);
    p.messages.fetch_add(messages);
}

void answer(Context& c, linnet_peer_t other)
{
    do {
        const unsigned before = c.received;
        post(c, other, kPingPong);
        while (c.received == before) {
            linnet_progress(c.context, 0, LINNET_MAY_SLEEP);
        }
        c.out = c.in;
        send(c, other, kPingPong);
    } while (c.in[0] != 0);
}

void be_end(Pair& p, const Options& o, unsigned count, unsigned number)
{
    enter(o, number);
    pin(number);
    Context c;
    open(c, o, count, true);
    if (linnet_context_name(c.context, &p.ends[number]) != LINNET_OK) {
        fail("no name");
    }
    p.named[number].store(true);
    await("the other end and the peers", [&p, number, count] { return p.named[1 - number].load() && p.peers_named.load() == count; });
    const linnet_peer_t other = add(c, p.ends[1 - number]);
    for (unsigned i = 0; i < count; ++i) {
        const linnet_peer_t peer = add(c, p.peers[i]);
        const unsigned before = c.received;
        post(c, peer, kMeet);
        send(c, peer, kMeet);
        await("a peer's answer", [&] {
            linnet_progress(c.context, 0, 0);
            return c.received != before;
        });
    }
    p.met.fetch_add(1);
    char order = 0;
    while (::read(p.orders[number][0], &order, 1) == 1) {
        number == 0 ? measure(p, c, other, o.turn) : answer(c, other);
        if (::write(p.answers[number][1], &order, 1) != 1) {
            break;
        }
    }
    std::_Exit(0);   // nobody is left to say goodbye to
}

// ---- the program ----

pid_t start(const std::function<void()>& be)
{
    const pid_t pid = ::fork();
    if (pid < 0) {
        fail_errno("fork");
    }
    if (pid == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        be();
        std::_Exit(0);
    }
    return pid;
}

double median(std::vector<double> v)
{
    std::sort(v.begin(), v.end());
    return v.empty() ? 0 : v[v.size() / 2];
}

struct Running {
    unsigned count{0};
    Pair* pair{nullptr};
    std::vector<pid_t> processes;
    std::vector<double> medians, ratios;   // of each turn; to the first pair's in the same round
};

Running make_pair(const Options& o, unsigned count)
{
    void* const memory = ::mmap(nullptr, sizeof(Pair), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        fail_errno("mmap");
    }
    if (count > kMostPeers) {
        fail("too many peers");
    }
    Running r;
    r.count = count;
    r.pair = new (memory) Pair{};
    for (unsigned end = 0; end < kEnds; ++end) {
        if (::pipe(r.pair->orders[end].data()) != 0 || ::pipe(r.pair->answers[end].data()) != 0) {
            fail_errno("pipe");
        }
    }
    Pair& p = *r.pair;
    for (unsigned first = 0; first < count; first += kPeersOfAProcess) {
        r.processes.push_back(start([&, first] { be_peers(p, o, count, first, std::min(kPeersOfAProcess, count - first)); }));
    }
    for (unsigned end = 0; end < kEnds; ++end) {
        r.processes.push_back(start([&, end] { be_end(p, o, count, end); }));
    }
    const auto is_over = [](pid_t process) { return ::waitpid(process, nullptr, WNOHANG) == process; };
    const auto died = [&] { return std::any_of(r.processes.begin(), r.processes.end(), is_over); };
    await("all peers to be connected", [&] { return died() || (p.peers_sleep.load() == count && p.met.load() == kEnds); });
    if (p.peers_sleep.load() != count || p.met.load() != kEnds) {
        fail("a process ended");
    }
    return r;
}

void take_turn(Running& r)
{
    char word = 1;
    for (const unsigned end : {1u, 0u}) {
        if (::write(r.pair->orders[end][1], &word, 1) != 1) {
            fail_errno("write");
        }
    }
    for (unsigned end = 0; end < kEnds; ++end) {
        if (::read(r.pair->answers[end][0], &word, 1) != 1) {
            fail("an end is gone");
        }
    }
    r.medians.push_back(median({r.pair->half_round_trip, r.pair->half_round_trip + r.pair->batches}));
}

void show(std::vector<Running>& all, const Options& o)
{
    std::printf("%s, peers %s, %u turns of %.2f s; median of the turns, and of their ratios to the first column's\n", o.transports.c_str(),
                o.event_threads ? "with event threads" : "asleep", o.turns, o.turn.count());
    std::printf("%-34s", "peers");
    for (const Running& r : all) {
        std::printf("%12u", r.count);
    }
    std::printf("\n%-34s", "8 B half round trip, us");
    for (const Running& r : all) {
        std::printf("%12.3f", 1e6 * median(r.medians));
    }
    std::printf("\n%-34s", "ratio");
    for (const Running& r : all) {
        std::printf("%12.3f", median(r.ratios));
    }
    std::printf("\nfor each 1000 messages, at one end:\n");
    linnet_counter_info_t info{};
    for (unsigned i = 0; i < kMostCounters && linnet_counter_describe(i, &info) == LINNET_OK; ++i) {
        if (std::none_of(all.begin(), all.end(), [i](const Running& r) { return 1000 * r.pair->counters[i] >= r.pair->messages.load(); })) {
            continue;
        }
        std::printf("%-34s", info.name);
        for (const Running& r : all) {
            std::printf("%12.1f", 1e3 * static_cast<double>(r.pair->counters[i]) / static_cast<double>(std::max<std::uint64_t>(r.pair->messages.load(), 1)));
        }
        std::printf("\n");
    }
}

std::vector<std::string> words(std::string_view list)
{
    std::vector<std::string> out;
    while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        out.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
    }
    return out;
}

Options parse(int argc, char** argv)
{
    constexpr const char* kUsage =
        "usage: idle_peers [--nets A,B,PEERS] [--peers 0,126,1000] [--transports LIST] [--turns N] [--seconds OF-A-TURN] [--event-threads] [--local-ranks] "
        "[--set NAME=VALUE]...";
    Options o;
    for (int i = 1; i < argc; ++i) {
        const std::string_view option = argv[i];
        if (option == "--event-threads") {
            o.event_threads = true;
            continue;
        }
        if (option == "--local-ranks") {
            o.local_ranks = true;
            continue;
        }
        if (i + 1 == argc) {
            fail(kUsage);
        }
        const std::string value = argv[++i];
        if (option == "--nets") {
            o.nets = words(value);
        } else if (option == "--peers") {
            o.peers.clear();
            for (const std::string& w : words(value)) {
                o.peers.push_back(static_cast<unsigned>(std::strtoul(w.c_str(), nullptr, 10)));
            }
        } else if (option == "--transports") {
            o.transports = value;
        } else if (option == "--turns") {
            o.turns = static_cast<unsigned>(std::strtoul(value.c_str(), nullptr, 10));
        } else if (option == "--seconds") {
            o.turn = Seconds{std::strtod(value.c_str(), nullptr)};
        } else if (option == "--set" && value.find('=') != std::string::npos) {
            o.settings.emplace_back(value.substr(0, value.find('=')), value.substr(value.find('=') + 1));
        } else {
            fail(kUsage);
        }
    }
    if (o.peers.empty() || o.peers.size() > kMostPairs || o.turns == 0) {
        fail(kUsage);
    }
    return o;
}

}   // namespace

int main(int argc, char** argv)
{
    const Options o = parse(argc, argv);
    ::alarm(kLimit);   // and with this process go all others
    ::rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        static_cast<void>(::setrlimit(RLIMIT_NOFILE, &files));
    }
    std::vector<Running> all;
    for (const unsigned count : o.peers) {
        all.push_back(make_pair(o, count));
    }
    for (Running& r : all) {   // lanes have settled where they stay
        take_turn(r);
        take_turn(r);
        std::fill_n(r.pair->counters, kMostCounters, 0);
        r.pair->messages.store(0);
        r.medians.clear();
    }
    for (unsigned turn = 0; turn < o.turns; ++turn) {
        for (std::size_t k = 0; k < all.size(); ++k) {
            take_turn(all[(turn + k) % all.size()]);
        }
        for (Running& r : all) {
            r.ratios.push_back(r.medians.back() / all.front().medians.back());
        }
    }
    show(all, o);
    for (const Running& r : all) {
        for (auto p = r.processes.rbegin(); p != r.processes.rend(); ++p) {   // the ends first, which would miss the peers
            ::kill(*p, SIGKILL);
            static_cast<void>(::waitpid(*p, nullptr, 0));
        }
    }
    return 0;
}

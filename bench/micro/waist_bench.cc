// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What the software takes of a short message, without a host and without a second core: two contexts in one process answer each other on one thread.
//
// A cycle is a message there and one back. Each is: post the receive, send, the progress call that finds the message, up to its completion. The time is that
// of one message; the counters post_ns, send_ns and receive_ns are its parts, with what it takes to read the clock taken off. A part is a function with a name
// that no compiler changes, so that instructions can be counted too:
//
//     valgrind --tool=callgrind --toggle-collect='waist_*' bench/micro/waist_bench --benchmark_filter=shm/8$ --benchmark_min_time=0
//
// Names: transport/bytes. Every message is checked; a wrong one, or one that needs more than a few calls, aborts.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <string>
#include <vector>

#include "capi/linnet.h"
#include "progress/ticks.h"

namespace {

constexpr std::size_t kMaxBytes = 4096;

// One end: its context, the request under way each way, and how many receives are over.
struct End {
    linnet_context_t* context{nullptr};
    linnet_peer_t partner{LINNET_PEER_UNKNOWN};
    linnet_request_t send{};
    linnet_request_t receive{};
    unsigned received{0};
    std::array<unsigned char, kMaxBytes> out{};
    std::array<unsigned char, kMaxBytes> in{};
};

[[noreturn]] void fail(const char* what)
{
    std::fprintf(stderr, "waist_bench: %s\n", what);
    std::abort();
}

void on_received(linnet_request_t*, void* arg) noexcept { ++static_cast<End*>(arg)->received; }
void on_sent(linnet_request_t*, void*) noexcept {}

void post(End& end, std::uint64_t bytes)
{
    linnet_recv_t r{};
    r.peer = end.partner;
    r.space = 1;
    r.match_bits = 7;
    r.data.base = end.in.data();
    r.data.length = bytes;
    r.done = on_received;
    r.done_arg = &end;
    if (linnet_tag_recv(end.context, &r, &end.receive) != LINNET_IN_PROGRESS) {
        fail("a receive was not posted");
    }
}

linnet_status_t send(End& end, std::uint64_t bytes)
{
    linnet_send_t s{};
    s.peer = end.partner;
    s.space = 1;
    s.match_bits = 7;
    s.flags = LINNET_SEND_COPY;
    s.data.base = end.out.data();
    s.data.length = bytes;
    s.done = on_sent;
    return linnet_tag_send(end.context, &s, &end.send);
}

}   // namespace

extern "C" {

[[gnu::noinline]] void waist_post(End& end, std::uint64_t bytes) { post(end, bytes); }

[[gnu::noinline]] void waist_send(End& end, std::uint64_t bytes)
{
    if (send(end, bytes) != LINNET_OK) {
        fail("a message was not sent at once");
    }
}

[[gnu::noinline]] unsigned waist_receive(End& end, unsigned before)
{
    unsigned calls = 0;
    while (end.received == before) {
        ++calls;
        linnet_progress(end.context, 0, LINNET_MAY_SLEEP);
    }
    return calls;
}

}   // extern "C"

namespace {

using linnet::read_ticks;
using linnet::Ticks;

struct Parts {
    Ticks post{0}, send{0}, receive{0};
    std::uint64_t messages{0}, calls{0};
};

void message(End& from, End& to, std::uint64_t bytes, Parts& parts)
{
    from.out[0] = static_cast<unsigned char>(from.out[0] + 1);
    const unsigned before = to.received;
    const Ticks t0 = read_ticks();
    waist_post(to, bytes);
    const Ticks t1 = read_ticks();
    waist_send(from, bytes);
    const Ticks t2 = read_ticks();
    parts.calls += waist_receive(to, before);
    parts.receive += read_ticks() - t2;
    parts.send += t2 - t1;
    parts.post += t1 - t0;
    ++parts.messages;
    if (to.receive.result.status != LINNET_OK || to.receive.result.length != bytes || std::memcmp(from.out.data(), to.in.data(), bytes) != 0) {
        fail("a message came wrong");
    }
}

// Both are short of nothing but time: the first messages open the link, and they come when they come.
void warm_up(End& a, End& b)
{
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds{20};
    for (unsigned i = 0; i < 1000; ++i) {
        End& from = i % 2 == 0 ? a : b;
        End& to = i % 2 == 0 ? b : a;
        const unsigned before = to.received;
        post(to, 8);
        if (send(from, 8) < LINNET_OK) {
            fail("a message could not be sent");
        }
        while (to.received == before) {
            linnet_progress(from.context, 0, 0);
            linnet_progress(to.context, 0, 0);
            if (std::chrono::steady_clock::now() > until) {
                fail("the partners found no way to each other");
            }
        }
    }
}

void open(End& end, const char* transport)
{
    // Its goodbye finds nobody who polls: this thread is both ends.
    const std::array<linnet_setting_t, 5> settings{{{"transports", transport},
                                                    {"net_include", "lo"},
                                                    {"event_thread", "off"},
                                                    {"finalize_timeout", "1ms"},
                                                    {"log_level", "error"}}};
    linnet_open_options_t o{};
    o.size = sizeof o;
    o.settings = settings.data();
    o.setting_count = settings.size();
    o.wild_mask = 0x7fffffff;
    o.label = "waist_bench";
    if (linnet_context_open(&o, &end.context) != LINNET_OK) {
        fail("no context");
    }
}

void meet(End& a, const End& b)
{
    linnet_name_t name{};
    if (linnet_context_name(b.context, &name) != LINNET_OK || linnet_peer_add(a.context, &name, &a.partner) != LINNET_OK) {
        fail("a name was refused");
    }
}

void cycle(benchmark::State& state, const char* transport, std::uint64_t bytes)
{
    static End a;
    static End b;
    open(a, transport);
    open(b, transport);
    meet(a, b);
    meet(b, a);
    warm_up(a, b);
    Parts parts;
    const auto begin = std::chrono::steady_clock::now();
    const Ticks first = read_ticks();
    for (auto _ : state) {
        message(a, b, bytes, parts);
        message(b, a, bytes, parts);
    }
    const Ticks all = read_ticks() - first;
    const double ns = std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
    constexpr int kReads = 1000;
    const Ticks reading = [] {
        const Ticks t = read_ticks();
        for (int i = 0; i < kReads; ++i) {
            benchmark::DoNotOptimize(read_ticks());
        }
        return (read_ticks() - t) / kReads;
    }();
    const double per_tick = ns / static_cast<double>(std::max<Ticks>(all, 1)) / static_cast<double>(std::max<std::uint64_t>(parts.messages, 1));
    const auto part = [&](Ticks t) { return static_cast<double>(t - std::min(t, reading * parts.messages)) * per_tick; };
    state.SetItemsProcessed(static_cast<std::int64_t>(parts.messages));
    state.counters["post_ns"] = part(parts.post);
    state.counters["send_ns"] = part(parts.send);
    state.counters["receive_ns"] = part(parts.receive);
    state.counters["calls"] = static_cast<double>(parts.calls) / static_cast<double>(std::max<std::uint64_t>(parts.messages, 1));
    linnet_context_close(a.context);
    linnet_context_close(b.context);
    a = {};
    b = {};
}

}   // namespace

int main(int argc, char** argv)
{
    for (const char* transport : {"shm", "udp", "tcp"}) {
        for (const std::uint64_t bytes : std::initializer_list<std::uint64_t>{0, 8, 64, 256, 1024, 4096}) {
            benchmark::RegisterBenchmark((std::string{transport} + "/" + std::to_string(bytes)).c_str(),
                                         [transport, bytes](benchmark::State& state) { cycle(state, transport, bytes); });
        }
    }
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 2;
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// How long a thread that wants to run may wait for a core, where threads that outnumber the cores give theirs away often. Nothing of Linnet is in it.
//
// Processes with some threads each; a thread works for a moment, gives its core away, and looks at the clock. What it waited is the time from one look to the
// next, and the longest counts. With --sessions each process is a session of its own, as the launcher of MPICH starts its ranks: a group to the scheduler,
// where kernel.sched_autogroup_enabled is 1 (sched(7)), and so are the processes of a container.
//
// One line of JSON: milliseconds, the longest wait of the process that had the longest, and the median over the processes. --most-ms N: exit status 1 if one
// waited for longer. See docs/performance/shared-cores.md.
#include <getopt.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

enum class Way { kCompute, kYield, kSleep };

struct Options {
    Way way{Way::kSleep};
    const char* way_text{"sleep"};
    unsigned processes{12};
    unsigned threads{3};
    double seconds{10};
    unsigned nap_us{1};
    bool sessions{false};
    bool lock{false};       // one of the threads of a process works and gives way at a time
    double most_ms{0};      // 0: no limit
};

constexpr char kUsage[] =
    "How long a thread that wants to run may wait for a core that others give away often.\n"
    "Usage: core_wait [OPTIONS]\n\n"
    "  --way compute|yield|sleep   how a thread gives its core away (sleep)\n"
    "  --nap US                    a sleep lasts so many microseconds, and what the timer adds (1)\n"
    "  --processes N, --threads N  so many, with so many threads each (12, 3)\n"
    "  --sessions                  each process is a session of its own\n"
    "  --lock                      the threads of a process take turns by a mutex\n"
    "  --seconds S                 for so long (10)\n"
    "  --most-ms MS                exit status 1 if a thread waited for longer\n";

[[noreturn]] void refuse(const char* option, const char* value)
{
    std::fprintf(stderr, "core_wait: --%s %s: not possible; see --help\n", option, value);
    std::exit(2);
}

double positive(const char* option, const char* text, double most)
{
    char* end = nullptr;
    const double value = std::strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0) || value > most) {
        refuse(option, text);
    }
    return value;
}

Options parse(int argc, char** argv)
{
    constexpr option kOptions[] = {{"way", required_argument, nullptr, 'w'},     {"nap", required_argument, nullptr, 'n'},
                                   {"processes", required_argument, nullptr, 'p'}, {"threads", required_argument, nullptr, 't'},
                                   {"sessions", no_argument, nullptr, 's'},      {"lock", no_argument, nullptr, 'l'},
                                   {"seconds", required_argument, nullptr, 'S'}, {"most-ms", required_argument, nullptr, 'm'},
                                   {"help", no_argument, nullptr, 'h'},          {nullptr, 0, nullptr, 0}};
    Options o;
    for (int c = 0; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
        switch (c) {
            case 'w':
                o.way_text = optarg;
                if (std::strcmp(optarg, "compute") != 0 && std::strcmp(optarg, "yield") != 0 && std::strcmp(optarg, "sleep") != 0) {
                    refuse("way", optarg);
                }
                o.way = *optarg == 'c' ? Way::kCompute : *optarg == 'y' ? Way::kYield : Way::kSleep;
                break;
            case 'n': o.nap_us = static_cast<unsigned>(positive("nap", optarg, 1e6)); break;
            case 'p': o.processes = static_cast<unsigned>(positive("processes", optarg, 1024)); break;
            case 't': o.threads = static_cast<unsigned>(positive("threads", optarg, 64)); break;
            case 's': o.sessions = true; break;
            case 'l': o.lock = true; break;
            case 'S': o.seconds = positive("seconds", optarg, 3600); break;
            case 'm': o.most_ms = positive("most-ms", optarg, 1e6); break;
            case 'h': std::fputs(kUsage, stdout); std::exit(0);
            default: std::exit(2);   // which getopt_long() has explained
        }
    }
    if (optind != argc) {
        std::fprintf(stderr, "core_wait: %s: no such option; see --help\n", argv[optind]);
        std::exit(2);
    }
    return o;
}

void give_way(const Options& o)
{
    switch (o.way) {
        case Way::kCompute: break;
        case Way::kYield: ::sched_yield(); break;
        case Way::kSleep: std::this_thread::sleep_for(std::chrono::microseconds{o.nap_us}); break;
    }
}

// Milliseconds.
double longest_wait(const Options& o, Clock::time_point end, std::mutex& turn)
{
    constexpr auto kWork = std::chrono::nanoseconds{300};
    Clock::duration longest{0};
    for (Clock::time_point last = Clock::now(); last < end;) {
        while (Clock::now() - last < kWork) {
        }
        if (o.lock) {
            const std::lock_guard guard{turn};
            give_way(o);
        } else {
            give_way(o);
        }
        const Clock::time_point now = Clock::now();
        longest = std::max(longest, now - last);
        last = now;
    }
    return std::chrono::duration<double, std::milli>(longest).count();
}

double be_process(const Options& o)
{
    std::vector<double> waits(o.threads);
    std::vector<std::thread> threads;
    std::mutex turn;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(o.seconds));
    for (double& wait : waits) {
        threads.emplace_back([&o, &wait, &turn, end] { wait = longest_wait(o, end, turn); });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    return *std::max_element(waits.begin(), waits.end());
}

// The longest wait of each process. Fewer than were asked for: one could not be started, or died.
std::vector<double> measure(const Options& o)
{
    int ends[2];
    if (::pipe(ends) != 0) {
        std::perror("core_wait: pipe");
        std::exit(2);
    }
    unsigned started = 0;
    for (; started < o.processes; ++started) {
        const pid_t child = ::fork();
        if (child < 0) {
            std::perror("core_wait: fork");
            break;
        }
        if (child == 0) {
            if (o.sessions) {
                ::setsid();
            }
            const double wait = be_process(o);
            std::_Exit(::write(ends[1], &wait, sizeof wait) == static_cast<ssize_t>(sizeof wait) ? 0 : 1);
        }
    }
    ::close(ends[1]);
    std::vector<double> waits;
    for (double wait = 0; ::read(ends[0], &wait, sizeof wait) == static_cast<ssize_t>(sizeof wait);) {
        waits.push_back(wait);
    }
    while (::wait(nullptr) > 0) {
    }
    return waits;
}

}   // namespace

int main(int argc, char** argv)
{
    const Options o = parse(argc, argv);
    std::vector<double> waits = measure(o);
    if (waits.size() != o.processes) {
        std::fprintf(stderr, "core_wait: only %zu of %u processes reported\n", waits.size(), o.processes);
        return 2;
    }
    std::sort(waits.begin(), waits.end());
    std::printf("{\"bench\": \"core_wait\", \"way\": \"%s\", \"nap_us\": %u, \"processes\": %u, \"threads\": %u, \"sessions\": %s, \"lock\": %s, "
                "\"longest_ms\": %.1f, \"median_ms\": %.1f}\n",
                o.way_text, o.nap_us, o.processes, o.threads, o.sessions ? "true" : "false", o.lock ? "true" : "false", waits.back(), waits[waits.size() / 2]);
    return o.most_ms > 0 && waits.back() > o.most_ms ? 1 : 0;
}

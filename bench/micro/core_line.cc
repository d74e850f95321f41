// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// How long a line of memory takes from one core to another. Nothing of Linnet is in it.
//
// Two threads, each on a core of its own, take turns on one word. A hypervisor may put two virtual processors on one core complex or on two, and move them
// while they sleep; what a message through shared memory takes then differs by a factor of two or more. See docs/benchmarks.md.
//
// One line: nanoseconds one way, the median of batches of a thousand round trips, so that what interrupts a batch does not count. Exit status 2: wrong use,
// or a core that this process may not use.
#include <getopt.h>
#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;

struct Options {
    int cores[2]{0, 1};
    double seconds{0.05};
};

constexpr char kUsage[] =
    "How long a line of memory takes from one core to another: nanoseconds one way.\n"
    "Usage: core_line [OPTIONS]\n\n"
    "  --cores A,B    these two (0,1)\n"
    "  --seconds S    for so long (0.05)\n";

[[noreturn]] void refuse(const char* option, const char* value)
{
    std::fprintf(stderr, "core_line: --%s %s: not possible; see --help\n", option, value);
    std::exit(2);
}

Options parse(int argc, char** argv)
{
    constexpr option kOptions[] = {{"cores", required_argument, nullptr, 'c'},
                                   {"seconds", required_argument, nullptr, 's'},
                                   {"help", no_argument, nullptr, 'h'},
                                   {nullptr, 0, nullptr, 0}};
    Options o;
    for (int c = 0; (c = getopt_long(argc, argv, "", kOptions, nullptr)) != -1;) {
        char rest = 0;
        switch (c) {
            case 'c':
                if (std::sscanf(optarg, "%d,%d%c", &o.cores[0], &o.cores[1], &rest) != 2 || o.cores[0] == o.cores[1]) {
                    refuse("cores", optarg);
                }
                break;
            case 's':
                if (std::sscanf(optarg, "%lf%c", &o.seconds, &rest) != 1 || !(o.seconds > 0) || o.seconds > 3600) {
                    refuse("seconds", optarg);
                }
                break;
            case 'h': std::fputs(kUsage, stdout); std::exit(0);
            default: std::exit(2);   // which getopt_long() has explained
        }
    }
    if (optind != argc) {
        std::fprintf(stderr, "core_line: %s: no such option; see --help\n", argv[optind]);
        std::exit(2);
    }
    return o;
}

void stay_on(int core)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    const bool possible = core >= 0 && core < CPU_SETSIZE;
    if (possible) {
        CPU_SET(static_cast<unsigned>(core), &set);
    }
    if (const int error = possible ? ::pthread_setaffinity_np(::pthread_self(), sizeof set, &set) : EINVAL; error != 0) {
        std::fprintf(stderr, "core_line: core %d: %s\n", core, std::strerror(error));
        std::exit(2);
    }
}

// Nanoseconds one way, of each batch.
class Line {
public:
    std::vector<double> measure(const Options& o)
    {
        std::thread other{[this, &o] {
            stay_on(o.cores[1]);
            answer();
        }};
        stay_on(o.cores[0]);
        constexpr unsigned kBatch = 1000;
        std::vector<double> batches;
        unsigned long turn = 0;
        const auto round = [this, &turn] {
            word_.store(turn + 1, std::memory_order_release);   // ours are odd
            turn += 2;
            while (word_.load(std::memory_order_acquire) != turn) {
            }
        };
        round();   // the other is there
        const Clock::time_point end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(o.seconds));
        Clock::time_point last = Clock::now();
        do {
            for (unsigned i = 0; i < kBatch; ++i) {
                round();
            }
            const Clock::time_point now = Clock::now();
            batches.push_back(std::chrono::duration<double, std::nano>(now - last).count() / (2 * kBatch));
            last = now;
        } while (last < end);
        word_.store(kOver, std::memory_order_release);
        other.join();
        return batches;
    }

private:
    static constexpr unsigned long kOver = ~0ul;

    void answer()
    {
        for (unsigned long seen = 0;;) {
            const unsigned long now = word_.load(std::memory_order_acquire);
            if (now == kOver) {
                return;
            }
            if (now != seen) {
                seen = now + 1;
                word_.store(seen, std::memory_order_release);
            }
        }
    }

    alignas(128) std::atomic<unsigned long> word_{0};   // a line for itself, and its neighbour, which some processors fetch along
};

}   // namespace

int main(int argc, char** argv)
{
    const Options o = parse(argc, argv);
    static Line line;
    std::vector<double> batches = line.measure(o);
    const auto middle = batches.begin() + static_cast<std::ptrdiff_t>(batches.size() / 2);
    std::nth_element(batches.begin(), middle, batches.end());
    std::printf("%.1f\n", *middle);
    return 0;
}

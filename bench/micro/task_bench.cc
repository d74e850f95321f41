// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What an empty task costs: offered, taken and done, per level of the tree of queues; PIOMan's tables 1 and 2.
//
// The thread on the first core offers a task to the queue of each level around it and polls until it is done, as do the threads on all other cores, or none.
// One line of JSON per level and number of pollers: nanoseconds per task, over batches, n, median, median absolute deviation, minimum, maximum. `other` is
// the part of the tasks that another core took.
//
// --check: exit status 1 if a median misses its target: 300 ns in the queue of a core, and twice that in the machine's with every core polling. Exit status
// 2 if a task was run never or twice.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "stats/counters.h"
#include "sync/backoff.h"
#include "sys/system_clock.h"
#include "sys/thread.h"
#include "task/task_tree.h"

namespace linnet {
namespace {

constexpr unsigned kBatch = 2000;
constexpr unsigned kBatches = 41;
constexpr double kCoreTargetNs = 300;
constexpr double kMachineTargetNs = 2 * kCoreTargetNs;

struct Empty : Task {
    Empty() : Task{TaskKind::kAnswer, &Empty::body} {}
    static TaskResult body(Task& self, std::uint32_t) noexcept
    {
        auto& me = static_cast<Empty&>(self);
        ++me.runs;
        me.done.store(true, std::memory_order_release);
        return TaskResult::kDone;
    }
    std::uint64_t runs{0};   // handed over by `done` and by the queue
    std::atomic<bool> done{false};
};

struct Line {
    std::string level;
    unsigned pollers{1};
    double median{0}, mad{0}, least{0}, most{0}, other{0};
};

void pin(unsigned cpu)
{
    CpuSet one;
    one.add(cpu);
    if (!set_thread_affinity(one)) {
        std::fprintf(stderr, "task_bench: processor %u cannot be used\n", cpu);
        std::exit(2);
    }
}

double median_of(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// Pollers on `others`; the caller is on `cpu`.
Line measure(TaskTree& tree, Stats& stats, unsigned cpu, QueueIndex queue, const std::vector<unsigned>& others)
{
    std::atomic<bool> end{false};
    std::atomic<unsigned> ready{0};
    std::vector<std::thread> pollers;
    for (const unsigned other : others) {
        pollers.emplace_back([&, other] {
            pin(other);
            ready.fetch_add(1);
            while (!end.load(std::memory_order_relaxed)) {
                tree.run(other, TaskPlace::kEventThread, 1);   // counted apart from ours
                cpu_pause();
            }
        });
    }
    while (ready.load() != others.size()) {
        std::this_thread::yield();
    }
    const std::uint64_t before = stats.total(Counter::kTaskAnswerEventThread);
    Empty task;
    std::vector<double> ns;
    for (unsigned batch = 0; batch <= kBatches; ++batch) {
        const TimePoint start = monotonic_now();
        for (unsigned i = 0; i < kBatch; ++i) {
            task.done.store(false, std::memory_order_relaxed);
            if (!tree.push(task, {queue})) {
                std::fprintf(stderr, "task_bench: an empty queue was full\n");
                std::exit(2);
            }
            while (!task.done.load(std::memory_order_acquire)) {
                tree.run(cpu, TaskPlace::kHost, 1);
            }
        }
        if (batch != 0) {   // the first one warms up
            ns.push_back(static_cast<double>((monotonic_now() - start).count()) / kBatch);
        }
    }
    end = true;
    for (std::thread& poller : pollers) {
        poller.join();
    }
    if (task.runs != std::uint64_t{kBatch} * (kBatches + 1)) {
        std::fprintf(stderr, "task_bench: %llu runs instead of %u\n", static_cast<unsigned long long>(task.runs), kBatch * (kBatches + 1));
        std::exit(2);
    }
    Line line{level_text(tree.topology().nodes()[queue].level), static_cast<unsigned>(others.size()) + 1};
    line.median = median_of(ns);
    std::vector<double> off;
    for (const double value : ns) {
        off.push_back(std::max(value - line.median, line.median - value));
    }
    line.mad = median_of(off);
    line.least = *std::min_element(ns.begin(), ns.end());
    line.most = *std::max_element(ns.begin(), ns.end());
    line.other = static_cast<double>(stats.total(Counter::kTaskAnswerEventThread) - before) / static_cast<double>(task.runs);
    std::printf("{\"bench\": \"task\", \"queue\": \"%s\", \"pollers\": %u, \"n\": %u, \"tasks\": %u, \"median_ns\": %.1f, \"mad_ns\": %.1f, \"min_ns\": %.1f, "
                "\"max_ns\": %.1f, \"other\": %.3f}\n",
                line.level.c_str(), line.pollers, kBatches, kBatch, line.median, line.mad, line.least, line.most, line.other);
    return line;
}

// What every pass of a poller pays when there is nothing to do, and what opening a context pays to read the topology.
void measure_nothing(TaskTree& tree, const Log& log)
{
    constexpr unsigned kLooks = 1'000'000;
    unsigned ran = 0;
    const TimePoint start = monotonic_now();
    for (unsigned i = 0; i < kLooks; ++i) {
        ran += tree.run(current_cpu(), TaskPlace::kHost, 16).total();
    }
    const TimePoint looked = monotonic_now();
    const std::size_t nodes = Topology::read(log).nodes().size();
    const Nanos read = monotonic_now() - looked;
    std::printf("{\"bench\": \"task\", \"queue\": \"none\", \"empty_look_ns\": %.2f, \"topology_us\": %.0f, \"nodes\": %zu}\n",
                static_cast<double>((looked - start).count()) / kLooks, static_cast<double>(read.count()) / 1000, nodes);
    if (ran != 0) {
        std::exit(2);
    }
}

int check(const std::vector<Line>& lines, unsigned cpus)
{
    int missed = 0;
    for (const Line& line : lines) {
        if (line.level == "core" && line.median > kCoreTargetNs) {
            std::printf("MISSED: queue of a core, %u polling: %.0f ns, target %.0f\n", line.pollers, line.median, kCoreTargetNs);
            missed = 1;
        }
        if (line.level == "machine" && line.pollers == cpus && line.median > kMachineTargetNs) {
            std::printf("MISSED: machine's queue, %u polling: %.0f ns, target %.0f\n", cpus, line.median, kMachineTargetNs);
            missed = 1;
        }
    }
    return missed;
}

}   // namespace
}   // namespace linnet

int main(int argc, char** argv)
{
    using namespace linnet;
    const Log log;
    Stats stats;
    const CpuSet mine = process_affinity();
    TaskTree tree{Topology::read(log), stats};
    std::vector<unsigned> cpus;
    for (unsigned cpu = 0; cpu < CpuSet::kCpus; ++cpu) {
        if (mine.has(cpu)) {
            cpus.push_back(cpu);
        }
    }
    pin(cpus.front());
    const std::vector<unsigned> nobody, others{cpus.begin() + 1, cpus.end()};
    measure_nothing(tree, log);
    std::vector<Line> lines;
    for (QueueIndex queue = tree.queue_of(cpus.front());; queue = tree.topology().nodes()[queue].parent) {
        lines.push_back(measure(tree, stats, cpus.front(), queue, nobody));
        if (!others.empty()) {
            lines.push_back(measure(tree, stats, cpus.front(), queue, others));
        }
        if (queue == kMachineQueue) {
            break;
        }
    }
    return argc > 1 && std::strcmp(argv[1], "--check") == 0 ? check(lines, static_cast<unsigned>(cpus.size())) : 0;
}

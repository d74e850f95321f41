// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What a large copy costs by each engine: the calling thread, the calling thread past the cache, out of another process (this one, by CMA), and with a helper
// on an idle core.
//
// The engines take turns, copy by copy, over the same buffers. One line of JSON per size and engine: microseconds, n, median, median absolute deviation,
// minimum, maximum; `caller` is the processor time of the calling thread relative to the time passed, and `helped` the part of the slices that a helper
// took. Exit status 2 if a byte is wrong.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "copy/cpu_copy_engine.h"
#include "copy/task_copy_engine.h"
#include "sys/cache_size.h"
#include "sys/process.h"
#include "sys/system_clock.h"
#include "sys/thread.h"

namespace linnet {
namespace {

constexpr std::size_t kMost = 16u << 20;
constexpr std::size_t kNever = std::size_t{1} << 40;

struct Contender {
    const char* name;
    std::unique_ptr<CopyEngine> engine;
    bool remote{false};
    std::vector<double> us{};
    Nanos cpu{0}, wall{0};
    std::uint64_t helped{0}, slices{0};
};

double median_of(std::vector<double> values)
{
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

using Bytes = std::vector<std::byte>;

bool run(Contender& c, const RemoteProcess& self, const Stats& stats, Bytes& to, const Bytes& from, std::size_t bytes, bool counts)
{
    const std::uint64_t helped = stats.total(Counter::kTaskCopyHelper), waited = stats.total(Counter::kTaskCopyWaiter);
    const CopySource source = c.remote ? CopySource::of(self, reinterpret_cast<std::uintptr_t>(from.data())) : CopySource::own(from.data());
    CopyJob job{bytes};
    CopyPiece piece;
    const Nanos cpu = thread_cpu_time();
    const TimePoint start = monotonic_now();
    c.engine->submit(job, piece, to.data(), source, bytes);
    const Status status = c.engine->wait(job);
    const Nanos wall = monotonic_now() - start;
    if (counts) {
        c.cpu += thread_cpu_time() - cpu;
        c.wall += wall;
        c.us.push_back(static_cast<double>(wall.count()) / 1000);
        c.helped += stats.total(Counter::kTaskCopyHelper) - helped;
        c.slices += stats.total(Counter::kTaskCopyHelper) - helped + stats.total(Counter::kTaskCopyWaiter) - waited;
    }
    return status == Status::kOk && std::memcmp(to.data(), from.data(), bytes) == 0;
}

void print(const Contender& c, std::size_t bytes)
{
    const double median = median_of(c.us);
    std::vector<double> off;
    for (const double value : c.us) {
        off.push_back(std::max(value - median, median - value));
    }
    std::printf("{\"bench\": \"copy\", \"engine\": \"%s\", \"bytes\": %zu, \"n\": %zu, \"median_us\": %.1f, \"mad_us\": %.1f, "
                "\"min_us\": %.1f, \"max_us\": %.1f, \"gb_per_s\": %.2f, \"caller\": %.2f, \"helped\": %.2f}\n",
                c.name, bytes, c.us.size(), median, median_of(off), *std::min_element(c.us.begin(), c.us.end()), *std::max_element(c.us.begin(), c.us.end()),
                static_cast<double>(bytes) / median / 1000, static_cast<double>(c.cpu.count()) / static_cast<double>(c.wall.count()),
                c.slices != 0 ? static_cast<double>(c.helped) / static_cast<double>(c.slices) : 0.0);
}

}   // namespace
}   // namespace linnet

int main()
{
    using namespace linnet;
    const Log log;
    const SystemClock clock;
    Stats stats;
    TaskTree tree{Topology::read(log), stats};
    IdleHelpers helpers{tree, {4, 1, {}, true}, clock, log};
    const RemoteProcess self{process_id()};
    const std::size_t share = last_level_cache_share();
    std::fprintf(stderr, "share of the cache: %zu KiB; at most %u helpers\n", share / 1024, (static_cast<void>(helpers.useful()), helpers.allowed()));
    std::vector<std::byte> from(kMost), to(kMost);
    for (std::size_t bytes = 64 * 1024; bytes <= kMost; bytes *= 4) {
        std::vector<Contender> contenders;
        contenders.push_back({"cpu", std::make_unique<CpuCopyEngine>(kNever)});
        contenders.push_back({"cpu past the cache", std::make_unique<CpuCopyEngine>(0)});
        contenders.push_back({"cma", std::make_unique<CpuCopyEngine>(kNever), true});
        contenders.push_back({"tasks", std::make_unique<TaskCopyEngine>(tree, helpers, kNever, 1)});
        contenders.push_back({"tasks, cma", std::make_unique<TaskCopyEngine>(tree, helpers, kNever, 1), true});
        const std::size_t rounds = std::clamp<std::size_t>((std::size_t{256} << 20) / bytes, 31, 301);
        for (std::size_t round = 0; round <= rounds; ++round) {
            std::memset(from.data(), static_cast<int>(round), bytes);
            for (Contender& c : contenders) {
                if (!run(c, self, stats, to, from, bytes, round != 0)) {
                    std::fprintf(stderr, "copy_bench: %s copied wrongly\n", c.name);
                    return 2;
                }
            }
        }
        for (const Contender& c : contenders) {
            print(c, bytes);
        }
    }
    return 0;
}

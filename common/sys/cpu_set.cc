// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// CpuSet: its text; sched_getaffinity(2), sched_setaffinity(2).
#include "sys/cpu_set.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>

namespace linnet {
namespace {

// The kernel's mask may be longer than ours: it refuses a buffer that is too small for its own number of processors.
constexpr std::size_t kKernelCpus = 16384;
using Word = unsigned long;   // the kernel's, of which cpu_set_t is made
constexpr std::size_t kWordBits = 8 * sizeof(Word);

// Allocates nothing: helpers ask, and a thread that is stopped in malloc() may hold a lock of it. Empty: the kernel did not tell.
CpuSet told_affinity(::pid_t thread) noexcept
{
    CpuSet result;
    std::array<Word, kKernelCpus / kWordBits> words{};
    if (::sched_getaffinity(thread, sizeof words, reinterpret_cast<cpu_set_t*>(words.data())) == 0) {
        for (std::size_t i = 0; i < CpuSet::kCpus / kWordBits; ++i) {
            for (Word word = words[i]; word != 0; word &= word - 1) {
                result.add(static_cast<unsigned>(i * kWordBits) + static_cast<unsigned>(std::countr_zero(word)));
            }
        }
    }
    return result;
}

CpuSet affinity_of(::pid_t thread) noexcept
{
    CpuSet result = told_affinity(thread);
    if (result.empty()) {
        result = CpuSet::range(0, static_cast<unsigned>(std::clamp(::sysconf(_SC_NPROCESSORS_ONLN), 1L, static_cast<long>(CpuSet::kCpus))));
    }
    return result;
}

}   // namespace

std::string CpuSet::text() const
{
    std::string out;
    for (unsigned cpu = 0; cpu < kCpus; ++cpu) {
        if (!has(cpu)) {
            continue;
        }
        unsigned last = cpu;
        while (has(last + 1)) {
            ++last;
        }
        out += (out.empty() ? "" : ",") + std::to_string(cpu) + (last != cpu ? "-" + std::to_string(last) : "");
        cpu = last;
    }
    return out;
}

CpuSet process_affinity() noexcept { return affinity_of(::getpid()); }

CpuSet thread_affinity(std::uint32_t thread) noexcept { return affinity_of(static_cast<::pid_t>(thread)); }

unsigned usable_cpus() noexcept { return affinity_of(0).count(); }

unsigned launcher_cpus() noexcept
{
    const ::pid_t parent = ::getppid();   // 0: in another namespace
    return parent != 0 ? told_affinity(parent).count() : 0;
}

bool set_thread_affinity(const CpuSet& cpus, std::uint32_t thread) noexcept
{
    cpu_set_t set;
    static_assert(CPU_SETSIZE == CpuSet::kCpus);
    CPU_ZERO(&set);
    for (unsigned cpu = 0; cpu < CpuSet::kCpus; ++cpu) {
        if (cpus.has(cpu)) {
            CPU_SET(cpu, &set);
        }
    }
    return ::sched_setaffinity(static_cast<::pid_t>(thread), sizeof set, &set) == 0;
}

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// CpuSet: processors of this host, by the kernel's numbers; affinity.
//
// Threads: a CpuSet is a plain value; the functions may be called by any. Blocking: never. Processors from 1024 on are left out: nothing here is needed for
// correctness, and a thread on one of them is treated as being anywhere on the machine.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>

namespace linnet {

class CpuSet {
public:
    static constexpr unsigned kCpus = 1024;

    constexpr CpuSet() noexcept = default;
    // Processors `from` to `from + n - 1`.
    [[nodiscard]] static constexpr CpuSet range(unsigned from, unsigned n) noexcept
    {
        CpuSet set;
        for (unsigned cpu = from; cpu < from + n; ++cpu) {
            set.add(cpu);
        }
        return set;
    }

    constexpr void add(unsigned cpu) noexcept
    {
        if (cpu < kCpus) {
            words_[cpu / 64] |= std::uint64_t{1} << cpu % 64;
        }
    }
    constexpr void remove(unsigned cpu) noexcept
    {
        if (cpu < kCpus) {
            words_[cpu / 64] &= ~(std::uint64_t{1} << cpu % 64);
        }
    }
    [[nodiscard]] constexpr bool has(unsigned cpu) const noexcept { return cpu < kCpus && (words_[cpu / 64] >> cpu % 64 & 1) != 0; }
    [[nodiscard]] constexpr unsigned count() const noexcept
    {
        unsigned n = 0;
        for (const std::uint64_t word : words_) {
            n += static_cast<unsigned>(std::popcount(word));
        }
        return n;
    }
    [[nodiscard]] constexpr bool empty() const noexcept { return count() == 0; }
    // The lowest one, or kCpus.
    [[nodiscard]] constexpr unsigned first() const noexcept
    {
        unsigned cpu = 0;
        while (cpu < kCpus && !has(cpu)) {
            ++cpu;
        }
        return cpu;
    }
    // Is every processor of `other` also here?
    [[nodiscard]] constexpr bool contains(const CpuSet& other) const noexcept { return (*this & other) == other; }
    friend constexpr CpuSet operator&(const CpuSet& a, const CpuSet& b) noexcept
    {
        CpuSet both;
        for (std::size_t i = 0; i < both.words_.size(); ++i) {
            both.words_[i] = a.words_[i] & b.words_[i];
        }
        return both;
    }
    friend constexpr CpuSet operator|(const CpuSet& a, const CpuSet& b) noexcept
    {
        CpuSet either;
        for (std::size_t i = 0; i < either.words_.size(); ++i) {
            either.words_[i] = a.words_[i] | b.words_[i];
        }
        return either;
    }
    friend constexpr bool operator==(const CpuSet&, const CpuSet&) noexcept = default;

    // A number that two different sets hardly ever share; never 0.
    [[nodiscard]] constexpr std::uint64_t mark() const noexcept
    {
        std::uint64_t mark = 0xcbf29ce484222325;
        for (const std::uint64_t word : words_) {
            mark = (mark ^ word) * 0x9e3779b97f4a7c15;
            mark ^= mark >> 32;
        }
        return mark | 1;
    }
    // As taskset(1) writes it: "0-3,8".
    [[nodiscard]] std::string text() const;

private:
    std::array<std::uint64_t, kCpus / 64> words_{};
};

// Where the process may run, now: the affinity of its first thread, which is what taskset(1), numactl(8) and launchers set. A program that pins its threads
// one by one pins this one too. Processors online when the kernel does not say. One system call.
[[nodiscard]] CpuSet process_affinity() noexcept;

// Of the calling thread, or of the one of this process with that thread_id(). False: the kernel refused (none of them is usable), nothing changed.
bool set_thread_affinity(const CpuSet& cpus, std::uint32_t thread = 0) noexcept;
[[nodiscard]] CpuSet thread_affinity(std::uint32_t thread = 0) noexcept;

[[nodiscard]] unsigned usable_cpus() noexcept;   // that the calling thread's affinity allows; at least 1
// That the affinity of the parent process allows: the launcher's, which binds each rank to a part of them. 0: unknown.
[[nodiscard]] unsigned launcher_cpus() noexcept;

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Facts about this process and this host.
//
// Threads: any. Blocking: reads of /proc only. Not for the data path.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/log.h"
#include "base/status.h"

namespace linnet {

[[nodiscard]] std::uint32_t process_id() noexcept;
[[nodiscard]] std::uint32_t user_id() noexcept;   // effective

// RLIMIT_NOFILE: one more than the highest descriptor that may be opened (soft), and how far that may be raised (hard).
struct DescriptorLimit {
    std::uint64_t soft{0};
    std::uint64_t hard{0};
};
[[nodiscard]] DescriptorLimit descriptor_limit() noexcept;
// Raises the soft limit to `wanted`, or as near as the hard limit allows; never lowers it. Returns the soft limit now in force. Ask for
// what is needed, not for everything: some programs close every possible descriptor one by one before they start another.
std::uint64_t raise_descriptor_limit(std::uint64_t wanted) noexcept;
// Descriptors open now; 0 when /proc is not there.
[[nodiscard]] std::size_t open_descriptors() noexcept;

// Fills `out` from the kernel's generator; for secrets. Fails only where the system has none, and logs it.
Status random_bytes(std::span<std::byte> out, const Log& log) noexcept;

// The rank of this process in its job as Open MPI's, a PMI's or Slurm's environment tells it; nothing when none does, or it may be that of a process above this
// one: two PMIs that differ, a step of Slurm with one task. For messages to people, since a program may have inherited it all the same.
[[nodiscard]] std::optional<std::uint32_t> launcher_rank() noexcept;
// How many processes the launcher of Open MPI or MPICH started on this host, this one among them, as its environment tells; nothing when it does not. A
// program may have inherited it, and then shares the host with them all the same.
[[nodiscard]] std::optional<std::uint32_t> launcher_local_ranks() noexcept;

// For messages to people. Neither identifies a host: containers share boot ids, and lab hosts share names.
[[nodiscard]] std::string host_name();
[[nodiscard]] std::string kernel_release();   // "6.1.0-18-amd64"; empty when the system does not tell
[[nodiscard]] std::string boot_id();   // 36 characters; empty when /proc is not there

}   // namespace linnet

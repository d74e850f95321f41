// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RemoteProcess: another process of this host, held by a descriptor so that its number cannot come to mean somebody else unnoticed, and its memory.
//
// Threads: any. Blocking: read() copies in the kernel and may wait for pages. Nothing here logs. See pidfd_open(2), process_vm_readv(2).
#pragma once

#include <cstddef>
#include <cstdint>

#include "sys/fd.h"
#include "sys/tcp_socket.h"

namespace linnet {

class RemoteProcess {
public:
    RemoteProcess() noexcept = default;
    // Not valid() when the process is gone or the kernel has no pidfd_open (Linux 5.3).
    explicit RemoteProcess(std::uint32_t pid) noexcept;

    [[nodiscard]] bool valid() const noexcept { return fd_.valid(); }
    [[nodiscard]] std::uint32_t pid() const noexcept { return pid_; }
    [[nodiscard]] bool alive() const noexcept;
    // Copies `bytes` from address `from` of that process. Less than all is an error (EFAULT). Only if the process is alive() afterwards are they its own.
    [[nodiscard]] IoResult read(std::byte* to, std::uint64_t from, std::size_t bytes) const noexcept;

private:
    std::uint32_t pid_{0};
    Fd fd_;
};

}   // namespace linnet

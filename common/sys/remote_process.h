// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RemoteProcess: the memory of another process of this host. A process number comes to mean another process when its own ends, so the process is known by a
// key: random bytes that lie in its memory, where a child of its fork() has none (UnforkedPage). They are read by the same system call as what is asked for,
// which reads all of it out of one address space (process_vm_readv(2)): either both are that process's, or neither is.
//
// Threads: any. Blocking: read() copies in the kernel and may wait for pages. Nothing here logs.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "sys/tcp_socket.h"

namespace linnet {

class RemoteProcess {
public:
    using Key = std::array<std::byte, 16>;

    RemoteProcess() noexcept = default;
    // Whatever process has the number.
    explicit RemoteProcess(std::uint32_t pid) noexcept : pid_{pid} {}
    // The one that has `key` at `key_address`.
    RemoteProcess(std::uint32_t pid, std::uint64_t key_address, const Key& key) noexcept : pid_{pid}, key_address_{key_address}, key_{key} {}

    [[nodiscard]] std::uint32_t pid() const noexcept { return pid_; }
    // No process has the number any more, or one that has ended and was not waited for. False also where nobody can tell: number 0, of a process that this pid
    // namespace does not show. Some system calls.
    [[nodiscard]] bool ended() const noexcept;
    // It is there, has its key, and its memory can be read.
    [[nodiscard]] bool readable() const noexcept;
    // Copies `bytes` from address `from` of that process. Less than all is an error (EFAULT); ESRCH: it is gone. After an error what `to` holds means nothing.
    [[nodiscard]] IoResult read(std::byte* to, std::uint64_t from, std::size_t bytes) const noexcept;

private:
    std::uint32_t pid_{0};
    std::uint64_t key_address_{0};   // zero: none is looked at
    Key key_{};
};

}   // namespace linnet

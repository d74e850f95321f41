// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RemoteProcess: the system calls.
#include "sys/remote_process.h"

#include <poll.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

namespace linnet {

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434   // the same number on every architecture
#endif

// The descriptor is close-on-exec by itself.
RemoteProcess::RemoteProcess(std::uint32_t pid) noexcept
    : pid_{pid}, fd_{pid != 0 ? static_cast<int>(::syscall(SYS_pidfd_open, static_cast<::pid_t>(pid), 0)) : -1}
{
}

bool RemoteProcess::alive() const noexcept
{
    ::pollfd p{fd_.get(), POLLIN, 0};
    return valid() && ::poll(&p, 1, 0) == 0;   // readable: it ended
}

IoResult RemoteProcess::read(std::byte* to, std::uint64_t from, std::size_t bytes) const noexcept
{
    IoResult r;
    while (r.bytes < bytes) {
        const ::iovec local{to + r.bytes, bytes - r.bytes};
        const ::iovec remote{reinterpret_cast<void*>(static_cast<std::uintptr_t>(from) + r.bytes), bytes - r.bytes};   // not an address of ours
        const ::ssize_t n = ::process_vm_readv(static_cast<::pid_t>(pid_), &local, 1, &remote, 1, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            r.error = n < 0 ? errno : EFAULT;
            return r;
        }
        r.bytes += static_cast<std::size_t>(n);
    }
    return r;
}

}   // namespace linnet

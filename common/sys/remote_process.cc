// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RemoteProcess: the system calls.
#include "sys/remote_process.h"

#include <poll.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include "sys/fd.h"

namespace linnet {

// Reading its memory cannot tell: a process whose first thread has ended has none to be read, and goes on.
bool RemoteProcess::ended() const noexcept
{
    if (pid_ == 0) {
        return false;
    }
#if defined(SYS_pidfd_open)   // Linux 5.3
    const Fd process{static_cast<int>(::syscall(SYS_pidfd_open, static_cast<::pid_t>(pid_), 0u))};
    if (process.valid()) {
        ::pollfd end{process.get(), POLLIN, 0};
        return ::poll(&end, 1, 0) > 0;
    }
#endif
    return ::kill(static_cast<::pid_t>(pid_), 0) != 0 && errno == ESRCH;
}

bool RemoteProcess::readable() const noexcept
{
    Key seen;
    return key_address_ != 0 && read(seen.data(), key_address_, seen.size()).error == 0;
}

// A call that ends before the key has failed at a page, and so does the next, or was interrupted. Once the key was read the process is the one, and as its
// number was its own until then, so were the calls before.
IoResult RemoteProcess::read(std::byte* to, std::uint64_t from, std::size_t bytes) const noexcept
{
    const auto there = [](std::uint64_t address) { return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)); };   // no address of ours
    const unsigned pieces = key_address_ != 0 ? 2 : 1;
    Key seen{};
    IoResult r;
    while (r.bytes < bytes) {
        const std::size_t rest = bytes - r.bytes;
        const std::array local{::iovec{to + r.bytes, rest}, ::iovec{seen.data(), seen.size()}};
        const std::array remote{::iovec{there(from + r.bytes), rest}, ::iovec{there(key_address_), seen.size()}};
        const ::ssize_t n = ::process_vm_readv(static_cast<::pid_t>(pid_), local.data(), pieces, remote.data(), pieces, 0);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            r.error = n < 0 ? errno : EFAULT;
            return r;
        }
        const auto copied = static_cast<std::size_t>(n);
        r.bytes += copied < rest ? copied : rest;
        if (copied >= rest && pieces == 2 && (copied != rest + seen.size() || seen != key_)) {
            r.error = ESRCH;
        }
    }
    return r;
}

}   // namespace linnet

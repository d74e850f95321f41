// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Plain calls: the system calls of the data path, past the cancellation points of the C library.
//
// recv(2) and its like are cancellation points (pthreads(7)). As soon as a process has a second thread, and Linnet starts one, the library puts two locked
// instructions around each: a recvfrom() that finds nothing took 303 ns in place of 243. No thread can be cancelled within Linnet anyway, it would take a lock
// with it. Sanitizers learn from the library's functions what memory the kernel wrote, and ThreadSanitizer from send() and recv(), but not from sendto() and
// recvfrom(), that what is sent comes before what is received: under them those are called.
//
// Results and errno as those functions have them. Threads: any.
#pragma once

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LINNET_LIBRARY_CALLS 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define LINNET_LIBRARY_CALLS 1
#endif
#endif
#if !defined(LINNET_LIBRARY_CALLS)
#if defined(__LP64__) && defined(SYS_recvfrom) && defined(SYS_epoll_pwait)
#define LINNET_LIBRARY_CALLS 0
#else
#define LINNET_LIBRARY_CALLS 1   // a word of the kernel's structures is not one of the library's
#endif
#endif

namespace linnet {

[[nodiscard]] inline ssize_t plain_recvfrom(int fd, void* to, std::size_t bytes, int flags, ::sockaddr* from, ::socklen_t* length) noexcept
{
#if LINNET_LIBRARY_CALLS
    return from == nullptr ? ::recv(fd, to, bytes, flags) : ::recvfrom(fd, to, bytes, flags, from, length);
#else
    return ::syscall(SYS_recvfrom, fd, to, bytes, flags, from, length);
#endif
}

[[nodiscard]] inline ssize_t plain_recvmsg(int fd, ::msghdr* message, int flags) noexcept
{
#if LINNET_LIBRARY_CALLS
    return ::recvmsg(fd, message, flags);
#else
    return ::syscall(SYS_recvmsg, fd, message, flags);
#endif
}

[[nodiscard]] inline ssize_t plain_readv(int fd, const ::iovec* pieces, int count) noexcept
{
#if LINNET_LIBRARY_CALLS
    return ::readv(fd, pieces, count);
#else
    return ::syscall(SYS_readv, fd, pieces, count);
#endif
}

[[nodiscard]] inline ssize_t plain_sendto(int fd, const void* from, std::size_t bytes, int flags, const ::sockaddr* to, ::socklen_t length) noexcept
{
#if LINNET_LIBRARY_CALLS
    return to == nullptr ? ::send(fd, from, bytes, flags) : ::sendto(fd, from, bytes, flags, to, length);
#else
    return ::syscall(SYS_sendto, fd, from, bytes, flags, to, length);
#endif
}

[[nodiscard]] inline ssize_t plain_sendmsg(int fd, const ::msghdr* message, int flags) noexcept
{
#if LINNET_LIBRARY_CALLS
    return ::sendmsg(fd, message, flags);
#else
    return ::syscall(SYS_sendmsg, fd, message, flags);
#endif
}

// Never waits.
[[nodiscard]] inline int plain_epoll_look(int epoll, ::epoll_event* events, int room) noexcept
{
#if LINNET_LIBRARY_CALLS
    return ::epoll_wait(epoll, events, room, 0);
#else
    return static_cast<int>(::syscall(SYS_epoll_pwait, epoll, events, room, 0, nullptr, std::size_t{8}));
#endif
}

}   // namespace linnet

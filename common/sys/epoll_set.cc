// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EpollSet: epoll(7).
#include "sys/epoll_set.h"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

#include "base/assert.h"
#include "sys/error.h"
#include "sys/plain_call.h"
#include "sys/system_clock.h"

namespace linnet {
namespace {

int milliseconds_up(Nanos timeout) noexcept
{
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(std::min(timeout, Nanos{std::chrono::hours{24}})).count();
    return static_cast<int>(std::min<long long>(ms, INT_MAX));
}

}   // namespace

Result<EpollSet> EpollSet::open(const Log& log) noexcept
{
    EpollSet set;
    set.fd_ = Fd{::epoll_create1(EPOLL_CLOEXEC)};
    if (!set.fd_) {
        return log_errno(log, "epoll_create1", errno);
    }
    EpollEvent none;
    const timespec zero{};
    set.fine_ = ::epoll_pwait2(set.get(), &none, 1, &zero, nullptr) == 0;   // old kernels and some sandboxes refuse it
    return set;
}

Status EpollSet::add(int fd, std::uint32_t events, std::uint64_t data, const Log& log) const noexcept
{
    EpollEvent event{};
    event.events = events;
    event.data.u64 = data;
    return ::epoll_ctl(fd_.get(), EPOLL_CTL_ADD, fd, &event) == 0 ? Status::kOk : log_errno(log, "epoll_ctl add", errno);
}

Status EpollSet::modify(int fd, std::uint32_t events, std::uint64_t data, const Log& log) const noexcept
{
    EpollEvent event{};
    event.events = events;
    event.data.u64 = data;
    return ::epoll_ctl(fd_.get(), EPOLL_CTL_MOD, fd, &event) == 0 ? Status::kOk : log_errno(log, "epoll_ctl modify", errno);
}

void EpollSet::remove(int fd) const noexcept { ::epoll_ctl(fd_.get(), EPOLL_CTL_DEL, fd, nullptr); }

unsigned EpollSet::wait(std::span<EpollEvent> events, Nanos timeout) const noexcept
{
    LINNET_ASSERT(!events.empty());
    const int room = static_cast<int>(std::min<std::size_t>(events.size(), 1024));
    int n = 0;
    if (timeout <= Nanos::zero()) {
        n = plain_epoll_look(fd_.get(), events.data(), room);
    } else if (timeout == kForever) {
        n = ::epoll_wait(fd_.get(), events.data(), room, -1);
    } else if (fine_) {
        const timespec limit = to_timespec(timeout);
        n = ::epoll_pwait2(fd_.get(), events.data(), room, &limit, nullptr);
    } else {
        n = ::epoll_wait(fd_.get(), events.data(), room, milliseconds_up(timeout));
    }
    if (n < 0 && errno != EINTR && timeout > Nanos::zero()) {   // it was closed under us, or is forbidden: who would sleep on it shall not burn a core
        const timespec nap = to_timespec(std::min<Nanos>(timeout, std::chrono::milliseconds{1}));
        ::nanosleep(&nap, nullptr);
    }
    return n > 0 ? static_cast<unsigned>(n) : 0;
}

}   // namespace linnet

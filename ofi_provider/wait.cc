// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Waiting: epoll sets, bells, and the thread that signals condition variables.
#include "wait.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace linnet::ofi {

namespace {
using Clock = std::chrono::steady_clock;
// A blocking call polls about as long as a wake-up costs before it sleeps.
constexpr std::chrono::microseconds kSpin{20};
constexpr std::chrono::milliseconds kSignallerPause{1};

int milliseconds_until(Clock::time_point deadline)
{
    if (deadline == Clock::time_point::max()) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT32_MAX));
}
}   // namespace

// ---- Source ----

unsigned Source::progress(bool idle) noexcept
{
    const unsigned n = linnet_progress(context_, 0, idle ? unsigned{LINNET_MAY_YIELD} : 0);
    if (armed_.load(std::memory_order_seq_cst) && armed_.exchange(false, std::memory_order_seq_cst)) {
        const std::lock_guard guard{lock_};
        for (Waitable* w : sleepers_) {
            w->wake();
        }
    }
    return n;
}

bool Source::arm() noexcept
{
    armed_.store(true, std::memory_order_seq_cst);   // before it is: who makes progress right after must see it
    return linnet_wait_fd_arm(context_) == LINNET_OK;
}

void Source::attach(Waitable& w)
{
    const std::lock_guard guard{lock_};
    sleepers_.push_back(&w);
}

void Source::detach(Waitable& w) noexcept
{
    const std::lock_guard guard{lock_};
    sleepers_.erase(std::remove(sleepers_.begin(), sleepers_.end(), &w), sleepers_.end());
}

// ---- Waitable ----

int Waitable::open(fi_wait_obj kind) noexcept
{
    if (kind == FI_WAIT_SET || kind == FI_WAIT_POLLFD) {
        return -FI_ENOSYS;
    }
    if (kind > FI_WAIT_POLLFD) {
        return -FI_EINVAL;
    }
    kind_ = kind;
    if (!can_sleep()) {
        return FI_SUCCESS;
    }
    epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
    bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    epoll_event e{};
    e.events = EPOLLIN;
    if (epoll_ < 0 || bell_ < 0 || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, bell_, &e) != 0) {
        return -errno;
    }
    if (kind != FI_WAIT_MUTEX_COND) {
        return FI_SUCCESS;
    }
    return guarded([this] {
        sigset_t all;
        sigset_t before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);   // signals are the application's threads' business
        signaller_ = std::thread{[this] { run_signaller(); }};
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return FI_SUCCESS;
    });
}

void Waitable::close() noexcept
{
    if (signaller_.joinable()) {
        stopping_.store(true, std::memory_order_seq_cst);
        ring();
        signaller_.join();
    }
}

Waitable::~Waitable()
{
    for (const int fd : {epoll_, bell_}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
    ::pthread_mutex_destroy(&mutex_);
    ::pthread_cond_destroy(&cond_);
}

int Waitable::get_wait(void* arg) noexcept
{
    if (kind_ == FI_WAIT_FD) {
        *static_cast<int*>(arg) = epoll_;
        return FI_SUCCESS;
    }
    if (kind_ == FI_WAIT_MUTEX_COND) {
        *static_cast<fi_mutex_cond*>(arg) = {&mutex_, &cond_};
        return FI_SUCCESS;
    }
    return -FI_ENODATA;
}

int Waitable::add_source(Source& source)
{
    const std::lock_guard guard{sources_lock_};
    const auto at = std::find_if(sources_.begin(), sources_.end(), [&](const Fed& f) { return f.source == &source; });
    if (at != sources_.end()) {
        ++at->bindings;
        return FI_SUCCESS;
    }
    if (can_sleep()) {
        int fd = -1;
        epoll_event e{};
        e.events = EPOLLIN;
        if (linnet_wait_fd(source.context(), &fd) != LINNET_OK || ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &e) != 0) {
            LINNET_FI_WARN(FI_LOG_CQ, "cannot wait for the descriptor of an endpoint\n");
            return -FI_EOTHER;
        }
        source.attach(*this);
    }
    sources_.push_back({&source, 1});
    ring();   // who sleeps arms this one too
    return FI_SUCCESS;
}

void Waitable::remove_source(Source& source) noexcept
{
    const std::lock_guard guard{sources_lock_};
    const auto at = std::find_if(sources_.begin(), sources_.end(), [&](const Fed& f) { return f.source == &source; });
    if (at == sources_.end() || --at->bindings != 0) {
        return;
    }
    int fd = -1;
    if (can_sleep() && linnet_wait_fd(source.context(), &fd) == LINNET_OK) {
        ::epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
        source.detach(*this);
    }
    sources_.erase(at);
}

bool Waitable::fed() noexcept
{
    const std::lock_guard guard{sources_lock_};
    return !sources_.empty();
}

unsigned Waitable::progress(bool idle) noexcept
{
    const std::unique_lock guard{sources_lock_, std::try_to_lock};
    unsigned n = 0;
    if (guard.owns_lock()) {
        for (const Fed& f : sources_) {
            n += f.source->progress(idle);
        }
    }
    return n;
}

void Waitable::ring() noexcept
{
    const std::uint64_t one = 1;
    if (bell_ >= 0) {
        [[maybe_unused]] const ssize_t n = ::write(bell_, &one, sizeof one);   // full is loud enough
    }
}

void Waitable::drain_bell() noexcept
{
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(bell_, &count, sizeof count);
}

void Waitable::wake() noexcept
{
    const auto was = [](std::atomic<bool>& flag) { return flag.load(std::memory_order_seq_cst) && flag.exchange(false, std::memory_order_seq_cst); };
    const bool sleeping = was(sleeping_);
    if (was(lent_) || sleeping) {
        ring();
    }
}

void Waitable::emptied() noexcept
{
    if (signalled_.load(std::memory_order_relaxed)) {
        signalled_.store(false, std::memory_order_release);
    }
}

// For who has said that the bell be rung: then a look at everything. Who delivers does it the other way round, so one of the two sees the other.
bool Waitable::arm(const std::function<bool()>& ready)
{
    if (ready()) {
        return false;
    }
    {
        const std::lock_guard guard{sources_lock_};
        for (const Fed& f : sources_) {
            if (!f.source->arm()) {
                return false;
            }
        }
    }
    return !ready();
}

void Waitable::rest(Clock::time_point deadline, const std::function<bool()>& ready)
{
    std::unique_lock guard{rest_lock_};
    if (watched_) {
        sleeping_.store(true, std::memory_order_seq_cst);   // what the watcher waits for may be another thing, and be there by now
        if (ready()) {
            return;
        }
        const auto left = [this, before = leaves_] { return leaves_ != before; };
        if (deadline == Clock::time_point::max()) {
            left_.wait(guard, left);
        } else {
            left_.wait_until(guard, deadline, left);
        }
        return;
    }
    watched_ = true;
    drain_bell();
    sleeping_.store(true, std::memory_order_seq_cst);
    guard.unlock();
    if (arm(ready)) {
        pollfd p{epoll_, POLLIN, 0};
        ::poll(&p, 1, milliseconds_until(deadline));
    }
    guard.lock();
    watched_ = false;
    ++leaves_;
    sleeping_.store(false, std::memory_order_seq_cst);
    left_.notify_all();
}

void Waitable::sleep(Clock::time_point deadline, const std::function<bool()>& ready)
{
    const auto begin = Clock::now();
    const bool yields = kind_ == FI_WAIT_YIELD || !can_sleep();
    do {
        progress();
        if (ready() || Clock::now() >= deadline) {
            return;
        }
        if (yields) {
            std::this_thread::yield();
        }
    } while (yields || Clock::now() < begin + kSpin);
    rest(deadline, ready);
    progress();
}

int Waitable::try_wait(const std::function<bool()>& ready)
{
    if (!can_sleep()) {
        return -FI_EINVAL;
    }
    if (kind_ == FI_WAIT_MUTEX_COND) {   // the signaller sleeps in the descriptors; the application waits for it
        progress();
        if (ready()) {
            return -FI_EAGAIN;
        }
        signalled_.store(false, std::memory_order_release);
        return FI_SUCCESS;
    }
    progress();
    if (ready()) {
        return -FI_EAGAIN;
    }
    drain_bell();
    lent_.store(true, std::memory_order_seq_cst);
    if (arm(ready)) {
        return FI_SUCCESS;
    }
    ring();   // another thread may sleep on the descriptor, for what this one takes a part of
    return -FI_EAGAIN;
}

void Waitable::run_signaller()
{
    ::pthread_setname_np(::pthread_self(), "linnet-signal");
    const std::function<bool()> ready = [this] { return has_events(); };
    while (!stopping_.load(std::memory_order_seq_cst)) {
        progress();
        if (!ready()) {
            rest(Clock::time_point::max(), [&] { return ready() || stopping_.load(std::memory_order_seq_cst); });
            continue;
        }
        // Under the application's mutex: it is inside pthread_cond_wait(), or has not yet asked fi_trywait().
        ::pthread_mutex_lock(&mutex_);
        ::pthread_cond_broadcast(&cond_);
        ::pthread_mutex_unlock(&mutex_);
        signalled_.store(true, std::memory_order_release);
        for (int i = 0; i < 100 && signalled_.load(std::memory_order_acquire) && ready() && !stopping_.load(std::memory_order_relaxed); ++i) {
            std::this_thread::sleep_for(kSignallerPause);
        }
    }
}

}   // namespace linnet::ofi

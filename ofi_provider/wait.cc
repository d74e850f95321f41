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

#include "capi/linnet_watch.h"
#include "fence.h"

namespace linnet::ofi {

namespace {
using Clock = std::chrono::steady_clock;
// A blocking call polls about as long as a wake-up costs before it sleeps.
constexpr std::chrono::microseconds kSpin{20};
constexpr std::chrono::milliseconds kSignallerPause{1};
constexpr int kWithoutBell = 1;   // milliseconds: how often who could have none looks
}   // namespace

int milliseconds_until(Clock::time_point deadline) noexcept
{
    if (deadline == Clock::time_point::max()) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT32_MAX));
}

// Why no wake-up is lost.
//
// A sleeper uses its bed, looks at what there is, arms the contexts, looks once more, and sleeps. Who delivers makes ready() true, takes the use of the
// beds, and rings the bell of each that was used. All of these are sequentially consistent, so either the sleeper sees what was delivered, or its use came
// before the taking; then the bell is rung by this deliverer, or was by another since, and stays so until it is silenced. Who silences a bell?
//
// - Our own bed: a thread that begins to watch, when nobody sleeps there, under rest_lock_. The others in rest() are not in the bed: each used it and looked
//   while a watcher was there, under rest_lock_ too, so that what is delivered after that look rings the bell within the term of this watcher, who leaves
//   for it, and wakes them. A watcher that leaves for another reason (its time is over, a context has something to do) wakes them just the same, and
//   they look again before one of them watches and silences what may have been rung meanwhile.
// - The lent bed: fi_trywait(), while other threads of the application may sleep there. It uses the bed after that and looks: if there is anything, it
//   rings again for them. If there is nothing, what the bell was rung for has been taken, and for what comes next it is rung, because the bed is used.
//   (A change of a counter is taken by whoever reads it: threads that wait in one descriptor for different values must not read it for each other.)
//
// Contexts: a call into one disarms its descriptor, for all that sleep on it, and the thread that calls looks at `armed_` afterwards. A sleeper sets it before
// it arms. If its arming came before the call, or during it, the caller sees that, and arms again or wakes everybody whose bed is used; if after, nothing was
// undone. Between two such threads the one that takes `armed_` does it for both: it sets it again before it arms, and who calls after that
// finds it set. An arming that fails disarmed the context, too, and wakes everybody.

// ---- Source ----

unsigned Source::progress(unsigned flags) noexcept
{
    const unsigned n = linnet_progress(context_, 0, flags);
    go_on();
    return n;
}

void Source::hand_out() noexcept
{
    static_cast<void>(linnet_hand_out(context_));
    go_on();
}

// Completions have come, perhaps: what waited for them begins.
void Source::go_on() noexcept
{
    if (fence_->holds()) {
        fence_->resume();
    }
    settle();
}

// No wake-up tells when what the fence's first lacks is there: it is tried again, and nobody sleeps meanwhile.
bool Source::ready_to_sleep() noexcept { return linnet_wait_fd_arm(context_) == LINNET_OK && !fence_->stuck(); }

bool Source::arm() noexcept
{
    armed_.store(true, std::memory_order_seq_cst);   // before it is: who calls right after must see it
    if (ready_to_sleep()) {
        return true;
    }
    const std::lock_guard guard{lock_};
    wake_all();
    return false;
}

// If nobody sleeps on it any more it costs nothing from now on.
void Source::arm_again() noexcept
{
    if (!armed_.exchange(false, std::memory_order_seq_cst)) {
        return;
    }
    const std::lock_guard guard{lock_};
    if (std::none_of(sleepers_.begin(), sleepers_.end(), [](const Waitable* w) { return w->asleep(); })) {
        return;
    }
    armed_.store(true, std::memory_order_seq_cst);
    if (!ready_to_sleep()) {
        wake_all();
    }
}

// Under lock_. They arm it again, when they have looked.
void Source::wake_all() noexcept
{
    armed_.store(false, std::memory_order_seq_cst);
    for (Waitable* w : sleepers_) {
        w->wake();
    }
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

// ---- Bed ----

int Bed::open() noexcept
{
    set_ = ::epoll_create1(EPOLL_CLOEXEC);
    bell_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return set_ >= 0 && bell_ >= 0 && add(bell_) ? FI_SUCCESS : -errno;
}

Bed::~Bed()
{
    for (const int fd : {set_, bell_}) {
        if (fd >= 0) {
            ::close(fd);
        }
    }
}

bool Bed::add(int descriptor) noexcept
{
    epoll_event e{};
    e.events = EPOLLIN;
    return set_ < 0 || ::epoll_ctl(set_, EPOLL_CTL_ADD, descriptor, &e) == 0;
}

void Bed::remove(int descriptor) noexcept
{
    if (set_ >= 0) {
        ::epoll_ctl(set_, EPOLL_CTL_DEL, descriptor, nullptr);
    }
}

void Bed::ring() noexcept
{
    const std::uint64_t one = 1;
    if (bell_ >= 0) {
        [[maybe_unused]] const ssize_t n = ::write(bell_, &one, sizeof one);   // full is loud enough
    }
}

void Bed::silence() noexcept
{
    std::uint64_t count = 0;
    [[maybe_unused]] const ssize_t n = ::read(bell_, &count, sizeof count);
}

// ---- Waitable ----

int Waitable::open(const fi_wait_obj& kind) noexcept
{
    if (beyond(kind, FI_WAIT_POLLFD)) {
        return -FI_EINVAL;
    }
    if (kind == FI_WAIT_SET || kind == FI_WAIT_POLLFD) {
        return -FI_ENOSYS;
    }
    kind_ = kind;
    if (!can_sleep()) {
        return FI_SUCCESS;
    }
    if (const int error = ours_.open(); error != FI_SUCCESS) {
        return error;
    }
    if (const int error = kind == FI_WAIT_FD ? lent_.open() : FI_SUCCESS; error != FI_SUCCESS) {
        return error;
    }
    if (kind != FI_WAIT_MUTEX_COND) {
        return FI_SUCCESS;
    }
    return guarded([this] {
        sigset_t all;
        sigset_t before;
        ::sigfillset(&all);
        ::pthread_sigmask(SIG_SETMASK, &all, &before);   // signals are the application's threads' business
        try {
            signaller_ = std::thread{[this] { run_signaller(); }};
        } catch (...) {   // too many threads: the application's goes on with its signals
            ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
            return -FI_EAGAIN;
        }
        ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
        return FI_SUCCESS;
    });
}

void Waitable::close() noexcept
{
    if (signaller_.joinable()) {
        stopping_.store(true, std::memory_order_seq_cst);
        ours_.ring();
        signaller_.join();
    }
}

Waitable::~Waitable()
{
    ::pthread_mutex_destroy(&mutex_);
    ::pthread_cond_destroy(&cond_);
}

int Waitable::get_wait(void* arg) noexcept
{
    if (kind_ == FI_WAIT_FD) {
        *static_cast<int*>(arg) = lent_.descriptor();
        return FI_SUCCESS;
    }
    if (kind_ == FI_WAIT_MUTEX_COND) {
        *static_cast<fi_mutex_cond*>(arg) = {&mutex_, &cond_};
        return FI_SUCCESS;
    }
    return -FI_ENODATA;
}

int Waitable::add_source(Source& source) noexcept
{
    const std::lock_guard guard{sources_lock_};
    const auto at = std::find_if(sources_.begin(), sources_.end(), [&](const Fed& f) { return f.source == &source; });
    if (at != sources_.end()) {
        ++at->bindings;
        return FI_SUCCESS;
    }
    const int error = guarded([&] {
        sources_.reserve(sources_.size() + 1);   // nothing throws once the source knows us
        return can_sleep() ? watch(source) : FI_SUCCESS;
    });
    if (error == FI_SUCCESS) {
        sources_.push_back({&source, 1});
        wake();   // who sleeps arms this one too
    }
    return error;
}

int Waitable::watch(Source& source)
{
    source.attach(*this);
    int fd = -1;
    if (linnet_wait_fd(source.context(), &fd) == LINNET_OK && ours_.add(fd) && lent_.add(fd)) {
        return FI_SUCCESS;
    }
    LINNET_FI_WARN(FI_LOG_CQ, "cannot wait for the descriptor of an endpoint\n");
    ours_.remove(fd);
    lent_.remove(fd);
    source.detach(*this);
    return -FI_EOTHER;
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
        ours_.remove(fd);
        lent_.remove(fd);
        source.detach(*this);
    }
    sources_.erase(at);
}

unsigned Waitable::progress(unsigned flags) noexcept
{
    const std::unique_lock guard{sources_lock_, std::try_to_lock};
    unsigned n = 0;
    if (guard.owns_lock()) {
        for (const Fed& f : sources_) {
            n += f.source->progress(flags);
        }
    }
    return n;
}

void Waitable::progress_surely() noexcept
{
    const std::lock_guard guard{sources_lock_};
    for (const Fed& f : sources_) {
        static_cast<void>(f.source->progress(0));
    }
}

void Waitable::wake() noexcept
{
    ours_.wake();
    lent_.wake();
}

void Waitable::emptied() noexcept
{
    if (signalled_.load(std::memory_order_relaxed)) {
        signalled_.store(false, std::memory_order_release);
    }
}

// For who uses a bed: a look at everything.
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

bool Waitable::rest(Clock::time_point deadline, const std::function<bool()>& ready)
{
    std::unique_lock guard{rest_lock_};
    if (watched_) {
        ours_.use();   // what the watcher waits for may be another thing, and be there by now
        if (ready()) {
            return true;
        }
        return rest_behind_watcher(guard, deadline);
    }
    watched_ = true;
    ours_.silence();
    ours_.use();
    guard.unlock();
    bool interrupted = false;
    if (arm(ready)) {
        pollfd p{ours_.descriptor(), POLLIN, 0};
        interrupted = ::poll(&p, 1, milliseconds_until(deadline)) < 0 && errno == EINTR;
    }
    guard.lock();
    leave_watch();
    return !interrupted;
}

// Under rest_lock_, as the next: all that wait behind look again.
void Waitable::leave_watch() noexcept
{
    watched_ = false;
    ++leaves_;
    ours_.unuse();
    for (const Behind* b = behind_; b != nullptr; b = b->next) {
        const std::uint64_t one = 1;
        [[maybe_unused]] const ssize_t n = b->bell >= 0 ? ::write(b->bell, &one, sizeof one) : 0;
    }
}

bool Waitable::rest_behind_watcher(std::unique_lock<std::mutex>& guard, Clock::time_point deadline) noexcept
{
    Behind me{::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), behind_};
    behind_ = &me;
    bool interrupted = false;
    for (const unsigned before = leaves_; leaves_ == before && !interrupted && Clock::now() < deadline;) {
        guard.unlock();
        pollfd p{me.bell, POLLIN, 0};   // a negative one is passed over
        interrupted = ::poll(&p, 1, me.bell >= 0 ? milliseconds_until(deadline) : kWithoutBell) < 0 && errno == EINTR;
        guard.lock();
    }
    Behind** at = &behind_;
    while (*at != &me) {
        at = &(*at)->next;
    }
    *at = me.next;
    if (me.bell >= 0) {
        ::close(me.bell);
    }
    return !interrupted;
}

bool Waitable::sleep(Clock::time_point deadline, const std::function<bool()>& ready)
{
    const auto begin = Clock::now();
    const bool yields = kind_ == FI_WAIT_YIELD || !can_sleep();
    do {
        progress();
        if (ready() || Clock::now() >= deadline) {
            return true;
        }
        if (yields) {
            std::this_thread::yield();
        }
    } while (yields || Clock::now() < begin + kSpin);
    const bool undisturbed = rest(deadline, ready);
    progress();
    return undisturbed;
}

int Waitable::look(const std::function<bool()>& ready)
{
    if (!can_sleep()) {
        return -FI_EINVAL;
    }
    progress();
    return ready() ? -FI_EAGAIN : FI_SUCCESS;
}

int Waitable::lend(const std::function<bool()>& ready)
{
    if (kind_ != FI_WAIT_FD) {   // with FI_WAIT_MUTEX_COND the signaller sleeps in the descriptors; the application waits for it
        signalled_.store(false, std::memory_order_release);
        return ready() ? -FI_EAGAIN : FI_SUCCESS;
    }
    lent_.silence();
    lent_.use();
    if (arm(ready)) {
        return FI_SUCCESS;
    }
    lent_.ring();   // another thread may sleep there, for what this one takes a part of
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
        signalled_.store(true, std::memory_order_release);
        ::pthread_cond_broadcast(&cond_);
        ::pthread_mutex_unlock(&mutex_);
        for (int i = 0; i < 100 && signalled_.load(std::memory_order_acquire) && ready() && !stopping_.load(std::memory_order_relaxed); ++i) {
            std::this_thread::sleep_for(kSignallerPause);
        }
    }
}

}   // namespace linnet::ofi

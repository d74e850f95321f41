// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Thread: pthreads, with signals, name, timer slack and scheduling class set.
#include "sys/thread.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <memory>
#include <new>

#include "sys/error.h"
#include "sys/fd.h"

namespace linnet {
namespace {

struct Start {
    Thread::Body body;
    void* arg;
    Nanos timer_slack;
    bool idle_class;
    Nanos slice;
    std::array<char, 16> name;
};

// sched_setattr(2): the C library has no wrapper. Older kernels take the value and ignore it.
void set_slice(Nanos slice) noexcept
{
    struct Attributes {   // struct sched_attr, its first version
        std::uint32_t size, policy;
        std::uint64_t flags;
        std::int32_t nice;
        std::uint32_t priority;
        std::uint64_t runtime, deadline, period;
    } a{};
    if (::syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) == 0) {
        a.size = sizeof a;
        a.flags = 0;
        a.runtime = static_cast<std::uint64_t>(slice.count());
        ::syscall(SYS_sched_setattr, 0, &a, 0);
    }
}

void* run(void* raw) noexcept
{
    const std::unique_ptr<Start> start{static_cast<Start*>(raw)};
    ::prctl(PR_SET_NAME, start->name.data(), 0, 0, 0);
    // All are improvements, not conditions: without them the thread works, a little later or a little earlier than it might.
    ::prctl(PR_SET_TIMERSLACK, static_cast<unsigned long>(std::max<Nanos::rep>(start->timer_slack.count(), 1)), 0, 0, 0);
    if (start->idle_class) {
        set_idle_class(true);
    }
    if (start->slice > Nanos::zero()) {
        set_slice(start->slice);
    }
    start->body(start->arg);
    return nullptr;
}

// Blocks what other threads and processes send; leaves open what the thread does to itself.
sigset_t asynchronous_signals() noexcept
{
    sigset_t set;
    ::sigfillset(&set);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
        ::sigdelset(&set, fault);
    }
    return set;
}

}   // namespace

Result<Thread> Thread::start(const ThreadOptions& options, Body body, void* arg, const Log& log) noexcept
{
    std::unique_ptr<Start> start{new (std::nothrow) Start{body, arg, options.timer_slack, options.idle_class, options.slice, {}}};
    if (start == nullptr) {
        return Status::kNoMemory;
    }
    std::snprintf(start->name.data(), start->name.size(), "%s", options.name);
    // The new thread inherits the mask, so there is no moment in which it could take a signal.
    const sigset_t blocked = asynchronous_signals();
    sigset_t before;
    ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
    Thread thread;
    const int error = ::pthread_create(&thread.handle_, nullptr, run, start.get());
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0) {
        return log_errno(log, "pthread_create", error);
    }
    thread.running_ = true;
    static_cast<void>(start.release());   // run() owns it now
    return thread;
}

Thread& Thread::operator=(Thread&& other) noexcept
{
    if (this != &other) {
        join();
        handle_ = other.handle_;
        running_ = other.running_;
        other.running_ = false;
    }
    return *this;
}

void Thread::join() noexcept
{
    if (running_) {
        ::pthread_join(handle_, nullptr);
        running_ = false;
    }
}

std::uint32_t thread_id() noexcept { return static_cast<std::uint32_t>(::gettid()); }

unsigned current_cpu() noexcept
{
    const int cpu = ::sched_getcpu();
    return cpu >= 0 ? static_cast<unsigned>(cpu) : 0;
}

unsigned online_cpus() noexcept { return static_cast<unsigned>(std::max(::sysconf(_SC_NPROCESSORS_ONLN), 1L)); }

Nanos thread_cpu_time() noexcept
{
    timespec t;
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds{t.tv_sec} + Nanos{t.tv_nsec};
}

bool set_idle_class(bool idle, std::uint32_t thread) noexcept
{
    const sched_param none{};
    return ::sched_setscheduler(static_cast<::pid_t>(thread), idle ? SCHED_IDLE : SCHED_OTHER, &none) == 0;
}

void yield_cpu() noexcept { ::sched_yield(); }

void sleep_shortly() noexcept
{
    const timespec time{0, 1};
    ::nanosleep(&time, nullptr);   // a signal may end it: it is short in any case
}

ContextSwitches thread_context_switches() noexcept
{
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return {static_cast<std::uint64_t>(usage.ru_nvcsw), static_cast<std::uint64_t>(usage.ru_nivcsw)};
}

std::optional<Nanos> thread_core_wait() noexcept
{
    const Fd file{::open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC)};
    std::array<char, 80> line{};
    if (!file || ::read(file.get(), line.data(), line.size() - 1) <= 0) {
        return std::nullopt;
    }
    unsigned long long ran = 0, waited = 0;   // nanoseconds (Documentation/scheduler/sched-stats.rst); how often it ran comes behind
    if (std::sscanf(line.data(), "%llu %llu", &ran, &waited) != 2) {
        return std::nullopt;
    }
    return Nanos{static_cast<Nanos::rep>(waited)};
}

}   // namespace linnet

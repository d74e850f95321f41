// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Thread: a thread of ours inside somebody else's application.
#pragma once

#include <pthread.h>

#include <cstdint>
#include <optional>

#include "base/clock.h"
#include "base/log.h"
#include "base/status.h"

namespace linnet {

struct ThreadOptions {
    const char* name{"linnet"};   // what ps and gdb show; at most 15 characters count
    Nanos timer_slack{1};         // how late its timeouts may be; the system's default is 50 us
    bool idle_class{false};       // SCHED_IDLE: runs only where nothing else wants to. Not being allowed to is no error
    Nanos slice{0};               // the kernel's time slice for it (Linux 6.12 on, 100 us at least): with a shorter one than others have it
                                  // runs sooner after waking up, and no longer in all. 0: as everybody
};

// Runs `body(arg)` once. Owner: whoever must outlive it; one thread at a time. The body sees every asynchronous signal blocked, so that
// the application's handlers never run on our stack; faults (SIGSEGV...) stay open for the host's crash handler. It must not throw.
class Thread {
public:
    using Body = void (*)(void* arg) noexcept;

    Thread() noexcept = default;
    [[nodiscard]] static Result<Thread> start(const ThreadOptions& options, Body body, void* arg, const Log& log) noexcept;
    ~Thread() { join(); }
    Thread(Thread&& other) noexcept : handle_{other.handle_}, running_{other.running_} { other.running_ = false; }
    Thread& operator=(Thread&& other) noexcept;

    [[nodiscard]] bool joinable() const noexcept { return running_; }
    // Blocks until the body has returned, which the owner has asked it to do. Does nothing when there is no thread.
    void join() noexcept;
    // After fork(), in the child: the thread exists no more and must not be joined.
    void forget() noexcept { running_ = false; }

private:
    pthread_t handle_{};
    bool running_{false};
};

// ---- about the calling thread ----

[[nodiscard]] std::uint32_t thread_id() noexcept;       // the kernel's, unique on this host
[[nodiscard]] unsigned current_cpu() noexcept;          // may be another one by the time the caller looks at it; some 10 ns
[[nodiscard]] unsigned online_cpus() noexcept;          // of the machine; at least 1
[[nodiscard]] Nanos thread_cpu_time() noexcept;
// The class SCHED_IDLE for a thread of this host (0: the calling one), or the ordinary one again. False: it is gone, or may not; back from SCHED_IDLE takes
// CAP_SYS_NICE, or an RLIMIT_NICE that allows the nice value that it has (sched(7)).
bool set_idle_class(bool idle, std::uint32_t thread = 0) noexcept;
void yield_cpu() noexcept;
void sleep_shortly() noexcept;                          // as short as the timers make it: some 60 us as a rule, 50 of them timer slack

// How often the thread gave up the processor by itself, and how often it was made to: the second tells oversubscription.
struct ContextSwitches {
    std::uint64_t voluntary;
    std::uint64_t involuntary;
};
[[nodiscard]] ContextSwitches thread_context_switches() noexcept;

// How long the thread was ready to run and had no core, all in all (/proc/thread-self/schedstat; some 4 us); nothing where the kernel does not tell. The time
// that a stopped process or a sleeping thread passes is not in it.
[[nodiscard]] std::optional<Nanos> thread_core_wait() noexcept;

}   // namespace linnet

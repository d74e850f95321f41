// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Waiting on a completion queue or counter: which endpoints feed it, how a thread sleeps until one does.
//
// What it is     The common half of Cq and Counter. An endpoint's operations end inside linnet_progress(), on the thread that called it; a
//                Waitable makes the endpoints bound to it progress, and has a descriptor to sleep on.
// Owner          The Cq or Counter that derives from it.
// Threads        Any. Lock order: Waitable's sources > nothing of ours; nothing is held while the application or libfabric is called.
// Blocking       sleep() alone.
// Failure        open() and add_source() return an fi_errno; the rest cannot fail.
//
// How a sleeper is woken: it sleeps in a bed, an epoll set of the descriptors of all contexts that feed its object, and a bell, an eventfd. Who delivers
// a completion rings the bells of its object, and who makes a context progress or posts to it, which disarms the descriptor of the context for everybody,
// arms it again or rings for all that sleep on it. Both only when somebody may sleep. There are two beds: one for threads inside our blocking calls, and
// one that is lent to the application (FI_WAIT_FD), so that neither silences a bell that rings for the other. wait.cc has why no wake-up is lost.
//
// Of several threads that sleep in our own bed, one, the watcher, sleeps in the descriptor, and the others until it leaves, for whatever reason: then all
// of them look at what is there, and the first that still has to sleep watches next. Only who begins to watch drains the bell.
#pragma once

#include <pthread.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lock.h"
#include "provider.h"

namespace linnet::ofi {

class Fence;
class Waitable;

// For poll(2): -1 for the end of time, rounded up.
[[nodiscard]] int milliseconds_until(std::chrono::steady_clock::time_point deadline) noexcept;

// A context and who sleeps on it; one per endpoint. Outlives its Waitables' use of it: attach and detach are calls of bind and close.
class Source {
public:
    // What the endpoint holds back is tried again whenever it makes progress.
    void open(linnet_context_t* context, Fence& fence) noexcept
    {
        context_ = context;
        fence_ = &fence;
    }
    [[nodiscard]] linnet_context_t* context() const noexcept { return context_; }
    // Runs completions. The number of events. `flags`: as of linnet_progress().
    unsigned progress(unsigned flags = 0) noexcept;
    // Runs completions, and moves no data: for the event thread.
    void hand_out() noexcept;
    // Make the descriptor of the context ready to sleep on. False: there is something to do first, and who slept on it is woken.
    bool arm() noexcept;
    // After every call that may have disarmed the descriptor: it is armed again if anybody sleeps on it.
    void settle() noexcept
    {
        if (armed_.load(std::memory_order_seq_cst)) {
            arm_again();
        }
    }
    void attach(Waitable& w);
    void detach(Waitable& w) noexcept;

private:
    void go_on() noexcept;
    bool ready_to_sleep() noexcept;
    void arm_again() noexcept;
    void wake_all() noexcept;

    linnet_context_t* context_{nullptr};
    Fence* fence_{nullptr};
    std::atomic<bool> armed_{false};
    std::mutex lock_;
    std::vector<Waitable*> sleepers_;   // guarded by lock_: all that may sleep on this context
};

// settle() at the end of a call that posts.
class Settles {
public:
    explicit Settles(Source& source) noexcept : source_{source} {}
    Settles(const Settles&) = delete;
    Settles& operator=(const Settles&) = delete;
    ~Settles() { source_.settle(); }

private:
    Source& source_;
};

// Where threads sleep: a descriptor to poll, which is readable when a context that was added is, or the bell has been rung.
class Bed {
public:
    Bed() = default;
    Bed(const Bed&) = delete;
    Bed& operator=(const Bed&) = delete;
    ~Bed();
    // A negative fi_errno, or 0.
    int open() noexcept;
    [[nodiscard]] int descriptor() const noexcept { return set_; }
    bool add(int descriptor) noexcept;
    void remove(int descriptor) noexcept;

    // Somebody is about to sleep here; says so before the last look at what there is.
    void use() noexcept { used_.store(true, std::memory_order_seq_cst); }
    void unuse() noexcept { used_.store(false, std::memory_order_seq_cst); }
    [[nodiscard]] bool used() const noexcept { return used_.load(std::memory_order_seq_cst); }
    // Wakes all that sleep here, if anybody does.
    void wake() noexcept
    {
        if (used() && used_.exchange(false, std::memory_order_seq_cst)) {
            ring();
        }
    }
    void ring() noexcept;
    void silence() noexcept;

private:
    int set_{-1};
    int bell_{-1};
    std::atomic<bool> used_{false};   // since the bell was rung last
};

class Waitable {
public:
    Waitable() noexcept = default;
    Waitable(const Waitable&) = delete;
    Waitable& operator=(const Waitable&) = delete;

    // For an object with this wait object. -FI_ENOSYS: not offered.
    int open(const fi_wait_obj& kind) noexcept;
    [[nodiscard]] fi_wait_obj kind() const noexcept { return kind_; }
    [[nodiscard]] bool can_sleep() const noexcept { return kind_ != FI_WAIT_NONE; }
    // FI_GETWAIT.
    int get_wait(void* arg) noexcept;

    // Endpoints that feed this object; the same one may be added several times, and is removed as often.
    int add_source(Source& source) noexcept;
    void remove_source(Source& source) noexcept;

    // Makes all sources progress, unless another thread is doing so for this object.
    unsigned progress(unsigned flags = 0) noexcept;
    // The same, after the other thread.
    void progress_surely() noexcept;
    // One step of a blocking call: returns when something may have happened, at the latest at `deadline`. `ready` is asked after
    // the bell has been armed, under a lock: it calls nothing of this class. False: a signal handler has interrupted the sleep.
    bool sleep(std::chrono::steady_clock::time_point deadline, const std::function<bool()>& ready);
    // fi_trywait(3), in two steps, since what is done for one object must not undo what was for another: first for all of them, something is there
    // already; then for each, 0: the application may sleep on the wait object; -FI_EAGAIN.
    int look(const std::function<bool()>& ready);
    int lend(const std::function<bool()>& ready);
    // A thread of the application looks by itself: what was lent is taken back, and who sleeps there asks again.
    void returned() noexcept { lent_.wake(); }
    // Something was delivered: wake who sleeps.
    void wake() noexcept;
    [[nodiscard]] bool asleep() const noexcept { return ours_.used() || lent_.used(); }
    // The application has taken what was there.
    void emptied() noexcept;

protected:
    ~Waitable();
    // Asked by the thread behind FI_WAIT_MUTEX_COND.
    virtual bool has_events() noexcept = 0;
    // Before anything of the derived object goes.
    void close() noexcept;

private:
    int watch(Source& source);
    bool arm(const std::function<bool()>& ready);
    bool rest(std::chrono::steady_clock::time_point deadline, const std::function<bool()>& ready);
    bool rest_behind_watcher(std::unique_lock<std::mutex>& guard, std::chrono::steady_clock::time_point deadline) noexcept;
    void leave_watch() noexcept;
    void run_signaller();

    struct Fed {
        Source* source;
        unsigned bindings;
    };
    // A thread behind the watcher, in poll(2) with a bell of its own, since a signal handler must end its sleep, and ends no wait for a condition variable.
    struct Behind {
        int bell;
        Behind* next;
    };

    fi_wait_obj kind_{FI_WAIT_NONE};
    Bed ours_;                            // of threads in rest()
    Bed lent_;                            // to the application: FI_WAIT_FD
    std::mutex rest_lock_;                // lock order: before nothing of ours
    bool watched_{false};                 // guarded by rest_lock_, as are the next
    unsigned leaves_{0};                  // of watchers
    Behind* behind_{nullptr};             // who waits for the watcher to leave
    Lock sources_lock_;
    std::vector<Fed> sources_;   // guarded by sources_lock_

    // FI_WAIT_MUTEX_COND: a thread sleeps for the application, and signals.
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
    pthread_cond_t cond_ = PTHREAD_COND_INITIALIZER;
    std::atomic<bool> stopping_{false};
    std::atomic<bool> signalled_{false};   // told, and not yet taken
    std::thread signaller_;
};

}   // namespace linnet::ofi

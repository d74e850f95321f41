// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Watchdog: see watchdog.h.
#include "support/watchdog.h"

#include <dirent.h>
#include <execinfo.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

namespace linnet::testing {
namespace {

const int kDumpSignal = SIGRTMIN + 6;

// Runs in the thread whose stack is wanted. Everything here is safe in a signal handler once backtrace() has been called before.
void dump_own_stack(int) noexcept
{
    std::array<void*, 64> frames{};
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
}

std::string first_line(const std::string& path)
{
    std::ifstream file{path};
    std::string line;
    std::getline(file, line);
    return line;
}

void dump_all_stacks()
{
    DIR* tasks = opendir("/proc/self/task");
    if (tasks == nullptr) {
        return;
    }
    const pid_t self = static_cast<pid_t>(syscall(SYS_gettid));
    while (const dirent* entry = readdir(tasks)) {
        const pid_t tid = static_cast<pid_t>(std::strtol(entry->d_name, nullptr, 10));
        if (tid <= 0 || tid == self) {
            continue;
        }
        const std::string task = "/proc/self/task/" + std::to_string(tid);
        std::fprintf(stderr, "--- thread %d %s, system call %s\n", tid, first_line(task + "/comm").c_str(),
                     first_line(task + "/syscall").c_str());
        std::fflush(stderr);
        syscall(SYS_tgkill, getpid(), tid, kDumpSignal);
        std::this_thread::sleep_for(std::chrono::milliseconds{200});   // one stack after the other, unmixed
    }
    closedir(tasks);
}

std::chrono::seconds limit_from_env(std::chrono::seconds fallback)
{
    const char* text = std::getenv("LINNET_TEST_TIMEOUT");
    const long seconds = text == nullptr ? 0 : std::strtol(text, nullptr, 10);
    return seconds > 0 ? std::chrono::seconds{seconds} : fallback;
}

}   // namespace

Watchdog::Watchdog(std::chrono::seconds limit)
    : limit_{limit_from_env(limit)}, last_pet_{std::chrono::steady_clock::now()}
{
    std::array<void*, 1> frame{};
    backtrace(frame.data(), 1);   // loads the unwinder now; inside the handler it would allocate
    struct sigaction action{};
    action.sa_handler = dump_own_stack;
    action.sa_flags = SA_RESTART;
    sigaction(kDumpSignal, &action, nullptr);
    // Children of the test and its threads inherit an unchanged mask; only this thread takes no signal.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::jthread{[this](std::stop_token stop) { run(std::move(stop)); }};
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_setname_np(thread_.native_handle(), "watchdog");
    // UBSan asks the kernel through a pipe of its own whether an object can be read (its check of virtual tables), in this thread as it begins. In
    // the midst of the first case that would look like a leak.
    waits_.wait();
}

Watchdog::~Watchdog() = default;

void Watchdog::pet()
{
    const std::lock_guard lock{mutex_};
    last_pet_ = std::chrono::steady_clock::now();
}

void Watchdog::run(std::stop_token stop)
{
    std::unique_lock lock{mutex_};
    bool told = false;
    while (!stop.stop_requested()) {
        const auto deadline = last_pet_ + limit_;
        if (std::chrono::steady_clock::now() >= deadline) {
            std::fprintf(stderr, "watchdog: no test case ended within %lld s; every thread of the program:\n",
                         static_cast<long long>(limit_.count()));
            dump_all_stacks();
            std::abort();
        }
        changed_.wait_until(lock, stop, deadline, [&] {
            if (!std::exchange(told, true)) {
                waits_.count_down();
            }
            return false;
        });
    }
}

}   // namespace linnet::testing

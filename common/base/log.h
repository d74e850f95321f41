// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Log: levels, a pluggable sink, rate limiting.
//
// The sink belongs to the host (opal_output, fi_log, MPICH's debug log); the default writes to standard error. Lower case, values
// separated by spaces. error: the program cannot do what was asked; warn: odd, but it goes on; info: one line per choice that a user
// may want to know; debug: per object; trace: per event.
#pragma once

#include <atomic>
#include <cstdarg>
#include <cstdint>

namespace linnet {

enum class LogLevel : int { kNone = 0, kError = 1, kWarn = 2, kInfo = 3, kDebug = 4, kTrace = 5 };

// Called with a complete line without the final newline. Any thread, also the event thread; must not call back into Linnet.
using LogSink = void (*)(void* arg, LogLevel level, const char* line) noexcept;

// One per context. Threads: any. Blocking: as the sink does. write() formats into a stack buffer of 2 KiB: longer lines are cut.
class Log {
public:
    Log() noexcept = default;
    Log(LogLevel level, LogSink sink, void* arg) noexcept : sink_{sink}, arg_{arg}, level_{level} {}
    Log(const Log&) = delete;
    Log& operator=(const Log&) = delete;

    // Before the context starts threads only.
    void configure(LogLevel level, LogSink sink, void* arg) noexcept
    {
        sink_ = sink;
        arg_ = arg;
        level_.store(level, std::memory_order_relaxed);
    }
    [[nodiscard]] bool on(LogLevel level) const noexcept { return level <= level_.load(std::memory_order_relaxed); }
    void write(LogLevel level, const char* format, ...) const noexcept __attribute__((format(printf, 3, 4)));
    // Number of error and warn lines written, for tests.
    [[nodiscard]] std::uint64_t complaints() const noexcept { return complaints_.load(std::memory_order_relaxed); }

private:
    LogSink sink_{nullptr};   // null: standard error
    void* arg_{nullptr};
    std::atomic<LogLevel> level_{LogLevel::kWarn};
    mutable std::atomic<std::uint64_t> complaints_{0};
};

// Lets the 1st, 2nd, 4th, 8th... occurrence through, for messages that bad traffic could repeat without end.
class LogThrottle {
public:
    // Returns the occurrence number when this one should be written, else 0. Any thread.
    [[nodiscard]] std::uint64_t hit() noexcept
    {
        const std::uint64_t n = 1 + count_.fetch_add(1, std::memory_order_relaxed);
        return (n & (n - 1)) == 0 ? n : 0;
    }

private:
    std::atomic<std::uint64_t> count_{0};
};

}   // namespace linnet

// Arguments are evaluated only when the level is on.
#define LINNET_LOG(log, level, ...)                                            \
    do {                                                                       \
        if ((log).on(::linnet::LogLevel::level)) {                             \
            (log).write(::linnet::LogLevel::level, __VA_ARGS__);               \
        }                                                                      \
    } while (false)

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Log: formatting and the default sink.
#include "base/log.h"

#include <cstdio>

namespace linnet {

void Log::write(LogLevel level, const char* format, ...) const noexcept
{
    if (level <= LogLevel::kWarn) {
        complaints_.fetch_add(1, std::memory_order_relaxed);
    }
    char line[2048];
    va_list args;
    va_start(args, format);
    std::vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (sink_ != nullptr) {
        sink_(arg_, level, line);
    } else {
        std::fprintf(stderr, "linnet: %s\n", line);
    }
}

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The table of fuzz targets.
#include <cstdio>
#include <cstdlib>

#include "fuzz/fuzz_target.h"

namespace linnet::fuzz {

std::span<const Target> targets() noexcept
{
    static constexpr Target kTargets[] = {
        {"flow", run_flow, flow_seeds, nullptr},
        {"frames", run_frames, frames_seeds, nullptr},
        {"hello", run_hello, hello_seeds, nullptr},
        {"session", run_session, session_seeds, nullptr},
        {"tcp", run_tcp, tcp_seeds, end_tcp},
        {"settings", run_settings, settings_seeds, nullptr},
    };
    return kTargets;
}

const Target* find_target(const char* name) noexcept
{
    for (const Target& t : targets()) {
        if (std::strcmp(t.name, name) == 0) {
            return &t;
        }
    }
    return nullptr;
}

void broken(const char* what, const char* file, int line) noexcept
{
    std::fprintf(stderr, "broken promise: %s (%s:%d)\n", what, file, line);
    std::abort();
}

}   // namespace linnet::fuzz

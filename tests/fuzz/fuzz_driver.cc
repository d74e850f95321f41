// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// libFuzzer's entry. LINNET_TEST_FUZZ_TARGET names the target; the arguments are libFuzzer's.
#include <cstdio>
#include <cstdlib>

#include "fuzz/fuzz_target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    static const linnet::fuzz::Target* const target = [] {
        const char* const name = std::getenv("LINNET_TEST_FUZZ_TARGET");
        const auto* const found = linnet::fuzz::find_target(name == nullptr ? "" : name);
        if (found == nullptr) {
            std::fprintf(stderr, "LINNET_TEST_FUZZ_TARGET must be one of:");
            for (const auto& t : linnet::fuzz::targets()) {
                std::fprintf(stderr, " %s", t.name);
            }
            std::fprintf(stderr, "\n");
            std::exit(2);
        }
        return found;
    }();
    target->run({data, size});
    return 0;
}

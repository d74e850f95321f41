// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The size of the last-level cache, from /sys/devices/system/cpu.
#include "sys/cache_size.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <string>

namespace linnet {
namespace {

constexpr std::size_t kUnknown = 1024 * 1024;

std::string read_word(const std::string& path)
{
    std::string word;
    std::ifstream{path} >> word;
    return word;
}

// "33792K"; 0 when it is something else.
std::size_t parse_size(const std::string& text)
{
    char* end = nullptr;
    const unsigned long long number = std::strtoull(text.c_str(), &end, 10);
    return number * (*end == 'K' ? 1024 : *end == 'M' ? 1024 * 1024 : 1);
}

// Of "0-1,4": 3.
std::size_t count_list(const std::string& list)
{
    std::size_t n = 0;
    for (const char* at = list.c_str(); *at != '\0';) {
        char* end = nullptr;
        const unsigned long first = std::strtoul(at, &end, 10);
        unsigned long last = first;
        if (end == at) {
            break;
        }
        if (*end == '-') {
            last = std::strtoul(end + 1, &end, 10);
        }
        n += last >= first ? last - first + 1 : 0;
        at = *end == ',' ? end + 1 : end;
    }
    return n;
}

}   // namespace

std::size_t last_level_cache_share(const char* root)
{
    std::size_t level = 0, share = 0;
    for (int index = 0; index < 8; ++index) {
        const std::string folder = std::string{root} + "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
        const std::size_t here = parse_size(read_word(folder + "level"));
        const std::size_t bytes = parse_size(read_word(folder + "size"));
        const std::string type = read_word(folder + "type");
        if (here > level && bytes != 0 && type != "Instruction") {
            level = here;
            share = bytes / std::max<std::size_t>(count_list(read_word(folder + "shared_cpu_list")), 1);
        }
    }
    return share != 0 ? share / 4 * 3 : kUnknown;
}

}   // namespace linnet

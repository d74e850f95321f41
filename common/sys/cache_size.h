// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The size of the last-level cache.
#pragma once

#include <cstddef>

namespace linnet {

// What one processor may take of the last-level cache without pushing out what the others use: three quarters of its even share, which is where the C
// library also begins to copy past the cache. From /sys, for the first processor; 1 MiB where nothing is known. Reads some small files.
[[nodiscard]] std::size_t last_level_cache_share(const char* root = "");   // `root`: in front of /sys, for tests

}   // namespace linnet

// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Tells AddressSanitizer which pooled memory is in use, so that a stale pointer into a pool is caught as one into the heap would be.
#pragma once

#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LINNET_POISON 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define LINNET_POISON 1
#endif
#ifndef LINNET_POISON
#define LINNET_POISON 0
#endif

#if LINNET_POISON
#include <sanitizer/asan_interface.h>
#endif

namespace linnet {

#if LINNET_POISON
inline void poison(void* p, std::size_t n) noexcept { __asan_poison_memory_region(p, n); }
inline void unpoison(void* p, std::size_t n) noexcept { __asan_unpoison_memory_region(p, n); }
#else
inline void poison(void*, std::size_t) noexcept {}
inline void unpoison(void*, std::size_t) noexcept {}
#endif

}   // namespace linnet

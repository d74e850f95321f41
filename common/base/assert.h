// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// LINNET_ASSERT: an invariant that only our own code can break.
//
// Never on anything that came from a wire, a shared segment, a file or the caller: those are checked, counted and answered with
// a Status. Compiled in with --enable-debug (LINNET_DEBUG 1) and in sanitizer builds; the expression must have no side effects.
#pragma once

#include <cstdio>
#include <cstdlib>

#ifndef LINNET_DEBUG
#define LINNET_DEBUG 0
#endif

namespace linnet::detail {
[[noreturn]] inline void assert_failed(const char* what, const char* file, int line) noexcept
{
    std::fprintf(stderr, "linnet: broken invariant: %s (%s:%d)\n", what, file, line);
    std::abort();
}
}   // namespace linnet::detail

#if LINNET_DEBUG
#define LINNET_ASSERT(cond) ((cond) ? static_cast<void>(0) : ::linnet::detail::assert_failed(#cond, __FILE__, __LINE__))
#else
#define LINNET_ASSERT(cond) static_cast<void>(sizeof(!(cond)))
#endif

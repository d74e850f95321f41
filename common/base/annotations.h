// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Macros for clang's thread-safety analysis; empty for other compilers.
//
// A lock is a capability, and so is a role ("I hold the progress token"): functions say what they require, and
// clang -Wthread-safety proves it. See clang's "Thread Safety Analysis" manual page; docs/threading.md lists all
// capabilities of the core and the order in which they may be taken.
#pragma once

#if defined(__clang__)
#define LINNET_TSA(x) __attribute__((x))
#else
#define LINNET_TSA(x)
#endif

#define LINNET_CAPABILITY(name) LINNET_TSA(capability(name))
#define LINNET_SCOPED_CAPABILITY LINNET_TSA(scoped_lockable)
#define LINNET_GUARDED_BY(x) LINNET_TSA(guarded_by(x))
#define LINNET_PT_GUARDED_BY(x) LINNET_TSA(pt_guarded_by(x))
#define LINNET_REQUIRES(...) LINNET_TSA(requires_capability(__VA_ARGS__))
#define LINNET_ACQUIRE(...) LINNET_TSA(acquire_capability(__VA_ARGS__))
#define LINNET_TRY_ACQUIRE(...) LINNET_TSA(try_acquire_capability(__VA_ARGS__))
#define LINNET_RELEASE(...) LINNET_TSA(release_capability(__VA_ARGS__))
#define LINNET_EXCLUDES(...) LINNET_TSA(locks_excluded(__VA_ARGS__))
#define LINNET_ASSERT_CAPABILITY(x) LINNET_TSA(assert_capability(x))
#define LINNET_RETURN_CAPABILITY(x) LINNET_TSA(lock_returned(x))
#define LINNET_ACQUIRED_BEFORE(...) LINNET_TSA(acquired_before(__VA_ARGS__))
#define LINNET_ACQUIRED_AFTER(...) LINNET_TSA(acquired_after(__VA_ARGS__))
#define LINNET_NO_THREAD_SAFETY_ANALYSIS LINNET_TSA(no_thread_safety_analysis)

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * What a core has to spare: see spare.h. */
#include "spare.h"

#include "common.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

/* Two looks at the clock follow each other within some 50 ns; what comes in between takes longer than this. */
static const long kAlone = 1000;

static struct {
    pthread_t thread;
    atomic_bool stop;
    atomic_long alone;   /* ns; written by the thread, read by whoever has taken the core from it */
} spare;

static long now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void* count(void* unused)
{
    (void)unused;
    const struct sched_param none = {0};
    pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
    for (long last = now_ns(); !atomic_load_explicit(&spare.stop, memory_order_relaxed);) {
        const long now = now_ns();
        if (now - last < kAlone)
            atomic_store_explicit(&spare.alone, atomic_load_explicit(&spare.alone, memory_order_relaxed) + now - last, memory_order_relaxed);
        last = now;
    }
    return NULL;
}

bool bench_spare_start(void)
{
    cpu_set_t cores;
    if (sched_getaffinity(0, sizeof cores, &cores) != 0 || CPU_COUNT(&cores) != 1)
        return false;
    atomic_store(&spare.stop, false);
    atomic_store(&spare.alone, 0);
    return pthread_create(&spare.thread, NULL, count, NULL) == 0;
}

void bench_spare_stop(void)
{
    atomic_store(&spare.stop, true);
    pthread_join(spare.thread, NULL);
}

double bench_spare(void) { return 1e-9 * (double)atomic_load_explicit(&spare.alone, memory_order_relaxed); }

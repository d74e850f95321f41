/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * What a core has to spare while a rank computes or sleeps on it. */
#ifndef LINNET_BENCH_SPARE_H
#define LINNET_BENCH_SPARE_H

#include <stdbool.h>

/*
 * A thread of the class SCHED_IDLE runs whenever nobody else wants the core, and adds up how long it was let alone. All other time of the core is somebody's:
 * threads, interrupts and the kernel's deferred work alike, whoever caused it. The kernel's own accounts do not tell that: the clock tick samples them, and
 * interrupts count as work of whom they interrupt. One rank to a core; one thread calls these.
 */

/* False: this process may run on several cores, so that no thread can tell, or there is no such thread to be had. */
bool bench_spare_start(void);
void bench_spare_stop(void);

/* Seconds since bench_spare_start() in which nobody wanted the core. */
double bench_spare(void);

#endif

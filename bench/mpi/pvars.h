/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Reads all MPI_T performance variables whose names begin with a prefix. */
#ifndef LINNET_BENCH_PVARS_H
#define LINNET_BENCH_PVARS_H

#include <stdbool.h>
#include <stddef.h>

/* Opens a session and remembers the present values; to be called after MPI_Init. Variables that MPI does not have are
 * simply absent later: it is for the reader to miss them. */
void bench_pvars_start(const char* prefix);

/* The index-th variable: its name, and its value less the one at the start where it is a counter. False at the end. */
bool bench_pvars_read(int index, char* name, size_t name_bytes, double* value);

/* Closes the session; to be called before MPI_Finalize. */
void bench_pvars_stop(void);

#endif

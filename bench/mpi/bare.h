/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Messages between ranks without MPI: the floor below collective operations of ranks that share cores. */
#ifndef LINNET_BENCH_BARE_H
#define LINNET_BENCH_BARE_H

#include <stddef.h>

/*
 * Between hosts a UDP socket for each pair of ranks, runs of datagrams cut and joined by the kernel; within a host a mailbox in shared memory, two copies. Who
 * waits looks for the one message that it needs and yields the core after each look. There are no headers, no matching, no acknowledgements and no credit: both
 * sides know what comes, and a lost datagram ends in the time limit. Which ranks share a host is MPI's word (MPI_Comm_split_type). One thread of each rank.
 */

enum { BARE_MOST = 64 * 1024 };   /* bytes of a message */

/* Opens the ways to all other ranks; all ranks call it together, after bench_start. A failure ends the job. */
void bare_open(void);
void bare_close(void);

/* Returns when the memory may be used again. Messages between two ranks arrive in order. Within a host the next one to the same rank waits until that has taken
 * the one before. */
void bare_send(int to, const void* data, size_t bytes);
/* Of the same length as the message. */
void bare_recv(int from, void* data, size_t bytes);

#endif

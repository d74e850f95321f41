/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* copies.c: who copies long messages within a host. `copies shared`: in pieces, of which idle cores take some; `copies alone`: the receiver at once. */
/* The sender sleeps outside MPI while it is read, so its core is idle. The bytes are looked at in either case, and so are the bytes beside them. */
#include "mpi_check.h"
#include "task_counters.h"

#include <stdbool.h>

enum { MOST = 64 << 20, EDGE = 64 };
static const size_t lengths[] = {4 << 20, (16 << 20) + 1, (40 << 20) - 3, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static unsigned long long pieces(enum task_place place) { return tasks_run(TASK_COPY, place); }

/* Rank 1 sends and sleeps; rank 0 receives. */
static void one_message(char *data, size_t bytes, unsigned seed)
{
    if (check_rank == 1) {
        MPI_Request request;
        pattern_fill(data, bytes, seed);
        CHECK_EQ(MPI_Isend(data, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request), MPI_SUCCESS);
        usleep(20000 + (useconds_t)(bytes >> 10));   /* a GB/s */
        CHECK_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    } else {
        memset(data, 0xee, bytes + EDGE);
        CHECK_EQ(MPI_Recv(data, (int)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        CHECK_PATTERN(data, bytes, seed);
        for (int i = 0; i < EDGE; ++i) {
            CHECK_EQ((unsigned char)data[bytes + (size_t)i], 0xee);
        }
    }
}

/* A round is a message of each length. As many as it takes until a helper has helped, which it need not where something else wants its core. */
int main(int argc, char **argv)
{
    const bool shared = argc > 1 && strcmp(argv[1], "shared") == 0;
    int provided, more = 1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK_EQ(check_size, 2);
    task_counters_watch();
    char *data = check_alloc(MOST + EDGE);
    const double end = check_now(CLOCK_MONOTONIC) + 60;
    int rounds = 0;
    for (; more != 0; ++rounds) {
        for (int i = 0; i < LENGTHS; ++i) {
            one_message(data, lengths[i], (unsigned)(rounds * LENGTHS + i));
        }
        more = shared && pieces(TASK_HELPER) == 0 && check_now(CLOCK_MONOTONIC) < end;
        CHECK_EQ(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    }
    if (check_rank == 0) {
        printf("after %d rounds: pieces copied by host %llu, event thread %llu, helpers %llu, waiter %llu\n", rounds, pieces(TASK_HOST), pieces(TASK_EVENT),
               pieces(TASK_HELPER), pieces(TASK_WAITER));
        CHECK(shared ? pieces(TASK_WAITER) > 0 : pieces(TASK_HOST) + pieces(TASK_EVENT) + pieces(TASK_HELPER) + pieces(TASK_WAITER) == 0);
        CHECK(!shared || pieces(TASK_HELPER) > 0);
    }
    free(data);
    task_counters_end();
    MPI_T_finalize();
    return check_end("copies");
}

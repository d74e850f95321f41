/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* tasks.c: who polls, answers and submits while rank 0 computes. `tasks on`: its event thread, and the counters say so; `tasks off`: they stand still. */
/* A long message and a short one behind it, which must not overtake it, go to rank 1; then rank 0 computes, and waits or tests. Every byte is looked at. */
#include "mpi_check.h"
#include "task_counters.h"

#include <stdbool.h>

enum { LONG = 1 << 20, SHORT = 64, AT_LEAST = 50, AT_A_TIME = 25 };

static volatile double result;

/* A millisecond or so, of work and not of time. */
static void compute(void)
{
    double x = 1;
    for (int i = 0; i < 500000; ++i) {
        x = x * 1.0000001 + 1e-9;
    }
    result = x;
}

static void send_and_compute(char *data, char *note, unsigned round)
{
    MPI_Request requests[2];
    int done = 0;
    CHECK_EQ(MPI_Recv(NULL, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
    pattern_fill(data, LONG, round);
    pattern_fill(note, SHORT, round + 1);
    if (round % 3 != 0) {   /* the long one is the last post before the computation, or is followed by another */
        CHECK_EQ(MPI_Isend(note, SHORT, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
        CHECK_EQ(MPI_Isend(data, LONG, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
    } else {
        CHECK_EQ(MPI_Isend(data, LONG, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[0]), MPI_SUCCESS);
        CHECK_EQ(MPI_Isend(note, SHORT, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[1]), MPI_SUCCESS);
    }
    for (int i = 0; i < 3; ++i) {
        compute();
        if (round % 2 != 0) {
            CHECK_EQ(MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE), MPI_SUCCESS);
        }
    }
    if (!done) {
        CHECK_EQ(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE), MPI_SUCCESS);
    }
}

static void receive(char *data, char *note, unsigned round)
{
    char *const places[2] = {data, note};
    MPI_Request requests[2];
    MPI_Status statuses[2];
    const int first = round % 3 != 0 ? 1 : 0;
    for (int i = 0; i < 2; ++i) {   /* the wrong one first would be cut short */
        CHECK_EQ(MPI_Irecv(places[(first + i) % 2], (first + i) % 2 == 0 ? LONG : SHORT, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]), MPI_SUCCESS);
    }
    CHECK_EQ(MPI_Send(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD), MPI_SUCCESS);
    CHECK_EQ(MPI_Waitall(2, requests, statuses), MPI_SUCCESS);
    for (int i = 0; i < 2; ++i) {
        int bytes = 0;
        CHECK_EQ(MPI_Get_count(&statuses[i], MPI_BYTE, &bytes), MPI_SUCCESS);
        CHECK_EQ(bytes, (first + i) % 2 == 0 ? LONG : SHORT);
    }
    CHECK_PATTERN(data, LONG, round);
    CHECK_PATTERN(note, SHORT, round + 1);
}

int main(int argc, char **argv)
{
    const bool on = argc > 1 && strcmp(argv[1], "on") == 0;
    int provided, more = 1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK_EQ(check_size, 2);
    task_counters_watch();
    char *data = check_alloc(LONG);
    char note[SHORT];
    const double end = check_now(CLOCK_MONOTONIC) + 60;
    unsigned rounds = 0;
    while (more != 0) {
        for (int i = 0; i < AT_A_TIME; ++i, ++rounds) {
            check_rank == 0 ? send_and_compute(data, note, rounds) : receive(data, note, rounds);
        }
        const bool seen = tasks_run(TASK_SEND, TASK_EVENT) != 0 && tasks_run(TASK_ANSWER, TASK_EVENT) != 0 && tasks_run(TASK_POLL, TASK_EVENT) != 0 &&
                          tasks_run(TASK_POLL, TASK_HOST) != 0;
        more = rounds < AT_LEAST || (on && !seen && check_now(CLOCK_MONOTONIC) < end);
        CHECK_EQ(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    }
    unsigned long long all = 0;
    for (int i = 0; i < TASK_KINDS * TASK_PLACES; ++i) {
        all += tasks_run(i / TASK_PLACES, i % TASK_PLACES);
    }
    if (check_rank == 0) {
        printf("after %u rounds: by host and event thread, polls %llu %llu, answers %llu %llu, sends %llu %llu\n", rounds, tasks_run(TASK_POLL, TASK_HOST),
               tasks_run(TASK_POLL, TASK_EVENT), tasks_run(TASK_ANSWER, TASK_HOST), tasks_run(TASK_ANSWER, TASK_EVENT), tasks_run(TASK_SEND, TASK_HOST),
               tasks_run(TASK_SEND, TASK_EVENT));
        CHECK(!on || (tasks_run(TASK_SEND, TASK_EVENT) > 0 && tasks_run(TASK_ANSWER, TASK_EVENT) > 0));
        CHECK(!on || (tasks_run(TASK_POLL, TASK_HOST) > 0 && tasks_run(TASK_POLL, TASK_EVENT) > 0));
    }
    CHECK(on || all == 0);
    free(data);
    task_counters_end();
    MPI_T_finalize();
    return check_end("tasks");
}

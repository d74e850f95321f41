/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* copies.c: who copies long messages within a host. `copies shared`: in pieces, of which idle cores take some; `copies alone`: the receiver at once; */
/* `copies narrowed`: in pieces, of which idle cores take none while the ranks are confined to one core each, and some again afterwards. */
/* The sender sleeps outside MPI while it is read, so its core is idle. The bytes are looked at in any case, and so are the bytes beside them. */
#define _GNU_SOURCE
#include "mpi_check.h"
#include "task_counters.h"

#include <dirent.h>
#include <sched.h>

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

static void one_round(char *data, unsigned *round)
{
    for (unsigned i = 0; i < LENGTHS; ++i) {
        one_message(data, lengths[i], *round * LENGTHS + i);
    }
    ++*round;
}

/* As many as it takes until a helper has helped, which it need not where something else wants its core. */
static void rounds_until_helped(char *data, unsigned *round)
{
    const unsigned long long before = pieces(TASK_HELPER);
    const double end = check_now(CLOCK_MONOTONIC) + 60;
    for (int more = 1; more != 0;) {
        one_round(data, round);
        more = pieces(TASK_HELPER) == before && check_now(CLOCK_MONOTONIC) < end;
        CHECK_EQ(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    }
    CHECK(check_rank != 0 || pieces(TASK_HELPER) > before);
}

/* All threads, as `taskset -ap` does; and as long as it takes until that is seen. */
static void confine(const cpu_set_t *to)
{
    DIR *threads = opendir("/proc/self/task");
    CHECK(threads != NULL);
    for (struct dirent *entry; (entry = readdir(threads)) != NULL;) {
        CHECK(entry->d_name[0] == '.' || sched_setaffinity(atoi(entry->d_name), sizeof *to, to) == 0);
    }
    closedir(threads);
    usleep(300000);
}

/* With one core left to it a rank copies by itself. */
static void rounds_on_one_core(char *data, unsigned *round)
{
    cpu_set_t all, one;
    CHECK_EQ(sched_getaffinity(0, sizeof all, &all), 0);
    int cpu = 0;
    for (int skip = check_rank; !CPU_ISSET(cpu, &all) || skip-- > 0; ++cpu) {
        CHECK(cpu + 1 < CPU_SETSIZE);
    }
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    confine(&one);
    const unsigned long long helped = pieces(TASK_HELPER);
    for (int i = 0; i < 3; ++i) {
        one_round(data, round);
    }
    CHECK_EQ(pieces(TASK_HELPER), helped);
    confine(&all);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    int provided;
    unsigned round = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK_EQ(check_size, 2);
    task_counters_watch();
    char *data = check_alloc(MOST + EDGE);
    if (strcmp(word, "alone") == 0) {
        one_round(data, &round);
    } else {
        rounds_until_helped(data, &round);
    }
    if (strcmp(word, "narrowed") == 0) {
        rounds_on_one_core(data, &round);
        rounds_until_helped(data, &round);
    }
    if (check_rank == 0) {
        printf("after %u rounds: pieces copied by host %llu, event thread %llu, helpers %llu, waiter %llu\n", round, pieces(TASK_HOST), pieces(TASK_EVENT),
               pieces(TASK_HELPER), pieces(TASK_WAITER));
        CHECK(strcmp(word, "alone") != 0 ? pieces(TASK_WAITER) > 0 : pieces(TASK_HOST) + pieces(TASK_EVENT) + pieces(TASK_HELPER) + pieces(TASK_WAITER) == 0);
    }
    free(data);
    task_counters_end();
    MPI_T_finalize();
    return check_end("copies");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* threads.c: MPI_THREAD_MULTIPLE, four threads a process, on communicators of their own and all on one. */
#include "mpi_check.h"

#include <pthread.h>

enum { THREADS = 4, ROUNDS = 160 };

static int sends_only;   /* no MPI_Ssend */

struct worker {
    pthread_t thread;
    MPI_Comm comm;
    int index;
    int partner;
    int any;    /* receive with wildcards, as far as the communicator is the thread's own */
    int kind;   /* 0 blocking, 1 non-blocking with a window, 2 probe and receive, 3 matched probe */
};

static size_t length_of(int round)
{
    static const size_t lengths[] = {4, 60000, 1000, 12, 300000, 5000};
    return lengths[round % 6];
}

static uint64_t seed_of(int rank, int index, int round)
{
    return (uint64_t)rank * 1000003u + (uint64_t)index * 7919u + (uint64_t)round;
}

static void receive(const struct worker *w, int round, char *buffer)
{
    MPI_Status status;
    MPI_Message message;
    int count = -1;
    int source = w->any ? MPI_ANY_SOURCE : w->partner;
    int tag = w->any ? MPI_ANY_TAG : w->index;

    if (w->kind == 3) {
        MPI_Mprobe(source, tag, w->comm, &message, &status);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQ(count, length_of(round));
        MPI_Mrecv(buffer, count, MPI_BYTE, &message, &status);
    } else {
        if (w->kind == 2) {
            MPI_Probe(source, tag, w->comm, &status);
            CHECK_EQ(status.MPI_TAG, w->index);
        }
        MPI_Recv(buffer, 1 << 20, MPI_BYTE, source, tag, w->comm, &status);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQ(count, length_of(round));
    CHECK_EQ(status.MPI_SOURCE, w->partner);
    CHECK_EQ(status.MPI_TAG, w->index);
    CHECK_PATTERN(buffer, length_of(round), seed_of(w->partner, w->index, round));
}

static void windowed(const struct worker *w, char *in, char *out)
{
    enum { WINDOW = 16, BYTES = 8192 };
    MPI_Request requests[2 * WINDOW];

    for (int turn = 0; turn < ROUNDS / WINDOW; ++turn) {
        for (int i = 0; i < WINDOW; ++i) {
            pattern_fill(out + i * BYTES, BYTES, seed_of(check_rank, w->index, turn * WINDOW + i));
            MPI_Irecv(in + i * BYTES, BYTES, MPI_BYTE, w->partner, w->index, w->comm, &requests[i]);
        }
        for (int i = 0; i < WINDOW; ++i) {
            MPI_Isend(out + i * BYTES, BYTES, MPI_BYTE, w->partner, w->index, w->comm, &requests[WINDOW + i]);
        }
        MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < WINDOW; ++i) {
            CHECK_PATTERN(in + i * BYTES, BYTES, seed_of(w->partner, w->index, turn * WINDOW + i));
        }
    }
}

static void *work(void *arg)
{
    const struct worker *w = arg;
    char *in = check_alloc(1 << 20), *out = check_alloc(1 << 20);

    if (w->kind == 1) {
        windowed(w, in, out);
    } else {
        for (int round = 0; round < ROUNDS; ++round) {
            pattern_fill(out, length_of(round), seed_of(check_rank, w->index, round));
            if (check_rank < w->partner) {
                MPI_Send(out, (int)length_of(round), MPI_BYTE, w->partner, w->index, w->comm);
                receive(w, round, in);
            } else {
                receive(w, round, in);
                (round % 5 || sends_only ? MPI_Send : MPI_Ssend)(out, (int)length_of(round), MPI_BYTE, w->partner, w->index, w->comm);
            }
        }
    }
    free(in);
    free(out);
    return NULL;
}

static void run(int own, int kind, int any)
{
    struct worker workers[THREADS];

    for (int t = 0; t < THREADS; ++t) {
        workers[t] = (struct worker){.index = t, .partner = check_partner(), .any = any && own, .kind = kind < 0 ? t : kind};
        if (own) {
            MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
        } else {
            workers[t].comm = MPI_COMM_WORLD;
        }
    }
    for (int t = 0; t < THREADS; ++t) {
        CHECK_EQ(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    }
    for (int t = 0; t < THREADS; ++t) {
        CHECK_EQ(pthread_join(workers[t].thread, NULL), 0);
        if (own) {
            MPI_Comm_free(&workers[t].comm);
        }
    }
}

/* usage: threads [sends]      sends: no MPI_Ssend; one that MPI_Mrecv takes never ends over Open MPI's mtl ofi */
int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    sends_only = argc > 1 && strcmp(argv[1], "sends") == 0;
    CHECK(check_size % 2 == 0);
    run(1, 0, 0);
    run(1, 1, 0);
    run(1, 2, 1);
    run(1, 3, 1);
    run(0, 0, 0);
    run(0, 1, 0);
    run(0, -1, 0);
    return check_end("threads");
}

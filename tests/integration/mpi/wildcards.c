/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* wildcards.c: any source, any tag, and collectives in between, whose internal messages no wildcard may take. */
#include "mpi_check.h"

enum { ROUNDS = 300 };

/* Everybody sends to rank 0, which takes what comes; a pending wildcard receive stands while collectives run. */
static void any_among_collectives(void)
{
    int value, got, sum;
    MPI_Status status;
    MPI_Request request;

    for (int round = 0; round < ROUNDS; ++round) {
        int wanted = 0;
        if (check_rank == 0) {
            MPI_Irecv(&got, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &request);
        }
        value = check_rank + round;
        MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < check_size; ++i) {
            wanted += i + round;
        }
        CHECK_EQ(sum, wanted);
        value = round;
        MPI_Bcast(&value, 1, MPI_INT, round % check_size, MPI_COMM_WORLD);
        CHECK_EQ(value, round);
        MPI_Barrier(MPI_COMM_WORLD);
        if (check_rank == 0) {
            int there = 1;
            MPI_Test(&request, &there, &status);
            CHECK(!there);   /* nobody has sent to it yet */
        }
        MPI_Barrier(MPI_COMM_WORLD);
        if (check_rank == 1) {
            value = 7 * round;
            MPI_Send(&value, 1, MPI_INT, 0, round * 1000, MPI_COMM_WORLD);
        }
        if (check_rank == 0) {
            MPI_Wait(&request, &status);
            CHECK_EQ(got, 7 * round);
            CHECK_EQ(status.MPI_SOURCE, 1);
            CHECK_EQ(status.MPI_TAG, round * 1000);
        }
    }
}

static void take_from_all(int any_source, int any_tag)
{
    const int messages = 50;
    int tag_max = 0, has = 0, *upper = NULL;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &upper, &has);
    CHECK(has);
    tag_max = *upper;
    CHECK(tag_max >= 32767);
    if (check_rank != 0) {
        for (int m = 0; m < messages; ++m) {
            int value = check_rank * messages + m;
            MPI_Send(&value, 1, MPI_INT, 0, m % 3 == 0 ? tag_max - m : m, MPI_COMM_WORLD);
        }
        return;
    }
    int *next = calloc((size_t)check_size, sizeof *next);
    CHECK(next != NULL);
    for (int k = 0; k < messages * (check_size - 1); ++k) {
        int from = k % (check_size - 1) + 1;
        int m = any_source ? -1 : next[from];
        int tag = any_tag ? MPI_ANY_TAG : (m % 3 == 0 ? tag_max - m : m);
        int got = -1;
        MPI_Status status;
        MPI_Recv(&got, 1, MPI_INT, any_source ? MPI_ANY_SOURCE : from, tag, MPI_COMM_WORLD, &status);
        from = status.MPI_SOURCE;
        m = next[from]++;
        CHECK_EQ(got, from * messages + m);   /* in the order they were sent */
        CHECK_EQ(status.MPI_TAG, m % 3 == 0 ? tag_max - m : m);
    }
    free(next);
}

/* Exact and wildcard receives posted in turn take the messages in the order of posting. */
static void posted_order(void)
{
    enum { N = 64 };
    int values[N];
    MPI_Request requests[N];
    MPI_Status statuses[N];

    if (check_rank == 0) {
        for (int i = 0; i < N; ++i) {
            values[i] = -1;
            MPI_Irecv(&values[i], 1, MPI_INT, i % 2 ? 1 : MPI_ANY_SOURCE, i % 3 ? 5 : MPI_ANY_TAG, MPI_COMM_WORLD, &requests[i]);
        }
        MPI_Send(NULL, 0, MPI_BYTE, 1, 9, MPI_COMM_WORLD);
        MPI_Waitall(N, requests, statuses);
        for (int i = 0; i < N; ++i) {
            CHECK_EQ(values[i], i);
            CHECK_EQ(statuses[i].MPI_SOURCE, 1);
            CHECK_EQ(statuses[i].MPI_TAG, 5);
        }
    } else if (check_rank == 1) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < N; ++i) {
            MPI_Send(&i, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
        }
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(check_size >= 2);
    any_among_collectives();
    MPI_Barrier(MPI_COMM_WORLD);
    take_from_all(0, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    take_from_all(0, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    take_from_all(1, 1);
    MPI_Barrier(MPI_COMM_WORLD);
    posted_order();
    return check_end("wildcards");
}

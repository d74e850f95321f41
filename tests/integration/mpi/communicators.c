/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* communicators.c: equal tags in many communicators do not mix; communicators come and go by the thousand. */
/* usage: communicators [ROUNDS of dup and free] */
#include "mpi_check.h"

/* Messages sent into N communicators are received in another order of communicators. */
static void apart(void)
{
    enum { N = 40 };
    MPI_Comm comms[N];
    int in[N];
    MPI_Request requests[N];
    int partner = check_partner();

    for (int i = 0; i < N; ++i) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    }
    if (partner >= 0) {
        for (int i = 0; i < N; ++i) {
            int value = check_rank * 1000 + i;
            MPI_Send(&value, 1, MPI_INT, partner, 3, comms[i]);
        }
        for (int i = N - 1; i >= 0; --i) {
            MPI_Irecv(&in[i], 1, MPI_INT, i % 2 ? MPI_ANY_SOURCE : partner, i % 3 ? MPI_ANY_TAG : 3, comms[i], &requests[i]);
        }
        MPI_Waitall(N, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < N; ++i) {
            CHECK_EQ(in[i], partner * 1000 + i);
        }
    }
    for (int i = 0; i < N; ++i) {
        MPI_Comm_free(&comms[i]);
    }
}

/* Ranks count backwards in the new communicator: MPI_SOURCE is the rank there. */
static void renumbered(void)
{
    MPI_Comm turned;
    MPI_Status status;
    int rank, value = -1;

    MPI_Comm_split(MPI_COMM_WORLD, 0, check_size - check_rank, &turned);
    MPI_Comm_rank(turned, &rank);
    CHECK_EQ(rank, check_size - 1 - check_rank);
    int right = (rank + 1) % check_size;
    int left = (rank + check_size - 1) % check_size;
    MPI_Sendrecv(&rank, 1, MPI_INT, right, 1, &value, 1, MPI_INT, MPI_ANY_SOURCE, 1, turned, &status);
    CHECK_EQ(value, left);
    CHECK_EQ(status.MPI_SOURCE, left);
    MPI_Comm_free(&turned);
}

/* Free while a receive is pending: the communicator lives until it is complete. */
static void freed_early(void)
{
    MPI_Comm comm;
    MPI_Request request;
    int value = -1, partner = check_partner();

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    if (partner >= 0) {
        MPI_Irecv(&value, 1, MPI_INT, partner, 1, comm, &request);
        MPI_Barrier(comm);
        MPI_Request send;
        MPI_Isend(&check_rank, 1, MPI_INT, partner, 1, comm, &send);
        MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Wait(&send, MPI_STATUS_IGNORE);
        CHECK_EQ(value, partner);
    } else {
        MPI_Barrier(comm);
        MPI_Comm_free(&comm);
    }
}

static void come_and_go(int rounds)
{
    for (int round = 0; round < rounds; ++round) {
        MPI_Comm comm;
        MPI_Status status;
        int value = -1, rank, size;
        if (round % 2) {
            MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        } else {
            MPI_Comm_split(MPI_COMM_WORLD, check_rank / 2, check_rank, &comm);
        }
        MPI_Comm_rank(comm, &rank);
        MPI_Comm_size(comm, &size);
        int out = round * 8 + rank;
        int right = (rank + 1) % size, left = (rank + size - 1) % size;
        MPI_Sendrecv(&out, 1, MPI_INT, right, 2, &value, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &status);
        CHECK_EQ(value, round * 8 + left);
        CHECK_EQ(status.MPI_SOURCE, left);
        MPI_Comm_free(&comm);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    apart();
    renumbered();
    freed_early();
    come_and_go(argc > 1 ? atoi(argv[1]) : 2000);
    return check_end("communicators");
}

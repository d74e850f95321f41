/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* intercomm.c: point to point between two groups: MPI_SOURCE is the rank in the remote group. */
#include "mpi_check.h"

static void talk(MPI_Comm inter, int base)
{
    int rank, remote;
    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &remote);
    int *in = check_alloc(sizeof(int) * (size_t)remote);
    MPI_Request *requests = check_alloc(sizeof(MPI_Request) * (size_t)remote);

    for (int r = 0; r < remote; ++r) {
        MPI_Irecv(&in[r], 1, MPI_INT, r, 5, inter, &requests[r]);
    }
    for (int r = 0; r < remote; ++r) {
        int value = base + rank * 100 + r;
        MPI_Send(&value, 1, MPI_INT, r, 5, inter);
    }
    MPI_Waitall(remote, requests, MPI_STATUSES_IGNORE);
    for (int r = 0; r < remote; ++r) {
        CHECK_EQ(in[r], (base == 1000000 ? 2000000 : 1000000) + r * 100 + rank);
    }
    for (int r = 0; r < remote; ++r) {
        int value = base + rank;
        MPI_Send(&value, 1, MPI_INT, r, 100 + rank, inter);
    }
    for (int k = 0; k < remote; ++k) {
        MPI_Status status, probed;
        int value = -1;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, inter, &probed);
        MPI_Recv(&value, 1, MPI_INT, probed.MPI_SOURCE, probed.MPI_TAG, inter, &status);
        CHECK_EQ(value, (base == 1000000 ? 2000000 : 1000000) + status.MPI_SOURCE);
        CHECK_EQ(status.MPI_TAG, 100 + status.MPI_SOURCE);
        CHECK_EQ(probed.MPI_SOURCE, status.MPI_SOURCE);
    }
    free(in);
    free(requests);
}

int main(int argc, char **argv)
{
    MPI_Comm half, inter, again, merged;
    int rank, size, sum = 0;

    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(check_size >= 2);
    int low = check_rank < (check_size + 1) / 2;
    MPI_Comm_split(MPI_COMM_WORLD, low, check_rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? (check_size + 1) / 2 : 0, 77, &inter);
    talk(inter, low ? 1000000 : 2000000);
    MPI_Barrier(inter);
    MPI_Comm_dup(inter, &again);
    talk(again, low ? 1000000 : 2000000);
    MPI_Intercomm_merge(inter, !low, &merged);
    MPI_Comm_rank(merged, &rank);
    MPI_Comm_size(merged, &size);
    CHECK_EQ(size, check_size);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, merged);
    CHECK_EQ(sum, size * (size - 1) / 2);
    MPI_Comm_free(&merged);
    MPI_Comm_free(&again);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    return check_end("intercomm");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* collectives.c: every blocking collective with checked results, in short and long, and non-blocking ones at the same time. */
#include "mpi_check.h"

static void at(int n)
{
    int size = check_size, rank = check_rank;
    int *a = check_alloc(sizeof(int) * (size_t)n * (size_t)size);
    int *b = check_alloc(sizeof(int) * (size_t)n * (size_t)size);

    for (int root = 0; root < size; ++root) {
        for (int i = 0; i < n; ++i) {
            a[i] = rank == root ? root * 1000 + i : -1;
        }
        MPI_Bcast(a, n, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; i < n; ++i) {
            CHECK_EQ(a[i], root * 1000 + i);
        }
        for (int i = 0; i < n; ++i) {
            a[i] = rank * n + i;
        }
        MPI_Gather(a, n, MPI_INT, b, n, MPI_INT, root, MPI_COMM_WORLD);
        for (int i = 0; rank == root && i < n * size; ++i) {
            CHECK_EQ(b[i], i);
        }
        MPI_Reduce(a, b, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
        for (int i = 0; rank == root && i < n; ++i) {
            CHECK_EQ(b[i], n * (size * (size - 1) / 2) + size * i);
        }
    }
    for (int i = 0; i < n * size; ++i) {
        a[i] = rank * 100000 + i;
    }
    MPI_Alltoall(a, n, MPI_INT, b, n, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n * size; ++i) {
        CHECK_EQ(b[i], i / n * 100000 + rank * n + i % n);
    }
    MPI_Allgather(a, n, MPI_INT, b, n, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < n * size; ++i) {
        CHECK_EQ(b[i], i / n * 100000 + i % n);
    }
    MPI_Scan(a, b, n, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (int i = 0; i < n; ++i) {
        CHECK_EQ(b[i], a[i]);
    }
    free(a);
    free(b);
}

static void at_once(int n)
{
    enum { K = 8 };
    MPI_Request requests[K];
    int *data[K], *sums[K];

    for (int k = 0; k < K; ++k) {
        data[k] = check_alloc(sizeof(int) * (size_t)n);
        sums[k] = check_alloc(sizeof(int) * (size_t)n);
        for (int i = 0; i < n; ++i) {
            data[k][i] = check_rank + k + i;
        }
        MPI_Iallreduce(data[k], sums[k], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Waitall(K, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < K; ++k) {
        for (int i = 0; i < n; ++i) {
            CHECK_EQ(sums[k][i], check_size * (check_size - 1) / 2 + check_size * (k + i));
        }
        free(data[k]);
        free(sums[k]);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    for (int n = 1; n <= 100000; n *= 10) {
        at(n);
        at_once(n);
    }
    return check_end("collectives");
}

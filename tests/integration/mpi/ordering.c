/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* ordering.c: messages of all lengths, mixed, on one tag, arrive in the order of the sends, from both sides at once. */
#include "mpi_check.h"

enum { ROUNDS = 12, N = 60 };

static size_t length_of(int i)
{
    static const size_t lengths[] = {8, 200000, 16, 3000, 1 << 20, 12, 65536, 40000, 9, 1500};
    return lengths[i % 10] + (size_t)i % 5;
}

static void round_of(int partner, int round, int early)
{
    char *out[N], *in[N];
    MPI_Request sends[N], receives[N];
    MPI_Status statuses[N];

    for (int i = 0; i < N; ++i) {
        out[i] = check_alloc(length_of(i));
        in[i] = check_alloc(2 << 20);
        pattern_fill(out[i], length_of(i), (uint64_t)(round * N + i));
    }
    if (early) {   /* receives first: even ones by name, odd ones wild */
        for (int i = 0; i < N; ++i) {
            MPI_Irecv(in[i], 2 << 20, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : partner, i % 3 ? 6 : MPI_ANY_TAG, MPI_COMM_WORLD, &receives[i]);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    for (int i = 0; i < N; ++i) {
        (i % 4 == 1 ? MPI_Issend : MPI_Isend)(out[i], (int)length_of(i), MPI_BYTE, partner, 6, MPI_COMM_WORLD, &sends[i]);
    }
    if (!early) {
        for (int i = 0; i < N; ++i) {
            MPI_Irecv(in[i], 2 << 20, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : partner, i % 3 ? 6 : MPI_ANY_TAG, MPI_COMM_WORLD, &receives[i]);
        }
    }
    MPI_Waitall(N, receives, statuses);
    MPI_Waitall(N, sends, MPI_STATUSES_IGNORE);
    for (int i = 0; i < N; ++i) {
        int count = -1;
        MPI_Get_count(&statuses[i], MPI_BYTE, &count);
        CHECK_EQ(count, length_of(i));
        CHECK_PATTERN(in[i], length_of(i), (uint64_t)(round * N + i));
        free(in[i]);
        free(out[i]);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(check_size % 2 == 0);
    for (int round = 0; round < ROUNDS; ++round) {
        round_of(check_partner(), round, round % 2);
    }
    return check_end("ordering");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* everyone.c: every process talks to every other, in an order of its own, and verifies what it gets. */
/* usage: everyone [SECONDS]
 * One round, or as many as begin within SECONDS: short, middle and rendezvous messages to all, a message to all at once, collectives. Rank 0 says
 * how long it took. */
#include "../integration/mpi/mpi_check.h"

enum { SIZES = 3 };
static const int sizes[SIZES] = {8, 3000, 100000};

static uint64_t seed_of(int from, int to, int round)
{
    return ((uint64_t)from << 40) ^ ((uint64_t)to << 20) ^ (uint64_t)round;
}

/* One at a time: sends to the ranks above in turn while the ranks below arrive. */
static void in_turn(int round, int bytes, unsigned char *out, unsigned char *in)
{
    for (int distance = 1; distance < check_size; ++distance) {
        int to = (check_rank + distance) % check_size, from = (check_rank - distance + check_size) % check_size;
        pattern_fill(out, (size_t)bytes, seed_of(check_rank, to, round));
        MPI_Sendrecv(out, bytes, MPI_BYTE, to, distance, in, bytes, MPI_BYTE, from, distance, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(in, (size_t)bytes, seed_of(from, check_rank, round));
    }
}

/* All at once, received in the order of arrival. */
static void at_once(int round, int bytes)
{
    int others = check_size - 1, sent = 0;
    unsigned char *out = check_alloc((size_t)others * (size_t)bytes), *in = check_alloc((size_t)bytes);
    MPI_Request *requests = check_alloc((size_t)others * sizeof *requests);
    for (int distance = others; distance > 0; --distance) {
        int to = (check_rank + distance * 7919) % check_size;   /* a prime: every other rank once, for fewer ranks than that */
        unsigned char *at = out + (size_t)sent * (size_t)bytes;
        pattern_fill(at, (size_t)bytes, seed_of(check_rank, to, round));
        MPI_Isend(at, bytes, MPI_BYTE, to, 9000, MPI_COMM_WORLD, &requests[sent++]);
    }
    for (int i = 0; i < others; ++i) {
        MPI_Status status;
        MPI_Recv(in, bytes, MPI_BYTE, MPI_ANY_SOURCE, 9000, MPI_COMM_WORLD, &status);
        CHECK_PATTERN(in, (size_t)bytes, seed_of(status.MPI_SOURCE, check_rank, round));
    }
    MPI_Waitall(sent, requests, MPI_STATUSES_IGNORE);
    free(out);
    free(in);
    free(requests);
}

static void collectives(int round)
{
    uint64_t *out = check_alloc((size_t)check_size * sizeof *out), *in = check_alloc((size_t)check_size * sizeof *in), total = 0;
    for (int i = 0; i < check_size; ++i) {
        out[i] = seed_of(check_rank, i, round);
    }
    MPI_Alltoall(out, 1, MPI_UINT64_T, in, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (int i = 0; i < check_size; ++i) {
        CHECK(in[i] == seed_of(i, check_rank, round));
    }
    for (int i = 0; i < 10; ++i) {
        uint64_t one = (uint64_t)check_rank + (uint64_t)i;
        MPI_Allreduce(&one, &total, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
        CHECK_EQ(total, (uint64_t)check_size * (uint64_t)(check_size - 1) / 2 + (uint64_t)check_size * (uint64_t)i);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    double limit = argc > 1 ? atof(argv[1]) : 0, begin = MPI_Wtime();
    int more = 1, round = 0;
    unsigned char *out = check_alloc((size_t)sizes[SIZES - 1]), *in = check_alloc((size_t)sizes[SIZES - 1]);
    for (; more; ++round) {
        for (int i = 0; i < SIZES; ++i) {
            in_turn(round, sizes[i], out, in);
        }
        at_once(round, 2000);
        collectives(round);
        more = MPI_Wtime() - begin < limit;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (check_rank == 0) {
        printf("took %.2f s for %d rounds of %d ranks\n", MPI_Wtime() - begin, round, check_size);
    }
    return check_end("everyone");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* Collective operations of all sizes for a given time, each result checked; rank 0 says what it is at, so that a watchdog sees a hang. */
#include "../../integration/mpi/mpi_check.h"

#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Byte i of what `from` sends to `to` in one round. */
static unsigned char byte_of(int from, int to, unsigned round, size_t i) { return (unsigned char)(from * 31 + to * 7 + (int)(round * 13 + i + (i >> 8))); }

static void fill(unsigned char *at, int from, int to, unsigned round, size_t bytes)
{
    for (size_t i = 0; i < bytes; ++i) {
        at[i] = byte_of(from, to, round, i);
    }
}

/* The ends and a sample in between: the whole of a megabyte from each of eight ranks would leave no time for messages. */
static void check_bytes(const unsigned char *at, int from, int to, unsigned round, size_t bytes)
{
    const size_t step = bytes > 4096 ? 509 : 1;
    for (size_t i = 0; i < bytes; i += step) {
        CHECK_EQ(at[i], byte_of(from, to, round, i));
    }
    if (bytes > 0) {
        CHECK_EQ(at[bytes - 1], byte_of(from, to, round, bytes - 1));
    }
}

static void allgather(unsigned char *out, unsigned char *in, size_t bytes, unsigned round)
{
    fill(out, check_rank, 0, round, bytes);
    MPI_Allgather(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; ++r) {
        check_bytes(in + (size_t)r * bytes, r, 0, round, bytes);
    }
}

static void alltoall(unsigned char *out, unsigned char *in, size_t bytes, unsigned round)
{
    for (int r = 0; r < check_size; ++r) {
        fill(out + (size_t)r * bytes, check_rank, r, round, bytes);
    }
    MPI_Alltoall(out, (int)bytes, MPI_BYTE, in, (int)bytes, MPI_BYTE, MPI_COMM_WORLD);
    for (int r = 0; r < check_size; ++r) {
        check_bytes(in + (size_t)r * bytes, r, check_rank, round, bytes);
    }
}

static void allreduce(unsigned char *out, unsigned char *in, size_t bytes, unsigned round)
{
    uint64_t *a = (uint64_t *)(void *)out;
    const uint64_t *sum = (const uint64_t *)(const void *)in;
    const size_t n = bytes / sizeof *a;
    for (size_t i = 0; i < n; ++i) {
        a[i] = (uint64_t)check_rank + round + i;
    }
    MPI_Allreduce(out, in, (int)n, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    for (size_t i = 0; i < n; ++i) {
        CHECK_EQ(sum[i], (uint64_t)check_size * (round + i) + (uint64_t)(check_size * (check_size - 1) / 2));
    }
}

static void bcast(unsigned char *out, unsigned char *in, size_t bytes, unsigned round)
{
    const int root = (int)(round % (unsigned)check_size);
    (void)in;
    if (check_rank == root) {
        fill(out, root, 0, round, bytes);
    }
    MPI_Bcast(out, (int)bytes, MPI_BYTE, root, MPI_COMM_WORLD);
    check_bytes(out, root, 0, round, bytes);
}

static const struct {
    const char *name;
    void (*run)(unsigned char *, unsigned char *, size_t, unsigned);
} kOperations[] = {{"allgather", allgather}, {"alltoall", alltoall}, {"allreduce", allreduce}, {"bcast", bcast}};
enum { kOperationCount = sizeof kOperations / sizeof kOperations[0], kLargest = 1 << 20 };

/* collectives_stress SECONDS [OPERATION [BYTES]] */
int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const double end = now() + (argc > 1 ? atof(argv[1]) : 3);
    unsigned char *out = malloc((size_t)check_size * kLargest);
    unsigned char *in = malloc((size_t)check_size * kLargest);
    CHECK(out != NULL && in != NULL);
    unsigned round = 0;
    int go = 1;
    while (go) {
        for (int op = 0; op < kOperationCount; ++op) {
            for (size_t bytes = 16; bytes <= kLargest; bytes *= 2) {
                if ((argc > 2 && strcmp(argv[2], kOperations[op].name) != 0) || (argc > 3 && bytes != (size_t)atol(argv[3]))) {
                    continue;
                }
                const int times = bytes <= 4096 ? 20 : bytes <= 65536 ? 10 : 2;
                for (int i = 0; i < times; ++i) {
                    kOperations[op].run(out, in, bytes, round++);
                }
                if (check_rank == 0) {
                    printf("at %u: %s %zu\n", round, kOperations[op].name, bytes);
                }
            }
        }
        go = now() < end;
        MPI_Bcast(&go, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    free(out);
    free(in);
    return check_end("collectives_stress");
}

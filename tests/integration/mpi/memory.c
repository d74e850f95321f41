/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* memory.c: a strided message of 64 MB takes no buffer of its size; many short ones leave nothing behind. */
#include "mpi_check.h"

static long status_kib(const char *key)
{
    char line[256];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");
    CHECK(f != NULL);
    while (kib < 0 && fgets(line, sizeof line, f) != NULL) {
        if (strncmp(line, key, strlen(key)) == 0) {
            kib = atol(line + strlen(key));
        }
    }
    fclose(f);
    CHECK(kib > 0);
    return kib;
}

static void strided(int count, MPI_Datatype type, void *data, int turns)
{
    int partner = check_partner();
    for (int i = 0; i < turns; ++i) {
        if (check_rank % 2 == 0) {
            MPI_Send(data, count, type, partner, 1, MPI_COMM_WORLD);
        } else {
            MPI_Recv(data, count, type, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
}

/* By how many KiB the process has ever been larger when it has sent or received twice. */
static long grows_by(int count, MPI_Datatype type, void *data)
{
    MPI_Barrier(MPI_COMM_WORLD);
    long before = status_kib("VmHWM:");
    strided(count, type, data, 2);
    MPI_Barrier(MPI_COMM_WORLD);
    return status_kib("VmHWM:") - before;
}

int main(int argc, char **argv)
{
    enum { ELEMENTS = 8 << 20 };   /* 64 MiB of doubles, every other one */
    MPI_Datatype type;

    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(check_partner() >= 0);
    MPI_Type_vector(1, 1, 2, MPI_DOUBLE, &type);
    MPI_Datatype pair;
    MPI_Type_create_resized(type, 0, 16, &pair);
    MPI_Type_commit(&pair);
    double *data = check_alloc((size_t)ELEMENTS * 16);
    for (size_t i = 0; i < 2 * (size_t)ELEMENTS; ++i) {
        data[i] = check_rank % 2 == 0 ? (double)i : -1.0;
    }
    strided(1000, pair, data, 10);   /* the connection and its buffers */
    strided(200000, pair, data, 4);
    CHECK(grows_by(ELEMENTS, pair, data) < 24 * 1024);
    if (check_rank % 2 == 1) {
        for (size_t i = 0; i < 2 * (size_t)ELEMENTS; ++i) {
            CHECK(data[i] == (i % 2 ? -1.0 : (double)i));
        }
    }
    /* Elements of 32 bytes, which Open MPI cannot unpack in any pieces (4.1); the same 64 MiB, in one element. */
    MPI_Datatype wide;
    MPI_Type_vector(ELEMENTS / 4, 1, 2, MPI_C_LONG_DOUBLE_COMPLEX, &wide);
    MPI_Type_commit(&wide);
    CHECK(grows_by(1, wide, data) < 24 * 1024);
    MPI_Type_free(&wide);
    strided(8000, pair, data, 500);
    MPI_Barrier(MPI_COMM_WORLD);
    long resident = status_kib("VmRSS:");
    strided(8000, pair, data, 1500);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(status_kib("VmRSS:") - resident < 1024);
    free(data);
    MPI_Type_free(&pair);
    MPI_Type_free(&type);
    return check_end("memory");
}

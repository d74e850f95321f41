/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* huge.c: messages of more than 4 GiB, together and strided, and the count of a status beyond 2^31. */
/* usage: huge [MEBIBYTES (4104)]      needs twice that memory on the machine that runs both ranks, and a little more */
#include "mpi_check.h"

#include <sys/mman.h>

/* Words, so that filling takes seconds. */
static uint64_t word(uint64_t seed, uint64_t i)
{
    return (i + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ seed;
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    size_t bytes = (size_t)(argc > 1 ? atol(argv[1]) : 4104) << 20;
    size_t words = bytes / 8;
    int partner = check_partner();
    MPI_Datatype block, strided;
    MPI_Status status;
    MPI_Count got = -1;

    CHECK(partner >= 0);
    MPI_Type_contiguous(1 << 20, MPI_BYTE, &block);
    MPI_Type_commit(&block);
    MPI_Type_vector(1 << 16, 1, 2, MPI_UINT64_T, &strided);   /* half of each mebibyte */
    MPI_Type_commit(&strided);
    uint64_t *data = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(data != MAP_FAILED);
    if (check_rank % 2 == 0) {
        for (size_t i = 0; i < words; ++i) {
            data[i] = word(1, i);
        }
        MPI_Send(data, (int)(bytes >> 20), block, partner, 1, MPI_COMM_WORLD);
        MPI_Send(data, (int)(bytes >> 20), strided, partner, 2, MPI_COMM_WORLD);
    } else {
        MPI_Recv(data, (int)(bytes >> 20), block, partner, 1, MPI_COMM_WORLD, &status);
        MPI_Get_elements_x(&status, MPI_BYTE, &got);
        CHECK_EQ(got, bytes);
        for (size_t i = 0; i < words; ++i) {
            CHECK_EQ(data[i], word(1, i));
            data[i] = 0;
        }
        MPI_Recv(data, (int)(bytes >> 20), strided, partner, 2, MPI_COMM_WORLD, &status);
        for (size_t i = 0; i < words; ++i) {
            /* the vector's last element has no gap behind it, so elements of the array slip by one word each */
            size_t element = i / 131071, inside = i % 131071;
            int has = element < bytes >> 20 && inside % 2 == 0;
            CHECK_EQ(data[i], has ? word(1, i) : 0);
        }
    }
    munmap(data, bytes);
    MPI_Type_free(&block);
    MPI_Type_free(&strided);
    return check_end("huge");
}

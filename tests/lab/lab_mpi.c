// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// For lab_test.sh: every rank sends a megabyte around a ring and checks what it gets; rank 0 prints the host names.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { kBytes = 1 << 20, kName = 64 };

int main(int argc, char** argv)
{
    MPI_Init(&argc, &argv);
    int rank, size;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int from = (rank + size - 1) % size;

    unsigned char* out = malloc(kBytes);
    unsigned char* in = malloc(kBytes);
    memset(out, rank + 1, kBytes);
    MPI_Sendrecv(out, kBytes, MPI_BYTE, (rank + 1) % size, 0, in, kBytes, MPI_BYTE, from, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    int wrong = 0;
    for (int i = 0; i < kBytes; ++i)
        wrong += in[i] != from + 1;

    char  name[kName] = "";
    char* names = calloc((size_t)size, kName);
    gethostname(name, kName - 1);
    MPI_Gather(name, kName, MPI_CHAR, names, kName, MPI_CHAR, 0, MPI_COMM_WORLD);
    int wrong_anywhere = 0;
    MPI_Allreduce(&wrong, &wrong_anywhere, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) {
        for (int i = 0; i < size; ++i)
            printf("%s%s", i ? " " : "", names + (size_t)i * kName);
        printf("\n");
    }
    MPI_Finalize();
    return wrong_anywhere ? 1 : 0;
}

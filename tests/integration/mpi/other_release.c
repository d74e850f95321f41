/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* other_release.c: in an Open MPI of another release the component stands aside with one line, and the program runs without it. */
#include "mpi_check.h"

/* Found before that of the library: what the component asks. */
int PMPI_Get_library_version(char *version, int *length)
{
    *length = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "Open MPI v5.0.3, package: another");
    return MPI_SUCCESS;
}

int main(int argc, char **argv)
{
    int sum = 0;
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Allreduce(&check_rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    CHECK_EQ(sum, check_size * (check_size - 1) / 2);
    return check_end("other_release");
}

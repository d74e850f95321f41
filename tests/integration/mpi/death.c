/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* death.c: rank 1 is killed; rank 0's operations with it end with an error in bounded time. */
/* usage: death recv|send
 * Prints "ok death" where the launcher lets survivors live (mpirun --enable-recovery), otherwise it ends the job: but nothing may hang. */
#include "mpi_check.h"

#include <signal.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
    int value = 0, rc = MPI_SUCCESS, class = 0;

    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    const char *mode = argc > 1 ? argv[1] : "recv";
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 1) {
        MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        raise(SIGKILL);
    }
    if (check_rank == 0) {
        MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        double from = now();
        if (strcmp(mode, "send") == 0) {
            char *data = check_alloc(1 << 20);
            memset(data, 0, 1 << 20);
            while (rc == MPI_SUCCESS) {
                rc = MPI_Send(data, 1 << 20, MPI_BYTE, 1, 2, MPI_COMM_WORLD);
            }
        } else {
            rc = MPI_Recv(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        CHECK(rc != MPI_SUCCESS);
        MPI_Error_class(rc, &class);
        CHECK(class == MPI_ERR_OTHER || class == MPI_ERR_INTERN);
        printf("ok death %s after %.1f s\n", mode, now() - from);
        fflush(stdout);
        _exit(0);   /* there is nobody to finalize with */
    }
    pause();
    return 0;
}

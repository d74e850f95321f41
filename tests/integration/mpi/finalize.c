/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* finalize.c: the end, with messages that nobody receives, and right after a message that somebody does. */
/* usage: finalize MODE
 *   unreceived   eager messages stay in the receiver's queue
 *   last         a sender finalizes at once after its last send, while the receiver sleeps first
 *   early        a receive is still posted
 *   nothing      no message at all between Init and Finalize */
#include "mpi_check.h"

int main(int argc, char **argv)
{
    char data[3000];
    MPI_Request request;

    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const char *mode = argc > 1 ? argv[1] : "unreceived";
    int partner = check_partner();
    if (strcmp(mode, "unreceived") == 0 && partner >= 0) {
        pattern_fill(data, sizeof data, 1);
        for (int i = 0; i < 100; ++i) {
            MPI_Send(data, i * 10, MPI_BYTE, partner, i, MPI_COMM_WORLD);
        }
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (strcmp(mode, "last") == 0 && partner >= 0) {
        if (check_rank % 2 == 0) {
            pattern_fill(data, sizeof data, 2);
            MPI_Send(data, sizeof data, MPI_BYTE, partner, 3, MPI_COMM_WORLD);
        } else {
            sleep(1);
            MPI_Recv(data, sizeof data, MPI_BYTE, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_PATTERN(data, sizeof data, 2);
        }
    } else if (strcmp(mode, "early") == 0 && partner >= 0) {
        MPI_Irecv(data, sizeof data, MPI_BYTE, partner, 3, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
    }
    MPI_Finalize();
    if (check_rank == 0) {
        printf("ok finalize %s\n", mode);
    }
    return 0;
}

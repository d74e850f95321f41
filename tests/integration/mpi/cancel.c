/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* cancel.c: canceled receives and sends; a cancel that comes too late. */
/* "cancel sends": also that an unmatched send is taken back, which the standard allows an implementation not to do. */
#include "mpi_check.h"

static void receive_canceled(int partner)
{
    int value = -1, canceled = 0, late = 5;
    MPI_Request request;
    MPI_Status status;

    for (int any = 0; any < 2; ++any) {
        for (int i = 0; i < 200; ++i) {
            MPI_Irecv(&value, 1, MPI_INT, any ? MPI_ANY_SOURCE : partner, any ? MPI_ANY_TAG : 77, MPI_COMM_WORLD, &request);
            MPI_Cancel(&request);
            MPI_Wait(&request, &status);
            MPI_Test_cancelled(&status, &canceled);
            CHECK(canceled);
            CHECK_EQ(value, -1);
        }
    }
    MPI_Barrier(MPI_COMM_WORLD);   /* or the other side's message finds a receive before it is canceled */
    /* What was canceled takes no message: the next receive gets it. */
    MPI_Sendrecv(&check_rank, 1, MPI_INT, partner, 77, &value, 1, MPI_INT, partner, 77, MPI_COMM_WORLD, &status);
    CHECK_EQ(value, partner);
    MPI_Test_cancelled(&status, &canceled);
    CHECK(!canceled);

    /* Too late: the message was received. */
    value = -1;
    MPI_Irecv(&value, 1, MPI_INT, partner, 78, MPI_COMM_WORLD, &request);
    MPI_Send(&late, 1, MPI_INT, partner, 78, MPI_COMM_WORLD);
    while (value != 5) {
        int flag;
        MPI_Iprobe(partner, 79, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    }
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &canceled);
    CHECK(!canceled);
    CHECK_EQ(value, 5);
}

/* A send that nobody receives, canceled, must be either taken back or be receivable, and its status must say which. Either way MPI_Wait returns. */
static void send_canceled(int partner, size_t bytes, int synchronous, int must_cancel)
{
    char *data = check_alloc(bytes);
    int canceled = 0, told = 0, found = 0, count = -1;
    MPI_Request request;
    MPI_Status status;

    pattern_fill(data, bytes, 3);
    if (check_rank % 2 == 0) {
        if (synchronous) {
            MPI_Issend(data, (int)bytes, MPI_BYTE, partner, 88, MPI_COMM_WORLD, &request);
        } else {
            MPI_Isend(data, (int)bytes, MPI_BYTE, partner, 88, MPI_COMM_WORLD, &request);
        }
        MPI_Cancel(&request);
        if (must_cancel) {
            MPI_Wait(&request, &status);
            MPI_Test_cancelled(&status, &canceled);
            CHECK(canceled || (!synchronous && bytes < 100000));
            MPI_Send(&canceled, 1, MPI_INT, partner, 89, MPI_COMM_WORLD);
        } else {
            /* Nothing can be said before the receiver has received it or found nothing. */
            MPI_Send(&canceled, 1, MPI_INT, partner, 89, MPI_COMM_WORLD);
            MPI_Wait(&request, &status);
            MPI_Test_cancelled(&status, &canceled);
            CHECK(!canceled);
        }
    } else {
        MPI_Recv(&told, 1, MPI_INT, partner, 89, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Iprobe(partner, 88, MPI_COMM_WORLD, &found, &status);
        CHECK_EQ(found, !told);
        if (found) {
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK_EQ(count, bytes);
            memset(data, 0, bytes);
            MPI_Recv(data, (int)bytes, MPI_BYTE, partner, 88, MPI_COMM_WORLD, &status);
            CHECK_PATTERN(data, bytes, 3);
        }
    }
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    static const size_t sizes[] = {0, 8, 3000, 200000, 4 << 20};
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    int partner = check_partner();
    int must_cancel = argc > 1 && strcmp(argv[1], "sends") == 0;
    CHECK(partner >= 0);
    receive_canceled(partner);
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        send_canceled(partner, sizes[s], 0, must_cancel);
        send_canceled(partner, sizes[s], 1, must_cancel);
    }
    return check_end("cancel");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* self.c: messages of a process to itself, in MPI_COMM_SELF and MPI_COMM_WORLD. */
#include "types.h"

static void to_self(MPI_Comm comm, int me)
{
    static const size_t sizes[] = {0, 1, 1000, 16000, 17000, 40000, 64000, 70000, 4 << 20};
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        for (int layout = 0; layout < LAYOUTS; ++layout) {
            MPI_Datatype type;
            MPI_Request requests[2];
            MPI_Status status;
            int count, got = -1, flag = 0;
            size_t span;
            layout_make(layout, sizes[s], &type, &count, &span);
            unsigned char *out = check_alloc(span), *in = check_alloc(span);
            pattern_fill(out, span, s);
            pattern_fill(in, span, 99);
            MPI_Irecv(in, count, type, me, 3, comm, &requests[0]);
            MPI_Send(out, count, type, me, 3, comm);
            MPI_Wait(&requests[0], &status);
            CHECK_EQ(status.MPI_SOURCE, me);
            CHECK_EQ(layout_differs(in, span, type, count, s, 99), -1);

            pattern_fill(in, span, 99);
            (layout % 2 ? MPI_Issend : MPI_Isend)(out, count, type, me, 4, comm, &requests[1]);
            while (!flag) {
                MPI_Iprobe(MPI_ANY_SOURCE, 4, comm, &flag, &status);
            }
            MPI_Get_count(&status, type, &got);
            CHECK_EQ(got, count);
            MPI_Irecv(in, count, type, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]);
            MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
            CHECK_EQ(layout_differs(in, span, type, count, s, 99), -1);
            free(in);
            free(out);
            MPI_Type_free(&type);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Request request;
    MPI_Status status;
    int canceled = 0;

    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    to_self(MPI_COMM_SELF, 0);
    to_self(MPI_COMM_WORLD, check_rank);
    MPI_Irecv(NULL, 0, MPI_BYTE, 0, 9, MPI_COMM_SELF, &request);
    MPI_Cancel(&request);
    MPI_Wait(&request, &status);
    MPI_Test_cancelled(&status, &canceled);
    CHECK(canceled);
    return check_end("self");
}

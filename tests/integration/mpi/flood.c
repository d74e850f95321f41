/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* flood.c: ten thousand messages before the first receive, then received in reverse, and by wildcard. */
/* usage: flood [MESSAGES] */
#include "mpi_check.h"

static void flood(int messages, size_t bytes, int order)
{
    int partner = check_partner(), half = messages / 2;   /* messages is even */
    char *data = check_alloc(bytes + 8);

    if (check_rank % 2 == 0) {
        MPI_Request *requests = check_alloc(sizeof *requests * (size_t)messages);
        char *all = check_alloc(bytes * (size_t)messages);
        for (int m = 0; m < messages; ++m) {
            pattern_fill(all + bytes * (size_t)m, bytes, (uint64_t)m);
            MPI_Isend(all + bytes * (size_t)m, (int)bytes, MPI_BYTE, partner, m % half, MPI_COMM_WORLD, &requests[m]);
        }
        MPI_Send(NULL, 0, MPI_BYTE, partner, messages, MPI_COMM_WORLD);
        MPI_Waitall(messages, requests, MPI_STATUSES_IGNORE);
        free(all);
        free(requests);
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, partner, messages, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int k = 0; k < messages; ++k) {
            MPI_Status status;
            int wanted;
            if (order == 0) {          /* as sent */
                wanted = k;
                MPI_Recv(data, (int)bytes, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
            } else {                   /* tags from the last to the first; a tag's two messages in order */
                int tag = half - 1 - k / 2;
                wanted = k % 2 ? tag + half : tag;
                MPI_Recv(data, (int)bytes, MPI_BYTE, partner, tag, MPI_COMM_WORLD, &status);
            }
            CHECK_PATTERN(data, bytes, (uint64_t)wanted);
            CHECK_EQ(status.MPI_TAG, wanted % half);
        }
    }
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    int messages = (argc > 1 ? atoi(argv[1]) : 10000) / 2 * 2;
    CHECK(check_partner() >= 0);
    for (int order = 0; order < 2; ++order) {
        flood(messages, 16, order);
        flood(messages, 1000, order);
        flood(messages / 20 * 2, 40000, order);
    }
    return check_end("flood");
}

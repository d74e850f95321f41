/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* truncation.c: a message longer than the receive: MPI_ERR_TRUNCATE, what fits is there, nothing beyond is touched, the next message is right. */
#include "types.h"

enum { GUARD = 4096 };

static void too_long(size_t sent, size_t fits, int kind, int posted_first)
{
    int partner = check_partner();
    char *data = check_alloc((sent > fits ? sent : fits) + GUARD);
    MPI_Status status;
    MPI_Request request;
    MPI_Message message;
    int class = MPI_SUCCESS, rc = MPI_SUCCESS, count = -1;

    if (check_rank % 2 == 0) {
        pattern_fill(data, sent, 8);
        if (posted_first) {
            MPI_Recv(NULL, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        CHECK_EQ(MPI_Send(data, (int)sent, MPI_BYTE, partner, 2, MPI_COMM_WORLD), MPI_SUCCESS);
        CHECK_EQ(MPI_Send(data, (int)fits, MPI_BYTE, partner, 2, MPI_COMM_WORLD), MPI_SUCCESS);
    } else {
        pattern_fill(data, fits + GUARD, 9);
        if (kind == 2) {
            MPI_Mprobe(partner, 2, MPI_COMM_WORLD, &message, &status);
            MPI_Get_count(&status, MPI_BYTE, &count);
            CHECK_EQ(count, sent);   /* a probe tells the true length */
            rc = MPI_Mrecv(data, (int)fits, MPI_BYTE, &message, &status);
        } else if (posted_first) {
            MPI_Irecv(data, (int)fits, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &request);
            MPI_Send(NULL, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
            rc = MPI_Wait(&request, &status);
        } else {
            rc = MPI_Recv(data, (int)fits, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &status);
        }
        MPI_Error_class(rc, &class);
        CHECK_EQ(class, MPI_ERR_TRUNCATE);
        CHECK_EQ(status.MPI_SOURCE, partner);
        CHECK_EQ(status.MPI_TAG, 2);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQ(count, sent);   /* the true length */
        CHECK_PATTERN(data, fits, 8);
        for (size_t i = fits; i < fits + GUARD; ++i) {
            CHECK_EQ((unsigned char)data[i], pattern_byte(9, i));
        }
        CHECK_EQ(MPI_Recv(data, (int)fits, MPI_BYTE, partner, 2, MPI_COMM_WORLD, &status), MPI_SUCCESS);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQ(count, fits);
        CHECK_PATTERN(data, fits, 8);
    }
    free(data);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* The same into a strided buffer: all of its places are filled, its holes are not. */
static void too_long_strided(size_t bytes)
{
    MPI_Datatype type;
    int count, size, class = 0, partner = check_partner();
    size_t span;

    layout_make(2, bytes, &type, &count, &span);
    MPI_Type_size(type, &size);
    size_t fits = (size_t)size * (size_t)count;
    if (check_rank % 2 == 0) {
        unsigned char *data = check_alloc(fits * 2);
        memset(data, 0x5a, fits * 2);
        MPI_Send(data, (int)(fits * 2), MPI_BYTE, partner, 4, MPI_COMM_WORLD);
        free(data);
    } else {
        unsigned char *data = calloc(span, 1);
        size_t set = 0;
        CHECK(data != NULL);
        MPI_Error_class(MPI_Recv(data, count, type, partner, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE), &class);
        CHECK_EQ(class, MPI_ERR_TRUNCATE);
        for (size_t i = 0; i < span; ++i) {
            CHECK(data[i] == 0 || data[i] == 0x5a);
            set += data[i] == 0x5a;
        }
        CHECK_EQ(set, fits);
        free(data);
    }
    MPI_Type_free(&type);
}

/* usage: truncation [short]      short: no rendezvous; pml ob1 of Open MPI 4.1 writes beyond the buffer there */
int main(int argc, char **argv)
{
    static const size_t sizes[][2] = {{1, 0},        {8, 7},          {1000, 10},      {20000, 0},      {20000, 19999},  {300000, 1},
                                      {300000, 9999}, {4 << 20, 1 << 20}, {4 << 20, 0}, {4 << 20, (4 << 20) - 1}};
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    CHECK(check_partner() >= 0);
    int brief = argc > 1 && strcmp(argv[1], "short") == 0;
    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0] && !(brief && sizes[s][0] > 20000); ++s) {
        too_long(sizes[s][0], sizes[s][1], 0, 0);
        too_long(sizes[s][0], sizes[s][1], 0, 1);
        too_long(sizes[s][0], sizes[s][1], 2, 0);
    }
    too_long_strided(500);
    too_long_strided(50000);
    too_long_strided(1 << 20);
    return check_end("truncation");
}

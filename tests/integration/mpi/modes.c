/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* modes.c: every send mode, blocking or not, with every memory layout, from no bytes to 4 MiB. */
#include "types.h"

enum { STANDARD, SYNCHRONOUS, READY, BUFFERED, MODES };

static const size_t sizes[] = {0, 1, 8, 100, 1000, 1460, 4096, 16384, 65536, 70001, 1 << 20, 4 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void send_one(int mode, int blocking, const void *data, int count, MPI_Datatype type, int to, int tag)
{
    static int (*const call[MODES])(const void *, int, MPI_Datatype, int, int, MPI_Comm) = {MPI_Send, MPI_Ssend, MPI_Rsend, MPI_Bsend};
    static int (*const start[MODES])(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *) = {MPI_Isend, MPI_Issend,
                                                                                                          MPI_Irsend, MPI_Ibsend};
    MPI_Request request;
    if (blocking) {
        CHECK_EQ(call[mode](data, count, type, to, tag, MPI_COMM_WORLD), MPI_SUCCESS);
        return;
    }
    CHECK_EQ(start[mode](data, count, type, to, tag, MPI_COMM_WORLD, &request), MPI_SUCCESS);
    CHECK_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
}

/* `posted_first`: the receive waits for the message, or the message for the receive. */
static void exchange(int layout, size_t bytes, int mode, int blocking, int posted_first)
{
    MPI_Datatype type;
    MPI_Status status;
    MPI_Request request;
    int count, got, tag = 100 + layout;
    size_t span;
    int partner = check_partner();
    uint64_t seed = bytes * 16 + (uint64_t)mode * 2 + (uint64_t)blocking;

    layout_make(layout, bytes, &type, &count, &span);
    unsigned char *data = check_alloc(span);
    if (check_rank % 2 == 0) {
        pattern_fill(data, span, seed);
        if (posted_first) {
            MPI_Recv(NULL, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        send_one(mode, blocking, data, count, type, partner, tag);
    } else {
        pattern_fill(data, span, seed + 1);
        if (posted_first) {
            MPI_Irecv(data, count, type, partner, tag, MPI_COMM_WORLD, &request);
            MPI_Send(NULL, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
            MPI_Wait(&request, &status);
        } else {
            MPI_Recv(data, count, type, partner, tag, MPI_COMM_WORLD, &status);
        }
        CHECK_EQ(status.MPI_SOURCE, partner);
        CHECK_EQ(status.MPI_TAG, tag);
        MPI_Get_count(&status, type, &got);
        CHECK_EQ(got, count);
        CHECK_EQ(layout_differs(data, span, type, count, seed, seed + 1), -1);
    }
    free(data);
    MPI_Type_free(&type);
}

/* One side strided, the other together: the same bytes. */
static void mixed(size_t bytes, int strided_sends)
{
    MPI_Datatype type;
    int count, size, position = 0;
    size_t span;
    int partner = check_partner();

    layout_make(2, bytes, &type, &count, &span);
    MPI_Type_size(type, &size);
    size_t packed = (size_t)size * (size_t)count;
    unsigned char *data = check_alloc(span);
    unsigned char *flat = check_alloc(packed);
    pattern_fill(data, span, 5);
    MPI_Pack(data, count, type, flat, (int)packed, &position, MPI_COMM_WORLD);
    if (check_rank % 2 == 0) {
        MPI_Send(strided_sends ? data : flat, strided_sends ? count : (int)packed, strided_sends ? type : MPI_PACKED, partner, 3,
                 MPI_COMM_WORLD);
    } else if (strided_sends) {
        unsigned char *got = check_alloc(packed);
        MPI_Recv(got, (int)packed, MPI_PACKED, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(memcmp(got, flat, packed) == 0);
        free(got);
    } else {
        pattern_fill(data, span, 6);
        MPI_Recv(data, count, type, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_EQ(layout_differs(data, span, type, count, 5, 6), -1);
    }
    free(flat);
    free(data);
    MPI_Type_free(&type);
}

/* usage: modes [small]      small: no elements over 16 bytes; pml ob1 of Open MPI 4.1 overruns its stack with them */
int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    int buffer_bytes = (16 << 20) + MPI_BSEND_OVERHEAD * 8;
    void *buffer = check_alloc((size_t)buffer_bytes);
    MPI_Buffer_attach(buffer, buffer_bytes);

    int layouts = argc > 1 && strcmp(argv[1], "small") == 0 ? LAYOUTS - 1 : LAYOUTS;
    for (int layout = 0; layout < layouts && check_partner() >= 0; ++layout) {
        for (size_t s = 0; s < SIZES; ++s) {
            for (int mode = 0; mode < MODES; ++mode) {
                for (int blocking = 0; blocking < 2; ++blocking) {
                    exchange(layout, sizes[s], mode, blocking, 1);
                    if (mode != READY) {
                        exchange(layout, sizes[s], mode, blocking, 0);
                    }
                }
            }
        }
    }
    for (size_t s = 0; s < SIZES && check_partner() >= 0; ++s) {
        mixed(sizes[s], 0);
        mixed(sizes[s], 1);
    }
    MPI_Buffer_detach(&buffer, &buffer_bytes);
    free(buffer);
    return check_end("modes");
}

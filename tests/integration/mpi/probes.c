/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* probes.c: probe, iprobe, mprobe, improbe, and the receives of what they found. */
#include "mpi_check.h"

static const size_t sizes[] = {0, 1, 1000, 20000, 300000, 2 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

static void send_all(int to)
{
    for (size_t s = 0; s < SIZES; ++s) {
        char *data = check_alloc(sizes[s]);
        pattern_fill(data, sizes[s], s);
        MPI_Send(data, (int)sizes[s], MPI_BYTE, to, 40 + (int)s, MPI_COMM_WORLD);
        free(data);
    }
}

static void find(int kind, int source, int tag, MPI_Message *message, MPI_Status *status)
{
    int found = 0;
    status->MPI_ERROR = MPI_ERR_DIMS;   /* none of these sets it */
    switch (kind) {
    case 0:
        MPI_Probe(source, tag, MPI_COMM_WORLD, status);
        break;
    case 1:
        while (!found) {
            MPI_Iprobe(source, tag, MPI_COMM_WORLD, &found, status);
        }
        break;
    case 2:
        MPI_Mprobe(source, tag, MPI_COMM_WORLD, message, status);
        break;
    default:
        while (!found) {
            MPI_Improbe(source, tag, MPI_COMM_WORLD, &found, message, status);
        }
        break;
    }
}

static void take_all(int kind, int from, int wild)
{
    for (size_t s = 0; s < SIZES; ++s) {
        MPI_Message message = MPI_MESSAGE_NULL;
        MPI_Status status;
        MPI_Request request;
        int count = -1;
        find(kind, wild ? MPI_ANY_SOURCE : from, wild ? MPI_ANY_TAG : 40 + (int)s, &message, &status);
        CHECK_EQ(status.MPI_SOURCE, from);
        CHECK_EQ(status.MPI_TAG, 40 + (int)s);
        CHECK_EQ(status.MPI_ERROR, MPI_ERR_DIMS);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQ(count, sizes[s]);
        char *data = check_alloc(sizes[s]);
        if (kind < 2) {
            MPI_Recv(data, count, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD, &status);
        } else if (kind == 2) {
            CHECK(message != MPI_MESSAGE_NULL);
            MPI_Mrecv(data, count, MPI_BYTE, &message, &status);
        } else {
            CHECK(message != MPI_MESSAGE_NULL);
            MPI_Imrecv(data, count, MPI_BYTE, &message, &request);
            MPI_Wait(&request, &status);
        }
        CHECK(kind < 2 || message == MPI_MESSAGE_NULL);
        CHECK_EQ(status.MPI_SOURCE, from);
        CHECK_EQ(status.MPI_TAG, 40 + (int)s);
        MPI_Get_count(&status, MPI_BYTE, &count);
        CHECK_EQ(count, sizes[s]);
        CHECK_PATTERN(data, sizes[s], s);
        free(data);
    }
}

/* A claimed message is out of the game: the next receive gets the next message, and the claimed one can be received last. */
static void claimed_is_apart(int partner)
{
    enum { N = 2000 };
    if (check_rank % 2 == 0) {
        for (int i = 0; i < N; ++i) {
            MPI_Send(&i, 1, MPI_INT, partner, 7, MPI_COMM_WORLD);
        }
        return;
    }
    MPI_Message first, third;
    int value = -1, none = 1;
    MPI_Mprobe(partner, 7, MPI_COMM_WORLD, &first, MPI_STATUS_IGNORE);
    MPI_Recv(&value, 1, MPI_INT, partner, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(value, 1);
    MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &third, MPI_STATUS_IGNORE);
    for (int i = 3; i < N; ++i) {   /* a message object leaked per mprobe would show in memory, not here */
        MPI_Message message;
        MPI_Mprobe(partner, 7, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
        CHECK_EQ(value, i);
    }
    MPI_Mrecv(&value, 1, MPI_INT, &third, MPI_STATUS_IGNORE);
    CHECK_EQ(value, 2);
    MPI_Mrecv(&value, 1, MPI_INT, &first, MPI_STATUS_IGNORE);
    CHECK_EQ(value, 0);
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &none, MPI_STATUS_IGNORE);
    CHECK(!none);
}

static void no_process(void)
{
    MPI_Message message;
    MPI_Status status;
    MPI_Mprobe(MPI_PROC_NULL, 3, MPI_COMM_WORLD, &message, &status);
    CHECK(message == MPI_MESSAGE_NO_PROC);
    CHECK_EQ(status.MPI_SOURCE, MPI_PROC_NULL);
    MPI_Mrecv(NULL, 0, MPI_BYTE, &message, &status);
    CHECK(message == MPI_MESSAGE_NULL);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    int partner = check_partner();
    for (int kind = 0; kind < 4 && partner >= 0; ++kind) {
        for (int wild = 0; wild < 2; ++wild) {
            if (check_rank % 2 == 0) {
                send_all(partner);
            } else {
                take_all(kind, partner, wild);
            }
            MPI_Sendrecv(NULL, 0, MPI_BYTE, partner, 1, NULL, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    if (partner >= 0) {
        claimed_is_apart(partner);
    }
    no_process();
    return check_end("probes");
}

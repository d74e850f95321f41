/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* copies.c: who copies long messages within a host. `copies shared`: in pieces, of which idle cores take some; `copies alone`: the receiver at once. */
/* The sender sleeps outside MPI while it is read, so its core is idle. The bytes are looked at in either case, and so are the bytes beside them. */
#include "mpi_check.h"

#include <stdbool.h>

enum { MOST = 64 << 20, EDGE = 64, PLACES = 4 };
static const char *const places[PLACES] = {"host", "event", "helper", "waiter"};
static const size_t lengths[] = {4 << 20, (16 << 20) + 1, (40 << 20) - 3, MOST};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static MPI_T_pvar_session session;
static MPI_T_pvar_handle copied[PLACES];

static void watch(void)
{
    CHECK_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    for (int i = 0; i < PLACES; ++i) {
        char name[80];
        int index, count;
        snprintf(name, sizeof name, "mtl_linnet_task_copy_%s", places[i]);
        CHECK_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
        CHECK_EQ(MPI_T_pvar_handle_alloc(session, index, NULL, &copied[i], &count), MPI_SUCCESS);
    }
}

/* Pieces that were copied there since watch(). */
static unsigned long long pieces(int place)
{
    unsigned long long value = 0;
    CHECK_EQ(MPI_T_pvar_read(session, copied[place], &value), MPI_SUCCESS);
    return value;
}

/* Rank 1 sends and sleeps; rank 0 receives. */
static void one_message(char *data, size_t bytes, unsigned seed)
{
    if (check_rank == 1) {
        MPI_Request request;
        pattern_fill(data, bytes, seed);
        CHECK_EQ(MPI_Isend(data, (int)bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &request), MPI_SUCCESS);
        usleep(20000 + (useconds_t)(bytes >> 10));   /* a GB/s */
        CHECK_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);
    } else {
        memset(data, 0xee, bytes + EDGE);
        CHECK_EQ(MPI_Recv(data, (int)bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_SUCCESS);
        CHECK_PATTERN(data, bytes, seed);
        for (int i = 0; i < EDGE; ++i) {
            CHECK_EQ((unsigned char)data[bytes + (size_t)i], 0xee);
        }
    }
}

/* A round is a message of each length. As many as it takes until a helper has helped, which it need not where something else wants its core. */
int main(int argc, char **argv)
{
    const bool shared = argc > 1 && strcmp(argv[1], "shared") == 0;
    int provided, more = 1;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK_EQ(check_size, 2);
    watch();
    char *data = check_alloc(MOST + EDGE);
    const double end = check_now(CLOCK_MONOTONIC) + 60;
    int rounds = 0;
    for (; more != 0; ++rounds) {
        for (int i = 0; i < LENGTHS; ++i) {
            one_message(data, lengths[i], (unsigned)(rounds * LENGTHS + i));
        }
        more = shared && pieces(2) == 0 && check_now(CLOCK_MONOTONIC) < end;
        CHECK_EQ(MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD), MPI_SUCCESS);
    }
    if (check_rank == 0) {
        printf("after %d rounds: pieces copied by host %llu, event thread %llu, helpers %llu, waiter %llu\n", rounds, pieces(0), pieces(1), pieces(2),
               pieces(3));
        CHECK(shared ? pieces(3) > 0 : pieces(0) + pieces(1) + pieces(2) + pieces(3) == 0);
        CHECK(!shared || pieces(2) > 0);
    }
    free(data);
    for (int i = 0; i < PLACES; ++i) {
        MPI_T_pvar_handle_free(session, &copied[i]);
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return check_end("copies");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* lazy.c: a process is connected with those that it has spoken to, and with nobody else: not since MPI_Init, nor because others talk. Over tcp. */
/* Ranks 0 and 1 exchange messages; then 0 tells 2, and 2 tells 3. When it has been told each must have one session, with the rank that told it. */
#include "mpi_check.h"

static MPI_T_pvar_session session;

/* Made before MPI_Init: Open MPI reads a counter as what it has grown by since its handle was made. */
static MPI_T_pvar_handle watch(const char *name)
{
    MPI_T_pvar_handle handle;
    int index, count;
    CHECK_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
    CHECK_EQ(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &count), MPI_SUCCESS);
    return handle;
}

static unsigned long long grown(MPI_T_pvar_handle handle)
{
    unsigned long long value = 0;
    CHECK_EQ(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
    return value;
}

int main(int argc, char **argv)
{
    enum { BYTES = 1 << 20, TURNS = 20 };
    static char out[BYTES], in[BYTES];
    static const int before[] = {1, MPI_PROC_NULL, 0, 2}, after[] = {2, 0, 3, MPI_PROC_NULL};   /* the order 1, 0, 2, 3 */
    int provided;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    MPI_T_pvar_session_create(&session);
    MPI_T_pvar_handle sessions = watch("mtl_linnet_connects"), opened = watch("mtl_linnet_tcp_connects"), accepted = watch("mtl_linnet_tcp_accepts");
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK_EQ(check_size, 4);
    for (int i = 0; i < TURNS && check_rank < 2; ++i) {
        MPI_Sendrecv(out, BYTES, MPI_BYTE, 1 - check_rank, 1, in, BYTES, MPI_BYTE, 1 - check_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Recv(in, 1, MPI_BYTE, before[check_rank], 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(grown(sessions), 1);
    CHECK(grown(opened) + grown(accepted) > 0);
    MPI_Send(out, 1, MPI_BYTE, after[check_rank], 2, MPI_COMM_WORLD);
    /* Nobody speaks to another one while somebody counts. */
    MPI_Recv(in, 1, MPI_BYTE, after[check_rank], 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, 1, MPI_BYTE, before[check_rank], 3, MPI_COMM_WORLD);
    for (int distance = 1; distance < 4; ++distance) {
        MPI_Sendrecv(out, 1, MPI_BYTE, check_rank ^ distance, 4, in, 1, MPI_BYTE, check_rank ^ distance, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    CHECK_EQ(grown(sessions), 3);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return check_end("lazy");
}

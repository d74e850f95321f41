/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* lazy.c: a process is connected with those that it has spoken to, and with nobody else: not since MPI_Init, nor because others talk. */
/* usage: lazy [shm]      over tcp, whose connections are counted; or over shm, whose shared mappings are
 * Rank 0 begins; ranks 0 and 1 exchange messages; then 0 tells 2, and 2 tells 3. When it has been told each must have one session, with the rank that
 * told it. */
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

/* How many links' shared memory is mapped here. */
static int links(void)
{
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    CHECK(maps != NULL);
    while (fgets(line, sizeof line, maps) != NULL) {
        found += strstr(line, "/memfd:linnet-link") != NULL;
    }
    fclose(maps);
    return found;
}

/* So many sessions, and shared memory for them alone: for short messages to each peer, and for long ones where there were some. */
static void check_sessions(MPI_T_pvar_handle sessions, int wanted, int shm)
{
    CHECK_EQ(grown(sessions), wanted);
    if (shm) {
        const int most = wanted + (wanted > 0 && check_rank < 2);
        CHECK(links() >= wanted);
        for (int i = 0; i < 200 && links() > most; ++i) {   /* of two that were opened towards each other one goes */
            nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
        }
        CHECK(links() <= most);
    }
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
    const int shm = argc > 1 && strcmp(argv[1], "shm") == 0;
    if (check_rank == 0) {   /* to whom nobody can have spoken yet */
        check_sessions(sessions, 0, shm);
        MPI_Send(out, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (check_rank == 1) {
        MPI_Recv(in, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int i = 0; i < TURNS && check_rank < 2; ++i) {
        MPI_Sendrecv(out, BYTES, MPI_BYTE, 1 - check_rank, 1, in, BYTES, MPI_BYTE, 1 - check_rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Recv(in, 1, MPI_BYTE, before[check_rank], 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_sessions(sessions, 1, shm);
    CHECK((grown(opened) + grown(accepted) == 0) == shm);
    MPI_Send(out, 1, MPI_BYTE, after[check_rank], 2, MPI_COMM_WORLD);
    /* Nobody speaks to another one while somebody counts. */
    MPI_Recv(in, 1, MPI_BYTE, after[check_rank], 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    check_sessions(sessions, 1 + (check_rank % 2 == 0), shm);   /* 0 and 2 are within that order */
    MPI_Send(out, 1, MPI_BYTE, before[check_rank], 3, MPI_COMM_WORLD);
    MPI_Recv(in, 1, MPI_BYTE, before[check_rank], 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(out, 1, MPI_BYTE, after[check_rank], 4, MPI_COMM_WORLD);
    for (int distance = 1; distance < 4; ++distance) {
        MPI_Sendrecv(out, 1, MPI_BYTE, check_rank ^ distance, 5, in, 1, MPI_BYTE, check_rank ^ distance, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    check_sessions(sessions, 3, shm);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return check_end("lazy");
}

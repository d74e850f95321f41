/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* connect.c: two jobs, started by two mpiruns, meet through a port, talk and part, again and again. */
/* usage: connect accept|connect FILE [kill]      FILE: where the accepting job leaves the name of its port
 * kill: the last process of the connecting job is killed while both are at work */
#include "mpi_check.h"

enum { TURNS = 3, SIZES = 4 };
static const size_t sizes[SIZES] = {0, 8, 5000, 1500000};

static void port_write(const char *file, const char *port)
{
    char fresh[4096];

    snprintf(fresh, sizeof fresh, "%s.new", file);
    FILE *out = fopen(fresh, "w");
    CHECK(out != NULL);
    CHECK(fputs(port, out) >= 0);
    CHECK_EQ(fclose(out), 0);
    CHECK_EQ(rename(fresh, file), 0);
}

static void port_read(const char *file, char *port)
{
    FILE *in = NULL;

    for (int i = 0; i < 600 && (in = fopen(file, "r")) == NULL; ++i) {
        nanosleep(&(struct timespec){.tv_nsec = 100000000}, NULL);
    }
    CHECK(in != NULL);
    CHECK(fgets(port, MPI_MAX_PORT_NAME, in) != NULL);
    fclose(in);
}

/* Everybody here with everybody there, all sizes at once. */
static void exchange(MPI_Comm inter, uint64_t mine, uint64_t theirs)
{
    int rank, remote;

    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &remote);
    for (int s = 0; s < SIZES; ++s) {
        MPI_Request *requests = check_alloc(sizeof *requests * 2 * (size_t)remote);
        unsigned char *out = check_alloc(sizes[s]), *in = check_alloc(sizes[s] * (size_t)remote);
        pattern_fill(out, sizes[s], mine + (uint64_t)rank);
        for (int r = 0; r < remote; ++r) {
            MPI_Irecv(in + sizes[s] * (size_t)r, (int)sizes[s], MPI_BYTE, r, s, inter, &requests[2 * r]);
            MPI_Isend(out, (int)sizes[s], MPI_BYTE, r, s, inter, &requests[2 * r + 1]);
        }
        MPI_Waitall(2 * remote, requests, MPI_STATUSES_IGNORE);
        for (int r = 0; r < remote; ++r) {
            CHECK_PATTERN(in + sizes[s] * (size_t)r, sizes[s], theirs + (uint64_t)r);
        }
        free(requests);
        free(out);
        free(in);
    }
}

int main(int argc, char **argv)
{
    char port[MPI_MAX_PORT_NAME] = "";

    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(argc == 3 || argc == 4);
    int accepts = strcmp(argv[1], "accept") == 0;
    if (check_rank == 0 && accepts) {
        MPI_Open_port(MPI_INFO_NULL, port);
        port_write(argv[2], port);
    } else if (check_rank == 0) {
        port_read(argv[2], port);
    }
    for (int turn = 0; turn < TURNS; ++turn) {
        MPI_Comm inter, all;
        int remote, size, one = 1, sum = 0;
        if (accepts) {
            MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        } else {
            MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter);
        }
        MPI_Comm_remote_size(inter, &remote);
        exchange(inter, accepts ? 1000 : 2000, accepts ? 2000 : 1000);
        MPI_Intercomm_merge(inter, !accepts, &all);
        MPI_Comm_size(all, &size);
        CHECK_EQ(size, check_size + remote);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
        CHECK_EQ(sum, size);
        if (argc > 3) {
            check_until_killed(all, !accepts && check_rank == check_size - 1);
        }
        MPI_Comm_free(&all);
        MPI_Comm_disconnect(&inter);
    }
    if (check_rank == 0 && accepts) {
        MPI_Close_port(port);
    }
    return check_end("connect");
}

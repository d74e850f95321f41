/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* spawn.c: processes started by MPI_Comm_spawn talk with their parents, and depart before them. */
/* usage: spawn [CHILDREN [TURNS]]
 *        spawn CHILDREN kill      the last child is killed while all are at work */
#include "mpi_check.h"

enum { BYTES = 300000 };

static void exchange(MPI_Comm inter, int mine, int theirs)
{
    int rank, remote;
    char *out = check_alloc(BYTES), *in = check_alloc(BYTES);

    MPI_Comm_rank(inter, &rank);
    MPI_Comm_remote_size(inter, &remote);
    for (int r = 0; r < remote; ++r) {
        MPI_Status status;
        pattern_fill(out, BYTES, (uint64_t)(mine + rank));
        MPI_Sendrecv(out, BYTES, MPI_BYTE, r, 5, in, BYTES, MPI_BYTE, r, 5, inter, &status);
        CHECK_EQ(status.MPI_SOURCE, r);
        CHECK_PATTERN(in, BYTES, (uint64_t)(theirs + r));
    }
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, inter, all;
    int sum = 0, one = 1;

    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        exchange(parent, 2000, 1000);
        MPI_Intercomm_merge(parent, 1, &all);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
        if (argc > 1) {
            check_until_killed(all, check_rank == check_size - 1);
        }
        MPI_Comm_free(&all);
        MPI_Comm_disconnect(&parent);
        MPI_Finalize();
        return 0;
    }
    const int children = argc > 1 ? atoi(argv[1]) : 2, kill = argc > 2 && strcmp(argv[2], "kill") == 0, turns = argc > 2 && !kill ? atoi(argv[2]) : 3;
    for (int turn = 0; turn < turns; ++turn) {
        MPI_Comm_spawn(argv[0], kill ? (char *[]){"kill", NULL} : MPI_ARGV_NULL, children, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &inter, MPI_ERRCODES_IGNORE);
        exchange(inter, 1000, 2000);
        MPI_Intercomm_merge(inter, 0, &all);
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
        CHECK_EQ(sum, check_size + children);
        if (kill) {
            check_until_killed(all, 0);
        }
        MPI_Comm_free(&all);
        MPI_Comm_disconnect(&inter);
    }
    return check_end("spawn");
}

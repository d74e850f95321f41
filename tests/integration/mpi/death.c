/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* death.c: rank 1 is killed, or ends the job, while all are at work; nothing may hang, and somebody says which rank it was. */
/* usage: death [kill|abort|exit] [recv|send|bsend|collective|rma|pingpong|probe|mprobe|iprobe] [survive]
 * survive: errors are returned. The survivors' operations with rank 1 must end with one; each then says "ok death", where the launcher lets them
 * (mpirun --enable-recovery). Otherwise errors are fatal, as they come. */
#include "mpi_check.h"

#include <stdbool.h>

enum { BUFFER = 8 << 20, BEFORE = 20 /* turns of the work before it dies */, WORDS = 20000, KNOWN_WITHIN = 20 /* seconds, far less than silence_timeout */ };

static const char *how = "kill", *work = "recv";
static int survive;

static void die(void)
{
    check_dying();
    if (strcmp(how, "abort") == 0) {
        MPI_Abort(MPI_COMM_WORLD, 7);
    } else if (strcmp(how, "exit") == 0) {
        _exit(7);
    }
    raise(SIGKILL);
}

static int receive(int turn)
{
    int value = turn;

    if (check_rank == 1) {
        for (int r = 0; r < check_size; ++r) {
            if (r != 1) {
                MPI_Send(&value, 1, MPI_INT, r, 1, MPI_COMM_WORLD);
            }
        }
        return MPI_SUCCESS;
    }
    return MPI_Recv(&value, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static int send(int *data)
{
    if (check_rank == 1) {
        for (int r = 0; r < check_size; ++r) {
            if (r != 1) {
                MPI_Recv(data, WORDS, MPI_INT, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
        return MPI_SUCCESS;
    }
    return MPI_Send(data, WORDS, MPI_INT, 1, 2, MPI_COMM_WORLD);
}

/* Slowly, so that the buffer lasts until the death is known. */
static int buffered_send(int turn)
{
    if (check_rank == 1) {
        for (int r = 0; r < check_size; ++r) {
            if (r != 1) {
                MPI_Recv(&turn, 1, MPI_INT, r, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            }
        }
        return MPI_SUCCESS;
    }
    usleep(1000);
    return MPI_Bsend(&turn, 1, MPI_INT, 1, 4, MPI_COMM_WORLD);
}

/* Finds a message by a probe that knows whom it asks, and receives it. */
static int probe(int turn)
{
    int value = turn, there = 0, rc = MPI_SUCCESS;
    MPI_Message message;

    if (check_rank == 1) {
        return receive(turn);
    }
    if (strcmp(work, "mprobe") == 0) {
        rc = MPI_Mprobe(1, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        return rc == MPI_SUCCESS ? MPI_Mrecv(&value, 1, MPI_INT, &message, MPI_STATUS_IGNORE) : rc;
    }
    if (strcmp(work, "probe") == 0) {
        rc = MPI_Probe(1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        while (rc == MPI_SUCCESS && !there) {
            rc = MPI_Iprobe(1, 1, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        }
    }
    return rc == MPI_SUCCESS ? receive(turn) : rc;
}

/* Of ranks 0 and 1. */
static int pingpong(int value)
{
    int rc = check_rank == 0 ? MPI_Send(&value, 1, MPI_INT, 1, 3, MPI_COMM_WORLD) : MPI_SUCCESS;
    rc = rc == MPI_SUCCESS ? MPI_Recv(&value, 1, MPI_INT, 1 - check_rank, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE) : rc;
    return rc == MPI_SUCCESS && check_rank == 1 ? MPI_Send(&value, 1, MPI_INT, 0, 3, MPI_COMM_WORLD) : rc;
}

static int one_sided(MPI_Win win, int *data, int turn)
{
    bool fenced = turn % 2 != 0;
    int rc = fenced ? MPI_Win_fence(0, win) : MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
    rc = rc == MPI_SUCCESS ? MPI_Put(data, WORDS, MPI_INT, 1, 0, WORDS, MPI_INT, win) : rc;
    if (rc == MPI_SUCCESS) {
        rc = fenced ? MPI_Win_fence(MPI_MODE_NOSUCCEED, win) : MPI_Win_unlock(1, win);
    }
    return rc;
}

int main(int argc, char **argv)
{
    int rc = MPI_SUCCESS, class = MPI_SUCCESS, *memory = NULL, *data = check_alloc(sizeof(int) * WORDS), *sum = check_alloc(sizeof(int) * WORDS);
    MPI_Win win = MPI_WIN_NULL;

    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    how = argc > 1 ? argv[1] : how;
    work = argc > 2 ? argv[2] : work;
    survive = argc > 3;
    /* Many short messages bring the lane to raw Ethernet, where nobody tells of a death. */
    int before = strcmp(work, "pingpong") == 0 ? 1000 * BEFORE : BEFORE;
    memset(data, 0, sizeof(int) * WORDS);
    if (strcmp(work, "rma") == 0) {
        MPI_Win_allocate(sizeof(int) * WORDS, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    }
    if (survive) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    }
    void *buffer = check_alloc(BUFFER);
    MPI_Buffer_attach(buffer, BUFFER);
    MPI_Barrier(MPI_COMM_WORLD);
    double from = 0.0;
    for (int turn = 0; rc == MPI_SUCCESS; ++turn) {
        if (turn == before && check_rank == 1) {
            die();
        }
        from = check_now(CLOCK_MONOTONIC);
        if (strcmp(work, "recv") == 0) {
            rc = receive(turn);
        } else if (strcmp(work, "pingpong") == 0) {
            rc = pingpong(turn);
        } else if (strstr(work, "probe") != NULL) {
            rc = probe(turn);
        } else if (strcmp(work, "send") == 0) {
            rc = send(data);
        } else if (strcmp(work, "bsend") == 0) {
            rc = buffered_send(turn);
        } else if (strcmp(work, "rma") == 0) {
            rc = one_sided(win, data, turn);
        } else {
            rc = MPI_Allreduce(data, sum, WORDS, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        }
    }
    MPI_Buffer_detach(&buffer, &(int){0});   /* returns when no send uses it any more, those that failed neither */
    MPI_Error_class(rc, &class);
    CHECK(class == MPI_ERR_OTHER || class == MPI_ERR_INTERN);
    CHECK(check_now(CLOCK_MONOTONIC) - from < KNOWN_WITHIN);
    printf("ok death %s %s: rank %d after %.1f s\n", how, work, check_rank, check_now(CLOCK_MONOTONIC) - from);
    fflush(stdout);
    _exit(0);   /* there is nobody to finalize with */
}

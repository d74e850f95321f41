/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* onesided.c: put, get, accumulate under fence, lock and post-start, by the one-sided component that sends messages (osc pt2pt). */
#include "mpi_check.h"

enum { N = 5000 };

static void fenced(MPI_Win win, int *memory, int turn)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    int *data = check_alloc(sizeof(int) * N), *got = check_alloc(sizeof(int) * N);

    for (int i = 0; i < N; ++i) {
        data[i] = check_rank * 100000 + i + turn;
        memory[i] = -1;
        memory[N + i] = 1;
    }
    MPI_Win_fence(0, win);
    MPI_Put(data, N, MPI_INT, right, 0, N, MPI_INT, win);
    MPI_Accumulate(data, N, MPI_INT, right, N, N, MPI_INT, MPI_SUM, win);
    MPI_Win_fence(0, win);
    for (int i = 0; i < N; ++i) {
        CHECK_EQ(memory[i], left * 100000 + i + turn);
        CHECK_EQ(memory[N + i], left * 100000 + i + turn + 1);
    }
    MPI_Win_fence(0, win);
    MPI_Get(got, N, MPI_INT, left, 0, N, MPI_INT, win);
    MPI_Win_fence(0, win);
    int before = (left + check_size - 1) % check_size;
    for (int i = 0; i < N; ++i) {
        CHECK_EQ(got[i], before * 100000 + i + turn);
    }
    free(data);
    free(got);
}

static void locked(MPI_Win win, int *memory)
{
    int one = 1, old = -1, sum = 0;

    memory[0] = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < 50; ++i) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, win);
        MPI_Win_unlock(0, win);
        CHECK(old >= 0);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
    MPI_Get(&sum, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_unlock(0, win);
    CHECK_EQ(sum, 50 * check_size);
}

static void posted(MPI_Win win, int *memory)
{
    MPI_Group world, others;
    int *ranks = check_alloc(sizeof(int) * (size_t)check_size);

    MPI_Comm_group(MPI_COMM_WORLD, &world);
    for (int i = 1; i < check_size; ++i) {
        ranks[i - 1] = i;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 0) {
        MPI_Group_incl(world, check_size - 1, ranks, &others);
        memset(memory, 0, sizeof(int) * (size_t)check_size);
        MPI_Win_post(others, 0, win);
        MPI_Win_wait(win);
        for (int i = 1; i < check_size; ++i) {
            CHECK_EQ(memory[i], i * 3);
        }
    } else {
        int zero = 0, value = check_rank * 3;
        MPI_Group_incl(world, 1, &zero, &others);
        MPI_Win_start(others, 0, win);
        MPI_Put(&value, 1, MPI_INT, 0, check_rank, 1, MPI_INT, win);
        MPI_Win_complete(win);
    }
    MPI_Group_free(&others);
    MPI_Group_free(&world);
    free(ranks);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    int *memory;

    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(check_size >= 2);
    MPI_Win_allocate(sizeof(int) * 2 * N, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
    for (int turn = 0; turn < 20; ++turn) {
        fenced(win, memory, turn);
    }
    locked(win, memory);
    posted(win, memory);
    MPI_Win_free(&win);
    return check_end("onesided");
}

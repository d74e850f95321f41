/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* rma.c: put, get, accumulate, fetch-and-op, compare-and-swap on a target that does not call MPI meanwhile, of every size. */
/* With MPI_CHECK_TOP, the path of linnet-top: also that it was Linnet that carried them. */
#include "mpi_check.h"

enum { DATA = 3 << 20, NUMBERS = 1024, TRIES = 100 };

/* The window of a rank: NUMBERS numbers, then DATA bytes. */
static const MPI_Aint data_at = NUMBERS * sizeof(int64_t);

static int right(void) { return (check_rank + 1) % check_size; }
static int left(void) { return (check_rank + check_size - 1) % check_size; }

/* All sizes to the right neighbour and back; returns the bytes moved. */
static unsigned long long copies(MPI_Win win, const char *mine)
{
    static const int sizes[] = {1, 8, 100, 4000, 5001, 20000, 70000, 1 << 20, DATA};
    char *out = check_alloc(DATA), *in = check_alloc(DATA);
    unsigned long long moved = 0;

    for (size_t s = 0; s < sizeof sizes / sizeof sizes[0]; ++s) {
        MPI_Request requests[2];
        const int n = sizes[s];
        pattern_fill(out, (size_t)n, (uint64_t)(check_rank * 100 + n));
        memset(in, 0, (size_t)n);
        MPI_Put(out, n, MPI_BYTE, right(), data_at, n, MPI_BYTE, win);
        MPI_Win_flush(right(), win);
        MPI_Get(in, n, MPI_BYTE, right(), data_at, n, MPI_BYTE, win);
        MPI_Win_flush(right(), win);
        CHECK_PATTERN(in, (size_t)n, (uint64_t)(check_rank * 100 + n));
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Win_sync(win);
        CHECK_PATTERN(mine + data_at, (size_t)n, (uint64_t)(left() * 100 + n));
        MPI_Barrier(MPI_COMM_WORLD);
        memset(in, 0, (size_t)n);
        MPI_Rput(out, n, MPI_BYTE, right(), data_at, n, MPI_BYTE, win, &requests[0]);
        MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
        MPI_Win_flush(right(), win);
        MPI_Rget(in, n / 2, MPI_BYTE, right(), data_at, n / 2, MPI_BYTE, win, &requests[0]);
        MPI_Rget(in + n / 2, n - n / 2, MPI_BYTE, right(), data_at + n / 2, n - n / 2, MPI_BYTE, win, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK_PATTERN(in, (size_t)n, (uint64_t)(check_rank * 100 + n));
        MPI_Barrier(MPI_COMM_WORLD);
        moved += 4ull * (unsigned)n;
    }
    free(out);
    free(in);
    return moved;
}

/* A thousand small puts without a wait in between, each to its own place. */
static void many(MPI_Win win, const int64_t *numbers)
{
    int64_t out[NUMBERS];
    for (int i = 0; i < NUMBERS; ++i) {
        out[i] = check_rank * 10000 + i;
        MPI_Put(&out[i], 1, MPI_INT64_T, right(), i * (MPI_Aint)sizeof *out, 1, MPI_INT64_T, win);
    }
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int i = 0; i < NUMBERS; ++i) {
        CHECK_EQ(numbers[i], left() * 10000 + i);
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Every rank draws tickets from rank 0: each ticket is drawn once. */
static void tickets(MPI_Win win, int64_t *numbers)
{
    const int64_t one = 1;
    int64_t drawn[TRIES], *all = check_alloc(sizeof(int64_t) * (size_t)(TRIES * check_size));
    char *seen = calloc((size_t)(TRIES * check_size), 1);

    CHECK(seen != NULL);
    memset(numbers, 0, sizeof(int64_t) * NUMBERS);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < TRIES; ++i) {
        MPI_Fetch_and_op(&one, &drawn[i], MPI_INT64_T, 0, 0, MPI_SUM, win);
        MPI_Win_flush(0, win);
        CHECK(i == 0 || drawn[i] > drawn[i - 1]);
    }
    MPI_Allgather(drawn, TRIES, MPI_INT64_T, all, TRIES, MPI_INT64_T, MPI_COMM_WORLD);
    for (int i = 0; i < TRIES * check_size; ++i) {
        CHECK(all[i] >= 0 && all[i] < TRIES * check_size && !seen[all[i]]);
        seen[all[i]] = 1;
    }
    free(all);
    free(seen);
}

/* The same by compare-and-swap, on the second number. Not by rank 0 itself: Open MPI 4.1.4's osc rdma knows no endpoint of its own rank, and btl ofi */
/* follows the null pointer before it comes to libfabric. */
static void swaps(MPI_Win win, int64_t *numbers)
{
    for (int done = 0; check_rank != 0 && done < TRIES / 2;) {
        int64_t before = 0, after, found = 0;
        MPI_Fetch_and_op(NULL, &before, MPI_INT64_T, 0, sizeof(int64_t), MPI_NO_OP, win);
        MPI_Win_flush(0, win);
        after = before + 1;
        MPI_Compare_and_swap(&after, &before, &found, MPI_INT64_T, 0, sizeof(int64_t), win);
        MPI_Win_flush(0, win);
        done += found == before;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    if (check_rank == 0) {
        CHECK_EQ(numbers[0], TRIES * check_size);
        CHECK_EQ(numbers[1], TRIES / 2 * (check_size - 1));
    }
    MPI_Barrier(MPI_COMM_WORLD);
}

/* MPI_MAX of many: of up to 32 numbers (osc_rdma_network_max_amo) Open MPI asks btl ofi for an operation at which that ends the job. */
enum { SUMS = NUMBERS - 100, MAXIMA = NUMBERS - 50, LAST = NUMBERS - 1 };

static void accumulates(MPI_Win win, int64_t *numbers)
{
    const MPI_Aint width = sizeof(int64_t);
    int64_t add[NUMBERS], before[NUMBERS];
    int32_t small = 3;
    double half = 0.5, halves = 0;

    memset(numbers, 0, sizeof(int64_t) * NUMBERS);
    MPI_Win_sync(win);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < NUMBERS; ++i) {
        add[i] = check_rank + i;
    }
    for (int to = 0; to < check_size; ++to) {
        MPI_Accumulate(add, SUMS, MPI_INT64_T, to, 0, SUMS, MPI_INT64_T, MPI_SUM, win);
        MPI_Accumulate(add, 40, MPI_INT64_T, to, MAXIMA * width, 40, MPI_INT64_T, MPI_MAX, win);
        MPI_Accumulate(&small, 1, MPI_INT32_T, to, (LAST - 1) * width, 1, MPI_INT32_T, MPI_SUM, win);
        MPI_Accumulate(&half, 1, MPI_DOUBLE, to, LAST * width, 1, MPI_DOUBLE, MPI_SUM, win);
    }
    MPI_Win_flush_all(win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int i = 0; i < SUMS; ++i) {
        CHECK_EQ(numbers[i], check_size * (check_size - 1) / 2 + check_size * i);
    }
    for (int i = 0; i < 40; ++i) {
        CHECK_EQ(numbers[MAXIMA + i], check_size - 1 + i);
    }
    memcpy(&small, &numbers[LAST - 1], sizeof small);
    CHECK_EQ(small, 3 * check_size);
    memcpy(&halves, &numbers[LAST], sizeof halves);
    CHECK_EQ(halves * 2, check_size);
    MPI_Barrier(MPI_COMM_WORLD);
    memset(before, 0, sizeof before);
    MPI_Get_accumulate(add, SUMS, MPI_INT64_T, before, SUMS, MPI_INT64_T, right(), 0, SUMS, MPI_INT64_T, MPI_REPLACE, win);
    MPI_Win_flush(right(), win);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_sync(win);
    for (int i = 0; i < SUMS; ++i) {
        CHECK_EQ(before[i], check_size * (check_size - 1) / 2 + check_size * i);
        CHECK_EQ(numbers[i], left() + i);
    }
}

/* What the counters of this process that end so say, together; what linnet-top --json shows holds each once per endpoint. */
static unsigned long long counted(const char *shown, const char *ending)
{
    char key[64];
    unsigned long long sum = 0;
    snprintf(key, sizeof key, "%s\":", ending);
    for (const char *at = strstr(shown, key); at != NULL; at = strstr(at + 1, key)) {
        sum += strtoull(at + strlen(key), NULL, 10);
    }
    return sum;
}

static void check_carried(const char *top, unsigned long long bytes)
{
    char command[600], *shown = calloc(1 << 20, 1);
    usleep(500000);   /* a process updates its page about ten times a second */
    snprintf(command, sizeof command, "%s --once --json --pid %d", top, (int)getpid());
    FILE *pipe = popen(command, "r");
    CHECK(shown != NULL && pipe != NULL);
    CHECK(fread(shown, 1, (1 << 20) - 1, pipe) > 0);
    CHECK_EQ(pclose(pipe), 0);
    const unsigned long long moved = counted(shown, "shm_tx_bytes") + counted(shown, "shm_rx_bytes") + counted(shown, "tcp_tx_bytes") +
                                     counted(shown, "tcp_rx_bytes") + counted(shown, "udp_tx_bytes") + counted(shown, "udp_rx_bytes");
    if (check_rank == 0) {
        printf("rank 0: linnet did %llu one-sided operations and moved %llu bytes; the program's copies are %llu\n", counted(shown, "rma_operations"),
               moved, bytes);
    }
    CHECK(counted(shown, "rma_operations") >= NUMBERS);
    CHECK(moved >= bytes);
    free(shown);
}

int main(int argc, char **argv)
{
    MPI_Win win;
    const char *const top = getenv("MPI_CHECK_TOP");

    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(check_size >= 2);
    char *memory = check_alloc((size_t)data_at + DATA);
    memset(memory, 0, (size_t)data_at + DATA);
    MPI_Win_create(memory, data_at + DATA, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
    MPI_Win_lock_all(0, win);
    const unsigned long long bytes = copies(win, memory);
    many(win, (int64_t *)memory);
    tickets(win, (int64_t *)memory);
    swaps(win, (int64_t *)memory);
    accumulates(win, (int64_t *)memory);
    MPI_Win_unlock_all(win);
    if (top != NULL) {
        check_carried(top, bytes);
    }
    MPI_Win_free(&win);
    free(memory);
    return check_end("rma");
}

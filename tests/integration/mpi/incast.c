/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* incast.c: all ranks but the first send to it at the same time, each from a host of its own, through a port of a switch that holds less than they send. */
/* Over udp or eth. Every byte is right, arrivals never pause for a second, and little is sent twice: Linnet's counters say how much. */
#include "mpi_check.h"

/* Of all ranks, since the beginning. */
enum { FRAMES_OUT, FRAMES_AGAIN, KERNEL_DROPS, FIRST_FAULT };
static const char *const names[] = {
    "flow_frames_out", "flow_frames_again", "flow_kernel_drops",
    /* what must not happen */
    "flow_drop_bad_head", "flow_drop_unknown", "flow_drop_incarnation", "flow_drop_epoch", "flow_drop_check", "flow_drop_implausible",
    "flow_drop_beyond_credit", "flow_drop_mismatch", "protocol_errors", "peers_lost", "reconnects", "path_moves",
};
enum { COUNTERS = sizeof names / sizeof *names };
static MPI_T_pvar_handle handles[COUNTERS];

static void watch(MPI_T_pvar_session session)
{
    for (int i = 0; i < COUNTERS; ++i) {
        char name[200];
        int index, count;
        snprintf(name, sizeof name, "mtl_linnet_%s", names[i]);
        CHECK_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
        CHECK_EQ(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count), MPI_SUCCESS);
    }
}

static void read_all(MPI_T_pvar_session session, unsigned long long sum[COUNTERS])
{
    unsigned long long own[COUNTERS];
    for (int i = 0; i < COUNTERS; ++i) {
        CHECK_EQ(MPI_T_pvar_read(session, handles[i], &own[i]), MPI_SUCCESS);
    }
    MPI_Reduce(own, sum, COUNTERS, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
}

static uint64_t seed_of(int round, int sender, int i) { return ((uint64_t)round * 64 + (uint64_t)sender) * 64 + (uint64_t)i; }

/* Rank 0: a window from each sender. Returns the longest time in which nothing came. */
static double receive(int bytes, int window, int round, unsigned char *data, MPI_Request *requests)
{
    const int senders = check_size - 1, count = senders * window;
    int *which = check_alloc(sizeof *which * (size_t)count), some, go = round;
    double longest = 0;

    memset(data, 0, (size_t)bytes * (size_t)count);
    for (int i = 0; i < count; ++i) {
        MPI_Irecv(data + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 1 + i % senders, 1, MPI_COMM_WORLD, &requests[i]);
    }
    for (int sender = 1; sender <= senders; ++sender) {
        MPI_Send(&go, 1, MPI_INT, sender, 2, MPI_COMM_WORLD);
    }
    double last = check_now(CLOCK_MONOTONIC);
    for (int left = count; left > 0; left -= some) {
        MPI_Waitsome(count, requests, &some, which, MPI_STATUSES_IGNORE);
        const double now = check_now(CLOCK_MONOTONIC);
        longest = now - last > longest ? now - last : longest;
        last = now;
    }
    for (int i = 0; i < count; ++i) {
        CHECK_PATTERN(data + (size_t)i * (size_t)bytes, (size_t)bytes, seed_of(round, 1 + i % senders, i / senders));
    }
    free(which);
    return longest;
}

static void send_window(int bytes, int window, int round, unsigned char *data, MPI_Request *requests)
{
    int go;
    for (int i = 0; i < window; ++i) {
        pattern_fill(data + (size_t)i * (size_t)bytes, (size_t)bytes, seed_of(round, check_rank, i));
    }
    MPI_Recv(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_EQ(go, round);
    for (int i = 0; i < window; ++i) {
        MPI_Isend(data + (size_t)i * (size_t)bytes, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(window, requests, MPI_STATUSES_IGNORE);
}

static void incast(int bytes, int window, int rounds)
{
    const size_t slots = (size_t)window * (size_t)(check_rank == 0 ? check_size - 1 : 1);
    unsigned char *data = check_alloc((size_t)bytes * slots);
    MPI_Request *requests = check_alloc(sizeof *requests * slots);
    double longest = 0;

    for (int round = 0; round < rounds; ++round) {
        if (check_rank != 0) {
            send_window(bytes, window, round, data, requests);
            continue;
        }
        const double gap = receive(bytes, window, round, data, requests);
        longest = gap > longest && round > 0 ? gap : longest;   /* the first one opens the links */
    }
    if (check_rank == 0) {
        printf("%d senders, %d bytes: longest pause %.1f ms\n", check_size - 1, bytes, 1e3 * longest);
        CHECK(longest < 1.0);
    }
    free(requests);
    free(data);
}

int main(int argc, char **argv)
{
    int provided;
    MPI_T_pvar_session session;
    unsigned long long sum[COUNTERS];

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(check_size > 2);
    CHECK_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    watch(session);
    incast(16 * 1024, 16, 40);
    incast(1024 * 1024, 2, 8);
    read_all(session, sum);
    if (check_rank == 0) {
        printf("%llu frames, %llu of them again, %llu without a place\n", sum[FRAMES_OUT], sum[FRAMES_AGAIN], sum[KERNEL_DROPS]);
        CHECK(sum[FRAMES_AGAIN] < sum[FRAMES_OUT] / 6);
        CHECK_EQ(sum[KERNEL_DROPS], 0ull);   /* what is asked for again has a place in the ring, too */
        for (int i = FIRST_FAULT; i < COUNTERS; ++i) {
            if (sum[i] != 0) {
                check_failed(__FILE__, __LINE__, names[i], (long long)sum[i]);
            }
        }
    }
    for (int i = 0; i < COUNTERS; ++i) {
        MPI_T_pvar_handle_free(session, &handles[i]);
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return check_end("incast");
}

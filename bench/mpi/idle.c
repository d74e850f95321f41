/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * An active pair among idle but connected ranks: latency, stream, and the cost of an empty poll (O2G figures 5 and 6). */
#include "common.h"

#include <unistd.h>

/*
 * Ranks 0 and 1 are active. Every other rank exchanges a message with both, so that connections stand, and then
 * sleeps without a call to MPI until the measurement should be over. All rows are filed under the number of idle ranks.
 */
typedef struct idle {
    bench_buffer out, in;
    int window;   /* 0: ping-pong; otherwise messages of a one-way window */
} idle;

enum { kTagHello = BENCH_TAG + 20, kTagSleep };

static void prepare(void* state, uint64_t stamp, long iterations)
{
    idle* s = state;
    const long last = s->window > 0 ? s->window - 1 : 0;
    (void)iterations;
    bench_fill(bench_slot(&s->out, last), s->out.size, 2 * stamp + (uint64_t)bench_rank);
}

static void pingpong_run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    idle* s = state;
    const int peer = 1 - bench_rank;
    const int size = (int)s->out.size;
    (void)stamp;
    (void)report;
    for (long i = 0; i < iterations; ++i) {
        if (bench_rank == 0)
            MPI_Send(s->out.base, size, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD);
        MPI_Recv(s->in.base, size, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (bench_rank == 1)
            MPI_Send(s->out.base, size, MPI_BYTE, peer, BENCH_TAG, MPI_COMM_WORLD);
    }
    bench_sent(peer, (double)size * (double)iterations, (double)iterations);
}

static void stream_run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    idle* s = state;
    const int size = (int)s->out.size;
    MPI_Request requests[64];
    (void)stamp;
    (void)report;
    for (long i = 0; i < iterations; ++i) {
        for (int w = 0; w < s->window; ++w) {
            if (bench_rank == 0)
                MPI_Isend(bench_slot(&s->out, w), size, MPI_BYTE, 1, BENCH_TAG, MPI_COMM_WORLD, &requests[w]);
            else
                MPI_Irecv(bench_slot(&s->in, w), size, MPI_BYTE, 0, BENCH_TAG, MPI_COMM_WORLD, &requests[w]);
        }
        MPI_Waitall(s->window, requests, MPI_STATUSES_IGNORE);
        if (bench_rank == 0)
            MPI_Recv(NULL, 0, MPI_BYTE, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Send(NULL, 0, MPI_BYTE, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    }
    if (bench_rank == 0)
        bench_sent(1, (double)size * (double)iterations * s->window, (double)iterations * s->window);
}

static void check(void* state, uint64_t stamp, long iterations)
{
    idle* s = state;
    const long last = s->window > 0 ? s->window - 1 : 0;
    (void)iterations;
    if (s->window == 0 || bench_rank == 1)
        bench_check(bench_slot(&s->in, last), s->in.size, 2 * stamp + (uint64_t)(1 - bench_rank), "idle");
}

/* A poll that finds nothing; one iteration is 100 polls. The other active rank waits in its library as usual. */
static void poll_run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    (void)state;
    (void)stamp;
    if (bench_rank != 0)
        return;
    const double cpu = bench_cpu();
    for (long i = 0; i < 100 * iterations; ++i) {
        int found = 0;
        MPI_Iprobe(MPI_ANY_SOURCE, BENCH_TAG, MPI_COMM_WORLD, &found, MPI_STATUS_IGNORE);
        if (found)
            bench_fail("a message where none was sent");
    }
    report[0] += bench_cpu() - cpu;
}

/* An idle rank: answer the hellos of both active ranks, then sleep as long as rank 0 says. */
static void sleep_through(void)
{
    int32_t word = 0;
    double nap = 0;
    for (int active = 0; active < 2; ++active) {
        bench_quiet_recv(&word, sizeof word, active, kTagHello);
        bench_quiet_send(&word, sizeof word, active, kTagHello);
    }
    bench_quiet_recv(&nap, sizeof nap, 0, kTagSleep);
    usleep((useconds_t)(1e6 * nap));
}

static void connect_all(double nap)
{
    for (int rank = 2; rank < bench_ranks; ++rank) {
        int32_t word = bench_rank;
        bench_quiet_send(&word, sizeof word, rank, kTagHello);
        bench_quiet_recv(&word, sizeof word, rank, kTagHello);
        if (word != bench_rank)
            bench_fail("a wrong hello from rank %d", rank);
    }
    /* The active ranks meet before anybody sleeps: connecting a hundred ranks takes its time. */
    if (bench_rank == 1)
        bench_quiet_send(&nap, sizeof nap, 0, kTagSleep);
    else
        bench_quiet_recv(&nap, sizeof nap, 1, kTagSleep);
    for (int rank = 2; bench_rank == 0 && rank < bench_ranks; ++rank)
        bench_quiet_send(&nap, sizeof nap, rank, kTagSleep);
}

static void measure_all(const bench_options* options)
{
    const size_t large = (size_t)1 << 20;
    const double count = bench_ranks - 2;
    idle s = {.out = bench_buffer_make(options, 4 * large), .in = bench_buffer_make(options, 4 * large)};
    bench_kernel kernel = {prepare, pingpong_run, check, &s, false};

    bench_buffer_resize(&s.out, options, 8, 1);
    bench_buffer_resize(&s.in, options, 8, 1);
    bench_result result = bench_measure(&kernel, 2, options->seconds / 3);
    bench_row("half-round-trip, 8 B", count, "us", "lower", 0.5e6 * result.seconds);

    s.window = 4;
    kernel.run = stream_run;
    bench_buffer_resize(&s.out, options, large, s.window);
    bench_buffer_resize(&s.in, options, large, s.window);
    result = bench_measure(&kernel, 2, options->seconds / 3);
    bench_row("one-way, 1 MB", count, "MB/s", "higher", 1e-6 * (double)large * s.window / result.seconds);

    const bench_kernel polls = {NULL, poll_run, NULL, &s, false};
    result = bench_measure(&polls, 2, options->seconds / 3);
    bench_row("empty poll", count, "ns", "lower", 1e9 * result.seconds / 100);
    /* What other programs do on this processor meanwhile is not in this one; what a library sleeps is not either. */
    bench_row("CPU of an empty poll", count, "ns", "lower", 1e9 * result.own[0] / 100);
    bench_buffer_free(&s.out);
    bench_buffer_free(&s.in);
}

int main(int argc, char** argv)
{
    const bench_options defaults = {.sizes = {8}, .size_count = 1};
    const bench_options options = bench_start(&argc, &argv, "idle", &defaults);
    if (bench_ranks < 2)
        bench_fail("needs at least 2 ranks");
    if (bench_rank >= 2) {
        sleep_through();
    } else {
        connect_all(1.5 * options.seconds);
        bench_show_path(1 - bench_rank, 1 - bench_rank);
        measure_all(&options);
    }
    return bench_finish();
}

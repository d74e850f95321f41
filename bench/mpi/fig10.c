/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * A receiver that computes between posting a receive and waiting for it (LA-MPI-ED figures 10 to 12). */
#include "common.h"

#include <stdio.h>

/*
 * One iteration: the receiver (rank 1) posts the receive, tells the sender, increments a counter N times, waits, and
 * sends a 4-byte reply. Reported by the receiver: the time inside MPI_Wait, and the total from posting to the reply.
 * A library that makes progress while the program computes brings the first to nothing and the second to the longer
 * of computing and communicating; "compute alone" is the same loop without a message, "transfer alone" the total when
 * nothing is computed: where it is the shorter of the two, all of the wait can be hidden.
 */
typedef struct fig10 {
    bench_buffer data;
    long increments;
    bool verify;
} fig10;

enum { kWait, kTotal, kAlone };

static uint64_t seed_of(const fig10* f, uint64_t stamp, long i) { return stamp + (f->verify ? (uint64_t)i : 0); }

static void prepare(void* state, uint64_t stamp, long iterations)
{
    fig10* f = state;
    if (bench_rank == 0)
        bench_fill(bench_slot(&f->data, iterations - 1), f->data.size, seed_of(f, stamp, iterations - 1));
}

static void sender(fig10* f, uint64_t stamp, long i)
{
    int32_t reply = 0;
    unsigned char* data = bench_slot(&f->data, i);
    if (f->verify)
        bench_fill(data, f->data.size, seed_of(f, stamp, i));
    MPI_Recv(NULL, 0, MPI_BYTE, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(data, (int)f->data.size, MPI_BYTE, 1, BENCH_TAG, MPI_COMM_WORLD);
    MPI_Recv(&reply, 1, MPI_INT32_T, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    bench_sent(1, (double)f->data.size, 1);
}

static void receiver(fig10* f, uint64_t stamp, long i, double report[BENCH_REPORT])
{
    const int32_t reply = 0;
    unsigned char* data = bench_slot(&f->data, i);
    double begin = bench_now();
    bench_compute(f->increments);
    report[kAlone] += bench_now() - begin;

    MPI_Request request;
    begin = bench_now();
    MPI_Irecv(data, (int)f->data.size, MPI_BYTE, 0, BENCH_TAG, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    bench_compute(f->increments);
    const double waiting = bench_now();
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    report[kWait] += bench_now() - waiting;
    MPI_Send(&reply, 1, MPI_INT32_T, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    report[kTotal] += bench_now() - begin;
    if (f->verify)
        bench_check(data, f->data.size, seed_of(f, stamp, i), "fig10");
}

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    fig10* f = state;
    for (long i = 0; i < iterations; ++i) {
        if (bench_rank == 0)
            sender(f, stamp, i);
        else
            receiver(f, stamp, i, report);
    }
}

static void check(void* state, uint64_t stamp, long iterations)
{
    fig10* f = state;
    if (bench_rank == 1)
        bench_check(bench_slot(&f->data, iterations - 1), f->data.size, seed_of(f, stamp, iterations - 1), "fig10");
}

static void name_metric(char out[64], const char* what, long increments)
{
    if (increments % 1000000 == 0)
        snprintf(out, 64, "%s, %ldM increments", what, increments / 1000000);
    else
        snprintf(out, 64, "%s, %ld increments", what, increments);
}

/* One size and one length of the loop; 0 increments: the transfer alone. */
static void measure_point(fig10* f, const bench_options* options, size_t bytes, long increments, double seconds)
{
    const bench_kernel kernel = {prepare, run, check, f, false};
    f->increments = increments;
    bench_buffer_resize(&f->data, options, bytes, 1);
    const bench_result result = bench_measure(&kernel, 2, seconds);
    const double size = (double)bytes;
    if (increments == 0) {
        bench_row("transfer alone", size, "us", "lower", 1e6 * result.peer[kTotal]);
        return;
    }
    static const char* const whats[] = {[kWait] = "wait", [kTotal] = "total", [kAlone] = "compute alone"};
    for (int what = kWait; what <= kAlone; ++what) {
        char metric[64];
        name_metric(metric, whats[what], increments);
        bench_row(metric, size, "us", "lower", 1e6 * result.peer[what]);
    }
}

int main(int argc, char** argv)
{
    const bench_options defaults = {.sizes = {16384, 65536, 262144, 1048576},
                                    .size_count = 4,
                                    .increments = {1000000, 10000000, 100000000},
                                    .increment_count = 3};
    const bench_options options = bench_start(&argc, &argv, "fig10", &defaults);
    if (bench_ranks != 2)
        bench_fail("needs exactly 2 ranks");

    fig10 f = {.data = bench_buffer_make(&options, bench_largest(&options)), .verify = options.verify};
    bench_show_path(1 - bench_rank, 1 - bench_rank);
    const double share = options.seconds / ((options.increment_count + 1) * options.size_count);
    for (int s = 0; s < options.size_count; ++s)
        measure_point(&f, &options, options.sizes[s], 0, share);
    for (int n = 0; n < options.increment_count; ++n)
        for (int s = 0; s < options.size_count; ++s)
            measure_point(&f, &options, options.sizes[s], options.increments[n], share);
    bench_buffer_free(&f.data);
    return bench_finish();
}

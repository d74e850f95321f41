/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * What one lost frame costs: in a window of frames, and where nothing comes behind it. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>

/*
 * Rank 0 sends windows, rank 1 answers each with 4 bytes, and each window is timed by itself. The lab loses every n-th frame that comes to either host
 * (lab fault --every), so about one window in n / (frames of a window) has lost one. Those are the slowest: as many of them as frames were lost are taken, and
 * the cost is by how much their median exceeds that of all. Where nothing is lost the same rows tell what chance makes of the slowest windows: what other work
 * on the machine takes is in both.
 *
 * Messages of 1200 B are a frame each. A window of 64 of them is a stream, in which a loss is mostly seen by what follows; of a window of one, nothing follows.
 */
enum { kEvery = 211, kFrames = 64, kMost = 1 << 20 };

typedef struct lost {
    bench_buffer out;
    int window;
    double* times;   /* rank 0: of the windows, seconds */
    long count;
    MPI_Request requests[kFrames];
} lost;

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    lost* s = state;
    const int size = (int)s->out.size;
    int32_t word = 0;
    (void)stamp;
    (void)report;
    for (long i = 0; i < iterations; ++i) {
        const double begin = bench_now();
        for (int w = 0; w < s->window; ++w)
            if (bench_rank == 0)
                MPI_Isend(bench_slot(&s->out, w), size, MPI_BYTE, 1, BENCH_TAG, MPI_COMM_WORLD, &s->requests[w]);
            else
                MPI_Irecv(bench_slot(&s->out, w), size, MPI_BYTE, 0, BENCH_TAG, MPI_COMM_WORLD, &s->requests[w]);
        MPI_Waitall(s->window, s->requests, MPI_STATUSES_IGNORE);
        if (bench_rank == 0) {
            MPI_Recv(&word, 1, MPI_INT32_T, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (s->count < kMost)
                s->times[s->count++] = bench_now() - begin;
        } else {
            MPI_Send(&word, 1, MPI_INT32_T, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
        }
    }
    if (bench_rank == 0)
        bench_sent(1, (double)size * (double)iterations * s->window, (double)iterations * s->window);
    else
        bench_sent(0, 4.0 * (double)iterations, (double)iterations);
}

static void prepare(void* state, uint64_t stamp, long iterations)
{
    lost* s = state;
    (void)iterations;
    if (bench_rank == 0)
        for (int w = 0; w < s->window; ++w)
            bench_fill(bench_slot(&s->out, w), s->out.size, stamp * kFrames + (uint64_t)w);
}

static void check(void* state, uint64_t stamp, long iterations)
{
    lost* s = state;
    (void)iterations;
    if (bench_rank == 1)
        for (int w = 0; w < s->window; ++w)
            bench_check(bench_slot(&s->out, w), s->out.size, stamp * kFrames + (uint64_t)w, "lost");
}

static int ascending(const void* a, const void* b)
{
    const double x = *(const double*)a;
    const double y = *(const double*)b;
    return (x > y) - (x < y);
}

static void measure(lost* s, const bench_options* options, const char* what, int window)
{
    const bench_kernel kernel = {prepare, run, check, s, false};
    s->window = window;
    s->count = 0;
    bench_buffer_resize(&s->out, options, 1200, window);
    bench_measure(&kernel, 2, options->seconds / 2);
    if (bench_rank != 0)
        return;
    qsort(s->times, (size_t)s->count, sizeof *s->times, ascending);
    const long losses = s->count * (window + 1) / kEvery;
    if (losses == 0) {
        bench_note("%s: too few windows for a loss", what);
        return;
    }
    const double all = s->times[s->count / 2];
    const double with = s->times[s->count - 1 - losses / 2];
    bench_row(what, window, "us", "lower", 1e6 * all);
    char text[96];
    snprintf(text, sizeof text, "a lost frame in it costs, %s", what);
    bench_row(text, window, "us", "lower", 1e6 * (with - all));
    snprintf(text, sizeof text, "and one in ten of them, %s", what);
    bench_row(text, window, "us", "lower", 1e6 * (s->times[s->count - 1 - losses / 10] - all));
}

int main(int argc, char** argv)
{
    const bench_options defaults = {.sizes = {1200}, .size_count = 1};
    const bench_options options = bench_start(&argc, &argv, "lost", &defaults);
    if (bench_ranks != 2)
        bench_fail("needs two ranks");
    lost s = {.window = 0};
    s.times = bench_alloc(kMost * sizeof *s.times);
    s.out = bench_buffer_make(&options, kFrames * 2048);
    bench_show_path(1 - bench_rank, 1 - bench_rank);
    measure(&s, &options, "window", kFrames);
    measure(&s, &options, "lone frame", 1);
    bench_buffer_free(&s.out);
    free(s.times);
    return bench_finish();
}

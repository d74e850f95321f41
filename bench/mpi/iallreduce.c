/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Overlap of computation and a non-blocking collective, MPI_Iallreduce, with some calls of MPI_Test amid the computing and without. */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * The host's schedule of a non-blocking collective has rounds, and a round begins only inside of an MPI call: however well messages move by themselves, without
 * a call nothing follows the first round before MPI_Wait. Each iteration measures in turn the computing alone, MPI_Iallreduce and MPI_Wait alone, and
 * MPI_Iallreduce, the computing, MPI_Wait; with N tests the computing is N + 1 equal parts and MPI_Test stands between them. All ranks compute, and a time is
 * that of the slowest.
 */
enum { kComp, kComm, kBoth, kMaxIterations = 4096 };

typedef struct work {
    float* out;
    float* in;
    int floats;
    int tests;
    bool apart;   /* two ranks, on two hosts */
    bool verify;
    long increments;
    double times[BENCH_PHASES][kMaxIterations];   /* of a batch, seconds */
} work;

static void prepare(void* state, uint64_t stamp, long iterations)
{
    work* w = state;
    (void)iterations;
    bench_fill_terms(w->out, (size_t)w->floats, stamp);
    for (int i = 0; i < w->floats; ++i)
        w->in[i] = -1;
}

static double phase(work* w, int which)
{
    MPI_Request request = MPI_REQUEST_NULL;
    double slowest = 0;
    int done = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = bench_now();
    if (which != kComp)
        MPI_Iallreduce(w->out, w->in, w->floats, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD, &request);
    for (int part = 0; which != kComm && part <= w->tests; ++part) {
        if (part > 0)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        bench_compute(w->increments / (w->tests + 1));
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double own = bench_now() - begin;
    MPI_Allreduce(&own, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return slowest;
}

static void check(void* state, uint64_t stamp, long iterations)
{
    const work* w = state;
    (void)iterations;
    bench_check_sum(w->in, (size_t)w->floats, stamp);
}

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    work* w = state;
    if (iterations > kMaxIterations)
        bench_fail("computing and collective are too short to measure: raise --compute-ms or --sizes");
    for (long i = 0; i < iterations; ++i)
        for (int which = kComp; which <= kBoth; ++which) {
            if (w->verify)
                prepare(w, stamp, iterations);
            w->times[which][i] = phase(w, which);
            if (w->verify && which != kComp)
                check(w, stamp, iterations);
        }
    /* Whatever the algorithm, each of two ranks has all of its vector to say to the other. */
    if (w->apart)
        bench_must_cross(2.0 * (double)iterations * w->floats * sizeof(float), 2.0 * (double)iterations * w->floats * sizeof(float));
    for (int which = kComp; which <= kBoth; ++which)
        report[which] = (double)iterations * bench_median(w->times[which], (int)iterations);
}

static bool on_two_hosts(void)
{
    char own[MPI_MAX_PROCESSOR_NAME] = "", other[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    if (bench_ranks != 2)
        return false;
    MPI_Get_processor_name(own, &length);
    MPI_Sendrecv(own, sizeof own, MPI_CHAR, 1 - bench_rank, BENCH_TAG_CONTROL, other, sizeof other, MPI_CHAR, 1 - bench_rank, BENCH_TAG_CONTROL,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return strcmp(own, other) != 0;
}

int main(int argc, char** argv)
{
    const bench_options defaults = {
        .sizes = {65536, 1048576}, .size_count = 2, .compute_ms = 1.5, .tests = {0, 1, 4, 16}, .test_count = 4, .seconds = 4};
    const bench_options options = bench_start(&argc, &argv, "iallreduce", &defaults);
    static work w;
    w.out = bench_alloc(bench_largest(&options));
    w.in = bench_alloc(bench_largest(&options));
    w.apart = on_two_hosts();
    w.verify = options.verify;
    bench_show_path((bench_rank + bench_ranks / 2) % bench_ranks, (bench_rank + bench_ranks - bench_ranks / 2) % bench_ranks);
    w.increments = bench_increments_for(1e-3 * options.compute_ms);
    MPI_Bcast(&w.increments, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    for (int t = 0; t < options.test_count; ++t) {
        for (int s = 0; s < options.size_count; ++s) {
            char with[64];
            const bench_kernel kernel = {prepare, run, check, &w, true};
            w.tests = options.tests[t];
            w.floats = (int)(options.sizes[s] / sizeof(float));
            if (w.floats < 1)
                bench_fail("sizes are at least %zu", sizeof(float));
            const bench_result result = bench_measure(&kernel, bench_ranks, options.seconds / (options.size_count * options.test_count));
            snprintf(with, sizeof with, "%d MPI_Test", w.tests);
            bench_overlap_rows(with, with, options.sizes[s], result.own);
        }
    }
    free(w.out);
    free(w.in);
    return bench_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * What a rank that is blocked in MPI_Recv costs the machine: its CPU share while nothing arrives. */
#include "common.h"

#include <unistd.h>

/*
 * Rank 0 blocks in MPI_Recv. Rank 1 sleeps for --compute-ms outside MPI and then sends. Reported under that time: the
 * CPU time of each process (all its threads) as a share of the wall time. Rank 0 pays for waiting, rank 1 for a
 * library that works while the program does not call it.
 */
enum { kWall, kCpu };

static useconds_t pause_us;

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    (void)state;
    for (long i = 0; i < iterations; ++i) {
        uint64_t word = 0;
        const double cpu = bench_cpu();
        const double begin = bench_now();
        if (bench_rank == 0) {
            MPI_Recv(&word, sizeof word, MPI_BYTE, 1, BENCH_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (word != stamp)
                bench_fail("a wrong word arrived");
        } else {
            usleep(pause_us);
            word = stamp;
            MPI_Send(&word, sizeof word, MPI_BYTE, 0, BENCH_TAG, MPI_COMM_WORLD);
            bench_sent(0, sizeof word, 1);
        }
        report[kWall] += bench_now() - begin;
        report[kCpu] += bench_cpu() - cpu;
    }
}

int main(int argc, char** argv)
{
    const bench_options defaults = {.compute_ms = 300, .seconds = 0.5};
    const bench_options options = bench_start(&argc, &argv, "blocked", &defaults);
    if (bench_ranks != 2)
        bench_fail("needs exactly 2 ranks");
    pause_us = (useconds_t)(1e3 * options.compute_ms);
    bench_show_path(1 - bench_rank, 1 - bench_rank);
    const bench_kernel kernel = {NULL, run, NULL, NULL, false};
    const bench_result result = bench_measure(&kernel, 2, options.seconds);
    if (bench_rank == 0) {
        bench_row("CPU share, blocked in MPI_Recv", options.compute_ms, "share", "lower",
                  result.own[kCpu] / result.own[kWall]);
        bench_row("CPU share, outside MPI", options.compute_ms, "share", "lower", result.peer[kCpu] / result.peer[kWall]);
    }
    return bench_finish();
}

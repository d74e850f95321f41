/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Receives all expected or all unexpected: bandwidth, and CPU time of sender and receiver (LA-MPI-ED figures 4 to 9). */
#include "common.h"

#include <stdlib.h>
#include <string.h>

/*
 * --mode expected     every receive is posted before the sender may start
 * --mode unexpected   every message is announced before a receive is posted: the receiver first waits for a marker
 *                     which the sender sends after all of them
 *
 * One iteration is a burst of --window messages from rank 0 to rank 1, ended by a 4-byte reply. The wall time of a burst
 * is the sender's, from its first send to the reply. CPU time is user and system time of the whole process (getrusage),
 * an event thread included, over the same burst, per message.
 */
typedef struct burst {
    bench_buffer data;
    MPI_Request* requests;
    int window;
    bool expected;
    bool verify;
} burst;

enum { kWall, kCpu };

static const int kTagMarker = BENCH_TAG + 10;

static int window_for(const bench_options* options, size_t size)
{
    const size_t fit = size > 0 ? ((size_t)4 << 20) / size : (size_t)options->window;
    const size_t wanted = fit < 4 ? 4 : fit;
    return wanted < (size_t)options->window ? (int)wanted : options->window;
}

static uint64_t seed_of(const burst* b, uint64_t stamp, long message)
{
    return stamp + (b->verify ? (uint64_t)message : 0);
}

static void prepare(void* state, uint64_t stamp, long iterations)
{
    burst* b = state;
    const long last = iterations * b->window - 1;
    if (bench_rank == 0)
        bench_fill(bench_slot(&b->data, last), b->data.size, seed_of(b, stamp, last));
}

static void send_burst(burst* b, long first, double report[BENCH_REPORT])
{
    int32_t reply = 0;
    if (b->expected)
        MPI_Recv(&reply, 1, MPI_INT32_T, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double cpu = bench_cpu();
    const double begin = bench_now();
    int pending = 0;
    for (long i = first; i < first + b->window; ++i)
        MPI_Isend(bench_slot(&b->data, i), (int)b->data.size, MPI_BYTE, 1, BENCH_TAG, MPI_COMM_WORLD,
                  &b->requests[pending++]);
    if (!b->expected)
        MPI_Isend(NULL, 0, MPI_BYTE, 1, kTagMarker, MPI_COMM_WORLD, &b->requests[pending++]);
    MPI_Waitall(pending, b->requests, MPI_STATUSES_IGNORE);
    MPI_Recv(&reply, 1, MPI_INT32_T, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    report[kWall] += bench_now() - begin;
    report[kCpu] += bench_cpu() - cpu;
}

static void recv_burst(burst* b, long first, double report[BENCH_REPORT])
{
    int32_t reply = 0;
    const double cpu = bench_cpu();
    if (!b->expected)
        MPI_Recv(NULL, 0, MPI_BYTE, 0, kTagMarker, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < b->window; ++i)
        MPI_Irecv(bench_slot(&b->data, first + i), (int)b->data.size, MPI_BYTE, 0, BENCH_TAG, MPI_COMM_WORLD,
                  &b->requests[i]);
    if (b->expected)
        MPI_Send(&reply, 1, MPI_INT32_T, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    MPI_Waitall(b->window, b->requests, MPI_STATUSES_IGNORE);
    MPI_Send(&reply, 1, MPI_INT32_T, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    report[kCpu] += bench_cpu() - cpu;
}

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    burst* b = state;
    const double messages = (double)iterations * b->window;
    for (long i = 0; i < iterations; ++i) {
        const long first = i * b->window;
        if (bench_rank == 0) {
            if (b->verify)
                for (long m = first; m < first + b->window; ++m)
                    bench_fill(bench_slot(&b->data, m), b->data.size, seed_of(b, stamp, m));
            send_burst(b, first, report);
        } else {
            recv_burst(b, first, report);
            if (b->verify)
                for (long m = first; m < first + b->window; ++m)
                    bench_check(bench_slot(&b->data, m), b->data.size, seed_of(b, stamp, m), "burst");
        }
    }
    if (bench_rank == 0)
        bench_sent(1, messages * (double)b->data.size, messages);
}

static void check(void* state, uint64_t stamp, long iterations)
{
    burst* b = state;
    const long last = iterations * b->window - 1;
    if (bench_rank == 1)
        bench_check(bench_slot(&b->data, last), b->data.size, seed_of(b, stamp, last), "burst");
}

int main(int argc, char** argv)
{
    const bench_options defaults = {.mode = "expected",
                                    .sizes = {4, 256, 1024, 4096, 16384, 32768, 65536, 262144, 1048576, 2097152},
                                    .size_count = 10};
    const bench_options options = bench_start(&argc, &argv, "burst", &defaults);
    if (bench_ranks != 2)
        bench_fail("needs exactly 2 ranks");
    burst b = {.expected = strcmp(options.mode, "expected") == 0, .verify = options.verify};
    if (!b.expected && strcmp(options.mode, "unexpected") != 0)
        bench_fail("--mode is expected or unexpected");

    size_t widest = 0;
    for (int i = 0; i < options.size_count; ++i) {
        const size_t bytes = (size_t)window_for(&options, options.sizes[i]) * (options.sizes[i] + 64);
        widest = bytes > widest ? bytes : widest;
    }
    b.data = bench_buffer_make(&options, widest);
    b.requests = bench_alloc(((size_t)options.window + 1) * sizeof(MPI_Request));

    bench_show_path(1 - bench_rank, 1 - bench_rank);
    const bench_kernel kernel = {prepare, run, check, &b, false};
    for (int i = 0; i < options.size_count; ++i) {
        const double size = (double)options.sizes[i];
        b.window = window_for(&options, options.sizes[i]);
        bench_buffer_resize(&b.data, &options, options.sizes[i], b.window);
        const bench_result result = bench_measure(&kernel, 2, options.seconds / options.size_count);
        bench_row("bandwidth", size, "MB/s", "higher", 1e-6 * size * b.window / result.own[kWall]);
        bench_row("sender CPU per message", size, "us", "lower", 1e6 * result.own[kCpu] / b.window);
        bench_row("receiver CPU per message", size, "us", "lower", 1e6 * result.peer[kCpu] / b.window);
    }
    bench_buffer_free(&b.data);
    free(b.requests);
    return bench_finish();
}

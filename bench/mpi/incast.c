/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Many to one: all ranks but the first send to it at the same time, through the one port of a switch that leads there. */
#include "common.h"

#include <stdlib.h>

/*
 * One iteration is a window: rank 0 posts all its receives, tells every sender to begin, and waits for all. What it gets is MB/s (10^6 bytes) of all
 * senders together, and with --port-mbs which share that is of what the port carries. A message that got stuck, because the port had dropped the end of it and
 * nobody noticed, shows as a window that took longer than others: the longest stall is by how much the longest window of all exceeded the median batch, in ms.
 */
typedef struct incast {
    bench_buffer buffers;   /* rank 0: a slot for each message of a window; else one for each of its own */
    MPI_Request* requests;
    int window;             /* messages of each sender */
    double longest;         /* seconds, of all windows of this size */
} incast;

static uint64_t seed_of(uint64_t stamp, int sender) { return stamp * 64 + (uint64_t)sender; }

static void prepare(void* state, uint64_t stamp, long iterations)
{
    incast* s = state;
    (void)iterations;
    if (bench_rank != 0)
        for (int i = 0; i < s->window; ++i)
            bench_fill(bench_slot(&s->buffers, i), s->buffers.size, seed_of(stamp, bench_rank));
}

static void receive_window(incast* s)
{
    const double begin = bench_now();
    const int32_t go = 0;
    const int count = (bench_ranks - 1) * s->window;
    for (int i = 0; i < count; ++i)
        MPI_Irecv(bench_slot(&s->buffers, i), (int)s->buffers.size, MPI_BYTE, 1 + i % (bench_ranks - 1), BENCH_TAG, MPI_COMM_WORLD, &s->requests[i]);
    for (int sender = 1; sender < bench_ranks; ++sender)
        MPI_Send(&go, 1, MPI_INT32_T, sender, BENCH_TAG_ACK, MPI_COMM_WORLD);
    MPI_Waitall(count, s->requests, MPI_STATUSES_IGNORE);
    const double took = bench_now() - begin;
    s->longest = took > s->longest ? took : s->longest;
}

static void send_window(incast* s)
{
    int32_t go = 0;
    MPI_Recv(&go, 1, MPI_INT32_T, 0, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < s->window; ++i)
        MPI_Isend(bench_slot(&s->buffers, i), (int)s->buffers.size, MPI_BYTE, 0, BENCH_TAG, MPI_COMM_WORLD, &s->requests[i]);
    MPI_Waitall(s->window, s->requests, MPI_STATUSES_IGNORE);
}

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    incast* s = state;
    (void)stamp;
    (void)report;
    for (long i = 0; i < iterations; ++i)
        if (bench_rank == 0)
            receive_window(s);
        else
            send_window(s);
    const double messages = (double)iterations * s->window;
    if (bench_rank != 0)
        bench_sent(0, messages * (double)s->buffers.size, messages);
    else
        for (int sender = 1; sender < bench_ranks; ++sender)
            bench_sent(sender, 4.0 * (double)iterations, (double)iterations);
}

static void check(void* state, uint64_t stamp, long iterations)
{
    incast* s = state;
    (void)iterations;
    if (bench_rank == 0)
        for (int i = 0; i < (bench_ranks - 1) * s->window; ++i)
            bench_check(bench_slot(&s->buffers, i), s->buffers.size, seed_of(stamp, 1 + i % (bench_ranks - 1)), "incast");
}

int main(int argc, char** argv)
{
    const bench_options defaults = {.sizes = {16384, 1048576}, .size_count = 2};
    const bench_options options = bench_start(&argc, &argv, "incast", &defaults);
    if (bench_ranks < 2)
        bench_fail("needs two ranks or more");
    incast s = {.window = 0};
    const int senders = bench_ranks - 1;
    const size_t most = (size_t)senders * 16;
    s.requests = bench_alloc(most * sizeof(MPI_Request));
    s.buffers = bench_buffer_make(&options, most * (bench_largest(&options) + 64));
    bench_show_path((bench_rank + 1) % bench_ranks, (bench_rank + bench_ranks - 1) % bench_ranks);
    const bench_kernel kernel = {prepare, run, check, &s, false};
    for (int i = 0; i < options.size_count; ++i) {
        const size_t size = options.sizes[i];
        s.window = size > 131072 ? 2 : 16;
        s.longest = 0;
        bench_buffer_resize(&s.buffers, &options, size, senders * s.window);
        const bench_result result = bench_measure(&kernel, bench_ranks, options.seconds / options.size_count);
        const double rate = 1e-6 * senders * s.window * (double)size / result.seconds;
        bench_row("incast", (double)size, "MB/s", "higher", rate);
        if (options.port_mbs > 0)
            bench_row("share of the port", (double)size, "share", "higher", rate / options.port_mbs);
        bench_row("longest stall", (double)size, "ms", "lower", 1e3 * (s.longest > result.seconds ? s.longest - result.seconds : 0));
    }
    bench_buffer_free(&s.buffers);
    free(s.requests);
    return bench_finish();
}

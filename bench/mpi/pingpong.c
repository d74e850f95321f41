/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Ping-pong between ranks 0 and 1: half the round-trip time for each message size. */
#include "common.h"

typedef struct pingpong {
    bench_buffer out, in;
    bool verify;
} pingpong;

static int peer(void) { return 1 - bench_rank; }

/* The two directions carry different bytes, so an echo of one's own message fails the check. */
static uint64_t seed_of(const pingpong* p, int sender, uint64_t stamp, long i)
{
    return 2 * (stamp + (p->verify ? (uint64_t)i : 0)) + (uint64_t)sender;
}

static void prepare(void* state, uint64_t stamp, long iterations)
{
    pingpong* p = state;
    const long last = iterations - 1;
    bench_fill(bench_slot(&p->out, last), p->out.size, seed_of(p, bench_rank, stamp, last));
}

static void send_one(pingpong* p, uint64_t stamp, long i)
{
    unsigned char* data = bench_slot(&p->out, i);
    if (p->verify)
        bench_fill(data, p->out.size, seed_of(p, bench_rank, stamp, i));
    MPI_Send(data, (int)p->out.size, MPI_BYTE, peer(), BENCH_TAG, MPI_COMM_WORLD);
}

static void recv_one(pingpong* p, uint64_t stamp, long i)
{
    unsigned char* data = bench_slot(&p->in, i);
    MPI_Recv(data, (int)p->in.size, MPI_BYTE, peer(), BENCH_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (p->verify)
        bench_check(data, p->in.size, seed_of(p, peer(), stamp, i), "ping-pong");
}

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    pingpong* p = state;
    (void)report;
    for (long i = 0; i < iterations; ++i) {
        if (bench_rank == 0)
            send_one(p, stamp, i);
        recv_one(p, stamp, i);
        if (bench_rank == 1)
            send_one(p, stamp, i);
    }
    bench_sent(peer(), (double)iterations * (double)p->out.size, (double)iterations);
}

static void check(void* state, uint64_t stamp, long iterations)
{
    pingpong* p = state;
    const long last = iterations - 1;
    bench_check(bench_slot(&p->in, last), p->in.size, seed_of(p, peer(), stamp, last), "ping-pong");
}

int main(int argc, char** argv)
{
    const bench_options defaults = {
        .sizes = {1, 8, 64, 256, 1024, 4096, 8192, 16384, 65536, 262144, 1048576, 4194304}, .size_count = 12};
    const bench_options options = bench_start(&argc, &argv, "pingpong", &defaults);
    if (bench_ranks != 2)
        bench_fail("needs exactly 2 ranks");
    const size_t largest = bench_largest(&options);
    pingpong p = {bench_buffer_make(&options, largest), bench_buffer_make(&options, largest), options.verify};
    bench_show_path(peer(), peer());
    const bench_kernel kernel = {prepare, run, check, &p, false};
    for (int s = 0; s < options.size_count; ++s) {
        bench_buffer_resize(&p.out, &options, options.sizes[s], 1);
        bench_buffer_resize(&p.in, &options, options.sizes[s], 1);
        const bench_result result = bench_measure(&kernel, 2, options.seconds / options.size_count);
        bench_row("half-round-trip", (double)options.sizes[s], "us", "lower", 0.5e6 * result.seconds);
    }
    bench_buffer_free(&p.out);
    bench_buffer_free(&p.in);
    return bench_finish();
}

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Streams of messages: one-way bandwidth, two-way bandwidth, message rate and processor time, with a window of messages in flight. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

/*
 * --mode oneway   the lower half of the ranks sends to the upper half, MB/s (10^6 bytes) of all pairs together
 * --mode twoway   both halves send at once, MB/s of both directions together
 * --mode rate     as oneway, in millions of messages per second
 * --mode cpu      as oneway, with what it takes of the processors: seconds for 10^9 bytes, of both ranks together (2 ranks)
 *
 * One iteration is a window: the receiver posts all its receives, the sender starts all its sends, both wait, and a
 * 4-byte reply ends the window. Each message of a window has a receive buffer of its own.
 */
typedef struct stream {
    bench_buffer out, in;
    MPI_Request* requests;
    int window;
    int peer;
    bool sends, receives;
    bool verify;
    bool split;   /* tell processor time */
} stream;

/* Windows of large messages are shortened to 4 MB, but not below 4 messages, so that buffers stay small. */
static int window_for(const bench_options* options, size_t size)
{
    const size_t fit = size > 0 ? ((size_t)4 << 20) / size : (size_t)options->window;
    const size_t wanted = fit < 4 ? 4 : fit;
    return wanted < (size_t)options->window ? (int)wanted : options->window;
}

static uint64_t seed_of(const stream* s, int sender, uint64_t stamp, long message)
{
    return (stamp + (s->verify ? (uint64_t)message : 0)) * 64 + (uint64_t)sender;
}

static void prepare(void* state, uint64_t stamp, long iterations)
{
    stream* s = state;
    const long last = iterations * s->window - 1;
    if (s->sends)
        bench_fill(bench_slot(&s->out, last), s->out.size, seed_of(s, bench_rank, stamp, last));
}

static void check_window(stream* s, uint64_t stamp, long first)
{
    for (long i = first; i < first + s->window; ++i)
        bench_check(bench_slot(&s->in, i), s->in.size, seed_of(s, s->peer, stamp, i), "stream");
}

static void one_window(stream* s, uint64_t stamp, long first)
{
    int pending = 0;
    if (s->receives)
        for (long i = first; i < first + s->window; ++i)
            MPI_Irecv(bench_slot(&s->in, i), (int)s->in.size, MPI_BYTE, s->peer, BENCH_TAG, MPI_COMM_WORLD,
                      &s->requests[pending++]);
    if (s->sends)
        for (long i = first; i < first + s->window; ++i) {
            unsigned char* data = bench_slot(&s->out, i);
            if (s->verify)
                bench_fill(data, s->out.size, seed_of(s, bench_rank, stamp, i));
            MPI_Isend(data, (int)s->out.size, MPI_BYTE, s->peer, BENCH_TAG, MPI_COMM_WORLD, &s->requests[pending++]);
        }
    MPI_Waitall(pending, s->requests, MPI_STATUSES_IGNORE);
    if (s->receives && s->verify)
        check_window(s, stamp, first);

    int32_t reply = 0;
    if (s->sends && s->receives) {
        MPI_Sendrecv(&reply, 1, MPI_INT32_T, s->peer, BENCH_TAG_ACK, &reply, 1, MPI_INT32_T, s->peer, BENCH_TAG_ACK,
                     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (s->receives) {
        MPI_Send(&reply, 1, MPI_INT32_T, s->peer, BENCH_TAG_ACK, MPI_COMM_WORLD);
    } else {
        MPI_Recv(&reply, 1, MPI_INT32_T, s->peer, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

enum { kUser, kSystem, kSoftirq };

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    stream* s = state;
    const bench_cpu_parts before = s->split ? bench_cpu_split() : (bench_cpu_parts){0};
    for (long i = 0; i < iterations; ++i)
        one_window(s, stamp, i * s->window);
    if (s->split) {
        const bench_cpu_parts after = bench_cpu_split();
        report[kUser] = after.user - before.user;
        report[kSystem] = after.system - before.system;
        report[kSoftirq] = after.softirq - before.softirq;
    }
    const double messages = (double)iterations * s->window;
    if (s->sends)
        bench_sent(s->peer, messages * (double)s->out.size, messages);
    if (s->receives)
        bench_sent(s->peer, 4.0 * (double)iterations, (double)iterations);
}

static void check(void* state, uint64_t stamp, long iterations)
{
    stream* s = state;
    const long last = iterations * s->window - 1;
    if (s->receives)
        bench_check(bench_slot(&s->in, last), s->in.size, seed_of(s, s->peer, stamp, last), "stream");
}

static void report_size(const stream* s, const char* mode, const bench_result* result)
{
    const double pairs = 0.5 * bench_ranks;
    const double directions = s->sends && s->receives ? 2 : 1;
    const double per_second = pairs * directions * s->window / result->seconds;
    if (strcmp(mode, "rate") == 0)
        bench_row("message-rate", (double)s->out.size, "M/s", "higher", 1e-6 * per_second);
    else
        bench_row(strcmp(mode, "twoway") == 0 ? "two-way" : "one-way", (double)s->out.size, "MB/s", "higher",
                  1e-6 * per_second * (double)s->out.size);
    if (s->split) {
        const double gigabytes = 1e-9 * s->window * (double)s->out.size;
        bench_row("user time", (double)s->out.size, "s/GB", "lower", (result->own[kUser] + result->peer[kUser]) / gigabytes);
        bench_row("system time", (double)s->out.size, "s/GB", "lower", (result->own[kSystem] + result->peer[kSystem]) / gigabytes);
        bench_row("interrupts and softirq, the sender's machine", (double)s->out.size, "s/GB", "lower", result->own[kSoftirq] / gigabytes);
    }
}

int main(int argc, char** argv)
{
    const bench_options defaults = {
        .mode = "oneway",
        .sizes = {1, 8, 64, 256, 1024, 4096, 8192, 16384, 65536, 262144, 1048576, 4194304},
        .size_count = 12};
    const bench_options options = bench_start(&argc, &argv, "stream", &defaults);
    const bool twoway = strcmp(options.mode, "twoway") == 0;
    const bool split = strcmp(options.mode, "cpu") == 0;
    if (!twoway && !split && strcmp(options.mode, "oneway") != 0 && strcmp(options.mode, "rate") != 0)
        bench_fail("--mode is oneway, twoway, rate or cpu");
    if (bench_ranks % 2 != 0 || (split && bench_ranks != 2))
        bench_fail("needs an even number of ranks, and --mode cpu needs 2");

    const bool lower = bench_rank < bench_ranks / 2;
    stream s = {.peer = (bench_rank + bench_ranks / 2) % bench_ranks,
                .sends = lower || twoway,
                .receives = !lower || twoway,
                .verify = options.verify,
                .split = split};
    size_t widest = 0;
    for (int i = 0; i < options.size_count; ++i) {
        const size_t bytes = (size_t)window_for(&options, options.sizes[i]) * (options.sizes[i] + 64);
        widest = bytes > widest ? bytes : widest;
    }
    s.out = bench_buffer_make(&options, widest);
    s.in = bench_buffer_make(&options, widest);
    s.requests = bench_alloc(2 * (size_t)options.window * sizeof(MPI_Request));

    bench_show_path(s.peer, s.peer);
    const bench_kernel kernel = {prepare, run, check, &s, bench_ranks > 2};
    for (int i = 0; i < options.size_count; ++i) {
        s.window = window_for(&options, options.sizes[i]);
        bench_buffer_resize(&s.out, &options, options.sizes[i], s.window);
        bench_buffer_resize(&s.in, &options, options.sizes[i], s.window);
        const bench_result result = bench_measure(&kernel, bench_ranks, options.seconds / options.size_count);
        report_size(&s, options.mode, &result);
    }
    bench_buffer_free(&s.out);
    bench_buffer_free(&s.in);
    free(s.requests);
    return bench_finish();
}

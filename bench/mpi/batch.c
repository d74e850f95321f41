/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Buffers, payload verification and the batch clock of the benchmark programs. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

/* ---- buffers ---- */

static const size_t kPage = 4096;
static const size_t kLine = 64;

bench_buffer bench_buffer_make(const bench_options* options, size_t bytes)
{
    bench_buffer buffer = {0};
    buffer.capacity = bytes + kPage;
    if (options->fresh && buffer.capacity < options->arena_bytes)
        buffer.capacity = options->arena_bytes;
    buffer.base = bench_alloc(buffer.capacity);
    return buffer;
}

void bench_buffer_resize(bench_buffer* buffer, const bench_options* options, size_t size, int slots)
{
    buffer->size = size;
    if (options->fresh) {
        /* One line more than whole pages: successive buffers fall into different cache sets. */
        buffer->stride = (size + kPage - 1) / kPage * kPage + kLine + (size == 0 ? kPage : 0);
        buffer->slots = (long)(buffer->capacity / buffer->stride);
    } else {
        buffer->stride = size > 0 ? (size + kLine - 1) / kLine * kLine : kLine;
        buffer->slots = slots;
    }
    if (buffer->slots < slots || (size_t)buffer->slots * buffer->stride > buffer->capacity)
        bench_fail("buffers of %zu bytes do not fit an arena of %zu", size, buffer->capacity);
}

void bench_buffer_free(bench_buffer* buffer)
{
    free(buffer->base);
    buffer->base = NULL;
}

static uint64_t pattern(uint64_t seed, uint64_t index)
{
    uint64_t x = (seed + 1) * 0x9e3779b97f4a7c15u + index * 0xd1b54a32d192ed03u;
    return x ^ (x >> 29);
}

void bench_fill(void* data, size_t size, uint64_t seed)
{
    unsigned char* out = data;
    for (size_t at = 0; at < size; at += 8) {
        const uint64_t word = pattern(seed, at);
        memcpy(out + at, &word, size - at < 8 ? size - at : 8);
    }
}

void bench_check(const void* data, size_t size, uint64_t seed, const char* what)
{
    const unsigned char* in = data;
    for (size_t at = 0; at < size; at += 8) {
        const uint64_t word = pattern(seed, at);
        if (memcmp(in + at, &word, size - at < 8 ? size - at : 8) != 0)
            bench_fail("%s: wrong payload at byte %zu of %zu", what, at, size);
    }
}

static float term(uint64_t stamp, int rank, size_t index) { return (float)((stamp / 7 + (uint64_t)rank * 5 + index) % 64); }

void bench_fill_terms(float* out, size_t floats, uint64_t stamp)
{
    for (size_t i = 0; i < floats; ++i)
        out[i] = term(stamp, bench_rank, i);
}

void bench_check_sum(const float* in, size_t floats, uint64_t stamp)
{
    for (size_t i = 0; i < floats; ++i) {
        float sum = 0;
        for (int rank = 0; rank < bench_ranks; ++rank)
            sum += term(stamp, rank, i);
        if (in[i] < sum || in[i] > sum)
            bench_fail("wrong sum at element %zu: %g instead of %g", i, (double)in[i], (double)sum);
    }
}

void bench_show_path(int to, int from)
{
    enum { kPieces = 16, kPiece = 64 * 1024 };
    const uint64_t seed = UINT64_C(0x70617468) << 16;   /* far from every stamp of a batch */
    unsigned char* out = bench_alloc(kPiece);
    unsigned char* in = bench_alloc(kPiece);
    for (unsigned i = 0; i < kPieces; ++i) {
        bench_fill(out, kPiece, seed + (uint64_t)bench_rank * kPieces + i);
        MPI_Sendrecv(out, kPiece, MPI_BYTE, to, BENCH_TAG, in, kPiece, MPI_BYTE, from, BENCH_TAG, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        bench_check(in, kPiece, seed + (uint64_t)from * kPieces + i, "first exchange");
    }
    bench_sent(to, (double)kPieces * kPiece, kPieces);
    free(out);
    free(in);
}

/* ---- the batch clock ---- */

enum { kBatches = 11, kMinBatches = 3, kTagCommand = BENCH_TAG_CONTROL, kTagReady, kTagDone };

typedef struct command {
    uint64_t stamp;
    int64_t iterations;   /* 0 ends the measurement */
} command;

typedef struct batch {
    double seconds;
    double own[BENCH_REPORT];
    double peer[BENCH_REPORT];
} batch;

static void follow(const bench_kernel* kernel)
{
    for (;;) {
        command order;
        MPI_Recv(&order, sizeof order, MPI_BYTE, 0, kTagCommand, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (order.iterations == 0)
            return;
        double report[BENCH_REPORT] = {0};
        if (kernel->prepare != NULL)
            kernel->prepare(kernel->state, order.stamp, (long)order.iterations);
        MPI_Send(NULL, 0, MPI_BYTE, 0, kTagReady, MPI_COMM_WORLD);
        kernel->run(kernel->state, order.stamp, (long)order.iterations, report);
        MPI_Send(report, BENCH_REPORT, MPI_DOUBLE, 0, kTagDone, MPI_COMM_WORLD);
        if (kernel->check != NULL)
            kernel->check(kernel->state, order.stamp, (long)order.iterations);
    }
}

static void order_all(int active, command order)
{
    for (int rank = 1; rank < active; ++rank)
        MPI_Send(&order, sizeof order, MPI_BYTE, rank, kTagCommand, MPI_COMM_WORLD);
}

static batch lead_one(const bench_kernel* kernel, int active, long iterations)
{
    static uint64_t stamp = 0;
    stamp += 1u << 20;   /* kernels add the message's index in --verify mode */
    batch out = {0};
    order_all(active, (command){stamp, iterations});
    if (kernel->prepare != NULL)
        kernel->prepare(kernel->state, stamp, iterations);
    for (int rank = 1; rank < active; ++rank)
        MPI_Recv(NULL, 0, MPI_BYTE, rank, kTagReady, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double begin = bench_now();
    kernel->run(kernel->state, stamp, iterations, out.own);
    out.seconds = bench_now() - begin;
    for (int rank = 1; rank < active; ++rank) {
        double report[BENCH_REPORT];
        MPI_Recv(report, BENCH_REPORT, MPI_DOUBLE, rank, kTagDone, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 1)
            memcpy(out.peer, report, sizeof report);
    }
    if (kernel->await_all)
        out.seconds = bench_now() - begin;
    if (kernel->check != NULL)
        kernel->check(kernel->state, stamp, iterations);
    return out;
}

/* The time of one batch; the shortest of three where one seems to reach `target`, since it may only have been disturbed. */
static double probe(const bench_kernel* kernel, int active, long iterations, double target)
{
    double best = lead_one(kernel, active, iterations).seconds;
    for (int again = 0; again < 2 && best >= 0.5 * target && best < 10 * target; ++again) {
        const double took = lead_one(kernel, active, iterations).seconds;
        best = took < best ? took : best;
    }
    return best;
}

/* Iterations that fill about `target` seconds. The first batch is thrown away: it connects and warms up. */
static long calibrate(const bench_kernel* kernel, int active, double target)
{
    lead_one(kernel, active, 1);
    long iterations = 1;
    for (;;) {
        const double took = probe(kernel, active, iterations, target);
        if (took >= 0.5 * target)
            return iterations;
        double factor = took > 0 ? target / took : 16;
        factor = factor > 16 ? 16 : factor;   /* a lucky short batch must not blow up the next one */
        const long next = (long)((double)iterations * factor);
        iterations = next > iterations ? next : iterations + 1;
    }
}

static int by_value(const void* a, const void* b)
{
    const double x = *(const double*)a;
    const double y = *(const double*)b;
    return (x > y) - (x < y);
}

double bench_median(double* values, int count)
{
    if (count == 0)
        return 0;
    qsort(values, (size_t)count, sizeof values[0], by_value);
    return count % 2 != 0 ? values[count / 2] : 0.5 * (values[count / 2 - 1] + values[count / 2]);
}

static double median(const batch* batches, int count, size_t offset, double divisor)
{
    double values[kBatches];
    for (int i = 0; i < count; ++i)
        memcpy(&values[i], (const char*)&batches[i] + offset, sizeof(double));
    return bench_median(values, count) / divisor;
}

bench_result bench_measure(const bench_kernel* kernel, int active, double seconds)
{
    bench_result result = {0};
    if (bench_rank != 0) {
        follow(kernel);
        return result;
    }
    const double begin = bench_now();
    result.iterations = calibrate(kernel, active, seconds / (kBatches + 2));
    batch batches[kBatches];
    while (result.batches < kBatches && (result.batches < kMinBatches || bench_now() - begin < seconds))
        batches[result.batches++] = lead_one(kernel, active, result.iterations);
    order_all(active, (command){0, 0});

    const double divisor = (double)result.iterations;
    result.seconds = median(batches, result.batches, offsetof(batch, seconds), divisor);
    for (size_t i = 0; i < BENCH_REPORT; ++i) {
        result.own[i] = median(batches, result.batches, offsetof(batch, own) + i * sizeof(double), divisor);
        result.peer[i] = median(batches, result.batches, offsetof(batch, peer) + i * sizeof(double), divisor);
    }
    return result;
}

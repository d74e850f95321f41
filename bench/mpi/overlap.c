/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Overlap of computation and communication on the sender, the receiver and both (PIOMan figures 5 to 7). */
#include "common.h"

#include <stdlib.h>
#include <string.h>

/*
 * A transfer: the receiver posts its receive and says so; the clock starts at the sender; MPI_Isend; whoever computes
 * computes; both wait; the receiver replies with 4 bytes when its own computing and waiting are over; the clock stops
 * at the sender when its own are over and the reply is there. Each iteration measures one after the other
 *
 *     Tcomp   the computing alone      Tcomm   the transfer alone      Tboth   the transfer with computing inside
 *
 * and  hidden = (Tcomp + Tcomm - Tboth) / min(Tcomp, Tcomm):  1 when the shorter disappears behind the longer, 0 when
 * they only follow one another, negative when they disturb each other. --compute-ms sets Tcomp.
 * --mode names the sides, separated by commas: sender, receiver, both.
 */
typedef struct overlap {
    bench_buffer data;
    long increments;
    bool computes;     /* this rank, in the present mode */
    bool verify;
} overlap;

enum { kComp, kComm, kBoth };

static uint64_t seed_of(const overlap* o, uint64_t stamp, long i) { return stamp + (o->verify ? (uint64_t)i : 0); }

static void prepare(void* state, uint64_t stamp, long iterations)
{
    overlap* o = state;
    if (bench_rank == 0)
        bench_fill(bench_slot(&o->data, 2 * iterations - 1), o->data.size, seed_of(o, stamp, 2 * iterations - 1));
}

static double sender(overlap* o, bool transfer, bool compute, uint64_t stamp, long message)
{
    int32_t reply = 0;
    unsigned char* data = bench_slot(&o->data, message);
    MPI_Request request = MPI_REQUEST_NULL;
    if (transfer && o->verify)
        bench_fill(data, o->data.size, seed_of(o, stamp, message));
    MPI_Recv(NULL, 0, MPI_BYTE, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double begin = bench_now();
    if (transfer) {
        MPI_Isend(data, (int)o->data.size, MPI_BYTE, 1, BENCH_TAG, MPI_COMM_WORLD, &request);
        bench_sent(1, (double)o->data.size, 1);
    }
    if (compute)
        bench_compute(o->increments);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(&reply, 1, MPI_INT32_T, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return bench_now() - begin;
}

static void receiver(overlap* o, bool transfer, bool compute, uint64_t stamp, long message)
{
    const int32_t reply = 0;
    unsigned char* data = bench_slot(&o->data, message);
    MPI_Request request = MPI_REQUEST_NULL;
    if (transfer)
        MPI_Irecv(data, (int)o->data.size, MPI_BYTE, 0, BENCH_TAG, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    if (compute)
        bench_compute(o->increments);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Send(&reply, 1, MPI_INT32_T, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    if (transfer && o->verify)
        bench_check(data, o->data.size, seed_of(o, stamp, message), "overlap");
}

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    overlap* o = state;
    for (long i = 0; i < iterations; ++i) {
        if (bench_rank == 0) {
            report[kComp] += sender(o, false, o->computes, stamp, 0);
            report[kComm] += sender(o, true, false, stamp, 2 * i);
            report[kBoth] += sender(o, true, o->computes, stamp, 2 * i + 1);
        } else {
            receiver(o, false, o->computes, stamp, 0);
            receiver(o, true, false, stamp, 2 * i);
            receiver(o, true, o->computes, stamp, 2 * i + 1);
        }
    }
}

static void check(void* state, uint64_t stamp, long iterations)
{
    overlap* o = state;
    const long last = 2 * iterations - 1;
    if (bench_rank == 1)
        bench_check(bench_slot(&o->data, last), o->data.size, seed_of(o, stamp, last), "overlap");
}

static void measure_side(overlap* o, const bench_options* options, const char* side, double seconds)
{
    const bool both = strcmp(side, "both") == 0;
    const bool at_sender = both || strcmp(side, "sender") == 0;
    const bool at_receiver = both || strcmp(side, "receiver") == 0;
    if (!at_sender && !at_receiver)
        bench_fail("--mode is a list of sender, receiver and both");
    o->computes = bench_rank == 0 ? at_sender : at_receiver;

    const bench_kernel kernel = {prepare, run, check, o, false};
    for (int s = 0; s < options->size_count; ++s) {
        bench_buffer_resize(&o->data, options, options->sizes[s], 2);
        const bench_result result = bench_measure(&kernel, 2, seconds / options->size_count);
        const double comp = result.own[kComp];
        const double comm = result.own[kComm];
        const double both_time = result.own[kBoth];
        const double shorter = comp < comm ? comp : comm;
        const double size = (double)options->sizes[s];
        char metric[64] = "hidden, computing on ";
        strncat(metric, side, sizeof metric - strlen(metric) - 1);
        if (bench_rank == 0)
            bench_row(metric, size, "share", "higher", (comp + comm - both_time) / shorter);
        const char* const parts[] = {"Tcomp, ", "Tcomm, ", "Tboth, "};
        for (int part = kComp; part <= kBoth; ++part) {
            strcpy(metric, parts[part]);
            strncat(metric, side, sizeof metric - strlen(metric) - 1);
            bench_row(metric, size, "us", "lower", 1e6 * result.own[part]);
        }
    }
}

int main(int argc, char** argv)
{
    const bench_options defaults = {
        .mode = "sender,receiver,both", .sizes = {262144, 1048576}, .size_count = 2, .compute_ms = 1.5};
    const bench_options options = bench_start(&argc, &argv, "overlap", &defaults);
    if (bench_ranks != 2)
        bench_fail("needs exactly 2 ranks");

    overlap o = {.data = bench_buffer_make(&options, 2 * (bench_largest(&options) + 64)), .verify = options.verify};
    o.increments = bench_increments_for(1e-3 * options.compute_ms);
    int sides = 1;
    for (const char* c = options.mode; *c != '\0'; ++c)
        sides += *c == ',';
    char* copy = strdup(options.mode);
    char* rest = NULL;
    for (char* side = strtok_r(copy, ",", &rest); side != NULL; side = strtok_r(NULL, ",", &rest))
        measure_side(&o, &options, side, options.seconds / sides);
    free(copy);
    bench_buffer_free(&o.data);
    return bench_finish();
}

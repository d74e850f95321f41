/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Overlap of computation and communication on the sender, the receiver and both (PIOMan figures 5 to 7). */
#include "common.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * A transfer: the sender asks for it; the receiver starts its clock, posts its receive and says so; the sender starts its
 * own; MPI_Isend; whoever computes, computes; both wait. The receiver stops when its computing and waiting are over and
 * sends its time; the sender stops when its own are over and that reply is there. The time of the transfer is the longer of
 * the two, so that a side that the machine kept from starting does not appear fast. Each iteration measures in turn
 *
 *     Tcomp   the computing alone      Tcomm   the transfer alone      Tboth   the transfer with computing inside
 *
 * and from the medians over the iterations  hidden = (Tcomp + Tcomm - Tboth) / min(Tcomp, Tcomm):  1 when the shorter
 * disappears behind the longer, 0 when they only follow one another, negative when they disturb each other (bench_overlap_rows).
 * --compute-ms sets Tcomp. --mode names the sides, separated by commas: sender, receiver, both.
 */
enum { kComp, kComm, kBoth, kPhases = BENCH_PHASES, kMaxIterations = 4096 };

typedef struct overlap {
    bench_buffer data;
    long increments;
    bool computes;     /* this rank, in the present mode */
    bool verify;
    double times[kPhases][kMaxIterations];   /* of a batch, seconds */
} overlap;

static uint64_t seed_of(const overlap* o, uint64_t stamp, long i) { return stamp + (o->verify ? (uint64_t)i : 0); }

static void prepare(void* state, uint64_t stamp, long iterations)
{
    overlap* o = state;
    if (bench_rank == 0)
        bench_fill(bench_slot(&o->data, 2 * iterations - 1), o->data.size, seed_of(o, stamp, 2 * iterations - 1));
}

static double sender(overlap* o, bool transfer, bool compute, uint64_t stamp, long message)
{
    double reply = 0;
    unsigned char* data = bench_slot(&o->data, message);
    MPI_Request request = MPI_REQUEST_NULL;
    if (transfer && o->verify)
        bench_fill(data, o->data.size, seed_of(o, stamp, message));
    MPI_Send(NULL, 0, MPI_BYTE, 1, BENCH_TAG_ACK, MPI_COMM_WORLD);   /* a receiver must not start while we still compute */
    MPI_Recv(NULL, 0, MPI_BYTE, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double begin = bench_now();
    if (transfer) {
        MPI_Isend(data, (int)o->data.size, MPI_BYTE, 1, BENCH_TAG, MPI_COMM_WORLD, &request);
        bench_sent(1, (double)o->data.size, 1);
    }
    if (compute)
        bench_compute(o->increments);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(&reply, 1, MPI_DOUBLE, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double own = bench_now() - begin;
    return own > reply ? own : reply;
}

static void receiver(overlap* o, bool transfer, bool compute, uint64_t stamp, long message)
{
    unsigned char* data = bench_slot(&o->data, message);
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Recv(NULL, 0, MPI_BYTE, 0, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double begin = bench_now();
    if (transfer)
        MPI_Irecv(data, (int)o->data.size, MPI_BYTE, 0, BENCH_TAG, MPI_COMM_WORLD, &request);
    MPI_Send(NULL, 0, MPI_BYTE, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    if (compute)
        bench_compute(o->increments);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double reply = bench_now() - begin;
    MPI_Send(&reply, 1, MPI_DOUBLE, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    if (transfer && o->verify)
        bench_check(data, o->data.size, seed_of(o, stamp, message), "overlap");
}

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    overlap* o = state;
    if (iterations > kMaxIterations)
        bench_fail("computing and transfer are too short to measure: raise --compute-ms or --sizes");
    for (long i = 0; i < iterations; ++i) {
        if (bench_rank == 0) {
            o->times[kComp][i] = sender(o, false, o->computes, stamp, 0);
            o->times[kComm][i] = sender(o, true, false, stamp, 2 * i);
            o->times[kBoth][i] = sender(o, true, o->computes, stamp, 2 * i + 1);
        } else {
            receiver(o, false, o->computes, stamp, 0);
            receiver(o, true, false, stamp, 2 * i);
            receiver(o, true, o->computes, stamp, 2 * i + 1);
        }
    }
    if (bench_rank == 0)
        for (int phase = kComp; phase < kPhases; ++phase)
            report[phase] = (double)iterations * bench_median(o->times[phase], (int)iterations);
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
        char computing[64];
        snprintf(computing, sizeof computing, "computing on %s", side);
        bench_overlap_rows(computing, side, options->sizes[s], result.own);
    }
}

int main(int argc, char** argv)
{
    const bench_options defaults = {
        .mode = "sender,receiver,both", .sizes = {262144, 1048576}, .size_count = 2, .compute_ms = 1.5};
    const bench_options options = bench_start(&argc, &argv, "overlap", &defaults);
    if (bench_ranks != 2)
        bench_fail("needs exactly 2 ranks");

    static overlap o;
    o.data = bench_buffer_make(&options, 2 * (bench_largest(&options) + 64));
    o.verify = options.verify;
    bench_show_path(1 - bench_rank, 1 - bench_rank);
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

/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Overlap of computation and communication on the sender, the receiver and both (PIOMan figures 5 to 7). */
#include "common.h"
#include "spare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

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
 *
 * Where each rank has a core of its own, a second row of transfers tells what all of it takes of the two cores (spare.h). Nobody waits by polling there: who
 * does not compute sleeps for as long, and only then looks. CPU with overlap is what computing and transfer take together; without it, what the one takes, and
 * the other while both ranks sleep; each less what the hand-shake takes. Where the cores are what limits the overlap, both are the same.
 */
enum { kComp, kComm, kBoth, kPhases = BENCH_PHASES, kNeither = kPhases, kCpuPhases, kMaxIterations = 4096 };

typedef struct overlap {
    bench_buffer data;
    long increments;
    bool computes;     /* this rank, in the present mode */
    bool verify;
    double times[kPhases][kMaxIterations];   /* of a batch, seconds */
} overlap;

static uint64_t seed_of(const overlap* o, uint64_t stamp, long i) { return stamp + (o->verify ? (uint64_t)i : 0); }

typedef struct moment {
    double time, spare;
} moment;

static moment this_moment(void) { return (moment){bench_now(), bench_spare()}; }

/* A transfer begins when both are there, and the receiver has posted; each side has a beginning of its own. */
static moment begin_transfer(overlap* o, bool transfer, long message, MPI_Request* request)
{
    moment begin;
    unsigned char* data = bench_slot(&o->data, message);
    if (bench_rank == 0) {
        MPI_Send(NULL, 0, MPI_BYTE, 1, BENCH_TAG_ACK, MPI_COMM_WORLD);   /* a receiver must not start while we still compute */
        MPI_Recv(NULL, 0, MPI_BYTE, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        begin = this_moment();
        if (transfer) {
            MPI_Isend(data, (int)o->data.size, MPI_BYTE, 1, BENCH_TAG, MPI_COMM_WORLD, request);
            bench_sent(1, (double)o->data.size, 1);
        }
    } else {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        begin = this_moment();
        if (transfer)
            MPI_Irecv(data, (int)o->data.size, MPI_BYTE, 0, BENCH_TAG, MPI_COMM_WORLD, request);
        MPI_Send(NULL, 0, MPI_BYTE, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    }
    return begin;
}

static void prepare(void* state, uint64_t stamp, long iterations)
{
    overlap* o = state;
    if (bench_rank == 0)
        bench_fill(bench_slot(&o->data, 2 * iterations - 1), o->data.size, seed_of(o, stamp, 2 * iterations - 1));
}

static double sender(overlap* o, bool transfer, bool compute, uint64_t stamp, long message)
{
    double reply = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    if (transfer && o->verify)
        bench_fill(bench_slot(&o->data, message), o->data.size, seed_of(o, stamp, message));
    const double begin = begin_transfer(o, transfer, message, &request).time;
    if (compute)
        bench_compute(o->increments);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Recv(&reply, 1, MPI_DOUBLE, 1, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    const double own = bench_now() - begin;
    return own > reply ? own : reply;
}

static void receiver(overlap* o, bool transfer, bool compute, uint64_t stamp, long message)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const double begin = begin_transfer(o, transfer, message, &request).time;
    if (compute)
        bench_compute(o->increments);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double reply = bench_now() - begin;
    MPI_Send(&reply, 1, MPI_DOUBLE, 0, BENCH_TAG_ACK, MPI_COMM_WORLD);
    if (transfer && o->verify)
        bench_check(bench_slot(&o->data, message), o->data.size, seed_of(o, stamp, message), "overlap");
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

/* ---- what it takes of the cores ---- */

static void sleep_until(double when)
{
    const double left = when - bench_now();
    if (left > 0) {
        const struct timespec time = {(time_t)left, (long)(1e9 * (left - (double)(time_t)left))};
        nanosleep(&time, NULL);
    }
}

/* Seconds of this rank's core: of `window`, which is longer than all that happens, what was not to spare. */
static double cpu_of_one(overlap* o, bool transfer, bool compute, long message, double window)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const moment begin = begin_transfer(o, transfer, message, &request);
    if (compute)
        bench_compute(o->increments);
    else
        sleep_until(begin.time + window / 2);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    sleep_until(begin.time + window);
    const moment end = this_moment();
    return end.time - begin.time - (end.spare - begin.spare);
}

static void measure_cpu(overlap* o, const char* side, double window, double seconds)
{
    double mine[kCpuPhases], all[kCpuPhases];
    const int wanted = (int)(seconds / (window * kCpuPhases));
    const int iterations = wanted < 16 ? 16 : wanted < kMaxIterations ? wanted : kMaxIterations;
    int counts = bench_spare_start(), both = 0;
    MPI_Allreduce(&counts, &both, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (both) {
        static double times[kCpuPhases][kMaxIterations];
        for (int i = 0; i < iterations; ++i) {
            for (int phase = 0; phase < kCpuPhases; ++phase)
                times[phase][i] = cpu_of_one(o, phase == kComm || phase == kBoth, o->computes && (phase == kComp || phase == kBoth), i, window);
        }
        for (int phase = 0; phase < kCpuPhases; ++phase)
            mine[phase] = bench_median(times[phase], iterations);
        MPI_Allreduce(mine, all, kCpuPhases, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        const double with = all[kBoth] - all[kNeither];
        const double without = all[kComp] + all[kComm] - 2 * all[kNeither];
        const double values[] = {with / without, 1e6 * with, 1e6 * without, 1e6 * (all[kComm] - all[kNeither])};
        const char* const names[] = {"CPU with overlap to without", "CPU with overlap", "CPU without", "CPU of the transfer"};
        for (int i = 0; i < 4; ++i) {
            char metric[96];
            snprintf(metric, sizeof metric, "%s, computing on %s", names[i], side);
            bench_row(metric, (double)o->data.size, i == 0 ? "ratio" : "us", "lower", values[i]);
        }
    } else {
        bench_note("a rank may run on several cores, so what the overlap takes of them is not told");
    }
    if (counts)
        bench_spare_stop();
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
        measure_cpu(o, side, 3e-3 * options->compute_ms, seconds / options->size_count);
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

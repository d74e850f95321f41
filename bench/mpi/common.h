/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * What all benchmark programs share: options, the batch clock, buffers, verification and the result line. */
#ifndef LINNET_BENCH_COMMON_H
#define LINNET_BENCH_COMMON_H

/*
 * The programs are plain MPI programs: nothing in them knows which stack runs below. Every rank calls bench_start()
 * first and bench_finish() last; rank 0, the leader, prints one line of JSON on standard output. One thread per rank
 * calls these functions; bench_check, bench_fill and bench_slot any. A failed check ends the job with MPI_Abort and
 * status 1; a run that exceeds --limit ends with status 124, so a hang is a failure and never a hang of the caller.
 */

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    BENCH_MAX_POINTS = 64,   /* sizes or loop lengths that one run may name */
    BENCH_PHASES = 3,        /* of what measures overlap: computing alone, communicating alone, both */
    BENCH_REPORT = 4,        /* numbers a kernel may report for each rank beside the time; see bench_kernel */
    BENCH_TAG = 1,           /* the measured messages */
    BENCH_TAG_ACK = 2,       /* replies that belong to the measurement */
    BENCH_TAG_CONTROL = 1000 /* from here on: the batch clock and the gathering of results */
};

typedef struct bench_options {
    const char* mode;                /* which variant of the program; its default is the first it documents */
    size_t sizes[BENCH_MAX_POINTS];  /* message lengths in bytes */
    int size_count;
    long increments[BENCH_MAX_POINTS]; /* compute loops of fig10 */
    int increment_count;
    int tests[BENCH_MAX_POINTS];     /* calls of MPI_Test amid the computing of iallreduce */
    int test_count;
    int threads[BENCH_MAX_POINTS];   /* receiving threads of mt_latency */
    int thread_count;
    bool threaded;                   /* in the defaults: several threads of a rank call MPI at the same time */
    double seconds;                  /* measured time that the whole program aims at */
    double limit_seconds;            /* the program is ended after this time whatever happens */
    double compute_ms;               /* compute loop of overlap; blocked time of cpu_idle */
    size_t arena_bytes;              /* memory that fresh buffers walk through, for each direction */
    size_t memory_bytes;             /* a collective whose buffers need more on one rank is skipped, and says so */
    int window;                      /* messages in flight */
    double port_mbs;                 /* 10^6 bytes of payload per second that the port before rank 0 carries; 0: not known */
    bool fresh;                      /* a new buffer for each message instead of the same one */
    bool verify;                     /* fill and check every message in full, not only the last one of a batch */
    const char* ops;                 /* collectives: comma-separated names, all when null */
    const char* pvar_prefix;         /* MPI_T variables whose names begin so are printed */
} bench_options;

extern int bench_rank;
extern int bench_ranks;

/* MPI_Init, or MPI_Init_thread where the defaults ask for it; options over `defaults`, the watchdog and the MPI_T session.
 * `name` appears in the result line. */
bench_options bench_start(int* argc, char*** argv, const char* name, const bench_options* defaults);

/* Gathers every rank's counters, prints the result line, MPI_Finalize. Returns main's exit status. */
int bench_finish(void);

/* Prints the text with the rank and ends the whole job with status 1. */
void bench_fail(const char* format, ...) __attribute__((format(printf, 1, 2), noreturn));

/* Page-aligned, zeroed memory; never null. To be freed with free. */
void* bench_alloc(size_t bytes);

/* The largest of --sizes. */
size_t bench_largest(const bench_options* options);

/* Monotonic seconds; CPU seconds of this process, all its threads, user and system. */
double bench_now(void);
double bench_cpu(void);

/* The same in parts, and what all processors of this machine spent in interrupts and their deferred work (softirq) since it started, whoever caused it: 0 where
 * /proc/stat does not tell. The kernel tells parts by its clock tick (4 ms, say), and counts what ran amid a process as that one's system time, too. */
typedef struct bench_cpu_parts {
    double user, system, softirq;
} bench_cpu_parts;
bench_cpu_parts bench_cpu_split(void);

/* One result: `metric` names the table, `x` its row (a size, a count), `better` is "lower" or "higher". Leader only. */
void bench_row(const char* metric, double x, const char* unit, const char* better, double value);

/*
 * What is hidden of the shorter of computing and communicating, (comp + comm - both) / shorter, and the three times as they are; seconds, in the order of the
 * phases. `what` says of the share what it is about, `who` of the times. A note says where more was hidden than there was: then the machine was busy elsewhere
 * while one of the three was timed. Leader only.
 */
void bench_overlap_rows(const char* what, const char* who, size_t bytes, const double seconds[BENCH_PHASES]);

/* Something the reader of the table must know, for example a cell that was skipped. Leader only. */
void bench_note(const char* format, ...) __attribute__((format(printf, 1, 2)));

/* Accounts payload that this rank handed to MPI for `peer`; compare holds it against the interface counters. */
void bench_sent(int peer, double bytes, double messages);

/* Sends 1 MB to `to` while receiving as much from `from`, checked, accounted, outside every time: so that even a run whose
 * own payload is small moves enough for the interface counters to show its path. Blocks until both are done. */
void bench_show_path(int to, int from);

/* Accounts the least that must leave and enter this rank's host, where the algorithm is the library's to choose. */
void bench_must_cross(double tx_bytes, double rx_bytes);

/* ---- buffers ---- */

/*
 * Message slots. Reused: `slots` buffers that follow one another, the same ones for every message. Fresh: as many as the
 * arena holds, each on pages of its own and starting on another cache line, so no message finds its buffer in a
 * cache or in the translation buffers. All pages are touched in advance: page faults are not part of any result.
 */
typedef struct bench_buffer {
    unsigned char* base;
    size_t capacity;
    size_t size;
    size_t stride;
    long slots;
} bench_buffer;

/* Memory for `bytes` of reused buffers, each rounded up to 64, or for the arena. Call bench_buffer_resize before use. */
bench_buffer bench_buffer_make(const bench_options* options, size_t bytes);

/* Lays out slots of `size` bytes; at least `slots` of them. */
void bench_buffer_resize(bench_buffer* buffer, const bench_options* options, size_t size, int slots);
void bench_buffer_free(bench_buffer* buffer);

static inline unsigned char* bench_slot(const bench_buffer* buffer, long index)
{
    return buffer->base + (size_t)(index % buffer->slots) * buffer->stride;
}

/* A pattern that differs between seeds in every 8 bytes. bench_check aborts the job at the first wrong byte. */
void bench_fill(void* data, size_t size, uint64_t seed);
void bench_check(const void* data, size_t size, uint64_t seed, const char* what);

/* What this rank gives to a sum, small whole numbers, so that the sum over all ranks is exact in any order; bench_check_sum aborts the job at the first element
 * that is wrong. */
void bench_fill_terms(float* out, size_t floats, uint64_t stamp);
void bench_check_sum(const float* in, size_t floats, uint64_t stamp);

/* ---- the batch clock ---- */

/*
 * A kernel is what one measurement repeats. The leader chooses the number of iterations so that a batch lasts long
 * enough for the clock, then times several batches. On every active rank a batch is prepare, a hand-shake, run,
 * check; only run is timed. `stamp` is new for each batch, so stale bytes never pass the check. `report` holds sums over
 * the batch of whatever the kernel measures by itself; bench_measure divides by the iterations.
 */
typedef struct bench_kernel {
    void (*prepare)(void* state, uint64_t stamp, long iterations);          /* may be null */
    void (*run)(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT]);
    void (*check)(void* state, uint64_t stamp, long iterations);            /* may be null */
    void* state;
    bool await_all;   /* the time ends when the last rank is done, not when the leader is */
} bench_kernel;

typedef struct bench_result {
    double seconds;              /* per iteration; median over the batches */
    double own[BENCH_REPORT];    /* the leader's report per iteration, medians */
    double peer[BENCH_REPORT];   /* the same of rank 1 */
    long iterations;             /* in each batch */
    int batches;
} bench_result;

/* Called by ranks 0 to active-1 alike. The result is meaningful on the leader only. */
bench_result bench_measure(const bench_kernel* kernel, int active, double seconds);

/* Sorts the values and returns the middle one; 0 of none. */
double bench_median(double* values, int count);

/* ---- computing, and waiting without burning the processor ---- */

/* `count` increments of a volatile counter: memory traffic none, MPI calls none. */
void bench_compute(long count);

/* How many increments fill `seconds` on this processor now. */
long bench_increments_for(double seconds);

/* Send and receive that sleep between tests; for phases in which other ranks need the processor. */
void bench_quiet_send(const void* data, int bytes, int peer, int tag);
void bench_quiet_recv(void* data, int bytes, int peer, int tag);

#endif

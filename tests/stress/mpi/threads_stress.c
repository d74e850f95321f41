/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* MPI_THREAD_MULTIPLE for a given time: every thread exchanges messages with all ranks in ways and lengths drawn from a seed, each byte checked. */
/* Rank 0 says what it is at, so that a watchdog sees a hang. */
#include "../../integration/mpi/mpi_check.h"

#include <pthread.h>

enum { MOST_THREADS = 64, MOST_WINDOW = 8, LONGEST = 1 << 20, ROUNDS_A_LOOK = 16 };

struct worker {
    pthread_t thread;
    int index;
    MPI_Comm own;      /* this thread's alone: wildcards, collective operations */
    MPI_Comm shared;   /* of all threads, told apart by tags */
    unsigned char *in, *out;
    double end;
    unsigned rounds;
};

/* The same at every rank: one round of one thread. */
struct plan {
    enum { BLOCKING, RECEIVES_FIRST, SENDS_FIRST, SYNCHRONOUS, PROBED, MATCHED, TESTED, WAYS } way;
    int own;
    int shift;   /* messages go to the rank so much higher */
    int window;
    size_t bytes;
};

static uint64_t next(uint64_t *state)
{
    uint64_t x = (*state += UINT64_C(0x9e3779b97f4a7c15));
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static struct plan plan_of(uint64_t seed, int thread, unsigned round)
{
    static const size_t upto[] = {1, 9, 200, 2000, 5000, 20000, 100000, LONGEST + 1};
    uint64_t state = seed ^ ((uint64_t)thread << 40) ^ round;
    struct plan p;
    p.way = (int)(next(&state) % WAYS);
    p.own = (int)(next(&state) % 2);
    p.shift = (int)(next(&state) % (uint64_t)check_size);
    p.bytes = next(&state) % upto[next(&state) % (sizeof upto / sizeof upto[0])];
    p.window = p.bytes * MOST_WINDOW <= LONGEST && p.way != BLOCKING ? 1 + (int)(next(&state) % MOST_WINDOW) : 1;
    return p;
}

static uint64_t seed_of(int from, int thread, unsigned round, int i)
{
    return ((uint64_t)from << 48) ^ ((uint64_t)thread << 40) ^ ((uint64_t)round << 4) ^ (uint64_t)i;
}

/* Of the first message of a round; those of other rounds and threads have others, since who is ahead is so by less than ROUNDS_A_LOOK. */
static int tag_of(int thread, unsigned round) { return (int)((round % (2 * ROUNDS_A_LOOK) * MOST_THREADS + (unsigned)thread) * MOST_WINDOW); }

/* Receives message i of the window after a probe, in a communicator of its own with a wildcard: of the source, or of the tag. */
static void probed(const struct worker *w, const struct plan *p, MPI_Comm comm, int from, int first_tag, int i)
{
    MPI_Status status;
    MPI_Message message;
    int count = -1;
    const int source = p->own && p->shift % 2 == 0 ? MPI_ANY_SOURCE : from;
    const int tag = p->own && p->shift % 2 == 1 ? MPI_ANY_TAG : first_tag + i;

    if (p->way == MATCHED) {
        MPI_Mprobe(source, tag, comm, &message, &status);
    } else {
        MPI_Probe(source, tag, comm, &status);
    }
    MPI_Get_count(&status, MPI_BYTE, &count);
    CHECK_EQ(count, p->bytes);
    CHECK_EQ(status.MPI_SOURCE, from);
    CHECK_EQ(status.MPI_TAG, first_tag + i);   /* the order of one sender in one communicator */
    unsigned char *const at = w->in + (size_t)i * p->bytes;
    if (p->way == MATCHED) {
        MPI_Mrecv(at, count, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(at, count, MPI_BYTE, source, tag, comm, MPI_STATUS_IGNORE);
    }
}

static void exchange(const struct worker *w, const struct plan *p, unsigned round)
{
    MPI_Request requests[2 * MOST_WINDOW];
    MPI_Comm comm = p->own ? w->own : w->shared;
    const int to = (check_rank + p->shift) % check_size, from = (check_rank + check_size - p->shift) % check_size;
    const int first_tag = tag_of(w->index, round);
    const int bytes = (int)p->bytes;
    int sends = 0, all = 0;

    for (int i = 0; i < p->window; ++i) {
        pattern_fill(w->out + (size_t)i * p->bytes, p->bytes, seed_of(check_rank, w->index, round, i));
    }
    if (p->way == BLOCKING) {
        MPI_Sendrecv(w->out, bytes, MPI_BYTE, to, first_tag, w->in, bytes, MPI_BYTE, from, first_tag, comm, MPI_STATUS_IGNORE);
    } else {
        const int receives_first = p->way == RECEIVES_FIRST || p->way == TESTED;
        for (int i = 0; receives_first && i < p->window; ++i) {
            MPI_Irecv(w->in + (size_t)i * p->bytes, bytes, MPI_BYTE, from, first_tag + i, comm, &requests[all++]);
        }
        for (int i = 0; i < p->window; ++i, ++sends) {
            (p->way == SYNCHRONOUS ? MPI_Issend : MPI_Isend)(w->out + (size_t)i * p->bytes, bytes, MPI_BYTE, to, first_tag + i, comm, &requests[all++]);
        }
        for (int i = 0; !receives_first && i < p->window; ++i) {
            if (p->way == PROBED || p->way == MATCHED) {
                probed(w, p, comm, from, first_tag, i);
            } else {
                MPI_Irecv(w->in + (size_t)i * p->bytes, bytes, MPI_BYTE, from, first_tag + i, comm, &requests[all++]);
            }
        }
        for (int done = p->way != TESTED; !done;) {
            MPI_Testall(all, requests, &done, MPI_STATUSES_IGNORE);
        }
        MPI_Waitall(all, requests, MPI_STATUSES_IGNORE);
    }
    for (int i = 0; i < p->window; ++i) {
        CHECK_PATTERN(w->in + (size_t)i * p->bytes, p->bytes, seed_of(from, w->index, round, i));
    }
}

static void *work(void *arg)
{
    struct worker *const w = arg;
    const uint64_t seed = 1;
    int go = 1;

    while (go) {
        for (int i = 0; i < ROUNDS_A_LOOK; ++i, ++w->rounds) {
            const struct plan p = plan_of(seed, w->index, w->rounds);
            exchange(w, &p, w->rounds);
        }
        if (check_rank == 0 && w->index == 0) {
            printf("at %u\n", w->rounds);
        }
        unsigned sum = 0;
        MPI_Allreduce(&w->rounds, &sum, 1, MPI_UNSIGNED, MPI_SUM, w->own);
        CHECK_EQ(sum, w->rounds * (unsigned)check_size);
        go = check_now(CLOCK_MONOTONIC) < w->end;
        MPI_Bcast(&go, 1, MPI_INT, 0, w->own);
    }
    return NULL;
}

/* threads_stress SECONDS [THREADS]     THREADS of each rank; default 4 */
int main(int argc, char **argv)
{
    static struct worker workers[MOST_THREADS];
    check_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    const double end = check_now(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 3);
    const int threads = argc > 2 ? atoi(argv[2]) : 4;
    CHECK(threads > 0 && threads <= MOST_THREADS);
    MPI_Comm shared;
    MPI_Comm_dup(MPI_COMM_WORLD, &shared);
    for (int t = 0; t < threads; ++t) {
        struct worker *const w = &workers[t];
        *w = (struct worker){.index = t, .shared = shared, .in = check_alloc(LONGEST), .out = check_alloc(LONGEST), .end = end};
        MPI_Comm_dup(MPI_COMM_WORLD, &w->own);
    }
    for (int t = 0; t < threads; ++t) {
        CHECK_EQ(pthread_create(&workers[t].thread, NULL, work, &workers[t]), 0);
    }
    unsigned rounds = 0;
    for (int t = 0; t < threads; ++t) {
        CHECK_EQ(pthread_join(workers[t].thread, NULL), 0);
        rounds += workers[t].rounds;
        MPI_Comm_free(&workers[t].own);
        free(workers[t].in);
        free(workers[t].out);
    }
    MPI_Comm_free(&shared);
    if (check_rank == 0) {
        printf("%u rounds of %d threads\n", rounds, threads);
    }
    return check_end("threads_stress");
}

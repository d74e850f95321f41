/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * One sending thread and many receiving threads: latency by the number of receivers (PIOMan's multithreaded latency test). */
#include "common.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/*
 * Rank 1 has N threads, each in MPI_Recv for a tag of its own; rank 0 has one, which sends to one of them, waits for its
 * answer, and goes on to the next: at any time N - 1 receivers wait in vain. An iteration is a round over all receivers, in the order of
 * their numbers (--mode ordered) or in a new random one each round (shuffled), so that no receiver can know when its turn comes.
 * What is reported is half the time of a round, over the receivers in it: at one receiver that of pingpong. Each batch starts
 * its threads anew and begins with rounds outside the time, since an MPI may keep its waiting threads in the order in which they came.
 */
enum { kFirstTag = 100, kMostThreads = 512, kWarmRounds = 2 };

typedef struct mt_latency {
    bench_buffer out, in;   /* slots by message; without --fresh one for each receiver */
    int threads;
    bool shuffled;
    bool verify;
    int order[kMostThreads];
    uint64_t random;
} mt_latency;

/* A receiver of the present batch. */
typedef struct receiver {
    mt_latency* m;
    pthread_t thread;
    int number;
    uint64_t stamp;
    long rounds;   /* with those outside the time */
} receiver;

static receiver receivers[kMostThreads];
static pthread_barrier_t begin_together;

static int peer(void) { return 1 - bench_rank; }

static long message_of(const mt_latency* m, long round, int number) { return round * m->threads + number; }

/* The two directions carry different bytes, and so do the messages of two receivers. */
static uint64_t seed_of(const mt_latency* m, int sender, uint64_t stamp, long round, int number)
{
    return 2 * (stamp + (uint64_t)message_of(m, m->verify ? round : 0, number)) + (uint64_t)sender;
}

static void send_one(mt_latency* m, uint64_t stamp, long round, int number)
{
    unsigned char* data = bench_slot(&m->out, message_of(m, round, number));
    if (m->verify)
        bench_fill(data, m->out.size, seed_of(m, bench_rank, stamp, round, number));
    MPI_Send(data, (int)m->out.size, MPI_BYTE, peer(), kFirstTag + number, MPI_COMM_WORLD);
}

static void recv_one(mt_latency* m, uint64_t stamp, long round, int number)
{
    unsigned char* data = bench_slot(&m->in, message_of(m, round, number));
    MPI_Recv(data, (int)m->in.size, MPI_BYTE, peer(), kFirstTag + number, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (m->verify)
        bench_check(data, m->in.size, seed_of(m, peer(), stamp, round, number), "multithreaded latency");
}

static void* receive(void* argument)
{
    const receiver* r = argument;
    pthread_barrier_wait(&begin_together);
    for (long round = 0; round < r->rounds; ++round) {
        recv_one(r->m, r->stamp, round, r->number);
        send_one(r->m, r->stamp, round, r->number);
    }
    return NULL;
}

static void shuffle(mt_latency* m)
{
    for (int i = m->threads - 1; i > 0; --i) {
        m->random ^= m->random << 13;
        m->random ^= m->random >> 7;
        m->random ^= m->random << 17;
        const int other = (int)(m->random % (unsigned)(i + 1));
        const int number = m->order[i];
        m->order[i] = m->order[other];
        m->order[other] = number;
    }
}

static void go_round(mt_latency* m, uint64_t stamp, long round)
{
    if (m->shuffled)
        shuffle(m);
    for (int t = 0; t < m->threads; ++t) {
        send_one(m, stamp, round, m->order[t]);
        recv_one(m, stamp, round, m->order[t]);
    }
}

/* The last message of each receiver is checked without --verify too. */
static void fill_last(mt_latency* m, uint64_t stamp, long rounds)
{
    const long last = kWarmRounds + rounds - 1;
    for (int t = 0; t < m->threads; ++t)
        bench_fill(bench_slot(&m->out, message_of(m, last, t)), m->out.size, seed_of(m, bench_rank, stamp, last, t));
}

static void prepare(void* state, uint64_t stamp, long rounds)
{
    mt_latency* m = state;
    fill_last(m, stamp, rounds);
    if (bench_rank == 0) {
        for (long round = 0; round < kWarmRounds; ++round)
            go_round(m, stamp, round);
        return;
    }
    pthread_barrier_init(&begin_together, NULL, (unsigned)m->threads + 1);
    for (int t = 0; t < m->threads; ++t) {
        receivers[t] = (receiver){.m = m, .number = t, .stamp = stamp, .rounds = kWarmRounds + rounds};
        if (pthread_create(&receivers[t].thread, NULL, receive, &receivers[t]) != 0)
            bench_fail("cannot start thread %d of %d", t + 1, m->threads);
    }
    pthread_barrier_wait(&begin_together);
}

static void run(void* state, uint64_t stamp, long rounds, double report[BENCH_REPORT])
{
    mt_latency* m = state;
    (void)report;
    if (bench_rank == 0) {
        for (long round = kWarmRounds; round < kWarmRounds + rounds; ++round)
            go_round(m, stamp, round);
    } else {
        for (int t = 0; t < m->threads; ++t)
            pthread_join(receivers[t].thread, NULL);
        pthread_barrier_destroy(&begin_together);
    }
    const double messages = (double)(kWarmRounds + rounds) * m->threads;
    bench_sent(peer(), messages * (double)m->out.size, messages);
}

static void check(void* state, uint64_t stamp, long rounds)
{
    mt_latency* m = state;
    const long last = kWarmRounds + rounds - 1;
    for (int t = 0; t < m->threads; ++t)
        bench_check(bench_slot(&m->in, message_of(m, last, t)), m->in.size, seed_of(m, peer(), stamp, last, t),
                    "multithreaded latency");
}

static void measure_point(mt_latency* m, const bench_options* options, size_t bytes, double seconds)
{
    const bench_kernel kernel = {prepare, run, check, m, false};
    for (int t = 0; t < m->threads; ++t)
        m->order[t] = t;
    bench_buffer_resize(&m->out, options, bytes, m->threads);
    bench_buffer_resize(&m->in, options, bytes, m->threads);
    const bench_result result = bench_measure(&kernel, 2, seconds);
    char metric[64];
    snprintf(metric, sizeof metric, "half-round-trip, %zu B", bytes);
    bench_row(metric, m->threads, "us", "lower", 0.5e6 * result.seconds / m->threads);
}

int main(int argc, char** argv)
{
    const bench_options defaults = {.mode = "ordered",
                                    .sizes = {8},
                                    .size_count = 1,
                                    .threads = {1, 2, 4, 8, 16, 32},
                                    .thread_count = 6,
                                    .threaded = true};
    const bench_options options = bench_start(&argc, &argv, "mt_latency", &defaults);
    if (bench_ranks != 2)
        bench_fail("needs exactly 2 ranks");
    int most = 0;
    for (int n = 0; n < options.thread_count; ++n) {
        most = options.threads[n] > most ? options.threads[n] : most;
        if (options.threads[n] < 1 || options.threads[n] > kMostThreads)
            bench_fail("--threads is 1 to %d", kMostThreads);
    }
    static mt_latency m;
    m.shuffled = strcmp(options.mode, "shuffled") == 0;
    if (!m.shuffled && strcmp(options.mode, "ordered") != 0)
        bench_fail("--mode is ordered or shuffled");
    m.verify = options.verify;
    m.random = 1;
    const size_t room = (bench_largest(&options) + 64) * (size_t)most;
    m.out = bench_buffer_make(&options, room);
    m.in = bench_buffer_make(&options, room);
    bench_show_path(peer(), peer());
    const double share = options.seconds / (options.size_count * options.thread_count);
    for (int s = 0; s < options.size_count; ++s) {
        for (int n = 0; n < options.thread_count; ++n) {
            m.threads = options.threads[n];
            measure_point(&m, &options, options.sizes[s], share);
        }
    }
    bench_buffer_free(&m.out);
    bench_buffer_free(&m.in);
    return bench_finish();
}

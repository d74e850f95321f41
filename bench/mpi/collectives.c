/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Ten collective operations, each at several sizes (Open-MX table 1; same definitions as the Intel MPI Benchmarks).
 * --mode bare     four of them, for a power of two of ranks and up to 64 KB, by sockets and shared memory alone (bare.h), in as few rounds as can be: what the
 *                 kernel takes for it, and below what no library comes with these algorithms while ranks share cores */
#include "bare.h"
#include "common.h"

#include <stdlib.h>
#include <string.h>

/*
 * The size is what IMB calls the message length: the bytes that one rank contributes for one other rank (Alltoall,
 * Allgather, Gather, Scatter), or the whole vector (Bcast, Reduce, Allreduce). Roots rotate. The time of an operation is
 * the time until the last rank has finished a batch of them, over their number. Reductions add floats that hold small
 * whole numbers, so the sum is exact in any order.
 */
typedef struct world {
    unsigned char* out;
    unsigned char* in;
    unsigned char* spare;   /* of --mode bare: what came from a partner */
    size_t bytes;
    bool verify;
    int right, left;
    double here, away;   /* ranks on this rank's host, and on others */
    bool leads_host;     /* the lowest rank of its host accounts for the host */
    int* host_of;        /* by rank: the lowest rank of that host */
} world;

typedef struct operation {
    const char* name;
    bool reduces;
    bool out_per_peer, in_per_peer;   /* buffers hold one block for each rank */
    void (*call)(world* w, int root);
    void (*check)(world* w, int root, uint64_t stamp);
    void (*account)(const world* w, int root);   /* one operation's bytes */
} operation;

typedef struct cell {
    world* w;
    const operation* op;
} cell;

static int count(const world* w) { return (int)w->bytes; }
static int floats(const world* w) { return (int)(w->bytes / sizeof(float)); }
static size_t block(const world* w, int rank) { return (size_t)rank * w->bytes; }

/* ---- payload ---- */

static uint64_t seed_of(uint64_t stamp, int from, int to)
{
    return (stamp * 1024 + (uint64_t)from) * 1024 + (uint64_t)to;
}

static void fill(world* w, const operation* op, uint64_t stamp)
{
    if (op->reduces) {
        bench_fill_terms((float*)(void*)w->out, (size_t)floats(w), stamp);
        return;
    }
    for (int to = 0; to < (op->out_per_peer ? bench_ranks : 1); ++to)
        bench_fill(w->out + block(w, to), w->bytes, seed_of(stamp, bench_rank, to));
}

static void check_sum(const world* w, uint64_t stamp)
{
    bench_check_sum((const float*)(const void*)w->in, (size_t)floats(w), stamp);
}

static void check_all(world* w, int root, uint64_t stamp)
{
    (void)root;
    check_sum(w, stamp);
}

static void check_at_root(world* w, int root, uint64_t stamp)
{
    if (bench_rank == root)
        check_sum(w, stamp);
}

/* ---- operations ---- */

static void sendrecv_call(world* w, int root)
{
    (void)root;
    MPI_Sendrecv(w->out, count(w), MPI_BYTE, w->right, BENCH_TAG, w->in, count(w), MPI_BYTE, w->left, BENCH_TAG,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void sendrecv_check(world* w, int root, uint64_t stamp)
{
    (void)root;
    bench_check(w->in, w->bytes, seed_of(stamp, w->left, 0), "Sendrecv");
}

static void sendrecv_account(const world* w, int root)
{
    (void)root;
    bench_sent(w->right, (double)w->bytes, 1);
}

static void exchange_call(world* w, int root)
{
    MPI_Request requests[2];
    (void)root;
    MPI_Isend(w->out, count(w), MPI_BYTE, w->right, BENCH_TAG, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(w->out, count(w), MPI_BYTE, w->left, BENCH_TAG_ACK, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv(w->in, count(w), MPI_BYTE, w->left, BENCH_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Recv(w->in + block(w, 1), count(w), MPI_BYTE, w->right, BENCH_TAG_ACK, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
}

static void exchange_check(world* w, int root, uint64_t stamp)
{
    (void)root;
    bench_check(w->in, w->bytes, seed_of(stamp, w->left, 0), "Exchange");
    bench_check(w->in + block(w, 1), w->bytes, seed_of(stamp, w->right, 0), "Exchange");
}

static void exchange_account(const world* w, int root)
{
    (void)root;
    bench_sent(w->right, (double)w->bytes, 1);
    bench_sent(w->left, (double)w->bytes, 1);
}

static void allreduce_call(world* w, int root)
{
    (void)root;
    MPI_Allreduce(w->out, w->in, floats(w), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

/* Whatever the algorithm, every host has something to say to the others and to hear from them. */
static void allreduce_account(const world* w, int root)
{
    (void)root;
    if (w->leads_host && w->away > 0)
        bench_must_cross((double)w->bytes, (double)w->bytes);
}

static void reduce_call(world* w, int root)
{
    MPI_Reduce(w->out, w->in, floats(w), MPI_FLOAT, MPI_SUM, root, MPI_COMM_WORLD);
}

static void reduce_account(const world* w, int root)
{
    const bool root_here = w->host_of[root] == w->host_of[bench_rank];
    if (w->leads_host && w->away > 0)
        bench_must_cross(root_here ? 0 : (double)w->bytes, root_here ? (double)w->bytes : 0);
}

static void allgather_call(world* w, int root)
{
    (void)root;
    MPI_Allgather(w->out, count(w), MPI_BYTE, w->in, count(w), MPI_BYTE, MPI_COMM_WORLD);
}

static void allgather_check(world* w, int root, uint64_t stamp)
{
    (void)root;
    for (int from = 0; from < bench_ranks; ++from)
        bench_check(w->in + block(w, from), w->bytes, seed_of(stamp, from, 0), "Allgather");
}

static void allgather_account(const world* w, int root)
{
    (void)root;
    if (w->leads_host && w->away > 0)
        bench_must_cross(w->here * (double)w->bytes, w->away * (double)w->bytes);
}

static void gather_call(world* w, int root)
{
    MPI_Gather(w->out, count(w), MPI_BYTE, w->in, count(w), MPI_BYTE, root, MPI_COMM_WORLD);
}

static void gather_check(world* w, int root, uint64_t stamp)
{
    if (bench_rank == root)
        allgather_check(w, root, stamp);
}

static void gather_account(const world* w, int root)
{
    const bool root_here = w->host_of[root] == w->host_of[bench_rank];
    if (w->leads_host && w->away > 0)
        bench_must_cross(root_here ? 0 : w->here * (double)w->bytes, root_here ? w->away * (double)w->bytes : 0);
}

static void scatter_call(world* w, int root)
{
    MPI_Scatter(w->out, count(w), MPI_BYTE, w->in, count(w), MPI_BYTE, root, MPI_COMM_WORLD);
}

static void scatter_check(world* w, int root, uint64_t stamp)
{
    bench_check(w->in, w->bytes, seed_of(stamp, root, bench_rank), "Scatter");
}

static void scatter_account(const world* w, int root)
{
    const bool root_here = w->host_of[root] == w->host_of[bench_rank];
    if (w->leads_host && w->away > 0)
        bench_must_cross(root_here ? w->away * (double)w->bytes : 0, root_here ? 0 : w->here * (double)w->bytes);
}

static void alltoall_call(world* w, int root)
{
    (void)root;
    MPI_Alltoall(w->out, count(w), MPI_BYTE, w->in, count(w), MPI_BYTE, MPI_COMM_WORLD);
}

static void alltoall_check(world* w, int root, uint64_t stamp)
{
    (void)root;
    for (int from = 0; from < bench_ranks; ++from)
        bench_check(w->in + block(w, from), w->bytes, seed_of(stamp, from, bench_rank), "Alltoall");
}

static void alltoall_account(const world* w, int root)
{
    const double bytes = w->here * w->away * (double)w->bytes;
    (void)root;
    if (w->leads_host)
        bench_must_cross(bytes, bytes);
}

static void bcast_call(world* w, int root)
{
    MPI_Bcast(bench_rank == root ? w->out : w->in, count(w), MPI_BYTE, root, MPI_COMM_WORLD);
}

static void bcast_check(world* w, int root, uint64_t stamp)
{
    if (bench_rank != root)
        bench_check(w->in, w->bytes, seed_of(stamp, root, 0), "Bcast");
}

static void bcast_account(const world* w, int root)
{
    const bool root_here = w->host_of[root] == w->host_of[bench_rank];
    if (w->leads_host && w->away > 0)
        bench_must_cross(root_here ? (double)w->bytes : 0, root_here ? 0 : (double)w->bytes);
}

static void barrier_call(world* w, int root)
{
    (void)w;
    (void)root;
    MPI_Barrier(MPI_COMM_WORLD);
}

/* No payload, but a frame at least: with barriers alone the algorithm is the library's to choose, too. */
static void barrier_account(const world* w, int root)
{
    (void)root;
    if (w->leads_host && w->away > 0)
        bench_must_cross(1, 1);
}

/* ---- the same without MPI ---- */

/* In each round a partner twice as far away; afterwards everybody has everything (recursive doubling). */
static void bare_allreduce_call(world* w, int root)
{
    float* sum = (float*)(void*)w->in;
    float* other = (float*)(void*)w->spare;
    (void)root;
    memcpy(sum, w->out, w->bytes);
    for (int apart = 1; apart < bench_ranks; apart *= 2) {
        bare_send(bench_rank ^ apart, sum, w->bytes);
        bare_recv(bench_rank ^ apart, other, w->bytes);
        for (int i = 0; i < floats(w); ++i)
            sum[i] += other[i];
    }
}

static void bare_barrier_call(world* w, int root)
{
    unsigned char mark = 1;
    (void)w;
    (void)root;
    for (int apart = 1; apart < bench_ranks; apart *= 2) {
        bare_send(bench_rank ^ apart, &mark, 1);
        bare_recv(bench_rank ^ apart, &mark, 1);
    }
}

static void bare_alltoall_call(world* w, int root)
{
    (void)root;
    memcpy(w->in + block(w, bench_rank), w->out + block(w, bench_rank), w->bytes);
    for (int apart = 1; apart < bench_ranks; ++apart)
        bare_send(bench_rank ^ apart, w->out + block(w, bench_rank ^ apart), w->bytes);
    for (int apart = 1; apart < bench_ranks; ++apart)
        bare_recv(bench_rank ^ apart, w->in + block(w, bench_rank ^ apart), w->bytes);
}

/* Who has it gives it to the half of the ranks that has it not (binomial tree). */
static void bare_bcast_call(world* w, int root)
{
    const int from_root = (bench_rank - root + bench_ranks) % bench_ranks;
    unsigned char* data = from_root == 0 ? w->out : w->in;
    for (int apart = bench_ranks / 2; apart > 0; apart /= 2) {
        if (from_root % (2 * apart) == 0)
            bare_send((bench_rank + apart) % bench_ranks, data, w->bytes);
        else if (from_root % (2 * apart) == apart)
            bare_recv((bench_rank - apart + bench_ranks) % bench_ranks, data, w->bytes);
    }
}

static const operation bare_operations[] = {
    {"Allreduce", true, false, false, bare_allreduce_call, check_all, allreduce_account},
    {"Alltoall", false, true, true, bare_alltoall_call, alltoall_check, alltoall_account},
    {"Bcast", false, false, false, bare_bcast_call, bcast_check, bcast_account},
    {"Barrier", false, false, false, bare_barrier_call, NULL, barrier_account},
};

static const operation operations[] = {
    {"SendRecv", false, false, false, sendrecv_call, sendrecv_check, sendrecv_account},
    {"Exchange", false, false, true, exchange_call, exchange_check, exchange_account},
    {"Allreduce", true, false, false, allreduce_call, check_all, allreduce_account},
    {"Reduce", true, false, false, reduce_call, check_at_root, reduce_account},
    {"Allgather", false, false, true, allgather_call, allgather_check, allgather_account},
    {"Gather", false, false, true, gather_call, gather_check, gather_account},
    {"Scatter", false, true, false, scatter_call, scatter_check, scatter_account},
    {"Alltoall", false, true, true, alltoall_call, alltoall_check, alltoall_account},
    {"Bcast", false, false, false, bcast_call, bcast_check, bcast_account},
    {"Barrier", false, false, false, barrier_call, NULL, barrier_account},
};
enum { kOperations = sizeof operations / sizeof operations[0], kBareOperations = sizeof bare_operations / sizeof bare_operations[0] };

typedef struct choice {
    const operation* first;
    int count;
    size_t most;   /* bytes */
} choice;

static choice choose(const bench_options* options)
{
    const choice of_mpi = {operations, kOperations, SIZE_MAX}, bare = {bare_operations, kBareOperations, BARE_MOST};
    if (strcmp(options->mode, "mpi") == 0)
        return of_mpi;
    if (strcmp(options->mode, "bare") != 0)
        bench_fail("--mode is mpi or bare");
    if ((bench_ranks & (bench_ranks - 1)) != 0)
        bench_fail("--mode bare needs a power of two of ranks");
    return bare;
}

/* ---- the kernel ---- */

static int root_of(long iteration) { return (int)(iteration % bench_ranks); }

static void prepare(void* state, uint64_t stamp, long iterations)
{
    cell* c = state;
    (void)iterations;
    if (c->op->check != NULL)
        fill(c->w, c->op, stamp);
}

static void run(void* state, uint64_t stamp, long iterations, double report[BENCH_REPORT])
{
    cell* c = state;
    const bool verify = c->w->verify && c->op->check != NULL;
    (void)report;
    for (long i = 0; i < iterations; ++i) {
        if (verify)
            fill(c->w, c->op, stamp + (uint64_t)i);
        c->op->call(c->w, root_of(i));
        if (verify)
            c->op->check(c->w, root_of(i), stamp + (uint64_t)i);
        if (c->op->account != NULL)
            c->op->account(c->w, root_of(i));
    }
}

static void check(void* state, uint64_t stamp, long iterations)
{
    cell* c = state;
    if (c->op->check != NULL)
        c->op->check(c->w, root_of(iterations - 1), c->w->verify ? stamp + (uint64_t)iterations - 1 : stamp);
}

/* ---- set-up ---- */

static void find_hosts(world* w)
{
    char* names = bench_alloc((size_t)bench_ranks * MPI_MAX_PROCESSOR_NAME);
    char mine[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(mine, &length);
    MPI_Allgather(mine, sizeof mine, MPI_CHAR, names, sizeof mine, MPI_CHAR, MPI_COMM_WORLD);
    w->host_of = bench_alloc((size_t)bench_ranks * sizeof(int));
    for (int rank = 0; rank < bench_ranks; ++rank) {
        int lowest = 0;
        while (strcmp(names + lowest * MPI_MAX_PROCESSOR_NAME, names + rank * MPI_MAX_PROCESSOR_NAME) != 0)
            ++lowest;
        w->host_of[rank] = lowest;
    }
    for (int rank = 0; rank < bench_ranks; ++rank)
        *(w->host_of[rank] == w->host_of[bench_rank] ? &w->here : &w->away) += 1;
    w->leads_host = w->host_of[bench_rank] == bench_rank;
    free(names);
}

/* Whether the comma-separated list names the operation; a null list names them all. */
static bool wanted(const char* list, const char* name)
{
    const size_t length = strlen(name);
    for (const char* at = list; at != NULL; at = strchr(at, ',') != NULL ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return list == NULL;
}

static size_t memory_for(const operation* op, size_t size)
{
    const size_t peers = (size_t)(bench_ranks > 2 ? bench_ranks : 2);
    return size * ((op->out_per_peer ? peers : 1) + (op->in_per_peer ? peers : 1));
}

static bool selected(const bench_options* options, const choice* of, const operation* op, size_t size, int index)
{
    if (!wanted(options->ops, op->name) || memory_for(op, size) > options->memory_bytes || size > of->most)
        return false;
    return op->check != NULL || index == 0;   /* a barrier has no size */
}

static void measure_cells(world* w, const bench_options* options, const choice* of, double seconds)
{
    for (int o = 0; o < of->count; ++o) {
        for (int s = 0; s < options->size_count; ++s) {
            const operation* op = &of->first[o];
            const size_t size = options->sizes[s];
            if (!selected(options, of, op, size, s)) {
                if (wanted(options->ops, op->name) && op->check != NULL)
                    bench_note("%s of %zu bytes skipped: %s", op->name, size,
                               size > of->most ? "too long for --mode bare" : "needs more than --memory on a rank");
                continue;
            }
            if (op->reduces && size % sizeof(float) != 0)
                bench_fail("sizes of reductions must be multiples of %zu", sizeof(float));
            w->bytes = size;
            cell c = {w, op};
            const bench_kernel kernel = {prepare, run, check, &c, true};
            const bench_result result = bench_measure(&kernel, bench_ranks, seconds);
            bench_row(op->name, op->check != NULL ? (double)size : 0, "us", "lower", 1e6 * result.seconds);
        }
    }
}

int main(int argc, char** argv)
{
    const bench_options defaults = {.mode = "mpi", .sizes = {16, 4096, 65536, 4194304}, .size_count = 4, .seconds = 3};
    const bench_options options = bench_start(&argc, &argv, "collectives", &defaults);
    const choice of = choose(&options);
    const bool bare = of.first == bare_operations;
    world w = {.verify = options.verify};
    w.right = (bench_rank + 1) % bench_ranks;
    w.left = (bench_rank + bench_ranks - 1) % bench_ranks;
    find_hosts(&w);

    size_t most = 0;
    int cells = 0;
    for (int o = 0; o < of.count; ++o)
        for (int s = 0; s < options.size_count; ++s)
            if (selected(&options, &of, &of.first[o], options.sizes[s], s)) {
                const size_t bytes = memory_for(&of.first[o], options.sizes[s]);
                most = bytes > most ? bytes : most;
                ++cells;
            }
    if (cells == 0)
        bench_fail("no operation is left: see --ops, --sizes and --memory");
    w.out = bench_alloc(most);
    w.in = bench_alloc(most);
    w.spare = bench_alloc(BARE_MOST);
    if (bare)
        bare_open();
    bench_show_path((bench_rank + bench_ranks / 2) % bench_ranks,
                    (bench_rank + bench_ranks - bench_ranks / 2) % bench_ranks);
    measure_cells(&w, &options, &of, options.seconds / cells);
    if (bare)
        bare_close();
    free(w.out);
    free(w.in);
    free(w.spare);
    free(w.host_of);
    return bench_finish();
}

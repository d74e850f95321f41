/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* collectives.c: every collective of MPI 3.1, blocking and non-blocking, in short and long, with and without MPI_IN_PLACE, from every root. */
/* Those of neighbours are in neighbours.c. */
#include "blocks.h"

/* Nobody leaves before the root comes: who has left tells it. */
static void barrier(void)
{
    int early = 0;

    if (me == root) {
        double until = check_now(CLOCK_MONOTONIC) + 0.005;
        while (check_now(CLOCK_MONOTONIC) < until) {
            MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &early, MPI_STATUS_IGNORE);
            CHECK(!early);
        }
    }
    if (later) {
        MPI_Request request;
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (me != root) {
        MPI_Send(NULL, 0, MPI_INT, root, 1, MPI_COMM_WORLD);
    }
    for (int r = 1; me == root && r < ranks; ++r) {
        MPI_Recv(NULL, 0, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

static void bcast(void)
{
    if (me == root) {
        fill(in, root, 0, n, 1);
    }
    RUN(Bcast, Ibcast, in, n, MPI_INT, root, MPI_COMM_WORLD);
    HOLDS(in, root, 0, n, 1, n + GAP);
}

static void gather(void)
{
    const bool here = me == root;

    fill(here && in_place ? in + me * n : out, me, root, n, 1);
    RUN(Gather, Igather, here && in_place ? MPI_IN_PLACE : out, n, MPI_INT, in, n, MPI_INT, root, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r) {
        HOLDS(in + r * n, r, root, here ? n : 0, 1, n);
    }
}

static void gatherv(void)
{
    const bool here = me == root;
    const int mine = count_of(root, me);

    lay_out(NULL, ranks);
    fill(here && in_place ? in + places[me] : out, me, root, mine, 1);
    RUN(Gatherv, Igatherv, here && in_place ? MPI_IN_PLACE : out, mine, MPI_INT, in, counts, places, MPI_INT, root, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r) {
        HOLDS(in + places[r], r, root, here ? counts[r] : 0, 1, room());
    }
}

static void scatter(void)
{
    const bool stays = me == root && in_place;

    for (int r = 0; me == root && r < ranks; ++r) {
        fill(out + r * n, root, r, n, 1);
    }
    RUN(Scatter, Iscatter, out, n, MPI_INT, stays ? MPI_IN_PLACE : in, n, MPI_INT, root, MPI_COMM_WORLD);
    HOLDS(in, root, me, stays ? 0 : n, 1, n + GAP);
}

static void scatterv(void)
{
    const bool stays = me == root && in_place;
    const int mine = count_of(root, me);

    lay_out(NULL, ranks);
    for (int r = 0; me == root && r < ranks; ++r) {
        fill(out + places[r], root, r, counts[r], 1);
    }
    RUN(Scatterv, Iscatterv, out, counts, places, MPI_INT, stays ? MPI_IN_PLACE : in, mine, MPI_INT, root, MPI_COMM_WORLD);
    HOLDS(in, root, me, stays ? 0 : mine, 1, room());
}

static void allgather(void)
{
    fill(in_place ? in + me * n : out, me, 0, n, 1);
    RUN(Allgather, Iallgather, in_place ? MPI_IN_PLACE : out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r) {
        HOLDS(in + r * n, r, 0, n, 1, n);
    }
}

static void allgatherv(void)
{
    for (int r = 0; r < ranks; ++r) {
        counts[r] = count_of(r, 0);
        places[r] = r * room();
    }
    fill(in_place ? in + places[me] : out, me, 0, counts[me], 1);
    RUN(Allgatherv, Iallgatherv, in_place ? MPI_IN_PLACE : out, counts[me], MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r) {
        HOLDS(in + places[r], r, 0, counts[r], 1, room());
    }
}

static void alltoall(void)
{
    for (int r = 0; r < ranks; ++r) {
        fill((in_place ? in : out) + r * n, me, r, n, 1);
    }
    RUN(Alltoall, Ialltoall, in_place ? MPI_IN_PLACE : out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r) {
        HOLDS(in + r * n, r, me, n, 1, n);
    }
}

static void alltoallv(void)
{
    lay_out(NULL, ranks);
    for (int r = 0; r < ranks; ++r) {
        fill((in_place ? in : out) + places[r], me, r, counts[r], 1);
    }
    RUN(Alltoallv, Ialltoallv, in_place ? MPI_IN_PLACE : out, counts, places, MPI_INT, in, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int r = 0; r < ranks; ++r) {
        HOLDS(in + places[r], r, me, counts[r], 1, room());
    }
}

static void alltoallw(void)
{
#ifdef MPICH_VERSION
    if (in_place && later) {
        return;   /* MPICH 4.0.2 gets this one wrong, over its own shared memory and libfabric's tcp as over Linnet */
    }
#endif
    lay_out(NULL, ranks);
    for (int r = 0; r < ranks; ++r) {
        fill((in_place ? in : out) + places[r], me, r, counts[r], stride_of(r));
    }
    make_types(ranks);
    RUN(Alltoallw, Ialltoallw, in_place ? MPI_IN_PLACE : out, counts, bytes, types, in, counts, bytes, types, MPI_COMM_WORLD);
    free_types(ranks);
    for (int r = 0; r < ranks; ++r) {
        HOLDS(in + places[r], r, me, count_of(me, r), stride_of(r), room());
    }
}

static void reduce(void)
{
    const bool here = me == root;

    fill(here && in_place ? in : out, me, root, n, 1);
    RUN(Reduce, Ireduce, here && in_place ? MPI_IN_PLACE : out, in, n, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    if (here) {
        HOLDS_SUMS(in, 0, ranks, 0, n);
    } else {
        HOLDS(in, me, root, 0, 1, n + GAP);
    }
}

static void allreduce(void)
{
    fill(in_place ? in : out, me, root, n, 1);
    RUN(Allreduce, Iallreduce, in_place ? MPI_IN_PLACE : out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    HOLDS_SUMS(in, 0, ranks, 0, n);
}

static void scan(void)
{
    fill(in_place ? in : out, me, root, n, 1);
    RUN(Scan, Iscan, in_place ? MPI_IN_PLACE : out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    HOLDS_SUMS(in, 0, me + 1, 0, n);
}

/* What the first rank has then is anything. */
static void exscan(void)
{
    fill(in_place ? in : out, me, root, n, 1);
    RUN(Exscan, Iexscan, in_place ? MPI_IN_PLACE : out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me > 0) {
        HOLDS_SUMS(in, 0, me, 0, n);
    }
}

static void reduce_scatter_block(void)
{
    fill(in_place ? in : out, me, root, n * ranks, 1);
    RUN(Reduce_scatter_block, Ireduce_scatter_block, in_place ? MPI_IN_PLACE : out, in, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (in_place) {
        in[n] = UNTOUCHED;   /* this rank's own, or whatever was made of it */
    }
    HOLDS_SUMS(in, 0, ranks, me * n, n);
}

static void reduce_scatter(void)
{
    int before = 0, all = 0;

    for (int r = 0; r < ranks; ++r) {
        counts[r] = count_of(r, 0);
        before += r < me ? counts[r] : 0;
        all += counts[r];
    }
    fill(in_place ? in : out, me, root, all, 1);
    RUN(Reduce_scatter, Ireduce_scatter, in_place ? MPI_IN_PLACE : out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (in_place) {
        in[counts[me]] = UNTOUCHED;
    }
    HOLDS_SUMS(in, 0, ranks, before, counts[me]);
}

static const struct {
    void (*run)(void);
    bool rooted;      /* else one root is as good as another */
    bool in_place;    /* may be */
} operations[] = {
    {barrier, true, false},   {bcast, true, false},    {gather, true, true},     {gatherv, true, true},
    {scatter, true, true},    {scatterv, true, true},  {allgather, false, true}, {allgatherv, false, true},
    {alltoall, false, true},  {alltoallv, false, true}, {alltoallw, false, true}, {reduce, true, true},
    {allreduce, false, true}, {scan, false, true},     {exscan, false, true},    {reduce_scatter_block, false, true},
    {reduce_scatter, false, true},
};
enum { OPERATIONS = sizeof operations / sizeof *operations };

static void run_all(void)
{
    for (int which = 0; which < OPERATIONS; ++which) {
        for (root = 0; root < (operations[which].rooted ? ranks : 1); ++root) {
            for (int form = 0; form < 4; ++form) {
                in_place = form & 1;
                later = form & 2;
                if (!in_place || operations[which].in_place) {
                    clear();
                    operations[which].run();
                }
            }
        }
    }
}

/* Several at the same time. */
static void at_once(void)
{
    enum { AT_ONCE = 8 };
    MPI_Request requests[AT_ONCE];
    int *data[AT_ONCE], *sums[AT_ONCE];

    for (int k = 0; k < AT_ONCE; ++k) {
        data[k] = check_alloc(sizeof(int) * (size_t)n);
        sums[k] = check_alloc(sizeof(int) * (size_t)n);
        for (int i = 0; i < n; ++i) {
            data[k][i] = me + k + i;
        }
        MPI_Iallreduce(data[k], sums[k], n, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[k]);
    }
    MPI_Waitall(AT_ONCE, requests, MPI_STATUSES_IGNORE);
    for (int k = 0; k < AT_ONCE; ++k) {
        for (int i = 0; i < n; ++i) {
            CHECK_EQ(sums[k][i], ranks * (ranks - 1) / 2 + ranks * (k + i));
        }
        free(data[k]);
        free(sums[k]);
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    me = check_rank;
    ranks = check_size;
    for (int i = 0; i < LENGTHS; ++i) {
        blocks_begin((size_t)ranks, lengths[i]);
        run_all();
        at_once();
        blocks_end();
    }
    return check_end("collectives");
}

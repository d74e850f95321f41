/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* neighbours.c: the collectives of neighbours on Cartesian communicators, blocking and non-blocking, in short and long. */
/* No process is another's neighbour twice: which block belongs to which then, MPI 3.1 leaves open. */
#include "blocks.h"

enum { NEIGHBOURS = 4 };
static MPI_Comm grid;
static int neighbours[NEIGHBOURS], degree;   /* MPI_PROC_NULL beyond the edge, where nothing is sent and nothing is written */

static int present(int block, int count)
{
    return neighbours[block] == MPI_PROC_NULL ? 0 : count;
}

static void neighbor_allgather(void)
{
    fill(out, me, 0, n, 1);
    RUN(Neighbor_allgather, Ineighbor_allgather, out, n, MPI_INT, in, n, MPI_INT, grid);
    for (int b = 0; b < degree; ++b) {
        HOLDS(in + b * n, neighbours[b], 0, present(b, n), 1, n);
    }
}

static void neighbor_allgatherv(void)
{
    for (int b = 0; b < degree; ++b) {
        counts[b] = present(b, count_of(neighbours[b], 0));
        places[b] = b * room();
    }
    fill(out, me, 0, count_of(me, 0), 1);
    RUN(Neighbor_allgatherv, Ineighbor_allgatherv, out, count_of(me, 0), MPI_INT, in, counts, places, MPI_INT, grid);
    for (int b = 0; b < degree; ++b) {
        HOLDS(in + places[b], neighbours[b], 0, counts[b], 1, room());
    }
}

static void neighbor_alltoall(void)
{
    for (int b = 0; b < degree; ++b) {
        fill(out + b * n, me, neighbours[b], n, 1);
    }
    RUN(Neighbor_alltoall, Ineighbor_alltoall, out, n, MPI_INT, in, n, MPI_INT, grid);
    for (int b = 0; b < degree; ++b) {
        HOLDS(in + b * n, neighbours[b], me, present(b, n), 1, n);
    }
}

static void neighbor_alltoallv(void)
{
    lay_out(neighbours, degree);
    for (int b = 0; b < degree; ++b) {
        counts[b] = present(b, counts[b]);
        fill(out + places[b], me, neighbours[b], counts[b], 1);
    }
    RUN(Neighbor_alltoallv, Ineighbor_alltoallv, out, counts, places, MPI_INT, in, counts, places, MPI_INT, grid);
    for (int b = 0; b < degree; ++b) {
        HOLDS(in + places[b], neighbours[b], me, counts[b], 1, room());
    }
}

static void neighbor_alltoallw(void)
{
    MPI_Aint far[NEIGHBOURS];   /* here MPI has room for them */

    lay_out(neighbours, degree);
    for (int b = 0; b < degree; ++b) {
        counts[b] = present(b, counts[b]);
        fill(out + places[b], me, neighbours[b], counts[b], stride_of(b));
        far[b] = places[b] * (MPI_Aint)sizeof(int);
    }
    make_types(degree);
    RUN(Neighbor_alltoallw, Ineighbor_alltoallw, out, counts, far, types, in, counts, far, types, grid);
    free_types(degree);
    for (int b = 0; b < degree; ++b) {
        HOLDS(in + places[b], neighbours[b], me, present(b, count_of(me, neighbours[b])), stride_of(b), room());
    }
}

/* On a ring (of two, a line), and on a grid with edges. */
static void run_neighbours(int dimensions)
{
    static void (*const neighbourly[])(void) = {neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv, neighbor_alltoallw};
    int sides[2] = {0, 0}, around[2] = {dimensions == 1 && ranks > 2, 0};

    MPI_Dims_create(ranks, dimensions, sides);
    MPI_Cart_create(MPI_COMM_WORLD, dimensions, sides, around, 0, &grid);
    degree = 2 * dimensions;
    for (int d = 0; d < dimensions; ++d) {
        MPI_Cart_shift(grid, d, 1, &neighbours[2 * d], &neighbours[2 * d + 1]);
    }
    for (size_t which = 0; which < sizeof neighbourly / sizeof *neighbourly; ++which) {
        for (int form = 0; form < 2; ++form) {
            later = form == 1;
            clear();
            neighbourly[which]();
        }
    }
    MPI_Comm_free(&grid);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    me = check_rank;
    ranks = check_size;
    for (int i = 0; i < LENGTHS; ++i) {
        blocks_begin(NEIGHBOURS, lengths[i]);
        run_neighbours(1);
        run_neighbours(2);
        blocks_end();
    }
    return check_end("neighbours");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* blocks.h: what collectives.c and neighbours.c send and receive, and how a call is made in each of its forms. */
/* Every value says who gave it to whom, at which place and in which turn; what a call must not write is looked at too. */
#ifndef MPI_BLOCKS_H
#define MPI_BLOCKS_H

#include "mpi_check.h"

#include <stdbool.h>

enum { GAP = 3 /* ints between blocks, which nobody writes */, UNTOUCHED = -7 };
static const int lengths[] = {1, 1000, 50000};   /* ints: one packet, several, and a rendezvous of 200 KB */
enum { LENGTHS = sizeof lengths / sizeof *lengths };

/* The form of the call. */
static int n, root;             /* n: ints of a block, and the most of one whose length depends on the ranks */
static bool in_place, later;    /* later: the non-blocking form */

static int me, ranks, turn;
static int *out, *in;           /* `ranks` blocks of room() ints */
static int *counts, *places;    /* of the block of each rank */
static int *bytes;              /* places, for MPI_Alltoallw */
static MPI_Datatype *types;
static size_t capacity;         /* of `out` and `in`, ints */

/* The blocking or the non-blocking form of a call. */
#define RUN(blocking, nonblocking, ...)                                           \
    do {                                                                          \
        if (later) {                                                              \
            MPI_Request request;                                                  \
            CHECK_EQ(MPI_##nonblocking(__VA_ARGS__, &request), MPI_SUCCESS);      \
            CHECK_EQ(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_SUCCESS);         \
        } else {                                                                  \
            CHECK_EQ(MPI_##blocking(__VA_ARGS__), MPI_SUCCESS);                   \
        }                                                                         \
    } while (0)

static inline int value(int from, int to, int i)
{
    return (from * ranks + to) * (1 << 17) + turn * 7 + i;
}

static inline void fill(int *at, int from, int to, int count, int stride)
{
    for (int i = 0; i < count; ++i) {
        at[i * stride] = value(from, to, i);
    }
}

/* The first place in `room` ints at which there is not what `from` gave `to`, or something else, or -1. */
static inline int wrong_at(const int *at, int from, int to, int count, int stride, int room)
{
    for (int i = 0; i < room; ++i) {
        if (at[i] != (i % stride == 0 && i / stride < count ? value(from, to, i / stride) : UNTOUCHED)) {
            return i;
        }
    }
    return -1;
}

/* The like for sums of what the ranks [first, last) gave, from place `from` on, and nothing behind them. */
static inline int wrong_sum_at(const int *at, int first, int last, int from, int count)
{
    for (int i = 0; i < count; ++i) {
        int sum = 0;
        for (int r = first; r < last; ++r) {
            sum += value(r, root, from + i);
        }
        if (at[i] != sum) {
            return i;
        }
    }
    return at[count] == UNTOUCHED ? -1 : count;
}

#define RIGHT(first_wrong)                                                                                                              \
    do {                                                                                                                                \
        int wrong = first_wrong;                                                                                                        \
        if (wrong >= 0) {                                                                                                               \
            fprintf(stderr, "n %d, root %d%s%s\n", n, root, in_place ? ", in place" : "", later ? ", non-blocking" : "");               \
            check_failed(__FILE__, __LINE__, #first_wrong, wrong);                                                                      \
        }                                                                                                                               \
    } while (0)
#define HOLDS(...) RIGHT(wrong_at(__VA_ARGS__))
#define HOLDS_SUMS(...) RIGHT(wrong_sum_at(__VA_ARGS__))

static inline int room(void)
{
    return 2 * n + GAP;
}

/* Nothing, half or all of n; the same for both directions between two ranks. Never nothing in the non-blocking forms in place: where a block is empty,
 * Open MPI 4.1 begins there to receive into what it still sends, or a process takes no part (over pml ob1, too). */
static inline int count_of(int a, int b)
{
    int count = n * ((a + b + turn) % 3) / 2;
    return count == 0 && in_place && later ? n : count;
}

/* The blocks of this rank with `blocks` others (of all: others == NULL), far enough apart to hold every second int. */
static inline void lay_out(const int *others, int blocks)
{
    for (int b = 0; b < blocks; ++b) {
        counts[b] = count_of(me, others ? others[b] : b);
        places[b] = b * room();
    }
}

/* Where the block comes from decides its memory layout: ints together, or every second one. */
static inline int stride_of(int block)
{
    return 1 + block % 2;
}

static inline void make_types(int blocks)
{
    for (int b = 0; b < blocks; ++b) {
        MPI_Type_vector(counts[b], 1, stride_of(b), MPI_INT, &types[b]);
        MPI_Type_commit(&types[b]);
        bytes[b] = places[b] * (int)sizeof(int);
        counts[b] = 1;
    }
}

static inline void free_types(int blocks)
{
    for (int b = 0; b < blocks; ++b) {
        MPI_Type_free(&types[b]);
    }
}

static inline void clear(void)
{
    for (size_t i = 0; i < capacity; ++i) {
        in[i] = UNTOUCHED;
    }
    ++turn;
}

/* Room for that many blocks of `length`. */
static inline void blocks_begin(size_t blocks, int length)
{
    n = length;
    capacity = blocks * (size_t)room();
    out = check_alloc(sizeof *out * capacity);
    in = check_alloc(sizeof *in * capacity);
    counts = check_alloc(sizeof *counts * blocks);
    places = check_alloc(sizeof *places * blocks);
    bytes = check_alloc(sizeof *bytes * blocks);
    types = check_alloc(sizeof *types * blocks);
}

static inline void blocks_end(void)
{
    free(out);
    free(in);
    free(counts);
    free(places);
    free(bytes);
    free(types);
}

#endif

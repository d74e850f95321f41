/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* mpi_check.h: checks and test patterns for the MPI test programs. */
/* A program ends with 0 and the line "ok NAME" from rank 0 when every check of every rank held; the first that does not ends the job. */
#ifndef MPI_CHECK_H
#define MPI_CHECK_H

#include <mpi.h>

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static int check_rank = -1;
static int check_size = 0;

static inline void check_failed(const char *file, int line, const char *what, long long got)
{
    fprintf(stderr, "%s:%d: rank %d: failed: %s (%lld)\n", file, line, check_rank, what, got);
    fflush(stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
    exit(1);
}

#define CHECK(condition)                                              \
    do {                                                              \
        if (!(condition)) {                                           \
            check_failed(__FILE__, __LINE__, #condition, 0);          \
        }                                                             \
    } while (0)

#define CHECK_EQ(got, wanted)                                                                    \
    do {                                                                                         \
        long long check_got = (long long)(got);                                                  \
        if (check_got != (long long)(wanted)) {                                                  \
            check_failed(__FILE__, __LINE__, #got " == " #wanted, check_got);                    \
        }                                                                                        \
    } while (0)

static inline void check_begin(int *argc, char ***argv, int level)
{
    int provided = 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    MPI_Init_thread(argc, argv, level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &check_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &check_size);
    CHECK(provided >= level);
}

static inline int check_end(const char *name)
{
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    if (check_rank == 0) {
        printf("ok %s\n", name);
    }
    return 0;
}

static inline double check_now(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Whoever is about to die says when: the runner takes the time from there. In one piece, because the others write too. */
static inline void check_dying(void)
{
    char line[64];
    int bytes = snprintf(line, sizeof line, "dying at %.3f\n", check_now(CLOCK_REALTIME));
    CHECK_EQ(write(STDERR_FILENO, line, (size_t)bytes), bytes);
}

/* All work together until the one who is `mine` is killed; then the job ends. */
static inline void check_until_killed(MPI_Comm all, int mine)
{
    int one = 1, sum;

    for (int turn = 0;; ++turn) {
        if (mine && turn == 20) {
            check_dying();
            raise(SIGKILL);
        }
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all);
    }
}

/* Ranks 0 and 1, 2 and 3, ... work together. An odd last rank has no partner: -1. */
static inline int check_partner(void)
{
    int partner = check_rank ^ 1;
    return partner < check_size ? partner : -1;
}

/* Byte i of the pattern `seed`; neighbouring seeds and offsets differ. */
static inline unsigned char pattern_byte(uint64_t seed, uint64_t i)
{
    uint64_t x = (i >> 3) * UINT64_C(0x9e3779b97f4a7c15) + seed * UINT64_C(0xbf58476d1ce4e5b9);
    x ^= x >> 29;
    x *= UINT64_C(0x94d049bb133111eb);
    return (unsigned char)(x >> ((i & 7) * 8));
}

static inline void pattern_fill(void *buffer, size_t bytes, uint64_t seed)
{
    unsigned char *at = buffer;
    for (size_t i = 0; i < bytes; ++i) {
        at[i] = pattern_byte(seed, i);
    }
}

/* The first byte that differs, or -1. */
static inline long long pattern_differs(const void *buffer, size_t bytes, uint64_t seed)
{
    const unsigned char *at = buffer;
    for (size_t i = 0; i < bytes; ++i) {
        if (at[i] != pattern_byte(seed, i)) {
            return (long long)i;
        }
    }
    return -1;
}

#define CHECK_PATTERN(buffer, bytes, seed) CHECK_EQ(pattern_differs((buffer), (bytes), (seed)), -1)

static inline void *check_alloc(size_t bytes)
{
    void *p = malloc(bytes > 0 ? bytes : 1);
    CHECK(p != NULL);
    return p;
}

#endif

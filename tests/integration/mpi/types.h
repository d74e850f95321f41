/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* types.h: a few datatypes of every memory layout, with the bytes they cover. */
#ifndef MPI_TYPES_H
#define MPI_TYPES_H

#include "mpi_check.h"

#include <complex.h>
#include <stddef.h>

enum { LAYOUTS = 6 };

/* Make layout `which` hold at least `bytes` bytes of data. `*count` elements of `*type`; the buffer needs `*span` bytes from its
 * start. Layouts: bytes together, strided doubles, a struct with holes, indexed blocks, one block with gaps around, long double complex
 * with a hole (16- and 32-byte elements straddle every packet boundary). */
static inline const char *layout_make(int which, size_t bytes, MPI_Datatype *type, int *count, size_t *span)
{
    static const char *const names[LAYOUTS] = {"together", "vector", "struct", "indexed", "gaps", "long double complex"};
    MPI_Aint lower = 0, extent = 0;
    int size = 0;

    switch (which) {
    case 0:
        MPI_Type_contiguous(1, MPI_BYTE, type);
        break;
    case 1:
        MPI_Type_vector(3, 1, 2, MPI_DOUBLE, type);
        break;
    case 2: {
        int lengths[3] = {1, 3, 2};
        MPI_Aint places[3] = {0, 5, 16};
        MPI_Datatype parts[3] = {MPI_INT, MPI_CHAR, MPI_DOUBLE};
        MPI_Datatype bare;
        MPI_Type_create_struct(3, lengths, places, parts, &bare);
        MPI_Type_create_resized(bare, 0, 40, type);
        MPI_Type_free(&bare);
        break;
    }
    case 3: {
        int lengths[4] = {5, 1, 7, 2};
        int places[4] = {0, 11, 13, 30};
        MPI_Type_indexed(4, lengths, places, MPI_SHORT, type);
        break;
    }
    case 4: {
        MPI_Datatype bare;
        int lengths[1] = {24};
        MPI_Aint places[1] = {8};
        MPI_Datatype parts[1] = {MPI_BYTE};
        MPI_Type_create_struct(1, lengths, places, parts, &bare);
        MPI_Type_create_resized(bare, 0, 48, type);
        MPI_Type_free(&bare);
        break;
    }
    default: {
        MPI_Datatype bare;
        int lengths[2] = {1, 1};
        MPI_Aint places[2] = {0, 16};
        MPI_Datatype parts[2] = {MPI_CHAR, MPI_C_LONG_DOUBLE_COMPLEX};
        MPI_Type_create_struct(2, lengths, places, parts, &bare);
        MPI_Type_create_resized(bare, 0, 64, type);
        MPI_Type_free(&bare);
        break;
    }
    }
    MPI_Type_commit(type);
    MPI_Type_size(*type, &size);
    MPI_Type_get_extent(*type, &lower, &extent);
    *count = (int)((bytes + (size_t)size - 1) / (size_t)size);
    *span = (size_t)extent * (size_t)*count + 64;
    return names[which];
}

/* Does `got` (prepared with pattern `before`) hold the data of pattern `sent` exactly where the type has data, and is it untouched elsewhere?
 * The holes are found by unpacking ones over zeroes. The first wrong byte, or -1. */
static inline long long layout_differs(const unsigned char *got, size_t span, MPI_Datatype type, int count, uint64_t sent, uint64_t before)
{
    int size = 0, position = 0;
    MPI_Type_size(type, &size);
    size_t packed = (size_t)size * (size_t)count;
    unsigned char *ones = check_alloc(packed);
    unsigned char *mask = calloc(span, 1);
    CHECK(mask != NULL && packed < INT32_MAX);
    memset(ones, 0xff, packed);
    if (packed > 0) {
        MPI_Unpack(ones, (int)packed, &position, mask, count, type, MPI_COMM_SELF);
    }
    long long wrong = -1;
    for (size_t i = 0; i < span && wrong < 0; ++i) {
        if (got[i] != pattern_byte(mask[i] ? sent : before, i)) {
            wrong = (long long)i;
        }
    }
    free(ones);
    free(mask);
    return wrong;
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* checkpoint.c: heat on a square, written to a file with MPI-IO every so often, and resumed from it by any number of processes. */
/* usage: checkpoint FILE STEPS EVERY [CELLS]
 * Goes on from FILE when it is there, else from the start, up to step STEPS; writes FILE every EVERY steps (0: never). A checkpoint takes the
 * place of the one before as a whole, so a job that is killed at any moment leaves a good one. Each cell is computed the same way whatever the
 * number of processes: "ok checkpoint step S sum X" must not depend on it, nor on how often the job was resumed. */
#include <mpi.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct header {
    uint64_t magic, step, cells;
};
#define MAGIC UINT64_C(0x544e494f504b4843)

struct field {
    MPI_Comm comm;
    int rank, n;                  /* cells along a side of the whole square */
    int rows, columns, row, column;   /* this process's part, and where it begins */
    int up, down, left, right;
    double *now, *next;           /* with a border of one cell */
    MPI_Datatype column_type, inside, in_file;
};

static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "checkpoint: %s\n", what);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static double *cell(const struct field *f, double *of, int i, int j)
{
    return of + (size_t)i * (size_t)(f->columns + 2) + (size_t)j;
}

static void share(int n, int parts, int part, int *begin, int *count)
{
    *begin = (int)((int64_t)n * part / parts);
    *count = (int)((int64_t)n * (part + 1) / parts) - *begin;
}

static void field_make(struct field *f, int n)
{
    int size, dims[2] = {0, 0}, periods[2] = {1, 1}, at[2];
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 1, &f->comm);
    MPI_Comm_rank(f->comm, &f->rank);
    MPI_Cart_coords(f->comm, f->rank, 2, at);
    f->n = n;
    share(n, dims[0], at[0], &f->row, &f->rows);
    share(n, dims[1], at[1], &f->column, &f->columns);
    MPI_Cart_shift(f->comm, 0, 1, &f->up, &f->down);
    MPI_Cart_shift(f->comm, 1, 1, &f->left, &f->right);
    size_t bytes = (size_t)(f->rows + 2) * (size_t)(f->columns + 2) * sizeof(double);
    f->now = calloc(1, bytes);
    f->next = calloc(1, bytes);
    must(f->now != NULL && f->next != NULL, "no memory");
    MPI_Type_vector(f->rows, 1, f->columns + 2, MPI_DOUBLE, &f->column_type);
    MPI_Type_commit(&f->column_type);
    int whole[2] = {n, n}, mine[2] = {f->rows, f->columns}, first[2] = {f->row, f->column};
    MPI_Type_create_subarray(2, whole, mine, first, MPI_ORDER_C, MPI_DOUBLE, &f->in_file);
    MPI_Type_commit(&f->in_file);
    int with_border[2] = {f->rows + 2, f->columns + 2}, inner[2] = {1, 1};
    MPI_Type_create_subarray(2, with_border, mine, inner, MPI_ORDER_C, MPI_DOUBLE, &f->inside);
    MPI_Type_commit(&f->inside);
    for (int i = 0; i < f->rows; ++i) {
        for (int j = 0; j < f->columns; ++j) {
            *cell(f, f->now, i + 1, j + 1) = (double)((uint32_t)((f->row + i) * 31 + (f->column + j)) * UINT32_C(2654435761) >> 16);
        }
    }
}

static void exchange_borders(struct field *f)
{
    MPI_Request r[8];
    MPI_Irecv(cell(f, f->now, 0, 1), f->columns, MPI_DOUBLE, f->up, 1, f->comm, &r[0]);
    MPI_Irecv(cell(f, f->now, f->rows + 1, 1), f->columns, MPI_DOUBLE, f->down, 2, f->comm, &r[1]);
    MPI_Irecv(cell(f, f->now, 1, 0), 1, f->column_type, f->left, 3, f->comm, &r[2]);
    MPI_Irecv(cell(f, f->now, 1, f->columns + 1), 1, f->column_type, f->right, 4, f->comm, &r[3]);
    MPI_Isend(cell(f, f->now, f->rows, 1), f->columns, MPI_DOUBLE, f->down, 1, f->comm, &r[4]);
    MPI_Isend(cell(f, f->now, 1, 1), f->columns, MPI_DOUBLE, f->up, 2, f->comm, &r[5]);
    MPI_Isend(cell(f, f->now, 1, f->columns), 1, f->column_type, f->right, 3, f->comm, &r[6]);
    MPI_Isend(cell(f, f->now, 1, 1), 1, f->column_type, f->left, 4, f->comm, &r[7]);
    MPI_Waitall(8, r, MPI_STATUSES_IGNORE);
}

static void step(struct field *f)
{
    exchange_borders(f);
    for (int i = 1; i <= f->rows; ++i) {
        for (int j = 1; j <= f->columns; ++j) {
            *cell(f, f->next, i, j) = 0.5 * *cell(f, f->now, i, j) + 0.125 * (*cell(f, f->now, i - 1, j) + *cell(f, f->now, i + 1, j) +
                                                                              *cell(f, f->now, i, j - 1) + *cell(f, f->now, i, j + 1));
        }
    }
    double *old = f->now;
    f->now = f->next;
    f->next = old;
}

/* The bits of all cells, each with its place: exact, and the same for any division of the square. */
static uint64_t sum(struct field *f)
{
    uint64_t mine = 0, all = 0;
    for (int i = 0; i < f->rows; ++i) {
        for (int j = 0; j < f->columns; ++j) {
            uint64_t bits;
            memcpy(&bits, cell(f, f->now, i + 1, j + 1), sizeof bits);
            mine += bits * (2 * ((uint64_t)(f->row + i) * (uint64_t)f->n + (uint64_t)(f->column + j)) + 1);
        }
    }
    MPI_Allreduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, f->comm);
    return all;
}

static MPI_File file_open(struct field *f, const char *name, int mode)
{
    MPI_File file;
    must(MPI_File_open(f->comm, name, mode, MPI_INFO_NULL, &file) == MPI_SUCCESS, "the file cannot be opened");
    MPI_File_set_errhandler(file, MPI_ERRORS_ARE_FATAL);
    return file;
}

static void save(struct field *f, const char *name, uint64_t at_step)
{
    char fresh[4096];
    struct header header = {MAGIC, at_step, (uint64_t)f->n};
    snprintf(fresh, sizeof fresh, "%s.new", name);
    MPI_File file = file_open(f, fresh, MPI_MODE_CREATE | MPI_MODE_WRONLY);
    if (f->rank == 0) {
        MPI_File_write_at(file, 0, &header, sizeof header, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    MPI_File_set_view(file, sizeof header, MPI_DOUBLE, f->in_file, "native", MPI_INFO_NULL);
    MPI_File_write_all(file, f->now, 1, f->inside, MPI_STATUS_IGNORE);
    MPI_File_sync(file);
    MPI_File_close(&file);
    MPI_Barrier(f->comm);
    if (f->rank == 0) {
        must(rename(fresh, name) == 0, "the file cannot be renamed");
    }
}

/* The step at which the file was written; 0 without a file. */
static uint64_t load(struct field *f, const char *name)
{
    struct header header = {0, 0, 0};
    if (f->rank == 0) {
        FILE *there = fopen(name, "r");
        if (there != NULL) {
            must(fread(&header, sizeof header, 1, there) == 1 && header.magic == MAGIC && header.cells == (uint64_t)f->n, "not a checkpoint of this");
            fclose(there);
        }
    }
    MPI_Bcast(&header, sizeof header, MPI_BYTE, 0, f->comm);
    if (header.magic != MAGIC) {
        return 0;
    }
    MPI_File file = file_open(f, name, MPI_MODE_RDONLY);
    MPI_File_set_view(file, sizeof header, MPI_DOUBLE, f->in_file, "native", MPI_INFO_NULL);
    MPI_Status status;
    int cells = 0;
    MPI_File_read_all(file, f->now, 1, f->inside, &status);
    MPI_Get_elements(&status, MPI_DOUBLE, &cells);
    must(cells == f->rows * f->columns, "the checkpoint is too short");
    MPI_File_close(&file);
    return header.step;
}

int main(int argc, char **argv)
{
    struct field f;
    MPI_Init(&argc, &argv);
    must(argc >= 4, "usage: checkpoint FILE STEPS EVERY [CELLS]");
    uint64_t steps = strtoull(argv[2], NULL, 10), every = strtoull(argv[3], NULL, 10);
    field_make(&f, argc > 4 ? atoi(argv[4]) : 512);
    uint64_t at = load(&f, argv[1]);
    if (f.rank == 0 && at > 0) {
        printf("resumed at step %llu\n", (unsigned long long)at);
        fflush(stdout);
    }
    while (at < steps) {
        step(&f);
        ++at;
        if (every > 0 && at % every == 0) {
            save(&f, argv[1], at);
        }
    }
    uint64_t s = sum(&f);
    if (f.rank == 0) {
        printf("ok checkpoint step %llu sum %016llx\n", (unsigned long long)at, (unsigned long long)s);
    }
    MPI_Finalize();
    return 0;
}

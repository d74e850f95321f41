/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Reads all MPI_T performance variables whose names begin with a prefix. */
#include "pvars.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMaxVariables = 256, kNameBytes = 128, kMaxElements = 64 };

typedef struct variable {
    char name[kNameBytes];
    MPI_T_pvar_handle handle;
    MPI_Datatype type;
    int elements;
    bool counts;      /* a counter or timer: only its growth since the start means anything */
    double at_start;
} variable;

static struct {
    bool open;
    MPI_T_pvar_session session;
    variable* variables;
    int count;
} state;

/* The sum of the elements (a counter per peer or per thread is an array); 0 for types that are no numbers. */
static double read_value(const variable* v)
{
    union {
        int i[kMaxElements];
        unsigned u[kMaxElements];
        unsigned long ul[kMaxElements];
        unsigned long long ull[kMaxElements];
        double d[kMaxElements];
    } raw;
    memset(&raw, 0, sizeof raw);
    if (MPI_T_pvar_read(state.session, v->handle, &raw) != MPI_SUCCESS)
        return 0;
    double sum = 0;
    for (int i = 0; i < v->elements; ++i) {
        if (v->type == MPI_INT)
            sum += raw.i[i];
        else if (v->type == MPI_UNSIGNED)
            sum += raw.u[i];
        else if (v->type == MPI_UNSIGNED_LONG)
            sum += (double)raw.ul[i];
        else if (v->type == MPI_UNSIGNED_LONG_LONG)
            sum += (double)raw.ull[i];
        else if (v->type == MPI_DOUBLE)
            sum += raw.d[i];
    }
    return sum;
}

static void add_variable(int index, const char* prefix)
{
    char name[kNameBytes] = "";
    char description[8];
    int name_length = kNameBytes;
    int description_length = sizeof description;
    int verbosity, class, binding, readonly, continuous, atomic;
    MPI_Datatype type;
    MPI_T_enum enumeration;
    if (MPI_T_pvar_get_info(index, name, &name_length, &verbosity, &class, &type, &enumeration, description,
                            &description_length, &binding, &readonly, &continuous, &atomic) != MPI_SUCCESS)
        return;
    if (strncmp(name, prefix, strlen(prefix)) != 0 || binding != MPI_T_BIND_NO_OBJECT)
        return;
    variable* v = &state.variables[state.count];
    memset(v, 0, sizeof *v);
    snprintf(v->name, sizeof v->name, "%s", name);
    v->type = type;
    v->counts = class == MPI_T_PVAR_CLASS_COUNTER || class == MPI_T_PVAR_CLASS_AGGREGATE || class == MPI_T_PVAR_CLASS_TIMER;
    if (MPI_T_pvar_handle_alloc(state.session, index, NULL, &v->handle, &v->elements) != MPI_SUCCESS)
        return;
    if (v->elements > kMaxElements)
        return;
    if (!continuous)
        MPI_T_pvar_start(state.session, v->handle);
    v->at_start = read_value(v);
    ++state.count;
}

void bench_pvars_start(const char* prefix)
{
    int provided = 0;
    int total = 0;
    state.variables = calloc(kMaxVariables, sizeof *state.variables);
    if (state.variables == NULL || MPI_T_init_thread(MPI_THREAD_SINGLE, &provided) != MPI_SUCCESS ||
        MPI_T_pvar_session_create(&state.session) != MPI_SUCCESS)
        return;
    state.open = true;
    MPI_T_pvar_get_num(&total);
    for (int i = 0; i < total && state.count < kMaxVariables; ++i)
        add_variable(i, prefix);
}

bool bench_pvars_read(int index, char* name, size_t name_bytes, double* value)
{
    if (index >= state.count)
        return false;
    const variable* v = &state.variables[index];
    snprintf(name, name_bytes, "%s", v->name);
    *value = read_value(v) - (v->counts ? v->at_start : 0);
    return true;
}

void bench_pvars_stop(void)
{
    if (state.open) {
        MPI_T_pvar_session_free(&state.session);
        MPI_T_finalize();
        state.open = false;
    }
    free(state.variables);
    state.variables = NULL;
    state.count = 0;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* task_counters.h: how many tasks of each kind ran where in this rank, since task_counters_watch(). MPI_T_init_thread() comes before it. */
#ifndef TASK_COUNTERS_H
#define TASK_COUNTERS_H

#include "mpi_check.h"

enum task_kind { TASK_POLL, TASK_ANSWER, TASK_SEND, TASK_COPY, TASK_KINDS };
enum task_place { TASK_HOST, TASK_EVENT, TASK_HELPER, TASK_WAITER, TASK_PLACES };

static MPI_T_pvar_session task_session;
static MPI_T_pvar_handle task_handles[TASK_KINDS][TASK_PLACES];

static void task_counters_watch(void)
{
    static const char *const kinds[TASK_KINDS] = {"poll", "answer", "send", "copy"};
    static const char *const places[TASK_PLACES] = {"host", "event", "helper", "waiter"};
    CHECK_EQ(MPI_T_pvar_session_create(&task_session), MPI_SUCCESS);
    for (int kind = 0; kind < TASK_KINDS; ++kind) {
        for (int place = 0; place < TASK_PLACES; ++place) {
            char name[80];
            int index, count;
            snprintf(name, sizeof name, "mtl_linnet_task_%s_%s", kinds[kind], places[place]);
            CHECK_EQ(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
            CHECK_EQ(MPI_T_pvar_handle_alloc(task_session, index, NULL, &task_handles[kind][place], &count), MPI_SUCCESS);
        }
    }
}

static unsigned long long tasks_run(enum task_kind kind, enum task_place place)
{
    unsigned long long value = 0;
    CHECK_EQ(MPI_T_pvar_read(task_session, task_handles[kind][place], &value), MPI_SUCCESS);
    return value;
}

static void task_counters_end(void)
{
    for (int i = 0; i < TASK_KINDS * TASK_PLACES; ++i) {
        MPI_T_pvar_handle_free(task_session, &task_handles[i / TASK_PLACES][i % TASK_PLACES]);
    }
    MPI_T_pvar_session_free(&task_session);
}

#endif

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* counters.c: Linnet's settings and counters in the MPI tools interface: they grow by what was sent. */
#include "mpi_check.h"

static int variables_named(const char *prefix)
{
    int n = 0, found = 0;
    MPI_T_cvar_get_num(&n);
    for (int i = 0; i < n; ++i) {
        char name[200] = "", text[600] = "";
        int name_length = sizeof name, text_length = sizeof text, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum values;
        if (MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &values, text, &text_length, &bind, &scope) == MPI_SUCCESS &&
            strncmp(name, prefix, strlen(prefix)) == 0 && strstr(name, "_version") == NULL) {   /* those are Open MPI's own */
            CHECK(text[0] != '\0');
            ++found;
        }
    }
    return found;
}

/* Open MPI reads a counter as what it has grown by since its handle was made: so they are made before the traffic. */
enum { MOST = 200 };
static struct {
    char name[200];
    MPI_T_pvar_handle handle;
} counters[MOST];
static int counters_count;

static void watch(MPI_T_pvar_session session, const char *prefix)
{
    int n = 0;
    MPI_T_pvar_get_num(&n);
    for (int i = 0; i < n && counters_count < MOST; ++i) {
        char text[600] = "";
        int name_length = sizeof counters[0].name, text_length = sizeof text, verbosity, class, bind, readonly, continuous, atomic, count;
        MPI_Datatype type;
        MPI_T_enum values;
        if (MPI_T_pvar_get_info(i, counters[counters_count].name, &name_length, &verbosity, &class, &type, &values, text, &text_length, &bind,
                                &readonly, &continuous, &atomic) != MPI_SUCCESS ||
            strncmp(counters[counters_count].name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        CHECK_EQ(class, MPI_T_PVAR_CLASS_COUNTER);
        CHECK_EQ(MPI_T_pvar_handle_alloc(session, i, NULL, &counters[counters_count].handle, &count), MPI_SUCCESS);
        ++counters_count;
    }
}

/* What all counters whose name ends so have grown by, together. */
static unsigned long long grown(MPI_T_pvar_session session, const char *ending)
{
    unsigned long long sum = 0;
    for (int i = 0; i < counters_count; ++i) {
        const size_t length = strlen(counters[i].name);
        if (length >= strlen(ending) && strcmp(counters[i].name + length - strlen(ending), ending) == 0) {
            unsigned long long value = 0;
            CHECK_EQ(MPI_T_pvar_read(session, counters[i].handle, &value), MPI_SUCCESS);
            sum += value;
        }
    }
    return sum;
}

int main(int argc, char **argv)
{
    enum { BYTES = 1 << 20 };
    int provided, partner;
    MPI_T_pvar_session session;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    partner = check_partner();
    CHECK(partner >= 0);
    CHECK(variables_named("mtl_linnet_") > 5);
    CHECK_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    watch(session, "mtl_linnet_");
    CHECK(counters_count > 5);
    MPI_Barrier(MPI_COMM_WORLD);   /* Open MPI gives what a counter has grown by since its handle was made: nothing may arrive before */
    char *data = check_alloc(BYTES);
    pattern_fill(data, BYTES, 1);
    if (check_rank % 2 == 0) {
        MPI_Send(data, BYTES, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
        MPI_Recv(data, 1, MPI_BYTE, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(grown(session, "mtl_linnet_tx_bytes") >= BYTES);
        CHECK(grown(session, "mtl_linnet_tx_messages") >= 1);
        CHECK(grown(session, "_tcp_tx_bytes") + grown(session, "_shm_tx_bytes") + grown(session, "_udp_tx_bytes") + grown(session, "_eth_tx_bytes") >= BYTES);
    } else {
        MPI_Recv(data, BYTES, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(grown(session, "mtl_linnet_rx_bytes") >= BYTES);
        CHECK(grown(session, "mtl_linnet_rx_messages") >= 1);
        MPI_Send(data, 1, MPI_BYTE, partner, 2, MPI_COMM_WORLD);
    }
    free(data);
    for (int i = 0; i < counters_count; ++i) {
        MPI_T_pvar_handle_free(session, &counters[i].handle);
    }
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return check_end("counters");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* counters.c: Linnet's settings and counters in the MPI tools interface: a sum of sent messages that grows by what was sent. */
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

/* The sum of all counters with this prefix that count bytes sent. */
static unsigned long long counted(MPI_T_pvar_session session, const char *prefix, const char *part, int *found)
{
    unsigned long long sum = 0;
    int n = 0;
    MPI_T_pvar_get_num(&n);
    *found = 0;
    for (int i = 0; i < n; ++i) {
        char name[200] = "", text[600] = "";
        int name_length = sizeof name, text_length = sizeof text, verbosity, class, bind, readonly, continuous, atomic, count;
        MPI_Datatype type;
        MPI_T_enum values;
        MPI_T_pvar_handle handle;
        unsigned long long value = 0;
        if (MPI_T_pvar_get_info(i, name, &name_length, &verbosity, &class, &type, &values, text, &text_length, &bind, &readonly, &continuous,
                                &atomic) != MPI_SUCCESS ||
            strncmp(name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        ++*found;
        CHECK_EQ(class, MPI_T_PVAR_CLASS_COUNTER);
        CHECK_EQ(MPI_T_pvar_handle_alloc(session, i, NULL, &handle, &count), MPI_SUCCESS);
        CHECK_EQ(MPI_T_pvar_read(session, handle, &value), MPI_SUCCESS);
        MPI_T_pvar_handle_free(session, &handle);
        sum += strstr(name, part) != NULL ? value : 0;
    }
    return sum;
}

int main(int argc, char **argv)
{
    enum { BYTES = 1 << 20 };
    int provided, partner, found = 0;
    MPI_T_pvar_session session;

    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    partner = check_partner();
    CHECK(partner >= 0);
    CHECK(variables_named("mtl_linnet_") > 5);
    CHECK_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    unsigned long long before = counted(session, "mtl_linnet_", "tx_bytes", &found);
    CHECK(found > 5);
    char *data = check_alloc(BYTES);
    pattern_fill(data, BYTES, 1);
    if (check_rank % 2 == 0) {
        MPI_Send(data, BYTES, MPI_BYTE, partner, 1, MPI_COMM_WORLD);
        MPI_Recv(data, 1, MPI_BYTE, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        unsigned long long sent = counted(session, "mtl_linnet_", "tx_bytes", &found) - before;
        fprintf(stderr, "counters: %llu bytes sent for a message of %d\n", sent, BYTES);
        CHECK(sent == 0 || sent >= BYTES);   /* 0: taken by the receiver itself, on one host */
        CHECK(counted(session, "mtl_linnet_tx_bytes", "", &found) >= BYTES);
        CHECK(counted(session, "mtl_linnet_tx_messages", "", &found) >= 1);
    } else {
        MPI_Recv(data, BYTES, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK(counted(session, "mtl_linnet_rx_bytes", "", &found) >= BYTES);
        CHECK(counted(session, "mtl_linnet_rx_messages", "", &found) >= 1);
        MPI_Send(data, 1, MPI_BYTE, partner, 2, MPI_COMM_WORLD);
    }
    free(data);
    MPI_T_pvar_session_free(&session);
    MPI_T_finalize();
    return check_end("counters");
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* counters.c: Linnet's settings and counters in the MPI tools interface: as the library's tables have them, and they grow by what was sent. */
#include <dlfcn.h>

#include "../../../common/capi/linnet.h"
#include "mpi_check.h"

/* The library that the component has loaded, and its own tables. */
static __typeof__(linnet_setting_describe) *setting_describe;
static __typeof__(linnet_counter_describe) *counter_describe;

static void ask_the_library(void)
{
    void *library = dlopen("liblinnet.so.0", RTLD_NOW | RTLD_NOLOAD);
    CHECK(library != NULL);
    setting_describe = (__typeof__(setting_describe))(uintptr_t)dlsym(library, "linnet_setting_describe");
    counter_describe = (__typeof__(counter_describe))(uintptr_t)dlsym(library, "linnet_counter_describe");
    CHECK(setting_describe != NULL && counter_describe != NULL);
}

/* Ends the job with a line that names what differs. */
static void same_text(const char *of, const char *got, const char *wanted)
{
    if (strcmp(got, wanted) != 0) {
        fprintf(stderr, "%s: MPI_T has '%s', the library '%s'\n", of, got, wanted);
        CHECK(!"the same text");
    }
}

/* A variable's value is its default, unless mpirun's --mca set it, which the processes have in their environment. */
static void check_value(int index, const char *name, const char *default_value)
{
    char variable[220], value[4096] = "";
    MPI_T_cvar_handle handle;
    int count;

    snprintf(variable, sizeof variable, "OMPI_MCA_%s", name);
    const char *set = getenv(variable);
    CHECK_EQ(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), MPI_SUCCESS);
    CHECK((size_t)count < sizeof value);
    CHECK_EQ(MPI_T_cvar_read(handle, value), MPI_SUCCESS);
    same_text(name, value, set != NULL ? set : default_value);
    MPI_T_cvar_handle_free(&handle);
}

static void check_setting(const linnet_setting_info_t *info)
{
    char wanted[4096], name[200], text[4096] = "";
    int index = -1, name_length = sizeof name, text_length = sizeof text, verbosity, bind, scope;
    MPI_Datatype type;
    MPI_T_enum values;

    snprintf(name, sizeof name, "mtl_linnet_%s", info->name);
    if (MPI_T_cvar_get_index(name, &index) != MPI_SUCCESS) {
        fprintf(stderr, "%s: MPI_T has no such variable\n", name);
        CHECK(!"a variable for each setting");
    }
    CHECK_EQ(MPI_T_cvar_get_info(index, name, &name_length, &verbosity, &type, &values, text, &text_length, &bind, &scope), MPI_SUCCESS);
    if (info->choices != NULL) {
        snprintf(wanted, sizeof wanted, "%s (%s)", info->text, info->choices);
    } else {
        snprintf(wanted, sizeof wanted, "%s", info->text);
    }
    same_text(name, text, wanted);
    CHECK(type == MPI_CHAR);
    CHECK_EQ(verbosity, info->advanced ? MPI_T_VERBOSITY_MPIDEV_ALL : MPI_T_VERBOSITY_TUNER_BASIC);
    check_value(index, name, info->default_value);
}

/* How many variables there are, but for those that Open MPI gives every component. */
static int variables_named(const char *prefix)
{
    int n = 0, found = 0;
    MPI_T_cvar_get_num(&n);
    for (int i = 0; i < n; ++i) {
        char name[200] = "";
        int name_length = sizeof name, verbosity, bind, scope;
        MPI_Datatype type;
        MPI_T_enum values;
        found += MPI_T_cvar_get_info(i, name, &name_length, &verbosity, &type, &values, NULL, NULL, &bind, &scope) == MPI_SUCCESS &&
                 strncmp(name, prefix, strlen(prefix)) == 0 && strstr(name, "_version") == NULL;
    }
    return found;
}

static void check_settings(void)
{
    linnet_setting_info_t info;
    int count = 0;
    for (; setting_describe((size_t)count, &info) == LINNET_OK; ++count) {
        check_setting(&info);
    }
    CHECK(count > 0);
    CHECK_EQ(variables_named("mtl_linnet_"), count + 1);   /* and the priority, which is the component's own */
}

/* Open MPI reads a counter as what it has grown by since its handle was made: so they are made before the traffic. */
enum { MOST = 200 };
static struct {
    char name[200], text[800];
    MPI_T_pvar_handle handle;
} counters[MOST];
static int counters_count;

static void watch(MPI_T_pvar_session session, const char *prefix)
{
    int n = 0;
    MPI_T_pvar_get_num(&n);
    for (int i = 0; i < n && counters_count < MOST; ++i) {
        int name_length = sizeof counters[0].name, text_length = sizeof counters[0].text, verbosity, class, bind, readonly, continuous, atomic, count;
        MPI_Datatype type;
        MPI_T_enum values;
        if (MPI_T_pvar_get_info(i, counters[counters_count].name, &name_length, &verbosity, &class, &type, &values, counters[counters_count].text,
                                &text_length, &bind, &readonly, &continuous, &atomic) != MPI_SUCCESS ||
            strncmp(counters[counters_count].name, prefix, strlen(prefix)) != 0) {
            continue;
        }
        CHECK_EQ(class, MPI_T_PVAR_CLASS_COUNTER);
        CHECK_EQ(MPI_T_pvar_handle_alloc(session, i, NULL, &counters[counters_count].handle, &count), MPI_SUCCESS);
        ++counters_count;
    }
}

static void check_counters(void)
{
    linnet_counter_info_t info;
    int count = 0;
    for (; counter_describe((size_t)count, &info) == LINNET_OK; ++count) {
        char name[200], text[800];
        int i = 0;
        snprintf(name, sizeof name, "mtl_linnet_%s", info.name);
        snprintf(text, sizeof text, "%s (%s)", info.text, info.unit);
        while (i < counters_count && strcmp(counters[i].name, name) != 0) {
            ++i;
        }
        same_text("a counter's name", i < counters_count ? counters[i].name : "nothing", name);
        same_text(name, counters[i].text, text);
    }
    CHECK(count > 0);
    CHECK_EQ(counters_count, count);
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
    ask_the_library();
    check_settings();
    CHECK_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    watch(session, "mtl_linnet_");
    check_counters();
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

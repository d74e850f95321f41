/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* reload.c: the component is loaded, asked and let go, again and again, before MPI begins and while it works. */
#include "mpi_check.h"

#include <dlfcn.h>

enum { TURNS = 3, BYTES = 200000 };

/* Opening and closing MPI's tool interface loads and unloads every component. */
static void tools(void)
{
    int provided = 0, index = -1, parameters = 0, count = 0;
    char text[16384] = "";
    MPI_T_cvar_handle handle;

    CHECK_EQ(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided), MPI_SUCCESS);
    CHECK_EQ(MPI_T_cvar_get_num(&parameters), MPI_SUCCESS);
    CHECK(parameters > 0);
    CHECK_EQ(MPI_T_cvar_get_index("mtl_linnet_finalize_timeout", &index), MPI_SUCCESS);
    CHECK_EQ(MPI_T_cvar_handle_alloc(index, NULL, &handle, &count), MPI_SUCCESS);
    CHECK(count <= (int)sizeof text);
    CHECK_EQ(MPI_T_cvar_read(handle, text), MPI_SUCCESS);
    CHECK(strcmp(text, "7s") == 0);   /* as the command line says */
    CHECK_EQ(MPI_T_cvar_handle_free(&handle), MPI_SUCCESS);
    CHECK_EQ(MPI_T_pvar_get_index("mtl_linnet_rx_messages", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
    CHECK_EQ(MPI_T_finalize(), MPI_SUCCESS);
}

/* By hand too: its path, from where mpirun was told to look for it. */
static int loads(void)
{
    const char *path = getenv("OMPI_MCA_mca_base_component_path");
    char *folders = strdup(path != NULL ? path : ""), *rest = folders;
    int loaded = 0;

    for (const char *folder; (folder = strsep(&rest, ":")) != NULL;) {
        char file[4096];
        snprintf(file, sizeof file, "%s/mca_mtl_linnet.so", folder);
        if (access(file, R_OK) != 0) {
            continue;
        }
        void *component = dlopen(file, RTLD_NOW | RTLD_LOCAL);
        CHECK(component != NULL);
        CHECK(dlsym(component, "mca_mtl_linnet_component") != NULL);
        CHECK_EQ(dlclose(component), 0);
        ++loaded;
    }
    free(folders);
    return loaded;
}

static void work(void)
{
    int right = (check_rank + 1) % check_size, left = (check_rank + check_size - 1) % check_size;
    unsigned char *out = check_alloc(BYTES), *in = check_alloc(BYTES);

    pattern_fill(out, BYTES, (uint64_t)check_rank);
    MPI_Sendrecv(out, BYTES, MPI_BYTE, right, 1, in, BYTES, MPI_BYTE, left, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_PATTERN(in, BYTES, (uint64_t)left);
    free(out);
    free(in);
}

int main(int argc, char **argv)
{
    for (int turn = 0; turn < TURNS; ++turn) {
        tools();
        loads();
    }
    check_begin(&argc, &argv, MPI_THREAD_MULTIPLE);
    work();
    tools();
    loads();
    work();
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    int loaded = loads();   /* not tools(): after MPI_Finalize Open MPI 4.1 itself frees twice in MPI_T_finalize */
    if (check_rank == 0) {
        printf("ok reload, %d by hand\n", loaded);
    }
    return 0;
}

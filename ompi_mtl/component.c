/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* component.c: what Open MPI finds when it loads the component, and whether it is the Open MPI that this was built for. */
#include "mtl_linnet.h"

#include "ompi/mca/mtl/base/base.h"

#include <stdio.h>

/* Open MPI's loader compares no release numbers, and the layouts of its internal structures change between releases: looking into a
 * foreign one would crash the program. Nothing of those structures may be touched before this has said yes. */
static bool release_fits(char *said, int said_bytes)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    int major = -1;
    int minor = -1;
    int release = -1;

    (void)PMPI_Get_library_version(text, &length);
    (void)snprintf(said, (size_t)said_bytes, "%.60s", text);
    if (sscanf(text, "Open MPI v%d.%d.%d", &major, &minor, &release) != 3) {
        return false;
    }
    (void)snprintf(said, (size_t)said_bytes, "Open MPI %d.%d.%d", major, minor, release);
    return major == OMPI_MAJOR_VERSION && minor == OMPI_MINOR_VERSION && release == OMPI_RELEASE_VERSION;
}

static int component_register(void)
{
    char said[80];

    if (release_fits(said, sizeof said)) {
        mtl_linnet_params_register();
        mtl_linnet_counters_register();
    }
    return OMPI_SUCCESS;
}

static int component_open(void)
{
    char said[80];

    if (!release_fits(said, sizeof said)) {
        char line[200];
        (void)snprintf(line, sizeof line, "built for Open MPI %d.%d.%d, this is %s: standing aside", OMPI_MAJOR_VERSION,
                       OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION, said);
        mtl_linnet_log(NULL, LINNET_LOG_WARN, line);
        return OPAL_ERR_NOT_AVAILABLE;
    }
    return OMPI_SUCCESS;
}

static int component_query(mca_base_module_t **module, int *priority)
{
    *priority = mtl_linnet_param_priority();
    *module = (mca_base_module_t *)&mtl_linnet_module.super;
    return OMPI_SUCCESS;
}

#if OMPI_MAJOR_VERSION >= 5
static mca_mtl_base_module_t *component_init(bool enable_progress_threads, bool enable_mpi_threads, bool *accelerator_support)
{
    *accelerator_support = false;
#else
static mca_mtl_base_module_t *component_init(bool enable_progress_threads, bool enable_mpi_threads)
{
#endif
    (void)enable_progress_threads;
    (void)enable_mpi_threads;
    return mtl_linnet_module_open();
}

__attribute__((visibility("default"))) mca_mtl_base_component_2_0_0_t mca_mtl_linnet_component = {
    .mtl_version = {
        MCA_MTL_BASE_VERSION_2_0_0,
        .mca_component_name = "linnet",
        MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION, OMPI_RELEASE_VERSION),
        .mca_open_component = component_open,
        .mca_query_component = component_query,
        .mca_register_component_params = component_register,
    },
    .mtl_data = {
        .param_field = MCA_BASE_METADATA_PARAM_NONE,
    },
    .mtl_init = component_init,
};

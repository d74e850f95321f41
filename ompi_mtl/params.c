/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* params.c: Linnet's settings as MCA parameters, its counters as MPI_T performance variables. */
#include "mtl_linnet.h"

#include "opal/mca/base/mca_base_pvar.h"
#include "opal/mca/base/mca_base_var.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Below the 20 of pml ob1: chosen only by "--mca pml cm --mca mtl linnet", or by raising it. */
#define PRIORITY_DEFAULT 10
#define PRIORITY_NAME "priority"

extern char **environ;

/* Open MPI keeps pointers to these for as long as it has the parameters. */
static int priority = PRIORITY_DEFAULT;
static char *values[MTL_LINNET_SETTINGS_MAX];
static int variables[MTL_LINNET_SETTINGS_MAX];

int mtl_linnet_param_priority(void)
{
    return priority;
}

static void setting_register(size_t index, const linnet_setting_info_t *info)
{
    char text[600];

    (void)snprintf(text, sizeof text, "%s%s%s%s", info->text, info->choices != NULL ? " (" : "",
                   info->choices != NULL ? info->choices : "", info->choices != NULL ? ")" : "");
    values[index] = (char *)(uintptr_t)info->default_value;   /* Open MPI copies it, and puts its copy here */
    variables[index] = mca_base_component_var_register(
        &mca_mtl_linnet_component.mtl_version, info->name, text, MCA_BASE_VAR_TYPE_STRING, NULL, 0, 0,
        info->advanced ? OPAL_INFO_LVL_9 : OPAL_INFO_LVL_4, MCA_BASE_VAR_SCOPE_READONLY, &values[index]);
}

void mtl_linnet_params_register(void)
{
    linnet_setting_info_t info;

    priority = PRIORITY_DEFAULT;
    (void)mca_base_component_var_register(&mca_mtl_linnet_component.mtl_version, PRIORITY_NAME,
                                          "Priority of the component: above 20 it is chosen by itself", MCA_BASE_VAR_TYPE_INT, NULL, 0, 0,
                                          OPAL_INFO_LVL_3, MCA_BASE_VAR_SCOPE_READONLY, &priority);
    for (size_t i = 0; i < MTL_LINNET_SETTINGS_MAX && linnet_setting_describe(i, &info) == LINNET_OK; ++i) {
        setting_register(i, &info);
    }
}

size_t mtl_linnet_params_changed(linnet_setting_t *out)
{
    linnet_setting_info_t info;
    size_t changed = 0;

    for (size_t i = 0; i < MTL_LINNET_SETTINGS_MAX && linnet_setting_describe(i, &info) == LINNET_OK; ++i) {
        mca_base_var_source_t source = MCA_BASE_VAR_SOURCE_DEFAULT;
        /* By its source, not its value: a parameter set to the default must still override the environment (LINNET_*). */
        if (variables[i] < 0 || mca_base_var_get_value(variables[i], NULL, &source, NULL) != OPAL_SUCCESS ||
            source == MCA_BASE_VAR_SOURCE_DEFAULT) {
            continue;
        }
        out[changed].name = info.name;
        out[changed].value = values[i] != NULL ? values[i] : "";   /* Open MPI keeps nothing of an empty one */
        ++changed;
    }
    return changed;
}

static bool is_parameter(const char *name, size_t bytes)
{
    linnet_setting_info_t info;

    for (size_t i = 0; linnet_setting_describe(i, &info) == LINNET_OK; ++i) {
        if (strlen(info.name) == bytes && strncmp(info.name, name, bytes) == 0) {
            return true;
        }
    }
    return bytes == sizeof PRIORITY_NAME - 1 && strncmp(PRIORITY_NAME, name, bytes) == 0;
}

/* Open MPI says nothing about a parameter that nobody has registered. What mpirun was given is in the environment. */
void mtl_linnet_params_check(void)
{
    static const char prefix[] = "OMPI_MCA_mtl_linnet_";

    for (char **variable = environ; variable != NULL && *variable != NULL; ++variable) {
        const char *name = *variable + sizeof prefix - 1;
        if (strncmp(*variable, prefix, sizeof prefix - 1) == 0 && !is_parameter(name, strcspn(name, "="))) {
            char line[200];
            (void)snprintf(line, sizeof line, "unknown MCA parameter mtl_linnet_%.*s ignored; ompi_info --param mtl linnet --level 9 lists all",
                           (int)strcspn(name, "="), name);
            mtl_linnet_log(NULL, LINNET_LOG_WARN, line);
        }
    }
}

static int counter_read(const mca_base_pvar_t *variable, void *value, void *object)
{
    uint64_t count = 0;

    (void)object;
    if (mtl_linnet_module.context != NULL) {
        (void)linnet_counter_read(mtl_linnet_module.context, (size_t)(uintptr_t)variable->ctx, &count);
    }
    *(unsigned long long *)value = count;
    return OPAL_SUCCESS;
}

void mtl_linnet_counters_register(void)
{
    linnet_counter_info_t info;

    for (size_t i = 0; linnet_counter_describe(i, &info) == LINNET_OK; ++i) {
        char text[400];
        (void)snprintf(text, sizeof text, "%s (%s)", info.text, info.unit);
        (void)mca_base_component_pvar_register(&mca_mtl_linnet_component.mtl_version, info.name, text, OPAL_INFO_LVL_4,
                                               MCA_BASE_PVAR_CLASS_COUNTER, MCA_BASE_VAR_TYPE_UNSIGNED_LONG_LONG, NULL,
                                               MCA_BASE_VAR_BIND_NO_OBJECT, MCA_BASE_PVAR_FLAG_READONLY | MCA_BASE_PVAR_FLAG_CONTINUOUS,
                                               counter_read, NULL, NULL, (void *)(uintptr_t)i);
    }
}

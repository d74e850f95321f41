/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* endpoint.c: the processes of Open MPI as peers of Linnet. */
#include "mtl_linnet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *endpoint_from_peer(linnet_peer_t peer)
{
    return (void *)((uintptr_t)peer + 1);
}

static int name_missing(const struct ompi_proc_t *proc)
{
    char line[200];
    const char *host = mtl_linnet_host_of(proc);

    (void)snprintf(line, sizeof line, "rank %u on %.100s has no Linnet name: is mca_mtl_linnet.so installed there and selected?",
                   (unsigned)proc->super.proc_name.vpid, host != NULL ? host : "another host");
    mtl_linnet_log(NULL, LINNET_LOG_ERROR, line);
    return OMPI_ERR_UNREACH;
}

/* Why no transport leads there Linnet has said itself. */
static int name_refused(const struct ompi_proc_t *proc, linnet_status_t status)
{
    if (status != LINNET_ERR_UNREACHABLE) {
        char line[240];
        const char *host = mtl_linnet_host_of(proc);

        (void)snprintf(line, sizeof line, "the Linnet name of rank %u on %.100s cannot be used: %s%s", (unsigned)proc->super.proc_name.vpid,
                       host != NULL ? host : "another host", linnet_status_text(status),
                       status == LINNET_ERR_INVALID ? "; is mca_mtl_linnet.so of the same version installed there?" : "");
        mtl_linnet_log(NULL, LINNET_LOG_ERROR, line);
    }
    return OMPI_ERR_UNREACH;
}

/* Log lines and linnet-top then speak of ranks. */
static void label(const struct ompi_proc_t *proc, linnet_peer_t peer)
{
    char text[40];
    const uint32_t job = (uint32_t)proc->super.proc_name.jobid;

    if (job == (uint32_t)OMPI_PROC_MY_NAME->jobid) {
        (void)snprintf(text, sizeof text, "rank %u", (unsigned)proc->super.proc_name.vpid);
    } else {
        (void)snprintf(text, sizeof text, "job %u.%u rank %u", job >> 16, job & 0xffffu, (unsigned)proc->super.proc_name.vpid);
    }
    (void)linnet_peer_label(mtl_linnet_module.context, peer, text);
}

static int proc_add(struct ompi_proc_t *proc)
{
    void *blob = NULL;
    size_t bytes = 0;
    linnet_name_t name;
    linnet_peer_t peer;
    int rc;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsign-conversion"   /* inside Open MPI's macro */
    OPAL_MODEX_RECV(rc, &mca_mtl_linnet_component.mtl_version, &proc->super.proc_name, &blob, &bytes);
#pragma GCC diagnostic pop
    if (rc != OPAL_SUCCESS || bytes != sizeof name.bytes) {
        free(blob);
        return name_missing(proc);
    }
    memcpy(name.bytes, blob, sizeof name.bytes);
    free(blob);
    linnet_status_t status = linnet_peer_add(mtl_linnet_module.context, &name, &peer);
    if (status != LINNET_OK) {
        return name_refused(proc, status);
    }
    label(proc, peer);
    proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] = endpoint_from_peer(peer);
    return OMPI_SUCCESS;
}

int mtl_linnet_add_procs(struct mca_mtl_base_module_t *mtl, size_t nprocs, struct ompi_proc_t **procs)
{
    (void)mtl;
    for (size_t i = 0; i < nprocs; ++i) {
        if (procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] != NULL) {
            continue;   /* known from before */
        }
        int rc = proc_add(procs[i]);
        if (rc != OMPI_SUCCESS) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}

int mtl_linnet_del_procs(struct mca_mtl_base_module_t *mtl, size_t nprocs, struct ompi_proc_t **procs)
{
    (void)mtl;
    for (size_t i = 0; i < nprocs; ++i) {
        if (procs[i] == NULL || procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] == NULL) {
            continue;   /* Open MPI lists every process it ever heard of */
        }
        linnet_peer_t peer = mtl_linnet_peer_from_endpoint(procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL]);
        procs[i]->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL] = NULL;
        /* In MPI_Finalize the context is about to say goodbye to all of them at once. */
        if (mtl_linnet_module.context != NULL && ompi_mpi_state < OMPI_MPI_STATE_FINALIZE_STARTED) {
            (void)linnet_peer_remove(mtl_linnet_module.context, peer);
        }
    }
    return OMPI_SUCCESS;
}

int mtl_linnet_peer_first(struct ompi_proc_t *proc, linnet_peer_t *peer)
{
    int rc = MCA_PML_CALL(add_procs(&proc, 1));   /* checks that the other side selected the same PML */
    if (rc != OMPI_SUCCESS) {
        return rc;
    }
    *peer = mtl_linnet_peer_from_endpoint(proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL]);
    return OMPI_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* probe.c: probe and matched probe. */
#include "mtl_linnet.h"

#include "ompi/message/message.h"

static int match_from(struct ompi_communicator_t *comm, int src, int tag, linnet_match_t *match)
{
    match->peer = LINNET_PEER_ANY;
    match->space = mtl_linnet_space(comm);
    match->match_bits = mtl_linnet_tag_bits(tag);
    match->ignore = mtl_linnet_tag_ignore(tag);
    return src == MPI_ANY_SOURCE ? OMPI_SUCCESS : mtl_linnet_peer(comm, src, &match->peer);
}

/* Not MPI_ERROR: only calls with several statuses set it, and programs rely on it staying as it was. */
static void status_from(const linnet_result_t *result, struct ompi_status_public_t *status)
{
    if (status == MPI_STATUS_IGNORE) {
        return;
    }
    status->MPI_SOURCE = (int)(uint32_t)result->immediate;
    status->MPI_TAG = (int)(uint32_t)result->match_bits;
    status->_ucount = result->length;
    status->_cancelled = 0;
}

/* What probes for a message of a peer that is lost would look for ever; looked up before the last look, as its last message may just have come. */
static linnet_status_t peer_status(const linnet_match_t *match)
{
    return match->peer == LINNET_PEER_ANY ? LINNET_OK : linnet_peer_status(mtl_linnet_module.context, match->peer);
}

/* A program that polls with MPI_Iprobe makes progress by nothing else, so an empty look is followed by progress and a second look. */

int mtl_linnet_iprobe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src, int tag, int *flag,
                      struct ompi_status_public_t *status)
{
    linnet_match_t match;
    linnet_result_t result;
    linnet_status_t found;

    (void)mtl;
    int rc = match_from(comm, src, tag, &match);
    if (OPAL_UNLIKELY(rc != OMPI_SUCCESS)) {
        return rc;
    }
    found = linnet_probe(mtl_linnet_module.context, &match, &result);
    if (found == LINNET_ERR_NOT_FOUND) {
        mtl_linnet_progress_once();
        linnet_status_t peer = peer_status(&match);
        found = linnet_probe(mtl_linnet_module.context, &match, &result);
        found = found == LINNET_ERR_NOT_FOUND && peer != LINNET_OK ? peer : found;
    }
    *flag = found == LINNET_OK;
    if (found == LINNET_OK) {
        mtl_linnet_settle();
        status_from(&result, status);
        return OMPI_SUCCESS;
    }
    return found == LINNET_ERR_NOT_FOUND ? OMPI_SUCCESS : mtl_linnet_mpi_error(found);
}

int mtl_linnet_improbe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src, int tag, int *matched,
                       struct ompi_message_t **message, struct ompi_status_public_t *status)
{
    linnet_match_t match;
    linnet_result_t result;
    linnet_message_t *claimed = NULL;
    linnet_status_t found;

    (void)mtl;
    *matched = 0;
    *message = MPI_MESSAGE_NULL;
    int rc = match_from(comm, src, tag, &match);
    if (OPAL_UNLIKELY(rc != OMPI_SUCCESS)) {
        return rc;
    }
    ompi_message_t *out = ompi_message_alloc();   /* first: a claimed message could not be given back */
    if (OPAL_UNLIKELY(out == NULL)) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    found = linnet_probe_claim(mtl_linnet_module.context, &match, &claimed, &result);
    if (found == LINNET_ERR_NOT_FOUND) {
        mtl_linnet_progress_once();
        linnet_status_t peer = peer_status(&match);
        found = linnet_probe_claim(mtl_linnet_module.context, &match, &claimed, &result);
        found = found == LINNET_ERR_NOT_FOUND && peer != LINNET_OK ? peer : found;
    }
    if (found != LINNET_OK) {
        ompi_message_return(out);
        return found == LINNET_ERR_NOT_FOUND ? OMPI_SUCCESS : mtl_linnet_mpi_error(found);
    }
    mtl_linnet_settle();
    out->comm = comm;
    out->req_ptr = claimed;
    out->peer = (int)(uint32_t)result.immediate;
    out->count = result.length;
    *message = out;
    *matched = 1;
    status_from(&result, status);
    return OMPI_SUCCESS;
}

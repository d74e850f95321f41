/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* recv.c: receives, receives of probed messages, and cancel. */
#include "mtl_linnet.h"

#include "ompi/message/message.h"
#include "opal/runtime/opal_progress.h"

/* Give the request to Open MPI: it may be freed and used again inside this. */
static void finish(mtl_linnet_op_t *op, linnet_status_t status)
{
    ompi_status_public_t *out = &op->mtl->ompi_req->req_status;
    const linnet_result_t *result = &op->request.result;

    op->active = false;
    out->MPI_ERROR = mtl_linnet_mpi_error(status);
    if (OPAL_LIKELY(status == LINNET_OK || status == LINNET_ERR_TRUNCATED)) {
        mtl_linnet_data_received(op, true);
        out->MPI_SOURCE = (int)(uint32_t)result->immediate;
        out->MPI_TAG = (int)(uint32_t)result->match_bits;
        out->_ucount = result->length;   /* truncated or not: as pml ob1, the length of the message */
        if (OPAL_UNLIKELY(op->pack_failed)) {
            out->MPI_ERROR = MPI_ERR_INTERN;
        }
    } else {
        mtl_linnet_data_received(op, false);
        out->MPI_SOURCE = op->source;
        out->_ucount = 0;
    }
    op->mtl->completion_callback(op->mtl);
}

static void done(linnet_request_t *request, void *arg)
{
    finish(arg, request->result.status);
}

static int prepare(mca_mtl_request_t *mtl_request, struct opal_convertor_t *convertor, int source, linnet_recv_t *recv)
{
    mtl_linnet_op_t *op = mtl_linnet_op(mtl_request);

    op->mtl = mtl_request;
    op->receives = true;
    op->source = source;
    op->active = false;
    int rc = mtl_linnet_data(op, convertor, &recv->data);
    recv->done = done;
    recv->done_arg = op;
    return rc;
}

int mtl_linnet_irecv(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src, int tag,
                     struct opal_convertor_t *convertor, struct mca_mtl_request_t *mtl_request)
{
    mtl_linnet_op_t *op = mtl_linnet_op(mtl_request);
    linnet_status_t status;
    linnet_recv_t recv;   /* field by field, as for a send */

    (void)mtl;
    recv.peer = LINNET_PEER_ANY;
    recv.space = mtl_linnet_space(comm);
    recv.match_bits = mtl_linnet_tag_bits(tag);
    recv.ignore = mtl_linnet_tag_ignore(tag);
    int rc = src == MPI_ANY_SOURCE ? OMPI_SUCCESS : mtl_linnet_peer(comm, src, &recv.peer);
    if (OPAL_LIKELY(rc == OMPI_SUCCESS)) {
        rc = prepare(mtl_request, convertor, src, &recv);
    }
    if (OPAL_UNLIKELY(rc != OMPI_SUCCESS)) {
        return rc;
    }
    op->active = true;   /* before the call: another thread may complete it inside */
    while ((status = linnet_tag_recv(mtl_linnet_module.context, &recv, &op->request)) == LINNET_ERR_NO_RESOURCE) {
        opal_progress();
    }
    if (status != LINNET_IN_PROGRESS) {
        mtl_linnet_settle();
        finish(op, status);
    }
    return OMPI_SUCCESS;
}

int mtl_linnet_imrecv(struct mca_mtl_base_module_t *mtl, struct opal_convertor_t *convertor, struct ompi_message_t **message,
                      struct mca_mtl_request_t *mtl_request)
{
    mtl_linnet_op_t *op = mtl_linnet_op(mtl_request);
    linnet_message_t *claimed = (*message)->req_ptr;
    linnet_status_t status;
    linnet_recv_t recv = {.peer = LINNET_PEER_ANY};

    (void)mtl;
    int rc = prepare(mtl_request, convertor, (*message)->peer, &recv);
    if (OPAL_UNLIKELY(rc != OMPI_SUCCESS)) {
        return rc;
    }
    /* The PML leaves both to us. */
    ompi_message_return(*message);
    *message = MPI_MESSAGE_NULL;
    op->active = true;
    while ((status = linnet_message_recv(mtl_linnet_module.context, claimed, &recv, &op->request)) == LINNET_ERR_NO_RESOURCE) {
        opal_progress();
    }
    if (status != LINNET_IN_PROGRESS) {
        mtl_linnet_settle();
        finish(op, status);
    }
    return OMPI_SUCCESS;
}

int mtl_linnet_cancel(struct mca_mtl_base_module_t *mtl, mca_mtl_request_t *mtl_request, int flag)
{
    mtl_linnet_op_t *op = mtl_linnet_op(mtl_request);

    (void)mtl;
    (void)flag;
    /* A buffered send is complete for its user from the start: canceling it would lose a message that was promised. */
    if (REQUEST_COMPLETE(mtl_request->ompi_req) || !op->active) {
        return OMPI_SUCCESS;
    }
    if (linnet_cancel(mtl_linnet_module.context, &op->request) == LINNET_OK) {
        op->active = false;
        mtl_linnet_data_received(op, false);
        mtl_request->ompi_req->req_status._cancelled = 1;
        mtl_request->ompi_req->req_status.MPI_ERROR = MPI_SUCCESS;
        mtl_request->completion_callback(mtl_request);
    }
    return OMPI_SUCCESS;   /* a send is asked for at its receiver, or it is too late: the request completes by itself */
}

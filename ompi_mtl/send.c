/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* send.c: blocking and non-blocking sends. */
#include "mtl_linnet.h"

#include "opal/runtime/opal_progress.h"

/* Sends of MPI_Bsend under way: Open MPI holds their memory until they complete. */
static uint32_t buffered_sends;

void mtl_linnet_settle(void)
{
    static __thread bool settling;   /* a completion may receive again */

    if (OPAL_LIKELY(__atomic_load_n(&buffered_sends, __ATOMIC_RELAXED) == 0) || settling) {
        return;
    }
    settling = true;
    (void)linnet_progress(mtl_linnet_module.context, 0, 0);
    settling = false;
}

/* Give the request to Open MPI: it may be freed and used again inside this. */
static void finish(mtl_linnet_op_t *op, linnet_status_t status)
{
    ompi_status_public_t *out = &op->mtl->ompi_req->req_status;
    const bool buffered = op->buffered;

    op->active = false;
    out->MPI_ERROR = OPAL_UNLIKELY(op->pack_failed) ? MPI_ERR_INTERN : mtl_linnet_mpi_error(status);
    if (OPAL_UNLIKELY(status == LINNET_ERR_CANCELED)) {
        out->_cancelled = 1;
    }
    op->mtl->completion_callback(op->mtl);
    if (OPAL_UNLIKELY(buffered)) {
        __atomic_sub_fetch(&buffered_sends, 1, __ATOMIC_RELAXED);
    }
}

static void done(linnet_request_t *request, void *arg)
{
    mtl_linnet_op_t *op = arg;

    if (op->mtl == NULL) {
        wait_sync_update(op->sync, 1, OPAL_SUCCESS);   /* the last touch: both lie on the waiting thread's stack */
    } else {
        finish(op, request->result.status);
    }
}

/* Start the send. LINNET_OK, LINNET_IN_PROGRESS or the reason of failure; *rc tells if nothing could even be asked. */
static linnet_status_t start(mtl_linnet_op_t *op, struct ompi_communicator_t *comm, int dest, int tag, struct opal_convertor_t *convertor,
                             uint32_t flags, int *rc)
{
    linnet_send_t send;   /* all of it is set below, field by field: a compiler would clear it with an instruction that costs more than the rest */
    linnet_status_t status;

    send.space = mtl_linnet_space(comm);
    send.match_bits = mtl_linnet_tag_bits(tag);
    send.immediate = (uint64_t)(uint32_t)comm->c_my_rank;
    send.flags = flags;
    send.done = done;
    send.done_arg = op;
    *rc = mtl_linnet_peer(comm, dest, &send.peer);
    if (OPAL_LIKELY(*rc == OMPI_SUCCESS)) {
        *rc = mtl_linnet_data(op, convertor, &send.data);
    }
    if (OPAL_UNLIKELY(*rc != OMPI_SUCCESS)) {
        return LINNET_ERR_INVALID;
    }
    op->receives = false;
    op->active = true;   /* before the call: another thread may complete it inside */
    for (;;) {
        status = linnet_tag_send(mtl_linnet_module.context, &send, &op->request);
        if (OPAL_LIKELY(status != LINNET_ERR_NO_RESOURCE)) {
            return status;
        }
        opal_progress();
    }
}

static uint32_t flags_of(mca_pml_base_send_mode_t mode, bool waits)
{
    return (mode == MCA_PML_BASE_SEND_SYNCHRONOUS ? (uint32_t)LINNET_SEND_SYNC : 0u) | (waits ? (uint32_t)LINNET_SEND_COPY : 0u);
}

int mtl_linnet_send(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest, int tag,
                    struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode)
{
    mtl_linnet_op_t op;
    ompi_wait_sync_t sync;
    int rc;

    (void)mtl;
    op.mtl = NULL;
    op.sync = &sync;
    WAIT_SYNC_INIT(&sync, 1);
    linnet_status_t status = start(&op, comm, dest, tag, convertor, flags_of(mode, true), &rc);
    if (status == LINNET_IN_PROGRESS) {
        (void)SYNC_WAIT(&sync);
        status = op.request.result.status;
    } else {
        WAIT_SYNC_SIGNALLED(&sync);
    }
    WAIT_SYNC_RELEASE(&sync);
    if (OPAL_UNLIKELY(rc != OMPI_SUCCESS)) {
        return rc;
    }
    return OPAL_UNLIKELY(op.pack_failed) ? MPI_ERR_INTERN : mtl_linnet_mpi_error(status);
}

int mtl_linnet_isend(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest, int tag,
                     struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode, bool blocking, mca_mtl_request_t *mtl_request)
{
    mtl_linnet_op_t *op = mtl_linnet_op(mtl_request);
    int rc;

    (void)mtl;
    op->mtl = mtl_request;
    op->active = false;
    op->buffered = mode == MCA_PML_BASE_SEND_BUFFERED;
    if (OPAL_UNLIKELY(op->buffered)) {
        __atomic_add_fetch(&buffered_sends, 1, __ATOMIC_RELAXED);
    }
    linnet_status_t status = start(op, comm, dest, tag, convertor, flags_of(mode, blocking), &rc);
    if (OPAL_UNLIKELY(rc != OMPI_SUCCESS)) {
        if (op->buffered) {
            __atomic_sub_fetch(&buffered_sends, 1, __ATOMIC_RELAXED);
            mtl_request->completion_callback(mtl_request);   /* gives back what pml cm took of the attached buffer, for which MPI_Buffer_detach waits */
        }
        return rc;
    }
    if (status != LINNET_IN_PROGRESS) {
        finish(op, status);
        if (OPAL_UNLIKELY(status < 0) && mode == MCA_PML_BASE_SEND_BUFFERED) {
            return mtl_linnet_mpi_error(status);   /* pml cm overwrites the error in the request of a buffered send */
        }
    }
    return OMPI_SUCCESS;
}

/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* mtl_linnet.h: what the files of the Open MPI component share. */
/*
 * What it is     Open MPI's matching transport (MTL) over Linnet: host semantics only, no protocol.
 * Who owns it    Open MPI opens the component and has one module per process.
 * Threads        Any thread that Open MPI lets in: any number under MPI_THREAD_MULTIPLE. Completions run inside opal_progress(), on the
 *                thread that called it. mtl_linnet_log and the pack and unpack functions may run on Linnet's event thread: they call
 *                nothing of Open MPI that relies on opal_using_threads().
 * Blocking       mtl_linnet_send waits in Open MPI's own wait object; finalize and the deletion of MPI_COMM_SELF are bounded in time.
 * Failure        Requests complete with an error in their status, so that the communicator's error handler runs and nothing leaks; a call fails
 *                only where nothing was started, and for a buffered send. Linnet logs the reason, and names the peer.
 */
#ifndef LINNET_OMPI_MTL_LINNET_H
#define LINNET_OMPI_MTL_LINNET_H

#include "ompi_config.h"

#include "ompi/constants.h"
#include "ompi/mca/mtl/mtl.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/request/request.h"

#include "capi/linnet.h"
#include "host.h"

/* ---- the match bits ---- */

/* A communicator is a match space (its context id); the match bits are the tag, as 32 bits. The tags of Open MPI's own collectives are negative, so
 * bit 31 tells them apart: MPI_ANY_TAG ignores the other bits and wants that one to be 0. The immediate is the sender's rank in its group. */
#define MTL_LINNET_ANY_TAG_IGNORE UINT64_C(0x7fffffff)

static inline uint64_t mtl_linnet_tag_bits(int tag)
{
    return tag == MPI_ANY_TAG ? 0 : (uint64_t)(uint32_t)tag;
}

static inline uint64_t mtl_linnet_tag_ignore(int tag)
{
    return tag == MPI_ANY_TAG ? MTL_LINNET_ANY_TAG_IGNORE : 0;
}

/* ---- one operation ---- */

/* The largest predefined datatype is a long double complex; a convertor packs whole elements only. */
#define MTL_LINNET_CARRY_BYTES 64

typedef struct mtl_linnet_op {
    linnet_request_t request;
    mca_mtl_request_t *mtl;         /* NULL: a blocking send, whose thread waits on `sync` */
    struct ompi_wait_sync_t *sync;
    opal_convertor_t *convertor;    /* for data behind pack and unpack functions */
    int source;                     /* receives: as asked for */
    bool receives;
    bool buffered;                  /* sends: of MPI_Bsend */
    volatile bool active;           /* between the start and the completion: linnet_cancel() may be asked */
    bool pack_failed;               /* the convertor gave less than its size: the message is wrong, and the request says so */
    size_t unit;                    /* receives of what the convertor cannot unpack in any pieces: the bytes that it can; 0: others */
    unsigned char *long_carry;      /* a carry for units that are longer than the one below; owned */
    /* Packed bytes [carry_from, carry_from + carry_bytes): an element, or a part of a unit, that straddles the end of the piece before. */
    uint64_t carry_from;
    size_t carry_bytes;
    unsigned char carry[MTL_LINNET_CARRY_BYTES];
} mtl_linnet_op_t;

/* Open MPI reserves this much behind mca_mtl_request_t, at no alignment in particular. */
#define MTL_LINNET_REQUEST_SIZE (sizeof(mtl_linnet_op_t) + LINNET_REQUEST_ALIGN)

static inline mtl_linnet_op_t *mtl_linnet_op(mca_mtl_request_t *mtl)
{
    uintptr_t behind = (uintptr_t)(mtl + 1);
    return (mtl_linnet_op_t *)((behind + LINNET_REQUEST_ALIGN - 1) & ~(uintptr_t)(LINNET_REQUEST_ALIGN - 1));
}

/* ---- the module ---- */

typedef struct mtl_linnet_module {
    mca_mtl_base_module_t super;
    linnet_context_t *context;    /* NULL while the module is not in use */
    bool flush_hooked;            /* the deletion of MPI_COMM_SELF flushes */
} mtl_linnet_module_t;

extern mtl_linnet_module_t mtl_linnet_module;
extern mca_mtl_base_component_2_0_0_t mca_mtl_linnet_component;

/* module.c. Open the context and publish its name; NULL after a logged failure. */
mca_mtl_base_module_t *mtl_linnet_module_open(void);
int mtl_linnet_finalize(struct mca_mtl_base_module_t *mtl);
int mtl_linnet_add_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm);
int mtl_linnet_del_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm);
/* One line on standard error, "[host:pid] linnet: ...", as opal_output() writes it but from any thread. */
void mtl_linnet_log(void *arg, linnet_log_level_t level, const char *line);
/* The status as an MPI error class. */
int mtl_linnet_mpi_error(linnet_status_t status);

/* params.c. */
void mtl_linnet_params_register(void);
void mtl_linnet_counters_register(void);
/* The settings that somebody set as MCA parameters; `out` must hold MTL_LINNET_SETTINGS_MAX. */
#define MTL_LINNET_SETTINGS_MAX 192
size_t mtl_linnet_params_changed(linnet_setting_t *out);
/* Warns of MCA parameters mtl_linnet_* that there are not. */
void mtl_linnet_params_check(void);
int mtl_linnet_param_priority(void);

/* endpoint.c */
int mtl_linnet_add_procs(struct mca_mtl_base_module_t *mtl, size_t nprocs, struct ompi_proc_t **procs);
int mtl_linnet_del_procs(struct mca_mtl_base_module_t *mtl, size_t nprocs, struct ompi_proc_t **procs);
/* Processes are added when they are first spoken to. */
int mtl_linnet_peer_first(struct ompi_proc_t *proc, linnet_peer_t *peer);

/* The endpoint pointer of a process holds its peer number plus one: no memory to own, and two threads that add the same process at
 * once write the same value, because Linnet gives one peer per name. */
static inline linnet_peer_t mtl_linnet_peer_from_endpoint(const void *endpoint)
{
    return (linnet_peer_t)((uintptr_t)endpoint - 1);
}

/* The peer of a rank of the communicator (of its remote group, if it has one), made known now if it was not. */
static inline int mtl_linnet_peer(struct ompi_communicator_t *comm, int rank, linnet_peer_t *peer)
{
    struct ompi_proc_t *proc = ompi_comm_peer_lookup(comm, rank);
    if (OPAL_UNLIKELY(proc == NULL)) {
        return OMPI_ERR_UNREACH;
    }
    const void *endpoint = proc->proc_endpoints[OMPI_PROC_ENDPOINT_TAG_MTL];
    if (OPAL_UNLIKELY(endpoint == NULL)) {
        return mtl_linnet_peer_first(proc, peer);
    }
    *peer = mtl_linnet_peer_from_endpoint(endpoint);
    return OMPI_SUCCESS;
}

/* data.c. The rest of mtl_linnet_data(). */
int mtl_linnet_data_of(mtl_linnet_op_t *op, struct opal_convertor_t *convertor, linnet_data_t *data);

/* What the convertor describes, as Linnet wants it: `op` keeps what the pack and unpack functions need.
 * @retval OMPI_ERR_NOT_SUPPORTED  device memory; logged */
static inline int mtl_linnet_data(mtl_linnet_op_t *op, struct opal_convertor_t *convertor, linnet_data_t *data)
{
    *data = (linnet_data_t){0};
    op->convertor = convertor;
    op->pack_failed = false;
    op->unit = 0;
    op->long_carry = NULL;
    op->carry_from = 0;
    op->carry_bytes = 0;
#if !OPAL_CUDA_SUPPORT
    if (OPAL_LIKELY(!(convertor->flags & (CONVERTOR_SEND | CONVERTOR_RECV | MTL_LINNET_ON_DEVICE)))) {
        /* The PML's short cut for contiguous sends prepares nothing, and has added the lower bound already. */
        data->base = convertor->pBaseBuf;
        data->length = convertor->local_size;
        return OMPI_SUCCESS;
    }
#endif
    return mtl_linnet_data_of(op, convertor, data);
}

/* data.c. The rest of mtl_linnet_data_received(). */
void mtl_linnet_data_end(mtl_linnet_op_t *op, bool whole);

/* The receive is over, with all of its message (`whole`) or without: unpack what waited for more, free what was needed. */
static inline void mtl_linnet_data_received(mtl_linnet_op_t *op, bool whole)
{
    if (OPAL_UNLIKELY(op->unit != 0)) {
        mtl_linnet_data_end(op, whole);
    }
}

/* send.c */
int mtl_linnet_send(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest, int tag,
                    struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode);
int mtl_linnet_isend(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int dest, int tag,
                     struct opal_convertor_t *convertor, mca_pml_base_send_mode_t mode, bool blocking, mca_mtl_request_t *mtl_request);

/* Before a call tells that a message is here: run what completed before it came. A program may have learned from that message that its buffered sends
 * are received, and pml cm looks for room in their buffer before it calls us. */
void mtl_linnet_settle(void);

/* recv.c */
int mtl_linnet_irecv(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src, int tag,
                     struct opal_convertor_t *convertor, struct mca_mtl_request_t *mtl_request);
int mtl_linnet_imrecv(struct mca_mtl_base_module_t *mtl, struct opal_convertor_t *convertor, struct ompi_message_t **message,
                      struct mca_mtl_request_t *mtl_request);
int mtl_linnet_cancel(struct mca_mtl_base_module_t *mtl, mca_mtl_request_t *mtl_request, int flag);

/* probe.c */
int mtl_linnet_iprobe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src, int tag, int *flag,
                      struct ompi_status_public_t *status);
int mtl_linnet_improbe(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm, int src, int tag, int *matched,
                       struct ompi_message_t **message, struct ompi_status_public_t *status);

/* testing.c. Whether this thread is inside a test (MPI_Test, MPI_Iprobe and their kin): it may yield then, but not sleep. */
bool mtl_linnet_tests(void);
/* opal_progress() as part of a test. */
void mtl_linnet_progress_once(void);
/* Put ourselves around Open MPI's request functions, so that its tests are known as such, and take it back. Once each. */
void mtl_linnet_tests_hook(void);
void mtl_linnet_tests_unhook(void);

#endif

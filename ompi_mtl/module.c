/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* module.c: the module's life: context, name, communicators, progress, the end. */
#include "mtl_linnet.h"

#include "ompi/attribute/attribute.h"
#include "ompi/runtime/mpiruntime.h"
#include "opal/runtime/opal_progress.h"

#include <stdio.h>
#include <unistd.h>

/* These have no promise of visibility in Open MPI's headers: a build that hides them does without the early flush. The others are data of 4.x that a
 * later Open MPI lacks: the component must load there to be able to say that it stands aside. */
#pragma weak ompi_attr_set_c
#pragma weak ompi_attr_free_keyval
#pragma weak opal_pmix
#pragma weak orte_process_info

/* Open MPI counts in int and keeps its communicators in an array by context id; nothing in Linnet is smaller. */
#define CONTEXT_ID_MAX ((1 << 30) - 1)

mtl_linnet_module_t mtl_linnet_module = {
    .super = {
        .mtl_max_contextid = CONTEXT_ID_MAX,
        .mtl_max_tag = INT_MAX,
        .mtl_request_size = MTL_LINNET_REQUEST_SIZE,
        .mtl_flags = 0,
        .mtl_add_procs = mtl_linnet_add_procs,
        .mtl_del_procs = mtl_linnet_del_procs,
        .mtl_finalize = mtl_linnet_finalize,
        .mtl_send = mtl_linnet_send,
        .mtl_isend = mtl_linnet_isend,
        .mtl_irecv = mtl_linnet_irecv,
        .mtl_iprobe = mtl_linnet_iprobe,
        .mtl_imrecv = mtl_linnet_imrecv,
        .mtl_improbe = mtl_linnet_improbe,
        .mtl_cancel = mtl_linnet_cancel,
        .mtl_add_comm = mtl_linnet_add_comm,
        .mtl_del_comm = mtl_linnet_del_comm,
    },
};

void mtl_linnet_log(void *arg, linnet_log_level_t level, const char *line)
{
    /* Not opal_output(): its lock does nothing in a program without threads, and this runs on the event thread too. */
    char text[1200];
    char host[65] = "?";
    (void)arg;
    (void)level;
    (void)gethostname(host, sizeof host - 1);
    int bytes = snprintf(text, sizeof text - 1, "[%s:%05d] linnet: %s", host, (int)getpid(), line);
    if (bytes < 0) {
        return;
    }
    size_t end = (size_t)bytes < sizeof text - 2 ? (size_t)bytes : sizeof text - 2;
    text[end] = '\n';
    if (write(STDERR_FILENO, text, end + 1) < 0) {
        return;   /* nobody is left to tell */
    }
}

int mtl_linnet_mpi_error(linnet_status_t status)
{
    switch (status) {
    case LINNET_OK:
    case LINNET_ERR_CANCELED:
        return MPI_SUCCESS;
    case LINNET_ERR_TRUNCATED:
        return MPI_ERR_TRUNCATE;
    case LINNET_ERR_PEER_DOWN:
    case LINNET_ERR_UNREACHABLE:
    case LINNET_ERR_REFUSED:
    case LINNET_ERR_TIMED_OUT:
        return MPI_ERR_OTHER;
    case LINNET_ERR_NO_MEMORY:
        return MPI_ERR_NO_MEM;
    case LINNET_ERR_INVALID:
        return MPI_ERR_ARG;
    default:
        return MPI_ERR_INTERN;
    }
}

static int progress(void)
{
    (void)linnet_progress(mtl_linnet_module.context, 0, mtl_linnet_tests() ? LINNET_MAY_YIELD : LINNET_MAY_SLEEP);
    /* Never "no event": Open MPI would yield, with mpi_yield_when_idle, which mpirun sets when ranks outnumber slots. Linnet has given way by itself, inside
     * the call; what passes between two calls it takes for work of the application, and wakes its event thread. */
    return 1;
}

static bool publish_name(void)
{
    linnet_name_t name;
    int rc;

    if (linnet_context_name(mtl_linnet_module.context, &name) != LINNET_OK) {
        return false;
    }
    OPAL_MODEX_SEND(rc, MTL_LINNET_MODEX_GLOBAL, &mca_mtl_linnet_component.mtl_version, name.bytes, sizeof name.bytes);
    if (rc != OPAL_SUCCESS) {
        mtl_linnet_log(NULL, LINNET_LOG_ERROR, "the launcher did not take this process's name");
    }
    return rc == OPAL_SUCCESS;
}

mca_mtl_base_module_t *mtl_linnet_module_open(void)
{
    linnet_setting_t settings[MTL_LINNET_SETTINGS_MAX];
    char label[48];
    uint32_t jobid = (uint32_t)OMPI_PROC_MY_NAME->jobid;

    (void)snprintf(label, sizeof label, "job %u.%u rank %u", jobid >> 16, jobid & 0xffffu, (unsigned)OMPI_PROC_MY_NAME->vpid);
    linnet_open_options_t options = {
        .size = sizeof options,
        .settings = settings,
        .setting_count = mtl_linnet_params_changed(settings),
        .log = mtl_linnet_log,
        .wild_mask = MTL_LINNET_ANY_TAG_IGNORE,
        .label = label,
        .expected_peers = (uint32_t)ompi_process_info.num_procs,
        .local_ranks = (uint32_t)ompi_process_info.num_local_peers + 1u,
    };
    if (ompi_process_info.my_local_rank == 0) {   /* once on each host: mpirun gives all ranks the same */
        mtl_linnet_params_check();
    }
    if (linnet_context_open(&options, &mtl_linnet_module.context) != LINNET_OK) {
        mtl_linnet_module.context = NULL;
        return NULL;
    }
    if (!publish_name() || opal_progress_register(progress) != OPAL_SUCCESS) {
        linnet_context_close(mtl_linnet_module.context);
        mtl_linnet_module.context = NULL;
        return NULL;
    }
    mtl_linnet_tests_hook();
    return &mtl_linnet_module.super;
}

static void flush(void)
{
    if (mtl_linnet_module.context != NULL) {
        /* What could not be flushed within finalize_timeout was logged; the end goes on without it. */
        (void)linnet_context_flush(mtl_linnet_module.context, UINT64_MAX);
    }
}

static int self_deleted(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    flush();
    return MPI_SUCCESS;
}

static int self_copied(MPI_Comm comm, int key, void *extra, void *value, void *out, int *wanted MTL_LINNET_COPIED_TO)
{
    (void)comm;
    (void)key;
    (void)extra;
    (void)value;
    (void)out;
    *wanted = 0;
    return MPI_SUCCESS;
}

/* MPI_Finalize deletes the attributes of MPI_COMM_SELF before its fence, and no process closes its context before every process has passed
 * that fence: a flush from there has all its peers, and none is needed when some of them may be gone. */
static void hook_flush(void)
{
    int key = MPI_KEYVAL_INVALID;
    ompi_attribute_fn_ptr_union_t copy_fn;
    ompi_attribute_fn_ptr_union_t delete_fn;
    ompi_communicator_t *self = &ompi_mpi_comm_self.comm;

    if (ompi_attr_set_c == NULL || ompi_attr_free_keyval == NULL || mtl_linnet_module.flush_hooked) {
        return;
    }
    copy_fn.attr_communicator_copy_fn = self_copied;
    delete_fn.attr_communicator_delete_fn = self_deleted;
    if (ompi_attr_create_keyval(COMM_ATTR, copy_fn, delete_fn, &key, NULL, 0, NULL) != OMPI_SUCCESS) {
        return;
    }
    mtl_linnet_module.flush_hooked =
        ompi_attr_set_c(COMM_ATTR, self, &self->c_keyhash, key, &mtl_linnet_module, false) == OMPI_SUCCESS;
    (void)ompi_attr_free_keyval(COMM_ATTR, &key, false);   /* the attribute keeps the key alive */
}

int mtl_linnet_add_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm)
{
    (void)mtl;
    if (comm == &ompi_mpi_comm_self.comm) {
        hook_flush();
    }
    return OMPI_SUCCESS;   /* a space needs no opening */
}

int mtl_linnet_del_comm(struct mca_mtl_base_module_t *mtl, struct ompi_communicator_t *comm)
{
    (void)mtl;
    if (mtl_linnet_module.context != NULL) {
        (void)linnet_space_close(mtl_linnet_module.context, mtl_linnet_space(comm));
    }
    return OMPI_SUCCESS;
}

int mtl_linnet_finalize(struct mca_mtl_base_module_t *mtl)
{
    (void)mtl;
    if (mtl_linnet_module.context == NULL) {
        return OMPI_SUCCESS;
    }
    if (!mtl_linnet_module.flush_hooked) {
        flush();
    }
    mtl_linnet_tests_unhook();
    (void)opal_progress_unregister(progress);
    linnet_context_close(mtl_linnet_module.context);
    mtl_linnet_module.context = NULL;
    mtl_linnet_module.flush_hooked = false;
    return OMPI_SUCCESS;
}

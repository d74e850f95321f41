/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* host.h: what is called differently in Open MPI 4.1 and 5.0. */
#ifndef LINNET_OMPI_HOST_H
#define LINNET_OMPI_HOST_H

#include "ompi_config.h"

#include "ompi/communicator/communicator.h"
#include "ompi/proc/proc.h"
#include "opal/datatype/opal_convertor.h"

#if OMPI_MAJOR_VERSION >= 5

#include "opal/mca/pmix/pmix-internal.h"
#include "opal/mca/threads/wait_sync.h"

#define MTL_LINNET_MODEX_GLOBAL PMIX_GLOBAL
#define MTL_LINNET_ON_DEVICE (CONVERTOR_ACCELERATOR | CONVERTOR_ACCELERATOR_UNIFIED)
#define MTL_LINNET_COPIED_TO   /* a function that copies an attribute gets no new communicator */

/* Context ids are pairs there, unless an MTL says that it cannot: then all processes have the communicator at the same place. */
static inline uint32_t mtl_linnet_space(const struct ompi_communicator_t *comm)
{
    return ompi_comm_get_local_cid(comm);
}

static inline const char *mtl_linnet_host_of(const struct ompi_proc_t *proc)
{
    return opal_get_proc_hostname(&proc->super);
}

#else

#include "opal/mca/pmix/pmix.h"
#include "opal/threads/wait_sync.h"

#define MTL_LINNET_MODEX_GLOBAL OPAL_PMIX_GLOBAL
#define MTL_LINNET_ON_DEVICE (CONVERTOR_CUDA | CONVERTOR_CUDA_UNIFIED)
#define MTL_LINNET_COPIED_TO , MPI_Comm copy __attribute__((unused))

static inline uint32_t mtl_linnet_space(const struct ompi_communicator_t *comm)
{
    return comm->c_contextid;
}

static inline const char *mtl_linnet_host_of(const struct ompi_proc_t *proc)
{
    return proc->super.proc_hostname;
}

#endif

#endif

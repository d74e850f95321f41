/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* data.c: Open MPI's convertors as Linnet's data: a pointer where the bytes lie together, pack and unpack functions elsewhere. */
#include "mtl_linnet.h"

#if OPAL_CUDA_SUPPORT
#include "opal/datatype/opal_datatype_cuda.h"
#endif

#include "opal/datatype/opal_datatype_internal.h"

#include <stdlib.h>
#include <string.h>

static bool on_device(opal_convertor_t *convertor)
{
    if (convertor->flags & MTL_LINNET_ON_DEVICE) {
        return true;
    }
#if OPAL_CUDA_SUPPORT
    /* The PML's short cut for contiguous sends does not look. */
    if (!(convertor->flags & (CONVERTOR_SEND | CONVERTOR_RECV))) {
        return opal_cuda_check_one_buf((char *)convertor->pBaseBuf, convertor) != 0;
    }
#endif
    return false;
}

/* Pack at most `bytes` bytes from where the convertor stands. */
static size_t pack_some(opal_convertor_t *convertor, void *to, size_t bytes)
{
    struct iovec piece = {.iov_base = to, .iov_len = bytes};
    uint32_t pieces = 1;
    size_t packed = bytes;

    (void)opal_convertor_pack(convertor, &piece, &pieces, &packed);
    return packed;
}

/* Pack the element that holds the byte at `offset` into the carry: it straddles the end of the piece before, or of this one.
 * The convertor stands at or before `offset`, by less than an element. */
static bool pack_element(mtl_linnet_op_t *op, uint64_t offset)
{
    op->carry_from = op->convertor->bConverted;
    op->carry_bytes = pack_some(op->convertor, op->carry, sizeof op->carry);
    return op->carry_from <= offset && offset - op->carry_from < op->carry_bytes;
}

static void pack(void *arg, uint64_t offset, void *to, size_t bytes)
{
    mtl_linnet_op_t *op = arg;
    unsigned char *at = to;

    while (bytes > 0) {
        size_t done;
        if (offset >= op->carry_from && offset - op->carry_from < op->carry_bytes) {
            size_t skip = (size_t)(offset - op->carry_from);
            done = op->carry_bytes - skip < bytes ? op->carry_bytes - skip : bytes;
            memcpy(at, op->carry + skip, done);
        } else {
            size_t position = offset;
            if (op->convertor->bConverted != offset) {
                (void)opal_convertor_set_position(op->convertor, &position);
            }
            done = position == offset ? pack_some(op->convertor, at, bytes) : 0;
            if (done == 0 && !pack_element(op, offset)) {
                op->pack_failed = true;
                memset(at, 0, bytes);
                return;
            }
        }
        at += done;
        offset += done;
        bytes -= done;
    }
}

static void unpack(void *arg, uint64_t offset, const void *from, size_t bytes)
{
    mtl_linnet_op_t *op = arg;
    size_t position = offset;
    struct iovec piece = {.iov_base = (void *)(uintptr_t)from, .iov_len = bytes};
    uint32_t pieces = 1;
    size_t unpacked = bytes;

    if (bytes == 0) {
        return;
    }
    if (op->convertor->bConverted != offset) {
        (void)opal_convertor_set_position(op->convertor, &position);
    }
    (void)opal_convertor_unpack(op->convertor, &piece, &pieces, &unpacked);
    if (position != offset || unpacked != bytes) {
        op->pack_failed = true;
    }
}

/* Open MPI 4.1 unpacks a part of an element through a buffer of 16 bytes on its stack (opal_unpack_partial_predefined), and overruns it with a
 * long double complex. Strided receives of such are given to the convertor in units that no element straddles. 0: no need. */
static size_t unit_of(const opal_convertor_t *convertor)
{
    const uint32_t wide = UINT32_C(1) << OPAL_DATATYPE_LONG_DOUBLE_COMPLEX;
    const uint32_t markers = (UINT32_C(1) << OPAL_DATATYPE_FIRST_TYPE) - 1;   /* loops and bounds, which have no bytes */

    if (!(convertor->flags & CONVERTOR_RECV) || !(convertor->pDesc->bdt_used & wide)) {
        return 0;
    }
    return (convertor->pDesc->bdt_used & ~markers) == wide ? sizeof(long double _Complex) : convertor->pDesc->size;
}

static unsigned char *carry_of(mtl_linnet_op_t *op)
{
    return op->long_carry != NULL ? op->long_carry : op->carry;
}

/* As unpack(), in whole units; what is left of one waits in the carry for the next piece. */
static void unpack_units(void *arg, uint64_t offset, const void *from, size_t bytes)
{
    mtl_linnet_op_t *op = arg;
    const unsigned char *at = from;

    if (offset < op->carry_from) {   /* started again: unpacked before */
        size_t known = op->carry_from - offset < bytes ? (size_t)(op->carry_from - offset) : bytes;
        at += known;
        offset += known;
        bytes -= known;
    }
    if (bytes == 0) {
        return;
    }
    if (offset - op->carry_from > op->carry_bytes) {
        op->pack_failed = true;
        return;
    }
    op->carry_bytes = (size_t)(offset - op->carry_from);
    if (op->carry_bytes > 0) {
        size_t lacks = op->unit - op->carry_bytes;
        size_t more = lacks < bytes ? lacks : bytes;
        memcpy(carry_of(op) + op->carry_bytes, at, more);
        op->carry_bytes += more;
        if (more < lacks) {
            return;
        }
        unpack(op, op->carry_from, carry_of(op), op->unit);
        op->carry_from += op->unit;
        at += more;
        bytes -= more;
    }
    op->carry_bytes = bytes % op->unit;
    unpack(op, op->carry_from, at, bytes - op->carry_bytes);
    op->carry_from += bytes - op->carry_bytes;
    memcpy(carry_of(op), at + (bytes - op->carry_bytes), op->carry_bytes);
}

void mtl_linnet_data_end(mtl_linnet_op_t *op, bool whole)
{
    if (whole && op->carry_bytes > 0) {
        /* A message may end within a unit (MPI 4.0, section 3.2.5: it may be shorter than the receive buffer), but only behind one of its elements. */
        if (op->unit == sizeof(long double _Complex)) {
            op->pack_failed = true;
        } else {
            unpack(op, op->carry_from, carry_of(op), op->carry_bytes);
        }
    }
    free(op->long_carry);
    op->long_carry = NULL;
    op->unit = 0;
}

int mtl_linnet_data_of(mtl_linnet_op_t *op, struct opal_convertor_t *convertor, linnet_data_t *data)
{
    size_t bytes = 0;

    if (OPAL_UNLIKELY(on_device(convertor))) {
        mtl_linnet_log(NULL, LINNET_LOG_ERROR,
                       "device (GPU) memory is not supported: copy to host memory first, or run with --mca pml ob1");
        return OMPI_ERR_NOT_SUPPORTED;
    }
    if (!(convertor->flags & (CONVERTOR_SEND | CONVERTOR_RECV))) {
        /* As in mtl_linnet_data(), where CUDA is to be asked first. */
        data->base = convertor->pBaseBuf;
        data->length = convertor->local_size;
        return OMPI_SUCCESS;
    }
    opal_convertor_get_packed_size(convertor, &bytes);
    data->length = bytes;
    if (bytes == 0) {
        return OMPI_SUCCESS;
    }
    if (!opal_convertor_need_buffers(convertor)) {
        opal_convertor_get_offset_pointer(convertor, 0, &data->base);
        return OMPI_SUCCESS;
    }
    data->pack = pack;
    data->unpack = unpack;
    data->pack_arg = op;
    op->unit = unit_of(convertor);
    if (OPAL_UNLIKELY(op->unit != 0)) {
        data->unpack = unpack_units;
        if (op->unit > sizeof op->carry) {
            op->long_carry = malloc(op->unit);
            return op->long_carry != NULL ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
        }
    }
    return OMPI_SUCCESS;
}

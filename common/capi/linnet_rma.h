/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* linnet_rma.h: the part of linnet.h for one-sided operations: memory regions, writes, reads, atomic operations. */
/*
 * What it is     A process opens regions of its memory; peers that know the key of one write into it and read out of it. The event thread serves
 *                them: the program that owns the region need not call Linnet.
 * Order          Writes and reads of at most LINNET_RMA_ORDERED bytes, towards one peer, take effect in the order of the calls; longer ones when they
 *                complete. A message sent after a write that is complete finds it done.
 *                Atomic operations are as short ones.
 * Completion     Of a write: the bytes are in the region, or it was refused. Of a read: the bytes are here.
 * All else       As in linnet.h: threads, requests, ownership, failure.
 */
#ifndef LINNET_RMA_H
#define LINNET_RMA_H

#include "linnet.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- memory regions ---- */
typedef struct linnet_region linnet_region_t;

enum {
    LINNET_REGION_READ = 1u << 0,      /* peers may read */
    LINNET_REGION_WRITE = 1u << 1,     /* peers may write */
    LINNET_REGION_NOTICES = 1u << 2    /* the function of linnet_remote_register() hears of accesses that carry no immediate, too */
};

typedef struct linnet_region_options {
    size_t size;
    void* base;
    uint64_t length;     /* > 0 */
    uint64_t key;        /* by which peers name it; of no other region of this context */
    uint64_t origin;     /* the address by which peers name its first byte: 0, or where it lies here */
    uint32_t flags;
    void* arg;           /* the host's, for notices */
} linnet_region_options_t;

/* Peers may reach it as soon as this returns.
 * @retval LINNET_ERR_KEY  another region has this key */
LINNET_API linnet_status_t linnet_region_open(linnet_context_t* ctx, const linnet_region_options_t* options, linnet_region_t** out) LINNET_NOEXCEPT;

/* No access begins any more, and no notice names it. One that is under way may still touch the memory: hosts agree on the end of accesses before they close.
 * Waits for the pass of another thread that polls. Not from a pack or unpack function. */
LINNET_API linnet_status_t linnet_region_close(linnet_context_t* ctx, linnet_region_t* region) LINNET_NOEXCEPT;

/* ---- what peers did ---- */
typedef struct linnet_remote {
    linnet_peer_t peer;      /* of an immediate, or LINNET_PEER_UNKNOWN */
    uint32_t reads;          /* notices: since the last one; atomic operations that bring something back among them */
    uint32_t writes;
    uint32_t changes;        /* of both, those that may have changed a byte */
    uint32_t flags;          /* LINNET_SEND_IMMEDIATE: a write brought one; else a notice */
    uint64_t immediate;
    uint64_t length;         /* of that write; its bytes are in place */
    void* region_arg;        /* notices: of the region */
} linnet_remote_t;

/* Runs inside linnet_progress(). A write with an immediate gives one call with it and, if its region has notices, counts in one of those, too. What is done to
 * no bytes, which needs no region, counts in notices whose region_arg is NULL, but for writes with an immediate; likewise, with changes 0, what was done to a
 * region that was closed before its notice came. */
typedef void (*linnet_remote_fn)(void* arg, const linnet_remote_t* what) LINNET_NOEXCEPT;

/* Before peers write with immediates; those that find no function are dropped and counted. NULL: none any more. */
LINNET_API linnet_status_t linnet_remote_register(linnet_context_t* ctx, linnet_remote_fn fn, void* arg) LINNET_NOEXCEPT;

/* ---- writes and reads ---- */
#define LINNET_RMA_ORDERED 16384

enum {
    LINNET_RMA_IMMEDIATE = 1u << 3,   /* writes: the peer's program gets the immediate */
    LINNET_RMA_FENCE = 1u << 4        /* start only when all sends, writes and reads towards this peer are over, and `done` of each has returned */
};

typedef struct linnet_rma {
    linnet_peer_t peer;
    uint32_t flags;
    uint64_t key;
    uint64_t address;        /* from the region's origin on */
    uint64_t immediate;
    linnet_data_t data;      /* here */
    linnet_done_fn done;
    void* done_arg;
} linnet_rma_t;

/* Start one. Never waits. The data is Linnet's until `done`. No bytes: neither key nor address is looked at.
 * result: status, length; LINNET_ERR_KEY, LINNET_ERR_BOUNDS, LINNET_ERR_NOT_ALLOWED: the peer refused, and nothing was written.
 * @retval LINNET_IN_PROGRESS      accepted; `done` will run
 * @retval LINNET_ERR_NO_RESOURCE  too many are open, or the peer has not seen the immediates of before: retry after linnet_progress()
 * @retval LINNET_ERR_AGAIN        the fence: retry when the linnet_progress() or linnet_wait() has returned that ran the `done` of one towards this peer
 * @retval LINNET_ERR_PEER_DOWN, LINNET_ERR_UNREACHABLE, LINNET_ERR_REFUSED  the peer is lost
 * @retval LINNET_ERR_INVALID      no such peer, or misaligned request */
LINNET_API linnet_status_t linnet_rma_write(linnet_context_t* ctx, const linnet_rma_t* rma, linnet_request_t* request) LINNET_NOEXCEPT;
LINNET_API linnet_status_t linnet_rma_read(linnet_context_t* ctx, const linnet_rma_t* rma, linnet_request_t* request) LINNET_NOEXCEPT;

/* ---- atomic operations ---- */
/* Done by the event thread of the region's owner, one element after the other; atomic towards other atomic operations on that process's regions,
 * and for aligned elements of 1, 2, 4 or 8 bytes towards atomic instructions of processors. Elements need no alignment. Integers wrap. */
typedef enum linnet_atomic_op {
    LINNET_ATOMIC_MIN, LINNET_ATOMIC_MAX, LINNET_ATOMIC_SUM, LINNET_ATOMIC_PROD, LINNET_ATOMIC_LOR, LINNET_ATOMIC_LAND, LINNET_ATOMIC_BOR,
    LINNET_ATOMIC_BAND, LINNET_ATOMIC_LXOR, LINNET_ATOMIC_BXOR, LINNET_ATOMIC_READ, LINNET_ATOMIC_WRITE,
    LINNET_ATOMIC_CSWAP,       /* if compare == there: there = operand; likewise !=, <=, <, >=, > */
    LINNET_ATOMIC_CSWAP_NE, LINNET_ATOMIC_CSWAP_LE, LINNET_ATOMIC_CSWAP_LT, LINNET_ATOMIC_CSWAP_GE, LINNET_ATOMIC_CSWAP_GT,
    LINNET_ATOMIC_MSWAP        /* there = (operand & compare) | (there & ~compare) */
} linnet_atomic_op_t;

typedef enum linnet_atomic_type {
    LINNET_INT8, LINNET_UINT8, LINNET_INT16, LINNET_UINT16, LINNET_INT32, LINNET_UINT32, LINNET_INT64, LINNET_UINT64, LINNET_FLOAT, LINNET_DOUBLE,
    LINNET_FLOAT_COMPLEX, LINNET_DOUBLE_COMPLEX, LINNET_LONG_DOUBLE, LINNET_LONG_DOUBLE_COMPLEX, LINNET_INT128, LINNET_UINT128
} linnet_atomic_type_t;

typedef enum linnet_atomic_form {
    LINNET_ATOMIC_APPLY,      /* MIN to BXOR, WRITE; needs LINNET_REGION_WRITE */
    LINNET_ATOMIC_FETCH,      /* MIN to WRITE, and brings back what was there; needs both rights, READ only that to read */
    LINNET_ATOMIC_COMPARE     /* CSWAP to MSWAP, likewise */
} linnet_atomic_form_t;

/* How many elements one operation may have, and the bytes of one.
 * @retval LINNET_ERR_UNSUPPORTED  there is no such operation on this type */
LINNET_API linnet_status_t linnet_atomic_valid(linnet_atomic_form_t form, linnet_atomic_op_t op, linnet_atomic_type_t type, size_t* count,
                                               size_t* bytes) LINNET_NOEXCEPT;

typedef struct linnet_atomic {
    linnet_peer_t peer;
    uint32_t flags;               /* LINNET_RMA_FENCE */
    uint64_t key;
    uint64_t address;
    linnet_atomic_form_t form;
    linnet_atomic_op_t op;
    linnet_atomic_type_t type;
    size_t count;
    linnet_data_t operand;        /* each as long as `count` elements; READ needs none */
    linnet_data_t compare;        /* COMPARE */
    linnet_data_t result;         /* FETCH, COMPARE: what was there */
    linnet_done_fn done;
    void* done_arg;
} linnet_atomic_t;

/* Start one. Never waits. Operands are copied before this returns. Results and return values as of linnet_rma_write(); besides
 * @retval LINNET_ERR_UNSUPPORTED  there is no such operation
 * @retval LINNET_ERR_INVALID      no elements, too many, or data of another length */
LINNET_API linnet_status_t linnet_rma_atomic(linnet_context_t* ctx, const linnet_atomic_t* atomic, linnet_request_t* request) LINNET_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* LINNET_RMA_H */
